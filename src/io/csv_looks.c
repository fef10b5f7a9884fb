/* What the first rows of a table show: how its numbers are written, whether it has a header, which columns hold texts.
 */
#include "io/csv.h"
#include "io/csv_table.h"
#include "io/text.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS_LOOKED_AT = 1000 };

static size_t rows_looked_at(const heed_table *t) {
    return t->row_count < ROWS_LOOKED_AT ? t->row_count : ROWS_LOOKED_AT;
}

/* ---- numbers ---- */

bool csv_number(const heed_table *t, const char *text, double *out, bool *range) {
    char plain[NUMBER_LONGEST];
    const bool grouped = t->thousands && number_ungrouped(text, t->thousands, plain) > 0;
    return number_read_as(grouped ? plain : text, t->decimal, out, range);
}

bool table_is_number(const heed_table *t, const char *text) {
    char plain[NUMBER_LONGEST];
    return number_is(text, t->decimal) ||
           (t->thousands && number_ungrouped(text, t->thousands, plain) > 0 && number_is(plain, t->decimal));
}

/* Whether a cell can only be a number with these marks: 1,234,567 or 1,234.5. `sure`: the decimal mark is known, and
 * 1,234 has no other meaning. */
static bool shows_groups(const heed_table *t, char decimal, char thousands, bool sure) {
    const size_t cells = rows_looked_at(t) * t->columns;
    for (size_t i = 0; i < cells; i++) {
        char plain[NUMBER_LONGEST];
        const char *text = t->text + t->cells[i];
        const int groups = number_ungrouped(text, thousands, plain);
        if (groups == 0 || !number_is(plain, decimal)) continue;
        if (sure || strchr(plain, decimal) || (groups > 1 && thousands != '.')) return true;
    }
    return false;
}

/* A comma where the delimiter is ';' and some number has one, or where points group the digits before it. */
static char find_decimal(const heed_table *t) {
    for (size_t i = 0; t->delimiter == ';' && i < t->cell_count; i++)
        if (strchr(t->text + t->cells[i], ',') && number_is(t->text + t->cells[i], ',')) return ',';
    return shows_groups(t, ',', '.', false) ? ',' : '.';
}

void csv_find_marks(heed_table *t, const heed_table_options *asked) {
    t->decimal = asked->decimal ? asked->decimal : asked->thousands == '.' ? ',' : find_decimal(t);
    t->thousands = asked->thousands;
    if (t->thousands) return;
    const char candidates[] = {t->decimal == '.' ? ',' : '.', '\'', ' '};
    for (size_t i = 0; i < sizeof candidates && !t->thousands; i++)
        if (shows_groups(t, t->decimal, candidates[i], i < 2 && (i == 1 || asked->decimal || t->decimal == ',')))
            t->thousands = candidates[i];
}

/* ---- the header ---- */

static bool any_number(const heed_table *t, size_t row) {
    for (size_t i = 0; i < t->columns; i++)
        if (table_is_number(t, csv_cell(t, row, i))) return true;
    return false;
}

/* A number among texts is a text like the others. */
static bool is_numeric(const heed_table *t, size_t column, size_t rows) {
    size_t numbers = 0, texts = 0;
    for (size_t i = 1; i < rows; i++) {
        const char *cell = csv_cell(t, i, column);
        numbers += table_is_number(t, cell);
        texts += !text_is_missing(cell) && !table_is_number(t, cell);
    }
    return numbers > 0 && numbers >= texts;
}

static bool occurs_again(const heed_table *t, size_t column, size_t rows) {
    for (size_t i = 1; i < rows; i++)
        if (strcmp(csv_cell(t, 0, column), csv_cell(t, i, column)) == 0) return true;
    return false;
}

static int by_text(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

/* Whether most words of a column come again in it: a first one that does not is then unlike the others. */
static bool repeats(const heed_table *t, size_t column, size_t rows) {
    const char *cell[ROWS_LOOKED_AT];
    size_t again = 0;
    for (size_t i = 1; i < rows; i++) cell[i - 1] = csv_cell(t, i, column);
    const size_t n = rows - 1;
    qsort(cell, n, sizeof *cell, by_text);
    for (size_t i = 0; i < n; i++)
        again += (i > 0 && strcmp(cell[i], cell[i - 1]) == 0) || (i + 1 < n && strcmp(cell[i], cell[i + 1]) == 0);
    return 2 * again >= n;
}

static size_t count_words(const char *s) {
    size_t n = 0;
    for (s += strspn(s, " \t\r\n"); *s; s += strspn(s, " \t\r\n")) n++, s += strcspn(s, " \t\r\n");
    return n;
}

static bool is_usual_name(const char *cell) {
    static const char names[] =
        "text text1 text2 sentence sentence1 sentence2 source target input output question answer query document "
        "passage context title headline summary article body abstract anchor positive negative premise hypothesis "
        "prompt completion response instruction src tgt review comment utterance word name id first second "
        "label class category intent tag topic sentiment rating score english german french spanish en de fr es it";
    char lower[24];
    size_t n = 0;
    for (; cell[n] && n + 1 < sizeof lower; n++)
        lower[n] = cell[n] >= 'A' && cell[n] <= 'Z' ? (char)(cell[n] - 'A' + 'a') : cell[n];
    lower[n] = 0;
    return !cell[n] && text_among(names, lower);
}

static double mean_words(const heed_table *t, size_t column, size_t rows) {
    size_t words = 0;
    for (size_t i = 1; i < rows; i++) words += count_words(csv_cell(t, i, column));
    return (double)words / (double)(rows - 1);
}

enum { NAME_WORDS = 2, TEXT_WORDS = 4 };

/* Whether a cell of the first row looks like the name of its column: one that is usual, or a word or two above texts
 * that are longer. */
static bool is_name_of(const heed_table *t, size_t column, size_t rows) {
    const char *cell = csv_cell(t, 0, column);
    if (is_usual_name(cell)) return true;
    return count_words(cell) <= NAME_WORDS && !strchr(".!?,;:", cell[strlen(cell) - 1]) &&
           mean_words(t, column, rows) >= TEXT_WORDS;
}

/* Could it be a name? Not what is empty, comes again, or is a text like those below it. */
static bool may_be_name(const heed_table *t, size_t column, size_t rows) {
    const char *cell = csv_cell(t, 0, column);
    for (size_t i = 0; i < column; i++)
        if (strcmp(cell, csv_cell(t, 0, i)) == 0) return false;
    if (!*cell || occurs_again(t, column, rows)) return false;
    return count_words(cell) <= TEXT_WORDS || mean_words(t, column, rows) < TEXT_WORDS;
}

/* Without a column of numbers, the first row is one of names when it is unlike the others. */
static bool names_texts(const heed_table *t, size_t rows) {
    if (rows < 3 || t->columns < 2) return false;
    for (size_t i = 0; i < t->columns; i++)
        if (!may_be_name(t, i, rows)) return false;
    for (size_t i = 0; i < t->columns; i++)
        if (repeats(t, i, rows)) return true;
    for (size_t i = 0; i < t->columns; i++)
        if (!is_name_of(t, i, rows)) return false;
    return true;
}

bool csv_finds_header(const heed_table *t) {
    const size_t rows = rows_looked_at(t);
    if (rows < 2 || any_number(t, 0)) return false;
    for (size_t i = 0; i < t->columns; i++)
        if (strcmp(csv_cell(t, 0, i), "?") == 0) return false; /* a missing value, never a name */
    for (size_t i = 0; i < t->columns; i++)
        if (is_numeric(t, i, rows)) return true;
    return names_texts(t, rows);
}

/* ---- texts ---- */

enum { PROSE_WORDS = 4, PROSE_LETTERS = 30 }; /* of a cell on average: words, or letters that are not ASCII */

bool table_is_prose(const heed_table *t, int64_t column) {
    const size_t rows = rows_looked_at(t);
    size_t n = 0, words = 0, letters = 0;
    for (size_t i = t->header; i < rows; i++) {
        const char *cell = csv_cell(t, i, (size_t)column);
        if (text_is_missing(cell)) continue;
        n++;
        words += count_words(cell);
        for (; *cell; cell++) letters += ((unsigned char)*cell & 0xC0) == 0xC0; /* the first byte of each */
    }
    return n > 0 && (words >= PROSE_WORDS * n || letters >= PROSE_LETTERS * n);
}
