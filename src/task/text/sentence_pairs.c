/* Masked words in pairs of segments: BERT's next sentence (Devlin et al. 2019), ALBERT's order of sentences (Lan et al.
 * 2020).
 *
 * A line of a document is a segment; one that would fill more than half of a sequence is cut. Segments that follow each
 * other fill a sequence, which is a row. In every epoch anew, as a function of (seed, epoch, row), a row is cut into A
 * and B; half of the time B comes from another document instead, or the two change places. A tenth of the sequences are
 * made shorter, and pairs that are too long lose tokens at either end of the longer one, as in the data of BERT. */
#include "base/ctx.h"
#include "io/text.h"
#include "kernel/reduce.h"
#include "task/text/masked.h"
#include <string.h>

#define PAIRS_SEED    0x70616972u /* apart from the masking's numbers */
#define SHORTER_SHARE 10          /* one sequence of so many */

enum { BEFORE, BETWEEN, AFTER, GAPS }; /* where special tokens stand */

struct span {
    int64_t first, n; /* segments of a row; tokens of a part */
};

struct sentence_pairs {
    struct masking masking; /* first: what mask_words reads */
    bool types;
    heed_ids frame, frame_type; /* the special tokens */
    int64_t gap[GAPS + 1];      /* those of gap g are gap[g] up to gap[g + 1] */
    int32_t type[2];            /* of A and of B */
    int64_t room;               /* tokens of A and B together */
    struct masked_tokens of;    /* all documents */
    int64_t *segment;           /* (segments + 1) where their tokens begin */
    int64_t segments, segment_room;
    struct span *row; /* which segments */
    int64_t *document;
    int64_t rows, row_room;
};

static void free_pairs(heed_ctx *cx, heed_task_data *d) {
    struct sentence_pairs *p = d->own;
    if (p) {
        heed_ids_free(cx, &p->frame);
        heed_ids_free(cx, &p->frame_type);
        masked_tokens_free(cx, &p->of);
        heed_mem_free(cx, p->segment);
        heed_mem_free(cx, p->row);
        heed_mem_free(cx, p->document);
    }
    masking_free(cx, d);
}

static const char *label_name(const heed_task_data *d) {
    return d->opts.sentence_order ? "sentence_order_label" : "next_sentence_label";
}

/* ---- segments and rows ---- */

static bool grow(heed_ctx *cx, void *list, int64_t n, size_t size) {
    void **const at = list;
    void *const larger = heed_mem_resize(cx, *at, (size_t)n * size);
    if (larger) *at = larger;
    return larger;
}

static bool put_segment(heed_ctx *cx, struct sentence_pairs *p, int64_t end) {
    if (p->segments + 2 > p->segment_room) {
        const int64_t more = 2 * p->segment_room + 64;
        if (!grow(cx, &p->segment, more, sizeof *p->segment)) return false;
        p->segment_room = more;
        if (p->segments == 0) p->segment[0] = 0;
    }
    p->segment[++p->segments] = end;
    return true;
}

/* The tokens from the end of the last segment on, in pieces of at most half a sequence. */
static bool put_segments(heed_ctx *cx, struct sentence_pairs *p) {
    const int64_t half = p->room / 2, end = p->of.ids.count;
    for (int64_t at = p->segments ? p->segment[p->segments] : 0; at < end;) {
        const int64_t pieces = (end - at + half - 1) / half;
        at += (end - at + pieces - 1) / pieces;
        if (!put_segment(cx, p, at)) return false;
    }
    return true;
}

static bool has_words(const struct sentence_pairs *p, struct span row) {
    for (int64_t i = p->segment[row.first]; i < p->segment[row.first + row.n]; i++)
        if (p->of.labels.id[i] >= 0) return true;
    return false;
}

static bool put_row(heed_ctx *cx, const heed_task_data *d, struct sentence_pairs *p, struct span row,
                    int64_t document) {
    if ((d->opts.sentence_order && row.n < 2) || !has_words(p, row)) return true;
    if (p->rows == p->row_room) {
        const int64_t more = 2 * p->row_room + 64;
        if (!grow(cx, &p->row, more, sizeof *p->row) || !grow(cx, &p->document, more, sizeof *p->document))
            return false;
        p->row_room = more;
    }
    p->row[p->rows] = row;
    p->document[p->rows++] = document;
    return true;
}

/* Segments of a document fill sequences; what is left at its end is a shorter one. */
static bool put_document(heed_ctx *cx, const heed_task_data *d, struct sentence_pairs *p, int64_t first,
                         int64_t document) {
    for (int64_t at = first; at < p->segments;) {
        struct span row = {at, 0};
        while (at < p->segments && p->segment[at] - p->segment[row.first] < p->room) at++;
        row.n = at - row.first;
        if (!put_row(cx, d, p, row, document)) return false;
    }
    return true;
}

static bool cut_documents(heed_ctx *cx, const heed_task_data *d, const heed_text_reader *reader,
                          struct sentence_pairs *p) {
    int64_t document = 0, first = 0;
    bool begins = true;
    for (int64_t i = 0; i <= d->text.count && !heed_cancelled(cx); i++) {
        const bool ends = i == d->text.count || text_is_blank(heed_line_text(&d->text, i));
        if (ends ? !put_document(cx, d, p, first, document)
                 : !masked_put_line(cx, d, reader, i, begins, &p->of) || !put_segments(cx, p))
            return false;
        if (ends) first = p->segments, document++;
        begins = ends;
    }
    return !heed_failed(cx);
}

/* The special tokens around a pair, and how much of it there is room for. */
static bool make_frame(heed_ctx *cx, const heed_task_data *d, const heed_text_reader *reader,
                       struct sentence_pairs *p) {
    const int64_t max_length = masked_longest(d, reader);
    const heed_encode_opts opts = {.pair = "a", .pair_size = 1};
    int gap = BEFORE;
    bool text = false;
    if (!heed_encode_text(cx, reader->tokens, "a", 1, &opts, &p->of.room)) return false;
    for (int64_t i = 0; i < p->of.room.count; i++) {
        const heed_token *t = &p->of.room.token[i];
        const bool second = !t->special && (text ? t->word == 0 && i > 0 && !t[-1].special : false);
        if (t->special ? text : second) gap++, text = false, p->gap[gap] = p->frame.count;
        if (gap > AFTER) break;
        if (!t->special) {
            if (gap < AFTER) p->type[gap] = t->type;
            text = true;
        } else if (!heed_ids_put(cx, &p->frame, t->id) || !heed_ids_put(cx, &p->frame_type, t->type)) {
            return false;
        }
    }
    for (gap += text; gap < GAPS; gap++) p->gap[gap + 1] = p->frame.count;
    p->room = max_length - p->frame.count;
    if (p->room < 2)
        return heed_fail(cx, HEED_ERR_RANGE,
                         "mlm: sequences of %lld tokens have no room for two segments beside %lld special tokens",
                         (long long)max_length, (long long)p->frame.count);
    return true;
}

/* ---- drawing ---- */

static int64_t tokens_of(const struct sentence_pairs *p, struct span s) {
    return p->segment[s.first + s.n] - p->segment[s.first];
}

/* Which rows B may come from. */
struct pool_of_rows {
    const int64_t *row; /* NULL: all */
    int64_t n;
};

/* A row of another document: the first one from a random place on. */
static struct span other_row(const struct sentence_pairs *p, struct pool_of_rows from, int64_t row, struct draws *r) {
    const int64_t begin = task_draw(r, from.n);
    for (int64_t i = 0; i < from.n; i++) {
        const int64_t at = (begin + i) % from.n, other = from.row ? from.row[at] : at;
        if (p->document[other] != p->document[row]) return p->row[other];
    }
    return p->row[from.row ? from.row[begin] : begin];
}

/* As many segments, at least `least`, as it takes to have so many tokens. */
static struct span until(const struct sentence_pairs *p, struct span s, int64_t tokens, int64_t least) {
    struct span taken = {s.first, 0};
    while (taken.n < s.n && (taken.n < least || tokens_of(p, taken) < tokens)) taken.n++;
    return taken;
}

static struct span as_tokens(const struct sentence_pairs *p, struct span s) {
    return (struct span){p->segment[s.first], tokens_of(p, s)};
}

/* Parts A and B of a row, as tokens; returns the label. */
static int32_t draw_pair(const heed_task_data *d, const struct sentence_pairs *p, struct pool_of_rows from, int64_t row,
                         struct draws *r, struct span part[2]) {
    const bool order = d->opts.sentence_order;
    const int64_t target = task_draw(r, SHORTER_SHARE) == 0 ? 2 + task_draw(r, p->room - 1) : p->room;
    const struct span all = until(p, p->row[row], target, order ? 2 : 1);
    const struct span a = {all.first, all.n > 1 ? 1 + task_draw(r, all.n - 1) : 1};
    struct span b = {all.first + a.n, all.n - a.n};
    bool changed = task_draw(r, 2) == 1;
    if (!order && (changed || b.n == 0)) {
        const struct span other = other_row(p, from, row, r);
        const int64_t skip = task_draw(r, other.n);
        b = until(p, (struct span){other.first + skip, other.n - skip}, target - tokens_of(p, a), 1);
        changed = true;
    }
    part[order && changed] = as_tokens(p, a);
    part[!(order && changed)] = as_tokens(p, b);
    while (part[0].n + part[1].n > p->room) {
        struct span *const longer = &part[part[1].n > part[0].n];
        longer->first += task_draw(r, 2); /* at its front, or at its end */
        longer->n--;
    }
    return changed;
}

/* A row as the columns have it. */
struct pair_row {
    heed_ids ids, types, labels;
};

static void put_special(heed_ctx *cx, const struct sentence_pairs *p, int gap, struct pair_row *to) {
    for (int64_t i = p->gap[gap]; i < p->gap[gap + 1]; i++) {
        heed_ids_put(cx, &to->ids, p->frame.id[i]);
        heed_ids_put(cx, &to->types, p->frame_type.id[i]);
        heed_ids_put(cx, &to->labels, HEED_NO_LABEL);
    }
}

static void put_part(heed_ctx *cx, const struct sentence_pairs *p, struct span part, int32_t type,
                     struct pair_row *to) {
    bool word = false;
    for (int64_t i = part.first; i < part.first + part.n; i++) {
        int32_t label = p->of.labels.id[i];
        if (label >= 0 && !word) label &= ~CONTINUES; /* the word began before it */
        word = label >= 0;
        heed_ids_put(cx, &to->ids, p->of.ids.id[i]);
        heed_ids_put(cx, &to->types, type);
        heed_ids_put(cx, &to->labels, label);
    }
}

static void make_columns(const heed_text_reader *like, const heed_task_data *d, int *labels, heed_dataset *set) {
    heed_text_columns(like, set);
    *labels = set->columns;
    set->column[set->columns++] =
        (heed_column){.name = "labels", .type = HEED_I32, .ragged = true, .fill = HEED_NO_LABEL};
    set->column[set->columns++] = (heed_column){.name = label_name(d), .type = HEED_I32};
    set->counts = "labels";
}

static bool draw_rows(heed_ctx *cx, const heed_task_data *d, uint64_t seed, int64_t epoch, const int64_t *rows,
                      int64_t n, heed_dataset *set) {
    const struct sentence_pairs *p = d->own;
    const struct pool_of_rows from = {rows, rows ? n : p->rows};
    struct pair_row row = {.ids = {0}};
    for (int64_t i = 0; i < p->rows && !heed_cancelled(cx); i++) {
        struct draws r = {seed ^ PAIRS_SEED, (uint64_t)epoch << 40 ^ (uint64_t)i, 0};
        struct span part[2];
        int32_t label = draw_pair(d, p, from, i, &r, part);
        row.ids.count = row.types.count = row.labels.count = 0;
        put_special(cx, p, BEFORE, &row);
        put_part(cx, p, part[0], p->type[0], &row);
        put_special(cx, p, BETWEEN, &row);
        put_part(cx, p, part[1], p->type[1], &row);
        put_special(cx, p, AFTER, &row);
        heed_cell cells[HEED_COLUMNS_MAX];
        int k = 0;
        cells[k++] = (heed_cell){row.ids.id, row.ids.count};
        if (p->types) cells[k++] = (heed_cell){row.types.id, row.types.count};
        cells[k++] = (heed_cell){row.labels.id, row.labels.count};
        cells[k++] = (heed_cell){&label, 1};
        if (heed_failed(cx) || !heed_dataset_add(cx, set, cells)) break;
    }
    heed_ids_free(cx, &row.ids);
    heed_ids_free(cx, &row.types);
    heed_ids_free(cx, &row.labels);
    return !heed_failed(cx);
}

static bool draw(heed_ctx *cx, const heed_task_data *d, uint64_t seed, int64_t epoch, const int64_t *rows, int64_t n,
                 heed_dataset *set) {
    const struct sentence_pairs *p = d->own;
    int labels;
    make_columns(&(heed_text_reader){.pad = d->set.column[0].fill, .types = p->types}, d, &labels, set);
    return draw_rows(cx, d, seed, epoch, rows, n, set);
}

/* ---- encoding ---- */

static bool encode(heed_ctx *cx, const heed_text_reader *reader, heed_task_data *d) {
    free_pairs(cx, d);
    struct sentence_pairs *p = d->own = heed_mem_new(cx, sizeof *p);
    if (!p) return false;
    *p = (struct sentence_pairs){.types = reader->types};
    if (!masking_make(cx, d, reader->tokens, &p->masking) || !make_frame(cx, d, reader, p) ||
        !cut_documents(cx, d, reader, p))
        return false;
    bool others = d->opts.sentence_order;
    for (int64_t i = 1; i < p->rows; i++) others |= p->document[i] != p->document[0];
    if (p->rows == 0 || !others)
        return heed_fail(cx, HEED_ERR_FORMAT,
                         d->opts.sentence_order ? "%s: no document has two sentences, a line each, to pair"
                                                : "%s: there is one document alone: next sentences need others, with "
                                                  "blank lines between them",
                         d->name);
    make_columns(reader, d, &p->masking.labels, &d->set);
    return draw_rows(cx, d, MASKED_FIXED_SEED, 0, NULL, 0, &d->set);
}

/* ---- measuring ---- */

struct found {
    struct guesses words;
    const heed_task_data *data;
    int64_t right, n; /* pairs */
};

static bool take(heed_ctx *cx, void *own, const heed_batch *b, const heed_io *out) {
    struct found *f = own;
    const bool order = f->data->opts.sentence_order;
    heed_tensor *const given = heed_io_get(out, order ? "sop_logits" : "seq_relationship_logits");
    heed_tensor *const logits = given ? heed_contiguous(cx, given) : NULL;
    const int32_t *label = heed_batch_i32(b, label_name(f->data));
    if (!guesses_take(cx, &f->words, b, heed_io_get(out, "prediction_logits"))) return false;
    if (!logits || !label)
        return heed_failed(cx) ? false : heed_fail(cx, HEED_ERR_USAGE, "mlm: the model has no head for sentence pairs");
    for (int64_t i = 0; i < b->n && !cx->config.dry; i++)
        f->right += kernel_best(heed_f32(logits) + 2 * i, 2) == label[i];
    f->n += b->n;
    return true;
}

static bool measure(heed_ctx *cx, const heed_model *model, const heed_task_data *d, const int64_t *rows, int64_t n,
                    heed_score *score, int32_t *predicted) {
    struct found f = {.data = d};
    (void)predicted;
    heed_over_opts opts = masked_run(cx, model, d, rows, n);
    opts.take = take;
    opts.own = &f;
    if (!heed_loop_over(cx, model, &d->set, &opts, &score->loss)) return false;
    guesses_score(&f.words, score);
    score->more[1] = f.n ? (double)f.right / (double)f.n : 0;
    return true;
}

static const char *metrics_of(const heed_task_data *d) {
    return d->opts.sentence_order ? "perplexity accuracy sentence_order" : "perplexity accuracy next_sentence";
}

const heed_text_task task_sentence_pairs = {.name = "pretrain",
                                            .metrics = "perplexity accuracy next_sentence",
                                            .metrics_of = metrics_of,
                                            .read = masked_read,
                                            .encode = encode,
                                            .draw = draw,
                                            .measure = measure,
                                            .transform = mask_words,
                                            .free = free_pairs};
