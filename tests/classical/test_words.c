/* Word vectors: training against a plain loop in double with the same random numbers; resuming; files both ways. */
#include "base/philox.h"
#include "classical/words/words.h"
#include "io/io_test.h"
#include <time.h>

static const char *const text = "a b c d e a\nb a\n\nc c d  b a e\nd e a b c a\nzz\nb d a c e b\n";

static heed_lines lines_of(heed_ctx *cx) {
    heed_string s = {0};
    heed_lines lines = {0};
    assert_true(heed_string_put(cx, &s, text, strlen(text)) && heed_lines_cut(cx, &s, &lines));
    return lines;
}

enum { WIDTH = 7, WORDS = 5 };
static const heed_words_opts small = {.width = WIDTH,
                                      .window = 2,
                                      .negative = 3,
                                      .least = 2,
                                      .epochs = 2,
                                      .sample = 0.1,
                                      .lr = 0.4,
                                      .lr_end = 0.1,
                                      .seed = 9};

static double logistic(double x) { return 1 / (1 + exp(-x)); }

/* The twin: all of it as the papers write it. */
static void twin(const heed_words_trainer *t, double in[WORDS][WIDTH], double out[WORDS][WIDTH]) {
    const heed_words_opts *o = &t->opts;
    int64_t done = 0;
    for (int64_t e = 0; e < o->epochs; e++)
        for (int64_t s = 0; s < t->text.sentences; s++) {
            int id[16], reach[16], n = 0;
            int64_t place[16];
            const int64_t from = t->text.start[s], to = t->text.start[s + 1];
            const double lr = (double)(float)(o->lr - (o->lr - o->lr_end) * (double)done / (double)t->state.total);
            for (int64_t i = from; i < to; i++) {
                uint32_t bits[4];
                philox_block(o->seed, WORDS_STREAM_PLACE + 2 * (uint64_t)e, (uint64_t)i, bits);
                const int word = t->text.id[i];
                const double part = o->sample * (double)t->text.count / (double)t->text.words.entries[word].value;
                if ((double)bits[0] * 0x1p-32 > sqrt(part) + part) continue;
                id[n] = word, place[n] = i;
                reach[n++] = 1 + (int)((uint64_t)bits[1] * (uint64_t)o->window >> 32);
            }
            done += to - from;
            for (int k = 0; k < n; k++) {
                uint64_t draw = (uint64_t)(place[k] * words_noise_blocks(o)) * 4;
                const int low = k > reach[k] ? k - reach[k] : 0, high = k + reach[k] < n ? k + reach[k] : n - 1;
                for (int j = low; j <= high; j++) {
                    double h[WIDTH] = {0}, dh[WIDTH] = {0}, g[1 + 3];
                    int word[1 + 3], m = 1;
                    if ((!o->cbow && j == k) || (o->cbow && j > low) || low == high) continue;
                    for (int c = low; c <= high; c++)
                        for (int d = 0; d < WIDTH; d++)
                            if (o->cbow ? c != k : c == j) h[d] += in[id[c]][d] / (o->cbow ? high - low : 1);
                    word[0] = id[k];
                    for (int q = 0; q < o->negative; q++) {
                        const uint64_t p =
                            (uint64_t)heed_random_bits(o->seed, WORDS_STREAM_NOISE + 2 * (uint64_t)e, draw++) * WORDS;
                        const struct words_noise *a = &t->noise[p >> 32];
                        word[m] = (uint32_t)p < a->limit ? (int)(p >> 32) : a->other;
                        if (word[m] != id[k]) m++;
                    }
                    for (int q = 0; q < m; q++) {
                        double dot = 0;
                        for (int d = 0; d < WIDTH; d++) dot += h[d] * out[word[q]][d];
                        g[q] = lr * ((q == 0) - logistic(dot));
                    }
                    for (int q = 0; q < m; q++)
                        for (int d = 0; d < WIDTH; d++) dh[d] += g[q] * out[word[q]][d];
                    for (int q = 0; q < m; q++)
                        for (int d = 0; d < WIDTH; d++) out[word[q]][d] += g[q] * h[d];
                    for (int c = low; c <= high; c++)
                        for (int d = 0; d < WIDTH; d++)
                            if (o->cbow ? c != k : c == j) in[id[c]][d] += dh[d];
                }
            }
        }
}

static void test_twin(void **state) {
    (void)state;
    for (int cbow = 0; cbow < 2; cbow++) {
        heed_ctx *cx = open_context();
        heed_lines lines = lines_of(cx);
        heed_words_opts o = small;
        double in[WORDS][WIDTH], out[WORDS][WIDTH] = {{0}};
        o.cbow = cbow;
        heed_words_trainer *t = heed_words_trainer_new(cx, "text", &lines, &o);
        if (!t) fail_msg("%s", heed_message(cx));
        assert_int_equal(heed_words_trainer_count(t), WORDS);
        for (int i = 0; i < WORDS * WIDTH; i++) in[i / WIDTH][i % WIDTH] = (double)t->in[i / WIDTH * t->ld + i % WIDTH];
        twin(t, in, out);
        while (heed_words_trainer_step(cx, t)) {}
        for (int i = 0; i < WORDS * WIDTH; i++) {
            const double a = (double)t->in[i / WIDTH * t->ld + i % WIDTH],
                         b = (double)t->out[i / WIDTH * t->ld + i % WIDTH];
            if (!(fabs(a - in[i / WIDTH][i % WIDTH]) <= 1e-5) || !(fabs(b - out[i / WIDTH][i % WIDTH]) <= 1e-5))
                fail_msg("%s: %g %g where %g %g is right", cbow ? "cbow" : "skip-gram", a, b, in[i / WIDTH][i % WIDTH],
                         out[i / WIDTH][i % WIDTH]);
        }
        heed_words_trainer_free(cx, t);
        heed_lines_free(cx, &lines);
        heed_close(cx);
    }
}

static void test_files(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_lines lines = lines_of(cx);
    heed_words_trainer *t = heed_words_trainer_new(cx, "text", &lines, &small);
    heed_words *w = heed_words_trainer_words(cx, t);
    static const char *const names[] = {"v.bin", "v.txt", "dir"};
    for (int i = 0; i < 3; i++) {
        char path[600];
        snprintf(path, sizeof path, "%s", in_folder(names[i]));
        assert_true(i < 2 ? heed_words_write(cx, w, path) : heed_words_save(cx, w, path));
        heed_words *r = heed_words_open(cx, path);
        if (!r) fail_msg("%s", heed_message(cx));
        assert_int_equal(heed_words_count(r), WORDS);
        assert_string_equal(heed_words_text(r, 0), "a");
        assert_memory_equal(heed_words_vector(r, 0), heed_words_vector(w, 0), WORDS * WIDTH * sizeof(float));
        heed_words_close(cx, r);
    }
    heed_words_close(cx, w);
    heed_words_trainer_free(cx, t);
    heed_lines_free(cx, &lines);
    static const char *const bad[] = {"",
                                      "3 2\na 1 2\n",
                                      "2 2\na 1 2\nb 1\n",
                                      "1 2\na 1 x\n",
                                      "1 1\n\xff 1\n",
                                      "999999999 999999\na 1\n",
                                      "1 999999999999999999\na 1\n",
                                      "1 1\na nan\n",
                                      "1 1\na 1\nb 1\n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_null(heed_words_parse(cx, "bad", bad[i], strlen(bad[i])));
        assert_true(heed_failed(cx) && strncmp(heed_message(cx), "bad: ", 5) == 0);
        heed_clear(cx);
    }
    heed_close(cx);
}

enum { LONG = 400000 };

static bool never(void *asked) {
    ++*(int *)asked;
    return false;
}
static bool at_once(void *asked) {
    ++*(int *)asked;
    return true;
}

/* One line of many numbers takes time in proportion to it, and can be interrupted wherever it is read. */
static void test_long_line(void **state) {
    (void)state;
    char *const line = malloc(2 * LONG);
    for (int i = 0; i < LONG; i++) memcpy(line + 2 * i, i ? " 1" : "aa", 2);
    for (int how = 0; how < 2; how++) {
        int asked = 0;
        const clock_t before = clock();
        heed_ctx *cx = heed_open(&(heed_config){.threads = 1, .cancel = how ? at_once : never, .user = &asked});
        heed_words *w = heed_words_parse(cx, "long", line, 2 * LONG);
        assert_int_equal(heed_words_width(w), how ? 0 : LONG - 1);
        assert_int_equal(heed_error(cx), how ? HEED_ERR_CANCELLED : HEED_OK);
        assert_true(how ? asked == 1 : asked > LONG / 20000);
        assert_true((double)(clock() - before) / CLOCKS_PER_SEC <
                    10); /* it was minutes when fields were counted anew */
        heed_words_close(cx, w);
        heed_close(cx);
    }
    free(line);
}

int main(void) {
    const struct CMUnitTest all[] = {cmocka_unit_test(test_twin), cmocka_unit_test(test_files),
                                     cmocka_unit_test(test_long_line)};
    return cmocka_run_group_tests(all, make_folder, wipe_folder);
}
