/* Tokenizers: encoding with one of each kind, many lines on threads, long lines, and loading a large file. k: which
 * kind. */
#include "bench.h"
#include <stdio.h>
#include <string.h>

static const char *file_of(struct bench *b) {
    static char path[4096];
    snprintf(path, sizeof path, "%s/tokenizer-%d.json", b->folder, (int)b->k);
    return path;
}

static void tokens_setup(struct bench *b) {
    char path[4096];
    snprintf(path, sizeof path, "%s/text.txt", b->folder);
    heed_lines_read(b->cx, path, &b->lines);
    b->tokenizer = heed_tokenizer_load(b->cx, file_of(b));
}

/* With offsets, as the peer gives them. */
static void tokens_offsets(struct bench *b) {
    heed_encoding e = {0};
    for (int64_t i = 0; b->tokenizer && i < b->lines.count; i++)
        heed_encode_text(b->cx, b->tokenizer, heed_line_text(&b->lines, i), heed_line_size(&b->lines, i), NULL, &e);
    heed_encoding_free(b->cx, &e);
}

/* Ids alone, as encode_batch_fast gives them. */
static void tokens_lines(struct bench *b) {
    heed_ids ids = {0};
    int64_t *start = heed_mem_new(b->cx, (size_t)(b->lines.count + 1) * sizeof *start);
    if (start) heed_encode_lines(b->cx, b->tokenizer, &b->lines, true, &ids, start);
    heed_ids_free(b->cx, &ids);
    heed_mem_free(b->cx, start);
}

/* ---- one long line ---- m: its bytes; n: what it is made of */

enum { PROSE, MARKS, ADDED };

static bool put_more(struct bench *b, const heed_lines *prose, heed_string *to) {
    if (b->n == MARKS) return heed_string_put(b->cx, to, to->size % 8 ? "\xCC\xA3" : "\xCC\x81", 2);
    if (b->n == ADDED) return heed_string_put(b->cx, to, "xxxxxxxxxxxxxxxx", 16);
    for (int64_t i = 0; i < prose->count; i++)
        if (!heed_string_put(b->cx, to, heed_line_text(prose, i), heed_line_size(prose, i)) ||
            !heed_string_put(b->cx, to, " ", 1))
            return false;
    return true;
}

static void long_setup(struct bench *b) {
    heed_lines prose = {0};
    heed_string text = {0};
    char path[4096];
    snprintf(path, sizeof path, "%s/text.txt", b->folder);
    bool ok = b->n != PROSE || heed_lines_read(b->cx, path, &prose);
    while (ok && text.size < (size_t)b->m) ok = put_more(b, &prose, &text);
    heed_lines_free(b->cx, &prose);
    if (ok) heed_lines_cut(b->cx, &text, &b->lines);
    heed_string_free(b->cx, &text);
    b->tokenizer = heed_tokenizer_load(b->cx, file_of(b));
}

static void load_setup(struct bench *b) { (void)b; }
static void load(struct bench *b) { heed_tokenizer_free(b->cx, heed_tokenizer_load(b->cx, file_of(b))); }

const struct workload tokens_workloads[] = {
    {"tokens_offsets", tokens_setup, tokens_offsets, true},
    {"tokens_lines", tokens_setup, tokens_lines, true},
    {"tokens_long", long_setup, tokens_offsets, true},
    {"tokens_load", load_setup, load, true},
    {0},
};
