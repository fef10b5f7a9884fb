/* Translates its arguments with a model directory: what `heed demo` or `heed train translate` wrote.
 *
 *   cc translate.c $(pkg-config --cflags --libs heed) -o translate
 *   ./translate heed-demo/model "A bird flies through the window." */
#include <heed/heed.h>
#include <stdio.h>

int main(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "usage: %s DIR TEXT...\n", argv[0]);
        return 2;
    }
    heed_ctx *cx = heed_open(NULL); /* threads, seed, byte budget: defaults */
    heed_translator *translator = heed_translator_open(cx, argv[1]);
    const heed_generate_opts beam_search = {.beams = 5, .length_penalty = 1};
    for (int i = 2; i < argc; i++) {
        heed_string german = {0};
        if (heed_translate_text(cx, translator, argv[i], &beam_search, &german)) puts(german.s);
        heed_string_free(cx, &german);
    }
    const bool failed = heed_failed(cx); /* errors stick: one check at the end is enough */
    if (failed) fprintf(stderr, "%s\n", heed_message(cx));
    heed_translator_free(cx, translator);
    heed_close(cx);
    return failed ? 1 : 0;
}
