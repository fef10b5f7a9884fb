/* Decoding with windows and blocks: the cache changes nothing, whatever pieces tokens come in; a row has the same bits
 * with others as alone; rows are forked and reordered; of a window, memory does not grow with the length; memory is
 * planned, and may be refused. */
#include "heed/generate.h"
#include "heed/model.h"
#include "io/io_test.h"

enum { ROWS = 3, V = 11, POSITIONS = 700 };
#define SETTINGS                                                                                                       \
    "vocab_size=11", "hidden_size=8", "num_hidden_layers=2", "intermediate_size=6", "num_attention_heads=2",           \
        "max_position_embeddings=700", "initializer_range=0.4"
static const char *const patterns[][5] = {
    {"attention_window=1"},
    {"attention_window=5"},
    {"attention_window=300"},
    {"attention_window=600"}, /* kept whole */
    {"global_blocks=0"},      /* neither window nor blocks */
    {"attention_block=1", "window_blocks=3", "random_blocks=2"},
    {"attention_block=4", "random_blocks=1", "attention_seed=5"},
    {"attention_block=7", "window_blocks=0", "global_blocks=0"},
    {"attention_block=64", "window_blocks=2", "global_blocks=2", "random_blocks=3"},
    {"attention_block=900"},
};
enum { PATTERNS = sizeof patterns / sizeof *patterns };

static heed_model *make(heed_ctx *cx, int pattern, const char *more) {
    const heed_family *family = heed_family_find("sparse");
    const char *settings[16] = {SETTINGS};
    int n = 7;
    for (int i = 0; i < 5 && patterns[pattern][i]; i++) settings[n++] = patterns[pattern][i];
    if (more) settings[n++] = more;
    heed_model *m = heed_model_new_as(cx, family, heed_head_for(family, "lm"), settings, n, 7);
    if (!m) fail_msg("%s", heed_message(cx));
    return m;
}

static void check(heed_ctx *cx, bool right) {
    if (!right) fail_msg("%s", heed_message(cx));
}

static heed_session *open_session(heed_ctx *cx, const heed_model *m, int64_t n) {
    heed_session *s = heed_session_open(cx, m, NULL, n);
    check(cx, s != NULL);
    return s;
}

static int32_t tokens[ROWS][POSITIONS];
static void draw_tokens(void) {
    for (int r = 0; r < ROWS; r++)
        for (int t = 0; t < POSITIONS; t++) tokens[r][t] = (int32_t)(heed_random_bits(3, (uint64_t)r, (uint64_t)t) % V);
}

/* logits (n,V) of a row, by forward */
static void forward(heed_ctx *cx, const heed_model *m, int row, int64_t n, float *logits) {
    heed_io in = {0}, out = {0};
    heed_set_grad(cx, false);
    heed_io_put(cx, &in, "input_ids", heed_from_i32(cx, tokens[row], 2, (int64_t[]){1, n}));
    check(cx, heed_model_forward(cx, m, &in, &out));
    check(cx, heed_copy_f32(cx, heed_io_get(&out, "logits"), logits, n * V));
    heed_reset(cx);
}

static void near(const float *got, const float *want, int pattern, int64_t n) {
    for (int64_t v = 0; v < V; v++)
        if (!(fabsf(got[v] - want[v]) <= 1e-4f + 1e-4f * fabsf(want[v])))
            fail_msg("%s: after %d tokens a logit is %g, not %g", patterns[pattern][0], (int)n, (double)got[v],
                     (double)want[v]);
}

/* How many tokens row r takes in a step: often one, sometimes none or many. */
static int64_t taken(int r, int step, int64_t left) {
    static const int64_t pieces[] = {3, 1, 1, 0, 70, 1, 5, 1, 1, 90, 1, 17};
    const int64_t n = pieces[heed_random_bits(11, (uint64_t)r, (uint64_t)step) % 12];
    return n < left ? n : left;
}

static void test_pieces(void **state) {
    (void)state;
    static const int64_t lengths[ROWS] = {40, POSITIONS, 333};
    static float want[ROWS][POSITIONS * V];
    for (int i = 0; i < PATTERNS; i++) {
        heed_ctx *cx = open_context();
        heed_model *m = make(cx, i, NULL);
        heed_session *s = open_session(cx, m, ROWS), *alone[ROWS];
        int64_t held[ROWS] = {0};
        for (int r = 0; r < ROWS; r++) {
            alone[r] = open_session(cx, m, 1);
            forward(cx, m, r, lengths[r], want[r]);
        }
        for (int step = 0; held[1] < POSITIONS; step++) {
            heed_ids some[ROWS];
            int64_t all = 0;
            for (int r = 0; r < ROWS; r++) {
                some[r] = (heed_ids){.id = tokens[r] + held[r], .count = taken(r, step, lengths[r] - held[r])};
                held[r] += some[r].count, all += some[r].count;
            }
            if (all == 0) continue;
            check(cx, heed_session_append(cx, s, some));
            for (int r = 0; r < ROWS; r++) {
                if (some[r].count == 0) continue;
                check(cx, heed_session_append(cx, alone[r], &some[r]));
                near(heed_session_logits(s, r), want[r] + (held[r] - 1) * V, i, held[r]);
                assert_memory_equal(heed_session_logits(s, r), heed_session_logits(alone[r], 0), V * sizeof(float));
            }
        }
        const heed_ids beyond[ROWS] = {{0}, {.id = tokens[0], .count = 1}, {0}};
        assert_false(heed_session_append(cx, s, beyond));
        assert_non_null(strstr(heed_message(cx), "positions for 700"));
        heed_clear(cx);
        heed_session_close(cx, s);
        for (int r = 0; r < ROWS; r++) heed_session_close(cx, alone[r]);
        heed_model_free(cx, m);
        close_context(cx);
    }
}

/* Row 0 twice and row 2, each going on as another row does. */
static void test_forks(void **state) {
    (void)state;
    static float want[POSITIONS * V];
    for (int i = 0; i < PATTERNS; i++) {
        heed_ctx *cx = open_context();
        heed_model *m = make(cx, i, NULL);
        heed_session *s = open_session(cx, m, ROWS);
        for (int64_t t = 0; t < 200; t += 20) {
            heed_ids some[ROWS];
            for (int r = 0; r < ROWS; r++) some[r] = (heed_ids){.id = tokens[r] + t, .count = 20 - r};
            check(cx, heed_session_append(cx, s, some));
        }
        heed_session *fork = heed_session_fork(cx, s, (int32_t[]){0, 2, 0}, 3);
        check(cx, fork != NULL);
        check(cx, heed_session_reorder(cx, s, (int32_t[]){1, 0}, 2));
        for (int64_t t = 200; t < 260; t++) {
            const heed_ids next = {.id = tokens[0] + t, .count = 1}, other = {.id = tokens[1] + t, .count = 1};
            check(cx, heed_session_append(cx, fork, (heed_ids[]){next, other, other}));
            check(cx, heed_session_append(cx, s, (heed_ids[]){other, next}));
            assert_memory_equal(heed_session_logits(fork, 0), heed_session_logits(s, 1), V * sizeof(float));
        }
        assert_true(memcmp(heed_session_logits(fork, 0), heed_session_logits(fork, 2), V * sizeof(float)) != 0);
        forward(cx, m, 0, 260, want);
        near(heed_session_logits(fork, 0), want + (int64_t)259 * V, i, 260);
        heed_session_close(cx, s), heed_session_close(cx, fork);
        heed_model_free(cx, m);
        close_context(cx);
    }
}

/* Beams and samples, with the cache and without. */
static void test_generate(void **state) {
    (void)state;
    static const heed_generate_opts ways[] = {
        {.beams = 1, .length_penalty = 1, .max_new_tokens = 30},
        {.beams = 4, .length_penalty = 1, .n_best = 3, .max_new_tokens = 24},
        {.beams = 1, .sample = true, .n_best = 2, .seed = 3, .temperature = 1.3f, .max_new_tokens = 20},
    };
    for (int i = 0; i < PATTERNS; i++)
        for (int w = 0; w < 3; w++) {
            heed_ctx *cx = open_context();
            heed_model *m = make(cx, i, NULL);
            heed_generate_opts o = ways[w];
            const heed_ids prompts[] = {{.id = tokens[0], .count = 3}, {.id = tokens[1], .count = 40}};
            heed_generated *a = heed_generate(cx, m, prompts, 2, &o);
            o.uncached = true;
            heed_generated *b = heed_generate(cx, m, prompts, 2, &o);
            check(cx, a && b);
            for (int64_t k = 0; k < a->sentences * a->n_best; k++) {
                assert_int_equal(a->best[k].length, b->best[k].length);
                assert_memory_equal(a->best[k].ids, b->best[k].ids, (size_t)a->best[k].length * sizeof(int32_t));
            }
            heed_mem_free(cx, a), heed_mem_free(cx, b);
            heed_model_free(cx, m);
            close_context(cx);
        }
}

/* Bytes of the context after so many tokens, one by one. */
static size_t bytes_after(int pattern, int64_t n) {
    heed_ctx *cx = open_context();
    heed_model *m = make(cx, pattern, NULL);
    heed_session *s = open_session(cx, m, 1);
    for (int64_t t = 0; t < n; t++) check(cx, heed_session_append(cx, s, &(heed_ids){.id = tokens[0] + t, .count = 1}));
    const size_t bytes = books.live;
    heed_session_close(cx, s);
    heed_model_free(cx, m);
    close_context(cx);
    return bytes;
}

static void test_memory(void **state) {
    (void)state;
    const size_t key = 2 * 2 * 8 * sizeof(float); /* of both layers, with its value */
    const size_t grown = bytes_after(3, 650) - bytes_after(3, 100), slid = bytes_after(2, 650) - bytes_after(2, 100);
    if (grown < 500 * key || slid > 50 * key) fail_msg("%zu and %zu bytes more", grown, slid);
}

/* A dry context counts what a real one takes. */
static void test_planned(void **state) {
    (void)state;
    const heed_generate_opts o = {.beams = 3, .length_penalty = 1, .max_new_tokens = 90, .min_new_tokens = 90};
    const heed_ids prompts[] = {{.id = tokens[0], .count = 400}, {.id = tokens[1], .count = 3}};
    for (int i = 0; i < PATTERNS; i++) {
        size_t peak[2];
        for (int dry = 0; dry < 2; dry++) {
            heed_ctx *cx = heed_open(&(heed_config){.threads = 2, .dry = dry});
            heed_model *m = make(cx, i, NULL);
            const size_t held = heed_memory_use(cx).held;
            heed_memory_reset_peak(cx);
            heed_generated *g = heed_generate(cx, m, prompts, 2, &o);
            check(cx, g != NULL);
            peak[dry] = heed_memory_use(cx).held_peak - held;
            heed_mem_free(cx, g);
            heed_model_free(cx, m);
            heed_close(cx);
        }
        assert_int_equal(peak[0], peak[1]);
    }
}

/* Every request for memory refused in turn: a sentence, and nothing is lost. */
static void test_starved(void **state) {
    (void)state;
    static const int of[] = {1, 6};
    const heed_generate_opts o = {.beams = 2, .length_penalty = 1, .max_new_tokens = 4};
    const heed_ids prompts[] = {{.id = tokens[0], .count = 21}, {.id = tokens[1], .count = 3}};
    for (int k = 0; k < 2; k++) {
        int failed = 0;
        bool refused = true;
        for (int64_t n = 1; refused; n++) {
            heed_ctx *cx = open_context();
            heed_model *m = make(cx, of[k], NULL);
            books.fail_at = books.requests + n;
            heed_generated *g = heed_generate(cx, m, prompts, 2, &o);
            refused = books.requests >= books.fail_at;
            books.fail_at = 0;
            assert_int_equal(g != NULL, !heed_failed(cx));
            if (!g) assert_int_equal(heed_error(cx), HEED_ERR_MEMORY);
            failed += !g;
            heed_mem_free(cx, g);
            heed_clear(cx);
            heed_model_free(cx, m);
            close_context(cx);
        }
        assert_true(failed > 10);
    }
}

static void test_no_layers(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_model *m = make(cx, 1, "num_hidden_layers=0");
    assert_null(heed_session_open(cx, m, NULL, 1));
    assert_string_equal(heed_message(cx), "a model without layers cannot decode");
    heed_clear(cx);
    heed_model_free(cx, m);
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pieces),   cmocka_unit_test(test_forks),
                                       cmocka_unit_test(test_generate), cmocka_unit_test(test_memory),
                                       cmocka_unit_test(test_planned),  cmocka_unit_test(test_starved),
                                       cmocka_unit_test(test_no_layers)};
    draw_tokens();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
