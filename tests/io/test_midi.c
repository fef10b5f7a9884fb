/* Standard MIDI Files: written and read back, what others write, refusals. */
#include "io_test.h"

static heed_midi_note tune[] = {{0, 480, 0, 0, 72, 80},
                                {0, 960, 1, 1, 60, 70},
                                {480, 720, 0, 0, 72, 80},
                                {720, 960, 0, 0, 74, 80},
                                {960, 200000, 1, 1, 55, 1}};
static char names[2][HEED_MIDI_NAME] = {"Soprano", "Bass"};
static const heed_midi music = {
    .division = 480, .tempo = 100, .program = 19, .tracks = 2, .name = names, .note = tune, .notes = 5};

static void test_round_trip(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    assert_true(heed_midi_write(cx, in_folder("tune.mid"), &music));
    heed_midi *m = heed_midi_read(cx, in_folder("tune.mid"));
    assert_non_null(m);
    assert_int_equal(m->division, 480);
    assert_true(fabs(m->tempo - 100) < 1e-4);
    assert_int_equal(m->tracks, 3); /* the first has the tempo */
    assert_string_equal(m->name[0], "");
    assert_string_equal(m->name[1], "Soprano");
    assert_string_equal(m->name[2], "Bass");
    assert_int_equal(m->notes, 5);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(m->note[i].start, tune[i].start);
        assert_int_equal(m->note[i].end, tune[i].end);
        assert_int_equal(m->note[i].track, tune[i].track + 1);
        assert_int_equal(m->note[i].channel, tune[i].channel);
        assert_int_equal(m->note[i].pitch, tune[i].pitch);
        assert_int_equal(m->note[i].velocity, tune[i].velocity);
    }
    heed_mem_free(cx, m);
    unlink(in_folder("tune.mid"));
    close_context(cx);
}

/* Format 0: a system exclusive message, running status, velocity 0 as an end, a note struck again, one never ended. */
static const unsigned char other[] = {'M',  'T',  'h',  'd',  0,  0,    0,    6,  0,    0,  0,   1,    0,    96,   'M',
                                      'T',  'r',  'k',  0,    0,  0,    38,   0,  0xF0, 2,  1,   0xF7, 0,    0xFF, 0x51,
                                      3,    0x07, 0xA1, 0x20, 0,  0x91, 60,   64, 0x60, 60, 0,   0,    0xC1, 5,    0,
                                      0x91, 62,   64,   0x30, 62, 70,   0x81, 0,  0xB1, 7,  100, 0,    0xFF, 0x2F, 0};

static void test_other(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_midi *m = heed_midi_parse(cx, "other.mid", other, sizeof other);
    if (!m) fail_msg("%s", heed_message(cx));
    assert_true(m->tempo == 120);
    assert_int_equal(m->notes, 3);
    const int64_t want[3][3] = {{0, 96, 60}, {96, 144, 62}, {144, 272, 62}};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(m->note[i].start, want[i][0]);
        assert_int_equal(m->note[i].end, want[i][1]);
        assert_int_equal(m->note[i].pitch, want[i][2]);
        assert_int_equal(m->note[i].channel, 1);
    }
    heed_mem_free(cx, m);
    close_context(cx);
}

/* What mido wrote is what mido read (tests/oracle/midi.py). */
static void test_mido(void **state) {
    (void)state;
    char path[2][1024];
    const char *root = getenv("HEED_GOLDEN");
    heed_ctx *cx = open_context();
    for (int i = 0; i < 2; i++)
        snprintf(path[i], sizeof path[i], "%s/io/mido.%s", root ? root : HEED_SOURCE_DIR "/tests/golden",
                 i ? "json" : "mid");
    heed_midi *m = heed_midi_read(cx, path[0]);
    const heed_json want = heed_json_open(cx, path[1]), notes = heed_json_array(cx, want, "notes");
    if (!m || heed_failed(cx)) fail_msg("%s", heed_message(cx));
    assert_int_equal(m->division, heed_json_int(cx, want, "division"));
    assert_true(fabs(m->tempo - heed_json_number(cx, want, "tempo")) < 1e-3);
    assert_int_equal(m->tracks, heed_json_count(heed_json_array(cx, want, "names")));
    for (int i = 0; i < m->tracks; i++)
        assert_string_equal(m->name[i],
                            heed_json_text(cx, heed_json_item(cx, heed_json_array(cx, want, "names"), i), NULL));
    assert_int_equal(m->notes, heed_json_count(notes));
    for (int64_t i = 0; i < m->notes; i++) {
        const heed_midi_note *n = &m->note[i];
        const int64_t found[] = {n->start, n->end, n->track, n->channel, n->pitch, n->velocity};
        for (int k = 0; k < 6; k++)
            assert_int_equal(found[k], heed_json_int(cx, heed_json_item(cx, heed_json_item(cx, notes, i), k), NULL));
    }
    heed_json_free(want);
    heed_mem_free(cx, m);
    close_context(cx);
}

static void test_overlap(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_midi_note two[] = {{0, 100, 0, 0, 60, 80}, {50, 200, 0, 0, 60, 80}};
    const heed_midi twice = {.division = 96, .tracks = 1, .note = two, .notes = 2};
    assert_true(heed_midi_write(cx, in_folder("x.mid"), &twice));
    heed_midi *m = heed_midi_read(cx, in_folder("x.mid"));
    assert_int_equal(m->notes, 2);
    assert_int_equal(m->note[0].end, 50);
    assert_int_equal(m->note[1].end, 200);
    assert_true(m->tempo == 120);
    heed_mem_free(cx, m);
    unlink(in_folder("x.mid"));
    close_context(cx);
}

static void refused(heed_ctx *cx, const void *bytes, size_t size, const char *why) {
    assert_null(heed_midi_parse(cx, "x.mid", bytes, size));
    EXPECT_SENTENCE(cx, why);
}

static void test_refusals(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    unsigned char bad[sizeof other];
    refused(cx, "RIFF", 4, "x.mid: not a MIDI file: 'MThd' at offset 0 is missing");
#define WITH(place, value, why) memcpy(bad, other, sizeof other), bad[place] = value, refused(cx, bad, sizeof bad, why)
    WITH(9, 2, "x.mid: MIDI format 2 is not supported");
    WITH(12, 0xE7, "time is not in ticks to the quarter note");
    WITH(7, 200, "a header of impossible size");
    WITH(21, 200, "a chunk is longer than the file");
    WITH(14, 'X', "the MIDI file has no tracks");
    WITH(36, 200, "a data byte above 127");
    WITH(23, 0xF4, "an event that no MIDI file holds");
    WITH(24, 0x7F, "an event is longer than its track");
#undef WITH
    for (size_t n = 0; n < sizeof other; n++) {
        assert_null(heed_midi_parse(cx, "x.mid", other, n));
        assert_true(heed_failed(cx) && strstr(heed_message(cx), "x.mid: "));
        heed_clear(cx);
    }
    heed_midi_note wrong = {0, 10, 3, 0, 60, 80};
    assert_false(heed_midi_write(cx, in_folder("never.mid"),
                                 &(heed_midi){.division = 96, .tracks = 1, .note = &wrong, .notes = 1}));
    EXPECT_SENTENCE(cx, "note 0 makes no sense");
    assert_false(heed_midi_write(cx, in_folder("no/never.mid"), &music));
    EXPECT_SENTENCE(cx, "no/never.mid: ");
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_other),    cmocka_unit_test(test_mido),
        cmocka_unit_test(test_overlap),    cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
