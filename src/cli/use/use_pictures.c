/* heed classify, embed on pictures: what a model says of each file. */
#include "cli/use/use_pictures.h"
#include "base/text.h"
#include "cli/core/each_picture.h"
#include "io/text.h"
#include "model/core/directory.h"
#include "task/answers.h"
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

/* vectors: or vectors that were pictures. A directory that cannot be opened has its sentence from the command. */
static bool reads_pictures(const char *dir, bool vectors) {
    if (!directory_has(dir, CONFIG_FILE)) return false;
    heed_ctx *const cx = cli_peek();
    heed_directory *const d = heed_directory_open(cx, dir);
    const heed_head *const head = heed_directory_head(d);
    const bool are = head && (text_among(head->inputs, "pixel_values") ||
                              (vectors && text_among(head->inputs, "x") &&
                               heed_json_count(heed_json_find(cx, heed_directory_config(d), "image_size")) == 2));
    heed_directory_close(cx, d);
    heed_close(cx);
    return are;
}

bool pictures_are_read(const char *dir) { return reads_pictures(dir, false); }
bool pictures_are_classified(const char *dir) { return reads_pictures(dir, true); }

static bool is_picture_file(const char *path) {
    static const unsigned char png[] = {0x89, 'P', 'N', 'G'}, jpeg[] = {0xFF, 0xD8, 0xFF};
    struct stat what;
    unsigned char head[4] = {0};
    if (stat(path, &what) != 0 || !S_ISREG(what.st_mode)) return false;
    FILE *const f = fopen(path, "rb");
    const size_t n = f ? fread(head, 1, sizeof head, f) : 0;
    if (f) fclose(f);
    return n == sizeof head && (memcmp(head, png, sizeof png) == 0 || memcmp(head, jpeg, sizeof jpeg) == 0);
}

/* A directory that does not even say what it is has errors of its own. */
static bool is_model(const char *path) {
    struct stat what;
    char file[PATH_MAX];
    return snprintf(file, sizeof file, "%s/config.json", path) < (int)sizeof file && stat(file, &what) == 0;
}

bool pictures_given(const struct options *o) {
    if (options_words(o) > 0 && !is_model(options_word(o, 0))) return false;
    for (int i = 1; i < options_words(o); i++)
        if (is_picture_file(options_word(o, i))) {
            cli_error(EXIT_USAGE, "%s: %s is a picture, and the model of %s reads none", options_command(o),
                      escaped(options_word(o, i)).s, escaped(options_word(o, 0)).s);
            return true;
        }
    return false;
}

/* ---- classify ---- */

int64_t pictures_next_best(const float *p, int64_t n, int64_t last) {
    int64_t best = n;
    for (int64_t k = 0; k < n; k++) {
        const bool behind = last < 0 || p[k] < p[last] || (p[k] == p[last] && k > last);
        if (behind && (best == n || p[k] > p[best])) best = k;
    }
    return best;
}

static void print_classes(const struct each_picture *p, const char *path, const float *share) {
    const int64_t n = p->m->labels, top = option_int(p->o, "top");
    char number[24];
    if (n == 1) {
        cli_print_text(stdout, path);
        printf("\t%.6g\n", (double)share[0]);
        return;
    }
    cli_print_text(stdout, path);
    for (int64_t i = 0, k = -1; i < top && (k = pictures_next_best(share, n, k)) < n; i++) {
        putchar('\t');
        cli_print_text(stdout, answer_label(p->m->label, k, number));
        printf("\t%.4f", (double)share[k]);
    }
    putchar('\n');
}

/* The label and its score, those of --top in their order, and all scores by label. */
static void print_classes_json(const struct each_picture *p, const char *path, const float *share) {
    const int64_t n = p->m->labels, top = n > 1 ? option_int(p->o, "top") : 1;
    heed_ctx *const cx = p->cx;
    const heed_json at = each_picture_json(p, "picture", path);
    char number[24];
    answer_put_best(cx, at, p->m->label, share, n);
    const heed_json list = top > 1 ? heed_json_put_array(cx, at, "top") : (heed_json){0};
    for (int64_t i = 0, k = -1; top > 1 && i < top && (k = pictures_next_best(share, n, k)) < n; i++) {
        const heed_json one = heed_json_put_object(cx, list, NULL);
        heed_json_put_text(cx, one, "label", answer_label(p->m->label, k, number));
        heed_json_put_number(cx, one, "score", (double)share[k]);
    }
    answer_put_scores(cx, at, p->m->label, share, n);
    each_picture_print(p, at);
}

static bool classify(struct each_picture *p, int64_t first, int64_t n) {
    float *const share = heed_mem_new(p->cx, (size_t)n * (size_t)p->m->labels * sizeof *share);
    const bool ok = share && heed_classify_pictures(p->cx, p->m, p->picture + first, n, share);
    for (int64_t i = 0; ok && i < n; i++)
        (option_flag(p->o, "json") ? print_classes_json : print_classes)(p, p->path[first + i],
                                                                         share + i * p->m->labels);
    heed_mem_free(p->cx, share);
    return ok;
}

/* ---- embed ---- */

struct rows {
    heed_string kept; /* for --out */
    int64_t n, width;
};

static void print_vector(const struct each_picture *p, const char *path, const float *v, int64_t width) {
    if (!option_flag(p->o, "json")) {
        for (int64_t k = 0; k < width; k++) printf("%s%.9g", k ? " " : "", (double)v[k]);
        putchar('\n');
        return;
    }
    const heed_json at = each_picture_json(p, "picture", path), list = heed_json_put_array(p->cx, at, "vector");
    for (int64_t k = 0; k < width; k++) heed_json_put_number(p->cx, list, NULL, (double)v[k]);
    each_picture_print(p, at);
}

static bool begin_embed(struct each_picture *p) {
    struct rows *const rows = p->own = heed_mem_new(p->cx, sizeof *rows);
    if (!rows) return false;
    *rows = (struct rows){0};
    each_picture_pool(p);
    if (option_flag(p->o, "normalize")) p->m->normalise = true;
    return true;
}

static bool embed(struct each_picture *p, int64_t first, int64_t n) {
    struct rows *const rows = p->own;
    int64_t width = 0;
    float *const v = heed_embed_pictures(p->cx, p->m, p->picture + first, n, &width);
    const bool keep = option_text(p->o, "out") != NULL;
    bool ok = v != NULL;
    if (ok && rows->n > 0 && width != rows->width)
        ok = heed_fail(p->cx, HEED_ERR_SHAPE, "embed: vectors of %lld and of %lld numbers", (long long)rows->width,
                       (long long)width);
    if (ok && keep) ok = heed_string_put(p->cx, &rows->kept, (const char *)v, (size_t)(n * width) * sizeof *v);
    for (int64_t i = 0; ok && !keep && i < n; i++) print_vector(p, p->path[first + i], v + i * width, width);
    if (ok) rows->width = width, rows->n += n;
    heed_mem_free(p->cx, v);
    return ok;
}

static bool reject_vector(struct each_picture *p, const char *path) {
    if (option_text(p->o, "out"))
        return heed_fail(p->cx, HEED_ERR_FORMAT, "embed: --out: %s is bad: its row would be missing", escaped(path).s);
    if (!option_flag(p->o, "json")) putchar('\n');
    return true;
}

static bool finish_embed(struct each_picture *p, bool good) {
    struct rows *const rows = p->own;
    const char *const path = option_text(p->o, "out");
    if (good && path && rows->n == 0) good = heed_fail(p->cx, HEED_ERR_USAGE, "embed: there are no pictures");
    if (good && path)
        good = heed_npy_write(
            p->cx, path,
            &(heed_array){.dtype = HEED_F32, .rank = 2, .shape = {rows->n, rows->width}, .data = rows->kept.s});
    if (rows) heed_string_free(p->cx, &rows->kept);
    heed_mem_free(p->cx, rows);
    return good;
}

/* ---- the commands ---- */

int pictures_classify(const struct options *o) {
    static const struct each_picture_command c = {.task = "classify", .answer = classify};
    return each_picture_run(&c, o);
}
int pictures_embed(const struct options *o) {
    static const struct each_picture_command c = {
        .task = "embed", .begin = begin_embed, .answer = embed, .reject = reject_vector, .finish = finish_embed};
    return each_picture_run(&c, o);
}
