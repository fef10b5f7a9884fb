/* The Reformer's attention (Kitaev et al. 2020): what hashes leave out, and what that costs. A sequence whose motif
 * returns is compared with itself: exactly, in chunks of neighbours, and in chunks of positions sorted by hashes, which
 * find the motif again wherever it is. Values are unit vectors, so that what attention gives is its own weights. */
#include "heed/attention.h"
#include "lessons/lesson.h"
#include <math.h>
#include <stdio.h>

enum {
    SMALL = 64,  /* positions of the maps */
    LARGE = 256, /* of the curves */
    MOTIFS = 4,  /* times that it comes */
    WIDE = 16,   /* numbers of a vector that are not 0 */
    CHUNK = 8,
    ROUNDS = 16,
    COUNTS = 5, /* 1, 2, 4, 8, 16 rounds */
    CHUNKS = 3,
    DRAWS = 4, /* of hashes, one a head */
    NEAREST = 3
};
#define NORM  8.0f /* of queries: the larger, the sharper the softmax */
#define NOISE 0.4f

struct results {
    float exact[SMALL * SMALL], local[SMALL * SMALL], once[SMALL * SMALL], often[SMALL * SMALL];
    float sorted[SMALL * SMALL]; /* exact, rows and columns as the first hash sorts them */
    float rounds[COUNTS], recall[CHUNKS][COUNTS], seen[CHUNKS][COUNTS], kept[CHUNKS][COUNTS];
};
static const int64_t chunks[CHUNKS] = {4, 8, 16};

/* x (1,T,2 heads T): queries of one norm, the same in every head, and unit vectors as values */
static heed_tensor *sequence(struct lesson_run *r, int64_t T, int64_t heads, uint64_t stream) {
    const int64_t ld = 2 * heads * T, length = T / MOTIFS;
    float *const x = lesson_room(r, T * ld, sizeof *x), motif[WIDE], noise[WIDE];
    for (int64_t t = 0; x && t < T; t++) {
        float square = 0;
        heed_random_normal(r->seed, stream, (uint64_t)(t % length * WIDE), motif, WIDE);
        heed_random_normal(r->seed, stream + 1, (uint64_t)(t * WIDE), noise, WIDE);
        for (int k = 0; k < WIDE; k++) motif[k] += NOISE * noise[k], square += motif[k] * motif[k];
        for (int64_t h = 0; h < heads; h++) {
            for (int k = 0; k < WIDE; k++) x[t * ld + h * T + k] = motif[k] * NORM / sqrtf(square);
            x[t * ld + (heads + h) * T + t] = 1;
        }
    }
    return x ? heed_from_f32(r->cx, x, 3, (int64_t[]){1, T, ld}) : NULL;
}

/* The order of ROUNDS rounds of hashes, with two buckets a chunk. */
static heed_tensor *hashed(heed_ctx *cx, heed_tensor *x, int64_t T, int64_t heads, int64_t chunk) {
    const int64_t buckets = 2 * T / chunk;
    heed_tensor *const rotations = heed_lsh_rotations(cx, heads, T, ROUNDS, buckets / 2, NULL, (int)chunk);
    return heed_lsh_order(cx, x, rotations, &(heed_lsh_opts){.factors = 1, .factor = {buckets}}, NULL);
}

/* Weights (T,heads,T) with the first so many rounds of an order; chunk 0: exact; order NULL: neighbours. */
static const float *weights(heed_ctx *cx, heed_tensor *x, int64_t heads, int64_t chunk, heed_tensor *order,
                            int64_t rounds) {
    heed_chunk_opts o = {.heads = heads, .chunk = chunk > 0 ? chunk : heed_dim(x, 1), .before = 1, .shared = true};
    if (order) o.order = heed_contiguous(cx, heed_slice(cx, order, 2, 0, rounds));
    return heed_f32(heed_chunk_attention(cx, x, &o));
}

/* ---- maps ---- */

static void fill_map(float *to, const float *from) {
    for (int i = 0; from && i < SMALL * SMALL; i++) to[i] = from[i];
}

static void compute_maps(struct lesson_run *r, struct results *s) {
    heed_tensor *const x = sequence(r, SMALL, 1, 10);
    heed_tensor *const order = hashed(r->cx, x, SMALL, 1, CHUNK);
    if (!order) return;
    fill_map(s->exact, weights(r->cx, x, 1, 0, NULL, 1));
    fill_map(s->local, weights(r->cx, x, 1, CHUNK, NULL, 1));
    fill_map(s->once, weights(r->cx, x, 1, CHUNK, order, 1));
    fill_map(s->often, weights(r->cx, x, 1, CHUNK, order, 4));
    const int32_t *const at = heed_i32(order);
    for (int i = 0; at && i < SMALL * SMALL; i++) s->sorted[i] = s->exact[at[i / SMALL] * SMALL + at[i % SMALL]];
    heed_reset(r->cx);
}

/* ---- curves ---- */

/* Of the largest weights of each query, how many it still has; and how much of all of its weight. */
static void compare(const float *exact, const float *approximate, float *recall, float *seen, float *kept) {
    double found = 0, pairs = 0, weight = 0;
    for (int64_t i = 0; i < LARGE; i++)
        for (int64_t h = 0; h < DRAWS; h++) {
            const float *const want = exact + i * LARGE, *const got = approximate + (i * DRAWS + h) * LARGE;
            bool taken[LARGE] = {false};
            for (int k = 0; k < NEAREST; k++) {
                int64_t best = -1;
                for (int64_t j = 0; j < LARGE; j++)
                    if (!taken[j] && (best < 0 || want[j] > want[best])) best = j;
                taken[best] = true;
                found += got[best] > 0;
            }
            for (int64_t j = 0; j < LARGE; j++) pairs += got[j] > 0, weight += got[j] > 0 ? (double)want[j] : 0;
        }
    const double rows = (double)LARGE * DRAWS;
    *recall = (float)(found / rows / NEAREST);
    *seen = (float)(pairs / rows / (LARGE - 1));
    *kept = (float)(weight / rows);
}

static void compute_curves(struct lesson_run *r, struct results *s) {
    float *const exact = lesson_room(r, LARGE * LARGE, sizeof *exact);
    heed_tensor *const alone = sequence(r, LARGE, 1, 20);
    const float *const all = alone ? weights(r->cx, alone, 1, 0, NULL, 1) : NULL;
    for (int i = 0; all && i < LARGE * LARGE; i++) exact[i] = all[i];
    heed_reset(r->cx);
    for (int c = 0; c < CHUNKS && !heed_failed(r->cx); c++)
        for (int k = 0; k < COUNTS && !heed_failed(r->cx); k++) {
            lesson_progress(r, "hashing", c * COUNTS + k, CHUNKS * COUNTS);
            heed_tensor *const x = sequence(r, LARGE, DRAWS, 20);
            heed_tensor *const order = x ? hashed(r->cx, x, LARGE, DRAWS, chunks[c]) : NULL;
            const float *const got = order ? weights(r->cx, x, DRAWS, chunks[c], order, (int64_t)1 << k) : NULL;
            s->rounds[k] = (float)(1 << k);
            if (got) compare(exact, got, &s->recall[c][k], &s->seen[c][k], &s->kept[c][k]);
            heed_reset(r->cx);
        }
    lesson_progress(r, "hashing", 1, 1);
}

/* ---- pictures ---- */

static void draw_map(heed_figure *f, int column, const char *title, const float *map) {
    heed_panel *p = heed_figure_panel(f, 0, column);
    heed_panel_title(p, title);
    heed_panel_labels(p, "key", column == 0 ? "query" : NULL);
    heed_panel_heatmap(p, map, SMALL, SMALL, &(heed_heatmap){.low = 0, .high = 0.5});
}

/* The windows of the chunks: what is computed lies within them. */
static void draw_windows(heed_panel *p) {
    for (int c = 0; c < SMALL / CHUNK; c++) {
        const float top = (float)(c * CHUNK) - 0.5f, bottom = top + CHUNK, right = bottom;
        const float left = c > 0 ? top - CHUNK : top;
        const float x[] = {left, right, right, left, left}, y[] = {top, top, bottom, bottom, top};
        heed_panel_curve(p, x, y, 5, &(heed_style){.color = HEED_COLOR_ORANGE, .width = 1.2});
    }
}

static void draw(struct lesson_run *r, const struct results *s) {
    heed_series lines[CHUNKS];
    static const char *const names[CHUNKS] = {"chunks of 4", "chunks of 8", "chunks of 16"};
    for (int c = 0; c < CHUNKS; c++) lines[c] = (heed_series){names[c], s->rounds, s->recall[c], COUNTS, false};
    lesson_show(r, heed_terminal_curves(
                       r->cx, lines, CHUNKS,
                       &(heed_axes){.x_label = "hashes", .y_label = "recall of the nearest keys", .log_x = true},
                       &r->terminal));
    heed_figure *f = lesson_figure(r, 1020, 290);
    heed_figure_grid(f, 1, 4);
    heed_figure_bar(f, "weight");
    draw_map(f, 0, "Exact", s->exact);
    draw_map(f, 1, "Neighbours, chunks of 8", s->local);
    draw_map(f, 2, "One hash, chunks of 8", s->once);
    draw_map(f, 3, "Four hashes, chunks of 8", s->often);
    lesson_picture(r, f, "reformer");

    f = lesson_figure(r, 800, 340);
    heed_figure_grid(f, 1, 2);
    heed_panel *p = heed_figure_panel(f, 0, 0);
    heed_panel_title(p, "Exact weights, sorted by one hash");
    heed_panel_labels(p, "key, sorted", "query, sorted");
    heed_panel_heatmap(p, s->sorted, SMALL, SMALL, &(heed_heatmap){.low = 0, .high = 0.5, .scale_label = "weight"});
    draw_windows(p);
    p = heed_figure_panel(f, 0, 1);
    static const heed_color colors[CHUNKS] = {HEED_COLOR_PINK, HEED_COLOR_BLUE, HEED_COLOR_GREEN};
    heed_panel_title(p, "How many of the nearest keys are seen");
    heed_panel_labels(p, "hashes", "share");
    heed_panel_log(p, true, false);
    heed_panel_limits_y(p, 0, 1.02);
    heed_panel_ticks_x(p, s->rounds, (const char *const[]){"1", "2", "4", "8", "16"}, COUNTS);
    for (int c = CHUNKS; c-- > 0;)
        heed_panel_curve(p, s->rounds, s->recall[c], COUNTS,
                         &(heed_style){.label = names[c], .color = colors[c], .marker = HEED_MARKER_DISC, .width = 2});
    heed_panel_curve(
        p, s->rounds, s->seen[1], COUNTS,
        &(heed_style){.label = "of all keys, chunks of 8", .color = HEED_COLOR_BLUE, .dash = HEED_DASH_LONG});
    lesson_picture(r, f, "reformer-recall");
}

static void write(struct lesson_run *r, const struct results *s) {
    lesson_table(r, "reformer-recall",
                 (heed_table_column[]){{.name = "hashes", .f32 = s->rounds},
                                       {.name = "recall_4", .f32 = s->recall[0]},
                                       {.name = "recall_8", .f32 = s->recall[1]},
                                       {.name = "recall_16", .f32 = s->recall[2]},
                                       {.name = "seen_4", .f32 = s->seen[0]},
                                       {.name = "seen_8", .f32 = s->seen[1]},
                                       {.name = "seen_16", .f32 = s->seen[2]},
                                       {.name = "weight_4", .f32 = s->kept[0]},
                                       {.name = "weight_8", .f32 = s->kept[1]},
                                       {.name = "weight_16", .f32 = s->kept[2]}},
                 10, COUNTS);
}

static void run(struct lesson_run *r) {
    struct results *s = lesson_room(r, 1, sizeof *s);
    if (!s) return;
    const bool recording = heed_set_grad(r->cx, false);
    lesson_say(r,
               "Exact attention compares every query with every key, T x T scores, and then gives most keys next to no "
               "weight. The Reformer (Kitaev et al. 2020) looks for the near ones first. Random directions give each "
               "vector a bucket, the direction that it is nearest to; positions are sorted by bucket and cut into "
               "chunks, and a query sees its own chunk and the one before. Near vectors mostly share a bucket, and "
               "what several hashes find is added up. Queries are keys as well, so that both have one bucket.");
    lesson_say(
        r,
        "The sequence here is a motif that comes %d times, with noise: each position's nearest keys are the same "
        "place of the other times, a quarter of the sequence away. Of %d positions, the share of the %d nearest "
        "keys that a query sees (recall), of all keys, and of its exact weight, with chunks of %d:",
        MOTIFS, LARGE, NEAREST, CHUNK);
    compute_maps(r, s);
    compute_curves(r, s);
    heed_set_grad(r->cx, recording);
    if (heed_failed(r->cx)) return;
    lesson_line(r, "%8s %10s %12s %12s", "hashes", "recall", "keys seen", "weight kept");
    for (int k = 0; k < COUNTS; k++)
        lesson_line(r, "%8.0f %8.1f %% %10.1f %% %10.1f %%", (double)s->rounds[k], 100 * (double)s->recall[1][k],
                    100 * (double)s->seen[1][k], 100 * (double)s->kept[1][k]);
    lesson_line(r, "%s", "");
    lesson_result(r, "recall_1", (double)s->recall[1][0]);
    lesson_result(r, "recall_4", (double)s->recall[1][2]);
    lesson_result(r, "recall_16", (double)s->recall[1][4]);
    lesson_result(r, "seen_1", (double)s->seen[1][0]);
    lesson_result(r, "seen_16", (double)s->seen[1][4]);
    draw(r, s);
    write(r, s);
    lesson_say(
        r,
        "One hash finds %.0f %% of the nearest keys among %.0f %% of all; what it misses gets no weight at all, and "
        "its share goes to what was found. Each further hash costs as much again: %d hashes with windows of %d "
        "keys are %d scores a query, as many as the %d of exact attention here. The gain is in length: "
        "the window does not grow with it. At 65,536 positions the same hashes compute %.1f %% of the scores.",
        100 * (double)s->recall[1][0], 100 * (double)s->seen[1][0], ROUNDS, 2 * CHUNK, ROUNDS * 2 * CHUNK, LARGE,
        100.0 * ROUNDS * 2 * CHUNK / 65536);
}

const struct lesson reformer_lesson = {
    .name = "reformer",
    .summary = "attention among keys of one hash: what it leaves out, and recall against the number of hashes",
    .run = run,
};
