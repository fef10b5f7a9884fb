/* Pictures with objects in files: COCO's JSON in the usual layouts, what is cut, left out and refused, and tables. */
#include "heed/objects.h"
#include "io/io_test.h"

#include <sys/stat.h>

static void put(heed_ctx *cx, const char *name, int64_t width, int64_t height) {
    heed_image p;
    assert_true(heed_image_new(cx, width, height, 3, &p));
    memset(p.data, 77, (size_t)(width * height * 3));
    assert_true(heed_image_write(cx, in_folder(name), &p, 0));
    heed_image_free(cx, &p);
}

static void put_text(const char *name, const char *text) { write_bytes(in_folder(name), text, strlen(text)); }

/* Ids are not in order and have gaps; a box reaches out of its picture, one has no size, one is a crowd, one picture
 * has no objects and one is missing. */
static const char whole[] =
    "{\"info\": {\"year\": [1, {\"a\": null}]}, \"licenses\": [],\n"
    " \"annotations\": [\n"
    "  {\"id\": 9, \"image_id\": 40, \"category_id\": 7, \"bbox\": [2, 3.5, 4, 5], \"area\": 11.25, \"iscrowd\": 0,\n"
    "   \"segmentation\": [[2, 3.5, 6, 3.5, 6, 8.5]]},\n"
    "  {\"id\": 3, \"image_id\": 7, \"category_id\": 90, \"bbox\": [-2, 10, 8, 20], \"area\": 160},\n"
    "  {\"id\": 8, \"image_id\": 40, \"category_id\": 90, \"bbox\": [1, 1, 3, 0], \"area\": 0, \"iscrowd\": 0},\n"
    "  {\"id\": 1, \"image_id\": 40, \"category_id\": 90, \"bbox\": [0, 0, 1e1, 2.0], \"iscrowd\": 1,\n"
    "   \"segmentation\": {\"counts\": \"ab\\\"c\", \"size\": [16, 20]}},\n"
    "  {\"id\": 5, \"image_id\": 99, \"category_id\": 90, \"bbox\": [0, 0, 1, 2]}],\n"
    " \"categories\": [{\"supercategory\": \"x\", \"id\": 90, \"name\": \"toothbrush\"}, {\"id\": 7, \"name\": "
    "\"tra\\u00efn\"}],\n"
    " \"images\": [\n"
    "  {\"id\": 40, \"file_name\": \"b.png\", \"width\": 20, \"height\": 16, \"license\": 3},\n"
    "  {\"id\": 12, \"file_name\": \"c.png\", \"width\": 9, \"height\": 8},\n"
    "  {\"id\": 99, \"file_name\": \"gone.png\", \"width\": 9, \"height\": 8},\n"
    "  {\"id\": 7, \"file_name\": \"a.png\", \"width\": 30, \"height\": 24}]}\n";

static void check(heed_ctx *cx, heed_object_set *set) {
    if (!set) fail_msg("%s", heed_message(cx));
    assert_int_equal(heed_object_set_count(set), 3);
    assert_int_equal(heed_object_set_classes(set), 2);
    assert_string_equal(heed_object_set_names(set)[0], "tra\xC3\xAFn");
    assert_string_equal(heed_object_set_names(set)[1], "toothbrush");
    assert_int_equal(heed_object_set_category(set, 0), 7);
    assert_int_equal(heed_object_set_category(set, 1), 90);
    assert_int_equal(heed_object_set_category(set, 2), -1);
    static const int ids[] = {7, 12, 40};
    for (int i = 0; i < 3; i++) assert_int_equal(heed_object_set_id(set, i), ids[i]);
    const heed_object_notes notes = heed_object_set_notes(set);
    assert_int_equal(notes.clipped, 1);
    assert_int_equal(notes.empty, 1);
    assert_int_equal(notes.crowds, 1);
    assert_int_equal(notes.bare, 1);
    assert_int_equal(notes.pictures, 1);
    assert_false(heed_object_set_endless(set));
    heed_image p;
    heed_object *o;
    int64_t n;
    assert_true(heed_object_set_read(cx, set, 0, &p, &o, &n));
    assert_true(p.width == 30 && p.height == 24 && p.channels == 3 && p.data[0] == 77);
    assert_int_equal(n, 1);
    assert_true(o->box[0] == 0 && o->box[1] == 10 && o->box[2] == 6 && o->box[3] == 14 && o->area == 160);
    assert_true(o->label == 1 && o->id == 3 && !o->crowd);
    heed_image_free(cx, &p);
    heed_mem_free(cx, o);
    assert_true(heed_object_set_read(cx, set, 1, NULL, &o, &n));
    assert_int_equal(n, 0);
    heed_mem_free(cx, o);
    assert_true(heed_object_set_read(cx, set, 2, NULL, &o, &n));
    assert_int_equal(n, 2);
    assert_true(o[0].id == 9 && o[0].label == 0 && o[0].area == 11.25 && o[0].box[1] == 3.5);
    assert_true(o[1].id == 1 && o[1].crowd && o[1].area == 20);
    heed_mem_free(cx, o);
    assert_false(heed_object_set_read(cx, set, 3, NULL, &o, &n));
    EXPECT_SENTENCE(cx, "object_set: no picture 3");
    heed_object_set_free(cx, set);
}

/* The same annotations wherever they and their pictures usually lie. */
static void test_layouts(void **state) {
    (void)state;
    static const char *const layouts[][3] = {
        /* the annotations, their part, the pictures */
        {"annotations/instances_train2017.json", "train", "train2017"},
        {"annotations/instances_val2014.json", "val", "images/val2014"},
        {"annotations/instances_val2017.json", "val", "val2017"},
        {"train.json", "train", "."},
        {"train.json", "train", "train"},
        {"train.json", "train", "images"},
        {"annotations/train.json", "train", "images"},
        {"valid/_annotations.coco.json", "val", "valid"},
        {"test.json", "test", "images/test"},
    };
    heed_ctx *cx = open_context();
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        char command[1400], name[64];
        snprintf(command, sizeof command, "cd '%s' && rm -rf * && mkdir -p annotations train valid '%s'", folder,
                 layouts[i][2]);
        assert_int_equal(system(command), 0);
        put_text(layouts[i][0], whole);
        for (int k = 0; k < 3; k++) {
            snprintf(name, sizeof name, "%s/%c.png", layouts[i][2], 'a' + k);
            put(cx, name, k == 0 ? 30 : k == 1 ? 20 : 9, k == 0 ? 24 : k == 1 ? 16 : 8);
        }
        check(cx, heed_object_set_open(cx, folder, layouts[i][1], NULL));
        check(cx, heed_object_set_open(cx, in_folder(layouts[i][0]), "train", NULL));
        const heed_object_set_opts optional = {.optional = true};
        assert_null(heed_object_set_open(cx, folder, layouts[i][1][0] == 't' ? "val" : "train", &optional));
        assert_null(heed_object_set_open(cx, in_folder(layouts[i][0]), "val", &optional));
        assert_false(heed_failed(cx));
    }
    assert_null(heed_object_set_open(cx, folder, "train", NULL));
    EXPECT_SENTENCE(cx, "no annotations of part 'train': annotations/instances_train2017.json, train.json");
    close_context(cx);
}

/* ---- what is refused ---- */

static heed_object_set *open_unseen(heed_ctx *cx, const char *text) {
    const heed_object_set_opts opts = {.unseen = true};
    put_text("x.json", text);
    return heed_object_set_open(cx, in_folder("x.json"), "train", &opts);
}

#define IMAGES     "\"images\": [{\"id\": 1, \"file_name\": \"a\"}, {\"id\": 2, \"file_name\": \"b\"}]"
#define CATEGORIES "\"categories\": [{\"id\": 1, \"name\": \"cat\"}]"
#define BOX        "\"image_id\": 1, \"category_id\": 1, \"bbox\": [1, 2, 3, 4]"

static void test_refused(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"[{\"image_id\": 1}]", "a list, as of detections, not COCO's annotations"},
        {"{\"data\": 3}", "no 'images': COCO's annotations have images, annotations and categories"},
        {"{" IMAGES ", " CATEGORIES "}", "no 'annotations'"},
        {"{" IMAGES ", " CATEGORIES ", \"annotations\": {}}", "expected a list, found an object"},
        {"{" IMAGES ", " CATEGORIES ", \"annotations\": [{\"image_id\": 1, \"caption\": \"a\"}]}",
         "annotations[0] has no 'category_id': heed reads COCO's instances"},
        {"{" IMAGES ", " CATEGORIES ", \"annotations\": [{" BOX "}, {\"image_id\": 1, \"category_id\": 5, \"bbox\": "
         "[1, 2, 3, 4]}]}",
         "annotations[1]: category 5 is none of the 1"},
        {"{" IMAGES ", " CATEGORIES
         ", \"annotations\": [{\"image_id\": 3, \"category_id\": 1, \"bbox\": [1, 2, 3, 4]}]}",
         "annotations[0]: no image has the id 3"},
        {"{" IMAGES ", " CATEGORIES ", \"annotations\": [{\"image_id\": 1, \"category_id\": 1, \"bbox\": [1, 2, 3]}]}",
         "a box of 3 numbers"},
        {"{" IMAGES ", " CATEGORIES ", \"annotations\": [{" BOX ", \"id\": 4}, {" BOX ", \"id\": 4}]}",
         "two annotations have the id 4"},
        {"{" IMAGES ", " CATEGORIES ", \"annotations\": [{" BOX ", \"id\": 4}, {" BOX "}]}",
         "1 of the 2 annotations have no id"},
        {"{" CATEGORIES ", \"annotations\": [], \"images\": [{\"id\": 1, \"file_name\": \"a\"}, {\"id\": 1, "
         "\"file_name\": \"b\"}]}",
         "two images have the id 1"},
        {"{" IMAGES ", \"annotations\": [], \"categories\": [{\"id\": 1, \"name\": \"a\"}, {\"id\": 2, \"name\": "
         "\"a\"}]}",
         "two classes are called 'a'"},
        {"{" IMAGES ", \"annotations\": [], \"categories\": [{\"id\": 1, \"name\": \"a\"}, {\"id\": 1, \"name\": "
         "\"b\"}]}",
         "two categories have the id 1"},
        {"{" IMAGES ", " IMAGES "}", "a second list of images"},
        {"{" CATEGORIES ", \"annotations\": [], \"images\": []}", "no pictures are listed"},
        {"{" CATEGORIES ", \"annotations\": [], \"images\": [{\"id\": 1}]}", "images[0] has no 'file_name'"},
        {"{" CATEGORIES ",\n\"annotations\": [], \"images\": [{\"id\": \"1\"}]}",
         "x.json: line 2, column 38: expected a number, found a string"},
        {"{" CATEGORIES ", \"annotations\": [], \"images\": [{\"id\": 1.5}]}", "1.5 is no whole number"},
        {"{" CATEGORIES ", \"annotations\": [], \"images\": [{\"id\": 1, \"width\": -3, \"file_name\": \"a\"}]}",
         "images[0] is said to have -3 x 0 pixels"},
        {"{" IMAGES ", " CATEGORIES ", \"annotations\": []} x", "something follows the value"},
        {"{" IMAGES ", " CATEGORIES ", \"annotations\": [{\"bbox\": [NaN", "'N' is no JSON"},
        {"{" IMAGES ", " CATEGORIES ", \"annotations\": [{\"bbox\": [1e999", "1e999 is out of range"},
        {"{" IMAGES ", " CATEGORIES ", \"annotations\": [", "the file ends within a value"},
        {"\x89PNG", "is no JSON"},
        {"", "the file ends within a value"},
    };
    heed_ctx *cx = open_context();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_null(open_unseen(cx, cases[i][0]));
        EXPECT_SENTENCE(cx, cases[i][1]);
    }
    const char *const known[] = {"dog", NULL};
    put_text("x.json", "{" IMAGES ", " CATEGORIES ", \"annotations\": [{" BOX "}]}");
    assert_null(heed_object_set_open(cx, in_folder("x.json"), "train",
                                     &(heed_object_set_opts){.unseen = true, .classes = known}));
    EXPECT_SENTENCE(cx, "class 'cat' is not one of the 1 known");
    assert_null(heed_object_set_open(cx, in_folder("x.json"), "train", NULL));
    EXPECT_SENTENCE(cx, "none of the 2 pictures can be found in");
    put(cx, "a.png", 4, 3); /* not of the size that the file says */
    put_text("x.json", "{\"images\": [{\"id\": 1, \"file_name\": \"a.png\", \"width\": 9, \"height\": 8}], " CATEGORIES
                       ", \"annotations\": [{" BOX "}]}");
    heed_object_set *set = heed_object_set_open(cx, in_folder("x.json"), "train", NULL);
    assert_non_null(set);
    heed_image p;
    heed_object *o;
    int64_t n;
    assert_false(heed_object_set_read(cx, set, 0, &p, &o, &n));
    EXPECT_SENTENCE(cx, "a.png: 4 x 3 pixels, its annotations are of 9 x 8");
    heed_object_set_free(cx, set);
    close_context(cx);
}

static bool parse(heed_ctx *cx, const void *bytes, size_t size) {
    const heed_object_set_opts opts = {.unseen = true};
    int64_t n;
    heed_object *o;
    double sum = 0;
    unlink(in_folder("y.json")); /* to write over a file takes longer */
    write_bytes(in_folder("y.json"), bytes, size);
    heed_object_set *set = heed_object_set_open(cx, in_folder("y.json"), "train", &opts);
    for (int64_t i = 0; i < heed_object_set_count(set) && heed_object_set_read(cx, set, i, NULL, &o, &n); i++) {
        for (int64_t k = 0; k < n; k++) sum += o[k].box[2];
        heed_mem_free(cx, o);
    }
    assert_true(sum == sum);
    heed_object_set_free(cx, set);
    return !heed_failed(cx);
}

static void test_hostile(void **state) {
    (void)state;
    torment(parse, whole, sizeof whole - 1, 1500);
}

/* A JPEG of 10 x 7 pixels that its EXIF orientation stands upright: annotations may be of either. */
static void test_turned(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    char path[600];
    snprintf(path, sizeof path, "%s/image/files.safetensors", getenv("HEED_GOLDEN"));
    heed_safetensors *files = heed_safetensors_open(cx, path);
    const heed_array *f = heed_safetensors_get(cx, files, heed_safetensors_find(cx, files, "jpeg.turned6.file"));
    write_bytes(in_folder("a"), f->data, (size_t)f->shape[0]);
    heed_safetensors_close(files);
    for (int turned = 0; turned < 2; turned++) {
        char text[400];
        snprintf(text, sizeof text,
                 "{\"images\": [{\"id\": 1, \"file_name\": \"a\", \"width\": %d, \"height\": %d}], " CATEGORIES
                 ", \"annotations\": [{" BOX "}]}",
                 turned ? 7 : 10, turned ? 10 : 7);
        put_text("x.json", text);
        heed_object_set *set = heed_object_set_open(cx, in_folder("x.json"), "train", NULL);
        heed_image p;
        heed_object *o;
        int64_t n;
        assert_true(heed_object_set_read(cx, set, 0, &p, &o, &n));
        assert_true(n == 1 && p.width == (turned ? 7 : 10) && p.height == (turned ? 10 : 7));
        heed_image_free(cx, &p);
        heed_mem_free(cx, o);
        heed_object_set_free(cx, set);
    }
    close_context(cx);
}

/* ---- tables ---- */

static void check_table(heed_ctx *cx, const char *name, const char *text) {
    put_text(name, text);
    heed_object_set *set = heed_object_set_open(cx, in_folder(name), "train", NULL);
    if (!set) fail_msg("%s: %s", text, heed_message(cx));
    assert_int_equal(heed_object_set_count(set), 2);
    assert_int_equal(heed_object_set_classes(set), 2);
    assert_string_equal(heed_object_set_names(set)[0], "cat");
    const heed_object_notes notes = heed_object_set_notes(set);
    assert_true(notes.clipped == 1 && notes.empty == 0 && notes.crowds == 0 && notes.pictures == 1);
    heed_object *o;
    int64_t n;
    assert_true(heed_object_set_read(cx, set, 0, NULL, &o, &n));
    assert_int_equal(n, 2);
    assert_true(o[0].box[0] == 1 && o[0].box[1] == 2 && o[0].box[2] == 3 && o[0].box[3] == 4 && o[0].area == 12);
    assert_true(o[0].label == 1 && o[1].label == 0 && o[1].box[2] == 2 && o[1].box[3] == 3);
    heed_mem_free(cx, o);
    heed_object_set_free(cx, set);
}

static void test_tables(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    put(cx, "a.png", 10, 8);
    put(cx, "b.png", 10, 8);
    check_table(cx, "t.csv",
                "path,x,y,width,height,label\na.png,1,2,3,4,dog\na.png,8,5,4,5,cat\n"
                "b.png,,,,,\nc.png,1,1,1,1,cat\n");
    check_table(cx, "t.csv",
                "filename,width,height,class,xmin,ymin,xmax,ymax\na.png,10,8,dog,1,2,4,6\n"
                "b.png,10,8,cat,1,1,5,5\na.png,10,8,cat,8,5,12,10\nc.png,1,1,dog,1,1,2,2\n");
    check_table(cx, "t.tsv",
                "a.png\t1\t2\t3\t4\tdog\nb.png\t1\t1\t1\t1\tdog\na.png\t8\t5\t4\t5\tcat\n"
                "c.png\t1\t1\t1\t1\tcat\n");
    check_table(cx, "t.txt", "a.png 1 2 3 4 dog\nb.png 1 1 1 1 dog\na.png 8 5 4 5 cat\nc.png 1 1 1 1 cat\n");
    static const char *const wrong[][2] = {
        {"path,x,y,width,height\na.png,1,2,3,4\n", "no column 'label'"},
        {"path,x,y,width,label\na.png,1,2,3,cat\n", "no column 'width (or xmax)'"},
        {"path,x,y,width,height,label\na.png,1,2,z,4,cat\n", "line 2, column 'width': 'z' is not a number"},
        {"path,x,y,width,height,label\na.png,1,2,,4,cat\n", "line 2, column 'width': '' is missing"},
        {"path,x,y,width,height,label\na.png,1,2,3,4,\n", "a box without a class"},
        {"path,x,y,width,height,label\nq.png,1,2,3,4,cat\n", "none of the 1 pictures can be found"},
        {"a.png,1,2,3\nb.png,1,2,4\n", "4 columns without names: path, x, y, width, height and label are 6"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        put_text("t.csv", wrong[i][0]);
        assert_null(heed_object_set_open(cx, in_folder("t.csv"), "train", NULL));
        EXPECT_SENTENCE(cx, wrong[i][1]);
    }
    put_text("t.csv", "path,x,y,width,height,label\na.png,1,2,3,4,10\na.png,1,2,3,4,9\nb.png,1,2,3,4,2\n");
    heed_object_set *set = heed_object_set_open(cx, in_folder("t.csv"), "train", NULL);
    assert_non_null(set);
    assert_string_equal(heed_object_set_names(set)[0], "2"); /* numbers go by their size */
    assert_string_equal(heed_object_set_names(set)[2], "10");
    heed_object_set_free(cx, set);
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_layouts, make_folder, wipe_folder),
                                       cmocka_unit_test_setup_teardown(test_refused, make_folder, wipe_folder),
                                       cmocka_unit_test_setup_teardown(test_hostile, make_folder, wipe_folder),
                                       cmocka_unit_test_setup_teardown(test_turned, make_folder, wipe_folder),
                                       cmocka_unit_test_setup_teardown(test_tables, make_folder, wipe_folder)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
