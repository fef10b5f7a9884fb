/* The fields of all tasks that learn in steps, and what several ways make of them. A task inserts the table into its
 * own and replaces the rows that differ. */
#include "base/text.h"
#include "task/run.h"

/* clang-format off */
const heed_field run_fields[] = {
    {.name = "model", .kind = HEED_FIELD_GROUP},
    {.name = "model", .letter = 'm', .kind = HEED_FIELD_TEXT, .value = "FAMILY",
     .help = "model family; 'heed list' shows them"},
    {.name = "set", .letter = 's', .kind = HEED_FIELD_LIST, .value = "KEY=VALUE",
     .help = "a key of the model's config; 'heed list FAMILY' shows them"},
    {.name = "init", .kind = HEED_FIELD_FILE, .value = "DIR",
     .help = "start from the weights of a model directory instead of fresh ones"},
    {.name = "freeze", .kind = HEED_FIELD_LIST, .value = "PATTERN",
     .help = "do not train the parameters whose names match, such as 'bert.encoder.layer.[0-5].*'"},
    {.name = "layer-decay", .kind = HEED_FIELD_NUMBER, .standard = "1", .value = "X", .low = 1e-6, .high = 1,
     .help = "learning rate of each layer as a fraction of that of the layer above it"},
    {.name = "LoRA", .kind = HEED_FIELD_GROUP},
    {.name = "lora", .kind = HEED_FIELD_INT, .value = "RANK", .low = 1, .high = 1e6,
     .help = "with --init: train adapters of this rank, and of the model only what was drawn afresh; DIR becomes an adapter "
             "directory in peft's layout"},
    {.name = "lora-alpha", .kind = HEED_FIELD_NUMBER, .value = "X", .low = 1e-6, .high = 1e6,
     .help = "multiply adapters by X / RANK; by default X is twice the rank"},
    {.name = "lora-dropout", .kind = HEED_FIELD_NUMBER, .standard = "0", .value = "P", .high = 0.999,
     .help = "dropout of the adapters' inputs"},
    {.name = "lora-targets", .kind = HEED_FIELD_TEXT, .value = "NAME,NAME",
     .help = "linear layers to adapt: ends of their names, such as q_proj,v_proj, or patterns, or all-linear; by default "
             "the projections of queries and values"},
    {.name = "length of the run and batches", .kind = HEED_FIELD_GROUP},
    {.name = "epochs", .letter = 'e', .kind = HEED_FIELD_INT, .value = "N", .low = 1, .high = 1e9,
     .help = "number of passes over the training data"},
    {.name = "steps", .kind = HEED_FIELD_INT, .value = "N", .low = 1, .high = 6e10,
     .help = "number of updates, instead of epochs"},
    {.name = "batch", .letter = 'b', .kind = HEED_FIELD_INT, .value = "N", .low = 1, .high = 1e9,
     .help = "examples per update"},
    {.name = "micro-batch", .kind = HEED_FIELD_INT, .value = "N", .low = 1, .high = 1e9,
     .help = "examples per backward pass, to save memory"},
    {.name = "accumulate", .kind = HEED_FIELD_INT, .value = "N", .low = 1, .high = 1e6,
     .help = "batches per update: accumulate the gradients of N batches"},
    {.name = "recompute", .help = "gradient checkpointing: compute the layers' activations again in the backward pass "
                                  "instead of keeping them; slower, with less memory and the same bits"},
    {.name = "optimizer", .kind = HEED_FIELD_GROUP},
    {.name = "optimizer", .kind = HEED_FIELD_CHOICE, .standard = "adamw", .value = "NAME", .choices = OPTIMIZERS,
     .help = "optimizer (without --lr, adafactor's learning rate is " ADAFACTOR_LR ", with --init " ADAFACTOR_TUNED_LR
             ", relative to the size of the weights), one of"},
    {.name = "lr", .letter = 'l', .kind = HEED_FIELD_NUMBER, .value = "X", .high = 1e6,
     .help = "peak learning rate; by default " ADAM_LR ", with sgd " SGD_LR},
    {.name = "momentum", .kind = HEED_FIELD_NUMBER, .standard = "0.9", .value = "X", .high = 0.999999,
     .help = "momentum of sgd"},
    {.name = "nesterov", .help = "Nesterov momentum"},
    {.name = "beta1", .kind = HEED_FIELD_NUMBER, .standard = "0.9", .value = "X", .high = 0.999999,
     .help = "decay of the first moment of adam and adamw"},
    {.name = "beta2", .kind = HEED_FIELD_NUMBER, .standard = "0.999", .value = "X", .high = 0.9999999,
     .help = "decay of the second moment of adam and adamw"},
    {.name = "decay", .letter = 'w', .kind = HEED_FIELD_NUMBER, .standard = "0", .value = "X", .high = 1e3,
     .help = "weight decay, not applied to biases"},
    {.name = "clip", .kind = HEED_FIELD_NUMBER, .standard = "0", .value = "X", .high = 1e12,
     .help = "maximum gradient norm; 0: no clipping"},
    {.name = "average", .kind = HEED_FIELD_NUMBER, .standard = "0", .value = "X", .high = 0.9999999,
     .help = "decay of an exponential moving average of the weights, such as 0.999; 0: no average"},
    {.name = "learning rate schedule", .kind = HEED_FIELD_GROUP},
    {.name = "schedule", .kind = HEED_FIELD_CHOICE, .standard = "cosine", .value = "NAME",
     .choices = "cosine linear constant step inverse-root", .help = "learning rate schedule, one of"},
    {.name = "warmup", .kind = HEED_FIELD_INT, .value = "N", .high = 1e12,
     .help = "number of updates of linear warm-up; by default 0"},
    {.name = "schedule-floor", .kind = HEED_FIELD_NUMBER, .standard = "0", .value = "X", .high = 1,
     .help = "final learning rate as a fraction of the peak (cosine and linear schedules)"},
    {.name = "schedule-every", .kind = HEED_FIELD_INT, .standard = "1000", .value = "N", .low = 1, .high = 1e12,
     .help = "steps between decays (step schedule)"},
    {.name = "schedule-factor", .kind = HEED_FIELD_NUMBER, .standard = "0.1", .value = "X", .high = 10,
     .help = "factor of each decay (step schedule)"},
    {.name = "evaluation", .kind = HEED_FIELD_GROUP},
    {.name = "evaluate-every", .kind = HEED_FIELD_INT, .standard = "0", .value = "N", .high = 1e12,
     .help = "updates between evaluations; 0: one per epoch"},
    {.name = "valid-examples", .kind = HEED_FIELD_INT, .standard = "0", .value = "N", .high = 1e12,
     .help = "evaluate on N examples of the validation set, chosen by --seed, the same ones each time; the model that is "
             "kept is measured on all of them at the end; 0: always on all"},
    {.name = "patience", .kind = HEED_FIELD_INT, .standard = "0", .value = "N", .high = 1e9,
     .help = "number of evaluations without improvement before stopping early; 0: no early stopping"},
    {.name = "best-by", .kind = HEED_FIELD_TEXT, .value = "METRIC",
     .help = "the metric that chooses the best model, or loss; by default the task's first"},
    {.name = "keep", .kind = HEED_FIELD_INT, .standard = "0", .value = "N", .high = 1e6,
     .help = "keep the last N evaluated models in DIR/kept, for 'heed average'"},
    {.name = "output", .kind = HEED_FIELD_GROUP},
    {.name = "out", .letter = 'o', .kind = HEED_FIELD_FILE, .value = "DIR", .help = "the model directory to write"},
    {.name = "resume", .letter = 'r', .help = "continue from the checkpoint in DIR"},
    {.name = "force", .letter = 'f', .help = "overwrite a model in DIR"},
    {.name = "save-every", .kind = HEED_FIELD_INT, .standard = "0", .value = "N", .high = 1e12,
     .help = "updates between checkpoints; 0: one about every ten seconds"},
    {.name = "drop-checkpoint", .help = "remove checkpoint.safetensors, which is larger than the model, when the run ends; "
                                        "it cannot be extended then"},
    {.name = "log", .kind = HEED_FIELD_FILE, .value = "FILE",
     .help = "write one JSON object per line: step, loss, lr, seconds, examples or tokens, and the evaluations"},
    {.name = "log-every", .kind = HEED_FIELD_INT, .standard = "0", .value = "N", .high = 1e12,
     .help = "updates between lines of the log; 0: every update, fewer in a long run"},
    {.name = "json", .help = "the result as JSON"},
    {.name = NULL},
};


const heed_field text_column_fields[] = {
    {.name = "text", .kind = HEED_FIELD_GROUP},
    {.name = "text", .kind = HEED_FIELD_TEXT, .value = "COLUMN",
     .help = "for a table of texts: the column of the text, by name or number; by default the first. Without --model and "
             "--init the family is then " TEXT_FAMILY},
    {.name = "pair", .kind = HEED_FIELD_TEXT, .value = "COLUMN",
     .help = "the column of a second text; by default the second of three columns"},
    {.name = NULL},
};

const heed_field text_fields[] = {
    {.name = "text", .kind = HEED_FIELD_GROUP},
    {.name = "max-length", .kind = HEED_FIELD_INT, .standard = "0", .value = "N", .high = 1e9,
     .help = "truncate texts to N tokens; 0: to as many as the model has positions"},
    {.name = "valid-data", .kind = HEED_FIELD_FILE, .value = "PATH",
     .help = "validation texts; by default a directory's own dev or valid file"},
    {.name = "tokenizer", .kind = HEED_FIELD_FILE, .value = "PATH",
     .help = "use this tokenizer instead of that of --init, or of training one"},
    TOKENS_FIELD("wordpiece"),
    {.name = "vocab", .kind = HEED_FIELD_INT, .standard = "8000", .value = "N", .high = 1 << 24,
     .help = "maximum vocabulary size of a tokenizer to train"},
    EMBEDDINGS_FIELD,
    {.name = NULL},
};
/* clang-format on */

bool run_batch(const heed_run *r, int64_t good, int64_t n, const char *one, const char *many, struct run_batch *to) {
    const int64_t accumulate = run_given(r, "accumulate") ? run_int(r, "accumulate") : 1;
    char count[48];
    to->batch = run_given(r, "batch") ? run_int(r, "batch") : good < n ? good : n;
    to->micro_batch = run_int(r, "micro-batch");
    if (accumulate > 1) {
        to->micro_batch = to->batch;
        to->batch *= accumulate;
    }
    return to->batch <= n ||
           heed_fail(r->cx, HEED_ERR_RANGE, "train: --batch: %lld is larger than the data, %s to train on",
                     (long long)to->batch, text_count(n, one, many, count));
}

double run_held_out(const heed_run *r, int64_t n) {
    return run_given(r, "valid") ? run_number(r, "valid") : n < 10 ? 0 : 0.1;
}

void run_say_sets(const heed_run *r, const char *examples, int64_t valid, int64_t test, const char *more) {
    char count[48];
    heed_note(r->cx, HEED_LOG_INFO, "%s: %s to train on, %lld to validate, %lld to test; %s%s with %s",
              RUN_STANDARD_INPUT(r->path), examples, (long long)valid, (long long)test, more, r->family->name,
              text_count(heed_params_size(heed_model_params(r->model)), "parameter", "parameters", count));
}
