/* A tokenizer.json from vocab.txt, from vocab.json and merges.txt, or from a SentencePiece model, with the flags of
 * tokenizer_config.json, as the class named there would have it: the files and their class. The text that is made of
 * them is then read like any other. */
#include "text/tokenizer/legacy.h"
#include "base/file.h"
#include "io/limits.h"
#include "io/text.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* ---- files ---- */

static bool path_of(struct legacy *l, const char *file, char path[4096]) {
    if ((size_t)snprintf(path, 4096, "%s/%s", l->dir, file) < 4096) return true;
    return heed_fail(l->cx, HEED_ERR_FILE, "%.60s...: the path is too long", l->dir);
}

bool legacy_has(const char *dir, const char *file) {
    char path[4096];
    struct stat what;
    return (size_t)snprintf(path, sizeof path, "%s/%s", dir, file) < sizeof path && stat(path, &what) == 0 &&
           !S_ISDIR(what.st_mode);
}

char *legacy_read(struct legacy *l, const char *file, size_t *size) {
    char path[4096];
    return path_of(l, file, path) ? (char *)file_read_regular(l->cx, path, IO_TOKENIZER_LIMIT, size) : NULL;
}

/* A JSON file that need not be there; `name` is for sentences. */
static bool read_tree(struct legacy *l, const char *file, struct tree *to) {
    size_t size;
    if (!legacy_has(l->dir, file)) return true;
    char *text = legacy_read(l, file, &size);
    const bool ok = text && tree_parse(l->cx, file, text, size, to) && tree_need(to, tree_root(to), NULL, TREE_OBJECT);
    heed_mem_free(l->cx, text);
    return ok;
}

node legacy_member(const struct tree *t, const char *key) { return t->cx ? tree_find(t, tree_root(t), key) : NULL; }

bool legacy_flag(const struct legacy *l, const char *key, bool fallback) {
    const node v = legacy_member(&l->config, key);
    return v && v->kind == TREE_BOOL ? v->number != 0 : fallback;
}

/* ---- special tokens ---- */

void legacy_token_free(heed_ctx *cx, struct legacy_token *t) { heed_string_free(cx, &t->text); }

/* "text" or {"content": "text", "lstrip": …}; null is none. */
bool legacy_read_token(struct legacy *l, const struct tree *t, node v, bool special, struct legacy_token *to) {
    const node content = v && v->kind == TREE_OBJECT ? tree_find(t, v, "content") : v;
    if (!content || content->kind != TREE_TEXT) return true;
    const bool object = v->kind == TREE_OBJECT;
    legacy_token_free(l->cx, to);
    *to = (struct legacy_token){.given = true, .special = special || (object && tree_bool(t, v, "special", false))};
    to->left = object && tree_bool(t, v, "lstrip", false);
    to->right = object && tree_bool(t, v, "rstrip", false);
    to->word = object && tree_bool(t, v, "single_word", false);
    to->normalized = object && tree_bool(t, v, "normalized", !to->special);
    return heed_string_put(l->cx, &to->text, content->text, content->size);
}

bool legacy_token(struct legacy *l, const char *text, size_t size, bool special, struct legacy_token *to) {
    *to = (struct legacy_token){.given = true, .special = special};
    return heed_string_put(l->cx, &to->text, text, size);
}

static struct legacy_token *add_extra(struct legacy *l) {
    if (l->extra_count == l->extra_room) {
        const int64_t room = l->extra_room ? 2 * l->extra_room : 32;
        struct legacy_token *larger = heed_mem_resize(l->cx, l->extra, (size_t)room * sizeof *larger);
        if (!larger) return NULL;
        l->extra = larger;
        l->extra_room = room;
    }
    l->extra[l->extra_count] = (struct legacy_token){.given = false};
    return &l->extra[l->extra_count++];
}

bool legacy_add(struct legacy *l, const char *text, size_t size, bool special) {
    struct legacy_token *t = add_extra(l);
    return t && legacy_token(l, text, size, special, t);
}

/* The special token of a role, by what the files say, or as the class has it. */
static bool read_roles(struct legacy *l) {
    const bool decoder = legacy_member(&l->config, "added_tokens_decoder");
    for (int i = 0; i < ROLES; i++) {
        struct legacy_token *t = &l->role[i];
        const char *usual = l->class->tokens[i];
        const node here = l->config.cx ? tree_find(&l->config, tree_root(&l->config), role_names[i]) : NULL;
        if (usual && !legacy_token(l, usual, strlen(usual), true, t)) return false;
        if (i == ROLE_MASK) t->left = l->class->mask_left;
        if (here && !legacy_read_token(l, &l->config, here, true, t)) return false;
        if (!decoder && !legacy_read_token(l, &l->specials, legacy_member(&l->specials, role_names[i]), true, t))
            return false;
        t->special = true;
    }
    return !heed_failed(l->cx);
}

static bool read_list(struct legacy *l, const struct tree *t, const char *key) {
    const node list = legacy_member(t, key);
    if (!list || list->kind < TREE_ARRAY) return true;
    for (EACH_NODE(v, t, list)) {
        struct legacy_token *to = add_extra(l);
        if (!to || !legacy_read_token(l, t, v, true, to)) return false;
    }
    return !heed_failed(l->cx);
}

static bool read_extras(struct legacy *l) {
    const bool decoder = legacy_member(&l->config, "added_tokens_decoder");
    return read_list(l, &l->config, "additional_special_tokens") && read_list(l, &l->config, "extra_special_tokens") &&
           (decoder || (read_list(l, &l->specials, "additional_special_tokens") &&
                        read_list(l, &l->specials, "extra_special_tokens")));
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
    if (c->files == LEGACY_WORDS) return legacy_has(l->dir, "vocab.txt");
    if (c->files == LEGACY_BYTES) return true;
    if (c->files == LEGACY_PAIRS) return legacy_has(l->dir, "vocab.json") && legacy_has(l->dir, "merges.txt");
    if (c->files == LEGACY_MARIAN)
        return legacy_has(l->dir, "vocab.json") && (file || legacy_has(l->dir, "source.spm"));
    for (int i = 0; i < 4; i++)
        if (legacy_has(l->dir, models[i])) return true;
    return file;
}

/* By tokenizer_config.json, by the model's type, or by the files that are there. */
static bool choose_class(struct legacy *l, const char *file) {
    static const char *const fallbacks[] = {"MarianTokenizer", "BertTokenizer", "GPT2Tokenizer", "PreTrainedTokenizer"};
    const node named[] = {legacy_member(&l->config, "tokenizer_class"), legacy_member(&l->model, "tokenizer_class"),
                          legacy_member(&l->model, "model_type")};
    for (int i = 0; i < 3 && !l->class; i++)
        if (named[i] && named[i]->kind == TREE_TEXT) {
            const struct legacy_class *c = class_named(named[i]->text, named[i]->size);
            if (!c && (i == 0 || legacy_class_of(named[i]->text))) /* as another class it would give wrong ids */
                return heed_fail(l->cx, HEED_ERR_FORMAT,
                                 "%s: the tokenizer of %s '%s' is not supported without tokenizer.json", l->dir,
                                 i < 2 ? "class" : "model type", escaped(named[i]->text).s);
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
           choose_class(l, file) && read_roles(l) && (l->class->files < LEGACY_PIECES || legacy_read_pieces(l, file)) &&
           (l->class->files != LEGACY_WORDS || legacy_read_words(l)) &&
           (l->class->files != LEGACY_BYTES || legacy_make_bytes(l)) &&
           ((l->class->files != LEGACY_PAIRS && l->class->files != LEGACY_MARIAN) || legacy_read_vocabulary(l)) &&
           (l->class->files != LEGACY_PIECES || legacy_add_pieces(l)) && read_extras(l);
}

static bool add_class_tokens(struct legacy *l) {
    const char *order = l->class->order ? l->class->order : "";
    bool ok = true;
    char text[48];
    for (int64_t i = 0; ok && strcmp(order, "t5") == 0 && i < legacy_extra_ids(l); i++) {
        snprintf(text, sizeof text, "<extra_id_%lld>", (long long)i);
        ok = legacy_add(l, text, strlen(text), true);
    }
    for (int i = 0; ok && i < legacy_language_count(l); i++)
        ok = legacy_add(l, legacy_languages[i], strlen(legacy_languages[i]), true);
    if (ok && strcmp(order, "pegasus") == 0) ok = legacy_add(l, "<mask_1>", 8, true);
    for (int64_t i = 2; ok && strcmp(order, "pegasus") == 0 && i < 103; i++) {
        snprintf(text, sizeof text, "<unk_%lld>", (long long)i);
        ok = legacy_add(l, text, strlen(text), true);
    }
    if (ok && strcmp(order, "generic") == 0) { /* the special tokens are the model's own */
        const int64_t ids[] = {l->spm.bos_id, l->spm.eos_id, l->spm.unk_id};
        static const enum role roles[] = {ROLE_BOS, ROLE_EOS, ROLE_UNK};
        for (int i = 0; ok && i < 3; i++)
            if (ids[i] >= 0 && ids[i] < l->spm.count && !l->role[roles[i]].given)
                ok = legacy_token(l, l->spm.pieces[ids[i]].text, l->spm.pieces[ids[i]].size, true, &l->role[roles[i]]);
    }
    return ok;
}

static void legacy_free(struct legacy *l) {
    for (int i = 0; i < ROLES; i++) legacy_token_free(l->cx, &l->role[i]);
    for (int64_t i = 0; i < l->extra_count; i++) legacy_token_free(l->cx, &l->extra[i]);
    struct tree *const trees[] = {&l->config, &l->specials, &l->added, &l->model};
    for (int i = 0; i < 4; i++) tree_free(trees[i]);
    map_free(l->cx, &l->vocabulary);
    spm_free(l->cx, &l->spm);
    heed_string_free(l->cx, &l->out);
    heed_mem_free(l->cx, l->extra);
    heed_mem_free(l->cx, l->scores);
    heed_mem_free(l->cx, l->bytes);
}

heed_tokenizer *heed_tokenizer_bytes(heed_ctx *cx) {
    static const char name[] = "PerceiverTokenizer";
    struct legacy l = {.cx = cx, .dir = "bytes", .class = class_named(name, sizeof name - 1), .unknown = -1};
    heed_tokenizer *t = NULL;
    if (heed_failed(cx)) return NULL;
    if (read_roles(&l) && legacy_make_bytes(&l) && legacy_compose(&l))
        t = tokenizer_parse(cx, l.dir, l.out.s, l.out.size);
    legacy_free(&l);
    return t;
}

heed_tokenizer *legacy_load(heed_ctx *cx, const char *dir, const char *file) {
    struct legacy l = {.cx = cx, .dir = dir, .unknown = -1};
    heed_tokenizer *t = NULL;
    if (read_files(&l, file) && add_class_tokens(&l) && legacy_compose(&l))
        t = tokenizer_parse(cx, dir, l.out.s, l.out.size);
    for (int64_t i = 0; t && l.scores && i < t->unigram.count; i++)
        t->unigram.score[i] = l.scores[i]; /* to the bit, which decimal digits are not */
    legacy_free(&l);
    return t;
}
