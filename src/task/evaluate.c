/* Measures a model directory. Its task follows from its head, or from its type where it is no network. */
#include "base/ctx.h"
#include "base/text.h"
#include "model/core/opened.h"
#include "task/nodes/graph_fields.h"
#include "task/run.h"
#include "task/series/series_fields.h"
#include "task/tables/table_fields.h"
#include "task/vision/objects_found.h"
#include <stdio.h>

/* clang-format off */
const heed_field evaluate_fields[] = {
    {.name = "target", .letter = 't', .kind = HEED_FIELD_TEXT, .value = "COLUMN",
     .help = "the column of a table to predict, as in training: name or number, several as a,b"},
    {.name = "text", .kind = HEED_FIELD_TEXT, .value = "COLUMN",
     .help = "for a table of texts: the column of the text, by name or number; by default the first"},
    {.name = "pair", .kind = HEED_FIELD_TEXT, .value = "COLUMN",
     .help = "the column of a second text; by default the second of three columns"},
    {.name = "max-length", .kind = HEED_FIELD_INT, .standard = "0", .value = "N", .high = 1e9,
     .help = "truncate texts to N tokens; 0: to as many as the model has positions. For masked words: tokens of a "
             "sequence; 0: 128. For language models: tokens of a window; 0: 256"},
    {.name = "choices", .kind = HEED_FIELD_TEXT, .value = "COLUMNS",
     .help = "for multiple choice: the columns of the choices, as a,b; by default all but text and target"},
    {.name = "stride", .kind = HEED_FIELD_INT, .standard = "128", .value = "N", .low = 1, .high = 1e9,
     .help = "for questions: tokens that two windows over a long context share"},
    {.name = "max-answer", .kind = HEED_FIELD_INT, .standard = "30", .value = "N", .low = 1, .high = 1e9,
     .help = "for questions: maximum tokens of an answer"},
    {.name = "masked", .kind = HEED_FIELD_NUMBER, .standard = "0.15", .value = "X", .low = 0.001, .high = 1,
     .help = "fraction of the words to mask"},
    {.name = "span", .kind = HEED_FIELD_NUMBER, .standard = "3", .value = "X", .low = 1, .high = 1e6,
     .help = "for text to text: mean length of the spans to predict, in tokens"},
    {.name = "prefix", .kind = HEED_FIELD_TEXT, .value = "TEXT",
     .help = "for text to text: put this before every source; by default what config.json says"},
    {.name = "max-target", .kind = HEED_FIELD_INT, .standard = "0", .value = "N", .high = 1e9,
     .help = "for text to text: truncate targets to N tokens; 0: as sources"},
    {.name = "decode", .kind = HEED_FIELD_INT, .standard = "100", .value = "N", .high = 1e9,
     .help = "for text to text: number of pairs that are decoded to measure ROUGE-L"},
    {.name = "whole-words", .help = "mask all tokens of a word or none"},
    {.name = "carry-state", .help = "for recurrent language models: start each window of the text from the state in which "
                                    "the last one ended"},
    {.name = "documents", .help = "for language models: the text is documents, separated by blank lines, each read alone"},
    {.name = "document-separator", .kind = HEED_FIELD_TEXT, .value = "TEXT",
     .help = "for language models: the line that separates documents, instead of blank lines"},
    FILL_FIELD,
    {.name = "picture-dir", .kind = HEED_FIELD_FILE, .value = "DIR",
     .help = "for objects: where the pictures are that the data name; by default beside them"},
    {.name = "detections", .kind = HEED_FIELD_FILE, .value = "FILE.json",
     .help = "for objects: measure these detections, in COCO's result JSON, and run no model"},
    {.name = "save-detections", .kind = HEED_FIELD_FILE, .value = "FILE.json",
     .help = "for objects: write the model's detections as COCO's result JSON"},
    GRAPH_TABLE_FIELDS,
    {.name = "batch", .letter = 'b', .kind = HEED_FIELD_INT, .standard = "500", .value = "N", .low = 1, .high = 1e9,
     .help = "examples at a time"},
    {.name = "beam", .kind = HEED_FIELD_INT, .standard = "5", .value = "N", .low = 1, .high = 1024,
     .help = "beam width of translation; 1: greedy decoding"},
    LENGTH_PENALTY_FIELD,
    {.name = "by-length", .kind = HEED_FIELD_INT, .value = "N", .low = 1, .high = 1e6,
     .help = "for translation: also give BLEU by the length of the source in words, in groups of N lengths"},
    {.name = "samples", .kind = HEED_FIELD_INT, .value = "N", .low = 1, .high = 1e9,
     .help = "for variational autoencoders: also estimate log p(x) from N codes of each picture, importance weighted"},
    {.name = "frequencies",
     .help = "for pictures: accuracy where only low frequencies are left in them, and where only high ones are"},
    {.name = "radii", .kind = HEED_FIELD_TEXT, .value = "RADII",
     .help = "for --frequencies: where low ones end, as 2,4,8, in waves to the shorter side of the picture as the model "
             "takes it; by default nine up to half of that side"},
    {.name = NULL},
};
/* clang-format on */
const heed_field *heed_evaluate_fields(void) { return evaluate_fields; }

/* ---- whose directory it is ---- */

/* A file that some models may be, which is no directory. */
static bool find_file(heed_run *r) {
    for (int i = 0; (r->task = heed_task_at(i)); i++)
        for (int k = 0; (r->way = r->task->ways[k]); k++)
            if (r->way->evaluate && r->way->is && r->way->is(r->dir, r->cx->config.byte_budget)) return true;
    return false;
}

static bool find_plain(heed_run *r) {
    const char *const type = heed_directory_type(r->measured);
    for (int i = 0; (r->task = heed_task_at(i)); i++)
        for (int k = 0; (r->way = r->task->ways[k]); k++)
            if (r->way->type && r->way->evaluate && strcmp(r->way->type, type) == 0) return true;
    return false;
}

/* The first of the head's tasks that some task of the list can measure. */
static bool find_task(heed_run *r) {
    const heed_head *const head = directory_head(r->cx, r->measured);
    if (!head) return false;
    r->family = heed_directory_family(r->measured);
    for (const char *at = head->tasks; *at; at += strcspn(at, " "), at += strspn(at, " ")) {
        char name[32];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at, " "), at);
        for (int i = 0; (r->task = heed_task_at(i)); i++)
            if (strcmp(r->task->name, name) == 0 || (r->task->measures && text_among(r->task->measures, name))) {
                r->way = run_way_of(r->task, head);
                return !heed_failed(r->cx);
            }
    }
    return heed_fail(r->cx, HEED_ERR_USAGE, "%s: %s is for no task that heed measures", r->dir, head->architecture);
}

bool run_evaluate(heed_ctx *cx, const char *dir, const char *path, const char *part, const struct values *values,
                  heed_evaluation *to) {
    *to = (heed_evaluation){.one = "example", .many = "examples"};
    heed_run r = {.cx = cx, .values = values, .budget = cx->config.byte_budget, .path = path, .dir = dir, .lock = -1};
    if (heed_failed(cx)) return false;
    if (value_given(values, "detections")) { /* whatever found them */
        to->task = &task_of_detect;
        return objects_evaluate(&r, part ? part : "test", to) && !heed_failed(cx);
    }
    const bool file = !directory_has_config(dir) && find_file(&r);
    if (!file && !(r.measured = heed_directory_open(cx, dir))) return false;
    bool ok = file || find_plain(&r) || find_task(&r);
    if (ok) to->task = r.task;
    if (ok && run_knows(&r, "frequencies") && run_flag(&r, "frequencies") && r.way != &way_pictures)
        ok = heed_fail(cx, HEED_ERR_USAGE, "%s: --frequencies is for models that classify pictures", dir);
    ok = ok && r.way->evaluate(&r, part ? part : "test", to);
    heed_directory_close(cx, r.measured);
    return ok && !heed_failed(cx);
}

/* `values`: those of a run, whose data are then read as they were for training; NULL: none. */
static bool evaluate(heed_ctx *cx, const heed_evaluate_opts *o, const struct values *values, heed_evaluation *to) {
    *to = (heed_evaluation){0};
    if (o->part && !text_among(EVALUATE_PARTS, o->part))
        return heed_fail(cx, HEED_ERR_USAGE, "evaluate: part: '%s' is not one of: " EVALUATE_PARTS, o->part);
    struct values *v = values_new(cx, evaluate_fields, table_fields);
    const bool ok = v && (!values || values_take(cx, v, values)) && run_give_options(cx, v, "evaluate", o->options) &&
                    run_evaluate(cx, o->dir, o->data, o->part, v, to);
    values_free(cx, v);
    return ok;
}

bool heed_evaluate(heed_ctx *cx, const heed_evaluate_opts *opts, heed_evaluation *to) {
    if (heed_failed(cx)) return false;
    bool given = false; /* detections, for which no model is needed */
    for (const char *const *at = opts ? opts->options : NULL; at && *at; at++)
        given |= strncmp(*at, "detections=", 11) == 0;
    if (!opts || (!opts->dir && !given) || !opts->data || !to)
        return heed_fail(cx, HEED_ERR_USAGE, "evaluate: a model directory and data are needed");
    return evaluate(cx, opts, NULL, to);
}

void *evaluation_room(heed_ctx *cx, heed_evaluation *to, size_t size, void (*free)(heed_ctx *cx, void *own)) {
    to->own = heed_mem_new(cx, size);
    to->free = to->own ? free : NULL;
    return to->own ? memset(to->own, 0, size) : NULL;
}

void heed_evaluation_free(heed_ctx *cx, heed_evaluation *e) {
    if (!e) return;
    if (e->free) e->free(cx, e->own);
    *e = (heed_evaluation){0};
}

bool heed_run_evaluate(heed_ctx *cx, const heed_run *run, const char *part, heed_evaluation *to) {
    if (heed_failed(cx)) return false;
    if (!run || !to) return heed_fail(cx, HEED_ERR_USAGE, "run_evaluate: the %s NULL", run ? "result is" : "run is");
    return evaluate(cx, &(heed_evaluate_opts){.dir = run->dir, .data = run->path, .part = part}, run->values, to);
}
