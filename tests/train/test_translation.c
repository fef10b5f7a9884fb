/* Training on parallel text: resumed anywhere, in parts and with more threads it is the same; it learns; it is
 * measured. */
#include "base/arena.h"
#include "train/train_test.h"

enum { PAIRS = 60, MANY = 400, ASIDE = 10, VOCABULARY = 24, POSITIONS = 24 };

/* Sentences of small words; the target turns them round. */
struct scene {
    heed_ctx *cx;
    heed_lines text[2][2]; /* to train on and aside; source and target */
    heed_parallel_text parallel[2];
    heed_pairs pairs[2];
    heed_tokenizer *tokens;
    heed_translation *translation;
    heed_model *model;
    heed_loop_opts opts;
};

static void write_text(heed_ctx *cx, uint64_t seed, int n, heed_lines lines[2]) {
    static const char *const words[] = {"one", "two", "three", "four", "five"};
    heed_string s[2] = {{0}};
    for (int i = 0; i < n; i++) {
        const int length = 2 + (int)(heed_random_bits(seed, (uint64_t)i, 0) % 4);
        for (int side = 0; side < 2; side++) {
            for (int k = 0; k < length; k++) {
                const int at = side ? length - k : k + 1;
                const char *word = words[heed_random_bits(seed, (uint64_t)i, (uint64_t)at) % 5];
                heed_string_put(cx, &s[side], word, strlen(word));
                heed_string_put(cx, &s[side], k + 1 < length ? " " : "\n", 1);
            }
        }
    }
    for (int side = 0; side < 2; side++) assert_true(heed_lines_cut(cx, &s[side], &lines[side]));
}

/* How it is trained. */
struct way {
    int64_t tokens, micro; /* of a batch and of a pass */
    const char *dropout;
    double merges; /* that are passed over: then words are made of pieces */
};

static void open_scene(struct scene *s, int pairs, int threads, struct way way) {
    *s = (struct scene){.cx = heed_open(&(heed_config){.threads = threads})};
    heed_ctx *cx = s->cx;
    for (int k = 0; k < 2; k++) write_text(cx, (uint64_t)k + 1, k ? ASIDE : pairs, s->text[k]);
    const heed_lines *texts[] = {&s->text[0][0]};
    s->tokens = heed_tokenizer_train(cx, texts, 1,
                                     &(heed_tokenizer_opts){.kind = way.merges > 0 ? HEED_TOKENS_BPE : HEED_TOKENS_WORD,
                                                            .vocabulary = way.merges > 0 ? VOCABULARY : 0,
                                                            .pad = "<pad>",
                                                            .bos = "<s>",
                                                            .eos = "</s>",
                                                            .unk = "<unk>",
                                                            .add_eos = true});
    for (int k = 0; k < 2; k++) {
        s->parallel[k] = (heed_parallel_text){&s->text[k][0], &s->text[k][1], s->tokens, s->tokens};
        assert_true(heed_pairs_encode(cx, &s->parallel[k], NULL, &s->pairs[k]));
    }
    s->translation = heed_translation_new(cx, &(heed_translation_opts){.train = {&s->pairs[0], NULL},
                                                                       .valid = {&s->pairs[1], &s->text[1][1]},
                                                                       .target = s->tokens,
                                                                       .tokens = way.tokens,
                                                                       .micro_tokens = way.micro,
                                                                       .pad = 0,
                                                                       .seed = 5,
                                                                       .train_text = &s->parallel[0],
                                                                       .merge_dropout = way.merges,
                                                                       .max_length = POSITIONS});
    const char *const settings[] = {way.merges > 0 ? "vocab_size=24" : "vocab_size=9",
                                    "d_model=16",
                                    "encoder_layers=1",
                                    "decoder_layers=1",
                                    "encoder_ffn_dim=24",
                                    "decoder_ffn_dim=24",
                                    "encoder_attention_heads=2",
                                    "decoder_attention_heads=2",
                                    "max_position_embeddings=24",
                                    "init_std=0.25",
                                    "label_smoothing=0.05",
                                    way.dropout};
    s->model = heed_model_new(cx, heed_family_find("transformer"), settings, 12, 3);
    if (!s->translation || !s->model) fail_msg("%s", heed_message(cx));
    s->opts = (heed_loop_opts){.trainer = {.optimizer = {.kind = HEED_ADAM}, .schedule = {.lr = 0.01}, .average = 0.9},
                               .epochs = 2,
                               .seed = 6,
                               .source = heed_translation_source(s->translation)};
}

static void close_scene(struct scene *s) {
    heed_model_free(s->cx, s->model);
    heed_translation_free(s->cx, s->translation);
    heed_tokenizer_free(s->cx, s->tokens);
    for (int k = 0; k < 2; k++) {
        heed_pairs_free(s->cx, &s->pairs[k]);
        heed_lines_free(s->cx, &s->text[k][0]);
        heed_lines_free(s->cx, &s->text[k][1]);
    }
    heed_close(s->cx);
}

static bool stop_at(void *user, const heed_loop_state *state) { return state->step < *(const int64_t *)user; }

/* A run that stops after update `at` (0: none) and goes on, into `dir`. */
static heed_loop_state train(const char *dir, int threads, struct way way, int64_t at) {
    heed_loop_state state;
    for (int turn = at > 0 ? 0 : 1; turn < 2; turn++) {
        struct scene s;
        open_scene(&s, PAIRS, threads, way);
        s.opts.dir = dir;
        s.opts.resume = at > 0 && turn == 1;
        if (turn == 0) s.opts.report = stop_at, s.opts.user = &at;
        const heed_loop_end end = heed_loop_run(s.cx, s.model, &s.opts, &state);
        if (end == HEED_LOOP_FAILED) fail_msg("%s", heed_message(s.cx));
        assert_int_equal(end, turn == 0 ? HEED_LOOP_STOPPED : HEED_LOOP_DONE);
        close_scene(&s);
    }
    return state;
}

/* Stopped after every so many updates, and with more threads. */
static void same_in_parts(struct way way, int64_t stride) {
    const char *whole = in_folder("whole"), *parts = in_folder("parts");
    const heed_loop_state once = train(whole, 1, way, 0);
    assert_true(once.steps > 10);
    int64_t tokens = 0;
    struct scene s;
    open_scene(&s, PAIRS, 1, way);
    for (int64_t i = 0; i < s.pairs[0].n; i++) tokens += heed_pair_target(&s.pairs[0], i).count;
    close_scene(&s);
    assert_int_equal(once.seen, 2 * tokens);
    for (int64_t at = 1; at < once.steps; at += stride) {
        const heed_loop_state twice = train(parts, 1, way, at);
        assert_same_files(file_in(whole, "model.safetensors"), file_in(parts, "model.safetensors"));
        assert_true(twice.seen == once.seen && twice.best.loss == once.best.loss);
        remove_model(parts);
    }
    train(parts, 2, way, 0);
    assert_same_files(file_in(whole, "model.safetensors"), file_in(parts, "model.safetensors"));
    remove_model(parts);
    remove_model(whole);
}

static void test_resume(void **unused) {
    (void)unused;
    same_in_parts((struct way){.tokens = 40, .dropout = "dropout=0.2"}, 4);
}

static void test_resume_redrawn(void **unused) {
    (void)unused;
    same_in_parts((struct way){.tokens = 80, .dropout = "dropout=0.2", .merges = 0.3}, 13);
    same_in_parts((struct way){.tokens = 80, .micro = 40, .dropout = "dropout=0.2", .merges = 0.3}, 13);
}

/* The gradient of the first batch by all numbers, as an update of plain SGD with a learning rate of 1 shows it. */
static float *first_gradient(struct way way, int64_t *n) {
    struct scene s;
    heed_loop_state state;
    open_scene(&s, PAIRS, 1, way);
    const heed_params *params = heed_model_params(s.model);
    *n = heed_params_size(params);
    float *before = malloc((size_t)*n * sizeof *before);
    memcpy(before, heed_params_block(params), (size_t)*n * sizeof *before);
    s.opts.trainer = (heed_trainer_opts){.optimizer = {.kind = HEED_SGD}, .schedule = {.lr = 1}};
    s.opts.dir = in_folder("model");
    s.opts.epochs = 0, s.opts.steps = 1;
    assert_int_equal(heed_loop_run(s.cx, s.model, &s.opts, &state), HEED_LOOP_DONE);
    for (int64_t i = 0; i < *n; i++) before[i] -= heed_params_block(params)[i];
    remove_model(s.opts.dir);
    close_scene(&s);
    return before;
}

/* In parts, of which a batch of 60 tokens has at least three, the gradient is the same but for rounding. */
static void test_micro(void **unused) {
    (void)unused;
    int64_t n, m;
    float *whole = first_gradient((struct way){.tokens = 60, .dropout = "dropout=0"}, &n),
          *parts = first_gradient((struct way){.tokens = 60, .micro = 20, .dropout = "dropout=0"}, &m);
    float most = 0;
    bool same = n == m;
    for (int64_t i = 0; i < n; i++) most = fmaxf(most, fabsf(whole[i]));
    assert_true(most > 0.01f);
    for (int64_t i = 0; i < n; i++) {
        if (!(fabsf(whole[i] - parts[i]) <= 1e-6f * most))
            fail_msg("gradient %lld of %lld: %g, in parts %g", (long long)i, (long long)n, (double)whole[i],
                     (double)parts[i]);
        same &= whole[i] == parts[i];
    }
    assert_false(same); /* they were parts */
    free(whole);
    free(parts);
}

static void test_learns(void **unused) {
    (void)unused;
    struct scene s;
    open_scene(&s, MANY, 1, (struct way){.tokens = 200, .dropout = "dropout=0"});
    heed_loop_state state;
    char dir[300]; /* many more names are made below */
    snprintf(dir, sizeof dir, "%s", in_folder("model"));
    s.opts.dir = dir;
    s.opts.epochs = 40;
    s.opts.keep = 2;
    assert_int_equal(heed_loop_run(s.cx, s.model, &s.opts, &state), HEED_LOOP_DONE);
    if (!(state.best.metric > 80)) fail_msg("BLEU %g", state.best.metric);
    /* the two that were evaluated last stay */
    char kept[3][64];
    for (int k = 0; k < 3; k++) {
        snprintf(kept[k], sizeof kept[k], "model/kept/step-%08lld",
                 (long long)(state.steps - k * heed_translation_source(s.translation)->per_epoch));
        assert_int_equal(access(in_folder(kept[k]), F_OK) == 0, k < 2);
        if (k < 2) remove_model(in_folder(kept[k]));
    }
    assert_int_equal(rmdir(in_folder("model/kept")), 0);
    remove_model(s.opts.dir);
    /* measured again, alone */
    heed_score score;
    heed_bleu bleu;
    const heed_translation_set set = {&s.pairs[1], &s.text[1][1]};
    assert_true(heed_translation_measure(s.cx, s.model, &set, s.tokens, NULL, NULL, &score, &bleu));
    assert_true(score.metric == state.best.metric && score.metric == bleu.score && score.loss == state.best.loss);
    close_scene(&s);
}

/* What the plan asks for is enough for batches of any size in any order, and for decoding; it is taken at once,
 * whatever the first batch needs, and no more with more to be had. A byte less is refused before anything is done. */
static void test_plan(void **unused) {
    (void)unused;
    static const int64_t more[] = {-1, 0, 1 << 26};
    for (int i = 0; i < 3; i++) {
        struct scene s;
        heed_loop_state state;
        open_scene(&s, MANY, 1, (struct way){.tokens = 1000, .dropout = "dropout=0.1"});
        s.opts.dir = in_folder("model");
        if (more[i] > 0) s.opts.epochs = 0, s.opts.steps = 1;
        heed_ctx *dry = heed_open(&(heed_config){.threads = 1, .dry = true});
        const size_t empty = heed_memory_use(dry).held;
        heed_plan plan;
        if (!heed_plan_run(dry, s.model, &s.opts, &plan)) fail_msg("%s", heed_message(dry));
        assert_true(plan.step > 0 && plan.trainer > 2 * plan.weights);
        const size_t room = arena_room(dry);
        heed_close(dry);
        const size_t needed = heed_memory_use(s.cx).held + plan.total - empty;
        s.cx->config.byte_budget = (size_t)((int64_t)needed + more[i]);
        heed_memory_reset_peak(s.cx);
        const heed_loop_end end = heed_loop_run(s.cx, s.model, &s.opts, &state);
        if (more[i] >= 0 && end != HEED_LOOP_DONE) fail_msg("%s", heed_message(s.cx));
        if (more[i] < 0) assert_int_equal(heed_error(s.cx), HEED_ERR_BUDGET);
        if (more[i] >= 0) assert_int_equal(arena_room(s.cx), room);
        assert_int_equal(state.step > 0, more[i] >= 0);
        assert_true(heed_memory_use(s.cx).held_peak <= needed);
        heed_clear(s.cx);
        s.cx->config.byte_budget = 0;
        if (more[i] >= 0) remove_model(s.opts.dir);
        close_scene(&s);
    }
}

static void test_bad_input(void **unused) {
    (void)unused;
    struct scene s;
    open_scene(&s, PAIRS, 1, (struct way){.tokens = 60, .dropout = "dropout=0.1"});
    heed_score score;
    const heed_translation_set no_text = {&s.pairs[1], NULL}, other_text = {&s.pairs[1], &s.text[0][1]};
    assert_false(heed_translation_measure(s.cx, s.model, &no_text, s.tokens, NULL, NULL, &score, NULL));
    EXPECT_SENTENCE(s.cx, "translation: a model, pairs with their text and a tokenizer are needed");
    assert_false(heed_translation_measure(s.cx, s.model, &other_text, s.tokens, NULL, NULL, &score, NULL));
    EXPECT_SENTENCE(s.cx, "translation: a model, pairs with their text and a tokenizer are needed");
    const heed_translation_opts no_pairs = {.tokens = 5}, no_tokens = {.train = {&s.pairs[0], NULL}};
    assert_null(heed_translation_new(s.cx, &no_pairs));
    EXPECT_SENTENCE(s.cx, "translation: pairs and a batch of at least one token are needed");
    assert_null(heed_translation_new(s.cx, &no_tokens));
    EXPECT_SENTENCE(s.cx, "translation: pairs and a batch of at least one token are needed");
    heed_translation_opts no_lines = {.train = {&s.pairs[0], NULL}, .tokens = 5, .merge_dropout = 0.1};
    assert_null(heed_translation_new(s.cx, &no_lines));
    EXPECT_SENTENCE(s.cx, "pairs: texts, tokenizers and a place for the pairs are needed");
    no_lines.train_text = &s.parallel[0];
    no_lines.merge_dropout = -1;
    assert_null(heed_translation_new(s.cx, &no_lines));
    EXPECT_SENTENCE(s.cx, "encode: the dropout rate must be between 0 and 1");
    close_scene(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resume), cmocka_unit_test(test_resume_redrawn), cmocka_unit_test(test_micro),
        cmocka_unit_test(test_learns), cmocka_unit_test(test_plan),           cmocka_unit_test(test_bad_input),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
