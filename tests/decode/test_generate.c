/* Decoding: the same for any number of threads, any batch, and without the cache; sampling against the probabilities it
 * should have; what memory it takes; and what it refuses. */
#include "decode/generate_test.h"

/* ---- whatever the way, the same ---- */

static void same(const heed_generated *a, const heed_generated *b, bool bits) {
    assert_int_equal(a->n_best, b->n_best);
    for (int64_t i = 0; i < a->sentences * a->n_best; i++) {
        const heed_hypothesis *x = &a->best[i], *y = &b->best[i];
        assert_int_equal(x->length, y->length);
        assert_int_equal(x->ended, y->ended);
        assert_memory_equal(x->ids, y->ids, (size_t)x->length * sizeof *x->ids);
        if (bits) assert_memory_equal(&x->score, &y->score, sizeof x->score);
        if (!(x->score == y->score || fabsf(x->score - y->score) <= 1e-4f)) fail_msg("another score");
    }
}

static heed_ids sentence(heed_ctx *cx, uint64_t stream, int64_t length) {
    heed_ids ids = {0};
    for (int64_t t = 0; t < length; t++)
        heed_ids_put(cx, &ids, (int32_t)(2 + heed_random_bits(5, stream, (uint64_t)t) % 15));
    return ids;
}

static const heed_generate_opts ways[] = {
    {.beams = 1, .length_penalty = 1},
    {.beams = 5, .length_penalty = 1, .n_best = 5},
    {.beams = 3, .length_penalty = 0.6f, .n_best = 2, .no_repeat_ngram = 2},
    {.beams = 1, .sample = true, .n_best = 3, .seed = 3, .temperature = 1.5f, .top_k = 9, .top_p = 0.9f},
    {.beams = 1, .sample = true, .seed = 4},
    {.beams = 4, .length_penalty = 1, .repetition_penalty = 1.4f, .n_best = 2},
    {.beams = 1, .sample = true, .seed = 5, .repetition_penalty = 1.4f, .min_p = 0.05f},
};
enum { WAYS = sizeof ways / sizeof *ways };

static void test_same(void **unused) {
    (void)unused;
    static const int threads[] = {1, 3, 2, 8}; /* of the first model all, of the others two */
    for (int k = 0; k < MODELS; k++)
        for (int w = 0; w < WAYS; w++) {
            heed_ctx *first_cx = NULL;
            heed_generated *first = NULL;
            for (int t = 0; t < (k == 0 ? 4 : 2); t++) {
                heed_ctx *cx = heed_open(&(heed_config){.threads = threads[t]});
                heed_model *m = load(cx, models[k]);
                heed_ids source[SOURCES];
                for (int i = 0; i < SOURCES; i++) source[i] = sentence(cx, (uint64_t)i, 1 + i * 5 % 13);
                heed_generate_opts o = ways[w];
                if (strstr(models[k], "t5")) o.max_length = 32; /* it has no positions that end it */
                heed_generated *g = generate(cx, m, source, SOURCES, &o);
                if (first) same(first, g, true);
                for (o.batch = 1; t == 0 && o.batch < 4; o.batch += 2) { /* batches cut otherwise */
                    heed_generated *other = generate(cx, m, source, SOURCES, &o);
                    same(g, other, true);
                    heed_mem_free(cx, other);
                }
                o.batch = 0, o.uncached = true;
                if (t == 0) {
                    heed_generated *other = generate(cx, m, source, SOURCES, &o);
                    same(g, other, false);
                    heed_mem_free(cx, other);
                }
                o.uncached = false;
                for (int i = 0; t == 0 && !o.sample && i < SOURCES; i++) { /* sentences one by one */
                    heed_generated *alone = generate(cx, m, &source[i], 1, &o);
                    const heed_generated part = {1, g->n_best, g->best + i * g->n_best};
                    same(&part, alone, true);
                    heed_mem_free(cx, alone);
                }
                for (int i = 0; i < SOURCES; i++) heed_ids_free(cx, &source[i]);
                heed_model_free(cx, m);
                if (first) {
                    heed_mem_free(cx, g);
                    heed_close(cx);
                } else {
                    first = g, first_cx = cx;
                }
            }
            heed_mem_free(first_cx, first);
            heed_close(first_cx);
        }
}

/* ---- sampling ---- */

/* The probabilities of the first token, worked out the long way. */
static void first_probabilities(heed_ctx *cx, const heed_model *m, const heed_ids *source, const heed_generate_opts *o,
                                double *p, int64_t V) {
    const int32_t start = (int32_t)heed_json_int(cx, heed_model_config(m), "decoder_start_token_id");
    heed_io in = {0}, out;
    heed_io_put(cx, &in, "input_ids", heed_from_i32(cx, source->id, 2, (int64_t[]){1, source->count}));
    heed_io_put(cx, &in, "decoder_input_ids", heed_from_i32(cx, &start, 2, (int64_t[]){1, 1}));
    assert_true(heed_model_forward(cx, m, &in, &out));
    const float *x = heed_f32(heed_io_get(&out, "logits"));
    double total = 0, nucleus = 0;
    for (int64_t i = 0; i < V; i++) {
        int64_t above = 0;
        for (int64_t j = 0; j < V; j++) above += x[j] > x[i];
        p[i] = o->top_k && above >= o->top_k ? 0 : exp((double)x[i] / (double)o->temperature);
        total += p[i];
    }
    bool *kept = calloc((size_t)V, sizeof *kept);
    for (int64_t i = 0; i < V; i++) {
        double above = 0;
        for (int64_t j = 0; j < V; j++)
            if (x[j] > x[i]) above += p[j];
        kept[i] = above < (double)o->top_p * total;
        if (kept[i]) nucleus += p[i];
    }
    double largest = 0, left = 0;
    for (int64_t i = 0; i < V; i++) p[i] = kept[i] ? p[i] / nucleus : 0, largest = fmax(largest, p[i]);
    for (int64_t i = 0; i < V; i++) p[i] = p[i] < (double)o->min_p * largest ? 0 : p[i], left += p[i];
    for (int64_t i = 0; i < V; i++) p[i] /= left;
    free(kept);
}

static void test_samples(void **unused) {
    (void)unused;
    enum { V = 23, DRAWS = 4000 };
    static const heed_generate_opts draws[] = {
        {.temperature = 1, .top_p = 1},
        {.temperature = 3, .top_p = 1},
        {.temperature = 2, .top_p = 1, .top_k = 4},
        {.temperature = 2, .top_p = 0.7f},
        {.temperature = 2, .top_p = 0.8f, .top_k = 6},
        {.temperature = 1, .top_p = 1, .min_p = 0.1f},
        {.temperature = 2, .top_p = 0.95f, .top_k = 12, .min_p = 0.3f},
    };
    heed_ctx *cx = heed_open(&(heed_config){.threads = 2});
    heed_model *m = load(cx, "marian-shared");
    heed_ids source = sentence(cx, 3, 6);
    for (size_t d = 0; d < sizeof draws / sizeof *draws; d++) {
        heed_generate_opts o = draws[d];
        o.beams = 1, o.sample = true, o.n_best = DRAWS, o.max_length = 2, o.seed = 11 + d, o.batch = DRAWS;
        double p[V];
        first_probabilities(cx, m, &source, &o, p, V);
        heed_generated *g = generate(cx, m, &source, 1, &o);
        int seen[V] = {0};
        for (int i = 0; i < DRAWS; i++) seen[g->best[i].ended ? 0 : g->best[i].ids[0]]++; /* 0 is the end here */
        int kinds = 0;
        for (int i = 0; i < V; i++) {
            kinds += seen[i] > 0;
            if (p[i] == 0) assert_int_equal(seen[i], 0);
            const double deviation = sqrt(p[i] * (1 - p[i]) / DRAWS);
            if (!(fabs(seen[i] / (double)DRAWS - p[i]) <= 5 * deviation + 1e-9))
                fail_msg("way %d: token %d came %d times of %d, not %g", (int)d, i, seen[i], DRAWS, p[i] * DRAWS);
        }
        assert_true(kinds > 1);
        heed_mem_free(cx, g);
    }
    /* the likeliest token alone is greedy; another seed is another sample */
    const heed_generate_opts top = {.beams = 1, .length_penalty = 1, .sample = true, .top_k = 1},
                             tiny = {.beams = 1, .length_penalty = 1, .sample = true, .top_p = 1e-6f};
    heed_generated *greedy = generate(cx, m, &source, 1, NULL), *a = generate(cx, m, &source, 1, &top),
                   *b = generate(cx, m, &source, 1, &tiny);
    same(greedy, a, true);
    same(greedy, b, true);
    heed_mem_free(cx, greedy), heed_mem_free(cx, a), heed_mem_free(cx, b);
    heed_generate_opts o = {.beams = 1, .sample = true, .temperature = 4, .min_length = 20, .seed = 1};
    a = generate(cx, m, &source, 1, &o);
    o.seed = 2;
    b = generate(cx, m, &source, 1, &o);
    assert_memory_not_equal(a->best[0].ids, b->best[0].ids, 15 * sizeof(int32_t));
    heed_mem_free(cx, a), heed_mem_free(cx, b);
    heed_ids_free(cx, &source);
    heed_model_free(cx, m);
    heed_close(cx);
}

/* ---- rules that allow little ---- */

static void test_few(void **unused) {
    (void)unused;
    heed_ctx *cx = heed_open(&(heed_config){.threads = 1});
    heed_model *m = load(cx, "marian-apart"); /* 17 tokens */
    heed_ids source = sentence(cx, 1, 5);
    /* no token twice, so that there is nothing to say after 17; more beams than tokens to begin with */
    const heed_generate_opts o = {.beams = 17, .n_best = 17, .no_repeat_ngram = 1, .length_penalty = 1};
    heed_generated *g = generate(cx, m, &source, 1, &o);
    for (int i = 0; i < 17; i++) {
        const heed_hypothesis *h = &g->best[i];
        assert_true(i == 0 || h->score <= g->best[i - 1].score);
        assert_true(h->length <= 16);
        for (int64_t t = 0; t < h->length; t++)
            for (int64_t u = 0; u < t; u++) assert_int_not_equal(h->ids[t], h->ids[u]);
    }
    heed_mem_free(cx, g);
    const heed_generate_opts stuck = {.beams = 1, .no_repeat_ngram = 1, .min_length = 32, .length_penalty = 1};
    g = generate(cx, m, &source, 1, &stuck); /* may not end, and has nothing left to say */
    assert_int_equal(g->best[0].length, 15);
    assert_false(g->best[0].ended);
    heed_mem_free(cx, g);
    g = generate(cx, m, &source, 0, NULL);
    assert_int_equal(g->sentences, 0);
    heed_mem_free(cx, g);
    heed_ids_free(cx, &source);
    heed_model_free(cx, m);
    heed_close(cx);
}

/* min_length counts the start token: to ask for what comes by itself changes nothing, for one more changes the end. */
static void test_least(void **unused) {
    (void)unused;
    heed_ctx *cx = heed_open(&(heed_config){.threads = 1});
    int met = 0;
    for (int k = 0; k < 2; k++) {
        heed_model *m = load(cx, models[k]);
        for (uint64_t i = 0; i < 30; i++) {
            heed_ids source = sentence(cx, i, 2 + (int64_t)i % 7);
            heed_generate_opts o = {.beams = 1, .length_penalty = 1, .no_repeat_ngram = 2};
            heed_generated *free_one = generate(cx, m, &source, 1, &o);
            const int64_t length = free_one->best[0].length;
            if (free_one->best[0].ended && length < 28) {
                met++;
                o.min_length = length + 1;
                heed_generated *g = generate(cx, m, &source, 1, &o);
                same(free_one, g, true);
                heed_mem_free(cx, g);
                o.min_length++;
                g = generate(cx, m, &source, 1, &o);
                assert_true(g->best[0].length > length);
                heed_mem_free(cx, g);
            }
            heed_mem_free(cx, free_one);
            heed_ids_free(cx, &source);
        }
        heed_model_free(cx, m);
    }
    assert_true(met > 5);
    heed_close(cx);
}

/* ---- what the directory says ---- */

/* Saved and opened again, a directory whose rules are in a file of their own has it still; config.json is not asked. */
static void test_directory(void **unused) {
    (void)unused;
    heed_ctx *cx = heed_open(&(heed_config){.threads = 1});
    heed_model *m = load(cx, "pegasus");
    char dir[512];
    snprintf(dir, sizeof dir, "%s", in_folder("saved"));
    assert_true(heed_model_save(cx, m, dir));
    heed_model *again = heed_model_load(cx, dir);
    if (!again) fail_msg("%s", heed_message(cx));
    assert_int_equal(heed_json_int(cx, heed_model_decoding(again), "forced_bos_token_id"), 5);
    assert_int_equal(heed_json_kind_of(heed_json_find(cx, heed_model_config(again), "forced_bos_token_id")),
                     HEED_JSON_NULL);
    heed_ids source = sentence(cx, 1, 5);
    heed_generated *a = generate(cx, m, &source, 1, NULL), *b = generate(cx, again, &source, 1, NULL);
    same(a, b, true);
    assert_int_equal(a->best[0].ids[0], 5);
    heed_mem_free(cx, a), heed_mem_free(cx, b);

    /* no end: all of max_length is said */
    assert_true(heed_json_put_null(cx, heed_model_decoding(again), "eos_token_id"));
    const heed_generate_opts o = {.beams = 2, .length_penalty = 1, .max_length = 20, .min_length = 3};
    b = generate(cx, again, &source, 1, &o);
    assert_int_equal(b->best[0].length, 19);
    assert_false(b->best[0].ended);
    heed_mem_free(cx, b);
    /* bos stands in for the start token; without both there is nothing to begin with */
    assert_true(heed_json_put_null(cx, heed_model_decoding(again), "decoder_start_token_id"));
    assert_null(heed_generate(cx, again, &source, 1, NULL));
    EXPECT_SENTENCE(cx, "generate: the model's directory gives neither decoder_start_token_id nor bos_token_id");
    assert_true(heed_json_put_int(cx, heed_model_decoding(again), "bos_token_id", 3));
    assert_true(heed_json_put_int(cx, heed_model_decoding(again), "eos_token_id", 1));
    a = generate(cx, m, &source, 1, NULL), b = generate(cx, again, &source, 1, NULL);
    same(a, b, true);
    heed_mem_free(cx, a), heed_mem_free(cx, b);
    heed_ids_free(cx, &source);
    heed_model_free(cx, m);
    heed_model_free(cx, again);
    heed_close(cx);
}

static char noted[200];
static void note(void *user, heed_log_level level, const char *words) {
    (void)user;
    if (level == HEED_LOG_WARN) snprintf(noted, sizeof noted, "%s", words);
}

/* Options of the directory override those that they are added to; what is missing or null overrides nothing. */
static void test_config(void **unused) {
    (void)unused;
    heed_ctx *cx = heed_open(&(heed_config){.threads = 1, .log = note});
    heed_model *m = load(cx, "marian-options"), *bare = load(cx, "marian-shared");
    const heed_generate_opts before = {.beams = 7, .length_penalty = 2, .top_k = 3, .seed = 9, .min_length = 2};
    heed_generate_opts o = before;
    assert_true(heed_generate_config(cx, bare, &o));
    assert_memory_equal(&o, &before, sizeof o);
    assert_true(heed_generate_config(cx, m, &o));
    assert_int_equal(o.beams, 3);
    assert_int_equal(o.n_best, 2);
    assert_true(o.length_penalty == 0.7f && o.repetition_penalty == 1.3f);
    assert_int_equal(o.early_stopping, HEED_STOP_EARLY);
    assert_int_equal(o.max_length, 0);
    assert_int_equal(o.min_length, 2);
    assert_int_equal(o.max_new_tokens, 19);
    assert_int_equal(o.min_new_tokens, 4);
    assert_int_equal(o.no_repeat_ngram, 3);
    assert_false(o.sample);
    assert_int_equal(o.top_k, 3);
    assert_int_equal(o.seed, 9);
    assert_string_equal(noted, "");

    const heed_json at = heed_model_decoding(m);
    heed_json_put_text(cx, at, "early_stopping", "never");
    heed_json_put_bool(cx, at, "do_sample", true);
    heed_json_put_number(cx, at, "temperature", 0.5);
    heed_json_put_number(cx, at, "min_p", 0.25);
    heed_json_put_int(cx, at, "guidance_scale", 1); /* which does nothing */
    assert_true(heed_generate_config(cx, m, &o));
    assert_int_equal(o.early_stopping, HEED_STOP_NEVER_EARLY);
    assert_true(o.sample && o.temperature == 0.5f && o.min_p == 0.25f);
    assert_int_equal(o.top_k, 50); /* as in transformers */
    assert_string_equal(noted, "");
    heed_json_put_number(cx, at, "guidance_scale", 1.5);
    heed_json_put_int(cx, at, "top_k", 0);
    assert_true(heed_generate_config(cx, m, &o));
    assert_int_equal(o.top_k, 0);
    assert_string_equal(noted, "generate: 'guidance_scale' of the model's directory is not supported and ignored");

    heed_json_put_text(cx, at, "num_beams", "three");
    o = before;
    assert_false(heed_generate_config(cx, m, &o));
    EXPECT_SENTENCE(cx, "num_beams: ");
    assert_memory_equal(&o, &before, sizeof o);
    assert_false(heed_generate_config(cx, NULL, &o));
    EXPECT_SENTENCE(cx, "generate: a model and options are needed");
    heed_json_put_int(cx, at, "num_beams", 3);
    heed_json_put_bool(cx, at, "do_sample", false);
    heed_ids source = sentence(cx, 1, 4);
    const heed_json ends = heed_json_array(cx, at, "eos_token_id");
    heed_json_put_int(cx, ends, NULL, 41);
    assert_null(heed_generate(cx, m, &source, 1, NULL));
    EXPECT_SENTENCE(cx, "token 41 is not below the vocabulary size, 41");
    heed_ids_free(cx, &source);
    heed_model_free(cx, bare);
    heed_model_free(cx, m);
    heed_close(cx);
}

/* ---- memory ---- */

static heed_memory use_of(heed_ctx *cx, const heed_model *m, const heed_ids *source, int64_t length) {
    const heed_generate_opts o = {
        .beams = 4, .length_penalty = 1, .max_length = length, .min_length = length, .no_repeat_ngram = 2};
    const heed_memory before = heed_memory_use(cx);
    heed_memory_reset_peak(cx);
    heed_generated *g = generate(cx, m, source, SOURCES, &o);
    for (int i = 0; i < SOURCES; i++) assert_true(g->best[i].length + 2 >= length);
    heed_mem_free(cx, g);
    const heed_memory after = heed_memory_use(cx);
    assert_int_equal(after.step, before.step);
    return after;
}

static void test_memory(void **unused) {
    (void)unused;
    heed_ctx *cx = heed_open(&(heed_config){.threads = 2});
    heed_model *m = load(cx, "marian-forced");
    heed_ids source[SOURCES];
    for (int i = 0; i < SOURCES; i++) source[i] = sentence(cx, (uint64_t)i, 6 + i % 3);
    use_of(cx, m, source, 60);
    const heed_memory few = use_of(cx, m, source, 8), many = use_of(cx, m, source, 60);
    assert_int_equal(few.step_peak, many.step_peak);
    assert_int_equal(few.held, many.held);
    /* gradients are asked for and training is on: neither is heard, and both are so afterwards */
    heed_set_training(cx, true);
    assert_int_equal(use_of(cx, m, source, 60).step_peak, many.step_peak);
    assert_true(heed_set_training(cx, false));
    assert_true(heed_set_grad(cx, true));
    for (int i = 0; i < SOURCES; i++) heed_ids_free(cx, &source[i]);
    heed_model_free(cx, m);
    heed_close(cx);
}

/* A dry context counts what is taken when no sentence ends before it must. */
static void test_planned(void **unused) {
    (void)unused;
    size_t peak[2];
    for (int dry = 0; dry < 2; dry++) {
        heed_ctx *cx = heed_open(&(heed_config){.threads = 2, .dry = dry});
        heed_model *m = load(cx, "marian-forced");
        heed_ids source[SOURCES];
        for (int i = 0; i < SOURCES; i++) source[i] = sentence(cx, (uint64_t)i, 6 + i % 3);
        const size_t held = heed_memory_use(cx).held;
        peak[dry] = use_of(cx, m, source, 60).held_peak - held;
        for (int i = 0; i < SOURCES; i++) heed_ids_free(cx, &source[i]);
        heed_model_free(cx, m);
        heed_close(cx);
    }
    assert_true(peak[0] > 100000);
    assert_int_equal(peak[0], peak[1]);
}

/* Refuses the first request for memory, then the second, … */
static void test_starved(void **unused) {
    (void)unused;
    int failed = 0;
    for (int64_t n = 1;; n++) {
        heed_ctx *cx = open_context();
        heed_model *m = load(cx, "marian-options");
        heed_tokenizer *tokens = load_tokenizer(cx, "marian-options");
        heed_ids source[] = {sentence(cx, 1, 4), sentence(cx, 2, 9), sentence(cx, 3, 4)};
        const size_t blocks = books.blocks;
        books.fail_at = books.requests + n;
        const heed_generate_opts o = {.beams = 3,
                                      .n_best = 2,
                                      .length_penalty = 1,
                                      .batch = 2,
                                      .repetition_penalty = 1.1f,
                                      .max_length = 12,
                                      .stop = (const char *const[]){"gun"},
                                      .n_stop = 1,
                                      .stop_tokens = tokens};
        heed_generated *g = heed_generate(cx, m, source, 3, &o);
        const bool refused = books.requests >= books.fail_at;
        books.fail_at = 0;
        assert_int_equal(g == NULL, heed_failed(cx)); /* the arena may do without some */
        if (!g) assert_int_equal(heed_error(cx), HEED_ERR_MEMORY);
        failed += !g;
        heed_mem_free(cx, g);
        heed_clear(cx);
        g = generate(cx, m, source, 3, &o); /* as if nothing had been */
        heed_mem_free(cx, g);
        assert_true(books.blocks >= blocks);
        assert_true(heed_set_grad(cx, true));
        for (int i = 0; i < 3; i++) heed_ids_free(cx, &source[i]);
        heed_tokenizer_free(cx, tokens);
        heed_model_free(cx, m);
        close_context(cx);
        if (!refused) break;
        assert_true(n < 1000);
    }
    assert_true(failed > 10);
}

/* Options of zeros are all defaults: greedy decoding. */
static void test_no_options(void **unused) {
    (void)unused;
    heed_ctx *cx = open_context();
    heed_model *m = load(cx, "marian-shared");
    heed_ids source = sentence(cx, 1, 4);
    heed_generated *zero = heed_generate(cx, m, &source, 1, &(heed_generate_opts){0});
    heed_generated *one = heed_generate(cx, m, &source, 1, &(heed_generate_opts){.beams = 1});
    if (!zero || !one) fail_msg("%s", heed_message(cx));
    assert_int_equal(zero->best->length, one->best->length);
    assert_memory_equal(zero->best->ids, one->best->ids, (size_t)one->best->length * sizeof *one->best->ids);
    heed_mem_free(cx, zero);
    heed_mem_free(cx, one);
    heed_ids_free(cx, &source);
    heed_model_free(cx, m);
    close_context(cx);
}

/* ---- bad input ---- */

static void test_bad_input(void **unused) {
    (void)unused;
    static const char *const a_text[] = {"a"};
    static const struct {
        heed_generate_opts opts;
        const char *words;
    } bad[] = {
        {{.beams = -1}, "generate: a beam width of -1 is not between 1 and the vocabulary size, 23"},
        {{.beams = 24}, "generate: a beam width of 24"},
        {{.beams = 2, .n_best = 3}, "generate: n_best of 3 is not between 1 and the beam width, 2"},
        {{.beams = 1, .n_best = -1}, "generate: n_best of -1"},
        {{.beams = 2, .sample = true}, "generate: sampling needs a beam width of 1, not 2"},
        {{.beams = 1, .top_p = 1.5f}, "generate: a top_p of 1.5 is not between 0 and 1"},
        {{.beams = 1, .top_p = -1}, "generate: a top_p of -1 is not between 0 and 1"},
        {{.beams = 1, .top_p = NAN}, "generate: a top_p of nan is not between 0 and 1"},
        {{.beams = 1, .temperature = -1}, "generate: a temperature of -1 is not a positive number"},
        {{.beams = 1, .top_k = -1}, "top_k -1"},
        {{.beams = 1, .min_p = 1.5f}, "generate: a min_p of 1.5 is not between 0 and 1"},
        {{.beams = 1, .repetition_penalty = -1}, "generate: a repetition penalty of -1 is not a positive number"},
        {{.beams = 1, .n_stop = 1, .stop = a_text}, "generate: stop texts need a tokenizer"},
        {{.beams = 1, .max_length = 33}, "a max_length of 33 is not between 2 and the model's 32 positions"},
        {{.beams = 1, .max_length = 1}, "a max_length of 1 is not"},
        {{.beams = 1, .max_length = 9, .min_length = 10}, "a min_length of 10 is not between 0 and max_length, 9"},
        {{.beams = 1, .length_penalty = NAN}, "a length penalty of nan"},
        {{.beams = 1, .early_stopping = (heed_early_stopping)7}, "7 is not a kind of early stopping"},
    };
    heed_ctx *cx = open_context();
    heed_model *m = load(cx, "marian-shared");
    heed_ids good = sentence(cx, 1, 4), empty = {0}, long_one = sentence(cx, 1, 33), strange = sentence(cx, 1, 4);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_null(heed_generate(cx, m, &good, 1, &bad[i].opts));
        EXPECT_SENTENCE(cx, bad[i].words);
    }
    strange.id[2] = 23;
    heed_ids two[] = {good, empty};
    assert_null(heed_generate(cx, m, two, 2, NULL));
    EXPECT_SENTENCE(cx, "generate: sentence 1 is empty");
    assert_null(heed_generate(cx, m, &long_one, 1, NULL));
    EXPECT_SENTENCE(cx, "generate: sentence 0 has 33 tokens: the model has positions for 32");
    assert_null(heed_generate(cx, m, &strange, 1, NULL));
    EXPECT_SENTENCE(cx, "generate: sentence 0: token 23 at position 2 is not below the vocabulary size, 23");
    assert_null(heed_generate(cx, NULL, &good, 1, NULL));
    EXPECT_SENTENCE(cx, "generate: the model is NULL");
    assert_null(heed_generate(cx, m, NULL, 1, NULL));
    EXPECT_SENTENCE(cx, "generate: the input is NULL");

    heed_model *mlp =
        heed_model_new(cx, heed_family_find("mlp"), (const char *[]){"input_size=2", "output_size=1"}, 2, 1);
    assert_non_null(mlp);
    assert_null(heed_generate(cx, mlp, &good, 1, NULL));
    EXPECT_SENTENCE(cx, "generate: HeedMlp of mlp cannot decode");
    heed_model_free(cx, mlp);

    assert_true(heed_json_put_int(cx, heed_model_config(m), "forced_eos_token_id", 99));
    assert_null(heed_generate(cx, m, &good, 1, NULL));
    EXPECT_SENTENCE(cx, "forced_eos_token_id: token 99 is not one of the 23 there are");
    assert_true(heed_json_put_null(cx, heed_model_config(m), "forced_eos_token_id"));
    assert_true(heed_json_put_text(cx, heed_model_config(m), "bad_words_ids", "none"));
    assert_null(heed_generate(cx, m, &good, 1, NULL));
    EXPECT_SENTENCE(cx, "bad_words_ids: expected");
    const heed_json words = heed_json_put_array(cx, heed_model_config(m), "bad_words_ids");
    heed_json_put_array(cx, words, NULL);
    assert_null(heed_generate(cx, m, &good, 1, NULL));
    EXPECT_SENTENCE(cx, "bad_words_ids[0]: expected a list of tokens");
    assert_true(heed_json_put_null(cx, heed_model_config(m), "bad_words_ids"));

    heed_params_block(heed_model_params(m))[3] = NAN;
    assert_null(heed_generate(cx, m, &good, 1, NULL));
    EXPECT_SENTENCE(cx, "generate: sentence 0: the model's logits are not numbers");
    heed_ids_free(cx, &good), heed_ids_free(cx, &long_one), heed_ids_free(cx, &strange);
    heed_model_free(cx, m);
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same),      cmocka_unit_test(test_samples),   cmocka_unit_test(test_few),
        cmocka_unit_test(test_least),     cmocka_unit_test(test_directory), cmocka_unit_test(test_config),
        cmocka_unit_test(test_memory),    cmocka_unit_test(test_planned),   cmocka_unit_test(test_starved),
        cmocka_unit_test(test_bad_input), cmocka_unit_test(test_no_options)};
    return cmocka_run_group_tests(tests, make_folder, wipe_folder);
}
