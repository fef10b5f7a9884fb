/* Sequences that go on past the model's positions: each token is the one that follows the last part of what came
 * before, as the header says which, computed from nothing; with others or alone, with and without the cache; why it
 * ends. */
#include "decode/generate_test.h"
#include "model/core/families.h"
#include "model/core/stepper.h"

enum { ROWS = 3 };
static const char *const families[] = {"gpt2-lm",   "llama-lm",       "llama-dynamic", "mistral-lm",
                                       "gemma2-lm", "gpt_neox-lm",    "phi3-long",     "performer-lm",
                                       "sparse-lm", "token-mixer-lm", "reformer-lm",   "gru-lm"};
enum { FAMILIES = sizeof families / sizeof *families };

static struct stepper_sizes sizes_of(const heed_model *m) { return heed_model_head(m)->stepper->sizes(model_own(m)); }

static heed_ids prompt(heed_ctx *cx, uint64_t stream, int64_t length) {
    heed_ids ids = {0};
    for (int64_t t = 0; t < length; t++)
        heed_ids_put(cx, &ids, (int32_t)(2 + heed_random_bits(9, stream, (uint64_t)t) % 9));
    return ids;
}

/* The tokens that the model sees of `ids`. */
static heed_ids window(heed_ctx *cx, const heed_ids *ids, int64_t positions, int64_t kept) {
    heed_ids seen = {0};
    int64_t part = (positions - kept + 1) / 2, gone = 0;
    if (part > 4) part -= part % 4;
    while (ids->count - gone > positions) gone += part;
    for (int64_t t = 0; t < ids->count - gone; t++) heed_ids_put(cx, &seen, ids->id[t < kept ? t : t + gone]);
    return seen;
}

/* Is each token of the answer the likeliest one, or as good as that, after what the model is to see? */
static void follows(heed_ctx *cx, const heed_model *m, heed_ids begin, const heed_hypothesis *h, int64_t kept) {
    const int64_t V = sizes_of(m).vocabulary;
    heed_ids all = {0};
    for (int64_t t = 0; t < begin.count; t++) heed_ids_put(cx, &all, begin.id[t]);
    for (int64_t t = 0; t < h->length; t++) {
        heed_ids seen = window(cx, &all, sizes_of(m).positions, kept);
        heed_session *s = heed_session_open(cx, m, NULL, 1);
        assert_true(heed_session_append(cx, s, &seen));
        const float *const logits = heed_session_logits(s, 0);
        float best = -INFINITY;
        for (int64_t i = 0; i < V; i++) best = fmaxf(best, logits[i]);
        if (!(logits[h->ids[t]] >= best - 1e-4f * (1 + fabsf(best))))
            fail_msg("token %d, after %d seen, is not what follows them", (int)t, (int)seen.count);
        heed_session_close(cx, s);
        heed_ids_free(cx, &seen);
        heed_ids_put(cx, &all, h->ids[t]);
    }
    heed_ids_free(cx, &all);
}

static void same(const heed_hypothesis *a, const heed_hypothesis *b) {
    assert_int_equal(a->length, b->length);
    assert_memory_equal(a->ids, b->ids, (size_t)a->length * sizeof *a->ids);
    assert_int_equal(a->finish, b->finish);
}

static heed_model *endless(heed_ctx *cx, const char *name, int32_t bos) {
    heed_model *m = load(cx, name);
    heed_json_put_null(cx, heed_model_decoding(m), "eos_token_id");
    bos < 0 ? heed_json_put_null(cx, heed_model_decoding(m), "bos_token_id")
            : heed_json_put_int(cx, heed_model_decoding(m), "bos_token_id", bos);
    return m;
}

static void test_families(void **unused) {
    (void)unused;
    for (int f = 0; f < FAMILIES; f++) {
        heed_ctx *cx = heed_open(&(heed_config){.threads = 2});
        heed_model *m = endless(cx, families[f], -1);
        const int64_t P = sizes_of(m).positions < 200 ? sizes_of(m).positions : 20;
        heed_ids begin[ROWS];
        for (int i = 0; i < ROWS; i++) begin[i] = prompt(cx, (uint64_t)i, 1 + i * (P - 1) / 2);
        heed_generate_opts o = {.beams = 1, .length_penalty = 1, .max_new_tokens = 2 * P + 3, .context_shift = true};
        heed_generated *together = generate(cx, m, begin, ROWS, &o);
        o.uncached = true;
        heed_generated *uncached = generate(cx, m, begin, ROWS, &o);
        o.uncached = false;
        for (int i = 0; i < ROWS; i++) {
            const heed_hypothesis *const h = &together->best[i];
            assert_int_equal(h->length, o.max_new_tokens);
            assert_int_equal(h->finish, HEED_FINISH_LENGTH);
            same(h, &uncached->best[i]);
            heed_generated *alone = generate(cx, m, &begin[i], 1, &o);
            same(h, &alone->best[0]);
            assert_memory_equal(&h->score, &alone->best[0].score, sizeof h->score);
            heed_mem_free(cx, alone);
            if (i > 0) follows(cx, m, begin[i], h, 0);
            heed_ids_free(cx, &begin[i]);
        }
        heed_mem_free(cx, together), heed_mem_free(cx, uncached);
        heed_model_free(cx, m);
        heed_close(cx);
    }
}

/* The bos token stays; a session may hold the beginning; samples share their prompt. */
static void test_beginnings(void **unused) {
    (void)unused;
    static const char *const models_[] = {"gpt2-lm", "llama-lm"};
    for (int k = 0; k < 2; k++) {
        heed_ctx *cx = heed_open(&(heed_config){.threads = 1});
        heed_model *m = endless(cx, models_[k], 3);
        const int64_t P = sizes_of(m).positions;
        heed_ids begin = prompt(cx, 1, P);
        begin.id[0] = 3;
        heed_generate_opts o = {.beams = 1, .max_new_tokens = P + 9, .context_shift = true};
        heed_generated *g = generate(cx, m, &begin, 1, &o);
        follows(cx, m, begin, &g->best[0], 1);
        heed_session *s = heed_session_open(cx, m, NULL, 1);
        assert_true(heed_session_append(cx, s, &(heed_ids){.id = begin.id, .count = P - 2}));
        heed_generated *from = heed_generate_from(cx, s, &(heed_ids){.id = begin.id + P - 2, .count = 2}, 1, &o);
        if (!from) fail_msg("%s", heed_message(cx));
        same(&g->best[0], &from->best[0]);
        heed_mem_free(cx, from);
        o.sample = true, o.n_best = 3, o.top_k = 1; /* which draws what greedy search takes */
        from = generate(cx, m, &begin, 1, &o);
        for (int i = 0; i < 3; i++) same(&g->best[0], &from->best[i]);
        heed_mem_free(cx, from), heed_mem_free(cx, g);
        heed_session_close(cx, s);
        heed_ids_free(cx, &begin);
        heed_model_free(cx, m);
        heed_close(cx);
    }
}

static bool five(void *user, int64_t sequence, int32_t token) {
    (void)sequence, (void)token;
    return ++*(int *)user < 5;
}

/* Why sequences end, and which do not slide. */
static void test_ends(void **unused) {
    (void)unused;
    heed_ctx *cx = heed_open(&(heed_config){.threads = 1});
    heed_model *m = endless(cx, "gpt2-lm", -1), *translator = endless(cx, "bart", 2);
    const int64_t P = sizes_of(m).positions;
    heed_ids begin = prompt(cx, 2, 4), longer = prompt(cx, 2, P + 1);
    int told = 0;
    const struct {
        heed_generate_opts o;
        int64_t length;
        heed_finish why;
    } ways[] = {
        {{.max_new_tokens = P + 1, .fit = true}, P - 4, HEED_FINISH_CONTEXT},
        {{.max_length = P + 1, .fit = true}, P - 4, HEED_FINISH_CONTEXT},
        {{.fit = true}, P - 4, HEED_FINISH_CONTEXT},
        {{.max_new_tokens = P - 4, .fit = true}, P - 4, HEED_FINISH_LENGTH},
        {{.max_length = P}, P - 4, HEED_FINISH_LENGTH},
        {{.max_length = P + 8, .context_shift = true}, P + 4, HEED_FINISH_LENGTH},
        {{.max_new_tokens = 6, .on_token = five, .user = &told}, 5, HEED_FINISH_CALLER},
        {{.beams = 2, .max_new_tokens = P + 1, .fit = true, .context_shift = true}, P - 4, HEED_FINISH_CONTEXT},
    };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        heed_generate_opts o = ways[i].o;
        if (o.beams == 0) o.beams = 1;
        heed_generated *g = generate(cx, m, &begin, 1, &o);
        assert_int_equal(g->best[0].length, ways[i].length);
        assert_int_equal(g->best[0].finish, ways[i].why);
        assert_false(g->best[0].ended);
        heed_mem_free(cx, g);
    }
    heed_generate_opts o = {.beams = 1, .max_new_tokens = 500, .fit = true, .context_shift = true};
    heed_generated *g = generate(cx, translator, &begin, 1, &o);
    assert_int_equal(g->best[0].finish, HEED_FINISH_CONTEXT);
    heed_mem_free(cx, g);
    assert_null(heed_generate(cx, m, &longer, 1, &o));
    EXPECT_SENTENCE(cx, "generate: prompt 0 has ");
    o.beams = 2, o.fit = false;
    assert_null(heed_generate(cx, m, &begin, 1, &o));
    EXPECT_SENTENCE(cx, "generate: 500 new tokens are not fewer than the model's ");
    assert_string_equal(heed_finish_name(HEED_FINISH_CONTEXT), "context");
    assert_string_equal(heed_finish_name((heed_finish)9), "");
    heed_ids_free(cx, &begin), heed_ids_free(cx, &longer);
    heed_model_free(cx, m), heed_model_free(cx, translator);
    heed_close(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_families), cmocka_unit_test(test_beginnings),
                                       cmocka_unit_test(test_ends)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
