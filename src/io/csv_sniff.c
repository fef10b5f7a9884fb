/* Which delimiter a table has. Each candidate is counted in the first rows: the right one occurs equally often in all
 * of them. Of several that do, tab and semicolon come before the comma, which may be their decimal mark. */
#include "io/csv.h"
#include "io/text.h"

#include <string.h>

enum { CANDIDATES = 4, ROWS = 64, LONGEST_WORD = 63 };
static const char candidates[CANDIDATES + 1] = "\t;,|";

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

/* The end of the row at s: a new line outside quotes, or the end of the text. `count`: how often each candidate occurs
 * outside quotes. */
static const char *count_row(const char *s, bool quotes, size_t count[CANDIDATES]) {
    bool quoted = false;
    memset(count, 0, CANDIDATES * sizeof *count);
    for (; *s && (quoted || *s != '\n'); s++) {
        if (*s == '"' && quotes) quoted = !quoted;
        const char *found = quoted ? NULL : strchr(candidates, *s);
        if (found) count[found - candidates]++;
    }
    return s;
}

/* How many words a line has, a quoted one being one; *number: whether one is a number. */
static size_t count_words(const char **at, bool quotes, bool *number) {
    size_t n = 0;
    const char *s = *at;
    *number = false;
    while (true) {
        while (is_blank(*s) || *s == '\r') s++;
        if (!*s || *s == '\n') break;
        const char *word = s;
        for (bool quoted = false; *s && *s != '\n' && *s != '\r' && (quoted || !is_blank(*s)); s++)
            if (*s == '"' && quotes) quoted = !quoted;
        const size_t length = (size_t)(s - word);
        if (length <= LONGEST_WORD) {
            char copy[LONGEST_WORD + 1];
            double value;
            bool range;
            memcpy(copy, word, length);
            copy[length] = 0;
            *number |= number_read(copy, &value, &range) || number_read_as(copy, ',', &value, &range);
        }
        n++;
    }
    *at = *s ? s + 1 : s;
    return n;
}

/* Words in lines of equal length, with a number in each but the first: text of one column is no table. */
static bool parted_by_blanks(const char *text, bool quotes) {
    size_t words = 0;
    bool last = false; /* whether the last row holds a number */
    for (int row = 0; row < ROWS && *text; row++) {
        bool number;
        const size_t n = count_words(&text, quotes, &number);
        if (n == 0) continue;
        if (words == 0) words = n;
        if (n != words || (!number && row > 0)) return false;
        last = number;
    }
    return words > 1 && last;
}

char csv_sniff(const char *text, bool quotes) {
    size_t first[CANDIDATES] = {0}, count[CANDIDATES], agree[CANDIDATES] = {0}, best = 0;
    char found = 0;
    const char *s = text;
    for (int row = 0; row < ROWS && *s; row++) {
        const char *end = count_row(s, quotes, row == 0 ? first : count);
        for (int i = 0; i < CANDIDATES; i++) agree[i] += first[i] > 0 && (row == 0 || count[i] == first[i]);
        s = *end ? end + 1 : end;
    }
    for (int i = 0; i < CANDIDATES; i++)
        if (agree[i] > best) best = agree[i], found = candidates[i];
    return found ? found : parted_by_blanks(text, quotes) ? ' ' : ',';
}
