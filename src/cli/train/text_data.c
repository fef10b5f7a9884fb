#include "cli/train/text_data.h"
#include "base/text.h"
#include "cli/core/data_options.h"
#include "cli/core/table_options.h"
#include "cli/eval/eval_report.h"
#include "data/recognise.h"
#include "heed/music.h"
#include "heed/translate.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- where the files are ---- */

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

/* Tasks have those options that their data need. */
static const char *text_of(const struct options *o, const char *name) {
    return option_known(o, name) ? option_text(o, name) : NULL;
}

heed_task_opts texts_opts(const struct options *o) {
    heed_task_opts opts = {.text = text_of(o, "text"), .pair = text_of(o, "pair"), .target = text_of(o, "target")};
    if (option_known(o, "max-length")) opts.longest = option_int(o, "max-length");
    opts.class_weights = text_of(o, "class-weights");
    if (option_known(o, "context")) opts.longest = option_int(o, "context");
    if (option_known(o, "documents")) opts.documents = option_flag(o, "documents");
    if (option_known(o, "in-order")) opts.in_order = option_flag(o, "in-order");
    if (option_known(o, "carry-state")) opts.carry = option_flag(o, "carry-state");
    opts.separator = text_of(o, "document-separator");
    if (option_known(o, "transpose")) opts.transpose = option_int(o, "transpose");
    opts.choices = text_of(o, "choices");
    if (option_known(o, "stride")) opts.stride = option_int(o, "stride");
    if (option_known(o, "max-answer")) opts.longest_answer = option_int(o, "max-answer");
    if (option_known(o, "temperature")) opts.temperature = option_number(o, "temperature");
    if (option_known(o, "span")) opts.span = option_number(o, "span");
    if (option_known(o, "prefix")) opts.prefix = option_text(o, "prefix");
    if (option_known(o, "max-target")) opts.longest_target = option_int(o, "max-target");
    if (option_known(o, "decode")) opts.decoded = option_int(o, "decode");
    if (option_known(o, "masked")) opts.masked = option_number(o, "masked");
    if (option_known(o, "whole-words")) opts.whole_words = option_flag(o, "whole-words");
    if (option_known(o, "separator")) opts.table.delimiter = table_separator(o);
    return opts;
}

void texts_say_cut(const char *path, const heed_task_data *data, int64_t cut, int64_t longest) {
    const bool words = strcmp(heed_task_cut_name(data), "word") == 0;
    char count[48];
    if (cut == 0) return;
    if (words)
        fprintf(stderr, "heed: %s: sentences longer than %lld tokens are truncated: %s left out\n", path,
                (long long)longest, cli_count(cut, "word is", "words are", count));
    else
        fprintf(stderr, "heed: %s: %s longer than %lld tokens, truncated\n", path,
                cli_count(cut, "text is", "texts are", count), (long long)longest);
}

/* ---- heed eval ---- */

static void print_score(const struct options *o, heed_ctx *cx, const heed_task_data *data, const heed_metrics *metrics,
                        const heed_score *score) {
    const int64_t n = heed_task_count(data);
    char text[512], examples[48];
    if (!option_flag(o, "json")) {
        task_score_text(text, sizeof text, metrics->list, score);
        printf("%s (%s)\n", text, cli_count(n, "example", "examples", examples));
        return;
    }
    const heed_json result = heed_json_new(cx, "result");
    heed_json_put_int(cx, result, "examples", n);
    heed_json_put_number(cx, result, "loss", score->loss);
    for (int i = 0; metrics->list[i]; i++)
        heed_json_put_number(cx, result, metrics->list[i]->name, heed_score_value(score, i));
    json_answer(cx, stdout, result, 2);
    heed_json_free(result);
}

/* The task that a head is for: the first of its tasks that heed knows data of. */
static const heed_text_task *task_of(heed_ctx *cx, const heed_text_model *m) {
    const heed_head *head = heed_model_head(m->model);
    char name[32];
    if (heed_music_has(m->tokens)) return heed_text_task_find("music");
    if (m->labels == 1 && text_among(head->tasks, "regress")) return heed_text_task_find("regress");
    for (const char *at = head->tasks; *at; at += strcspn(at, " "), at += strspn(at, " ")) {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at, " "), at);
        if (heed_text_task_find(name)) return heed_text_task_find(name);
    }
    heed_fail(cx, HEED_ERR_USAGE, "eval: %s is for no task that heed measures", head->architecture);
    return NULL;
}

/* A discriminator is measured with its generator. */
static const char *first_task(const heed_head *head, char out[32]) {
    if (strcmp(head->architecture, "ElectraForPreTraining") == 0) return "replaced";
    snprintf(out, 32, "%.*s", (int)strcspn(head->tasks, " "), head->tasks);
    return out;
}

static void measure(const struct options *o, heed_ctx *cx, const heed_text_model *m, const heed_task_data *data) {
    heed_metrics metrics;
    heed_score score;
    int64_t n;
    const int32_t *label = heed_task_truth(data, &n);
    heed_data truth = {.classes = heed_task_labels(data, &truth.class_names)};
    int32_t *predicted = heed_mem_new(cx, (size_t)(n ? n : 1) * sizeof *predicted);
    truth.label = heed_mem_new(cx, (size_t)(n ? n : 1) * sizeof *truth.label);
    if (!heed_failed(cx) && heed_metrics_find(cx, heed_task_metrics(data), &metrics) &&
        heed_task_measure(cx, m->model, data, NULL, 0, &score, predicted) &&
        (isfinite(score.loss) || heed_fail(cx, HEED_ERR_RANGE, "the model's output is not a finite number"))) {
        for (int64_t i = 0; label && i < n; i++) {
            if (predicted[i] < 0) continue; /* a word that was cut */
            predicted[truth.n] = predicted[i];
            truth.label[truth.n++] = label[i];
        }
        if (truth.n > 0)
            report_classes(o, cx, &truth, predicted, &metrics, &score, strcmp(heed_task_cut_name(data), "word") == 0);
        else
            print_score(o, cx, data, &metrics, &score);
    }
    heed_mem_free(cx, predicted);
    heed_mem_free(cx, truth.label);
}

/* The part that was asked for; of what has no parts, all. */
static const char *chorales_part(const struct options *o, heed_ctx *cx, const char *path) {
    const char *const part = strcmp(option_text(o, "part"), "val") == 0 ? "valid" : option_text(o, "part");
    return option_given(o, "part") || texts_chorales(cx, path, part) ? part : NULL;
}

void texts_evaluate(const struct options *o, heed_ctx *cx, const char *dir, const char *path) {
    char file[PATH_ROOM], name[32];
    const heed_head *head = heed_head_of(cx, dir);
    if (!head) return;
    heed_text_model *m = heed_text_model_open(cx, dir, first_task(head, name));
    const heed_text_task *task = m ? task_of(cx, m) : NULL;
    const bool music = task == heed_text_task_find("music");
    const char *part = music ? path : texts_part(path, option_text(o, "part"), file);
    heed_task_opts opts = texts_opts(o);
    if (task && music) opts.part = chorales_part(o, cx, path);
    if (!heed_failed(cx) && !part)
        heed_fail(cx, HEED_ERR_FILE, "%s: there is no file for part %s", path, option_text(o, "part"));
    if (m) opts.labels = m->label;
    opts.sentence_order = text_among(head->inputs, "sentence_order_label");
    if (m && !opts.prefix) opts.prefix = heed_text_prefix(cx, m->model);
    if (m && opts.longest > 0 && (m->reader.longest == 0 || opts.longest < m->reader.longest))
        m->reader.longest = opts.longest;
    heed_task_data *data = heed_failed(cx) ? NULL : heed_task_read(cx, task, part, &opts);
    heed_chat_format chat;
    if (heed_task_conversations(data) && heed_chat_find(cx, dir, &chat)) heed_task_set_chat(data, &chat);
    if (data && heed_task_encode(cx, data, &m->reader)) {
        if (!option_flag(o, "quiet")) texts_say_cut(part, data, heed_task_cut(data), m->reader.longest);
        measure(o, cx, m, data);
    }
    heed_task_free(cx, data);
    heed_text_model_free(cx, m);
}
