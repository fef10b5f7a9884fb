/* safetensors in shards: {"weight_map": {"name": "model-00001-of-00002.safetensors", ...}} beside the files it names.
 * Only what the index lists is part of the handle. */
#include "io/limits.h"
#include "io/safetensors.h"
#include "io/text.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* folder + file in memory of heed's own; folder_size counts the final '/', or is 0. */
static char *join(heed_ctx *cx, const char *folder, size_t folder_size, const char *file) {
    const size_t file_size = strlen(file) + 1;
    char *path = heed_mem_new(cx, folder_size + file_size);
    if (!path) return NULL;
    memcpy(path, folder, folder_size);
    memcpy(path + folder_size, file, file_size);
    return path;
}

/* A plain name cannot lead out of the folder of the index, nor steer a terminal from within a sentence. */
static bool plain_name(const char *s) {
    if (!*s || strchr(s, '/') || strstr(s, "..")) return false;
    for (; *s; s++)
        if ((unsigned char)*s < 0x20 || *s == 0x7F) return false;
    return true;
}

/* The shard of a name, opened at its first use. Shards are told apart by the text of the index, `shards`. */
static heed_safetensors *open_shard(heed_safetensors *st, const char *index_path, heed_json entry,
                                    const char **shards) {
    heed_ctx *cx = st->cx;
    const char *shard = heed_json_text(cx, entry, NULL);
    if (!shard) return NULL;
    for (size_t i = st->part_count; i-- > 0;)
        if (strcmp(shards[i], shard) == 0) return st->parts[i];
    if (!plain_name(shard))
        return heed_json_fail(cx, entry, "'%s' is not the plain name of a file", escaped(shard).s), NULL;
    const char *slash = strrchr(index_path, '/');
    char *path = join(cx, index_path, slash ? (size_t)(slash - index_path) + 1 : 0, shard);
    heed_safetensors *part = path ? st_open_file(cx, path) : NULL;
    heed_mem_free(cx, path);
    if (!part) return NULL;
    shards[st->part_count] = shard;
    st->parts[st->part_count++] = part;
    return part;
}

static bool read_index(heed_safetensors *st, const char *path, heed_json map, const char **shards) {
    for (heed_json v = heed_json_first(map); v.node; v = heed_json_next(v)) {
        heed_safetensors *part = open_shard(st, path, v, shards);
        if (!part) return false;
        const int64_t at = heed_safetensors_find(st->cx, part, heed_json_key(v));
        if (at < 0) return heed_json_fail(st->cx, v, "the shard holds no tensor of this name");
        st->list[st->count++] = part->list[at];
    }
    st_sort_names(st);
    return true;
}

heed_safetensors *st_open_index(heed_ctx *cx, const char *path) {
    const heed_json index = json_open_within(cx, path, IO_INDEX_LIMIT);
    const heed_json map = heed_json_object(cx, index, "weight_map");
    const size_t names = (size_t)heed_json_count(map); /* at least as many as shards */
    heed_safetensors *st = map.node ? st_new(cx) : NULL;
    const char **shards = st ? heed_mem_new(cx, names * sizeof *shards) : NULL;
    bool done = false;
    if (shards) {
        st->parts = heed_mem_new(cx, names * sizeof(heed_safetensors *));
        done = st->parts && st_make_lists(st, names) && read_index(st, path, map, shards);
    }
    heed_mem_free(cx, shards);
    heed_json_free(index);
    if (done) return st;
    heed_safetensors_close(st);
    return NULL;
}

/* A pickle is a program, which heed does not run. */
static void say_missing(heed_ctx *cx, const char *path) {
    static const char *const pickles[][2] = {{"pytorch_model.bin", "AutoModel"},
                                             {"diffusion_pytorch_model.bin", "diffusers.AutoModel"}};
    for (int i = 0; i < 2; i++) {
        struct stat info;
        char name[64];
        snprintf(name, sizeof name, "/%s", pickles[i][0]);
        char *const pickle = join(cx, path, strlen(path), name);
        if (pickle && stat(pickle, &info) == 0)
            heed_fail(cx, HEED_ERR_FILE,
                      "%s: holds %s, a Python pickle, and no model.safetensors; convert it in Python: "
                      "%s.from_pretrained('%s').save_pretrained('%s')",
                      path, pickles[i][0], pickles[i][1], path, path);
        heed_mem_free(cx, pickle);
    }
    if (!heed_failed(cx))
        heed_fail(cx, HEED_ERR_FILE, "%s: holds neither model.safetensors nor model.safetensors.index.json", path);
}

/* The file of a directory: whole, else in shards; by diffusers' name where it has none of the usual name. NULL: none,
 * or a failed context. */
static char *file_in(heed_ctx *cx, const char *dir) {
    static const char *const names[] = {"/model.safetensors", "/diffusion_pytorch_model.safetensors",
                                        "/model.safetensors.index.json",
                                        "/diffusion_pytorch_model.safetensors.index.json"};
    struct stat info;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *const path = join(cx, dir, strlen(dir), names[i]);
        if (!path || stat(path, &info) == 0) return path;
        heed_mem_free(cx, path);
    }
    return NULL;
}

heed_safetensors *heed_safetensors_open(heed_ctx *cx, const char *path) {
    struct stat info;
    if (heed_failed(cx)) return NULL;
    if (!path) return heed_fail(cx, HEED_ERR_USAGE, "safetensors_open: path is NULL"), NULL;
    if (text_ends(path, strlen(path), ".json")) return st_open_index(cx, path);
    if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode)) return st_open_file(cx, path);

    char *const file = file_in(cx, path);
    if (!file && !heed_failed(cx)) say_missing(cx, path);
    heed_safetensors *const st = !file                                    ? NULL
                                 : text_ends(file, strlen(file), ".json") ? st_open_index(cx, file)
                                                                          : st_open_file(cx, file);
    heed_mem_free(cx, file);
    return st;
}
