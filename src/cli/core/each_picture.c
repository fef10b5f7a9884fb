#include "cli/core/each_picture.h"
#include "cli/core/input_lines.h"
#include "heed/task.h"
#include "io/text.h"
#include <string.h>

#define MAX_PIXELS (32 << 20) /* of the pictures that wait */

void each_picture_put(const struct each_picture *e, heed_json at, const char *key, const char *path) {
    const size_t size = strlen(path);
    heed_json_put_text(e->cx, at, key, utf8_bad(path, size) == size ? path : escaped(path).s);
}

heed_json each_picture_json(const struct each_picture *e, const char *key, const char *path) {
    const heed_json at = heed_json_new(e->cx, "answer");
    each_picture_put(e, at, key, path);
    return at;
}

void each_picture_print(const struct each_picture *e, heed_json at) {
    json_answer(e->cx, stdout, at, 0);
    heed_json_free(at);
}

void each_picture_pool(struct each_picture *e) {
    static const char *const names[] = {[HEED_POOL_MEAN] = "mean", [HEED_POOL_CLS] = "cls", [HEED_POOL_MAX] = "max"};
    const char *const asked = option_text(e->o, "pooling");
    for (int i = 0; asked && i < 3; i++)
        if (strcmp(asked, names[i]) == 0) e->m->pooling = i;
}

/* What is wrong with a picture, not with the model or the machine. */
static bool is_bad_picture(heed_ctx *cx) {
    const heed_status status = heed_error(cx);
    return status == HEED_ERR_FORMAT || status == HEED_ERR_SHAPE || status == HEED_ERR_RANGE || status == HEED_ERR_FILE;
}

/* Says it, and goes on with the next one unless --strict. */
static bool report(struct each_picture *e, const struct each_picture_command *c, const char *path) {
    heed_ctx *const cx = e->cx;
    if (!is_bad_picture(cx) || option_flag(e->o, "strict")) return false;
    char why[1024];
    snprintf(why, sizeof why, "%s", heed_message(cx));
    heed_clear(cx);
    cli_error(EXIT_FAILED, "%s", why);
    e->bad++;
    if (c->reject && !c->reject(e, path)) return false;
    if (option_flag(e->o, "json")) {
        const heed_json at = each_picture_json(e, "picture", path);
        heed_json_put_text(cx, at, "error", why);
        each_picture_print(e, at);
    }
    return !heed_failed(cx);
}

static void forget(struct each_picture *e) {
    for (int64_t i = 0; i < e->n; i++) heed_image_free(e->cx, &e->picture[i]), heed_mem_free(e->cx, e->path[i]);
    e->n = e->pixels = 0;
}

/* All together; one by one where that fails, to find the bad ones. */
static bool answer(struct each_picture *e, const struct each_picture_command *c) {
    bool ok = e->n == 0 || c->answer(e, 0, e->n);
    if (!ok && is_bad_picture(e->cx)) {
        heed_clear(e->cx);
        ok = true;
        for (int64_t i = 0; ok && i < e->n; i++)
            ok = c->answer(e, i, 1) || (heed_fail_in(e->cx, "%s", escaped(e->path[i]).s), report(e, c, e->path[i]));
    }
    forget(e);
    fflush(stdout);
    if (ok) heed_reset(e->cx);
    return ok;
}

static bool take(struct each_picture *e, const struct each_picture_command *c, const char *path) {
    heed_image *const to = &e->picture[e->n];
    char *const copy = heed_mem_new(e->cx, strlen(path) + 1);
    if (!copy) return false;
    strcpy(copy, path);
    if (!heed_picture_read(e->cx, e->m, path, to)) {
        heed_mem_free(e->cx, copy);
        /* answers come in the order of the pictures */
        char why[1024];
        const heed_status status = heed_error(e->cx);
        snprintf(why, sizeof why, "%s", heed_message(e->cx));
        if (!is_bad_picture(e->cx) || option_flag(e->o, "strict")) return false;
        heed_clear(e->cx);
        if (!answer(e, c)) return false;
        heed_fail(e->cx, status, "%s", why);
        return report(e, c, path);
    }
    e->path[e->n++] = copy;
    e->pixels += to->width * to->height;
    return e->n < PICTURES_AT_ONCE && e->pixels < MAX_PIXELS ? true : answer(e, c);
}

static bool take_lines(struct each_picture *e, const struct each_picture_command *c) {
    struct cli_lines in;
    bool ok = cli_lines_open(&in, e->cx, "-");
    in.skip_bad = !option_flag(e->o, "strict");
    while (ok && cli_lines_next(&in)) {
        if (!in.bad && in.size > 0) ok = take(e, c, in.text);
        if (ok && !cli_lines_ready(&in)) ok = answer(e, c); /* before waiting for more */
    }
    if (ok && !heed_failed(e->cx)) ok = answer(e, c);
    return cli_lines_close(&in) && ok;
}

int each_picture_run(const struct each_picture_command *c, const struct options *o) {
    struct each_picture e = {.o = o};
    if (!(e.cx = options_open(o))) return EXIT_FAILED;
    heed_set_grad(e.cx, false);
    e.m = heed_picture_model_open(e.cx, options_word(o, 0), c->task);
    bool ok = e.m && (!c->begin || c->begin(&e));
    if (ok && options_words(o) == 1) ok = take_lines(&e, c);
    for (int i = 1; ok && i < options_words(o); i++) ok = take(&e, c, options_word(o, i));
    ok = ok && answer(&e, c);
    if (c->finish) ok = c->finish(&e, ok) && ok;
    forget(&e);
    heed_picture_model_free(e.cx, e.m);
    return options_close(o, e.cx, ok && e.bad == 0 ? EXIT_DONE : EXIT_FAILED);
}
