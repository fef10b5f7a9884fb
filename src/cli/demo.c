/* heed demo: two spirals that no straight line can part. A small network learns to tell them apart while you watch; the
 * picture shows what it makes of every point of the plane. Then the same step is planned without computing, and run
 * with 1 and 2 threads. */
#include "cli/cli.h"
#include "heed/nn.h"
#include "heed/train.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { POINTS = 400, STEPS = 1500, WIDTH = 64, ACROSS = 56, DOWN = 24 };

struct spirals {
    float x[POINTS][2];
    int32_t arm[POINTS];
};

static void draw_spirals(struct spirals *s) {
    float noise[POINTS][2];
    heed_random_normal(1, 0, 0, noise[0], 2 * (int64_t)POINTS);
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

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Builds the network and its trainer; with `threads`, in a context of its own. */
struct run {
    heed_ctx *cx;
    heed_params *params;
    heed_mlp mlp;
    heed_trainer *trainer;
};

static bool run_open(struct run *r, int threads, bool dry) {
    *r = (struct run){.cx = heed_open(&(heed_config){.threads = threads, .dry = dry})};
    r->params = heed_params_new(r->cx);
    heed_mlp_make(r->cx, r->params, "layers", (int64_t[]){2, WIDTH, WIDTH, 2}, 3, HEED_ACT_TANH, 0, &r->mlp);
    heed_params_allocate(r->cx, r->params);
    heed_params_init(r->cx, r->params, 1);
    const heed_trainer_opts opts = {.optimizer = {.kind = HEED_ADAMW, .weight_decay = 0.01},
                                    .schedule = {.kind = HEED_COSINE, .lr = 0.01, .steps = STEPS}};
    r->trainer = heed_trainer_new(r->cx, r->params, &opts);
    return !heed_failed(r->cx);
}

static int run_close(struct run *r, int status) {
    if (heed_failed(r->cx)) status = cli_error(EXIT_FAILED, "demo: %s", heed_message(r->cx));
    heed_trainer_free(r->cx, r->trainer);
    heed_params_free(r->cx, r->params);
    heed_close(r->cx);
    return status;
}

static bool watch_training(struct run *r, const struct spirals *s) {
    const bool terminal = isatty(STDERR_FILENO);
    const double begin = seconds();
    for (int step = 0; step < STEPS; step++) {
        const float loss = train_step(r->cx, &r->mlp, r->trainer, s);
        if (heed_failed(r->cx)) return false;
        if (terminal && step % 20 == 19) {
            fprintf(stderr, "\r  step %4d of %d   loss %.4f   %5.0f steps/s ", step + 1, STEPS, (double)loss,
                    (step + 1) / (seconds() - begin));
        } else if (!terminal && (step + 1) % 500 == 0) {
            fprintf(stderr, "  step %d of %d   loss %.4f\n", step + 1, STEPS, (double)loss);
        }
    }
    if (terminal) fputc('\n', stderr);
    printf("\nAfter %d steps in %.2f s it tells %.1f %% of the points apart. What it makes of the plane:\n\n", STEPS,
           seconds() - begin, 100 * accuracy_of(r->cx, &r->mlp, s));
    return true;
}

/* The same few steps planned, and run with 1 and 2 threads. */
static int compare_runs(const struct spirals *s) {
    float loss[2] = {0, 0};
    size_t peak[3] = {0, 0, 0};
    for (int i = 0; i < 3; i++) {
        struct run r;
        if (run_open(&r, i == 1 ? 2 : 1, i == 2))
            for (int step = 0; step < 20; step++) {
                const float value = train_step(r.cx, &r.mlp, r.trainer, s);
                if (i < 2) loss[i] = value;
            }
        peak[i] = heed_memory_use(r.cx).step_peak;
        const int status = run_close(&r, EXIT_DONE);
        if (status != EXIT_DONE) return status;
    }
    printf("\nThe loss after 20 steps, to the last bit:  %a with 1 thread, %a with 2.\n", (double)loss[0],
           (double)loss[1]);
    printf("Memory of a step:  %zu bytes planned beforehand, %zu bytes used.\n", peak[2], peak[0]);
    if (memcmp(&loss[0], &loss[1], sizeof(float)) != 0 || peak[2] != peak[0])
        return cli_error(EXIT_FAILED, "demo: these should have been equal");
    printf("\nNext: 'heed --help', and the first program in README.md.\n");
    return EXIT_DONE;
}

int command_demo(int argc, char **argv) {
    if (argc > 1) return cli_error(EXIT_USAGE, "demo: '%s' is not an option of demo", argv[1]);
    static struct spirals s;
    draw_spirals(&s);
    printf("Two spirals, %d points, and a network 2-%d-%d-2 (tanh, AdamW) on the %s kernels.\n", POINTS, WIDTH, WIDTH,
           heed_isa());
    fflush(stdout);
    struct run r;
    if (run_open(&r, 0, false) && watch_training(&r, &s)) draw_plane(r.cx, &r.mlp, &s, isatty(STDOUT_FILENO));
    const int status = run_close(&r, EXIT_DONE);
    return status == EXIT_DONE ? compare_runs(&s) : status;
}
