/* The checks and the units that BLEU and chrF share. */
#include "base/checked.h"
#include "io/text.h"
#include "text/metrics/bleu.h"

static bool check_lines(heed_ctx *cx, const char *what, const char *name, int number, const heed_lines *l) {
    if (!l->start || (!l->text && l->count > 0) || l->count < 0)
        return heed_fail(cx, HEED_ERR_USAGE, "%s: %s %d has no lines", what, name, number);
    for (int64_t i = 0; i < l->count; i++) {
        const size_t bad = utf8_bad(heed_line_text(l, i), heed_line_size(l, i));
        if (bad != heed_line_size(l, i))
            return heed_fail(cx, HEED_ERR_FORMAT, "%s: %s %d: line %lld: byte %zu is not UTF-8", what, name, number,
                             (long long)i + 1, bad + 1);
    }
    return true;
}

bool bleu_check(heed_ctx *cx, const char *what, const heed_lines *hypothesis, const heed_lines *references,
                int n_references) {
    if (!hypothesis || !references || n_references < 1)
        return heed_fail(cx, HEED_ERR_USAGE, "%s: a hypothesis and at least one reference are needed", what);
    if (hypothesis->count == 0) return heed_fail(cx, HEED_ERR_USAGE, "%s: the hypothesis is empty", what);
    if (!check_lines(cx, what, "hypothesis", 1, hypothesis)) return false;
    for (int i = 0; i < n_references; i++) {
        if (references[i].count != hypothesis->count)
            return heed_fail(cx, HEED_ERR_SHAPE, "%s: the hypothesis has %lld lines, reference %d has %lld", what,
                             (long long)hypothesis->count, i + 1, (long long)references[i].count);
        if (!check_lines(cx, what, "reference", i + 1, &references[i])) return false;
    }
    return true;
}

static bool begin_units(struct units *u, const heed_string *text, size_t gap) {
    const size_t need = text->size + 2; /* no unit is empty */
    u->s = text->s;
    u->gap = gap;
    u->count = 0;
    if (need <= u->room) return true;
    size_t bytes;
    size_t *larger = size_mul(need, sizeof *larger, &bytes) ? heed_mem_resize(u->cx, u->start, bytes) : NULL;
    if (!larger) return heed_fail(u->cx, HEED_ERR_MEMORY, "bleu: a line is too long");
    u->start = larger;
    u->room = need;
    return true;
}

bool units_words(struct units *u, const heed_string *text) {
    if (!begin_units(u, text, 1)) return false;
    for (size_t i = 0; i < text->size; i++)
        if (i == 0 || text->s[i - 1] == ' ') u->start[u->count++] = i;
    u->start[u->count] = text->size + 1;
    return true;
}

bool units_characters(struct units *u, const heed_string *text) {
    if (!begin_units(u, text, 0)) return false;
    for (size_t i = 0; i < text->size; i++)
        if ((text->s[i] & 0xC0) != 0x80) u->start[u->count++] = i;
    u->start[u->count] = text->size;
    return true;
}

void units_free(struct units *u) { heed_mem_free(u->cx, u->start); }
