/* What is on a picture: a directory of transformers' or timm's, one call from pictures to probabilities.
 *
 *     classify_picture DIR PICTURE...     without arguments a small model and a picture are made first; it knows
 * nothing
 */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include <heed/heed.h>
#include <stdio.h>
#include <stdlib.h>

static void make_small(heed_ctx *cx, const char *dir, const char *picture) {
    static const char *const sizes[] = {"image_size=32",       "patch_size=8",          "hidden_size=32",
                                        "num_hidden_layers=2", "num_attention_heads=4", "intermediate_size=64",
                                        "num_labels=3"};
    heed_model *model = heed_model_new(cx, heed_family_find("vit"), sizes, 7, 1);
    heed_image image;
    heed_model_save(cx, model, dir);
    if (heed_image_new(cx, 48, 40, 3, &image)) {
        for (int64_t i = 0; i < image.height * image.width * 3; i++) image.data[i] = (uint8_t)(7 * i);
        heed_image_write(cx, picture, &image, 0);
        heed_image_free(cx, &image);
    }
    heed_model_free(cx, model);
}

int main(int argc, char **argv) {
    char folder[] = "/tmp/heed-picture-XXXXXX", picture[64];
    const char *dir = argc > 2 ? argv[1] : mkdtemp(folder);
    heed_ctx *cx = heed_open(NULL);
    snprintf(picture, sizeof picture, "%s/picture.png", folder);
    if (argc <= 2) make_small(cx, dir, picture);

    heed_picture_model *m = heed_picture_model_open(cx, dir, "classify");
    float *p = malloc((m ? (size_t)m->labels : 1) * sizeof *p);
    for (int i = 2; i < (argc > 2 ? argc : 3) && !heed_failed(cx); i++) {
        const char *path = argc > 2 ? argv[i] : picture;
        heed_image image;
        if (!heed_picture_read(cx, m, path, &image)) break;
        if (heed_classify_pictures(cx, m, &image, 1, p))
            for (int64_t k = 0; k < m->labels; k++)
                printf("%s  %.3f  %s\n", path, (double)p[k], m->label ? m->label[k] : "?");
        heed_image_free(cx, &image);
    }
    if (heed_failed(cx)) fprintf(stderr, "%s\n", heed_message(cx));
    const int status = heed_failed(cx) ? 1 : 0;
    free(p);
    heed_picture_model_free(cx, m);
    heed_close(cx);
    if (argc <= 2) {
        char command[64];
        snprintf(command, sizeof command, "rm -r %s", folder);
        if (system(command) != 0) return 1;
    }
    return status;
}
