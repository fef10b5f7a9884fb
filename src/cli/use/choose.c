/* heed choose: of every line's choices the right one. */
#include "cli/core/each_line.h"
#include "kernel/reduce.h"
#include "task/answers.h"
#include <stdio.h>
#include <string.h>

/* clang-format off */
static const heed_field options[] = {
    STRICT_OPTION,
    JSON_OPTION,
    {.name = NULL},
};
/* clang-format on */

#define MAX_CHOICES 64

static int64_t tabs_of(const char *text) {
    int64_t n = 0;
    for (; *text; text++) n += *text == '\t';
    return n;
}

static bool check(struct each_line *e) {
    const int64_t tabs = tabs_of(e->in.text);
    char count[48];
    if (!*e->in.text || (tabs >= 2 && tabs <= MAX_CHOICES)) return true;
    return cli_lines_reject(&e->in, "%s: a question and 2 to %d choices are needed, separated by tabs",
                            text_count(tabs, "choice", "choices", count), MAX_CHOICES);
}

static void print(const struct each_line *e, int64_t i, const heed_choices *one, const float *p) {
    const bool json = option_flag(e->o, "json"), empty = one->n == 0;
    const int64_t best = kernel_best(p, one->n);
    if (!json) {
        if (!empty) printf("%lld\t", (long long)best + 1), cli_print_text(stdout, one->choice[best]);
        if (!empty) printf("\t%.4f", (double)p[best]);
        puts("");
        return;
    }
    const heed_json at = each_line_json(e, i);
    if (!empty) answer_put_choice(e->cx, at, one, p);
    json_answer(e->cx, stdout, at, 0);
    heed_json_free(at);
}

static bool answer(struct each_line *e) {
    heed_ctx *cx = e->cx;
    int64_t all = 0, cut = 0, at = 0;
    for (int64_t i = 0; i < e->n; i++) all += tabs_of(each_line_text(e, i));
    heed_choices *one = heed_mem_new(cx, (size_t)e->n * sizeof *one);
    const char **choice = heed_mem_new(cx, ((size_t)all + 1) * sizeof *choice);
    float *p = heed_mem_new(cx, ((size_t)all + 1) * sizeof *p);
    for (int64_t i = 0; !heed_failed(cx) && i < e->n; i++) {
        char *line = each_line_text(e, i);
        one[i] = (heed_choices){line, choice + at, 0};
        for (char *tab; (tab = strchr(line, '\t')); line = tab + 1) {
            *tab = 0;
            choice[at++] = tab + 1;
            one[i].n++;
        }
    }
    const bool ok = !heed_failed(cx) && heed_choose(cx, e->m, one, e->n, p, &cut);
    at = 0;
    for (int64_t i = 0; ok && i < e->n; at += one[i++].n) print(e, i, &one[i], p + at);
    e->cut += cut;
    heed_mem_free(cx, one);
    heed_mem_free(cx, choice);
    heed_mem_free(cx, p);
    return !heed_failed(cx);
}

static void say_cut(const struct each_line *e) {
    char pairs[48];
    if (e->cut > 0)
        fprintf(stderr, "heed: choose: %s longer than the model's %lld tokens, truncated\n",
                text_count(e->cut, "choice is", "choices are", pairs), (long long)e->m->reader.max_length);
}

static int run(int argc, char **argv) {
    static const struct each_line_command command = {
        .task = "choose", .check = check, .answer = answer, .end = say_cut};
    return each_line_run(&command, options, argc, argv);
}

const struct command choose_command = {
    .name = "choose",
    .summary = "multiple choice for lines of text",
    .words = "DIR [TEXT...]",
    .about =
        "Chooses for each text after DIR, or else for each line of standard input: a question or the beginning of a "
        "text, and its choices, separated by tabs. A line of output holds the number of the likeliest choice, from 1, "
        "its text and its probability, separated by tabs. Lines may have different numbers of choices.\n\n"
        "A line that is not UTF-8 or has fewer than 2 choices is reported on standard error and answered with an empty "
        "line, and the exit status is 1 at the end; --strict stops there.",
    .options = options,
    .examples = "printf 'Who barks?\\tthe cat\\tthe dog\\n' | heed choose chooser\n"
                "heed choose chooser --json < questions.tsv\n",
    .run = run,
};
