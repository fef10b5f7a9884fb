/* The judge of drawn pictures: right about what the generator draws, also through noise, blur and JPEG, and not about
 * pictures that show something else. */
#include "data/captions/caption.h"
#include "heed/captions.h"
#include "io/io_test.h"

enum { N = 80 };

static heed_caption_set *open_drawn(heed_ctx *cx, const char *part, uint64_t seed, int64_t side) {
    const heed_caption_set_opts opts = {.seed = seed, .side = side};
    heed_caption_set *set = heed_caption_set_open(cx, "captions", part, &opts);
    assert_non_null(set);
    return set;
}

/* ---- what a model's pictures suffer from ---- */

enum damage { NONE, NOISE, BLUR, BOTH, MORE_NOISE, MORE_BLUR, JPEG, DAMAGES };
static const char *const damages[] = {"none", "noise 0.03", "blur 0.6", "both", "noise 0.06", "blur 0.9", "jpeg 75"};

/* Gaussian: twelve uniforms. sigma: of numbers from 0 to 1. */
static void add_noise(heed_image *p, double sigma, uint64_t seed) {
    struct draws d = {.seed = seed, .stream = 99};
    for (int64_t i = 0; i < p->width * p->height * 3; i++) {
        double sum = -6;
        for (int k = 0; k < 12; k++) sum += (double)draw(&d, 0, 1);
        const double v = rint(p->data[i] + 255 * sigma * sum);
        p->data[i] = (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
    }
}

/* A Gaussian of `sigma` pixels in both directions; the border goes on beyond itself. */
static void blur(heed_image *p, double sigma) {
    const int side = (int)p->width;
    double weight[7], sum = 0;
    for (int k = 0; k < 7; k++) sum += weight[k] = exp(-(k - 3) * (k - 3) / (2 * sigma * sigma));
    for (int way = 0; way < 2; way++) {
        uint8_t from[3 * 96 * 96];
        memcpy(from, p->data, (size_t)(side * side * 3));
        for (int i = 0; i < side * side; i++)
            for (int c = 0; c < 3; c++) {
                double v = 0;
                for (int k = 0; k < 7; k++) {
                    const int x = i % side + (way == 0 ? k - 3 : 0), y = i / side + (way == 1 ? k - 3 : 0);
                    const int u = x < 0 ? 0 : x >= side ? side - 1 : x, w = y < 0 ? 0 : y >= side ? side - 1 : y;
                    v += weight[k] / sum * from[3 * (w * side + u) + c];
                }
                p->data[3 * i + c] = (uint8_t)rint(v);
            }
    }
}

static void damage(heed_ctx *cx, heed_image *p, enum damage how, uint64_t seed) {
    if (how == BLUR || how == BOTH) blur(p, 0.6);
    if (how == MORE_BLUR) blur(p, 0.9);
    if (how == NOISE || how == BOTH) add_noise(p, 0.03, seed);
    if (how == MORE_NOISE) add_noise(p, 0.06, seed);
    if (how == JPEG) {
        size_t size;
        unsigned char *bytes = heed_image_encode(cx, p, HEED_IMAGE_JPEG, 75, &size);
        heed_image_free(cx, p);
        assert_true(heed_image_parse(cx, "jpeg", bytes, size, NULL, p));
        heed_mem_free(cx, bytes);
    }
}

/* ---- rates ---- */

/* Of all that a picture shows, said or not. */
static double share_right(heed_ctx *cx, const heed_caption_set *set, enum damage how, int n) {
    int right = 0;
    for (int i = 0; i < n; i++) {
        heed_caption shown;
        heed_image p;
        heed_verdict v;
        assert_true(heed_caption_set_shown(cx, set, i, &shown) && heed_caption_set_read(cx, set, i, &p));
        damage(cx, &p, how, (uint64_t)i);
        assert_true(heed_caption_judge(cx, &p, &shown, &v));
        assert_true(v.right == (v.reason[0] == 0));
        assert_true(v.right == (v.count && v.ground && v.shape && v.colour && v.size && v.place && v.relation));
        right += v.right;
        heed_image_free(cx, &p);
    }
    return (double)right / n;
}

/* At 16 pixels the arms of a small cross are less than two wide, and blur makes them circles. */
static void test_rates(void **state) {
    (void)state;
    static const double bars[2][DAMAGES] = {{0.99, 0.99, 0.99, 0.99, 0.98, 0.98, 0.95},
                                            {0.98, 0.98, 0.75, 0.75, 0.85, 0.7, 0.5}};
    heed_ctx *cx = open_context();
    for (int small = 0; small < 2; small++) {
        heed_caption_set *set = open_drawn(cx, "train", 11, small ? 16 : 32);
        for (int how = 0; how < DAMAGES; how++) {
            const double rate = share_right(cx, set, (enum damage)how, how == NONE && !small ? 500 : N);
            print_message("  %d pixels, %s: %.4f right\n", small ? 16 : 32, damages[how], rate);
            assert_true(rate >= bars[small][how]);
        }
        heed_caption_set_free(cx, set);
    }
    close_context(cx);
}

/* ---- what is wrong ---- */

static int other(struct draws *d, int value, int n) { return (value + 1 + draw_index(d, n - 1)) % n; }

/* Asks for one thing that the picture does not show. */
static const char *ask_wrong(struct draws *d, heed_caption *c) {
    heed_caption_thing *t = &c->thing[draw_index(d, c->things)];
    switch (draw_index(d, 5)) {
    case 0:
        t->shape = other(d, t->shape, SCENE_SHAPES);
        return "shape:";
    case 1:
        t->colour = other(d, t->colour, SCENE_COLOURS);
        return "colour:";
    case 2:
        t->size = !t->size;
        return "size:";
    case 3:
        if (c->things == 1)
            t->column = other(d, t->column, 3);
        else
            c->relation = other(d, c->relation, CAPTION_RELATIONS);
        return "";
    default:
        c->things = 3 - c->things;
        c->thing[1] = c->thing[0];
        c->relation = UNSAID;
        return "things:";
    }
}

static void test_wrong_captions(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_caption_set *set = open_drawn(cx, "val", 4, 32);
    struct draws d = {.seed = 8};
    for (int i = 0; i < N; i++) {
        heed_caption shown;
        heed_image p;
        heed_verdict v;
        assert_true(heed_caption_set_shown(cx, set, i, &shown) && heed_caption_set_read(cx, set, i, &p));
        const char *const what = ask_wrong(&d, &shown);
        assert_true(heed_caption_judge(cx, &p, &shown, &v));
        assert_false(v.right);
        assert_non_null(strstr(v.reason, what));
        heed_image_free(cx, &p);
    }
    heed_caption_set_free(cx, set);
    close_context(cx);
}

/* ---- pictures that are wrong ---- */

static void fill(heed_image *p, int left, int top, int width, int height, const uint8_t *rgb) {
    for (int y = top; y < top + height; y++)
        for (int x = left; x < left + width; x++) memcpy(p->data + 3 * (y * p->width + x), rgb, 3);
}

static void expect(heed_ctx *cx, const heed_image *p, const char *caption, const char *reason) {
    heed_caption c;
    heed_verdict v;
    assert_true(heed_caption_parse(cx, caption, &c) && heed_caption_judge(cx, p, &c, &v));
    if (strcmp(v.reason, reason) != 0) print_error("'%s': expected '%s', found '%s'\n", caption, reason, v.reason);
    assert_string_equal(v.reason, reason);
    assert_true(v.right == !*reason);
}

static void test_reasons(void **state) {
    (void)state;
    static const uint8_t ground[3] = {225, 225, 225}, red[3] = {205, 35, 40}, blue[3] = {45, 80, 205},
                         orange[3] = {238, 128, 25}, pink[3] = {215, 130, 132}, teal[3] = {0, 160, 170};
    heed_ctx *cx = open_context();
    heed_image p;
    assert_true(heed_image_new(cx, 32, 32, 3, &p));
    fill(&p, 0, 0, 32, 32, ground);
    expect(cx, &p, "a red square", "things: 0, asked 1");
    fill(&p, 2, 3, 10, 10, red);
    expect(cx, &p, "A small RED square in the top left corner.", "");
    expect(cx, &p, "a square", "");
    expect(cx, &p, "a red thing on the left", "");
    expect(cx, &p, "a blue square", "colour: the square is red, asked blue");
    expect(cx, &p, "a red circle", "shape: square, asked circle");
    expect(cx, &p, "a large red square at the bottom",
           "size: the square is small, asked large; place: the square is in the top row, asked bottom");
    expect(cx, &p, "a red square and a blue square", "things: 1, asked 2");
    expect(cx, &p, "a blue circle above a red square", "things: 1, asked 2");
    fill(&p, 18, 4, 10, 10, blue);
    expect(cx, &p, "a red square", "things: 2, asked 1");
    expect(cx, &p, "a red square to the left of a blue square", "");
    expect(cx, &p, "a blue square to the right of a red square", "");
    expect(cx, &p, "a red square in the top left and a blue square at the top right", "");
    expect(cx, &p, "a blue square left of a red square",
           "relation: the first thing is right of the second, asked left of");
    expect(cx, &p, "a red square above a blue square", "relation: the first thing is left of the second, asked above");
    expect(cx, &p, "a red square left of a green square", "colour: the square is blue, asked green");
    fill(&p, 10, 20, 6, 6, orange);
    expect(cx, &p, "a red square left of a blue square", "things: 3, asked 2");
    fill(&p, 0, 0, 32, 32, ground);
    fill(&p, 8, 8, 13, 13, orange);
    expect(cx, &p, "a red square", "colour: the square is orange, asked red");
    fill(&p, 8, 8, 13, 13, pink);
    expect(cx, &p, "a red square", "shape: none that is known, asked square");
    fill(&p, 8, 8, 13, 13, teal);
    expect(cx, &p, "a blue square", "colour: the square is of no known colour, asked blue");
    fill(&p, 8, 8, 13, 6, red); /* one half in each of two colours */
    fill(&p, 8, 14, 13, 7, blue);
    expect(cx, &p, "a red square", "colour: the square is of no known colour, asked red");
    fill(&p, 0, 0, 32, 32, ground);
    fill(&p, 4, 12, 18, 7, red); /* too long for a square */
    expect(cx, &p, "a red square", "shape: none that is known, asked square");
    fill(&p, 0, 0, 32, 32, ground);
    fill(&p, 8, 8, 13, 13, red);
    for (int k = 0; k < 12; k++) fill(&p, 26, 1 + 2 * k, 1 + k % 3, 1, blue); /* specks */
    expect(cx, &p, "a red square", "ground: 2 % of it is not plain");
    heed_image_free(cx, &p);
    assert_true(heed_image_new(cx, 32, 16, 3, &p));
    assert_false(heed_caption_see(cx, &p, &(heed_seen){0}));
    EXPECT_SENTENCE(cx,
                    "caption: a picture of 32 x 16 pixels and 3 channels: squares with 16 to 96 pixels a side in RGB");
    heed_image_free(cx, &p);
    close_context(cx);
}

/* Parts of what the generator draws are erased, or other things are added. */
static void test_wrong_pictures(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_caption_set *set = open_drawn(cx, "test", 2, 32);
    int erased = 0, added = 0;
    for (int i = 0; i < N; i += 2) {
        static const uint8_t black[3] = {24, 24, 24};
        heed_caption shown, plain = {.things = 1, .relation = UNSAID};
        heed_image p;
        heed_seen seen;
        heed_verdict v;
        assert_true(heed_caption_set_shown(cx, set, i, &shown) && heed_caption_set_read(cx, set, i, &p));
        assert_true(heed_caption_see(cx, &p, &seen));
        assert_int_equal(seen.things, 1);
        plain.thing[0] = (heed_caption_thing){shown.thing[0].shape, shown.thing[0].colour, UNSAID, UNSAID, UNSAID};
        const double x = seen.thing[0].x, y = seen.thing[0].y;
        heed_image q;
        assert_true(heed_image_copy(cx, &p, &q));
        fill(&q, x < 0.5 ? 25 : 2, y < 0.5 ? 25 : 2, 4, 4, black);
        assert_true(heed_caption_judge(cx, &q, &plain, &v));
        added += !v.right && !v.count;
        heed_image_free(cx, &q);
        const uint8_t ground[3] = {p.data[0], p.data[1], p.data[2]};
        fill(&p, (int)(x * 32), 0, 32 - (int)(x * 32), 32, ground); /* its right half */
        assert_true(heed_caption_judge(cx, &p, &plain, &v));
        erased += !v.right;
        heed_image_free(cx, &p);
    }
    print_message("  of %d: refused with a thing more %d, with a half erased %d\n", N / 2, added, erased);
    assert_int_equal(added, N / 2);
    assert_true(erased >= N / 2 * 0.97);
    heed_caption_set_free(cx, set);
    close_context(cx);
}

/* Pictures of anything, such as a model's that has learnt nothing. */
static void test_any_pictures(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    struct draws d = {.seed = 5};
    for (int i = 0; i < 120; i++) {
        const int side = i < 4 ? 96 : 16 + draw_index(&d, 17);
        heed_image p;
        heed_seen seen;
        assert_true(heed_image_new(cx, side, side, 3, &p));
        memset(p.data, draw_index(&d, 256), (size_t)(side * side * 3));
        const int marks = draw_index(&d, 60);
        for (int k = 0; k < marks; k++) {
            const uint8_t rgb[3] = {(uint8_t)(255 * draw_index(&d, 2)), (uint8_t)draw_index(&d, 256),
                                    (uint8_t)(128 * draw_index(&d, 2))};
            fill(&p, draw_index(&d, side - 5), draw_index(&d, side - 5), 1 + draw_index(&d, 5), 1 + draw_index(&d, 5),
                 rgb);
        }
        if (i % 3 == 0) add_noise(&p, 0.5, (uint64_t)i);
        assert_true(heed_caption_see(cx, &p, &seen));
        for (int k = 0; k < seen.things && k < HEED_SEEN_THINGS; k++) {
            const heed_seen_thing *t = &seen.thing[k];
            assert_true(isfinite(t->x) && isfinite(t->y) && t->side > 0 && t->fit >= 0 && t->fit <= 1.0001);
            assert_true(t->size >= 0 && t->column >= 0 && t->row >= 0);
        }
        heed_image_free(cx, &p);
    }
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rates), cmocka_unit_test(test_wrong_captions),
                                       cmocka_unit_test(test_reasons), cmocka_unit_test(test_wrong_pictures),
                                       cmocka_unit_test(test_any_pictures)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
