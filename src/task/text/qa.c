/* Questions about a context whose answers stand in it, from JSON in the form of SQuAD (Rajpurkar et al. 2016; with
 * questions that have no answer, 2018). */
#include "base/ctx.h"
#include "io/text.h"
#include "task/answers.h"
#include "task/run.h"
#include "task/text/squad.h"
#include "task/text/windows.h"
#include <math.h>
#include <string.h>

/* Texts are kept as they are, newlines too, in one block; places count its bytes. */
struct part {
    size_t at, size;
};
struct question {
    struct part question, context;
    int64_t first, answers; /* in `answer` */
    int64_t place[2];       /* of the first answer, bytes of the context; both 0: it has none */
};
struct questions {
    heed_string text;
    struct question *question;
    int64_t n, room;
    struct part *answer;
    int64_t n_answers, answer_room;
    bool none; /* some have no answer */
    struct windows windows;
};

static struct questions *questions_of(const heed_task_data *d) { return d->own; }

/* ---- reading ---- */

static bool grow(heed_ctx *cx, void **list, int64_t n, int64_t *room, size_t size) {
    if (n < *room) return true;
    const int64_t more = *room ? 2 * *room : 256;
    void *larger = heed_mem_resize(cx, *list, (size_t)more * size);
    if (!larger) return false;
    *list = larger;
    *room = more;
    return true;
}

static bool put_part(heed_ctx *cx, struct questions *q, const char *text, struct part *part) {
    *part = (struct part){q->text.size, strlen(text)};
    return heed_string_put(cx, &q->text, text, part->size);
}

/* The byte of character number n; -1: there are fewer. */
static int64_t byte_of(const char *text, size_t size, int64_t n) {
    for (size_t i = 0; i <= size; i++)
        if (i == size || (text[i] & 0xC0) != 0x80)
            if (n-- == 0) return (int64_t)i;
    return -1;
}

static bool add_answer(heed_ctx *cx, struct questions *q, struct question *one, heed_json at, bool first) {
    const char *text = heed_json_text(cx, at, "text");
    const int64_t start = heed_json_int(cx, at, "answer_start");
    if (heed_failed(cx) || !grow(cx, (void **)&q->answer, q->n_answers, &q->answer_room, sizeof *q->answer))
        return false;
    const char *context = q->text.s + one->context.at;
    const int64_t byte = byte_of(context, one->context.size, start);
    const size_t size = strlen(text);
    if (byte < 0 || (size_t)byte + size > one->context.size || memcmp(context + byte, text, size) != 0)
        return heed_json_fail(cx, at, "the answer '%s' does not stand at character %lld of its context",
                              escaped(text).s, (long long)start);
    if (first) one->place[0] = byte, one->place[1] = byte + (int64_t)size;
    one->answers++;
    return put_part(cx, q, text, &q->answer[q->n_answers++]);
}

static bool add_question(heed_ctx *cx, struct questions *q, struct part context, heed_json at) {
    const char *text = heed_json_text(cx, at, "question");
    if (heed_failed(cx) || !grow(cx, (void **)&q->question, q->n, &q->room, sizeof *q->question)) return false;
    struct question *one = &q->question[q->n];
    *one = (struct question){.context = context, .first = q->n_answers};
    if (!put_part(cx, q, text + strspn(text, " \t\r\n"), &one->question)) return false;
    const bool impossible = heed_json_bool_or(cx, at, "is_impossible", false);
    const heed_json answers = impossible ? (heed_json){0} : heed_json_array(cx, at, "answers");
    for (heed_json v = heed_json_first(answers); heed_json_kind_of(v) != HEED_JSON_NONE; v = heed_json_next(v))
        if (!add_answer(cx, q, one, v, one->answers == 0)) return false;
    if (one->answers == 0) q->none = true;
    q->n++;
    return !heed_failed(cx);
}

static bool add_paragraph(heed_ctx *cx, struct questions *q, heed_json at) {
    const char *text = heed_json_text(cx, at, "context");
    struct part context;
    if (heed_failed(cx) || !put_part(cx, q, text, &context)) return false;
    const heed_json list = heed_json_array(cx, at, "qas");
    for (heed_json v = heed_json_first(list); heed_json_kind_of(v) != HEED_JSON_NONE; v = heed_json_next(v))
        if (heed_cancelled(cx) || !add_question(cx, q, context, v)) return false;
    return !heed_failed(cx);
}

static bool put_line(heed_ctx *cx, heed_string *to, const char *text, size_t size) {
    const size_t from = to->size;
    if (!heed_string_put(cx, to, text, size) || !heed_string_put(cx, to, "\n", 1)) return false;
    for (size_t i = from; i + 1 < to->size; i++)
        if (to->s[i] == '\n') to->s[i] = ' ';
    return true;
}

/* What a tokenizer may learn from: each context once, and the questions. */
static bool set_texts(heed_ctx *cx, heed_task_data *d) {
    const struct questions *q = questions_of(d);
    heed_string text = {0};
    size_t last = (size_t)-1;
    for (int64_t i = 0; i < q->n; i++) {
        const struct question *one = &q->question[i];
        if (one->context.at != last && !put_line(cx, &text, q->text.s + one->context.at, one->context.size)) break;
        if (!put_line(cx, &text, q->text.s + one->question.at, one->question.size)) break;
        last = one->context.at;
    }
    const bool ok = !heed_failed(cx) && heed_lines_cut(cx, &text, &d->text);
    heed_string_free(cx, &text);
    return ok;
}

static bool read_questions(heed_ctx *cx, const char *path, const heed_task_opts *opts, heed_task_data *d) {
    struct questions *q = d->own = heed_mem_new(cx, sizeof *q);
    (void)opts;
    if (!q) return false;
    *q = (struct questions){.n = 0};
    const heed_json doc = heed_json_open(cx, path), data = heed_failed(cx) ? doc : heed_json_array(cx, doc, "data");
    for (heed_json a = heed_json_first(data); !heed_failed(cx) && heed_json_kind_of(a) != HEED_JSON_NONE;
         a = heed_json_next(a)) {
        const heed_json list = heed_json_array(cx, a, "paragraphs");
        for (heed_json p = heed_json_first(list); !heed_failed(cx) && heed_json_kind_of(p) != HEED_JSON_NONE;
             p = heed_json_next(p))
            if (!add_paragraph(cx, q, p)) break;
    }
    heed_json_free(doc);
    if (!heed_failed(cx) && q->n == 0) heed_fail(cx, HEED_ERR_FORMAT, "%s: there are no questions", d->name);
    return !heed_failed(cx) && set_texts(cx, d);
}

static void free_questions(heed_ctx *cx, heed_task_data *d) {
    struct questions *q = questions_of(d);
    if (!q) return;
    heed_string_free(cx, &q->text);
    heed_mem_free(cx, q->question);
    heed_mem_free(cx, q->answer);
    windows_free(cx, &q->windows);
    heed_mem_free(cx, q);
}

/* ---- encoding ---- */

static int64_t or_else(int64_t value, int64_t otherwise) { return value > 0 ? value : otherwise; }

static void set_lengths(struct windows *w, int64_t max_length, int64_t stride, const heed_text_reader *reader) {
    w->max_length = or_else(max_length, QA_LENGTH);
    if (reader->max_length > 0 && w->max_length > reader->max_length) w->max_length = reader->max_length;
    w->stride = or_else(stride, QA_STRIDE);
}

static bool encode(heed_ctx *cx, const heed_text_reader *reader, heed_task_data *d) {
    struct questions *q = questions_of(d);
    struct windows_room room = {.ids = {0}};
    windows_free(cx, &q->windows);
    set_lengths(&q->windows, d->opts.max_length, d->opts.stride, reader);
    for (int64_t i = 0; i < q->n && !heed_cancelled(cx); i++) {
        const struct question *one = &q->question[i];
        const heed_text_input text = {.text = q->text.s + one->question.at,
                                      .size = one->question.size,
                                      .pair = q->text.s + one->context.at,
                                      .pair_size = one->context.size};
        if (!windows_add(cx, &q->windows, reader, i, &text, one->place, &room, &d->set)) {
            heed_fail_in(cx, "%s: question %lld", d->name, (long long)i + 1);
            break;
        }
    }
    windows_room_free(cx, &room);
    return !heed_failed(cx);
}

static int64_t example_of(const heed_task_data *d, int64_t row) {
    return windows_at(&questions_of(d)->windows, row).question;
}
static int64_t examples(const heed_task_data *d) { return questions_of(d)->n; }

/* ---- measuring ---- */

/* Whether no answer is the best: of data that have such questions alone. */
static bool is_none(const struct found *f, bool may) { return f->n == 0 || (may && f->none > f->best[0].score); }

struct figures {
    heed_string said, truth;
    double exact, f1;
    int64_t n;
};

static bool compare(heed_ctx *cx, const struct questions *q, int64_t i, const struct found *f, struct figures *sum) {
    const struct question *one = &q->question[i];
    const char *context = q->text.s + one->context.at;
    double exact = 0, f1 = 0;
    const bool none = is_none(f, q->none);
    const size_t start = none ? 0 : (size_t)f->best[0].start, end = none ? 0 : (size_t)f->best[0].end;
    if (!squad_normalise(cx, context + start, end - start, &sum->said)) return false;
    for (int64_t k = 0; k < (one->answers ? one->answers : 1); k++) {
        const struct part a = one->answers ? q->answer[one->first + k] : (struct part){0, 0};
        double each = 0;
        if (!squad_normalise(cx, q->text.s + a.at, a.size, &sum->truth) ||
            !squad_f1(cx, &sum->truth, &sum->said, &each))
            return false;
        exact = fmax(exact, (double)(strcmp(sum->truth.s, sum->said.s) == 0));
        f1 = fmax(f1, each);
    }
    sum->exact += exact;
    sum->f1 += f1;
    sum->n++;
    return true;
}

static bool measure(heed_ctx *cx, const heed_model *model, const heed_task_data *d, const int64_t *rows, int64_t n,
                    heed_score *score, int32_t *predicted) {
    const struct questions *q = questions_of(d);
    struct finding f = {.w = &q->windows, .max_length = or_else(d->opts.max_answer_length, QA_ANSWER)};
    struct figures sum = {.n = 0};
    (void)predicted;
    f.found = heed_mem_new(cx, (size_t)q->n * sizeof *f.found);
    for (int64_t i = 0; f.found && i < q->n; i++) f.found[i].n = 0, f.found[i].seen = false;
    const heed_over_opts opts = {.rows = rows, .n_rows = rows ? n : 0, .take = windows_take, .own = &f};
    if (f.found && heed_loop_over(cx, model, &d->set, &opts, &score->loss) && !cx->config.dry)
        for (int64_t i = 0; i < q->n; i++)
            if (f.found[i].seen && !compare(cx, q, i, &f.found[i], &sum)) break;
    if (sum.n > 0) {
        score->metric = sum.f1 / (double)sum.n;
        score->more[0] = sum.exact / (double)sum.n;
    }
    heed_string_free(cx, &sum.said);
    heed_string_free(cx, &sum.truth);
    heed_mem_free(cx, f.found);
    return !heed_failed(cx);
}

const heed_text_task task_qa = {.name = "qa",
                                .metrics = "f1 exact_match",
                                .read = read_questions,
                                .encode = encode,
                                .measure = measure,
                                .examples = examples,
                                .example_of = example_of,
                                .labels = 2, /* start and end */
                                .free = free_questions,
                                .answer = answer_question};

/* ---- using ---- */

static int64_t characters(const char *text, int64_t size) {
    int64_t n = 0;
    for (int64_t i = 0; i < size; i++) n += (text[i] & 0xC0) != 0x80;
    return n;
}

/* Probabilities among the spans that were compared, and none where that may be. */
static void put_answers(const struct found *f, const char *context, const heed_answer_opts *o, heed_answered *to) {
    const bool none = is_none(f, o->none);
    const double most = f->n > 0 ? fmax((double)f->best[0].score, o->none ? (double)f->none : -(double)INFINITY) : 0;
    double sum = o->none && f->n > 0 ? exp((double)f->none - most) : 0;
    int k = 0;
    for (int i = 0; i < f->n; i++) sum += exp((double)f->best[i].score - most);
    for (int64_t i = 0; i < o->n_best; i++) {
        to[i] = (heed_answered){.none = true};
        if (none && i == 0) {
            to[i].score = (float)(f->n > 0 ? exp((double)f->none - most) / sum : 1);
            continue;
        }
        if (k == f->n) continue;
        const struct span *s = &f->best[k++];
        to[i] = (heed_answered){.start = s->start,
                                .end = s->end,
                                .first = characters(context, s->start),
                                .last = characters(context, s->end),
                                .score = (float)(exp((double)s->score - most) / sum)};
    }
}

bool heed_answer(heed_ctx *cx, const heed_text_model *m, const heed_text_input *texts, int64_t n,
                 const heed_answer_opts *opts, heed_answered *out) {
    heed_answer_opts o = opts ? *opts : (heed_answer_opts){0};
    struct windows w = {.max_length = 0};
    struct windows_room room = {.ids = {0}};
    heed_dataset set = {0};
    if (heed_failed(cx)) return false;
    if (!m || n < 0 || (n > 0 && (!texts || !out)))
        return heed_fail(cx, HEED_ERR_USAGE, "answer: a model, questions and a place for answers are needed");
    if (o.n_best < 1) o.n_best = 1;
    set_lengths(&w, o.max_length, o.stride, &m->reader);
    struct finding f = {.w = &w, .max_length = or_else(o.max_answer_length, QA_ANSWER)};
    f.found = heed_mem_new(cx, ((size_t)n + 1) * sizeof *f.found);
    for (int64_t i = 0; f.found && i < n && !heed_failed(cx); i++) {
        f.found[i].n = 0, f.found[i].seen = false;
        heed_text_input text = texts[i];
        if (!text.pair) text.pair = "", text.pair_size = 0;
        if (!text.size && text.text) text.size = strlen(text.text);
        if (!text.pair_size) text.pair_size = strlen(text.pair);
        if (!windows_add(cx, &w, &m->reader, i, &text, NULL, &room, &set))
            heed_fail_in(cx, "text %lld", (long long)i + 1);
    }
    if (!heed_failed(cx) && set.n > 0)
        heed_loop_over(cx, m->model, &set, &(heed_over_opts){.take = windows_take, .own = &f}, NULL);
    for (int64_t i = 0; !heed_failed(cx) && i < n; i++)
        put_answers(&f.found[i], texts[i].pair ? texts[i].pair : "", &o, out + i * o.n_best);
    heed_mem_free(cx, f.found);
    windows_room_free(cx, &room);
    windows_free(cx, &w);
    heed_dataset_free(cx, &set);
    return !heed_failed(cx);
}

/* ---- the task ---- */

/* clang-format off */
static const heed_field fields[] = {
    {.name = "data", .kind = HEED_FIELD_GROUP},
    {.name = "data", .letter = 'd', .kind = HEED_FIELD_FILE, .value = "PATH",
     .help = "JSON in the form of SQuAD 1.1 or 2.0 (also .gz), or a directory with train and dev files"},
    TEXT_PART_FIELDS("questions"),
    {.name = "stride", .kind = HEED_FIELD_INT, .standard = "128", .value = "N", .low = 1, .high = 1e9,
     .help = "tokens that two windows over a long context share"},
    {.name = "max-answer", .kind = HEED_FIELD_INT, .standard = "30", .value = "N", .low = 1, .high = 1e9,
     .help = "maximum tokens of an answer that is predicted"},
    {.name = "max-length", .kind = HEED_FIELD_INT, .standard = "384", .value = "N", .low = 1, .high = 1e9,
     .help = "tokens of a window, question and special tokens included; at most as many as the model has positions"},
    TEXT_TRAIN_FIELDS("windows"),
    {.name = NULL},
};
/* clang-format on */

static const heed_text_task *const texts[] = {&task_qa, NULL};

const heed_task task_of_qa = {
    .name = "qa",
    .summary = "answers to questions, as parts of a text",
    .about = "Trains an encoder to find the answer to a question in a context: its first and its last token. A "
             "context that is too long is read in windows that overlap by --stride tokens, as in transformers' "
             "run_qa example; a window that does not hold the answer has none. Data have the form of SQuAD "
             "(Rajpurkar et al. 2016); with questions that have no answer, that of version 2.0. The metrics are F1 "
             "and exact match as SQuAD's official script computes them.",
    .examples = "heed train qa --data squad --init bert-base-uncased --epochs 2 --out reader\n"
                "heed train qa --data train-v2.0.json --test dev-v2.0.json --init all-MiniLM-L6-v2 "
                "--out reader\n",
    .fields = fields,
    .next = "answer",
    .next_how = "   (question TAB context on standard input)",
    .texts = texts,
    .ways = ways_of_texts,
};
