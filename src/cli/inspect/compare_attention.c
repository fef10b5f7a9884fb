/* heed compare-attention: time and memory of exact attention and of what is cheaper, against the length.
 *
 * Each point is a model of its own, in a context of its own. Memory is what a dry run of the same calls would take,
 * byte for byte; time is the best of several runs. What would exceed --memory, or takes longer than --max-seconds, is
 * left out, and so are longer inputs of the same kind: nothing is extrapolated. */
#include "cli/inspect/compare_attention.h"
#include "base/clock.h"
#include "base/file.h"
#include "cli/core/figure_options.h"
#include "heed/model.h"
#include "heed/train.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
static const heed_field options[] = {
    {.name = "pictures", .kind = HEED_FIELD_TABLE, .table = picture_options},
    {.name = "lengths", .kind = HEED_FIELD_TEXT, .standard = "256,512,1024,2048,4096,8192,16384,32768,65536", .value = "N,N,...",
     .help = "lengths, in tokens; powers of two suit all kinds"},
    {.name = "kinds", .kind = HEED_FIELD_TEXT, .value = "KIND,KIND,...", .help = "only these kinds; without it all of them"},
    {.name = "width", .kind = HEED_FIELD_INT, .standard = "256", .value = "C", .low = 8, .high = 65536, .help = "width of the model"},
    {.name = "heads", .kind = HEED_FIELD_INT, .standard = "4", .value = "H", .low = 1, .high = 1024,
     .help = "number of attention heads, which divides the width"},
    {.name = "layers", .kind = HEED_FIELD_INT, .standard = "1", .value = "L", .low = 1, .high = 64, .help = "number of layers"},
    {.name = "batch", .kind = HEED_FIELD_INT, .standard = "1", .value = "B", .low = 1, .high = 65536, .help = "sequences at a time"},
    {.name = "seconds", .kind = HEED_FIELD_NUMBER, .standard = "0.5", .value = "S", .high = 3600,
     .help = "time over which a point is measured again and again, the best counting"},
    {.name = "max-seconds", .kind = HEED_FIELD_NUMBER, .standard = "60", .value = "S", .low = 0.001, .high = 86400,
     .help = "a run that takes longer is stopped and left out, with the longer inputs of its kind"},
    {.name = "csv", .kind = HEED_FIELD_FILE, .value = "FILE", .help = "all numbers, as a table"},
    JSON_OPTION,
    {.name = NULL},
};
/* clang-format on */

/* ---- kinds ---- */

#define TOKENS "vocab_size=262", "max_position_embeddings=%N"
#define BODY   TOKENS, "hidden_size=%W", "num_hidden_layers=%L", "intermediate_size=%F", "hidden_dropout_prob=0"
#define HEADS  "num_attention_heads=%H", "attention_probs_dropout_prob=0"

static const struct kind kinds[] = {
    {.name = "exact", .family = "bert", .task = "embed", .color = HEED_COLOR_INK, .settings = {BODY, HEADS}},
    {.name = "fnet", .family = "fnet", .task = "embed", .color = HEED_COLOR_BLUE, .settings = {BODY}},
    {.name = "linformer",
     .family = "linformer",
     .task = "embed",
     .color = HEED_COLOR_ORANGE,
     .settings = {BODY, HEADS, "projected_length=128"}},
    {.name = "performer",
     .family = "performer",
     .task = "embed",
     .color = HEED_COLOR_GREEN,
     .settings = {BODY, "num_attention_heads=%H", "num_random_features=128"}},
    {.name = "reformer",
     .family = "reformer",
     .task = "embed",
     .color = HEED_COLOR_PINK,
     .settings = {TOKENS, "hidden_size=%W", "attn_layers=%L*lsh", "num_attention_heads=%H", "attention_head_size=%D",
                  "feed_forward_size=%F", "hidden_dropout_prob=0", "lsh_attention_probs_dropout_prob=0", "num_hashes=2",
                  "axial_pos_embds=false"}},
    {.name = "perceiver",
     .family = "perceiver",
     .task = "mlm",
     .color = HEED_COLOR_SKY,
     .settings = {TOKENS, "num_latents=128", "d_latents=%W", "d_model=%W", "num_self_attends_per_block=%L",
                  "num_self_attention_heads=%H", "num_cross_attention_heads=%H", "attention_probs_dropout_prob=0"}},
    {.name = "workspace",
     .family = "workspace",
     .task = "embed",
     .color = HEED_COLOR_RED,
     .settings = {BODY, HEADS, "num_slots=8"}},
    {.name = "token-mixer",
     .family = "token-mixer",
     .task = "embed",
     .color = HEED_COLOR_GOLD,
     .settings = {BODY, "tokens_mlp_dim=256"}},
    {.name = "window",
     .family = "sparse",
     .task = "embed",
     .color = HEED_COLOR_VIOLET,
     .settings = {BODY, HEADS, "attention_window=256"}},
    {.name = "blocks",
     .family = "sparse",
     .task = "embed",
     .color = HEED_COLOR_VIOLET,
     .dash = HEED_DASH_LONG,
     .settings = {BODY, HEADS, "attention_block=64", "random_blocks=1"}},
};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

struct sizes {
    int64_t width, heads, layers, batch, length;
};

/* Rows of a rectangle of n places: the largest power of two that divides n and is not above its root. */
static int64_t rows_of(int64_t n) {
    int64_t rows = 1;
    while (n % (2 * rows) == 0 && 4 * rows * rows <= n) rows *= 2;
    return rows;
}

enum { SETTING = 2048 };

/* A setting with its sizes; "%L*lsh" is a list of as many words as there are layers. */
static void fill_in(const char *from, const struct sizes *s, char to[SETTING]) {
    size_t at = 0;
    for (; *from && at + 32 < SETTING; from++) {
        if (*from != '%') {
            to[at++] = *from;
            continue;
        }
        const char letter = *++from;
        if (letter == 'L' && from[1] == '*') {
            for (int64_t i = 0; i < s->layers && at + 32 < SETTING; i++)
                at += (size_t)snprintf(to + at, SETTING - at, "%s\"%s\"%s", i ? ", " : "[", from + 2,
                                       i + 1 == s->layers ? "]" : "");
            break;
        }
        const int64_t rows = rows_of(s->length), value = letter == 'W'   ? s->width
                                                         : letter == 'H' ? s->heads
                                                         : letter == 'D' ? s->width / s->heads
                                                         : letter == 'F' ? 4 * s->width
                                                         : letter == 'L' ? s->layers
                                                         : letter == 'R' ? rows
                                                         : letter == 'C' ? s->length / rows
                                                                         : s->length;
        at += (size_t)snprintf(to + at, SETTING - at, "%lld", (long long)value);
    }
    to[at] = '\0';
}

static heed_model *make_model(heed_ctx *cx, const struct kind *k, const struct sizes *s) {
    static char text[MAX_SETTINGS][SETTING];
    const char *settings[MAX_SETTINGS];
    const heed_family *const family = heed_family_find(k->family);
    int n = 0;
    for (; n < MAX_SETTINGS && k->settings[n]; n++) {
        fill_in(k->settings[n], s, text[n]);
        settings[n] = text[n];
    }
    return heed_model_new_as(cx, family, heed_head_for(family, k->task), settings, n, 1);
}

/* ---- one point ---- */

struct bench {
    heed_ctx *cx;
    heed_model *model;
    heed_trainer *trainer; /* of a training step, else NULL */
    int32_t *ids;          /* tokens */
    struct sizes sizes;
    size_t empty; /* bytes that the context holds by itself */
    double until; /* when a run is given up; 0: never */
};

static bool give_up(void *user) {
    const struct bench *const b = user;
    return interrupted() || (b->until > 0 && clock_seconds() > b->until);
}

static bool bench_open(struct bench *b, const struct options *o, const struct kind *k, int pass, bool dry) {
    *b = (struct bench){.sizes = b->sizes};
    b->cx = heed_open(&(heed_config){.threads = (int)option_int(o, "threads"),
                                     .seed = (uint64_t)option_int(o, "seed"),
                                     .dry = dry,
                                     .cancel = give_up,
                                     .user = b});
    b->empty = heed_memory_use(b->cx).held;
    b->model = make_model(b->cx, k, &b->sizes);
    if (pass == STEP && b->model) {
        const heed_trainer_opts sgd = {.optimizer = {.kind = HEED_SGD}, .schedule = {.lr = 1e-3}};
        b->trainer = heed_trainer_new(b->cx, heed_model_params(b->model), &sgd);
    }
    heed_set_training(b->cx, pass == STEP);
    heed_set_grad(b->cx, pass == STEP);
    return !heed_failed(b->cx);
}

static void bench_close(struct bench *b) {
    heed_mem_free(b->cx, b->ids);
    heed_trainer_free(b->cx, b->trainer);
    heed_model_free(b->cx, b->model);
    heed_close(b->cx);
}

/* Tokens that differ, all of them there: (B,T), without a mask. */
static heed_tensor *tokens(struct bench *b) {
    const int64_t shape[] = {b->sizes.batch, b->sizes.length}, n = shape[0] * shape[1];
    if (!b->ids) {
        b->ids = heed_mem_new(b->cx, (size_t)n * sizeof *b->ids);
        for (int64_t i = 0; b->ids && i < n; i++) b->ids[i] = 6 + (int32_t)(heed_random_bits(1, 0, (uint64_t)i) % 256);
    }
    return heed_borrow(b->cx, HEED_I32, b->ids, 2, shape, NULL);
}

static bool bench_run(struct bench *b) {
    heed_io in = {0}, out = {0};
    const bool step = b->trainer != NULL;
    if (step) heed_trainer_begin(b->cx, b->trainer);
    if (!heed_io_put(b->cx, &in, "input_ids", tokens(b)) || !heed_model_forward(b->cx, b->model, &in, &out))
        return false;
    heed_tensor *h = heed_io_get(&out, "last_hidden_state");
    if (!h) h = heed_io_get(&out, "logits");
    if (step) {
        heed_backward_from(b->cx, h, heed_full(b->cx, 1e-6f, heed_rank(h), heed_shape(h)));
        heed_trainer_step(b->cx, b->trainer, NULL);
    }
    heed_reset(b->cx);
    return !heed_failed(b->cx);
}

/* Bytes that a run takes, of parameters, their gradients and all tensors that live at the same time; NaN: it fails. */
static double plan(struct bench *b, const struct options *o, const struct kind *k, int pass, char *why, size_t size) {
    double bytes = (double)NAN;
    if (bench_open(b, o, k, pass, true)) {
        const size_t made = heed_memory_use(b->cx).held - b->empty;
        if (bench_run(b)) bytes = (double)(made + heed_memory_use(b->cx).step_peak);
    }
    if (heed_failed(b->cx)) snprintf(why, size, "%s", heed_message(b->cx));
    bench_close(b);
    return bytes;
}

/* The first run and the second are given fresh pages, the second because memory then becomes one chunk; what they cost
 * grows with the length and belongs to no step of a long training. A run of so many seconds is not repeated for it. */
#define FRESH_RUNS   2
#define LONG_SECONDS 15

/* Seconds of the best run; NaN: it was given up. */
static double measure(struct bench *b, const struct options *o, const struct kind *k, int pass, char *why,
                      size_t size) {
    const double most = option_number(o, "max-seconds"), enough = option_number(o, "seconds");
    double best = (double)NAN, spent = 0;
    if (bench_open(b, o, k, pass, false))
        for (int runs = 0; runs < FRESH_RUNS + 1 || spent < enough; runs++) {
            const double start = clock_seconds();
            b->until = start + most;
            if (!bench_run(b)) break;
            const double seconds = clock_seconds() - start;
            if (seconds > most) break;
            if (runs >= FRESH_RUNS) spent += seconds;
            if (!(best <= seconds)) best = seconds;
            if (seconds > LONG_SECONDS) break;
        }
    if (isnan(best))
        snprintf(why, size, "%s",
                 heed_failed(b->cx) && heed_error(b->cx) != HEED_ERR_CANCELLED ? heed_message(b->cx)
                                                                               : "longer than --max-seconds");
    bench_close(b);
    return best;
}

/* ---- all of them ---- */

static void say_left_out(const struct options *o, const char *kind, int pass, int64_t length, const char *why) {
    if (!option_flag(o, "quiet"))
        fprintf(stderr, "%s, %s at %lld: left out: %s\n", kind, pass == STEP ? "training step" : "forward",
                (long long)length, why);
}

static void compare_kind(const struct options *o, struct comparison *c, int kind, const struct sizes *sizes) {
    const size_t budget = option_bytes(o, "memory");
    const struct kind *const k = c->kind[kind];
    struct bench b = {.sizes = *sizes};
    for (int pass = 0; pass < PASSES; pass++)
        for (int i = 0; i < c->lengths && !interrupted(); i++) {
            char why[1100] = "", bytes[32];
            double *const at[COSTS] = {&c->cost[kind][pass][TIME][i], &c->cost[kind][pass][MEMORY][i]};
            b.sizes.length = c->length[i];
            *at[MEMORY] = plan(&b, o, k, pass, why, sizeof why);
            if (budget > 0 && *at[MEMORY] > (double)budget)
                snprintf(why, sizeof why, "needs %s, more than --memory allows", cli_size((size_t)*at[MEMORY], bytes));
            if (!*why) *at[TIME] = measure(&b, o, k, pass, why, sizeof why);
            if (!*why) continue;
            if (!interrupted()) say_left_out(o, k->name, pass, c->length[i], why);
            if (isnan(*at[MEMORY])) continue; /* a length that does not suit it */
            while (++i < c->lengths)          /* the plan is known in any case */
                b.sizes.length = c->length[i], c->cost[kind][pass][MEMORY][i] = plan(&b, o, k, pass, why, sizeof why);
        }
}

double compare_exponent(const struct comparison *c, int kind, int pass, int cost) {
    const double *const y = c->cost[kind][pass][cost];
    double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
    for (int i = c->lengths - 1; i >= 0 && (n < 2 || c->length[i] >= EXPONENT_FROM); i--) {
        if (!isfinite(y[i])) continue;
        const double lx = log((double)c->length[i]), ly = log(y[i]);
        n++, sx += lx, sy += ly, sxx += lx * lx, sxy += lx * ly;
    }
    return n < 2 ? (double)NAN : (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

/* The first length from which on a kind costs less than the exact one wherever both are known; 0: none. */
static int64_t overtakes(const struct comparison *c, int kind, int pass, int cost) {
    int64_t from = 0;
    for (int i = 0; i < c->lengths; i++) {
        const double exact = c->cost[0][pass][cost][i], own = c->cost[kind][pass][cost][i];
        if (!isfinite(exact) || !isfinite(own)) continue;
        if (own >= exact)
            from = 0;
        else if (from == 0)
            from = c->length[i];
    }
    return from;
}

/* ---- what is printed ---- */

static const char *const pass_names[PASSES] = {"forward", "training step"};

static bool has_exact(const struct comparison *c) { return strcmp(c->kind[0]->name, kinds[0].name) == 0; }

static void print_number(double value) {
    if (isnan(value))
        printf(" %8s", "-");
    else
        printf(" %8.*f", value < 10 ? 2 : value < 100 ? 1 : 0, value);
}

static void print_tables(const struct comparison *c) {
    for (int pass = 0; pass < PASSES; pass++)
        for (int cost = 0; cost < COSTS; cost++) {
            printf("%s%s, %s\n%-12s", pass || cost ? "\n" : "", pass_names[pass], cost == TIME ? "ms" : "MB", "");
            for (int i = 0; i < c->lengths; i++) printf(" %8lld", (long long)c->length[i]);
            printf(" %9s", "exponent");
            printf(has_exact(c) ? "  below exact from\n" : "\n");
            for (int k = 0; k < c->kinds; k++) {
                const double exponent = compare_exponent(c, k, pass, cost);
                const int64_t from = has_exact(c) && k > 0 ? overtakes(c, k, pass, cost) : -1;
                printf("%-12s", c->kind[k]->name);
                for (int i = 0; i < c->lengths; i++)
                    print_number(c->cost[k][pass][cost][i] * (cost == TIME ? 1e3 : 1e-6));
                if (isnan(exponent))
                    printf(" %9s", "-");
                else
                    printf(" %9.2f", exponent);
                if (from > 0) printf("  %lld", (long long)from);
                printf(from == 0 ? "  -\n" : "\n");
            }
        }
}

static void put_costs(heed_ctx *cx, heed_json at, const struct comparison *c, int kind, int pass) {
    static const char *const names[COSTS] = {"seconds", "bytes"};
    const heed_json object = heed_json_put_object(cx, at, pass == STEP ? "step" : "forward");
    for (int cost = 0; cost < COSTS; cost++) {
        char key[64];
        const heed_json list = heed_json_put_array(cx, object, names[cost]);
        for (int i = 0; i < c->lengths; i++) {
            const double value = c->cost[kind][pass][cost][i];
            if (isnan(value))
                heed_json_put_null(cx, list, NULL);
            else if (cost == MEMORY)
                heed_json_put_int(cx, list, NULL, (int64_t)value);
            else
                heed_json_put_number(cx, list, NULL, value);
        }
        snprintf(key, sizeof key, "%s_exponent", names[cost]);
        const double exponent = compare_exponent(c, kind, pass, cost);
        if (isfinite(exponent)) heed_json_put_number(cx, object, key, exponent);
        snprintf(key, sizeof key, "%s_below_exact_from", names[cost]);
        const int64_t from = has_exact(c) && kind > 0 ? overtakes(c, kind, pass, cost) : 0;
        if (from > 0) heed_json_put_int(cx, object, key, from);
    }
}

static void print_json(heed_ctx *cx, const struct comparison *c) {
    const heed_json doc = heed_json_new(cx, "comparison"), lengths = heed_json_put_array(cx, doc, "lengths"),
                    list = heed_json_put_array(cx, doc, "kinds");
    for (int i = 0; i < c->lengths; i++) heed_json_put_int(cx, lengths, NULL, c->length[i]);
    for (int k = 0; k < c->kinds; k++) {
        const heed_json one = heed_json_put_object(cx, list, NULL);
        heed_json_put_text(cx, one, "name", c->kind[k]->name);
        heed_json_put_text(cx, one, "family", c->kind[k]->family);
        for (int pass = 0; pass < PASSES; pass++) put_costs(cx, one, c, k, pass);
    }
    json_answer(cx, stdout, doc, 2);
    heed_json_free(doc);
}

static bool write_csv(heed_ctx *cx, const struct comparison *c, const char *path) {
    struct file_writer *const w = file_write_open(cx, path);
    char line[256] = "kind,pass,length,seconds,bytes\n";
    if (w) file_write(w, line, strlen(line));
    for (int k = 0; w && k < c->kinds; k++)
        for (int pass = 0; pass < PASSES; pass++)
            for (int i = 0; i < c->lengths; i++) {
                const double *const seconds = &c->cost[k][pass][TIME][i], *const bytes = &c->cost[k][pass][MEMORY][i];
                int at = snprintf(line, sizeof line, "%s,%s,%lld,", c->kind[k]->name, pass == STEP ? "step" : "forward",
                                  (long long)c->length[i]);
                if (isfinite(*seconds)) at += snprintf(line + at, sizeof line - (size_t)at, "%.6g", *seconds);
                at += snprintf(line + at, sizeof line - (size_t)at, ",");
                if (isfinite(*bytes)) at += snprintf(line + at, sizeof line - (size_t)at, "%.0f", *bytes);
                snprintf(line + at, sizeof line - (size_t)at, "\n");
                file_write(w, line, strlen(line));
            }
    return w && file_write_commit(w);
}

/* ---- the command ---- */

/* Words between commas, one at a time; NULL after the last. */
static const char *next_word(const char **text, char word[64]) {
    if (!**text) return NULL;
    const size_t n = strcspn(*text, ",");
    snprintf(word, 64, "%.*s", (int)(n < 63 ? n : 63), *text);
    *text += n + ((*text)[n] == ',');
    return word;
}

static bool read_lengths(const char *text, struct comparison *c) {
    char word[64], *end;
    while (next_word(&text, word)) {
        const long long n = strtoll(word, &end, 10);
        if (!*word || *end || n < 1 || n > (1 << 24) || (c->lengths > 0 && n <= c->length[c->lengths - 1])) {
            cli_error(EXIT_USAGE, "compare-attention: --lengths: '%s' is not a rising length of 1 to %d", word,
                      1 << 24);
            return false;
        }
        if (c->lengths == MAX_LENGTHS) {
            cli_error(EXIT_USAGE, "compare-attention: --lengths: more than %d", MAX_LENGTHS);
            return false;
        }
        c->length[c->lengths++] = n;
    }
    if (c->lengths == 0) cli_error(EXIT_USAGE, "compare-attention: --lengths: give at least one length");
    return c->lengths > 0;
}

static const struct kind *kind_named(const char *name) {
    for (int i = 0; i < N_KINDS; i++)
        if (strcmp(kinds[i].name, name) == 0) return &kinds[i];
    return NULL;
}

/* In the order of the table. */
static bool read_kinds(const char *text, struct comparison *c) {
    bool wanted[N_KINDS] = {false};
    char word[64];
    for (const char *rest = text; rest && next_word(&rest, word);) {
        const struct kind *const k = kind_named(word);
        if (!k || !heed_family_find(k->family)) {
            cli_error(EXIT_USAGE, "compare-attention: --kinds: there is no kind '%s'", word);
            return false;
        }
        wanted[k - kinds] = true;
    }
    for (int i = 0; i < N_KINDS; i++)
        if (heed_family_find(kinds[i].family) && (!text || wanted[i])) c->kind[c->kinds++] = &kinds[i];
    if (c->kinds == 0) cli_error(EXIT_USAGE, "compare-attention: --kinds: none of these kinds is available");
    return c->kinds > 0;
}

static int compare(const struct options *o, heed_ctx *cx, struct comparison *c) {
    const struct sizes sizes = {.width = option_int(o, "width"),
                                .heads = option_int(o, "heads"),
                                .layers = option_int(o, "layers"),
                                .batch = option_int(o, "batch")};
    char title[128], layers[48];
    for (int k = 0; k < c->kinds; k++) {
        if (!option_flag(o, "quiet")) fprintf(stderr, "%s\n", c->kind[k]->name);
        compare_kind(o, c, k, &sizes);
    }
    if (heed_cancelled(cx)) return EXIT_FAILED;
    if (option_flag(o, "json"))
        print_json(cx, c);
    else if (!pictures_take_standard(o))
        print_tables(c);
    const char *const csv = option_text(o, "csv");
    if (csv && write_csv(cx, c, csv)) pictures_report(o, csv, "all numbers");
    if (!pictures_asked(o)) return EXIT_DONE;
    snprintf(title, sizeof title, "Attention and what is cheaper: %s of width %lld, batch %lld",
             text_count(sizes.layers, "layer", "layers", layers), (long long)sizes.width, (long long)sizes.batch);
    heed_figure *const f = compare_draw(cx, c, title);
    pictures_write(o, f, "time and memory against the length");
    heed_figure_free(f);
    return EXIT_DONE;
}

static int run(int argc, char **argv) {
    struct options *const o = options_read("compare-attention", options, argc, argv, 0, 0, "");
    static struct comparison c;
    if (!o) return EXIT_USAGE;
    int status = EXIT_USAGE;
    for (double *value = &c.cost[0][0][0][0], *end = value + sizeof c.cost / sizeof *value; value < end; value++)
        *value = (double)NAN;
    if (option_int(o, "width") % option_int(o, "heads") != 0)
        cli_error(EXIT_USAGE, "compare-attention: --heads: %lld does not divide the width, %lld",
                  (long long)option_int(o, "heads"), (long long)option_int(o, "width"));
    else if (pictures_fit(o) && read_lengths(option_text(o, "lengths"), &c) &&
             read_kinds(option_text(o, "kinds"), &c)) {
        heed_ctx *const cx = option_writable(o, "png svg pdf csv") ? options_open(o) : NULL;
        status = cx ? options_close(o, cx, compare(o, cx, &c)) : EXIT_FAILED;
    }
    options_free(o);
    return status;
}

const struct command compare_attention_command = {
    .name = "compare-attention",
    .summary = "time and memory against length, all kinds",
    .about =
        "Measures models of one layer and equal width, of exact attention (the body of BERT) and of each cheaper kind: "
        "forward, and a training step (forward, backward and the update). Memory is planned, byte for byte; time is "
        "the best of several runs. Prints a table for each, with the exponent of the length by which the cost grows "
        "between 4096 tokens (or the last length but one, where that is less) and the longest measured, and the length "
        "from which on a kind is below exact attention. "
        "What exceeds --memory or --max-seconds is left out; nothing is extrapolated.",
    .options = options,
    .examples = "heed compare-attention --png attention.png --csv attention.csv\n"
                "heed compare-attention --kinds exact,fnet --lengths 512,1024,2048 --width 128\n"
                "heed compare-attention --memory 4G --max-seconds 20 --threads 2 --json\n",
    .run = run,
};
