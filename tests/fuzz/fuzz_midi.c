/* Standard MIDI Files: whatever is read can be cut into a chorale or says why not. */
#include "fuzz.h"

#include "task/music/chorales.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    heed_ctx *cx = fuzz_context();
    const size_t held = fuzz_held();
    heed_midi *m = heed_midi_parse(cx, "fuzz", data, size);
    heed_chorales c = {0};
    for (int64_t i = 0; m && i < m->notes; i++) {
        const heed_midi_note *n = &m->note[i];
        MUST(n->start >= 0 && n->end >= n->start && n->track >= 0 && n->track < m->tracks);
        MUST(n->channel < 16 && n->pitch < 128 && n->velocity > 0 && n->velocity < 128);
        MUST(i == 0 || m->note[i - 1].start <= n->start);
    }
    const bool ok = m && chorales_take_midi(cx, "fuzz", m, &c);
    for (int64_t i = 0; ok && i < c.voice.count; i++) MUST((c.voice.id[i] & ~HEED_HELD) <= HEED_REST);
    heed_chorales_free(cx, &c);
    heed_mem_free(cx, m);
    fuzz_check(cx, ok, held);
    return 0;
}
