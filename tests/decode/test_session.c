/* Sessions: tokens in any pieces give the logits of forward; sequences of different lengths are apart; forks and
 * reordering; prompts used again; streamed tokens; what memory is taken; and what is refused. */
#include "heed/translate.h"
#include "io/io_test.h"

enum { TEXTS = 4, LONGEST = 10 };

static heed_model *load(heed_ctx *cx, const char *name) {
    char dir[600];
    snprintf(dir, sizeof dir, "%s/model/%s", getenv("HEED_GOLDEN"), name);
    heed_model *m = heed_model_load(cx, dir);
    if (!m) fail_msg("%s", heed_message(cx));
    return m;
}

static heed_ids text(heed_ctx *cx, uint64_t stream, int64_t length) {
    heed_ids ids = {0};
    for (int64_t t = 0; t < length; t++)
        heed_ids_put(cx, &ids, (int32_t)(2 + heed_random_bits(7, stream, (uint64_t)t) % 9));
    return ids;
}

static void free_texts(heed_ctx *cx, heed_ids *texts, int n) {
    for (int i = 0; i < n; i++) heed_ids_free(cx, &texts[i]);
}

static void check(heed_ctx *cx, bool right) {
    if (!right) fail_msg("%s", heed_message(cx));
}

static heed_session *open_session(heed_ctx *cx, const heed_model *m, const heed_ids *source, int64_t n) {
    heed_session *s = heed_session_open(cx, m, source, n);
    if (!s) fail_msg("%s", heed_message(cx));
    return s;
}

static heed_ids part(const heed_ids *ids, int64_t from, int64_t count) {
    const int64_t left = ids->count > from ? ids->count - from : 0;
    return (heed_ids){.id = ids->id + from, .count = count < left ? count : left};
}

static void near(const float *got, const float *want, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (!(fabsf(got[i] - want[i]) <= 1e-5f + 1e-4f * fabsf(want[i])))
            fail_msg("logit %d is %g, not %g", (int)i, (double)got[i], (double)want[i]);
}

#define REFUSED(call, words)                                                                                           \
    do {                                                                                                               \
        assert_false(call);                                                                                            \
        EXPECT_SENTENCE(cx, words);                                                                                    \
    } while (0)

/* ---- the same as forward ---- */

struct kind {
    const char *model;
    bool encodes;
};
static const struct kind kinds[] = {{"gpt2-lm", false},     {"gpt2-options", false},   {"marian-shared", true},
                                    {"bart", true},         {"mbart", true},           {"rnn-lm", false},
                                    {"gru-lm", false},      {"lstm-lm", false},        {"sutskever", true},
                                    {"cho", true},          {"bahdanau", true},        {"luong-general", true},
                                    {"luong-concat", true}, {"luong-monotonic", true}, {"luong-monotonic-dot", true},
                                    {"luong-local", true}};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* What forward says follows the last of the ids. */
static void forward(heed_ctx *cx, const heed_model *m, const heed_ids *source, heed_ids ids, float *logits) {
    heed_io in = {0}, out = {0};
    const bool was = heed_set_grad(cx, false);
    heed_scope_begin(cx);
    if (source) heed_io_put(cx, &in, "input_ids", heed_from_i32(cx, source->id, 2, (int64_t[]){1, source->count}));
    heed_io_put(cx, &in, source ? "decoder_input_ids" : "input_ids",
                heed_from_i32(cx, ids.id, 2, (int64_t[]){1, ids.count}));
    check(cx, heed_model_forward(cx, m, &in, &out));
    const heed_tensor *y = heed_io_get(&out, "logits");
    const int64_t V = heed_dim(y, -1);
    memcpy(logits, heed_f32(y) + (ids.count - 1) * V, (size_t)V * sizeof *logits);
    heed_scope_end(cx, NULL);
    heed_set_grad(cx, was);
}

/* Sequences of 3, 7, 10 and 1 tokens, some at a time: each as forward has it, and as it is alone. */
static void test_pieces(void **unused) {
    (void)unused;
    static const int64_t lengths[TEXTS] = {3, 7, LONGEST, 1}, pieces[] = {1, 2, 5, LONGEST};
    float want[512];
    for (int k = 0; k < KINDS; k++)
        for (int p = 0; p < 4; p++) {
            heed_ctx *cx = open_context();
            heed_model *m = load(cx, kinds[k].model);
            heed_ids source[TEXTS], ids[TEXTS], some[TEXTS];
            for (int i = 0; i < TEXTS; i++)
                source[i] = text(cx, (uint64_t)i, 2 + i), ids[i] = text(cx, 10 + (uint64_t)i, lengths[i]);
            heed_session *s = open_session(cx, m, kinds[k].encodes ? source : NULL, TEXTS);
            const int64_t V = heed_session_vocabulary(s);
            assert_true(V <= 512);
            assert_int_equal(heed_session_count(s), TEXTS);
            assert_null(heed_session_logits(s, 0));
            for (int64_t at = 0; at < LONGEST; at += pieces[p]) {
                for (int i = 0; i < TEXTS; i++) some[i] = part(&ids[i], at, pieces[p]);
                check(cx, heed_session_append(cx, s, some));
                for (int i = 0; i < TEXTS; i++) {
                    const heed_ids held = heed_session_ids(s, i);
                    const int64_t n = at + pieces[p] < lengths[i] ? at + pieces[p] : lengths[i];
                    assert_int_equal(held.count, n);
                    assert_memory_equal(held.id, ids[i].id, (size_t)n * sizeof *held.id);
                    forward(cx, m, kinds[k].encodes ? &source[i] : NULL, held, want);
                    near(heed_session_logits(s, i), want, V);
                }
            }
            for (int i = 0; i < TEXTS; i++) {
                heed_session *alone = open_session(cx, m, kinds[k].encodes ? &source[i] : NULL, 1);
                for (int64_t at = 0; at < lengths[i]; at += pieces[p]) {
                    some[0] = part(&ids[i], at, pieces[p]);
                    check(cx, heed_session_append(cx, alone, some));
                }
                near(heed_session_logits(s, i), heed_session_logits(alone, 0), V);
                if (!kinds[k].encodes) /* cross attention depends on the number of queries, in the last bit */
                    assert_memory_equal(heed_session_logits(s, i), heed_session_logits(alone, 0),
                                        (size_t)V * sizeof(float));
                heed_session_close(cx, alone);
            }
            heed_session_close(cx, s);
            free_texts(cx, source, TEXTS);
            free_texts(cx, ids, TEXTS);
            heed_model_free(cx, m);
            close_context(cx);
        }
}

/* A loop of one's own is greedy search. */
static void test_own_loop(void **unused) {
    (void)unused;
    heed_ctx *cx = open_context();
    heed_model *m = load(cx, "gpt2-lm");
    heed_ids prompt = text(cx, 1, 3), one = {0};
    const heed_generate_opts o = {.beams = 1, .length_penalty = 1, .max_new_tokens = 6};
    check(cx, heed_json_put_null(cx, heed_model_decoding(m), "eos_token_id"));
    heed_generated *g = heed_generate(cx, m, &prompt, 1, &o);
    check(cx, g && g->best[0].length == 6);
    heed_session *s = open_session(cx, m, NULL, 1);
    check(cx, heed_session_append(cx, s, &prompt) && heed_ids_put(cx, &one, 0));
    for (int64_t i = 0; i < 6; i++) {
        const float *x = heed_session_logits(s, 0);
        one.id[0] = 0;
        for (int32_t t = 0; t < heed_session_vocabulary(s); t++)
            if (x[t] > x[one.id[0]]) one.id[0] = t;
        assert_int_equal(one.id[0], g->best[0].ids[i]);
        check(cx, heed_session_append(cx, s, &one));
    }
    heed_session_close(cx, s);
    heed_mem_free(cx, g);
    heed_ids_free(cx, &prompt);
    heed_ids_free(cx, &one);
    heed_model_free(cx, m);
    close_context(cx);
}

/* ---- forks ---- */

static void same_sequence(const heed_session *a, int64_t i, const heed_session *b, int64_t j) {
    const heed_ids x = heed_session_ids(a, i), y = heed_session_ids(b, j);
    assert_int_equal(x.count, y.count);
    assert_memory_equal(x.id, y.id, (size_t)x.count * sizeof *x.id);
    assert_memory_equal(heed_session_logits(a, i), heed_session_logits(b, j),
                        (size_t)heed_session_vocabulary(a) * sizeof(float));
}

static void test_forks(void **unused) {
    (void)unused;
    for (int k = 0; k < KINDS; k++) {
        heed_ctx *cx = open_context();
        heed_model *m = load(cx, kinds[k].model);
        heed_ids source[] = {text(cx, 1, 5), text(cx, 2, 3)}, begin[] = {text(cx, 3, 6), text(cx, 4, 2)},
                 more[] = {text(cx, 5, 2), text(cx, 6, 4), text(cx, 7, 1)};
        static const int32_t order[] = {1, 0, 1};
        heed_session *s = open_session(cx, m, kinds[k].encodes ? source : NULL, 2);
        check(cx, heed_session_append(cx, s, begin));
        heed_session *fork = heed_session_fork(cx, s, order, 3);
        check(cx, fork != NULL);
        assert_int_equal(heed_session_count(fork), 3);
        for (int i = 0; i < 3; i++) same_sequence(fork, i, s, order[i]);
        check(cx, heed_session_append(cx, fork, more));
        heed_session *again = open_session(cx, m, kinds[k].encodes ? source : NULL, 2);
        check(cx, heed_session_append(cx, again, begin));
        same_sequence(s, 0, again, 0), same_sequence(s, 1, again, 1); /* as it was */
        check(cx, heed_session_append(cx, again, (heed_ids[]){more[1], more[2]}));
        same_sequence(fork, 1, again, 0), same_sequence(fork, 2, again, 1);
        check(cx, heed_session_append(cx, s, (heed_ids[]){more[1], more[0]}));
        same_sequence(s, 1, fork, 0);
        /* in place: sequences change places, are doubled and given up */
        check(cx, heed_session_reorder(cx, fork, (int32_t[]){2, 2}, 2));
        assert_int_equal(heed_session_count(fork), 2);
        same_sequence(fork, 0, again, 1), same_sequence(fork, 1, again, 1);
        check(cx, heed_session_append(cx, fork, more));
        check(cx, heed_session_append(cx, again, (heed_ids[]){{0}, more[1]}));
        same_sequence(fork, 1, again, 1);
        check(cx, heed_session_reorder(cx, fork, (int32_t[]){1, 0, 1}, 3));
        same_sequence(fork, 2, again, 1);
        heed_session_close(cx, s), heed_session_close(cx, fork), heed_session_close(cx, again);
        free_texts(cx, source, 2), free_texts(cx, begin, 2), free_texts(cx, more, 3);
        heed_model_free(cx, m);
        close_context(cx);
    }
}

/* ---- prompts used again ---- */

static const heed_generate_opts ways[] = {
    {.beams = 1, .length_penalty = 1, .max_new_tokens = 9},
    {.beams = 4, .length_penalty = 1, .n_best = 3, .max_length = 24, .no_repeat_ngram = 2},
    {.beams = 1, .sample = true, .n_best = 2, .seed = 3, .temperature = 1.3f, .max_new_tokens = 7},
    {.beams = 2, .length_penalty = 1, .repetition_penalty = 1.5f, .max_new_tokens = 5, .uncached = true},
    {.beams = 1, .length_penalty = 1, .max_new_tokens = 6, .batch = 2},
};
enum { WAYS = sizeof ways / sizeof *ways };

static void same(const heed_generated *a, const heed_generated *b) {
    assert_int_equal(a->n_best, b->n_best);
    for (int64_t i = 0; i < a->sentences * a->n_best; i++) {
        assert_int_equal(a->best[i].length, b->best[i].length);
        assert_int_equal(a->best[i].ended, b->best[i].ended);
        assert_memory_equal(a->best[i].ids, b->best[i].ids, (size_t)a->best[i].length * sizeof(int32_t));
        if (!(fabsf(a->best[i].score - b->best[i].score) <= 1e-4f)) fail_msg("another score");
    }
}

static heed_ids joined(heed_ctx *cx, const heed_ids *a, const heed_ids *b) {
    heed_ids ids = {0};
    for (int64_t t = 0; t < a->count; t++) heed_ids_put(cx, &ids, a->id[t]);
    for (int64_t t = 0; t < b->count; t++) heed_ids_put(cx, &ids, b->id[t]);
    return ids;
}

static void test_generate_from(void **unused) {
    (void)unused;
    heed_ctx *cx = open_context();
    heed_model *m = load(cx, "gpt2-options");
    heed_ids begin[3], ends[3], all[3], own[3];
    for (int i = 0; i < 3; i++) {
        begin[i] = text(cx, (uint64_t)i, 2 + 2 * i), ends[i] = text(cx, 20 + (uint64_t)i, 4 - i);
        all[i] = joined(cx, &begin[0], &ends[i]), own[i] = joined(cx, &begin[i], &ends[i]);
    }
    heed_session *one = open_session(cx, m, NULL, 1), *three = open_session(cx, m, NULL, 3);
    check(cx, heed_session_append(cx, one, begin) && heed_session_append(cx, three, begin));
    for (int w = 0; w < WAYS; w++)
        for (int k = 0; k < 2; k++) { /* one beginning for all, or one for each */
            heed_generated *a = heed_generate_from(cx, k ? three : one, ends, 3, &ways[w]),
                           *b = heed_generate(cx, m, k ? own : all, 3, &ways[w]);
            check(cx, a && b);
            same(a, b);
            heed_mem_free(cx, a), heed_mem_free(cx, b);
        }
    assert_int_equal(heed_session_ids(one, 0).count, 2); /* as it was */
    check(cx, heed_session_append(cx, one, ends));
    check(cx, heed_session_append(cx, three, ends));
    same_sequence(one, 0, three, 0);
    heed_session_close(cx, one), heed_session_close(cx, three);

    /* an encoder-decoder goes on from what its decoder has said */
    heed_model *t = load(cx, "marian-shared");
    const int32_t start = (int32_t)heed_json_int(cx, heed_model_config(t), "decoder_start_token_id");
    const heed_generate_opts o = {.beams = 3, .length_penalty = 1, .max_length = 14};
    heed_ids first = {0};
    heed_ids_put(cx, &first, start);
    heed_session *s = open_session(cx, t, begin, 2);
    heed_generated *a = heed_generate(cx, t, begin, 2, &o),
                   *b = heed_generate_from(cx, s, (heed_ids[]){first, first}, 2, &o);
    check(cx, a && b);
    same(a, b);
    heed_mem_free(cx, a), heed_mem_free(cx, b);
    heed_session_close(cx, s);
    heed_ids_free(cx, &first);
    for (int i = 0; i < 3; i++)
        heed_ids_free(cx, &begin[i]), heed_ids_free(cx, &ends[i]), heed_ids_free(cx, &all[i]),
            heed_ids_free(cx, &own[i]);
    heed_model_free(cx, m), heed_model_free(cx, t);
    close_context(cx);
}

/* An empty prompt begins with bos_token_id. */
static void test_empty_prompt(void **unused) {
    (void)unused;
    heed_ctx *cx = open_context();
    heed_model *m = load(cx, "gpt2-options");
    heed_ids bos = {0};
    heed_ids_put(cx, &bos, 40);
    heed_generated *a = heed_generate(cx, m, (heed_ids[]){{0}, bos}, 2, &ways[0]);
    check(cx, a && a->best[0].length > 0 && a->best[0].length == a->best[1].length);
    assert_memory_equal(a->best[0].ids, a->best[1].ids, (size_t)a->best[0].length * sizeof(int32_t));
    check(cx, heed_json_put_null(cx, heed_model_decoding(m), "bos_token_id"));
    assert_null(heed_generate(cx, m, (heed_ids[]){bos, {0}}, 2, &ways[0]));
    EXPECT_SENTENCE(cx, "generate: prompt 1 is empty, and the model's directory gives no bos_token_id");
    heed_mem_free(cx, a);
    heed_ids_free(cx, &bos);
    heed_model_free(cx, m);
    close_context(cx);
}

/* ---- text ---- */

/* Words of the tokenizer: 27 and 32, which 4, 6 and 15 follow (tests/golden/model/generate_lm.json). */
static void test_text(void **unused) {
    (void)unused;
    heed_ctx *cx = open_context();
    char dir[600];
    snprintf(dir, sizeof dir, "%s/model/gpt2-options", getenv("HEED_GOLDEN"));
    heed_generator *g = heed_generator_open(cx, dir);
    check(cx, g && !g->encodes && g->positions == 40);
    heed_generate_opts o = {.beams = 1, .length_penalty = 1, .max_new_tokens = 15};
    heed_string text = {0};
    check(cx, heed_generate_text(cx, g, "gin pis", &o, &text));
    assert_string_equal(text.s, " kar man gen"); /* with the space that parts it from the prompt */
    o.stop = (const char *const[]){"n g", "r m"}, o.n_stop = 2;
    check(cx, heed_generate_text(cx, g, "gin pis", &o, &text)); /* added, up to the stop text */
    assert_string_equal(text.s, " kar man gen ka");
    heed_ids ids = {0};
    check(cx, heed_generator_encode(cx, g, "gin pis", 7, &ids) && ids.count == 2 && ids.id[0] == 27);
    text.size = 0;
    check(cx, heed_generator_decode(cx, g, &ids, (int32_t[]){4, 41, 6}, 3, NULL, &text)); /* 41 is not a token */
    assert_string_equal(text.s, " kar man");
    text.size = 0;
    check(cx, heed_generator_decode(cx, g, NULL, (int32_t[]){4, 6}, 2, NULL, &text));
    assert_string_equal(text.s, "kar man");
    char many[4 * 40 + 1];
    for (int i = 0; i < 40; i++) memcpy(many + 4 * i, "gin ", 5);
    REFUSED(heed_generator_encode(cx, g, many, 160, &ids), "a text of 40 tokens: the model has positions for 40");
    assert_int_equal(ids.count, 2);
    REFUSED(heed_generate_text(cx, g, NULL, &o, &text), "generate: a generator, a text and a string are needed");
    REFUSED(heed_generate_text(cx, g, "a\xFF", &o, &text), "byte 2 is not UTF-8");
    heed_ids_free(cx, &ids);
    heed_string_free(cx, &text);
    heed_generator_free(cx, g);
    snprintf(dir, sizeof dir, "%s/model/gpt2-classify", getenv("HEED_GOLDEN"));
    REFUSED(heed_generator_open(cx, dir), "GPT2ForSequenceClassification of gpt2 cannot decode");
    heed_generator_free(cx, NULL);
    close_context(cx);
}

/* ---- streamed tokens ---- */

struct stream {
    heed_ids ids[6];
    int64_t most[6]; /* of tokens; 0: any number */
    heed_ctx *cx;
};

static bool take(void *user, int64_t sequence, int32_t token) {
    struct stream *s = user;
    assert_in_range(sequence, 0, 5);
    heed_ids_put(s->cx, &s->ids[sequence], token);
    return s->most[sequence] == 0 || s->ids[sequence].count < s->most[sequence];
}

static void test_stream(void **unused) {
    (void)unused;
    for (int k = 1; k < KINDS; k++) /* the first has 10 positions */
        for (int sampled = 0; sampled < 2; sampled++) {
            heed_ctx *cx = open_context();
            heed_model *m = load(cx, kinds[k].model);
            heed_ids prompt[] = {text(cx, 1, 4), text(cx, 2, 2), text(cx, 3, 7)};
            heed_generate_opts o = {.beams = 1, .length_penalty = 1, .max_new_tokens = 8, .min_new_tokens = 4};
            if (sampled) o.sample = true, o.n_best = 2, o.seed = 5;
            heed_generated *want = heed_generate(cx, m, prompt, 3, &o);
            check(cx, want != NULL);
            for (int cut = 0; cut < 2; cut++) {
                struct stream s = {.cx = cx, .most = {cut ? 3 : 0, 0, cut}};
                o.on_token = take, o.user = &s;
                heed_generated *g = heed_generate(cx, m, prompt, 3, &o);
                check(cx, g != NULL);
                for (int64_t i = 0; i < 3 * g->n_best; i++) {
                    const heed_hypothesis *h = &g->best[i], *w = &want->best[i];
                    const int64_t n = s.most[i] ? s.most[i] : w->length;
                    assert_int_equal(h->length, n);
                    assert_int_equal(h->ended, !s.most[i] && w->ended);
                    assert_int_equal(s.ids[i].count, n);
                    assert_memory_equal(h->ids, w->ids, (size_t)n * sizeof *h->ids);
                    assert_memory_equal(s.ids[i].id, h->ids, (size_t)n * sizeof *h->ids);
                }
                heed_mem_free(cx, g);
                free_texts(cx, s.ids, 6);
            }
            heed_mem_free(cx, want);
            o.sample = false, o.n_best = 0, o.beams = 2;
            assert_null(heed_generate(cx, m, prompt, 3, &o));
            EXPECT_SENTENCE(cx, "generate: streaming tokens needs a beam width of 1, not 2");
            free_texts(cx, prompt, 3);
            heed_model_free(cx, m);
            close_context(cx);
        }
}

/* Sentences of different buckets keep their numbers. */
static void test_stream_of_sentences(void **unused) {
    (void)unused;
    heed_ctx *cx = open_context();
    heed_model *m = load(cx, "marian-options");
    heed_ids source[] = {text(cx, 1, 11), {0}, text(cx, 2, 2), text(cx, 3, 9)};
    struct stream s = {.cx = cx};
    const heed_generate_opts o = {.beams = 1, .length_penalty = 1, .min_length = 5, .on_token = take, .user = &s};
    heed_translated found = {0};
    check(cx, heed_translate_ids(cx, m, source, 4, &o, &found));
    for (int i = 0; i < 4; i++) {
        assert_int_equal(found.ids[i].count, s.ids[i].count);
        assert_int_equal(found.ids[i].count >= 4, i != 1);
        assert_memory_equal(found.ids[i].id, s.ids[i].id, (size_t)s.ids[i].count * sizeof(int32_t));
    }
    heed_translated_free(cx, &found);
    free_texts(cx, s.ids, 6);
    free_texts(cx, source, 4);
    heed_model_free(cx, m);
    close_context(cx);
}

/* ---- memory ---- */

/* A dry context counts what prompts of different lengths take when none ends before it must. */
static void test_planned(void **unused) {
    (void)unused;
    size_t peak[2];
    for (int dry = 0; dry < 2; dry++) {
        heed_ctx *cx = heed_open(&(heed_config){.threads = 2, .dry = dry});
        heed_model *m = load(cx, "gpt2-options");
        heed_ids prompt[] = {text(cx, 1, 4), text(cx, 2, 1), text(cx, 3, 9)};
        const heed_generate_opts o = {
            .beams = 4, .length_penalty = 1, .max_length = 40, .min_length = 40, .no_repeat_ngram = 2};
        const size_t held = heed_memory_use(cx).held;
        heed_memory_reset_peak(cx);
        heed_generated *g = heed_generate(cx, m, prompt, 3, &o);
        check(cx, g != NULL);
        for (int i = 0; i < 3; i++) assert_true(g->best[i].length + prompt[i].count >= 39);
        heed_mem_free(cx, g);
        peak[dry] = heed_memory_use(cx).held_peak - held;
        heed_session *s = open_session(cx, m, NULL, 3); /* works, without logits */
        check(cx, heed_session_append(cx, s, prompt));
        heed_session_close(cx, s);
        free_texts(cx, prompt, 3);
        heed_model_free(cx, m);
        heed_close(cx);
    }
    assert_true(peak[0] > 50000);
    assert_int_equal(peak[0], peak[1]);
}

/* The prompt of eight samples is computed once. */
static void test_shared_prompt(void **unused) {
    (void)unused;
    size_t peak[2][2];
    for (int dry = 0; dry < 2; dry++)
        for (int many = 0; many < 2; many++) {
            heed_ctx *cx = heed_open(&(heed_config){.threads = 1, .dry = dry});
            heed_model *m = load(cx, "gpt2-options");
            heed_ids prompt = text(cx, 1, 34);
            const heed_generate_opts o = {
                .beams = 1, .sample = true, .n_best = many ? 8 : 2, .max_length = 40, .min_length = 40};
            heed_generated *g = heed_generate(cx, m, &prompt, 1, &o);
            check(cx, g && g->best[1].length == 6);
            peak[dry][many] = heed_memory_use(cx).step_peak;
            heed_mem_free(cx, g);
            heed_ids_free(cx, &prompt);
            heed_model_free(cx, m);
            heed_close(cx);
        }
    assert_int_equal(peak[0][0], peak[0][1]); /* that of the prompt, which is longer than eight tokens */
    assert_int_equal(peak[0][0], peak[1][0]);
    assert_int_equal(peak[0][1], peak[1][1]);
}

static bool use(heed_ctx *cx, const heed_model *m, const heed_ids *prompt, bool encodes) {
    heed_session *s = heed_session_open(cx, m, encodes ? prompt : NULL, 2), *fork = NULL;
    heed_generated *g = NULL;
    bool good = s && heed_session_append(cx, s, prompt);
    good = good && (fork = heed_session_fork(cx, s, (int32_t[]){1, 0, 0}, 3));
    good = good && heed_session_reorder(cx, fork, (int32_t[]){2, 0}, 2) && heed_session_append(cx, fork, prompt);
    good = good && (g = heed_generate_from(cx, s, prompt, 2, &ways[0]));
    heed_mem_free(cx, g);
    heed_session_close(cx, fork);
    heed_session_close(cx, s);
    return good;
}

/* Refuses the first request for memory, then the second, … */
static void test_starved(void **unused) {
    (void)unused;
    for (int k = 1; k < 3; k++) {
        int failed = 0;
        bool refused = true;
        for (int64_t n = 1; refused; n++) {
            heed_ctx *cx = open_context();
            heed_model *m = load(cx, kinds[k].model);
            heed_ids prompt[] = {text(cx, 1, 4), text(cx, 2, 2)};
            books.fail_at = books.requests + n;
            const bool good = use(cx, m, prompt, kinds[k].encodes);
            refused = books.requests >= books.fail_at;
            books.fail_at = 0;
            assert_int_equal(good, !heed_failed(cx));
            if (!good) assert_int_equal(heed_error(cx), HEED_ERR_MEMORY);
            failed += !good;
            heed_clear(cx);
            check(cx, use(cx, m, prompt, kinds[k].encodes)); /* as if nothing had been */
            assert_true(heed_set_grad(cx, true));
            free_texts(cx, prompt, 2);
            heed_model_free(cx, m);
            close_context(cx);
            assert_true(n < 1000);
        }
        assert_true(failed > 20);
    }
}

/* ---- what is refused ---- */

static void test_positions(void **unused) {
    (void)unused;
    heed_ctx *cx = open_context();
    heed_model *m = load(cx, "gpt2-options");
    heed_ids most = text(cx, 1, 40), ten = text(cx, 2, 10), more = text(cx, 3, 41);
    heed_session *s = open_session(cx, m, NULL, 2);
    check(cx, heed_session_append(cx, s, (heed_ids[]){ten, part(&most, 0, 39)}));
    REFUSED(heed_session_append(cx, s, (heed_ids[]){{0}, ten}),
            "session: sequence 1 of 39 tokens and 10 more: the model has positions for 40");
    check(cx, heed_session_append(cx, s, (heed_ids[]){ten, part(&most, 39, 1)})); /* it is as it was */
    assert_int_equal(heed_session_ids(s, 0).count, 20);
    REFUSED(heed_generate_from(cx, s, (heed_ids[]){ten, ten}, 2, &ways[0]),
            "generate: prompt 1 begins with 50 tokens: with 9 new ones, the model's 40 positions are too few");
    heed_session_close(cx, s);
    REFUSED(heed_generate(cx, m, (heed_ids[]){ten, more}, 2, &ways[0]),
            "generate: prompt 1 has 41 tokens: the model has positions for 40");
    REFUSED(heed_generate(cx, m, (heed_ids[]){ten, most}, 2, NULL),
            "generate: prompt 1 begins with 40 tokens: a maximum of 40 leaves no room");
    const heed_generate_opts new = {.beams = 1, .length_penalty = 1, .max_new_tokens = 31},
                             short_ = {.beams = 1, .length_penalty = 1, .max_length = 10};
    REFUSED(heed_generate(cx, m, &ten, 1, &new),
            "generate: prompt 0 begins with 10 tokens: with 31 new ones, the model's 40 positions are too few");
    REFUSED(heed_generate(cx, m, &ten, 1, &short_),
            "generate: prompt 0 begins with 10 tokens: a maximum of 10 leaves no room");
    heed_generate_opts fit = new;
    fit.fit = true;
    heed_generated *cut = heed_generate(cx, m, &ten, 1, &fit);
    check(cx, cut && cut->best[0].length <= 30);
    heed_mem_free(cx, cut);
    /* options of the directory end where the positions do */
    check(cx, heed_json_put_int(cx, heed_model_decoding(m), "max_new_tokens", 100));
    heed_generated *g = heed_generate(cx, m, &ten, 1, NULL);
    check(cx, g && g->best[0].length <= 30);
    heed_mem_free(cx, g);
    heed_ids_free(cx, &most), heed_ids_free(cx, &ten), heed_ids_free(cx, &more);
    heed_model_free(cx, m);
    close_context(cx);
}

static void test_bad_input(void **unused) {
    (void)unused;
    heed_ctx *cx = open_context();
    heed_model *m = load(cx, "gpt2-options"), *t = load(cx, "marian-shared"), *bare = load(cx, "gpt2-bare");
    heed_ids good = text(cx, 1, 4), strange = text(cx, 1, 4);
    strange.id[2] = 41;
    heed_session *s = open_session(cx, m, NULL, 2);
    REFUSED(heed_session_open(cx, NULL, NULL, 1), "session: the model is NULL");
    REFUSED(heed_session_open(cx, bare, NULL, 1), "session: GPT2Model of gpt2 cannot decode");
    REFUSED(heed_session_open(cx, m, &good, 1), "session: gpt2 encodes no sources: append them");
    REFUSED(heed_session_open(cx, t, NULL, 1), "session: transformer needs sources to encode");
    REFUSED(heed_session_open(cx, t, (heed_ids[]){good, {0}}, 2), "session: source 1 is empty");
    REFUSED(heed_session_open(cx, m, NULL, 0), "session: 0 sequences are none, or too many");
    REFUSED(heed_session_append(cx, NULL, &good), "session: the session is NULL");
    REFUSED(heed_session_append(cx, s, NULL), "session: the tokens are NULL");
    REFUSED(heed_session_append(cx, s, (heed_ids[]){good, strange}),
            "session: sequence 1: token 41 at position 2 is not below the vocabulary size, 41");
    check(cx, heed_session_append(cx, s, (heed_ids[]){{0}, {0}}));
    assert_null(heed_session_logits(s, 0));
    assert_null(heed_session_logits(s, 2));
    assert_int_equal(heed_session_ids(s, 2).count, 0);
    REFUSED(heed_session_fork(cx, s, NULL, 1), "session: 1 sequences are not between 1 and 2147483647");
    REFUSED(heed_session_fork(cx, s, (int32_t[]){2}, 1), "session: index 2 at place 0 is not between 0 and 1");
    REFUSED(heed_session_reorder(cx, s, (int32_t[]){0, 0, 1}, 3), "session: 3 sequences are not between 1 and 2");
    REFUSED(heed_generate_from(cx, NULL, &good, 1, &ways[0]), "generate: the session is NULL");
    REFUSED(heed_generate_from(cx, s, &good, 1, &ways[0]), "generate: 1 prompts do not fit a session of 2 sequences");
    REFUSED(heed_generate_from(cx, s, (heed_ids[]){good, {0}}, 2, &ways[0]), "generate: prompt 1 is empty");
    heed_session_close(cx, NULL);
    heed_session_close(cx, s);
    heed_ids_free(cx, &good), heed_ids_free(cx, &strange);
    heed_model_free(cx, m), heed_model_free(cx, t), heed_model_free(cx, bare);
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces),       cmocka_unit_test(test_own_loop),
        cmocka_unit_test(test_forks),        cmocka_unit_test(test_generate_from),
        cmocka_unit_test(test_empty_prompt), cmocka_unit_test(test_text),
        cmocka_unit_test(test_stream),       cmocka_unit_test(test_stream_of_sentences),
        cmocka_unit_test(test_planned),      cmocka_unit_test(test_shared_prompt),
        cmocka_unit_test(test_starved),      cmocka_unit_test(test_positions),
        cmocka_unit_test(test_bad_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
