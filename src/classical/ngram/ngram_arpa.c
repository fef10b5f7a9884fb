/* ARPA files of back-off n-gram models: how many n-grams each order has, and then each of them with log10 of its
 * probability before it and log10 of its back-off weight behind it. */
#include "classical/ngram/ngram.h"
#include "io/text.h"
#include "text/strings/map.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLANKS " \t\r"

/* ---- reading ---- */

struct entry {    /* an n-gram that was read */
    uint64_t key; /* the node of its context, and its last word */
    float prob, backoff;
    uint32_t suffix;
};
struct reading {
    heed_ctx *cx;
    const char *path;
    char *at, *end;
    int64_t number; /* of the line that was read last */
    struct ngram_making g;
    struct map words; /* the number of each word */
    uint64_t *count;  /* (order + 1) as the header says */
    uint32_t *ids;    /* (order) */
};

static bool wrong(struct reading *r, const char *format, ...) HEED_PRINTF(2, 3);
static bool wrong(struct reading *r, const char *format, ...) {
    char why[400];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    return heed_fail(r->cx, HEED_ERR_FORMAT, "%s: line %lld: %s", r->path, (long long)r->number, why);
}

/* The next line that is not empty, without blanks around it and ended by 0; NULL at the end of the file. */
static char *next_line(struct reading *r) {
    while (r->at < r->end && !heed_cancelled(r->cx)) {
        char *line = r->at, *stop = memchr(line, '\n', (size_t)(r->end - line));
        if (!stop) stop = r->end;
        r->at = stop < r->end ? stop + 1 : r->end;
        r->number++;
        while (stop > line && strchr(BLANKS, stop[-1])) stop--;
        *stop = 0;
        line += strspn(line, BLANKS);
        if (*line) return line;
    }
    return NULL;
}

/* "ngram 2=1234" */
static bool read_counts(struct reading *r, char **section) {
    char *line = next_line(r);
    while (line && strcmp(line, "\\data\\") != 0) line = next_line(r);
    if (!line)
        return heed_fail(r->cx, HEED_ERR_FORMAT, "%s: neither an n-gram file of heed's nor ARPA: no \\data\\", r->path);
    uint64_t room = 0, nodes = 3;
    while ((line = next_line(r)) && strncmp(line, "ngram", 5) == 0) {
        char *equals = strchr(line, '='), *rest;
        const long k = strtol(line + 5, &rest, 10);
        if (!equals || rest == line + 5 || rest + strspn(rest, BLANKS) != equals || k != r->g.order + 1)
            return wrong(r, "'ngram %d=COUNT' is expected", r->g.order + 1);
        const unsigned long long n = strtoull(equals + 1, &rest, 10);
        if (rest == equals + 1 || *rest || equals[1] == '-')
            return wrong(r, "the number of %ld-grams is not a number", k);
        if (n > (uint64_t)(r->end - r->at) / 4 || (nodes += n) >= NGRAM_ROOT)
            return wrong(r, "there cannot be %llu %ld-grams in a file of this size", n, k);
        if (k > HEED_NGRAM_MAX_ORDER) return wrong(r, "orders above %d are not read", HEED_NGRAM_MAX_ORDER);
        if ((uint64_t)k + 1 > room) {
            room = 2 * (uint64_t)k + 8;
            uint64_t *more = heed_mem_resize(r->cx, r->count, room * sizeof *more);
            if (!more) return false;
            r->count = more;
        }
        r->count[k] = n;
        r->g.order++;
    }
    *section = line;
    return r->g.order > 0 || wrong(r, "'ngram 1=COUNT' is expected");
}

static bool read_number(char **at, float *to) {
    double value;
    bool range;
    char *s = *at + strspn(*at, BLANKS);
    const size_t n = strcspn(s, BLANKS);
    const char kept = s[n];
    s[n] = 0;
    const bool number = n > 0 && number_read(s, &value, &range);
    s[n] = kept;
    *at = s + n;
    *to = number ? (float)value : 0;
    return number && *to < INFINITY; /* which NaN is not */
}

/* The k words of an n-gram and the numbers around them. */
static bool read_entry(struct reading *r, int k, char *line, char **word, size_t *size, struct entry *e) {
    char *at = line;
    if (!read_number(&at, &e->prob)) return wrong(r, "a log-probability is expected");
    if (e->prob > 0) return wrong(r, "log-probability %g is positive", (double)e->prob);
    for (int i = 0; i < k; i++) {
        word[i] = at += strspn(at, BLANKS);
        size[i] = strcspn(at, BLANKS);
        if (size[i] == 0) return wrong(r, "%d words are expected, there are %d", k, i);
        at += size[i];
    }
    at += strspn(at, BLANKS);
    e->backoff = 0;
    if (*at && (k == r->g.order || !read_number(&at, &e->backoff) || *at))
        return wrong(r, "what follows the %d words is not a back-off weight", k);
    return true;
}

static bool is_unknown(const char *word, size_t size) {
    return size == 5 && (memcmp(word, "<unk>", 5) == 0 || memcmp(word, "<UNK>", 5) == 0);
}

/* <unk>, <s> and </s> are the first words, whether the file has them or not. */
static bool begin_words(struct reading *r) {
    static const char *const first[] = {"<unk>", "<s>", "</s>"};
    for (int i = 0; i < 3; i++)
        if (map_add(r->cx, &r->words, first[i], strlen(first[i])) < 0) return false;
    return true;
}

static bool read_words(struct reading *r) {
    struct ngram_node *node = heed_mem_new(r->cx, (r->count[1] + 3) * sizeof *node);
    bool seen[3] = {false};
    if (!node || !begin_words(r)) return heed_mem_free(r->cx, node), false;
    node[0].prob = -100; /* as KenLM has it */
    node[1].prob = node[2].prob = -99;
    node[0].backoff = node[1].backoff = node[2].backoff = 0;
    bool ok = true;
    for (uint64_t i = 0; ok && i < r->count[1]; i++) {
        char *line = next_line(r), *word;
        size_t size;
        struct entry e;
        if (!line || *line == '\\') {
            ok = wrong(r, "there are %llu 1-grams, the header says %llu", (unsigned long long)i,
                       (unsigned long long)r->count[1]);
            break;
        }
        ok = read_entry(r, 1, line, &word, &size, &e);
        if (!ok) break;
        if (utf8_bad(word, size) != size) ok = wrong(r, "the word is not UTF-8");
        if (is_unknown(word, size)) word[1] = 'u', word[2] = 'n', word[3] = 'k';
        const int64_t before = r->words.count, id = ok ? map_add(r->cx, &r->words, word, size) : -1;
        if (id < 0) break;
        if (id < before && (id > 2 || seen[id])) ok = wrong(r, "the word comes twice");
        if (id < 3) seen[id] = true;
        node[id].prob = e.prob;
        node[id].backoff = e.backoff;
    }
    ok = ok && !heed_failed(r->cx);
    r->g.words = ok ? (uint32_t)r->words.count : 0;
    for (int k = 1; ok && k <= r->g.order; k++)
        r->g.base[k] = r->g.base[k - 1] + (k == 1 ? r->g.words : (uint32_t)r->count[k]);
    ok = ok && ngram_making_nodes(&r->g);
    for (uint32_t w = 0; ok && w < r->g.words; w++) {
        r->g.word[w] = w;
        if (r->g.order == 1)
            r->g.leaf[w] = (struct ngram_leaf){node[w].prob, NGRAM_ROOT};
        else
            r->g.node[w] = (struct ngram_node){node[w].prob, node[w].backoff, 0, NGRAM_ROOT};
    }
    heed_mem_free(r->cx, node);
    return ok;
}

/* The node of n words, NGRAM_ROOT: there is none. Orders up to n are complete. */
static uint32_t walk(const struct ngram_making *g, const uint32_t *ids, int n) {
    uint32_t node = ids[0];
    for (int i = 1; i < n && node != NGRAM_ROOT; i++) {
        uint32_t first = g->node[node].child, last = g->node[node + 1].child;
        const uint32_t end = last;
        while (first < last) {
            const uint32_t middle = first + (last - first) / 2;
            if (g->word[middle] < ids[i])
                first = middle + 1;
            else
                last = middle;
        }
        node = first < end && g->word[first] == ids[i] ? first : NGRAM_ROOT;
    }
    return node;
}

static int by_key(const void *a, const void *b) {
    const uint64_t x = ((const struct entry *)a)->key, y = ((const struct entry *)b)->key;
    return x < y ? -1 : x > y;
}

/* The entries of order k become its nodes. */
static bool add_order(struct reading *r, int k, struct entry *e) {
    struct ngram_making *g = &r->g;
    const uint32_t n = (uint32_t)r->count[k], base = g->base[k - 1];
    uint32_t parent = g->base[k - 2];
    qsort(e, n, sizeof *e, by_key);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t of = (uint32_t)(e[i].key >> 32), node = base + i;
        if (i > 0 && e[i].key == e[i - 1].key)
            return heed_fail(r->cx, HEED_ERR_FORMAT, "%s: a %d-gram that ends with '%s' comes twice", r->path, k,
                             map_key(&r->words, (int64_t)(e[i].key & 0xFFFFFFFFu)));
        while (parent <= of) g->node[parent++].child = node;
        g->word[node] = (uint32_t)e[i].key;
        if (k == g->order)
            g->leaf[i] = (struct ngram_leaf){e[i].prob, e[i].suffix};
        else
            g->node[node] = (struct ngram_node){e[i].prob, e[i].backoff, 0, e[i].suffix};
    }
    while (parent <= base) g->node[parent++].child = base + n;
    return true;
}

static bool read_order(struct reading *r, int k) {
    const uint64_t n = r->count[k];
    char **word = heed_mem_new(r->cx, (size_t)k * sizeof *word);
    size_t *size = heed_mem_new(r->cx, (size_t)k * sizeof *size);
    struct entry *entries = heed_mem_new(r->cx, n * sizeof *entries);
    bool ok = word && size && entries;
    for (uint64_t i = 0; ok && i < n; i++) {
        struct entry *e = &entries[i];
        char *line = next_line(r);
        if (!line || *line == '\\') {
            ok = wrong(r, "there are %llu %d-grams, the header says %llu", (unsigned long long)i, k,
                       (unsigned long long)n);
            break;
        }
        ok = read_entry(r, k, line, word, size, e);
        for (int j = 0; ok && j < k; j++) {
            const int64_t id = is_unknown(word[j], size[j]) ? 0 : map_find(&r->words, word[j], size[j]);
            if (id < 0) ok = wrong(r, "'%s' is not among the 1-grams", escaped_bytes(word[j], size[j]).s);
            r->ids[j] = (uint32_t)id;
        }
        if (!ok) break;
        const uint32_t context = walk(&r->g, r->ids, k - 1);
        if (context == NGRAM_ROOT) ok = wrong(r, "the context of the %d-gram is not among the %d-grams", k, k - 1);
        e->key = (uint64_t)context << 32 | r->ids[k - 1];
        e->suffix = NGRAM_ROOT;
        for (int j = 1; ok && j < k && e->suffix == NGRAM_ROOT; j++) e->suffix = walk(&r->g, r->ids + j, k - j);
    }
    ok = ok && add_order(r, k, entries);
    heed_mem_free(r->cx, word);
    heed_mem_free(r->cx, size);
    heed_mem_free(r->cx, entries);
    return ok;
}

static bool read_sections(struct reading *r, char *line) {
    r->g.base = heed_mem_new(r->cx, ((size_t)r->g.order + 1) * sizeof *r->g.base);
    r->ids = heed_mem_new(r->cx, (size_t)r->g.order * sizeof *r->ids);
    if (!r->g.base || !r->ids) return false;
    r->g.base[0] = 0;
    for (int k = 1; k <= r->g.order; k++) {
        char title[32];
        snprintf(title, sizeof title, "\\%d-grams:", k);
        if (k > 1) line = next_line(r);
        if (!line) return wrong(r, "the file ends before '%s'", title);
        if (strcmp(line, title) != 0 && k > 1 && *line != '\\')
            return wrong(r, "there are more than the %llu %d-grams of the header", (unsigned long long)r->count[k - 1],
                         k - 1);
        if (strcmp(line, title) != 0) return wrong(r, "'%s' is expected", title);
        if (!(k == 1 ? read_words(r) : read_order(r, k))) return false;
    }
    line = next_line(r);
    if (line && *line != '\\')
        return wrong(r, "there are more than the %llu %d-grams of the header", (unsigned long long)r->count[r->g.order],
                     r->g.order);
    return (line && strcmp(line, "\\end\\") == 0) || wrong(r, "'\\end\\' is expected: the file is cut short");
}

static bool take_names(struct reading *r) {
    struct ngram_making *g = &r->g;
    g->name_start = heed_mem_new(r->cx, ((size_t)g->words + 1) * sizeof *g->name_start);
    if (!g->name_start) return false;
    for (uint32_t i = 0; i < g->words; i++) {
        g->name_start[i] = g->names.size;
        if (!heed_string_put(r->cx, &g->names, map_key(&r->words, i), map_size(&r->words, i) + 1)) return false;
    }
    g->name_start[g->words] = g->names.size;
    return true;
}

heed_ngram *ngram_arpa_read(heed_ctx *cx, const char *path, char *text, size_t size) {
    struct reading r = {.cx = cx, .path = path, .at = text, .end = text + size, .g = {.cx = cx}};
    if (size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) r.at += 3; /* a byte order mark */
    char *line;
    const bool ok = read_counts(&r, &line) && read_sections(&r, line) && take_names(&r);
    heed_mem_free(cx, r.count);
    heed_mem_free(cx, r.ids);
    map_free(cx, &r.words);
    if (ok) return ngram_made(&r.g);
    ngram_making_free(&r.g);
    return NULL;
}

/* ---- writing ---- */

static void put_number(struct file_writer *w, float value) {
    char text[NUMBER_ROOM];
    number_shortest(text, value < -99 ? -99 : value == 0 ? 0 : (double)value, true);
    file_write(w, text, strlen(text));
}

static void put_word(struct file_writer *w, const char *word) {
    for (size_t n; *word; word += n) {
        n = strcspn(word, " \t\n\r\v\f");
        file_write(w, word, n);
        if (!word[n]) break;
        char escape[16];
        if (word[n] == ' ')
            snprintf(escape, sizeof escape, "\xE2\x96\x81");
        else
            snprintf(escape, sizeof escape, "<0x%02X>", (unsigned)(unsigned char)word[n]);
        file_write(w, escape, strlen(escape));
        n++;
    }
}

/* The n-grams of order k; node[j] is where the first j + 1 words of the one under way are in the tree. */
static void put_order(struct file_writer *w, const heed_ngram *m, int k, uint32_t *node) {
    for (int j = 0; j < k; j++) node[j] = m->base[j];
    for (; node[k - 1] < m->base[k]; node[k - 1]++) {
        for (int j = k - 2; j >= 0; j--) /* whose children the one below it is among */
            while (node[j] + 1 < m->base[j + 1] && node[j + 1] >= m->node[node[j] + 1].child) node[j]++;
        const uint32_t i = node[k - 1];
        put_number(w, k == m->order ? m->leaf[i - m->base[k - 1]].prob : m->node[i].prob);
        for (int j = 0; j < k; j++) {
            file_write(w, j ? " " : "\t", 1);
            put_word(w, heed_ngram_word(m, (int32_t)m->word[node[j]]));
        }
        if (k < m->order) {
            file_write(w, "\t", 1);
            put_number(w, m->node[i].backoff);
        }
        file_write(w, "\n", 1);
    }
}

bool heed_ngram_write_arpa(heed_ctx *cx, const heed_ngram *m, const char *path) {
    char line[64];
    if (heed_failed(cx)) return false;
    if (!m) return heed_fail(cx, HEED_ERR_USAGE, "ngram_write_arpa: the model is NULL");
    uint32_t *node = heed_mem_new(cx, (size_t)m->order * sizeof *node);
    struct file_writer *w = node ? file_write_open(cx, path) : NULL;
    if (!w) return heed_mem_free(cx, node), false;
    file_write(w, "\\data\\\n", 7);
    for (int k = 1; k <= m->order; k++) {
        const int n = snprintf(line, sizeof line, "ngram %d=%lld\n", k, (long long)heed_ngram_count(m, k));
        file_write(w, line, (size_t)n);
    }
    for (int k = 1; k <= m->order; k++) {
        const int n = snprintf(line, sizeof line, "\n\\%d-grams:\n", k);
        file_write(w, line, (size_t)n);
        put_order(w, m, k, node);
    }
    file_write(w, "\n\\end\\\n", 7);
    heed_mem_free(cx, node);
    return file_write_commit(w);
}
