/* Data of text tasks by path, and the options of reading them. */
#include "task/text/text_parts.h"
#include "data/recognise.h"
#include "heed/music.h"
#include "task/tables/table_fields.h"

const char *texts_part(const char *path, const char *part, char out[PATH_ROOM]) {
    _Static_assert(PATH_ROOM == FOUND_PATH, "room for a path");
    if (!data_is_folder(path)) return path;
    return data_part_file(path, part, data_text_endings, out) ? out : NULL;
}

bool texts_fail_train(heed_ctx *cx, const char *path) {
    return data_refuse(cx, path, "there is no file train.tsv, nor .csv or .txt");
}

bool texts_chorales(heed_ctx *cx, const char *path, const char *part) {
    heed_chorales c = {0};
    const bool ok = heed_chorales_read(cx, path, part, &c) && c.count > 0;
    heed_chorales_free(cx, &c);
    return ok;
}

/* A task has only the fields that its data need; the others give 0 or NULL. */
heed_task_opts texts_opts(const heed_run *r) {
    return (heed_task_opts){.text = run_text(r, "text"),
                            .pair = run_text(r, "pair"),
                            .target = run_text(r, "target"),
                            .choices = run_text(r, "choices"),
                            .class_weights = run_text(r, "class-weights"),
                            .separator = run_text(r, "document-separator"),
                            .prefix = run_text(r, "prefix"),
                            .documents = run_flag(r, "documents"),
                            .in_order = run_flag(r, "in-order"),
                            .carry = run_flag(r, "carry-state"),
                            .whole_words = run_flag(r, "whole-words"),
                            .max_length = run_int(r, run_knows(r, "context") ? "context" : "max-length"),
                            .max_target_length = run_int(r, "max-target"),
                            .max_answer_length = run_int(r, "max-answer"),
                            .transpose = run_int(r, "transpose"),
                            .stride = run_int(r, "stride"),
                            .decoded = run_int(r, "decode"),
                            .temperature = run_number(r, "temperature"),
                            .span = run_number(r, "span"),
                            .masked = run_number(r, "masked"),
                            .table.delimiter = table_separator(r->values)};
}
