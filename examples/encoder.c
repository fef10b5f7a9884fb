/* A Hugging Face directory in C: opened, run, and its attention looked at.
 *
 *     encoder DIR        a BERT that Python or heed saved; without DIR a small one is made and saved first */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include <heed/heed.h>
#include <stdio.h>
#include <stdlib.h>

static bool make_small(heed_ctx *cx, const char *dir) {
    static const char *const sizes[] = {"vocab_size=100", "hidden_size=32", "num_hidden_layers=2",
                                        "num_attention_heads=4", "intermediate_size=64"};
    const heed_family *bert = heed_family_find("bert");
    heed_model *model = heed_model_new_as(cx, bert, heed_head_for(bert, "embed"), sizes, 5, 1);
    const bool saved = heed_model_save(cx, model, dir);
    heed_model_free(cx, model);
    return saved;
}

int main(int argc, char **argv) {
    char folder[] = "/tmp/heed-encoder-XXXXXX";
    const char *dir = argc > 1 ? argv[1] : mkdtemp(folder);
    heed_ctx *cx = heed_open(NULL);
    if (argc < 2) make_small(cx, dir);

    heed_model *model = heed_model_load(cx, dir); /* config.json and model.safetensors, as they are */
    const int32_t ids[] = {2, 7, 1, 8, 2, 8};
    heed_io in = {0}, out;
    heed_set_grad(cx, false);
    heed_capture_begin(cx, NULL);
    heed_io_put(cx, &in, "input_ids", heed_from_i32(cx, ids, 2, (int64_t[]){1, 6}));
    if (heed_model_forward(cx, model, &in, &out)) {
        const heed_tensor *hidden = heed_io_get(&out, "last_hidden_state");
        const heed_capture_map *first = heed_capture_at(cx, 0);
        printf("last_hidden_state %s, %d attention maps, token 0 looks at itself with weight %.3f\n",
               heed_shape_text(hidden).s, heed_capture_count(cx), (double)first->weights[0]);
    }
    if (heed_failed(cx)) fprintf(stderr, "%s\n", heed_message(cx));
    const int status = heed_failed(cx) ? 1 : 0;
    heed_capture_end(cx);
    heed_model_free(cx, model);
    heed_close(cx);
    if (argc < 2) {
        char command[64];
        snprintf(command, sizeof command, "rm -r %s", folder);
        if (system(command) != 0) return 1;
    }
    return status;
}
