/* Next tokens: language models. A text is one stream of tokens, and a row a window over it; or it is cut into
 * documents, which are packed into rows so that none looks at another. The label of a token is the one after it.
 *
 * The columns of a stream hold no numbers: the transform fills a row with the window that it stands for, drawn anew in
 * each epoch or, to measure with, the next of those that lie one behind the other. */
#include "task/text/lm.h"
#include "base/ctx.h"
#include "io/text.h"
#include "task/run.h"
#include "train/loop.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define STANDARD_CONTEXT 256
enum { TRAINED, HELD, PARTS };

struct lm {
    bool talks; /* documents are messages of conversations: */
    struct conversations said[PARTS];
    heed_lines held;      /* documents for validation; those to train on are the data's texts */
    double bytes[PARTS];  /* of the documents */
    int64_t rows[PARTS];  /* of the data set, those held out behind the others */
    int64_t context;      /* tokens of a row */
    heed_ids ids;         /* a stream: */
    int64_t first[PARTS]; /* where the tokens of a part begin, */
    int64_t count[PARTS]; /* and how many they are */
    int64_t *start;       /* (rows + 1) of the columns */
    uint64_t hash;        /* of the tokens of a stream */
};

static struct lm *lm_of(const heed_task_data *d) { return d->own; }
static bool packs(const heed_task_data *d) { return d->opts.documents || lm_of(d)->talks; }
bool heed_task_conversations(const heed_task_data *d) { return d && d->task == &task_lm && lm_of(d)->talks; }

static void forget(heed_ctx *cx, struct lm *m) {
    heed_mem_free(cx, m->start);
    m->start = NULL;
    m->ids.count = 0;
}

static void free_lm(heed_ctx *cx, heed_task_data *d) {
    struct lm *m = lm_of(d);
    if (!m) return;
    forget(cx, m);
    heed_ids_free(cx, &m->ids);
    heed_lines_free(cx, &m->held);
    for (int i = 0; i < PARTS; i++) conversations_free(cx, &m->said[i]);
    heed_mem_free(cx, m);
    d->own = NULL;
}

/* ---- reading ---- */

/* The place behind the first `share` of the characters. */
static size_t cut_place(const char *text, size_t size, double share) {
    int64_t characters = 0, kept;
    size_t at = 0;
    for (size_t i = 0; i < size; i++) characters += ((unsigned char)text[i] & 0xC0) != 0x80;
    for (kept = (int64_t)(share * (double)characters); at < size; at++)
        if (((unsigned char)text[at] & 0xC0) != 0x80 && kept-- == 0) break;
    return at;
}

/* One document, and its end as another where some is held out. */
static bool take_stream(heed_ctx *cx, const heed_string *text, double held_out, struct documents to[PARTS]) {
    const size_t at = held_out > 0 ? cut_place(text->s, text->size, 1 - held_out) : text->size;
    return documents_put(cx, &to[TRAINED], text->s, at) &&
           (at == text->size || documents_put(cx, &to[HELD], text->s + at, text->size - at));
}

static bool take_documents(heed_ctx *cx, const heed_string *text, const heed_task_opts *o, struct documents to[PARTS]) {
    struct documents all = {0};
    heed_lines lines = {0};
    bool ok = documents_cut(cx, text->s, text->size, o->separator, &all) && documents_take(cx, &all, &lines);
    const int64_t kept = ok && lines.count > 0 ? documents_kept(&lines, o->held_out) : 0;
    for (int64_t i = 0; ok && i < lines.count; i++)
        ok = documents_put(cx, &to[i < kept ? TRAINED : HELD], heed_line_text(&lines, i), heed_line_size(&lines, i));
    documents_free(cx, &all);
    heed_lines_free(cx, &lines);
    return ok;
}

static double bytes_of(const heed_lines *documents) {
    return documents->count > 0 ? (double)(documents->start[documents->count] - documents->count) : 0;
}

static bool read_text(heed_ctx *cx, const char *path, const heed_task_opts *o, heed_task_data *d) {
    struct lm *const m = lm_of(d);
    struct documents parts[PARTS] = {{.count = 0}};
    heed_string text = {0};
    const bool cuts = o->documents || o->separator;
    if (heed_text_read(cx, path, &text) && text.size > 0 &&
        (cuts ? take_documents(cx, &text, o, parts) : take_stream(cx, &text, o->held_out, parts)) &&
        documents_take(cx, &parts[TRAINED], &d->text))
        documents_take(cx, &parts[HELD], &m->held);
    for (int i = 0; i < PARTS; i++) documents_free(cx, &parts[i]);
    heed_string_free(cx, &text);
    if (!heed_failed(cx) && bytes_of(&d->text) == 0)
        return heed_fail(cx, HEED_ERR_FORMAT, "%s: there is no text", d->name);
    return !heed_failed(cx);
}

/* The messages of a conversation, and what is in them of answers. */
static bool take_conversation(heed_ctx *cx, struct lm *m, const struct conversations *all, const heed_lines *texts,
                              int64_t i, int part, struct documents *to) {
    struct conversations *const said = &m->said[part];
    if (!heed_ids_put(cx, &said->first, (int32_t)said->role.count)) return false;
    for (int64_t k = all->first.id[i]; k < all->first.id[i + 1]; k++) {
        if (all->role.id[k] == HEED_CHAT_ASSISTANT) m->bytes[part] += (double)heed_line_size(texts, k);
        if (!heed_ids_put(cx, &said->role, all->role.id[k]) ||
            !documents_put(cx, to, heed_line_text(texts, k), heed_line_size(texts, k)))
            return false;
    }
    return true;
}

/* The last conversations are held out. */
static bool read_conversations(heed_ctx *cx, const char *path, const heed_task_opts *o, heed_task_data *d) {
    struct lm *const m = lm_of(d);
    struct documents texts = {0}, parts[PARTS] = {{.count = 0}};
    struct conversations all = {0};
    heed_lines lines = {0};
    bool ok = conversations_read(cx, path, d->name, &texts, &all) && documents_take(cx, &texts, &lines);
    const int64_t n = all.first.count - 1;
    int64_t kept = n - (int64_t)(o->held_out * (double)n + 0.5);
    if (kept < 1) kept = 1;
    for (int64_t i = 0; ok && i < n; i++) {
        const int part = i < kept ? TRAINED : HELD;
        ok = take_conversation(cx, m, &all, &lines, i, part, &parts[part]);
    }
    for (int i = 0; ok && i < PARTS; i++) ok = heed_ids_put(cx, &m->said[i].first, (int32_t)m->said[i].role.count);
    if (ok && documents_take(cx, &parts[TRAINED], &d->text)) documents_take(cx, &parts[HELD], &m->held);
    for (int i = 0; i < PARTS; i++) documents_free(cx, &parts[i]);
    documents_free(cx, &texts);
    heed_lines_free(cx, &lines);
    conversations_free(cx, &all);
    return ok;
}

static bool read_lm(heed_ctx *cx, const char *path, const heed_task_opts *o, heed_task_data *d) {
    if (!(o->held_out >= 0 && o->held_out < 1))
        return heed_fail(cx, HEED_ERR_RANGE, "lm: a fraction of %g held out: must be at least 0 and below 1",
                         o->held_out);
    struct lm *const m = heed_mem_new(cx, sizeof *m);
    if (!m) return false;
    *m = (struct lm){.context = STANDARD_CONTEXT};
    d->own = m;
    m->talks = conversations_named(path);
    if (m->talks) return read_conversations(cx, path, o, d);
    if (!read_text(cx, path, o, d)) return false;
    m->bytes[TRAINED] = bytes_of(&d->text);
    m->bytes[HELD] = bytes_of(&m->held);
    return true;
}

/* ---- encoding ---- */

/* A document between end-of-text tokens, unless the tokenizer has tokens of its own for that, or neither. */
static bool encode_document(heed_ctx *cx, const heed_text_reader *reader, const heed_lines *from, int64_t i,
                            bool bordered, heed_ids *to) {
    const int32_t end = bordered ? heed_vocabulary_end_of_text(reader->tokens) : -1;
    heed_encoding nothing = {0};
    bool begins = true;
    if (end >= 0 && heed_encode_text(cx, reader->tokens, "", 0, NULL, &nothing)) begins = nothing.count > 0;
    heed_encoding_free(cx, &nothing);
    if ((!begins && !heed_ids_put(cx, to, end)) ||
        !heed_encode(cx, reader->tokens, heed_line_text(from, i), heed_line_size(from, i), true, to))
        return false;
    return end < 0 || (to->count > 0 && to->id[to->count - 1] == end) || heed_ids_put(cx, to, end);
}

static void put_columns(const heed_text_reader *reader, bool packed, heed_dataset *set) {
    set->column[set->columns++] =
        (heed_column){.name = "input_ids", .type = HEED_I32, .ragged = true, .fill = reader->pad};
    if (packed) {
        set->column[set->columns++] = (heed_column){.name = "position_ids", .type = HEED_I32, .ragged = true};
        set->column[set->columns++] =
            (heed_column){.name = "segment_ids", .type = HEED_I32, .ragged = true, .fill = -1};
    }
    set->column[set->columns++] =
        (heed_column){.name = "shift_labels", .type = HEED_I32, .ragged = true, .fill = HEED_NO_LABEL};
    set->counts = "shift_labels";
}

/* The tokens of a part, one document behind the other. */
static bool encode_part(heed_ctx *cx, const heed_text_reader *reader, const heed_task_data *d, int part) {
    struct lm *const m = lm_of(d);
    const heed_lines *const from = part == HELD ? &m->held : &d->text;
    m->first[part] = m->ids.count;
    for (int64_t i = 0; i < from->count && !heed_cancelled(cx); i++) {
        heed_ids one = {0};
        const bool again = i > 0 && m->ids.count > 0; /* the token between two documents is there already */
        bool ok = encode_document(cx, reader, from, i, d->opts.separator, &one);
        for (int64_t k = again && one.count > 0 && one.id[0] == m->ids.id[m->ids.count - 1] ? 1 : 0;
             ok && k < one.count; k++)
            ok = heed_ids_put(cx, &m->ids, one.id[k]);
        heed_ids_free(cx, &one);
        if (!ok) return false;
    }
    m->count[part] = m->ids.count - m->first[part];
    m->rows[part] = m->count[part] > 1 ? (m->count[part] - 2) / m->context + 1 : 0;
    return !heed_failed(cx);
}

static bool encode_stream(heed_ctx *cx, const heed_text_reader *reader, heed_task_data *d) {
    struct lm *const m = lm_of(d);
    if (!encode_part(cx, reader, d, TRAINED) || !encode_part(cx, reader, d, HELD)) return false;
    const int64_t rows = m->rows[TRAINED] + m->rows[HELD];
    if (m->rows[TRAINED] == 0)
        return heed_fail(cx, HEED_ERR_FORMAT, "%s: the text has %lld tokens: at least 2 are needed", d->name,
                         (long long)m->count[TRAINED]);
    m->start = heed_mem_new(cx, (size_t)(rows + 1) * sizeof *m->start);
    if (!m->start) return false;
    m->start[0] = 0;
    for (int64_t row = 0; row < rows; row++) {
        const int part = row < m->rows[TRAINED] ? TRAINED : HELD;
        const int64_t before = (part == HELD ? row - m->rows[TRAINED] : row) * m->context,
                      left = m->count[part] - 1 - before;
        m->start[row + 1] = m->start[row] + (left < m->context ? left : m->context);
    }
    m->hash = notes_mix((uint64_t)m->ids.count, m->ids.id, (size_t)m->ids.count * sizeof *m->ids.id);
    put_columns(reader, false, &d->set);
    for (int k = 0; k < d->set.columns; k++) d->set.column[k].start = m->start;
    d->set.n = rows;
    return true;
}

static bool pack_conversations(heed_ctx *cx, const heed_text_reader *reader, heed_task_data *d, struct packer *p,
                               int part) {
    const struct lm *const m = lm_of(d);
    heed_chat_format format;
    heed_ids ids = {0}, answer = {0};
    bool ok = heed_chat_format_named("chatml", &format);
    if (d->opts.chat) format = *d->opts.chat;
    for (int64_t i = 0; ok && i + 1 < m->said[part].first.count && !heed_cancelled(cx); i++) {
        ids.count = answer.count = 0;
        ok = conversations_encode(cx, &m->said[part], part == HELD ? &m->held : &d->text, i, &format, reader->tokens,
                                  &ids, &answer) &&
             packer_put(cx, p, ids.id, ids.count, answer.id);
    }
    heed_ids_free(cx, &ids);
    heed_ids_free(cx, &answer);
    return ok && !heed_failed(cx);
}

static bool pack_part(heed_ctx *cx, const heed_text_reader *reader, heed_task_data *d, struct packer *p, int part) {
    struct lm *const m = lm_of(d);
    const heed_lines *const from = part == HELD ? &m->held : &d->text;
    const int64_t before = d->set.n;
    heed_ids one = {0};
    if (m->talks) pack_conversations(cx, reader, d, p, part);
    for (int64_t i = 0; !m->talks && i < from->count && !heed_cancelled(cx); i++, one.count = 0)
        if (!encode_document(cx, reader, from, i, true, &one) || !packer_put(cx, p, one.id, one.count, NULL)) break;
    heed_ids_free(cx, &one);
    if (heed_failed(cx) || !packer_end(cx, p)) return false;
    m->rows[part] = d->set.n - before;
    return true;
}

static bool encode_documents(heed_ctx *cx, const heed_text_reader *reader, heed_task_data *d) {
    struct lm *const m = lm_of(d);
    struct packer p = {.context = m->context, .set = &d->set};
    put_columns(reader, true, &d->set);
    const bool ok = pack_part(cx, reader, d, &p, TRAINED) && pack_part(cx, reader, d, &p, HELD);
    packer_free(cx, &p);
    if (ok && m->rows[TRAINED] == 0)
        return heed_fail(cx, HEED_ERR_FORMAT, "%s: the %s have fewer than 2 tokens each", d->name,
                         m->talks ? "conversations" : "documents");
    return ok;
}

static bool encode(heed_ctx *cx, const heed_text_reader *reader, heed_task_data *d) {
    struct lm *const m = lm_of(d);
    const int64_t asked = d->opts.max_length > 0 ? d->opts.max_length : STANDARD_CONTEXT;
    forget(cx, m);
    if (!reader->next || (packs(d) && !reader->packs))
        return heed_fail(cx, HEED_ERR_USAGE, "lm: the model takes no %s",
                         reader->next ? "segment_ids" : "shift_labels");
    if (packs(d) && d->opts.carry)
        return heed_fail(cx, HEED_ERR_USAGE, "lm: state is carried through one text: it is not cut into documents");
    m->context = reader->max_length > 0 && reader->max_length < asked ? reader->max_length : asked;
    return packs(d) ? encode_documents(cx, reader, d) : encode_stream(cx, reader, d);
}

/* ---- windows ---- */

static void fill(const struct lm *m, int64_t from, const heed_cell *cells) {
    const size_t bytes = (size_t)cells[0].count * sizeof(int32_t);
    memcpy(cells[0].data, m->ids.id + from, bytes);
    memcpy(cells[1].data, m->ids.id + from + 1, bytes);
}

static void fill_in_order(const void *own, uint64_t seed, int64_t epoch, int64_t row, const heed_cell *cells) {
    const struct lm *const m = lm_of(own);
    const int part = row < m->rows[TRAINED] ? TRAINED : HELD;
    (void)seed, (void)epoch;
    fill(m, m->first[part] + (part == HELD ? row - m->rows[TRAINED] : row) * m->context, cells);
}

static void fill_drawn(const void *own, uint64_t seed, int64_t epoch, int64_t row, const heed_cell *cells) {
    const heed_task_data *const d = own;
    const struct lm *const m = lm_of(d);
    if (packs(d)) return;
    if (d->opts.in_order || row >= m->rows[TRAINED]) {
        fill_in_order(own, seed, epoch, row, cells);
        return;
    }
    const uint64_t stream = (uint64_t)epoch << 40 ^ (uint64_t)row;
    const uint64_t bits = (uint64_t)heed_random_bits(~seed, stream, 0) << 32 | heed_random_bits(~seed, stream, 1);
    fill(m, (int64_t)(bits % (uint64_t)(m->count[TRAINED] - cells[0].count)), cells);
}

/* ---- measuring ---- */

/* How many of the rows are held out; rows NULL: all rows. */
static int64_t held_among(const struct lm *m, const int64_t *rows, int64_t n) {
    int64_t held = rows ? 0 : m->rows[HELD];
    for (int64_t i = 0; rows && i < n; i++) held += rows[i] >= m->rows[TRAINED];
    return held;
}

/* Bytes of the texts that the rows are of; rows NULL: all. */
static double measured_bytes(const struct lm *m, const int64_t *rows, int64_t n) {
    const int64_t held = held_among(m, rows, n), trained = n - held;
    return (m->rows[HELD] ? m->bytes[HELD] * (double)held / (double)m->rows[HELD] : 0) +
           (m->rows[TRAINED] ? m->bytes[TRAINED] * (double)trained / (double)m->rows[TRAINED] : 0);
}

/* A state is carried from the beginning of a text: of some rows only their number counts, in either part. */
static bool measure_carried(heed_ctx *cx, const heed_model *model, const heed_task_data *d, const int64_t *rows,
                            int64_t n, double *loss, int64_t *tokens) {
    const int64_t held = held_among(lm_of(d), rows, n);
    double sum = 0;
    if (!streams_measure(cx, model, d, TRAINED, n - held, &sum, tokens) ||
        !streams_measure(cx, model, d, HELD, held, &sum, tokens))
        return false;
    *loss = sum / (double)*tokens;
    return true;
}

static bool measure(heed_ctx *cx, const heed_model *model, const heed_task_data *d, const int64_t *rows, int64_t n,
                    heed_score *score, int32_t *predicted) {
    const struct lm *const m = lm_of(d);
    int64_t tokens = 0;
    (void)predicted;
    if (d->opts.carry ? !measure_carried(cx, model, d, rows, n, &score->loss, &tokens)
                      : !task_token_loss(cx, model, d, rows, n, packs(d) ? NULL : fill_in_order, &score->loss, &tokens))
        return false;
    const double bytes = measured_bytes(m, rows, n);
    score->metric = exp(score->loss);
    score->more[0] = bytes > 0 ? score->loss * (double)tokens / (bytes * log(2)) : 0;
    return true;
}

/* ---- streams ---- */

const int32_t *lm_tokens(const heed_task_data *d, int part, int64_t *count, int64_t *context) {
    const struct lm *const m = d->task == &task_lm ? lm_of(d) : NULL;
    *count = m ? m->count[part] : 0;
    *context = m ? m->context : 0;
    return m && m->start ? m->ids.id + m->first[part] : NULL;
}

void lm_name(const heed_task_data *d, char text[NOTES_DATA]) {
    notes_name_data(text, lm_of(d)->ids.count, "tokens", lm_of(d)->hash);
}

/* ---- the task ---- */

static int64_t held_out(const heed_task_data *d) { return lm_of(d)->rows[HELD]; }

static void settings(heed_ctx *cx, const heed_task_data *d, heed_json at) {
    const struct lm *const m = lm_of(d);
    char text[NOTES_DATA];
    notes_put_number(cx, at, "context", (double)m->context);
    heed_json_put_text(cx, at, "documents", packs(d) ? "packed" : "a stream");
    if (packs(d)) return;
    heed_json_put_text(cx, at, "windows", d->opts.carry ? "streams" : d->opts.in_order ? "in order" : "drawn");
    lm_name(d, text);
    heed_json_put_text(cx, at, "text", text);
}

static heed_tokenizer *train_tokenizer(heed_ctx *cx, const heed_task_data *data, heed_tokenizer_kind kind,
                                       int64_t size) {
    const heed_lines *const texts[] = {heed_task_texts(data)};
    return heed_vocabulary_train_lm(cx, texts, 1, kind, size, heed_task_conversations(data));
}

const heed_text_task task_lm = {.name = "lm",
                                .metrics = "perplexity bits_per_byte",
                                .read = read_lm,
                                .encode = encode,
                                .measure = measure,
                                .held_out = held_out,
                                .settings = settings,
                                .tokens = true,
                                .transform = fill_drawn,
                                .next = true,
                                .streams = true,
                                .tokenizer = train_tokenizer,
                                .free = free_lm};

/* ---- the task ---- */

/* clang-format off */
static const heed_field fields[] = {
    {.name = "data", .kind = HEED_FIELD_GROUP},
    {.name = "data", .letter = 'd', .kind = HEED_FIELD_FILE, .value = "PATH",
     .help = "plain text (also .gz), or conversations as JSON lines (.jsonl), or a directory with train.txt and perhaps "
             "valid.txt and test.txt"},
    TEXT_PART_FIELDS("text"),
    {.name = "context", .kind = HEED_FIELD_INT, .standard = "256", .value = "N", .low = 1, .high = 1e9,
     .help = "tokens of a training window, and positions of a new model"},
    {.name = "documents", .help = "the text is documents, separated by blank lines: pack them into windows, without "
                                  "attention from one to another"},
    {.name = "document-separator", .kind = HEED_FIELD_TEXT, .value = "TEXT",
     .help = "the line that separates documents, instead of blank lines; without --documents they are joined by the "
             "end-of-text token"},
    {.name = "in-order", .help = "cut the text into consecutive windows, instead of drawing windows anew in each epoch"},
    {.name = "carry-state",
     .help = "truncated backpropagation of recurrent models: cut the text into --batch parallel streams, go through them "
             "in order, and carry the state from window to window, in evaluation too"},
    {.name = "valid-data", .kind = HEED_FIELD_FILE, .value = "PATH",
     .help = "validation text; by default a directory's own dev or valid file"},
    {.name = "tokens", .kind = HEED_FIELD_GROUP},
    {.name = "tokenizer", .kind = HEED_FIELD_FILE, .value = "PATH",
     .help = "use this tokenizer instead of that of --init, or of training one"},
    {.name = "tokens", .kind = HEED_FIELD_CHOICE, .standard = "byte-bpe", .value = "KIND",
     .choices = "char word bpe byte-bpe unigram", .help = "kind of tokenizer to train, one of"},
    {.name = "vocab", .kind = HEED_FIELD_INT, .standard = "8000", .value = "N", .high = 1 << 24,
     .help = "maximum vocabulary size of a tokenizer to train"},
    {.name = "chat-template", .kind = HEED_FIELD_CHOICE, .value = "NAME", .choices = "chatml llama3 gemma phi4",
     .help = "chat format of conversations, whose special tokens are added where they are lacking; by default that of "
             "--init, or chatml; one of"},
    EMBEDDINGS_FIELD,
    {.name = "forcing", .kind = HEED_FIELD_TABLE, .table = forcing_fields},
    {.name = "shared", .kind = HEED_FIELD_TABLE, .table = run_fields},
    MODEL_FIELD("gpt2", "model family, without --init; 'heed list' shows them"),
    EPOCHS_FIELD("10", "3", ""),
    BATCH_FIELD("32", "windows per update"),
    LR_FIELD("1e-3", "5e-5", "peak learning rate"),
    {.name = NULL},
};
/* clang-format on */

static const heed_text_task *const texts[] = {&task_lm, NULL};

const heed_task task_of_lm = {
    .name = "lm",
    .summary = "the next token of plain text",
    .about = "Trains a language model: a decoder that predicts each token from those before it (Radford et al. "
             "2019). The text is one stream, newlines included, and an epoch draws as many windows of --context "
             "tokens from it as it holds; or, with --documents, documents packed into windows. Without a "
             "validation file the last part of the text is held out. The metrics are the perplexity and bits per "
             "byte of all validation text.\n\n"
             "Conversations are lines of {\"messages\": [{\"role\": \"user\", \"content\": \"...\"}, ...]}, in the "
             "chat format of --init, or in that of --chat-template, ChatML by default: a base model gets its "
             "special tokens, each with the mean of the embeddings to begin with. With --lora the embeddings are "
             "then trained, too, and saved with the adapter. Only the assistant's answers are learnt.\n\n"
             "Without --init the model is small (4 layers, 4 heads, width 128; --set changes it) and a tokenizer "
             "is trained on the text. With --init a model is trained further. The result opens in transformers' "
             "AutoModelForCausalLM.",
    .examples = "heed train lm --data shakespeare.txt --tokens char --context 64 --out bard\n"
                "heed train lm --data shakespeare.txt --recipe recipes/shakespeare.recipe --out bard\n"
                "heed train lm --data wiki --documents --model llama --vocab 16000 --out small\n"
                "heed train lm --data reports.txt --init gpt2 --steps 500 --warmup 50 --out reporter\n"
                "heed train lm --data talks.jsonl --out talker\n"
                "heed train lm --data shakespeare.txt --model lstm --carry-state --context 35 --clip 1 --out poet\n"
                "heed generate bard --prompt 'ROMEO:' --sample\n"
                "heed eval bard --data other.txt\n",
    .fields = fields,
    .next = "generate",
    .next_how = " --prompt TEXT --sample",
    .texts = texts,
    .ways = ways_of_texts,
};
