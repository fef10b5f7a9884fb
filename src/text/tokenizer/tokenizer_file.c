/* Tokenizers from files and into them. */
#include "base/file.h"
#include "io/limits.h"
#include "io/text.h"
#include "text/tokenizer/legacy.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* path, or tokenizer.json in it when it is a directory. */
static const char *file_of(const char *path, char *out, size_t size) {
    struct stat what;
    if (strcmp(path, "-") == 0 || stat(path, &what) != 0 || !S_ISDIR(what.st_mode)) return path;
    return (size_t)snprintf(out, size, "%s/tokenizer.json", path) < size ? out : path;
}

static bool is_directory(const char *path) {
    struct stat what;
    return stat(path, &what) == 0 && S_ISDIR(what.st_mode);
}

/* dir/file.model or dir/file.spm: a SentencePiece model, read with what lies beside it. */
static heed_tokenizer *load_pieces(heed_ctx *cx, const char *path) {
    char dir[4096];
    const char *slash = strrchr(path, '/');
    const size_t n = slash ? (size_t)(slash - path) : 1;
    if (n >= sizeof dir) return heed_fail(cx, HEED_ERR_FILE, "%.60s...: the path is too long", path), NULL;
    memcpy(dir, slash ? path : ".", n);
    dir[n] = 0;
    return legacy_load(cx, n ? dir : "/", slash ? slash + 1 : path);
}

heed_tokenizer *heed_tokenizer_load(heed_ctx *cx, const char *path) {
    char joined[4096];
    size_t size;
    struct stat what;
    if (heed_failed(cx)) return NULL;
    if (!path) return heed_fail(cx, HEED_ERR_USAGE, "tokenizer_load: path is NULL"), NULL;
    if (text_ends(path, strlen(path), ".model") || text_ends(path, strlen(path), ".spm"))
        if (!is_directory(path)) return load_pieces(cx, path);
    const char *file = file_of(path, joined, sizeof joined);
    if (file != path && stat(file, &what) != 0) return legacy_load(cx, path, NULL);
    unsigned char *text = file_read_regular(cx, file, IO_TOKENIZER_LIMIT, &size);
    heed_tokenizer *t = text ? tokenizer_parse(cx, file, (const char *)text, size) : NULL;
    heed_mem_free(cx, text);
    return t;
}

/* ---- more tokens ---- */

static void put_special(heed_ctx *cx, heed_json list, const char *token, int64_t id) {
    static const char *const flags[] = {"single_word", "lstrip", "rstrip", "normalized"};
    const heed_json at = heed_json_put_object(cx, list, NULL);
    heed_json_put_int(cx, at, "id", id);
    heed_json_put_text(cx, at, "content", token);
    for (int i = 0; i < 4; i++) heed_json_put_bool(cx, at, flags[i], false);
    heed_json_put_bool(cx, at, "special", true);
}

heed_tokenizer *heed_tokenizer_add(heed_ctx *cx, const heed_tokenizer *t, const char *const *tokens, int n) {
    static const char name[] = "tokenizer.json";
    if (heed_failed(cx)) return NULL;
    if (!t || n < 0 || (n > 0 && !tokens))
        return heed_fail(cx, HEED_ERR_USAGE, "tokenizer_add: a tokenizer and tokens are needed"), NULL;
    const heed_json root = heed_json_parse(cx, name, t->json, t->json_size);
    heed_json list = heed_json_find(cx, root, "added_tokens");
    if (!heed_failed(cx) && heed_json_kind_of(list) != HEED_JSON_ARRAY)
        list = heed_json_put_array(cx, root, "added_tokens");
    int64_t next = heed_tokenizer_size(t);
    size_t size = 0;
    for (int i = 0; i < n && !heed_failed(cx); i++)
        if (heed_tokenizer_id(t, tokens[i]) < 0) put_special(cx, list, tokens[i], next++);
    char *const text = heed_failed(cx) ? NULL : heed_json_print(cx, root, 2, &size);
    heed_tokenizer *const more = text ? tokenizer_parse(cx, name, text, size) : NULL;
    if (more) memcpy(more->role, t->role, sizeof more->role);
    heed_mem_free(cx, text);
    heed_json_free(root);
    return more;
}

/* ---- what special tokens are for ---- */

const char *const role_names[ROLES] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                       "pad_token", "cls_token", "mask_token"};

void guess_roles(heed_tokenizer *t) {
    static const struct {
        const char *text;
        enum role role;
    } usual[] = {
        {"<s>", ROLE_BOS},
        {"<bos>", ROLE_BOS},
        {"<|begin_of_text|>", ROLE_BOS},
        {"<|startoftext|>", ROLE_BOS},
        {"</s>", ROLE_EOS},
        {"<eos>", ROLE_EOS},
        {"<|end_of_text|>", ROLE_EOS},
        {"<|endoftext|>", ROLE_EOS},
        {"<unk>", ROLE_UNK},
        {"[UNK]", ROLE_UNK},
        {"[SEP]", ROLE_SEP},
        {"<pad>", ROLE_PAD},
        {"[PAD]", ROLE_PAD},
        {"[CLS]", ROLE_CLS},
        {"<mask>", ROLE_MASK},
        {"[MASK]", ROLE_MASK},
    };
    for (int i = 0; i < ROLES; i++) t->role[i] = -1;
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        const int32_t id = heed_tokenizer_id(t, usual[i].text);
        if (id >= 0 && t->special[id] && t->role[usual[i].role] < 0) t->role[usual[i].role] = id;
    }
}

/* ---- saving ---- */

static void put_roles(heed_ctx *cx, const heed_tokenizer *t, heed_json to) {
    for (int i = 0; i < ROLES; i++)
        if (t->role[i] >= 0) heed_json_put_text(cx, to, role_names[i], t->token[t->role[i]]);
}

/* What transformers' AutoTokenizer wants to find beside tokenizer.json. */
static bool save_beside(heed_ctx *cx, const heed_tokenizer *t, const char *dir) {
    static const char *const names[] = {"tokenizer_config.json", "special_tokens_map.json"};
    for (int i = 0; i < 2 && !heed_failed(cx); i++) {
        char path[4096];
        if ((size_t)snprintf(path, sizeof path, "%s/%s", dir, names[i]) >= sizeof path)
            return heed_fail(cx, HEED_ERR_FILE, "%.60s...: the path is too long", dir);
        const heed_json root = heed_json_new(cx, names[i]);
        if (i == 0) {
            heed_json_put_text(cx, root, "tokenizer_class", "PreTrainedTokenizerFast");
            heed_json_put_bool(cx, root, "clean_up_tokenization_spaces", false);
        }
        put_roles(cx, t, root);
        heed_json_write(cx, path, root);
        heed_json_free(root);
    }
    return !heed_failed(cx);
}

bool heed_tokenizer_save(heed_ctx *cx, const heed_tokenizer *t, const char *path) {
    char joined[4096];
    if (heed_failed(cx)) return false;
    if (!t || !path) return heed_fail(cx, HEED_ERR_USAGE, "tokenizer_save: the tokenizer or path is NULL");
    const char *file = file_of(path, joined, sizeof joined);
    struct file_writer *w = file_write_open(cx, file);
    if (!w) return false;
    file_write(w, t->json, t->json_size);
    return file_write_commit(w) && (file == path || save_beside(cx, t, path));
}
