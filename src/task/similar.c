/* Nearest texts: an index of vectors beside the texts, and exact search in it. */
#include "heed/similar.h"
#include "base/checked.h"
#include "base/ctx.h"
#include "base/file.h"
#include "io/safetensors.h"
#include "io/text.h"
#include "kernel/gemm.h"
#include "kernel/ints.h"
#include "kernel/topk.h"
#include "model/directory.h"
#include "text/hash.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FORMAT  "heed-vectors 1"
#define AT_ONCE 2048  /* lines that are embedded together */
#define ROWS    16384 /* vectors that are compared with the queries at once: 24 MB of width 384 */
#define QUERIES 64    /* more take as long as so many after each other: products are bound by arithmetic then */

struct heed_similar {
    heed_lines texts;
    int64_t *line; /* (rows) of the file, from 0, of each vector */
    int64_t rows, width;
    heed_safetensors *file;
    const float *vector; /* (rows, width), the file's */
    const char *made;
    int64_t cut;
};

/* ---- what an index is of ---- */

struct digest {
    char text[17];
};

static uint64_t add_bytes(uint64_t h, const void *bytes, size_t size) {
    const char *s = bytes;
    h = hash_mix(h ^ size, 0x9E3779B97F4A7C15u);
    for (; size >= 8; s += 8, size -= 8) h = hash_mix(h ^ hash_word(s, 8), 0xD6E8FEB86659FD93u);
    return size > 0 ? hash_mix(h ^ hash_word(s, size), 0xD6E8FEB86659FD93u) : h;
}

static struct digest digest_of(uint64_t h) {
    struct digest d;
    snprintf(d.text, sizeof d.text, "%016llx", (unsigned long long)h);
    return d;
}

static struct digest digest_texts(const heed_lines *texts) {
    return digest_of(add_bytes(1, texts->text, (size_t)texts->start[texts->count]));
}

/* All that makes the vector of a text: weights, configuration, vocabulary, and how states are pooled. What a tokenizer
 * does before its vocabulary is known by its work on one text. */
static bool digest_model(heed_ctx *cx, const heed_text_model *m, struct digest *out) {
    static const char probe[] = "Ein Café; the 2 naïve CO-ops’ \xEF\xAC\x81le,  über \xE6\x9D\xB1\xE4\xBA\xAC.";
    const heed_params *set = heed_model_params(m->model);
    const int64_t how[] = {m->pooling, m->reader.longest, m->reader.prefix_space};
    uint64_t h = add_bytes(2, how, sizeof how);
    heed_ids ids = {0};
    size_t size = 0;
    char *config = heed_json_print(cx, heed_model_config(m->model), 0, &size);
    if (!config || !heed_encode(cx, m->tokens, probe, sizeof probe - 1, true, &ids)) {
        heed_mem_free(cx, config);
        return false;
    }
    h = add_bytes(h, config, size);
    h = add_bytes(h, ids.id, (size_t)ids.count * sizeof *ids.id);
    for (int64_t id = 0; id < heed_tokenizer_size(m->tokens); id++) {
        const char *token = heed_tokenizer_token(m->tokens, (int32_t)id);
        if (token) h = add_bytes(h, token, strlen(token));
    }
    for (int i = 0; i < heed_params_count(set); i++) {
        const heed_param *p = heed_params_at(set, i);
        if (p->target || strstr(p->name, "pooler.")) continue; /* vectors are made of the states before it */
        h = add_bytes(h, p->name, strlen(p->name));
        h = add_bytes(h, p->data, (size_t)p->count * heed_dtype_size(p->dtype));
    }
    heed_mem_free(cx, config);
    heed_ids_free(cx, &ids);
    *out = digest_of(h);
    return true;
}

/* ---- making one ---- */

static void normalise(float *x, int64_t n) {
    double square = 0;
    for (int64_t j = 0; j < n; j++) square += (double)x[j] * (double)x[j];
    const float scale = square > 0 ? (float)(1 / sqrt(square)) : 0;
    for (int64_t j = 0; j < n; j++) x[j] *= scale;
}

static bool write_vectors(heed_ctx *cx, const heed_text_model *m, heed_similar *s, struct file_writer *w,
                          const heed_similar_opts *opts) {
    heed_text_input *input = heed_mem_new(cx, AT_ONCE * sizeof *input);
    float *out = heed_mem_new(cx, AT_ONCE * (size_t)s->width * sizeof *out);
    for (int64_t at = 0; input && out && at < s->rows && !heed_cancelled(cx); at += AT_ONCE) {
        const int64_t n = min64(AT_ONCE, s->rows - at);
        int64_t cut = 0;
        for (int64_t i = 0; i < n; i++) {
            const int64_t line = s->line[at + i];
            input[i] =
                (heed_text_input){.text = heed_line_text(&s->texts, line), .size = heed_line_size(&s->texts, line)};
        }
        if (!heed_embed(cx, m, input, n, out, &cut)) break;
        for (int64_t i = 0; i < n; i++) normalise(out + i * s->width, s->width);
        if (!file_write(w, out, (size_t)(n * s->width) * sizeof *out)) break;
        s->cut += cut;
        if (opts->progress) opts->progress(opts->own, at + n, s->rows);
    }
    heed_mem_free(cx, input);
    heed_mem_free(cx, out);
    return !heed_failed(cx);
}

static bool make(heed_ctx *cx, const heed_text_model *m, heed_similar *s, const char *path, const heed_pair *record,
                 int64_t n, const heed_similar_opts *opts) {
    const heed_array vectors = {
        .name = "vectors", .dtype = HEED_F32, .rank = 2, .shape = {s->rows, s->width}, .data = ""};
    struct file_writer *w = st_write_open(cx, path, &vectors, 1, record, n);
    if (!w) return false;
    if (write_vectors(cx, m, s, w, opts)) return file_write_commit(w);
    file_write_abort(w);
    return false;
}

/* ---- opening ---- */

static bool is_blank(const char *text) { return text[strspn(text, " \t\r\f\v")] == 0; }

static bool read_texts(heed_ctx *cx, heed_similar *s, const char *path) {
    if (!heed_lines_read(cx, path, &s->texts)) return false;
    s->line = heed_mem_new(cx, ((size_t)s->texts.count + 1) * sizeof *s->line);
    for (int64_t i = 0; s->line && i < s->texts.count; i++)
        if (!is_blank(heed_line_text(&s->texts, i))) s->line[s->rows++] = i;
    if (heed_failed(cx)) return false;
    if (s->rows == 0) return heed_fail(cx, HEED_ERR_FORMAT, "%s: there are no texts", path);
    if (s->rows > INT32_MAX) return heed_fail(cx, HEED_ERR_RANGE, "%s: more than %d texts", path, INT32_MAX);
    return true;
}

/* The index at path, as far as it is one; *stale: why it does not fit, or NULL. */
static bool open_index(heed_ctx *cx, heed_similar *s, const char *path, const heed_pair *record, int64_t n,
                       const char **stale) {
    s->file = heed_safetensors_open(cx, path);
    if (!s->file) return heed_fail_in(cx, "the file of vectors");
    const char *format = heed_safetensors_metadata(cx, s->file, record[0].key);
    const int64_t at = heed_safetensors_find(cx, s->file, "vectors");
    if (!format || at < 0)
        return heed_fail(cx, HEED_ERR_FORMAT, "%s: no vectors of texts; it is not overwritten", path);
    const heed_array *a = heed_safetensors_get(cx, s->file, at);
    if (!a) return false;
    *stale = NULL;
    for (int64_t i = n - 1; i >= 0; i--) {
        static const char *const why[] = {"it has another format", "the texts have changed",
                                          "it was made with another model"};
        const char *value = heed_safetensors_metadata(cx, s->file, record[i].key);
        if (!value || strcmp(value, record[i].value) != 0) *stale = why[i];
    }
    if (!*stale && (a->dtype != HEED_F32 || a->rank != 2 || a->shape[0] != s->rows || a->shape[1] != s->width))
        *stale = "it has other sizes";
    s->vector = a->data;
    return true;
}

static bool open_vectors(heed_ctx *cx, const heed_text_model *m, heed_similar *s, const char *path,
                         const heed_similar_opts *opts) {
    struct digest model;
    if (!digest_model(cx, m, &model)) return false;
    const struct digest texts = digest_texts(&s->texts);
    const heed_pair record[] = {{"format", FORMAT}, {"texts", texts.text}, {"model", model.text}};
    const char *stale = "there was none";
    const bool there = access(path, F_OK) == 0;
    if (there && !open_index(cx, s, path, record, 3, &stale)) return false;
    if (there && !stale) return true;
    heed_safetensors_close(s->file);
    s->file = NULL;
    s->made = stale;
    return make(cx, m, s, path, record, 3, opts) && open_index(cx, s, path, record, 3, &stale) &&
           (!stale || heed_fail(cx, HEED_ERR_FILE, "%s: changed by somebody else while it was made", path));
}

heed_similar *heed_similar_open(heed_ctx *cx, const heed_text_model *m, const char *texts,
                                const heed_similar_opts *opts) {
    static const heed_similar_opts standard = {0};
    char path[PATH_ROOM];
    if (heed_failed(cx)) return NULL;
    if (!m || !texts) return heed_fail(cx, HEED_ERR_USAGE, "similar: a model and a file of texts are needed"), NULL;
    if (!opts) opts = &standard;
    if (snprintf(path, sizeof path, "%s%s", opts->index ? opts->index : texts,
                 opts->index ? "" : ".vectors.safetensors") >= (int)sizeof path)
        return heed_fail(cx, HEED_ERR_USAGE, "similar: the name of a file is too long"), NULL;
    heed_similar *s = heed_mem_new(cx, sizeof *s);
    if (!s) return NULL;
    *s = (heed_similar){.width = heed_text_width(cx, m)};
    if (!heed_failed(cx) && read_texts(cx, s, texts) && open_vectors(cx, m, s, path, opts)) return s;
    heed_similar_close(cx, s);
    return NULL;
}

void heed_similar_close(heed_ctx *cx, heed_similar *s) {
    if (!s) return;
    heed_safetensors_close(s->file);
    heed_lines_free(cx, &s->texts);
    heed_mem_free(cx, s->line);
    heed_mem_free(cx, s);
}

int64_t heed_similar_lines(const heed_similar *s) { return s ? s->rows : 0; }
int64_t heed_similar_width(const heed_similar *s) { return s ? s->width : 0; }
const char *heed_similar_text(const heed_similar *s, int64_t line) {
    return s ? heed_line_text(&s->texts, line - 1) : NULL;
}
const char *heed_similar_made(const heed_similar *s) { return s ? s->made : NULL; }
int64_t heed_similar_cut(const heed_similar *s) { return s ? s->cut : 0; }

/* ---- searching ---- */

struct search {
    const heed_similar *s;
    int64_t n, top;
    float *query; /* (n, width) of length 1 */
    float *score; /* (n, ROWS) */
    struct candidate *best;
    struct topk_heap *heap; /* (n) */
    int64_t first, rows;    /* of the block of vectors */
};

static void take_row(void *arg, int64_t i, void *scratch) {
    const struct search *f = arg;
    (void)scratch;
    topk_take(&f->heap[i], f->score + i * f->rows, f->rows, f->first);
}

/* One pass over the vectors, which are many times what the caches hold. */
static bool pass(heed_ctx *cx, struct search *f) {
    const heed_similar *s = f->s;
    for (f->first = 0; f->first < s->rows && !heed_cancelled(cx); f->first += ROWS) {
        f->rows = min64(ROWS, s->rows - f->first);
        kernel_gemm(cx->pool, &(struct gemm){.m = f->n,
                                             .n = f->rows,
                                             .k = s->width,
                                             .a = f->query,
                                             .lda = s->width,
                                             .b = s->vector + f->first * s->width,
                                             .ldb = s->width,
                                             .trans_b = true,
                                             .c = f->score,
                                             .ldc = f->rows,
                                             .alpha = 1});
        pool_run_if(f->n > 1, cx->pool, f->n, take_row, f);
    }
    return !heed_failed(cx);
}

static void put_found(struct search *f, int64_t i, heed_found *to) {
    const int64_t n = topk_sort(&f->heap[i]);
    for (int64_t k = 0; k < f->top; k++)
        to[k] = k < n ? (heed_found){f->s->line[f->heap[i].best[k].id] + 1, f->heap[i].best[k].score} : (heed_found){0};
}

bool heed_similar_find(heed_ctx *cx, const heed_similar *s, const float *queries, int64_t n, int64_t top,
                       heed_found *found) {
    size_t room;
    if (heed_failed(cx)) return false;
    if (!s || n < 0 || top < 1 || (n > 0 && (!queries || !found)))
        return heed_fail(cx, HEED_ERR_USAGE, "similar: an index, queries and a place for what is found are needed");
    const int64_t kept = min64(top, s->rows), most = min64(n, QUERIES);
    struct search f = {.s = s, .top = top};
    if (!size_mul((size_t)kept, (size_t)most * sizeof *f.best, &room))
        return heed_fail(cx, HEED_ERR_MEMORY, "similar: too many lines are asked for");
    f.query = heed_mem_new(cx, (size_t)(most * s->width) * sizeof *f.query + 1);
    f.score = heed_mem_new(cx, (size_t)(most * min64(ROWS, s->rows)) * sizeof *f.score + 1);
    f.heap = heed_mem_new(cx, (size_t)most * sizeof *f.heap + 1);
    f.best = heed_mem_new(cx, room + 1);
    for (int64_t at = 0; !heed_failed(cx) && at < n; at += QUERIES) {
        f.n = min64(QUERIES, n - at);
        memcpy(f.query, queries + at * s->width, (size_t)(f.n * s->width) * sizeof *f.query);
        for (int64_t i = 0; i < f.n; i++) {
            normalise(f.query + i * s->width, s->width);
            f.heap[i] = (struct topk_heap){.best = f.best + i * kept, .k = kept, .least = -INFINITY};
        }
        if (!pass(cx, &f)) break;
        for (int64_t i = 0; i < f.n; i++) put_found(&f, i, found + (at + i) * top);
    }
    heed_mem_free(cx, f.query);
    heed_mem_free(cx, f.score);
    heed_mem_free(cx, f.heap);
    heed_mem_free(cx, f.best);
    return !heed_failed(cx);
}
