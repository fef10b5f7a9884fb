/* What a model says of an example, as JSON. */
#include "task/answers.h"
#include "kernel/reduce.h"
#include "text/strings/split.h"
#include <stdio.h>
#include <string.h>

void answer_put(heed_ctx *cx, heed_json at, const char *key, const char *text, size_t size) {
    heed_string part = {0};
    if (heed_string_put(cx, &part, text, size)) heed_json_put_text(cx, at, key, part.s);
    heed_string_free(cx, &part);
}

/* ---- classes and numbers ---- */

const char *answer_label(char *const *labels, int64_t k, char number[24]) {
    snprintf(number, 24, "%lld", (long long)k);
    return labels ? labels[k] : number;
}

void answer_put_best(heed_ctx *cx, heed_json at, char *const *labels, const float *p, int64_t n) {
    const int64_t best = kernel_best(p, n);
    char number[24];
    if (n == 1) {
        heed_json_put_number(cx, at, "value", (double)p[0]);
        return;
    }
    heed_json_put_text(cx, at, "label", answer_label(labels, best, number));
    heed_json_put_number(cx, at, "score", (double)p[best]);
}

void answer_put_scores(heed_ctx *cx, heed_json at, char *const *labels, const float *p, int64_t n) {
    char number[24];
    if (n == 1) return;
    const heed_json scores = heed_json_put_object(cx, at, "scores");
    for (int64_t k = 0; k < n; k++) heed_json_put_number(cx, scores, answer_label(labels, k, number), (double)p[k]);
}

/* A line is one text, or two with a tab between them. */
static heed_text_input text_of(const char *line) {
    const char *const tab = strchr(line, '\t');
    return tab ? (heed_text_input){.text = line, .size = (size_t)(tab - line), .pair = tab + 1}
               : (heed_text_input){.text = line};
}

bool answer_classes(heed_ctx *cx, const heed_text_model *m, const char *line, heed_json at) {
    const heed_text_input text = text_of(line);
    float *const p = heed_mem_new(cx, (size_t)(m->labels > 0 ? m->labels : 1) * sizeof *p);
    if (p && heed_classify(cx, m, &text, 1, p, NULL)) {
        answer_put_best(cx, at, m->label, p, m->labels);
        answer_put_scores(cx, at, m->label, p, m->labels);
    }
    heed_mem_free(cx, p);
    return !heed_failed(cx);
}

/* ---- objects ---- */

void answer_put_objects(heed_ctx *cx, heed_json at, char *const *labels, const heed_detection *found, int64_t n) {
    const heed_json list = heed_json_put_array(cx, at, "objects");
    for (int64_t i = 0; i < n; i++) {
        const double *const b = found[i].box, corners[] = {b[0], b[1], b[0] + b[2], b[1] + b[3]};
        const heed_json one = heed_json_put_object(cx, list, NULL);
        char number[24];
        heed_json_put_text(cx, one, "label", answer_label(labels, found[i].label, number));
        heed_json_put_number(cx, one, "score", found[i].score);
        const heed_json box = heed_json_put_array(cx, one, "box");
        for (int k = 0; k < 4; k++) heed_json_put_number(cx, box, NULL, corners[k]);
    }
}

/* ---- vectors ---- */

void answer_put_vector(heed_ctx *cx, heed_json at, const float *v, int64_t width) {
    const heed_json list = heed_json_put_array(cx, at, "vector");
    for (int64_t k = 0; k < width; k++) heed_json_put_number(cx, list, NULL, (double)v[k]);
}

bool answer_vector(heed_ctx *cx, const heed_text_model *m, const char *line, heed_json at) {
    const heed_text_input text = text_of(line);
    const int64_t width = heed_text_width(cx, m);
    float *const v = heed_failed(cx) ? NULL : heed_mem_new(cx, (size_t)width * sizeof *v);
    if (v && heed_embed(cx, m, &text, 1, v, NULL)) answer_put_vector(cx, at, v, width);
    heed_mem_free(cx, v);
    return !heed_failed(cx);
}

/* ---- masks ---- */

enum { MASKS = 512, TOP = 5 };

void answer_put_masks(heed_ctx *cx, heed_json at, const heed_text_model *m, const heed_filled *f, int64_t masks,
                      int top) {
    const heed_json all = heed_json_put_array(cx, at, "masks");
    for (int64_t i = 0; i < masks; i++) {
        const heed_json list = heed_json_put_array(cx, all, NULL);
        for (int k = 0; k < top && f[i * top + k].id >= 0; k++) {
            const char *const token = heed_tokenizer_token(m->tokens, f[i * top + k].id);
            const heed_json one = heed_json_put_object(cx, list, NULL);
            heed_json_put_text(cx, one, "token", token ? token : "");
            heed_json_put_int(cx, one, "id", f[i * top + k].id);
            heed_json_put_number(cx, one, "score", (double)f[i * top + k].probability);
        }
    }
}

bool answer_masks(heed_ctx *cx, const heed_text_model *m, const char *line, heed_json at) {
    const heed_text_input text = text_of(line);
    heed_filled *const f = heed_mem_new(cx, (size_t)MASKS * TOP * sizeof *f);
    const int64_t masks = f ? heed_fill(cx, m, &text, TOP, MASKS, f) : -1;
    if (masks >= 0) answer_put_masks(cx, at, m, f, masks < MASKS ? masks : MASKS, TOP);
    heed_mem_free(cx, f);
    return !heed_failed(cx);
}

/* ---- tagged words ---- */

const char *answer_tag(const heed_text_model *m, int32_t tag, char room[32]) {
    if (tag < 0) return "_";
    if (m->label && m->label[tag]) return m->label[tag];
    snprintf(room, 32, "LABEL_%d", (int)tag);
    return room;
}

static void put_chunks(heed_ctx *cx, heed_json at, const heed_text_model *m, const heed_text_input *line,
                       const int32_t *tag) {
    const int64_t n = heed_tag_chunks(m, tag, line->n_words, NULL, 0);
    heed_chunk *const chunk = n > 0 ? heed_mem_new(cx, (size_t)n * sizeof *chunk) : NULL;
    if (!chunk) return;
    heed_tag_chunks(m, tag, line->n_words, chunk, n);
    const heed_json list = heed_json_put_array(cx, at, "chunks");
    for (int64_t i = 0; i < n; i++) {
        const heed_word *const first = &line->words[chunk[i].first], *const last = &line->words[chunk[i].last];
        const heed_json one = heed_json_put_object(cx, list, NULL);
        heed_json_put_text(cx, one, "type", chunk[i].type);
        heed_json_put_int(cx, one, "first", chunk[i].first + 1);
        heed_json_put_int(cx, one, "last", chunk[i].last + 1);
        answer_put(cx, one, "text", first->text, (size_t)(last->text + last->size - first->text));
    }
    heed_mem_free(cx, chunk);
}

void answer_put_words(heed_ctx *cx, heed_json at, const heed_text_model *m, const heed_text_input *line,
                      const int32_t *tag, const float *score) {
    const heed_json list = heed_json_put_array(cx, at, "words");
    char room[32];
    for (int64_t k = 0; k < line->n_words; k++) {
        const heed_json one = heed_json_put_object(cx, list, NULL);
        answer_put(cx, one, "word", line->words[k].text, line->words[k].size);
        if (tag[k] < 0) continue;
        heed_json_put_text(cx, one, "tag", answer_tag(m, tag[k], room));
        heed_json_put_number(cx, one, "score", (double)score[k]);
    }
    put_chunks(cx, at, m, line, tag);
}

bool answer_words(heed_ctx *cx, const heed_text_model *m, const char *line, heed_json at) {
    const bool marks = split_saved_marks(cx, heed_model_config(m->model));
    const int64_t n = split_words(line, marks, NULL);
    heed_word *const word = heed_mem_new(cx, ((size_t)n + 1) * sizeof *word);
    int32_t *const tag = heed_mem_new(cx, ((size_t)n + 1) * sizeof *tag);
    float *const score = heed_mem_new(cx, ((size_t)n + 1) * sizeof *score);
    if (!heed_failed(cx)) {
        const heed_text_input words = {.words = word, .n_words = split_words(line, marks, word)};
        if (heed_tag(cx, m, &words, 1, tag, score, NULL)) answer_put_words(cx, at, m, &words, tag, score);
    }
    heed_mem_free(cx, word);
    heed_mem_free(cx, tag);
    heed_mem_free(cx, score);
    return !heed_failed(cx);
}

/* ---- questions ---- */

void answer_put_span(heed_ctx *cx, heed_json at, const heed_text_input *text, const heed_answered *a) {
    answer_put(cx, at, "answer", text->pair + a->start, (size_t)(a->end - a->start));
    heed_json_put_number(cx, at, "score", (double)a->score);
    heed_json_put_int(cx, at, "start", a->first);
    heed_json_put_int(cx, at, "end", a->last);
}

bool answer_question(heed_ctx *cx, const heed_text_model *m, const char *line, heed_json at) {
    heed_text_input text = text_of(line);
    heed_answered found;
    if (!text.pair) return heed_fail(cx, HEED_ERR_USAGE, "no tab: a question, a tab and its context are needed");
    text.pair_size = strlen(text.pair);
    if (heed_answer(cx, m, &text, 1, NULL, &found)) answer_put_span(cx, at, &text, &found);
    return !heed_failed(cx);
}

/* ---- multiple choice ---- */

void answer_put_choice(heed_ctx *cx, heed_json at, const heed_choices *one, const float *p) {
    const int64_t best = kernel_best(p, one->n);
    heed_json_put_int(cx, at, "choice", best + 1);
    heed_json_put_text(cx, at, "text", one->choice[best]);
    heed_json_put_number(cx, at, "score", (double)p[best]);
    const heed_json list = heed_json_put_array(cx, at, "scores");
    for (int64_t k = 0; k < one->n; k++) heed_json_put_number(cx, list, NULL, (double)p[k]);
}

bool answer_choice(heed_ctx *cx, const heed_text_model *m, const char *line, heed_json at) {
    enum { CHOICES = 64 };
    const char *choice[CHOICES];
    float p[CHOICES];
    heed_string text = {0};
    heed_choices one = {.choice = choice};
    if (!heed_string_put(cx, &text, line, strlen(line))) return false;
    one.text = text.s;
    for (char *tab = text.s; one.n < CHOICES && (tab = strchr(tab, '\t'));) {
        *tab++ = 0;
        choice[one.n++] = tab;
    }
    if (one.n < 2 || strchr(choice[one.n - 1], '\t'))
        heed_fail(cx, HEED_ERR_USAGE, "a question and 2 to %d choices are needed, separated by tabs", CHOICES);
    else if (heed_choose(cx, m, &one, 1, p, NULL))
        answer_put_choice(cx, at, &one, p);
    heed_string_free(cx, &text);
    return !heed_failed(cx);
}
