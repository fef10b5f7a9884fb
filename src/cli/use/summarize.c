/* heed summarize: a summary of every line of text. translate.c does the work. */
#include "cli/core/decoding_options.h"
#include "cli/core/input_lines.h"
#include "cli/use/translate.h"

/* clang-format off */
static const heed_field options[] = {
    {.name = "prefix", .kind = HEED_FIELD_TEXT, .value = "TEXT",
     .help = "before every text, such as 'summarize: '; by default what config.json says"},
    {.name = "n-best", .letter = 'n', .kind = HEED_FIELD_INT, .standard = "1", .value = "N", .low = 1, .high = 1024,
     .help = "print the N best summaries of each line, best first, each with line number and score"},
    STRICT_OPTION,
    JSON_OPTION,
    DECODING_OPTIONS,
    {.name = "stop", .kind = HEED_FIELD_LIST, .value = "TEXT", .help = "end a summary where this text is complete"},
    {.name = NULL},
};
/* clang-format on */

static int run(int argc, char **argv) {
    return translate_run(argc, argv, options, &(struct translating){"summarize", "summary", heed_summarizer_open});
}

const struct command summarize_command = {
    .name = "summarize",
    .summary = "summarise lines of text",
    .words = "DIR [TEXT...]",
    .about =
        "Summarises its arguments after DIR, each a text, or else the lines of standard input, one a line, with an "
        "encoder-decoder such as T5. The text is given to the model behind a prefix: --prefix, or that of "
        "task_specific_params.summarization in config.json, which 'heed train text2text --prefix' writes. Lines that "
        "are waiting are decoded together, sorted by length; a summary does not depend on the other lines. Decoding "
        "options that are not given are those of task_specific_params.summarization (num_beams, max_length, "
        "min_length, "
        "length_penalty, no_repeat_ngram_size, early_stopping), else of generation_config.json, where DIR has "
        "them.\n\n"
        "A line that is not UTF-8 is reported on standard error and answered with an empty line, and the exit status "
        "is 1 at the end; --strict stops there.",
    .options = options,
    .examples = "heed summarize headlines --beam 4 < articles.txt > headlines.txt\n"
                "heed summarize t5-small --prefix 'translate English to German: ' 'The house is wonderful.'\n"
                "heed summarize headlines --n-best 3 --json < articles.txt\n",
    .run = run,
};
