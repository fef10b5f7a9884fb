/* Attention as one HTML file that loads nothing: attention_page.html, with the caller's tokens and weights and the
 * script attention_page.js in place of its sample. What the tokens hold cannot end the script that they lie in: every
 * '<' is written as an escape.
 *
 * Weights are whole numbers, `scale` of them to 1, little-endian, in base64: two bytes each, and one where there are so
 * many that the page would be slow to open. */
#define _GNU_SOURCE /* memmem */
#include "plot/attention_page.h"
#include "base/checked.h"
#include "base/file.h"
#include "heed/attend.h"
#include "heed/attention.h"
#include "plot/buffer.h"
#include "plot/page_pieces.h"
#include "plot/terminal.h"

#include <stdio.h>
#include <string.h>

#define MAX_SITES  9 /* the keys 1 to 9 choose them */
#define MAX_LAYERS 4096
#define MAX_WIDE   ((int64_t)16 << 20) /* weights of two bytes */

static const char op[] = "attention_page";

struct page {
    heed_ctx *cx;
    struct file_writer *file;
    struct buffer json;
    const heed_attended_site *sites;
    int n;
    heed_attention_page_opts opts;
    unsigned scale;
};

/* ---- checks ---- */

static bool names_are_text(heed_ctx *cx, const char *const *names, int64_t n) {
    for (int64_t i = 0; names && i < n; i++)
        if (!names[i]) return heed_fail(cx, HEED_ERR_USAGE, "%s: token %lld has no name", op, (long long)i);
    return check_labels(cx, op, names, n);
}

/* Tokens, whose U+2581 the page leaves out; of byte-level BPE, whose blank is U+0120, the labels. NULL: numbered. */
static const char *const *names_of(const heed_axis *axis) {
    if (!axis) return NULL;
    for (int64_t i = 0; axis->tokens && axis->labels && i < axis->n; i++)
        if (axis->tokens[i] && strncmp(axis->tokens[i], "\u0120", 2) == 0) return axis->labels;
    return axis->tokens;
}

static bool check_site(const struct page *p, const heed_attended_site *s, int64_t *weights) {
    heed_ctx *const cx = p->cx;
    if (!s->name || !s->maps || s->n_maps < 1 || s->n_maps > MAX_LAYERS)
        return heed_fail(cx, HEED_ERR_USAGE, "%s: a site needs a name and 1 to %d maps", op, MAX_LAYERS);
    const heed_capture_map *const like = &s->maps[0];
    if ((s->queries && s->queries->n != like->rows) || (s->keys && s->keys->n != like->keys))
        return heed_fail(cx, HEED_ERR_SHAPE, "%s: the axes of '%s' are not of its maps' size", op, s->name);
    for (int l = 0; l < s->n_maps; l++) {
        const heed_capture_map *const m = &s->maps[l];
        int64_t n;
        if (m->batch < 1 || m->heads < 1 || m->rows < 1 || m->keys < 1 || !i64_mul(m->batch, m->heads, &n) ||
            !i64_mul(n, m->rows, &n) || !i64_mul(n, m->keys, &n) || n > INT64_MAX / 8)
            return heed_fail(cx, HEED_ERR_SHAPE, "%s: no map can be (%lld,%lld,%lld,%lld)", op, (long long)m->batch,
                             (long long)m->heads, (long long)m->rows, (long long)m->keys);
        if (m->heads != like->heads || m->rows != like->rows || m->keys != like->keys)
            return heed_fail(cx, HEED_ERR_SHAPE, "%s: the layers of '%s' are not of one size", op, s->name);
        if (!m->weights) return heed_fail(cx, HEED_ERR_USAGE, "%s: a map of '%s' has no weights", op, s->name);
        if (p->opts.batch < 0 || p->opts.batch >= m->batch)
            return heed_fail(cx, HEED_ERR_RANGE, "%s: sequence %lld of a batch of %lld", op, (long long)p->opts.batch,
                             (long long)m->batch);
        if (!i64_add(*weights, n / m->batch, weights)) return heed_fail(cx, HEED_ERR_RANGE, "%s: too many weights", op);
    }
    return check_labels(cx, op, &s->name, 1) && check_labels(cx, op, &s->title, 1) &&
           names_are_text(cx, names_of(s->queries), like->rows) && names_are_text(cx, names_of(s->keys), like->keys) &&
           check_labels(cx, op, s->queries ? s->queries->next : NULL, like->rows);
}

static bool check(struct page *p) {
    heed_ctx *const cx = p->cx;
    const heed_attention_page_opts *const o = &p->opts;
    int64_t weights = 0;
    if (!p->sites || p->n < 1 || p->n > MAX_SITES)
        return heed_fail(cx, HEED_ERR_RANGE, "%s: %d sites: must be 1 to %d", op, p->n, MAX_SITES);
    if (o->n_lines < 0 || (o->n_lines > 0 && !o->lines))
        return heed_fail(cx, HEED_ERR_USAGE, "%s: there are no lines", op);
    if (!check_labels(cx, op, &o->title, 1) || !names_are_text(cx, o->lines, o->n_lines)) return false;
    for (int i = 0; i < p->n; i++)
        if (!check_site(p, &p->sites[i], &weights)) return false;
    if (o->site < 0 || o->site >= p->n || o->layer < 0 || o->layer >= p->sites[o->site].n_maps || o->head < 0 ||
        o->head >= p->sites[o->site].maps[0].heads)
        return heed_fail(cx, HEED_ERR_RANGE, "%s: site %d, map %d, head %lld cannot be open at first", op, o->site,
                         o->layer, (long long)o->head);
    p->scale = weights <= MAX_WIDE ? 65535 : 255;
    return true;
}

/* ---- words ---- */

static void put_member(struct buffer *b, const char *name, const char *text) {
    if (!text) return;
    buffer_format(b, "\"%s\":", name);
    page_text(b, text);
    buffer_text(b, ",");
}

static void put_names(struct buffer *b, const char *name, const char *const *names, int64_t n) {
    if (!names) return;
    buffer_format(b, "\"%s\":[", name);
    for (int64_t i = 0; i < n; i++) {
        if (i) buffer_text(b, ",");
        page_text(b, names[i] ? names[i] : "");
    }
    buffer_text(b, "],");
}

static void put_numbers(struct buffer *b, const char *name, const int32_t *numbers, int64_t n) {
    if (!numbers) return;
    buffer_format(b, "\"%s\":[", name);
    for (int64_t i = 0; i < n; i++) buffer_format(b, i ? ",%d" : "%d", (int)numbers[i]);
    buffer_text(b, "],");
}

static void put_site(struct buffer *b, const heed_attended_site *s) {
    const heed_capture_map *const m = &s->maps[0];
    buffer_text(b, "{");
    put_member(b, "name", s->name);
    put_member(b, "title", s->title);
    put_names(b, "queries", names_of(s->queries), m->rows);
    put_names(b, "keys", names_of(s->keys), m->keys);
    put_names(b, "next", s->queries ? s->queries->next : NULL, m->rows);
    if (s->queries && s->queries == s->keys) {
        put_numbers(b, "segments", s->queries->segments, m->rows);
        put_numbers(b, "words", s->queries->words, m->rows);
    }
    buffer_format(b, "\"n_queries\":%lld,\"n_keys\":%lld,\"heads\":%lld,\"layers\":[", (long long)m->rows,
                  (long long)m->keys, (long long)m->heads);
    for (int l = 0; l < s->n_maps; l++) buffer_format(b, l ? ",%d" : "%d", s->maps[l].layer);
    buffer_text(b, "]}");
}

static bool write_words(struct page *p) {
    struct buffer *const b = &p->json;
    const heed_attention_page_opts *const o = &p->opts;
    buffer_text(b, "<script type=\"application/json\" id=\"data\">\n{");
    put_member(b, "title", o->title);
    put_names(b, "lines", o->lines, o->n_lines);
    buffer_format(b, "\"scale\":%u,\"start\":{\"site\":%d,\"layer\":%d,\"head\":%lld},\n\"sites\":[", p->scale, o->site,
                  o->layer, o->single ? (long long)o->head : -1);
    for (int i = 0; i < p->n; i++) {
        if (i) buffer_text(b, ",\n");
        put_site(b, &p->sites[i]);
    }
    return buffer_text(b, "]}\n</script>\n") && file_write(p->file, b->data, b->size);
}

/* ---- weights ---- */

static bool write_map(const struct page *p, const heed_capture_map *m) {
    const int64_t n = m->heads * m->rows * m->keys;
    return page_weights(p->file, m->weights + p->opts.batch * n, n, p->scale, 1);
}

static bool write_weights(const struct page *p) {
    for (int i = 0; i < p->n; i++)
        for (int l = 0; l < p->sites[i].n_maps; l++) {
            char tag[64];
            const int n = snprintf(tag, sizeof tag, "<script type=\"text/plain\" id=\"w%d-%d\">", i, l);
            if (!file_write(p->file, tag, (size_t)n) || !write_map(p, &p->sites[i].maps[l]) ||
                !file_write(p->file, "</script>\n", 10))
                return false;
        }
    return true;
}

/* ---- the page ---- */

static bool write_script(const struct page *p) {
    return file_write(p->file, "<script>\n", 9) && file_write(p->file, attention_page_js, attention_page_js_size) &&
           file_write(p->file, "</script>\n", 10);
}

/* The page's own title, and what its sample lies between. */
static const char title_mark[] = "<title>Attention</title>";
static const char from_mark[] = "<!-- data -->\n", to_mark[] = "<!-- end of data -->\n";

/* The title and the first of the lines. */
static bool write_title(struct page *p) {
    const heed_attention_page_opts *const o = &p->opts;
    struct buffer b = {.cx = p->cx};
    buffer_text(&b, "<title>");
    page_escaped(&b, o->title ? o->title : "Attention");
    if (o->n_lines > 0) {
        buffer_text(&b, ": ");
        page_escaped(&b, o->lines[0]);
    }
    const bool ok = buffer_text(&b, "</title>") && file_write(p->file, b.data, b.size);
    buffer_free(&b);
    return ok;
}

bool heed_attention_page(heed_ctx *cx, const char *path, const heed_attended_site *sites, int n,
                         const heed_attention_page_opts *opts) {
    if (heed_failed(cx)) return false;
    struct page p = {.cx = cx, .json = {.cx = cx}, .sites = sites, .n = n};
    if (opts) p.opts = *opts;
    if (!check(&p)) return false;
    const unsigned char *const html = attention_page_html, *const end = html + attention_page_html_size;
    const unsigned char *const from = memmem(html, attention_page_html_size, from_mark, strlen(from_mark));
    const unsigned char *const to = memmem(html, attention_page_html_size, to_mark, strlen(to_mark));
    const unsigned char *const title = memmem(html, attention_page_html_size, title_mark, strlen(title_mark));
    if (!from || !to || !title || title > from)
        return heed_fail(cx, HEED_ERR_FORMAT, "%s: the page has no place for its data", op);
    const unsigned char *const rest = title + strlen(title_mark);
    p.file = file_write_open(cx, path);
    if (!p.file) return false;
    const bool ok = file_write(p.file, html, (size_t)(title - html)) && write_title(&p) &&
                    file_write(p.file, rest, (size_t)(from - rest)) && write_words(&p) && write_weights(&p) &&
                    write_script(&p) && file_write(p.file, to, (size_t)(end - to));
    buffer_free(&p.json);
    if (ok && !heed_failed(cx)) return file_write_commit(p.file);
    file_write_abort(p.file);
    return false;
}
