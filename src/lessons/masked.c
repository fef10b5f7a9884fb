/* Masked self-attention (Vaswani et al. 2017). Causality shown by changing the future; padding that is never read; a
 * row that sees no key; and pictures of the masks. */
#include "lessons/store.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WORDS = 6, WIDTH = 32, SHORT = 4, MASKS = 6, BLIND = 2 };

static const char *const sentence[WORDS] = {"the", "cat", "sat", "on", "a", "mat"};

struct result {
    float y[WORDS * WIDTH], map[WORDS * WORDS];
};

/* Self-attention of `words` words with one head; queries, keys and values are the words times random matrices. The
 * gradient of every word for a random gradient of the output goes to dx, unless that is NULL. */
static bool attend(struct lesson_run *r, const float *words, int64_t n, const heed_mask *mask, struct result *out,
                   float *dx) {
    heed_ctx *cx = r->cx;
    float *drawn = lesson_room(r, 4 * WIDTH * WIDTH, sizeof *drawn);
    if (!drawn) return false;
    heed_random_normal(r->seed, 7, 0, drawn, 4 * WIDTH * WIDTH);
    for (int i = 0; i < 3 * WIDTH * WIDTH; i++) drawn[i] *= 1.4f / sqrtf((float)WIDTH);
    heed_tensor *x = heed_want_grad(cx, heed_from_f32(cx, words, 3, (int64_t[]){1, n, WIDTH})), *qkv[3];
    heed_tensor *w = heed_from_f32(cx, drawn, 2, (int64_t[]){3 * WIDTH, WIDTH});
    if (!heed_split(cx, heed_linear(cx, x, w, NULL), 2, (int64_t[]){WIDTH, WIDTH, WIDTH}, 3, qkv)) return false;
    for (int i = 0; i < 3; i++) qkv[i] = heed_reshape(cx, qkv[i], 4, (int64_t[]){1, n, 1, WIDTH});
    heed_capture_begin(cx, NULL);
    heed_tensor *y = heed_attention(cx, qkv[0], qkv[1], qkv[2], &(heed_attention_opts){.mask = *mask});
    const heed_capture_map *map = heed_capture_at(cx, 0);
    bool ok = map && heed_copy_f32(cx, y, out->y, n * WIDTH);
    if (ok) memcpy(out->map, map->weights, (size_t)(n * n) * sizeof(float));
    heed_capture_end(cx);
    heed_tensor *dy = heed_from_f32(cx, drawn + 3 * WIDTH * WIDTH, 4, (int64_t[]){1, n, 1, WIDTH});
    if (ok && dx) ok = heed_backward_from(cx, y, dy) && heed_copy_f32(cx, heed_grad_of(cx, x), dx, n * WIDTH);
    heed_reset(cx);
    return ok;
}

static void draw_words(struct lesson_run *r, uint64_t stream, float *words, int64_t n) {
    heed_random_normal(r->seed, stream, 0, words, n * WIDTH);
}

static double row_change(const float *a, const float *b, int row) {
    double most = 0;
    for (int i = row * WIDTH; i < (row + 1) * WIDTH; i++) most = fmax(most, fabs((double)a[i] - (double)b[i]));
    return most;
}

static heed_capture_map map_of(const float *weights, int64_t n) {
    return (heed_capture_map){.batch = 1, .heads = 1, .rows = n, .keys = n, .weights = weights};
}

/* ---- the future ---- */

static void change_future(struct lesson_run *r, const float *words) {
    static const char *const file = "masking-future";
    float other[WORDS * WIDTH], row[WORDS], plain[WORDS], causal[WORDS];
    struct result before[2], after[2];
    memcpy(other, words, sizeof other);
    draw_words(r, 1, other + (WORDS - 1) * WIDTH, 1);
    const heed_mask masks[2] = {heed_mask_none(), heed_mask_causal(0)};
    for (int k = 0; k < 2; k++)
        if (!attend(r, words, WORDS, &masks[k], &before[k], NULL) ||
            !attend(r, other, WORDS, &masks[k], &after[k], NULL))
            return;
    lesson_say(r, "A model that predicts the next word must not see it. A causal mask hides the keys after the query: "
                  "row i of the map ends at column i.");
    const heed_capture_map map = map_of(before[1].map, WORDS);
    heed_terminal how = r->terminal;
    how.title = "Causal weights: queries down, keys across";
    lesson_show(r, heed_terminal_attention(
                       r->cx, &map, 0,
                       &(heed_attention_look){.query_names = sentence, .key_names = sentence, .numbers = true}, &how));
    lesson_say(r, "The proof: replace the last word, 'mat', and see whose output changes.");
    lesson_line(r, "%-10s %22s %22s", "word", "change without a mask", "with a causal mask");
    double earlier = 0, least = HUGE_VAL;
    for (int i = 0; i < WORDS; i++) {
        row[i] = (float)i;
        plain[i] = (float)row_change(before[0].y, after[0].y, i);
        causal[i] = (float)row_change(before[1].y, after[1].y, i);
        lesson_line(r, "%-10s %22.4f %22.4f", sentence[i], (double)plain[i], (double)causal[i]);
        if (i + 1 < WORDS) earlier = fmax(earlier, (double)causal[i]), least = fmin(least, (double)plain[i]);
    }
    lesson_line(r, "%s", "");
    lesson_result(r, "causal_change", earlier);
    lesson_result(r, "plain_change", least);
    lesson_say(r, "%s",
               earlier == 0 ? "Not one bit of the earlier outputs has changed: the future is never read."
                            : "The earlier words have changed: that must not be.");
    lesson_table(r, file,
                 (heed_table_column[]){{.name = "word", .text = sentence},
                                       {.name = "position", .f32 = row},
                                       {.name = "change_without_mask", .f32 = plain},
                                       {.name = "change_with_mask", .f32 = causal}},
                 4, WORDS);
}

/* ---- padding ---- */

static heed_mask lengths_mask(heed_ctx *cx, int32_t n, bool queries) {
    heed_tensor *length = heed_from_i32(cx, &n, 1, (int64_t[]){1});
    return heed_mask_lengths(length, queries ? length : NULL);
}

static void pad(struct lesson_run *r, const float *words) {
    float padded[WORDS * WIDTH];
    struct result alone, within;
    memcpy(padded, words, sizeof padded);
    for (int i = SHORT * WIDTH; i < WORDS * WIDTH; i++) padded[i] = NAN;
    const heed_mask none = heed_mask_none();
    if (!attend(r, words, SHORT, &none, &alone, NULL)) return;
    const heed_mask lengths = lengths_mask(r->cx, SHORT, true);
    if (!attend(r, padded, WORDS, &lengths, &within, NULL)) return;
    double most = 0, rest = 0;
    for (int i = 0; i < WORDS; i++) {
        const double change = i < SHORT ? row_change(alone.y, within.y, i) : 0;
        most = change <= most ? most : change; /* NaN stays */
        for (int c = 0; i >= SHORT && c < WIDTH; c++) rest = fmax(rest, fabs((double)within.y[i * WIDTH + c]));
    }
    lesson_say(r,
               "Sentences of unequal length share a batch by padding. With a length of %d, the words after it are "
               "padding; here they are NaN, which would spread if they were read.",
               SHORT);
    lesson_line(r, "difference from the %d words alone   %.0e", SHORT, most);
    lesson_line(r, "answers of the padding              %g (zeros, not NaN)\n", rest);
    lesson_result(r, "padding_difference", most);
    lesson_result(r, "padding_answer", rest);
}

/* ---- a row that sees nothing ---- */

static heed_mask blind_mask(heed_ctx *cx) {
    uint8_t keep[WORDS * WORDS];
    memset(keep, 1, sizeof keep);
    for (int k = 0; k < WORDS; k++) keep[BLIND * WORDS + k] = 0;
    return heed_mask_keep(heed_from_u8(cx, keep, 4, (int64_t[]){1, 1, WORDS, WORDS}));
}

static void attend_no_keys(struct lesson_run *r, const float *words) {
    struct result blind;
    float dx[WORDS * WIDTH];
    const heed_mask mask = blind_mask(r->cx);
    if (!attend(r, words, WORDS, &mask, &blind, dx)) return;
    double sum = 0, answer = 0;
    bool finite = true;
    for (int k = 0; k < WORDS; k++) sum += (double)blind.map[BLIND * WORDS + k];
    for (int c = 0; c < WIDTH; c++) answer = fmax(answer, fabs((double)blind.y[BLIND * WIDTH + c]));
    for (int i = 0; i < WORDS * WIDTH; i++) finite = finite && isfinite(dx[i]);
    lesson_say(
        r, "And a query that may see no key at all? Its softmax would be 0/0. In heed its weights and its output are "
           "zeros, and so are its gradients:");
    lesson_line(r, "'%s' sees nothing. Sum of its weights  %g", sentence[BLIND], sum);
    lesson_line(r, "largest number of its answer          %g", answer);
    lesson_line(r, "gradients of all words                %s\n", finite ? "finite" : "not finite");
    lesson_result(r, "blind_answer", answer);
    lesson_result(r, "blind_gradients_finite", finite);
}

/* ---- the masks ---- */

static heed_mask mask_number(heed_ctx *cx, int k) {
    switch (k) {
    case 1:
        return heed_mask_causal(0);
    case 2:
        return heed_mask_both(cx, heed_mask_causal(0), heed_mask_window(3, 0));
    case 3:
        return heed_mask_blocks(3, 0);
    case 4:
        return lengths_mask(cx, SHORT, false);
    case 5:
        return blind_mask(cx);
    default:
        return heed_mask_none();
    }
}

/* What each query may see, three masks side by side. */
static void print_masks(struct lesson_run *r, const char *const *names) {
    const char *seen = r->terminal.ascii ? "# " : "\u25a0 ", *hidden = r->terminal.ascii ? ". " : "\u00b7 ";
    lesson_say(r, "Six masks on the same sentence: queries down, keys across. The weight of hidden keys goes to "
                  "the others: every row that sees a key sums to 1.");
    for (int first = 0; first < MASKS; first += 3) {
        uint8_t maps[3][WORDS * WORDS];
        for (int k = 0; k < 3; k++) { /* the bitmap has one row where the mask does not depend on the query */
            const heed_mask mask = mask_number(r->cx, first + k);
            heed_tensor *t = heed_mask_bitmap(r->cx, &mask, 1, 1, WORDS, WORDS);
            const uint8_t *bits = t ? heed_u8(t) : NULL;
            for (int i = 0; bits && i < WORDS * WORDS; i++) maps[k][i] = bits[heed_dim(t, 2) == 1 ? i % WORDS : i];
            heed_reset(r->cx);
            if (!bits) return;
        }
        lesson_line(r, "      %-24s%-24s%s", names[first], names[first + 1], names[first + 2]);
        for (int row = 0; row < WORDS; row++) {
            char text[3 * (WORDS * 4 + 12) + 1] = "";
            for (int i = 0; i < 3 * WORDS; i++) {
                strcat(text, maps[i / WORDS][row * WORDS + i % WORDS] ? seen : hidden);
                if (i % WORDS == WORDS - 1 && i + 1 < 3 * WORDS) strcat(text, "            ");
            }
            lesson_line(r, "%5s %s", sentence[row], text);
        }
        lesson_line(r, "%s", "");
    }
}

static void draw_masks(struct lesson_run *r, const float *words) {
    static const char *const names[MASKS] = {"none",        "causal",   "causal, window of 3",
                                             "blocks of 3", "length 4", "a row that sees no key"};
    static const char *const short_names[MASKS] = {"none", "causal", "window 3", "blocks 3", "length 4", "blind row"};
    struct result maps[MASKS];
    float *all = lesson_room(r, MASKS * WORDS * WORDS, sizeof *all);
    const char **mask = lesson_room(r, MASKS * WORDS * WORDS, 3 * sizeof *mask);
    if (!all || !mask) return;
    const char **query = mask + MASKS * WORDS * WORDS, **key = query + MASKS * WORDS * WORDS;
    heed_figure *f = lesson_figure(r, 640, 390);
    heed_figure_grid(f, 2, 3);
    heed_figure_bar(f, "weight");
    for (int k = 0; k < MASKS; k++) {
        const heed_mask m = mask_number(r->cx, k);
        if (!attend(r, words, WORDS, &m, &maps[k], NULL)) break;
        const heed_capture_map map = map_of(maps[k].map, WORDS);
        heed_panel *p = heed_figure_panel(f, k / 3, k % 3);
        heed_panel_title(p, names[k]);
        heed_plot_attention_map(p, &map, 0,
                                &(heed_attention_look){.query_names = sentence, .key_names = sentence, .high = 1});
        for (int i = 0; i < WORDS * WORDS; i++) {
            all[k * WORDS * WORDS + i] = maps[k].map[i];
            mask[k * WORDS * WORDS + i] = short_names[k];
            query[k * WORDS * WORDS + i] = sentence[i / WORDS];
            key[k * WORDS * WORDS + i] = sentence[i % WORDS];
        }
    }
    lesson_picture(r, f, "masking");
    if (heed_failed(r->cx)) return;
    print_masks(r, names);
    lesson_table(r, "masking",
                 (heed_table_column[]){{.name = "mask", .text = mask},
                                       {.name = "query", .text = query},
                                       {.name = "key", .text = key},
                                       {.name = "weight", .f32 = all}},
                 4, MASKS * WORDS * WORDS);
}

static void run(struct lesson_run *r) {
    float words[WORDS * WIDTH];
    draw_words(r, 0, words, WORDS);
    change_future(r, words);
    if (!heed_failed(r->cx)) pad(r, words);
    if (!heed_failed(r->cx)) attend_no_keys(r, words);
    if (!heed_failed(r->cx)) draw_masks(r, words);
    lesson_say(r, "A mask means the same everywhere in heed: in training, in decoding with a cache, and in captured "
                  "weights.");
}

const struct lesson masked_lesson = {
    .name = "masking",
    .summary = "masked self-attention: the future changed, padding, a row that sees no key",
    .run = run,
};
