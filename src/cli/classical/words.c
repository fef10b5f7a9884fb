/* heed words: nearest words, analogies, a map, and the formats of word2vec. */
#include "cli/classical/words.h"
#include "cli/core/figure_options.h"
#include "cli/core/input_lines.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* clang-format off */
static const heed_field options[] = {
    {.name = "top", .letter = 'k', .kind = HEED_FIELD_INT, .standard = "10", .value = "N", .low = 1, .high = 1e6,
     .help = "number of words for each question"},
    {.name = "write", .kind = HEED_FIELD_FILE, .value = "FILE",
     .help = "write the vectors in word2vec's format: binary where the name ends in .bin, else text; .gz is gzipped"},
    {.name = "pictures", .kind = HEED_FIELD_TABLE, .table = picture_options},
    {.name = "count", .letter = 'n', .kind = HEED_FIELD_INT, .standard = "150", .value = "N", .low = 1, .high = 2000,
     .help = "number of words in the map, the most frequent ones, where none are given"},
    STRICT_OPTION,
    JSON_OPTION,
    {.name = NULL},
};
/* clang-format on */

static void print_json(heed_ctx *cx, const heed_words *w, const struct cli_lines *in, const char *asked,
                       const heed_word_found *found, int64_t n) {
    const heed_json at = heed_json_new(cx, "answer");
    if (in->bad) {
        heed_json_put_int(cx, at, "line", in->number);
        heed_json_put_text(cx, at, "error", in->complaint);
    } else {
        heed_json_put_text(cx, at, "query", asked);
        const heed_json list = heed_json_put_array(cx, at, "found");
        for (int64_t i = 0; i < n; i++) {
            const heed_json one = heed_json_put_object(cx, list, NULL);
            heed_json_put_text(cx, one, "word", heed_words_text(w, found[i].word));
            heed_json_put_number(cx, one, "score", (double)found[i].score);
        }
    }
    json_answer(cx, stdout, at, 0);
    heed_json_free(at);
}

/* An empty line ends the words of a question where there may be several. */
static void print_lines(const heed_words *w, const heed_word_found *found, int64_t n, bool ends) {
    for (int64_t i = 0; i < n; i++) {
        printf("%.4f\t", (double)found[i].score);
        cli_print_text(stdout, heed_words_text(w, found[i].word));
        puts("");
    }
    if (ends) puts("");
}

static bool answer_lines(const struct options *o, heed_ctx *cx, const heed_words *w, struct cli_lines *in) {
    const int64_t asked = option_int(o, "top"), top = asked < heed_words_count(w) ? asked : heed_words_count(w);
    heed_word_found *found = heed_mem_new(cx, (size_t)top * sizeof *found);
    in->skip_bad = !option_flag(o, "strict");
    while (found && cli_lines_next(in)) {
        const bool empty = in->text[strspn(in->text, " \t\r")] == 0; /* has an empty answer */
        const int64_t n = in->bad || empty ? 0 : heed_words_ask(cx, w, in->text, top, found);
        if (n < 0 && !cli_lines_recover(in)) break;
        if (option_flag(o, "json"))
            print_json(cx, w, in, in->text, found, n);
        else
            print_lines(w, found, n, asked > 1 || in->bad || empty);
        if (!cli_lines_ready(in)) fflush(stdout);
    }
    heed_mem_free(cx, found);
    return cli_lines_close(in);
}

/* Words with a lone + or - among them are one question. */
static bool is_sum(const struct options *o) {
    for (int i = 1; i < options_words(o); i++)
        if (strcmp(options_word(o, i), "+") == 0 || strcmp(options_word(o, i), "-") == 0) return options_words(o) > 2;
    return false;
}

static bool answer_sum(const struct options *o, heed_ctx *cx, const heed_words *w) {
    const int64_t asked = option_int(o, "top"), top = asked < heed_words_count(w) ? asked : heed_words_count(w);
    heed_word_found *found = heed_mem_new(cx, (size_t)top * sizeof *found);
    heed_string text = {0};
    for (int i = 1; found && i < options_words(o); i++) {
        if (i > 1) heed_string_put(cx, &text, " ", 1);
        heed_string_put(cx, &text, options_word(o, i), strlen(options_word(o, i)));
    }
    const int64_t n = heed_failed(cx) ? -1 : heed_words_ask(cx, w, text.s, top, found);
    if (n >= 0 && option_flag(o, "json"))
        print_json(cx, w, &(struct cli_lines){0}, text.s, found, n);
    else if (n >= 0)
        print_lines(w, found, n, false);
    heed_string_free(cx, &text);
    heed_mem_free(cx, found);
    return !heed_failed(cx);
}

/* What was asked for: a file, a map, or answers. */
static bool work(const struct options *o, heed_ctx *cx, const heed_words *w) {
    const char *file = option_text(o, "write");
    const bool map = pictures_asked(o);
    struct cli_lines in = {0};
    if (file && heed_words_write(cx, w, file)) pictures_report(o, file, "word vectors");
    if (map) words_map(o, cx, w);
    if (heed_failed(cx)) return false;
    if ((file || map) && (map || options_words(o) == 1)) return true;
    if (is_sum(o)) return answer_sum(o, cx, w);
    return cli_lines_open_words(&in, cx, o, 1) && answer_lines(o, cx, w, &in);
}

static int run(int argc, char **argv) {
    struct options *o = options_read(argv[0], options, argc, argv, 1, INT_MAX, "DIR [WORD...]");
    int status = EXIT_USAGE;
    if (o && pictures_fit(o)) {
        heed_ctx *cx = options_open(o);
        status = EXIT_FAILED;
        if (cx) {
            heed_words *w = heed_words_open(cx, options_word(o, 0));
            const bool good = w && work(o, cx, w);
            heed_words_close(cx, w);
            status = options_close(o, cx, good ? EXIT_DONE : EXIT_FAILED);
        }
    }
    options_free(o);
    return status;
}

const struct command words_command = {
    .name = "words",
    .summary = "nearest words and analogies of word vectors",
    .words = "DIR [WORD...]",
    .about =
        "Prints for each word after DIR, or else for each line of standard input, the words whose vectors have the "
        "largest cosine with its own: the cosine and the word; an empty line ends the answer, unless --top 1 asks for "
        "one word only. Words with + and - between them are added up with length 1, and what lies nearest to the sum "
        "is "
        "printed: king - man + woman. --json gives an object a question.\n\n"
        "DIR is a directory of 'heed train words', or a file in word2vec's format, text or binary (.gz too), or in "
        "GloVe's. --write converts it. --png, --svg or --pdf draws the words on a plane, by the principal components "
        "of their vectors: the most frequent words, or with words given those and their nearest ones.",
    .options = options,
    .examples = "heed words vectors king\n"
                "heed words vectors king - man + woman --top 3\n"
                "heed words vectors --json < questions.txt\n"
                "heed words GoogleNews-vectors-negative300.bin.gz Paris\n"
                "heed words vectors --write vectors.bin\n"
                "heed words vectors --png map.png --count 200\n"
                "heed words vectors king apple river --top 12 --png map.png\n",
    .run = run,
};
