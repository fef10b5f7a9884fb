/* What a search says, told as text while it goes on: whole characters, and nothing of a stop text. */
#include "decode/decoding.h"
#include <string.h>

bool telling_begin(struct rules *r, struct search *s, bool prompted) {
    telling_free(r, s);
    if (!r->opts.on_text) return true;
    s->telling = heed_text_stream_new(r->cx, r->opts.stop_tokens, prompted ? s->ids : NULL, prompted ? s->prompt : 0);
    return s->telling != NULL;
}

void telling_free(const struct rules *r, struct search *s) {
    heed_text_stream_free(r->cx, s->telling);
    heed_string_free(r->cx, &s->untold);
    s->telling = NULL;
}

/* How much of the text can be told: up to a stop text, or to what may become one. */
static size_t tellable(const struct rules *r, const struct search *s, bool all, bool *stopped) {
    size_t n = s->untold.size, held = 0;
    for (int i = 0; i < r->opts.n_stop; i++) {
        const char *const stop = r->opts.stop[i], *const at = n > 0 ? strstr(s->untold.s, stop) : NULL;
        if (at && (size_t)(at - s->untold.s) < n) n = (size_t)(at - s->untold.s), *stopped = true;
    }
    for (int i = 0; i < r->opts.n_stop && !all && !*stopped; i++)
        for (size_t k = strlen(r->opts.stop[i]) - 1; k > held; k--)
            if (k <= n && memcmp(s->untold.s + n - k, r->opts.stop[i], k) == 0) held = k;
    return n - held;
}

static bool tell(const struct rules *r, struct search *s, bool all) {
    bool stopped = false, more = true;
    const size_t n = tellable(r, s, all, &stopped);
    if (n > 0) {
        const char kept = s->untold.s[n];
        s->untold.s[n] = 0;
        more = r->opts.on_text(r->opts.user, s->sentence, s->untold.s, n);
        s->untold.s[n] = kept;
        memmove(s->untold.s, s->untold.s + n, s->untold.size - n + 1);
        s->untold.size -= n;
    }
    if (stopped) telling_free(r, s); /* nothing follows */
    return more;
}

bool telling_token(struct rules *r, struct search *s, int32_t id) {
    if (!s->telling) return true;
    return heed_text_stream_put(r->cx, s->telling, id, &s->untold) && tell(r, s, false);
}

bool telling_end(struct rules *r, struct search *s) {
    if (!s->telling) return true;
    const bool ok = heed_text_stream_end(r->cx, s->telling, &s->untold);
    if (ok) tell(r, s, true);
    telling_free(r, s);
    return ok;
}
