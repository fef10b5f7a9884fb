/* Model directories: paths in them; making, filling and removing them. */
#include "model/core/directory.h"
#include "base/file.h"
#include "io/limits.h"
#include "io/text.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
    const char *name;
    bool tokenizer;
} files[] = {
    {.name = CONFIG_FILE},
    {.name = GENERATION_CONFIG_FILE},
    {.name = WEIGHTS_FILE},
    {.name = DIFFUSERS_WEIGHTS_FILE},
    {.name = ADAPTER_CONFIG_FILE},
    {.name = ADAPTER_WEIGHTS_FILE},
    {.name = TOKENIZER_FILE, .tokenizer = true},
    {.name = TARGET_TOKENIZER_FILE, .tokenizer = true},
    {.name = TOKENIZER_CONFIG_FILE, .tokenizer = true},
    {.name = SPECIAL_TOKENS_FILE, .tokenizer = true},
    {.name = CHAT_TEMPLATE_FILE, .tokenizer = true},
    {.name = PREPROCESSOR_FILE, .tokenizer = true},
    {.name = MODULES_FILE},
    {.name = POOLING_FILE},
    {.name = SENTENCE_FILE},
    {.name = WORDS_FILE},
};
enum { FILES = sizeof files / sizeof *files };

bool directory_path(heed_ctx *cx, const char *dir, const char *file, char path[PATH_ROOM]) {
    const size_t n = strlen(dir);
    if (snprintf(path, PATH_ROOM, "%s%s%s", dir, n && dir[n - 1] == '/' ? "" : "/", file) < PATH_ROOM) return true;
    return heed_fail(cx, HEED_ERR_FILE, "%.60s...: the path is too long", dir);
}

bool directory_has(const char *dir, const char *file) {
    char path[PATH_ROOM];
    return snprintf(path, sizeof path, "%s/%s", dir, file) < (int)sizeof path && access(path, F_OK) == 0;
}

/* ---- pipelines ---- */

static const char *const networks[] = {UNET_PART, TRANSFORMER_PART};
enum { NETWORKS = sizeof networks / sizeof *networks };

bool directory_is_pipeline(const char *dir) {
    return directory_has(dir, MODEL_INDEX_FILE) && !directory_has(dir, CONFIG_FILE);
}

bool directory_network(heed_ctx *cx, const char *dir, char path[PATH_ROOM]) {
    if (!directory_is_pipeline(dir)) {
        if (snprintf(path, PATH_ROOM, "%s", dir) < PATH_ROOM) return true;
        return heed_fail(cx, HEED_ERR_FILE, "%.60s...: the path is too long", dir);
    }
    for (int i = 0; i < NETWORKS; i++)
        if (directory_has(dir, networks[i])) return directory_path(cx, dir, networks[i], path);
    return heed_fail(cx, HEED_ERR_FILE, "%s: a pipeline with neither " UNET_PART "/ nor " TRANSFORMER_PART "/",
                     escaped(dir).s);
}

/* ---- what there is ---- */

/* A file of the directory, or of a pipeline's network. */
static bool has(const char *dir, const char *file) {
    char path[PATH_ROOM];
    bool found = directory_has(dir, file);
    for (int i = 0; !found && directory_is_pipeline(dir) && i < NETWORKS; i++)
        found = snprintf(path, sizeof path, "%s/%s", dir, networks[i]) < PATH_ROOM && directory_has(path, file);
    return found;
}

bool directory_has_model(const char *dir) {
    return has(dir, WEIGHTS_FILE) || has(dir, DIFFUSERS_WEIGHTS_FILE) || has(dir, ADAPTER_WEIGHTS_FILE);
}

bool directory_has_checkpoint(const char *dir) { return has(dir, CHECKPOINT_FILE); }
bool directory_has_config(const char *dir) { return directory_has(dir, CONFIG_FILE); }
bool directory_has_run(const char *dir) { return directory_has_model(dir) || directory_has_checkpoint(dir); }

const char *directory_type(const char *dir, size_t budget, char type[TYPE_ROOM]) {
    char file[PATH_ROOM];
    *type = 0;
    if (!directory_has(dir, CONFIG_FILE)) return type;
    heed_ctx *const cx = heed_open(&(heed_config){.threads = 1, .byte_budget = budget});
    const bool named = directory_path(cx, dir, CONFIG_FILE, file);
    const heed_json config = named ? json_open_within(cx, file, IO_CONFIG_LIMIT) : (heed_json){0};
    const char *const found = heed_json_text_or(cx, config, "model_type", "");
    if (found && strlen(found) < TYPE_ROOM) snprintf(type, TYPE_ROOM, "%s", found);
    heed_json_free(config);
    heed_close(cx);
    return type;
}

/* ---- adapters ---- */

bool directory_is_adapter(const char *dir) {
    static const char *const own[] = {WEIGHTS_FILE, WEIGHTS_FILE ".index.json", DIFFUSERS_WEIGHTS_FILE,
                                      DIFFUSERS_WEIGHTS_FILE ".index.json"};
    bool adapts = directory_has(dir, ADAPTER_CONFIG_FILE);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) adapts = adapts && !directory_has(dir, own[i]);
    return adapts;
}

bool directory_base_in(heed_ctx *cx, const char *dir, heed_json adapter, char base[PATH_ROOM]) {
    const heed_json at = heed_json_find(cx, adapter, "base_model_name_or_path");
    const char *const said = heed_json_text(cx, adapter, "base_model_name_or_path");
    if (said && !*said) heed_json_fail(cx, at, "empty");
    const char *const from = said && *said != '/' ? dir : "";
    if (!heed_failed(cx) && directory_path(cx, from, *said == '/' ? said + 1 : said, base) &&
        !directory_has(base, CONFIG_FILE)) {
        if (*said != '/' && directory_has(said, CONFIG_FILE)) /* as peft looks for it */
            snprintf(base, PATH_ROOM, "%s", said);
        else
            heed_json_fail(cx, at, "'%s' holds no model; 'heed merge DIR %s --out DIR' says where it is",
                           escaped(said).s, dir);
    }
    if (!heed_failed(cx) && directory_is_adapter(base))
        heed_fail(cx, HEED_ERR_FORMAT, "%s: an adapter of an adapter: merge %s into its model first", dir, base);
    return !heed_failed(cx);
}

bool directory_base(heed_ctx *cx, const char *dir, char base[PATH_ROOM]) {
    char path[PATH_ROOM];
    if (heed_failed(cx) || !directory_path(cx, dir, ADAPTER_CONFIG_FILE, path)) return false;
    const heed_json adapter = json_open_within(cx, path, IO_CONFIG_LIMIT);
    const bool found = !heed_failed(cx) && directory_base_in(cx, dir, adapter, base);
    heed_json_free(adapter);
    return found;
}

bool directory_of_tokenizer(heed_ctx *cx, const char *dir, char path[PATH_ROOM]) {
    if (directory_is_adapter(dir) && !directory_has_tokenizers(dir)) return directory_base(cx, dir, path);
    if (snprintf(path, PATH_ROOM, "%s", dir) < PATH_ROOM) return true;
    return heed_fail(cx, HEED_ERR_FILE, "%.60s...: the path is too long", dir);
}

bool directory_make(heed_ctx *cx, const char *dir) {
    if (!*dir) return heed_fail(cx, HEED_ERR_USAGE, "directory: the name is empty");
    const size_t size = strlen(dir) + 1;
    char *path = heed_mem_new(cx, size);
    if (!path) return false;
    memcpy(path, dir, size);
    for (char *end = path + 1; end < path + size && !heed_failed(cx); end++) {
        if (*end && *end != '/') continue;
        const char was = *end;
        *end = 0;
        if (mkdir(path, 0777) != 0 && errno != EEXIST) heed_fail(cx, HEED_ERR_FILE, "%s: %s", path, strerror(errno));
        *end = was;
    }
    heed_mem_free(cx, path);
    struct stat what;
    if (heed_failed(cx)) return false;
    if (stat(dir, &what) == 0 && !S_ISDIR(what.st_mode))
        errno = ENOTDIR;
    else if (access(dir, W_OK | X_OK) == 0)
        return true;
    return heed_fail(cx, HEED_ERR_FILE, "%s: %s", dir, strerror(errno));
}

/* ---- tokenizers ---- */

/* tokenizer.json, or the files that older models have instead. */
bool directory_has_tokenizers(const char *dir) {
    static const char *const names[] = {
        TOKENIZER_FILE,    "vocab.txt", "merges.txt",      "spiece.model", "sentencepiece.bpe.model",
        "tokenizer.model", "spm.model", SOURCE_PIECES_FILE};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (directory_has(dir, names[i])) return true;
    return false;
}

bool directory_load_tokenizers(heed_ctx *cx, const char *from, heed_tokenizer *tokens[2]) {
    char path[PATH_ROOM], dir[PATH_ROOM];
    tokens[0] = tokens[1] = NULL;
    if (heed_failed(cx) || !directory_of_tokenizer(cx, from, dir)) return false;
    tokens[0] = tokens[1] = heed_tokenizer_load(cx, dir);
    const bool pieces = !directory_has(dir, TOKENIZER_FILE) && directory_has(dir, SOURCE_PIECES_FILE);
    const char *target = directory_has(dir, TARGET_TOKENIZER_FILE)          ? TARGET_TOKENIZER_FILE
                         : pieces && directory_has(dir, TARGET_PIECES_FILE) ? TARGET_PIECES_FILE
                                                                            : NULL;
    if (tokens[0] && target) tokens[1] = directory_path(cx, dir, target, path) ? heed_tokenizer_load(cx, path) : NULL;
    if (heed_failed(cx)) directory_free_tokenizers(cx, tokens);
    return !heed_failed(cx);
}

bool directory_save_tokenizers(heed_ctx *cx, const char *dir, heed_tokenizer *const tokens[2]) {
    char path[PATH_ROOM];
    if (!heed_tokenizer_save(cx, tokens[0], dir)) return false;
    if (tokens[1] == tokens[0]) return directory_remove(cx, dir, TARGET_TOKENIZER_FILE); /* of a model before */
    return directory_path(cx, dir, TARGET_TOKENIZER_FILE, path) && heed_tokenizer_save(cx, tokens[1], path);
}

bool directory_copy_tokenizers(heed_ctx *cx, const char *from, const char *to) {
    char source[PATH_ROOM], target[PATH_ROOM];
    for (int i = 0; i < FILES && !heed_failed(cx); i++) {
        size_t size = 0;
        if (!files[i].tokenizer || !directory_has(from, files[i].name) ||
            !directory_path(cx, from, files[i].name, source) || !directory_path(cx, to, files[i].name, target))
            continue;
        void *text = file_read_regular(cx, source, IO_TOKENIZER_LIMIT, &size);
        struct file_writer *w = text ? file_write_open(cx, target) : NULL;
        if (w) file_write(w, text, size);
        if (w) file_write_commit(w);
        heed_mem_free(cx, text);
    }
    return !heed_failed(cx);
}

void directory_free_tokenizers(heed_ctx *cx, heed_tokenizer *tokens[2]) {
    if (tokens[1] != tokens[0]) heed_tokenizer_free(cx, tokens[1]);
    heed_tokenizer_free(cx, tokens[0]);
    tokens[0] = tokens[1] = NULL;
}

/* ---- removing ---- */

bool directory_remove(heed_ctx *cx, const char *dir, const char *file) {
    char path[PATH_ROOM];
    if (heed_failed(cx) || !directory_path(cx, dir, file, path)) return false;
    if (unlink(path) == 0 || errno == ENOENT) return true;
    return heed_fail(cx, HEED_ERR_FILE, "%s: %s", path, strerror(errno));
}

bool directory_clear(heed_ctx *cx, const char *dir) {
    for (int i = 0; i < FILES; i++)
        if (!directory_remove(cx, dir, files[i].name)) return false;
    return directory_remove(cx, dir, CHECKPOINT_FILE);
}

void directory_drop(const char *dir) {
    char path[PATH_ROOM];
    for (int i = 0; i < FILES; i++)
        if (snprintf(path, sizeof path, "%s/%s", dir, files[i].name) < (int)sizeof path) unlink(path);
    rmdir(dir);
}

/* ---- locking ---- */

/* The lock is on the directory itself, so that there is no file to be left behind. */
int directory_lock(heed_ctx *cx, const char *dir) {
    if (heed_failed(cx)) return -1;
    const int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return heed_fail(cx, HEED_ERR_FILE, "%s: %s", dir, strerror(errno)), -1;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return fd; /* some file systems have no locks */
    close(fd);
    return heed_fail(cx, HEED_ERR_FILE, "%s: another process is writing into this directory", dir), -1;
}

void directory_unlock(int lock) {
    if (lock >= 0) close(lock);
}

int directory_claim(heed_ctx *cx, const char *dir, bool (*taken)(const char *dir)) {
    const int lock = directory_make(cx, dir) ? directory_lock(cx, dir) : -1;
    if (lock < 0 || !taken || !taken(dir)) return lock;
    directory_unlock(lock);
    return heed_fail(cx, HEED_ERR_FILE, "%s: another run has written into it meanwhile", dir), -1;
}
