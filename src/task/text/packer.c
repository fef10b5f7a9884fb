/* Sequences packed into rows of a fixed number of tokens (Krell et al. 2021): each goes into the fullest row that still
 * has room for it. */
#include "task/text/lm.h"

void packer_free(heed_ctx *cx, struct packer *p) {
    for (int i = 0; i < PACKER_OPEN; i++) {
        heed_ids_free(cx, &p->row[i].ids);
        heed_ids_free(cx, &p->row[i].positions);
        heed_ids_free(cx, &p->row[i].segments);
        heed_ids_free(cx, &p->row[i].next);
    }
}

/* The row becomes an example, unless nothing of it is to be predicted. */
static bool flush(heed_ctx *cx, struct packer *p, struct packer_row *r) {
    bool some = false;
    for (int64_t i = 0; i < r->next.count; i++) some |= r->next.id[i] >= 0;
    const heed_cell cells[] = {{r->ids.id, r->ids.count},
                               {r->positions.id, r->ids.count},
                               {r->segments.id, r->ids.count},
                               {r->next.id, r->ids.count}};
    const bool ok = !some || heed_dataset_add(cx, p->set, cells);
    r->ids.count = r->positions.count = r->segments.count = r->next.count = 0;
    return ok;
}

bool packer_end(heed_ctx *cx, struct packer *p) {
    for (int i = 0; i < PACKER_OPEN; i++)
        if (!flush(cx, p, &p->row[i])) return false;
    return true;
}

/* The fullest row with room for n tokens; where there is none, the fullest is emptied. */
static struct packer_row *row_for(heed_ctx *cx, struct packer *p, int64_t n) {
    struct packer_row *best = NULL, *fullest = &p->row[0];
    for (int i = 0; i < PACKER_OPEN; i++) {
        struct packer_row *const r = &p->row[i];
        if (r->ids.count + n <= p->context && (!best || r->ids.count > best->ids.count)) best = r;
        if (r->ids.count > fullest->ids.count) fullest = r;
    }
    if (!best && flush(cx, p, fullest)) best = fullest;
    return best;
}

bool packer_put(heed_ctx *cx, struct packer *p, const int32_t *ids, int64_t n, const int32_t *answer) {
    for (int64_t from = 0; from + 1 < n; from += p->context) {
        const int64_t left = n - 1 - from, part = left < p->context ? left : p->context;
        struct packer_row *const r = row_for(cx, p, part);
        if (!r) return false;
        const int32_t segment = r->segments.count > 0 ? r->segments.id[r->segments.count - 1] + 1 : 0;
        for (int64_t i = 0; i < part; i++) {
            const int64_t next = from + i + 1;
            if (!heed_ids_put(cx, &r->ids, ids[from + i]) || !heed_ids_put(cx, &r->positions, (int32_t)i) ||
                !heed_ids_put(cx, &r->segments, segment) ||
                !heed_ids_put(cx, &r->next, !answer || answer[next] ? ids[next] : HEED_NO_LABEL))
                return false;
        }
    }
    return true;
}
