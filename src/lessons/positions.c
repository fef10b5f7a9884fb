/* Positions. Attention alone does not depend on the order of its keys; five ways to encode where a token stands: sine
 * and cosine (Vaswani et al. 2017), learned, rotary (Su et al. 2021), ALiBi (Press et al. 2022), T5's bias (Raffel et
 * al. 2020). */
#include "lessons/store.h"
#include <math.h>
#include <stdio.h>

enum { LENGTH = 64, WIDTH = 64, TURNED = 32, FAR = 200, HEADS = 8, SPAN = 40, BUCKETS = 32, MAX_DISTANCE = 128 };
enum { TRAINED = 64, REACH = 256, STEPS = 600, SLOW = 16 };

/* ---- order does not matter ---- */

/* The answer of one query over keys as they are and in reverse: the largest difference. */
static double reversed_difference(struct lesson_run *r, bool positions) {
    enum { T = 12, C = 16 };
    heed_ctx *cx = r->cx;
    float *drawn = lesson_room(r, T * C, sizeof *drawn), answer[2][C];
    if (!drawn) return 0;
    heed_random_normal(r->seed, 0, 0, drawn, T * C);
    for (int k = 0; k < 2; k++) {
        heed_tensor *x = heed_from_f32(cx, drawn, 2, (int64_t[]){T, C});
        if (k) x = heed_flip(cx, x, 0);
        if (positions) x = heed_add(cx, x, heed_sine_positions(cx, 0, T, C, false));
        x = heed_reshape(cx, x, 4, (int64_t[]){1, T, 1, C});
        heed_tensor *q = heed_from_f32(cx, drawn, 4, (int64_t[]){1, 1, 1, C});
        heed_copy_f32(cx, heed_attention(cx, q, x, x, NULL), answer[k], C);
        heed_reset(cx);
    }
    double most = 0;
    for (int i = 0; i < C && !heed_failed(cx); i++)
        most = fmax(most, fabs((double)answer[0][i] - (double)answer[1][i]));
    return most;
}

/* ---- sine and cosine ---- */

static void show_sines(struct lesson_run *r) {
    heed_ctx *cx = r->cx;
    heed_tensor *table = heed_sine_positions(cx, 0, LENGTH, WIDTH, false);
    const float *sines = numbers_of(r, table);
    const float *products = numbers_of(r, heed_matmul_trans(cx, table, false, table, true));
    heed_reset(cx);
    float *position = lesson_room(r, LENGTH, sizeof *position), *from[3];
    if (heed_failed(cx)) return;
    static const int start[3] = {0, 20, 40};
    heed_terminal how = r->terminal;
    how.title = "The first 32 sine positions: positions down, channels across";
    lesson_show(r, heed_terminal_heatmap(cx, sines, LENGTH / 2, WIDTH,
                                         &(heed_heatmap){.map = HEED_MAP_DIVERGING, .low = -1, .high = 1}, &how));
    lesson_line(r, "Dot products between positions p and p + distance:\n");
    lesson_line(r, "%8s %8s %8s %8s %8s %8s %8s", "p", "0", "1", "2", "5", "10", "20");
    for (int k = 0; k < 3; k++) {
        const float *row = products + start[k] * (LENGTH + 1);
        lesson_line(r, "%8d %8.2f %8.2f %8.2f %8.2f %8.2f %8.2f", start[k], (double)row[0], (double)row[1],
                    (double)row[2], (double)row[5], (double)row[10], (double)row[20]);
    }
    lesson_line(r, "%s", "");
    int low = 0, high = 0; /* distances between which the product rises most */
    for (int i = 0; i < LENGTH; i++)
        for (int k = i + 1; k < LENGTH; k++)
            if (products[k] - products[i] > products[high] - products[low]) low = i, high = k;
    lesson_say(r,
               "The product of two positions depends on their distance alone. It falls at first, from %.2f to %.2f at "
               "distance 5; then it wavers on its way down to %.2f at %d: %.2f at %d, but %.2f at %d. Near positions "
               "are alike; which of two far ones is farther it does not say. (A learned table, one row for each "
               "position, is the second way; GPT-2 and BERT have it. It has no row for positions beyond its last.)",
               (double)products[0], (double)products[5], (double)products[LENGTH - 1], LENGTH - 1,
               (double)products[low], low, (double)products[high], high);
    lesson_result(r, "sine_product_5", (double)products[5]);
    lesson_result(r, "sine_rise", (double)products[high] - (double)products[low]);
    lesson_result(r, "sine_product_0", (double)products[0]);
    lesson_result(r, "sine_shift_difference", fabs((double)products[5] - (double)products[40 * LENGTH + 45]));
    for (int i = 0; i < LENGTH; i++) position[i] = (float)i;
    heed_figure *f = lesson_figure(r, 1120, 330);
    heed_figure_grid(f, 1, 3);
    heed_panel *p = heed_figure_panel(f, 0, 0);
    heed_panel_title(p, "Sine positions");
    heed_panel_labels(p, "channel", "position");
    heed_panel_heatmap(p, sines, LENGTH, WIDTH, &(heed_heatmap){.map = HEED_MAP_DIVERGING, .low = -1, .high = 1});
    p = heed_figure_panel(f, 0, 1);
    heed_panel_title(p, "Dot products between positions");
    heed_panel_labels(p, "position", "position");
    heed_panel_heatmap(p, products, LENGTH, LENGTH, NULL);
    p = heed_figure_panel(f, 0, 2);
    heed_panel_title(p, "Their dot product falls, then wavers");
    heed_panel_labels(p, "distance", "dot product");
    heed_panel_curve(p, position, products, LENGTH, &(heed_style){.width = 1.8});
    lesson_picture(r, f, "positions-sine");
    for (int k = 0; k < 3; k++) from[k] = lesson_room(r, LENGTH, sizeof(float));
    if (heed_failed(cx)) return;
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < LENGTH; i++) from[k][i] = products[start[k] * LENGTH + i];
    lesson_table(r, "positions-sine",
                 (heed_table_column[]){{.name = "position", .f32 = position},
                                       {.name = "with_0", .f32 = from[0]},
                                       {.name = "with_20", .f32 = from[1]},
                                       {.name = "with_40", .f32 = from[2]}},
                 4, LENGTH);
}

/* ---- rotary ---- */

/* q'k of the same two vectors at positions `at` and at + distance. */
static float turned_product(struct lesson_run *r, const float *q, const float *k, int64_t at, int64_t distance) {
    heed_ctx *cx = r->cx;
    heed_tensor *a = heed_from_f32(cx, q, 4, (int64_t[]){1, 1, 1, TURNED});
    heed_tensor *b = heed_from_f32(cx, k, 4, (int64_t[]){1, 1, 1, TURNED});
    a = heed_rotary(cx, a, &(heed_rotary_opts){.start = at});
    b = heed_rotary(cx, b, &(heed_rotary_opts){.start = at + distance});
    const float out = heed_item(cx, heed_sum(cx, heed_mul(cx, a, b), NULL, 0, false));
    heed_reset(cx);
    return out;
}

static void show_rotary(struct lesson_run *r, float *distance, float *decay) {
    static const int64_t places[] = {0, 10, 100, 1000}, apart[] = {0, 3, 25};
    float vectors[2 * TURNED], ones[TURNED];
    double most = 0;
    heed_random_normal(r->seed, 1, 0, vectors, 2 * TURNED);
    lesson_line(r, "%24s %12s %12s %12s", "q at p, k at p + n; n =", "0", "3", "25");
    for (int i = 0; i < 4; i++) {
        float v[3];
        for (int k = 0; k < 3; k++) {
            v[k] = turned_product(r, vectors, vectors + TURNED, places[i], apart[k]);
            const float first = turned_product(r, vectors, vectors + TURNED, 0, apart[k]);
            most = fmax(most, fabs((double)v[k] - (double)first));
        }
        lesson_line(r, "%18s %5lld %12.4f %12.4f %12.4f", "p =", (long long)places[i], (double)v[0], (double)v[1],
                    (double)v[2]);
    }
    lesson_line(r, "%s", "");
    lesson_result(r, "rotary_difference", most);
    for (int i = 0; i < TURNED; i++) ones[i] = 1;
    for (int i = 0; i <= FAR && !heed_failed(r->cx); i++) {
        distance[i] = (float)i;
        decay[i] = turned_product(r, ones, ones, 0, i) / TURNED;
    }
}

/* ---- beyond the distances of training ---- */

/* The nearest of the distances that share T5's last bucket. */
static int last_bucket(void) {
    int at = 0;
    while (heed_t5_bucket(-at, true, BUCKETS, MAX_DISTANCE) < heed_t5_bucket(-FAR, true, BUCKETS, MAX_DISTANCE)) at++;
    return at;
}

/* Scores of one query against one key at distances 0 to n - 1, both rotated. */
static heed_tensor *turned_scores(heed_ctx *cx, const heed_param *query, const heed_param *key, int64_t n) {
    heed_tensor *k = heed_expand(cx, heed_param_tensor(cx, key), 4, (int64_t[]){1, n, 1, TURNED});
    k = heed_rotary(cx, k, &(heed_rotary_opts){.start = 0});
    return heed_sum(cx, heed_mul(cx, k, heed_param_tensor(cx, query)), (int[]){3}, 1, false);
}

/* A query and a key learn to score -distance / SLOW, as a head of ALiBi does, at distances below TRAINED. */
static bool fit_rotary(struct lesson_run *r, float *scores) {
    static const int64_t shape[] = {1, 1, 1, TURNED};
    heed_ctx *cx = r->cx;
    heed_params *params = heed_params_new(cx);
    heed_param *query = heed_param_add(cx, params, "", "query", 4, shape, (heed_init){HEED_INIT_NORMAL, 0, 0.3f});
    heed_param *key = heed_param_add(cx, params, "", "key", 4, shape, (heed_init){HEED_INIT_NORMAL, 0, 0.3f});
    heed_trainer *trainer = NULL;
    float wanted[TRAINED];
    for (int i = 0; i < TRAINED; i++) wanted[i] = -(float)i / SLOW;
    if (heed_params_allocate(cx, params) && heed_params_init(cx, params, r->seed))
        trainer = heed_trainer_new(cx, params,
                                   &(heed_trainer_opts){.optimizer = {.kind = HEED_ADAM},
                                                        .schedule = {.kind = HEED_COSINE, .lr = 0.03, .steps = STEPS}});
    for (int step = 0; trainer && step < STEPS && !heed_failed(cx); step++) {
        heed_trainer_begin(cx, trainer);
        heed_tensor *target = heed_from_f32(cx, wanted, 3, (int64_t[]){1, TRAINED, 1});
        lesson_learn(cx, trainer, heed_mse_loss(cx, turned_scores(cx, query, key, TRAINED), target, HEED_REDUCE_MEAN));
    }
    const bool ok = trainer && heed_copy_f32(cx, turned_scores(cx, query, key, REACH), scores, REACH);
    heed_reset(cx);
    heed_trainer_free(cx, trainer);
    heed_params_free(cx, params);
    return ok;
}

/* The share of the weight that keys from distance TRAINED on get when the query sees REACH of them. */
static double far_share(const float *scores) {
    double sum = 0, far = 0;
    for (int i = 0; i < REACH; i++) {
        const double weight = exp((double)scores[i]);
        sum += weight;
        if (i >= TRAINED) far += weight;
    }
    return far / sum;
}

static void draw_beyond(struct lesson_run *r, const float *rotary, const float *alibi) {
    float distance[REACH];
    for (int i = 0; i < REACH; i++) distance[i] = (float)i;
    const heed_series series[] = {{"rotary, learnt up to 63", distance, rotary, REACH, false},
                                  {"ALiBi", distance, alibi, REACH, false}};
    heed_terminal how = r->terminal;
    how.height = 10;
    lesson_show(r,
                heed_terminal_curves(r->cx, series, 2, &(heed_axes){.x_label = "distance", .y_label = "score"}, &how));
    heed_figure *f = lesson_figure(r, 480, 280);
    heed_panel *p = heed_figure_panel(f, 0, 0);
    heed_panel_title(p, "Beyond the distances of training");
    heed_panel_labels(p, "distance between query and key", "score");
    heed_panel_vline(p, TRAINED - 1, &(heed_style){.color = HEED_COLOR_GREY, .width = 1, .dash = HEED_DASH_DOTS});
    heed_panel_curve(p, distance, alibi, REACH,
                     &(heed_style){.label = "ALiBi", .color = HEED_COLOR_BLUE, .width = 2, .dash = HEED_DASH_LONG});
    heed_panel_curve(p, distance, rotary, REACH,
                     &(heed_style){.label = "rotary, learnt up to 63", .color = HEED_COLOR_ORANGE, .width = 2});
    lesson_picture(r, f, "positions-beyond");
    lesson_table(r, "positions-beyond",
                 (heed_table_column[]){{.name = "distance", .f32 = distance},
                                       {.name = "rotary", .f32 = rotary},
                                       {.name = "alibi", .f32 = alibi}},
                 3, REACH);
}

static void show_beyond(struct lesson_run *r) {
    float rotary[REACH], alibi[REACH];
    double within = 0;
    if (!fit_rotary(r, rotary)) return;
    for (int i = 0; i < REACH; i++) alibi[i] = -(float)i / SLOW;
    for (int i = 0; i < TRAINED; i++) within = fmax(within, fabs((double)rotary[i] - (double)alibi[i]));
    const double far = far_share(rotary), share = far_share(alibi);
    lesson_say(r,
               "What happens at distances beyond those of training? A query and a key with rotary positions learn the "
               "scores of an ALiBi head, -distance / %d, at distances 0 to %d. There they differ from them by %.2f at "
               "most. Then the query sees %d keys:",
               SLOW, TRAINED - 1, within, REACH);
    draw_beyond(r, rotary, alibi);
    lesson_say(r,
               "ALiBi gives %.0f %% of the weight to keys farther away than any in training, rotary %.0f %%. %s Models "
               "with rotary positions are therefore trained at the length at which they are used, or their angles are "
               "scaled to the trained range (Chen et al. 2023). T5's last bucket holds every distance from %d on: none "
               "is new to a model that has seen one of them.",
               100 * share, 100 * far,
               far > 2 * share ? "Slow pairs of channels reach angles that they never had, where nothing was learnt: "
                                 "far keys score as if they were near."
                               : "With this seed the angles that were never learnt happen to do no harm.",
               last_bucket());
    lesson_result(r, "beyond_within", within);
    lesson_result(r, "beyond_rotary", far);
    lesson_result(r, "beyond_alibi", share);
}

/* ---- ALiBi and T5 ---- */

/* Weights of the last of SPAN queries over keys of equal score. */
static bool alibi_weights(struct lesson_run *r, float *weights, float *slopes) {
    heed_ctx *cx = r->cx;
    if (!heed_alibi_slopes(cx, HEADS, slopes)) return false;
    heed_tensor *zero = heed_zeros(cx, HEED_F32, 4, (int64_t[]){1, SPAN, HEADS, 1});
    heed_tensor *one = heed_zeros(cx, HEED_F32, 4, (int64_t[]){1, 1, HEADS, 1});
    heed_capture_begin(cx, NULL);
    heed_attention(cx, one, zero, zero, &(heed_attention_opts){.mask = heed_mask_causal(SPAN - 1), .alibi = true});
    const heed_capture_map *map = heed_capture_at(cx, 0);
    for (int64_t i = 0; map && i < HEADS * SPAN; i++) weights[i] = map->weights[i];
    heed_capture_end(cx);
    heed_reset(cx);
    return !heed_failed(cx);
}

static void show_relative(struct lesson_run *r, const float *distance, const float *decay) {
    float weights[HEADS * SPAN], slopes[HEADS], key[SPAN], relative[2 * FAR + 1], both[2 * FAR + 1], past[2 * FAR + 1];
    if (!alibi_weights(r, weights, slopes)) return;
    for (int i = 0; i < SPAN; i++) key[i] = (float)(i - SPAN + 1);
    for (int i = -FAR; i <= FAR; i++) {
        relative[i + FAR] = (float)i;
        both[i + FAR] = (float)heed_t5_bucket(i, true, BUCKETS, MAX_DISTANCE);
        past[i + FAR] = (float)heed_t5_bucket(i, false, BUCKETS, MAX_DISTANCE);
    }
    lesson_say(r,
               "ALiBi (Press et al. 2022) adds nothing to the inputs; it subtracts slope x distance from the scores, "
               "with a slope for each head (%.4g, %.4g, ... %.4g for 8 heads). On keys of equal score, the head with "
               "the largest slope attends to about %.1f keys, that with the smallest to %.1f of %d:",
               (double)slopes[0], (double)slopes[1], (double)slopes[HEADS - 1], map_attended(weights, 1, SPAN),
               map_attended(weights + (HEADS - 1) * SPAN, 1, SPAN), SPAN);
    lesson_result(r, "alibi_first_slope", (double)slopes[0]);
    lesson_result(r, "alibi_last_slope", (double)slopes[HEADS - 1]);
    const heed_series series[] = {{"head 0", key, weights, SPAN, false},
                                  {"head 3", key, weights + 3 * SPAN, SPAN, false},
                                  {"head 7", key, weights + 7 * SPAN, SPAN, false}};
    heed_terminal how = r->terminal;
    how.height = 10;
    lesson_show(r, heed_terminal_curves(r->cx, series, 3,
                                        &(heed_axes){.x_label = "key, counted from the query", .y_label = "weight"},
                                        &how));
    lesson_say(r,
               "T5 (Raffel et al. 2020) learns a bias for each of 32 buckets of distances. Near keys have a bucket "
               "each, far ones share: distances 0 to 7 before the query lie in buckets %.0f to %.0f, 64 in %.0f, "
               "everything from %d on in %.0f; keys after the query have 16 buckets of their own.",
               (double)both[FAR], (double)both[FAR - 7], (double)both[FAR - 64], last_bucket(), (double)both[0]);
    lesson_result(r, "t5_far_bucket", (double)both[0]);
    heed_figure *f = lesson_figure(r, 900, 270);
    heed_figure_grid(f, 1, 3);
    heed_panel *p = heed_figure_panel(f, 0, 0);
    heed_panel_title(p, "Rotary: q'k against distance");
    heed_panel_labels(p, "distance", "q'k / d, for q = k = 1");
    heed_panel_curve(p, distance, decay, FAR + 1, &(heed_style){.width = 1.6});
    heed_panel_hline(p, 0, &(heed_style){.color = HEED_COLOR_GREY, .width = 0.8});
    p = heed_figure_panel(f, 0, 1);
    heed_panel_title(p, "ALiBi: weights on equal scores");
    heed_panel_labels(p, "key, counted from the query", "weight");
    static const char *const heads[] = {"head 0", "head 1", "head 3", "head 7"};
    static const int which[] = {0, 1, 3, 7};
    for (int k = 0; k < 4; k++)
        heed_panel_curve(p, key, weights + which[k] * SPAN, SPAN, &(heed_style){.label = heads[k], .width = 1.8});
    p = heed_figure_panel(f, 0, 2);
    heed_panel_title(p, "T5: buckets of distances");
    heed_panel_labels(p, "key minus query", "bucket");
    heed_panel_limits_x(p, -MAX_DISTANCE, MAX_DISTANCE);
    heed_panel_curve(p, relative, both, 2 * FAR + 1, &(heed_style){.label = "both sides", .steps = true, .width = 1.8});
    heed_panel_curve(p, relative, past, 2 * FAR + 1,
                     &(heed_style){.label = "the past only", .steps = true, .width = 1.8, .dash = HEED_DASH_LONG});
    lesson_picture(r, f, "positions-relative");
    lesson_table(r, "positions-rotary",
                 (heed_table_column[]){{.name = "distance", .f32 = distance}, {.name = "product", .f32 = decay}}, 2,
                 FAR + 1);
    lesson_table(r, "positions-t5",
                 (heed_table_column[]){{.name = "relative", .f32 = relative},
                                       {.name = "bucket", .f32 = both},
                                       {.name = "bucket_of_the_past", .f32 = past}},
                 3, 2 * FAR + 1);
    heed_table_column columns[HEADS + 1] = {{.name = "key", .f32 = key}};
    static const char *const names[HEADS] = {"head_0", "head_1", "head_2", "head_3",
                                             "head_4", "head_5", "head_6", "head_7"};
    for (int h = 0; h < HEADS; h++) columns[h + 1] = (heed_table_column){.name = names[h], .f32 = weights + h * SPAN};
    lesson_table(r, "positions-alibi", columns, HEADS + 1, SPAN);
}

static void run(struct lesson_run *r) {
    const double plain = reversed_difference(r, false), told = reversed_difference(r, true);
    float distance[FAR + 1], decay[FAR + 1];
    if (heed_failed(r->cx)) return;
    lesson_say(r,
               "Attention is a sum over keys, and a sum does not depend on the order of its terms. Twelve words in "
               "reverse order give the same output (difference %.0e). With positions added to the words they do not "
               "(%.2f). Five ways to encode the position of a word:",
               plain, told);
    lesson_result(r, "reversed_plain", plain);
    lesson_result(r, "reversed_with_positions", told);
    lesson_say(r, "Sine and cosine (Vaswani et al. 2017), added to the input: each pair of channels rotates with the "
                  "position, each pair more slowly than the one before, like the hands of a clock.");
    show_sines(r);
    lesson_say(r,
               "Rotary (Su et al. 2021) rotates queries and keys themselves by their position, before the dot product. "
               "Only the angle between them is left: the same query and key, moved together, have the same score.");
    show_rotary(r, distance, decay);
    show_relative(r, distance, decay);
    lesson_say(r, "Sine and learned positions are added once, to the input; rotary, ALiBi and T5's bias act in every "
                  "attention layer, and on distances alone.");
    show_beyond(r);
}

const struct lesson positions_lesson = {
    .name = "positions",
    .summary = "positional encodings: sine and cosine, rotary, ALiBi, T5's buckets",
    .run = run,
};
