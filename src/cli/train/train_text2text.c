/* heed train text2text: T5 from plain text or from pairs. train_text.c does the work. */
#include "cli/train/train.h"

/* clang-format off */
static const heed_field options[] = {
    {.name = "data", .kind = HEED_FIELD_GROUP},
    {.name = "data", .letter = 'd', .kind = HEED_FIELD_FILE, .value = "PATH",
     .help = "plain text, documents separated by blank lines; or pairs: a table (.tsv, .csv) or JSON lines (.jsonl) "
             "(all also .gz); or a directory with train, dev and test files"},
    TEXT_PART_OPTIONS("examples"),
    {.name = "text", .kind = HEED_FIELD_TEXT, .value = "COLUMN",
     .help = "of pairs, the column of the source: name or number; by default 1, of JSON lines 'source'"},
    {.name = "target", .kind = HEED_FIELD_TEXT, .value = "COLUMN",
     .help = "the column of the target; by default the last, of JSON lines 'target'"},
    {.name = "prefix", .kind = HEED_FIELD_TEXT, .value = "TEXT",
     .help = "of pairs: before every source, such as 'summarize: '; written to config.json"},
    {.name = "spans", .kind = HEED_FIELD_GROUP},
    {.name = "masked", .kind = HEED_FIELD_NUMBER, .standard = "0.15", .value = "X", .low = 0.001, .high = 0.999,
     .help = "of plain text: fraction of the tokens to predict"},
    {.name = "span", .kind = HEED_FIELD_NUMBER, .standard = "3", .value = "X", .low = 1, .high = 1e6,
     .help = "of plain text: mean length of the spans to predict, in tokens"},
    {.name = "max-target", .kind = HEED_FIELD_INT, .standard = "0", .value = "N", .high = 1e9,
     .help = "of pairs: truncate targets to N tokens; 0: as sources"},
    {.name = "decode", .kind = HEED_FIELD_INT, .standard = "100", .value = "N", .high = 1e9,
     .help = "of pairs: number of validation pairs that are decoded to measure ROUGE-L; 0: none"},
    {.name = "max-length", .kind = HEED_FIELD_INT, .standard = "128", .value = "N", .low = 2, .high = 1e9,
     .help = "tokens of a sequence of plain text; truncate sources of pairs to N tokens"},
    {.name = "optimizer", .kind = HEED_FIELD_CHOICE, .value = "NAME", .choices = OPTIMIZERS,
     .help = "optimizer, by default T5's own, adafactor, with --lora adamw; one of"},
    {.name = "lr", .letter = 'l', .kind = HEED_FIELD_NUMBER, .value = "X", .high = 1e6,
     .help = "peak learning rate; by default 0.01, with --init 0.001, of adafactor, which multiplies it by the size of the "
             "weights; of others 5e-4, with --init 5e-5"},
    TEXT_TRAIN_OPTIONS_OF("examples", "t5"),
    {.name = NULL},
};
/* clang-format on */

const struct train_task train_text2text = {
    .page =
        {.name = "text2text",
         .summary = "T5: spans of plain text, or pairs of source and target",
         .about =
             "Trains an encoder-decoder to turn text into text (Raffel et al. 2020). From plain text it learns to "
             "fill in spans: 15 % of the tokens, in spans of 3 on average, are replaced by sentinels "
             "(<extra_id_0>, <extra_id_1>, ...), and the target is the sentinels with the tokens they stand for; in "
             "each epoch other spans are chosen. From pairs it learns to write the target of a source, which a "
             "--prefix such as 'summarize: ' may begin. The metrics are perplexity, measured with fixed spans, and "
             "of pairs ROUGE-L of greedily decoded targets.\n\n"
             "Without --init the model is small (4 + 4 layers, width 256; --set changes it) and a unigram "
             "tokenizer with 100 sentinels is trained on the text. The result opens in transformers' "
             "AutoTokenizer and AutoModelForSeq2SeqLM.",
         .options = options,
         .examples = "heed train text2text --data articles.txt --out t5\n"
                     "heed train text2text --data pairs.tsv --init t5 --prefix 'summarize: ' --out headlines\n"
                     "heed train text2text --data news.jsonl --text article --target summary --init t5-small "
                     "--prefix 'summarize: ' --max-length 512 --max-target 64 --out news\n"
                     "heed summarize headlines < articles.txt\n"},
    .text = &train_text,
};
