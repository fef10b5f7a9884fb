/* Text to text (Raffel et al. 2020), in two kinds.
 *
 * Plain text, documents separated by blank lines, is packed into sequences of tokens, of which no one holds parts of
 * two documents. In every epoch anew some spans of each are chosen; in the input a sentinel stands for each of them,
 * and the target is the sentinels with what they stand for:
 *
 *     Thank you for inviting me to your party last week </s>
 *     Thank you <extra_id_0> me to your party <extra_id_1> week </s>  ->  <extra_id_0> for inviting <extra_id_1> last
 * </s>
 *
 * Of n tokens round(share n) are in round(share n / mean) spans. Where they lie is drawn as T5 draws it: the tokens
 * that go and those that stay are each cut into so many runs, every way of cutting as likely as any other, and the runs
 * take turns, the first one staying. So lengths do not depend on the draw, only on n.
 *
 * A table of pairs is a source, behind a prefix that names the task, and its target. */
#include "base/ctx.h"
#include "heed/translate.h"
#include "task/run.h"
#include "task/task.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define STANDARD_LENGTH 128
#define STANDARD_SHARE  0.15
#define STANDARD_SPAN   3.0
#define FIXED_SEED      0x7370616eu /* of the spans that models are measured with */
#define ANSWER_TOKENS   64          /* of what is decoded for ROUGE, where no target is longer */

struct text2text {
    heed_spans how;
    heed_ids sentinels;
    heed_ids tokens; /* of all sequences */
    int64_t *start;  /* (rows + 1) in tokens */
    int64_t rows, room;
    const heed_tokenizer *decoder; /* of pairs: turns what is decoded into text */
    int64_t max_length;            /* of pairs: the longest target */
};

static void free_own(heed_ctx *cx, heed_task_data *d) {
    struct text2text *const m = d->own;
    if (!m) return;
    heed_ids_free(cx, &m->sentinels);
    heed_ids_free(cx, &m->tokens);
    heed_mem_free(cx, m->start);
    heed_mem_free(cx, m);
    d->own = NULL;
}

/* ---- reading ---- */

static bool is_blank(const char *s) { return !s[strspn(s, " \t\r\f\v")]; }

static bool ends_in(const char *path, const char *ending) {
    const size_t n = strlen(path), k = strlen(ending);
    const size_t zipped = n > 3 && strcmp(path + n - 3, ".gz") == 0 ? 3 : 0;
    return n >= k + zipped && memcmp(path + n - zipped - k, ending, k) == 0;
}

static bool read_documents(heed_ctx *cx, const char *path, heed_task_data *d) {
    if (!heed_lines_read(cx, path, &d->text)) return false;
    for (int64_t i = 0; i < d->text.count; i++)
        if (!is_blank(heed_line_text(&d->text, i))) return true;
    return heed_fail(cx, HEED_ERR_FORMAT, "%s: there is no text", d->name);
}

static bool read_table(heed_ctx *cx, const char *path, const heed_task_opts *opts, heed_task_data *d) {
    heed_table *const t = task_table(cx, path, opts);
    if (!t) return false;
    const int64_t n = heed_table_columns(t);
    if (n < 2)
        heed_fail(cx, HEED_ERR_FORMAT, "%s: one column: a source and a target are needed, separated by a tab", d->name);
    if (heed_table_rows(t) == 0) heed_fail(cx, HEED_ERR_FORMAT, "%s: there are no pairs", d->name);
    const int64_t text = heed_failed(cx) ? -1 : task_column(cx, d, t, opts->text, 0);
    const int64_t target = heed_failed(cx) ? -1 : task_column(cx, d, t, opts->target, n - 1);
    if (!heed_failed(cx) && text == target)
        heed_fail(cx, HEED_ERR_USAGE, "%s: source and target are the same column", d->name);
    const bool ok = !heed_failed(cx) && task_read_texts(cx, t, text, &d->text) &&
                    task_read_texts(cx, t, target, &d->pair) && task_read_lines(cx, t, d);
    heed_table_close(t);
    return ok;
}

/* Objects, one a line, with a text each under the keys of source and target. */
static bool read_objects(heed_ctx *cx, const char *path, const heed_task_opts *opts, heed_task_data *d) {
    const char *const keys[] = {opts->text ? opts->text : "source", opts->target ? opts->target : "target"};
    heed_lines lines = {0};
    heed_string sides[2] = {{0}};
    int64_t n = 0;
    if (!heed_lines_read(cx, path, &lines)) return false;
    d->line = heed_mem_new(cx, ((size_t)lines.count + 1) * sizeof *d->line);
    for (int64_t i = 0; i < lines.count && !heed_failed(cx); i++) {
        if (is_blank(heed_line_text(&lines, i))) continue;
        char name[300];
        snprintf(name, sizeof name, "%s: line %lld", d->name, (long long)i + 1);
        const heed_json object = heed_json_parse(cx, name, heed_line_text(&lines, i), heed_line_size(&lines, i));
        for (int k = 0; k < 2 && !heed_failed(cx); k++) {
            const char *const text = heed_json_text(cx, object, keys[k]);
            if (text) task_put_line(cx, &sides[k], text);
        }
        d->line[n++] = i + 1;
        heed_json_free(object);
    }
    heed_lines_free(cx, &lines);
    if (!heed_failed(cx) && n == 0) heed_fail(cx, HEED_ERR_FORMAT, "%s: there are no pairs", d->name);
    const bool ok =
        !heed_failed(cx) && heed_lines_cut(cx, &sides[0], &d->text) && heed_lines_cut(cx, &sides[1], &d->pair);
    for (int k = 0; k < 2; k++) heed_string_free(cx, &sides[k]);
    return ok;
}

static bool read_data(heed_ctx *cx, const char *path, const heed_task_opts *opts, heed_task_data *d) {
    if (!(opts->masked >= 0 && opts->masked < 1) || !(opts->span >= 0))
        return heed_fail(cx, HEED_ERR_RANGE, "text2text: a share of %g of the tokens in spans of %g: cannot be",
                         opts->masked, opts->span);
    if (ends_in(path, ".jsonl") || ends_in(path, ".json")) return read_objects(cx, path, opts, d);
    const bool table = ends_in(path, ".tsv") || ends_in(path, ".csv") || opts->text || opts->target;
    return table ? read_table(cx, path, opts, d) : read_documents(cx, path, d);
}

/* ---- spans ---- */

/* How many tokens of n go, and in how many spans. */
struct corruption {
    int64_t gone, spans;
};

static struct corruption corruption_of(const heed_spans *how, int64_t n) {
    const double share = how->share > 0 ? how->share : STANDARD_SHARE, mean = how->mean > 0 ? how->mean : STANDARD_SPAN;
    struct corruption c = {llround(share * (double)n), 0};
    c.gone = c.gone < 1 ? 1 : c.gone > n - 1 ? n - 1 : c.gone;
    c.spans = llround((double)c.gone / mean);
    const int64_t most[] = {c.gone, n - c.gone, how->n_sentinels};
    if (c.spans < 1) c.spans = 1;
    for (int i = 0; i < 3; i++)
        if (c.spans > most[i]) c.spans = most[i];
    return c;
}

/* Runs of tokens, one after the other: which of the places between two tokens are cut is drawn place by place, every
 * set of cuts as likely as any other (Knuth, TAOCP 2, 3.4.2, algorithm S). */
struct runs {
    uint64_t seed, stream, at;
    int64_t places, cuts;
};

static int64_t next_run(struct runs *r) {
    for (int64_t length = 1;; length++) {
        if (r->places == 0) return length;
        const uint64_t bits = heed_random_bits(r->seed, r->stream, r->at++);
        const bool cut = (int64_t)(bits * (uint64_t)r->places-- >> 32) < r->cuts;
        if (!cut) continue;
        r->cuts--;
        return length;
    }
}

void heed_span_lengths(const heed_spans *how, int64_t n, int64_t *inputs, int64_t *targets) {
    if (!how || !inputs || !targets) return;
    const struct corruption c = corruption_of(how, n);
    *inputs = n - c.gone + c.spans + 1;
    *targets = c.gone + c.spans + 1;
}

void heed_span_corrupt(const heed_spans *how, const int32_t *ids, int64_t n, uint64_t seed, uint64_t stream,
                       int32_t *input, int32_t *target) {
    if (!how || !ids || !input || !target) return;
    const struct corruption c = corruption_of(how, n);
    struct runs stay = {~seed, stream << 1, 0, n - c.gone - 1, c.spans - 1},
                go = {~seed, stream << 1 | 1, 0, c.gone - 1, c.spans - 1};
    for (int64_t k = 0; k < c.spans; k++) {
        for (int64_t left = next_run(&stay); left > 0; left--) *input++ = *ids++;
        *input++ = *target++ = how->sentinels[k];
        for (int64_t left = next_run(&go); left > 0; left--) *target++ = *ids++;
    }
    *input = *target = how->end;
}

static void corrupt(const void *own, uint64_t seed, int64_t epoch, int64_t row, const heed_cell *cells) {
    const heed_task_data *const d = own;
    const struct text2text *const m = d->own;
    if (d->pair.count) return;
    heed_span_corrupt(&m->how, m->tokens.id + m->start[row], m->start[row + 1] - m->start[row], seed,
                      (uint64_t)epoch << 40 ^ (uint64_t)row, cells[0].data, cells[1].data);
}

/* ---- encoding: spans ---- */

/* A sequence of n tokens, its columns of the lengths that they have in every epoch. */
static bool put_sequence(heed_ctx *cx, heed_task_data *d, const int32_t *ids, int64_t n, heed_ids *room) {
    struct text2text *const m = d->own;
    if (n < 2) return true; /* nothing would stay */
    if (m->rows + 1 >= m->room) {
        const int64_t larger = m->room ? 2 * m->room : 1024;
        int64_t *const grown = heed_mem_resize(cx, m->start, (size_t)larger * sizeof *grown);
        if (!grown) return false;
        m->start = grown, m->room = larger;
    }
    if (m->rows == 0) m->start[0] = 0;
    for (int64_t i = 0; i < n; i++)
        if (!heed_ids_put(cx, &m->tokens, ids[i])) return false;
    m->start[++m->rows] = m->tokens.count;
    int64_t inputs, targets;
    heed_span_lengths(&m->how, n, &inputs, &targets);
    room->count = 0;
    for (int64_t i = 0; i < inputs + targets; i++)
        if (!heed_ids_put(cx, room, m->how.end)) return false;
    const heed_cell cells[HEED_COLUMNS_MAX] = {{room->id, inputs}, {room->id + inputs, targets}};
    return heed_dataset_add(cx, &d->set, cells);
}

static bool encode_documents(heed_ctx *cx, const heed_text_reader *reader, heed_task_data *d) {
    const int64_t max_length = d->opts.max_length > 0 ? d->opts.max_length : STANDARD_LENGTH;
    heed_ids ids = {0}, room = {0};
    heed_string line = {0};
    bool first = true; /* line of a document */
    for (int64_t i = 0; i <= d->text.count && !heed_cancelled(cx); i++) {
        const bool end = i == d->text.count || is_blank(heed_line_text(&d->text, i));
        line.size = 0;
        if (!end && ((!first && !heed_string_put(cx, &line, " ", 1)) ||
                     !heed_string_put(cx, &line, heed_line_text(&d->text, i), heed_line_size(&d->text, i)) ||
                     !heed_encode(cx, reader->tokens, line.s, line.size, false, &ids))) {
            heed_fail_in(cx, "%s: line %lld", d->name, (long long)i + 1);
            break;
        }
        int64_t at = 0;
        for (int64_t n; (n = ids.count - at) > 0 && (end || n >= max_length) && !heed_failed(cx); at += n) {
            n = n < max_length ? n : max_length;
            put_sequence(cx, d, ids.id + at, n, &room);
        }
        if (at > 0 && ids.count > at) memmove(ids.id, ids.id + at, (size_t)(ids.count - at) * sizeof *ids.id);
        ids.count -= at;
        first = end;
    }
    heed_ids_free(cx, &ids);
    heed_ids_free(cx, &room);
    heed_string_free(cx, &line);
    if (!heed_failed(cx) && d->set.n == 0) heed_fail(cx, HEED_ERR_FORMAT, "%s: no document has two tokens", d->name);
    return !heed_failed(cx);
}

/* ---- encoding: pairs ---- */

static bool encode_pairs(heed_ctx *cx, const heed_text_reader *reader, heed_task_data *d) {
    struct text2text *const m = d->own;
    heed_text_reader side[2] = {*reader, *reader};
    if (d->opts.max_target_length > 0) side[1].max_length = d->opts.max_target_length;
    side[0].types = side[1].types = false;
    heed_encoding room = {0};
    heed_ids ids[2] = {{0}};
    heed_string source = {0};
    for (int64_t i = 0; i < d->text.count && !heed_cancelled(cx); i++) {
        heed_cell cells[HEED_COLUMNS_MAX];
        bool cut = false, ok = true;
        source.size = 0;
        if ((d->opts.prefix && !heed_string_put(cx, &source, d->opts.prefix, strlen(d->opts.prefix))) ||
            !heed_string_put(cx, &source, heed_line_text(&d->text, i), heed_line_size(&d->text, i)))
            break;
        for (int k = 0; k < 2 && ok; k++) {
            const heed_text_input text = {.text = k ? heed_line_text(&d->pair, i) : source.s,
                                          .size = k ? heed_line_size(&d->pair, i) : source.size};
            ok = heed_text_cells(cx, &side[k], &text, &room, &ids[k], &cells[k], &cut);
        }
        if (!ok) heed_fail_in(cx, "%s: line %lld", d->name, (long long)d->line[i]);
        if (!ok || !heed_dataset_add(cx, &d->set, cells)) break;
        if (cells[1].count > m->max_length) m->max_length = cells[1].count;
        d->cut += cut;
    }
    heed_encoding_free(cx, &room);
    heed_string_free(cx, &source);
    for (int k = 0; k < 2; k++) heed_ids_free(cx, &ids[k]);
    return !heed_failed(cx);
}

static bool find_sentinels(heed_ctx *cx, const heed_tokenizer *tokens, heed_ids *found) {
    for (int i = 0;; i++) {
        char name[32];
        snprintf(name, sizeof name, "<extra_id_%d>", i);
        const int32_t id = heed_tokenizer_id(tokens, name);
        if (id < 0) break;
        if (!heed_ids_put(cx, found, id)) return false;
    }
    return found->count > 0 || heed_fail(cx, HEED_ERR_FORMAT, "text2text: the tokenizer has no sentinel <extra_id_0>");
}

static bool encode(heed_ctx *cx, const heed_text_reader *reader, heed_task_data *d) {
    free_own(cx, d);
    struct text2text *const m = d->own = heed_mem_new(cx, sizeof *m);
    if (!m) return false;
    *m = (struct text2text){.how = {.share = d->opts.masked, .mean = d->opts.span}, .decoder = reader->tokens};
    m->how.end = heed_vocabulary_end(cx, reader->tokens);
    if (!heed_vocabulary_ends(cx, reader->tokens)) return false;
    d->set.column[d->set.columns++] = (heed_column){
        .name = "input_ids", .type = HEED_I32, .ragged = true, .fill = reader->pad, .mask = "attention_mask"};
    d->set.column[d->set.columns++] =
        (heed_column){.name = "labels", .type = HEED_I32, .ragged = true, .fill = HEED_NO_LABEL};
    d->set.counts = "labels";
    if (d->pair.count) return encode_pairs(cx, reader, d);
    if (!find_sentinels(cx, reader->tokens, &m->sentinels)) return false;
    m->how.sentinels = m->sentinels.id, m->how.n_sentinels = m->sentinels.count;
    return encode_documents(cx, reader, d);
}

/* ---- measuring ---- */

/* The mean F of ROUGE-L over the first n of these rows, decoded greedily. */
static bool measure_rouge(heed_ctx *cx, const heed_model *model, const heed_task_data *d, const int64_t *rows,
                          int64_t n, double *rouge) {
    const struct text2text *const m = d->own;
    heed_ids *const source = heed_mem_new(cx, ((size_t)n + 1) * sizeof *source);
    heed_translated found = {0};
    heed_string text = {0};
    double sum = 0;
    for (int64_t i = 0; source && i < n; i++) {
        const heed_column *const ids = &d->set.column[0];
        const int64_t row = rows ? rows[i] : i;
        source[i] =
            (heed_ids){.id = (int32_t *)ids->data + ids->start[row], .count = heed_dataset_length(&d->set, 0, row)};
    }
    const heed_generate_opts opts = {.beams = 1,
                                     .length_penalty = 1,
                                     .max_new_tokens = m->max_length > ANSWER_TOKENS ? m->max_length : ANSWER_TOKENS};
    if (source && heed_translate_ids(cx, model, source, n, &opts, &found) && !cx->config.dry)
        for (int64_t i = 0; i < n && !heed_failed(cx); i++) {
            const int64_t row = rows ? rows[i] : i;
            heed_rouge one = {0};
            text.size = 0;
            if (heed_string_put(cx, &text, "", 0) &&
                heed_decode(cx, m->decoder, found.ids[i].id, found.ids[i].count, false, &text))
                heed_rouge_text(cx, text.s, text.size, heed_line_text(&d->pair, row), heed_line_size(&d->pair, row),
                                NULL, &one);
            sum += one.rougeL.f;
        }
    heed_mem_free(cx, source);
    heed_translated_free(cx, &found);
    heed_string_free(cx, &text);
    *rouge = n > 0 ? sum / (double)n : 0;
    return !heed_failed(cx);
}

static bool measure(heed_ctx *cx, const heed_model *model, const heed_task_data *d, const int64_t *rows, int64_t n,
                    heed_score *score, int32_t *predicted) {
    (void)predicted;
    const heed_over_opts opts = {
        .rows = rows, .n_rows = rows ? n : 0, .loss_only = true, .transform = corrupt, .data = d, .seed = FIXED_SEED};
    if (!heed_loop_over(cx, model, &d->set, &opts, &score->loss)) return false;
    score->metric = exp(score->loss);
    const int64_t decoded = d->pair.count ? d->opts.decoded : 0;
    return decoded <= 0 || measure_rouge(cx, model, d, rows, n < decoded ? n : decoded, &score->more[0]);
}

static const char *metrics_of(const heed_task_data *d) {
    return d->pair.count && d->opts.decoded > 0 ? "perplexity rougeL" : "perplexity";
}

static heed_tokenizer *train_tokenizer(heed_ctx *cx, const heed_task_data *data, heed_tokenizer_kind kind,
                                       int64_t size) {
    const heed_lines *const texts[] = {heed_task_texts(data), heed_task_pairs(data)};
    return heed_vocabulary_train_text2text(cx, texts, texts[1] ? 2 : 1, kind, size);
}

const heed_text_task task_text2text = {.name = "text2text",
                                       .metrics = "perplexity rougeL",
                                       .metrics_of = metrics_of,
                                       .read = read_data,
                                       .encode = encode,
                                       .measure = measure,
                                       .transform = corrupt,
                                       .tokenizer = train_tokenizer,
                                       .free = free_own};

/* ---- the task ---- */

/* clang-format off */
static const heed_field fields[] = {
    {.name = "data", .kind = HEED_FIELD_GROUP},
    {.name = "data", .letter = 'd', .kind = HEED_FIELD_FILE, .value = "PATH",
     .help = "plain text, documents separated by blank lines; or pairs: a table (.tsv, .csv) or JSON lines (.jsonl) "
             "(all also .gz); or a directory with train, dev and test files"},
    TEXT_PART_FIELDS("examples"),
    {.name = "text", .kind = HEED_FIELD_TEXT, .value = "COLUMN",
     .help = "for pairs: the column of the source, by name or number; by default 1, of JSON lines 'source'"},
    {.name = "target", .kind = HEED_FIELD_TEXT, .value = "COLUMN",
     .help = "the column of the target; by default the last, of JSON lines 'target'"},
    {.name = "prefix", .kind = HEED_FIELD_TEXT, .value = "TEXT",
     .help = "for pairs: put this before every source, such as 'summarize: '; it is written to config.json"},
    {.name = "spans", .kind = HEED_FIELD_GROUP},
    {.name = "masked", .kind = HEED_FIELD_NUMBER, .standard = "0.15", .value = "X", .low = 0.001, .high = 0.999,
     .help = "of plain text: fraction of the tokens to predict"},
    {.name = "span", .kind = HEED_FIELD_NUMBER, .standard = "3", .value = "X", .low = 1, .high = 1e6,
     .help = "of plain text: mean length of the spans to predict, in tokens"},
    {.name = "max-target", .kind = HEED_FIELD_INT, .standard = "0", .value = "N", .high = 1e9,
     .help = "of pairs: truncate targets to N tokens; 0: as sources"},
    {.name = "decode", .kind = HEED_FIELD_INT, .standard = "100", .value = "N", .high = 1e9,
     .help = "of pairs: number of validation pairs that are decoded to measure ROUGE-L; 0: none"},
    {.name = "max-length", .kind = HEED_FIELD_INT, .standard = "128", .value = "N", .low = 2, .high = 1e9,
     .help = "tokens of a sequence of plain text; truncate sources of pairs to N tokens"},
    {.name = "optimizer", .kind = HEED_FIELD_CHOICE, .value = "NAME", .choices = OPTIMIZERS,
     .help = "optimizer; by default adafactor, by which T5 was trained, with --lora adamw; one of"},
    LR_FIELD("5e-4", "5e-5", "peak learning rate; of adafactor, relative to the size of the weights, " ADAFACTOR_LR ", with --init "
             ADAFACTOR_TUNED_LR "; of the other optimizers"),
    TOKENS_FIELD("unigram"),
    {.name = "texts", .kind = HEED_FIELD_TABLE, .table = text_fields},
    {.name = "shared", .kind = HEED_FIELD_TABLE, .table = run_fields},
    MODEL_FIELD("t5", TEXT_MODEL_HELP),
    EPOCHS_FIELD("10", "3", ""),
    BATCH_FIELD("32", "examples per update"),
    {.name = NULL},
};
/* clang-format on */

static const heed_text_task *const texts[] = {&task_text2text, NULL};

const heed_task task_of_text2text = {
    .name = "text2text",
    .summary = "T5: spans of plain text, or pairs of source and target",
    .about = "Trains an encoder-decoder to turn text into text (Raffel et al. 2020). From plain text it learns to "
             "fill in spans: 15 % of the tokens, in spans of 3 on average, are replaced by sentinels "
             "(<extra_id_0>, <extra_id_1>, ...), and the target is the sentinels with the tokens they stand for; in "
             "each epoch other spans are chosen. From pairs it learns to write the target of a source, which a "
             "--prefix such as 'summarize: ' may begin. The metrics are perplexity, measured with fixed spans, and "
             "of pairs ROUGE-L of greedily decoded targets.\n\n"
             "Without --init the model is small (4 + 4 layers, width 256; --set changes it) and a unigram "
             "tokenizer with 100 sentinels is trained on the text. The result opens in transformers' "
             "AutoTokenizer and AutoModelForSeq2SeqLM.",
    .examples = "heed train text2text --data articles.txt --out t5\n"
                "heed train text2text --data pairs.tsv --init t5 --prefix 'summarize: ' --out headlines\n"
                "heed train text2text --data news.jsonl --text article --target summary --init t5-small "
                "--prefix 'summarize: ' --max-length 512 --max-target 64 --out news\n"
                "heed summarize headlines < articles.txt\n",
    .fields = fields,
    .texts = texts,
    .ways = ways_of_texts,
};
