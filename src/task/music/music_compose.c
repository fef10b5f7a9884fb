/* Composing: a model of music continues tokens by what a voice can do at its turn, and by nothing else. */
#include "task/music/music.h"
#include <string.h>

#define STANDARD_STEPS 640

struct word {
    int8_t voice; /* -1: not a word of music */
    int32_t x;
};

struct rule {
    struct word *word; /* (V) */
    int64_t words;
    int32_t end;
    const int32_t *soprano; /* (given, HEED_VOICES), of which the soprano is kept; NULL: it is composed too */
    int64_t given;
};

/* Ids are the begin token, then voice by voice. A voice can hold what it did in the step before; a rest behind a rest
 * is always held; the end comes after a whole step. */
static bool allowed(const void *own, const int32_t *ids, int64_t n, int32_t token) {
    const struct rule *r = own;
    const int64_t step = (n - 1) / HEED_VOICES;
    const int voice = (int)((n - 1) % HEED_VOICES);
    if (token == r->end) return voice == 0 && step > 0 && (!r->soprano || step == r->given);
    if ((r->soprano && step >= r->given) || token < 0 || token >= r->words || r->word[token].voice != voice)
        return false;
    const int32_t x = r->word[token].x, pitch = x & ~HEED_HELD;
    if (r->soprano && voice == 0 && x != r->soprano[step * HEED_VOICES]) return false;
    const int32_t last = step > 0 ? ids[n - HEED_VOICES] : -1;
    const int32_t before = last >= 0 && last < r->words ? r->word[last].x & ~HEED_HELD : -1;
    return x & HEED_HELD ? pitch == before : pitch != HEED_REST || before != HEED_REST;
}

static bool make_rule(heed_ctx *cx, const heed_tokenizer *tokens, const struct music_ids *ids, struct rule *r) {
    r->words = heed_tokenizer_size(tokens);
    r->end = ids->end;
    r->word = heed_mem_new(cx, (size_t)r->words * sizeof *r->word);
    for (int32_t i = 0; r->word && i < r->words; i++) {
        int voice;
        int32_t x;
        const bool known = music_word(heed_tokenizer_token(tokens, i), &voice, &x);
        r->word[i] = (struct word){known ? (int8_t)voice : -1, known ? x : 0};
    }
    return r->word;
}

static bool take_soprano(heed_ctx *cx, const struct music_ids *ids, const heed_chorales *from, struct rule *r) {
    r->soprano = heed_chorale_voices(from, 0);
    r->given = heed_chorale_steps(from, 0);
    for (int64_t t = 0; t < r->given; t++)
        if (music_id(ids, 0, r->soprano[t * HEED_VOICES], 0) < 0)
            return heed_fail(
                cx, HEED_ERR_RANGE, "step %lld: the soprano sings %d, outside of the model's range, %d to %d",
                (long long)t + 1, (int)(r->soprano[t * HEED_VOICES] & ~HEED_HELD), ids->low[0], ids->high[0]);
    return true;
}

/* The begin token, and what is continued. */
static bool make_prompt(heed_ctx *cx, const heed_tokenizer *tokens, const struct music_ids *ids,
                        const heed_chorales *begin, heed_ids *to) {
    if (!begin) return heed_ids_put(cx, to, ids->begin);
    if (!heed_music_encode(cx, tokens, begin, 0, 0, to)) return false;
    to->count--; /* it goes on */
    return true;
}

static bool compose(heed_ctx *cx, const heed_generator *g, const heed_compose_opts *o, const struct rule *r,
                    heed_ids *ids, heed_chorales *to, heed_composed *result) {
    const int64_t before = ids->count, begun = (before - 1) / HEED_VOICES;
    const int64_t steps = r->soprano ? r->given : o->steps > 0 ? o->steps : STANDARD_STEPS;
    heed_generate_opts how = o->how;
    how.allowed = allowed;
    how.rule = r;
    how.n_best = 1;
    how.length_penalty = 0;
    how.fit = true;
    how.min_new_tokens = how.min_length = 0;
    how.max_new_tokens =
        HEED_VOICES * (steps - begun) + (r->soprano ? 1 : 0); /* the end of a given length is certain */
    if (steps <= begun)
        return heed_fail(cx, HEED_ERR_RANGE, "compose: %lld steps are asked for, and there are %lld to begin with",
                         (long long)steps, (long long)begun);
    heed_generated *made = heed_generate(cx, g->model, ids, 1, &how);
    bool ok = made;
    for (int64_t i = 0; ok && i < made->best[0].length; i++) ok = heed_ids_put(cx, ids, made->best[0].ids[i]);
    ok = ok && heed_music_decode(cx, g->tokens[1], ids->id, ids->count, to);
    if (ok && result)
        *result = (heed_composed){
            .log_probability = (double)made->best[0].score, .notes = ids->count - before, .ended = made->best[0].ended};
    heed_mem_free(cx, made);
    return ok;
}

bool heed_compose(heed_ctx *cx, const heed_generator *g, const heed_compose_opts *opts, heed_chorales *to,
                  heed_composed *result) {
    const heed_compose_opts usual = {.how = {.beams = 1, .sample = true}}, *o = opts ? opts : &usual;
    struct music_ids ids;
    struct rule r = {0};
    heed_ids prompt = {0};
    if (heed_failed(cx)) return false;
    if (!g || !to || g->encodes)
        return heed_fail(cx, HEED_ERR_USAGE, "compose: a language model and a place are needed");
    if (o->begin && o->soprano)
        return heed_fail(cx, HEED_ERR_USAGE, "compose: a beginning and a soprano do not go together");
    const bool ok = music_find_or_fail(cx, g->tokens[1], &ids) && make_rule(cx, g->tokens[1], &ids, &r) &&
                    (!o->soprano || take_soprano(cx, &ids, o->soprano, &r)) &&
                    make_prompt(cx, g->tokens[1], &ids, o->begin, &prompt) &&
                    compose(cx, g, o, &r, &prompt, to, result);
    heed_mem_free(cx, r.word);
    heed_ids_free(cx, &prompt);
    return ok;
}
