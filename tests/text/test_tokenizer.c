/* Tokenizers against Python's `tokenizers`: its files read, ours written, the same ids and the same text; what training
 * learns; and what can be asked. */
#include "given.h"
#include "text/text_test.h"
#include "text/tokenizer/tokenizer.h"

#define EACH(v, list)                                                                                                  \
    heed_json v = heed_json_first(list);                                                                               \
    heed_json_kind_of(v) != HEED_JSON_NONE;                                                                            \
    v = heed_json_next(v)

static bool same_ids(heed_ctx *cx, const heed_ids *ids, heed_json expected) {
    bool same = ids->count == heed_json_count(expected);
    for (int64_t i = 0; same && i < ids->count; i++)
        same = heed_json_int(cx, heed_json_item(cx, expected, i), NULL) == ids->id[i];
    return same;
}

/* A row: text, ids, ids without those added, text again without and with special tokens. */
static void expect_row(heed_ctx *cx, const heed_tokenizer *t, const char *name, heed_json row) {
    const char *text = heed_json_text(cx, heed_json_item(cx, row, 0), NULL);
    for (int special = 0; special < 2; special++) {
        heed_ids ids = {0};
        heed_string back = {0};
        const heed_json wanted = heed_json_item(cx, row, special ? 1 : 2);
        if (!heed_encode(cx, t, text, strlen(text), special, &ids)) fail_msg("%s: %s", name, heed_message(cx));
        if (!same_ids(cx, &ids, wanted)) {
            for (int64_t i = 0; i < ids.count; i++) print_error("%d ", ids.id[i]);
            fail_msg("\n%s: '%s': should be %s", name, text, heed_json_print(cx, wanted, 0, NULL));
        }
        for (int keep = 0; special && keep < 2; keep++) {
            back.size = 0;
            assert_true(heed_decode(cx, t, ids.id, ids.count, keep, &back));
            const char *wanted_text = heed_json_text(cx, heed_json_item(cx, row, keep ? 4 : 3), NULL);
            if (strcmp(back.s, wanted_text) != 0)
                fail_msg("%s: '%s' came back as '%s', should be '%s'", name, text, back.s, wanted_text);
        }
        heed_ids_free(cx, &ids);
        heed_string_free(cx, &back);
    }
}

static void expect_case(heed_ctx *cx, heed_json one) {
    const char *name = heed_json_text(cx, one, "name"), *file = heed_json_text(cx, one, "tokenizer");
    heed_tokenizer *t = tokenizer_parse(cx, name, file, strlen(file));
    if (!t) fail_msg("%s", heed_message(cx));
    const heed_json rows = heed_json_array(cx, one, "rows");
    for (EACH(row, rows)) expect_row(cx, t, name, row);
    heed_tokenizer_free(cx, t);
}

static void test_python_files(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const heed_json root = open_golden(cx, "tokenizers.json"), list = heed_json_array(cx, root, "python");
    assert_true(heed_json_count(list) >= 20);
    for (EACH(one, list)) expect_case(cx, one);
    heed_json_free(root);
    close_context(cx);
}

/* ---- training ---- */

/* The lines of a text, cut as heed_lines_read cuts a file. */
static heed_lines lines_of(heed_ctx *cx, const char *text) {
    heed_lines lines = {0};
    const char *path = in_folder("text");
    write_bytes(path, text, strlen(text));
    assert_true(heed_lines_read(cx, path, &lines));
    unlink(path);
    return lines;
}

static heed_tokenizer *train_on(heed_ctx *cx, const char *text, const heed_tokenizer_opts *o) {
    heed_lines lines = lines_of(cx, text);
    heed_tokenizer *t = heed_tokenizer_train(cx, (const heed_lines *const[]){&lines}, 1, o);
    heed_lines_free(cx, &lines);
    return t;
}

/* The options that the golden file's command line stands for. */
static heed_tokenizer_opts options_of(const char *arguments, char *work) {
    heed_tokenizer_opts o = {.pad = "<pad>", .bos = "<s>", .eos = "</s>", .unk = "<unk>"};
    strcpy(work, arguments);
    char *next = NULL, *word = strtok_r(work, " ", &next);
    o.kind = *word == 'c' ? HEED_TOKENS_CHAR : *word == 'w' ? HEED_TOKENS_WORD : HEED_TOKENS_BPE;
    while ((word = strtok_r(NULL, " ", &next))) {
        if (strcmp(word, "--vocab") == 0) o.vocabulary = atoi(strtok_r(NULL, " ", &next));
        if (strcmp(word, "--least") == 0) o.least = atoi(strtok_r(NULL, " ", &next));
        if (strcmp(word, "--bos") == 0) o.bos = strtok_r(NULL, " ", &next);
        if (strcmp(word, "--pad") == 0) o.pad = NULL; /* "" in the golden file */
        if (strcmp(word, "--lower") == 0) o.lower = true;
        if (strcmp(word, "--add-bos") == 0) o.add_bos = true;
        if (strcmp(word, "--add-eos") == 0) o.add_eos = true;
    }
    return o;
}

static void test_heed_files(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const heed_json root = open_golden(cx, "tokenizers.json"), list = heed_json_array(cx, root, "heed");
    const char *corpus = heed_json_text(cx, root, "corpus");
    assert_true(heed_json_count(list) >= 8);
    for (EACH(one, list)) {
        char work[256];
        const heed_tokenizer_opts o = options_of(heed_json_text(cx, one, "arguments"), work);
        heed_tokenizer *t = train_on(cx, corpus, &o);
        if (!t) fail_msg("%s", heed_message(cx));
        const char *path = in_folder("tokenizer.json"), *wanted = heed_json_text(cx, one, "tokenizer");
        assert_true(heed_tokenizer_save(cx, t, folder)); /* a directory */
        size_t size;
        char *written = read_bytes(path, &size);
        assert_int_equal(size, strlen(wanted));
        assert_memory_equal(written, wanted, size);
        heed_tokenizer *again = heed_tokenizer_load(cx, folder);
        const heed_json rows = heed_json_array(cx, one, "rows");
        for (EACH(row, rows)) {
            expect_row(cx, t, "trained", row);
            expect_row(cx, again, "read again", row);
        }
        assert_true(heed_tokenizer_save(cx, again, path)); /* a file */
        free(written);
        written = read_bytes(path, &size);
        assert_memory_equal(written, wanted, size);
        free(written);
        unlink(path);
        unlink(in_folder("tokenizer_config.json"));
        unlink(in_folder("special_tokens_map.json"));
        heed_tokenizer_free(cx, t);
        heed_tokenizer_free(cx, again);
    }
    heed_json_free(root);
    close_context(cx);
}

/* Python's own trainers learn the same, in the same order. */
static void test_python_trainers(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const heed_json root = open_golden(cx, "tokenizers.json"), all = heed_json_object(cx, root, "trained");
    for (EACH(one, all)) {
        const bool words = strcmp(heed_json_key(one), "word") == 0, bytes = strcmp(heed_json_key(one), "byte-bpe") == 0;
        heed_tokenizer_opts o = {.pad = "<pad>", .bos = "<s>", .eos = "</s>", .unk = bytes ? NULL : "<unk>"};
        o.kind = words ? HEED_TOKENS_WORD : bytes ? HEED_TOKENS_BYTE_BPE : HEED_TOKENS_BPE;
        o.vocabulary = words ? 0 : bytes ? 330 : 150;
        heed_tokenizer *t = train_on(cx, heed_json_text(cx, root, "corpus"), &o);
        const heed_json vocab = heed_json_array(cx, one, "vocab"), merges = heed_json_array(cx, one, "merges");
        assert_int_equal(heed_tokenizer_size(t), heed_json_count(vocab));
        for (int32_t i = 0; i < heed_tokenizer_size(t); i++)
            assert_string_equal(heed_tokenizer_token(t, i), heed_json_text(cx, heed_json_item(cx, vocab, i), NULL));
        const heed_json file = heed_json_parse(cx, "file", t->json, t->json_size);
        const heed_json ours = heed_json_find(cx, heed_json_object(cx, file, "model"), "merges");
        assert_int_equal(heed_json_count(ours), heed_json_count(merges));
        for (int64_t i = 0; i < heed_json_count(merges); i++) {
            const heed_json pair = heed_json_item(cx, merges, i);
            char joined[128];
            snprintf(joined, sizeof joined, "%s %s", heed_json_text(cx, heed_json_item(cx, pair, 0), NULL),
                     heed_json_text(cx, heed_json_item(cx, pair, 1), NULL));
            assert_string_equal(heed_json_text(cx, heed_json_item(cx, ours, i), NULL), joined);
        }
        heed_json_free(file);
        heed_tokenizer_free(cx, t);
    }
    heed_json_free(root);
    close_context(cx);
}

/* The likelihood of the corpus by the pieces learnt is at most 1 % worse than by Python's, and nothing is unknown. */
static void test_unigram_trainer(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const heed_json root = open_golden(cx, "tokenizers.json");
    const heed_tokenizer_opts o = {
        .kind = HEED_TOKENS_UNIGRAM, .vocabulary = 120, .pad = "<pad>", .bos = "<s>", .eos = "</s>", .unk = "<unk>"};
    const char *corpus = heed_json_text(cx, root, "corpus");
    heed_tokenizer *t = train_on(cx, corpus, &o);
    if (!t) fail_msg("%s", heed_message(cx));
    assert_int_equal(heed_tokenizer_size(t), 120);
    heed_lines lines = lines_of(cx, corpus);
    double sum = 0;
    for (int64_t i = 0; i < lines.count; i++) {
        heed_ids ids = {0};
        heed_string back = {0};
        assert_true(heed_encode(cx, t, heed_line_text(&lines, i), heed_line_size(&lines, i), false, &ids));
        for (int64_t k = 0; k < ids.count; k++) {
            assert_true(ids.id[k] != heed_tokenizer_unknown(t));
            sum += t->unigram.score[ids.id[k]];
        }
        assert_true(heed_decode(cx, t, ids.id, ids.count, false, &back));
        assert_string_equal(back.s, heed_line_text(&lines, i));
        heed_ids_free(cx, &ids);
        heed_string_free(cx, &back);
    }
    const double wanted = heed_json_number(cx, root, "unigram_likelihood");
    if (!(sum >= 1.01 * wanted)) fail_msg("the likelihood is %g, Python's is %g", sum, wanted);
    heed_lines_free(cx, &lines);
    heed_tokenizer_free(cx, t);
    heed_json_free(root);
    close_context(cx);
}

/* WordPiece: pieces within words have a prefix; the longest ones that fit come out, and the text comes back. */
static void test_word_pieces(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const heed_tokenizer_opts o = {.kind = HEED_TOKENS_WORDPIECE,
                                   .vocabulary = 40,
                                   .bos = "[CLS]",
                                   .eos = "[SEP]",
                                   .unk = "[UNK]",
                                   .lower = true,
                                   .add_bos = true,
                                   .add_eos = true};
    heed_tokenizer *t = train_on(cx, "running running runs ran, running banks; banking Bank", &o);
    if (!t) fail_msg("%s", heed_message(cx));
    assert_true(heed_tokenizer_id(t, "##ing") >= 0);
    assert_true(heed_tokenizer_id(t, "running") >= 0 && heed_tokenizer_id(t, "bank") >= 0);
    heed_encoding e = {0};
    heed_string pieces = {0}, back = {0};
    heed_ids ids = {0};
    assert_true(heed_encode_text(cx, t, "Bank running, zzz", 17, NULL, &e));
    for (int64_t i = 0; i < e.count; i++) {
        heed_string_put(cx, &pieces, i ? " " : "", i > 0);
        heed_string_put(cx, &pieces, e.text.s + e.token[i].text, e.token[i].size);
        heed_ids_put(cx, &ids, e.token[i].id);
    }
    assert_string_equal(pieces.s, "[CLS] bank running , [UNK] [SEP]");
    assert_int_equal(e.token[2].start, 5);
    assert_int_equal(e.token[2].end, 12);
    assert_true(heed_decode(cx, t, ids.id, 4, false, &back));
    assert_string_equal(back.s, "bank running,");
    heed_ids_free(cx, &ids);
    heed_string_free(cx, &pieces);
    heed_string_free(cx, &back);
    heed_encoding_free(cx, &e);
    heed_tokenizer_free(cx, t);
    close_context(cx);
}

/* Merges learnt the slow way: all pairs counted anew for every one. */
static void slow_merges(heed_ctx *cx, const char *text, int64_t most, heed_string *out) {
    char symbols[64][64][16]; /* words, their symbols */
    int sizes[64], words = 0;
    for (const char *s = text; *s; s += *s == ' ') {
        int n = 0;
        strcpy(symbols[words][n++], "\xE2\x96\x81");
        for (; *s && *s != ' '; s++) snprintf(symbols[words][n++], 16, "%c", *s);
        sizes[words++] = n;
    }
    for (int64_t m = 0; m < most; m++) {
        char best[33] = "";
        int best_count = 1;
        for (int w = 0; w < words; w++)
            for (int i = 0; i + 1 < sizes[w]; i++) {
                char pair[33];
                int count = 0;
                snprintf(pair, sizeof pair, "%s %s", symbols[w][i], symbols[w][i + 1]);
                for (int v = 0; v < words; v++)
                    for (int k = 0; k + 1 < sizes[v]; k++)
                        count += strcmp(symbols[v][k], symbols[w][i]) == 0 &&
                                 strcmp(symbols[v][k + 1], symbols[w][i + 1]) == 0;
                if (count > best_count) best_count = count, strcpy(best, pair);
            }
        if (best_count < 2) break;
        heed_string_put(cx, out, best, strlen(best));
        heed_string_put(cx, out, "\n", 1);
        *strchr(best, ' ') = 0;
        const char *second = best + strlen(best) + 1;
        for (int w = 0; w < words; w++) {
            int to = 0;
            for (int i = 0; i < sizes[w]; to++) {
                const bool both =
                    i + 1 < sizes[w] && strcmp(symbols[w][i], best) == 0 && strcmp(symbols[w][i + 1], second) == 0;
                memmove(symbols[w][to], symbols[w][i], 16);
                if (both) strcpy(symbols[w][to] + strlen(best), second);
                i += 1 + both;
            }
            sizes[w] = to;
        }
    }
}

/* Counts without ties, so that any way of learning must agree; runs of one letter overlap themselves. */
static void test_slow_merges(void **state) {
    (void)state;
    const char *text = "aaaaaaa aaaa aaab aaab abab ababab bababc cababab cccaab aacaac acacacac abcabcabc bbb";
    heed_ctx *cx = open_context();
    heed_string wanted = {0};
    slow_merges(cx, text, 3, &wanted);
    heed_tokenizer *t = train_on(cx, text, &(heed_tokenizer_opts){.kind = HEED_TOKENS_BPE, .vocabulary = 4 + 3});
    const heed_json file = heed_json_parse(cx, "file", t->json, t->json_size);
    const heed_json merges = heed_json_find(cx, heed_json_object(cx, file, "model"), "merges");
    heed_string found = {0};
    for (EACH(v, merges)) {
        const char *pair = heed_json_text(cx, v, NULL);
        heed_string_put(cx, &found, pair, strlen(pair));
        heed_string_put(cx, &found, "\n", 1);
    }
    assert_string_equal(found.s, wanted.s);
    heed_json_free(file);
    heed_tokenizer_free(cx, t);
    heed_string_free(cx, &wanted);
    heed_string_free(cx, &found);
    close_context(cx);
}

static void test_train_options(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const heed_tokenizer_opts bpe = {.kind = HEED_TOKENS_BPE, .vocabulary = 30};
    heed_tokenizer_opts o = bpe;
    o.vocabulary = 0;
    assert_null(train_on(cx, "abc", &o));
    EXPECT_SENTENCE(cx, "train: bpe needs a vocabulary size");
    o.vocabulary = 3;
    assert_null(train_on(cx, "abc", &o));
    EXPECT_SENTENCE(cx, "train: a vocabulary of 3 cannot hold 0 special tokens and 4 characters");
    o = (heed_tokenizer_opts){.kind = HEED_TOKENS_WORD, .vocabulary = 1, .pad = "p", .unk = "u"};
    assert_null(train_on(cx, "abc", &o));
    EXPECT_SENTENCE(cx, "train: a vocabulary of 1 cannot hold 2 special tokens");
    o = (heed_tokenizer_opts){.kind = HEED_TOKENS_WORD, .vocabulary = -1};
    assert_null(train_on(cx, "abc", &o));
    EXPECT_SENTENCE(cx, "train: a vocabulary of -1");
    o = (heed_tokenizer_opts){.kind = (heed_tokenizer_kind)7};
    assert_null(train_on(cx, "abc", &o));
    EXPECT_SENTENCE(cx, "train: no kind of tokenizer 7");
    o = (heed_tokenizer_opts){.kind = HEED_TOKENS_WORD, .add_eos = true};
    assert_null(train_on(cx, "abc", &o));
    EXPECT_SENTENCE(cx, "train: there is no eos token to add");
    o = (heed_tokenizer_opts){.kind = HEED_TOKENS_WORD, .unk = ""};
    assert_null(train_on(cx, "abc", &o));
    EXPECT_SENTENCE(cx, "train: a special token is empty");
    o = (heed_tokenizer_opts){.kind = HEED_TOKENS_WORD, .unk = "\xFF"};
    assert_null(train_on(cx, "abc", &o));
    EXPECT_SENTENCE(cx, "train: special token: byte 1 is not UTF-8");
    assert_null(heed_tokenizer_train(cx, NULL, 1, &bpe));
    EXPECT_SENTENCE(cx, "train: options or texts are missing");
    assert_null(heed_tokenizer_train(cx, (const heed_lines *const[]){NULL}, 1, &bpe));
    EXPECT_SENTENCE(cx, "train: text 1 of 1 is NULL");
    /* nothing to learn from is no failure */
    heed_tokenizer *t = train_on(cx, "", &bpe);
    assert_int_equal(heed_tokenizer_size(t), 1);
    heed_tokenizer_free(cx, t);
    /* one long word without a space, and one character seen too seldom, which parts it */
    char page[5000];
    for (int i = 0; i < 4999; i++) page[i] = "abcd"[i % 4];
    page[2500] = 'x';
    page[4999] = 0;
    o = (heed_tokenizer_opts){.kind = HEED_TOKENS_BPE, .vocabulary = 12, .least = 2, .unk = "?"};
    t = train_on(cx, page, &o);
    assert_int_equal(heed_tokenizer_size(t), 12);
    assert_int_equal(heed_tokenizer_id(t, "x"), -1);
    assert_true(heed_tokenizer_id(t, "dabc") >= 0);
    heed_tokenizer_free(cx, t);
    close_context(cx);
}

/* Several texts are one: order and cuts do not matter to the words' counts. */
static void test_several_texts(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const heed_tokenizer_opts o = {.kind = HEED_TOKENS_BPE, .vocabulary = 40, .unk = "?"};
    heed_lines a = lines_of(cx, "der hund der hund\nund die katze\n"), b = lines_of(cx, "the dog and the cat\n");
    heed_tokenizer *first = heed_tokenizer_train(cx, (const heed_lines *const[]){&a, &b}, 2, &o);
    heed_tokenizer *second = heed_tokenizer_train(cx, (const heed_lines *const[]){&b, &a}, 2, &o);
    heed_tokenizer *third = train_on(cx, "der hund der hund\nund die katze\nthe dog and the cat\n", &o);
    assert_string_equal(first->json, second->json);
    assert_string_equal(first->json, third->json);
    heed_tokenizer_free(cx, first);
    heed_tokenizer_free(cx, second);
    heed_tokenizer_free(cx, third);
    heed_lines_free(cx, &a);
    heed_lines_free(cx, &b);
    close_context(cx);
}

/* ---- asking ---- */

#define HEAD "{\"added_tokens\":[{\"id\":0,\"content\":\"<s>\",\"special\":true},{\"id\":7,\"content\":\"name\"}],"
#define BPE                                                                                                            \
    "\"model\":{\"type\":\"BPE\",\"vocab\":{\"<s>\":0,\"a\":1,\"b\":2,\"ab\":4,\"aba\":7},\"merges\":[\"a "            \
    "b\",[\"ab\","                                                                                                     \
    "\"a\"]]}}"

static heed_tokenizer *parse(heed_ctx *cx, const char *text) {
    return tokenizer_parse(cx, "t.json", text, strlen(text));
}

static void test_asking(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_tokenizer *t = parse(cx, HEAD BPE);
    assert_int_equal(heed_tokenizer_size(t), 8);
    assert_string_equal(heed_tokenizer_token(t, 7), "aba");
    assert_string_equal(heed_tokenizer_token(t, 5), "name"); /* behind the five tokens, whatever the file says */
    assert_null(heed_tokenizer_token(t, 3));                 /* gaps */
    assert_null(heed_tokenizer_token(t, 8));
    assert_null(heed_tokenizer_token(t, -1));
    assert_null(heed_tokenizer_token(NULL, 0));
    assert_int_equal(heed_tokenizer_id(t, "ab"), 4);
    assert_int_equal(heed_tokenizer_id(t, "name"), 5);
    assert_int_equal(heed_tokenizer_id(t, "zz"), -1);
    assert_int_equal(heed_tokenizer_id(t, NULL), -1);
    assert_true(heed_tokenizer_is_special(t, 0));
    assert_false(heed_tokenizer_is_special(t, 5));
    assert_false(heed_tokenizer_is_special(t, 99));
    assert_int_equal(heed_tokenizer_size(NULL), 0);
    heed_tokenizer_free(cx, t);
    heed_tokenizer_free(cx, NULL);
    close_context(cx);
}

static void test_wrong_calls(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_tokenizer *t = parse(cx, HEAD BPE);
    heed_ids ids = {0};
    heed_string s = {0};
    heed_ids_put(cx, &ids, 42);
    assert_false(heed_encode(cx, t, "ab\xFF", 3, true, &ids));
    EXPECT_SENTENCE(cx, "encode: byte 3 is not UTF-8");
    assert_false(heed_encode(cx, NULL, "a", 1, true, &ids));
    EXPECT_SENTENCE(cx, "encode: ");
    assert_false(heed_encode(cx, t, NULL, 1, true, &ids));
    EXPECT_SENTENCE(cx, "encode: ");
    assert_false(heed_encode(cx, t, "a", 1, true, NULL));
    EXPECT_SENTENCE(cx, "encode: ");
    assert_int_equal(ids.count, 1);                        /* left as it was */
    assert_true(heed_encode(cx, t, "abc", 3, true, &ids)); /* without an unknown token a BPE drops what it lacks */
    assert_int_equal(ids.count, 2);
    assert_int_equal(ids.id[1], 4);
    assert_true(heed_encode(cx, t, NULL, 0, true, &ids));
    heed_string_put(cx, &s, "so far", 6);
    static const int32_t wrong[] = {1, 3}, below[] = {-1};
    assert_false(heed_decode(cx, t, wrong, 2, false, &s));
    EXPECT_SENTENCE(cx, "decode: no token has id 3, the largest is 7");
    assert_false(heed_decode(cx, t, below, 1, false, &s));
    EXPECT_SENTENCE(cx, "decode: no token has id -1");
    assert_false(heed_decode(cx, NULL, wrong, 1, false, &s));
    EXPECT_SENTENCE(cx, "decode: ");
    assert_string_equal(s.s, "so far");
    assert_null(heed_tokenizer_load(cx, NULL));
    EXPECT_SENTENCE(cx, "tokenizer_load: ");
    assert_null(heed_tokenizer_load(cx, in_folder("nowhere")));
    EXPECT_SENTENCE(cx, "nowhere: ");
    assert_null(heed_tokenizer_load(cx, folder));
    EXPECT_SENTENCE(cx, ": no tokenizer.json, vocab.txt, vocab.json with merges.txt, or SentencePiece model");
    assert_false(heed_tokenizer_save(cx, NULL, "x"));
    EXPECT_SENTENCE(cx, "tokenizer_save: ");
    heed_ids_free(cx, &ids);
    heed_string_free(cx, &s);
    heed_tokenizer_free(cx, t);
    close_context(cx);
}

/* ---- long words ---- */

/* Merging with a heap and merging by looking at all pairs give the same pieces. The long word is the short ones with
 * characters between them that no merge crosses. */
static void test_long_words(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_tokenizer *t =
        train_on(cx, "abcabcab abcb bcabca cabcab aabbcc abacab ccbbaa cacaca abcabc bcbcbc aaaaaa aabaab",
                 &(heed_tokenizer_opts){.kind = HEED_TOKENS_BPE, .vocabulary = 40, .unk = "?"});
    heed_tokenizer plain = *t; /* all as one word */
    plain.pre_tokenizers.count = 0;
    heed_ids long_ids = {0}, short_ids = {0};
    heed_string all = {0};
    for (int i = 0; i < 3000; i++) {
        char word[40] = {0};
        const size_t n = 1 + heed_random_bits(1, 2, (uint64_t)i) % 30;
        for (size_t k = 0; k < n; k++) word[k] = "abc"[heed_random_bits(1, 3, (uint64_t)i * 64 + k) % 3];
        word[n] = '-';
        heed_string_put(cx, &all, word, n + 1);
        assert_true(heed_encode(cx, &plain, word, n + 1, false, &short_ids));
    }
    assert_true(heed_encode(cx, &plain, all.s, all.size, false, &long_ids));
    assert_int_equal(long_ids.count, short_ids.count);
    assert_memory_equal(long_ids.id, short_ids.id, (size_t)long_ids.count * sizeof *long_ids.id);
    heed_ids_free(cx, &long_ids);
    heed_ids_free(cx, &short_ids);
    heed_string_free(cx, &all);
    heed_tokenizer_free(cx, t);
    close_context(cx);
}

/* A hundred thousand of the same letter, in a moment. */
static void test_very_long(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_tokenizer *t = train_on(cx, "aaaaaaaaaaaaaaaa aaaaaaaaaaaaaaaa",
                                 &(heed_tokenizer_opts){.kind = HEED_TOKENS_BPE, .vocabulary = 10});
    const size_t n = 100000;
    char *text = malloc(n);
    memset(text, 'a', n);
    heed_ids ids = {0};
    heed_string back = {0};
    assert_true(heed_encode(cx, t, text, n, true, &ids));
    assert_true(ids.count < (int64_t)n / 4);
    assert_true(heed_decode(cx, t, ids.id, ids.count, false, &back));
    assert_int_equal(back.size, n);
    assert_memory_equal(back.s, text, n);
    free(text);
    heed_ids_free(cx, &ids);
    heed_string_free(cx, &back);
    heed_tokenizer_free(cx, t);
    close_context(cx);
}

/* ---- merges that are passed over ---- */

/* Of "aba", a and b are merged first, then ab and a: with rate p one is left with probability (1-p)^2, three with p. */
static void test_dropped_merges(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_tokenizer *t = parse(cx, HEAD BPE);
    enum { TIMES = 20000 };
    int seen[4] = {0};
    for (uint64_t i = 0; i < TIMES; i++) {
        heed_ids ids = {0}, again = {0};
        const heed_merge_dropout drop = {.rate = 0.3, .seed = 1, .stream = i};
        assert_true(heed_encode_dropout(cx, t, "aba", 3, false, &drop, &ids));
        assert_true(heed_encode_dropout(cx, t, "aba", 3, false, &drop, &again));
        assert_true(ids.count >= 1 && ids.count <= 3 && again.count == ids.count);
        assert_memory_equal(ids.id, again.id, (size_t)ids.count * sizeof *ids.id);
        seen[ids.count]++;
        heed_ids_free(cx, &ids);
        heed_ids_free(cx, &again);
    }
    const double expected[] = {0, 0.49, 0.21, 0.3};
    for (int n = 1; n <= 3; n++)
        if (fabs(seen[n] - expected[n] * TIMES) > 5 * sqrt(expected[n] * (1 - expected[n]) * TIMES))
            fail_msg("%d of %d have %d tokens", seen[n], TIMES, n);
    heed_tokenizer_free(cx, t);
    close_context(cx);
}

/* Whatever is passed over, the text stays; nothing is at 0, and everything at 1. */
static void test_dropped_text(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_tokenizer *t = train_on(cx, "abcabcab abcb bcabca cabcab aabbcc abacab ccbbaa cacaca abcabc bcbcbc aaaaaa",
                                 &(heed_tokenizer_opts){.kind = HEED_TOKENS_BPE, .vocabulary = 40, .unk = "?"});
    char text[400];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = i > 200 && i % 7 == 0 ? ' ' : "abc"[heed_random_bits(9, 9, i) % 3];
    text[sizeof text - 1] = 'a';
    int64_t before = 0;
    for (int step = 0; step <= 10; step++) {
        const heed_merge_dropout drop = {.rate = step / 10.0, .seed = 2, .stream = 3};
        heed_ids ids = {0}, plain = {0};
        heed_string back = {0};
        assert_true(heed_encode_dropout(cx, t, text, sizeof text, false, &drop, &ids));
        assert_true(heed_encode(cx, t, text, sizeof text, false, &plain));
        assert_true(heed_decode(cx, t, ids.id, ids.count, false, &back));
        assert_int_equal(back.size, sizeof text);
        assert_memory_equal(back.s, text, sizeof text);
        if (step == 0) {
            assert_int_equal(ids.count, plain.count);
            assert_memory_equal(ids.id, plain.id, (size_t)plain.count * sizeof *plain.id);
        }
        if (step == 10) assert_int_equal(ids.count, sizeof text + 1); /* the first word's mark too */
        if (ids.count < before) fail_msg("%d tokens at rate %g", (int)ids.count, drop.rate);
        before = ids.count;
        heed_ids_free(cx, &ids);
        heed_ids_free(cx, &plain);
        heed_string_free(cx, &back);
    }
    heed_ids ids = {0};
    assert_false(heed_encode_dropout(cx, t, "a", 1, false, &(heed_merge_dropout){.rate = 1.5}, &ids));
    heed_clear(cx);
    assert_false(heed_encode_dropout(cx, t, "a", 1, false, NULL, &ids));
    heed_clear(cx);
    heed_tokenizer_free(cx, t);
    close_context(cx);
}

/* ---- bytes ---- */

static void test_byte_characters(void **state) {
    (void)state;
    bool seen[0x144] = {false};
    for (int byte = 0; byte < 256; byte++) {
        const int32_t c = byte_character((unsigned char)byte);
        assert_true(c > 0x20 && c < 0x144 && !seen[c]);
        seen[c] = true;
        assert_int_equal(character_byte(c), byte);
    }
    int known = 0;
    for (int32_t c = 0; c < 0x400; c++) known += character_byte(c) >= 0;
    assert_int_equal(known, 256);
}

/* Bytes that are no UTF-8 come out as Rust's from_utf8_lossy has them. */
static void test_lossy(void **state) {
    (void)state;
    static const struct {
        const char *bytes, *text;
    } cases[] = {
        {"a\xFFz", "a\xEF\xBF\xBDz"},
        {"\xE2\x82z", "\xEF\xBF\xBDz"},
        {"\xE2\x82", "\xEF\xBF\xBD"},
        {"\xF0\x9F\x99 \xF0\x9F", "\xEF\xBF\xBD \xEF\xBF\xBD"},
        {"\xE0\x80\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
        {"\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
        {"\xC3\xA4\xC3", "\xC3\xA4\xEF\xBF\xBD"},
        {"\xF4\x90", "\xEF\xBF\xBD\xEF\xBF\xBD"},
    };
    heed_ctx *cx = open_context();
    heed_json file = heed_json_new(cx, "file"), model = heed_json_put_object(cx, file, "model");
    heed_json_put_text(cx, heed_json_put_object(cx, file, "decoder"), "type", "ByteLevel");
    heed_json_put_text(cx, model, "type", "WordLevel");
    const heed_json vocab = heed_json_put_object(cx, model, "vocab");
    for (int byte = 0; byte < 256; byte++) {
        char text[5] = {0};
        utf8_put(text, byte_character((unsigned char)byte));
        heed_json_put_int(cx, vocab, text, byte);
    }
    char *text = heed_json_print(cx, file, 0, NULL);
    heed_tokenizer *t = parse(cx, text);
    assert_non_null(t);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        heed_ids ids = {0};
        heed_string out = {0};
        for (const char *s = cases[i].bytes; *s; s++) heed_ids_put(cx, &ids, (unsigned char)*s);
        assert_true(heed_decode(cx, t, ids.id, ids.count, false, &out));
        assert_string_equal(out.s, cases[i].text);
        heed_ids_free(cx, &ids);
        heed_string_free(cx, &out);
    }
    heed_tokenizer_free(cx, t);
    heed_mem_free(cx, text);
    heed_json_free(file);
    close_context(cx);
}

/* ---- Multi30k ---- */

static void test_multi30k(void **state) {
    (void)state;
    char path[1024];
    snprintf(path, sizeof path, "%s/multi30k/val.de.gz", given("multi30k"));
    heed_ctx *cx = open_context();
    heed_lines lines;
    assert_true(heed_lines_read(cx, path, &lines));
    assert_int_equal(lines.count, 1014);
    for (int kind = HEED_TOKENS_CHAR; kind <= HEED_TOKENS_BPE; kind++) {
        heed_tokenizer *t =
            heed_tokenizer_train(cx, (const heed_lines *const[]){&lines}, 1,
                                 &(heed_tokenizer_opts){.kind = (heed_tokenizer_kind)kind,
                                                        .vocabulary = kind == HEED_TOKENS_BPE ? 2000 : 0});
        assert_non_null(t);
        if (kind == HEED_TOKENS_BPE) assert_int_equal(heed_tokenizer_size(t), 2000);
        for (int64_t i = 0; i < lines.count; i++) {
            const char *line = heed_line_text(&lines, i);
            heed_ids ids = {0};
            heed_string back = {0};
            assert_true(heed_encode(cx, t, line, strlen(line), true, &ids));
            assert_true(heed_decode(cx, t, ids.id, ids.count, true, &back));
            if (kind != HEED_TOKENS_WORD) assert_string_equal(back.s, line); /* of words, only spaces may differ */
            heed_ids_free(cx, &ids);
            heed_string_free(cx, &back);
        }
        heed_tokenizer_free(cx, t);
    }
    heed_lines_free(cx, &lines);
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_python_files),    cmocka_unit_test(test_heed_files),
        cmocka_unit_test(test_python_trainers), cmocka_unit_test(test_unigram_trainer),
        cmocka_unit_test(test_word_pieces),     cmocka_unit_test(test_slow_merges),
        cmocka_unit_test(test_train_options),   cmocka_unit_test(test_several_texts),
        cmocka_unit_test(test_asking),          cmocka_unit_test(test_wrong_calls),
        cmocka_unit_test(test_long_words),      cmocka_unit_test(test_very_long),
        cmocka_unit_test(test_dropped_merges),  cmocka_unit_test(test_dropped_text),
        cmocka_unit_test(test_byte_characters), cmocka_unit_test(test_lossy),
        cmocka_unit_test(test_multi30k),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
