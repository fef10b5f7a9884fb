/* Series over time: the first byte chooses columns, calendar and fill, the rest is the table. */
#include "fuzz.h"
#include "heed/history.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    heed_ctx *cx = fuzz_context();
    const size_t held = fuzz_held();
    const heed_history_opts opts = {.time = data[0] & 1   ? "1"
                                            : data[0] & 2 ? "none"
                                                          : NULL,
                                    .series = data[0] & 4 ? "2" : NULL,
                                    .known = data[0] & 8 ? "3" : NULL,
                                    .calendar = data[0] & 16 ? "auto" : NULL,
                                    .fill = (heed_filling)((data[0] >> 5) % 3),
                                    .future = data[0] & 128};
    heed_history *h = heed_history_parse(cx, "fuzz", (const char *)data + 1, size - 1, &opts);
    char text[HEED_TIME_ROOM];
    float sum = 0;
    for (int64_t g = 0; h && g < h->series; g++) {
        MUST(h->start[g] < h->start[g + 1] && h->start[g + 1] <= h->rows);
        MUST(h->future[g] <= h->start[g + 1] - h->start[g]);
        MUST(*heed_time_text(&h->clock, heed_history_time(h, g, h->start[g + 1] - h->start[g]), text));
        for (int64_t i = h->start[g] * h->targets; i < (h->start[g + 1] - h->future[g]) * h->targets; i++)
            MUST(h->target[i] == h->target[i]); /* nothing is missing */
        for (int64_t i = h->start[g] * h->known; i < h->start[g + 1] * h->known; i++) sum += h->knowns[i];
    }
    MUST(!h || sum == sum);
    const bool read = h;
    heed_history_free(cx, h);
    fuzz_check(cx, read, held);
    return 0;
}
