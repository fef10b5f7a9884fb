#include "cli/core/each_line.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>

char *each_line_text(const struct each_line *e, int64_t i) { return e->text.s + e->start[i]; }

heed_json each_line_json(const struct each_line *e, int64_t i) {
    const heed_json at = heed_json_new(e->cx, "answer");
    heed_json_put_int(e->cx, at, "line", e->first + i);
    if (e->error[i]) heed_json_put_text(e->cx, at, "error", e->error[i]);
    return at;
}

void each_line_say_cut(const struct each_line *e) {
    char count[48];
    if (e->cut > 0)
        fprintf(stderr, "heed: %s longer than the model's %lld tokens, truncated\n",
                text_count(e->cut, "text is", "texts are", count), (long long)e->m->reader.max_length);
}

void each_line_pool(struct each_line *e) {
    static const char *const pooling[] = {"mean", "cls", "max"};
    const char *asked = option_text(e->o, "pooling");
    for (int i = 0; asked && i < 3; i++)
        if (strcmp(asked, pooling[i]) == 0) e->m->pooling = i;
}

static void forget(struct each_line *e) {
    for (int64_t i = 0; i < e->n; i++) heed_mem_free(e->cx, e->error[i]);
    e->first += e->n;
    e->n = 0;
    e->text.size = 0;
}

static bool answer(struct each_line *e, const struct each_line_command *c) {
    const bool ok = e->n == 0 || c->answer(e);
    fflush(stdout);
    forget(e);
    if (!heed_failed(e->cx)) heed_reset(e->cx);
    return ok;
}

static bool take_line(struct each_line *e, const struct each_line_command *c) {
    if (!e->in.bad && c->check && !c->check(e)) return false;
    e->error[e->n] = NULL;
    if (e->in.bad && !(e->error[e->n] = cli_lines_complaint(&e->in))) return false;
    e->start[e->n++] = e->text.size;
    return heed_string_put(e->cx, &e->text, e->in.text, e->in.size) && heed_string_put(e->cx, &e->text, "", 1);
}

static bool go_through(struct each_line *e, const struct each_line_command *c) {
    const int64_t at_once = c->at_once ? c->at_once : 512;
    heed_ctx *cx = e->cx;
    e->first = 1;
    e->start = heed_mem_new(cx, (size_t)at_once * sizeof *e->start);
    e->error = heed_mem_new(cx, (size_t)at_once * sizeof *e->error);
    bool ok = !heed_failed(cx) && cli_lines_open_words(&e->in, cx, e->o, 1);
    e->in.skip_bad = !option_flag(e->o, "strict");
    while (ok && cli_lines_next(&e->in)) {
        ok = take_line(e, c);
        if (ok && (e->n == at_once || !cli_lines_ready(&e->in))) ok = answer(e, c); /* before waiting for more */
    }
    if (!heed_failed(cx)) answer(e, c);
    if (!heed_failed(cx) && c->end && !option_flag(e->o, "quiet")) c->end(e);
    const bool good = cli_lines_close(&e->in);
    forget(e);
    heed_mem_free(cx, e->start);
    heed_mem_free(cx, e->error);
    heed_string_free(cx, &e->text);
    return good;
}

int each_line_with(const struct each_line_command *c, const struct options *o) {
    struct each_line e = {.o = o, .own = c->own};
    if (!(e.cx = options_open(o))) return EXIT_FAILED;
    heed_set_grad(e.cx, false);
    if (c->task) e.m = heed_text_model_open(e.cx, options_word(o, 0), c->task);
    bool good = (e.m || !c->task) && (!c->begin || c->begin(&e)) && go_through(&e, c);
    if (c->finish) good = c->finish(&e, good) && good;
    heed_text_model_free(e.cx, e.m);
    return options_close(o, e.cx, good ? EXIT_DONE : EXIT_FAILED);
}

int each_line_run(const struct each_line_command *c, const heed_field *options, int argc, char **argv) {
    struct options *o = options_read(argv[0], options, argc, argv, 1, INT_MAX, "DIR [TEXT...]");
    const int status = o && (!c->usage || c->usage(o)) ? each_line_with(c, o) : EXIT_USAGE;
    options_free(o);
    return status;
}
