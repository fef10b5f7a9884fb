/* cairo: surfaces that end in a file, text, pixels.
 *
 * A picture is drawn whole before its file is opened, so a failure leaves nothing. Equal drawings give equal bytes: a
 * PDF carries no date, and the ids of an SVG, which cairo counts through the life of the process, are counted anew. */
#include "plot/canvas.h"
#include "base/file.h"
#include "io/text.h"
#include "plot/buffer.h"

#include <cairo-pdf.h>
#include <cairo-svg.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MAX_PIXELS 30000.0 /* cairo's images end at 32,767 */
/* Images within SVG and PDF: so many pixels to the point, for viewers smooth what they enlarge. */
#define VECTOR_PIXELS 4.0
#define FONT_MEMORY   24e6 /* bytes that fontconfig, FreeType and cairo's own tables stay below */

struct canvas {
    heed_ctx *cx;
    enum canvas_format format;
    const char *path;
    cairo_surface_t *surface;
    cairo_t *cr;
    struct buffer bytes;
};

/* ---- text ---- */

static void set_font(cairo_t *cr, double size, bool bold) {
    cairo_select_font_face(cr, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                           bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(cr, size);
}

double text_width(cairo_t *cr, const char *text, double size, bool bold) {
    cairo_text_extents_t e;
    set_font(cr, size, bold);
    cairo_text_extents(cr, text, &e);
    return e.x_advance;
}

void text_draw(cairo_t *cr, const char *text, double x, double y, struct words how) {
    const double width = text_width(cr, text, how.size, how.bold);
    cairo_save(cr);
    cairo_translate(cr, x, y);
    cairo_rotate(cr, -how.angle * 3.14159265358979323846 / 180);
    cairo_move_to(cr, -how.across * width, (1 - how.down) * CAP_HEIGHT * how.size);
    set_color(cr, how.color, 1);
    cairo_show_text(cr, text);
    cairo_new_path(cr); /* the text leaves a point that a later arc would join */
    cairo_restore(cr);
}

struct fitted text_fit(cairo_t *cr, const char *text, double size, bool bold, double most) {
    static const char dots[] = "\u2026";
    struct fitted f;
    size_t n = strlen(text);
    if (n < sizeof f.text && text_width(cr, text, size, bold) <= most) {
        memcpy(f.text, text, n + 1);
        return f;
    }
    if (n > sizeof f.text - sizeof dots) n = sizeof f.text - sizeof dots;
    for (;; n--) {
        while (n > 0 && ((unsigned char)text[n] & 0xC0) == 0x80) n--;
        memcpy(f.text, text, n);
        memcpy(f.text + n, dots, sizeof dots);
        if (n == 0 || text_width(cr, f.text, size, bold) <= most) return f;
    }
}

/* ---- shapes ---- */

void set_color(cairo_t *cr, struct rgb c, double alpha) { cairo_set_source_rgba(cr, c.r, c.g, c.b, alpha); }

void rounded(cairo_t *cr, struct rect r, double radius) {
    const double quarter = 3.14159265358979323846 / 2;
    cairo_new_sub_path(cr);
    cairo_arc(cr, r.x + r.w - radius, r.y + radius, radius, -quarter, 0);
    cairo_arc(cr, r.x + r.w - radius, r.y + r.h - radius, radius, 0, quarter);
    cairo_arc(cr, r.x + radius, r.y + r.h - radius, radius, quarter, 2 * quarter);
    cairo_arc(cr, r.x + radius, r.y + radius, radius, 2 * quarter, 3 * quarter);
    cairo_close_path(cr);
}

static double pixels_per_point(cairo_t *cr) {
    double x = 1, y = 1;
    if (cairo_surface_get_type(cairo_get_target(cr)) != CAIRO_SURFACE_TYPE_IMAGE) return VECTOR_PIXELS;
    cairo_user_to_device_distance(cr, &x, &y);
    return x;
}

struct rect snapped(cairo_t *cr, struct rect r) {
    const double k = pixels_per_point(cr);
    const double x = round(r.x * k), y = round(r.y * k);
    return (struct rect){x / k, y / k, (round((r.x + r.w) * k) - x) / k, (round((r.y + r.h) * k) - y) / k};
}

static uint32_t packed(struct rgb c) {
    return (uint32_t)lround(c.r * 255) << 16 | (uint32_t)lround(c.g * 255) << 8 | (uint32_t)lround(c.b * 255);
}

bool paint_pixels(cairo_t *cr, struct rect r, int64_t rows, int64_t cols, pixel_fn color, const void *arg) {
    const double k = pixels_per_point(cr);
    r = snapped(cr, r);
    const int width = (int)lround(r.w * k), height = (int)lround(r.h * k);
    if (width < 1 || height < 1 || rows < 1 || cols < 1) return true;
    cairo_surface_t *image = cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, height);
    unsigned char *data = cairo_image_surface_get_data(image);
    if (!data) {
        cairo_surface_destroy(image);
        return false;
    }
    const int stride = cairo_image_surface_get_stride(image);
    cairo_surface_flush(image);
    for (int y = 0; y < height; y++) {
        uint32_t *line = (uint32_t *)(void *)(data + (size_t)y * (size_t)stride);
        const int64_t row = (int64_t)(((double)y + 0.5) * (double)rows / height);
        if (y > 0 && row == (int64_t)(((double)y - 0.5) * (double)rows / height)) {
            memcpy(line, (unsigned char *)line - stride, (size_t)width * sizeof *line);
            continue;
        }
        for (int x = 0, last = -1; x < width; x++) {
            const int64_t col = (int64_t)(((double)x + 0.5) * (double)cols / width);
            line[x] = col == last ? line[x - 1] : packed(color(arg, row, col));
            last = (int)col;
        }
    }
    cairo_surface_mark_dirty(image);
    cairo_save(cr);
    cairo_translate(cr, r.x, r.y);
    cairo_scale(cr, 1 / k, 1 / k);
    cairo_set_source_surface(cr, image, 0, 0);
    cairo_pattern_set_filter(cairo_get_source(cr), CAIRO_FILTER_NEAREST);
    cairo_rectangle(cr, 0, 0, width, height);
    cairo_fill(cr);
    cairo_restore(cr);
    cairo_surface_destroy(image);
    return true;
}

/* ---- files ---- */

bool canvas_format(heed_ctx *cx, const char *name, enum canvas_format *out) {
    static const char *const names[] = {"png", "svg", "pdf"};
    for (int i = 0; i < 3; i++)
        if (name && strcasecmp(name, names[i]) == 0) {
            *out = (enum canvas_format)i;
            return true;
        }
    return heed_fail(cx, HEED_ERR_USAGE, "figure_write: '%s': formats are png, svg and pdf", escaped(name).s);
}

static cairo_status_t take(void *closure, const unsigned char *data, unsigned int size) {
    return buffer_put(closure, data, size) ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_WRITE_ERROR;
}

/* Whether the system has so much more memory. cairo crashes when memory runs out while it finishes an SVG or PDF, and
 * fontconfig then writes a cache of fonts that is empty and stays so: more than they can need must be there before. */
static bool has_memory(heed_ctx *cx, const char *path, double bytes) {
    void *volatile probe = malloc((size_t)bytes);
    free(probe);
    return probe || heed_fail(cx, HEED_ERR_MEMORY, "figure_write: %s: there are no %.0f MB of memory for it",
                              escaped(path).s, ceil(bytes / 1e6));
}

static bool open_surface(struct canvas *c, double width, double height, double pixels, bool images) {
    const bool png = c->format == CANVAS_PNG;
    const double w = ceil(width * pixels), h = ceil(height * pixels), density = png ? pixels : VECTOR_PIXELS;
    if (png && (w > MAX_PIXELS || h > MAX_PIXELS))
        return heed_fail(c->cx, HEED_ERR_RANGE, "figure_write: %g x %g pixels: each must be at most %g", w, h,
                         MAX_PIXELS);
    const double page = 4 * width * height * density * density; /* bytes of an image as large as the figure */
    if (!has_memory(c->cx, c->path, FONT_MEMORY + (png || images ? 2 * page : 0))) return false;
    if (c->format == CANVAS_PNG) {
        c->surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)w, (int)h);
    } else if (c->format == CANVAS_SVG) {
        c->surface = cairo_svg_surface_create_for_stream(take, &c->bytes, width, height);
    } else {
        c->surface = cairo_pdf_surface_create_for_stream(take, &c->bytes, width, height);
        cairo_pdf_surface_set_metadata(c->surface, CAIRO_PDF_METADATA_CREATE_DATE, "");
        cairo_pdf_surface_set_metadata(c->surface, CAIRO_PDF_METADATA_CREATOR, "heed");
    }
    c->cr = cairo_create(c->surface);
    if (c->format == CANVAS_PNG) cairo_scale(c->cr, pixels, pixels);
    return true;
}

/* Letters keep their shape and place at every size, so that all formats are laid out alike. */
static void set_defaults(cairo_t *cr) {
    cairo_font_options_t *fonts = cairo_font_options_create();
    cairo_font_options_set_hint_style(fonts, CAIRO_HINT_STYLE_NONE);
    cairo_font_options_set_hint_metrics(fonts, CAIRO_HINT_METRICS_OFF);
    cairo_font_options_set_antialias(fonts, CAIRO_ANTIALIAS_GRAY);
    cairo_set_font_options(cr, fonts);
    cairo_font_options_destroy(fonts);
    cairo_set_line_join(cr, CAIRO_LINE_JOIN_ROUND);
}

cairo_t *canvas_scratch(heed_ctx *cx, const char *path) {
    if (!has_memory(cx, path, FONT_MEMORY)) return NULL;
    cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, 1, 1);
    cairo_t *cr = cairo_create(surface);
    cairo_surface_destroy(surface); /* cr keeps it */
    set_defaults(cr);
    return cr;
}

struct canvas *canvas_open(heed_ctx *cx, const char *path, enum canvas_format format, double width, double height,
                           double pixels, bool images) {
    if (heed_failed(cx)) return NULL;
    struct canvas *c = heed_mem_new(cx, sizeof *c);
    if (!c) return NULL;
    *c = (struct canvas){.cx = cx, .format = format, .path = path, .bytes = {.cx = cx}};
    if (!open_surface(c, width, height, pixels, images)) {
        heed_mem_free(cx, c);
        return NULL;
    }
    set_defaults(c->cr);
    return c;
}

cairo_t *canvas_cairo(struct canvas *c) { return c->cr; }

static void canvas_free(struct canvas *c) {
    cairo_destroy(c->cr);
    cairo_surface_destroy(c->surface); /* may still write what is left: bytes go last */
    buffer_free(&c->bytes);
    heed_mem_free(c->cx, c);
}

/* A number behind `word`, such as the 17 of "#image17", and the word's length; 0 when it is something else. */
static size_t id_at(const char *s, size_t left, const char *word, long *id) {
    const size_t n = strlen(word);
    if (left < n + 2 || (s[0] != '"' && s[0] != '#') || memcmp(s + 1, word, n) != 0) return 0;
    if (s[n + 1] < '0' || s[n + 1] > '9') return 0;
    *id = strtol(s + n + 1, NULL, 10);
    return n + 1;
}

/* Writes the SVG with the ids of surfaces and images counted from 0 in the order in which they are found. */
static bool write_svg(struct file_writer *w, heed_ctx *cx, const struct buffer *b) {
    size_t seen_n = 0, seen_room = 0, from = 0;
    long *seen = NULL;
    bool ok = true;
    for (size_t i = 0; ok && i < b->size; i++) {
        long id;
        size_t n = id_at(b->data + i, b->size - i, "surface", &id);
        if (n == 0) n = id_at(b->data + i, b->size - i, "image", &id);
        if (n == 0) continue;
        size_t k = 0;
        while (k < seen_n && seen[k] != id) k++;
        if (k == seen_n && seen_n == seen_room) {
            long *more = heed_mem_resize(cx, seen, (seen_room = 2 * seen_room + 16) * sizeof *seen);
            if (!(ok = more != NULL)) break;
            seen = more;
        }
        if (k == seen_n) seen[seen_n++] = id;
        char digits[24];
        size_t d = sizeof digits;
        do digits[--d] = (char)('0' + k % 10);
        while (k /= 10);
        i += n;
        ok = file_write(w, b->data + from, i - from) && file_write(w, digits + d, sizeof digits - d);
        while (i < b->size && b->data[i] >= '0' && b->data[i] <= '9') i++;
        from = i--;
    }
    heed_mem_free(cx, seen);
    return ok && file_write(w, b->data + from, b->size - from);
}

static bool finish(struct canvas *c) {
    cairo_status_t status = cairo_status(c->cr);
    cairo_show_page(c->cr);
    if (status == CAIRO_STATUS_SUCCESS && c->format == CANVAS_PNG)
        status = cairo_surface_write_to_png_stream(c->surface, take, &c->bytes);
    cairo_surface_finish(c->surface);
    if (status == CAIRO_STATUS_SUCCESS) status = cairo_surface_status(c->surface);
    if (status == CAIRO_STATUS_SUCCESS) return !heed_failed(c->cx);
    return heed_fail(c->cx, status == CAIRO_STATUS_NO_MEMORY ? HEED_ERR_MEMORY : HEED_ERR_FORMAT,
                     "figure_write: %s: cairo: %s", escaped(c->path).s, cairo_status_to_string(status));
}

bool canvas_commit(struct canvas *c) {
    if (!c) return false;
    bool ok = finish(c);
    struct file_writer *w = ok ? file_write_open(c->cx, c->path) : NULL;
    ok = w && (c->format == CANVAS_SVG ? write_svg(w, c->cx, &c->bytes) : file_write(w, c->bytes.data, c->bytes.size));
    if (ok)
        ok = file_write_commit(w);
    else
        file_write_abort(w);
    canvas_free(c);
    return ok;
}

void canvas_abort(struct canvas *c) {
    if (c) canvas_free(c);
}
