/* A text has the same bits alone, padded beside a longer one, and, where attention is causal, as the beginning of a
 * longer one: every directory below tests/golden/model that reads tokens, for 1 to 8 tokens against 9 and 65. A family
 * whose numbers depend on the padded length by their formula differs by far more than rounding and is not meant; nor is
 * Reformer, whose chunks are cut by that length. */
#include "heed/model.h"
#include "io/io_test.h"
#include <dirent.h>
#include <math.h>

enum { SHORT = 8, LONG = 65, TOKENS = 5 };

static const char *path_of(const char *name) {
    static char path[800];
    snprintf(path, sizeof path, "%s/model/%s", getenv("HEED_GOLDEN"), name);
    return path;
}

static bool takes(const heed_head *head, const char *name) {
    const size_t n = strlen(name);
    for (const char *at = head->inputs; (at = strstr(at, name)); at += n)
        if ((at == head->inputs || at[-1] == ' ') && (at[n] == ' ' || !at[n])) return true;
    return false;
}

/* Row 0 holds `length` tokens, the others `width`; the rest is padding. */
static bool run(heed_ctx *cx, heed_model *model, const heed_head *head, int64_t rows, int64_t width, int64_t length,
                heed_io *out) {
    int32_t ids[2 * LONG], mask[2 * LONG];
    for (int64_t r = 0; r < rows; r++)
        for (int64_t t = 0; t < width; t++) {
            mask[r * width + t] = r > 0 || t < length;
            ids[r * width + t] = mask[r * width + t] ? 3 + (int32_t)((t * 7 + r * 3 + t * t) % TOKENS) : 0;
        }
    heed_io in = {0};
    const int64_t shape[] = {rows, width};
    heed_reset(cx);
    heed_io_put(cx, &in, "input_ids", heed_from_i32(cx, ids, 2, shape));
    if (takes(head, "attention_mask")) heed_io_put(cx, &in, "attention_mask", heed_from_i32(cx, mask, 2, shape));
    if (takes(head, "decoder_input_ids")) heed_io_put(cx, &in, "decoder_input_ids", heed_from_i32(cx, ids, 2, shape));
    *out = (heed_io){0};
    return heed_model_forward(cx, model, &in, out);
}

/* What row 0 gave for its tokens, and where `whole` for the text as a whole, in one array; *n: how many numbers. */
static float *row_of(const heed_io *out, int64_t width, int64_t length, bool whole, int64_t *n) {
    float *all = NULL;
    *n = 0;
    for (int i = 0; i < out->n; i++) {
        const heed_tensor *const y = out->tensor[i];
        const bool each = heed_dim(y, 1) == width && (heed_rank(y) > 2 || strcmp(out->name[i], "logits") != 0);
        if (!heed_f32(y) || heed_rank(y) < 2 || !(each || whole)) continue;
        const int64_t rows = heed_dim(y, 0), second = heed_dim(y, 1), per = heed_count(y) / (rows * second);
        const int64_t count = per * (each ? length : second);
        all = realloc(all, (size_t)(*n + count) * sizeof *all);
        memcpy(all + *n, heed_f32(y), (size_t)count * sizeof *all);
        *n += count;
    }
    return all;
}

/* The same to the bit, or so different that the formula is another. */
static bool same(const char *name, const char *what, int64_t length, int64_t width, const float *x, const float *y,
                 int64_t n) {
    double apart = 0, size = 0;
    for (int64_t i = 0; i < n; i++)
        apart = fmax(apart, fabs((double)(x[i] - y[i]))), size = fmax(size, fabs((double)x[i]));
    if (n == 0 || memcmp(x, y, (size_t)n * sizeof *x) == 0) return true;
    if (apart < 1e-4 * size)
        fail_msg("%s: %lld tokens have other bits %s of %lld: %g of %g", name, (long long)length, what,
                 (long long)width, apart, size);
    return false;
}

static int compared, differed;

static void check(heed_ctx *cx, const char *name, heed_model *model, const heed_head *head, int64_t width) {
    for (int64_t length = 1; length <= SHORT; length++) {
        heed_io out;
        int64_t n[2], m;
        if (!run(cx, model, head, 1, length, length, &out)) { /* some read no text so short */
            heed_clear(cx);
            continue;
        }
        float *const alone[2] = {row_of(&out, length, length, false, &n[0]), row_of(&out, length, length, true, &n[1])};
        for (int batch = 0; batch < 2; batch++) { /* the beginning of `width` tokens, or beside such a row, padded */
            if (batch && !takes(head, "attention_mask")) continue;
            if (!run(cx, model, head, 1 + batch, width, batch ? length : width, &out)) {
                heed_clear(cx);
                continue;
            }
            float *const beside = row_of(&out, width, length, batch, &m);
            const char *const what = batch ? "padded in a batch" : "as the beginning";
            if (m == n[batch] && same(name, what, length, width, alone[batch], beside, m))
                compared++;
            else
                differed++;
            free(beside);
        }
        free(alone[0]), free(alone[1]);
    }
}

static void test_lengths(void **unused) {
    (void)unused;
    struct dirent **entries;
    const int n = scandir(path_of(""), &entries, NULL, alphasort);
    int cases = 0;
    for (int i = 0; i < n; i++) {
        const char *const name = entries[i]->d_name;
        heed_ctx *cx = heed_open(&(heed_config){.threads = 1});
        heed_directory *const d = strchr(name, '.') ? NULL : heed_directory_open(cx, path_of(name));
        const heed_head *const head = heed_directory_head(d);
        if (head && takes(head, "input_ids") && !strstr(name, "choose") && strncmp(name, "reformer", 8) != 0) {
            heed_model *model = heed_directory_model(cx, d, NULL);
            assert_non_null(model);
            static const int64_t widths[] = {LONG, SHORT + 1};
            for (int w = 0; w < 2; w++) {
                heed_io out;
                if (run(cx, model, head, 1, widths[w], widths[w], &out))
                    check(cx, name, model, head, widths[w]), cases++;
                heed_clear(cx);
            }
            heed_reset(cx);
            heed_model_free(cx, model);
        }
        heed_directory_close(cx, d);
        heed_close(cx);
        free(entries[i]);
    }
    free(entries);
    printf("%d directories and lengths: %d comparisons equal, %d by formula not\n", cases, compared, differed);
    assert_true(cases > 100 && compared > 2 * differed);
}

int main(void) {
    const struct CMUnitTest all[] = {cmocka_unit_test(test_lengths)};
    return cmocka_run_group_tests(all, NULL, NULL);
}
