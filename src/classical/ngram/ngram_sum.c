/* What an n-gram model says of texts. */
#include "base/text.h"
#include "classical/ngram/ngram_model.h"
#include <math.h>

void ngram_add(const struct ngram_model *m, const int32_t *word, int64_t n, size_t bytes, struct ngram_sum *to) {
    heed_ngram_state s = heed_ngram_begin(m->m);
    const int order = heed_ngram_order(m->m);
    double sum = 0;
    for (int64_t i = 0; i < n + !m->text; i++) {
        const int32_t w = i < n ? word[i] : HEED_NGRAM_END;
        int matched;
        sum += heed_ngram_step(m->m, &s, w, &matched);
        to->unknown += w == HEED_NGRAM_UNKNOWN;
        to->unseen += matched < order && matched <= i + 1; /* near the beginning contexts are short */
    }
    to->log_probability += sum * log(10);
    to->tokens += n + !m->text;
    to->bytes += (int64_t)bytes + !m->text;
    to->notes += m->music ? n : 0;
}

double ngram_perplexity(const struct ngram_sum *s) {
    return s->tokens > 0 ? exp(-s->log_probability / (double)s->tokens) : 0;
}
double ngram_nats(const struct ngram_sum *s) { return -s->log_probability / (double)(s->tokens ? s->tokens : 1); }
double ngram_bits(const struct ngram_sum *s) {
    return -s->log_probability / log(2) / (double)(s->bytes ? s->bytes : 1);
}
double ngram_nats_per_note(const struct ngram_sum *s) { return -s->log_probability / (double)s->notes; }
double ngram_unseen(const struct ngram_sum *s) { return (double)s->unseen / (double)(s->tokens ? s->tokens : 1); }

bool ngram_measure(const struct ngram_model *m, const heed_lines *lines, struct ngram_sum *to) {
    heed_ids ids = {0};
    for (int64_t i = 0; i < lines->count && !heed_cancelled(m->cx); i++) {
        const size_t size = heed_line_size(lines, i);
        ids.count = 0;
        if (!ngram_encode(m, heed_line_text(lines, i), size, &ids)) break;
        ngram_add(m, ids.id, ids.count, size, to);
    }
    heed_ids_free(m->cx, &ids);
    return !heed_failed(m->cx);
}

void ngram_sum_text(const struct ngram_sum *s, char to[NGRAM_SUM_ROOM]) {
    char tokens[48];
    const int n = s->notes > 0 ? text_format(to, NGRAM_SUM_ROOM, "%.4f nats per note, ", ngram_nats_per_note(s)) : 0;
    text_format(to + n, NGRAM_SUM_ROOM - (size_t)n,
                "perplexity %.6g, %.4f nats per token, %.4f bits per byte over %s, %lld unknown", ngram_perplexity(s),
                ngram_nats(s), ngram_bits(s), text_count(s->tokens, "token", "tokens", tokens), (long long)s->unknown);
}

void ngram_put_number(heed_ctx *cx, heed_json at, const char *key, double value) {
    isfinite(value) ? heed_json_put_number(cx, at, key, value) : heed_json_put_null(cx, at, key);
}

void ngram_put_sum(heed_ctx *cx, heed_json at, const struct ngram_sum *s) {
    ngram_put_number(cx, at, "log_probability", s->log_probability);
    heed_json_put_int(cx, at, "tokens", s->tokens);
    heed_json_put_int(cx, at, "unknown", s->unknown);
    ngram_put_number(cx, at, "perplexity", ngram_perplexity(s));
    if (s->notes > 0) ngram_put_number(cx, at, "nats_per_note", ngram_nats_per_note(s));
    ngram_put_number(cx, at, "nats_per_token", ngram_nats(s));
    ngram_put_number(cx, at, "bits_per_byte", ngram_bits(s));
}
