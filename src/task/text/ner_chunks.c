#include "task/text/ner_chunks.h"
#include <string.h>

bool chunks_named(char **names) {
    bool some = false;
    for (; *names; names++) {
        if (strcmp(*names, "O") == 0) continue;
        if (!**names || !strchr("BIES", **names) || (*names)[1] != '-' || !(*names)[2]) return false;
        some = true;
    }
    return some;
}

static const char *name_of(char **names, const int32_t *tag, int64_t n, int64_t i) {
    return i >= 0 && i < n && tag[i] >= 0 ? names[tag[i]] : "O";
}

static const char *type_of(const char *name) { return name[1] ? name + 2 : ""; }

/* Where tags change, a chunk ends or begins, as conlleval has it: a type that changes ends one and begins another, and
 * I- behind nothing begins one. */
static bool ends(const char *before, const char *now) {
    if (*before == 'E' || *before == 'S') return true;
    if ((*before == 'B' || *before == 'I') && strchr("BSO", *now)) return true;
    return *before != 'O' && strcmp(type_of(before), type_of(now)) != 0;
}

static bool begins(const char *before, const char *now) {
    if (*now == 'B' || *now == 'S') return true;
    if (strchr("ESO", *before) && (*now == 'E' || *now == 'I')) return true;
    return *now != 'O' && strcmp(type_of(before), type_of(now)) != 0;
}

bool chunks_next(char **names, const int32_t *tag, int64_t n, int64_t *at, struct chunk *found) {
    for (; *at < n; (*at)++) {
        const char *now = name_of(names, tag, n, *at);
        if (!begins(name_of(names, tag, n, *at - 1), now)) continue;
        int64_t end = *at + 1;
        while (!ends(name_of(names, tag, n, end - 1), name_of(names, tag, n, end))) end++;
        *found = (struct chunk){type_of(now), *at, end - 1};
        *at = end;
        return true;
    }
    return false;
}

void chunks_count(char **names, const int32_t *truth, const int32_t *said, int64_t n, struct chunk_counts *counts) {
    struct chunk c, same;
    int64_t at = 0, other = 0;
    bool more = chunks_next(names, said, n, &other, &same);
    for (int64_t k = 0; chunks_next(names, truth, n, &k, &c);) {
        counts->truth++;
        while (more && same.first < c.first) more = chunks_next(names, said, n, &other, &same);
        counts->right += more && same.first == c.first && same.last == c.last && strcmp(same.type, c.type) == 0;
    }
    while (chunks_next(names, said, n, &at, &c)) counts->said++;
}
