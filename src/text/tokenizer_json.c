/* tokenizer.json, read: the vocabulary, the merges and the added tokens; the other parts are read by
 * tokenizer_parts.c. Whatever the file says is checked here, so that encoding and decoding need not: ids are in range
 * and one token each, merges join tokens that there are. */
#include "base/file.h"
#include "io/limits.h"
#include "io/text.h"
#include "text/tokenizer.h"

#include <stdio.h>
#include <sys/stat.h>

char *text_copy(heed_ctx *cx, const char *s) {
    char *copy = heed_mem_new(cx, strlen(s) + 1);
    if (copy) memcpy(copy, s, strlen(s) + 1);
    return copy;
}

/* ---- vocabulary ---- */

/* An id, which may leave gaps but not be far beyond the tokens there are: the tables are as long as the largest. */
static int64_t read_id(heed_ctx *cx, heed_json at, const char *key, int64_t tokens) {
    const int64_t id = heed_json_int(cx, at, key), most = 8 * tokens + 65536;
    if (heed_failed(cx)) return -1;
    if (id >= 0 && id < most && id < INT32_MAX) return id;
    return heed_json_fail(cx, at, "no id can be %lld in a vocabulary of %lld", (long long)id, (long long)tokens), -1;
}

static bool read_vocabulary(heed_ctx *cx, heed_tokenizer *t, heed_json vocab) {
    const int64_t tokens = heed_json_count(vocab);
    for (EACH(v, vocab)) {
        const int64_t id = read_id(cx, v, NULL, tokens);
        const int64_t entry = id < 0 ? -1 : map_add(cx, &t->vocabulary, heed_json_key(v), strlen(heed_json_key(v)));
        if (entry < 0) return false;
        t->vocabulary.entries[entry].value = id;
        if (id >= t->size) t->size = id + 1;
    }
    return !heed_failed(cx);
}

static bool read_added_token(heed_ctx *cx, heed_tokenizer *t, heed_json at, int64_t tokens) {
    const char *text = heed_json_text(cx, at, "content");
    const int64_t id = read_id(cx, at, "id", tokens), before = t->added_text.count;
    if (id < 0 || !text) return false;
    if (!*text) return heed_json_fail(cx, at, "an empty token");
    const int64_t known = map_find(&t->vocabulary, text, strlen(text));
    if (known >= 0 && t->vocabulary.entries[known].value != id)
        return heed_json_fail(cx, at, "'%s' has id %lld here and %lld in the vocabulary", shown(text).text,
                              (long long)id, (long long)t->vocabulary.entries[known].value);
    const int64_t entry = map_add(cx, &t->added_text, text, strlen(text));
    if (entry < 0) return false;
    if (entry < before) return heed_json_fail(cx, at, "'%s' is there twice", shown(text).text);
    const bool special = heed_json_bool_or(cx, at, "special", false);
    t->added[entry] = (struct added){
        .id = (int32_t)id,
        .special = special,
        .word = heed_json_bool_or(cx, at, "single_word", false),
        .left = heed_json_bool_or(cx, at, "lstrip", false),
        .right = heed_json_bool_or(cx, at, "rstrip", false),
        .normalised = heed_json_bool_or(cx, at, "normalized", !special),
    };
    if (id >= t->size) t->size = id + 1;
    return !heed_failed(cx);
}

static bool read_added(heed_ctx *cx, heed_tokenizer *t, heed_json root) {
    const heed_json list = heed_json_find(cx, root, "added_tokens");
    if (heed_json_kind_of(list) == HEED_JSON_NONE || heed_json_kind_of(list) == HEED_JSON_NULL) return !heed_failed(cx);
    if (!heed_json_array(cx, list, NULL).node) return false;
    const int64_t n = heed_json_count(list);
    if (!(t->added = heed_mem_new(cx, (size_t)n * sizeof *t->added))) return false;
    for (EACH(v, list))
        if (!read_added_token(cx, t, v, t->vocabulary.count + n)) return false;
    return true;
}

/* An id has one text; an added token may repeat one of the vocabulary. */
static bool name_id(heed_ctx *cx, heed_tokenizer *t, heed_json root, int64_t id, const char *text) {
    if (t->token[id] && strcmp(t->token[id], text) != 0)
        return heed_json_fail(cx, root, "'%s' and '%s' both have id %lld", shown(t->token[id]).text, shown(text).text,
                              (long long)id);
    t->token[id] = text;
    return true;
}

static bool index_ids(heed_ctx *cx, heed_tokenizer *t, heed_json root) {
    t->token = heed_mem_new(cx, (size_t)t->size * sizeof *t->token);
    t->special = heed_mem_new(cx, (size_t)t->size * sizeof *t->special);
    if (!t->token || !t->special) return false;
    for (int64_t i = 0; i < t->size; i++) t->token[i] = NULL, t->special[i] = false;
    for (int64_t i = 0; i < t->vocabulary.count; i++)
        if (!name_id(cx, t, root, t->vocabulary.entries[i].value, map_key(&t->vocabulary, i))) return false;
    for (int64_t i = 0; i < t->added_text.count; i++) {
        if (!name_id(cx, t, root, t->added[i].id, map_key(&t->added_text, i))) return false;
        t->special[t->added[i].id] = t->added[i].special;
    }
    return true;
}

/* ---- merges ---- */

static int32_t token_id(const heed_tokenizer *t, const char *text, size_t size) {
    const int64_t entry = map_find(&t->vocabulary, text, size);
    return entry < 0 ? -1 : (int32_t)t->vocabulary.entries[entry].value;
}

/* "a b", or ["a", "b"]. */
static bool read_merge(heed_ctx *cx, heed_tokenizer *t, heed_json at, int32_t rank, heed_string *work) {
    const char *first, *second;
    size_t size;
    if (heed_json_kind_of(at) == HEED_JSON_ARRAY) {
        if (heed_json_count(at) != 2) return heed_json_fail(cx, at, "a merge joins two tokens");
        first = heed_json_text(cx, heed_json_item(cx, at, 0), NULL);
        second = heed_json_text(cx, heed_json_item(cx, at, 1), NULL);
        if (!first || !second) return false;
        size = strlen(first);
    } else {
        first = heed_json_text(cx, at, NULL);
        const char *space = first ? strchr(first, ' ') : NULL;
        if (!first) return false;
        if (!space || strchr(space + 1, ' ')) return heed_json_fail(cx, at, "a merge is two tokens and a space");
        size = (size_t)(space - first);
        second = space + 1;
    }
    work->size = 0;
    if (!heed_string_put(cx, work, first, size) || !heed_string_put(cx, work, second, strlen(second))) return false;
    const int32_t ids[] = {token_id(t, first, size), token_id(t, second, strlen(second)),
                           token_id(t, work->s, work->size)};
    const struct shown parts[] = {shown_bytes(first, size), shown(second), shown(work->s)};
    for (int i = 0; i < 3; i++)
        if (ids[i] < 0) return heed_json_fail(cx, at, "'%s' is not in the vocabulary", parts[i].text);
    bpe_add_merge(t, ids[0], ids[1], rank, ids[2]);
    return true;
}

static bool read_bpe(heed_ctx *cx, heed_tokenizer *t, heed_json model) {
    const heed_json merges = heed_json_array(cx, model, "merges");
    const char *suffix = heed_json_text_or(cx, model, "end_of_word_suffix", "");
    const char *prefix = heed_json_text_or(cx, model, "continuing_subword_prefix", "");
    if (heed_json_number_or(cx, model, "dropout", 0) > 0)
        return heed_json_fail(cx, model, "merges with dropout are not supported");
    if (heed_json_bool_or(cx, model, "byte_fallback", false))
        return heed_json_fail(cx, model, "byte_fallback is not supported");
    t->bpe.fuse = heed_json_bool_or(cx, model, "fuse_unk", false);
    t->bpe.ignore_merges = heed_json_bool_or(cx, model, "ignore_merges", false);
    if (heed_failed(cx) || !bpe_start(cx, t, heed_json_count(merges))) return false;
    if (*prefix) return heed_json_fail(cx, model, "a continuing_subword_prefix is not supported");
    if (strlen(suffix) > 32) return heed_json_fail(cx, model, "an end_of_word_suffix of more than 32 bytes");
    if (*suffix && !(t->bpe.suffix = text_copy(cx, suffix))) return false;
    heed_string work = {0};
    bool ok = true;
    int32_t rank = 0;
    for (EACH(v, merges))
        if (!(ok = read_merge(cx, t, v, rank++, &work))) break;
    heed_string_free(cx, &work);
    return ok;
}

/* ---- the file ---- */

static bool read_model(heed_ctx *cx, heed_tokenizer *t, heed_json root) {
    const heed_json model = heed_json_object(cx, root, "model");
    const char *type = model.node ? heed_json_text(cx, model, "type") : NULL;
    if (!type) return false;
    t->is_bpe = strcmp(type, "BPE") == 0;
    if (!t->is_bpe && strcmp(type, "WordLevel") != 0)
        return heed_json_fail(cx, model, "a model of type '%s' is not supported: BPE and WordLevel are",
                              shown(type).text);
    const heed_json vocab = heed_json_object(cx, model, "vocab");
    if (!vocab.node || !read_vocabulary(cx, t, vocab) || !read_added(cx, t, root) || !index_ids(cx, t, root))
        return false;
    const char *unknown = heed_json_text_or(cx, model, "unk_token", "");
    if (heed_failed(cx)) return false;
    t->unknown = token_id(t, unknown, strlen(unknown));
    return !t->is_bpe || read_bpe(cx, t, model);
}

static bool read_all(heed_ctx *cx, heed_tokenizer *t, heed_json root) {
    return heed_json_object(cx, root, NULL).node && read_model(cx, t, root) && read_unused(cx, root) &&
           read_normalizers(cx, t, heed_json_find(cx, root, "normalizer")) &&
           read_splitters(cx, t, heed_json_find(cx, root, "pre_tokenizer")) &&
           read_post_processor(cx, t, heed_json_find(cx, root, "post_processor")) &&
           read_decoder(cx, t, heed_json_find(cx, root, "decoder")) && finder_make(cx, t, false, &t->raw) &&
           finder_make(cx, t, true, &t->normal) && (!t->is_bpe || bpe_finish(cx, t));
}

heed_tokenizer *tokenizer_parse(heed_ctx *cx, const char *name, const char *text, size_t size) {
    const heed_json root = heed_json_parse(cx, name, text, size);
    heed_tokenizer *t = root.node ? heed_mem_new(cx, sizeof *t) : NULL;
    bool ok = false;
    if (t) {
        *t = (heed_tokenizer){.unknown = -1, .json = heed_mem_new(cx, size + 1), .json_size = size};
        if (t->json) memcpy(t->json, text, size), t->json[size] = 0;
        ok = t->json && read_all(cx, t, root);
    }
    heed_json_free(root);
    if (ok) return t;
    heed_tokenizer_free(cx, t);
    return NULL;
}

/* path, or tokenizer.json in it when it is a directory. */
static const char *file_of(const char *path, char *out, size_t size) {
    struct stat what;
    if (strcmp(path, "-") == 0 || stat(path, &what) != 0 || !S_ISDIR(what.st_mode)) return path;
    return (size_t)snprintf(out, size, "%s/tokenizer.json", path) < size ? out : path;
}

heed_tokenizer *heed_tokenizer_load(heed_ctx *cx, const char *path) {
    char joined[4096];
    size_t size;
    if (heed_failed(cx)) return NULL;
    if (!path) return heed_fail(cx, HEED_ERR_USAGE, "tokenizer_load: path is NULL"), NULL;
    const char *file = file_of(path, joined, sizeof joined);
    unsigned char *text = file_read_regular(cx, file, IO_TOKENIZER_LIMIT, &size);
    heed_tokenizer *t = text ? tokenizer_parse(cx, file, (const char *)text, size) : NULL;
    heed_mem_free(cx, text);
    return t;
}

bool heed_tokenizer_save(heed_ctx *cx, const heed_tokenizer *t, const char *path) {
    char joined[4096];
    if (heed_failed(cx)) return false;
    if (!t || !path) return heed_fail(cx, HEED_ERR_USAGE, "tokenizer_save: the tokenizer or path is NULL");
    struct file_writer *w = file_write_open(cx, file_of(path, joined, sizeof joined));
    if (!w) return false;
    file_write(w, t->json, t->json_size);
    return file_write_commit(w);
}
