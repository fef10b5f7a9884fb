/* Language models: how a text becomes windows and documents become rows, that packed documents are as if alone, and
 * that losses fall as PyTorch's do. */
#include "task/task_test.h"
#include <math.h>

static heed_model *small_gpt2(heed_ctx *cx) {
    static const char *const settings[] = {
        "vocab_size=40",  "n_embd=8",       "n_layer=2",      "n_head=2",
        "n_positions=16", "bos_token_id=0", "eos_token_id=0", "initializer_range=0.5"};
    const heed_family *gpt2 = heed_family_find("gpt2");
    heed_model *m = heed_model_new_as(cx, gpt2, heed_head_for(gpt2, "lm"), settings, 8, 3);
    if (!m) fail_msg("%s", heed_message(cx));
    return m;
}

static heed_task_data *read_as(heed_ctx *cx, const char *name, const char *text, const heed_task_opts *opts) {
    write_text(name, text);
    heed_task_data *d = heed_task_read(cx, heed_text_task_find("lm"), in_folder(name), opts);
    unlink(in_folder(name));
    return d;
}

/* Every character is a token, newlines too. */
static heed_tokenizer *characters(heed_ctx *cx, const heed_task_data *d) {
    const heed_lines *texts[] = {heed_task_texts(d)};
    heed_tokenizer *t = heed_vocabulary_train_lm(cx, texts, 1, HEED_TOKENS_CHAR, 0, false);
    if (!t) fail_msg("%s", heed_message(cx));
    return t;
}

/* ---- streams ---- */

#define STREAM "one two\n\nthree, four\n five six seven \xC3\xA9t\xC3\xA9 eight\nnine ten\n"

static void check_window(const heed_task_data *d, heed_transform fill, const void *own, int64_t row, int64_t epoch,
                         const heed_ids *whole, int64_t from, int64_t length) {
    int32_t ids[64], next[64];
    const heed_cell cells[] = {{ids, length}, {next, length}};
    assert_int_equal(heed_dataset_length(heed_task_columns(d), 0, row), length);
    fill(own, 7, epoch, row, cells);
    if (from < 0) /* anywhere */
        for (from = 0; from + length < whole->count; from++)
            if (memcmp(ids, whole->id + from, (size_t)length * sizeof *ids) == 0) break;
    assert_true(from + length < whole->count);
    assert_memory_equal(ids, whole->id + from, (size_t)length * sizeof *ids);
    assert_memory_equal(next, whole->id + from + 1, (size_t)length * sizeof *ids);
}

static void test_stream(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    for (int in_order = 0; in_order < 2; in_order++) {
        heed_task_data *d = read_as(cx, "stream.txt", STREAM,
                                    &(heed_task_opts){.max_length = 5, .held_out = 0.25, .in_order = in_order});
        assert_non_null(d);
        heed_tokenizer *t = characters(cx, d);
        assert_true(heed_task_encode(cx, d, &(heed_text_reader){.tokens = t, .next = true, .packs = true}));
        heed_ids whole = {0}, end = {0};
        const char *text = heed_line_text(heed_task_texts(d), 0);
        const size_t size = heed_line_size(heed_task_texts(d), 0);
        int64_t n = 0;
        for (const char *s = STREAM; *s; s++) n += ((unsigned char)*s & 0xC0) != 0x80;
        assert_memory_equal(text, STREAM, size);
        assert_true(heed_encode(cx, t, text, size, false, &whole) &&
                    heed_encode(cx, t, &STREAM[size], strlen(STREAM) - size, false, &end));
        assert_int_equal(whole.count, (int64_t)(0.75 * (double)n));
        assert_int_equal(whole.count + end.count, n);
        const void *own;
        const heed_transform fill = heed_task_transform(d, &own);
        const int64_t held = heed_task_held_out(d), rows = heed_task_count(d) - held;
        assert_int_equal(rows, (whole.count - 2) / 5 + 1);
        assert_int_equal(held, (end.count - 2) / 5 + 1);
        for (int64_t row = 0; row < rows; row++) {
            const int64_t left = whole.count - 1 - 5 * row;
            check_window(d, fill, own, row, row % 3, &whole, in_order ? 5 * row : -1, left < 5 ? left : 5);
        }
        for (int64_t row = 0; row < held; row++) {
            const int64_t left = end.count - 1 - 5 * row;
            check_window(d, fill, own, rows + row, 1, &end, 5 * row, left < 5 ? left : 5);
        }
        heed_ids_free(cx, &whole);
        heed_ids_free(cx, &end);
        heed_task_free(cx, d);
        heed_tokenizer_free(cx, t);
    }
    close_context(cx);
}

/* Bits per byte go by the bytes of the text, of which a character may have two. */
static void test_measure(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_task_data *d = read_as(cx, "stream.txt", STREAM, &(heed_task_opts){.max_length = 5});
    heed_tokenizer *t = characters(cx, d);
    heed_model *m = small_gpt2(cx);
    heed_score score;
    heed_set_grad(cx, false);
    assert_true(heed_task_encode(cx, d, &(heed_text_reader){.tokens = t, .next = true, .packs = true}) &&
                heed_task_measure(cx, m, d, NULL, 0, &score, NULL));
    assert_true(fabs(score.metric - exp(score.loss)) < 1e-9 * score.metric);
    const double tokens = (double)strlen(STREAM) - 3, want = score.loss * tokens / log(2) / (double)strlen(STREAM);
    assert_true(fabs(score.more[0] - want) < 1e-6);
    heed_model_free(cx, m);
    heed_tokenizer_free(cx, t);
    heed_task_free(cx, d);
    close_context(cx);
}

/* ---- documents ---- */

#define DOCUMENTS                                                                                                      \
    "first document,\nof two lines\n\n\nsecond\n \t\nthird: short\n\nfourth is longer than any other\n\nv\n"

/* The mean loss of documents that are read one by one. */
static double loss_alone(heed_ctx *cx, const heed_model *m, const heed_tokenizer *t, const heed_lines *texts,
                         int64_t context, int64_t *tokens) {
    double sum = 0;
    *tokens = 0;
    for (int64_t i = 0; i < texts->count; i++) {
        heed_ids ids = {0};
        heed_ids_put(cx, &ids, 0);
        heed_encode(cx, t, heed_line_text(texts, i), heed_line_size(texts, i), true, &ids);
        heed_ids_put(cx, &ids, 0);
        for (int64_t from = 0; from + 1 < ids.count; from += context) {
            const int64_t left = ids.count - 1 - from, n = left < context ? left : context, shape[] = {1, n};
            heed_io in = {.loss_only = true}, out = {0};
            heed_io_put(cx, &in, "input_ids", heed_from_i32(cx, ids.id + from, 2, shape));
            heed_io_put(cx, &in, "shift_labels", heed_from_i32(cx, ids.id + from + 1, 2, shape));
            assert_true(heed_model_forward(cx, m, &in, &out));
            sum += (double)heed_f32(heed_io_get(&out, "loss"))[0] * (double)n;
            *tokens += n;
            heed_reset(cx);
        }
        heed_ids_free(cx, &ids);
    }
    return sum / (double)*tokens;
}

static void test_documents(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_set_grad(cx, false);
    for (int64_t context = 2; context <= 16; context++) {
        heed_task_data *d =
            read_as(cx, "documents.txt", DOCUMENTS, &(heed_task_opts){.max_length = context, .documents = true});
        assert_non_null(d);
        assert_int_equal(heed_task_texts(d)->count, 5);
        assert_string_equal(heed_line_text(heed_task_texts(d), 0), "first document,\nof two lines");
        heed_tokenizer *t = characters(cx, d);
        heed_model *m = small_gpt2(cx);
        heed_score score;
        int64_t tokens, labels = 0;
        assert_true(heed_task_encode(cx, d, &(heed_text_reader){.tokens = t, .next = true, .packs = true}) &&
                    heed_task_measure(cx, m, d, NULL, 0, &score, NULL));
        const double want = loss_alone(cx, m, t, heed_task_texts(d), context, &tokens);
        if (!(fabs(score.loss - want) < 2e-6 * want))
            fail_msg("context %d: %.9g, alone %.9g", (int)context, score.loss, want);
        const heed_dataset *set = heed_task_columns(d);
        assert_int_equal(set->columns, 4);
        for (int64_t i = 0; i < set->column[3].start[set->n]; i++) labels += ((int32_t *)set->column[3].data)[i] >= 0;
        assert_int_equal(labels, tokens);
        heed_model_free(cx, m);
        heed_tokenizer_free(cx, t);
        heed_task_free(cx, d);
    }
    close_context(cx);
}

/* Documents are held out whole; with a separator blank lines are text. */
static void test_parts(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_task_data *d =
        read_as(cx, "documents.txt", DOCUMENTS, &(heed_task_opts){.max_length = 8, .documents = true, .held_out = 0.3});
    heed_tokenizer *t = characters(cx, d);
    assert_int_equal(heed_task_texts(d)->count, 4);
    assert_true(heed_task_encode(cx, d, &(heed_text_reader){.tokens = t, .next = true, .packs = true}));
    assert_int_equal(heed_task_held_out(d), 1);
    heed_tokenizer_free(cx, t);
    heed_task_free(cx, d);
    d = read_as(cx, "cut.txt", "a\n\nb\n---\nc\r\n---\r\n\n---\nd",
                &(heed_task_opts){.max_length = 4, .separator = "---"});
    assert_int_equal(heed_task_texts(d)->count, 3);
    assert_string_equal(heed_line_text(heed_task_texts(d), 0), "a\n\nb");
    assert_string_equal(heed_line_text(heed_task_texts(d), 2), "d");
    t = characters(cx, d);
    assert_true(heed_task_encode(cx, d, &(heed_text_reader){.tokens = t, .next = true, .packs = true}));
    int32_t ids[4], next[4];
    const void *own;
    heed_transform fill = heed_task_transform(d, &own);
    const heed_cell cells[] = {{ids, 4}, {next, 4}};
    fill(own, 1, 0, 0, cells); /* a stream of 4 + 1 + 2 + 1 characters and the tokens before, between and behind */
    assert_int_equal(heed_task_count(d), 3);
    heed_tokenizer_free(cx, t);
    heed_task_free(cx, d);
    close_context(cx);
}

/* ---- what is refused ---- */

static void test_refusals(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    static const char *const nothing[] = {"", "\n", " \n\t\n"};
    for (int i = 0; i < 3; i++) {
        const heed_task_opts opts = {.documents = i > 0};
        assert_null(read_as(cx, "nothing.txt", nothing[i], &opts));
        EXPECT_SENTENCE(cx, "there is no text");
    }
    assert_null(read_as(cx, "bad.txt", "good\nb\xFF", NULL));
    EXPECT_SENTENCE(cx, "line 2");
    assert_null(read_as(cx, "good.txt", "good", &(heed_task_opts){.held_out = 1}));
    EXPECT_SENTENCE(cx, "held out");
    heed_task_data *d = read_as(cx, "one.txt", "x", NULL);
    heed_tokenizer *t = characters(cx, d);
    assert_false(heed_task_encode(cx, d, &(heed_text_reader){.tokens = t, .next = true, .packs = true}));
    EXPECT_SENTENCE(cx, "the text has 1 tokens: at least 2 are needed");
    heed_tokenizer_free(cx, t);
    heed_task_free(cx, d);
    close_context(cx);
}

/* ---- learning ---- */

static heed_tensor *numbers(heed_ctx *cx, heed_json step, const char *name, int64_t batch, int64_t length) {
    int32_t value[64];
    int64_t n = 0;
    const int64_t shape[] = {batch, length};
    const heed_json list = heed_json_find(cx, step, name);
    if (heed_json_kind_of(list) == HEED_JSON_NONE) return NULL;
    for (EACH(v, list)) value[n++] = (int32_t)heed_json_int(cx, v, NULL);
    assert_int_equal(n, batch * length);
    return heed_from_i32(cx, value, 2, shape);
}

static void test_curve(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const char *root = getenv("HEED_GOLDEN");
    char path[1024];
    snprintf(path, sizeof path, "%s/model/gpt2-lm", root ? root : HEED_SOURCE_DIR "/tests/golden");
    const heed_json doc = open_golden(cx, "task/language.json");
    static const char *const no_dropout[] = {"resid_pdrop=0", "embd_pdrop=0", "attn_pdrop=0"};
    heed_model *m =
        heed_model_load_as(cx, path, &(heed_load_opts){.task = "lm", .settings = no_dropout, .n_settings = 3});
    if (!m) fail_msg("%s", heed_message(cx));
    heed_trainer *t = heed_trainer_new(
        cx, heed_model_params(m),
        &(heed_trainer_opts){
            .optimizer = {.kind = HEED_ADAMW, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8, .weight_decay = 0.1},
            .schedule = {.kind = HEED_COSINE, .lr = 0.01, .steps = 10, .floor = 0.1},
            .clip = 1});
    heed_set_training(cx, true);
    for (EACH(step, heed_json_find(cx, doc, "steps"))) {
        static const char *const names[] = {"input_ids", "position_ids", "segment_ids", "shift_labels"};
        heed_io in = {.loss_only = true}, out = {0};
        heed_trainer_begin(cx, t);
        for (int i = 0; i < 4; i++) {
            heed_tensor *given = numbers(cx, step, names[i], 3, 8);
            if (given) heed_io_put(cx, &in, names[i], given);
        }
        if (!heed_model_forward(cx, m, &in, &out)) fail_msg("%s", heed_message(cx));
        heed_tensor *loss = heed_io_get(&out, "loss");
        const double got = (double)heed_f32(loss)[0], want = heed_json_number(cx, step, "loss");
        if (!(fabs(got - want) <= 1e-5 * want))
            fail_msg("step %lld: loss %.9g, PyTorch's is %.9g", (long long)heed_trainer_steps(t), got, want);
        assert_true(heed_backward(cx, loss) && heed_trainer_step(cx, t, NULL));
        heed_reset(cx);
    }
    assert_int_equal(heed_trainer_steps(t), 10);
    heed_trainer_free(cx, t);
    heed_model_free(cx, m);
    heed_json_free(doc);
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stream), cmocka_unit_test(test_measure),  cmocka_unit_test(test_documents),
        cmocka_unit_test(test_parts),  cmocka_unit_test(test_refusals), cmocka_unit_test(test_curve),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
