#include "cli/classical/hmm_use.h"
#include "cli/core/input_lines.h"
#include "text/strings/split.h"
#include <stdio.h>

void hmm_report(const struct options *o, heed_ctx *cx, const struct hmm_accuracy *found) {
    if (option_flag(o, "json")) {
        const heed_json at = heed_json_new(cx, "result");
        hmm_accuracy_put(cx, at, found);
        json_answer(cx, stdout, at, 2);
        heed_json_free(at);
    } else {
        char text[HMM_ACCURACY_ROOM];
        hmm_accuracy_text(found, text);
        puts(text);
    }
}

static void print_json(const struct hmm_tagger *g, const struct cli_lines *in, const heed_word *word, int64_t n,
                       const int32_t *state, const double *score) {
    heed_ctx *const cx = g->cx;
    const heed_json at = heed_json_new(cx, "answer");
    heed_json_put_int(cx, at, "line", in->number);
    if (in->bad) heed_json_put_text(cx, at, "error", in->complaint);
    const heed_json list = heed_json_put_array(cx, at, "words");
    for (int64_t i = 0; i < n; i++) {
        const heed_json one = heed_json_put_object(cx, list, NULL);
        heed_string text = {0};
        heed_string_put(cx, &text, word[i].text, word[i].size);
        heed_json_put_text(cx, one, "word", text.s);
        heed_string_free(cx, &text);
        heed_json_put_text(cx, one, "tag", g->tag[state[i]]);
        heed_json_put_number(cx, one, "score", score[i]);
    }
    json_answer(cx, stdout, at, 0);
    heed_json_free(at);
}

static void print_line(const struct hmm_tagger *g, bool words, const heed_word *word, int64_t n, const int32_t *state) {
    for (int64_t i = 0; i < n; i++) {
        if (i) putchar(' ');
        if (words) printf("%.*s/", (int)word[i].size, word[i].text);
        cli_print_text(stdout, g->tag[state[i]]);
    }
    putchar('\n');
}

static bool tag_line(const struct hmm_tagger *g, const struct options *o, const struct cli_lines *in) {
    heed_ctx *const cx = g->cx;
    heed_word *word = heed_mem_new(cx, (in->size + 1) * sizeof *word);
    int32_t *state = heed_mem_new(cx, (in->size + 1) * sizeof *state);
    double *score = heed_mem_new(cx, (in->size + 1) * sizeof *score);
    const int64_t n = heed_failed(cx) ? 0 : split_words(in->text, g->marks, word);
    if (!heed_failed(cx) && hmm_tagger_tag(g, word, n, state, score)) {
        if (option_flag(o, "json"))
            print_json(g, in, word, n, state, score);
        else
            print_line(g, option_flag(o, "words"), word, n, state);
    }
    heed_mem_free(cx, word);
    heed_mem_free(cx, state);
    heed_mem_free(cx, score);
    return !heed_failed(cx);
}

int hmm_tag_lines(struct options *o) {
    heed_ctx *cx = options_open(o);
    struct hmm_tagger g;
    struct cli_lines in = {0};
    if (!cx) return EXIT_FAILED;
    bool ok = hmm_tagger_open(cx, options_word(o, 0), &g) && cli_lines_open_words(&in, cx, o, 1);
    in.skip_bad = !option_flag(o, "strict");
    if (option_given(o, SPLIT_KEY)) g.marks = split_marks(option_text(o, SPLIT_KEY));
    while (ok && cli_lines_next(&in)) {
        ok = tag_line(&g, o, &in);
        if (!cli_lines_ready(&in)) fflush(stdout);
    }
    hmm_tagger_close(&g);
    ok &= cli_lines_close(&in);
    return options_close(o, cx, ok ? EXIT_DONE : EXIT_FAILED);
}
