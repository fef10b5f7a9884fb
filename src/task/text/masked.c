/* Masked words (Devlin et al. 2019). Plain text, documents separated by blank lines, is packed into sequences between
 * the tokenizer's special tokens; no sequence holds parts of two documents. In every epoch anew some words of each are
 * chosen to be predicted: of their tokens 80 % become the mask token, 10 % a random one, 10 % stay.
 *
 * The column of labels holds the tokens as they were, for the transform to choose from. */
#include "task/text/masked.h"
#include "base/ctx.h"
#include "base/text.h"
#include "io/text.h"
#include "kernel/reduce.h"
#include "task/answers.h"
#include "task/run.h"
#include <math.h>
#include <string.h>

#define STANDARD_LENGTH 128
#define STANDARD_SHARE  0.15
#define MAX_LOGITS      ((int64_t)1 << 24)

/* ---- reading ---- */

bool masked_read(heed_ctx *cx, const char *path, const heed_task_opts *opts, heed_task_data *d) {
    if (!(opts->masked >= 0 && opts->masked <= 1))
        return heed_fail(cx, HEED_ERR_RANGE, "mlm: a share of %g of the words: must be above 0 and at most 1",
                         opts->masked);
    if (!heed_lines_read(cx, path, &d->text)) return false;
    for (int64_t i = 0; i < d->text.count; i++)
        if (!text_is_blank(heed_line_text(&d->text, i))) return true;
    return heed_fail(cx, HEED_ERR_FORMAT, "%s: there is no text", d->name);
}

/* ---- tokens ---- */

bool masked_put_line(heed_ctx *cx, const heed_task_data *d, const heed_text_reader *reader, int64_t line, bool first,
                     struct masked_tokens *to) {
    to->line.size = 0;
    if ((!first && !heed_string_put(cx, &to->line, " ", 1)) ||
        !heed_string_put(cx, &to->line, heed_line_text(&d->text, line), heed_line_size(&d->text, line)) ||
        !heed_encode_text(cx, reader->tokens, to->line.s, to->line.size, &(heed_encode_opts){.plain = true}, &to->room))
        return heed_fail_in(cx, "%s: line %lld", d->name, (long long)line + 1);
    for (int64_t i = 0; i < to->room.count; i++) {
        const heed_token *t = &to->room.token[i];
        int32_t label = heed_tokenizer_is_special(reader->tokens, t->id) ? HEED_NO_LABEL : t->id;
        if (label >= 0 && d->opts.whole_words && i > 0 && t->word >= 0 && t->word == t[-1].word) label |= CONTINUES;
        if (!heed_ids_put(cx, &to->ids, t->id) || !heed_ids_put(cx, &to->labels, label)) return false;
    }
    return true;
}

void masked_tokens_free(heed_ctx *cx, struct masked_tokens *t) {
    heed_ids_free(cx, &t->ids);
    heed_ids_free(cx, &t->labels);
    heed_encoding_free(cx, &t->room);
    heed_string_free(cx, &t->line);
}

/* ---- sequences ---- */

/* Sequences on their way: the tokens of a document that are not in one yet. */
struct packer {
    const heed_text_reader *reader;
    heed_ids frame;          /* the special tokens, */
    int64_t before;          /* of which so many stand before the text */
    int64_t max_length;      /* tokens of the text in a sequence */
    struct masked_tokens of; /* the document */
    heed_ids row, row_type;  /* a sequence: its tokens, then their labels */
};

static void free_packer(heed_ctx *cx, struct packer *p) {
    heed_ids *const lists[] = {&p->frame, &p->row, &p->row_type};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) heed_ids_free(cx, lists[i]);
    masked_tokens_free(cx, &p->of);
}

int64_t masked_longest(const heed_task_data *d, const heed_text_reader *reader) {
    const int64_t asked = d->opts.max_length > 0 ? d->opts.max_length : STANDARD_LENGTH, most = reader->max_length;
    return most > 0 && most < asked ? most : asked;
}

/* The special tokens around a text, and how much of it there is room for between them. */
static bool make_frame(heed_ctx *cx, const heed_task_data *d, struct packer *p) {
    const int64_t max_length = masked_longest(d, p->reader);
    if (!heed_encode_text(cx, p->reader->tokens, "a", 1, NULL, &p->of.room)) return false;
    p->before = -1;
    for (int64_t i = 0; i < p->of.room.count; i++) {
        if (!p->of.room.token[i].special && p->before < 0) p->before = p->frame.count;
        if (p->of.room.token[i].special && !heed_ids_put(cx, &p->frame, p->of.room.token[i].id)) return false;
    }
    if (p->before < 0) p->before = p->frame.count;
    p->max_length = max_length - p->frame.count;
    if (p->max_length < 1)
        return heed_fail(cx, HEED_ERR_RANGE,
                         "mlm: sequences of %lld tokens have no room for words beside %lld special "
                         "tokens",
                         (long long)max_length, (long long)p->frame.count);
    return true;
}

/* A sequence of n tokens of the document, from number `from` on; one without words to predict is left out. */
static bool put_row(heed_ctx *cx, heed_task_data *d, struct packer *p, int64_t from, int64_t n) {
    const int64_t length = n + p->frame.count;
    bool some = false, word = false;
    p->row.count = p->row_type.count = 0;
    for (int64_t i = 0; i < length; i++) {
        const bool text = i >= p->before && i < p->before + n;
        heed_ids_put(cx, &p->row, text ? p->of.ids.id[from + i - p->before] : p->frame.id[i < p->before ? i : i - n]);
        heed_ids_put(cx, &p->row_type, 0);
    }
    for (int64_t i = 0; i < length && !heed_failed(cx); i++) {
        const bool text = i >= p->before && i < p->before + n;
        int32_t label = text ? p->of.labels.id[from + i - p->before] : HEED_NO_LABEL;
        if (label >= 0 && !word) label &= ~CONTINUES; /* the word began in the sequence before */
        word = label >= 0;
        some |= word;
        heed_ids_put(cx, &p->row, label);
    }
    if (heed_failed(cx) || !some) return !heed_failed(cx);
    heed_cell cells[HEED_COLUMNS_MAX];
    cells[0] = (heed_cell){p->row.id, length};
    if (p->reader->types) cells[1] = (heed_cell){p->row_type.id, length};
    cells[d->set.columns - 1] = (heed_cell){p->row.id + length, length};
    return heed_dataset_add(cx, &d->set, cells);
}

/* As many sequences as there are tokens for; at the end of a document also a shorter one. */
static bool put_rows(heed_ctx *cx, heed_task_data *d, struct packer *p, bool end) {
    int64_t at = 0, left = p->of.ids.count;
    for (; left > 0 && (end || left >= p->max_length); left = p->of.ids.count - at) {
        const int64_t n = left < p->max_length ? left : p->max_length;
        if (!put_row(cx, d, p, at, n)) return false;
        at += n;
    }
    if (at > 0 && left > 0) {
        memmove(p->of.ids.id, p->of.ids.id + at, (size_t)left * sizeof *p->of.ids.id);
        memmove(p->of.labels.id, p->of.labels.id + at, (size_t)left * sizeof *p->of.labels.id);
    }
    p->of.ids.count = p->of.labels.count = left;
    return true;
}

static bool pack(heed_ctx *cx, heed_task_data *d, struct packer *p) {
    bool first = true; /* line of a document */
    for (int64_t i = 0; i < d->text.count && !heed_cancelled(cx); i++) {
        const bool blank = text_is_blank(heed_line_text(&d->text, i));
        if (!blank && !masked_put_line(cx, d, p->reader, i, first, &p->of)) return false;
        if (!put_rows(cx, d, p, blank)) return false;
        first = blank;
    }
    return !heed_failed(cx) && put_rows(cx, d, p, true);
}

/* ---- encoding ---- */

void masking_free(heed_ctx *cx, heed_task_data *d) {
    struct masking *m = d->own;
    if (m) heed_mem_free(cx, m->words);
    heed_mem_free(cx, m);
    d->own = NULL;
}

bool masking_make(heed_ctx *cx, heed_task_data *d, const heed_tokenizer *tokens, struct masking *m) {
    const int32_t mask = task_mask_token(cx, "mlm", tokens);
    const int64_t size = heed_tokenizer_size(tokens);
    if (mask < 0) return false;
    *m = (struct masking){.mask = mask, .share = d->opts.masked > 0 ? d->opts.masked : STANDARD_SHARE};
    m->parts = 10, m->as_mask = 8, m->as_random = 1;
    m->words = heed_mem_new(cx, (size_t)size * sizeof *m->words);
    for (int64_t id = 0; m->words && id < size; id++)
        if (heed_tokenizer_token(tokens, (int32_t)id) && !heed_tokenizer_is_special(tokens, (int32_t)id))
            m->words[m->n_words++] = (int32_t)id;
    return m->words;
}

bool masked_encode(heed_ctx *cx, const heed_text_reader *reader, heed_task_data *d) {
    struct packer p = {.reader = reader};
    masking_free(cx, d);
    struct masking *m = d->own = heed_mem_new(cx, sizeof *m);
    if (!m) return false;
    *m = (struct masking){0};
    if (!masking_make(cx, d, reader->tokens, m)) return false;
    heed_text_columns(reader, &d->set);
    m->labels = d->set.columns;
    d->set.column[d->set.columns++] =
        (heed_column){.name = "labels", .type = HEED_I32, .ragged = true, .fill = HEED_NO_LABEL};
    d->set.counts = "labels";
    if (make_frame(cx, d, &p) && pack(cx, d, &p) && d->set.n == 0)
        heed_fail(cx, HEED_ERR_FORMAT, "%s: the text has no words to mask, only special tokens", d->name);
    free_packer(cx, &p);
    return !heed_failed(cx);
}

/* ---- masking ---- */

int64_t task_draw(struct draws *r, int64_t n) {
    return (int64_t)((uint64_t)heed_random_bits(r->seed, r->stream, r->at++) * (uint64_t)n >> 32);
}

/* Chooses words one after the other, each set of them as likely as any other (Knuth, TAOCP 2, 3.4.2, algorithm S). */
void mask_words(const void *own, uint64_t seed, int64_t epoch, int64_t row, const heed_cell *cells) {
    const struct masking *m = ((const heed_task_data *)own)->own;
    int32_t *const ids = cells[0].data, *const labels = cells[m->labels].data;
    const int64_t n = cells[m->labels].count;
    struct draws r = {~seed, (uint64_t)epoch << 40 ^ (uint64_t)row, 0};
    int64_t words = 0;
    bool chosen = false;
    for (int64_t i = 0; i < n; i++) words += labels[i] >= 0 && !(labels[i] & CONTINUES);
    int64_t wanted = llround(m->share * (double)words);
    if (wanted < 1) wanted = 1;
    for (int64_t i = 0; i < n; i++) {
        if (labels[i] < 0) continue;
        if (!(labels[i] & CONTINUES)) {
            chosen = task_draw(&r, words--) < wanted;
            wanted -= chosen;
        }
        labels[i] = chosen ? labels[i] & ~CONTINUES : HEED_NO_LABEL;
        const int64_t how = chosen ? task_draw(&r, m->parts) : m->parts;
        if (how < m->as_mask)
            ids[i] = m->mask;
        else if (how < m->as_mask + m->as_random)
            ids[i] = m->words[task_draw(&r, m->n_words)];
    }
}

/* ---- measuring ---- */

static void guess(const float *logits, int64_t n, int32_t label, struct guesses *g) {
    const int64_t best = kernel_best(logits, n);
    double sum = 0;
    for (int64_t j = 0; j < n; j++) sum += exp((double)logits[j] - (double)logits[best]);
    g->loss += log(sum) + (double)logits[best] - (double)logits[label];
    g->right += best == label;
    g->n++;
}

bool guesses_take(heed_ctx *cx, struct guesses *g, const heed_batch *b, heed_tensor *logits) {
    if (logits) logits = heed_contiguous(cx, logits);
    const int32_t *labels = heed_batch_i32(b, "labels");
    if (heed_failed(cx) || !logits || !labels)
        return heed_failed(cx) ? false : heed_fail(cx, HEED_ERR_USAGE, "mlm: the model gives no logits");
    if (cx->config.dry) return true;
    const int64_t rows = heed_dim(logits, 0) * heed_dim(logits, 1), words = heed_dim(logits, 2);
    for (int64_t i = 0; i < rows; i++)
        if (labels[i] >= 0) guess(heed_f32(logits) + i * words, words, labels[i], g);
    return true;
}

static bool take_guesses(heed_ctx *cx, void *own, const heed_batch *b, const heed_io *out) {
    return guesses_take(cx, own, b, heed_io_get(out, "logits"));
}

heed_over_opts masked_run(heed_ctx *cx, const heed_model *model, const heed_task_data *d, const int64_t *rows,
                          int64_t n) {
    const int64_t words = heed_json_int_or(cx, heed_model_config(model), "vocab_size", 1);
    return (heed_over_opts){.rows = rows,
                            .n_rows = rows ? n : 0,
                            .tokens = MAX_LOGITS / (words > 0 ? words : 1) + 1,
                            .transform = mask_words,
                            .data = d,
                            .seed = MASKED_FIXED_SEED};
}

void guesses_score(const struct guesses *g, heed_score *score) {
    score->metric = exp(g->n ? g->loss / (double)g->n : 0);
    score->more[0] = g->n ? (double)g->right / (double)g->n : 0;
}

/* With a masking that is always the same. */
static bool measure(heed_ctx *cx, const heed_model *model, const heed_task_data *d, const int64_t *rows, int64_t n,
                    heed_score *score, int32_t *predicted) {
    (void)predicted;
    struct guesses g = {0};
    heed_over_opts opts = masked_run(cx, model, d, rows, n);
    opts.take = take_guesses;
    opts.own = &g;
    if (!heed_loop_over(cx, model, &d->set, &opts, &score->loss)) return false;
    guesses_score(&g, score);
    return true;
}

const heed_text_task task_masked = {.name = "mlm",
                                    .metrics = "perplexity accuracy",
                                    .read = masked_read,
                                    .encode = masked_encode,
                                    .measure = measure,
                                    .transform = mask_words,
                                    .free = masking_free,
                                    .answer = answer_masks};

/* ---- the task ---- */

/* clang-format off */
static const heed_field fields[] = {
    {.name = "data", .kind = HEED_FIELD_GROUP},
    {.name = "data", .letter = 'd', .kind = HEED_FIELD_FILE, .value = "PATH",
     .help = "plain text (also .gz), documents separated by blank lines; or a directory with train.txt and perhaps "
             "valid.txt and test.txt"},
    TEXT_PART_FIELDS("sequences"),
    {.name = "masking", .kind = HEED_FIELD_GROUP},
    {.name = "masked", .kind = HEED_FIELD_NUMBER, .standard = "0.15", .value = "X", .low = 0.001, .high = 1,
     .help = "fraction of the words to predict, at least one of each sequence"},
    {.name = "whole-words", .help = "mask all tokens of a word or none"},
    {.name = "next-sentence",
     .help = "train on pairs of segments too: half of the second ones come from other documents, and a head learns which; "
             "for albert half of the pairs are swapped instead"},
    {.name = "generator-size", .kind = HEED_FIELD_NUMBER, .value = "X", .low = 0.001, .high = 1,
     .help = "for electra: width of the generator as a fraction of the discriminator's; by default 0.25"},
    {.name = "max-length", .kind = HEED_FIELD_INT, .standard = "128", .value = "N", .low = 1, .high = 1e9,
     .help = "tokens of a sequence, special ones included; at most as many as the model has positions"},
    TEXT_TRAIN_FIELDS("sequences"),
    {.name = NULL},
};
/* clang-format on */

/* ELECTRA's heads learn from a generator, and pairs of segments have a head of their own. */
static bool check(heed_run *r) {
    const heed_head *const pairs = heed_head_for(r->family, task_sentence_pairs.name);
    const bool generated = heed_head_for(r->family, task_replaced.name);
    if (run_given(r, "generator-size") && !generated)
        return run_misused(r, "--generator-size: %s has no generator", r->family->name);
    if (generated) r->head = task_replaced.name;
    if (!run_flag(r, "next-sentence")) return true;
    if (!pairs ||
        (!text_among(pairs->inputs, "next_sentence_label") && !text_among(pairs->inputs, "sentence_order_label")))
        return run_misused(r, "--next-sentence: %s has no head for pairs of sentences", r->family->name);
    r->head = task_sentence_pairs.name;
    return true;
}

static const heed_text_task *const texts[] = {&task_masked, &task_sentence_pairs, &task_replaced, NULL};

const heed_task task_of_mlm = {
    .name = "mlm",
    .summary = "masked words of plain text",
    .about = "Pre-trains an encoder to predict masked words (Devlin et al. 2019). Lines of a document are joined, "
             "and packed into sequences of --max-length tokens. In each epoch other words are chosen: 80 % of them "
             "become the mask token, 10 % a random token, 10 % stay. The metrics are the perplexity and the "
             "accuracy of masked words, measured with a fixed masking.\n\n"
             "With --next-sentence a sequence is a pair of segments, a segment being one or more lines of a "
             "document; in each epoch half of the pairs, others each time, are made of two documents, and the loss "
             "is the sum of both. The result opens in AutoModelForPreTraining.\n\n"
             "With --model electra the task is to detect replaced tokens (Clark et al. 2020): a generator, trained "
             "along, fills in the masked words, and the model tells which tokens are not what they were. The loss "
             "is that of the generator plus 50 times that of the model; the metrics are F1, accuracy, precision and "
             "recall of replaced tokens and the generator's loss. DIR is the discriminator, DIR/generator a masked "
             "LM.\n\n"
             "Without --init the model is small (4 layers, width 256; --set changes it) and a tokenizer is trained "
             "on the text. With --init a model is trained further. The result opens in transformers' "
             "AutoModelForMaskedLM, and is what 'heed train classify --init DIR' and the like start from.",
    .examples = "heed train mlm --data text.txt --out encoder\n"
                "heed train mlm --data text.txt --whole-words --vocab 16000 --set num_hidden_layers=6 "
                "--out encoder\n"
                "heed train mlm --data books.txt --next-sentence --out encoder\n"
                "heed train mlm --data text.txt --model electra --out electra\n"
                "heed train mlm --data reports.txt --init bert-base-uncased --steps 1000 --warmup 100 "
                "--out report-bert\n"
                "heed eval encoder --data other.txt\n",
    .fields = fields,
    .check = check,
    .measures = "pretrain",
    .texts = texts,
    .ways = ways_of_texts,
};
