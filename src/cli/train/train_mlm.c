/* heed train mlm: encoders from plain text. train_text.c does the work. */
#include "base/text.h"
#include "cli/train/train.h"

/* clang-format off */
static const heed_field options[] = {
    {.name = "data", .kind = HEED_FIELD_GROUP},
    {.name = "data", .letter = 'd', .kind = HEED_FIELD_FILE, .value = "PATH",
     .help = "plain text (also .gz), documents separated by blank lines; or a directory with train.txt and perhaps "
             "valid.txt and test.txt"},
    TEXT_PART_OPTIONS("sequences"),
    {.name = "masking", .kind = HEED_FIELD_GROUP},
    {.name = "masked", .kind = HEED_FIELD_NUMBER, .standard = "0.15", .value = "X", .low = 0.001, .high = 1,
     .help = "fraction of the words to predict, at least one of each sequence"},
    {.name = "whole-words", .help = "mask all tokens of a word or none"},
    {.name = "next-sentence",
     .help = "pairs of segments, half of the second ones from other documents, and a head that tells which; for albert "
             "half of them change places"},
    {.name = "generator-size", .kind = HEED_FIELD_NUMBER, .value = "X", .low = 0.001, .high = 1,
     .help = "of electra: width of the generator as a fraction of the discriminator's; by default 0.25"},
    {.name = "max-length", .kind = HEED_FIELD_INT, .standard = "128", .value = "N", .low = 1, .high = 1e9,
     .help = "tokens of a sequence, special ones included; at most as many as the model has positions"},
    TEXT_TRAIN_OPTIONS("sequences"),
    {.name = NULL},
};
/* clang-format on */

static bool usage(struct train_run *r) {
    const heed_head *const head = heed_head_for(r->family, "pretrain");
    const bool replaced = heed_head_for(r->family, "replaced");
    if (option_given(r->o, "generator-size") && !replaced) {
        cli_error(EXIT_USAGE, "train: --generator-size: %s has no generator", r->family->name);
        return false;
    }
    if (replaced) r->head = "replaced";
    if (!option_flag(r->o, "next-sentence")) return true;
    if (!head ||
        (!text_among(head->inputs, "next_sentence_label") && !text_among(head->inputs, "sentence_order_label"))) {
        cli_error(EXIT_USAGE, "train: --next-sentence: %s has no head for pairs of sentences", r->family->name);
        return false;
    }
    r->head = "pretrain";
    return true;
}

const struct train_task train_mlm = {
    .page =
        {.name = "mlm",
         .summary = "masked words of plain text",
         .about =
             "Pre-trains an encoder to predict masked words (Devlin et al. 2019). Lines of a document are joined, "
             "and packed into sequences of --max-length tokens. In each epoch other words are chosen: 80 % of them "
             "become the mask token, 10 % a random token, 10 % stay. The metrics are the perplexity and the "
             "accuracy of masked words, measured with a fixed masking.\n\n"
             "With --next-sentence a sequence is a pair of segments, a segment being one or more lines of a "
             "document; in each epoch half of the pairs, others each time, are made of two documents, and the loss "
             "is the sum of both. The result opens in AutoModelForPreTraining.\n\n"
             "With --model electra the task is to detect replaced tokens (Clark et al. 2020): a generator, trained "
             "along, fills in the masked words, and the model tells which tokens are not what they were. The loss "
             "is that of the generator plus 50 times that of the model; the metrics are F1, accuracy, precision and "
             "recall of replaced tokens and the generator's loss. DIR is the discriminator, DIR/generator a masked "
             "LM.\n\n"
             "Without --init the model is small (4 layers, width 256; --set changes it) and a tokenizer is trained "
             "on the text. With --init a model is trained further. The result opens in transformers' "
             "AutoModelForMaskedLM, and is what 'heed train classify --init DIR' and the like start from.",
         .options = options,
         .examples = "heed train mlm --data text.txt --out encoder\n"
                     "heed train mlm --data text.txt --whole-words --vocab 16000 --set num_hidden_layers=6 "
                     "--out encoder\n"
                     "heed train mlm --data books.txt --next-sentence --out encoder\n"
                     "heed train mlm --data text.txt --model electra --out electra\n"
                     "heed train mlm --data reports.txt --init bert-base-uncased --steps 1000 --warmup 100 "
                     "--out report-bert\n"
                     "heed eval encoder --data other.txt\n"},
    .text = &train_text,
    .usage = usage,
};
