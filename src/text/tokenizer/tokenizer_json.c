/* tokenizer.json, read. Whatever the file says is checked here, so that encoding and decoding need not: ids are in
 * range and one token each, merges join tokens that there are. */
#include "io/text.h"
#include "text/tokenizer/tokenizer.h"

#include <string.h>

/* ---- vocabulary ---- */

int32_t vocabulary_id(const heed_tokenizer *t, const char *text, size_t size) {
    const int64_t entry = map_find(&t->vocabulary, text, size);
    return entry < 0 ? -1 : (int32_t)t->vocabulary.entries[entry].value;
}

/* Ids may leave gaps but not be far beyond the tokens there are: the tables are as long as the largest. */
bool read_vocabulary(heed_ctx *cx, heed_tokenizer *t, const struct tree *tree, node vocab) {
    const int64_t tokens = vocab->size, most = 8 * tokens + 65536;
    if (!map_reserve(cx, &t->vocabulary, tokens, 10 * (size_t)tokens)) return false;
    for (EACH_NODE(v, tree, vocab)) {
        const int64_t id = tree_int(tree, v, NULL, -1);
        if (heed_failed(cx)) return false;
        if (id < 0 || id >= most)
            return tree_fail(tree, v, NULL, "id %lld is out of range for a vocabulary of %lld", (long long)id,
                             (long long)tokens);
        const int64_t entry = map_add(cx, &t->vocabulary, v->key, v->key_size);
        if (entry < 0) return false;
        t->vocabulary.entries[entry].value = id;
        if (id >= t->size) t->size = id + 1;
    }
    return true;
}

bool vocabulary_trie(heed_ctx *cx, heed_tokenizer *t) {
    const int64_t n = t->vocabulary.count;
    struct trie_key *keys = heed_mem_new(cx, (size_t)(n + 1) * sizeof *keys);
    if (!keys) return false;
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t id = t->vocabulary.entries[i].value;
        if (t->unigram.score && t->unigram.score[id] <= UNIGRAM_NEVER) continue;
        keys[count++] = (struct trie_key){map_key(&t->vocabulary, i), t->vocabulary.entries[i].size, (int32_t)id};
    }
    const bool ok = trie_build(cx, &t->trie, keys, count);
    heed_mem_free(cx, keys);
    return ok;
}

/* ---- added tokens ---- */

/* The model's token has the model's id; others are numbered in the order of the file, behind the vocabulary, as in
 * Python, which does not look at the id that the file has for them either. */
static bool read_added_token(heed_ctx *cx, heed_tokenizer *t, const struct tree *tree, node at, int64_t *next) {
    const node text = tree_need(tree, at, "content", TREE_TEXT);
    const int64_t before = t->added_text.count, id = tree_int(tree, at, "id", 0);
    if (!text || heed_failed(cx)) return false;
    if (id < 0 || id > INT32_MAX / 2) return tree_fail(tree, at, "id", "id %lld is out of range", (long long)id);
    if (text->size == 0) return true; /* nothing to find */
    const int64_t entry = map_add(cx, &t->added_text, text->text, text->size);
    const int32_t known = vocabulary_id(t, text->text, text->size);
    if (entry < 0) return false;
    struct added *a = &t->added[entry];
    const int32_t given = entry < before ? a->id : known >= 0 ? known : (int32_t)(*next)++;
    const bool special = tree_bool(tree, at, "special", false);
    *a = (struct added){
        .id = given,
        .special = special || (entry < before && a->special),
        .word = tree_bool(tree, at, "single_word", false),
        .left = tree_bool(tree, at, "lstrip", false),
        .right = tree_bool(tree, at, "rstrip", false),
        .normalized = tree_bool(tree, at, "normalized", !special),
    };
    if (given >= t->size) t->size = (int64_t)given + 1;
    return !heed_failed(cx);
}

static bool read_added(heed_ctx *cx, heed_tokenizer *t, const struct tree *tree) {
    const node list = tree_find(tree, tree_root(tree), "added_tokens");
    int64_t next = t->model == &unigram_kind ? t->size : t->vocabulary.count;
    if (!list) return true;
    if (!tree_need(tree, list, NULL, TREE_ARRAY)) return false;
    if (!(t->added = heed_mem_new(cx, (size_t)(list->size + 1) * sizeof *t->added))) return false;
    for (EACH_NODE(v, tree, list))
        if (!read_added_token(cx, t, tree, v, &next)) return false;
    return true;
}

/* ---- texts of ids ---- */

/* The entry of each id; of Unigram, whose ids are places in a list, an entry may have several. */
static bool index_vocabulary(heed_tokenizer *t, const struct tree *tree) {
    for (int64_t i = 0; i < t->vocabulary.count; i++) {
        const int64_t id = t->vocabulary.entries[i].value;
        if (t->entry[id] >= 0 && t->entry[id] != i)
            return tree_fail(tree, tree_root(tree), NULL, "'%s' and '%s' both have id %lld",
                             escaped(map_key(&t->vocabulary, t->entry[id])).s, escaped(map_key(&t->vocabulary, i)).s,
                             (long long)id);
        t->entry[id] = i;
    }
    for (int64_t i = 0; i < t->size; i++) {
        if (t->entry[i] < 0) continue;
        t->token[i] = map_key(&t->vocabulary, t->entry[i]);
        t->token_size[i] = (uint32_t)map_size(&t->vocabulary, t->entry[i]);
    }
    return true;
}

static void note_special(heed_tokenizer *t, int32_t id) {
    const int64_t own = map_find(&t->added_text, t->token[id], t->token_size[id]);
    t->special[id] = own >= 0 && t->added[own].special;
}

/* Of an added token that normalizing changes the text is what it is changed to; special is who has the text of a
 * special token. */
static void name_added(heed_tokenizer *t) {
    for (int64_t i = 0; i < t->added_text.count; i++) {
        const int32_t id = t->added[i].id;
        t->token[id] = map_key(&t->added_text, i);
        t->token_size[id] = (uint32_t)map_size(&t->added_text, i);
    }
    for (int64_t i = 0; i < t->normal_text.count; i++) {
        const int32_t id = t->added[t->normal_text.entries[i].value].id;
        t->token[id] = map_key(&t->normal_text, i);
        t->token_size[id] = (uint32_t)map_size(&t->normal_text, i);
    }
    for (int64_t i = 0; i < t->added_text.count; i++) note_special(t, t->added[i].id);
    for (int64_t i = 0; i < t->unigram.count; i++) /* tokens that are there twice */
        if (t->vocabulary.entries[t->unigram.entry[i]].value != i) note_special(t, (int32_t)i);
}

static bool index_ids(heed_ctx *cx, heed_tokenizer *t, const struct tree *tree) {
    const size_t n = (size_t)t->size + 1;
    t->token = heed_mem_new(cx, n * sizeof *t->token);
    t->token_size = heed_mem_new(cx, n * sizeof *t->token_size);
    t->special = heed_mem_new(cx, n * sizeof *t->special);
    t->entry = heed_mem_new(cx, n * sizeof *t->entry);
    if (!t->token || !t->token_size || !t->special || !t->entry) return false;
    for (size_t i = 0; i < n; i++) t->token[i] = NULL, t->token_size[i] = 0, t->special[i] = false, t->entry[i] = -1;
    for (int64_t i = 0; i < t->unigram.count; i++) t->entry[i] = t->unigram.entry[i];
    if (!index_vocabulary(t, tree)) return false;
    name_added(t);
    return true;
}

/* ---- the file ---- */

/* Older files leave the type out. */
static const struct model_kind *model_of(const struct tree *tree, node at) {
    const struct model_kind *const kinds[] = {&bpe_kind, &wordpiece_kind, &word_kind, &unigram_kind};
    const node type = tree_find(tree, at, "type"), vocab = tree_find(tree, at, "vocab");
    if (!type && vocab) {
        if (vocab->kind == TREE_ARRAY) return &unigram_kind;
        if (tree_find(tree, at, "merges")) return &bpe_kind;
        return tree_find(tree, at, "continuing_subword_prefix") ? &wordpiece_kind : &word_kind;
    }
    if (!tree_need(tree, at, "type", TREE_TEXT)) return NULL;
    for (int i = 0; i < 4; i++)
        if (node_is(type, kinds[i]->name)) return kinds[i];
    tree_fail(tree, at, NULL, "a model of type '%s' is not supported", escaped(type->text).s);
    return NULL;
}

static bool read_model(heed_ctx *cx, heed_tokenizer *t, const struct tree *tree) {
    const node model = tree_need(tree, tree_root(tree), "model", TREE_OBJECT);
    t->model = model ? model_of(tree, model) : NULL;
    return t->model && t->model->read(cx, t, tree, model);
}

/* What padding and truncation are like where they are asked for. */
static bool read_lengths(heed_ctx *cx, heed_tokenizer *t, const struct tree *tree) {
    const node padding = tree_find(tree, tree_root(tree), "padding");
    const node truncation = tree_find(tree, tree_root(tree), "truncation");
    t->truncate_left = node_is(tree_find(tree, truncation, "direction"), "Left");
    t->padding.id = -1;
    if (!padding) return true;
    const int64_t id = tree_int(tree, padding, "pad_id", 0), type = tree_int(tree, padding, "pad_type_id", 0);
    const node token = tree_text(tree, padding, "pad_token");
    if (heed_failed(cx)) return false;
    if (id < 0 || id > INT32_MAX || type < 0 || type > INT32_MAX)
        return tree_fail(tree, padding, NULL, "pad_id or pad_type_id is out of range");
    t->padding.id = (int32_t)id;
    t->padding.type = (int32_t)type;
    t->padding.left = node_is(tree_find(tree, padding, "direction"), "Left");
    return heed_string_put(cx, &t->padding.token, token ? token->text : "[PAD]", token ? token->size : 5);
}

static void note_origins(heed_tokenizer *t) {
    for (int i = 0; i < t->pre_tokenizers.count; i++)
        if (t->pre_tokenizers.step[i].prepend == PREPEND_FIRST) t->needs_origins = true;
}

static bool share_time(heed_ctx *cx, heed_tokenizer *t) {
    const struct steps *const all[] = {&t->normalizers, &t->pre_tokenizers, &t->decoders};
    if (!(t->time = heed_mem_new(cx, sizeof *t->time))) return false;
    atomic_init(&t->time->wall, 0);
    atomic_init(&t->time->cpu, 0);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < all[i]->count; k++)
            if (all[i]->step[k].regex) regex_share_time(all[i]->step[k].regex, t->time);
    return true;
}

static bool read_all(heed_ctx *cx, heed_tokenizer *t, const struct tree *tree) {
    const node root = tree_root(tree), decoder = tree_find(tree, root, "decoder");
    if (!tree_need(tree, root, NULL, TREE_OBJECT)) return false;
    const node version = tree_find(tree, root, "version");
    if (version && !node_is(version, "1.0")) return tree_fail(tree, version, NULL, "an unknown version");
    t->joined = !decoder;
    if (!read_model(cx, t, tree) || !read_added(cx, t, tree) || !read_lengths(cx, t, tree) ||
        !steps_read(tree, tree_find(tree, root, "normalizer"), "normalizers", normalizer_kinds, &t->normalizers) ||
        !steps_read(tree, tree_find(tree, root, "pre_tokenizer"), "pretokenizers", pre_tokenizer_kinds,
                    &t->pre_tokenizers) ||
        !steps_read(tree, decoder, "decoders", decoder_kinds, &t->decoders) || !share_time(cx, t))
        return false;
    note_origins(t);
    if (!finder_make(cx, t, false, &t->raw) || !finder_make(cx, t, true, &t->normalized))
        return heed_fail_in(cx, "%s: added_tokens", tree->name);
    const bool ok = index_ids(cx, t, tree) && processors_read(t, tree, tree_find(tree, root, "post_processor"));
    if (ok) guess_roles(t);
    return ok;
}

heed_tokenizer *tokenizer_parse(heed_ctx *cx, const char *name, const char *text, size_t size) {
    struct tree tree = {0};
    if (!tree_parse(cx, name, text, size, &tree)) return NULL;
    heed_tokenizer *t = heed_mem_new(cx, sizeof *t);
    bool ok = false;
    if (t) {
        *t = (heed_tokenizer){.unknown = -1, .json = heed_mem_new(cx, size + 1), .json_size = size};
        if (t->json) memcpy(t->json, text, size), t->json[size] = 0;
        ok = t->json && read_all(cx, t, &tree);
    }
    tree_free(&tree);
    if (ok) return t;
    heed_tokenizer_free(cx, t);
    return NULL;
}
