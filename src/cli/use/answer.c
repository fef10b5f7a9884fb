/* heed answer: the answer to the question of every line, a part of its context. */
#include "cli/core/each_line.h"
#include "task/answers.h"
#include <stdio.h>
#include <string.h>

/* clang-format off */
static const heed_field options[] = {
    {.name = "n-best", .letter = 'n', .kind = HEED_FIELD_INT, .standard = "1", .value = "N", .low = 1, .high = 20,
     .help = "print the N best answers of each line, best first, each with the number of the line"},
    {.name = "none", .help = "a question may have no answer, as in SQuAD 2.0; it is then empty"},
    {.name = "stride", .kind = HEED_FIELD_INT, .standard = "128", .value = "N", .low = 1, .high = 1e9,
     .help = "tokens that two windows over a long context share"},
    {.name = "max-length", .kind = HEED_FIELD_INT, .standard = "384", .value = "N", .low = 1, .high = 1e9,
     .help = "tokens of a window, at most as many as the model has positions"},
    {.name = "max-answer", .kind = HEED_FIELD_INT, .standard = "30", .value = "N", .low = 1, .high = 1e9,
     .help = "maximum tokens of an answer"},
    STRICT_OPTION,
    JSON_OPTION,
    {.name = NULL},
};
/* clang-format on */

/* A window must have room for the context behind the question. */
static bool check(struct each_line *e) {
    const char *tab = strchr(e->in.text, '\t');
    const int64_t asked = option_int(e->o, "max-length"), most = e->m->reader.max_length;
    const int64_t max_length = most > 0 && most < asked ? most : asked;
    heed_encoding room = {0};
    if (!*e->in.text) return true;
    if (!tab) return cli_lines_reject(&e->in, "no tab: a question, a tab and its context are needed");
    const bool ok = heed_encode_text(e->cx, e->m->tokens, e->in.text, (size_t)(tab - e->in.text),
                                     &(heed_encode_opts){.pair = ""}, &room);
    const int64_t tokens = room.count;
    heed_encoding_free(e->cx, &room);
    if (!ok) return cli_lines_recover(&e->in);
    return tokens < max_length || cli_lines_reject(&e->in, "the question is too long: %lld tokens of at most %lld",
                                                   (long long)tokens, (long long)max_length - 1);
}

static void print_json(const struct each_line *e, int64_t i, const heed_text_input *text, const heed_answered *a,
                       int64_t n) {
    const heed_json at = each_line_json(e, i);
    if (!e->error[i]) answer_put_span(e->cx, at, text, a);
    if (!e->error[i] && option_given(e->o, "n-best")) {
        const heed_json list = heed_json_put_array(e->cx, at, "answers");
        for (int64_t k = 0; k < n; k++)
            if (k == 0 || !a[k].none) answer_put_span(e->cx, heed_json_put_object(e->cx, list, NULL), text, &a[k]);
    }
    json_answer(e->cx, stdout, at, 0);
    heed_json_free(at);
}

static void print_text(const struct each_line *e, int64_t i, const heed_text_input *text, const heed_answered *a,
                       int64_t n) {
    const bool numbered = option_given(e->o, "n-best");
    heed_string answer = {0};
    if (e->error[i] || !*each_line_text(e, i)) {
        puts("");
        return;
    }
    for (int64_t k = 0; k < n; k++) {
        if (k > 0 && a[k].none) break;
        answer.size = 0;
        if (!heed_string_put(e->cx, &answer, text->pair + a[k].start, (size_t)(a[k].end - a[k].start))) break;
        cli_plain_line(answer.s, answer.size);
        if (numbered) printf("%lld\t", (long long)(e->first + i));
        printf("%s\t%.4f\t%lld\t%lld\n", answer.s, (double)a[k].score, (long long)a[k].first, (long long)a[k].last);
    }
    heed_string_free(e->cx, &answer);
}

static bool answer(struct each_line *e) {
    heed_ctx *cx = e->cx;
    const heed_answer_opts opts = {.max_length = option_int(e->o, "max-length"),
                                   .stride = option_int(e->o, "stride"),
                                   .max_answer_length = option_int(e->o, "max-answer"),
                                   .n_best = option_int(e->o, "n-best"),
                                   .none = option_flag(e->o, "none")};
    heed_text_input *text = heed_mem_new(cx, (size_t)e->n * sizeof *text);
    heed_answered *found = heed_mem_new(cx, (size_t)(e->n * opts.n_best) * sizeof *found);
    for (int64_t i = 0; found && text && i < e->n; i++) {
        const char *line = each_line_text(e, i), *tab = strchr(line, '\t');
        text[i] = (heed_text_input){.text = line, .size = tab ? (size_t)(tab - line) : strlen(line)};
        text[i].pair = tab ? tab + 1 : line + text[i].size;
        text[i].pair_size = strlen(text[i].pair);
    }
    const bool ok = !heed_failed(cx) && heed_answer(cx, e->m, text, e->n, &opts, found);
    for (int64_t i = 0; ok && i < e->n; i++)
        (option_flag(e->o, "json") ? print_json : print_text)(e, i, &text[i], found + i * opts.n_best, opts.n_best);
    heed_mem_free(cx, text);
    heed_mem_free(cx, found);
    return !heed_failed(cx);
}

static int run(int argc, char **argv) {
    static const struct each_line_command command = {.task = "qa", .check = check, .answer = answer};
    return each_line_run(&command, options, argc, argv);
}

const struct command answer_command = {
    .name = "answer",
    .summary = "answer questions about a text",
    .words = "DIR [TEXT...]",
    .about =
        "Answers each text after DIR, or else each line of standard input: a question, a tab, and the context that the "
        "answer is a part of. A line of output holds the answer, its probability among the best spans, and its place "
        "in the context: its first character, from 0, and the one behind its last, separated by tabs. A context that "
        "is too long is read in windows that overlap.\n\n"
        "A line that is not UTF-8, has no tab, or a question that fills a window, is reported on standard error and "
        "answered with an empty line, and the exit status is 1 at the end; --strict stops there.",
    .options = options,
    .examples = "printf 'Who sleeps?\\tThe cat sleeps on the sofa.\\n' | heed answer reader\n"
                "heed answer reader --n-best 3 --json < questions.tsv\n"
                "heed answer reader --none < questions.tsv\n",
    .run = run,
};
