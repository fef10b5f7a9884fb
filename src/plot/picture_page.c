/* Attention over a picture as one HTML file that loads nothing: picture_page.html, with the picture, its weights and
 * the script picture_page.js in it. Maps within windows are written as they were captured, and beside them which patch
 * each of their tokens is. */
#include "heed/attend.h"
#include "heed/plot.h"
#include "plot/attention_page.h"
#include "plot/page_pieces.h"
#include "plot/terminal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_SITES 64
#define MAX_WIDE  ((int64_t)16 << 20) /* weights of two bytes */
#define VIEW      720                 /* pixels of the picture's longer side */
#define QUALITY   90                  /* of its JPEG */

static const char op[] = "picture_page";

struct page {
    heed_ctx *cx;
    struct file_writer *file;
    const heed_attended *a;
    heed_picture_page_opts opts;
    unsigned scale;
    float most; /* the largest weight: those of many patches are all small */
};

static bool check(struct page *p) {
    const heed_attended *const a = p->a;
    const heed_picture_page_opts *const o = &p->opts;
    int64_t weights = 0;
    if (!a || a->height == 0 || a->n < 1 || a->n > MAX_SITES)
        return heed_fail(p->cx, HEED_ERR_USAGE, "%s: there is no attention over a picture, or more than %d kinds", op,
                         MAX_SITES);
    if (o->site < 0 || o->site >= a->n || o->layer < 0 || o->layer >= a->sites[o->site].n_maps || o->head < -1 ||
        o->head >= a->sites[o->site].maps[0].heads)
        return heed_fail(p->cx, HEED_ERR_RANGE, "%s: site %d, layer %d, head %lld cannot be open at first", op, o->site,
                         o->layer, (long long)o->head);
    for (int i = 0; i < a->n; i++)
        for (int l = 0; l < a->sites[i].n_maps; l++) {
            const heed_capture_map *const m = &a->sites[i].maps[l];
            const int64_t n = m->batch * m->heads * m->rows * m->keys;
            for (int64_t k = 0; k < n; k++) p->most = fmaxf(p->most, m->weights[k]);
            weights += n;
        }
    p->most = p->most > 0 ? fminf(p->most, 1) : 1;
    p->scale = weights <= MAX_WIDE ? 65535 : 255;
    return check_labels(p->cx, op, &o->title, 1) && check_labels(p->cx, op, &o->line, 1);
}

/* ---- words ---- */

/* Sizes of patches are fractions of the picture shown, which is what the first site's patches cover. */
static void put_site(struct buffer *b, const heed_attended_site *s, const heed_axis *whole) {
    const heed_axis *const at = s->keys;
    const double height = (double)(whole->rows * whole->patch_height),
                 width = (double)(whole->columns * whole->patch_width);
    buffer_text(b, "{");
    page_member(b, "name", s->name);
    buffer_format(b, "\"rows\":%lld,\"columns\":%lld,\"high\":%.9g,\"wide\":%.9g,\"first\":%lld,\"names\":[",
                  (long long)at->rows, (long long)at->columns, (double)at->patch_height / height,
                  (double)at->patch_width / width, (long long)at->first);
    for (int64_t i = 0; i < at->first; i++) {
        if (i) buffer_text(b, ",");
        page_text(b, at->tokens[i]);
    }
    const heed_axis *const asks = s->queries;
    buffer_text(b, "],");
    if (asks != at && asks->rows > 0)
        buffer_format(b, "\"asks\":{\"rows\":%lld,\"columns\":%lld,\"high\":%.9g,\"wide\":%.9g},",
                      (long long)asks->rows, (long long)asks->columns, (double)asks->patch_height / height,
                      (double)asks->patch_width / width);
    buffer_format(
        b, "\"word\":\"%s\",\"finders\":%lld,\"learned\":%lld,\"class\":%s,\"heads\":%lld,\"layers\":%d,\"keys\":%lld}",
        strcmp(asks->what, "object queries") == 0 ? "query" : "latent", (long long)at->detections,
        (long long)(asks == at || asks->rows > 0 ? 0 : asks->n), asks->has_class ? "true" : "false",
        (long long)s->maps[0].heads, s->n_maps, (long long)s->maps[0].keys);
}

/* Boxes as parts of the picture shown. */
static void put_objects(struct buffer *b, const struct page *p) {
    const heed_attended *const a = p->a;
    const heed_axis *const whole = a->sites[0].keys;
    const double wide = (double)a->width / (double)(whole->columns * whole->patch_width),
                 high = (double)a->height / (double)(whole->rows * whole->patch_height);
    buffer_format(b, "],\n\"threshold\":%.9g,\"objects\":[", p->opts.threshold);
    for (int64_t i = 0; i < a->n_objects; i++) {
        const heed_attended_object *const o = &a->objects[i];
        buffer_format(b, "%s{\"query\":%lld,\"label\":%d,\"score\":%.4f,", i ? ",\n" : "", (long long)o->query,
                      o->label, o->score);
        page_member(b, "name", o->name);
        buffer_format(b, "\"box\":[%.6g,%.6g,%.6g,%.6g]}", o->box[0] * wide, o->box[1] * high, o->box[2] * wide,
                      o->box[3] * high);
    }
}

static bool write_words(const struct page *p, int64_t height, int64_t width) {
    struct buffer b = {.cx = p->cx};
    const heed_picture_page_opts *const o = &p->opts;
    buffer_text(&b, "<script type=\"application/json\" id=\"data\">\n{");
    page_member(&b, "title", o->title);
    page_member(&b, "line", o->line);
    buffer_format(
        &b,
        "\"width\":%lld,\"height\":%lld,\"scale\":%u,\"most\":%.9g,\"start\":{\"site\":%d,\"layer\":%d,\"head\":%lld,"
        "\"query\":%lld,\"rollout\":%s,\"smooth\":%s},\n\"sites\":[",
        (long long)width, (long long)height, p->scale, (double)p->most, o->site, o->layer, (long long)o->head,
        (long long)o->query, o->rollout ? "true" : "false", o->smooth ? "true" : "false");
    for (int i = 0; i < p->a->n; i++) {
        if (i) buffer_text(&b, ",\n");
        put_site(&b, &p->a->sites[i], p->a->sites[0].keys);
    }
    put_objects(&b, p);
    const bool ok = buffer_text(&b, "]}\n</script>\n") && file_write(p->file, b.data, b.size);
    buffer_free(&b);
    return ok;
}

/* ---- the picture and the weights ---- */

static bool write_picture(const struct page *p) {
    heed_image view = {0};
    size_t size = 0;
    unsigned char *jpeg = NULL;
    if (heed_attended_view(p->cx, p->a, 0, VIEW, &view))
        jpeg = heed_image_encode(p->cx, &view, HEED_IMAGE_JPEG, QUALITY, &size);
    const bool ok = jpeg && write_words(p, view.height, view.width) && page_tag(p->file, "picture", 0, 0) &&
                    page_base64(p->file, jpeg, size) && page_tag_end(p->file);
    heed_mem_free(p->cx, jpeg);
    heed_image_free(p->cx, &view);
    return ok;
}

static bool write_cells(const struct page *p, const int32_t *cells, int64_t n) {
    for (int64_t i = 0; i < n; i += 768) {
        unsigned char bytes[4 * 768];
        const int64_t count = n - i < 768 ? n - i : 768;
        for (int64_t k = 0; k < 4 * count; k++) bytes[k] = (unsigned char)((uint32_t)cells[i + k / 4] >> 8 * (k % 4));
        if (!page_base64(p->file, bytes, (size_t)(4 * count))) return false;
    }
    return true;
}

static bool write_weights(const struct page *p) {
    for (int i = 0; i < p->a->n; i++)
        for (int l = 0; l < p->a->sites[i].n_maps; l++) {
            const int32_t *const cells = p->a->sites[i].cells[l];
            const heed_capture_map *const m = &p->a->sites[i].maps[l];
            if (!page_tag(p->file, "w", i, l) ||
                !page_weights(p->file, m->weights, m->batch * m->heads * m->rows * m->keys, p->scale, p->most) ||
                !page_tag_end(p->file))
                return false;
            if (cells &&
                (!page_tag(p->file, "c", i, l) || !write_cells(p, cells, m->batch * m->rows) || !page_tag_end(p->file)))
                return false;
        }
    return true;
}

/* ---- the page ---- */

static bool write_data(struct file_writer *file, void *arg) {
    struct page *const p = arg;
    p->file = file;
    return write_picture(p) && write_weights(p);
}

bool heed_picture_page(heed_ctx *cx, const char *path, const heed_attended *a, const heed_picture_page_opts *opts) {
    if (heed_failed(cx)) return false;
    struct page p = {.cx = cx, .a = a, .opts = {.head = -1, .query = -1}};
    if (opts) p.opts = *opts;
    return check(&p) && page_write(cx, path,
                                   &(struct page_source){.html = picture_page_html,
                                                         .html_size = picture_page_html_size,
                                                         .script = picture_page_js,
                                                         .script_size = picture_page_js_size,
                                                         .op = op,
                                                         .title = p.opts.title,
                                                         .line = p.opts.line,
                                                         .data = write_data,
                                                         .arg = &p});
}
