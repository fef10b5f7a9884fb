#include "cli/core/figure_options.h"
#include "cli/use/music.h"
#include "heed/music.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* clang-format off */
const heed_field music_options[] = {
    {.name = "music", .kind = HEED_FIELD_GROUP},
    {.name = "midi", .kind = HEED_FIELD_FILE, .value = "FILE", .help = "compose a chorale, as a MIDI file of four tracks"},
    {.name = "prompt-midi", .kind = HEED_FIELD_FILE, .value = "FILE",
     .help = "the chorale to continue: MIDI, or JSON as for training, of which the first is taken"},
    {.name = "prompt-steps", .kind = HEED_FIELD_INT, .standard = "0", .value = "N", .high = 1e6,
     .help = "continue its first N steps, 16 to the bar; 0: all of it"},
    {.name = "soprano", .kind = HEED_FIELD_FILE, .value = "FILE",
     .help = "keep the soprano of this chorale, or the only voice of a MIDI file, and compose the other voices"},
    {.name = "steps", .kind = HEED_FIELD_INT, .standard = "640", .value = "N", .low = 1, .high = 65536,
     .help = "maximum number of steps of a chorale, its beginning included"},
    {.name = "tempo", .kind = HEED_FIELD_NUMBER, .standard = "90", .value = "X", .low = 4, .high = 1000,
     .help = "quarter notes to the minute"},
    {.name = "instrument", .kind = HEED_FIELD_INT, .standard = "20", .value = "N", .low = 1, .high = 128,
     .help = "of General MIDI, as 1 for a piano, 20 for a church organ, 53 for a choir"},
    {.name = NULL},
};
/* clang-format on */

bool music_asked(const struct options *o) {
    bool asked = false;
    for (const heed_field *row = music_options + 1; row->name; row++) asked = asked || option_given(o, row->name);
    return asked;
}

bool music_fits(struct options *o) {
    const char *const *unused;
    if (!pictures_fit(o)) return false;
    if (!music_asked(o) && !pictures_asked(o)) return true;
    if (options_words(o) > 1 || option_list(o, "prompt", &unused) > 0 || option_flag(o, "chat"))
        return cli_error(EXIT_USAGE,
                         "generate: options of music take no text: --prompt-midi FILE is what it begins with"),
               false;
    if (option_int(o, "n-best") > 1) return cli_error(EXIT_USAGE, "generate: --n-best is not for music"), false;
    if (option_given(o, "prompt-steps") && !option_given(o, "prompt-midi"))
        return cli_error(EXIT_USAGE, "generate: --prompt-steps goes with --prompt-midi"), false;
    return options_either(o, "prompt-midi", "soprano");
}

/* ---- in ---- */

/* The first chorale of a file, or `steps` of it (0: all). */
static bool read_chorale(heed_ctx *cx, const char *path, int64_t steps, heed_chorales *to) {
    if (!heed_chorales_read(cx, path, NULL, to)) return false;
    if (steps > heed_chorale_steps(to, 0))
        return heed_fail(cx, HEED_ERR_RANGE, "generate: --prompt-steps: %lld, but %s has %lld steps", (long long)steps,
                         path, (long long)heed_chorale_steps(to, 0));
    if (steps > 0) to->first.id[1] = (int32_t)steps;
    to->count = 1;
    return true;
}

/* ---- out ---- */

/* Notes of a chorale, by voice; the caller's memory. */
static heed_roll_note *notes_of(heed_ctx *cx, const heed_chorales *c, int64_t *n) {
    const int64_t steps = heed_chorale_steps(c, 0);
    const int32_t *voice = heed_chorale_voices(c, 0);
    heed_roll_note *notes = heed_mem_new(cx, (size_t)(steps * HEED_VOICES) * sizeof *notes);
    *n = 0;
    for (int v = 0; notes && v < HEED_VOICES; v++) {
        heed_roll_note *last = NULL;
        for (int64_t t = 0; t < steps; t++) {
            const int32_t x = voice[t * HEED_VOICES + v];
            if (!(x & HEED_HELD)) {
                last = x == HEED_REST ? NULL : &notes[(*n)++];
                if (last) *last = (heed_roll_note){.voice = v, .start = (double)t / 4, .pitch = x};
            }
            if (last) last->end = (double)(t + 1) / 4;
        }
    }
    return notes;
}

static bool draw(const struct options *o, heed_ctx *cx, const heed_roll_note *notes, int64_t n, int64_t steps) {
    const char *names[HEED_VOICES];
    if (!pictures_asked(o)) return true;
    for (int v = 0; v < HEED_VOICES; v++) names[v] = heed_voice_name(v);
    heed_figure *f = heed_figure_new(cx, fmin(1600, fmax(520, 4.5 * (double)steps)), 340);
    const bool ok = heed_plot_roll(heed_figure_panel(f, 0, 0), notes, n, names, HEED_VOICES, 4) &&
                    pictures_write(o, f, "a chorale of four voices");
    heed_figure_free(f);
    return ok;
}

static double nats(const heed_composed *made) {
    return made->notes > 0 ? -made->log_probability / (double)made->notes : 0;
}

static void put_notes(heed_ctx *cx, heed_json at, const heed_roll_note *notes, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        const heed_json note = heed_json_put_object(cx, at, NULL);
        heed_json_put_text(cx, note, "voice", heed_voice_name(notes[i].voice));
        heed_json_put_int(cx, note, "pitch", notes[i].pitch);
        heed_json_put_int(cx, note, "step", (int64_t)(4 * notes[i].start));
        heed_json_put_int(cx, note, "steps", (int64_t)(4 * (notes[i].end - notes[i].start)));
    }
}

static void print_json(heed_ctx *cx, const heed_chorales *c, const heed_roll_note *notes, int64_t n,
                       const heed_composed *made) {
    const int64_t steps = heed_chorale_steps(c, 0);
    const int32_t *voice = heed_chorale_voices(c, 0);
    const heed_json at = heed_json_new(cx, "chorale");
    heed_json_put_int(cx, at, "steps", steps);
    heed_json_put_bool(cx, at, "ended", made->ended);
    heed_json_put_number(cx, at, "log_probability", made->log_probability);
    heed_json_put_number(cx, at, "nats_per_note", nats(made));
    const heed_json list = heed_json_put_array(cx, at, "chorale");
    for (int64_t t = 0; t < steps; t++) {
        const heed_json step = heed_json_put_array(cx, list, NULL);
        for (int v = 0; v < HEED_VOICES; v++) {
            const int32_t pitch = voice[t * HEED_VOICES + v] & ~HEED_HELD;
            heed_json_put_int(cx, step, NULL, pitch == HEED_REST ? -1 : pitch);
        }
    }
    put_notes(cx, heed_json_put_array(cx, at, "notes"), notes, n);
    json_answer(cx, stdout, at, 0);
    heed_json_free(at);
}

static bool write_all(const struct options *o, heed_ctx *cx, const heed_chorales *c, const heed_composed *made) {
    const char *const midi = option_text(o, "midi");
    const int64_t steps = heed_chorale_steps(c, 0);
    int64_t n;
    heed_roll_note *notes = notes_of(cx, c, &n);
    const heed_music_look look = {.tempo = option_number(o, "tempo"), .program = (int32_t)option_int(o, "instrument")};
    const bool ok = notes &&
                    (!midi || (heed_chorales_write_midi(cx, midi, c, 0, &look) &&
                               pictures_report(o, midi, "a chorale of four voices"))) &&
                    draw(o, cx, notes, n, steps);
    if (ok && option_flag(o, "json"))
        print_json(cx, c, notes, n, made);
    else if (ok && !option_flag(o, "quiet") && !pictures_take_standard(o))
        printf("%lld steps, %lld notes%s, %.4f nats per note\n", (long long)steps, (long long)n,
               made->ended ? "" : ", cut at the maximum length", nats(made));
    heed_mem_free(cx, notes);
    return ok && !heed_failed(cx);
}

bool music_compose(const struct options *o, heed_ctx *cx, const char *dir, const heed_generator *g,
                   const heed_generate_opts *opts) {
    const char *const begin = option_text(o, "prompt-midi"), *const soprano = option_text(o, "soprano");
    const bool greedy = option_given(o, "temperature") && option_number(o, "temperature") == 0;
    heed_chorales given = {0}, made = {0};
    heed_composed how = {0};
    heed_compose_opts to = {.how = *opts, .steps = option_int(o, "steps")};
    if (g->encodes || !heed_music_has(g->tokens[1]))
        return heed_fail(cx, HEED_ERR_USAGE,
                         "%s: its tokens are not those of music: 'heed train music' makes such models", dir);
    if (to.how.beams <= 1 && !greedy) to.how.sample = true;
    if (begin) to.begin = &given;
    if (soprano) to.soprano = &given;
    const bool ok = (!begin || read_chorale(cx, begin, option_int(o, "prompt-steps"), &given)) &&
                    (!soprano || read_chorale(cx, soprano, 0, &given)) &&
                    (heed_compose(cx, g, &to, &made, &how) ||
                     (given.count > 0 && heed_fail_in(cx, "%s", begin ? begin : soprano))) &&
                    write_all(o, cx, &made, &how);
    heed_chorales_free(cx, &given);
    heed_chorales_free(cx, &made);
    return ok;
}
