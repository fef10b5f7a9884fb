/* Attention to some tokens alone (Child et al. 2019; Beltagy et al. 2020; Zaheer et al. 2020): a window, and blocks.
 * What of the exact weights is left out, what is computed, and through how many layers a token is heard of everywhere.
 */
#include "heed/model.h"
#include "lessons/lesson.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TIME = 64, CELLS = TIME * TIME, KINDS = 3, LAYERS = 4, WORDS = 12, HALF = 32 };

static const struct {
    const char *name, *title;
    const char *settings[4];
    int n;
} kinds[KINDS] = {
    {"exact", "Exact", {NULL}, 0},
    {"window", "Window of 5 to each side", {"attention_window=6"}, 1},
    {"blocks",
     "Blocks of 4: near, first, 2 at random",
     {"attention_block=4", "window_blocks=1", "global_blocks=1", "random_blocks=2"},
     4},
};

struct outcome {
    float *seen;            /* (T,T): 1 where a weight is computed */
    float *weights;         /* (T,T): the softmax over those */
    float *layers;          /* (T,T): through how many layers row i hears of token j; NaN: not through LAYERS */
    double computed, kept;  /* shares: of pairs, and of the exact weights that lie on them */
    double reached[LAYERS]; /* of pairs, through so many layers */
};

static int32_t word_of(uint64_t seed, int64_t i) {
    const double u = heed_random_bits(seed, 3, (uint64_t)i) / 4294967296.0;
    return (int32_t)(WORDS * u * u); /* some are frequent */
}

/* ---- the pattern, and how far it reaches: models with random weights ---- */

static heed_model *new_model(struct lesson_run *r, int kind, int layers) {
    char number[40];
    snprintf(number, sizeof number, "num_hidden_layers=%d", layers);
    const char *settings[12] = {number,
                                "vocab_size=12",
                                "hidden_size=16",
                                "num_attention_heads=1",
                                "intermediate_size=16",
                                "max_position_embeddings=64",
                                "initializer_range=0.3"};
    int n = 7;
    for (int i = 0; i < kinds[kind].n; i++) settings[n++] = kinds[kind].settings[i];
    const heed_family *const f = heed_family_find("sparse");
    return heed_model_new_as(r->cx, f, heed_head_for(f, "embed"), settings, n, r->seed);
}

/* Example 0 is the text; in example 1 + j, token j is another. */
static heed_tensor *states(struct lesson_run *r, const heed_model *m) {
    static int32_t ids[(TIME + 1) * TIME];
    heed_io in = {0}, out = {0};
    for (int i = 0; i < (TIME + 1) * TIME; i++) {
        const int32_t word = word_of(r->seed, i % TIME);
        ids[i] = i / TIME == 1 + i % TIME ? (word + 1) % WORDS : word;
    }
    heed_io_put(r->cx, &in, "input_ids", heed_from_i32(r->cx, ids, 2, (int64_t[]){TIME + 1, TIME}));
    if (!heed_model_forward(r->cx, m, &in, &out)) return NULL;
    return heed_contiguous(r->cx, heed_io_get(&out, "last_hidden_state"));
}

static bool find_reach(struct lesson_run *r, int kind, struct outcome *o) {
    for (int layers = LAYERS; layers > 0 && !heed_failed(r->cx); layers--) {
        heed_model *const m = new_model(r, kind, layers);
        heed_set_grad(r->cx, false);
        if (layers == 1) heed_capture_begin(r->cx, NULL);
        heed_tensor *const h = m ? states(r, m) : NULL;
        const int64_t C = h ? heed_dim(h, 2) : 0;
        int64_t reached = 0;
        for (int cell = 0; h && cell < CELLS; cell++) {
            const float *const plain = heed_f32(h) + cell / TIME * C;
            const float *const other = plain + (1 + cell % TIME) * TIME * C;
            if (memcmp(plain, other, (size_t)C * sizeof *plain) == 0) continue;
            o->layers[cell] = (float)layers;
            reached++;
        }
        o->reached[layers - 1] = (double)reached / CELLS;
        const heed_capture_map *const map = layers == 1 && h ? heed_capture_at(r->cx, 0) : NULL;
        for (int cell = 0; map && cell < CELLS; cell++) o->seen[cell] = map->weights[cell] > 0;
        if (layers == 1) heed_capture_end(r->cx);
        heed_reset(r->cx);
        heed_set_grad(r->cx, true);
        heed_model_free(r->cx, m);
    }
    return !heed_failed(r->cx);
}

/* ---- weights: of near tokens, and of the same word far away ---- */

static bool attend(struct lesson_run *r, struct outcome *o) {
    heed_ctx *cx = r->cx;
    static float x[TIME * 2 * HALF];
    uint8_t keep[CELLS];
    heed_tensor *const places = heed_sine_positions(cx, 0, TIME, HALF, false);
    for (int i = 0; places && i < TIME; i++) {
        float word[HALF], norm = 0;
        heed_random_normal(r->seed, 5, (uint64_t)word_of(r->seed, i) * HALF, word, HALF);
        for (int c = 0; c < HALF; c++) norm += word[c] * word[c];
        for (int c = 0; c < HALF; c++) {
            x[i * 2 * HALF + c] = 0.55f * heed_f32(places)[i * HALF + c];
            x[i * 2 * HALF + HALF + c] = word[c] * 2.1f / sqrtf(norm);
        }
    }
    for (int i = 0; i < CELLS; i++) keep[i] = o->seen[i] > 0;
    heed_tensor *const q = heed_from_f32(cx, x, 4, (int64_t[]){1, TIME, 1, 2 * HALF});
    const heed_attention_opts opts = {.mask = heed_mask_keep(heed_from_u8(cx, keep, 4, (int64_t[]){1, 1, TIME, TIME})),
                                      .scale = 0.9f};
    heed_capture_begin(cx, NULL);
    if (heed_attention(cx, q, q, q, &opts) && heed_capture_count(cx) == 1)
        memcpy(o->weights, heed_capture_at(cx, 0)->weights, CELLS * sizeof *o->weights);
    heed_capture_end(cx);
    heed_reset(cx);
    return !heed_failed(cx);
}

static bool try_kind(struct lesson_run *r, int kind, const struct outcome *exact, struct outcome *o) {
    o->seen = lesson_room(r, CELLS, sizeof *o->seen);
    o->weights = lesson_room(r, CELLS, sizeof *o->weights);
    o->layers = lesson_room(r, CELLS, sizeof *o->layers);
    for (int i = 0; o->layers && i < CELLS; i++) o->layers[i] = NAN;
    if (heed_failed(r->cx) || !find_reach(r, kind, o) || !attend(r, o)) return false;
    for (int i = 0; i < CELLS; i++) {
        o->computed += (double)o->seen[i] / CELLS;
        o->kept += (double)(o->seen[i] * (exact ? exact : o)->weights[i]) / TIME;
    }
    return true;
}

/* ---- pictures ---- */

static void draw(struct lesson_run *r, const struct outcome *o) {
    static float shown[CELLS]; /* what is not computed is left open */
    heed_figure *f = lesson_figure(r, 860, 320);
    heed_figure_grid(f, 1, KINDS);
    heed_figure_bar(f, "weight");
    for (int k = 0; k < KINDS; k++) {
        heed_panel *const p = heed_figure_panel(f, 0, k);
        heed_panel_title(p, kinds[k].title);
        heed_panel_labels(p, "token seen", k == 0 ? "token" : NULL);
        for (int i = 0; i < CELLS; i++) shown[i] = o[k].seen[i] > 0 ? o[k].weights[i] : NAN;
        heed_panel_heatmap(p, shown, TIME, TIME, &(heed_heatmap){.low = 0, .high = 0.3});
    }
    lesson_picture(r, f, "sparse-attention");
    f = lesson_figure(r, 640, 330);
    heed_figure_grid(f, 1, KINDS - 1);
    heed_figure_bar(f, "layers until it is heard of");
    for (int k = 1; k < KINDS; k++) {
        heed_panel *const p = heed_figure_panel(f, 0, k - 1);
        heed_panel_title(p, kinds[k].title);
        heed_panel_labels(p, "token changed", k == 1 ? "token that hears of it" : NULL);
        heed_panel_heatmap(p, o[k].layers, TIME, TIME, &(heed_heatmap){.low = 1, .high = LAYERS});
    }
    lesson_picture(r, f, "sparse-attention-layers");
}

static void write(struct lesson_run *r, const struct outcome *o) {
    static float row[CELLS], column[CELLS], deep[2][CELLS];
    for (int i = 0; i < CELLS; i++) {
        row[i] = (float)(i / TIME), column[i] = (float)(i % TIME);
        for (int k = 0; k < 2; k++) deep[k][i] = isnan(o[1 + k].layers[i]) ? 0 : o[1 + k].layers[i];
    }
    lesson_table(r, "sparse-attention",
                 (heed_table_column[]){{.name = "token", .f32 = row},
                                       {.name = "seen", .f32 = column},
                                       {.name = "exact", .f32 = o[0].weights},
                                       {.name = "window", .f32 = o[1].weights},
                                       {.name = "blocks", .f32 = o[2].weights},
                                       {.name = "window_layers", .f32 = deep[0]},
                                       {.name = "blocks_layers", .f32 = deep[1]}},
                 7, CELLS);
}

/* ---- the lesson ---- */

static void run(struct lesson_run *r) {
    struct outcome o[KINDS] = {{.seen = NULL}};
    char name[64];
    for (int k = 0; k < KINDS; k++)
        if (!try_kind(r, k, k ? &o[0] : NULL, &o[k])) return;
    lesson_say(r,
               "Most weights of exact attention are small, and it is often known in advance where the large ones are: "
               "near. So compute only those within a window, or of some blocks: the token's own, its neighbours, the "
               "first, which all see, and some at random. Here %d tokens of %d words look for what is near and for "
               "their own word.",
               TIME, WORDS);
    lesson_line(r, "%-10s %12s %14s %26s", "", "weights", "of the exact", "pairs heard of through");
    lesson_line(r, "%-10s %12s %14s %8s %8s %8s", "", "computed", "mass, kept", "1 layer", "2 layers", "4 layers");
    for (int k = 0; k < KINDS; k++) {
        lesson_line(r, "%-10s %10.1f %% %12.1f %% %6.1f %% %6.1f %% %6.1f %%", kinds[k].name, 100 * o[k].computed,
                    100 * o[k].kept, 100 * o[k].reached[0], 100 * o[k].reached[1], 100 * o[k].reached[3]);
        snprintf(name, sizeof name, "%s_computed", kinds[k].name);
        lesson_result(r, name, o[k].computed);
        snprintf(name, sizeof name, "%s_kept", kinds[k].name);
        lesson_result(r, name, o[k].kept);
        snprintf(name, sizeof name, "%s_two_layers", kinds[k].name);
        lesson_result(r, name, o[k].reached[1]);
    }
    lesson_line(r, "\n");
    heed_terminal how = r->terminal;
    how.title = kinds[2].title;
    how.height = 32;
    lesson_show(r, heed_terminal_heatmap(r->cx, o[2].weights, TIME, TIME,
                                         &(heed_heatmap){.low = 0, .high = 0.5, .weights = true}, &how));
    draw(r, o);
    write(r, o);
    lesson_say(
        r,
        "What it costs: the same word far away is not seen, and its weight goes to what is near. Deeper layers "
        "hear of it at second hand: through a window, %d tokens further with each layer; through the first block "
        "and random ones, of everything with the second. What it buys: with a window of 256 at 8192 tokens, 6 %% "
        "of the weights, and twice the tokens cost twice the time, not four times.",
        5);
}

const struct lesson sparse_lesson = {
    .name = "sparse-attention",
    .summary = "windows and blocks: which weights are left out, and how soon all is heard of",
    .run = run,
};
