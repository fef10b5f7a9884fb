/* heed demo: two spirals that no straight line can part. A small network learns to tell them apart while you watch; the
 * picture shows what it makes of every point of the plane. Then the same step is planned without computing, and run
 * with 1 and 2 threads. */
#include "cli/options.h"
#include "heed/nn.h"
#include "heed/plot.h"
#include "heed/train.h"
#include "model/directory.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { POINTS = 400, STEPS = 1500, WIDTH = 64, ACROSS = 56, DOWN = 24, SIDE = 160 };

struct spirals {
    float x[POINTS][2];
    int32_t arm[POINTS];
};

static void draw_spirals(struct spirals *s, uint64_t seed) {
    float noise[POINTS][2];
    heed_random_normal(seed, 0, 0, noise[0], 2 * (int64_t)POINTS);
    for (int i = 0; i < POINTS; i++) {
        const float along = 0.05f + 0.95f * (float)(i / 2) / (POINTS / 2),
                    angle = 9 * along + (i % 2 ? 3.14159265f : 0);
        s->x[i][0] = along * cosf(angle) + 0.012f * noise[i][0];
        s->x[i][1] = along * sinf(angle) + 0.012f * noise[i][1];
        s->arm[i] = i % 2;
    }
}

static heed_tensor *logits_of(heed_ctx *cx, const heed_mlp *mlp, const float *x, int64_t n) {
    return heed_mlp_run(cx, mlp, heed_borrow(cx, HEED_F32, x, 2, (int64_t[]){n, 2}, NULL));
}

/* One update; returns the loss. */
static float train_step(heed_ctx *cx, const heed_mlp *mlp, heed_trainer *trainer, const struct spirals *s) {
    heed_trainer_begin(cx, trainer);
    heed_tensor *target = heed_borrow(cx, HEED_I32, s->arm, 1, (int64_t[]){POINTS}, NULL);
    heed_tensor *loss = heed_cross_entropy(cx, logits_of(cx, mlp, s->x[0], POINTS), target, NULL);
    heed_backward(cx, loss);
    const float value = heed_item(cx, loss);
    heed_trainer_step(cx, trainer, NULL);
    heed_reset(cx);
    return value;
}

static double accuracy_of(heed_ctx *cx, const heed_mlp *mlp, const struct spirals *s) {
    heed_set_grad(cx, false);
    const int32_t *arm = heed_i32(heed_argmax(cx, logits_of(cx, mlp, s->x[0], POINTS), -1, false));
    int right = 0;
    for (int i = 0; arm && i < POINTS; i++) right += arm[i] == s->arm[i];
    heed_reset(cx);
    heed_set_grad(cx, true);
    return (double)right / POINTS;
}

/* The plane, two rows of cells to a line of text: what the network says, and the points themselves. */
static void draw_plane(heed_ctx *cx, const heed_mlp *mlp, const struct spirals *s, bool colour) {
    static const char *const shades[] = {" ", ".", ":", "+", "#"};
    float cell[DOWN][ACROSS][2];
    char point[DOWN][ACROSS];
    memset(point, 0, sizeof point);
    for (int r = 0; r < DOWN; r++)
        for (int c = 0; c < ACROSS; c++) {
            cell[r][c][0] = 2.2f * ((float)c + 0.5f) / ACROSS - 1.1f;
            cell[r][c][1] = 1.1f - 2.2f * ((float)r + 0.5f) / DOWN;
        }
    for (int i = 0; i < POINTS; i++) {
        const int c = (int)((s->x[i][0] + 1.1f) / 2.2f * ACROSS), r = (int)((1.1f - s->x[i][1]) / 2.2f * DOWN);
        if (r >= 0 && r < DOWN && c >= 0 && c < ACROSS) point[r][c] = s->arm[i] ? 'o' : 'x';
    }
    heed_set_grad(cx, false);
    const float *p = heed_f32(heed_softmax(cx, logits_of(cx, mlp, cell[0][0], (int64_t)DOWN * ACROSS), -1));
    for (int r = 0; p && r < DOWN; r++) {
        fputs("  ", stdout);
        for (int c = 0; c < ACROSS; c++) {
            const float one = p[2 * (r * ACROSS + c) + 1];
            const char mark[2] = {point[r][c], 0};
            if (colour) {
                const int red = (int)(60 + 150 * (1 - one)), blue = (int)(60 + 150 * one);
                printf("\033[48;2;%d;70;%dm\033[38;2;255;255;255m%s", red, blue, point[r][c] ? mark : " ");
            } else {
                fputs(point[r][c] ? mark : shades[(int)(one * 4.999f)], stdout);
            }
        }
        fputs(colour ? "\033[0m\n" : "\n", stdout);
    }
    heed_reset(cx);
    heed_set_grad(cx, true);
}

/* The plane as a picture: the network's answer as colour, the points on it. */
static bool write_picture(heed_ctx *cx, const heed_mlp *mlp, const struct spirals *s, const char *dir) {
    float *cell = heed_mem_new(cx, sizeof(float) * 3 * SIDE * SIDE), *plane = cell ? cell + 2 * SIDE * SIDE : NULL;
    if (!cell) return false;
    for (int i = 0; i < SIDE * SIDE; i++) {
        cell[2 * i] = 2.2f * ((float)(i % SIDE) + 0.5f) / SIDE - 1.1f;
        cell[2 * i + 1] = 1.1f - 2.2f * ((float)(i / SIDE) + 0.5f) / SIDE;
    }
    heed_set_grad(cx, false);
    const float *p = heed_f32(heed_softmax(cx, logits_of(cx, mlp, cell, (int64_t)SIDE * SIDE), -1));
    for (int i = 0; p && i < SIDE * SIDE; i++) plane[i] = 2 * p[2 * i + 1] - 1;
    heed_reset(cx);
    heed_figure *figure = heed_figure_new(cx, 420, 400);
    heed_panel *panel = heed_figure_panel(figure, 0, 0);
    heed_panel_title(panel, "Two spirals, told apart by a network 2-64-64-2");
    heed_panel_limits_x(panel, -1.1, 1.1);
    heed_panel_limits_y(panel, -1.1, 1.1);
    heed_panel_heatmap(panel, plane, SIDE, SIDE,
                       &(heed_heatmap){.map = HEED_MAP_DIVERGING, .low = -1.6, .high = 1.6, .no_bar = true});
    for (int arm = 0; arm < 2; arm++) {
        float x[POINTS / 2], y[POINTS / 2];
        for (int i = 0; i < POINTS / 2; i++) {
            x[i] = s->x[2 * i + arm][0];
            y[i] = s->x[2 * i + arm][1];
        }
        heed_panel_scatter(panel, x, y, POINTS / 2,
                           &(heed_style){.color = arm ? HEED_COLOR_RED : HEED_COLOR_BLUE, .size = 4});
    }
    char path[4096];
    snprintf(path, sizeof path, "%s/spirals.png", dir);
    heed_figure_write(figure, path);
    heed_figure_free(figure);
    heed_mem_free(cx, cell);
    if (!heed_failed(cx)) printf("\nwritten: %s\n", path);
    return !heed_failed(cx);
}

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A network and its trainer. */
struct run {
    heed_ctx *cx;
    heed_params *params;
    heed_mlp mlp;
    heed_trainer *trainer;
};

static bool run_open(struct run *r, heed_ctx *cx) {
    *r = (struct run){.cx = cx, .params = heed_params_new(cx)};
    heed_mlp_make(r->cx, r->params, "layers", (int64_t[]){2, WIDTH, WIDTH, 2}, 3, HEED_ACT_TANH, 0, &r->mlp);
    heed_params_allocate(r->cx, r->params);
    heed_params_init(r->cx, r->params, heed_seed(cx));
    const heed_trainer_opts opts = {.optimizer = {.kind = HEED_ADAMW, .weight_decay = 0.01},
                                    .schedule = {.kind = HEED_COSINE, .lr = 0.01, .steps = STEPS}};
    r->trainer = heed_trainer_new(r->cx, r->params, &opts);
    return !heed_failed(r->cx);
}

static void run_free(struct run *r) {
    heed_trainer_free(r->cx, r->trainer);
    heed_params_free(r->cx, r->params);
}

static bool watch_training(struct run *r, const struct spirals *s, bool quiet) {
    const bool terminal = isatty(STDERR_FILENO);
    const double begin = seconds();
    for (int step = 0; step < STEPS && !heed_cancelled(r->cx); step++) {
        const float loss = train_step(r->cx, &r->mlp, r->trainer, s);
        if (quiet) continue;
        if (terminal && step % 20 == 19) {
            fprintf(stderr, "\r  step %4d of %d   loss %.4f   %5.0f steps/s ", step + 1, STEPS, (double)loss,
                    (step + 1) / (seconds() - begin));
        } else if (!terminal && (step + 1) % 500 == 0) {
            fprintf(stderr, "  step %d of %d   loss %.4f\n", step + 1, STEPS, (double)loss);
        }
    }
    if (terminal && !quiet) fputc('\n', stderr);
    if (heed_failed(r->cx)) return false;
    printf("\nAfter %d steps in %.2f s it tells %.1f %% of the points apart. What it makes of the plane:\n\n", STEPS,
           seconds() - begin, 100 * accuracy_of(r->cx, &r->mlp, s));
    return true;
}

/* The same few steps planned, and run with 1 and 2 threads. */
static int compare_runs(const struct spirals *s, uint64_t seed) {
    float loss[2] = {0, 0};
    size_t peak[3] = {0, 0, 0};
    for (int i = 0; i < 3; i++) {
        struct run r;
        heed_ctx *cx = heed_open(&(heed_config){.threads = i == 1 ? 2 : 1, .seed = seed, .dry = i == 2});
        if (run_open(&r, cx))
            for (int step = 0; step < 20; step++) {
                const float value = train_step(cx, &r.mlp, r.trainer, s);
                if (i < 2) loss[i] = value;
            }
        peak[i] = heed_memory_use(cx).step_peak;
        const bool failed = heed_failed(cx);
        if (failed) cli_error(EXIT_FAILED, "%s", heed_message(cx));
        run_free(&r);
        heed_close(cx);
        if (failed) return EXIT_FAILED;
    }
    printf("\nThe loss after 20 steps, to the last bit:  %a with 1 thread, %a with 2.\n", (double)loss[0],
           (double)loss[1]);
    printf("Memory of a step:  %zu bytes planned beforehand, %zu bytes used.\n", peak[2], peak[0]);
    if (memcmp(&loss[0], &loss[1], sizeof(float)) != 0 || peak[2] != peak[0])
        return cli_error(EXIT_FAILED, "demo: these should have been equal");
    printf("\nNext: 'heed lesson' lists the experiments of the course; 'heed train classify --data digits --out "
           "digits' trains\na reader of digits; 'heed --help' shows the rest.\n");
    return EXIT_DONE;
}

static const struct option options[] = {
    {"out", 'o', OPTION_FILE, NULL, "DIR", "also write the picture into DIR", 0, 0, NULL},
    {.name = NULL},
};

static void show(const struct options *o, heed_ctx *cx, struct spirals *s) {
    struct run r;
    const char *out = option_text(o, "out");
    if (out && !directory_make(cx, out)) return; /* before the work */
    draw_spirals(s, heed_seed(cx));
    printf("Two spirals, %d points, and a network 2-%d-%d-2 (tanh, AdamW) on the %s kernels.\n", POINTS, WIDTH, WIDTH,
           heed_isa());
    fflush(stdout);
    if (run_open(&r, cx) && watch_training(&r, s, option_flag(o, "quiet"))) {
        const heed_terminal_colors colors =
            heed_terminal_choose(getenv("NO_COLOR"), getenv("COLORTERM"), getenv("TERM"), isatty(STDOUT_FILENO) == 1);
        draw_plane(cx, &r.mlp, s, colors == HEED_TERMINAL_TRUE);
        if (out) write_picture(cx, &r.mlp, s, out);
    }
    run_free(&r);
}

static int run(int argc, char **argv) {
    static struct spirals s;
    struct options *o = options_read("demo", options, argc, argv, 0, 0, "");
    if (!o) return EXIT_USAGE;
    heed_ctx *cx = options_open(o);
    int status = EXIT_FAILED;
    if (cx) {
        const uint64_t seed = heed_seed(cx);
        show(o, cx, &s);
        status = options_close(o, cx, EXIT_DONE);
        if (status == EXIT_DONE) status = compare_runs(&s, seed);
    }
    options_free(o);
    return status;
}

const struct command demo_command = {
    .name = "demo",
    .summary = "the main job, end to end, on what heed carries",
    .about = "Shows what heed can do so far, on data that it carries: a small network learns to tell two spirals apart "
             "while you watch. Needs no files and no network.",
    .options = options,
    .examples = "heed demo\nheed demo --out results\n",
    .run = run,
};
