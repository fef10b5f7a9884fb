/* heed tag: a tag for each word of every line. */
#include "cli/classical/hmm_use.h"
#include "cli/classical/plain_models.h"
#include "cli/core/each_line.h"
#include "task/answers.h"
#include "text/strings/split.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* clang-format off */
static const heed_field options[] = {
    SPLIT_FIELD(NULL, "by default as the model was trained for; "),
    {.name = "words", .letter = 'w', .help = "print each word before its tag: word/TAG"},
    STRICT_OPTION,
    JSON_OPTION,
    {.name = NULL},
};
/* clang-format on */

static void print_line(const struct each_line *e, const heed_text_input *line, const int32_t *tag) {
    const bool words = option_flag(e->o, "words");
    char room[32];
    for (int64_t k = 0; k < line->n_words; k++) {
        if (k) putchar(' ');
        if (words) printf("%.*s/", (int)line->words[k].size, line->words[k].text);
        cli_print_text(stdout, answer_tag(e->m, tag[k], room));
    }
    putchar('\n');
}

static void print_json(const struct each_line *e, int64_t i, const heed_text_input *line, const int32_t *tag,
                       const float *score) {
    const heed_json at = each_line_json(e, i);
    answer_put_words(e->cx, at, e->m, line, tag, score);
    json_answer(e->cx, stdout, at, 0);
    heed_json_free(at);
}

static bool answer(struct each_line *e) {
    heed_ctx *cx = e->cx;
    const char *const split = option_text(e->o, SPLIT_KEY);
    const bool marks = split ? split_marks(split) : split_saved_marks(cx, heed_model_config(e->m->model));
    int64_t words = 0, cut = 0;
    heed_text_input *line = heed_mem_new(cx, (size_t)e->n * sizeof *line);
    for (int64_t i = 0; line && i < e->n; i++) {
        line[i] = (heed_text_input){.n_words = split_words(each_line_text(e, i), marks, NULL)};
        words += line[i].n_words;
    }
    heed_word *word = heed_mem_new(cx, ((size_t)words + 1) * sizeof *word);
    int32_t *tag = heed_mem_new(cx, ((size_t)words + 1) * sizeof *tag);
    float *score = heed_mem_new(cx, ((size_t)words + 1) * sizeof *score);
    words = 0;
    for (int64_t i = 0; !heed_failed(cx) && i < e->n; i++) {
        line[i].words = word + words;
        words += split_words(each_line_text(e, i), marks, word + words);
    }
    if (!heed_failed(cx) && heed_tag(cx, e->m, line, e->n, tag, score, &cut)) {
        words = 0;
        for (int64_t i = 0; i < e->n; words += line[i++].n_words) {
            if (option_flag(e->o, "json"))
                print_json(e, i, &line[i], tag + words, score + words);
            else
                print_line(e, &line[i], tag + words);
        }
        e->cut += cut;
    }
    heed_mem_free(cx, line);
    heed_mem_free(cx, word);
    heed_mem_free(cx, tag);
    heed_mem_free(cx, score);
    return !heed_failed(cx);
}

static void say_cut(const struct each_line *e) {
    char words[48];
    if (e->cut > 0)
        fprintf(stderr, "heed: tag: %s untagged, beyond the model's %lld tokens\n",
                text_count(e->cut, "word is", "words are", words), (long long)e->m->reader.max_length);
}

static int run(int argc, char **argv) {
    struct options *o = options_read("tag", options, argc, argv, 1, INT_MAX, "DIR [TEXT...]");
    if (!o) return EXIT_USAGE;
    const bool hmm = plain_model_is(options_word(o, 0), &way_tag_hmm);
    const int status = hmm ? hmm_tag_lines(o) : EXIT_DONE;
    options_free(o);
    if (hmm) return status;
    static const struct each_line_command tag = {.task = "tag", .answer = answer, .end = say_cut};
    return each_line_run(&tag, options, argc, argv);
}

const struct command tag_command = {
    .name = "tag",
    .summary = "tag the words of lines of text",
    .words = "DIR [TEXT...]",
    .about =
        "Tags the words of its arguments after DIR, each a sentence, or else of the lines of standard input, one "
        "sentence a line. Punctuation marks are words of their own, as in BERT's basic tokenizer; models that were "
        "trained with --split blanks, by an older version or elsewhere take words as blanks separate them. A line of "
        "output holds the tags of the words of its line, separated by spaces. --json gives "
        "words, tags, their probabilities and, where the tags are those of chunks (B-PER, I-PER), the chunks with the "
        "numbers of their words.\n\n"
        "A word without a token, or beyond as many tokens as the model has positions, has the tag _. A line that is "
        "not UTF-8 is reported on standard error and answered with an empty line, and the exit status is 1 at the "
        "end; --strict stops there.",
    .options = options,
    .examples = "heed tag tagger 'The cat sleeps.'\n"
                "heed tag tagger --words < sentences.txt\n"
                "heed tag ner --json < sentences.txt\n",
    .run = run,
};
