/* The judge of drawn pictures: right about what the generator draws, also through noise, blur and JPEG, and not about
 * pictures that show something else. */
#include "heed/captions.h"
#include "data/captions/caption.h"
#include "io/io_test.h"

enum { N = 400 };

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
        if (!v.right && getenv("SHOW")) print_message("    %s %d: %s\n", damages[how], i, v.reason);
        heed_image_free(cx, &p);
    }
    return (double)right / n;
}

static void test_rates(void **state) {
    (void)state;
    static const double bars[2][DAMAGES] = {{0}, {0}};
    heed_ctx *cx = open_context();
    for (int small = 0; small < 2; small++) {
        heed_caption_set *set = open_drawn(cx, "train", 11, small ? 16 : 32);
        for (int how = 0; how < DAMAGES; how++) {
            const double rate = share_right(cx, set, (enum damage)how, how == NONE && !small ? 2 * N : N);
            print_message("  %d pixels, %s: %.4f right\n", small ? 16 : 32, damages[how], rate);
            assert_true(rate >= bars[small][how]);
        }
        heed_caption_set_free(cx, set);
    }
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rates)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
