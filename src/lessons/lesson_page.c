/* What a lesson says, shows and writes. */
#include "lessons/lesson.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_SIZE = 4096 };

/* ---- text ---- */

static int characters(const char *s, size_t n) {
    int count = 0;
    for (size_t i = 0; i < n; i++) count += ((unsigned char)s[i] & 0xC0) != 0x80; /* not bytes */
    return count;
}

/* Lines after the first are indented. */
static void print_wrapped(const char *text, int indent, int columns) {
    int at = 0;
    for (size_t n; *text; text += n, text += strspn(text, " ")) {
        n = strcspn(text, " ");
        const int width = characters(text, n);
        if (at > 0 && indent + at + 1 + width > columns) {
            printf("\n%*s", indent, "");
            at = 0;
        } else if (at > 0) {
            putchar(' ');
            at++;
        }
        fwrite(text, 1, n, stdout);
        at += width;
    }
    putchar('\n');
}

/* With --json the results alone are printed, with --quiet nothing. */
static bool mute(const struct lesson_run *r) { return r->json || r->quiet; }

void lesson_say(struct lesson_run *r, const char *format, ...) {
    char text[2048];
    va_list args;
    if (mute(r)) return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    print_wrapped(text, 0, r->terminal.width);
    putchar('\n');
    fflush(stdout); /* what is said can be read while the next thing is computed */
}

void lesson_entry(struct lesson_run *r, int column, const char *name, const char *text) {
    if (mute(r)) return;
    printf("%-*s", column, name);
    print_wrapped(text, column, r->terminal.width);
    fflush(stdout);
}

void lesson_line(struct lesson_run *r, const char *format, ...) {
    char text[PATH_SIZE + 64];
    va_list args;
    if (mute(r)) return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    size_t n = strlen(text);
    while (n > 0 && text[n - 1] == ' ') text[--n] = 0; /* of columns that stay empty */
    puts(text);
    fflush(stdout);
}

void lesson_show(struct lesson_run *r, char *picture) {
    if (picture && !mute(r)) {
        fputs(picture, stdout);
        putchar('\n');
        fflush(stdout);
    }
    heed_mem_free(r->cx, picture);
}

void lesson_result(struct lesson_run *r, const char *name, double value) {
    heed_json_put_number(r->cx, r->results, name, value);
}

void lesson_progress(struct lesson_run *r, const char *what, int64_t done, int64_t total) {
    if (r->quiet || isatty(STDERR_FILENO) != 1) return;
    if (done < total) {
        fprintf(stderr, "\r%s: %lld of %lld\x1b[K", what, (long long)done, (long long)total);
        r->progress = true;
    } else if (r->progress) {
        fputs("\r\x1b[K", stderr);
        r->progress = false;
    }
    fflush(stderr);
}

/* ---- memory ---- */

struct lesson_block {
    struct lesson_block *next;
    _Alignas(64) unsigned char data[];
};

void *lesson_room(struct lesson_run *r, int64_t n, size_t size) {
    if (n < 0 || (uint64_t)n > (SIZE_MAX / 2) / size) {
        heed_fail(r->cx, HEED_ERR_MEMORY, "%s: the data does not fit into memory", r->lesson->name);
        return NULL;
    }
    struct lesson_block *block = heed_mem_new(r->cx, sizeof *block + (size_t)n * size);
    if (!block) return NULL;
    block->next = r->blocks;
    r->blocks = block;
    return memset(block->data, 0, (size_t)n * size);
}

char *lesson_text(struct lesson_run *r, const char *text, size_t most) {
    size_t n = strlen(text);
    if (most > 0 && n > most)
        for (n = most; n > 0 && ((unsigned char)text[n] & 0xC0) == 0x80;) n--;
    char *out = lesson_room(r, (int64_t)n + 1, 1);
    for (size_t i = 0; out && i < n; i++) {
        const unsigned char c = (unsigned char)text[i], next = (unsigned char)text[i + 1];
        const bool c1 = c == 0xC2 && next < 0xA0;
        out[i] = c < 0x20 || c == 0x7F || c1 ? ' ' : text[i];
        if (c1 && i + 1 < n) out[++i] = ' ';
    }
    return out;
}

float *lesson_floats(struct lesson_run *r, const double *values, int64_t n) {
    float *out = lesson_room(r, n, sizeof *out);
    for (int64_t i = 0; out && i < n; i++) out[i] = (float)values[i];
    return out;
}

int64_t lesson_winner(const float *values, int64_t n) {
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
        if (values[i] > values[best]) best = i;
    return best;
}

/* ---- learning ---- */

float lesson_learn(heed_ctx *cx, heed_trainer *trainer, heed_tensor *loss) {
    heed_backward(cx, loss);
    const float value = heed_item(cx, loss);
    heed_trainer_step(cx, trainer, NULL);
    heed_reset(cx);
    return value;
}

/* ---- files ---- */

static bool path_of(struct lesson_run *r, char path[PATH_SIZE], const char *name, const char *ending) {
    const size_t n = strlen(r->out);
    const char *slash = n && r->out[n - 1] == '/' ? "" : "/";
    if (snprintf(path, PATH_SIZE, "%s%s%s%s", r->out, slash, name, ending) < PATH_SIZE) return true;
    return heed_fail(r->cx, HEED_ERR_FILE, "%.60s...: the path is too long", r->out);
}

heed_figure *lesson_figure(struct lesson_run *r, double width, double height) {
    if (!r->out) return NULL;
    heed_figure *f = heed_figure_new(r->cx, width, height);
    if (r->dark) heed_figure_theme(f, HEED_THEME_DARK);
    return f;
}

void lesson_picture(struct lesson_run *r, heed_figure *f, const char *name) {
    static const char *const endings[] = {".png", ".svg"};
    char path[PATH_SIZE];
    for (int i = 0; f && i < 2; i++)
        if (path_of(r, path, name, endings[i]) && heed_figure_write(f, path))
            heed_json_put_text(r->cx, r->files, NULL, path);
    heed_figure_free(f);
}

heed_table *lesson_open(struct lesson_run *r, heed_header header) {
    heed_table_options how = r->opts.table;
    how.header = header;
    if (r->opts.target || r->opts.use || r->opts.drop || r->opts.skip_missing) {
        heed_fail(r->cx, HEED_ERR_USAGE, "lesson %s: takes the whole table: no --target, --use, --drop, --skip-missing",
                  r->lesson->name);
        return NULL;
    }
    return heed_table_open(r->cx, r->data, &how);
}

void lesson_skipped(struct lesson_run *r, const heed_data *data) {
    if (data->skipped > 0)
        lesson_line(r, "%s: %lld of %lld rows skipped: they have missing values\n", r->data, (long long)data->skipped,
                    (long long)(data->skipped + data->n));
}

void lesson_table(struct lesson_run *r, const char *name, const heed_table_column *columns, int n, int64_t rows) {
    char path[PATH_SIZE];
    if (r->out && path_of(r, path, name, ".csv") && heed_table_write(r->cx, path, columns, n, rows))
        heed_json_put_text(r->cx, r->files, NULL, path);
}

/* ---- the run ---- */

bool lesson_begin(struct lesson_run *r) {
    r->document = heed_json_new(r->cx, "lesson");
    heed_json_put_text(r->cx, r->document, "name", r->lesson->name);
    r->results = heed_json_put_object(r->cx, r->document, "results");
    r->files = heed_json_put_array(r->cx, r->document, "files");
    if (!heed_failed(r->cx) && r->data && strcmp(r->data, "-") != 0 && access(r->data, R_OK) != 0)
        heed_fail(r->cx, HEED_ERR_FILE, "%s: %s", r->data, strerror(errno));
    if (!heed_failed(r->cx) && r->model && access(r->model, R_OK) != 0)
        heed_fail(r->cx, HEED_ERR_FILE, "%s: %s", r->model, strerror(errno));
    return !heed_failed(r->cx);
}

static void list_files(struct lesson_run *r) {
    if (heed_json_count(r->files) == 0) return;
    lesson_line(r, "Written:");
    for (heed_json f = heed_json_first(r->files); heed_json_kind_of(f) != HEED_JSON_NONE; f = heed_json_next(f))
        lesson_line(r, "  %s", heed_json_text(r->cx, f, NULL));
}

void lesson_end(struct lesson_run *r) {
    lesson_progress(r, "", 0, 0);
    char *text = r->json ? heed_json_print(r->cx, r->document, 2, NULL) : NULL;
    if (text) puts(text);
    heed_mem_free(r->cx, text);
    if (!heed_failed(r->cx)) list_files(r);
    heed_json_free(r->document);
    for (struct lesson_block *b = r->blocks, *next; b; b = next) {
        next = b->next;
        heed_mem_free(r->cx, b);
    }
}
