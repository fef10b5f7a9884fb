#include "data/recognise.h"
#include "data/picture_list.h"
#include "io/text.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define NAME_ROOM  256
#define FOUND_ROOM 512

static bool is_kind(const char *path, mode_t kind) {
    struct stat what;
    return stat(path, &what) == 0 && (what.st_mode & S_IFMT) == kind;
}

bool data_is_folder(const char *path) { return is_kind(path, S_IFDIR); }
bool data_is_file(const char *path) { return is_kind(path, S_IFREG); }

/* Whether the file or folder FOLDER/NAME is of this kind. */
static bool has(const char *folder, const char *name, mode_t kind) {
    char path[FOUND_PATH];
    return snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path && is_kind(path, kind);
}

/* ---- the entries of a folder ---- */

static size_t plain_length(const char *name) { /* without .gz */
    const size_t n = strlen(name);
    return text_ends(name, n, ".gz") ? n - 3 : n;
}
static bool ends(const char *name, const char *ending) { return text_ends(name, plain_length(name), ending); }
static bool any_ends(const char *name, const char *const *endings) {
    for (; *endings; endings++)
        if (ends(name, *endings)) return true;
    return false;
}

static bool is_archive(const char *name) { return ends(name, ".tar") || text_ends(name, strlen(name), ".tgz"); }
static bool is_packed(const char *name) { return ends(name, ".zip") || ends(name, ".7z") || ends(name, ".rar"); }
static bool is_idx(const char *name) { return ends(name, "-ubyte"); }
static bool is_label_idx(const char *name) { return is_idx(name) && strstr(name, "idx1"); }
static bool is_data(const char *name) { return any_ends(name, data_text_endings); }
static bool is_text(const char *name) { return ends(name, ".txt"); }
static bool is_positive(const char *name) { return ends(name, ".pos") || ends(name, "pos.txt"); }
static bool is_negative(const char *name) { return ends(name, ".neg") || ends(name, "neg.txt"); }
static bool is_any(const char *name) { return *name; }

/* NAME.en or NAME.en.gz: the length of NAME; 0: the name has no such form. */
static size_t before_language(const char *name) {
    const size_t n = plain_length(name);
    const bool letters = n > 3 && name[n - 3] == '.' && name[n - 2] >= 'a' && name[n - 2] <= 'z' &&
                         name[n - 1] >= 'a' && name[n - 1] <= 'z';
    return letters && !ends(name, ".gz") && !ends(name, ".md") && !ends(name, ".py") && !ends(name, ".sh") ? n - 3 : 0;
}
static bool is_language(const char *name) { return before_language(name) > 0; }
static bool is_train_language(const char *name) { return before_language(name) == 5 && memcmp(name, "train", 5) == 0; }

/* The first by name of the entries of a kind that fit, behind `after` where that is given; how many fit in all. */
static int find(const char *folder, mode_t kind, bool (*fits)(const char *), const char *after, char out[NAME_ROOM]) {
    DIR *d = opendir(folder);
    int n = 0;
    out[0] = 0;
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
        const char *name = e->d_name;
        if (name[0] == '.' || strlen(name) >= NAME_ROOM || !fits(name) || (after && strcmp(name, after) <= 0)) continue;
        if (!has(folder, name, kind)) continue;
        if (n++ == 0 || strcmp(name, out) < 0) strcpy(out, name);
    }
    if (d) closedir(d);
    return n;
}

static bool any(const char *folder, bool (*fits)(const char *)) {
    DIR *d = opendir(folder);
    bool found = false;
    for (struct dirent *e = d ? readdir(d) : NULL; e && !found; e = readdir(d))
        found = e->d_name[0] != '.' && fits(e->d_name) && has(folder, e->d_name, S_IFREG);
    if (d) closedir(d);
    return found;
}

/* The first of a folder's folders, behind `after`, that holds a file that fits. */
static bool below(const char *folder, bool (*fits)(const char *), const char *after, char out[NAME_ROOM]) {
    char path[FOUND_PATH], last[NAME_ROOM];
    snprintf(last, sizeof last, "%s", after);
    while (find(folder, S_IFDIR, is_any, last, out) > 0) {
        if (snprintf(path, sizeof path, "%s/%s", folder, out) < (int)sizeof path && any(path, fits)) return true;
        strcpy(last, out);
    }
    return false;
}

/* ---- what can be read ---- */

const char *const data_text_endings[] = {".tsv", ".csv", ".txt", ".jsonl", ".json", ".conll", NULL};
const char *const data_table_endings[] = {".tsv", ".csv", NULL};

bool data_part_file(const char *folder, const char *part, const char *const *endings, char out[FOUND_PATH]) {
    static const char *const names[][7] = {{"train", "train-v1.1", "train-v2.0", NULL},
                                           {"dev", "valid", "val", "validation", "dev-v1.1", "dev-v2.0", NULL},
                                           {"test", NULL}};
    const int which = strcmp(part, "train") == 0 ? 0 : strcmp(part, "test") == 0 ? 2 : 1;
    for (const char *const *name = names[which]; *name; name++)
        for (const char *const *ending = endings; *ending; ending++)
            for (int zipped = 0; zipped < 2; zipped++) {
                const int n = snprintf(out, FOUND_PATH, "%s/%s%s%s", folder, *name, *ending, zipped ? ".gz" : "");
                if (n < FOUND_PATH && is_kind(out, S_IFREG)) return true;
            }
    return false;
}

bool data_has_idx(const char *folder) { return any(folder, is_idx); }
bool data_has_labels(const char *folder) { return any(folder, is_label_idx); }

bool data_has_parts(const char *folder) {
    return has(folder, "train", S_IFDIR) || has(folder, "test", S_IFDIR) || has(folder, "val", S_IFDIR);
}

bool data_has_classes(const char *folder) {
    char name[NAME_ROOM];
    return !data_has_parts(folder) && below(folder, picture_named, "", name);
}

bool data_has_pictures(const char *folder) { return any(folder, picture_named); }

bool data_has_test(const char *folder) {
    char path[FOUND_PATH];
    return data_has_idx(folder) || has(folder, "test", S_IFDIR) ||
           data_part_file(folder, "test", data_table_endings, path);
}

/* ---- what cannot ---- */

static bool is_model(const char *folder) {
    static const char *const weights[] = {"model.safetensors", "model.safetensors.index.json",
                                          "diffusion_pytorch_model.safetensors", "pytorch_model.bin"};
    bool found = false;
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++) found |= has(folder, weights[i], S_IFREG);
    return found && has(folder, "config.json", S_IFREG);
}

static bool is_graph(const char *name) { return strncmp(name, "nodes.", 6) == 0; }
static bool are_edges(const char *name) { return strncmp(name, "edges.", 6) == 0; }

#define ONE_TABLE "write them into one table, a text, a tab and its class on each line"

/* Texts in a file each, [train/]CLASS/NAME.txt, of at least two classes. */
static bool found_text_files(const char *folder, char out[FOUND_ROOM]) {
    char train[FOUND_PATH], one[NAME_ROOM], other[NAME_ROOM];
    const bool parts = has(folder, "train", S_IFDIR);
    if (snprintf(train, sizeof train, "%s%s", folder, parts ? "/train" : "") >= (int)sizeof train) return false;
    if (below(train, picture_named, "", one) || !below(train, is_text, "", one) || !below(train, is_text, one, other))
        return false;
    snprintf(out, FOUND_ROOM, "texts in a file each, in folders such as %s%.99s and %.99s; " ONE_TABLE,
             parts ? "train/" : "", one, other);
    return true;
}

bool data_has_text_files(const char *folder) { return found_text_files(folder, (char[FOUND_ROOM]){0}); }

static bool found_polarity(const char *folder, char out[FOUND_ROOM]) {
    char good[NAME_ROOM], bad[NAME_ROOM];
    if (!find(folder, S_IFREG, is_positive, NULL, good) || !find(folder, S_IFREG, is_negative, NULL, bad)) return false;
    snprintf(out, FOUND_ROOM, "texts of one class in each of %.99s and %.99s; " ONE_TABLE, bad, good);
    return true;
}

/* Two files that differ in their language alone, those called train first. */
static bool find_languages(const char *folder, char one[NAME_ROOM], char other[NAME_ROOM]) {
    for (int any_name = 0; any_name < 2; any_name++) {
        char last[NAME_ROOM] = "";
        while (find(folder, S_IFREG, any_name ? is_language : is_train_language, last, one) > 1) {
            find(folder, S_IFREG, any_name ? is_language : is_train_language, one, other);
            const size_t n = before_language(one);
            if (n == before_language(other) && memcmp(one, other, n) == 0) return true;
            strcpy(last, one);
        }
    }
    return false;
}

bool data_languages(const char *folder, char from[3], char to[3]) {
    char one[NAME_ROOM], other[NAME_ROOM];
    if (!find_languages(folder, one, other)) return false;
    snprintf(from, 3, "%.2s", one + before_language(one) + 1);
    snprintf(to, 3, "%.2s", other + before_language(other) + 1);
    return true;
}

static bool found_languages(const char *folder, char out[FOUND_ROOM]) {
    char one[NAME_ROOM], other[NAME_ROOM], from[3], to[3];
    if (!find_languages(folder, one, other) || !data_languages(folder, from, to)) return false;
    snprintf(out, FOUND_ROOM, "parallel text, %.99s and %.99s; 'heed train translate --from %s --to %s' reads it", one,
             other, from, to);
    return true;
}

/* A folder that holds but one folder, as archives are unpacked. */
static bool found_within(const char *folder, char out[FOUND_ROOM]) {
    char name[NAME_ROOM], path[FOUND_PATH], file[FOUND_PATH];
    if (any(folder, is_data) || find(folder, S_IFDIR, is_any, NULL, name) != 1) return false;
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path) return false;
    const bool reads = data_has_idx(path) || data_has_parts(path) || data_has_classes(path) ||
                       data_part_file(path, "train", data_text_endings, file);
    if (reads) snprintf(out, FOUND_ROOM, "a directory around the data; --data %.400s reads them", path);
    return reads;
}

/* `what` is a directory: the user should give one of its files instead. */
static bool found_file(const char *folder, bool (*fits)(const char *), const char *what, char out[FOUND_ROOM]) {
    char name[NAME_ROOM];
    if (!find(folder, S_IFREG, fits, NULL, name)) return false;
    snprintf(out, FOUND_ROOM, "%s; --data %.200s/%.200s reads it", what, folder, name);
    return true;
}

static bool say(char out[FOUND_ROOM], const char *what) {
    snprintf(out, FOUND_ROOM, "%s", what);
    return true;
}

static bool found(const char *folder, char out[FOUND_ROOM]) {
    char name[NAME_ROOM];
    if (is_model(folder)) return say(out, "a model directory, not data; --init starts from its weights");
    if (any(folder, is_graph) && any(folder, are_edges))
        return say(out, "a graph of nodes and edges; 'heed train nodes' reads it");
    if (found_text_files(folder, out) || found_polarity(folder, out) || found_languages(folder, out)) return true;
    if (data_has_idx(folder)) return say(out, "files of MNIST's format, pictures; 'heed train classify' reads them");
    if (below(folder, picture_named, "", name) || data_has_parts(folder))
        return say(out, "pictures in folders; 'heed train classify --model vit' reads them");
    if (data_has_pictures(folder))
        return say(out, "pictures without classes; put those of each class into a folder of its own, CLASS/NAME.png");
    if (found_file(folder, is_archive, "a directory with an archive", out) || found_within(folder, out)) return true;
    if (any(folder, is_packed)) return say(out, "a directory with a packed archive; unpack it first");
    return found_file(folder, is_data, "a directory without a file called train, but with others", out);
}

bool data_refuse(heed_ctx *cx, const char *folder, const char *otherwise) {
    char what[FOUND_ROOM];
    return heed_fail(cx, HEED_ERR_FILE, "%s: %s", folder, found(folder, what) ? what : otherwise);
}
