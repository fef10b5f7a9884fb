/* heed classify, embed on pictures: what a model says of each file of the command line, or of each path of standard
 * input, a line each. Pictures that wait are run together; a bad one is reported and the others are answered. */
#include "cli/use_pictures.h"
#include "base/text.h"
#include "cli/lines.h"
#include "heed/task.h"
#include "heed/vision.h"
#include "io/text.h"
#include "model/directory.h"
#include <string.h>
#include <sys/stat.h>

#define AT_ONCE     64         /* pictures that wait, */
#define MOST_PIXELS (32 << 20) /* or pixels of them */

struct pictures {
    const struct options *o;
    heed_ctx *cx;
    heed_picture_model *m;
    heed_image picture[AT_ONCE];
    char *path[AT_ONCE];
    int64_t n, pixels, bad, rows, width;
    heed_string kept;                                             /* vectors for --out */
    bool (*answer)(struct pictures *p, int64_t first, int64_t n); /* computes and prints; false: the context failed */
};

bool pictures_are_read(const char *dir) {
    if (!directory_has(dir, CONFIG_FILE)) return false;
    heed_ctx *cx = heed_open(&(heed_config){.threads = 1});
    const heed_head *const head = heed_head_of(cx, dir);
    const bool are = head && text_among(head->inputs, "pixel_values");
    heed_close(cx);
    return are;
}

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

bool pictures_given(const struct options *o) {
    for (int i = 1; i < options_words(o); i++)
        if (is_picture_file(options_word(o, i))) {
            cli_error(EXIT_USAGE, "%s: %s is a picture, and the model of %s reads none", options_command(o),
                      shown(options_word(o, i)).text, shown(options_word(o, 0)).text);
            return true;
        }
    return false;
}

/* ---- printing ---- */

static heed_json json_of(const struct pictures *p, const char *path) {
    const heed_json at = heed_json_new(p->cx, "answer");
    const size_t size = strlen(path);
    heed_json_put_text(p->cx, at, "picture", utf8_bad(path, size) == size ? path : shown(path).text);
    return at;
}
static void print_json(const struct pictures *p, heed_json at) {
    json_answer(p->cx, stdout, at, 0);
    heed_json_free(at);
}

static const char *label_of(const heed_picture_model *m, int64_t k, char number[24]) {
    snprintf(number, 24, "%lld", (long long)k);
    return m->label ? m->label[k] : number;
}

int64_t pictures_next_best(const float *p, int64_t n, int64_t last) {
    int64_t best = n;
    for (int64_t k = 0; k < n; k++) {
        const bool behind = last < 0 || p[k] < p[last] || (p[k] == p[last] && k > last);
        if (behind && (best == n || p[k] > p[best])) best = k;
    }
    return best;
}

static void print_classes(const struct pictures *p, const char *path, const float *share) {
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
        cli_print_text(stdout, label_of(p->m, k, number));
        printf("\t%.4f", (double)share[k]);
    }
    putchar('\n');
}

/* The label and its score, those of --top in their order, and all scores by label. */
static void print_classes_json(const struct pictures *p, const char *path, const float *share) {
    const int64_t n = p->m->labels, top = option_int(p->o, "top"), best = pictures_next_best(share, n, -1);
    heed_ctx *const cx = p->cx;
    const heed_json at = json_of(p, path);
    char number[24];
    if (n == 1) {
        heed_json_put_number(cx, at, "value", (double)share[0]);
        print_json(p, at);
        return;
    }
    heed_json_put_text(cx, at, "label", label_of(p->m, best, number));
    heed_json_put_number(cx, at, "score", (double)share[best]);
    const heed_json list = top > 1 ? heed_json_put_array(cx, at, "top") : (heed_json){0};
    for (int64_t i = 0, k = -1; top > 1 && i < top && (k = pictures_next_best(share, n, k)) < n; i++) {
        const heed_json one = heed_json_put_object(cx, list, NULL);
        heed_json_put_text(cx, one, "label", label_of(p->m, k, number));
        heed_json_put_number(cx, one, "score", (double)share[k]);
    }
    const heed_json scores = heed_json_put_object(cx, at, "scores");
    for (int64_t k = 0; k < n; k++) heed_json_put_number(cx, scores, label_of(p->m, k, number), (double)share[k]);
    print_json(p, at);
}

static bool classify(struct pictures *p, int64_t first, int64_t n) {
    float *const share = heed_mem_new(p->cx, (size_t)n * (size_t)p->m->labels * sizeof *share);
    const bool ok = share && heed_classify_pictures(p->cx, p->m, p->picture + first, n, share);
    for (int64_t i = 0; ok && i < n; i++)
        (option_flag(p->o, "json") ? print_classes_json : print_classes)(p, p->path[first + i],
                                                                         share + i * p->m->labels);
    heed_mem_free(p->cx, share);
    return ok;
}

static void print_vector(const struct pictures *p, const char *path, const float *v, int64_t width) {
    if (!option_flag(p->o, "json")) {
        for (int64_t k = 0; k < width; k++) printf("%s%.9g", k ? " " : "", (double)v[k]);
        putchar('\n');
        return;
    }
    const heed_json at = json_of(p, path), list = heed_json_put_array(p->cx, at, "vector");
    for (int64_t k = 0; k < width; k++) heed_json_put_number(p->cx, list, NULL, (double)v[k]);
    print_json(p, at);
}

static bool embed(struct pictures *p, int64_t first, int64_t n) {
    int64_t width = 0;
    float *const v = heed_embed_pictures(p->cx, p->m, p->picture + first, n, &width);
    const bool keep = option_text(p->o, "out") != NULL;
    bool ok = v != NULL;
    if (ok && p->rows > 0 && width != p->width)
        ok = heed_fail(p->cx, HEED_ERR_SHAPE, "embed: vectors of %lld and of %lld numbers", (long long)p->width,
                       (long long)width);
    if (ok && keep) ok = heed_string_put(p->cx, &p->kept, (const char *)v, (size_t)(n * width) * sizeof *v);
    for (int64_t i = 0; ok && !keep && i < n; i++) print_vector(p, p->path[first + i], v + i * width, width);
    p->width = width;
    p->rows += n;
    heed_mem_free(p->cx, v);
    return ok;
}

/* ---- pictures, one after the other ---- */

/* What is wrong with a picture, not with the model or the machine. */
static bool is_bad_picture(heed_ctx *cx) {
    const heed_status status = heed_error(cx);
    return status == HEED_ERR_FORMAT || status == HEED_ERR_SHAPE || status == HEED_ERR_RANGE || status == HEED_ERR_FILE;
}

/* Says it, and goes on with the next one unless --strict. */
static bool report(struct pictures *p, const char *path) {
    heed_ctx *const cx = p->cx;
    if (!is_bad_picture(cx) || option_flag(p->o, "strict")) return false;
    char why[1024];
    snprintf(why, sizeof why, "%s", heed_message(cx));
    heed_clear(cx);
    cli_error(EXIT_FAILED, "%s", why);
    p->bad++;
    if (p->answer == embed && option_text(p->o, "out"))
        return heed_fail(cx, HEED_ERR_FORMAT, "embed: --out: %s is bad: its row would be missing", shown(path).text);
    if (option_flag(p->o, "json")) {
        const heed_json at = json_of(p, path);
        heed_json_put_text(cx, at, "error", why);
        print_json(p, at);
    } else if (p->answer == embed) {
        putchar('\n');
    }
    return !heed_failed(cx);
}

/* All together; one by one where that fails, to find the bad ones. */
static bool answer(struct pictures *p) {
    bool ok = p->n == 0 || p->answer(p, 0, p->n);
    if (!ok && is_bad_picture(p->cx) && p->rows == 0) {
        heed_clear(p->cx);
        ok = true;
        for (int64_t i = 0; ok && i < p->n; i++) {
            ok = p->answer(p, i, 1) || (heed_fail_in(p->cx, "%s", shown(p->path[i]).text), report(p, p->path[i]));
        }
    }
    for (int64_t i = 0; i < p->n; i++) heed_image_free(p->cx, &p->picture[i]), heed_mem_free(p->cx, p->path[i]);
    p->n = p->pixels = 0;
    fflush(stdout);
    if (ok) heed_reset(p->cx);
    return ok;
}

static bool take(struct pictures *p, const char *path) {
    heed_image *const to = &p->picture[p->n];
    char *const copy = heed_mem_new(p->cx, strlen(path) + 1);
    if (!copy) return false;
    strcpy(copy, path);
    if (!heed_picture_read(p->cx, p->m, path, to)) {
        heed_mem_free(p->cx, copy);
        /* answers come in the order of the pictures */
        char why[1024];
        const heed_status status = heed_error(p->cx);
        snprintf(why, sizeof why, "%s", heed_message(p->cx));
        if (!is_bad_picture(p->cx) || option_flag(p->o, "strict")) return false;
        heed_clear(p->cx);
        if (!answer(p)) return false;
        heed_fail(p->cx, status, "%s", why);
        return report(p, path);
    }
    p->path[p->n++] = copy;
    p->pixels += to->width * to->height;
    return p->n < AT_ONCE && p->pixels < MOST_PIXELS ? true : answer(p);
}

static bool take_lines(struct pictures *p) {
    struct cli_lines in;
    bool ok = cli_lines_open(&in, p->cx, "-");
    in.skip_bad = !option_flag(p->o, "strict");
    while (ok && cli_lines_next(&in)) {
        if (!in.bad && in.size > 0) ok = take(p, in.text);
        if (ok && !cli_lines_ready(&in)) ok = answer(p); /* before waiting for more */
    }
    if (ok && !heed_failed(p->cx)) ok = answer(p);
    return cli_lines_close(&in) && ok;
}

static bool write_rows(struct pictures *p) {
    const char *const path = option_text(p->o, "out");
    if (!path) return true;
    if (p->rows == 0) return heed_fail(p->cx, HEED_ERR_USAGE, "embed: there are no pictures");
    return heed_npy_write(p->cx, path,
                          &(heed_array){.dtype = HEED_F32, .rank = 2, .shape = {p->rows, p->width}, .data = p->kept.s});
}

static void choose_pooling(struct pictures *p) {
    static const char *const names[] = {[HEED_POOL_MEAN] = "mean", [HEED_POOL_CLS] = "cls", [HEED_POOL_MAX] = "max"};
    const char *const asked = option_text(p->o, "pooling");
    for (int i = 0; asked && i < 3; i++)
        if (strcmp(asked, names[i]) == 0) p->m->pooling = i;
    if (option_flag(p->o, "normalize")) p->m->normalise = true;
}

static int run(struct pictures *p, const char *task) {
    const struct options *const o = p->o;
    if (!(p->cx = options_open(o))) return EXIT_FAILED;
    heed_set_grad(p->cx, false);
    p->m = heed_picture_model_open(p->cx, options_word(o, 0), task);
    bool ok = p->m != NULL;
    if (ok && p->answer == embed) choose_pooling(p);
    if (ok && options_words(o) == 1) ok = take_lines(p);
    for (int i = 1; ok && i < options_words(o); i++) ok = take(p, options_word(o, i));
    ok = ok && answer(p) && (p->answer != embed || write_rows(p));
    if (!ok && !heed_failed(p->cx)) p->bad++;
    for (int64_t i = 0; i < p->n; i++) heed_image_free(p->cx, &p->picture[i]), heed_mem_free(p->cx, p->path[i]);
    heed_string_free(p->cx, &p->kept);
    heed_picture_model_free(p->cx, p->m);
    return options_close(o, p->cx, ok && p->bad == 0 ? EXIT_DONE : EXIT_FAILED);
}

int pictures_classify(const struct options *o) {
    return run(&(struct pictures){.o = o, .answer = classify}, "classify");
}
int pictures_embed(const struct options *o) { return run(&(struct pictures){.o = o, .answer = embed}, "embed"); }
