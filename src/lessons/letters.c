/* Texts to be learnt letter by letter. */
#include "lessons/letters.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define HELD_OUT 0.1 /* of a text of one's own */

bool letters_grammar(struct lesson_run *r, int64_t lines, int64_t held_out, struct letters *l) {
    heed_string german = {0};
    for (int part = 0; part < 2; part++) {
        const heed_grammar g = {.seed = 1, .part = part ? HEED_GRAMMAR_HELD_OUT : HEED_GRAMMAR_TRAIN};
        for (int64_t i = 0; i < (part ? held_out : lines) && !heed_failed(r->cx); i++) {
            german.size = 0;
            heed_grammar_pair(r->cx, &g, (uint64_t)i, &l->text[part], &german, NULL);
            heed_string_put(r->cx, &l->text[part], "\n", 1);
        }
    }
    heed_string_free(r->cx, &german);
    return !heed_failed(r->cx);
}

bool letters_sonnets(struct lesson_run *r, struct letters *l) {
    for (int part = 0; part < 2; part++)
        for (const char *const *s = part ? sonnets_held_out : sonnets; *s; s++)
            if (!heed_string_put(r->cx, &l->text[part], *s, strlen(*s))) return false;
    return true;
}

bool letters_file(struct lesson_run *r, struct letters *l) {
    heed_lines lines = {0};
    if (!heed_lines_read(r->cx, r->data, &lines)) return false;
    const int64_t first = (int64_t)((1 - HELD_OUT) * (double)lines.count);
    for (int64_t i = 0; i < lines.count && !heed_failed(r->cx); i++) {
        heed_string *to = &l->text[i >= first];
        heed_string_put(r->cx, to, heed_line_text(&lines, i), heed_line_size(&lines, i));
        heed_string_put(r->cx, to, "\n", 1);
    }
    heed_lines_free(r->cx, &lines);
    if (!heed_failed(r->cx) && (l->text[0].size < 1000 || l->text[1].size < 100))
        heed_fail(r->cx, HEED_ERR_RANGE, "%s: too short: some thousand letters are needed", r->data);
    return !heed_failed(r->cx);
}

bool letters_encode(struct lesson_run *r, struct letters *l) {
    int64_t start[2] = {0, (int64_t)l->text[0].size + 1};
    const heed_lines whole = {.text = l->text[0].s, .start = start, .count = 1};
    l->tokens = heed_tokenizer_train(r->cx, (const heed_lines *const[]){&whole}, 1,
                                     &(heed_tokenizer_opts){.kind = HEED_TOKENS_CHAR, .unk = "<unk>"});
    for (int i = 0; i < 2; i++)
        if (!l->tokens || !heed_encode(r->cx, l->tokens, l->text[i].s, l->text[i].size, false, &l->ids[i]))
            return false;
    return true;
}

/* ---- words ---- */

static bool in_word(char c) { return isalpha((unsigned char)c) || ((unsigned char)c & 0x80) || c == '\''; }

/* The next word of a text, which is cut off behind it; *text: what follows. NULL: there is none. */
static char *next_word(char **text) {
    char *at = *text;
    while (*at && !in_word(*at)) at++;
    char *const word = at;
    while (in_word(*at)) at++;
    *text = *at ? at + 1 : at;
    if (*word) *at = 0;
    return *word ? word : NULL;
}

static int compare_words(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

bool letters_words(struct lesson_run *r, struct letters *l) {
    char *text = lesson_text(r, l->text[0].s, 0);
    l->words = lesson_room(r, (int64_t)l->text[0].size / 2 + 1, sizeof *l->words);
    for (char *word; text && l->words && (word = next_word(&text));) l->words[l->n_words++] = word;
    if (l->words) qsort(l->words, (size_t)l->n_words, sizeof *l->words, compare_words);
    return !heed_failed(r->cx);
}

float letters_known(struct lesson_run *r, const struct letters *l, const char *text) {
    char *rest = lesson_text(r, text, 0);
    int64_t all = 0, known = 0;
    for (char *word; rest && (word = next_word(&rest)) && *rest; all++)
        known += bsearch(&word, l->words, (size_t)l->n_words, sizeof *l->words, compare_words) != NULL;
    return all ? 100 * (float)known / (float)all : 0;
}

void letters_free(struct lesson_run *r, struct letters *l) {
    heed_tokenizer_free(r->cx, l->tokens);
    for (int i = 0; i < 2; i++) {
        heed_string_free(r->cx, &l->text[i]);
        heed_ids_free(r->cx, &l->ids[i]);
    }
}
