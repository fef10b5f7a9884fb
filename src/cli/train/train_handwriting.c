/* heed train handwriting: the way of a pen, also by what it says. */
#include "cli/core/data_options.h"
#include "cli/train/train.h"
#include "cli/use/handwriting.h"
#include <stdio.h>
#include <string.h>

#define NUMBERS      2000 /* that drawn-up writers give, */
#define NUMBERS_TEST 200  /* and others to test with */
#define LEAST_DIGITS 4
#define MOST_DIGITS  7
#define TEST_SEED    0x7E57000000000000u /* its writers are others */

struct handwriting {
    heed_writings pieces, test;
    heed_string characters; /* with --text */
    heed_handwriting_set set, test_set;
    int64_t *train_rows, *valid_rows, n_train, n_valid;
    heed_source *source;
};

static struct handwriting *handwriting_of(const struct train_run *r) { return r->own; }

/* ---- data ---- */

static bool is_drawn(const char *path) { return strcmp(path, "strokes") == 0; }

bool handwriting_pieces(heed_ctx *cx, const char *path, bool test, heed_writings *to) {
    if (!is_drawn(path)) return heed_writings_read(cx, path, to);
    return heed_writings_numbers(cx, test ? heed_seed(cx) ^ TEST_SEED : heed_seed(cx), 0, test ? NUMBERS_TEST : NUMBERS,
                                 LEAST_DIGITS, MOST_DIGITS, to);
}

static bool reads_text(const struct train_run *r) { return r->head; }

/* What --init has learnt to write is what it goes on with. */
static bool find_characters(struct train_run *r, struct handwriting *h) {
    const char *const init = option_text(r->o, "init");
    if (!reads_text(r)) return true;
    if (!init) return heed_handwriting_characters(r->cx, &h->pieces, &h->characters);
    heed_model *const model = heed_model_load(r->cx, init);
    const char *const known = model ? heed_handwriting_text(r->cx, model) : NULL;
    const bool ok = known ? heed_string_put(r->cx, &h->characters, known, strlen(known))
                          : heed_fail(r->cx, HEED_ERR_USAGE, "%s: the model has not learnt texts", init);
    heed_model_free(r->cx, model);
    return ok;
}

static bool load(struct train_run *r) {
    struct handwriting *const h = heed_mem_new(r->cx, sizeof *h);
    const char *const test = option_text(r->o, "test") ? option_text(r->o, "test") : is_drawn(r->path) ? r->path : NULL;
    const int64_t longest = option_int(r->o, "max-length");
    if (!h) return false;
    *h = (struct handwriting){0};
    r->own = h;
    if (!handwriting_pieces(r->cx, r->path, false, &h->pieces) ||
        (test && !handwriting_pieces(r->cx, test, true, &h->test)))
        return false;
    if (!find_characters(r, h)) return heed_fail_in(r->cx, "%s", r->path);
    const char *const characters = reads_text(r) ? h->characters.s : NULL;
    if (!heed_handwriting_columns(r->cx, &h->pieces, characters, longest, &h->set))
        return heed_fail_in(r->cx, "%s", r->path);
    if (test && !heed_handwriting_columns(r->cx, &h->test, characters, longest, &h->test_set))
        return heed_fail_in(r->cx, "%s", test);
    if (h->set.cut > 0 && !option_flag(r->o, "quiet"))
        fprintf(stderr, "heed: %lld of %lld pieces were longer than %lld points and are cut\n", (long long)h->set.cut,
                (long long)h->pieces.n, (long long)longest);
    const double valid = option_given(r->o, "valid") ? option_number(r->o, "valid") : h->pieces.n < 10 ? 0 : 0.1;
    return heed_rows_split(r->cx, h->pieces.n, valid, heed_seed(r->cx), &h->train_rows, &h->n_train, &h->valid_rows,
                           &h->n_valid);
}

/* ---- the run ---- */

static bool measure(heed_ctx *cx, void *own, const heed_model *model, bool test, heed_score *score) {
    const struct handwriting *const h = own;
    return test ? heed_handwriting_measure(cx, model, &h->test_set, NULL, 0, score)
                : heed_handwriting_measure(cx, model, &h->set, h->valid_rows, h->n_valid, score);
}

static bool measure_some(heed_ctx *cx, void *own, const heed_model *model, const int64_t *rows, int64_t n,
                         heed_score *score) {
    return heed_handwriting_measure(cx, model, &((const struct handwriting *)own)->set, rows, n, score);
}

static bool set(struct train_run *r) {
    struct handwriting *const h = handwriting_of(r);
    const int64_t accumulate = option_given(r->o, "accumulate") ? option_int(r->o, "accumulate") : 1;
    int64_t batch = option_given(r->o, "batch") ? option_int(r->o, "batch") : 32;
    heed_source_opts opts = {.train = &h->set.columns,
                             .train_rows = h->train_rows,
                             .n_train = h->n_train,
                             .micro_batch = option_int(r->o, "micro-batch"),
                             .by_length = true,
                             .seed = heed_seed(r->cx),
                             .own = h,
                             .measure = measure,
                             .measure_some = measure_some,
                             .metrics = HANDWRITING_METRICS,
                             .examples = "pieces"};
    if (!option_given(r->o, "batch") && batch > h->n_train) batch = h->n_train;
    opts.batch = batch;
    if (accumulate > 1) opts.micro_batch = batch, opts.batch = batch * accumulate;
    if (h->n_valid > 0) opts.valid = &h->set.columns, opts.valid_rows = h->valid_rows, opts.n_valid = h->n_valid;
    if (h->test.n > 0) opts.test = &h->test_set.columns;
    r->loop.epochs = option_given(r->o, "epochs") ? option_int(r->o, "epochs") : 30;
    if (!option_given(r->o, "lr")) r->loop.trainer.schedule.lr = 0.003;
    h->source = heed_source_new(r->cx, &opts);
    r->loop.source = heed_source_loop(h->source);
    return r->loop.source;
}

static heed_model *new_model(const struct train_run *r, heed_ctx *cx) {
    const struct handwriting *const h = handwriting_of(r);
    struct train_settings s = {.n = 0}, kept = {.n = 0};
    heed_string characters = {0};
    s.text[s.n++] = "hidden_size=128";
    s.text[s.n++] = "num_layers=2";
    s.text[s.n++] = "num_mixtures=10";
    if (reads_text(r)) {
        const heed_json list = heed_json_new(cx, "characters");
        heed_json_put_text(cx, list, "characters", h->characters.s);
        char *const text = heed_json_print(cx, heed_json_find(cx, list, "characters"), 0, NULL);
        if (text) heed_string_put(cx, &characters, "characters=", 11);
        if (text) heed_string_put(cx, &characters, text, strlen(text));
        heed_mem_free(cx, text);
        heed_json_free(list);
        s.text[s.n++] = characters.s;
    }
    heed_model *const model = heed_failed(cx) ? NULL : train_make_model(r, cx, &s, &kept);
    heed_string_free(cx, &characters);
    return model;
}

/* The steps of the pen, standardised by those of the training pieces. */
static void standardise(struct train_run *r) {
    const struct handwriting *const h = handwriting_of(r);
    const heed_params *const params = heed_model_params(r->model);
    heed_handwriting_moments(&h->set, h->train_rows, h->n_train, heed_params_find(params, "offset_mean")->value,
                             heed_params_find(params, "offset_deviation")->value);
}

static bool begin(struct train_run *r) {
    const struct handwriting *const h = handwriting_of(r);
    char text[2][48];
    if (!option_given(r->o, "init")) standardise(r);
    if (!option_flag(r->o, "quiet"))
        fprintf(stderr, "%s: %s to train on, %lld to validate, %lld to test; %s with %s\n",
                strcmp(r->path, "-") == 0 ? "standard input" : r->path,
                cli_count(h->n_train, "piece", "pieces", text[0]), (long long)h->n_valid, (long long)h->test.n,
                r->family->name,
                cli_count(heed_params_numbers(heed_model_params(r->model)), "parameter", "parameters", text[1]));
    return true;
}

static void free_all(struct train_run *r) {
    struct handwriting *const h = handwriting_of(r);
    if (!h) return;
    heed_source_free(r->cx, h->source);
    heed_mem_free(r->cx, h->train_rows);
    heed_mem_free(r->cx, h->valid_rows);
    heed_handwriting_free(r->cx, &h->set);
    heed_handwriting_free(r->cx, &h->test_set);
    heed_string_free(r->cx, &h->characters);
    heed_writings_free(r->cx, &h->pieces);
    heed_writings_free(r->cx, &h->test);
    heed_mem_free(r->cx, h);
}

static bool usage(struct train_run *r) {
    if (option_flag(r->o, "text")) r->head = "synthesis";
    return true;
}

/* clang-format off */
static const heed_field options[] = {
    {.name = "data", .kind = HEED_FIELD_GROUP},
    {.name = "data", .letter = 'd', .kind = HEED_FIELD_FILE, .standard = "strokes", .value = "PATH",
     .help = "strokes as JSON lines (also .gz), or the word strokes: numbers by 2000 drawn-up writers"},
    {.name = "text", .help = "learn what the pieces say, too: a window slides over the text, and any text can be written"},
    {.name = "test", .kind = HEED_FIELD_FILE, .value = "PATH", .help = "test data, measured once at the end; of strokes, other writers"},
    {.name = "valid", .kind = HEED_FIELD_NUMBER, .value = "FRACTION", .high = 0.999,
     .help = "fraction of the pieces held out for validation; by default 0.1"},
    {.name = "max-length", .kind = HEED_FIELD_INT, .standard = "1000", .value = "N", .low = 2, .high = 100000,
     .help = "cut pieces after N points"},
    {.name = "shared", .kind = HEED_FIELD_TABLE, .table = train_options},
    {.name = "model", .letter = 'm', .kind = HEED_FIELD_TEXT, .standard = "handwriting", .value = "FAMILY",
     .help = "model family, without --init"},
    {.name = "epochs", .letter = 'e', .kind = HEED_FIELD_INT, .value = "N", .low = 1, .high = 1e9,
     .help = "number of passes over the training data; by default 30"},
    {.name = "batch", .letter = 'b', .kind = HEED_FIELD_INT, .value = "N", .low = 1, .high = 1e9,
     .help = "pieces per update; by default 32"},
    {.name = "lr", .letter = 'l', .kind = HEED_FIELD_NUMBER, .value = "X", .high = 1e6,
     .help = "peak learning rate; by default 0.003"},
    {.name = "clip", .kind = HEED_FIELD_NUMBER, .standard = "10", .value = "X", .high = 1e12,
     .help = "maximum gradient norm; 0: no clipping"},
    {.name = NULL},
};
/* clang-format on */

const struct train_task train_handwriting = {
    .page = {.name = "handwriting",
             .summary = "the next step of a pen, for writing by hand",
             .about =
                 "Trains LSTMs to predict where a pen goes next, as a mixture of normal densities, and where it is "
                 "lifted (Graves 2013). Points are given as they are written (teacher forcing). 'heed generate' then "
                 "goes on writing, in the style of a beginning. With --text a window slides over the characters of "
                 "what is written, a kind of attention, and any text can be written.\n\n"
                 "A piece of the data is a line of JSON: {\"strokes\": [[[x, y], [x, y], ...], ...], \"text\": "
                 "\"2026\"}, places from the top left, a list of points for each stroke; or as Quick, Draw! has it, "
                 "{\"drawing\": [[[x, ...], [y, ...]], ...], \"word\": \"cat\"}. The text is needed with --text only. "
                 "The metrics are nats per point and per piece, of steps that are standardised by the training "
                 "data.\n\n"
                 "Without --init the model is small (2 layers of 128 units, 10 densities; --set changes it; the "
                 "paper's are --set hidden_size=400 --set num_layers=3 --set num_mixtures=20).",
             .options = options,
             .examples = "heed train handwriting --out hand\n"
                         "heed generate hand --svg numbers.svg\n"
                         "heed train handwriting --text --epochs 60 --out scribe\n"
                         "heed generate scribe --text 2026 --bias 1 --png 2026.png\n"
                         "heed train handwriting --data mine.jsonl --out mine\n"},
    .next = "generate",
    .next_how = " --svg FILE.svg",
    .usage = usage,
    .load = load,
    .set = set,
    .model = new_model,
    .begin = begin,
    .free = free_all,
    .evaluate = handwriting_evaluate,
};
