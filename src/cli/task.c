#include "cli/task.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define DIGITS_TRAIN 10000
#define DIGITS_TEST  2000
#define TEST_SEED    0x7E57000000000000u /* the test's digits are others than those trained on */

static bool is_digits(const char *path) { return strcmp(path, "digits") == 0; }

bool task_has_test_part(const char *path) {
    struct stat what;
    return is_digits(path) || (stat(path, &what) == 0 && S_ISDIR(what.st_mode));
}

heed_data *task_load(heed_ctx *cx, const char *path, const heed_data_opts *opts) {
    if (!is_digits(path)) return heed_data_load(cx, path, opts);
    if (opts->task == HEED_DATA_REGRESS) {
        heed_fail(cx, HEED_ERR_USAGE, "digits: classes, not numbers to regress on");
        return NULL;
    }
    const bool test = opts->part && strcmp(opts->part, "test") == 0;
    return heed_data_digits(cx, test ? heed_seed(cx) ^ TEST_SEED : heed_seed(cx), test ? DIGITS_TEST : DIGITS_TRAIN);
}

/* ---- into the config ---- */

static void put_names(heed_ctx *cx, heed_json config, const char *key, char **names) {
    if (!names) return;
    const heed_json list = heed_json_put_array(cx, config, key);
    for (; *names; names++) heed_json_put_text(cx, list, NULL, *names);
}

bool task_describe(heed_ctx *cx, heed_model *model, const heed_data *data) {
    const heed_json config = heed_model_config(model);
    put_names(cx, config, "input_names", data->x_names);
    put_names(cx, config, "output_names", data->y_names);
    if (!data->label) return !heed_failed(cx);
    const heed_json label_of = heed_json_put_object(cx, config, "id2label");
    const heed_json id_of = heed_json_put_object(cx, config, "label2id");
    for (int64_t i = 0; i < data->classes && !heed_failed(cx); i++) {
        char number[24];
        snprintf(number, sizeof number, "%lld", (long long)i);
        const char *name = data->class_names ? data->class_names[i] : number;
        heed_json_put_text(cx, label_of, number, name);
        heed_json_put_int(cx, id_of, name, i);
    }
    return !heed_failed(cx);
}

/* ---- out of it ---- */

bool task_is_classify(heed_ctx *cx, const heed_model *model) {
    const char *task = heed_json_text_or(cx, heed_model_config(model), "task", "regress");
    return task && strcmp(task, "classify") == 0;
}

/* Pointers to the texts of a list or the values of an object; NULL when there is none. */
static char **get_names(heed_ctx *cx, heed_json config, const char *key, int64_t expected) {
    const heed_json list = heed_json_find(cx, config, key);
    const int64_t n = heed_json_count(list);
    if (n == 0 || heed_failed(cx)) return NULL;
    if (n != expected) {
        heed_json_fail(cx, list, "%lld names for %lld", (long long)n, (long long)expected);
        return NULL;
    }
    char **names = heed_mem_new(cx, ((size_t)n + 1) * sizeof *names);
    int64_t i = 0;
    for (heed_json v = heed_json_first(list); names && heed_json_kind_of(v) != HEED_JSON_NONE; v = heed_json_next(v))
        names[i++] = (char *)(uintptr_t)heed_json_text(cx, v, NULL); /* only read */
    if (names) names[i] = NULL;
    return names;
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

static void get_image(heed_ctx *cx, heed_json config, heed_data *like) {
    const heed_json size = heed_json_find(cx, config, "image_size");
    if (heed_json_count(size) != 2) return;
    like->image_height = heed_json_int(cx, heed_json_item(cx, size, 0), NULL);
    like->image_width = heed_json_int(cx, heed_json_item(cx, size, 1), NULL);
    like->image_channels = heed_json_int_or(cx, config, "image_channels", 1);
}

heed_data *task_like(heed_ctx *cx, const heed_model *model) {
    if (heed_failed(cx)) return NULL;
    const heed_json config = heed_model_config(model);
    heed_data *like = heed_mem_new(cx, sizeof *like);
    if (!like) return NULL;
    const int64_t outputs = heed_json_int(cx, config, "output_size");
    *like = (heed_data){.width = heed_json_int(cx, config, "input_size"), .scale = 1.0f};
    if (task_is_classify(cx, model)) {
        like->classes = outputs > 1 ? outputs : 2;
        like->class_names = get_names(cx, config, "id2label", like->classes);
        like->y_names = get_names(cx, config, "output_names", 1);
    } else {
        like->outputs = outputs;
        like->y_names = get_names(cx, config, "output_names", outputs);
    }
    like->x_names = get_names(cx, config, "input_names", like->width);
    get_image(cx, config, like);
    if (like->class_names && !heed_failed(cx) && are_numbers(like->class_names)) {
        heed_mem_free(cx, like->class_names);
        like->class_names = NULL;
    }
    if (!heed_failed(cx)) return like;
    task_free_like(cx, like);
    return NULL;
}

void task_free_like(heed_ctx *cx, heed_data *like) {
    if (!like) return;
    heed_mem_free(cx, like->x_names);
    heed_mem_free(cx, like->y_names);
    heed_mem_free(cx, like->class_names);
    heed_mem_free(cx, like);
}

const char *task_metric_label(const char *metric) {
    return metric && strcmp(metric, "bleu") == 0 ? "greedy BLEU" : metric;
}

void task_score_text(char *out, size_t size, const char *metric, const heed_score *score) {
    if (strcmp(metric, "accuracy") == 0)
        snprintf(out, size, "accuracy %.2f %%, loss %.4g", 100 * score->metric, score->loss);
    else if (strcmp(metric, "bleu") == 0)
        snprintf(out, size, "BLEU %.2f (greedy decoding), loss %.4f", score->metric, score->loss);
    else
        snprintf(out, size, "R^2 %.6g, mean squared error %.6g", score->metric, score->loss);
}
