/* Parallel text from files, preprocessed as a model wants it. */
#include "base/profile.h"
#include "data/recognise.h"
#include "heed/task.h"
#include "model/core/directory.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- where the files are ---- */

static bool is_directory(const char *path) {
    struct stat what;
    return stat(path, &what) == 0 && S_ISDIR(what.st_mode);
}

static bool ends_in(const char *s, const char *end) {
    const size_t n = strlen(s), m = strlen(end);
    return n >= m && strcmp(s + n - m, end) == 0;
}

static bool is_table(const char *path) { return ends_in(path, ".tsv") || ends_in(path, ".tsv.gz"); }

/* "begin.language" or that with .gz; false when there is neither. */
static bool find_file(const char *begin, const char *language, char out[PATH_ROOM]) {
    static const char *const ends[] = {"", ".gz"};
    for (int i = 0; i < 2; i++)
        if (snprintf(out, PATH_ROOM, "%s.%s%s", begin, language, ends[i]) < PATH_ROOM && access(out, F_OK) == 0)
            return true;
    return false;
}

/* What a part's files may be called. */
static const char *const names_of[][4] = {
    {"train", NULL}, {"val", "valid", "dev", NULL}, {"test", "test2016", "test_2016_flickr", NULL}};

static bool find_part(const char *path, const char *part, const heed_preprocessing *prep, char files[2][PATH_ROOM]) {
    char begin[PATH_ROOM];
    if (!part) return false;
    const int which = strcmp(part, "train") == 0 ? 0 : strcmp(part, "val") == 0 ? 1 : 2;
    for (const char *const *name = names_of[which]; *name; name++)
        if (snprintf(begin, sizeof begin, "%s/%s", path, *name) < (int)sizeof begin &&
            find_file(begin, prep->from, files[0]) && find_file(begin, prep->to, files[1]))
            return true;
    return false;
}

bool heed_parallel_has(const char *path, const char *part, const heed_preprocessing *prep) {
    char files[2][PATH_ROOM];
    return path && prep && is_directory(path) && find_part(path, part, prep, files);
}

const char *heed_parallel_file(const char *path, const char *part, const heed_preprocessing *prep, heed_text_side side,
                               char *out) {
    char files[2][PATH_ROOM];
    if (!path || !prep || !out) return path;
    const char *language = side == HEED_SOURCE ? prep->from : prep->to;
    if (is_table(path)) return path;
    if (!is_directory(path)) return find_file(path, language, out) ? out : path;
    if (!find_part(path, part, prep, files)) return path;
    return strcpy(out, files[side == HEED_SOURCE ? 0 : 1]);
}

/* ---- reading ---- */

bool heed_parallel_preprocess(heed_ctx *cx, const heed_preprocessing *prep, heed_text_side side, heed_lines *lines) {
    if (heed_failed(cx)) return false;
    if (!prep || !lines)
        return heed_fail(cx, HEED_ERR_USAGE, "parallel text: the %s",
                         prep ? "lines are NULL" : "preprocessing is NULL");
    if (!prep->moses && !prep->lower) return true;
    const struct profile_mark mark = profile_begin(cx);
    heed_string text = {0};
    heed_lines done = {0};
    for (int64_t i = 0; i < lines->count && !heed_cancelled(cx); i++)
        if (!heed_preprocess(cx, prep, side, heed_line_text(lines, i), heed_line_size(lines, i), &text) ||
            !heed_string_put(cx, &text, "\n", 1))
            break;
    if (!heed_failed(cx) && heed_lines_cut(cx, &text, &done)) {
        heed_lines_free(cx, lines);
        *lines = done;
    }
    heed_string_free(cx, &text);
    profile_end(cx, mark, "preprocess text", PROFILE_FORWARD);
    return !heed_failed(cx);
}

/* By a context of its own: what is no table to it may still be lines of two columns. */
static bool has_header(const char *path) {
    heed_ctx *cx = heed_open(&(heed_config){.threads = 1});
    heed_table *t = heed_table_open(cx, path, &(heed_table_options){.delimiter = '\t', .plain_quotes = true});
    const bool has = heed_table_has_header(t);
    heed_table_close(t);
    heed_close(cx);
    return has;
}

static bool read_table(heed_ctx *cx, const char *path, heed_lines lines[2]) {
    heed_lines all = {0};
    heed_string text[2] = {{0}, {0}};
    if (!heed_lines_read(cx, path, &all)) return false;
    for (int64_t i = has_header(path); i < all.count && !heed_failed(cx); i++) {
        const char *line = heed_line_text(&all, i), *tab = strchr(line, '\t');
        if (!tab || strchr(tab + 1, '\t')) {
            heed_fail(cx, HEED_ERR_FORMAT, "%s: line %lld: expected two columns separated by a tab", path,
                      (long long)i + 1);
            break;
        }
        heed_string_put(cx, &text[0], line, (size_t)(tab - line));
        heed_string_put(cx, &text[0], "\n", 1);
        heed_string_put(cx, &text[1], tab + 1, strlen(tab + 1));
        heed_string_put(cx, &text[1], "\n", 1);
    }
    for (int k = 0; k < 2 && !heed_failed(cx); k++) heed_lines_cut(cx, &text[k], &lines[k]);
    for (int k = 0; k < 2; k++) heed_string_free(cx, &text[k]);
    heed_lines_free(cx, &all);
    return !heed_failed(cx);
}

static bool read_files(heed_ctx *cx, const char *path, const char *part, const heed_preprocessing *prep,
                       heed_lines lines[2]) {
    char files[2][PATH_ROOM];
    char from[3], to[3], such[40] = "";
    if (!*prep->from || !*prep->to) {
        if (data_languages(path, from, to)) snprintf(such, sizeof such, ", such as --from %s --to %s", from, to);
        return heed_fail(cx, HEED_ERR_USAGE, "%s: --from and --to, the languages, are needed to find its files%s", path,
                         such);
    }
    if (is_directory(path) && !find_part(path, part, prep, files))
        return heed_fail(cx, HEED_ERR_FILE, "%s: there are no %s.%s and %s.%s, nor with .gz", path, part, prep->from,
                         part, prep->to);
    for (int k = 0; k < 2 && !is_directory(path); k++) {
        const char *language = k ? prep->to : prep->from;
        if (!find_file(path, language, files[k]))
            return heed_fail(cx, HEED_ERR_FILE, "%s.%s: there is no such file, nor with .gz", path, language);
    }
    if (!heed_lines_read(cx, files[0], &lines[0]) || !heed_lines_read(cx, files[1], &lines[1])) return false;
    if (lines[0].count != lines[1].count)
        return heed_fail(cx, HEED_ERR_FORMAT, "%s has %lld lines, %s has %lld: numbers must agree", files[0],
                         (long long)lines[0].count, files[1], (long long)lines[1].count);
    return lines[0].count > 0 || heed_fail(cx, HEED_ERR_FORMAT, "%s: the text is empty", files[0]);
}

bool heed_parallel_read(heed_ctx *cx, const char *path, const char *part, const heed_preprocessing *prep,
                        heed_lines lines[2]) {
    if (heed_failed(cx)) return false;
    if (!path || !prep || !lines)
        return heed_fail(cx, HEED_ERR_USAGE, "parallel text: the path, preprocessing or lines are NULL");
    lines[0] = lines[1] = (heed_lines){0};
    const bool read = is_table(path) ? read_table(cx, path, lines) : read_files(cx, path, part, prep, lines);
    if (read && lines[0].count == 0) heed_fail(cx, HEED_ERR_FORMAT, "%s: the text is empty", path);
    if (read && heed_parallel_preprocess(cx, prep, HEED_SOURCE, &lines[0]) &&
        heed_parallel_preprocess(cx, prep, HEED_TARGET, &lines[1]))
        return true;
    heed_parallel_free(cx, lines);
    return false;
}

void heed_parallel_free(heed_ctx *cx, heed_lines lines[2]) {
    if (!lines) return;
    heed_lines_free(cx, &lines[0]);
    heed_lines_free(cx, &lines[1]);
}
