/* heed train music: chorales of four voices. train_text.c does the work. */
#include "cli/train/train.h"

/* clang-format off */
static const heed_field options[] = {
    {.name = "data", .kind = HEED_FIELD_GROUP},
    {.name = "data", .letter = 'd', .kind = HEED_FIELD_FILE, .value = "PATH",
     .help = "chorales as JSON (also .gz), perhaps in parts train, valid and test; a MIDI file; or a directory of these"},
    TEXT_PART_OPTIONS("chorales"),
    {.name = "valid-data", .kind = HEED_FIELD_FILE, .value = "PATH",
     .help = "validation chorales; by default the data's own part valid"},
    {.name = "context", .kind = HEED_FIELD_INT, .standard = "512", .value = "N", .low = 8, .high = 1e9,
     .help = "tokens of a training window, four to a step, and positions of a new model"},
    {.name = "transpose", .kind = HEED_FIELD_INT, .standard = "6", .value = "N", .high = 127,
     .help = "move each window by up to N semitones up or down, drawn anew in each epoch, as far as the voices' ranges "
             "allow; 0: as it is written"},
    {.name = "shared", .kind = HEED_FIELD_TABLE, .table = train_options},
    {.name = "model", .letter = 'm', .kind = HEED_FIELD_TEXT, .standard = "lstm", .value = "FAMILY",
     .help = "model family, without --init: lstm, gru, rnn, gpt2, llama and other language models"},
    {.name = "epochs", .letter = 'e', .kind = HEED_FIELD_INT, .value = "N", .low = 1, .high = 1e9,
     .help = "number of passes over the training data; by default 10, with --init 3"},
    {.name = "batch", .letter = 'b', .kind = HEED_FIELD_INT, .value = "N", .low = 1, .high = 1e9,
     .help = "windows per update; by default 32"},
    {.name = "lr", .letter = 'l', .kind = HEED_FIELD_NUMBER, .value = "X", .high = 1e6,
     .help = "peak learning rate; by default 2e-3, with --init 5e-5"},
    {.name = NULL},
};
/* clang-format on */

const struct train_task train_music = {
    .page = {.name = "music",
             .summary = "chorales of four voices",
             .about =
                 "Trains a language model of music. A chorale is a list of steps, most often of a sixteenth note, each "
                 "with the pitches (MIDI numbers) of soprano, alto, tenor and bass, -1 for a rest; the model predicts "
                 "voice after voice, step after step, what each begins or holds, and the end. JSON is {\"train\": "
                 "[chorale, ...], \"valid\": ..., \"test\": ...}, as JSB-Chorales-dataset has it, or a list of "
                 "chorales; steps with fewer than four pitches give them to the voices nearest to them. MIDI files are "
                 "cut into sixteenths; their four tracks are the voices, or else what sounds at a time.\n\n"
                 "Without a part valid the last chorales are held out. The first metric is nats per note: the negative "
                 "logarithm of the probability of whole chorales, their ends included, divided by voices times steps. "
                 "The other is the perplexity of a token.\n\n"
                 "Without --init a recurrent network has two layers of 256 units, others are as small as those of "
                 "'train lm'; --set changes that.",
             .options = options,
             .examples =
                 "heed train music --data Jsb16thSeparated.json --out bach\n"
                 "heed train music --data Jsb16thSeparated.json --recipe recipes/jsb-chorales.recipe --out bach\n"
                 "heed train music --data hymns/ --model gpt2 --context 1024 --transpose 3 --out hymns\n"
                 "heed generate bach --midi chorale.mid --png chorale.png\n"
                 "heed eval bach --data Jsb16thSeparated.json\n"},
    .text = &train_text,
    .head = "lm",
    .next = "generate",
    .next_how = " --midi chorale.mid",
};
