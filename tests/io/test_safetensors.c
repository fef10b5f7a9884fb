/* safetensors: one file, shards, writing, and every way a file can lie. */
#include "io_test.h"

#include <sys/stat.h>

/* A file made of a header and data, in `out`; its size. */
static size_t compose(unsigned char *out, const char *header, const void *data, size_t data_size) {
    const size_t n = strlen(header);
    for (int i = 0; i < 8; i++) out[i] = (unsigned char)(n >> (8 * i));
    memcpy(out + 8, header, n);
    if (data_size > 0) memcpy(out + 8 + n, data, data_size);
    return 8 + n + data_size;
}

static void refused(heed_ctx *cx, const char *header, size_t data_size, const char *part, int line) {
    unsigned char file[2048] = {0}, data[256] = {0};
    const size_t size = compose(file, header, data, data_size);
    if (heed_safetensors_parse(cx, "t", file, size)) fail_msg("accepted: %s", header);
    expect_sentence(cx, part, __FILE__, line);
}
#define REFUSED(header, data_size, part) refused(cx, header, data_size, part, __LINE__)
#define TENSOR(type, shape, ends)        "{\"w\":{\"dtype\":" type ",\"shape\":" shape ",\"data_offsets\":" ends "}}"

static const char two[] = "{\"__metadata__\":{\"format\":\"pt\",\"by\":\"me\"},"
                          "\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[6,14]},"
                          "\"a\":{\"dtype\":\"I16\",\"shape\":[1,3],\"data_offsets\":[0,6]},"
                          "\"e\":{\"dtype\":\"F64\",\"shape\":[0,4],\"data_offsets\":[6,6]}}   ";

static size_t two_file(unsigned char *out) {
    const int16_t a[3] = {1, -2, 3};
    const float b[2] = {0.5f, -8};
    unsigned char data[14];
    memcpy(data, a, 6);
    memcpy(data + 6, b, 8);
    return compose(out, two, data, sizeof data);
}

static void check_two(heed_ctx *cx, heed_safetensors *st) {
    assert_int_equal(heed_safetensors_count(st), 3);
    const char *names[] = {"a", "e", "b"}; /* in the order of the data */
    for (int i = 0; i < 3; i++) {
        assert_string_equal(heed_safetensors_info(cx, st, i)->name, names[i]);
        assert_int_equal(heed_safetensors_find(cx, st, names[i]), i);
    }
    assert_int_equal(heed_safetensors_find(cx, st, "c"), -1);
    const heed_array *a = heed_safetensors_get(cx, st, 0), *e = heed_safetensors_get(cx, st, 1),
                     *b = heed_safetensors_get(cx, st, 2);
    assert_int_equal(a->dtype, HEED_I16);
    assert_int_equal(a->rank, 2);
    assert_int_equal(a->shape[1], 3);
    assert_int_equal(((const int16_t *)a->data)[1], -2);
    assert_int_equal(heed_array_count(e), 0);
    assert_non_null(e->data);
    assert_int_equal((uintptr_t)b->data % 4, 0);
    assert_true(((const float *)b->data)[1] == -8);
    assert_ptr_equal(heed_safetensors_get(cx, st, 2)->data, b->data); /* copied once */
    assert_int_equal(heed_safetensors_metadata_count(st), 2);
    assert_string_equal(heed_safetensors_metadata_at(cx, st, 1).key, "by");
    assert_string_equal(heed_safetensors_metadata(cx, st, "format"), "pt");
    assert_null(heed_safetensors_metadata(cx, st, "absent"));
    assert_false(heed_failed(cx));
}

/* At every alignment: what is aligned is not copied, what is not is. */
static void test_read(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    _Alignas(8) unsigned char file[1024];
    for (size_t shift = 0; shift < 8; shift++) {
        const size_t size = two_file(file + shift);
        heed_safetensors *st = heed_safetensors_parse(cx, "t", file + shift, size);
        assert_non_null(st);
        const unsigned char *b = file + shift + size - 8;
        assert_ptr_equal(heed_safetensors_info(cx, st, 2)->data, (uintptr_t)b % 4 == 0 ? b : NULL);
        check_two(cx, st);
        heed_safetensors_close(st);
    }
    close_context(cx);
}

static void test_read_file(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    unsigned char file[1024];
    write_bytes(in_folder("t.safetensors"), file, two_file(file));
    heed_safetensors *st = heed_safetensors_open(cx, in_folder("t.safetensors"));
    assert_int_equal(unlink(in_folder("t.safetensors")), 0); /* the map lives on */
    check_two(cx, st);
    heed_safetensors_close(st);
    close_context(cx);
}

/* As Python's safetensors 0.8.0 wrote {"w": f32 (2,3) 0..5, "flag": bool (2)} with metadata. */
static const unsigned char python[] =
    "\x98\0\0\0\0\0\0\0{\"__metadata__\":{\"format\":\"pt\"},\"w\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":"
    "[0,"
    "24]},\"flag\":{\"dtype\":\"BOOL\",\"shape\":[2],\"data_offsets\":[24,26]}}     "
    "\0\0\0\0\0\0\x80\x3F\0\0\0\x40\0\0\x40\x40\0\0\x80\x40\0\0\xA0\x40\1\0";

static void test_read_python(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_safetensors *st = heed_safetensors_parse(cx, "p", python, sizeof python - 1);
    float w[6], flag[2];
    assert_true(heed_array_to_f32(cx, heed_safetensors_get(cx, st, heed_safetensors_find(cx, st, "w")), w, 6));
    assert_true(heed_array_to_f32(cx, heed_safetensors_get(cx, st, heed_safetensors_find(cx, st, "flag")), flag, 2));
    for (int i = 0; i < 6; i++) assert_true(w[i] == (float)i);
    assert_true(flag[0] == 1 && flag[1] == 0);
    heed_safetensors_close(st);
    close_context(cx);
}

static void test_empty(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    unsigned char file[64];
    heed_safetensors *st = heed_safetensors_parse(cx, "t", file, compose(file, "{}", "", 0));
    assert_non_null(st);
    assert_int_equal(heed_safetensors_count(st), 0);
    assert_int_equal(heed_safetensors_find(cx, st, "w"), -1);
    heed_safetensors_close(st);
    close_context(cx);
}

static void test_refusals(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    /* the frame */
    assert_null(heed_safetensors_parse(cx, "t", "1234567", 7));
    EXPECT_SENTENCE(cx, "t: 7 bytes are too few for safetensors");
    assert_null(heed_safetensors_parse(cx, "t", "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF{}", 10));
    EXPECT_SENTENCE(cx, "t: a header of 18446744073709551615 bytes is over the limit of 100000000");
    assert_null(heed_safetensors_parse(cx, "t", "\x01\xE1\xF5\x05\0\0\0\0{}", 10));
    EXPECT_SENTENCE(cx, "a header of 100000001 bytes is over the limit");
    assert_null(heed_safetensors_parse(cx, "t", "\x03\0\0\0\0\0\0\0{}", 10));
    EXPECT_SENTENCE(cx, "t: a header of 3 bytes does not fit a file of 10");
    REFUSED("", 0, "does not begin with '{'");
    REFUSED(" {}", 0, "does not begin with '{'");
    REFUSED("[]", 0, "does not begin with '{'");
    /* the JSON */
    REFUSED("{\"w\":}", 0, "t: line 1, column 6");
    REFUSED("{} {}", 0, "end of file expected");
    REFUSED("{\"w\":1}", 0, "t: w: expected an object, found an integer");
    REFUSED("{\"w\":{\"dtype\":\"F32\",\"dtype\":\"F32\"}}", 0, "duplicate object key");
    REFUSED("{\"w\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]},"
            "\"w\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}",
            0, "duplicate object key");
    REFUSED("{\"__metadata__\":{\"a\":1}}", 0, "t: __metadata__.a: expected a string, found an integer");
    REFUSED("{\"__metadata__\":[]}", 0, "t: __metadata__: must be an object of strings");
    /* the type */
    REFUSED(TENSOR("\"F8_E4M3\"", "[4]", "[0,4]"), 4,
            "t: w: dtype F8_E4M3, a float of 8 bits or fewer, is not supported");
    REFUSED(TENSOR("\"F8_E5M2\"", "[4]", "[0,4]"), 4, "F8_E5M2");
    REFUSED(TENSOR("\"F33\"", "[1]", "[0,4]"), 4, "t: w: unknown dtype 'F33'");
    REFUSED(TENSOR("\"f32\"", "[1]", "[0,4]"), 4, "unknown dtype 'f32'");
    REFUSED(TENSOR("3", "[1]", "[0,4]"), 4, "t: w.dtype: expected a string, found an integer");
    REFUSED("{\"w\":{\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "t: w.dtype: missing");
    /* the shape */
    REFUSED("{\"w\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 4, "t: w.shape: missing");
    REFUSED(TENSOR("\"F32\"", "[-1]", "[0,4]"), 4, "t: w.shape[0]: -1 is negative");
    REFUSED(TENSOR("\"F32\"", "[1.0]", "[0,4]"), 4, "t: w.shape[0]: expected an integer, found a number");
    REFUSED(TENSOR("\"F32\"", "[true]", "[0,4]"), 4, "expected an integer");
    REFUSED(TENSOR("\"F32\"", "4", "[0,4]"), 4, "t: w.shape: expected an array");
    REFUSED(TENSOR("\"F32\"", "[1,1,1,1,1,1,1,1,1]", "[0,4]"), 4, "t: w.shape: 9 entries, at most 8 are supported");
    REFUSED(TENSOR("\"F32\"", "[4294967296,4294967296]", "[0,4]"), 4, "shape (4294967296,4294967296) overflows");
    REFUSED(TENSOR("\"F32\"", "[4611686018427387904]", "[0,4]"), 4, "overflows");
    REFUSED(TENSOR("\"F32\"", "[99999999999999999999]", "[0,4]"), 4, "expected an integer");
    /* the offsets */
    REFUSED("{\"w\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, "t: w.data_offsets: missing");
    REFUSED(TENSOR("\"F32\"", "[1]", "[0]"), 4, "t: w: data_offsets must be two numbers");
    REFUSED(TENSOR("\"F32\"", "[1]", "[0,4,8]"), 4, "t: w.data_offsets: 3 entries");
    REFUSED(TENSOR("\"F32\"", "[1]", "[-4,0]"), 4, "t: w.data_offsets[0]: -4 is negative");
    REFUSED(TENSOR("\"F32\"", "[1]", "[4,0]"), 4, "data_offsets [4,0] do not lie within the 4 bytes of data");
    REFUSED(TENSOR("\"F32\"", "[2]", "[0,8]"), 4, "data_offsets [0,8] do not lie within the 4 bytes");
    REFUSED(TENSOR("\"F32\"", "[1]", "[0,9223372036854775807]"), 4, "do not lie within");
    REFUSED(TENSOR("\"F32\"", "[2]", "[0,4]"), 4, "t: w: f32 (2) takes 8 bytes, data_offsets [0,4] hold 4");
    REFUSED(TENSOR("\"F32\"", "[]", "[0,8]"), 8, "f32 () takes 4 bytes");
    /* holes, overlap, something behind */
    REFUSED(TENSOR("\"U8\"", "[2]", "[2,4]"), 4, "t: 'w' begins at 2 of the data, leaving a hole at 0");
    REFUSED(TENSOR("\"U8\"", "[2]", "[0,2]"), 4, "t: 2 bytes lie behind the last tensor, which ends at 2");
    REFUSED("{\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]},"
            "\"b\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[2,5]}}",
            5, "t: 'b' begins at 2 of the data, overlapping the tensor that ends at 3");
    REFUSED("{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
            "\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}",
            4, "overlapping");
    REFUSED("{\"e\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[2,2]},"
            "\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}",
            4, "overlapping");
    REFUSED("{}", 1, "1 bytes lie behind");
    close_context(cx);
}

static void test_null(void **state) {
    (void)state;
    heed_ctx *cx = open_context(), *other = heed_open(NULL);
    assert_null(heed_safetensors_open(cx, NULL));
    EXPECT_SENTENCE(cx, "safetensors_open: path is NULL");
    assert_null(heed_safetensors_parse(cx, "t", NULL, 3));
    EXPECT_SENTENCE(cx, "safetensors_parse");
    assert_null(heed_safetensors_parse(cx, NULL, python, 3));
    EXPECT_SENTENCE(cx, "safetensors_parse");
    assert_null(heed_safetensors_get(cx, NULL, 0));
    EXPECT_SENTENCE(cx, "safetensors_get: the handle is NULL");
    assert_null(heed_safetensors_info(cx, NULL, 0));
    EXPECT_SENTENCE(cx, "safetensors_info");
    assert_int_equal(heed_safetensors_find(cx, NULL, "w"), -1);
    EXPECT_SENTENCE(cx, "safetensors_find");
    heed_safetensors_metadata(cx, NULL, "w");
    EXPECT_SENTENCE(cx, "safetensors_metadata");
    heed_safetensors_metadata_at(cx, NULL, 0);
    EXPECT_SENTENCE(cx, "safetensors_metadata_at");
    assert_int_equal(heed_safetensors_count(NULL), 0);
    heed_safetensors_close(NULL);
    heed_safetensors *st = heed_safetensors_parse(cx, "p", python, sizeof python - 1);
    assert_int_equal(heed_safetensors_find(cx, st, NULL), -1);
    EXPECT_SENTENCE(cx, "name is NULL");
    assert_null(heed_safetensors_metadata(cx, st, NULL));
    EXPECT_SENTENCE(cx, "key is NULL");
    assert_null(heed_safetensors_get(cx, st, 2));
    EXPECT_SENTENCE(cx, "no tensor 2 among 2");
    assert_null(heed_safetensors_info(cx, st, -1));
    EXPECT_SENTENCE(cx, "no tensor -1 among 2");
    heed_safetensors_metadata_at(cx, st, 1);
    EXPECT_SENTENCE(cx, "no entry 1");
    assert_null(heed_safetensors_get(other, st, 0));
    expect_sentence(other, "belongs to another context", __FILE__, __LINE__);
    assert_null(heed_safetensors_get(NULL, st, 0));
    assert_null(heed_safetensors_open(cx, in_folder("absent.safetensors")));
    EXPECT_SENTENCE(cx, "absent.safetensors: ");
    assert_false(heed_safetensors_write(cx, NULL, NULL, 0, NULL, 0));
    EXPECT_SENTENCE(cx, "safetensors_write");
    assert_false(heed_safetensors_write(cx, in_folder("x"), NULL, 1, NULL, 0));
    EXPECT_SENTENCE(cx, "safetensors_write");
    assert_false(heed_safetensors_write(cx, in_folder("x"), NULL, 0, NULL, 1));
    EXPECT_SENTENCE(cx, "safetensors_write");
    heed_safetensors_close(st);
    heed_close(other);
    close_context(cx);
}

/* ---- writing ---- */

static void test_write(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    double numbers[24];
    for (int i = 0; i < 24; i++) numbers[i] = i * 0.37 - 3;
    heed_array arrays[14];
    char names[14][16];
    for (int i = 0; i < 13; i++) { /* every type, so that many lie unaligned */
        snprintf(names[i], sizeof names[i], "t\"%d\xC3\xA9", i);
        arrays[i] = (heed_array){
            .name = names[i], .dtype = (heed_dtype)i, .rank = 3, .shape = {1, i % 3 + 1, 3}, .data = numbers};
    }
    arrays[13] = (heed_array){.name = "", .dtype = HEED_F32, .rank = 1, .shape = {0}};
    const heed_pair metadata[] = {{"format", "pt"}, {"note", "line\nbreak"}};
    const char *path = in_folder("w.safetensors");
    assert_true(heed_safetensors_write(cx, path, arrays, 14, metadata, 2));
    size_t size;
    char *raw = read_bytes(path, &size);
    assert_int_equal(raw[0] % 8, 0); /* padded */
    free(raw);
    heed_safetensors *st = heed_safetensors_open(cx, path);
    assert_int_equal(heed_safetensors_count(st), 14);
    for (int i = 0; i < 14; i++) {
        const heed_array *a = heed_safetensors_get(cx, st, i);
        const size_t bytes = (size_t)heed_array_count(a) * heed_dtype_size(a->dtype);
        assert_string_equal(a->name, arrays[i].name);
        assert_int_equal(a->dtype, arrays[i].dtype);
        assert_int_equal(a->rank, arrays[i].rank);
        assert_memory_equal(a->shape, arrays[i].shape, sizeof a->shape);
        if (bytes) assert_memory_equal(a->data, numbers, bytes);
    }
    assert_string_equal(heed_safetensors_metadata(cx, st, "note"), "line\nbreak");
    heed_safetensors_close(st);
    assert_int_equal(unlink(path), 0);
    assert_true(heed_safetensors_write(cx, path, NULL, 0, NULL, 0));
    st = heed_safetensors_open(cx, path);
    assert_int_equal(heed_safetensors_count(st), 0);
    heed_safetensors_close(st);
    assert_int_equal(unlink(path), 0);
    close_context(cx);
}

static void test_write_refusals(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const float x[2] = {1, 2};
    const char *path = in_folder("never");
    const heed_array good = {.name = "w", .rank = 1, .shape = {2}, .data = x};
#define WRITE(...) assert_false(heed_safetensors_write(cx, path, (heed_array[]){__VA_ARGS__}, 1, NULL, 0))
    WRITE({.rank = 1, .shape = {2}, .data = x});
    EXPECT_SENTENCE(cx, "array 0 has no name");
    WRITE({.name = "w", .rank = 1, .shape = {2}});
    EXPECT_SENTENCE(cx, "safetensors_write: 'w': data is NULL");
    WRITE({.name = "w", .rank = 9, .data = x});
    EXPECT_SENTENCE(cx, "rank 9");
    WRITE({.name = "w", .rank = 1, .shape = {-2}, .data = x});
    EXPECT_SENTENCE(cx, "no array has shape (-2)");
    WRITE({.name = "w", .dtype = (heed_dtype)40, .data = x});
    EXPECT_SENTENCE(cx, "no type 40");
    WRITE({.name = "\xFF", .data = x});
    EXPECT_SENTENCE(cx, "not valid UTF-8");
    WRITE({.name = "__metadata__", .data = x});
    EXPECT_SENTENCE(cx, "given twice or reserved");
    assert_false(heed_safetensors_write(cx, path, (heed_array[]){good, good}, 2, NULL, 0));
    EXPECT_SENTENCE(cx, "'w': the name is given twice");
    assert_false(heed_safetensors_write(cx, path, &good, 1, (heed_pair[]){{"k", NULL}}, 1));
    EXPECT_SENTENCE(cx, "metadata 0");
    assert_false(heed_safetensors_write(cx, path, &good, 1, (heed_pair[]){{"k", "1"}, {"k", "2"}}, 2));
    EXPECT_SENTENCE(cx, "metadata 'k' is given twice");
    const heed_array vast = {.name = "v", .rank = 1, .shape = {INT64_MAX / 8}, .data = x};
    heed_array three[] = {vast, vast, vast};
    three[1].name = "x", three[2].name = "y";
    assert_false(heed_safetensors_write(cx, path, three, 3, NULL, 0));
    EXPECT_SENTENCE(cx, "too much data");
    assert_false(heed_safetensors_write(cx, in_folder("absent/x"), &good, 1, NULL, 0));
    EXPECT_SENTENCE(cx, "absent/x: ");
    assert_int_not_equal(access(path, F_OK), 0);
    close_context(cx);
}

/* ---- shards ---- */

static void write_index(const char *json) {
    write_bytes(in_folder("m/model.safetensors.index.json"), json, strlen(json));
}

static const char index_json[] = "{\"metadata\":{\"total_size\":16},\"weight_map\":{\"w2\":\"b.safetensors\","
                                 "\"w1\":\"a.safetensors\",\"w0\":\"a.safetensors\"}}";

static void write_shards(heed_ctx *cx) {
    const float x[4] = {1, 2, 3, 4};
    const heed_array w0 = {.name = "w0", .rank = 1, .shape = {1}, .data = x},
                     w1 = {.name = "w1", .rank = 1, .shape = {2}, .data = x + 1},
                     w2 = {.name = "w2", .rank = 1, .shape = {1}, .data = x + 3};
    mkdir(in_folder("m"), 0777);
    assert_true(heed_safetensors_write(cx, in_folder("m/a.safetensors"), (heed_array[]){w0, w1}, 2, NULL, 0));
    assert_true(heed_safetensors_write(cx, in_folder("m/b.safetensors"), &w2, 1, (heed_pair[]){{"format", "pt"}}, 1));
    write_index(index_json);
}

static void remove_shards(void) {
    unlink(in_folder("m/a.safetensors"));
    unlink(in_folder("m/b.safetensors"));
    unlink(in_folder("m/model.safetensors.index.json"));
    assert_int_equal(rmdir(in_folder("m")), 0);
}

static bool open_shards(heed_ctx *cx, const void *bytes, size_t size) {
    (void)bytes, (void)size;
    heed_safetensors *st = heed_safetensors_open(cx, in_folder("m"));
    const bool opened = st;
    heed_safetensors_close(st);
    return opened;
}

static void test_shards(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    write_shards(cx);
    const char *paths[] = {"m", "m/model.safetensors.index.json"};
    for (int i = 0; i < 2; i++) {
        heed_safetensors *st = heed_safetensors_open(cx, in_folder(paths[i]));
        assert_int_equal(heed_safetensors_count(st), 3);
        const struct {
            const char *name;
            float first;
        } expected[] = {{"w2", 4}, {"w1", 2}, {"w0", 1}};
        for (int k = 0; k < 3; k++) {
            const heed_array *a = heed_safetensors_get(cx, st, k);
            assert_string_equal(a->name, expected[k].name);
            assert_true(*(const float *)a->data == expected[k].first);
            assert_int_equal(heed_safetensors_find(cx, st, a->name), k);
        }
        assert_string_equal(heed_safetensors_metadata(cx, st, "format"), "pt");
        heed_safetensors_close(st);
    }
    /* A whole file goes before an index. */
    assert_int_equal(rename(in_folder("m/a.safetensors"), in_folder("m/model.safetensors")), 0);
    heed_safetensors *st = heed_safetensors_open(cx, in_folder("m"));
    assert_int_equal(heed_safetensors_count(st), 2);
    heed_safetensors_close(st);
    assert_int_equal(unlink(in_folder("m/model.safetensors")), 0);
    remove_shards();
    close_context(cx);
}

static void test_shard_refusals(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    write_shards(cx);
    const struct {
        const char *json, *part;
    } cases[] = {
        {"{\"weight_map\":{\"w0\":\"../m/a.safetensors\"}}",
         "index.json: weight_map.w0: '../m/a.safetensors' is not the plain name of a file"},
        {"{\"weight_map\":{\"w0\":\"..\"}}", "not the plain name"},
        {"{\"weight_map\":{\"w0\":\"/etc/passwd\"}}", "not the plain name"},
        {"{\"weight_map\":{\"w0\":\"\"}}", "not the plain name"},
        {"{\"weight_map\":{\"w0\":\"a\\n\"}}", "not the plain name"},
        {"{\"weight_map\":{\"w0\":1}}", "weight_map.w0: expected a string, found an integer"},
        {"{\"weight_map\":[]}", "weight_map: expected an object, found an array"},
        {"{}", "weight_map: missing"},
        {"{\"weight_map\":", "line 1"},
        {"{\"weight_map\":{\"w9\":\"a.safetensors\"}}", "weight_map.w9: the shard holds no tensor of this name"},
        {"{\"weight_map\":{\"w0\":\"c.safetensors\"}}", "m/c.safetensors: "},
        {"{\"weight_map\":{\"w0\":\"a.safetensors\",\"w0\":\"a.safetensors\"}}", "duplicate object key"},
        {"{\"weight_map\":{\"w0\":\"model.safetensors.index.json\"}}", "index.json: a header of"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_index(cases[i].json);
        assert_false(open_shards(cx, NULL, 0));
        EXPECT_SENTENCE(cx, cases[i].part);
    }
    unlink(in_folder("m/model.safetensors.index.json"));
    assert_false(open_shards(cx, NULL, 0));
    EXPECT_SENTENCE(cx, "m: holds neither model.safetensors nor model.safetensors.index.json");
    remove_shards();
    close_context(cx);
}

/* ---- hostility ---- */

static bool look_at_all(heed_ctx *cx, const void *bytes, size_t size) {
    heed_safetensors *st = heed_safetensors_parse(cx, "m", bytes, size);
    bool good = st;
    unsigned sum = 0;
    for (int64_t i = 0; good && i < heed_safetensors_count(st); i++) {
        const heed_array *a = heed_safetensors_get(cx, st, i);
        good = a;
        if (!a) break;
        const size_t n = (size_t)heed_array_count(a) * heed_dtype_size(a->dtype);
        for (size_t k = 0; k < n; k++) sum += ((const unsigned char *)a->data)[k];
        assert_int_equal(heed_safetensors_find(cx, st, a->name), i);
    }
    assert_true(sum < 1u << 20);
    heed_safetensors_close(st);
    return good;
}

static void test_hostile(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    unsigned char file[1024];
    const size_t size = two_file(file);
    assert_true(parse_exact(cx, look_at_all, file, size));
    assert_int_equal(truncate_everywhere(cx, look_at_all, file, size), 0);
    mutate_often(cx, look_at_all, file, size, 10000);
    close_context(cx);
}

static bool write_one(heed_ctx *cx, const void *bytes, size_t size) {
    const heed_array a = {.name = "w", .dtype = HEED_U8, .rank = 1, .shape = {(int64_t)size}, .data = bytes};
    return heed_safetensors_write(cx, in_folder("s.safetensors"), &a, 1, (heed_pair[]){{"k", "v"}}, 1);
}

static bool open_one(heed_ctx *cx, const void *bytes, size_t size) {
    (void)bytes, (void)size;
    heed_safetensors *st = heed_safetensors_open(cx, in_folder("s.safetensors"));
    heed_safetensors_close(st);
    return st;
}

static void test_memory(void **state) {
    (void)state;
    _Alignas(8) unsigned char file[1024];
    starve(look_at_all, file + 1, two_file(file + 1));
    starve(look_at_all, file, two_file(file));
    starve(write_one, "abc", 3);
    starve(open_one, NULL, 0);
    assert_int_equal(unlink(in_folder("s.safetensors")), 0);
    heed_ctx *cx = open_context();
    write_shards(cx);
    close_context(cx);
    starve(open_shards, NULL, 0);
    remove_shards();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read),    cmocka_unit_test(test_read_file),      cmocka_unit_test(test_read_python),
        cmocka_unit_test(test_empty),   cmocka_unit_test(test_refusals),       cmocka_unit_test(test_null),
        cmocka_unit_test(test_write),   cmocka_unit_test(test_write_refusals), cmocka_unit_test(test_shards),
        cmocka_unit_test(test_hostile), cmocka_unit_test(test_shard_refusals), cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
