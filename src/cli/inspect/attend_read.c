/* From the command line to the attention of a model. */
#include "cli/inspect/attend.h"
#include "heed/graph_model.h"
#include "heed/vision.h"
#include "io/text.h"
#include "model/core/directory.h"
#include "task/nodes/graph_fields.h"
#include <string.h>

/* A sentence, or rows as they are. */
static bool read_standard(heed_ctx *cx, bool rows, heed_string *to) {
    heed_lines lines = {0};
    bool ok = heed_lines_read(cx, "-", &lines);
    if (ok && !rows && lines.count != 1)
        ok = heed_fail(cx, HEED_ERR_FORMAT, "standard input: %lld lines, one sentence is needed",
                       (long long)lines.count);
    for (int64_t i = 0; ok && i < lines.count; i++)
        ok = heed_string_put(cx, to, heed_line_text(&lines, i), heed_line_size(&lines, i)) &&
             (!rows || heed_string_put(cx, to, "\n", 1));
    heed_lines_free(cx, &lines);
    return ok;
}

/* A word of the command line, or NULL. */
static bool read_word(heed_ctx *cx, const char *word, bool rows, heed_string *to) {
    if (!word) return true;
    if (strcmp(word, "-") == 0) return read_standard(cx, rows, to);
    return heed_string_put(cx, to, word, strlen(word));
}

/* ---- rows of numbers ---- */

/* "1,2; 3,4" or lines of a table without header -> (rows, columns) */
static float *read_rows(heed_ctx *cx, heed_string *text, int64_t *rows, int64_t *columns) {
    for (size_t i = 0; i < text->size; i++)
        if (text->s[i] == ';') text->s[i] = '\n';
    heed_table *const t = heed_table_parse(cx, "attend", text->s ? text->s : "", text->size,
                                           &(heed_table_options){.delimiter = ',', .header = HEED_HEADER_NO});
    *rows = heed_table_rows(t), *columns = heed_table_columns(t);
    float *const x = t ? heed_mem_new(cx, (size_t)(*rows * *columns + 1) * sizeof *x) : NULL;
    for (int64_t i = 0; x && i < *rows * *columns && !heed_failed(cx); i++) {
        double number;
        if (heed_table_number(t, i / *columns, i % *columns, &number))
            x[i] = (float)number;
        else
            heed_fail(cx, HEED_ERR_FORMAT, "attend: row %lld: '%s' is not a number", (long long)(i / *columns + 1),
                      escaped(heed_table_cell(cx, t, i / *columns, i % *columns)).s);
    }
    heed_table_close(t);
    return x;
}

/* ---- all of it ---- */

bool attend_load(heed_ctx *cx, const char *dir, struct attend *a) {
    *a = (struct attend){.cx = cx, .dir = dir, .model = heed_model_load_as(cx, dir, &(heed_load_opts){.map = true})};
    return a->model != NULL;
}

static bool read_picture(struct attend *a, const char *path) {
    heed_image_processor processor;
    if (!heed_picture_processor(a->cx, a->model, a->dir, &processor, NULL) ||
        !heed_picture_load(a->cx, path, processor.channels, &a->picture))
        return false;
    a->found =
        heed_attend(a->cx, a->model, NULL, &(heed_attend_input){.picture = &a->picture, .processor = &processor});
    return a->found || heed_fail_in(a->cx, "%s", escaped(path).s);
}

/* With the labels that it may have, where the model's classes have names. */
static bool read_graph(struct attend *a, const struct options *o) {
    heed_ctx *const cx = a->cx;
    const char *const nodes = option_text(o, "nodes"), *const path = nodes ? nodes : option_text(o, "data");
    heed_graph_data *const like = heed_graph_model_data(cx, a->model);
    if (like) {
        const heed_graph_data_opts opts = {
            .whole = like->whole, .directed = like->directed, .like = like, .unlabelled = !like->class_names};
        a->graph = graph_fields_load(cx, options_values(o), path, &opts);
    }
    heed_graph_data_free(cx, like);
    if (!a->graph || (!heed_graph_model_prepare(cx, a->model, a->graph) && !heed_fail_in(cx, "%s", escaped(path).s)))
        return false;
    a->found = heed_attend(cx, a->model, NULL, &(heed_attend_input){.graph = a->graph});
    return a->found != NULL;
}

bool attend_read(struct attend *a, const struct attend_given *given) {
    heed_ctx *const cx = a->cx;
    if (heed_model_takes(a->model, "edge_index")) return read_graph(a, given->options);
    if (heed_model_takes(a->model, "pixel_values")) return read_picture(a, given->text);
    const bool reads_text = heed_model_takes(a->model, "input_ids");
    if (reads_text && !directory_load_tokenizers(cx, a->dir, a->tokenizers)) return false;
    if (!reads_text && (given->pair || given->target))
        return heed_fail(cx, HEED_ERR_USAGE, "attend: --%s: a model of family %s reads no text",
                         given->pair ? "pair" : "target", heed_model_family(a->model)->name);
    if (!read_word(cx, given->text, !reads_text, &a->text[0]) || !read_word(cx, given->pair, false, &a->text[1]) ||
        !read_word(cx, given->target, false, &a->text[2]))
        return false;
    heed_attend_input input = {.text = reads_text ? a->text[0].s : NULL,
                               .pair = given->pair ? a->text[1].s : NULL,
                               .target = given->target ? a->text[2].s : NULL,
                               .words = given->words};
    float *const x = reads_text ? NULL : read_rows(cx, &a->text[0], &input.rows, &input.columns);
    input.x = x;
    a->found = heed_attend(cx, a->model, a->tokenizers, &input);
    heed_mem_free(cx, x);
    return a->found != NULL;
}

void attend_close(struct attend *a) {
    heed_attended_free(a->cx, a->found);
    heed_image_free(a->cx, &a->picture);
    heed_graph_data_free(a->cx, a->graph);
    for (int i = 0; i < 3; i++) heed_string_free(a->cx, &a->text[i]);
    directory_free_tokenizers(a->cx, a->tokenizers);
    heed_model_free(a->cx, a->model);
}
