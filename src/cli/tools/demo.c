/* heed demo: the main job, end to end. A grammar writes English sentences with their German; a Transformer learns to
 * translate them while you watch; then it translates sentences that it has never seen, and shows where "it" looks. */
#include "base/file.h"
#include "base/profile.h"
#include "cli/core/options.h"
#include "cli/core/program.h"
#include "cli/core/progress.h"
#include "cli/inspect/attend.h"
#include "data/data.h"
#include "heed/task.h"
#include "model/core/directory.h"
#include "task/tables/table_data.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define PAIRS    100000
#define PER_STEP 120 /* pairs of a batch, about: a short run needs no more */
#define SHORT    100 /* steps of a run that is a quick look: it is measured on FEW sentences */
#define FEW      40
#define ASIDE    300 /* pairs to validate with, and of pronouns */
#define TESTED   500
#define STEPS    1250
#define BATCH    2048 /* tokens */
#define LONGEST  64   /* tokens of a sentence to train on */
#define PIECES   1500
#define LEARNING 0.004
#define CASUAL   0.15 /* share of sentences to train on without capital or stop, as people type them */

enum { TRAIN, VALID, TEST, PRONOUN, SETS };
static const char *const set_names[SETS] = {"train", "val", "test", "pronoun"};

/* clang-format off */
static const heed_field options[] = {
    {.name = "out", .letter = 'o', .kind = HEED_FIELD_FILE, .standard = "heed-demo", .value = "DIR",
     .help = "where the corpus, the model and the pictures go"},
    {.name = "steps", .kind = HEED_FIELD_INT, .value = "N", .low = 1, .high = 1e6,
     .help = "number of updates; fewer give a quicker look at a worse translator"},
    {.name = "force", .letter = 'f', .help = "overwrite a model and a corpus in DIR"},
    {.name = NULL},
};
/* clang-format on */

struct demo {
    const struct options *o;
    heed_ctx *cx;
    const char *out;
    char model_dir[PATH_ROOM];
    heed_preprocessing preprocessing;
    heed_lines natural[2]; /* the pronoun sentences as they are */
    heed_lines lines[SETS][2];
    heed_pairs pairs[SETS];
    heed_tokenizer *tokens;
    heed_model *model;
    struct progress progress;
    heed_loop_state state;
    int64_t steps, sizes[SETS]; /* pairs */
};

/* ---- the corpus ---- */

static bool write_lines(struct demo *d, const char *set, const char *language, const heed_lines *lines) {
    char name[64], path[PATH_ROOM];
    snprintf(name, sizeof name, "corpus/%s.%s", set, language);
    struct file_writer *w = directory_path(d->cx, d->out, name, path) ? file_write_open(d->cx, path) : NULL;
    for (int64_t i = 0; w && i < lines->count; i++) {
        file_write(w, heed_line_text(lines, i), heed_line_size(lines, i));
        file_write(w, "\n", 1);
    }
    return w && file_write_commit(w);
}

static bool make_corpus(struct demo *d) {
    char path[PATH_ROOM];
    if (!directory_path(d->cx, d->out, "corpus", path) || !directory_make(d->cx, path)) return false;
    for (int set = 0; set < SETS && !heed_failed(d->cx); set++) {
        const heed_grammar grammar = {.seed = heed_seed(d->cx) + (uint64_t)set,
                                      .part = set == TRAIN ? HEED_GRAMMAR_TRAIN : HEED_GRAMMAR_HELD_OUT,
                                      .kind = set == PRONOUN ? HEED_GRAMMAR_PRONOUN : HEED_GRAMMAR_ANY,
                                      .casual = set == TRAIN ? CASUAL : 0};
        const struct profile_mark mark = profile_begin(d->cx);
        heed_grammar_lines(d->cx, &grammar, 0, d->sizes[set], &d->lines[set][0], &d->lines[set][1]);
        profile_end(d->cx, mark, "write sentences", PROFILE_FORWARD);
        if (heed_failed(d->cx)) break;
        write_lines(d, set_names[set], d->preprocessing.from, &d->lines[set][0]);
        write_lines(d, set_names[set], d->preprocessing.to, &d->lines[set][1]);
    }
    if (heed_failed(d->cx)) return false;
    printf("1. A grammar of ours writes %lld English sentences with their German. Articles, endings, the place of\n"
           "   verbs and the choice between er, sie and es depend on other words, often far away:\n\n",
           (long long)d->sizes[TRAIN]);
    for (int64_t i = 0; i < 3; i++)
        printf("     %s\n     %s\n\n", heed_line_text(&d->lines[TRAIN][0], i), heed_line_text(&d->lines[TRAIN][1], i));
    fflush(stdout);
    return true;
}

static bool prepare(struct demo *d) {
    heed_ctx *cx = d->cx;
    for (int set = 0; set < SETS; set++)
        for (int side = 0; side < 2; side++)
            if (!heed_parallel_preprocess(cx, &d->preprocessing, (heed_text_side)side, &d->lines[set][side]))
                return false;
    const heed_lines *texts[] = {&d->lines[TRAIN][0], &d->lines[TRAIN][1]};
    d->tokens = heed_vocabulary_train(cx, texts, 2, HEED_TOKENS_BPE, PIECES);
    const heed_pairs_opts to_train = {.skip_empty = true, .max_length = LONGEST};
    for (int set = 0; set < SETS && !heed_failed(cx); set++)
        heed_pairs_encode(cx, &(heed_parallel_text){&d->lines[set][0], &d->lines[set][1], d->tokens, d->tokens},
                          set == TRAIN ? &to_train : NULL, &d->pairs[set]);
    return !heed_failed(cx);
}

/* ---- the training ---- */

static bool make_model(struct demo *d) {
    char size[40];
    snprintf(size, sizeof size, "vocab_size=%lld", (long long)heed_tokenizer_size(d->tokens));
    const char *const settings[] = {size,
                                    "d_model=128",
                                    "encoder_layers=2",
                                    "decoder_layers=2",
                                    "encoder_attention_heads=4",
                                    "decoder_attention_heads=4",
                                    "encoder_ffn_dim=256",
                                    "decoder_ffn_dim=256",
                                    "max_position_embeddings=128",
                                    "dropout=0",
                                    "init_std=0.0884"};
    d->model = heed_model_new(d->cx, heed_family_find("transformer"), settings, sizeof settings / sizeof *settings,
                              heed_seed(d->cx));
    return d->model && heed_preprocessing_put(d->cx, heed_model_config(d->model), &d->preprocessing) &&
           directory_make(d->cx, d->model_dir) && heed_tokenizer_save(d->cx, d->tokens, d->model_dir);
}

static bool on_update(void *user, const heed_loop_state *state) {
    struct demo *d = user;
    progress_show(&d->progress, state);
    return !interrupted();
}

static bool train(struct demo *d) {
    const heed_translation_opts opts = {.train = {&d->pairs[TRAIN], NULL},
                                        .valid = {&d->pairs[VALID], &d->lines[VALID][1]},
                                        .test = {&d->pairs[TEST], &d->lines[TEST][1]},
                                        .target = d->tokens,
                                        .tokens = BATCH,
                                        .pad = heed_vocabulary_pad(d->cx, d->tokens),
                                        .seed = heed_seed(d->cx),
                                        .bleu.tokens = HEED_BLEU_NONE};
    heed_translation *t = heed_translation_new(d->cx, &opts);
    const heed_loop_opts loop = {
        .dir = d->model_dir,
        .trainer = {.optimizer = {.kind = HEED_ADAM, .beta1 = 0.9, .beta2 = 0.98, .eps = 1e-9},
                    .schedule = {.kind = HEED_COSINE, .lr = LEARNING, .warmup = d->steps / 10}},
        .steps = d->steps,
        .seed = heed_seed(d->cx),
        .source = heed_translation_source(t),
        .evaluate_every = (d->steps + 2) / 3,
        .report = on_update,
        .user = d};
    printf(
        "2. A Transformer with 2 + 2 layers of 4 heads, 128 wide, %lld word pieces, %lld weights, learns from them:\n",
        (long long)heed_tokenizer_size(d->tokens), (long long)heed_params_size(heed_model_params(d->model)));
    fflush(stdout);
    progress_begin(&d->progress, option_flag(d->o, "quiet"), "tokens", heed_metric_find("bleu"));
    options_train(d->cx);
    const heed_loop_end end = t ? heed_loop_run(d->cx, d->model, &loop, &d->state) : HEED_LOOP_FAILED;
    if (end == HEED_LOOP_DONE) progress_end(&d->progress, &d->state);
    if (end == HEED_LOOP_STOPPED) {
        if (d->progress.open) fputc('\n', stderr);
        fprintf(stderr, "heed: demo: stopped\n");
    }
    heed_translation_free(d->cx, t);
    return end == HEED_LOOP_DONE;
}

/* ---- what it has learnt ---- */

/* Translations of n lines as text, of ids or of natural text. */
static bool translate(struct demo *d, const heed_ids *source, int64_t n, heed_lines *found) {
    heed_translated ids = {0};
    heed_string text = {0};
    bool ok =
        heed_translate_ids(d->cx, d->model, source, n, &(heed_generate_opts){.beams = 5, .length_penalty = 1}, &ids);
    for (int64_t i = 0; ok && i < n; i++)
        ok = heed_translation_text(d->cx, &d->preprocessing, d->tokens, &ids.ids[i], false, &text) &&
             heed_string_put(d->cx, &text, "\n", 1);
    ok = ok && heed_lines_cut(d->cx, &text, found);
    heed_string_free(d->cx, &text);
    heed_translated_free(d->cx, &ids);
    return ok;
}

static bool measure(struct demo *d) {
    const heed_pairs *p = &d->pairs[PRONOUN];
    heed_ids source[ASIDE];
    heed_lines found = {0};
    for (int64_t i = 0; i < p->n; i++) source[i] = heed_pair_source(p, i);
    if (!translate(d, source, p->n, &found)) return false;
    int64_t right = 0;
    for (int64_t i = 0; i < p->n; i++) {
        const char *said = heed_grammar_pronoun(heed_line_text(&found, i)),
                   *meant = heed_grammar_pronoun(heed_line_text(&d->natural[1], i));
        right += said && meant && strcmp(said, meant) == 0;
    }
    heed_lines_free(d->cx, &found);
    printf("\n3. Sentences that it has never seen: BLEU %.1f (greedy decoding) on %lld of them (%.0f s of training).\n",
           d->state.test.metric, (long long)d->sizes[TEST], d->state.seconds);
    printf("   \"it\" as er, sie or es: right in %lld of %lld sentences, %.1f %%.\n\n", (long long)right,
           (long long)p->n, 100.0 * (double)right / (double)p->n);
    return true;
}

static bool show_sentences(struct demo *d) {
    heed_ids source[GRAMMAR_SHOWN] = {{0}};
    heed_lines found = {0};
    heed_string text = {0};
    bool ok = true;
    for (int i = 0; ok && i < GRAMMAR_SHOWN; i++) {
        text.size = 0;
        ok =
            heed_preprocess(d->cx, &d->preprocessing, HEED_SOURCE, grammar_shown[i], strlen(grammar_shown[i]), &text) &&
            heed_encode(d->cx, d->tokens, text.s, text.size, true, &source[i]);
    }
    ok = ok && translate(d, source, GRAMMAR_SHOWN, &found);
    for (int i = 0; ok && i < GRAMMAR_SHOWN; i++)
        printf("     %s\n     %s\n\n", grammar_shown[i], heed_line_text(&found, i));
    for (int i = 0; i < GRAMMAR_SHOWN; i++) heed_ids_free(d->cx, &source[i]);
    heed_lines_free(d->cx, &found);
    heed_string_free(d->cx, &text);
    return ok;
}

/* ---- where "it" looks ---- */

enum { TIRED, WIDE }; /* of grammar_shown */
static const char *const pages[] = {"it-tired.html", "it-wide.html"};

static int64_t place_of(const heed_axis *axis, const char *word) {
    for (int64_t i = 0; i < axis->n; i++)
        if (strcmp(axis->labels[i], word) == 0) return i;
    return -1;
}

static int site_of(const struct attend *a, const char *name) {
    for (int i = 0; i < a->found->n; i++)
        if (strcmp(a->found->sites[i].name, name) == 0) return i;
    return 0;
}

static const heed_axis *source_of(const struct attend *a) { return a->found->sites[site_of(a, "encoder")].queries; }
static const heed_axis *target_of(const struct attend *a) { return a->found->sites[site_of(a, "cross")].queries; }

/* Where to look: the decoder's step that writes the pronoun behind "weil", across to the source. Of a translator that
 * has not learnt to write it, "it" itself in the encoder. */
struct view {
    int site, layer;
    int64_t head, row[2];
    bool across;
};

static const float *row_of(const struct attend *a, const struct view *v, int which) {
    const heed_capture_map *m = &a[which].found->sites[v->site].maps[v->layer];
    return m->weights + (v->head * m->rows + v->row[which]) * m->keys;
}

/* The layer and head in which the two sentences differ most. */
static void choose_head(const struct attend a[2], struct view *v) {
    const heed_attended_site *site = &a[TIRED].found->sites[v->site];
    struct view at = *v;
    double most = -1;
    for (at.layer = 0; at.layer < site->n_maps; at.layer++)
        for (at.head = 0; at.head < site->maps[at.layer].heads; at.head++) {
            const float *x = row_of(a, &at, TIRED), *y = row_of(a, &at, WIDE);
            double apart = 0;
            for (int64_t j = 0; j < site->maps[at.layer].keys; j++) apart += fabs((double)x[j] - (double)y[j]);
            if (apart > most) most = apart, *v = at;
        }
}

static struct view view_of(const struct attend a[2]) {
    struct view v = {.site = site_of(&a[TIRED], "cross"), .across = true};
    for (int k = 0; k < 2; k++) v.row[k] = place_of(target_of(&a[k]), "weil");
    if (v.row[TIRED] < 0 || v.row[WIDE] < 0) {
        v = (struct view){.site = site_of(&a[TIRED], "encoder")};
        for (int k = 0; k < 2; k++) v.row[k] = place_of(source_of(&a[k]), "it");
    }
    if (v.row[TIRED] >= 0 && v.row[WIDE] >= 0) choose_head(a, &v);
    return v;
}

static bool write_page(struct demo *d, const struct attend *a, int which, const struct view *v) {
    const char *const said[] = {a->found->text, a->found->target};
    char path[PATH_ROOM];
    const heed_attention_page_opts opts = {.title = "heed demo: where \"it\" looks",
                                           .lines = said,
                                           .n_lines = 2,
                                           .site = v->site,
                                           .layer = v->layer,
                                           .head = v->head,
                                           .single = true};
    return directory_path(d->cx, d->out, pages[which], path) &&
           heed_attention_page(d->cx, path, a->found->sites, a->found->n, &opts);
}

#define BAR 24 /* cells of a weight of 1 */

/* A word a line, with its share in either sentence. */
static void print_bars(const char *const *keys, const float *weights, int64_t n) {
    printf("     %-12s %-*s   %s\n", "", BAR + 5, "... too tired", "... too wide");
    for (int64_t i = 0; i < n; i++) {
        printf("     %-12s", keys[i]);
        for (int k = 0; k < 2; k++) {
            const float w = weights[k * n + i];
            const int full = (int)(w * BAR + 0.5f);
            printf("%s%3.0f %% ", k ? "  " : " ", 100 * (double)w);
            for (int j = 0; j < BAR; j++) fputs(j < full ? "\u2588" : k ? "" : " ", stdout);
        }
        putchar('\n');
    }
    putchar('\n');
}

/* Both sentences have their words in the same places, but for the last one: two rows of one map. */
static bool draw_it(struct demo *d, const struct attend a[2], const struct view *v) {
    const heed_axis *const source = source_of(&a[TIRED]);
    const int64_t n = source->n;
    const char *const names[] = {v->across ? "es: tired" : "it: tired", v->across ? "sie: wide" : "it: wide"};
    float *weights = heed_mem_new(d->cx, 2 * (size_t)n * sizeof *weights);
    const char **keys = heed_mem_new(d->cx, (size_t)n * sizeof *keys);
    char path[PATH_ROOM], title[96];
    if (!weights || !keys) return false;
    for (int k = 0; k < 2; k++) memcpy(weights + k * n, row_of(a, v, k), (size_t)n * sizeof *weights);
    for (int64_t i = 0; i < n; i++) keys[i] = source->labels[i];
    const int64_t last = place_of(source, "tired");
    if (last >= 0) keys[last] = "tired/wide";
    const heed_capture_map map = {.site = a[TIRED].found->sites[v->site].name,
                                  .layer = v->layer,
                                  .batch = 1,
                                  .heads = 1,
                                  .rows = 2,
                                  .keys = n,
                                  .weights = weights};
    const heed_attention_look look = {.query_names = names, .key_names = keys, .numbers = true};
    print_bars(keys, weights, n);
    heed_figure *f = heed_figure_new(d->cx, 0, 0);
    heed_panel *p = heed_figure_panel(f, 0, 0);
    snprintf(title, sizeof title, "Where \"it\" looks: %s attention, layer %d, head %lld",
             a[TIRED].found->sites[v->site].name, v->layer, (long long)v->head);
    heed_panel_title(p, title);
    heed_plot_attention_map(p, &map, 0, &look);
    const bool ok = directory_path(d->cx, d->out, "it.png", path) && heed_figure_write(f, path);
    heed_figure_free(f);
    heed_mem_free(d->cx, weights);
    heed_mem_free(d->cx, keys);
    return ok && !heed_failed(d->cx);
}

static bool look(struct demo *d) {
    const struct profile_mark mark = profile_begin(d->cx);
    struct attend a[2] = {{.cx = NULL}, {.cx = NULL}};
    bool ok = true;
    for (int k = 0; ok && k < 2; k++)
        ok = attend_load(d->cx, d->model_dir, &a[k]) &&
             attend_read(&a[k], &(struct attend_given){.text = grammar_shown[k]});
    if (ok) {
        const struct view v = view_of(a);
        printf("4. Where \"it\" looks: %s, in the head in which the two sentences\n"
               "   differ most (%s attention, layer %d, head %lld):\n\n",
               v.across ? "what the decoder looks at as it writes es or sie" : "the word it in the encoder",
               a[TIRED].found->sites[v.site].name, v.layer, (long long)v.head);
        if (source_of(&a[TIRED])->n == source_of(&a[WIDE])->n && v.row[TIRED] >= 0 && v.row[WIDE] >= 0)
            ok = draw_it(d, a, &v);
        for (int k = 0; ok && k < 2; k++) ok = write_page(d, &a[k], k, &v);
    }
    if (a[WIDE].cx) attend_close(&a[WIDE]);
    if (a[TIRED].cx) attend_close(&a[TIRED]);
    profile_end(d->cx, mark, "draw attention", PROFILE_FORWARD);
    return ok && !heed_failed(d->cx);
}

static void say_next(const struct demo *d) {
    printf("written: %s/it.png, %s/it-tired.html, %s/it-wide.html (open them in a browser)\n\n", d->out, d->out,
           d->out);
    char corpus[PATH_ROOM];
    snprintf(corpus, sizeof corpus, "%.*s/corpus", PATH_ROOM - 16, d->out);
    fputs("Next:\n  echo 'The cat sleeps because it is tired.' | ", stdout);
    cli_print_command(stdout, "translate", d->model_dir, (char *)NULL);
    fputs("\n  ", stdout);
    cli_print_command(stdout, "attend", d->model_dir, "The dog sees the cat.", "--html", "look.html", (char *)NULL);
    fputs("\n  ", stdout);
    cli_print_command(stdout, "train", "translate", "--data", corpus, "--from", "en", "--to", "de", "--moses", "--set",
                      "d_model=128", "--steps", "300", "--out", "mine", (char *)NULL);
    fputs("   (some minutes; without --steps hours)\n  ", stdout);
    cli_print_command(stdout, "lesson", (char *)NULL);
    fputs("   (experiments that explain themselves)\n", stdout);
}

/* ---- the command ---- */

/* What is in DIR is not to be lost by a slip: neither a model nor a corpus. */
static bool may_write(const struct demo *d) {
    static const char *const kept[] = {"model.safetensors", "model/model.safetensors", "model/checkpoint.safetensors",
                                       "corpus/train.en"};
    if (option_flag(d->o, "force")) return true;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (directory_has(d->out, kept[i])) {
            cli_error(EXIT_FAILED, "%s: holds %s already; --force overwrites it", d->out, kept[i]);
            return false;
        }
    return true;
}

static void set_sizes(struct demo *d) {
    d->steps = option_given(d->o, "steps") ? option_int(d->o, "steps") : STEPS;
    const bool quick = d->steps < SHORT;
    d->sizes[TRAIN] = d->steps < PAIRS / PER_STEP ? d->steps * PER_STEP + 1000 : PAIRS;
    d->sizes[VALID] = d->sizes[PRONOUN] = quick ? FEW : ASIDE;
    d->sizes[TEST] = quick ? FEW : TESTED;
}

static bool show(struct demo *d) {
    set_sizes(d);
    const heed_grammar pronouns = {
        .seed = heed_seed(d->cx) + PRONOUN, .part = HEED_GRAMMAR_HELD_OUT, .kind = HEED_GRAMMAR_PRONOUN};
    if (!directory_path(d->cx, d->out, "model", d->model_dir) || !make_corpus(d) ||
        !heed_grammar_lines(d->cx, &pronouns, 0, d->sizes[PRONOUN], &d->natural[0], &d->natural[1]) || !prepare(d) ||
        !make_model(d) || !train(d))
        return false;
    heed_set_grad(d->cx, false);
    if (!measure(d) || !show_sentences(d) || !look(d)) return false;
    say_next(d);
    return true;
}

static void free_demo(struct demo *d) {
    heed_model_free(d->cx, d->model);
    heed_tokenizer_free(d->cx, d->tokens);
    for (int set = 0; set < SETS; set++) {
        heed_pairs_free(d->cx, &d->pairs[set]);
        heed_parallel_free(d->cx, d->lines[set]);
    }
    heed_parallel_free(d->cx, d->natural);
}

static int run(int argc, char **argv) {
    struct options *o = options_read("demo", options, argc, argv, 0, 0, "");
    if (!o) return EXIT_USAGE;
    struct demo d = {.o = o, .out = option_text(o, "out"), .preprocessing = {.from = "en", .to = "de", .moses = true}};
    int status = EXIT_FAILED;
    if (may_write(&d) && (d.cx = options_open(o))) {
        const int lock = directory_claim(d.cx, d.out, NULL);
        if (lock >= 0) show(&d);
        directory_unlock(lock);
        free_demo(&d);
        status = options_close(o, d.cx, EXIT_DONE);
    }
    options_free(o);
    return status;
}

const struct command demo_command = {
    .name = "demo",
    .summary = "the main job, end to end, on what heed carries",
    .about = "Trains a Transformer to translate from English to German, in about a minute and a half on two cores, on "
             "sentences that a grammar writes; measures it on sentences that it has never seen; translates some, and "
             "shows where \"it\" looks when the animal was too tired, or the street too wide. DIR receives the corpus, "
             "the model, a picture and pages for the browser; 'heed translate' and 'heed attend' work on the model "
             "afterwards. Needs no files and no network.",
    .options = options,
    .examples = "heed demo\nheed demo --out demo --steps 300\nheed demo --force\n",
    .run = run,
};
