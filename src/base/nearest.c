/* "Did you mean": the nearest of a list of names. */
#include "base/text.h"
#include <string.h>

#define WORD_MAX 32 /* longer words are not looked up */

static int least(int a, int b) { return a < b ? a : b; }

/* Optimal string alignment: insertions, deletions, substitutions and swaps of neighbours, each 1. Three rows suffice.
 */
static int edit_distance(const char *a, int a_length, const char *b, int b_length) {
    int rows[3][WORD_MAX + 1], *before = rows[0], *last = rows[1], *row = rows[2];
    for (int j = 0; j <= b_length; j++) last[j] = j;
    for (int i = 1; i <= a_length; i++) {
        row[0] = i;
        for (int j = 1; j <= b_length; j++) {
            const int substitution = last[j - 1] + (a[i - 1] != b[j - 1]);
            row[j] = least(substitution, least(last[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], before[j - 2] + 1);
        }
        int *const spare = before;
        before = last, last = row, row = spare;
    }
    return last[b_length];
}

/* How far a word is from a name: from all of it, or, counted as one slip more, from what it begins with, or from one of
 * its parts ("nadarya" and "nadaraya-watson"). */
static int distance_to(const char *word, int length, const char *name) {
    const int name_length = (int)strlen(name);
    if (name_length > WORD_MAX) return WORD_MAX;
    int nearest = edit_distance(word, length, name, name_length);
    if (length >= 3 && strncmp(word, name, (size_t)length) == 0) nearest = least(nearest, 1);
    if (!strchr(name, '-')) return nearest;
    for (const char *part = name; *part;) {
        const int n = (int)strcspn(part, "-");
        if (n > 2) nearest = least(nearest, edit_distance(word, length, part, n) + 1);
        part += n;
        part += *part == '-';
    }
    return nearest;
}

const char *text_nearest(const char *word, const char *const *names, int n) {
    const size_t length = strlen(word);
    if (length > WORD_MAX) return NULL;
    const char *nearest = NULL;
    int nearest_distance = (int)length / 3 + 2; /* one slip in a short word, more in a longer one */
    for (int i = 0; i < n; i++) {
        const int distance = distance_to(word, (int)length, names[i]);
        if (distance < nearest_distance && distance < (int)strlen(names[i]))
            nearest = names[i], nearest_distance = distance;
    }
    return nearest;
}
