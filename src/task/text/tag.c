/* Words and their tags: one word a line, its tag in another column, a blank line between sentences. */
#include "base/ctx.h"
#include "io/text.h"
#include "kernel/reduce.h"
#include "task/answers.h"
#include "task/run.h"
#include "task/task.h"
#include "task/text/ner_chunks.h"
#include "text/strings/split.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The words of all sentences; sentence i is words first[i] up to first[i + 1]. */
struct words {
    heed_word *word;
    int64_t *first, n, sentences;
    int64_t *row;   /* once encoded: (examples) the sentence of an example; one without tokens is none */
    int64_t *place; /* (n) the token that a word begins with; -1: it has none, or was cut */
};

static struct words *words_of(const heed_task_data *d) { return d->own; }

void task_tagged_words(const heed_task_data *d, struct tagged_words *to) {
    const struct words *w = words_of(d);
    *to = (struct tagged_words){w->word, w->first, d->label, d->names, w->n, w->sentences, d->classes};
}

static void free_words(heed_ctx *cx, struct words *w) {
    heed_mem_free(cx, w->word);
    heed_mem_free(cx, w->first);
    heed_mem_free(cx, w->row);
    heed_mem_free(cx, w->place);
}

/* ---- reading ---- */

struct tag_file {
    heed_task_data *d;
    heed_lines lines;
    char separator;        /* 0: any run of blanks */
    int64_t columns;       /* of the first line; 0: there was none yet */
    int64_t word, tag;     /* columns */
    const char **tag_text; /* (words) */
    int64_t *line;         /* (words) */
};

/* CoNLL's files have comments, and lines that begin a document. */
static bool is_skipped(const struct tag_file *f, const char *s) {
    if (strncmp(s, "-DOCSTART-", 10) == 0) return true;
    return f->separator == '\t' && strncmp(s, "# ", 2) == 0 && !strchr(s, '\t');
}

static bool number_column(heed_ctx *cx, const struct tag_file *f, const char *option, const char *name,
                          int64_t otherwise, int64_t *column) {
    char *end = NULL;
    const long long number = name ? strtoll(name, &end, 10) : otherwise + 1;
    if (name && (!*name || *end || number < 1))
        return heed_fail(cx, HEED_ERR_USAGE, "%s: %s '%s': files of tags have no header; columns have numbers from 1",
                         f->d->name, option, escaped(name).s);
    if (number > f->columns)
        return heed_fail(cx, HEED_ERR_USAGE, "%s: there is no column %lld, only %lld", f->d->name, number,
                         (long long)f->columns);
    *column = number - 1;
    return true;
}

/* The columns of a line; those of word and tag are kept, and end with 0 when `cut`. */
static int64_t read_columns(const struct tag_file *f, char *s, bool cut, const char **word, const char **tag) {
    int64_t n = 0;
    for (char *at = s; at; n++) {
        char *end = f->separator ? strchr(at, f->separator) : at + strcspn(at, " \t");
        if (n == f->word) *word = at;
        if (n == f->tag) *tag = at;
        at = end && *end ? end + 1 : NULL;
        if (end && cut) *end = 0;
        if (at && !f->separator) at += strspn(at, " \t");
        if (at && !f->separator && !*at) at = NULL;
    }
    return n;
}

/* The first line says how many columns there are. */
static bool set_columns(heed_ctx *cx, struct tag_file *f, char *s) {
    const heed_task_opts *o = &f->d->opts;
    const char *word, *tag;
    f->columns = read_columns(f, s, false, &word, &tag);
    if (f->columns < 2)
        return heed_fail(cx, HEED_ERR_FORMAT, "%s: one column: a word and its tag are needed, separated by a tab",
                         f->d->name);
    if (!number_column(cx, f, "--text", o->text, 0, &f->word) ||
        !number_column(cx, f, "--target", o->target, f->columns - 1, &f->tag))
        return false;
    return f->word != f->tag || heed_fail(cx, HEED_ERR_USAGE, "%s: word and tag are the same column", f->d->name);
}

static bool read_line(heed_ctx *cx, struct tag_file *f, int64_t i, char *s) {
    struct words *w = words_of(f->d);
    const char *word = "", *tag = "";
    if (f->columns == 0 && !set_columns(cx, f, s)) return false;
    const int64_t columns = read_columns(f, s, true, &word, &tag);
    if (columns != f->columns)
        return heed_fail(cx, HEED_ERR_FORMAT, "%s: line %lld: number of columns: %lld, in the first line %lld",
                         f->d->name, (long long)i + 1, (long long)columns, (long long)f->columns);
    if (!*tag)
        return heed_fail(cx, HEED_ERR_FORMAT, "%s: line %lld: a word without a tag", f->d->name, (long long)i + 1);
    if (!*word)
        return heed_fail(cx, HEED_ERR_FORMAT, "%s: line %lld: a tag without a word", f->d->name, (long long)i + 1);
    f->tag_text[w->n] = tag;
    f->line[w->n] = i + 1;
    w->word[w->n++] = (heed_word){word, strlen(word)};
    return true;
}

static bool read_lines(heed_ctx *cx, struct tag_file *f) {
    heed_task_data *d = f->d;
    struct words *w = words_of(d);
    bool open = false;
    for (int64_t i = 0; i < f->lines.count && !heed_cancelled(cx); i++) {
        char *s = f->lines.text + f->lines.start[i];
        const size_t size = strlen(s);
        if (size > 0 && s[size - 1] == '\r') s[size - 1] = 0;
        if (text_is_blank(s) || is_skipped(f, s)) {
            open = open && !text_is_blank(s);
            continue;
        }
        if (!open) {
            d->line[w->sentences] = i + 1;
            w->first[w->sentences++] = w->n;
        }
        open = true;
        if (!read_line(cx, f, i, s)) return false;
    }
    w->first[w->sentences] = w->n;
    return !heed_failed(cx) && (w->n > 0 || heed_fail(cx, HEED_ERR_FORMAT, "%s: there are no words", d->name));
}

static bool set_tags(heed_ctx *cx, struct tag_file *f) {
    heed_task_data *d = f->d;
    const int64_t n = words_of(d)->n;
    char **known = task_known_labels(&d->opts);
    d->names = known ? task_copy_names(cx, known, &d->classes) : task_names(cx, f->tag_text, n, &d->classes);
    d->label = heed_mem_new(cx, (size_t)n * sizeof *d->label);
    d->labels = n;
    for (int64_t i = 0; d->names && d->label && i < n; i++)
        if ((d->label[i] = task_label(d->names, d->classes, f->tag_text[i])) < 0)
            return heed_fail(cx, HEED_ERR_RANGE, "%s: line %lld: tag '%s' is not one of the model's %lld", d->name,
                             (long long)f->line[i], escaped(f->tag_text[i]).s, (long long)d->classes);
    if (!heed_failed(cx) && d->classes < 2)
        heed_fail(cx, HEED_ERR_USAGE, "%s: all words have one tag, '%s'", d->name, escaped(d->names[0]).s);
    return !heed_failed(cx);
}

/* The sentences as texts, from which a tokenizer may learn; the words are found in them. */
static bool set_texts(heed_ctx *cx, heed_task_data *d) {
    struct words *w = words_of(d);
    heed_string text = {0};
    for (int64_t i = 0; i < w->sentences && !heed_failed(cx); i++)
        for (int64_t k = w->first[i]; k < w->first[i + 1] && !heed_failed(cx); k++)
            if (heed_string_put(cx, &text, w->word[k].text, w->word[k].size))
                heed_string_put(cx, &text, k + 1 < w->first[i + 1] ? " " : "\n", 1);
    const bool ok = !heed_failed(cx) && heed_lines_cut(cx, &text, &d->text);
    heed_string_free(cx, &text);
    for (int64_t i = 0; ok && i < w->sentences; i++) {
        const char *at = heed_line_text(&d->text, i);
        for (int64_t k = w->first[i]; k < w->first[i + 1]; k++) {
            w->word[k].text = at;
            at += w->word[k].size + 1;
        }
    }
    return ok;
}

static bool read_tags(heed_ctx *cx, const char *path, const heed_task_opts *opts, heed_task_data *d) {
    struct tag_file f = {.d = d, .separator = opts->table.delimiter};
    struct words *w = d->own = heed_mem_new(cx, sizeof *w);
    if (!w) return false;
    *w = (struct words){0};
    if (heed_lines_read(cx, path, &f.lines)) {
        const size_t n = (size_t)f.lines.count + 1, bytes = (size_t)f.lines.start[f.lines.count];
        if (!f.separator && memchr(f.lines.text, '\t', bytes)) f.separator = '\t';
        if (f.separator == ' ') f.separator = 0;
        w->word = heed_mem_new(cx, n * sizeof *w->word);
        w->first = heed_mem_new(cx, n * sizeof *w->first);
        d->line = heed_mem_new(cx, n * sizeof *d->line);
        f.tag_text = heed_mem_new(cx, n * sizeof *f.tag_text);
        f.line = heed_mem_new(cx, n * sizeof *f.line);
        if (!heed_failed(cx) && read_lines(cx, &f) && set_tags(cx, &f)) set_texts(cx, d);
    }
    heed_mem_free(cx, f.tag_text);
    heed_mem_free(cx, f.line);
    heed_lines_free(cx, &f.lines);
    return !heed_failed(cx);
}

static void free_own(heed_ctx *cx, heed_task_data *d) {
    if (!d->own) return;
    free_words(cx, d->own);
    heed_mem_free(cx, d->own);
}

/* ---- encoding ---- */

/* Where the words of a sentence begin: as transformers' run_ner has it, the first token of a word bears its label, and
 * the others, and added ones, none. Returns how many words have no token because the sentence was cut. */
static int64_t find_places(const heed_encoding *e, int64_t *place, int64_t n, bool cut) {
    int64_t last = -1;
    for (int64_t k = 0; k < n; k++) place[k] = -1;
    for (int64_t i = e->count - 1; i >= 0; i--) {
        const int32_t word = e->token[i].word;
        if (word < 0 || word >= n) continue;
        place[word] = i;
        if (word > last) last = word;
    }
    return cut ? n - 1 - last : 0;
}

static bool put_labels(heed_ctx *cx, const int64_t *place, const int32_t *label, int64_t n, int64_t tokens,
                       heed_ids *to) {
    to->count = 0;
    for (int64_t i = 0; i < tokens; i++)
        if (!heed_ids_put(cx, to, HEED_NO_LABEL)) return false;
    for (int64_t k = 0; k < n; k++)
        if (place[k] >= 0) to->id[place[k]] = label[k];
    return true;
}

static bool has_place(const int64_t *place, int64_t n) {
    for (int64_t k = 0; k < n; k++)
        if (place[k] >= 0) return true;
    return false;
}

/* The sentences as examples of a data set; label NULL: without labels. A sentence without a token is left out. */
static bool encode_sentences(heed_ctx *cx, const heed_text_reader *reader, struct words *w, const int32_t *label,
                             heed_dataset *set, int64_t *cut) {
    heed_encoding room = {0};
    heed_ids ids = {0}, labels = {0};
    heed_text_columns(reader, set);
    const int column = set->columns;
    if (label) {
        set->column[set->columns++] =
            (heed_column){.name = "labels", .type = HEED_I32, .ragged = true, .fill = HEED_NO_LABEL};
        set->counts = "labels";
    }
    for (int64_t i = 0; i < w->sentences && !heed_cancelled(cx); i++) {
        const int64_t first = w->first[i], n = w->first[i + 1] - first;
        const heed_text_input text = {.words = w->word + first, .n_words = n};
        heed_cell cells[HEED_COLUMNS_MAX];
        bool is_long = false;
        if (!heed_text_cells(cx, reader, &text, &room, &ids, cells, &is_long)) {
            heed_fail_in(cx, "sentence %lld", (long long)i + 1);
            break;
        }
        *cut += find_places(&room, w->place + first, n, is_long);
        if (!has_place(w->place + first, n)) continue;
        if (label && !put_labels(cx, w->place + first, label + first, n, room.count, &labels)) break;
        cells[column] = (heed_cell){labels.id, labels.count};
        w->row[set->n] = i;
        if (!heed_dataset_add(cx, set, cells)) break;
    }
    heed_encoding_free(cx, &room);
    heed_ids_free(cx, &ids);
    heed_ids_free(cx, &labels);
    return !heed_failed(cx);
}

static bool make_places(heed_ctx *cx, struct words *w) {
    heed_mem_free(cx, w->row);
    heed_mem_free(cx, w->place);
    w->row = heed_mem_new(cx, ((size_t)w->sentences + 1) * sizeof *w->row);
    w->place = heed_mem_new(cx, ((size_t)w->n + 1) * sizeof *w->place);
    return w->row && w->place;
}

static bool encode(heed_ctx *cx, const heed_text_reader *reader, heed_task_data *d) {
    struct words *w = words_of(d);
    if (!make_places(cx, w) || !encode_sentences(cx, reader, w, d->label, &d->set, &d->cut)) {
        heed_fail_in(cx, "%s", d->name);
        return false;
    }
    return d->set.n > 0 || heed_fail(cx, HEED_ERR_FORMAT, "%s: no word has a token", d->name);
}

/* ---- running ---- */

struct tagging {
    const struct words *w;
    int64_t labels;
    int32_t *tag; /* (words); -1: none */
    float *score; /* (words) probability; NULL: not wanted */
    bool finite;  /* logits must be */
};

static float probability(const float *x, int64_t n, int64_t best) {
    double sum = 0;
    for (int64_t j = 0; j < n; j++) sum += exp((double)x[j] - (double)x[best]);
    return (float)(1 / sum);
}

static bool take_tags(heed_ctx *cx, void *own, const heed_batch *b, const heed_io *out) {
    const struct tagging *t = own;
    heed_tensor *logits = heed_contiguous(cx, heed_io_get(out, "logits"));
    const float *value = heed_f32(logits);
    if (heed_failed(cx) || !logits) return heed_fail(cx, HEED_ERR_USAGE, "tag: the model gives no logits");
    if (cx->config.dry) return true;
    if (heed_rank(logits) != 3 || heed_dim(logits, 2) != t->labels)
        return heed_fail(cx, HEED_ERR_SHAPE, "tag: logits of %s for %lld tags", heed_shape_text(logits).s,
                         (long long)t->labels);
    const int64_t length = heed_dim(logits, 1);
    for (int64_t i = 0; i < b->n; i++) {
        const int64_t sentence = t->w->row[b->row[i]];
        for (int64_t k = t->w->first[sentence]; k < t->w->first[sentence + 1]; k++) {
            if (t->w->place[k] < 0) continue;
            const float *x = value + (i * length + t->w->place[k]) * t->labels;
            const int64_t best = kernel_best(x, t->labels);
            if (t->finite && !task_all_finite(cx, x, t->labels)) return false;
            t->tag[k] = (int32_t)best;
            if (t->score) t->score[k] = probability(x, t->labels, best);
        }
    }
    return true;
}

/* ---- measuring ---- */

static const char *metrics_of(const heed_task_data *d) {
    return chunks_named(d->names) ? "f1 precision recall accuracy" : "accuracy f1_macro";
}

static double ratio(int64_t a, int64_t b) { return b > 0 ? (double)a / (double)b : 0; }

/* Sentences may lack words that were cut: those neither count as found nor as missed, as in run_ner. */
static void score_chunks(const struct chunk_counts *c, double accuracy, heed_score *score) {
    const double precision = ratio(c->right, c->said), recall = ratio(c->right, c->truth);
    score->metric = precision + recall > 0 ? 2 * precision * recall / (precision + recall) : 0;
    score->more[0] = precision;
    score->more[1] = recall;
    score->more[2] = accuracy;
}

static bool measure(heed_ctx *cx, const heed_model *model, const heed_task_data *d, const int64_t *rows, int64_t n,
                    heed_score *score, int32_t *predicted) {
    const struct words *w = words_of(d);
    struct tagging t = {.w = w, .labels = d->classes};
    int32_t *both = heed_mem_new(cx, 2 * (size_t)w->n * sizeof *both), *truth = both, *said = both ? both + w->n : NULL;
    t.tag = heed_mem_new(cx, (size_t)w->n * sizeof *t.tag);
    for (int64_t k = 0; t.tag && k < w->n; k++) t.tag[k] = -1;
    const heed_over_opts opts = {.rows = rows, .n_rows = rows ? n : 0, .take = take_tags, .own = &t};
    struct chunk_counts chunks = {0};
    int64_t count = 0;
    if (!heed_failed(cx) && heed_loop_over(cx, model, &d->set, &opts, &score->loss) && !cx->config.dry) {
        for (int64_t i = 0; i < n; i++) {
            const int64_t sentence = w->row[rows ? rows[i] : i], from = count;
            for (int64_t k = w->first[sentence]; k < w->first[sentence + 1]; k++) {
                if (t.tag[k] < 0) continue;
                truth[count] = d->label[k];
                said[count++] = t.tag[k];
            }
            if (chunks_named(d->names)) chunks_count(d->names, truth + from, said + from, count - from, &chunks);
        }
        if (predicted) memcpy(predicted, t.tag, (size_t)w->n * sizeof *predicted);
    }
    heed_class_report *r =
        heed_failed(cx) || count == 0 ? NULL : heed_class_report_new(cx, truth, said, count, d->classes);
    if (r && chunks_named(d->names)) {
        score_chunks(&chunks, r->accuracy, score);
    } else if (r) {
        score->metric = r->accuracy;
        score->more[0] = r->macro.f1;
    }
    heed_class_report_free(cx, r);
    heed_mem_free(cx, t.tag);
    heed_mem_free(cx, both);
    return !heed_failed(cx);
}

const heed_text_task task_tag = {.name = "tag",
                                 .metrics = "accuracy f1_macro",
                                 .metrics_of = metrics_of,
                                 .cut = "word",
                                 .read = read_tags,
                                 .encode = encode,
                                 .measure = measure,
                                 .free = free_own,
                                 .answer = answer_words};

/* ---- using ---- */

bool heed_tag(heed_ctx *cx, const heed_text_model *m, const heed_text_input *sentences, int64_t n, int32_t *tag,
              float *score, int64_t *cut) {
    if (heed_failed(cx)) return false;
    if (!m || n < 0 || (n > 0 && (!sentences || !tag)))
        return heed_fail(cx, HEED_ERR_USAGE, "tag: a model, sentences and a place for their tags are needed");
    struct words w = {.sentences = n};
    heed_dataset set = {0};
    int64_t words_cut = 0;
    for (int64_t i = 0; i < n; i++) w.n += sentences[i].n_words;
    w.first = heed_mem_new(cx, ((size_t)n + 1) * sizeof *w.first);
    w.word = heed_mem_new(cx, ((size_t)w.n + 1) * sizeof *w.word);
    if (w.first && w.word && make_places(cx, &w)) {
        w.first[0] = 0;
        for (int64_t i = 0; i < n; i++) {
            w.first[i + 1] = w.first[i] + sentences[i].n_words;
            if (sentences[i].n_words > 0)
                memcpy(w.word + w.first[i], sentences[i].words, (size_t)sentences[i].n_words * sizeof *w.word);
        }
        struct tagging t = {.w = &w, .labels = m->labels, .tag = tag, .score = score, .finite = true};
        for (int64_t k = 0; k < w.n; k++) tag[k] = -1;
        for (int64_t k = 0; score && k < w.n; k++) score[k] = 0;
        if (encode_sentences(cx, &m->reader, &w, NULL, &set, &words_cut) && set.n > 0)
            heed_loop_over(cx, m->model, &set, &(heed_over_opts){.take = take_tags, .own = &t}, NULL);
    }
    heed_dataset_free(cx, &set);
    free_words(cx, &w);
    if (cut) *cut = words_cut;
    return !heed_failed(cx);
}

int64_t heed_tag_chunks(const heed_text_model *m, const int32_t *tag, int64_t n, heed_chunk *found, int64_t room) {
    int64_t count = 0;
    struct chunk c;
    if (!m || !m->label || !chunks_named(m->label)) return 0;
    for (int64_t at = 0; chunks_next(m->label, tag, n, &at, &c); count++)
        if (count < room) found[count] = (heed_chunk){c.type, c.first, c.last};
    return count;
}

/* ---- the task ---- */

/* clang-format off */
static const heed_field fields[] = {
    {.name = "data", .kind = HEED_FIELD_GROUP},
    {.name = "data", .letter = 'd', .kind = HEED_FIELD_FILE, .value = "PATH",
     .help = "words and tags, one word a line and a blank line between sentences (also .gz), or a directory with "
             "train, dev and test files"},
    TEXT_PART_FIELDS("sentences"),
    {.name = "target", .letter = 't', .kind = HEED_FIELD_TEXT, .value = "COLUMN",
     .help = "the number of the column of the tag; by default the last"},
    {.name = "text", .kind = HEED_FIELD_TEXT, .value = "COLUMN",
     .help = "the number of the column of the word; by default 1"},
    {.name = "separator", .kind = HEED_FIELD_TEXT, .value = "CHARACTER",
     .help = "what separates the columns: a character, or the word tab or space; by default tabs, or blanks where "
             "there are none"},
    SPLIT_FIELD(SPLIT_MARKS, "for 'heed tag', the data being words already; "),
    CLASS_WEIGHTS_FIELD,
    TEXT_TRAIN_FIELDS("sentences"),
    {.name = "hmm", .kind = HEED_FIELD_TABLE, .table = hmm_fields},
    {.name = NULL},
};
/* clang-format on */

static const heed_text_task *const texts[] = {&task_tag, NULL};
static const struct task_way *const ways[] = {&way_texts, &way_tag_hmm, NULL};

const heed_task task_of_tag = {
    .name = "tag",
    .summary = "a tag for each word",
    .about = "Trains an encoder to tag words (parts of speech, names). Words are encoded one by one with the "
             "model's tokenizer, and the first token of each word is classified, as transformers' run_ner example "
             "does. The metric is the accuracy over words; where the tags are those of chunks (O, B-PER, I-PER, "
             "also E- and S-) it is the F1 score over chunks, as seqeval and conlleval compute it.\n\n"
             "--model hmm counts a hidden Markov model instead (Rabiner 1989), which takes a second: tags follow "
             "tags, words follow from tags, and unknown words are known by their capital and last letters.",
    .examples = "heed train tag --data conll --init bert-base-cased --out ner\n"
                "heed train tag --data ud-ewt --target 2 --init all-MiniLM-L6-v2 --out tagger\n"
                "heed train tag --data train.tsv --test test.tsv --model distilbert --out tagger\n"
                "heed train tag --data ud-ewt --target 2 --model hmm --out tagger\n",
    .fields = fields,
    .next = "tag",
    .next_how = "   (sentences on standard input)",
    .texts = texts,
    .ways = ways,
};
