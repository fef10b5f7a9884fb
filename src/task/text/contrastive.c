/* Texts that belong together: vectors of a pair become alike, those of other pairs in the batch unlike (InfoNCE, van
 * den Oord et al. 2018, with in-batch negatives; MultipleNegativesRankingLoss of sentence-transformers).
 *
 *     u, v (B,C) = mean of the last hidden states of the first and of the second texts, over tokens that are no padding
 *     scores (B,B) = cos(u_i, v_j) / temperature,   loss = cross entropy of row i with class i
 *
 * The model is a body without a head; both texts of a batch run through it, and the loss is computed here. */
#include "base/file.h"
#include "kernel/reduce.h"
#include "model/core/directory.h"
#include "task/answers.h"
#include "task/run.h"
#include "task/task.h"
#include "tensor/engine.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define STANDARD_TEMPERATURE 0.05
#define MEASURED             64 /* pairs at a time: each first text chooses among so many second texts */

/* ---- reading ---- */

static bool read_pairs(heed_ctx *cx, const char *path, const heed_task_opts *opts, heed_task_data *d) {
    heed_table *t = task_table(cx, path, opts);
    if (!t) return false;
    const int64_t n = heed_table_columns(t);
    if (n < 2) heed_fail(cx, HEED_ERR_FORMAT, "%s: one column: two texts are needed, separated by a tab", d->name);
    if (heed_table_rows(t) == 0) heed_fail(cx, HEED_ERR_FORMAT, "%s: there are no pairs", d->name);
    const int64_t text = heed_failed(cx) ? -1 : task_column(cx, d, t, opts->text, 0);
    const int64_t pair = heed_failed(cx) ? -1 : task_column(cx, d, t, opts->pair, 1);
    if (!heed_failed(cx) && text == pair)
        heed_fail(cx, HEED_ERR_USAGE, "%s: text and pair are the same column", d->name);
    const bool ok = !heed_failed(cx) && task_read_texts(cx, t, text, &d->text) &&
                    task_read_texts(cx, t, pair, &d->pair) && task_read_lines(cx, t, d);
    heed_table_close(t);
    return ok;
}

/* ---- encoding ---- */

static void free_room(heed_ctx *cx, heed_encoding *room, heed_ids ids[2]) {
    heed_encoding_free(cx, room);
    for (int side = 0; side < 2; side++) heed_ids_free(cx, &ids[side]);
}

/* The columns of one text, then the same of the other under the names of pair_inputs. */
static const char *const pair_inputs[] = {"pair_input_ids", "pair_token_type_ids"};
#define PAIR_MASK "pair_attention_mask"

static bool encode(heed_ctx *cx, const heed_text_reader *reader, heed_task_data *d) {
    heed_encoding room = {0};
    heed_ids ids[2] = {{0}};
    heed_text_columns(reader, &d->set);
    const int each = d->set.columns;
    heed_text_columns(reader, &d->set);
    for (int k = 0; k < each; k++) d->set.column[each + k].name = pair_inputs[k];
    d->set.column[each].mask = PAIR_MASK;
    for (int64_t i = 0; i < d->text.count && !heed_cancelled(cx); i++) {
        heed_cell cells[HEED_COLUMNS_MAX];
        bool cut = false;
        for (int side = 0; side < 2; side++) {
            const heed_lines *lines = side ? &d->pair : &d->text;
            const heed_text_input text = {.text = heed_line_text(lines, i), .size = heed_line_size(lines, i)};
            if (heed_text_cells(cx, reader, &text, &room, &ids[side], cells + side * each, &cut)) continue;
            heed_fail_in(cx, "%s: line %lld", d->name, (long long)d->line[i]);
        }
        if (heed_failed(cx) || !heed_dataset_add(cx, &d->set, cells)) break;
        d->cut += cut;
    }
    free_room(cx, &room, ids);
    return !heed_failed(cx);
}

/* ---- the loss ---- */

/* The inputs of one side, under the names that the model has for them. */
static bool side_of(heed_ctx *cx, const heed_io *in, bool pair, heed_io *side) {
    static const char *const names[][2] = {
        {"input_ids", "pair_input_ids"}, {"attention_mask", PAIR_MASK}, {"token_type_ids", "pair_token_type_ids"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        heed_tensor *const t = heed_io_get(in, names[i][pair]);
        if (t && !heed_io_put(cx, side, names[i][0], t)) return false;
    }
    return true;
}

/* -> (B,C), of length 1 */
static heed_tensor *vectors_of(heed_ctx *cx, const heed_model *model, const heed_io *in, bool pair) {
    const int time[] = {1}, width[] = {-1};
    heed_io side = {0}, out;
    if (!side_of(cx, in, pair, &side) || !heed_model_forward(cx, model, &side, &out)) return NULL;
    heed_tensor *const h = heed_io_get(&out, "last_hidden_state"), *mask = heed_io_get(&side, "attention_mask");
    if (!h || !mask) {
        heed_fail(cx, HEED_ERR_USAGE, "embed: the model gives no hidden states");
        return NULL;
    }
    mask = heed_reshape(cx, heed_cast(cx, mask, HEED_F32), 3, (int64_t[]){heed_dim(mask, 0), heed_dim(mask, 1), 1});
    heed_tensor *const sum = heed_sum(cx, heed_mul(cx, h, mask), time, 1, false);
    heed_tensor *const mean = heed_div(cx, sum, heed_sum(cx, mask, time, 1, false));
    return heed_div(cx, mean, heed_clamp(cx, heed_norm(cx, mean, 2, width, 1, true), 1e-12f, INFINITY));
}

/* 0, 1, …, n - 1: the second text of pair i belongs to the first of pair i */
static heed_tensor *own_pairs(heed_ctx *cx, int64_t n) {
    heed_tensor *const t = heed_zeros(cx, HEED_I32, 1, &n);
    if (!t || cx->config.dry) return t;
    for (int64_t i = 0; i < n; i++) ((int32_t *)(void *)t->data)[i] = (int32_t)i;
    return t;
}

static bool contrast(heed_ctx *cx, const void *own, const heed_model *model, const heed_io *in, heed_io *out) {
    const heed_task_opts *o = &((const heed_task_data *)own)->opts;
    const double temperature = o->temperature > 0 ? o->temperature : STANDARD_TEMPERATURE;
    *out = (heed_io){0};
    heed_tensor *const u = vectors_of(cx, model, in, false), *const v = vectors_of(cx, model, in, true);
    if (!u || !v) return false;
    heed_tensor *const scores =
        heed_affine(cx, heed_matmul_trans(cx, u, false, v, true), (float)(1 / temperature), 0.0f);
    heed_tensor *const loss =
        heed_cross_entropy(cx, scores, own_pairs(cx, heed_dim(u, 0)), &(heed_cross_entropy_opts){.ignore = false});
    return loss && heed_io_put(cx, out, "logits", scores) && heed_io_put(cx, out, "loss", loss);
}

/* ---- measuring ---- */

static bool take_scores(heed_ctx *cx, void *own, const heed_batch *b, const heed_io *out) {
    const float *scores = heed_f32(heed_contiguous(cx, heed_io_get(out, "logits")));
    if (heed_failed(cx) || cx->config.dry) return !heed_failed(cx);
    for (int64_t i = 0; i < b->n; i++) *(int64_t *)own += kernel_best(scores + i * b->n, b->n) == i;
    return true;
}

static bool measure(heed_ctx *cx, const heed_model *model, const heed_task_data *d, const int64_t *rows, int64_t n,
                    heed_score *score, int32_t *predicted) {
    (void)predicted;
    int64_t right = 0;
    const heed_over_opts opts = {.rows = rows,
                                 .n_rows = rows ? n : 0,
                                 .batch = n < MEASURED ? n : MEASURED,
                                 .take = take_scores,
                                 .own = &right,
                                 .forward = contrast,
                                 .data = d};
    if (!heed_loop_over(cx, model, &d->set, &opts, &score->loss)) return false;
    score->metric = (double)right / (double)n;
    return true;
}

/* ---- sentence-transformers' files ---- */

static bool write_text(heed_ctx *cx, const char *dir, const char *file, const char *text) {
    char path[PATH_ROOM];
    struct file_writer *w = directory_path(cx, dir, file, path) ? file_write_open(cx, path) : NULL;
    if (!w) return false;
    file_write(w, text, strlen(text));
    return file_write_commit(w);
}

static const char modules[] =
    "[\n  {\"idx\": 0, \"name\": \"0\", \"path\": \"\", \"type\": \"sentence_transformers.models.Transformer\"},\n"
    "  {\"idx\": 1, \"name\": \"1\", \"path\": \"1_Pooling\", \"type\": \"sentence_transformers.models.Pooling\"},\n"
    "  {\"idx\": 2, \"name\": \"2\", \"path\": \"2_Normalize\", \"type\": "
    "\"sentence_transformers.models.Normalize\"}\n]\n";

static bool write_files(heed_ctx *cx, const heed_model *model, const heed_text_reader *reader, const char *dir) {
    const heed_text_model m = {.model = (heed_model *)(uintptr_t)model};
    char text[512], path[PATH_ROOM];
    const int64_t width = heed_text_width(cx, &m);
    if (heed_failed(cx) || !directory_path(cx, dir, "1_Pooling", path) || !directory_make(cx, path)) return false;
    snprintf(text, sizeof text,
             "{\n  \"word_embedding_dimension\": %lld,\n  \"pooling_mode_cls_token\": false,\n"
             "  \"pooling_mode_mean_tokens\": true,\n  \"pooling_mode_max_tokens\": false,\n"
             "  \"pooling_mode_mean_sqrt_len_tokens\": false\n}\n",
             (long long)width);
    if (!write_text(cx, dir, POOLING_FILE, text) || !write_text(cx, dir, MODULES_FILE, modules)) return false;
    if (reader->max_length <= 0) return true;
    snprintf(text, sizeof text, "{\n  \"max_seq_length\": %lld,\n  \"do_lower_case\": false\n}\n",
             (long long)reader->max_length);
    return write_text(cx, dir, SENTENCE_FILE, text);
}

const heed_text_task task_pairs = {.name = "embed",
                                   .metrics = "accuracy",
                                   .read = read_pairs,
                                   .encode = encode,
                                   .measure = measure,
                                   .forward = contrast,
                                   .mixes = true,
                                   .write = write_files,
                                   .answer = answer_vector};

/* ---- the task ---- */

/* clang-format off */
static const heed_field fields[] = {
    {.name = "data", .kind = HEED_FIELD_GROUP},
    {.name = "data", .letter = 'd', .kind = HEED_FIELD_FILE, .value = "PATH",
     .help = "a table of pairs of texts (tsv or csv, also .gz), or a directory with train, dev and test files"},
    TEXT_PART_FIELDS("pairs"),
    {.name = "text", .kind = HEED_FIELD_TEXT, .value = "COLUMN",
     .help = "the column of the first text: name or number; by default 1"},
    {.name = "pair", .kind = HEED_FIELD_TEXT, .value = "COLUMN", .help = "the column of the second text; by default 2"},
    {.name = "temperature", .kind = HEED_FIELD_NUMBER, .standard = "0.05", .value = "X", .low = 0.0001, .high = 1000,
     .help = "the cosine similarities are divided by it"},
    TEXT_TRAIN_FIELDS("pairs"),
    {.name = "micro-batch", .kind = HEED_FIELD_INT, .value = "N", .low = 1, .high = 1e9,
     .help = "pairs per backward pass, to save memory; only these are compared with each other"},
    {.name = NULL},
};
/* clang-format on */

static const heed_text_task *const texts[] = {&task_pairs, NULL};

const heed_task task_of_embed = {
    .name = "embed",
    .summary = "vectors of texts from pairs that belong together",
    .about = "Trains an encoder so that the vectors of two texts that belong together (a question and its answer, "
             "a sentence and its paraphrase) are alike, and unlike those of the other pairs in the batch: the "
             "contrastive loss with in-batch negatives, MultipleNegativesRankingLoss in sentence-transformers. The "
             "vector of a text is the mean of its last hidden states, normalised. The metric is how often the "
             "right one of 64 second texts is the most similar. The result opens in SentenceTransformer(DIR).",
    .examples = "heed train embed --data pairs.tsv --init all-MiniLM-L6-v2 --out vectors\n"
                "heed train embed --data questions.csv --text question --pair answer --init bert-base-uncased "
                "--batch 64 --out vectors\n"
                "heed embed vectors < texts.txt\n",
    .fields = fields,
    .texts = texts,
    .ways = ways_of_texts,
};
