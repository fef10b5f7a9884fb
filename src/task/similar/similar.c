/* Nearest texts: an index of vectors beside the texts, and exact search in it. */
#include "task/similar/similar.h"
#include "base/checked.h"
#include "base/ctx.h"
#include "base/file.h"
#include "io/safetensors.h"
#include "io/text.h"
#include "kernel/finite.h"
#include "kernel/gemm.h"
#include "kernel/ints.h"
#include "kernel/topk.h"
#include "model/core/directory.h"
#include "text/strings/hash.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FORMAT  "heed-vectors 1"
#define ROWS    16384 /* vectors that are compared with the queries at once: 24 MB of width 384 */
#define QUERIES 64    /* more take as long as so many after each other: products are bound by arithmetic then */

struct heed_similar {
    heed_lines texts;
    int64_t *line; /* (rows) of the file, from 0, of each vector */
    int64_t rows, width;
    heed_safetensors *file;
    const float *vector; /* (rows, width), the file's */
    const char *made;
    int64_t cut;
    char path[PATH_ROOM]; /* of the file */
};

/* ---- what an index is of ---- */

struct digest {
    char text[17];
};

uint64_t similar_hash(uint64_t h, const void *bytes, size_t size) {
    const char *s = bytes;
    h = hash_mix(h ^ size, 0x9E3779B97F4A7C15u);
    for (; size >= 8; s += 8, size -= 8) h = hash_mix(h ^ hash_word(s, 8), 0xD6E8FEB86659FD93u);
    return size > 0 ? hash_mix(h ^ hash_word(s, size), 0xD6E8FEB86659FD93u) : h;
}

bool similar_hash_config(heed_ctx *cx, const heed_model *model, uint64_t *h) {
    size_t size = 0;
    char *config = heed_json_print(cx, heed_model_config(model), 0, &size);
    if (config) *h = similar_hash(*h, config, size);
    heed_mem_free(cx, config);
    return config != NULL;
}

uint64_t similar_hash_weights(uint64_t h, const heed_model *model, const char *but) {
    const heed_params *set = heed_model_params(model);
    for (int i = 0; i < heed_params_count(set); i++) {
        const heed_param *p = heed_params_at(set, i);
        if (p->target || p->fresh || (but && strstr(p->name, but))) continue;
        h = similar_hash(h, p->name, strlen(p->name));
        h = similar_hash(h, p->data, (size_t)p->count * heed_dtype_size(p->dtype));
    }
    return h;
}

static struct digest digest_of(uint64_t h) {
    struct digest d;
    snprintf(d.text, sizeof d.text, "%016llx", (unsigned long long)h);
    return d;
}

/* ---- making one ---- */

/* To length 1; false: it holds what is not a finite number. */
static bool normalise(float *x, int64_t n) {
    double square = 0;
    for (int64_t j = 0; j < n; j++) square += (double)x[j] * (double)x[j];
    const float scale = square > 0 ? (float)(1 / sqrt(square)) : 0;
    for (int64_t j = 0; j < n; j++) x[j] *= scale;
    return isfinite(square);
}

static struct file_writer *open_file(heed_ctx *cx, const heed_similar *s, const char *path, const heed_pair *record,
                                     int64_t n) {
    const heed_array vectors = {
        .name = "vectors", .dtype = HEED_F32, .rank = 2, .shape = {s->rows, s->width}, .data = ""};
    return st_write_open(cx, path, &vectors, 1, record, n);
}

static bool make(heed_ctx *cx, const struct similar_source *source, heed_similar *s, const char *path,
                 const heed_pair *record, int64_t n_record, const heed_similar_opts *opts) {
    struct file_writer *w = s->width > 0 ? open_file(cx, s, path, record, n_record) : NULL;
    bool ok = !heed_failed(cx);
    for (int64_t at = 0; ok && at < s->rows && !heed_cancelled(cx); at += source->at_once) {
        const int64_t n = min64(source->at_once, s->rows - at);
        int64_t cut = 0;
        float *const out = source->embed(cx, source->own, &s->texts, s->line + at, n, &s->width, &cut);
        if (out && !w) w = open_file(cx, s, path, record, n_record);
        for (int64_t i = 0; out && i < n; i++) normalise(out + i * s->width, s->width);
        ok = out && w && file_write(w, out, (size_t)(n * s->width) * sizeof *out);
        heed_mem_free(cx, out);
        s->cut += cut;
        if (ok && opts->progress) opts->progress(opts->own, at + n, s->rows);
    }
    if (w && ok && !heed_failed(cx)) return file_write_commit(w);
    if (w) file_write_abort(w);
    return false;
}

/* ---- opening ---- */

static bool is_blank(const char *text) { return text[strspn(text, " \t\r\f\v")] == 0; }

static bool find_rows(heed_ctx *cx, heed_similar *s, const struct similar_source *source) {
    s->line = heed_mem_new(cx, ((size_t)s->texts.count + 1) * sizeof *s->line);
    for (int64_t i = 0; s->line && i < s->texts.count; i++)
        if (!is_blank(heed_line_text(&s->texts, i))) s->line[s->rows++] = i;
    if (heed_failed(cx)) return false;
    if (s->rows == 0) return heed_fail(cx, HEED_ERR_FORMAT, "%s: there are no %s", source->path, source->what);
    if (s->rows > INT32_MAX)
        return heed_fail(cx, HEED_ERR_RANGE, "%s: more than %d %s", source->path, INT32_MAX, source->what);
    return true;
}

/* The index at path, as far as it is one; *stale: why it does not fit, or NULL. */
static bool open_index(heed_ctx *cx, heed_similar *s, const struct similar_source *source, const char *path,
                       const heed_pair *record, int64_t n, const char **stale) {
    const char *const why[] = {"it has another format", source->changed, "it was made with another model"};
    s->file = heed_safetensors_open(cx, path);
    if (!s->file) return heed_fail_in(cx, "the file of vectors");
    const char *format = heed_safetensors_metadata(cx, s->file, record[0].key);
    const int64_t at = heed_safetensors_find(cx, s->file, "vectors");
    if (!format || at < 0)
        return heed_fail(cx, HEED_ERR_FORMAT, "%s: no vectors of %s; it is not overwritten", path, source->what);
    const heed_array *a = heed_safetensors_get(cx, s->file, at);
    if (!a) return false;
    *stale = NULL;
    for (int64_t i = n - 1; i >= 0; i--) {
        const char *value = heed_safetensors_metadata(cx, s->file, record[i].key);
        if (!value || strcmp(value, record[i].value) != 0) *stale = why[i];
    }
    if (!*stale && (a->dtype != HEED_F32 || a->rank != 2 || a->shape[0] != s->rows || a->shape[1] < 1 ||
                    (s->width > 0 && a->shape[1] != s->width)))
        *stale = "it has other sizes";
    if (!*stale) s->width = a->shape[1];
    s->vector = a->data;
    return true;
}

static bool check_vectors(heed_ctx *cx, const heed_similar *s) {
    for (int64_t i = 0; i < s->rows && !(i % ROWS == 0 && heed_cancelled(cx)); i++)
        if (!kernel_is_finite(s->vector + i * s->width, s->width))
            return heed_fail(
                cx, HEED_ERR_FORMAT,
                "%s: vector %lld holds what is not a finite number; without the file all are computed anew", s->path,
                (long long)i + 1);
    return !heed_failed(cx);
}

static bool open_vectors(heed_ctx *cx, heed_similar *s, const struct similar_source *source,
                         const heed_similar_opts *opts) {
    const char *const path = s->path;
    const struct digest rows = digest_of(source->rows), model = digest_of(source->model);
    const heed_pair record[] = {{"format", FORMAT}, {source->what, rows.text}, {"model", model.text}};
    const char *stale = "there was none";
    const bool there = access(path, F_OK) == 0;
    if (there && !open_index(cx, s, source, path, record, 3, &stale)) return false;
    if (there && !stale) return check_vectors(cx, s);
    heed_safetensors_close(s->file);
    s->file = NULL;
    s->made = stale;
    return make(cx, source, s, path, record, 3, opts) && open_index(cx, s, source, path, record, 3, &stale) &&
           (!stale || heed_fail(cx, HEED_ERR_FILE, "%s: changed by somebody else while it was made", path));
}

/* Beside what it is of, whose name may end in slashes; of a folder without a name of its own (".", "../..", "/"), in
 * it.
 */
static bool name_index(heed_ctx *cx, const char *of, const heed_similar_opts *opts, char path[PATH_ROOM]) {
    size_t size = strlen(of);
    while (size > 0 && of[size - 1] == '/') size--;
    size_t last = size;
    while (last > 0 && of[last - 1] != '/') last--;
    const bool nameless = strspn(of + last, ".") >= size - last && size - last <= 2;
    const int used = opts->index ? snprintf(path, PATH_ROOM, "%s", opts->index)
                                 : snprintf(path, PATH_ROOM, "%.*s%s", (int)size, of,
                                            nameless ? "/pictures.vectors.safetensors" : ".vectors.safetensors");
    return used < PATH_ROOM || heed_fail(cx, HEED_ERR_USAGE, "similar: the name of a file is too long");
}

heed_similar *similar_open(heed_ctx *cx, heed_lines *lines, const struct similar_source *source,
                           const heed_similar_opts *opts) {
    static const heed_similar_opts standard = {0};
    if (!opts) opts = &standard;
    heed_similar *s = heed_mem_new(cx, sizeof *s);
    if (!s) return heed_lines_free(cx, lines), NULL;
    *s = (heed_similar){.texts = *lines, .width = source->width};
    if (name_index(cx, source->path, opts, s->path) && find_rows(cx, s, source) && open_vectors(cx, s, source, opts))
        return s;
    heed_similar_close(cx, s);
    return NULL;
}

void heed_similar_close(heed_ctx *cx, heed_similar *s) {
    if (!s) return;
    heed_safetensors_close(s->file);
    heed_lines_free(cx, &s->texts);
    heed_mem_free(cx, s->line);
    heed_mem_free(cx, s);
}

int64_t heed_similar_lines(const heed_similar *s) { return s ? s->rows : 0; }
int64_t heed_similar_width(const heed_similar *s) { return s ? s->width : 0; }
const char *heed_similar_text(const heed_similar *s, int64_t line) {
    return s ? heed_line_text(&s->texts, line - 1) : NULL;
}
const char *heed_similar_index(const heed_similar *s) { return s ? s->path : NULL; }
const char *heed_similar_rebuild_reason(const heed_similar *s) { return s ? s->made : NULL; }
int64_t heed_similar_cut(const heed_similar *s) { return s ? s->cut : 0; }

/* ---- searching ---- */

struct search {
    const heed_similar *s;
    int64_t n, top;
    float *query; /* (n, width) of length 1 */
    float *score; /* (n, ROWS) */
    struct candidate *best;
    struct topk_heap *heap; /* (n) */
    int64_t first, rows;    /* of the block of vectors */
};

static void take_row(void *arg, int64_t i, void *scratch) {
    const struct search *f = arg;
    (void)scratch;
    topk_take(&f->heap[i], f->score + i * f->rows, f->rows, f->first);
}

/* One pass over the vectors, which are many times what the caches hold. */
static bool pass(heed_ctx *cx, struct search *f) {
    const heed_similar *s = f->s;
    for (f->first = 0; f->first < s->rows && !heed_cancelled(cx); f->first += ROWS) {
        f->rows = min64(ROWS, s->rows - f->first);
        kernel_gemm(cx->pool, &(struct gemm){.m = f->n,
                                             .n = f->rows,
                                             .k = s->width,
                                             .a = f->query,
                                             .lda = s->width,
                                             .b = s->vector + f->first * s->width,
                                             .ldb = s->width,
                                             .trans_b = true,
                                             .c = f->score,
                                             .ldc = f->rows,
                                             .alpha = 1});
        pool_run_if(f->n > 1, cx->pool, f->n, take_row, f);
    }
    return !heed_failed(cx);
}

static void put_found(struct search *f, int64_t i, heed_found *to) {
    const int64_t n = topk_sort(&f->heap[i]);
    for (int64_t k = 0; k < f->top; k++)
        to[k] = k < n ? (heed_found){f->s->line[f->heap[i].best[k].id] + 1, f->heap[i].best[k].score} : (heed_found){0};
}

bool heed_similar_find(heed_ctx *cx, const heed_similar *s, const float *queries, int64_t n, int64_t top,
                       heed_found *found) {
    size_t room;
    if (heed_failed(cx)) return false;
    if (!s || n < 0 || top < 1 || (n > 0 && (!queries || !found)))
        return heed_fail(cx, HEED_ERR_USAGE, "similar: an index, queries and a place for what is found are needed");
    const int64_t kept = min64(top, s->rows), most = min64(n, QUERIES);
    struct search f = {.s = s, .top = top};
    if (!size_mul((size_t)kept, (size_t)most * sizeof *f.best, &room))
        return heed_fail(cx, HEED_ERR_MEMORY, "similar: too many lines are asked for");
    f.query = heed_mem_new(cx, (size_t)(most * s->width) * sizeof *f.query + 1);
    f.score = heed_mem_new(cx, (size_t)(most * min64(ROWS, s->rows)) * sizeof *f.score + 1);
    f.heap = heed_mem_new(cx, (size_t)most * sizeof *f.heap + 1);
    f.best = heed_mem_new(cx, room + 1);
    for (int64_t at = 0; !heed_failed(cx) && at < n; at += QUERIES) {
        f.n = min64(QUERIES, n - at);
        memcpy(f.query, queries + at * s->width, (size_t)(f.n * s->width) * sizeof *f.query);
        for (int64_t i = 0; i < f.n; i++) {
            if (!normalise(f.query + i * s->width, s->width))
                heed_fail(cx, HEED_ERR_RANGE, "similar: query %lld holds what is not a finite number",
                          (long long)(at + i) + 1);
            f.heap[i] = (struct topk_heap){.best = f.best + i * kept, .k = kept, .least = -INFINITY};
        }
        if (!pass(cx, &f)) break;
        for (int64_t i = 0; i < f.n; i++) put_found(&f, i, found + (at + i) * top);
    }
    heed_mem_free(cx, f.query);
    heed_mem_free(cx, f.score);
    heed_mem_free(cx, f.heap);
    heed_mem_free(cx, f.best);
    return !heed_failed(cx);
}
