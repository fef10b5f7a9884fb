/* Pieces of writing as what a network learns, and how well it knows others. */
#include "task/handwriting/handwriting.h"
#include "base/text.h"
#include "io/text.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- texts ---- */

bool handwriting_encode(heed_ctx *cx, const char *characters, const char *text, heed_ids *to) {
    for (size_t at = 0, n = strlen(text), size; at < n; at += size) {
        size = utf8_sequence(text + at, n - at);
        int32_t id = 0;
        bool found = false;
        for (size_t k = 0, all = strlen(characters), step; size > 0 && k < all && !found; k += step) {
            step = utf8_sequence(characters + k, all - k);
            found = step == size && memcmp(characters + k, text + at, size) == 0;
            id++;
        }
        if (!found)
            return heed_fail(cx, HEED_ERR_RANGE, "the model has not learnt to write '%s', only these: %s",
                             escaped_bytes(text + at, size > 0 ? size : 1).s, escaped(characters).s);
        if (!heed_ids_put(cx, to, id)) return false;
    }
    return true;
}

struct letter {
    char s[8];
};

static int by_bytes(const void *a, const void *b) { return strcmp(a, b); } /* UTF-8 sorts as code points do */

static bool add_letter(heed_ctx *cx, struct letter **list, int64_t *n, const char *s, size_t size) {
    struct letter l = {{0}};
    memcpy(l.s, s, size);
    for (int64_t i = 0; i < *n; i++)
        if (strcmp((*list)[i].s, l.s) == 0) return true;
    if (*n % 64 == 0) {
        struct letter *const larger = heed_mem_resize(cx, *list, (size_t)(*n + 64) * sizeof l);
        if (!larger) return false;
        *list = larger;
    }
    (*list)[(*n)++] = l;
    return true;
}

bool heed_handwriting_characters(heed_ctx *cx, const heed_writings *w, heed_string *to) {
    struct letter *list = NULL;
    int64_t count = 0;
    bool ok = !heed_failed(cx) && (w || heed_fail(cx, HEED_ERR_USAGE, "handwriting: the pieces are NULL"));
    for (int64_t i = 0; ok && i < w->n; i++) {
        const char *const text = heed_writing_text(w, i);
        if (!*text) ok = heed_fail(cx, HEED_ERR_FORMAT, "piece %lld has no \"text\"", (long long)i + 1);
        for (size_t at = 0, n = strlen(text), size; ok && at < n; at += size) {
            size = utf8_sequence(text + at, n - at);
            ok = size > 0 ? add_letter(cx, &list, &count, text + at, size)
                          : heed_fail(cx, HEED_ERR_FORMAT, "the text of piece %lld is not UTF-8", (long long)i + 1);
        }
        if (ok && count > 4096) ok = heed_fail(cx, HEED_ERR_RANGE, "the texts have more than 4096 characters");
    }
    if (ok && count > 0) qsort(list, (size_t)count, sizeof *list, by_bytes);
    for (int64_t i = 0; ok && i < count; i++) ok = heed_string_put(cx, to, list[i].s, strlen(list[i].s));
    heed_mem_free(cx, list);
    return ok;
}

/* ---- columns ---- */

/* From point .. to point of each piece, and the pen of every point but first ones, which nothing comes before. */
static bool fill_labels(heed_ctx *cx, const heed_writings *w, int64_t max_length, heed_handwriting_set *s) {
    const int64_t points = w->start[w->n];
    s->label = heed_mem_new(cx, (size_t)points * sizeof *s->label);
    s->span = heed_mem_new(cx, 2 * (size_t)w->n * sizeof *s->span);
    if (!s->label || !s->span) return false;
    for (int64_t i = 0; i < points; i++) s->label[i] = w->point[3 * i + 2] != 0;
    for (int64_t i = 0; i < w->n; i++) {
        int64_t end = w->start[i + 1];
        s->label[w->start[i]] = HEED_NO_LABEL;
        if (max_length > 0 && end - w->start[i] > max_length) end = w->start[i] + max_length, s->cut++;
        s->span[2 * i] = w->start[i];
        s->span[2 * i + 1] = end;
    }
    return true;
}

/* Each text with the 0 of its end behind it. */
static bool fill_letters(heed_ctx *cx, const heed_writings *w, const char *characters, heed_handwriting_set *s) {
    heed_ids ids = {0};
    s->text_start = heed_mem_new(cx, ((size_t)w->n + 1) * sizeof *s->text_start);
    bool ok = s->text_start;
    if (ok) s->text_start[0] = 0;
    for (int64_t i = 0; ok && i < w->n; i++) {
        const char *const text = heed_writing_text(w, i);
        ok = *text ? handwriting_encode(cx, characters, text, &ids) || heed_fail_in(cx, "piece %lld", (long long)i + 1)
                   : heed_fail(cx, HEED_ERR_FORMAT, "piece %lld has no \"text\"", (long long)i + 1);
        ok = ok && heed_ids_put(cx, &ids, 0);
        s->text_start[i + 1] = ids.count;
    }
    s->letter = ids.id;
    return ok;
}

bool heed_handwriting_columns(heed_ctx *cx, const heed_writings *w, const char *characters, int64_t max_length,
                              heed_handwriting_set *set) {
    if (set) *set = (heed_handwriting_set){0};
    if (heed_failed(cx)) return false;
    if (!set) return heed_fail(cx, HEED_ERR_USAGE, "handwriting: the set is NULL");
    if (!w || w->n < 1) return heed_fail(cx, HEED_ERR_USAGE, "handwriting: pieces of writing are needed");
    if (!fill_labels(cx, w, max_length, set) || (characters && !fill_letters(cx, w, characters, set))) {
        heed_handwriting_free(cx, set);
        return false;
    }
    heed_dataset *const d = &set->columns;
    *d = (heed_dataset){.n = w->n, .counts = "labels"};
    if (characters)
        d->column[d->columns++] = (heed_column){
            .name = "text", .type = HEED_I32, .data = set->letter, .ragged = true, .start = set->text_start};
    d->column[d->columns++] = (heed_column){.name = "strokes",
                                            .type = HEED_F32,
                                            .rank = 1,
                                            .shape = {3},
                                            .data = w->point,
                                            .ragged = true,
                                            .start = set->span,
                                            .step = 2};
    d->column[d->columns++] = (heed_column){.name = "labels",
                                            .type = HEED_I32,
                                            .data = set->label,
                                            .ragged = true,
                                            .start = set->span,
                                            .step = 2,
                                            .fill = HEED_NO_LABEL};
    return true;
}

void heed_handwriting_free(heed_ctx *cx, heed_handwriting_set *s) {
    if (!s) return;
    heed_mem_free(cx, s->label);
    heed_mem_free(cx, s->letter);
    heed_mem_free(cx, s->span);
    heed_mem_free(cx, s->text_start);
    *s = (heed_handwriting_set){0};
}

/* ---- measuring ---- */

void heed_handwriting_moments(const heed_handwriting_set *s, const int64_t *rows, int64_t n, float mean[2],
                              float deviation[2]) {
    const int column = s ? heed_dataset_find(&s->columns, "strokes") : -1;
    if (column < 0 || !mean || !deviation) return;
    const float *const point = s->columns.column[column].data;
    double sum[2] = {0, 0}, squares[2] = {0, 0}, count = 0;
    for (int64_t i = 0; i < (rows ? n : s->columns.n); i++) {
        const int64_t row = rows ? rows[i] : i;
        for (int64_t p = s->span[2 * row] + 1; p < s->span[2 * row + 1]; p++, count++)
            for (int k = 0; k < 2; k++) {
                const double v = (double)point[3 * p + k];
                sum[k] += v;
                squares[k] += v * v;
            }
    }
    for (int k = 0; k < 2; k++) {
        const double m = count > 0 ? sum[k] / count : 0, v = count > 0 ? squares[k] / count - m * m : 0;
        mean[k] = (float)m;
        deviation[k] = v > 1e-12 ? (float)sqrt(v) : 1;
    }
}

bool heed_handwriting_measure(heed_ctx *cx, const heed_model *model, const heed_handwriting_set *s, const int64_t *rows,
                              int64_t n, heed_score *score) {
    int64_t points = 0;
    if (heed_failed(cx)) return false;
    if (!s || !score) return heed_fail(cx, HEED_ERR_USAGE, "handwriting: the %s is NULL", s ? "score" : "set");
    if (!rows) n = s->columns.n;
    if (!heed_loop_over(cx, model, &s->columns, &(heed_over_opts){.rows = rows, .n_rows = n, .loss_only = true},
                        &score->loss))
        return false;
    for (int64_t i = 0; i < n; i++) {
        const int64_t row = rows ? rows[i] : i;
        points += s->span[2 * row + 1] - s->span[2 * row] - 1;
    }
    score->metric = score->loss;
    score->more[0] = n > 0 ? score->loss * (double)points / (double)n : 0;
    return true;
}

float *heed_handwriting_window(heed_ctx *cx, const heed_model *model, const float *points, int64_t n, const char *text,
                               int64_t *U) {
    if (heed_failed(cx)) return NULL;
    if (!model || !U)
        return heed_fail(cx, HEED_ERR_USAGE, "handwriting: the %s is NULL", model ? "size" : "model"), NULL;
    const char *const characters = heed_handwriting_text(cx, model);
    if (!characters) {
        heed_fail(cx, HEED_ERR_USAGE, "the model has not learnt texts: it has no window");
        return NULL;
    }
    heed_ids ids = {0};
    heed_io in = {0}, out = {0};
    float *weights = NULL;
    const bool recording = heed_set_grad(cx, false), training = heed_set_training(cx, false);
    if (handwriting_encode(cx, characters, text, &ids) && heed_ids_put(cx, &ids, 0)) {
        heed_io_put(cx, &in, "strokes", heed_from_f32(cx, points, 3, (int64_t[]){1, n, 3}));
        heed_io_put(cx, &in, "text", heed_from_i32(cx, ids.id, 2, (int64_t[]){1, ids.count}));
        if (!heed_failed(cx) && heed_model_forward(cx, model, &in, &out) &&
            (weights = heed_mem_new(cx, (size_t)(n * ids.count) * sizeof *weights)))
            memcpy(weights, heed_f32(heed_io_get(&out, "window_weights")), (size_t)(n * ids.count) * sizeof *weights);
        *U = ids.count;
        heed_reset(cx);
    }
    heed_ids_free(cx, &ids);
    heed_set_grad(cx, recording);
    heed_set_training(cx, training);
    return weights;
}
