/* The page of attention as a file: what is in it comes back, whatever the tokens hold; sentences for nonsense. What it
 * does in a browser is tested by tests/cli/attend_page.sh. */
#include "heed/attend.h"
#include "heed/io.h"
#include "heed/plot.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../context.h"
#include "../folder.h"
#include "base/counting.h"
#include "base/file.h"

enum { BATCH = 2, HEADS = 3, ROWS = 4, KEYS = 5, LAYERS = 2, SIZE = HEADS * ROWS * KEYS };

static float weights[LAYERS][BATCH * SIZE];
static heed_capture_map maps[LAYERS];
static const char *const queries[ROWS] = {"<pad>", "\u2581das", "</script><script>alert(1)</script>",
                                          "a\"b\\c\n\t\x01"};
static const char *const keys[KEYS] = {"the", "<!-- end of data -->", "\u00fcber", "\U0001F426", "&lt;'"};
static const char *const next[ROWS] = {"\u2581das", NULL, "", "</s>"};
static const heed_axis query_axis = {.n = ROWS, .tokens = queries, .next = next},
                       key_axis = {.n = KEYS, .tokens = keys};

static int set_up(void **state) {
    for (int l = 0; l < LAYERS; l++) {
        for (int i = 0; i < BATCH * SIZE; i++) weights[l][i] = (float)((i * 7 + l) % 113) / 112;
        maps[l] = (heed_capture_map){.site = "cross",
                                     .layer = l + 3,
                                     .batch = BATCH,
                                     .heads = HEADS,
                                     .rows = ROWS,
                                     .keys = KEYS,
                                     .weights = weights[l]};
    }
    return open_cx(state) || make_folder(state);
}

static int tear_down(void **state) { return close_cx(state) || wipe_folder(state); }

static heed_attended_site site(void) {
    return (heed_attended_site){
        .name = "cross", .queries = &query_axis, .keys = &key_axis, .maps = maps, .n_maps = LAYERS};
}

static char *page_at(const char *path) {
    size_t size;
    char *text = (char *)file_read(cx, path, SIZE_MAX / 2, &size);
    assert_non_null(text);
    return text;
}

/* What the element of that id holds, up to the first end of a script, as a browser sees it. */
static char *element(const char *page, const char *id) {
    char mark[64];
    snprintf(mark, sizeof mark, "id=\"%s\">", id);
    const char *from = strstr(page, mark);
    assert_non_null(from);
    from += strlen(mark);
    const char *to = strstr(from, "</script>");
    assert_non_null(to);
    return strndup(from, (size_t)(to - from));
}

static size_t decode(const char *text, unsigned char *out) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t n = 0;
    unsigned bits = 0, have = 0;
    for (; *text && *text != '='; text++) {
        const char *at = strchr(letters, *text);
        assert_non_null(at);
        bits = bits << 6 | (unsigned)(at - letters);
        have += 6;
        if (have >= 8) out[n++] = (unsigned char)(bits >> (have -= 8));
    }
    return n;
}

static void same_names(heed_json list, const char *const *names, int64_t n) {
    assert_int_equal(heed_json_count(list), n);
    for (int64_t i = 0; i < n; i++)
        assert_string_equal(heed_json_text(cx, heed_json_item(cx, list, i), NULL), names[i] ? names[i] : "");
}

static void words(void **state) {
    (void)state;
    const heed_attended_site sites[2] = {site(), {.name = "b", .title = "<t>", .maps = maps, .n_maps = 1}};
    const char *const lines[] = {"one </script>", "two"};
    const char *path = in_folder("a.html");
    assert_true(heed_attention_page(
        cx, path, sites, 2,
        &(heed_attention_page_opts){
            .title = "<title> & \"more\"", .lines = lines, .n_lines = 2, .site = 1, .head = 2, .single = true}));
    char *page = page_at(path), *text = element(page, "data");
    assert_null(strchr(text, '<'));
    const heed_json doc = heed_json_parse(cx, "data", text, strlen(text));
    assert_string_equal(heed_json_text(cx, doc, "title"), "<title> & \"more\"");
    same_names(heed_json_array(cx, doc, "lines"), lines, 2);
    assert_int_equal(heed_json_int(cx, doc, "scale"), 65535);
    const heed_json start = heed_json_object(cx, doc, "start"), list = heed_json_array(cx, doc, "sites");
    assert_int_equal(heed_json_int(cx, start, "site"), 1);
    assert_int_equal(heed_json_int(cx, start, "head"), 2);
    const heed_json first = heed_json_item(cx, list, 0), second = heed_json_item(cx, list, 1);
    same_names(heed_json_array(cx, first, "queries"), queries, ROWS);
    same_names(heed_json_array(cx, first, "keys"), keys, KEYS);
    same_names(heed_json_array(cx, first, "next"), next, ROWS);
    assert_int_equal(heed_json_int(cx, first, "heads"), HEADS);
    assert_int_equal(heed_json_int(cx, heed_json_item(cx, heed_json_array(cx, first, "layers"), 1), NULL), 4);
    assert_int_equal(heed_json_kind_of(heed_json_find(cx, second, "queries")), HEED_JSON_NONE);
    assert_int_equal(heed_json_int(cx, second, "n_keys"), KEYS);
    assert_string_equal(heed_json_text(cx, second, "title"), "<t>");
    assert_string_equal(heed_message(cx), "");
    heed_json_free(doc);
    assert_null(strstr(page, "A sample")); /* the page's own sample has gone, all else is there */
    assert_non_null(strstr(page, "<title>&#60;title&#62; &#38; \"more\": one &#60;/script&#62;</title>"));
    assert_non_null(strstr(page, "<!DOCTYPE html>"));
    assert_non_null(strstr(page, "</html>"));
    free(text);
    heed_mem_free(cx, page);
}

static void numbers(void **state) {
    (void)state;
    const heed_attended_site s = site();
    const char *path = in_folder("a.html");
    float *w = weights[1] + SIZE; /* of the second sequence */
    w[0] = NAN, w[1] = -1, w[2] = 2, w[3] = INFINITY, w[4] = 1;
    assert_true(heed_attention_page(cx, path, &s, 1, &(heed_attention_page_opts){.batch = 1}));
    char *page = page_at(path);
    for (int l = 0; l < LAYERS; l++) {
        unsigned char bytes[4 * SIZE];
        char *text = element(page, l ? "w0-1" : "w0-0");
        assert_int_equal(strlen(text) % 4, 0);
        assert_int_equal(decode(text, bytes), 2 * SIZE);
        for (int i = 0; i < SIZE; i++) {
            const double got = (bytes[2 * i] | bytes[2 * i + 1] << 8) / 65535.0, real = (double)weights[l][SIZE + i];
            const double wanted = real > 0 ? fmin(real, 1) : 0;
            if (!(fabs(got - wanted) <= 0.5001 / 65535)) fail_msg("weight %d of %d: %g, not %g", i, l, got, wanted);
        }
        free(text);
    }
    heed_mem_free(cx, page);
}

/* Of byte-level BPE the labels; segments and words of the one axis of queries and keys, and of no other. */
static void one_axis(void **state) {
    (void)state;
    static const char *const tokens[] = {"a", "\u0120b"}, *const labels[] = {"a", "b"};
    static const int32_t segments[] = {0, 1}, of_words[] = {0, 0};
    const float w[] = {1, 0, 0.5f, 0.5f};
    const heed_axis axis = {.n = 2, .tokens = tokens, .labels = labels, .segments = segments, .words = of_words},
                    other = axis;
    const heed_capture_map m = {.batch = 1, .heads = 1, .rows = 2, .keys = 2, .weights = w};
    const heed_attended_site sites[] = {{.name = "a", .queries = &axis, .keys = &axis, .maps = &m, .n_maps = 1},
                                        {.name = "b", .queries = &axis, .keys = &other, .maps = &m, .n_maps = 1}};
    const char *path = in_folder("a.html");
    assert_true(heed_attention_page(cx, path, sites, 2, NULL));
    char *page = page_at(path);
    assert_non_null(strstr(page, "{\"name\":\"a\",\"queries\":[\"a\",\"b\"],\"keys\":[\"a\",\"b\"],\"segments\":[0,1],"
                                 "\"words\":[0,0],\"n_queries\":2"));
    assert_non_null(strstr(page, "{\"name\":\"b\",\"queries\":[\"a\",\"b\"],\"keys\":[\"a\",\"b\"],\"n_queries\":2"));
    heed_mem_free(cx, page);
}

/* So many weights that a byte each must do. */
static void many(void **state) {
    (void)state;
    enum { N = 4100 };
    float *w = calloc((size_t)N * N, sizeof *w);
    assert_non_null(w);
    w[0] = 1, w[1] = 0.5f, w[(size_t)N * N - 1] = 0.25f;
    const heed_capture_map m = {.batch = 1, .heads = 1, .rows = N, .keys = N, .weights = w};
    const heed_attended_site s = {.name = "large", .maps = &m, .n_maps = 1};
    const char *path = in_folder("a.html");
    assert_true(heed_attention_page(cx, path, &s, 1, NULL));
    char *page = page_at(path), *text = element(page, "w0-0");
    unsigned char *bytes = malloc((size_t)N * N + 4);
    assert_non_null(strstr(page, "\"scale\":255,"));
    assert_int_equal(decode(text, bytes), N * N);
    assert_true(bytes[0] == 255 && bytes[1] == 128 && bytes[2] == 0 && bytes[N * N - 1] == 64);
    free(bytes);
    free(text);
    free(w);
    heed_mem_free(cx, page);
}

static void fails(const heed_attended_site *sites, int n, const heed_attention_page_opts *opts, const char *sentence) {
    const char *path = in_folder("bad.html");
    assert_false(heed_attention_page(cx, path, sites, n, opts));
    assert_string_equal(heed_message(cx), sentence);
    assert_int_not_equal(access(path, F_OK), 0);
    heed_clear(cx);
}

static void nonsense(void **state) {
    (void)state;
    heed_attended_site s = site();
    fails(NULL, 1, NULL, "attention_page: 1 sites: must be 1 to 9");
    fails(&s, 0, NULL, "attention_page: 0 sites: must be 1 to 9");
    fails(&s, 1, &(heed_attention_page_opts){.batch = 2}, "attention_page: sequence 2 of a batch of 2");
    fails(&s, 1, &(heed_attention_page_opts){.head = 3},
          "attention_page: site 0, map 0, head 3 cannot be open at first");
    fails(&s, 1, &(heed_attention_page_opts){.layer = -1},
          "attention_page: site 0, map -1, head 0 cannot be open at first");
    fails(&s, 1, &(heed_attention_page_opts){.n_lines = 1}, "attention_page: there are no lines");
    fails(&s, 1, &(heed_attention_page_opts){.title = "\xff"}, "attention_page: '\\xFF' is not UTF-8 at byte 0");
    const char *const holes[KEYS] = {"a", NULL};
    s.keys = &(heed_axis){.n = KEYS, .tokens = holes};
    fails(&s, 1, NULL, "attention_page: token 1 has no name");
    s.keys = &query_axis;
    fails(&s, 1, NULL, "attention_page: the axes of 'cross' are not of its maps' size");
    s = site();
    s.n_maps = 0;
    fails(&s, 1, NULL, "attention_page: a site needs a name and 1 to 4096 maps");
    s = site();
    maps[1].keys = 4;
    fails(&s, 1, NULL, "attention_page: the layers of 'cross' are not of one size");
    maps[1].keys = INT64_MAX;
    fails(&s, 1, NULL, "attention_page: no map can be (2,3,4,9223372036854775807)");
    maps[1].keys = KEYS;
    maps[1].weights = NULL;
    fails(&s, 1, NULL, "attention_page: a map of 'cross' has no weights");
    assert_false(heed_attention_page(NULL, "x", &s, 1, NULL));
    maps[1].weights = weights[1];
    assert_false(heed_attention_page(cx, NULL, &s, 1, NULL));
    heed_clear(cx);
    assert_false(heed_attention_page(cx, in_folder("no/such.html"), &s, 1, NULL));
    assert_non_null(strstr(heed_message(cx), "no/such.html: No such file or directory"));
    heed_clear(cx);
}

/* Every allocation fails once; nothing is lost, and no file is left. */
static void no_memory(void **state) {
    (void)state;
    bool done = false;
    for (int64_t n = 1; !done && n < 100; n++) {
        struct counting c = {.fail_at = n};
        heed_ctx *small = heed_open(&(heed_config){.threads = 1, .alloc = counting_alloc, .user = &c});
        if (!small) continue;
        const heed_attended_site s = site();
        const char *path = in_folder("small.html");
        done = heed_attention_page(small, path, &s, 1, NULL);
        assert_int_equal(access(path, F_OK) == 0, done);
        heed_close(small);
        assert_true(c.live == 0 && c.blocks == 0 && c.mistakes == 0);
    }
    assert_true(done);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(words, set_up, tear_down),
        cmocka_unit_test_setup_teardown(numbers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_axis, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nonsense, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_memory, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
