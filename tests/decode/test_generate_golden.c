/* Decoding against transformers' generate, token for token. */
#include "decode/generate_test.h"

/* From FORCED on, the score of a greedy hypothesis is not that of all its tokens: some are forced and cost nothing, or
 * it is not known which end token came. */
enum { FORCED = 6, STOPS = 4 };

struct call {
    heed_json at;
    heed_generate_opts opts;
    bool of_directory; /* no options are given */
    const char *stop[STOPS];
    heed_ids source[SOURCES];
    int64_t n;
    const char *model;
};

static void read_ids(heed_ctx *cx, heed_json list, heed_ids *ids) {
    for (heed_json v = heed_json_first(list); heed_json_kind_of(v) != HEED_JSON_NONE; v = heed_json_next(v))
        assert_true(heed_ids_put(cx, ids, (int32_t)heed_json_int(cx, v, NULL)));
}

static struct call read_call(heed_ctx *cx, heed_json at) {
    struct call c = {.at = at, .model = heed_json_text(cx, at, "model")};
    const heed_json o = heed_json_object(cx, at, "call"), stop = heed_json_find(cx, o, "early_stopping");
    const heed_json_kind kind = heed_json_kind_of(stop);
    c.of_directory = heed_json_count(o) == 0;
    c.opts = (heed_generate_opts){.beams = heed_json_int_or(cx, o, "beams", 1),
                                  .n_best = heed_json_int_or(cx, o, "n_best", 1),
                                  .length_penalty = (float)heed_json_number_or(cx, o, "length_penalty", 1),
                                  .early_stopping = kind == HEED_JSON_BOOL   ? HEED_STOP_EARLY
                                                    : kind == HEED_JSON_TEXT ? HEED_STOP_NEVER_EARLY
                                                                             : HEED_STOP_HEURISTIC,
                                  .max_length = heed_json_int_or(cx, o, "max_length", 0),
                                  .min_length = heed_json_int_or(cx, o, "min_length", 0),
                                  .max_new_tokens = heed_json_int_or(cx, o, "max_new_tokens", 0),
                                  .min_new_tokens = heed_json_int_or(cx, o, "min_new_tokens", 0),
                                  .no_repeat_ngram = heed_json_int_or(cx, o, "no_repeat_ngram", 0),
                                  .repetition_penalty = (float)heed_json_number_or(cx, o, "repetition_penalty", 0)};
    const heed_json stops = heed_json_find(cx, o, "stop");
    for (int64_t i = 0; i < heed_json_count(stops); i++)
        c.stop[c.opts.n_stop++] = heed_json_text(cx, heed_json_item(cx, stops, i), NULL);
    for (heed_json s = heed_json_first(heed_json_array(cx, at, "source")); heed_json_kind_of(s) != HEED_JSON_NONE;
         s = heed_json_next(s))
        read_ids(cx, s, &c.source[c.n++]);
    assert_false(heed_failed(cx));
    return c;
}

static void free_call(heed_ctx *cx, struct call *c) {
    for (int i = 0; i < SOURCES; i++) heed_ids_free(cx, &c->source[i]);
}

static heed_json open_golden(heed_ctx *cx, const char *name) {
    char path[600];
    snprintf(path, sizeof path, "%s/model/%s", getenv("HEED_GOLDEN"), name);
    const heed_json all = heed_json_open(cx, path);
    if (heed_failed(cx)) fail_msg("%s", heed_message(cx));
    return all;
}

/* The greedy score has no twin in transformers: the mean of what forward gives. */
static float forward_score(heed_ctx *cx, const heed_model *m, const heed_ids *source, const heed_hypothesis *h) {
    const int64_t start = heed_json_int(cx, heed_model_config(m), "decoder_start_token_id"),
                  eos = heed_json_int(cx, heed_model_config(m), "eos_token_id");
    const int64_t T = h->length + h->ended;
    int32_t *ids = malloc((size_t)(T + 1) * sizeof *ids);
    ids[0] = (int32_t)start;
    memcpy(ids + 1, h->ids, (size_t)h->length * sizeof *ids);
    if (h->ended) ids[T] = (int32_t)eos;
    heed_io in = {0}, out;
    const bool was = heed_set_grad(cx, false);
    heed_scope_begin(cx);
    heed_io_put(cx, &in, "input_ids", heed_from_i32(cx, source->id, 2, (int64_t[]){1, source->count}));
    heed_io_put(cx, &in, "decoder_input_ids", heed_from_i32(cx, ids, 2, (int64_t[]){1, T}));
    assert_true(heed_model_forward(cx, m, &in, &out));
    const heed_tensor *p = heed_log_softmax(cx, heed_io_get(&out, "logits"), -1);
    double sum = 0;
    for (int64_t t = 0; t < T; t++) sum += (double)heed_f32(p)[t * heed_dim(p, -1) + ids[t + 1]];
    heed_scope_end(cx, NULL);
    heed_set_grad(cx, was);
    free(ids);
    return (float)(sum / (double)(T > 1 ? T : 1));
}

static void compare(heed_ctx *cx, const heed_model *m, const struct call *c, const heed_generated *g, int number) {
    const heed_json ids = heed_json_array(cx, c->at, "ids"), ended = heed_json_array(cx, c->at, "ended"),
                    scores = heed_json_array(cx, c->at, "scores");
    bool forced = true;
    for (int k = 0; k < FORCED; k++) forced &= strcmp(c->model, models[k]) != 0;
    for (int64_t s = 0; s < c->n; s++)
        for (int64_t i = 0; i < g->n_best; i++) {
            const heed_hypothesis *h = &g->best[s * g->n_best + i];
            heed_ids want = {0};
            read_ids(cx, heed_json_item(cx, heed_json_item(cx, ids, s), i), &want);
            if (h->length != want.count ||
                (want.count > 0 && memcmp(h->ids, want.id, (size_t)want.count * sizeof *want.id) != 0))
                fail_msg("call %d, sentence %d, hypothesis %d has other tokens", number, (int)s, (int)i);
            heed_ids_free(cx, &want);
            assert_int_equal(h->ended, heed_json_bool(cx, heed_json_item(cx, heed_json_item(cx, ended, s), i), NULL));
            const heed_json at = heed_json_item(cx, heed_json_item(cx, scores, s), i);
            if (heed_json_kind_of(at) == HEED_JSON_NULL && forced) continue; /* the last token cost nothing */
            const double score = heed_json_kind_of(at) == HEED_JSON_NULL
                                     ? (double)forward_score(cx, m, &c->source[s], h)
                                     : heed_json_number(cx, at, NULL);
            if (!(fabs((double)h->score - score) <= 1e-5 + 1e-4 * fabs(score)))
                fail_msg("call %d, sentence %d, hypothesis %d: score %g, not %g", number, (int)s, (int)i,
                         (double)h->score, score);
        }
}

struct counts {
    int calls, ended, cut, stopped;
};

static bool holds_stop(heed_ctx *cx, const heed_generate_opts *o, const heed_hypothesis *h) {
    heed_string text = {0};
    bool holds = false;
    if (o->n_stop > 0) assert_true(heed_decode(cx, o->stop_tokens, h->ids, h->length, false, &text));
    for (int i = 0; text.s && i < o->n_stop; i++) holds |= strstr(text.s, o->stop[i]) != NULL;
    heed_string_free(cx, &text);
    return holds;
}

/* Calls of a file, by the models of a list. */
static struct counts compare_all(heed_ctx *cx, const char *file, const char *const *names, int n_names) {
    const heed_json all = open_golden(cx, file);
    struct counts n = {0};
    for (int k = 0; k < n_names; k++) {
        heed_model *m = load(cx, names[k]);
        heed_tokenizer *tokens = load_tokenizer(cx, names[k]);
        for (heed_json at = heed_json_first(all); heed_json_kind_of(at) != HEED_JSON_NONE; at = heed_json_next(at)) {
            struct call c = read_call(cx, at);
            c.opts.stop = c.stop, c.opts.stop_tokens = tokens;
            if (strcmp(c.model, names[k]) == 0) {
                heed_generated *g = generate(cx, m, c.source, c.n, c.of_directory ? NULL : &c.opts);
                assert_int_equal(g->n_best, heed_json_count(heed_json_item(cx, heed_json_array(cx, at, "ids"), 0)));
                compare(cx, m, &c, g, n.calls++);
                for (int64_t i = 0; i < c.n * g->n_best; i++) {
                    g->best[i].ended ? n.ended++ : n.cut++;
                    n.stopped += g->best[i].ended && holds_stop(cx, &c.opts, &g->best[i]);
                }
                heed_mem_free(cx, g);
            }
            free_call(cx, &c);
        }
        heed_tokenizer_free(cx, tokens);
        heed_model_free(cx, m);
    }
    assert_int_equal(n.calls, heed_json_count(all));
    heed_json_free(all);
    assert_false(heed_failed(cx));
    return n;
}

/* Rotary positions, also beyond the length where a scaling begins. */
static const char *const kin[] = {"gemma2-lm",  "gpt_neox-lm", "llama-dynamic", "llama-tied",
                                  "mistral-lm", "phi3-long",   "qwen2-lm",      "qwen3-lm"};
enum { KIN = sizeof kin / sizeof *kin };

static void test_golden(void **unused) {
    (void)unused;
    heed_ctx *cx = heed_open(&(heed_config){.threads = 2});
    struct counts n = compare_all(cx, "generate.json", models, MODELS);
    assert_true(n.ended > 50 && n.cut > 50);
    /* several end tokens, repetition penalty, stop texts, … */
    n = compare_all(cx, "generate_options.json", models, MODELS);
    assert_true(n.ended > 20 && n.stopped > 3);
    n = compare_all(cx, "generate_lm.json", models, MODELS); /* prompts of a decoder alone */
    assert_true(n.ended > 100 && n.cut > 10);
    n = compare_all(cx, "generate_t5.json", models, MODELS); /* biases by distance at the right places of the cache */
    assert_true(n.ended > 10 && n.cut > 10);
    n = compare_all(cx, "generate_kin.json", kin, KIN);
    assert_true(n.ended > 5 && n.cut > 20);
    heed_close(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_golden)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
