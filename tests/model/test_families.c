/* Every family of the registry with each of its heads, small: made, trained a step, saved, opened again, planned. */
#include "heed/model.h"
#include "io/io_test.h"
#include "model/core/directory.h"
#include "model/small_model.h"

/* What else a config can say that takes another way through the code. */
static const struct {
    const char *family, *task; /* NULL: the first head */
    const char *settings;
} variants[] = {
    {"linear", NULL, "output_size=1 task=classify standardize_input=true"},
    {"mlp", NULL, "hidden_sizes=5,4 activation=tanh"},
    {"mlp", NULL, "output_size=4 task=classify hidden_sizes="},
    {"mlp", NULL, "standardize_input=true standardize_output=true"},
    {"mlp", NULL, "input_size=12 image_size=[2,3] image_channels=2 dropout=0.5"},
    {"kernel-pooling", NULL, "kernel=triangular input_size=2 output_size=1 width=1e-2"},
    {"kernel-pooling", NULL, "input_size=1 learnable=true output_size=3"},
    {"forecaster", NULL, "num_time_features=2"},
    {"forecaster", NULL, "kind=linear quantiles=0.1,0.5,0.9 num_features=1"},
    {"forecaster", NULL, "kind=mlp hidden_sizes=4 normalize=window loss=mae"},
    {"transformer", NULL, "decoder_layers=1 decoder_attention_heads=4"},
    {"transformer", NULL, "tie_word_embeddings=false encoder_layers=1"},
    {"bart", NULL, "d_model=15 encoder_layers=1 encoder_attention_heads=3 decoder_attention_heads=5"},
    {"mbart", NULL, "d_model=6 decoder_layers=1 encoder_attention_heads=1"},
    {"pegasus", NULL, "d_model=10 encoder_attention_heads=5 decoder_attention_heads=1"},
    {"t5", NULL, "num_heads=3 num_decoder_layers=1"},
    {"t5", NULL, "tie_word_embeddings=false feed_forward_proj=gated-gelu"},
    {"bert", NULL, "max_position_embeddings=7 tie_word_embeddings=false"},
    {"bert", "regress", "num_labels=1 problem_type=regression"},
    {"bert", "classify", "problem_type=multi_label_classification num_labels=3"},
    {"ernie", NULL, "use_task_id=true"},
    {"xlm-roberta", "classify", "pad_token_id=7"},
    {"electra", "choose", "summary_type=mean"},
    {"albert", NULL, "num_hidden_groups=2 inner_group_num=2"},
    {"fnet", NULL, "hidden_size=6 intermediate_size=5 type_vocab_size=2 tie_word_embeddings=false"},
    {"modernbert", "classify", "pad_token_id=5 classifier_pooling=mean norm_bias=true"},
    {"linformer", "classify", "sharing=none pooling=first"},
    {"linformer", "tag", "sharing=layerwise"},
    {"performer", "classify", "feature_kind=hyperbolic orthogonal_features=false"},
    {"performer", "lm", "feature_kind=positive redraw_interval=1"},
    {"token-mixer", NULL, "tokens_mlp_dim=3"},
    {"token-mixer", "regress", "tokens_mlp_dim=9 num_labels=1"},
    {"workspace", "classify", "share_layers=true"},
    {"workspace", "tag", "num_labels=3 persistent=false top_k=0"},
    {"reformer", NULL, "attn_layers=local,lsh"},
    {"reformer", "mlm", "attn_layers=lsh,lsh num_hashes=2 chunk_size_feed_forward=3"},
    {"reformer", "classify", "attn_layers=lsh axial_pos_embds=false num_buckets=2,4"},
    {"autoencoder", NULL, "image_size=7,8 conv_channels=3,4 hidden_sizes=6 kernel_size=3 output_act=linear"},
    {"autoencoder", NULL, "hidden_sizes= likelihood=bernoulli num_channels=3"},
    {"vae", NULL, "sigma=learnt sigma_value=0.5 half_kl=true beta=4"},
    {"vae", NULL, "sigma=fixed likelihood=bernoulli conv_channels=3 hidden_sizes="},
    {"gpt2", NULL, "n_positions=7"},
    {"gpt2", "lm", "tie_word_embeddings=false"},
    {"gpt_neox", NULL, "pad_token_id=null rotary_pct=0.5"},
    {"llama", NULL, "num_key_value_heads=1 max_position_embeddings=7 mlp_bias=true"},
    {"llama", "classify", "num_labels=3 num_key_value_heads=1 attention_bias=true"},
    {"mistral", NULL, "pad_token_id=null head_dim=6"},
    {"qwen2", NULL, "use_sliding_window=true max_window_layers=1"},
    {"qwen3", NULL, "tie_word_embeddings=true"},
    {"phi3", NULL, "num_key_value_heads=1 partial_rotary_factor=0.5"},
    {"vit", NULL, "drop_path_rate=0.1"},
    {"vit", "classify", "num_channels=1 qkv_bias=false num_labels=1"},
    {"dinov2", NULL, "use_mask_token=false"},
    {"dinov2-with-registers", "classify", "use_swiglu_ffn=true num_labels=2"},
    {"timm-vit", NULL, "drop_path_rate=0.2"},
    {"timm-vit", NULL, "architecture=deit_tiny_distilled_patch16_224"},
    {"timm-vit", NULL, "architecture=vit_base_patch16_siglip_256 init_values=0.5"},
    {"cait", NULL, "init_values=0.5 drop_path_rate=0.1"},
    {"volo", NULL, "drop_path_rate=0.1 qkv_bias=true"},
    {"volo", NULL,
     "layers=1,1,1 embed_dims=6,6,6 num_heads=2,1,3 downsamples=false,true,false outlook_attention=true,false,true "
     "pooling_scale=1 use_aux_head=false global_pool=avg"},
    {"swin", NULL, "num_heads=1,2 use_absolute_embeddings=true"},
    {"swinv2", NULL, "num_heads=1,2"},
    {"timm-swin", NULL, "num_heads=1,2 window_size=3"},
    {"timm-swinv2", NULL, "num_heads=1,2 window_size=3 proj_drop_rate=0.1"},
    {"levit", "classify", "depths=1,0 hidden_sizes=9,8,5 mlp_ratio=0,1 drop_path_rate=0.2 kernel_size=2 num_labels=3"},
    {"timm-levit", NULL, "architecture=levit_conv_128 embed_dim=8,9 depth=0,1 stem_type=s8 drop_path_rate=0.2"},
    {"nonlocal", NULL, "form=gaussian sub_sample=true blocks=1 image_size=16"},
    {"nonlocal", NULL, "form=dot-product block_norm=false"},
    {"nonlocal", NULL, "form=concatenation blocks=1 stem_pool=true"},
    {"nonlocal", NULL, "blocks="},
    {"mixer", NULL, "drop_path_rate=0.1"},
    {"yolos", NULL, "auxiliary_loss=true image_size=6,10 num_labels=3"},
    {"yolos", NULL, "use_mid_position_embeddings=false qkv_bias=false bbox_cost=0 image_size=9"},
    {"detr", NULL, "auxiliary_loss=true position_embedding_type=learned encoder_layers=0"},
    {"conditional_detr", NULL, "auxiliary_loss=true num_labels=3 activation_function=gelu"},
    {"table-transformer", NULL, "backbone_config.layer_type=basic position_embedding_type=learned"},
    {"perceiver", "classify", "num_labels=3 qk_channels=4 v_channels=8"},
    {"perceiver", "fourier", "max_resolution=[8,6]"},
    {"perceiver", "conv", "image_size=9"},
    {"sparse", NULL, "pad_token_id=null attention_window=2"},
    {"sparse", "classify", "num_labels=3 attention_block=2 random_blocks=1"},
    {"sparse", "lm", "attention_block=3 window_blocks=0 random_blocks=1"},
    {"rnn", "tag", "nonlinearity=relu"},
    {"rnn", "classify", "num_labels=3 pooling=last"},
    {"gru", "regress", "num_labels=1 problem_type=regression pooling=mean"},
    {"lstm", "lm", "proj_size=5 tie_word_embeddings=true"},
    {"sutskever", NULL, "decoder_vocab_size=7 reverse_source=true"},
    {"bahdanau", NULL, "alignment_size=6 reverse_source=true"},
    {"luong", NULL, "score=dot"},
    {"luong", NULL, "score=concat attention=local-p input_feeding=false"},
    {"luong", NULL, "attention=local-m window=1"},
    {"handwriting", "synthesis", "hidden_size=4 num_mixtures=2 characters=ab"},
};

static void test_families(void **state) {
    (void)state;
    assert_true(heed_family_count() >= 3);
    for (int i = 0; i < heed_family_count(); i++) {
        const heed_family *f = heed_family_at(i);
        assert_ptr_equal(heed_family_find(f->name), f);
        assert_ptr_equal(heed_family_find(f->type), f);
        assert_true(*f->paper && *f->summary && *f->notes && f->size > 0);
        for (const heed_head *h = f->heads; h->architecture; h++) {
            /* two heads may be one class of Python's: the first is what a file is opened as, the other has a task */
            const heed_head *const named = heed_head_named(f, h->architecture);
            assert_true(named && strcmp(named->architecture, h->architecture) == 0);
            assert_true(named == h || (*h->tasks && !strchr(h->tasks, ' ') && heed_head_for(f, h->tasks) == h));
            assert_true(*h->inputs && h->tasks && h->build && h->forward && h->sample);
        }
    }
    assert_null(heed_family_at(-1));
    assert_null(heed_family_at(heed_family_count()));
    assert_null(heed_family_find("no such"));
    assert_null(heed_family_find(NULL));
}

static bool
is_from_0_to_1(const char *name) { /* centre, width, height; pixels, which a Bernoulli likelihood wants so */
    const char *const last = strrchr(name, '.');
    return strcmp(name, "pixel_values") == 0 || (last && strcmp(last, ".boxes") == 0);
}

/* Inputs of the sample's shapes: random numbers, of boxes within the picture; tokens, segments and classes are 0 and 1,
 * which all models have. Each text has one token 1, which ends it for some. */
static void draw_inputs(heed_ctx *cx, heed_io *in) {
    for (int i = 0; i < in->n; i++) {
        const heed_tensor *t = in->tensor[i];
        const int64_t n = heed_count(t);
        const size_t bytes = (size_t)n * 4;
        void *numbers = heed_mem_new(cx, bytes);
        const bool tokens = strcmp(in->name[i], "input_ids") == 0;
        const int64_t length = tokens ? heed_shape(t)[heed_rank(t) - 1] : 2;
        for (int64_t k = 0; heed_type(t) == HEED_I32 && k < n; k++) {
            const int64_t place = heed_random_bits(9, (uint64_t)i, (uint64_t)(tokens ? k / length : k)) % length;
            ((int32_t *)numbers)[k] = tokens ? k % length == place : (int32_t)place;
        }
        if (heed_type(t) == HEED_F32) {
            (is_from_0_to_1(in->name[i]) ? heed_random_uniform : heed_random_normal)(9, (uint64_t)i, 0, numbers, n);
            in->tensor[i] = heed_from_f32(cx, numbers, heed_rank(t), heed_shape(t));
        } else if (heed_type(t) == HEED_I32 && strcmp(in->name[i], "attention_mask") != 0)
            in->tensor[i] = heed_from_i32(cx, numbers, heed_rank(t), heed_shape(t));
        heed_mem_free(cx, numbers);
    }
}

/* Components of diffusers give what was added to a sample, of which the task makes the loss: here its mean square. */
static heed_tensor *loss_of(heed_ctx *cx, const heed_model *m, const heed_io *out) {
    if (!heed_model_family(m)->diffusers) return out->n > 1 ? heed_io_get(out, "loss") : NULL;
    heed_tensor *const y = heed_io_get(out, "sample");
    return heed_mean(cx, heed_mul(cx, y, y), NULL, 0, false);
}

/* A step on random inputs: the loss, and whether every parameter that can learn got a gradient. */
static float step(heed_ctx *cx, heed_model *m, bool check) {
    const heed_params *params = heed_model_params(m);
    const int n = heed_params_count(params);
    float *block = heed_mem_new(cx, (size_t)heed_params_size(params) * sizeof(float));
    heed_grad *grads = heed_mem_new(cx, (size_t)n * sizeof *grads);
    int learn = 0;
    for (int i = 0; i < n; i++) {
        const heed_param *p = heed_params_at(params, i);
        grads[i] = (heed_grad){.data = block + (p->value - heed_params_block(params))};
        learn += !p->frozen;
    }
    heed_bind(cx, params, grads);
    heed_io in, out;
    assert_true(heed_model_sample(cx, m, 6, 4, &in));
    draw_inputs(cx, &in);
    if (!heed_model_forward(cx, m, &in, &out)) fail_msg("%s", heed_message(cx));
    heed_tensor *const loss = loss_of(cx, m, &out);
    assert_non_null(loss);
    const float value = check ? heed_item(cx, loss) : 0;
    assert_int_equal(heed_wants_grad(loss), learn > 0);
    if (learn) assert_true(heed_backward(cx, loss));
    for (int i = 0; check && i < n; i++) {
        const heed_param *p = heed_params_at(params, i);
        assert_int_equal(grads[i].filled, !p->frozen && !p->target); /* another name's gradient is its target's */
    }
    heed_bind(cx, NULL, NULL);
    heed_reset(cx);
    heed_mem_free(cx, block);
    heed_mem_free(cx, grads);
    return value;
}

/* Of the two models of "replaced" one is saved: tests/task/test_replaced.c */
static bool is_trained(const heed_head *h) {
    return *h->tasks && strcmp(h->tasks, "embed") != 0 && strcmp(h->tasks, "replaced") != 0;
}

/* A model trained a step, saved, opened again: the same bits. Planned memory is used memory. */
static void round_trip(const heed_family *family, const heed_head *head, const char *settings, uint64_t seed) {
    char dir[512];
    snprintf(dir, sizeof dir, "%s", in_folder("model"));
    print_message("%s, %s %s\n", family->name, head->architecture, settings ? settings : ""); /* assertions name none */
    heed_ctx *cx = open_context();
    heed_model *m = small_model(cx, family, head, settings, seed);
    const float loss = step(cx, m, true);
    assert_true(isfinite(loss) && loss > 0);
    const size_t used = heed_memory_use(cx).step_peak;
    if (!heed_model_save(cx, m, dir)) fail_msg("%s", heed_message(cx));
    heed_model *again = heed_model_load(cx, dir);
    if (!again) fail_msg("%s", heed_message(cx));
    assert_ptr_equal(heed_model_family(again), heed_model_family(m));
    assert_memory_equal(heed_params_block(heed_model_params(m)), heed_params_block(heed_model_params(again)),
                        (size_t)heed_params_size(heed_model_params(m)) * sizeof(float));
    const float reloaded = step(cx, again, true);
    assert_memory_equal(&loss, &reloaded, sizeof loss);
    char *first = heed_json_print(cx, heed_model_config(m), 0, NULL);
    char *second = heed_json_print(cx, heed_model_config(again), 0, NULL);
    assert_string_equal(first, second);
    heed_mem_free(cx, first);
    heed_mem_free(cx, second);
    heed_model_free(cx, m);
    heed_model_free(cx, again);
    close_context(cx);

    heed_ctx *dry = heed_open(&(heed_config){.threads = 1, .dry = true});
    heed_model *plan = heed_model_load(dry, dir);
    step(dry, plan, false);
    assert_int_equal(heed_memory_use(dry).step_peak, used);
    heed_model_free(dry, plan);
    assert_false(heed_failed(dry));
    heed_close(dry);
    directory_drop(dir);
}

static void test_heads(void **state) {
    (void)state;
    for (int i = 0; i < heed_family_count(); i++) {
        const heed_family *f = heed_family_at(i);
        for (const heed_head *h = f->heads; h->architecture; h++)
            if (is_trained(h)) round_trip(f, h, NULL, (uint64_t)i);
    }
}

static void test_variants(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        const heed_family *f = heed_family_find(variants[i].family);
        if (!f) fail_msg("variants: there is no family %s", variants[i].family);
        const heed_head *h = heed_head_for(f, variants[i].task);
        if (!h) fail_msg("variants: %s has no head for %s", f->name, variants[i].task);
        round_trip(f, h, variants[i].settings, i);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_families),
        cmocka_unit_test(test_heads),
        cmocka_unit_test(test_variants),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
