/* Pictures with captions in folders: every list that is known, what is left out and counted, and what is refused. */
#include "heed/captions.h"
#include "io/io_test.h"

#include <sys/stat.h>

/* Paths in sentences and in the set are relative to it. */
static int enter_folder(void **state) { return make_folder(state) == 0 ? chdir(folder) : -1; }
static int leave_folder(void **state) { return chdir("/") == 0 ? wipe_folder(state) : -1; }

static void write_text(const char *path, const char *text) { write_bytes(path, text, strlen(text)); }

static void write_picture(heed_ctx *cx, const char *path, int grey) {
    uint8_t data[2 * 3 * 3];
    memset(data, grey, sizeof data);
    const heed_image p = {2, 3, 3, data};
    assert_true(heed_image_write(cx, path, &p, 0));
}

static void expect_caption(heed_ctx *cx, const heed_caption_set *set, int64_t i, const char *path, const char *caption,
                           int grey) {
    heed_image p;
    char *text = heed_caption_set_text(cx, set, i);
    assert_string_equal(text, caption);
    assert_string_equal(heed_caption_set_path(set, i), path);
    assert_true(heed_caption_set_read(cx, set, i, &p));
    assert_true(p.width == 2 && p.height == 3 && p.channels == 3 && p.data[0] == grey);
    heed_image_free(cx, &p);
    heed_mem_free(cx, text);
}

static const char tsv[] = "b.png\ta \"blue\" dog, asleep\nsub/c.png\tein Hund, m\xC3\xBC"
                          "de\nb.png\ttwice\nlost.png\tgone\n"
                          "blank.png\t \n./a.png\tfirst\n";

static const char *const lists[][2] = {
    {"captions.tsv", tsv},
    {"captions.csv", "Caption,File\n\"a \"\"blue\"\" dog, asleep\",b.png\n\"ein Hund, m\xC3\xBC"
                     "de\",sub/c.png\ntwice,b.png\ngone,lost.png\n,blank.png\nfirst,a.png\n"},
    {"metadata.csv", "file_name,size,text\nb.png,1,\"a \"\"blue\"\" dog, asleep\"\nsub/c.png,,\"ein Hund, m\xC3\xBC"
                     "de\"\nb.png,2,twice\nlost.png,3,gone\nblank.png,4,\na.png,5,first\n"},
    {"metadata.jsonl",
     "{\"file_name\": \"b.png\", \"text\": \"a \\\"blue\\\" dog, asleep\"}\n\n{\"text\": \"ein Hund, "
     "m\\u00fcde\", \"file_name\": \"sub/c.png\", \"more\": [1]}\n{\"file_name\": \"b.png\", \"text\": "
     "\"twice\"}\n{\"file_name\": \"lost.png\", \"text\": \"gone\"}\n{\"file_name\": \"blank.png\"}\n"
     "{\"file_name\": \"a.png\", \"text\": \"first\"}\n"},
};

static void test_lists(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    assert_int_equal(mkdir("dogs", 0700), 0);
    assert_int_equal(mkdir("dogs/sub", 0700), 0);
    write_picture(cx, "dogs/a.png", 10);
    write_picture(cx, "dogs/b.png", 20);
    write_picture(cx, "dogs/blank.png", 30);
    write_picture(cx, "dogs/alone.png", 40);
    write_picture(cx, "dogs/sub/c.png", 50);
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) {
        char path[64];
        snprintf(path, sizeof path, "dogs/%s", lists[k][0]);
        write_text(path, lists[k][1]);
        heed_caption_set *by_file = heed_caption_set_open(cx, path, "train", NULL),
                         *set = heed_caption_set_open(cx, "dogs", "val", NULL);
        assert_non_null(by_file);
        assert_non_null(set);
        assert_true(heed_caption_set_hash(set) == heed_caption_set_hash(by_file));
        assert_false(heed_caption_set_endless(set));
        assert_int_equal(heed_caption_set_count(set), 4);
        const heed_caption_notes notes = heed_caption_set_notes(set);
        assert_int_equal(notes.missing, 1);
        assert_int_equal(notes.empty, 1);
        assert_int_equal(notes.unlisted, 1);
        expect_caption(cx, set, 0, "dogs/a.png", "first", 10);
        expect_caption(cx, set, 1, "dogs/b.png", "a \"blue\" dog, asleep", 20);
        expect_caption(cx, set, 2, "dogs/b.png", "twice", 20);
        expect_caption(cx, set, 3, "dogs/sub/c.png",
                       "ein Hund, m\xC3\xBC"
                       "de",
                       50);
        assert_null(heed_caption_set_text(cx, set, 4));
        EXPECT_SENTENCE(cx, "captions: no picture 4");
        assert_false(heed_caption_set_shown(cx, set, 0, &(heed_caption){0}));
        EXPECT_SENTENCE(cx, "captions: what a picture shows is known of drawn ones only");
        heed_caption_set_free(cx, set);
        heed_caption_set_free(cx, by_file);
        assert_int_equal(unlink(path), 0);
    }
    close_context(cx);
}

static void test_parts(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const heed_caption_set_opts optional = {.optional = true};
    assert_int_equal(mkdir("cats", 0700), 0);
    assert_int_equal(mkdir("cats/train", 0700), 0);
    assert_int_equal(mkdir("cats/validation", 0700), 0);
    write_picture(cx, "cats/train/a.png", 1);
    write_picture(cx, "cats/validation/b.png", 2);
    write_text("cats/train/captions.tsv", "file\tcaption\na.png\tone\n");
    write_text("cats/validation/metadata.jsonl", "{\"file_name\": \"b.png\", \"text\": \"two\"}");
    heed_caption_set *train = heed_caption_set_open(cx, "cats", "train", NULL),
                     *val = heed_caption_set_open(cx, "cats", "val", &optional);
    assert_true(train && val);
    expect_caption(cx, train, 0, "cats/train/a.png", "one", 1);
    expect_caption(cx, val, 0, "cats/validation/b.png", "two", 2);
    assert_null(heed_caption_set_open(cx, "cats", "test", &optional));
    assert_false(heed_failed(cx));
    assert_null(heed_caption_set_open(cx, "cats/train", "val", &optional));
    assert_null(heed_caption_set_open(cx, "cats/train/captions.tsv", "test", &optional));
    assert_false(heed_failed(cx));
    assert_null(heed_caption_set_open(cx, "cats", "test", NULL));
    EXPECT_SENTENCE(cx, "cats: no captions of part 'test': captions.tsv (file, tab, caption) or metadata.jsonl");
    heed_caption_set_free(cx, train);
    heed_caption_set_free(cx, val);
    close_context(cx);
}

static void test_refused(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    static const char *const wrong[][3] = {
        {"bad/captions.tsv", "a.png\n", "bad/captions.tsv: no second column: a table of captions has"},
        {"bad/captions.tsv", "file\tage\na.png\t3\n", "bad/captions.tsv: no column text: a table of captions"},
        {"bad/captions.tsv", "name\ttext\na.png\tb\n", "bad/captions.tsv: no column file_name: a table of captions"},
        {"bad/captions.tsv", "x.png\ta\n\ty\n", "bad/captions.tsv: line 2: no file"},
        {"bad/captions.tsv", "x.png\ta\na.png\t\n",
         "bad/captions.tsv: no picture with a caption: the files of 1 captions are not there, 1 captions are empty"},
        {"bad/captions.tsv", "", "bad/captions.tsv"},
        {"bad/metadata.jsonl", "{\"file_name\": \"a.png\", \"text\": 3}\n", "line 1: text: expected a string, found"},
        {"bad/metadata.jsonl", "{\"text\": \"a\"}\n", "bad/metadata.jsonl: line 1: file_name: missing"},
        {"bad/metadata.jsonl", "\n{\"text\"\n", "bad/metadata.jsonl: line 2: "},
        {"bad/metadata.jsonl", "[]\n", "bad/metadata.jsonl: line 1: "},
        {"bad/metadata.jsonl", "\n",
         "bad/metadata.jsonl: no picture with a caption: the files of 0 captions are not there, 0 captions are empty"},
    };
    assert_int_equal(mkdir("bad", 0700), 0);
    write_picture(cx, "bad/a.png", 1);
    assert_null(heed_caption_set_open(cx, "bad", "train", NULL));
    EXPECT_SENTENCE(cx, "bad: no captions of part 'train'");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        write_text(wrong[i][0], wrong[i][1]);
        assert_null(heed_caption_set_open(cx, "bad", "train", NULL));
        EXPECT_SENTENCE(cx, wrong[i][2]);
        assert_int_equal(unlink(wrong[i][0]), 0);
    }
    assert_null(heed_caption_set_open(cx, "captions", "tests", NULL));
    EXPECT_SENTENCE(cx, "captions: no part 'tests': train, val or test");
    assert_null(heed_caption_set_open(cx, "captions", "test", &(heed_caption_set_opts){.side = 24}));
    EXPECT_SENTENCE(cx, "captions: pictures of 24 pixels a side: drawn ones have 32 or 16");
    assert_null(heed_caption_set_open(cx, "nowhere", "train", NULL));
    EXPECT_SENTENCE(cx, "nowhere");
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_lists), cmocka_unit_test(test_parts),
                                       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
