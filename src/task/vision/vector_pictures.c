#include "task/vision/vector_pictures.h"
#include "heed/augment.h"
#include "heed/loop.h"
#include "io/text.h"

#include <string.h>

bool vector_pictures_set(heed_ctx *cx, const char *dir, heed_picture_model *m) {
    heed_data *const like = heed_model_data(cx, m->model);
    if (!like) return false;
    const int64_t outputs = heed_json_int(cx, heed_model_config(m->model), "output_size");
    if (like->image_height == 0)
        heed_fail(cx, HEED_ERR_USAGE, "%s: the model was not trained on pictures; 'heed predict' reads tables", dir);
    else if (like->image_channels != 1 && like->image_channels != 3)
        heed_fail(cx, HEED_ERR_USAGE, "%s: the model takes pictures of %lld channels, and they are read with 1 or 3",
                  dir, (long long)like->image_channels);
    else if (like->classes != outputs)
        heed_fail(cx, HEED_ERR_USAGE, "%s: the model has no classes for pictures; 'heed predict' reads its data", dir);
    m->processor = (heed_image_processor){.channels = (int)like->image_channels,
                                          .resize = HEED_RESIZE_EXACT,
                                          .height = like->image_height,
                                          .width = like->image_width,
                                          .filter = HEED_FILTER_BILINEAR,
                                          .rescale = true,
                                          .scale = 1.0 / 255};
    m->labels = like->classes;
    if (!heed_failed(cx) && like->class_names) m->label = heed_model_labels(cx, m->model, m->labels);
    heed_data_free(cx, like);
    return !heed_failed(cx);
}

/* The mean of the pixels at the edge: what a drawing is drawn on. */
static bool is_light(const heed_image *p) {
    double sum = 0;
    int64_t n = 0;
    for (int64_t y = 0; y < p->height; y++)
        for (int64_t x = 0; x < p->width; x += y == 0 || y == p->height - 1 || p->width < 2 ? 1 : p->width - 1, n++)
            sum += p->data[y * p->width + x];
    return sum > 127.5 * (double)n;
}

bool vector_pictures_adapt(heed_ctx *cx, const heed_picture_model *m, const char *path, heed_image *picture) {
    const char *const ground = heed_json_text_or(cx, heed_model_config(m->model), "image_background", "dark");
    const bool light = ground && strcmp(ground, "light") == 0, grey = m->processor.channels == 1;
    const bool inverted = grey && is_light(picture) != light;
    if (heed_failed(cx) || (inverted && !heed_image_invert(cx, picture))) return false;
    if (inverted || picture->width != m->processor.width || picture->height != m->processor.height)
        heed_note(cx, HEED_LOG_WARN, "%s: %lld x %lld pixels, taken as %lld x %lld%s%s", escaped(path).s,
                  (long long)picture->width, (long long)picture->height, (long long)m->processor.width,
                  (long long)m->processor.height, grey ? " grey ones" : "",
                  !inverted ? ""
                  : light   ? ", inverted: it is light on dark"
                            : ", inverted: it is dark on light");
    return true;
}
