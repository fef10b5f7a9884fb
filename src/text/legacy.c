/* A tokenizer.json from vocab.txt, from vocab.json and merges.txt, or from a SentencePiece model, with the flags of
 * tokenizer_config.json, as the class named there would have it. The text is then read like any other. */
#include "text/legacy.h"
#include "base/file.h"
#include "io/limits.h"
#include "io/text.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* A special token and how it is looked for. */
struct token {
    heed_string text;
    bool given, left, right, word, normalized, special;
};
struct legacy {
    heed_ctx *cx;
    const char *dir;
    const struct legacy_class *class;
    struct tree config, specials, added, model; /* {0}: there is no such file */
    struct token role[ROLES];
    struct token *extra;
    int64_t extra_count, extra_room;
    struct map vocabulary; /* value: id */
    double *scores;        /* of Unigram; (vocabulary) */
    int64_t unknown;       /* of Unigram */
    char *bytes;           /* of the SentencePiece model */
    struct spm spm;
    int64_t next_id; /* of the next added token that is not in the vocabulary */
    heed_string out;
};

static bool put(struct legacy *l, const char *text) { return heed_string_put(l->cx, &l->out, text, strlen(text)); }

/* As a JSON string. */
static bool put_string(struct legacy *l, const char *s, size_t size) {
    bool ok = put(l, "\"");
    for (size_t i = 0; ok && i < size; i++) {
        char escape[8];
        const unsigned char c = (unsigned char)s[i];
        if (c < 0x20 || c == '"' || c == '\\') {
            snprintf(escape, sizeof escape, "\\u%04x", c);
            ok = put(l, escape);
        } else
            ok = heed_string_put(l->cx, &l->out, s + i, 1);
    }
    return ok && put(l, "\"");
}

/* ---- files ---- */

static bool path_of(struct legacy *l, const char *file, char path[4096]) {
    if ((size_t)snprintf(path, 4096, "%s/%s", l->dir, file) < 4096) return true;
    return heed_fail(l->cx, HEED_ERR_FILE, "%.60s...: the path is too long", l->dir);
}

static bool is_file(const char *dir, const char *file) {
    char path[4096];
    struct stat what;
    return (size_t)snprintf(path, sizeof path, "%s/%s", dir, file) < sizeof path && stat(path, &what) == 0 &&
           !S_ISDIR(what.st_mode);
}

static char *read_whole(struct legacy *l, const char *file, size_t *size) {
    char path[4096];
    return path_of(l, file, path) ? (char *)file_read_regular(l->cx, path, IO_TOKENIZER_LIMIT, size) : NULL;
}

/* A JSON file that need not be there; `name` is for sentences. */
static bool read_tree(struct legacy *l, const char *file, struct tree *to) {
    size_t size;
    if (!is_file(l->dir, file)) return true;
    char *text = read_whole(l, file, &size);
    const bool ok = text && tree_parse(l->cx, file, text, size, to) && tree_need(to, tree_root(to), NULL, TREE_OBJECT);
    heed_mem_free(l->cx, text);
    return ok;
}

static node member(const struct tree *t, const char *key) { return t->cx ? tree_find(t, tree_root(t), key) : NULL; }

static bool flag(const struct legacy *l, const char *key, bool fallback) {
    const node v = member(&l->config, key);
    return v && v->kind == TREE_BOOL ? v->number != 0 : fallback;
}

/* ---- special tokens ---- */

static void token_free(heed_ctx *cx, struct token *t) { heed_string_free(cx, &t->text); }

/* "text" or {"content": "text", "lstrip": …}; null is none. */
static bool read_token(struct legacy *l, const struct tree *t, node v, bool special, struct token *to) {
    const node content = v && v->kind == TREE_OBJECT ? tree_find(t, v, "content") : v;
    if (!content || content->kind != TREE_TEXT) return true;
    const bool object = v->kind == TREE_OBJECT;
    token_free(l->cx, to);
    *to = (struct token){.given = true, .special = special || (object && tree_bool(t, v, "special", false))};
    to->left = object && tree_bool(t, v, "lstrip", false);
    to->right = object && tree_bool(t, v, "rstrip", false);
    to->word = object && tree_bool(t, v, "single_word", false);
    to->normalized = object && tree_bool(t, v, "normalized", !to->special);
    return heed_string_put(l->cx, &to->text, content->text, content->size);
}

static bool plain_token(struct legacy *l, const char *text, size_t size, bool special, struct token *to) {
    *to = (struct token){.given = true, .special = special};
    return heed_string_put(l->cx, &to->text, text, size);
}

static struct token *add_extra(struct legacy *l) {
    if (l->extra_count == l->extra_room) {
        const int64_t room = l->extra_room ? 2 * l->extra_room : 32;
        struct token *larger = heed_mem_resize(l->cx, l->extra, (size_t)room * sizeof *larger);
        if (!larger) return NULL;
        l->extra = larger;
        l->extra_room = room;
    }
    l->extra[l->extra_count] = (struct token){.given = false};
    return &l->extra[l->extra_count++];
}

static bool add_extra_text(struct legacy *l, const char *text, size_t size, bool special) {
    struct token *t = add_extra(l);
    return t && plain_token(l, text, size, special, t);
}

/* The special token of a role, by what the files say, or as the class has it. */
static bool read_roles(struct legacy *l) {
    const bool decoder = member(&l->config, "added_tokens_decoder");
    for (int i = 0; i < ROLES; i++) {
        struct token *t = &l->role[i];
        const char *usual = l->class->tokens[i];
        const node here = l->config.cx ? tree_find(&l->config, tree_root(&l->config), role_names[i]) : NULL;
        if (usual && !plain_token(l, usual, strlen(usual), true, t)) return false;
        if (i == ROLE_MASK) t->left = l->class->mask_left;
        if (here && !read_token(l, &l->config, here, true, t)) return false;
        if (!decoder && !read_token(l, &l->specials, member(&l->specials, role_names[i]), true, t)) return false;
        t->special = true;
    }
    return !heed_failed(l->cx);
}

static bool read_list(struct legacy *l, const struct tree *t, const char *key) {
    const node list = member(t, key);
    if (!list || list->kind < TREE_ARRAY) return true;
    for (EACH_NODE(v, t, list)) {
        struct token *to = add_extra(l);
        if (!to || !read_token(l, t, v, true, to)) return false;
    }
    return !heed_failed(l->cx);
}

static bool read_extras(struct legacy *l) {
    const bool decoder = member(&l->config, "added_tokens_decoder");
    return read_list(l, &l->config, "additional_special_tokens") && read_list(l, &l->config, "extra_special_tokens") &&
           (decoder || (read_list(l, &l->specials, "additional_special_tokens") &&
                        read_list(l, &l->specials, "extra_special_tokens")));
}

/* ---- vocabularies ---- */

static bool add_word(struct legacy *l, const char *text, size_t size, int64_t id) {
    const int64_t entry = map_add(l->cx, &l->vocabulary, text, size);
    if (entry >= 0) l->vocabulary.entries[entry].value = id;
    if (id >= l->next_id) l->next_id = id + 1;
    return entry >= 0;
}

static size_t trimmed(const char *s, size_t size) {
    size_t last = 0;
    for (const char *at = s, *end = s + size; at < end;)
        if (!unicode_is_space(utf8_next(&at, end))) last = (size_t)(at - s);
    return last;
}

static bool check_utf8(struct legacy *l, const char *file, const char *text, size_t size) {
    char what[128];
    snprintf(what, sizeof what, "%s", file);
    return utf8_check(l->cx, what, text, size);
}

/* vocab.txt: a token a line. */
static bool read_words(struct legacy *l) {
    size_t size;
    char *text = read_whole(l, "vocab.txt", &size);
    bool ok = text && check_utf8(l, "vocab.txt", text, size);
    int64_t id = 0;
    for (const char *s = text, *end = text + (ok ? size : 0); ok && s < end; id++) {
        const char *stop = memchr(s, '\n', (size_t)(end - s));
        const size_t n = (size_t)((stop ? stop : end) - s);
        ok = add_word(l, s, trimmed(s, n), id);
        s = stop ? stop + 1 : end;
    }
    heed_mem_free(l->cx, text);
    return ok;
}

static bool read_vocab_json(struct legacy *l) {
    struct tree t = {0};
    size_t size;
    char *text = read_whole(l, "vocab.json", &size);
    bool ok =
        text && tree_parse(l->cx, "vocab.json", text, size, &t) && tree_need(&t, tree_root(&t), NULL, TREE_OBJECT);
    if (ok)
        for (EACH_NODE(v, &t, tree_root(&t))) {
            const int64_t id = tree_int(&t, v, NULL, -1);
            if (!heed_failed(l->cx) && (id < 0 || id > INT32_MAX / 4))
                tree_fail(&t, v, NULL, "no id can be %lld", (long long)id);
            ok = !heed_failed(l->cx) && add_word(l, v->key, v->key_size, id);
            if (!ok) break;
        }
    tree_free(&t);
    heed_mem_free(l->cx, text);
    return ok;
}

/* The lines of merges.txt as a JSON list. */
static bool put_merges_file(struct legacy *l) {
    size_t size;
    char *text = read_whole(l, "merges.txt", &size);
    bool ok = text && check_utf8(l, "merges.txt", text, size) && put(l, "["), first = true;
    for (const char *s = text, *end = text + (ok ? size : 0); ok && s < end;) {
        const char *stop = memchr(s, '\n', (size_t)(end - s));
        size_t n = (size_t)((stop ? stop : end) - s);
        if (n > 0 && s[n - 1] == '\r') n--;
        if (!(n >= 8 && memcmp(s, "#version", 8) == 0) && n > 0) {
            ok = (first || put(l, ",")) && put_string(l, s, n);
            first = false;
        }
        s = stop ? stop + 1 : end;
    }
    heed_mem_free(l->cx, text);
    return ok && put(l, "]");
}

static bool put_vocabulary(struct legacy *l) {
    bool ok = put(l, "{");
    for (int64_t i = 0; ok && i < l->vocabulary.count; i++) {
        char id[32];
        snprintf(id, sizeof id, ":%lld", (long long)l->vocabulary.entries[i].value);
        ok = (i == 0 || put(l, ",")) && put_string(l, map_key(&l->vocabulary, i), map_size(&l->vocabulary, i)) &&
             put(l, id);
    }
    return ok && put(l, "}");
}

/* ---- SentencePiece ---- */

static bool read_pieces(struct legacy *l, const char *file) {
    size_t size;
    static const char *const usual[] = {"spiece.model", "sentencepiece.bpe.model", "tokenizer.model", "spm.model",
                                        "source.spm"};
    for (int i = 0; !file && i < 5; i++)
        if (is_file(l->dir, usual[i])) file = usual[i];
    if (!file) return heed_fail(l->cx, HEED_ERR_FILE, "%s: no SentencePiece model", l->dir);
    l->bytes = read_whole(l, file, &size);
    return l->bytes && spm_parse(l->cx, file, l->bytes, size, &l->spm);
}

/* Unigram's list under way: equal texts keep their places. */
struct scored {
    struct legacy *l;
    int64_t count, room;
    bool ok;
};
static void put_piece(struct scored *s, const char *text, size_t size, double score) {
    struct legacy *l = s->l;
    char number[64];
    if (s->count == s->room && s->ok) {
        const int64_t room = s->room ? 2 * s->room : 4096;
        double *larger = heed_mem_resize(l->cx, l->scores, (size_t)room * sizeof *larger);
        if (larger) l->scores = larger, s->room = room;
        s->ok = larger;
    }
    snprintf(number, sizeof number, ",%.17g]", score);
    for (char *c = number + 1; *c; c++) /* whatever the locale */
        if (*c == ',') *c = '.';
    if (s->ok) l->scores[s->count] = score;
    s->ok = s->ok && put(l, s->count ? ",[" : "[") && put_string(l, text, size) && put(l, number) &&
            add_word(l, text, size, s->count);
    s->count++;
}

static void put_role(struct scored *s, enum role role, const char *usual) {
    const struct token *t = &s->l->role[role];
    if (t->given)
        put_piece(s, t->text.s, t->text.size, 0);
    else
        put_piece(s, usual, strlen(usual), 0);
}

static void put_spm_from(struct scored *s, int64_t first) {
    const struct spm *m = &s->l->spm;
    for (int64_t i = first; i < m->count; i++)
        put_piece(s, m->pieces[i].text, m->pieces[i].size, (double)m->pieces[i].score);
}

static const char *const languages[] = {"ar_AR", "cs_CZ", "de_DE", "en_XX", "es_XX", "et_EE", "fi_FI", "fr_XX", "gu_IN",
                                        "hi_IN", "it_IT", "ja_XX", "kk_KZ", "ko_KR", "lt_LT", "lv_LV", "my_MM", "ne_NP",
                                        "nl_XX", "ro_RO", "ru_RU", "si_LK", "tr_TR", "vi_VN", "zh_CN"};
enum { LANGUAGES = sizeof languages / sizeof *languages };

static int64_t extra_ids(const struct legacy *l) {
    const node v = member(&l->config, "extra_ids");
    return v && v->kind == TREE_NUMBER && v->number >= 0 && v->number <= 10000 ? (int64_t)v->number : 100;
}

static void put_numbered(struct scored *s, const char *format, int64_t i, double score) {
    char text[48];
    snprintf(text, sizeof text, format, (long long)i);
    put_piece(s, text, strlen(text), score);
}

/* The pieces as the class orders them, with those it adds; l->unknown is where the unknown one is then. */
static void order_pieces(struct scored *s, const char *order) {
    struct legacy *l = s->l;
    l->unknown = l->spm.unk_id;
    if (strcmp(order, "fairseq") == 0 || strcmp(order, "mbart") == 0) {
        put_role(s, ROLE_BOS, "<s>");
        put_role(s, ROLE_PAD, "<pad>");
        put_role(s, ROLE_EOS, "</s>");
        put_role(s, ROLE_UNK, "<unk>");
        put_spm_from(s, 3);
        for (int i = 0; i < LANGUAGES && *order == 'm'; i++) put_piece(s, languages[i], strlen(languages[i]), 0);
        put_role(s, ROLE_MASK, "<mask>");
        l->unknown = 3;
    } else if (strcmp(order, "camembert") == 0) {
        put_piece(s, "<s>NOTUSED", 10, 0);
        put_role(s, ROLE_PAD, "<pad>");
        put_piece(s, "</s>NOTUSED", 11, 0);
        put_role(s, ROLE_UNK, "<unk>");
        put_piece(s, "<unk>NOTUSED", 12, -100);
        put_spm_from(s, 1);
        put_role(s, ROLE_MASK, "<mask>");
        l->unknown = 3;
    } else if (strcmp(order, "pegasus") == 0) {
        put_role(s, ROLE_PAD, "<pad>");
        put_role(s, ROLE_EOS, "</s>");
        put_piece(s, "<mask_1>", 8, 0);
        put_piece(s, "<mask_2>", 8, 0);
        for (int64_t i = 2; i < 103; i++) put_numbered(s, "<unk_%lld>", i, -100);
        put_spm_from(s, 2);
        l->unknown = l->spm.unk_id + 103;
    } else {
        put_spm_from(s, 0);
        if (strcmp(order, "t5") == 0) {
            for (int64_t i = extra_ids(l); i-- > 0;) put_numbered(s, "<extra_id_%lld>", i, 0);
            l->unknown = 2;
        }
        if (strcmp(order, "albert") == 0) l->unknown = 1;
    }
}

/* Ids are those of vocab.json; a token that the model does not have is never the best. */
#define NEVER (-1e30)
static bool put_marian(struct scored *s) {
    struct legacy *l = s->l;
    struct map pieces = {0}, ids = l->vocabulary;
    l->vocabulary = (struct map){0};
    int64_t *by_id = heed_mem_new(l->cx, (size_t)(l->next_id + 1) * sizeof *by_id);
    bool ok = by_id;
    for (int64_t i = 0; ok && i < l->next_id; i++) by_id[i] = -1;
    for (int64_t i = 0; ok && i < ids.count; i++) by_id[ids.entries[i].value] = i;
    for (int64_t i = 0; ok && i < l->spm.count; i++) {
        const int64_t entry = map_add(l->cx, &pieces, l->spm.pieces[i].text, l->spm.pieces[i].size);
        ok = entry >= 0;
        if (ok) pieces.entries[entry].value = i;
    }
    const int64_t n = l->next_id;
    for (int64_t i = 0; ok && i < n; i++) {
        const char *text = by_id[i] < 0 ? "" : map_key(&ids, by_id[i]);
        const size_t size = by_id[i] < 0 ? 0 : map_size(&ids, by_id[i]);
        const int64_t piece = size ? map_find(&pieces, text, size) : -1;
        const bool usable = piece >= 0 && l->spm.pieces[pieces.entries[piece].value].type == SPM_NORMAL;
        put_piece(s, text, size, usable ? (double)l->spm.pieces[pieces.entries[piece].value].score : NEVER);
        if (size > 4 && memcmp(text, ">>", 2) == 0 && memcmp(text + size - 2, "<<", 2) == 0)
            ok = add_extra_text(l, text, size, false);
    }
    l->unknown = map_find(&ids, l->role[ROLE_UNK].text.s, l->role[ROLE_UNK].text.size);
    if (l->unknown >= 0) l->unknown = ids.entries[l->unknown].value;
    map_free(l->cx, &ids);
    map_free(l->cx, &pieces);
    heed_mem_free(l->cx, by_id);
    return ok && s->ok;
}

/* Merges of a vocabulary that has none: for each token in turn, its halves that are tokens, short ones on the left
 * first. */
static bool put_generated_merges(struct legacy *l) {
    bool ok = put(l, "["), first = true;
    for (int64_t i = 0; ok && i < l->spm.count; i++) {
        const char *text = l->spm.pieces[i].text, *end = text + l->spm.pieces[i].size;
        const char *s = text;
        for (utf8_next(&s, end); ok && s < end; utf8_next(&s, end)) {
            const size_t left = (size_t)(s - text), right = (size_t)(end - s);
            if (map_find(&l->vocabulary, text, left) < 0 || map_find(&l->vocabulary, s, right) < 0) continue;
            ok = put(l, first ? "[" : ",[") && put_string(l, text, left) && put(l, ",") && put_string(l, s, right) &&
                 put(l, "]");
            first = false;
        }
    }
    return ok && put(l, "]");
}

/* Control pieces are special tokens, and those that the user defined are tokens. */
static bool add_spm_tokens(struct legacy *l) {
    bool ok = true;
    for (int64_t i = 0; ok && i < l->spm.count; i++) {
        const struct spm_piece *p = &l->spm.pieces[i];
        if (p->type == SPM_CONTROL || p->type == SPM_USER_DEFINED)
            ok = add_extra_text(l, p->text, p->size, p->type == SPM_CONTROL);
    }
    return ok;
}

/* ---- the text ---- */

static bool put_base64(struct legacy *l, const char *bytes, size_t size) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    bool ok = true;
    for (size_t i = 0; ok && i < size; i += 3) {
        uint32_t bits = 0;
        for (size_t k = 0; k < 3; k++) bits = bits << 8 | (i + k < size ? (unsigned char)bytes[i + k] : 0);
        char four[5] = {digits[bits >> 18], digits[bits >> 12 & 63], digits[bits >> 6 & 63], digits[bits & 63], 0};
        if (i + 2 >= size) four[3] = '=';
        if (i + 1 >= size) four[2] = '=';
        ok = put(l, four);
    }
    return ok;
}

#define NOTHING "{\"type\":\"Sequence\",\"normalizers\":[]}"
static bool put_charsmap(struct legacy *l) {
    if (l->spm.charsmap_size > 0)
        return put(l, "{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"") &&
               put_base64(l, l->spm.charsmap, l->spm.charsmap_size) && put(l, "\"}");
    if (l->class->order && strcmp(l->class->order, "pegasus") == 0)
        return put(l, "{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"\\\\n\"},\"content\":\" \"}");
    return put(l, NOTHING);
}

static bool put_token_text(struct legacy *l, enum role role) {
    return put_string(l, l->role[role].text.s ? l->role[role].text.s : "", l->role[role].text.size);
}

/* What $name$ stands for. */
static bool fill_in(struct legacy *l, const char *name, size_t size) {
#define IS(text) (size == sizeof text - 1 && memcmp(name, text, size) == 0)
    const bool lower =
        flag(l, "do_lower_case",
             l->class->files == LEGACY_WORDS || (l->class->order && strcmp(l->class->order, "albert") == 0));
    const node accents = member(&l->config, "strip_accents"), prefix = member(&l->config, "add_prefix_space");
    const bool no_prefix = prefix && prefix->kind == TREE_BOOL && prefix->number == 0;
    if (IS("lower")) return put(l, lower ? "true" : "false");
    if (IS("accents")) return put(l, !accents ? "null" : accents->number != 0 ? "true" : "false");
    if (IS("chinese")) return put(l, flag(l, "tokenize_chinese_chars", true) ? "true" : "false");
    if (IS("prefix")) return put(l, flag(l, "add_prefix_space", false) ? "true" : "false");
    if (IS("scheme")) return put(l, no_prefix ? "never" : "always");
    if (IS("first")) return put(l, no_prefix ? "first" : "always");
    if (IS("llama")) return put(l, no_prefix ? "never" : flag(l, "legacy", false) ? "always" : "first");
    if (IS("strip")) return no_prefix || put(l, ",{\"type\":\"Strip\",\"content\":\" \",\"start\":1,\"stop\":0}");
    if (IS("unk")) return put_token_text(l, ROLE_UNK);
    if (IS("piece")) return put_string(l, l->spm.unk_piece, l->spm.unk_piece_size);
    if (IS("fallback")) return put(l, l->spm.byte_fallback ? "true" : "false");
    if (IS("charsmap")) return put_charsmap(l);
    if (IS("lowercase")) return !flag(l, "do_lower_case", false) || put(l, "{\"type\":\"Lowercase\"},");
    if (IS("punctuation"))
        return !flag(l, "split_by_punct", false) || put(l, "{\"type\":\"Punctuation\",\"behavior\":\"Isolated\"},");
    if (IS("albert"))
        return (flag(l, "keep_accents", false) || put(l, ",{\"type\":\"NFKD\"},{\"type\":\"StripAccents\"}")) &&
               (!lower || put(l, ",{\"type\":\"Lowercase\"}"));
    return put(l,
               "{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"Replace\",\"pattern\":{\"String\":\"\xE2\x96\x81\"},"
               "\"content\":\" \"}") &&
           put(l, l->spm.byte_fallback ? ",{\"type\":\"ByteFallback\"},{\"type\":\"Fuse\"}]}" : "]}");
#undef IS
}

static bool put_template(struct legacy *l, const char *text) {
    bool ok = text ? true : put(l, "null");
    while (ok && text && *text) {
        const char *mark = strchr(text, '$'), *close = mark ? strchr(mark + 1, '$') : NULL;
        const bool name = close && close > mark + 1;
        const size_t n = name ? (size_t)(mark - text) : strlen(text);
        bool letters = name;
        for (const char *c = name ? mark + 1 : text; letters && c < close; c++) letters = *c >= 'a' && *c <= 'z';
        if (name && !letters) { /* a dollar of a regular expression */
            ok = heed_string_put(l->cx, &l->out, text, n + 1);
            text = mark + 1;
            continue;
        }
        ok = heed_string_put(l->cx, &l->out, text, n) && (!name || fill_in(l, mark + 1, (size_t)(close - mark - 1)));
        text = name ? close + 1 : text + n;
    }
    return ok;
}

/* ---- added tokens ---- */

/* Its id: in the vocabulary, or behind it. */
static int64_t id_of(struct legacy *l, const heed_string *text) {
    const int64_t before = l->vocabulary.count,
                  entry = map_add(l->cx, &l->vocabulary, text->s ? text->s : "", text->size);
    if (entry < 0) return -1;
    if (l->vocabulary.count > before) l->vocabulary.entries[entry].value = l->next_id++;
    return l->vocabulary.entries[entry].value;
}

static bool put_added_token(struct legacy *l, const struct token *t, bool *first) {
    char id[48];
    static const char *const keys[] = {"single_word", "lstrip", "rstrip", "normalized", "special"};
    const bool values[] = {t->word, t->left, t->right, t->normalized, t->special};
    if (!t->given || t->text.size == 0) return true;
    snprintf(id, sizeof id, "%s{\"id\":%lld,\"content\":", *first ? "" : ",", (long long)id_of(l, &t->text));
    *first = false;
    bool ok = put(l, id) && put_string(l, t->text.s, t->text.size);
    for (int i = 0; i < 5; i++)
        ok = ok && put(l, ",\"") && put(l, keys[i]) && put(l, values[i] ? "\":true" : "\":false");
    return ok && put(l, "}");
}

static bool is_special_text(const struct legacy *l, node text) {
    for (int i = 0; i < ROLES; i++)
        if (l->role[i].given && l->role[i].text.size == text->key_size &&
            memcmp(l->role[i].text.s, text->key, text->key_size) == 0)
            return true;
    return false;
}

/* tokenizer_config.json's added_tokens_decoder, or added_tokens.json, in the order of their ids; special tokens by
 * role; and the others. */
static bool put_added(struct legacy *l) {
    const node decoder = member(&l->config, "added_tokens_decoder");
    bool ok = put(l, "\"added_tokens\":["), first = true;
    int64_t last = -1;
    while (ok && (decoder || l->added.cx)) { /* the next larger id; such lists are short */
        const struct tree *t = decoder ? &l->config : &l->added;
        int64_t best = INT64_MAX;
        node found = NULL;
        for (EACH_NODE(v, t, decoder ? decoder : tree_root(t))) {
            int64_t id = 0;
            if (decoder)
                for (uint32_t i = 0; i < v->key_size && v->key[i] >= '0' && v->key[i] <= '9' && id < INT32_MAX; i++)
                    id = 10 * id + (v->key[i] - '0');
            else
                id = v->kind == TREE_NUMBER ? (int64_t)v->number : -1;
            if (id > last && id < best) best = id, found = v;
        }
        if (!found) break;
        last = best;
        struct token one = {.given = false};
        if (decoder)
            ok = read_token(l, t, found, false, &one);
        else {
            const bool special = is_special_text(l, found);
            ok = plain_token(l, found->key, found->key_size, special, &one);
            one.normalized = !special;
        }
        ok = ok && put_added_token(l, &one, &first);
        token_free(l->cx, &one);
    }
    for (int i = 0; ok && i < ROLES; i++) ok = put_added_token(l, &l->role[i], &first);
    for (int64_t i = 0; ok && i < l->extra_count; i++) ok = put_added_token(l, &l->extra[i], &first);
    return ok && put(l, "],");
}

/* ---- post-processors ---- */

/* The token that a letter of a class's template stands for. */
static struct token *token_of(struct legacy *l, char letter, struct token *language) {
    static const char letters[] = "beuspcm"; /* in the order of the roles; s is the separator */
    if (letter == 'L') return language;
    const char *at = strchr(letters, letter);
    return at ? &l->role[at - letters] : NULL;
}

static bool put_parts(struct legacy *l, const char *from, const char *to, struct token *language) {
    bool ok = put(l, "["), first = true;
    for (const char *s = from; ok && s + 1 < to; s++) {
        if (*s == ' ') continue;
        const struct token *t = token_of(l, *s, language);
        if (t && !t->given) {
            s++;
            continue;
        }
        ok = put(l, first ? "{" : ",{") && put(l, t ? "\"SpecialToken\":{\"id\":" : "\"Sequence\":{\"id\":") &&
             put_string(l, t ? t->text.s : s, t ? t->text.size : 1) && put(l, ",\"type_id\":") &&
             heed_string_put(l->cx, &l->out, s + 1, 1) && put(l, "}}");
        first = false;
        s++;
    }
    return ok && put(l, "]");
}

static bool put_special(struct legacy *l, const struct token *t, bool *first) {
    char id[32];
    snprintf(id, sizeof id, "%lld", (long long)id_of(l, &t->text));
    const bool ok = put(l, *first ? "" : ",") && put_string(l, t->text.s, t->text.size) && put(l, ":{\"id\":") &&
                    put_string(l, t->text.s, t->text.size) && put(l, ",\"ids\":[") && put(l, id) &&
                    put(l, "],\"tokens\":[") && put_string(l, t->text.s, t->text.size) && put(l, "]}");
    *first = false;
    return ok;
}

static bool put_template_processor(struct legacy *l, const char *post) {
    const node named = member(&l->config, "src_lang");
    struct token language = {.given = true};
    const char *bar = strchr(post, '|'), *end = post + strlen(post);
    bool ok = named && named->kind == TREE_TEXT ? heed_string_put(l->cx, &language.text, named->text, named->size)
                                                : heed_string_put(l->cx, &language.text, "en_XX", 5);
    ok = ok && put(l, "{\"type\":\"TemplateProcessing\",\"single\":") && put_parts(l, post, bar, &language) &&
         put(l, ",\"pair\":") && put_parts(l, bar + 1, end, &language) && put(l, ",\"special_tokens\":{");
    bool first = true, done[128] = {false};
    for (const char *s = post; ok && *s; s++) {
        const struct token *t = *s >= 'A' ? token_of(l, *s, &language) : NULL;
        if (!t || !t->given || done[(unsigned char)*s & 127]) continue;
        done[(unsigned char)*s & 127] = true;
        ok = put_special(l, t, &first);
    }
    token_free(l->cx, &language);
    return ok && put(l, "}}");
}

static bool put_roberta(struct legacy *l, enum role sep, enum role cls, bool trim, bool prefix) {
    char ids[2][32];
    const enum role roles[] = {sep, cls};
    for (int i = 0; i < 2; i++) snprintf(ids[i], sizeof ids[i], ",%lld]", (long long)id_of(l, &l->role[roles[i]].text));
    return put(l, "{\"type\":\"RobertaProcessing\",\"sep\":[") && put_token_text(l, sep) && put(l, ids[0]) &&
           put(l, ",\"cls\":[") && put_token_text(l, cls) && put(l, ids[1]) &&
           put(l, trim ? ",\"trim_offsets\":true" : ",\"trim_offsets\":false") &&
           put(l, prefix ? ",\"add_prefix_space\":true}" : ",\"add_prefix_space\":false}");
}

static bool put_post_processor(struct legacy *l) {
    const char *post = l->class->post;
    const bool bos = flag(l, "add_bos_token", false) && l->role[ROLE_BOS].given;
    const bool eos = flag(l, "add_eos_token", false) && l->role[ROLE_EOS].given;
    if (post && strcmp(post, "clip") == 0) return put_roberta(l, ROLE_EOS, ROLE_BOS, false, false);
    if (post && strcmp(post, "roberta") == 0)
        return put_roberta(l, ROLE_SEP, ROLE_CLS, flag(l, "trim_offsets", true),
                           l->class->files == LEGACY_PAIRS && flag(l, "add_prefix_space", false));
    if (post) return put_template_processor(l, post);
    return put_template_processor(l, bos && eos ? "b0 A0 e0 | b0 A0 e0 b1 B1 e1"
                                     : bos      ? "b0 A0 | b0 A0 b1 B1"
                                     : eos      ? "A0 e0 | A0 e0 B1 e1"
                                                : "A0 | A0 B1");
}

/* ---- models ---- */

static bool put_unigram(struct legacy *l) {
    struct scored s = {.l = l, .ok = true};
    char unknown[48];
    bool ok = put(l, "{\"type\":\"Unigram\",\"vocab\":[");
    if (ok && l->class->files == LEGACY_MARIAN)
        ok = put_marian(&s);
    else
        order_pieces(&s, l->class->order ? l->class->order : "");
    if (!l->class->order && l->role[ROLE_UNK].given) { /* DeBERTa: where the unknown token is */
        const int64_t entry = map_find(&l->vocabulary, l->role[ROLE_UNK].text.s, l->role[ROLE_UNK].text.size);
        if (entry >= 0) l->unknown = l->vocabulary.entries[entry].value;
    }
    const bool fallback = l->class->order && strcmp(l->class->order, "generic") == 0 && l->spm.byte_fallback;
    if (l->unknown >= s.count) l->unknown = -1;
    snprintf(unknown, sizeof unknown, "],\"unk_id\":%lld", (long long)l->unknown);
    l->next_id = s.count;
    return ok && s.ok && put(l, l->unknown >= 0 ? unknown : "],\"unk_id\":null") &&
           put(l, fallback ? ",\"byte_fallback\":true}" : ",\"byte_fallback\":false}");
}

static bool put_bpe(struct legacy *l) {
    bool ok =
        put(l, "{\"type\":\"BPE\",\"dropout\":null,") && put_template(l, l->class->model) && put(l, ",\"vocab\":");
    if (l->class->files == LEGACY_PIECES)
        for (int64_t i = 0; ok && i < l->spm.count; i++)
            ok = add_word(l, l->spm.pieces[i].text, l->spm.pieces[i].size, i);
    ok = ok && put_vocabulary(l) && put(l, ",\"merges\":");
    ok = ok && (l->class->files == LEGACY_PIECES ? put_generated_merges(l) : put_merges_file(l));
    l->next_id = l->vocabulary.count; /* as Python numbers what it adds */
    return ok && put(l, "}");
}

static bool put_word_piece(struct legacy *l) {
    const bool ok = put(l, "{\"type\":\"WordPiece\",\"unk_token\":") && put_token_text(l, ROLE_UNK) &&
                    put(l, ",\"continuing_subword_prefix\":\"##\",\"max_input_chars_per_word\":100,\"vocab\":") &&
                    put_vocabulary(l) && put(l, "}");
    l->next_id = l->vocabulary.count;
    return ok;
}

static bool put_model(struct legacy *l) {
    if (l->class->files == LEGACY_WORDS) return put_word_piece(l);
    if (l->class->files == LEGACY_PAIRS) return put_bpe(l);
    const bool generic = l->class->order && strcmp(l->class->order, "generic") == 0;
    const bool bpe = generic ? l->spm.model_type == 2 : l->class->model != NULL;
    if (!bpe && l->spm.model_type != 1)
        return heed_fail(l->cx, HEED_ERR_FORMAT, "%s: a SentencePiece model of another kind than unigram", l->dir);
    return bpe ? put_bpe(l) : put_unigram(l);
}

/* ---- all of it ---- */

static const struct legacy_class *class_named(const char *name, size_t size) {
    char text[96];
    if (size >= sizeof text) return NULL;
    memcpy(text, name, size);
    text[size] = 0;
    if (size > 4 && strcmp(text + size - 4, "Fast") == 0) text[size - 4] = 0;
    const char *known = legacy_class_of(text);
    for (const struct legacy_class *c = legacy_classes; c->name; c++)
        if (strcmp(c->name, known ? known : text) == 0) return c;
    return NULL;
}

static bool has_files(const struct legacy *l, const struct legacy_class *c, const char *file) {
    static const char *const models[] = {"spiece.model", "sentencepiece.bpe.model", "tokenizer.model", "spm.model"};
    if (c->files == LEGACY_WORDS) return is_file(l->dir, "vocab.txt");
    if (c->files == LEGACY_PAIRS) return is_file(l->dir, "vocab.json") && is_file(l->dir, "merges.txt");
    if (c->files == LEGACY_MARIAN) return is_file(l->dir, "vocab.json") && (file || is_file(l->dir, "source.spm"));
    for (int i = 0; i < 4; i++)
        if (is_file(l->dir, models[i])) return true;
    return file;
}

/* By tokenizer_config.json, by the model's type, or by the files that are there. */
static bool choose_class(struct legacy *l, const char *file) {
    static const char *const fallbacks[] = {"MarianTokenizer", "BertTokenizer", "GPT2Tokenizer", "PreTrainedTokenizer"};
    const node named[] = {member(&l->config, "tokenizer_class"), member(&l->model, "tokenizer_class"),
                          member(&l->model, "model_type")};
    for (int i = 0; i < 3 && !l->class; i++)
        if (named[i] && named[i]->kind == TREE_TEXT) {
            const struct legacy_class *c = class_named(named[i]->text, named[i]->size);
            if (c && has_files(l, c, file)) l->class = c;
        }
    for (int i = 0; i < 4 && !l->class; i++) {
        const struct legacy_class *c = class_named(fallbacks[i], strlen(fallbacks[i]));
        if (has_files(l, c, file)) l->class = c;
    }
    if (l->class) return true;
    return heed_fail(l->cx, HEED_ERR_FILE,
                     "%s: no tokenizer.json, vocab.txt, vocab.json with merges.txt, or SentencePiece model", l->dir);
}

static bool read_files(struct legacy *l, const char *file) {
    return read_tree(l, "tokenizer_config.json", &l->config) && read_tree(l, "config.json", &l->model) &&
           read_tree(l, "special_tokens_map.json", &l->specials) && read_tree(l, "added_tokens.json", &l->added) &&
           choose_class(l, file) && read_roles(l) && (l->class->files < LEGACY_PIECES || read_pieces(l, file)) &&
           (l->class->files != LEGACY_WORDS || read_words(l)) &&
           ((l->class->files != LEGACY_PAIRS && l->class->files != LEGACY_MARIAN) || read_vocab_json(l)) &&
           (l->class->files != LEGACY_PIECES || add_spm_tokens(l)) && read_extras(l);
}

static bool add_class_tokens(struct legacy *l) {
    const char *order = l->class->order ? l->class->order : "";
    bool ok = true;
    char text[48];
    for (int64_t i = 0; ok && strcmp(order, "t5") == 0 && i < extra_ids(l); i++) {
        snprintf(text, sizeof text, "<extra_id_%lld>", (long long)i);
        ok = add_extra_text(l, text, strlen(text), true);
    }
    for (int i = 0; ok && strcmp(order, "mbart") == 0 && i < LANGUAGES; i++)
        ok = add_extra_text(l, languages[i], strlen(languages[i]), true);
    if (ok && strcmp(order, "pegasus") == 0) ok = add_extra_text(l, "<mask_1>", 8, true);
    for (int64_t i = 2; ok && strcmp(order, "pegasus") == 0 && i < 103; i++) {
        snprintf(text, sizeof text, "<unk_%lld>", (long long)i);
        ok = add_extra_text(l, text, strlen(text), true);
    }
    if (ok && strcmp(order, "generic") == 0) { /* the special tokens are the model's own */
        const int64_t ids[] = {l->spm.bos_id, l->spm.eos_id, l->spm.unk_id};
        static const enum role roles[] = {ROLE_BOS, ROLE_EOS, ROLE_UNK};
        for (int i = 0; ok && i < 3; i++)
            if (ids[i] >= 0 && ids[i] < l->spm.count && !l->role[roles[i]].given)
                ok = plain_token(l, l->spm.pieces[ids[i]].text, l->spm.pieces[ids[i]].size, true, &l->role[roles[i]]);
    }
    return ok;
}

static bool compose(struct legacy *l) {
    return put(l, "{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\"model\":") && put_model(l) &&
           put(l, ",") && put_added(l) && put(l, "\"normalizer\":") && put_template(l, l->class->normalizer) &&
           put(l, ",\"pre_tokenizer\":") && put_template(l, l->class->pre_tokenizer) && put(l, ",\"decoder\":") &&
           put_template(l, l->class->decoder) && put(l, ",\"post_processor\":") && put_post_processor(l) && put(l, "}");
}

static void legacy_free(struct legacy *l) {
    for (int i = 0; i < ROLES; i++) token_free(l->cx, &l->role[i]);
    for (int64_t i = 0; i < l->extra_count; i++) token_free(l->cx, &l->extra[i]);
    struct tree *const trees[] = {&l->config, &l->specials, &l->added, &l->model};
    for (int i = 0; i < 4; i++) tree_free(trees[i]);
    map_free(l->cx, &l->vocabulary);
    spm_free(l->cx, &l->spm);
    heed_string_free(l->cx, &l->out);
    heed_mem_free(l->cx, l->extra);
    heed_mem_free(l->cx, l->scores);
    heed_mem_free(l->cx, l->bytes);
}

heed_tokenizer *legacy_load(heed_ctx *cx, const char *dir, const char *file) {
    struct legacy l = {.cx = cx, .dir = dir, .unknown = -1};
    heed_tokenizer *t = NULL;
    if (read_files(&l, file) && add_class_tokens(&l) && compose(&l)) t = tokenizer_parse(cx, dir, l.out.s, l.out.size);
    for (int64_t i = 0; t && l.scores && i < t->unigram.count; i++)
        t->unigram.score[i] = l.scores[i]; /* to the bit, which decimal digits are not */
    legacy_free(&l);
    return t;
}
