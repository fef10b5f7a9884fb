/* Sentences as vectors: a directory of sentence-transformers' or any encoder, one call from texts to vectors.
 *
 *     embed DIR TEXT...        without arguments a small encoder is made first, which knows nothing */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include <heed/heed.h>
#include <stdio.h>
#include <stdlib.h>

static void make_small(heed_ctx *cx, const char *dir) {
    static const char *const sizes[] = {"vocab_size=60", "hidden_size=32", "num_hidden_layers=2",
                                        "num_attention_heads=4", "intermediate_size=64"};
    static char words[] = "a man is eating food\nsomeone eats a meal\nthe sky is blue\n";
    const heed_family *bert = heed_family_find("bert");
    heed_model *model = heed_model_new_as(cx, bert, heed_head_for(bert, "embed"), sizes, 5, 1);
    heed_string text = {0};
    heed_lines lines = {0};
    heed_string_put(cx, &text, words, sizeof words - 1);
    heed_lines_cut(cx, &text, &lines);
    heed_tokenizer *tokens =
        heed_vocabulary_train_encoder(cx, (const heed_lines *const[]){&lines}, 1, HEED_TOKENS_WORDPIECE, 60);
    heed_model_save(cx, model, dir);
    heed_tokenizer_save(cx, tokens, dir);
    heed_tokenizer_free(cx, tokens);
    heed_lines_free(cx, &lines);
    heed_model_free(cx, model);
}

int main(int argc, char **argv) {
    static const char *const shown[] = {"A man is eating food.", "Someone eats a meal.", "The sky is blue."};
    char folder[] = "/tmp/heed-embed-XXXXXX";
    const char *dir = argc > 2 ? argv[1] : mkdtemp(folder);
    const char *const *given = argc > 2 ? (const char *const *)argv + 2 : shown;
    const int n = argc > 2 ? argc - 2 : 3;
    heed_ctx *cx = heed_open(NULL);
    if (argc <= 2) make_small(cx, dir);
    heed_set_grad(cx, false);

    heed_text_model *m = heed_text_model_open(cx, dir, "embed");
    const int64_t width = m ? heed_text_width(cx, m) : 1;
    float *vectors = malloc((size_t)n * (size_t)width * sizeof *vectors);
    heed_text_input *texts = calloc((size_t)n, sizeof *texts);
    for (int i = 0; i < n; i++) texts[i].text = given[i];
    if (m) m->normalise = true; /* vectors of length 1: their dot product is the cosine */
    if (heed_embed(cx, m, texts, n, vectors, NULL))
        for (int i = 0; i < n; i++) {
            double cosine = 0;
            for (int64_t j = 0; j < width; j++) cosine += (double)(vectors[j] * vectors[i * width + j]);
            printf("%.3f  %s\n", cosine, given[i]);
        }
    if (heed_failed(cx)) fprintf(stderr, "%s\n", heed_message(cx));
    const int status = heed_failed(cx) ? 1 : 0;
    free(texts);
    free(vectors);
    heed_text_model_free(cx, m);
    heed_close(cx);
    if (argc <= 2) {
        char command[64];
        snprintf(command, sizeof command, "rm -r %s", folder);
        if (system(command) != 0) return 1;
    }
    return status;
}
