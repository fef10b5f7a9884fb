/* csv: the first byte chooses the options, the rest is the text. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    heed_ctx *cx = fuzz_context();
    const size_t held = fuzz_held();
    const bool other = data[0] & 8; /* sniffed or blanks, and decimal commas */
    const heed_table_options options = {.delimiter = (other ? "\0\0  " : ",\t;|")[data[0] & 3],
                                        .decimal = other && data[0] & 1 ? ',' : 0,
                                        .plain_quotes = data[0] & 4,
                                        .header = (heed_header)((data[0] >> 4) % 3)};
    heed_table *t = heed_table_parse(cx, "fuzz", (const char *)data + 1, size - 1, &options);
    const int64_t rows = heed_table_rows(t), columns = heed_table_columns(t);
    size_t total = 0;
    for (int64_t c = 0; c < columns; c++) {
        const char *name = heed_table_name(cx, t, c);
        MUST(name && heed_table_find(cx, t, name) <= c);
        for (int64_t r = 0; r < rows; r++) total += strlen(heed_table_cell(cx, t, r, c));
    }
    MUST(total < 2 * size); /* two bytes of UTF-16 become three of UTF-8 at most */
    fuzz_check(cx, t, t ? heed_memory_use(cx).held : held);
    double *numbers = malloc((size_t)(rows + 1) * sizeof *numbers);
    for (int64_t c = 0; c < columns && c < 4; c++) {
        const bool all = heed_table_numbers(cx, t, c, numbers, rows);
        MUST(all == !heed_failed(cx));
        heed_clear(cx);
    }
    free(numbers);
    heed_table_close(t);
    fuzz_check(cx, true, held);
    return 0;
}
