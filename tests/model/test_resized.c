/* Tables over grids of other sizes: a model that is opened with another size of pictures, or of windows, to be
 * fine-tuned has those that timm and transformers would give it. */
#include "folder.h"
#include "heed/io.h"
#include "heed/model.h"
#include "io/io_test.h"
#include <math.h>
#include <stdio.h>

static const float *golden(heed_ctx *cx, heed_safetensors *st, const char *name, int64_t count) {
    const int64_t at = heed_safetensors_find(cx, st, name);
    const heed_array *a = at >= 0 ? heed_safetensors_get(cx, st, at) : NULL;
    if (!a || heed_array_count(a) != count) fail_msg("%s: %s", name, a ? "another size" : "missing");
    return a->data;
}

static void compare(const heed_param *p, const float *want, const char *name) {
    for (int64_t i = 0; i < p->count; i++)
        if (!(fabsf(p->value[i] - want[i]) <= 2e-6f * (1 + fabsf(want[i]))))
            fail_msg("%s: number %lld is %g, not %g", name, (long long)i, (double)p->value[i], (double)want[i]);
}

/* A family whose model of `settings`, with the table `in` as parameter `table`, is opened with `change`. */
struct way {
    const char *family, *settings[8], *table, *in;
    const char *change, *grids[3];
};
static const struct way ways[] = {
    {"vit",
     {"image_size=20", "patch_size=4", "hidden_size=8", "num_attention_heads=2", "num_hidden_layers=1",
      "intermediate_size=4"},
     "vit.embeddings.position_embeddings",
     "positions",
     "image_size=%d,%d",
     {"8 8", "3 4", "5 9"}},
    {"timm-vit",
     {"img_size=20", "patch_size=4", "embed_dim=8", "num_heads=2", "depth=1", "num_classes=3"},
     "pos_embed",
     "positions",
     "img_size=%d,%d",
     {"8 8", "3 4", "5 9"}},
    {"timm-swin",
     {"img_size=96", "patch_size=4", "embed_dim=4", "num_heads=2", "depths=1", "num_classes=3", "window_size=3"},
     "layers.0.blocks.0.attn.relative_position_bias_table",
     "biases",
     "window_size=%d,%d",
     {"5 5", "2 2", "4 6"}},
};

static void test_tables(void **state) {
    (void)state;
    heed_ctx *cx = heed_open(&(heed_config){.threads = 1});
    char path[512];
    snprintf(path, sizeof path, "%s/task/resized.safetensors", getenv("HEED_GOLDEN"));
    heed_safetensors *st = heed_safetensors_open(cx, path);
    if (!st) fail_msg("%s", heed_message(cx));
    for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
        const struct way *w = &ways[k];
        int n = 0;
        while (n < 8 && w->settings[n]) n++;
        heed_model *m = heed_model_new(cx, heed_family_find(w->family), w->settings, n, 1);
        heed_param *p = m ? heed_params_find(heed_model_params(m), w->table) : NULL;
        if (!p) fail_msg("%s: %s", w->family, heed_message(cx));
        memcpy(p->value, golden(cx, st, w->in, p->count), (size_t)p->count * sizeof *p->value);
        assert_true(heed_model_save(cx, m, in_folder(w->family)));
        for (int g = 0; g < 3; g++) {
            int h, v;
            char change[64], name[64];
            assert_int_equal(sscanf(w->grids[g], "%d %d", &h, &v), 2);
            snprintf(name, sizeof name, "%s.%d.%d", w->family, h, v);
            const int by = k < 2 ? 4 : 1; /* pixels of a patch, or windows in patches */
            snprintf(change, sizeof change, w->change, h * by, v * by);
            const char *const settings[] = {change};
            const heed_load_opts opts = {.settings = settings, .n_settings = 1, .fresh_head = true};
            heed_model *other = heed_model_load_as(cx, in_folder(w->family), &opts);
            if (!other) fail_msg("%s: %s", name, heed_message(cx));
            const heed_param *q = heed_params_find(heed_model_params(other), w->table);
            compare(q, golden(cx, st, name, q->count), name);
            heed_model_free(cx, other);
            /* only to be fine-tuned: else a file of another size is a mistake */
            assert_null(
                heed_model_load_as(cx, in_folder(w->family), &(heed_load_opts){.settings = settings, .n_settings = 1}));
            assert_non_null(strstr(heed_message(cx), "misshapen"));
            heed_clear(cx);
        }
        heed_model_free(cx, m);
    }
    heed_safetensors_close(st);
    heed_close(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_tables)};
    return cmocka_run_group_tests(tests, make_folder, wipe_folder);
}
