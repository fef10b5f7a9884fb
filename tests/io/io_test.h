/* What the tests of the readers share: a context with books kept, files to throw away, and the ways to be hostile. */
#ifndef TESTS_IO_TEST_H
#define TESTS_IO_TEST_H

#include "heed/io.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../base/counting.h"
#include "../folder.h"

#define UNUSED __attribute__((unused))

static struct counting books;

static UNUSED heed_ctx *open_context(void) {
    books = (struct counting){0};
    heed_ctx *cx = heed_open(&(heed_config){.threads = 1, .alloc = counting_alloc, .user = &books});
    assert_false(heed_failed(cx));
    return cx;
}

static UNUSED void close_context(heed_ctx *cx) {
    if (heed_failed(cx)) print_error("unexpected: %s\n", heed_message(cx));
    assert_false(heed_failed(cx));
    heed_close(cx);
    assert_int_equal(books.blocks, 0);
    assert_int_equal(books.mistakes, 0);
}

/* The context must have failed with a sentence that holds `part`; it is cleared. */
static UNUSED void expect_sentence(heed_ctx *cx, const char *part, const char *file, int line) {
    if (!heed_failed(cx) || !strstr(heed_message(cx), part)) {
        print_error("expected '%s', found '%s'\n", part, heed_message(cx));
        _fail(file, line);
    }
    heed_clear(cx);
}
#define EXPECT_SENTENCE(cx, part) expect_sentence(cx, part, __FILE__, __LINE__)

/* ---- files ---- */

static UNUSED void write_bytes(const char *path, const void *bytes, size_t size) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

static UNUSED char *read_bytes(const char *path, size_t *size) {
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    char *bytes = malloc(1 << 20);
    *size = fread(bytes, 1, 1 << 20, f);
    fclose(f);
    return bytes;
}

/* ---- hostility ---- */

/* Parses, looks at everything, frees; whether the bytes were accepted. */
typedef bool (*parse_fn)(heed_ctx *cx, const void *bytes, size_t size);

/* In a block of exactly its size, so that ASan sees a byte read too many. */
static UNUSED bool parse_exact(heed_ctx *cx, parse_fn parse, const void *bytes, size_t size) {
    char *copy = malloc(size ? size : 1);
    memcpy(copy, bytes, size);
    const size_t blocks = books.blocks;
    const bool accepted = parse(cx, copy, size);
    assert_int_equal(accepted, !heed_failed(cx));
    assert_int_equal(heed_message(cx)[0] == 0, accepted);
    assert_int_not_equal(heed_error(cx), HEED_ERR_MEMORY);
    assert_int_equal(books.blocks, blocks);
    heed_clear(cx);
    free(copy);
    return accepted;
}

/* Cut at every byte; returns how many of the stumps were accepted. */
static UNUSED int truncate_everywhere(heed_ctx *cx, parse_fn parse, const void *bytes, size_t size) {
    int accepted = 0;
    for (size_t n = 0; n < size; n++) accepted += parse_exact(cx, parse, bytes, n);
    return accepted;
}

/* Some bytes changed, a piece removed, or a piece repeated; the same every time. */
static UNUSED void mutate_often(heed_ctx *cx, parse_fn parse, const void *bytes, size_t size, int rounds) {
    unsigned char *copy = malloc(2 * size + 1);
    uint64_t at = 0;
#define DRAW(n) ((size_t)(heed_random_bits(7, 1, at++) % (n)))
    for (int i = 0; i < rounds; i++) {
        size_t n = size;
        memcpy(copy, bytes, size);
        const size_t kind = DRAW(4), from = DRAW(size), length = 1 + DRAW(size - from);
        if (kind == 0) {
            memmove(copy + from, copy + from + length, size - from - length);
            n -= length;
        } else if (kind == 1) {
            memmove(copy + from + length, copy + from, size - from);
            n += length;
        }
        static const char favourites[] = "\0\xFF{}[]\",:0129-.eE\n\r\t ";
        for (size_t k = 1 + DRAW(3); k-- > 0 && n > 0;) {
            const size_t where = DRAW(n);
            copy[where] = DRAW(2) ? (unsigned char)DRAW(256) : (unsigned char)favourites[DRAW(sizeof favourites)];
        }
        parse_exact(cx, parse, copy, n);
    }
#undef DRAW
    free(copy);
}

/* Refuses the first request for memory, then the second, ... until the call gets by without the refused one. */
static UNUSED void starve(parse_fn parse, const void *bytes, size_t size) {
    for (int64_t n = 1;; n++) {
        heed_ctx *cx = open_context();
        const size_t blocks = books.blocks;
        books.fail_at = books.requests + n;
        const bool accepted = parse(cx, bytes, size);
        const bool refused = books.requests >= books.fail_at;
        assert_int_equal(accepted, !refused);
        assert_int_equal(heed_error(cx), refused ? HEED_ERR_MEMORY : HEED_OK);
        assert_int_equal(books.blocks, blocks);
        heed_clear(cx);
        close_context(cx);
        if (!refused) return;
        assert_true(n < 10000);
    }
}

/* Whole, cut, changed `rounds` times, and starved. The bytes as they are must be accepted. */
static UNUSED void torment(parse_fn parse, const void *bytes, size_t size, int rounds) {
    heed_ctx *cx = open_context();
    assert_true(parse_exact(cx, parse, bytes, size));
    truncate_everywhere(cx, parse, bytes, size);
    mutate_often(cx, parse, bytes, size, rounds);
    close_context(cx);
    starve(parse, bytes, size);
}

/* A step of any work on a context of its own, the N-th request for memory refused, for every N: a sentence, no leak,
 * and the same context takes the step afterwards. At least `least` refusals must have been met. */
static UNUSED void starve_step(bool (*step)(heed_ctx *cx), int least) {
    int failures = 0;
    bool done = false;
    for (int64_t n = 1; !done; n++) {
        struct counting kept = {.fail_at = n};
        heed_ctx *cx = heed_open(&(heed_config){.threads = 1, .alloc = counting_alloc, .user = &kept});
        done = cx && step(cx);
        if (!done && cx) {
            failures++;
            assert_int_equal(heed_error(cx), HEED_ERR_MEMORY);
            heed_clear(cx);
            assert_true(step(cx));
        }
        heed_close(cx);
        assert_int_equal(kept.blocks, 0);
        assert_int_equal(kept.mistakes, 0);
    }
    assert_true(failures >= least);
}

#endif
