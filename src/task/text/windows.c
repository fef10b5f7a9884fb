#include "task/text/windows.h"
#include "base/ctx.h"
#include <string.h>

struct window windows_at(const struct windows *w, int64_t i) {
    const int32_t *at = w->window.id + 4 * i;
    return (struct window){at[0], at[1], at[2], at[3]};
}

void windows_free(heed_ctx *cx, struct windows *w) {
    heed_ids_free(cx, &w->window);
    heed_ids_free(cx, &w->place);
}

void windows_room_free(heed_ctx *cx, struct windows_room *room) {
    heed_encoding_free(cx, &room->whole);
    heed_encoding_free(cx, &room->question);
    heed_ids_free(cx, &room->ids);
}

/* ---- making ---- */

/* The tokens of the context in the whole: those of the text behind the question's. */
static void find_context(const struct windows_room *room, int64_t *first, int64_t *count) {
    int64_t texts = 0;
    *first = room->whole.count;
    *count = 0;
    for (int64_t i = 0; i < room->whole.count; i++) {
        if (room->whole.token[i].special || texts++ < room->question.count) continue;
        if (*count == 0) *first = i;
        (*count)++;
    }
}

/* Where the answer stands in a window, as tokens of its sequence; of no answer, and where it is not wholly in the
 * window, the class token. */
static void find_answer(const heed_token *t, int64_t before, int64_t n, const int64_t *answer, int32_t at[2]) {
    int64_t from = 0, to = n - 1;
    at[0] = at[1] = 0;
    if (answer[0] == answer[1] || n == 0 || t[0].start > answer[0] || t[n - 1].end < answer[1]) return;
    while (from + 1 < n && t[from + 1].start <= answer[0]) from++;
    while (to > 0 && t[to - 1].end >= answer[1]) to--;
    at[0] = (int32_t)(before + from);
    at[1] = (int32_t)(before + (to < from ? from : to));
}

static bool put_places(heed_ctx *cx, struct windows *w, const heed_token *t, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (!heed_ids_put(cx, &w->place, (int32_t)t[i].start) || !heed_ids_put(cx, &w->place, (int32_t)t[i].end))
            return false;
    return true;
}

/* One window: what stands before the context, n tokens of the context, what stands behind it. */
static bool add_window(heed_ctx *cx, struct windows *w, const heed_text_reader *reader, const int32_t window[4],
                       int64_t from, int64_t behind, const int64_t *answer, struct windows_room *room,
                       heed_dataset *set) {
    const heed_token *t = room->whole.token;
    const int64_t first = window[1], n = window[2], length = first + n + room->whole.count - behind;
    int32_t at[2] = {0, 0};
    heed_cell cells[HEED_COLUMNS_MAX];
    int columns = 0;
    room->ids.count = 0;
    for (int type = 0; type < (reader->types ? 2 : 1); type++)
        for (int64_t i = 0; i < length; i++) {
            const heed_token *one = i < first       ? &t[i]
                                    : i < first + n ? &t[from + i - first]
                                                    : &t[behind + i - first - n];
            if (!heed_ids_put(cx, &room->ids, type ? one->type : one->id)) return false;
        }
    for (int type = 0; type < (reader->types ? 2 : 1); type++)
        cells[columns++] = (heed_cell){room->ids.id + type * length, length};
    if (answer) find_answer(t + from, first, n, answer, at);
    cells[columns++] = (heed_cell){&at[0], 1};
    cells[columns++] = (heed_cell){&at[1], 1};
    for (int i = 0; i < 4; i++)
        if (!heed_ids_put(cx, &w->window, window[i])) return false;
    return put_places(cx, w, t + from, n) && heed_dataset_add(cx, set, cells);
}

static void set_columns(const heed_text_reader *reader, bool answers, heed_dataset *set) {
    heed_text_columns(reader, set);
    if (!answers) return;
    set->column[set->columns++] = (heed_column){.name = "start_positions", .type = HEED_I32};
    set->column[set->columns++] = (heed_column){.name = "end_positions", .type = HEED_I32};
}

bool windows_add(heed_ctx *cx, struct windows *w, const heed_text_reader *reader, int64_t question,
                 const heed_text_input *text, const int64_t *answer, struct windows_room *room, heed_dataset *set) {
    const heed_encode_opts both = {.pair = text->pair, .pair_size = text->pair_size, .bytes = true},
                           alone = {.plain = true};
    int64_t first, count;
    if (set->columns == 0) set_columns(reader, answer, set);
    if (!heed_encode_text(cx, reader->tokens, text->text, text->size, &both, &room->whole) ||
        !heed_encode_text(cx, reader->tokens, text->text, text->size, &alone, &room->question))
        return false;
    find_context(room, &first, &count);
    const int64_t added = room->whole.count - count, size = w->max_length > 0 ? w->max_length - added : count;
    if (count > 0 && size < 1)
        return heed_fail(cx, HEED_ERR_RANGE, "the question has %lld tokens: of %lld none is left for the context",
                         (long long)room->question.count, (long long)w->max_length);
    const int64_t step = size > w->stride ? size - w->stride : 1;
    for (int64_t from = 0;; from += step) {
        const int64_t n = count - from < size ? count - from : size;
        const int32_t window[] = {(int32_t)question, (int32_t)first, (int32_t)n, (int32_t)w->place.count};
        if (!add_window(cx, w, reader, window, first + from, first + count, answer, room, set)) return false;
        if (from + n >= count) return true;
    }
}

/* ---- finding ---- */

/* The places of the largest numbers, best first. */
static int best_places(const float *x, int64_t n, int32_t *to) {
    int held = 0;
    for (int64_t i = 0; i < n; i++) {
        if (held == QA_N_BEST && !(x[i] > x[to[held - 1]])) continue;
        int at = held < QA_N_BEST ? held++ : held - 1;
        for (; at > 0 && x[to[at - 1]] < x[i]; at--) to[at] = to[at - 1];
        to[at] = (int32_t)i;
    }
    return held;
}

/* The same span of two windows counts once, with the better score. */
static void keep_span(struct found *f, struct span s) {
    int at = 0;
    for (int i = 0; i < f->n; i++)
        if (f->best[i].start == s.start && f->best[i].end == s.end) {
            if (!(s.score > f->best[i].score)) return;
            memmove(f->best + i, f->best + i + 1, (size_t)(f->n - i - 1) * sizeof *f->best);
            f->n--;
            break;
        }
    while (at < f->n && f->best[at].score >= s.score) at++;
    if (at == QA_N_BEST) return;
    if (f->n < QA_N_BEST) f->n++;
    memmove(f->best + at + 1, f->best + at, (size_t)(f->n - at - 1) * sizeof *f->best);
    f->best[at] = s;
}

static void search(const struct finding *f, int64_t row, const float *start, const float *end, int64_t length) {
    const struct window w = windows_at(f->w, row);
    struct found *found = &f->found[w.question];
    int32_t starts[QA_N_BEST], ends[QA_N_BEST];
    const int n = best_places(start, length, starts), m = best_places(end, length, ends);
    const float none = start[0] + end[0];
    if (!found->seen || none < found->none) found->none = none;
    found->seen = true;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            const int64_t a = starts[i] - w.first, b = ends[j] - w.first;
            if (a < 0 || b < a || b >= w.count || b - a + 1 > f->max_length) continue;
            const int32_t *place = f->w->place.id + w.place;
            keep_span(found, (struct span){start[starts[i]] + end[ends[j]], place[2 * a], place[2 * b + 1]});
        }
}

bool windows_take(heed_ctx *cx, void *own, const heed_batch *b, const heed_io *out) {
    const struct finding *f = own;
    heed_tensor *both[] = {heed_contiguous(cx, heed_io_get(out, "start_logits")),
                           heed_contiguous(cx, heed_io_get(out, "end_logits"))};
    if (heed_failed(cx) || !both[0] || !both[1])
        return heed_fail(cx, HEED_ERR_USAGE, "qa: the model gives no logits of start and end");
    if (cx->config.dry) return true;
    const int64_t length = heed_dim(both[0], 1);
    const int32_t *mask = heed_batch_i32(b, "attention_mask");
    for (int64_t i = 0; i < b->n; i++) {
        int64_t n = 0;
        while (n < length && (!mask || mask[i * length + n])) n++;
        const float *start = heed_f32(both[0]) + i * length, *end = heed_f32(both[1]) + i * length;
        if (!task_all_finite(cx, start, n) || !task_all_finite(cx, end, n)) return false;
        search(f, b->row[i], start, end, n);
    }
    return true;
}
