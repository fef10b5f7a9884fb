/* Masked words: how documents become sequences, what is masked and how often, and what is measured. */
#include "heed/task.h"
#include "io/io_test.h"

static const char text[] =
    "The owls were watching the unlucky fishermen.\n"
    "Nobody watched the owls,  nobody at all.\n"
    " \t\n"
    "Fishing is unlucky.\n"
    "\n\n"
    "Watching owls is lucky, fishing owls is luckier: the luckiest owls fish while others watch.\n";
static const char *const documents[] = {
    "The owls were watching the unlucky fishermen. Nobody watched the owls,  nobody at all.", "Fishing is unlucky.",
    "Watching owls is lucky, fishing owls is luckier: the luckiest owls fish while others watch."};

static heed_tokenizer *make_tokenizer(heed_ctx *cx, const char *mask) {
    heed_string s = {0};
    heed_lines lines = {0};
    assert_true(heed_string_put(cx, &s, text, strlen(text)) && heed_lines_cut(cx, &s, &lines));
    heed_tokenizer *t = heed_tokenizer_train(cx, (const heed_lines *const[]){&lines}, 1,
                                             &(heed_tokenizer_opts){.kind = HEED_TOKENS_WORDPIECE,
                                                                    .vocabulary = 60,
                                                                    .pad = "[PAD]",
                                                                    .bos = "[CLS]",
                                                                    .eos = "[SEP]",
                                                                    .unk = "[UNK]",
                                                                    .mask = mask,
                                                                    .lower = true,
                                                                    .add_bos = true,
                                                                    .add_eos = true});
    assert_non_null(t);
    heed_lines_free(cx, &lines);
    return t;
}

static heed_task_data *read_text(heed_ctx *cx, const char *bytes, const heed_task_opts *opts) {
    write_bytes(in_folder("text"), bytes, strlen(bytes));
    heed_task_data *d = heed_task_read(cx, heed_text_task_find("mlm"), in_folder("text"), opts);
    unlink(in_folder("text"));
    return d;
}

static heed_task_data *encoded(heed_ctx *cx, const heed_tokenizer *t, const heed_task_opts *opts) {
    heed_task_data *d = read_text(cx, text, opts);
    assert_true(heed_task_encode(cx, d, &(heed_text_reader){.tokens = t, .max_length = 512, .types = true}));
    return d;
}

static const int32_t *row_of(const heed_dataset *set, int64_t row, int64_t *n) {
    const heed_column *c = &set->column[0];
    *n = heed_dataset_length(set, 0, row);
    return (const int32_t *)c->data + c->start[row];
}

/* A sequence is [CLS], the next tokens of a document, [SEP]; all tokens are there, and documents are apart. */
static void test_sequences(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_tokenizer *t = make_tokenizer(cx, "[MASK]");
    for (int64_t max_length = 3; max_length < 130; max_length += max_length < 20 ? 1 : 50) {
        heed_task_data *d = encoded(cx, t, &(heed_task_opts){.max_length = max_length});
        const heed_dataset *set = heed_task_columns(d);
        int64_t row = 0, n, used = 0;
        for (int k = 0; k < 3; k++) {
            heed_ids ids = {0};
            assert_true(heed_encode(cx, t, documents[k], strlen(documents[k]), false, &ids));
            for (int64_t at = 0; at < ids.count; at += n - 2, row++) {
                assert_true(row < set->n);
                const int32_t *id = row_of(set, row, &n);
                assert_int_equal(id[0], heed_tokenizer_id(t, "[CLS]"));
                assert_int_equal(id[n - 1], heed_tokenizer_id(t, "[SEP]"));
                assert_int_equal(n - 2, ids.count - at < max_length - 2 ? ids.count - at : max_length - 2);
                assert_memory_equal(id + 1, ids.id + at, (size_t)(n - 2) * sizeof *id);
                used += n - 2;
            }
            heed_ids_free(cx, &ids);
        }
        assert_int_equal(row, set->n);
        assert_true(used > 60 && heed_task_cut(d) == 0);
        assert_int_equal(heed_dataset_find(set, "token_type_ids"), 1);
        heed_task_free(cx, d);
    }
    heed_tokenizer_free(cx, t);
    close_context(cx);
}

/* What a masking did, added up. */
struct tally {
    int64_t words, chosen, masked, kept, other;
    uint64_t hash;
};

static bool continues(const heed_tokenizer *t, int32_t id) {
    return strncmp(heed_tokenizer_token(t, id), "##", 2) == 0;
}

static struct tally mask_epoch(heed_ctx *cx, const heed_task_data *d, const heed_tokenizer *t, uint64_t seed,
                               int64_t epoch, bool whole) {
    const heed_dataset *set = heed_task_columns(d);
    const void *own;
    heed_batches_opts opts = {.batch = set->n, .seed = seed, .epoch = epoch};
    opts.transform = heed_task_transform(d, &own);
    opts.own = own;
    heed_batches *batches = heed_batches_open(cx, set, &opts);
    const heed_batch *b = heed_batches_next(cx, batches);
    const int32_t *ids = heed_batch_i32(b, "input_ids"), *labels = heed_batch_i32(b, "labels");
    const int32_t mask = heed_tokenizer_id(t, "[MASK]");
    const int64_t width = b->column[0].shape[1];
    struct tally tally = {0};
    for (int64_t i = 0; i < b->n; i++) {
        int64_t n, chosen = 0;
        const int32_t *true_id = row_of(set, b->row[i], &n);
        for (int64_t j = 0; j < width; j++) {
            const int32_t id = ids[i * width + j], label = labels[i * width + j];
            const bool word = j > 0 && j < n - 1;
            tally.hash = tally.hash * 31 + (uint64_t)(id + 1000 * label);
            if (!word || label == HEED_NO_LABEL) {
                assert_int_equal(label, HEED_NO_LABEL);
                assert_int_equal(id, j < n ? true_id[j] : 0);
            } else {
                assert_int_equal(label, true_id[j]);
                assert_true(id == mask || !heed_tokenizer_is_special(t, id));
                tally.masked += id == mask;
                tally.kept += id == label;
                tally.other += id != mask && id != label;
                chosen++;
            }
            if (whole && word && j > 1 && continues(t, true_id[j]))
                assert_int_equal(label >= 0, labels[i * width + j - 1] >= 0);
            tally.words += word;
        }
        assert_true(chosen >= 1);
        tally.chosen += chosen;
    }
    assert_int_equal(b->weight, tally.chosen);
    heed_batches_close(cx, batches);
    return tally;
}

static void expect_share(int64_t part, int64_t all, double share, double off) {
    assert_true(fabs((double)part / (double)all - share) < off);
}

static void test_masking(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_tokenizer *t = make_tokenizer(cx, "[MASK]");
    for (int whole = 0; whole < 2; whole++) {
        heed_task_data *d = encoded(cx, t, &(heed_task_opts){.whole_words = whole, .masked = whole ? 0.4 : 0});
        struct tally all = {0};
        uint64_t before = 0;
        for (int64_t epoch = 0; epoch < 600; epoch++) {
            const struct tally tally = mask_epoch(cx, d, t, 9, epoch, whole);
            assert_true(tally.hash != before);
            before = tally.hash;
            all.words += tally.words, all.chosen += tally.chosen;
            all.masked += tally.masked, all.kept += tally.kept, all.other += tally.other;
        }
        expect_share(all.chosen, all.words, whole ? 0.4 : 0.15, 0.02);
        expect_share(all.masked, all.chosen, 0.8, 0.02);
        expect_share(all.kept, all.chosen, 0.1, 0.02);
        expect_share(all.other, all.chosen, 0.1, 0.02);
        assert_true(mask_epoch(cx, d, t, 9, 5, whole).hash == mask_epoch(cx, d, t, 9, 5, whole).hash);
        assert_true(mask_epoch(cx, d, t, 9, 5, whole).hash != mask_epoch(cx, d, t, 8, 5, whole).hash);
        heed_task_free(cx, d);
    }
    /* a sequence may begin within a word, whose pieces are then a word of their own */
    heed_task_data *d = encoded(cx, t, &(heed_task_opts){.whole_words = true, .max_length = 5});
    for (int64_t epoch = 0; epoch < 20; epoch++) mask_epoch(cx, d, t, 1, epoch, true);
    heed_task_free(cx, d);
    heed_tokenizer_free(cx, t);
    close_context(cx);
}

/* Every token is as likely to be chosen as any other. */
static void test_fairness(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_tokenizer *t = make_tokenizer(cx, "[MASK]");
    heed_task_data *d = encoded(cx, t, &(heed_task_opts){.max_length = 12, .masked = 0.3});
    const heed_dataset *set = heed_task_columns(d);
    const void *own;
    heed_transform transform = heed_task_transform(d, &own);
    int64_t often[12] = {0};
    for (int64_t epoch = 0; epoch < 4000; epoch++) {
        int64_t n;
        int32_t ids[12], types[12] = {0}, labels[12];
        memcpy(ids, row_of(set, 0, &n), sizeof ids);
        memcpy(labels, set->column[2].data, sizeof labels);
        assert_int_equal(n, 12);
        transform(own, 3, epoch, 0, (const heed_cell[]){{ids, n}, {types, n}, {labels, n}});
        for (int j = 0; j < 12; j++) often[j] += labels[j] >= 0;
    }
    assert_int_equal(often[0] + often[11], 0);
    for (int j = 1; j < 11; j++) expect_share(often[j], 4000, 0.3, 0.03);
    heed_task_free(cx, d);
    heed_tokenizer_free(cx, t);
    close_context(cx);
}

/* The score is that of one masking; perplexity is the exponential of the mean loss of a masked word. */
static void test_measure(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_tokenizer *t = make_tokenizer(cx, "[MASK]");
    char words[32];
    snprintf(words, sizeof words, "vocab_size=%d", (int)heed_tokenizer_size(t));
    const heed_family *bert = heed_family_find("bert");
    const char *const settings[] = {words, "hidden_size=8", "num_hidden_layers=1", "num_attention_heads=2",
                                    "intermediate_size=8"};
    heed_model *model = heed_model_new_as(cx, bert, heed_head_for(bert, "mlm"), settings, 5, 4);
    heed_task_data *d = encoded(cx, t, &(heed_task_opts){.max_length = 16});
    const int64_t rows[] = {0, 2};
    heed_score once, again, some;
    assert_true(heed_task_measure(cx, model, d, NULL, 0, &once, NULL));
    assert_true(heed_task_measure(cx, model, d, NULL, 0, &again, NULL));
    assert_true(heed_task_measure(cx, model, d, rows, 2, &some, NULL));
    assert_memory_equal(&once, &again, sizeof once);
    assert_true(fabs(once.metric / exp(once.loss) - 1) < 1e-5 && fabs(some.metric / exp(some.loss) - 1) < 1e-5);
    assert_true(once.metric > 30 && once.metric < 120 && some.loss != once.loss); /* fresh weights know nothing */
    assert_true(once.more[0] >= 0 && once.more[0] < 0.3);
    /* one that always says [PAD], and one whose bias knows what is frequent */
    heed_param *bias = heed_params_find(heed_model_params(model), "cls.predictions.bias");
    bias->value[heed_tokenizer_id(t, "[PAD]")] = 1000;
    assert_true(heed_task_measure(cx, model, d, NULL, 0, &some, NULL));
    assert_true(some.more[0] == 0 && some.loss > 900);
    heed_task_free(cx, d);
    heed_model_free(cx, model);
    heed_tokenizer_free(cx, t);
    close_context(cx);
}

static void test_refused(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_tokenizer *t = make_tokenizer(cx, "[MASK]"), *plain = make_tokenizer(cx, NULL);
    assert_null(read_text(cx, "", NULL));
    EXPECT_SENTENCE(cx, "there is no text");
    assert_null(read_text(cx, "\n \n\t\n", NULL));
    EXPECT_SENTENCE(cx, "there is no text");
    assert_null(read_text(cx, "a\n", &(heed_task_opts){.masked = 1.5}));
    EXPECT_SENTENCE(cx, "a share of 1.5 of the words");
    assert_null(read_text(cx, "\xFF\n", NULL));
    EXPECT_SENTENCE(cx, "UTF-8");
    heed_task_data *d = read_text(cx, text, &(heed_task_opts){.max_length = 2});
    assert_false(heed_task_encode(cx, d, &(heed_text_reader){.tokens = t}));
    EXPECT_SENTENCE(cx, "sequences of 2 tokens have no room for words beside 2 special tokens");
    assert_false(heed_task_encode(cx, d, &(heed_text_reader){.tokens = plain}));
    EXPECT_SENTENCE(cx, "mlm: the tokenizer has no mask token, such as [MASK]");
    heed_task_free(cx, d);
    d = read_text(cx, "%\n[SEP]\n", NULL); /* unknown, and special */
    assert_false(heed_task_encode(cx, d, &(heed_text_reader){.tokens = t}));
    EXPECT_SENTENCE(cx, "the text has no words to mask");
    heed_task_free(cx, d);
    d = read_text(cx, "owls", NULL); /* shorter than a sequence, without a newline */
    assert_true(heed_task_encode(cx, d, &(heed_text_reader){.tokens = t}) && heed_task_count(d) == 1);
    heed_task_free(cx, d);
    heed_tokenizer_free(cx, t);
    heed_tokenizer_free(cx, plain);
    close_context(cx);
}

static bool read_and_encode(heed_ctx *cx) {
    heed_tokenizer *t = heed_tokenizer_load(cx, in_folder("tokenizer.json"));
    heed_task_data *d = heed_task_read(cx, heed_text_task_find("mlm"), in_folder("text"), NULL);
    const bool ok =
        d && t && heed_task_encode(cx, d, &(heed_text_reader){.tokens = t, .max_length = 16, .types = true});
    heed_task_free(cx, d);
    heed_tokenizer_free(cx, t);
    return ok;
}

static void test_memory(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_tokenizer *t = make_tokenizer(cx, "[MASK]");
    assert_true(heed_tokenizer_save(cx, t, in_folder("tokenizer.json")));
    heed_tokenizer_free(cx, t);
    close_context(cx);
    write_bytes(in_folder("text"), text, strlen(text));
    starve_step(read_and_encode, 20);
    unlink(in_folder("text"));
    unlink(in_folder("tokenizer.json"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sequences), cmocka_unit_test(test_masking), cmocka_unit_test(test_fairness),
        cmocka_unit_test(test_measure),   cmocka_unit_test(test_refused), cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
