/* What a model's config.json says of the data it was trained on: the names of columns and classes, and the categories
 * of columns of text. */
#include "data/data.h"
#include "model/vectors/vectors.h"
#include "train/loop.h"

#include <stdio.h>
#include <string.h>

/* ---- into the config ---- */

void schema_put_names(heed_ctx *cx, heed_json at, const char *key, char **names) {
    const heed_json list = heed_json_put_array(cx, at, key);
    for (; names && *names && !heed_failed(cx); names++) heed_json_put_text(cx, list, NULL, *names);
}

static void put_categories(heed_ctx *cx, heed_json config, const heed_data *data) {
    const heed_json list = heed_json_put_array(cx, config, "input_categories");
    for (int64_t i = 0; i < data->columns && !heed_failed(cx); i++)
        if (data->categories[i])
            schema_put_names(cx, list, NULL, data->categories[i]);
        else
            heed_json_put_null(cx, list, NULL);
}

static void put_classes(heed_ctx *cx, heed_json config, const heed_data *data) {
    const heed_json label_of = heed_json_put_object(cx, config, "id2label");
    const heed_json id_of = heed_json_put_object(cx, config, "label2id");
    for (int64_t i = 0; i < data->classes && !heed_failed(cx); i++) {
        char number[24];
        snprintf(number, sizeof number, "%lld", (long long)i);
        const char *name = data->class_names ? data->class_names[i] : number;
        heed_json_put_text(cx, label_of, number, name);
        heed_json_put_int(cx, id_of, name, i);
    }
}

enum { PICTURES_LOOKED_AT = 1000 };

/* Whether grey pictures are dark on light, by what is at their edges. */
static bool are_on_light(const heed_data *d) {
    const int64_t n = d->n < PICTURES_LOOKED_AT ? d->n : PICTURES_LOOKED_AT, h = d->image_height, w = d->image_width;
    double sum = 0;
    int64_t count = 0;
    if (h == 0 || d->image_channels != 1 || (!d->bytes && !d->x)) return false;
    for (int64_t i = 0; i < n * h; i++)
        for (int64_t x = 0; x < w; x++) {
            if (i % h > 0 && i % h < h - 1 && x > 0 && x < w - 1) continue;
            sum += d->bytes ? (double)((float)d->bytes[i * w + x] * d->scale + d->shift) : (double)d->x[i * w + x];
            count++;
        }
    return sum > 0.5 * (double)count;
}

bool heed_model_describe(heed_ctx *cx, heed_model *model, const heed_data *data) {
    if (heed_failed(cx)) return false;
    if (!model || !data) return heed_fail(cx, HEED_ERR_USAGE, "model_describe: the model or the data set is NULL");
    const heed_json config = heed_model_config(model);
    if (data->x_names) schema_put_names(cx, config, "input_names", data->x_names);
    if (data->categories) put_categories(cx, config, data);
    if (data->y_names) schema_put_names(cx, config, "output_names", data->y_names);
    if (data->label) put_classes(cx, config, data);
    if (are_on_light(data)) heed_json_put_text(cx, config, "image_background", "light");
    return !heed_failed(cx);
}

/* ---- out of it ---- */

char **schema_names(heed_ctx *cx, heed_json list, int64_t expected) {
    const int64_t n = heed_json_count(list);
    if (n == 0 || heed_failed(cx)) return NULL;
    if (expected >= 0 && n != expected) {
        heed_json_fail(cx, list, "%lld names for %lld", (long long)n, (long long)expected);
        return NULL;
    }
    struct word *words = data_room(cx, n, 1, sizeof *words);
    int64_t i = 0;
    for (heed_json v = heed_json_first(list); words && heed_json_kind_of(v) != HEED_JSON_NONE; v = heed_json_next(v)) {
        const char *text = heed_json_text(cx, v, NULL);
        words[i++] = (struct word){text ? text : "", text ? strlen(text) : 0};
    }
    char **names = heed_failed(cx) ? NULL : data_names(cx, words, n);
    heed_mem_free(cx, words);
    return names;
}

void schema_columns(heed_ctx *cx, heed_json config, heed_data *d) {
    const heed_json list = heed_json_find(cx, config, "input_categories");
    const int64_t n = heed_json_count(list);
    int64_t width = 0, i = 0;
    d->columns = n ? n : d->width;
    if (n > 0) d->categories = data_room(cx, n, 1, sizeof *d->categories);
    if (n > 0 && !d->categories) return;
    if (n > 0) memset(d->categories, 0, (size_t)n * sizeof *d->categories);
    for (heed_json v = heed_json_first(list); n > 0 && i < n && !heed_failed(cx); v = heed_json_next(v), i++) {
        const bool text = heed_json_kind_of(v) != HEED_JSON_NULL;
        if (text && heed_json_count(v) == 0) heed_json_fail(cx, v, "no categories");
        if (text) d->categories[i] = schema_names(cx, v, -1);
        width += text ? heed_json_count(v) : 1;
    }
    if (n > 0 && width != d->width)
        heed_json_fail(cx, list, "%lld inputs, not the %lld of input_size", (long long)width, (long long)d->width);
    d->x_names = schema_names(cx, heed_json_find(cx, config, "input_names"), d->columns);
}

/* Names that are the numbers from 0 say nothing. */
static bool are_numbers(char **names) {
    char number[24];
    for (int64_t i = 0; names[i]; i++) {
        snprintf(number, sizeof number, "%lld", (long long)i);
        if (strcmp(names[i], number) != 0) return false;
    }
    return true;
}

static void get_classes(heed_ctx *cx, const heed_model *model, heed_data *d) {
    d->class_names = heed_model_labels(cx, model, d->classes);
    if (!d->class_names || !are_numbers(d->class_names)) return;
    heed_mem_free(cx, d->class_names);
    d->class_names = NULL;
}

static void get_image(heed_ctx *cx, heed_json config, heed_data *d) {
    const heed_json size = heed_json_find(cx, config, "image_size");
    if (heed_json_count(size) != 2) return;
    d->image_height = heed_json_int(cx, heed_json_item(cx, size, 0), NULL);
    d->image_width = heed_json_int(cx, heed_json_item(cx, size, 1), NULL);
    d->image_channels = heed_json_int_or(cx, config, "image_channels", 1);
}

heed_data *heed_model_data(heed_ctx *cx, const heed_model *model) {
    if (heed_failed(cx)) return NULL;
    if (!model) return heed_fail(cx, HEED_ERR_USAGE, "model_data: the model is NULL"), NULL;
    const heed_json config = heed_model_config(model);
    heed_data *d = data_new(cx);
    if (!d) return NULL;
    const int64_t outputs = heed_json_int(cx, config, "output_size");
    const bool classify =
        heed_json_kind_of(heed_json_find(cx, config, "task")) != HEED_JSON_NONE && vectors_classify(cx, config);
    d->width = heed_json_int(cx, config, "input_size");
    if (classify)
        d->classes = outputs > 1 ? outputs : 2;
    else
        d->outputs = outputs;
    if (classify && !heed_failed(cx)) get_classes(cx, model, d);
    d->y_names = schema_names(cx, heed_json_find(cx, config, "output_names"), classify ? 1 : outputs);
    if (!heed_failed(cx)) schema_columns(cx, config, d);
    get_image(cx, config, d);
    if (!heed_failed(cx)) return d;
    heed_data_free(cx, d);
    return NULL;
}
