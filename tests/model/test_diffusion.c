/* The networks of diffusers: what their directories are, encoding and decoding apart, and what is refused. That they
 * compute what diffusers computes is in test_golden.c. */
#include "heed/model.h"
#include "io/io_test.h"
#include "model/core/directory.h"

#define SMALL_VAE                                                                                                      \
    "block_out_channels=4,4", "norm_num_groups=2", "latent_channels=2",                                                \
        "down_block_types=DownEncoderBlock2D,DownEncoderBlock2D", "up_block_types=UpDecoderBlock2D,UpDecoderBlock2D"
#define SMALL_UNET                                                                                                     \
    "block_out_channels=4,4", "norm_num_groups=2", "attention_head_dim=2", "in_channels=1", "out_channels=1",          \
        "layers_per_block=1"

static heed_model *model_of(heed_ctx *cx, const char *family, const char *const *settings) {
    int n = 0;
    while (settings[n]) n++;
    return heed_model_new(cx, heed_family_find(family), settings, n, 1);
}

static heed_model *small_vae(heed_ctx *cx) {
    heed_model *const m = model_of(cx, "autoencoder-kl", (const char *const[]){SMALL_VAE, NULL});
    if (!m) fail_msg("%s", heed_message(cx));
    return m;
}

static heed_tensor *drawn(heed_ctx *cx, int64_t batch, int64_t channels, int64_t rows, int64_t columns) {
    const int64_t shape[] = {batch, channels, rows, columns}, n = batch * channels * rows * columns;
    float *const numbers = malloc((size_t)n * sizeof *numbers);
    heed_random_normal(3, (uint64_t)channels, 0, numbers, n);
    heed_tensor *const t = heed_from_f32(cx, numbers, 4, shape);
    free(numbers);
    return t;
}

static void same(heed_tensor *a, heed_tensor *b) {
    assert_true(a && b);
    assert_int_equal(heed_count(a), heed_count(b));
    assert_memory_equal(heed_f32(a), heed_f32(b), (size_t)heed_count(a) * sizeof(float));
}

/* ---- directories ---- */

static void test_directory(void **state) {
    (void)state;
    char dir[512];
    size_t size;
    heed_ctx *cx = open_context();
    heed_model *const m = small_vae(cx);
    snprintf(dir, sizeof dir, "%s", in_folder("vae"));
    assert_true(heed_model_save(cx, m, dir));
    assert_true(directory_has(dir, "diffusion_pytorch_model.safetensors") && directory_has_model(dir));
    assert_false(directory_has(dir, "model.safetensors"));
    char *const text = read_bytes(in_folder("vae/config.json"), &size);
    text[size < (1 << 20) ? size : size - 1] = 0;
    assert_non_null(strstr(text, "\"_class_name\": \"AutoencoderKL\""));
    assert_non_null(strstr(text, "\"_diffusers_version\""));
    assert_null(strstr(text, "model_type"));
    assert_null(strstr(text, "architectures"));
    free(text);

    /* a file by the usual name is read too, and goes when the model is saved again */
    assert_int_equal(rename(in_folder("vae/diffusion_pytorch_model.safetensors"), in_folder("vae/model.safetensors")),
                     0);
    heed_model *const again = heed_model_load(cx, dir);
    if (!again) fail_msg("%s", heed_message(cx));
    assert_memory_equal(heed_params_block(heed_model_params(m)), heed_params_block(heed_model_params(again)),
                        (size_t)heed_params_size(heed_model_params(m)) * sizeof(float));
    assert_true(heed_model_save(cx, again, dir));
    assert_false(directory_has(dir, "model.safetensors"));
    heed_model_free(cx, again);
    heed_model_free(cx, m);

    assert_int_equal(remove(in_folder("vae/diffusion_pytorch_model.safetensors")), 0);
    write_bytes(in_folder("vae/diffusion_pytorch_model.bin"), "pickle", 6);
    assert_null(heed_model_load(cx, dir));
    EXPECT_SENTENCE(cx, "holds diffusion_pytorch_model.bin, a Python pickle");
    remove(in_folder("vae/diffusion_pytorch_model.bin"));
    directory_drop(dir);
    close_context(cx);
}

/* What files of 2022 call the products of attention. */
static void test_old_names(void **state) {
    (void)state;
    static const char *const names[][2] = {
        {"to_q.", "query."}, {"to_k.", "key."}, {"to_v.", "value."}, {"to_out.0.", "proj_attn."}};
    char dir[512], path[600];
    heed_ctx *cx = open_context();
    heed_model *const m = small_vae(cx);
    snprintf(dir, sizeof dir, "%s", in_folder("old"));
    assert_true(heed_model_save(cx, m, dir));
    snprintf(path, sizeof path, "%s/" DIFFUSERS_WEIGHTS_FILE, dir);
    heed_safetensors *const st = heed_safetensors_open(cx, path);
    const int64_t n = heed_safetensors_count(st);
    heed_array *const arrays = calloc((size_t)n, sizeof *arrays);
    char(*const renamed)[256] = calloc((size_t)n, sizeof *renamed);
    int changed = 0;
    for (int64_t i = 0; i < n; i++) {
        arrays[i] = *heed_safetensors_get(cx, st, i);
        for (int k = 0; k < 4; k++) {
            const char *const at = strstr(arrays[i].name, names[k][0]);
            if (!at) continue;
            snprintf(renamed[i], sizeof renamed[i], "%.*s%s%s", (int)(at - arrays[i].name), arrays[i].name, names[k][1],
                     at + strlen(names[k][0]));
            arrays[i].name = renamed[i];
            changed++;
            break;
        }
    }
    assert_int_equal(changed, 16); /* weights and biases of two attentions */
    assert_true(heed_safetensors_write(cx, path, arrays, n, NULL, 0));
    heed_safetensors_close(st);
    heed_model *const again = heed_model_load(cx, dir);
    if (!again) fail_msg("%s", heed_message(cx));
    assert_memory_equal(heed_params_block(heed_model_params(m)), heed_params_block(heed_model_params(again)),
                        (size_t)heed_params_size(heed_model_params(m)) * sizeof(float));
    heed_model_free(cx, again);
    heed_model_free(cx, m);
    free(arrays);
    free(renamed);
    directory_drop(dir);
    close_context(cx);
}

/* ---- encoding and decoding ---- */

static void test_apart(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_model *const m = small_vae(cx);
    heed_io in = {0}, whole, encoded, decoded, noisy;
    heed_io_put(cx, &in, "sample", drawn(cx, 2, 3, 6, 4));
    assert_true(heed_model_forward(cx, m, &in, &whole));
    assert_int_equal(whole.n, 3);

    in.latents_only = true;
    assert_true(heed_model_forward(cx, m, &in, &encoded));
    assert_int_equal(encoded.n, 2);
    same(heed_io_get(&encoded, "latent_dist.mean"), heed_io_get(&whole, "latent_dist.mean"));
    same(heed_io_get(&encoded, "latent_dist.logvar"), heed_io_get(&whole, "latent_dist.logvar"));

    in = (heed_io){0};
    heed_io_put(cx, &in, "latents", heed_io_get(&encoded, "latent_dist.mean"));
    assert_true(heed_model_forward(cx, m, &in, &decoded));
    assert_int_equal(decoded.n, 1);
    same(heed_io_get(&decoded, "sample"), heed_io_get(&whole, "sample"));

    in = (heed_io){0};
    heed_io_put(cx, &in, "sample", drawn(cx, 2, 3, 6, 4));
    heed_io_put(cx, &in, "noise", heed_zeros(cx, HEED_F32, 4, (int64_t[]){2, 2, 3, 2}));
    assert_true(heed_model_forward(cx, m, &in, &noisy));
    same(heed_io_get(&noisy, "sample"), heed_io_get(&whole, "sample"));
    heed_reset(cx);
    heed_model_free(cx, m);
    close_context(cx);
}

/* ---- what is refused ---- */

static const struct {
    const char *family, *settings[12], *sentence;
} wrong[] = {
    {"autoencoder-kl",
     {"down_block_types=DownBlock2D", "block_out_channels=4", "norm_num_groups=2"},
     "blocks of type 'DownBlock2D' are not among those that heed has here: DownEncoderBlock2D, AttnDownEncoderBlock2D"},
    {"autoencoder-kl", {"block_out_channels=4,8", "norm_num_groups=2"}, "1 types for 2 numbers of block_out_channels"},
    {"autoencoder-kl", {"block_out_channels=6", "norm_num_groups=4"}, "4 groups do not divide 6 channels"},
    {"autoencoder-kl", {"block_out_channels="}, "block_out_channels: at least one number is needed"},
    {"autoencoder-kl", {"latents_mean=a"}, "'a' is not a number, several (1,2), or null"},
    {"unet2d",
     {SMALL_UNET, "down_block_types=AttnSkipDownBlock2D,DownBlock2D", "up_block_types=UpBlock2D,UpBlock2D"},
     "blocks of type 'AttnSkipDownBlock2D' are not among"},
    {"unet2d",
     {SMALL_UNET, "down_block_types=CrossAttnDownBlock2D,DownBlock2D", "up_block_types=UpBlock2D,UpBlock2D"},
     "blocks of type 'CrossAttnDownBlock2D' are not among"},
    {"unet2d", {SMALL_UNET, "time_embedding_type=fourier"}, "'fourier' is not one of: positional, learned"},
    {"unet2d", {SMALL_UNET, "downsample_type=maxpool"}, "'maxpool' is not one of: conv, resnet"},
    {"unet2d", {SMALL_UNET, "resnet_time_scale_shift=spatial"}, "'spatial' is not one of: default, scale_shift"},
    {"unet2d", {SMALL_UNET, "class_embed_type=projection"}, "'projection' is not one of: timestep, identity"},
    {"unet2d",
     {"block_out_channels=2", "freq_shift=1", "down_block_types=DownBlock2D", "up_block_types=UpBlock2D"},
     "freq_shift: 1 makes no waves of 2 channels"},
    {"unet2d",
     {SMALL_UNET, "attention_head_dim=8", "down_block_types=AttnDownBlock2D,DownBlock2D",
      "up_block_types=UpBlock2D,UpBlock2D"},
     "attention_head_dim leaves no head of 4 channels"},
    {"unet2d-condition", {SMALL_UNET, "dual_cross_attention=true"}, "attention to two texts is not supported"},
    {"unet2d-condition", {SMALL_UNET, "num_attention_heads=4"}, "attention_head_dim is the number of heads"},
    {"unet2d-condition", {SMALL_UNET, "attention_type=gated"}, "'gated' is not one of: default"},
    {"unet2d-condition", {SMALL_UNET, "time_embedding_type=fourier"}, "'fourier' is not one of: positional"},
    {"unet2d-condition", {SMALL_UNET, "attention_head_dim=1,2,3"}, "3 numbers for 2 numbers of block_out_channels"},
    {"unet2d-condition",
     {SMALL_UNET, "transformer_layers_per_block=[1,[1]]"},
     "lists need reverse_transformer_layers_per_block"},
    {"unet2d-condition", {SMALL_UNET, "transformer_layers_per_block=[1,[1,x]]"}, "transformer_layers_per_block"},
    {"unet2d-condition", {SMALL_UNET, "only_cross_attention=true,false,true"}, "3 values for 2 numbers"},
    {"unet2d-condition", {SMALL_UNET, "addition_embed_type=image"}, "'image' is not one of: text, text_time"},
    {"unet2d-condition", {SMALL_UNET, "encoder_hid_dim_type=text_proj"}, "encoder_hid_dim is needed"},
    {"unet2d-condition",
     {SMALL_UNET, "encoder_hid_dim=4", "encoder_hid_dim_type=image_proj"},
     "'image_proj' is not one of: text_proj"},
    {"unet2d-condition", {SMALL_UNET, "cross_attention_dim=4,8"}, "a text of 4 channels cannot be one of 8"},
};

static void test_configs(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_null(model_of(cx, wrong[i].family, wrong[i].settings));
        EXPECT_SENTENCE(cx, wrong[i].sentence);
    }
    close_context(cx);
}

/* One input in place of a right one, or none where `made` is NULL. */
static void refused(heed_ctx *cx, const heed_model *m, const heed_io *right, const char *name, heed_tensor *made,
                    const char *sentence, int line) {
    heed_io in = {0}, out = {0};
    for (int i = 0; i < right->n; i++)
        if (strcmp(right->name[i], name) != 0) heed_io_put(cx, &in, right->name[i], right->tensor[i]);
    if (made) heed_io_put(cx, &in, name, made);
    assert_false(heed_model_forward(cx, m, &in, &out));
    expect_sentence(cx, sentence, __FILE__, line);
}
#define REFUSED(name, made, sentence)                                                                                  \
    do {                                                                                                               \
        heed_io right = {0};                                                                                           \
        inputs_of(cx, &right);                                                                                         \
        refused(cx, m, &right, name, made, sentence, __LINE__);                                                        \
    } while (0)
#define ZEROS(type, rank, ...) heed_zeros(cx, type, rank, (int64_t[]){__VA_ARGS__})

static void inputs_of(heed_ctx *cx, heed_io *in) {
    heed_io_put(cx, in, "sample", ZEROS(HEED_F32, 4, 2, 1, 4, 4));
    heed_io_put(cx, in, "timestep", ZEROS(HEED_I32, 1, 2));
    heed_io_put(cx, in, "encoder_hidden_states", ZEROS(HEED_F32, 3, 2, 3, 5));
    heed_io_put(cx, in, "class_labels", ZEROS(HEED_I32, 1, 2));
}

static void test_inputs(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_model *const m = model_of(cx, "unet2d-condition",
                                   (const char *const[]){SMALL_UNET, "cross_attention_dim=5", "num_class_embeds=3",
                                                         "down_block_types=CrossAttnDownBlock2D,DownBlock2D",
                                                         "up_block_types=UpBlock2D,SimpleCrossAttnUpBlock2D", NULL});
    if (!m) fail_msg("%s", heed_message(cx));
    heed_io in = {0}, out;
    inputs_of(cx, &in);
    if (!heed_model_forward(cx, m, &in, &out)) fail_msg("%s", heed_message(cx));
    heed_reset(cx);
    REFUSED("sample", NULL, "sample is needed");
    REFUSED("sample", ZEROS(HEED_F32, 4, 2, 3, 4, 4), "sample: f32 numbers of shape (2,3,4,4) are not f32 (B,1,H,W)");
    REFUSED("sample", ZEROS(HEED_I32, 4, 2, 1, 4, 4), "sample: i32 numbers");
    REFUSED("timestep", NULL, "timestep is needed");
    REFUSED("timestep", ZEROS(HEED_I32, 1, 3), "timestep of shape (3) is neither one number nor one for each of 2");
    REFUSED("encoder_hidden_states", NULL, "encoder_hidden_states is needed");
    REFUSED("encoder_hidden_states", ZEROS(HEED_F32, 3, 2, 3, 4), "of shape (2,3,4) are not f32 (2,L,5)");
    REFUSED("encoder_hidden_states", ZEROS(HEED_F32, 3, 2, 0, 5), "of shape (2,0,5) are not f32 (2,L,5)");
    REFUSED("encoder_attention_mask", ZEROS(HEED_I32, 2, 2, 4), "encoder_attention_mask of shape (2,4) does not fit");
    REFUSED("class_labels", NULL, "class_labels is needed");
    REFUSED("class_labels", ZEROS(HEED_F32, 1, 2), "class_labels: f32 numbers of shape (2) are not whole ones (2)");
    REFUSED("class_labels", heed_from_i32(cx, (int32_t[]){0, 3}, 1, (int64_t[]){2}), "3");
    REFUSED("timestep_cond", ZEROS(HEED_F32, 2, 2, 3), "the model has no time_cond_proj_dim");
    REFUSED("mask", ZEROS(HEED_F32, 2, 2, 3), "'mask' is not an input of UNet2DConditionModel");
    heed_reset(cx);
    heed_model_free(cx, m);

    heed_model *const vae = small_vae(cx);
    in = out = (heed_io){0};
    heed_io_put(cx, &in, "latents", ZEROS(HEED_F32, 4, 1, 2, 2, 2));
    heed_io_put(cx, &in, "sample", ZEROS(HEED_F32, 4, 1, 3, 4, 4));
    assert_false(heed_model_forward(cx, vae, &in, &out));
    EXPECT_SENTENCE(cx, "latents are decoded alone");
    in = out = (heed_io){0};
    heed_io_put(cx, &in, "sample", ZEROS(HEED_F32, 4, 1, 3, 4, 4));
    heed_io_put(cx, &in, "noise", ZEROS(HEED_F32, 4, 1, 2, 3, 2));
    assert_false(heed_model_forward(cx, vae, &in, &out));
    EXPECT_SENTENCE(cx, "noise of shape (1,2,3,2) does not fit latents of shape (1,2,2,2)");
    heed_reset(cx);
    heed_model_free(cx, vae);
    close_context(cx);
}

/* Residual blocks double maps, whatever they were before they were halved. */
static void test_odd_sides(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_model *const m =
        model_of(cx, "unet2d",
                 (const char *const[]){SMALL_UNET, "down_block_types=ResnetDownsampleBlock2D,DownBlock2D",
                                       "up_block_types=ResnetUpsampleBlock2D,UpBlock2D", NULL});
    if (!m) fail_msg("%s", heed_message(cx));
    heed_io in = {0}, out;
    heed_io_put(cx, &in, "sample", ZEROS(HEED_F32, 4, 1, 1, 5, 4));
    heed_io_put(cx, &in, "timestep", ZEROS(HEED_I32, 1, 1));
    assert_false(heed_model_forward(cx, m, &in, &out));
    EXPECT_SENTENCE(cx, "maps of 5 x 4 places on the way down meet 4 x 4 on the way up");
    heed_reset(cx);
    heed_model_free(cx, m);
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_directory), cmocka_unit_test(test_old_names), cmocka_unit_test(test_apart),
        cmocka_unit_test(test_configs),   cmocka_unit_test(test_inputs),    cmocka_unit_test(test_odd_sides),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
