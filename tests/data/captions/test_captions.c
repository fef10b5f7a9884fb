/* Captions of drawn pictures: words and what they ask for, kinds that are withheld, parts that share nothing. */
#include "data/captions/caption.h"
#include "heed/captions.h"
#include "io/io_test.h"

#include <zlib.h>

static heed_caption_set *open_drawn(heed_ctx *cx, const char *part, uint64_t seed, int64_t side) {
    const heed_caption_set_opts opts = {.seed = seed, .side = side};
    heed_caption_set *set = heed_caption_set_open(cx, "captions", part, &opts);
    assert_non_null(set);
    return set;
}

static bool same(const heed_caption *a, const heed_caption *b) {
    return a->things == b->things && a->relation == b->relation &&
           memcmp(a->thing, b->thing, (size_t)a->things * sizeof *a->thing) == 0;
}

/* Whether all that a caption says is so. */
static bool holds(int said, int shown) { return said == UNSAID || said == shown; }
static bool describes(const heed_caption *said, const heed_caption *shown) {
    for (int k = 0; k < shown->things; k++) {
        const heed_caption_thing *a = &said->thing[k], *b = &shown->thing[k];
        if (!holds(a->shape, b->shape) || !holds(a->colour, b->colour) || !holds(a->size, b->size) ||
            !holds(a->column, b->column) || !holds(a->row, b->row))
            return false;
    }
    return said->things == shown->things && holds(said->relation, shown->relation);
}

static uint32_t drawn(heed_ctx *cx, const heed_caption_set *set, int64_t i, uint32_t crc) {
    heed_image p;
    char *text = heed_caption_set_text(cx, set, i);
    assert_true(text && heed_caption_set_read(cx, set, i, &p));
    crc = (uint32_t)crc32(crc, p.data, (uInt)(p.width * p.height * 3));
    crc = (uint32_t)crc32(crc, (const unsigned char *)text, (uInt)strlen(text));
    heed_image_free(cx, &p);
    heed_mem_free(cx, text);
    return crc;
}

static void test_same_bytes(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_caption_set *a = open_drawn(cx, "train", 5, 0), *b = open_drawn(cx, "train", 5, 32),
                     *small = open_drawn(cx, "train", 5, 16), *other = open_drawn(cx, "train", 6, 0);
    uint32_t crc = 0;
    for (int64_t i = 0; i < 100; i++) crc = drawn(cx, a, i, crc);
    /* The drawing uses nothing that may round differently elsewhere: any change is a change of the pictures. */
    assert_int_equal(crc, 0xDE3201A0u);
    assert_int_equal(drawn(cx, a, 3, 0), drawn(cx, b, 3, 0));
    assert_int_not_equal(drawn(cx, a, 3, 0), drawn(cx, other, 3, 0));
    assert_true(heed_caption_set_hash(a) == heed_caption_set_hash(b));
    assert_true(heed_caption_set_hash(a) != heed_caption_set_hash(other));
    assert_true(heed_caption_set_hash(a) != heed_caption_set_hash(small));
    assert_int_equal(heed_caption_set_count(a), 10000);
    assert_true(heed_caption_set_endless(a) && !heed_caption_set_path(a, 0));
    drawn(cx, a, (int64_t)1 << 40, 0);
    /* Each pixel of the small one is the mean of four. */
    heed_image p, q;
    assert_true(heed_caption_set_read(cx, a, 1, &p) && heed_caption_set_read(cx, small, 1, &q));
    assert_true(p.width == 32 && p.height == 32 && q.width == 16 && q.height == 16 && q.channels == 3);
    for (int y = 0; y < 16; y++)
        for (int x = 0; x < 48; x++) {
            const uint8_t *at = p.data + 2 * y * 96 + 6 * (x / 3) + x % 3;
            assert_int_equal(q.data[y * 48 + x], (at[0] + at[3] + at[96] + at[99] + 2) / 4);
        }
    heed_image_free(cx, &p);
    heed_image_free(cx, &q);
    heed_caption_set *const all[] = {a, b, small, other};
    for (int i = 0; i < 4; i++) heed_caption_set_free(cx, all[i]);
    close_context(cx);
}

/* Every caption says what its picture shows, and reads back; every value occurs; what is withheld does not. */
static void test_training_part(void **state) {
    (void)state;
    enum { CAPTIONS = 6000 };
    heed_ctx *cx = open_context();
    heed_caption_set *set = open_drawn(cx, "train", 1, 0);
    int pairs[SCENE_SHAPES][SCENE_COLOURS] = {{0}}, relations[5] = {0}, sizes[3] = {0}, places = 0, colours[2][8][8];
    memset(colours, 0, sizeof colours);
    for (int i = 0; i < CAPTIONS; i++) {
        heed_caption shown, said;
        char *text = heed_caption_set_text(cx, set, i);
        assert_true(heed_caption_set_shown(cx, set, i, &shown));
        if (!heed_caption_parse(cx, text, &said)) print_error("%s: %s\n", text, heed_message(cx));
        assert_true(describes(&said, &shown));
        assert_int_equal(shown.things, 1 + i % 2);
        assert_int_equal(heed_caption_kind_of(&shown), HEED_CAPTION_SEEN);
        assert_int_equal(heed_caption_kind_of(&said), HEED_CAPTION_SEEN);
        for (int k = 0; k < shown.things; k++) {
            assert_true(said.thing[k].shape != UNSAID && said.thing[k].colour != UNSAID);
            pairs[shown.thing[k].shape][shown.thing[k].colour]++;
            sizes[1 + said.thing[k].size]++;
        }
        if (shown.things == 1) places += said.thing[0].column != UNSAID || said.thing[0].row != UNSAID;
        if (shown.things == 2) {
            const bool turned = shown.relation == CAPTION_BELOW || shown.relation == CAPTION_RIGHT;
            relations[1 + said.relation]++;
            colours[shown.relation < CAPTION_LEFT][shown.thing[turned].colour][shown.thing[!turned].colour]++;
        }
        heed_mem_free(cx, text);
    }
    int absent = 0, absent_relations = 0;
    for (int s = 0; s < CAPTION_SHAPES; s++)
        for (int c = 0; c < CAPTION_COLOURS; c++) absent += pairs[caption_shapes[s]][caption_colours[c]] == 0;
    for (int k = 0; k < 2 * CAPTION_COLOURS * CAPTION_COLOURS; k++)
        absent_relations += colours[k & 1][caption_colours[k / 2 % 6]][caption_colours[k / 12]] == 0;
    assert_int_equal(absent, 1);           /* of 24: 4.2 % */
    assert_int_equal(absent_relations, 3); /* of 72: 4.2 % */
    for (int k = 0; k < 5; k++) assert_in_range(relations[k], CAPTIONS / 14, CAPTIONS / 8);
    for (int k = 0; k < 3; k++) assert_in_range(sizes[k], CAPTIONS / 4, CAPTIONS);
    assert_in_range(places, CAPTIONS / 2 * 6 / 10, CAPTIONS / 2 * 8 / 10);
    heed_caption_set_free(cx, set);
    close_context(cx);
}

static void test_test_part(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_caption_set *set = open_drawn(cx, "test", 1, 0), *train = open_drawn(cx, "train", 1, 0),
                     *val = open_drawn(cx, "val", 1, 0);
    int kinds[2][3] = {{0}};
    assert_int_equal(heed_caption_set_count(set), 200);
    for (int i = 0; i < 200; i++) {
        heed_caption said;
        char *text = heed_caption_set_text(cx, set, i);
        assert_true(heed_caption_parse(cx, text, &said));
        kinds[said.things - 1][heed_caption_kind_of(&said)]++;
        heed_mem_free(cx, text);
    }
    static const int expected[2][3] = {{80, 20, 0}, {80, 10, 10}};
    assert_memory_equal(kinds, expected, sizeof kinds);
    /* The grey of the ground tells parts apart, so that no two can share a picture. */
    heed_caption_set *const parts[] = {train, val, set};
    for (int part = 0; part < 3; part++)
        for (int i = 0; i < 300; i++) {
            heed_image p;
            assert_true(heed_caption_set_read(cx, parts[part], i, &p));
            for (int k = 0; k < 4; k++) {
                const uint8_t *corner = p.data + 3 * (k % 2 * 31 + k / 2 * 31 * 32);
                assert_true(corner[0] == corner[1] && corner[1] == corner[2] && corner[0] == p.data[0]);
            }
            assert_int_equal(p.data[0] % 3, part);
            heed_image_free(cx, &p);
        }
    for (int k = 0; k < 3; k++) heed_caption_set_free(cx, parts[k]);
    close_context(cx);
}

/* ---- words ---- */

static void expect(heed_ctx *cx, const char *text, const char *plain) {
    heed_caption c;
    if (!heed_caption_parse(cx, text, &c)) print_error("%s: %s\n", text, heed_message(cx));
    char *said = heed_caption_say(cx, &c, 0);
    assert_non_null(said);
    assert_string_equal(said, plain);
    heed_mem_free(cx, said);
}

static void test_words(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    expect(cx, "a red circle above a small blue square", "a red circle above a small blue square");
    expect(cx, "A large green triangle on the left.", "a large green triangle on the left");
    expect(cx, "There is a big yellow disc, in the upper right corner of the picture!",
           "a large yellow circle in the top right corner");
    expect(cx, "purple cross", "a purple cross");
    expect(cx, "an image of the black plus in the centre", "a black cross in the middle");
    expect(cx, "the square is at the left bottom", "a square in the bottom left corner");
    expect(cx, "tiny thing on top of a red box", "a small shape above a red square");
    expect(cx, "a red square to the left of the blue thing", "a red square left of a blue shape");
    expect(cx, "a circle in the top middle and a cross on the right side",
           "a circle at the top middle and a cross on the right");
    expect(cx, "a cross in the middle left", "a cross at the middle left");
    heed_caption c;
    static const char *const wrong[][2] = {
        {"", "caption: there are no words"},
        {" ,.", "caption: there are no words"},
        {"a dog beside a pink circle, a dog", "caption: unknown words 'dog', 'beside', 'pink': captions name"},
        {"a ring", "caption: unknown word 'ring'"},
        {"a red", "caption: it ends before it is complete"},
        {"a red circle above", "caption: it ends before it is complete"},
        {"above a red circle", "caption: word 1, 'above', does not fit what is before it"},
        {"a red blue circle", "caption: word 3, 'blue', does not fit what is before it"},
        {"a circle and a square and a cross", "caption: more than two things"},
        {"a circle at the top at the left", "caption: two places of one thing"},
        {"a circle at the top bottom", "caption: word 6, 'bottom', does not fit"},
        {"a circle to the top left of a square", "caption: word 8, 'a', does not fit"},
        {"a circle square", "caption: word 3, 'square', does not fit"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_false(heed_caption_parse(cx, wrong[i][0], &c));
        EXPECT_SENTENCE(cx, wrong[i][1]);
    }
    c = (heed_caption){.things = 3};
    assert_null(heed_caption_say(cx, &c, 0));
    EXPECT_SENTENCE(cx, "caption: 3 things: a caption has one or two");
    c = (heed_caption){.things = 1, .thing = {{.colour = 9}}, .relation = UNSAID};
    assert_null(heed_caption_say(cx, &c, 0));
    EXPECT_SENTENCE(cx, "caption: property 1 of a thing is 9: there is no such value");
    assert_string_equal(heed_caption_name(HEED_CAPTION_RELATION, 2), "left of");
    assert_string_equal(heed_caption_name(HEED_CAPTION_ROW, 2), "bottom");
    assert_null(heed_caption_name(HEED_CAPTION_SIZE, 2));
    assert_null(heed_caption_name(HEED_CAPTION_COLOUR, -1));
    close_context(cx);
}

/* Whatever can be asked for, in whatever words, is read back as it was. */
static void test_there_and_back(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    struct draws d = {.seed = 3};
    for (uint64_t i = 0; i < 5000; i++) {
        heed_caption c = {.things = 1 + draw_index(&d, 2), .relation = UNSAID}, back;
        for (int k = 0; k < c.things; k++) {
            const int shape = draw_index(&d, 5), colour = draw_index(&d, 7);
            heed_caption_thing *t = &c.thing[k];
            *t = (heed_caption_thing){shape < 4 ? (int)caption_shapes[shape] : UNSAID,
                                      colour < 6 ? caption_colours[colour] : UNSAID, draw_index(&d, 3) - 1,
                                      draw_index(&d, 4) - 1, draw_index(&d, 4) - 1};
            if (t->row == UNSAID && t->column == CAPTION_MIDDLE) t->row = CAPTION_LOW;
            if (t->column == UNSAID && t->row == CAPTION_MIDDLE) t->column = CAPTION_HIGH;
        }
        if (c.things == 2) c.relation = draw_index(&d, 5) - 1;
        char *text = heed_caption_say(cx, &c, i);
        assert_non_null(text);
        if (!heed_caption_parse(cx, text, &back) || !same(&c, &back)) print_error("%s: %s\n", text, heed_message(cx));
        assert_true(same(&c, &back));
        heed_mem_free(cx, text);
    }
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_bytes), cmocka_unit_test(test_training_part),
                                       cmocka_unit_test(test_test_part), cmocka_unit_test(test_words),
                                       cmocka_unit_test(test_there_and_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
