/* Continues a prompt with a language model, in a loop of its own: tokens go into a session, logits come out, and the
 * key-value cache is kept.
 *
 *   cc generate.c $(pkg-config --cflags --libs heed) -o generate
 *   ./generate gpt2 "Once upon a time" */
#include <heed/heed.h>
#include <stdio.h>
#include <string.h>

enum { TOKENS = 40 };

static int32_t most_probable(const float *logits, int64_t n) {
    int32_t best = 0;
    for (int32_t i = 1; i < n; i++)
        if (logits[i] > logits[best]) best = i;
    return best;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: %s DIR PROMPT\n", argv[0]);
        return 2;
    }
    heed_ctx *cx = heed_open(NULL); /* threads, seed, byte budget: defaults */
    heed_generator *generator = heed_generator_open(cx, argv[1]);
    heed_ids prompt = {0}, said = {0};
    heed_string text = {0};
    heed_session *session = generator ? heed_session_open(cx, generator->model, NULL, 1) : NULL;
    heed_generator_encode(cx, generator, argv[2], strlen(argv[2]), &prompt);
    heed_session_append(cx, session, &prompt);
    while (!heed_failed(cx) && said.count < TOKENS && prompt.count + said.count < generator->positions) {
        int32_t next = most_probable(heed_session_logits(session, 0), heed_session_vocabulary(session));
        heed_ids_put(cx, &said, next);
        heed_session_append(cx, session, &(heed_ids){.id = &next, .count = 1});
    }
    if (heed_generator_decode(cx, generator, &prompt, said.id, said.count, NULL, &text)) puts(text.s);
    const bool failed = heed_failed(cx); /* errors stick: one check at the end is enough */
    if (failed) fprintf(stderr, "%s\n", heed_message(cx));
    heed_session_close(cx, session);
    heed_ids_free(cx, &prompt);
    heed_ids_free(cx, &said);
    heed_string_free(cx, &text);
    heed_generator_free(cx, generator);
    heed_close(cx);
    return failed ? 1 : 0;
}
