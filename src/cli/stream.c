#include "cli/stream.h"
#include "cli/lines.h"
#include <stdio.h>
#include <string.h>

/* What may still become something else is held back: half of a character, white space, the beginning of a stop text. */
static size_t settled(const struct text_stream *t) {
    const char *s = t->text.s;
    size_t n = t->text.size, held = 0;
    for (int i = 0; i < t->opts->n_stop; i++)
        for (size_t k = strlen(t->opts->stop[i]) - 1; k > held; k--)
            if (k <= n && memcmp(s + n - k, t->opts->stop[i], k) == 0) held = k;
    n -= held;
    while (n >= 3 && memcmp(s + n - 3, "\xEF\xBF\xBD", 3) == 0) n -= 3;
    while (n > 0 && strchr(" \n\t\r", s[n - 1])) n--;
    return n;
}

static void show(struct text_stream *t, size_t to) {
    if (to <= t->shown) return;
    const char kept = t->text.s[to];
    t->text.s[to] = 0;
    cli_plain_text(t->text.s + t->shown, to - t->shown);
    fputs(t->text.s + t->shown, stdout);
    fflush(stdout);
    t->text.s[to] = kept;
    t->shown = to;
}

static bool decode(struct text_stream *t, const int32_t *ids, int64_t n) {
    t->text.size = 0;
    return heed_generator_decode(t->cx, t->generator, t->prompt, ids, n, t->opts, &t->text);
}

bool stream_take(void *user, int64_t sequence, int32_t token) {
    struct text_stream *const t = user;
    (void)sequence;
    if (!heed_ids_put(t->cx, &t->said, token) || !decode(t, t->said.id, t->said.count)) return false;
    show(t, settled(t));
    return !ferror(stdout) && !interrupted();
}

bool stream_end(struct text_stream *t, const heed_hypothesis *h) {
    if (!decode(t, h->ids, h->length)) return false;
    show(t, t->text.size);
    return true;
}

void stream_say(heed_string *text) {
    if (text->size == 0) return;
    cli_plain_text(text->s, text->size);
    fputs(text->s, stdout);
    fflush(stdout);
}

void stream_free(struct text_stream *t) {
    heed_ids_free(t->cx, &t->said);
    heed_string_free(t->cx, &t->text);
}
