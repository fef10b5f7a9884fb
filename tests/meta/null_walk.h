/* Arguments for meta/null_walk that are not NULL: small and valid where that is easy. They lie in memory of heed's own,
 * so that functions that free may be given them, and nobody frees the rest: the process that makes them ends soon.
 * null_walk.awk looks here for which types there is a function. */
#ifndef TESTS_NULL_WALK_H
#define TESTS_NULL_WALK_H

#include "heed/heed.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static void *nothing(heed_ctx *cx, size_t size) {
    void *p = heed_mem_new(cx, size);
    return p ? memset(p, 0, size) : NULL;
}

static void *filled(heed_ctx *cx, const void *value, size_t size) {
    char *p = heed_mem_new(cx, 4096);
    for (size_t i = 0; p && i < 4096 / size; i++) memcpy(p + i * size, value, size);
    return p;
}

static void *copied(heed_ctx *cx, const void *value, size_t size) {
    void *p = heed_mem_new(cx, size);
    return p ? memcpy(p, value, size) : NULL;
}

static char word[2] = "a"; /* what every text is: a name that there is not, or "." for a directory */
static char *some_char(heed_ctx *cx) { return filled(cx, word, 2); }
static void *some_void(heed_ctx *cx) { return nothing(cx, 4096); }
static float *some_float(heed_ctx *cx) { return filled(cx, &(float){0.5F}, sizeof(float)); }
static double *some_double(heed_ctx *cx) { return filled(cx, &(double){0.5}, sizeof(double)); }
static int *some_int(heed_ctx *cx) { return nothing(cx, 4096); }
static bool *some_bool(heed_ctx *cx) { return nothing(cx, 4096); }
static size_t *some_size_t(heed_ctx *cx) { return nothing(cx, 4096); }
static uint8_t *some_uint8_t(heed_ctx *cx) { return nothing(cx, 4096); }
static int32_t *some_int32_t(heed_ctx *cx) { return nothing(cx, 4096); }
static int64_t *some_int64_t(heed_ctx *cx) { return filled(cx, &(int64_t){1}, sizeof(int64_t)); }

static void no_task(void *arg, int64_t task, void *scratch) { (void)arg, (void)task, (void)scratch; }
static heed_task_fn handle_heed_task_fn(heed_ctx *cx) { return (void)cx, no_task; }
static heed_tensor *no_again(heed_ctx *cx, const void *own, heed_tensor *const *in) { return (void)cx, (void)own, *in; }
static heed_recompute_fn handle_heed_recompute_fn(heed_ctx *cx) { return (void)cx, no_again; }

/* ---- tensors, parameters, models ---- */

static heed_tensor *some_heed_tensor(heed_ctx *cx) { return heed_full(cx, 0.5F, 2, (const int64_t[]){2, 2}); }

static heed_cache *some_heed_cache(heed_ctx *cx) {
    return heed_cache_new(cx, &(heed_cache_opts){2, 1, 1, 2, 2, HEED_CACHE_GROWING, 4});
}

static const heed_family *some_heed_family(heed_ctx *cx) { return (void)cx, heed_family_find("gpt2"); }
static const heed_head *some_heed_head(heed_ctx *cx) { return heed_head_for(some_heed_family(cx), "lm"); }

static heed_model *some_heed_model(heed_ctx *cx) {
    static const char *const settings[] = {"vocab_size=262", "n_positions=8", "n_embd=4", "n_layer=1", "n_head=1"};
    return heed_model_new(cx, some_heed_family(cx), settings, 5, 1);
}

static heed_params *some_heed_params(heed_ctx *cx) { return heed_model_params(some_heed_model(cx)); }
static heed_param *some_heed_param(heed_ctx *cx) { return heed_params_at(some_heed_params(cx), 0); }

static heed_trainer *some_heed_trainer(heed_ctx *cx) {
    return heed_trainer_new(cx, some_heed_params(cx), &(heed_trainer_opts){.schedule.lr = 1});
}

/* ---- text ---- */

static heed_string *some_heed_string(heed_ctx *cx) {
    heed_string *s = nothing(cx, sizeof *s);
    heed_string_put(cx, s, "a b\n", 4);
    return s;
}

static heed_ids *some_heed_ids(heed_ctx *cx) {
    heed_ids *ids = nothing(cx, 2 * sizeof *ids);
    heed_ids_put(cx, ids, 1);
    heed_ids_put(cx, ids, 1);
    return ids;
}

static heed_lines *some_heed_lines(heed_ctx *cx) {
    heed_lines *lines = nothing(cx, 2 * sizeof *lines);
    heed_lines_cut(cx, some_heed_string(cx), lines);
    heed_lines_cut(cx, some_heed_string(cx), lines ? lines + 1 : NULL);
    return lines;
}

static heed_tokenizer *some_heed_tokenizer(heed_ctx *cx) { return heed_tokenizer_bytes(cx); }

static heed_generator *some_heed_generator(heed_ctx *cx) {
    const heed_generator g = {.model = some_heed_model(cx), .tokens = {some_heed_tokenizer(cx)}, .positions = 8};
    return copied(cx, &g, sizeof g);
}

static heed_session *some_heed_session(heed_ctx *cx) {
    heed_session *s = heed_session_open(cx, some_heed_model(cx), NULL, 1);
    heed_session_append(cx, s, some_heed_ids(cx));
    return s;
}

static heed_text_reader *some_heed_text_reader(heed_ctx *cx) {
    heed_text_reader *reader = nothing(cx, sizeof *reader);
    heed_text_reader_of(cx, some_heed_model(cx), some_heed_tokenizer(cx), 0, reader);
    return reader;
}

static heed_text_model *some_heed_text_model(heed_ctx *cx) {
    const heed_text_model m = {some_heed_model(cx), some_heed_tokenizer(cx), *some_heed_text_reader(cx), 0, NULL, 0, 0};
    return copied(cx, &m, sizeof m);
}

static heed_translator *some_heed_translator(heed_ctx *cx) {
    const heed_translator t = {.model = some_heed_model(cx), .tokens = {some_heed_tokenizer(cx)}};
    return copied(cx, &t, sizeof t);
}

static heed_attended *some_heed_attended(heed_ctx *cx) {
    heed_tokenizer *const tokens[] = {some_heed_tokenizer(cx), NULL};
    return heed_attend(cx, some_heed_model(cx), tokens, &(heed_attend_input){.text = "ab"});
}

static heed_pairs *some_heed_pairs(heed_ctx *cx) {
    const heed_lines *lines = some_heed_lines(cx);
    const heed_tokenizer *tokens = some_heed_tokenizer(cx);
    heed_pairs *pairs = nothing(cx, sizeof *pairs);
    heed_pairs_encode(cx, &(heed_parallel_text){lines, lines, tokens, tokens}, NULL, pairs);
    return pairs;
}

static heed_translation *some_heed_translation(heed_ctx *cx) {
    const heed_translation_opts opts = {
        .train.pairs = some_heed_pairs(cx), .target = some_heed_tokenizer(cx), .tokens = 8};
    return heed_translation_new(cx, copied(cx, &opts, sizeof opts));
}

static heed_words *some_heed_words(heed_ctx *cx) { return heed_words_parse(cx, "words", "2 2\na 1 0\nb 0 1\n", 16); }

static heed_words_trainer *some_heed_words_trainer(heed_ctx *cx) {
    return heed_words_trainer_new(cx, "text", some_heed_lines(cx), &(heed_words_opts){.width = 2, .least = 1});
}

static heed_ngram *some_heed_ngram(heed_ctx *cx) {
    static const char *const names[] = {"a", "b"};
    const heed_ngram_opts opts = {.order = 2, .smoothing = HEED_NGRAM_KNESER_NEY, .discount = 0.5};
    return heed_ngram_train(cx, some_heed_ids(cx), (const int64_t[]){0, 2}, 1, names, 2, &opts, NULL);
}

static heed_hmm *some_heed_hmm(heed_ctx *cx) {
    heed_hmm *h = heed_hmm_new(cx, 2, 2);
    heed_hmm_draw(h, 1);
    return h;
}

static const heed_text_task *some_heed_text_task(heed_ctx *cx) { return (void)cx, heed_text_task_find("classify"); }

static heed_task_data *some_heed_task_data(heed_ctx *cx) {
    FILE *f = fopen("table.tsv", "w");
    if (f && fputs("text\tlabel\na b\tx\nc d\ty\n", f) >= 0) fclose(f);
    return heed_task_read(cx, some_heed_text_task(cx), "table.tsv", &(heed_task_opts){0});
}

/* ---- files, data, pictures ---- */

static heed_json handle_heed_json(heed_ctx *cx) { return heed_json_parse(cx, "json", "{\"a\": 1}", 8); }
static heed_table *some_heed_table(heed_ctx *cx) {
    return heed_table_parse(cx, "table", "a,b\n1,2\n", 8, &(heed_table_options){0});
}

static heed_safetensors *some_heed_safetensors(heed_ctx *cx) {
    static const float numbers[2];
    const heed_array array = {.name = "a", .dtype = HEED_F32, .rank = 1, .shape = {2}, .data = numbers};
    heed_safetensors_write(cx, "some.safetensors", &array, 1, NULL, 0);
    return heed_safetensors_open(cx, "some.safetensors");
}

static heed_data *some_heed_data(heed_ctx *cx) { return heed_data_digits(cx, 1, 2); }

static heed_dataset *some_heed_dataset(heed_ctx *cx) {
    heed_dataset *set = nothing(cx, sizeof *set);
    heed_data_columns(cx, some_heed_data(cx), set);
    return set;
}

static heed_batches *some_heed_batches(heed_ctx *cx) {
    return heed_batches_open(cx, some_heed_dataset(cx), &(heed_batches_opts){.batch = 1});
}

static heed_source *some_heed_source(heed_ctx *cx) {
    const heed_source_opts opts = {.train = some_heed_dataset(cx), .batch = 1, .metrics = "accuracy"};
    return heed_source_new(cx, copied(cx, &opts, sizeof opts));
}

static heed_examples *some_heed_examples(heed_ctx *cx) {
    return heed_examples_new(cx, &(heed_examples_opts){.train = some_heed_data(cx), .batch = 1});
}

static heed_history *some_heed_history(heed_ctx *cx) {
    static const char table[] = "y\n1\n2\n1\n2\n1\n2\n1\n2\n1\n2\n1\n2\n1\n2\n1\n2\n1\n2\n1\n2\n";
    return heed_history_parse(cx, "history", table, sizeof table - 1, &(heed_history_opts){.time = "none"});
}

static heed_forecasting *some_heed_forecasting(heed_ctx *cx) {
    return heed_forecasting_new(cx, some_heed_history(cx),
                                &(heed_forecasting_opts){.context = 1, .horizon = 1, .batch = 1, .metrics = "mse"});
}

static heed_writings *some_heed_writings(heed_ctx *cx) {
    heed_writings *w = nothing(cx, sizeof *w);
    for (int i = 0; i < 2; i++) heed_writings_digits(cx, 1, i, 0, "1", w); /* rows are 1 */
    return w;
}

static heed_handwriting_set *some_heed_handwriting_set(heed_ctx *cx) {
    heed_handwriting_set *set = nothing(cx, sizeof *set);
    heed_handwriting_columns(cx, some_heed_writings(cx), "1", 0, set);
    return set;
}

static heed_chorales *some_heed_chorales(heed_ctx *cx) {
    heed_chorales *c = nothing(cx, sizeof *c);
    FILE *f = fopen("chorales.json", "w");
    if (f && fputs("[[[74, 70, 65, 58], [74, 70, 65, 58], [75, 70, 58, 55]]]", f) >= 0) fclose(f);
    heed_chorales_read(cx, "chorales.json", NULL, c);
    return c;
}

static heed_image *some_heed_image(heed_ctx *cx) {
    heed_image *image = nothing(cx, sizeof *image);
    heed_image_new(cx, 2, 2, 3, image);
    return image;
}

static heed_object_set *some_heed_object_set(heed_ctx *cx) {
    return heed_object_set_open(cx, "shapes", "train", &(heed_object_set_opts){.count = 2});
}
static heed_caption_set *some_heed_caption_set(heed_ctx *cx) {
    return heed_caption_set_open(cx, "captions", "train", &(heed_caption_set_opts){.count = 2});
}
static heed_caption *some_heed_caption(heed_ctx *cx) {
    heed_caption *c = nothing(cx, sizeof *c);
    heed_caption_parse(cx, "a red circle", c);
    return c;
}
static heed_picture_set *some_heed_picture_set(heed_ctx *cx) { return heed_picture_set_of(cx, some_heed_data(cx)); }

static heed_figure *some_heed_figure(heed_ctx *cx) { return heed_figure_new(cx, 100, 100); }
static heed_panel *some_heed_panel(heed_ctx *cx) { return heed_figure_panel(some_heed_figure(cx), 0, 0); }

#endif
