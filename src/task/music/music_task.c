/* Chorales of four voices: next tokens, as language models learn them (heed/music.h has the tokens).
 *
 * A row is a window over the steps of a chorale: the begin token or the step before its first, then its steps, and the
 * end token behind the last of all. Rows to train on are drawn anew in each epoch, place and key; rows to measure with
 * are whole chorales, or where the model has fewer positions, windows that overlap by half, whose second half counts.
 */
#include "base/ctx.h"
#include "task/music/music.h"
#include "task/run.h"
#include "task/task.h"
#include "task/text/texts.h"
#include "train/loop.h"
#include <math.h>
#include <string.h>

#define STANDARD_CONTEXT 512
#define LEAST_CONTEXT    8                  /* a step and the one before it */
#define LONGEST_MEASURED ((int64_t)1 << 14) /* tokens of a row, where the model sets no limit */

struct window {
    int64_t chorale;
    int64_t first, steps; /* of the chorale; of windows that are drawn, first is another in each epoch */
    int64_t skip;         /* steps at its beginning that are there to be read only */
    bool drawn;
};

struct music {
    heed_chorales all;
    int64_t kept;    /* chorales, of which those behind are held out */
    int64_t context; /* tokens */
    struct music_ids ids;
    int32_t pad;
    struct window *window; /* (rows), those held out behind the others */
    int64_t rows, held, room;
    int64_t *start; /* (rows + 1) of the columns */
};

static struct music *music_of(const heed_task_data *d) { return d->own; }

static void forget(heed_ctx *cx, struct music *m) {
    heed_mem_free(cx, m->start);
    heed_mem_free(cx, m->window);
    m->start = NULL;
    m->window = NULL;
    m->rows = m->held = m->room = 0;
}

static void free_music(heed_ctx *cx, heed_task_data *d) {
    struct music *m = music_of(d);
    if (!m) return;
    forget(cx, m);
    heed_chorales_free(cx, &m->all);
    heed_mem_free(cx, m);
    d->own = NULL;
}

const heed_chorales *heed_task_chorales(const heed_task_data *d) {
    return d && d->task == &task_music ? &music_of(d)->all : NULL;
}

/* ---- reading ---- */

static bool read_music(heed_ctx *cx, const char *path, const heed_task_opts *o, heed_task_data *d) {
    if (!(o->held_out >= 0 && o->held_out < 1))
        return heed_fail(cx, HEED_ERR_RANGE, "music: a fraction of %g held out: must be at least 0 and below 1",
                         o->held_out);
    struct music *const m = heed_mem_new(cx, sizeof *m);
    if (!m) return false;
    *m = (struct music){.context = STANDARD_CONTEXT};
    d->own = m;
    if (!heed_chorales_read(cx, path, o->part, &m->all)) return false;
    if (m->all.count == 0) return heed_fail(cx, HEED_ERR_FORMAT, "%s: there is no part %s", d->name, o->part);
    m->kept = m->all.count - (int64_t)(o->held_out * (double)m->all.count + 0.5);
    if (o->held_out > 0 && m->kept == m->all.count) m->kept--;
    if (m->kept < 1) m->kept = 1;
    return true;
}

/* ---- windows ---- */

static bool is_last(const struct music *m, const struct window *w, int64_t first) {
    return first + w->steps == heed_chorale_steps(&m->all, w->chorale);
}

/* Tokens that a window reads: wherever it lies, when it is drawn. */
static int64_t tokens_of(const struct music *m, const struct window *w) {
    if (w->drawn) return HEED_VOICES * (w->steps + 1);
    return HEED_VOICES * w->steps + (w->first > 0 ? HEED_VOICES - 1 : 0) + is_last(m, w, w->first);
}

static bool put_window(heed_ctx *cx, struct music *m, struct window w) {
    if (m->rows == m->room) {
        const int64_t room = m->room ? 2 * m->room : 64;
        struct window *more = heed_mem_resize(cx, m->window, (size_t)room * sizeof *more);
        if (!more) return false;
        m->window = more;
        m->room = room;
    }
    m->window[m->rows++] = w;
    return true;
}

static bool put_windows(heed_ctx *cx, struct music *m, int64_t chorale, int64_t most, bool drawn) {
    const int64_t steps = heed_chorale_steps(&m->all, chorale), width = most / HEED_VOICES - 1, half = width / 2;
    if (HEED_VOICES * steps + 1 <= most) return put_window(cx, m, (struct window){.chorale = chorale, .steps = steps});
    bool ok = true;
    for (int64_t first = 0; drawn && ok && first < steps; first += width)
        ok = put_window(cx, m, (struct window){.chorale = chorale, .steps = width, .drawn = true});
    for (int64_t seen = 0; !drawn && ok && seen < steps;) {
        const int64_t skip = seen == 0 ? 0 : half, first = seen - skip;
        const int64_t end = first + width < steps ? first + width : steps;
        ok = put_window(cx, m, (struct window){chorale, first, end - first, skip, false});
        seen = end;
    }
    return ok;
}

static bool make_columns(heed_ctx *cx, const heed_text_reader *reader, heed_task_data *d) {
    struct music *const m = music_of(d);
    m->start = heed_mem_new(cx, (size_t)(m->rows + 1) * sizeof *m->start);
    if (!m->start) return false;
    m->start[0] = 0;
    for (int64_t i = 0; i < m->rows; i++) m->start[i + 1] = m->start[i] + tokens_of(m, &m->window[i]);
    d->set.column[0] =
        (heed_column){.name = "input_ids", .type = HEED_I32, .ragged = true, .start = m->start, .fill = reader->pad};
    d->set.column[1] = (heed_column){
        .name = "shift_labels", .type = HEED_I32, .ragged = true, .start = m->start, .fill = HEED_NO_LABEL};
    d->set.columns = 2;
    d->set.counts = "shift_labels";
    d->set.n = m->rows;
    return true;
}

static bool encode(heed_ctx *cx, const heed_text_reader *reader, heed_task_data *d) {
    struct music *const m = music_of(d);
    const int64_t positions = reader->max_length > 0 ? reader->max_length : LONGEST_MEASURED;
    forget(cx, m);
    if (!reader->next) return heed_fail(cx, HEED_ERR_USAGE, "music: the model takes no shift_labels");
    m->context = d->opts.max_length > 0 ? d->opts.max_length : STANDARD_CONTEXT;
    if (m->context > positions) m->context = positions;
    if (m->context < LEAST_CONTEXT)
        return heed_fail(cx, HEED_ERR_RANGE, "music: a context of %lld tokens: at least %d, two steps, are needed",
                         (long long)m->context, LEAST_CONTEXT);
    if (!music_find_or_fail(cx, reader->tokens, &m->ids)) return false;
    m->pad = reader->pad;
    bool ok = true;
    for (int64_t i = 0; ok && i < m->all.count; i++) {
        const bool drawn = d->opts.drawn && i < m->kept;
        if (i == m->kept) m->held = -m->rows;
        ok = (music_check(cx, &m->ids, &m->all, i) || heed_fail_in(cx, "%s", d->name)) &&
             put_windows(cx, m, i, drawn ? m->context : positions, drawn);
    }
    if (m->kept < m->all.count) m->held += m->rows;
    return ok && make_columns(cx, reader, d);
}

/* ---- rows ---- */

/* Token k of a chorale: begin, voices of each step, end. */
static int32_t token_at(const struct music *m, int64_t chorale, int64_t k, int up) {
    if (k == 0) return m->ids.begin;
    if (k > HEED_VOICES * heed_chorale_steps(&m->all, chorale)) return m->ids.end;
    return music_id(&m->ids, (int)((k - 1) % HEED_VOICES), heed_chorale_voices(&m->all, chorale)[k - 1], up);
}

static void fill(const struct music *m, const struct window *w, int64_t first, int up, const heed_cell *cells) {
    const int64_t from = first == 0 ? 0 : HEED_VOICES * (first - 1) + 1;             /* the first token that is read, */
    const int64_t counts = HEED_VOICES * (first + w->skip) + 1;                      /* that is a label, */
    const int64_t end = HEED_VOICES * (first + w->steps) + 1 + is_last(m, w, first); /* and behind the last label */
    int32_t *in = cells[0].data, *next = cells[1].data;
    for (int64_t i = 0; i < cells[0].count; i++) {
        const int64_t k = from + i;
        in[i] = k + 1 < end ? token_at(m, w->chorale, k, up) : m->pad;
        next[i] = k + 1 >= counts && k + 1 < end ? token_at(m, w->chorale, k + 1, up) : HEED_NO_LABEL;
    }
}

static void fill_in_order(const void *own, uint64_t seed, int64_t epoch, int64_t row, const heed_cell *cells) {
    const struct music *const m = music_of(own);
    (void)seed, (void)epoch;
    fill(m, &m->window[row], m->window[row].first, 0, cells);
}

/* Number `position` of what is drawn for a row: 0 to n - 1. */
static int64_t draw(uint64_t seed, int64_t epoch, int64_t row, uint64_t position, int64_t n) {
    const uint64_t stream = (uint64_t)epoch << 40 ^ (uint64_t)row;
    return (int64_t)((uint64_t)heed_random_bits(~seed, stream, position) * (uint64_t)n >> 32);
}

/* A place, where windows that begin before the chorale or end behind it are moved into it, so that its beginning and
 * end are not rare; and a key. */
static void fill_drawn(const void *own, uint64_t seed, int64_t epoch, int64_t row, const heed_cell *cells) {
    const heed_task_data *const d = own;
    const struct music *const m = music_of(d);
    const struct window *const w = &m->window[row];
    int64_t first = w->first;
    int up = 0, down = 0;
    if (w->drawn) {
        const int64_t last = heed_chorale_steps(&m->all, w->chorale) - w->steps, beyond = w->steps / 2;
        first = draw(seed, epoch, row, 0, last + 1 + 2 * beyond) - beyond;
        first = first < 0 ? 0 : first > last ? last : first;
    }
    if (d->opts.drawn && w->chorale < m->kept && d->opts.transpose > 0) {
        up = music_bends(&m->ids, &m->all, w->chorale, (int)d->opts.transpose, &down);
        up = (int)draw(seed, epoch, row, 1, down + up + 1) - down;
    }
    fill(m, w, first, up, cells);
}

/* ---- measuring ---- */

/* The loss of all tokens, end tokens too, over the voices of all steps: the information of a note. */
static bool measure(heed_ctx *cx, const heed_model *model, const heed_task_data *d, const int64_t *rows, int64_t n,
                    heed_score *score, int32_t *predicted) {
    const struct music *const m = music_of(d);
    int64_t tokens = 0, notes = 0;
    (void)predicted;
    if (!task_token_loss(cx, model, d, rows, n, fill_in_order, &score->loss, &tokens)) return false;
    for (int64_t i = 0; i < n; i++) {
        const struct window *w = &m->window[rows ? rows[i] : i];
        notes += HEED_VOICES * (w->steps - w->skip);
    }
    score->metric = notes > 0 ? score->loss * (double)tokens / (double)notes : 0;
    score->more[0] = exp(score->loss);
    return true;
}

/* ---- the task ---- */

static int64_t held_out(const heed_task_data *d) { return music_of(d)->held; }

static void settings(heed_ctx *cx, const heed_task_data *d, heed_json at) {
    const struct music *const m = music_of(d);
    char text[NOTES_DATA];
    const uint64_t hash =
        notes_mix((uint64_t)m->all.voice.count, m->all.voice.id, (size_t)m->all.voice.count * sizeof *m->all.voice.id);
    notes_put_number(cx, at, "context", (double)m->context);
    notes_put_number(cx, at, "transpose", (double)d->opts.transpose);
    notes_name_data(text, m->all.voice.count, "notes", hash);
    heed_json_put_text(cx, at, "chorales", text);
}

/* ---- what a run does otherwise ---- */

/* A part of a file or directory of chorales, or all of one that has no such part. */
static bool read_part(heed_run *r, enum text_set set, const char *path, const char *part) {
    texts_of(r)->opts.part = texts_chorales(r->cx, path, part) ? part : NULL;
    return texts_read_set(r, set, path);
}

static bool read_sets(heed_run *r) {
    heed_task_opts *const o = &texts_of(r)->opts;
    const char *valid = run_text(r, "valid-data"), *test = run_text(r, "test");
    const bool given = valid || run_given(r, "valid"), has = !given && texts_chorales(r->cx, r->path, "valid");
    o->held_out = valid || has ? 0 : texts_fraction(r);
    o->drawn = true;
    if (heed_failed(r->cx) || !read_part(r, TRAIN, r->path, "train")) return false;
    o->held_out = 0;
    o->drawn = false;
    if (has) valid = r->path;
    if (valid && !read_part(r, VALID, valid, "valid")) return false;
    if (!test && texts_chorales(r->cx, r->path, "test")) test = r->path;
    return !heed_failed(r->cx) && (!test || read_part(r, TEST, test, "test"));
}

/* The part that was asked for; of what has no parts, all. */
static const char *part_of(const heed_run *r, const char *part) {
    const char *const name = strcmp(part, "val") == 0 ? "valid" : part;
    return run_given(r, "part") || texts_chorales(r->cx, r->path, name) ? name : NULL;
}

static heed_tokenizer *vocabulary(heed_ctx *cx, const heed_task_data *data, heed_tokenizer_kind kind, int64_t size) {
    (void)kind, (void)size; /* the words are those of the voices */
    return heed_music_vocabulary(cx, heed_task_chorales(data), HEED_MUSIC_MARGIN);
}

const heed_text_task task_music = {.name = "music",
                                   .metrics = "nats_per_note perplexity",
                                   .read = read_music,
                                   .encode = encode,
                                   .measure = measure,
                                   .held_out = held_out,
                                   .settings = settings,
                                   .tokens = true,
                                   .transform = fill_drawn,
                                   .next = true,
                                   .whole = true,
                                   .recurrent_size = "hidden_size=256",
                                   .begin = "<s>",
                                   .read_sets = read_sets,
                                   .part_of = part_of,
                                   .tokenizer = vocabulary,
                                   .free = free_music};

/* ---- the task ---- */

/* clang-format off */
static const heed_field fields[] = {
    {.name = "data", .kind = HEED_FIELD_GROUP},
    {.name = "data", .letter = 'd', .kind = HEED_FIELD_FILE, .value = "PATH",
     .help = "chorales as JSON (also .gz), perhaps in parts train, valid and test; a MIDI file; or a directory of these"},
    TEXT_PART_FIELDS("chorales"),
    {.name = "valid-data", .kind = HEED_FIELD_FILE, .value = "PATH",
     .help = "validation chorales; by default the data's own part valid"},
    {.name = "context", .kind = HEED_FIELD_INT, .standard = "512", .value = "N", .low = 8, .high = 1e9,
     .help = "tokens of a training window, four to a step, and positions of a new model"},
    {.name = "transpose", .kind = HEED_FIELD_INT, .standard = "6", .value = "N", .high = 127,
     .help = "move each window by up to N semitones up or down, drawn anew in each epoch, as far as the voices' ranges "
             "allow; 0: as it is written"},
    {.name = "shared", .kind = HEED_FIELD_TABLE, .table = run_fields},
    MODEL_FIELD("lstm", "model family, without --init: lstm, gru, rnn, gpt2, llama and other language models"),
    EPOCHS_FIELD("10", "3", ""),
    BATCH_FIELD("32", "windows per update"),
    LR_FIELD("2e-3", "5e-5", "peak learning rate"),
    {.name = NULL},
};
/* clang-format on */

static const heed_text_task *const texts[] = {&task_music, NULL};

const heed_task task_of_music = {
    .name = "music",
    .summary = "chorales of four voices",
    .about = "Trains a language model of music. A chorale is a list of steps, most often of a sixteenth note, each "
             "with the pitches (MIDI numbers) of soprano, alto, tenor and bass, -1 for a rest; the model predicts "
             "voice after voice, step after step, what each begins or holds, and the end. JSON is {\"train\": "
             "[chorale, ...], \"valid\": ..., \"test\": ...}, as JSB-Chorales-dataset has it, or a list of "
             "chorales; steps with fewer than four pitches give them to the voices nearest to them. MIDI files are "
             "cut into sixteenths; their four tracks are the voices, or else what sounds at a time.\n\n"
             "Without a part valid the last chorales are held out. The first metric is nats per note: the negative "
             "logarithm of the probability of whole chorales, their ends included, divided by voices times steps. "
             "The other is the perplexity of a token.\n\n"
             "Without --init a recurrent network has two layers of 256 units, others are as small as those of "
             "'train lm'; --set changes that.",
    .examples = "heed train music --data Jsb16thSeparated.json --out bach\n"
                "heed train music --data Jsb16thSeparated.json --recipe recipes/jsb-chorales.recipe --out bach\n"
                "heed train music --data hymns/ --model gpt2 --context 1024 --transpose 3 --out hymns\n"
                "heed generate bach --midi chorale.mid --png chorale.png\n"
                "heed eval bach --data Jsb16thSeparated.json\n",
    .fields = fields,
    .next = "generate",
    .next_how = " --midi chorale.mid",
    .head = "lm",
    .texts = texts,
    .ways = ways_of_texts,
};
