/* Music: how files become chorales and chorales tokens, windows and keys that are drawn, what a model may compose. */
#include "heed/music.h"
#include "task/music/chorales.h"
#include "task/task_test.h"
#include <math.h>

enum { R = HEED_REST, H = HEED_HELD };

static heed_chorales parse(heed_ctx *cx, const char *text, const char *part) {
    heed_chorales c = {0};
    if (!chorales_parse_json(cx, "x.json", text, strlen(text), part, &c)) fail_msg("%s", heed_message(cx));
    return c;
}

static void expect(const heed_chorales *c, int64_t i, int64_t steps, const int32_t *voices) {
    assert_int_equal(heed_chorale_steps(c, i), steps);
    for (int64_t k = 0; k < steps * HEED_VOICES; k++) assert_int_equal(heed_chorale_voices(c, i)[k], voices[k]);
}

/* ---- files ---- */

static void test_json(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const char *const parts = "{\"train\":[[[74,70,65,-1],[74,71,null,-1]]],\"valid\":[[[60,55,50,40]]],\"test\":[]}";
    heed_chorales c = parse(cx, parts, "train");
    assert_int_equal(c.count, 1);
    expect(&c, 0, 2, (const int32_t[]){74, 70, 65, R, 74 | H, 71, R, R | H});
    heed_chorales_free(cx, &c);
    c = parse(cx, parts, NULL);
    assert_int_equal(c.count, 2);
    heed_chorales_free(cx, &c);
    c = parse(cx, parts, "test");
    assert_int_equal(c.count, 0);
    heed_chorales_free(cx, &c);
    /* sets: from high to low, to the voices that are near */
    c = parse(cx, "[[[48,60,67,72],[60,72],[47,62,67,72]]]", NULL);
    expect(&c, 0, 3, (const int32_t[]){72, 67, 60, 48, 72 | H, R, 60 | H, R, 72 | H, 67, 62, 47});
    heed_chorales_free(cx, &c);
    c = parse(cx, "[[74,70,65,58],[74,70,65,58]]", NULL); /* one alone */
    assert_int_equal(c.count, 1);
    expect(&c, 0, 2, (const int32_t[]){74, 70, 65, 58, 74 | H, 70 | H, 65 | H, 58 | H});
    heed_chorales_free(cx, &c);
    close_context(cx);
}

static void test_bad_json(void **state) {
    (void)state;
    static const char *const bad[][2] = {
        {"{\"train\":[[[74,70,65,128]]]}", "x.json: train[0][0][3]: 128 is no pitch: expected a MIDI number, 0 to 127"},
        {"{\"train\":[[[74,70,65,-2]]]}", "-2 is no pitch"},
        {"{\"train\":[[[74.5,70,65,1]]]}", "74.5 is no pitch"},
        {"{\"train\":[[[74,70,65,58,50]]]}", "5 pitches at a time: there are four voices"},
        {"{\"train\":[[[74,70,\"C\",58]]]}", "expected a number, found a string"},
        {"{\"train\":[[]]}", "a chorale without a step"},
        {"{\"train\":[[[60,55,50,40],5]]}", "expected the list of a step's pitches"},
        {"{\"train\":7}", "expected a list of chorales"},
        {"{\"music\":[]}", "expected \"train\", \"valid\", \"test\" or \"chorale\""},
        {"3", "expected lists of chorales"},
        {"[[[", "x.json: line 1"},
    };
    heed_ctx *cx = open_context();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        heed_chorales c = {0};
        assert_false(chorales_parse_json(cx, "x.json", bad[i][0], strlen(bad[i][0]), NULL, &c));
        EXPECT_SENTENCE(cx, bad[i][1]);
        heed_chorales_free(cx, &c);
    }
    close_context(cx);
}

static void test_midi(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_chorales c = parse(cx, "[[74,70,65,58],[74,70,-1,58],[75,70,-1,57],[75,68,60,57]]", NULL), again = {0};
    c.voice.id[4] &= ~H; /* the soprano strikes its note again */
    assert_true(heed_chorales_write_midi(cx, in_folder("c.mid"), &c, 0, NULL));
    assert_true(heed_chorales_read(cx, in_folder("c.mid"), "train", &again));
    assert_int_equal(again.count, 1);
    expect(&again, 0, 4, c.voice.id);
    unlink(in_folder("c.mid"));
    heed_chorales_free(cx, &again);
    heed_chorales_free(cx, &c);
    /* one track: what sounds at a time */
    heed_midi_note notes[] = {{0, 4, 0, 0, 50, 80}, {0, 8, 0, 0, 72, 80}, {4, 8, 0, 0, 52, 80}, {8, 9, 0, 0, 71, 80}};
    heed_midi midi = {.division = 16, .tracks = 1, .note = notes, .notes = 4};
    assert_true(chorales_take_midi(cx, "x.mid", &midi, &again));
    expect(&again, 0, 3, (const int32_t[]){72, 50, R, R, 72 | H, 52, R | H, R | H, 71, R, R | H, R | H});
    heed_chorales_free(cx, &again);
    heed_midi_note five[5];
    for (int i = 0; i < 5; i++) five[i] = (heed_midi_note){0, 16, 0, 0, (uint8_t)(60 + i), 80};
    midi = (heed_midi){.division = 16, .tracks = 1, .note = five, .notes = 5};
    assert_false(chorales_take_midi(cx, "x.mid", &midi, &again));
    EXPECT_SENTENCE(cx, "x.mid: more than four notes at a time, in bar 1, quarter 1");
    heed_chorales_free(cx, &again);
    midi.notes = 0;
    assert_false(chorales_take_midi(cx, "x.mid", &midi, &again));
    EXPECT_SENTENCE(cx, "x.mid: the MIDI file has no notes");
    close_context(cx);
}

/* ---- tokens ---- */

static heed_chorales draw_chorales(heed_ctx *cx, int64_t n, int64_t steps) {
    heed_chorales c = {0};
    for (int64_t i = 0; i < n; i++) {
        assert_true(chorales_begin(cx, &c));
        for (int64_t t = 0; t < steps; t++) {
            int32_t pitch[HEED_VOICES];
            for (int v = 0; v < HEED_VOICES; v++) {
                const uint32_t bits = heed_random_bits(9, (uint64_t)i, (uint64_t)(t / 2 * HEED_VOICES + v));
                pitch[v] = bits % 7 == 0 ? HEED_REST : 72 - 6 * v + (int32_t)(bits >> 8) % 5;
            }
            assert_true(chorales_step(cx, &c, pitch, NULL));
        }
        assert_true(chorales_end(cx, &c));
    }
    return c;
}

static void test_tokens(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_chorales c = draw_chorales(cx, 2, 9), again = {0};
    heed_tokenizer *t = heed_music_vocabulary(cx, &c, 2);
    assert_non_null(t);
    assert_true(heed_music_has(t));
    assert_int_equal(heed_tokenizer_size(t), 4 + 4 * 2 * (1 + 5 + 4)); /* rests, 5 pitches and 2 more at each end */
    assert_true(heed_tokenizer_id(t, "S70_") >= 0 && heed_tokenizer_id(t, "BR") >= 0);
    heed_ids ids = {0}, up = {0};
    assert_true(heed_music_encode(cx, t, &c, 1, 0, &ids) && heed_music_encode(cx, t, &c, 1, 2, &up));
    assert_int_equal(ids.count, 4 * 9 + 2);
    assert_int_equal(up.count, ids.count);
    assert_true(heed_music_decode(cx, t, ids.id, ids.count, &again) &&
                heed_music_decode(cx, t, up.id, up.count, &again));
    expect(&again, 0, 9, heed_chorale_voices(&c, 1));
    for (int k = 0; k < 36; k++) {
        const int32_t x = heed_chorale_voices(&c, 1)[k];
        assert_int_equal(heed_chorale_voices(&again, 1)[k], (x & ~H) == R ? x : x + 2);
    }
    heed_ids back = {0};
    const char *words = "S72 A66 T60 B54"; /* as text, the way other programs read it */
    assert_true(heed_encode(cx, t, words, strlen(words), true, &back));
    assert_int_equal(back.count, 6);
    assert_int_equal(back.id[1], heed_tokenizer_id(t, "S72"));
    back.id[1] = back.id[2];
    heed_chorales none = {0};
    assert_false(heed_music_decode(cx, t, back.id, back.count, &none));
    EXPECT_SENTENCE(cx, "music: token 2, 'A66', is out of turn");
    c.voice.id[36] = 90;
    assert_false(heed_music_encode(cx, t, &c, 1, 0, &back));
    EXPECT_SENTENCE(cx, "chorale 2, step 1: the Soprano sings 90, outside of the model's range, 70 to 78");
    heed_chorales_free(cx, &none);
    heed_chorales_free(cx, &again);
    heed_chorales_free(cx, &c);
    heed_ids_free(cx, &ids);
    heed_ids_free(cx, &up);
    heed_ids_free(cx, &back);
    heed_tokenizer_free(cx, t);
    close_context(cx);
}

/* ---- windows ---- */

static heed_task_data *read_task(heed_ctx *cx, const heed_task_opts *opts) {
    heed_chorales c = draw_chorales(cx, 3, 40);
    const heed_json at = heed_json_new(cx, "x"), list = heed_json_put_array(cx, at, "train");
    for (int64_t i = 0; i < 3; i++) {
        const heed_json chorale = heed_json_put_array(cx, list, NULL);
        for (int64_t t = 0; t < 40 - 30 * (i == 2); t++) {
            const heed_json step = heed_json_put_array(cx, chorale, NULL);
            for (int v = 0; v < HEED_VOICES; v++) {
                const int32_t x = heed_chorale_voices(&c, i)[4 * t + v] & ~H;
                heed_json_put_int(cx, step, NULL, x == R ? -1 : x);
            }
        }
    }
    assert_true(heed_json_write(cx, in_folder("c.json"), at));
    heed_json_free(at);
    heed_chorales_free(cx, &c);
    heed_task_data *d = heed_task_read(cx, heed_text_task_find("music"), in_folder("c.json"), opts);
    if (!d) fail_msg("%s", heed_message(cx));
    unlink(in_folder("c.json"));
    return d;
}

/* Every row is a piece of a chorale in some key; counts[k] how often token k of a chorale is a label. */
static int check_row(heed_ctx *cx, const heed_task_data *d, const heed_tokenizer *t, int64_t row, int64_t chorale,
                     int most, int64_t epoch, int32_t counts[200]) {
    int32_t in[256], next[256];
    const void *own;
    const heed_transform fill = heed_task_transform(d, &own);
    const int64_t n = heed_dataset_length(heed_task_columns(d), 0, row);
    assert_true(n <= 256);
    fill(own, 5, epoch, row, (const heed_cell[]){{in, n}, {next, n}});
    for (int up = -most; up <= most; up++) {
        heed_ids all = {0};
        if (!heed_music_encode(cx, t, heed_task_chorales(d), chorale, up, &all)) {
            heed_clear(cx);
            heed_ids_free(cx, &all);
            continue;
        }
        for (int64_t from = 0; from < all.count; from++) {
            int64_t same = 0, labels = 0;
            while (same < n && from + same + 1 < all.count && in[same] == all.id[from + same] &&
                   (next[same] == HEED_NO_LABEL || next[same] == all.id[from + same + 1]))
                same++;
            for (int64_t k = same; k < n; k++) labels += next[k] != HEED_NO_LABEL;
            if (same + 4 < n || labels > 0) continue;
            assert_int_equal(from == 0 ? 1 : (from - 1) % 4 + 1, 1); /* steps are whole */
            for (int64_t k = 0; counts && k < same; k++)
                if (next[k] != HEED_NO_LABEL) counts[from + k + 1]++;
            heed_ids_free(cx, &all);
            return up;
        }
        heed_ids_free(cx, &all);
    }
    fail_msg("row %lld is no piece of chorale %lld", (long long)row, (long long)chorale);
    return 0;
}

static void test_measured(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    for (int64_t max_length = 0; max_length <= 48; max_length += 48) { /* whole chorales, and windows of 11 steps */
        heed_task_data *d = read_task(cx, &(heed_task_opts){.max_length = 0});
        heed_tokenizer *t = heed_music_vocabulary(cx, heed_task_chorales(d), 3);
        assert_true(heed_task_encode(cx, d, &(heed_text_reader){.tokens = t, .next = true, .max_length = max_length}));
        const int64_t rows = heed_task_count(d);
        assert_true(max_length ? rows > 6 : rows == 3);
        int64_t row = 0;
        for (int64_t i = 0; i < 3; i++) {
            int32_t counts[200] = {0};
            const int64_t tokens = 4 * heed_chorale_steps(heed_task_chorales(d), i) + 1;
            for (int64_t seen = 0; seen < tokens; row++) {
                check_row(cx, d, t, row, i, 0, 0, counts);
                seen = 0;
                for (int64_t k = 1; k <= tokens; k++) seen += counts[k];
            }
            for (int64_t k = 1; k <= tokens; k++) assert_int_equal(counts[k], 1);
        }
        assert_int_equal(row, rows);
        heed_tokenizer_free(cx, t);
        heed_task_free(cx, d);
    }
    close_context(cx);
}

static void test_drawn(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_task_data *d =
        read_task(cx, &(heed_task_opts){.max_length = 64, .drawn = true, .transpose = 3, .held_out = 0.3});
    heed_tokenizer *t = heed_music_vocabulary(cx, heed_task_chorales(d), 3);
    assert_true(heed_task_encode(cx, d, &(heed_text_reader){.tokens = t, .next = true}));
    assert_int_equal(heed_task_held_out(d), 1);
    assert_int_equal(heed_task_count(d), 3 + 3 + 1); /* 40 steps in windows of 15, twice, and one held out */
    int keys[7] = {0};
    for (int64_t epoch = 0; epoch < 40; epoch++)
        for (int64_t row = 0; row < 6; row++) keys[check_row(cx, d, t, row, row / 3, 3, epoch, NULL) + 3]++;
    for (int k = 0; k < 7; k++) assert_true(keys[k] > 10);
    assert_int_equal(check_row(cx, d, t, 6, 2, 3, 1, NULL), 0);
    assert_false(heed_task_encode(cx, d, &(heed_text_reader){.tokens = t, .next = true, .max_length = 7}));
    EXPECT_SENTENCE(cx, "music: a context of 7 tokens: at least 8, two steps, are needed");
    heed_tokenizer_free(cx, t);
    heed_task_free(cx, d);
    close_context(cx);
}

/* ---- models ---- */

static heed_model *small_lstm(heed_ctx *cx, const heed_tokenizer *t) {
    char size[32], begin[32], end[32];
    snprintf(size, sizeof size, "vocab_size=%d", (int)heed_tokenizer_size(t));
    snprintf(begin, sizeof begin, "bos_token_id=%d", (int)heed_tokenizer_id(t, "<s>"));
    snprintf(end, sizeof end, "eos_token_id=%d", (int)heed_tokenizer_id(t, "</s>"));
    const char *const settings[] = {size, begin, end, "embedding_size=4", "hidden_size=6", "initializer_range=2"};
    const heed_family *lstm = heed_family_find("lstm");
    heed_model *m = heed_model_new_as(cx, lstm, heed_head_for(lstm, "lm"), settings, 6, 3);
    if (!m) fail_msg("%s", heed_message(cx));
    return m;
}

/* The metric is what scoring whole chorales gives. */
static void test_measure(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_task_data *d = read_task(cx, NULL);
    heed_tokenizer *t = heed_music_vocabulary(cx, heed_task_chorales(d), 3);
    heed_model *m = small_lstm(cx, t);
    heed_score score;
    assert_true(heed_task_encode(cx, d, &(heed_text_reader){.tokens = t, .next = true}));
    assert_true(heed_task_measure(cx, m, d, NULL, 0, &score, NULL));
    heed_score_item items[3] = {{.first = 1}, {.first = 1}, {.first = 1}};
    heed_likelihood found[3];
    double sum = 0;
    for (int i = 0; i < 3; i++) assert_true(heed_music_encode(cx, t, heed_task_chorales(d), i, 0, &items[i].ids));
    assert_true(heed_score_items(cx, m, items, 3, found));
    for (int i = 0; i < 3; i++) sum -= found[i].log_probability;
    assert_true(fabs(score.metric - sum / (4 * 90)) < 1e-5 * score.metric);
    assert_true(fabs(score.more[0] - exp(sum / (4 * 90 + 3))) < 1e-4 * score.more[0]);
    for (int i = 0; i < 3; i++) heed_score_item_free(cx, &items[i]);
    heed_model_free(cx, m);
    heed_tokenizer_free(cx, t);
    heed_task_free(cx, d);
    close_context(cx);
}

/* Whatever a model without knowledge composes is music: decoding it gives the same tokens again. */
static void test_compose(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_chorales from = draw_chorales(cx, 1, 12);
    heed_tokenizer *t = heed_music_vocabulary(cx, &from, 1);
    heed_generator g = {.model = small_lstm(cx, t), .tokens = {t, t}, .positions = 1000};
    heed_set_grad(cx, false);
    for (uint64_t seed = 0; seed < 12; seed++) {
        heed_chorales made = {0};
        heed_composed how;
        heed_compose_opts o = {.how = {.beams = 1, .sample = true, .seed = seed}, .steps = 30};
        if (seed % 3 == 1) o.begin = &from;
        if (seed % 3 == 2) o.soprano = &from;
        if (!heed_compose(cx, &g, &o, &made, &how)) fail_msg("%s", heed_message(cx));
        const int64_t steps = heed_chorale_steps(&made, 0), before = o.begin ? 12 : 0;
        assert_true(steps <= 30 && how.notes == 4 * (steps - before) && how.log_probability < 0);
        for (int64_t k = 0; k < 4 * steps; k++) {
            const int32_t x = heed_chorale_voices(&made, 0)[k],
                          last = k < 4 ? -1 : heed_chorale_voices(&made, 0)[k - 4] & ~H;
            if (x & H) assert_int_equal(x & ~H, last);
            if (x == R) assert_true(last != R);
            if (k < 4 * before) assert_int_equal(x, from.voice.id[k]);
            if (o.soprano && k % 4 == 0) assert_int_equal(x, from.voice.id[k]);
        }
        if (o.soprano) assert_true(steps == 12 && how.ended);
        heed_chorales_free(cx, &made);
    }
    heed_chorales made = {0};
    assert_false(heed_compose(cx, &g, &(heed_compose_opts){.steps = 12, .begin = &from}, &made, NULL));
    EXPECT_SENTENCE(cx, "compose: 12 steps are asked for, and there are 12 to begin with");
    assert_false(heed_compose(cx, &g, &(heed_compose_opts){.soprano = &from, .begin = &from}, &made, NULL));
    EXPECT_SENTENCE(cx, "compose: a beginning and a soprano do not go together");
    heed_model_free(cx, g.model);
    heed_tokenizer_free(cx, t);
    heed_chorales_free(cx, &from);
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json),    cmocka_unit_test(test_bad_json), cmocka_unit_test(test_midi),
        cmocka_unit_test(test_tokens),  cmocka_unit_test(test_measured), cmocka_unit_test(test_drawn),
        cmocka_unit_test(test_measure), cmocka_unit_test(test_compose),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
