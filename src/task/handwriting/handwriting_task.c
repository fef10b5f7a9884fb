/* Handwriting: the way of a pen, also by what it says. */
#include "base/text.h"
#include "heed/handwriting.h"
#include "task/run.h"
#include <string.h>

#define METRICS      "nats_per_point nats_per_piece"
#define NUMBERS      2000 /* by synthetic writers, */
#define NUMBERS_TEST 200  /* and others to test with */
#define LEAST_DIGITS 4
#define MAX_DIGITS   7
#define TEST_SEED    0x7E57000000000000u /* its writers are others */

struct handwriting {
    heed_writings pieces, test;
    heed_string characters; /* with --text */
    heed_handwriting_set set, test_set;
    int64_t *train_rows, *valid_rows, n_train, n_valid;
    heed_source *source;
};

static struct handwriting *handwriting_of(const heed_run *r) { return r->user; }

/* ---- data ---- */

static bool check(heed_run *r) {
    if (run_flag(r, "text")) r->head = "synthesis";
    return true;
}

static bool is_drawn(const char *path) { return strcmp(path, "strokes") == 0; }

/* Of a file of JSON lines; "strokes": of synthetic writers, `test`: of others than those trained on. */
static bool read_pieces(heed_ctx *cx, const char *path, bool test, heed_writings *to) {
    if (!is_drawn(path)) return heed_writings_read(cx, path, to);
    return heed_writings_numbers(cx, test ? heed_seed(cx) ^ TEST_SEED : heed_seed(cx), 0, test ? NUMBERS_TEST : NUMBERS,
                                 LEAST_DIGITS, MAX_DIGITS, to);
}

static bool reads_text(const heed_run *r) { return r->head; }

/* What --init has learnt to write is what it goes on with. */
static bool find_characters(heed_run *r, struct handwriting *h) {
    const char *const init = run_init(r);
    if (!reads_text(r)) return true;
    if (!init) return heed_handwriting_characters(r->cx, &h->pieces, &h->characters);
    heed_model *const model = heed_model_load(r->cx, init);
    const char *const known = model ? heed_handwriting_text(r->cx, model) : NULL;
    const bool ok = known ? heed_string_put(r->cx, &h->characters, known, strlen(known))
                          : heed_fail(r->cx, HEED_ERR_USAGE, "%s: the model has not learnt texts", init);
    heed_model_free(r->cx, model);
    return ok;
}

static bool load(heed_run *r) {
    struct handwriting *const h = heed_mem_new(r->cx, sizeof *h);
    const char *const test = run_text(r, "test") ? run_text(r, "test") : is_drawn(r->path) ? r->path : NULL;
    const int64_t max_length = run_int(r, "max-length");
    if (!h) return false;
    *h = (struct handwriting){0};
    r->user = h;
    if (!read_pieces(r->cx, r->path, false, &h->pieces) || (test && !read_pieces(r->cx, test, true, &h->test)))
        return false;
    if (!find_characters(r, h)) return heed_fail_in(r->cx, "%s", r->path);
    const char *const characters = reads_text(r) ? h->characters.s : NULL;
    if (!heed_handwriting_columns(r->cx, &h->pieces, characters, max_length, &h->set))
        return heed_fail_in(r->cx, "%s", r->path);
    if (test && !heed_handwriting_columns(r->cx, &h->test, characters, max_length, &h->test_set))
        return heed_fail_in(r->cx, "%s", test);
    if (h->set.cut > 0)
        heed_note(r->cx, HEED_LOG_WARN, "%lld of %lld pieces were longer than %lld points and are cut",
                  (long long)h->set.cut, (long long)h->pieces.n, (long long)max_length);
    return heed_rows_split(r->cx, h->pieces.n, run_held_out(r, h->pieces.n), heed_seed(r->cx), &h->train_rows,
                           &h->n_train, &h->valid_rows, &h->n_valid);
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

static bool plan(heed_run *r) {
    struct handwriting *const h = handwriting_of(r);
    struct run_batch b;
    if (!run_batch(r, run_int(r, "batch"), h->n_train, "piece", "pieces", &b)) return false;
    heed_source_opts opts = {.train = &h->set.columns,
                             .train_rows = h->train_rows,
                             .n_train = h->n_train,
                             .batch = b.batch,
                             .micro_batch = b.micro_batch,
                             .by_length = true,
                             .seed = heed_seed(r->cx),
                             .own = h,
                             .measure = measure,
                             .measure_some = measure_some,
                             .metrics = METRICS,
                             .examples = "pieces"};
    if (h->n_valid > 0) opts.valid = &h->set.columns, opts.valid_rows = h->valid_rows, opts.n_valid = h->n_valid;
    if (h->test.n > 0) opts.test = &h->test_set.columns;
    h->source = heed_source_new(r->cx, &opts);
    r->loop.source = heed_source_loop(h->source);
    return r->loop.source;
}

static heed_model *new_model(const heed_run *r, heed_ctx *cx) {
    const struct handwriting *const h = handwriting_of(r);
    struct settings s = {.n = 0}, kept = {.n = 0};
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
    heed_model *const model = heed_failed(cx) ? NULL : run_make_model(r, cx, &s, &kept);
    heed_string_free(cx, &characters);
    return model;
}

/* The steps of the pen, standardised by those of the training pieces. */
static void standardise(heed_run *r) {
    const struct handwriting *const h = handwriting_of(r);
    const heed_params *const params = heed_model_params(r->model);
    heed_handwriting_moments(&h->set, h->train_rows, h->n_train, heed_params_find(params, "offset_mean")->value,
                             heed_params_find(params, "offset_deviation")->value);
}

static bool begin(heed_run *r) {
    const struct handwriting *const h = handwriting_of(r);
    char pieces[48];
    if (!run_init(r)) standardise(r);
    run_say_sets(r, text_count(h->n_train, "piece", "pieces", pieces), h->n_valid, h->test.n, "");
    return true;
}

static void free_handwriting(heed_run *r) {
    struct handwriting *const h = handwriting_of(r);
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

/* ---- measuring ---- */

static bool evaluate(heed_run *r, const char *part, heed_evaluation *to) {
    heed_model *const model = heed_directory_model(r->cx, r->measured, &(heed_load_opts){.map = true});
    heed_writings pieces = {0};
    heed_handwriting_set set = {0};
    const bool ok = model && read_pieces(r->cx, r->path, strcmp(part, "test") == 0, &pieces) &&
                    heed_metrics_find(r->cx, METRICS, &to->metrics) &&
                    (heed_handwriting_columns(r->cx, &pieces, heed_handwriting_text(r->cx, model),
                                              run_int(r, "max-length"), &set) ||
                     heed_fail_in(r->cx, "%s", r->path)) &&
                    heed_handwriting_measure(r->cx, model, &set, NULL, 0, &to->score);
    to->n = pieces.n;
    to->one = "piece";
    to->many = "pieces";
    heed_handwriting_free(r->cx, &set);
    heed_writings_free(r->cx, &pieces);
    heed_model_free(r->cx, model);
    return ok;
}

/* ---- the task ---- */

/* clang-format off */
static const heed_field handwriting_fields[] = {
    {.name = "data", .kind = HEED_FIELD_GROUP},
    {.name = "data", .letter = 'd', .kind = HEED_FIELD_FILE, .standard = "strokes", .value = "PATH",
     .help = "strokes as JSON lines (also .gz), or the word strokes: numbers by 2000 synthetic writers"},
    {.name = "text", .help = "learn the text of the pieces too: a window slides over it, and any text can then be written"},
    {.name = "test", .kind = HEED_FIELD_FILE, .value = "PATH", .help = "test data, measured once at the end; of strokes, other writers"},
    {.name = "valid", .kind = HEED_FIELD_NUMBER, .value = "FRACTION", .high = 0.999,
     .help = "fraction of the pieces held out for validation; by default 0.1"},
    {.name = "max-length", .kind = HEED_FIELD_INT, .standard = "1000", .value = "N", .low = 2, .high = 100000,
     .help = "cut pieces after N points"},
    {.name = "shared", .kind = HEED_FIELD_TABLE, .table = run_fields},
    MODEL_FIELD("handwriting", "model family, without --init"),
    EPOCHS_FIELD("30", NULL, ""),
    BATCH_FIELD("32", "pieces per update"),
    LR_FIELD("0.003", NULL, "peak learning rate"),
    {.name = "clip", .kind = HEED_FIELD_NUMBER, .standard = "10", .value = "X", .high = 1e12,
     .help = "maximum gradient norm; 0: no clipping"},
    {.name = NULL},
};
/* clang-format on */

static const struct task_way way_strokes = {.what = "strokes",
                                            .check = check,
                                            .load = load,
                                            .plan = plan,
                                            .model_of = new_model,
                                            .begin = begin,
                                            .evaluate = evaluate,
                                            .free = free_handwriting};
static const struct task_way *const handwriting_ways[] = {&way_strokes, NULL};

const heed_task task_of_handwriting = {
    .name = "handwriting",
    .summary = "the next step of a pen, for writing by hand",
    .about = "Trains LSTMs to predict where a pen goes next, as a mixture of normal densities, and where it is "
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
    .examples = "heed train handwriting --out hand\n"
                "heed generate hand --svg numbers.svg\n"
                "heed train handwriting --text --epochs 60 --out scribe\n"
                "heed generate scribe --text 2026 --bias 1 --png 2026.png\n"
                "heed train handwriting --data mine.jsonl --out mine\n",
    .fields = handwriting_fields,
    .next = "generate",
    .next_how = " --svg FILE.svg",
    .ways = handwriting_ways,
};
