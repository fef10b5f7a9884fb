/* heed train lm: language models from plain text. train_text.c does the work. */
#include "cli/train/train.h"

/* clang-format off */
static const heed_field options[] = {
    {.name = "data", .kind = HEED_FIELD_GROUP},
    {.name = "data", .letter = 'd', .kind = HEED_FIELD_FILE, .value = "PATH",
     .help = "plain text (also .gz), or conversations as JSON lines (.jsonl), or a directory with train.txt and perhaps "
             "valid.txt and test.txt"},
    TEXT_PART_OPTIONS("text"),
    {.name = "context", .kind = HEED_FIELD_INT, .standard = "256", .value = "N", .low = 1, .high = 1e9,
     .help = "tokens of a training window, and positions of a new model"},
    {.name = "documents", .help = "the text is documents, separated by blank lines: pack them into windows, without "
                                  "attention from one to another"},
    {.name = "document-separator", .kind = HEED_FIELD_TEXT, .value = "TEXT",
     .help = "the line that separates documents, instead of blank lines; without --documents they are joined by the "
             "end-of-text token"},
    {.name = "in-order", .help = "cut the text into consecutive windows, instead of drawing windows anew in each epoch"},
    {.name = "carry-state",
     .help = "truncated backpropagation, of recurrent models: cut the text into --batch parallel streams, go through them "
             "in order, and carry the state from window to window, in evaluation too"},
    {.name = "valid-data", .kind = HEED_FIELD_FILE, .value = "PATH",
     .help = "validation text; by default a directory's own dev or valid file"},
    {.name = "tokens", .kind = HEED_FIELD_GROUP},
    {.name = "tokenizer", .kind = HEED_FIELD_FILE, .value = "PATH",
     .help = "use this tokenizer instead of that of --init, or of training one"},
    {.name = "tokens", .kind = HEED_FIELD_CHOICE, .standard = "byte-bpe", .value = "KIND",
     .choices = "char word bpe byte-bpe unigram", .help = "kind of tokenizer to train, one of"},
    {.name = "vocab", .kind = HEED_FIELD_INT, .standard = "8000", .value = "N", .high = 1 << 24,
     .help = "maximum vocabulary size of a tokenizer to train"},
    {.name = "chat-template", .kind = HEED_FIELD_CHOICE, .value = "NAME", .choices = "chatml llama3 gemma phi4",
     .help = "chat format of conversations, whose special tokens are added where they are lacking; by default that of "
             "--init, or chatml; one of"},
    EMBEDDINGS_OPTION,
    {.name = "forcing", .kind = HEED_FIELD_TABLE, .table = forcing_options},
    {.name = "shared", .kind = HEED_FIELD_TABLE, .table = train_options},
    {.name = "model", .letter = 'm', .kind = HEED_FIELD_TEXT, .standard = "gpt2", .value = "FAMILY",
     .help = "model family, without --init; 'heed list' shows them"},
    {.name = "epochs", .letter = 'e', .kind = HEED_FIELD_INT, .value = "N", .low = 1, .high = 1e9,
     .help = "number of passes over the training data; by default 10, with --init 3"},
    {.name = "batch", .letter = 'b', .kind = HEED_FIELD_INT, .value = "N", .low = 1, .high = 1e9,
     .help = "windows per update; by default 32"},
    {.name = "lr", .letter = 'l', .kind = HEED_FIELD_NUMBER, .value = "X", .high = 1e6,
     .help = "peak learning rate; by default 1e-3, with --init 5e-5"},
    {.name = NULL},
};
/* clang-format on */

const struct train_task train_lm = {
    .page = {.name = "lm",
             .summary = "the next token of plain text",
             .about =
                 "Trains a language model: a decoder that predicts each token from those before it (Radford et al. "
                 "2019). The text is one stream, newlines included, and an epoch draws as many windows of --context "
                 "tokens from it as it holds; or, with --documents, documents packed into windows. Without a "
                 "validation file the last part of the text is held out. The metrics are the perplexity and bits per "
                 "byte of all validation text.\n\n"
                 "Conversations are lines of {\"messages\": [{\"role\": \"user\", \"content\": \"...\"}, ...]}, in the "
                 "chat format of --init, or in that of --chat-template, ChatML by default: a base model gets its "
                 "special tokens, each with the mean of the embeddings to begin with. With --lora the embeddings are "
                 "then trained, too, and saved with the adapter. Only the assistant's answers are learnt.\n\n"
                 "Without --init the model is small (4 layers, 4 heads, width 128; --set changes it) and a tokenizer "
                 "is trained on the text. With --init a model is trained further. The result opens in transformers' "
                 "AutoModelForCausalLM.",
             .options = options,
             .examples =
                 "heed train lm --data shakespeare.txt --tokens char --context 64 --out bard\n"
                 "heed train lm --data shakespeare.txt --recipe recipes/shakespeare.recipe --out bard\n"
                 "heed train lm --data wiki --documents --model llama --vocab 16000 --out small\n"
                 "heed train lm --data reports.txt --init gpt2 --steps 500 --warmup 50 --out reporter\n"
                 "heed train lm --data talks.jsonl --out talker\n"
                 "heed train lm --data shakespeare.txt --model lstm --carry-state --context 35 --clip 1 --out poet\n"
                 "heed generate bard --prompt 'ROMEO:' --sample\n"
                 "heed eval bard --data other.txt\n"},
    .text = &train_text,
    .next = "generate",
    .next_how = " --prompt TEXT --sample",
};
