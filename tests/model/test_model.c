/* The model room: the list of families, config.json, directories. */
#include "comma_locale.h"
#include "heed/model.h"
#include "io/io_test.h"
#include "model/core/directory.h"

#include <sys/stat.h>

/* Settings with which each family can be made; a family without a line here fails the test. */
static const struct {
    const char *family;
    const char *settings[13]; /* NULL at the end */
    const char *task;         /* NULL: the first head */
} smallest[] = {
    {"linear", {"input_size=3", "output_size=2"}, NULL},
    {"linear", {"input_size=3", "output_size=1", "task=classify", "standardize_input=true"}, NULL},
    {"mlp", {"input_size=3", "output_size=2", "hidden_sizes=5,4", "activation=tanh"}, NULL},
    {"mlp", {"input_size=3", "output_size=4", "task=classify", "hidden_sizes="}, NULL},
    {"mlp", {"input_size=3", "output_size=2", "standardize_input=true", "standardize_output=true"}, NULL},
    {"mlp", {"input_size=12", "output_size=2", "image_size=[2, 3]", "image_channels=2", "dropout=0.5"}, NULL},
    {"kernel-pooling", {"points=7", "kernel=triangular", "input_size=2", "width=1e-2"}, NULL},
    {"kernel-pooling", {"points=7", "learnable=true", "output_size=3"}, NULL},
#define SMALL_FORECASTER "context_length=5", "prediction_length=3", "num_targets=2"
    {"forecaster", {SMALL_FORECASTER, "hidden_size=4", "decoder_size=2", "num_time_features=2"}, NULL},
    {"forecaster", {SMALL_FORECASTER, "kind=linear", "quantiles=0.1,0.5,0.9", "num_features=1"}, NULL},
    {"forecaster", {SMALL_FORECASTER, "kind=mlp", "hidden_sizes=4", "normalize=window", "loss=mae"}, NULL},
    {"transformer",
     {"vocab_size=11", "d_model=8", "encoder_layers=2", "decoder_layers=1", "encoder_attention_heads=2",
      "decoder_attention_heads=4"},
     NULL},
    {"transformer", {"vocab_size=11", "d_model=8", "tie_word_embeddings=false", "encoder_layers=1"}, NULL},
    {"bart",
     {"vocab_size=9", "d_model=15", "encoder_layers=1", "decoder_layers=2", "encoder_attention_heads=3",
      "decoder_attention_heads=5"},
     NULL},
    {"mbart",
     {"vocab_size=9", "d_model=6", "encoder_layers=2", "decoder_layers=1", "encoder_attention_heads=1",
      "decoder_attention_heads=2"},
     NULL},
    {"pegasus",
     {"vocab_size=9", "d_model=10", "encoder_layers=1", "decoder_layers=1", "encoder_attention_heads=5",
      "decoder_attention_heads=1"},
     NULL},
#define SMALL_T5 "vocab_size=9", "d_model=6", "d_kv=5", "d_ff=7", "num_layers=2", "num_heads=3"
    {"t5", {SMALL_T5, "num_decoder_layers=1"}, NULL},
    {"t5", {SMALL_T5, "tie_word_embeddings=false", "feed_forward_proj=gated-gelu"}, NULL},
    {"t5", {SMALL_T5, "num_labels=4"}, "tag"},
    {"mt5", {SMALL_T5}, NULL},
#define SMALL_BERT                                                                                                     \
    "vocab_size=11", "hidden_size=8", "num_hidden_layers=2", "num_attention_heads=2", "intermediate_size=6"
    {"bert", {SMALL_BERT, "max_position_embeddings=7"}, NULL},
    {"bert", {SMALL_BERT, "tie_word_embeddings=false"}, NULL},
    {"bert", {SMALL_BERT, "num_labels=3"}, "classify"},
    {"bert", {SMALL_BERT, "num_labels=1", "problem_type=regression"}, "regress"},
    {"bert", {SMALL_BERT, "num_labels=3", "problem_type=multi_label_classification"}, "classify"},
    {"bert", {SMALL_BERT}, "nsp"},
    {"bert", {SMALL_BERT, "num_labels=3"}, "tag"},
    {"bert", {SMALL_BERT}, "choose"},
    {"ernie", {SMALL_BERT, "use_task_id=true"}, NULL},
    {"roberta", {SMALL_BERT, "max_position_embeddings=7"}, NULL},
    {"xlm-roberta", {SMALL_BERT, "pad_token_id=7"}, "classify"},
    {"camembert", {SMALL_BERT}, "tag"},
    {"distilbert", {"vocab_size=11", "dim=8", "n_layers=2", "n_heads=2", "hidden_dim=6"}, NULL},
    {"electra", {SMALL_BERT, "embedding_size=5"}, NULL},
    {"electra", {SMALL_BERT, "embedding_size=5", "summary_type=mean"}, "choose"},
    {"albert", {SMALL_BERT, "embedding_size=5", "num_hidden_groups=2", "inner_group_num=2"}, NULL},
    {"mpnet", {SMALL_BERT}, NULL},
#define SMALL_FNET "vocab_size=11", "hidden_size=6", "num_hidden_layers=2", "intermediate_size=5", "type_vocab_size=2"
    {"fnet", {SMALL_FNET, "tie_word_embeddings=false"}, NULL},
    {"fnet", {SMALL_FNET, "num_labels=3"}, "classify"},
    {"fnet", {SMALL_FNET, "num_labels=3"}, "tag"},
    {"modernbert", {SMALL_BERT, "pad_token_id=5", "local_attention=4"}, NULL},
    {"modernbert", {SMALL_BERT, "pad_token_id=5", "classifier_pooling=mean", "norm_bias=true"}, "classify"},
#define SMALL_MIXING    "vocab_size=11", "hidden_size=8", "num_hidden_layers=2", "intermediate_size=6"
#define SMALL_LINFORMER SMALL_MIXING, "num_attention_heads=2", "max_position_embeddings=7", "projected_length=3"
    {"linformer", {SMALL_LINFORMER}, NULL},
    {"linformer", {SMALL_LINFORMER, "sharing=none", "pooling=first"}, "classify"},
    {"linformer", {SMALL_LINFORMER, "sharing=layerwise"}, "tag"},
#define SMALL_PERFORMER SMALL_MIXING, "num_attention_heads=2", "max_position_embeddings=7", "num_random_features=6"
    {"performer", {SMALL_PERFORMER}, NULL},
    {"performer", {SMALL_PERFORMER, "feature_kind=hyperbolic", "orthogonal_features=false"}, "classify"},
    {"performer", {SMALL_PERFORMER, "feature_kind=positive", "redraw_interval=1"}, "lm"},
    {"token-mixer", {SMALL_MIXING, "max_position_embeddings=7", "tokens_mlp_dim=3"}, NULL},
    {"token-mixer", {SMALL_MIXING, "max_position_embeddings=7", "tokens_mlp_dim=9", "num_labels=1"}, "regress"},
    {"token-mixer", {SMALL_MIXING, "max_position_embeddings=7", "tokens_mlp_dim=9"}, "lm"},
#define SMALL_WORKSPACE SMALL_MIXING, "num_attention_heads=2", "num_slots=3", "top_k=2"
    {"workspace", {SMALL_WORKSPACE}, NULL},
    {"workspace", {SMALL_WORKSPACE, "share_layers=true", "num_labels=3"}, "classify"},
    {"workspace", {SMALL_WORKSPACE, "persistent=false", "top_k=0"}, "tag"},
#define SMALL_REFORMER                                                                                                 \
    "hidden_size=6", "num_attention_heads=2", "attention_head_size=3", "feed_forward_size=5",                          \
        "axial_pos_embds_dim=2,4", "axial_pos_shape=4,4", "lsh_attn_chunk_length=2"
    {"reformer", {SMALL_REFORMER, "attn_layers=local,lsh", "local_attn_chunk_length=4"}, NULL},
    {"reformer", {SMALL_REFORMER, "attn_layers=lsh,lsh", "num_hashes=2", "chunk_size_feed_forward=3"}, "mlm"},
    {"reformer", {SMALL_REFORMER, "attn_layers=lsh", "axial_pos_embds=false", "num_buckets=2,4"}, "classify"},
#define SMALL_GPT2 "vocab_size=11", "n_embd=8", "n_layer=2", "n_head=2", "bos_token_id=0", "eos_token_id=0"
    {"gpt2", {SMALL_GPT2, "n_positions=7"}, NULL},
    {"gpt2", {SMALL_GPT2, "tie_word_embeddings=false"}, "lm"},
    {"gpt2", {SMALL_GPT2, "pad_token_id=0"}, "classify"},
#define SMALL_LLAMA SMALL_BERT, "num_key_value_heads=1", "pad_token_id=0"
    {"gpt_neox", {SMALL_BERT, "rotary_pct=0.5"}, NULL},
    {"llama", {SMALL_LLAMA, "max_position_embeddings=7", "mlp_bias=true"}, NULL},
    {"llama", {SMALL_LLAMA, "num_labels=3", "attention_bias=true"}, "classify"},
    {"mistral", {SMALL_LLAMA, "sliding_window=2", "head_dim=6"}, NULL},
    {"qwen2", {SMALL_LLAMA, "use_sliding_window=true", "sliding_window=2", "max_window_layers=1"}, NULL},
    {"qwen3", {SMALL_LLAMA, "head_dim=6", "tie_word_embeddings=true"}, NULL},
    {"phi3", {SMALL_LLAMA, "partial_rotary_factor=0.5"}, NULL},
    {"gemma2", {SMALL_LLAMA, "head_dim=6", "sliding_window=2"}, NULL},
#define SMALL_VIT                                                                                                      \
    "hidden_size=8", "num_hidden_layers=2", "num_attention_heads=2", "intermediate_size=6", "image_size=4",            \
        "patch_size=2"
    {"vit", {SMALL_VIT, "num_labels=3", "drop_path_rate=0.1"}, NULL},
    {"vit", {SMALL_VIT, "num_channels=1", "qkv_bias=false", "num_labels=1"}, "classify"},
    {"deit", {SMALL_VIT, "num_labels=3"}, "distil"},
#define SMALL_DINO                                                                                                     \
    "hidden_size=8", "num_hidden_layers=2", "num_attention_heads=2", "mlp_ratio=2", "image_size=4", "patch_size=2"
    {"dinov2", {SMALL_DINO, "num_labels=3", "use_mask_token=false"}, NULL},
    {"dinov2-with-registers", {SMALL_DINO, "use_swiglu_ffn=true", "num_labels=2"}, "classify"},
#define SMALL_TIMM_VIT "embed_dim=8", "depth=2", "num_heads=2", "img_size=4", "patch_size=2", "num_classes=3"
    {"timm-vit", {SMALL_TIMM_VIT, "drop_path_rate=0.2"}, NULL},
    {"timm-vit", {SMALL_TIMM_VIT, "architecture=deit_tiny_distilled_patch16_224"}, NULL},
    {"timm-vit", {SMALL_TIMM_VIT, "architecture=vit_base_patch16_siglip_256", "init_values=0.5"}, NULL},
    {"cait", {SMALL_TIMM_VIT, "init_values=0.5", "drop_path_rate=0.1"}, NULL},
#define SMALL_SWIN "embed_dim=4", "depths=2,1", "num_heads=1,2", "image_size=8", "patch_size=2", "window_size=2"
    {"swin", {SMALL_SWIN, "num_labels=3", "use_absolute_embeddings=true"}, NULL},
    {"swinv2", {SMALL_SWIN, "num_labels=3", "pretrained_window_sizes=0,3"}, NULL},
    {"timm-swin",
     {"embed_dim=4", "depths=2,1", "num_heads=1,2", "img_size=8", "patch_size=2", "window_size=3", "num_classes=3"},
     NULL},
    {"mixer",
     {"embed_dim=8", "num_blocks=2", "img_size=4", "patch_size=2", "num_classes=3", "drop_path_rate=0.1"},
     NULL},
#define SMALL_PERCEIVER                                                                                                \
    "num_latents=3", "d_latents=6", "d_model=8", "num_blocks=2", "num_self_attends_per_block=2",                       \
        "num_self_attention_heads=2", "num_cross_attention_heads=2", "cross_attention_shape_for_attention=q"
    {"perceiver", {SMALL_PERCEIVER, "vocab_size=11", "max_position_embeddings=9", "decoder_qk_channels=16"}, NULL},
    {"perceiver", {SMALL_PERCEIVER, "vocab_size=11", "num_labels=3", "qk_channels=4", "v_channels=6"}, "classify"},
    {"perceiver", {SMALL_PERCEIVER, "in_channels=1", "out_channels=4", "image_size=3"}, "learned"},
    {"perceiver", {SMALL_PERCEIVER, "in_channels=1", "num_bands=3", "max_resolution=[8, 6]"}, "fourier"},
    {"perceiver", {SMALL_PERCEIVER, "in_channels=1", "num_bands=3", "out_channels=3", "image_size=9"}, "conv"},
#define SMALL_SPARSE                                                                                                   \
    "vocab_size=11", "hidden_size=6", "num_hidden_layers=2", "num_attention_heads=2", "intermediate_size=5"
    {"sparse", {SMALL_SPARSE, "attention_window=2"}, NULL},
    {"sparse", {SMALL_SPARSE, "attention_block=2", "random_blocks=1", "num_labels=3"}, "classify"},
    {"sparse", {SMALL_SPARSE, "attention_block=3", "window_blocks=0", "random_blocks=1"}, "lm"},
#define SMALL_RNN "vocab_size=11", "embedding_size=5", "hidden_size=6"
    {"rnn", {SMALL_RNN, "nonlinearity=relu"}, "tag"},
    {"rnn", {SMALL_RNN, "num_labels=3", "pooling=last"}, "classify"},
    {"gru", {SMALL_RNN}, NULL},
    {"gru", {SMALL_RNN, "num_labels=1", "problem_type=regression", "pooling=mean"}, "regress"},
    {"lstm", {SMALL_RNN, "proj_size=5", "tie_word_embeddings=true"}, "lm"},
    {"lstm", {SMALL_RNN, "num_labels=3"}, "classify"},
#define SMALL_ENCDEC "vocab_size=11", "embedding_size=5", "hidden_size=4"
    {"sutskever", {SMALL_ENCDEC, "decoder_vocab_size=7", "reverse_source=true"}, NULL},
    {"cho", {SMALL_ENCDEC, "maxout_size=3"}, NULL},
    {"bahdanau", {SMALL_ENCDEC, "maxout_size=3", "alignment_size=6", "reverse_source=true"}, NULL},
    {"luong", {SMALL_ENCDEC, "score=dot"}, NULL},
    {"luong", {SMALL_ENCDEC, "score=concat", "attention=local-p", "window=2", "input_feeding=false"}, NULL},
    {"luong", {SMALL_ENCDEC, "attention=local-m", "window=1"}, NULL},
    {"handwriting", {"hidden_size=5", "num_layers=2", "num_mixtures=3"}, NULL},
    {"handwriting", {"hidden_size=4", "num_mixtures=2", "num_windows=3", "characters=ab"}, "synthesis"},
};
enum { SMALLEST = sizeof smallest / sizeof *smallest };

static heed_model *make(heed_ctx *cx, int i) {
    const heed_family *family = heed_family_find(smallest[i].family);
    int n = 0;
    while (smallest[i].settings[n]) n++;
    heed_model *m =
        heed_model_new_as(cx, family, heed_head_for(family, smallest[i].task), smallest[i].settings, n, (uint64_t)i);
    if (!m) fail_msg("%s: %s", smallest[i].family, heed_message(cx));
    return m;
}

static void remove_model(const char *dir) { directory_drop(dir); }

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
        bool made = false;
        for (int k = 0; k < SMALLEST; k++) made |= strcmp(smallest[k].family, f->name) == 0;
        if (!made) fail_msg("no model of family %s is tested", f->name);
    }
    assert_null(heed_family_at(-1));
    assert_null(heed_family_at(heed_family_count()));
    assert_null(heed_family_find("no such"));
    assert_null(heed_family_find(NULL));
}

/* Inputs of the sample's shapes: random numbers; tokens, segments and classes are 0 and 1, which all models have. */
static void draw_inputs(heed_ctx *cx, heed_io *in) {
    for (int i = 0; i < in->n; i++) {
        const heed_tensor *t = in->tensor[i];
        const int64_t n = heed_count(t);
        const size_t bytes = (size_t)n * 4;
        void *numbers = heed_mem_new(cx, bytes);
        for (int64_t k = 0; heed_type(t) == HEED_I32 && k < n; k++)
            ((int32_t *)numbers)[k] = heed_random_bits(9, (uint64_t)i, (uint64_t)k) % 2;
        if (heed_type(t) == HEED_F32) {
            heed_random_normal(9, (uint64_t)i, 0, numbers, n);
            in->tensor[i] = heed_from_f32(cx, numbers, heed_rank(t), heed_shape(t));
        } else if (heed_type(t) == HEED_I32 && strcmp(in->name[i], "attention_mask") != 0)
            in->tensor[i] = heed_from_i32(cx, numbers, heed_rank(t), heed_shape(t));
        heed_mem_free(cx, numbers);
    }
}

/* A step on random inputs: the loss, and whether every parameter that can learn got a gradient. */
static float step(heed_ctx *cx, heed_model *m, bool check) {
    const heed_params *params = heed_model_params(m);
    const int n = heed_params_count(params);
    float *block = heed_mem_new(cx, (size_t)heed_params_numbers(params) * sizeof(float));
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
    heed_tensor *loss = heed_io_get(&out, "loss");
    assert_non_null(heed_io_get(&out, "logits"));
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

/* Every family: made, trained a step, saved, opened again: the same bits. Planned memory is used memory. */
static void test_round_trip(void **state) {
    (void)state;
    char dir[512];
    snprintf(dir, sizeof dir, "%s", in_folder("model"));
    for (int i = 0; i < SMALLEST; i++) {
        heed_ctx *cx = open_context();
        heed_model *m = make(cx, i);
        const float loss = step(cx, m, true);
        assert_true(isfinite(loss) && loss > 0);
        const size_t used = heed_memory_use(cx).step_peak;
        if (!heed_model_save(cx, m, dir)) fail_msg("%s", heed_message(cx));
        heed_model *again = heed_model_load(cx, dir);
        if (!again) fail_msg("%s", heed_message(cx));
        assert_ptr_equal(heed_model_family(again), heed_model_family(m));
        assert_memory_equal(heed_params_block(heed_model_params(m)), heed_params_block(heed_model_params(again)),
                            (size_t)heed_params_numbers(heed_model_params(m)) * sizeof(float));
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
    }
    remove_model(dir);
}

/* Weights are never beside the config of another model: where it says otherwise, it goes before they are written. */
static void test_replaced(void **state) {
    (void)state;
    char dir[512];
    snprintf(dir, sizeof dir, "%s", in_folder("model"));
    heed_ctx *cx = open_context();
    heed_model *a = make(cx, 2), *b = make(cx, 3);
    char config[600], weights[600], decoding[600];
    snprintf(config, sizeof config, "%s/config.json", dir);
    snprintf(weights, sizeof weights, "%s/model.safetensors", dir);
    snprintf(decoding, sizeof decoding, "%s/generation_config.json", dir);
    assert_true(heed_model_save(cx, a, dir));
    write_bytes(decoding, "{}", 2);
    assert_int_equal(unlink(weights), 0);
    assert_int_equal(mkdir(weights, 0777), 0); /* so that writing them fails */
    assert_false(heed_model_save(cx, a, dir));
    EXPECT_SENTENCE(cx, "model.safetensors");
    assert_int_equal(access(config, F_OK), 0); /* the same model */
    assert_int_equal(access(decoding, F_OK), 0);
    assert_false(heed_model_save(cx, b, dir));
    EXPECT_SENTENCE(cx, "model.safetensors");
    assert_int_equal(access(config, F_OK), -1); /* another one */
    assert_int_equal(access(decoding, F_OK), -1);
    assert_int_equal(rmdir(weights), 0);
    assert_true(heed_model_save(cx, b, dir));
    heed_model *again = heed_model_load(cx, dir);
    assert_non_null(again);
    heed_model_free(cx, again);
    heed_model_free(cx, a);
    heed_model_free(cx, b);
    close_context(cx);
    remove_model(dir);
}

static void test_directory_lock(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const int lock = directory_lock(cx, folder);
    assert_true(lock >= 0);
    assert_int_equal(directory_lock(cx, folder), -1);
    EXPECT_SENTENCE(cx, "another process is writing into this directory");
    directory_unlock(lock);
    const int again = directory_lock(cx, folder);
    assert_true(again >= 0);
    directory_unlock(again);
    directory_unlock(-1);
    assert_int_equal(directory_lock(cx, in_folder("none")), -1);
    EXPECT_SENTENCE(cx, "none: No such file");
    close_context(cx);
}

/* A text without a token is classified by the bias alone, whatever is pooled. */
static void test_no_tokens(void **state) {
    (void)state;
    static const char *const pooling[] = {"pooling=last", "pooling=mean", "pooling=max"};
    for (int k = 0; k < 3; k++) {
        heed_ctx *cx = open_context();
        const heed_family *family = heed_family_find("gru");
        const char *const settings[] = {SMALL_RNN, "num_labels=3", pooling[k]};
        heed_model *m = heed_model_new_as(cx, family, heed_head_for(family, "classify"), settings, 5, 1);
        heed_io in = {0}, out = {0};
        heed_io_put(cx, &in, "input_ids", heed_from_i32(cx, (int32_t[]){1, 2, 3, 4, 5, 6}, 2, (int64_t[]){2, 3}));
        heed_io_put(cx, &in, "attention_mask", heed_from_i32(cx, (int32_t[]){1, 1, 1, 0, 0, 0}, 2, (int64_t[]){2, 3}));
        assert_true(m && heed_model_forward(cx, m, &in, &out));
        const float *logits = heed_f32(heed_io_get(&out, "logits"));
        const heed_param *bias = heed_params_find(heed_model_params(m), "output.bias");
        for (int i = 0; i < 3; i++) {
            assert_true(isfinite(logits[i]));
            assert_true(logits[3 + i] == ((const float *)bias->data)[i]);
        }
        heed_model_free(cx, m);
        close_context(cx);
    }
}

/* A host program may have set a locale with decimal commas: numbers of settings and files have points. */
static void test_any_locale(void **state) {
    (void)state;
    static const char *const settings[] = {"input_size=3", "output_size=2", "dropout=0.25"};
    char dir[512];
    if (!set_comma_locale()) skip();
    snprintf(dir, sizeof dir, "%s", in_folder("model"));
    heed_ctx *cx = open_context();
    heed_model *m = heed_model_new(cx, heed_family_find("mlp"), settings, 3, 1);
    assert_true(heed_model_save(cx, m, dir));
    setlocale(LC_ALL, "C");
    heed_model *again = heed_model_load(cx, dir);
    assert_true(heed_json_number(cx, heed_model_config(again), "dropout") == 0.25);
    heed_model_free(cx, m);
    heed_model_free(cx, again);
    close_context(cx);
    remove_model(dir);
}

static void test_settings(void **state) {
    (void)state;
    static const struct {
        const char *settings[5];
        const char *sentence;
    } wrong[] = {
        {{"output_size=2"}, "mlp: input_size must be given"},
        {{"input_size=2", "output_size=2", "hiden=3"},
         "mlp: 'hiden' is not a key of its config; these are: input_size"},
        {{"input_size"}, "mlp: 'input_size' is not of the form key=value"},
        {{"input_size=two"}, "mlp: input_size: 'two' is not a whole number"},
        {{"input_size="}, "mlp: input_size: '' is not a whole number"},
        {{"input_size=1.5"}, "is not a whole number"},
        {{"input_size=99999999999999999999"}, "is not a whole number"},
        {{"input_size=0", "output_size=2"}, "mlp: input_size: 0 is not between 1 and"},
        {{"input_size=2", "output_size=2", "dropout=nan"}, "mlp: dropout: 'nan' is not a number"},
        {{"input_size=2", "output_size=2", "dropout=1.5"}, "mlp: dropout: 1.5 is not between 0 and 1"},
        {{"input_size=2", "output_size=2", "task=guess"}, "mlp: task: 'guess' is not one of: regress, classify"},
        {{"input_size=2", "output_size=2", "activation=rlu"},
         "mlp: activation: 'rlu' is not one of: linear, identity, relu"},
        {{"input_size=2", "output_size=2", "hidden_sizes=[4,x]"}, "mlp: hidden_sizes: '[4,x]' is not whole numbers"},
        {{"input_size=2", "output_size=2", "hidden_sizes=4,"}, "is not whole numbers"},
        {{"input_size=2", "output_size=2", "hidden_sizes=-1"}, "mlp: hidden_sizes[0]: -1 is not between 1 and "},
        {{"input_size=2", "output_size=2", "standardize_input=yes"}, "is not true or false"},
        {{"input_size=2", "output_size=2", "standardize_output=true", "task=classify"}, "classes cannot be"},
        {{"input_size=2", "output_size=2", "image_size=3,3"}, "mlp: image_size: 1 x 3 x 3 numbers are not the 2"},
        {{"input_size=2", "output_size=2", "image_size=3"}, "height and width are two numbers"},
        {{"input_size=1000000000000", "output_size=1000000000000", "hidden_sizes=1000000000000"}, "param: 'weight'"},
    };
    heed_ctx *cx = open_context();
    const heed_family *mlp = heed_family_find("mlp");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        int n = 0;
        while (n < 5 && wrong[i].settings[n]) n++;
        assert_null(heed_model_new(cx, mlp, wrong[i].settings, n, 1));
        EXPECT_SENTENCE(cx, wrong[i].sentence);
    }
    char many[2100] = "hidden_sizes=1";
    for (int i = 0; i < 99; i++) strcat(many, ",1");
    heed_model *deep = heed_model_new(cx, mlp, (const char *[]){"input_size=1", "output_size=1", many}, 3, 1);
    assert_non_null(deep);
    heed_model_free(cx, deep);
    for (int i = 0; i < 925; i++) strcat(many, ",1");
    assert_null(heed_model_new(cx, mlp, (const char *[]){"input_size=1", "output_size=1", many}, 3, 1));
    EXPECT_SENTENCE(cx, "hidden_sizes: 1025 numbers are more than 1024");
    assert_null(heed_model_new(cx, NULL, NULL, 0, 1));
    EXPECT_SENTENCE(cx, "the family is NULL");
    assert_null(heed_model_new(cx, mlp, (const char *[]){"input_size=1", NULL}, 2, 1));
    EXPECT_SENTENCE(cx, "mlp: a setting is NULL");
    close_context(cx);
}

static void write_text(const char *path, const char *text) { write_bytes(path, text, strlen(text)); }

/* What the family does not know is kept; what is missing or null gets its standard value. */
static void test_config_is_kept(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    char dir[512];
    snprintf(dir, sizeof dir, "%s", in_folder("model"));
    heed_model *m = make(cx, 0);
    heed_model_save(cx, m, dir);
    heed_model_free(cx, m);
    write_text(
        in_folder("model/config.json"),
        "{\"model_type\": \"heed-linear\", \"id2label\": {\"0\": \"cat\"}, \"input_size\": 3, \"output_size\": 2,"
        " \"task\": null, \"note\": [1, 2.5]}");
    m = heed_model_load(cx, dir);
    if (!m) fail_msg("%s", heed_message(cx));
    assert_string_equal(heed_json_text(cx, heed_model_config(m), "task"), "regress");
    assert_false(heed_json_bool(cx, heed_model_config(m), "standardize_input"));
    heed_json_put_text(cx, heed_model_config(m), "trained_on", "digits");
    assert_true(heed_model_save(cx, m, dir));
    heed_model_free(cx, m);
    const heed_json config = heed_json_open(cx, in_folder("model/config.json"));
    assert_string_equal(heed_json_text(cx, heed_json_object(cx, config, "id2label"), "0"), "cat");
    assert_int_equal(heed_json_count(heed_json_array(cx, config, "note")), 2);
    assert_string_equal(heed_json_text(cx, config, "trained_on"), "digits");
    heed_json_free(config);
    remove_model(dir);
    close_context(cx);
}

static heed_tokenizer *letters(heed_ctx *cx, const char *text) {
    heed_string s = {0};
    heed_lines lines = {0};
    assert_true(heed_string_put(cx, &s, text, strlen(text)) && heed_lines_cut(cx, &s, &lines));
    const heed_lines *const texts[] = {&lines};
    heed_tokenizer *t = heed_tokenizer_train(cx, texts, 1, &(heed_tokenizer_opts){.kind = HEED_TOKENS_CHAR});
    assert_non_null(t);
    heed_lines_free(cx, &lines);
    return t;
}

/* Every file that is written is removed with the directory, and none outlives the model that it belongs to. */
static void test_files(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    char dir[512], copy[512];
    snprintf(dir, sizeof dir, "%s", in_folder("model"));
    snprintf(copy, sizeof copy, "%s", in_folder("copy"));
    heed_model *plain = make(cx, 0);
    assert_true(heed_model_save(cx, plain, dir));
    write_text(in_folder("model/generation_config.json"), "{\"num_beams\": 3}");
    heed_model *m = heed_model_load(cx, dir);
    assert_int_equal(heed_json_int(cx, heed_model_decoding(m), "num_beams"), 3);
    heed_tokenizer *tokens[2] = {letters(cx, "ab\n"), letters(cx, "cd\n")};
    assert_true(heed_model_save(cx, m, copy) && directory_save_tokenizers(cx, dir, tokens) &&
                directory_copy_tokenizers(cx, dir, copy));
    heed_model_free(cx, m);
    static const char *const all[] = {CONFIG_FILE, GENERATION_CONFIG_FILE, WEIGHTS_FILE, TOKENIZER_FILE,
                                      TARGET_TOKENIZER_FILE};
    for (int i = 0; i < 5; i++) assert_true(directory_has(copy, all[i]));
    directory_drop(copy);
    assert_int_not_equal(access(copy, F_OK), 0);

    /* a model without generation_config.json, with one vocabulary, in the place of one with both */
    assert_true(heed_model_save(cx, plain, dir) &&
                directory_save_tokenizers(cx, dir, (heed_tokenizer *[2]){tokens[0], tokens[0]}));
    assert_false(directory_has(dir, GENERATION_CONFIG_FILE) || directory_has(dir, TARGET_TOKENIZER_FILE));
    write_text(in_folder("model/notes.txt"), "mine");
    directory_drop(dir);
    assert_true(directory_has(dir, "notes.txt"));
    assert_false(directory_has(dir, WEIGHTS_FILE));
    assert_true(directory_remove(cx, dir, "notes.txt") && directory_remove(cx, dir, "notes.txt"));
    assert_false(directory_remove(cx, folder, "model")); /* which is a directory */
    EXPECT_SENTENCE(cx, "/model: ");
    directory_drop(dir);
    heed_model_free(cx, plain);
    for (int i = 0; i < 2; i++) heed_tokenizer_free(cx, tokens[i]);
    close_context(cx);
}

static void test_wrong_directories(void **state) {
    (void)state;
    static const struct {
        const char *config, *sentence;
    } wrong[] = {
        {"{", "model/config.json: line 1"},
        {"[]", "expected an object, found an array"},
        {"{}", "model/config.json: model_type: missing"},
        {"{\"model_type\": 3}", "model_type: expected a string"},
        {"{\"model_type\": \"bird\"}", "model/config.json: model_type: no family of heed's is 'bird'"},
        {"{\"model_type\": \"mlp\"}", "no family of heed's is 'mlp'"}, /* the name, not the type */
        {"{\"model_type\": \"heed-linear\"}", "model/config.json: input_size: missing"},
        {"{\"model_type\": \"heed-linear\", \"input_size\": \"3\"}", "input_size: expected an integer, found a string"},
        {"{\"model_type\": \"heed-linear\", \"input_size\": 3, \"output_size\": -2}", "output_size: -2 is not between"},
        {"{\"model_type\": \"heed-linear\", \"input_size\": 4, \"output_size\": 2}",
         "model: 1 name does not fit: misshapen 'linear.weight' is (2,3), not (2,4)"},
        {"{\"model_type\": \"heed-mlp\", \"input_size\": 3, \"output_size\": 2, \"hidden_sizes\": [1.5]}",
         "hidden_sizes[0]: expected an integer"},
        {"{\"architecture\": \"swin_tiny_patch4_window7_224\", \"model_args\": {\"num_heads\": null}}",
         "num_heads: each stage needs a number of heads"},
    };
    heed_ctx *cx = open_context();
    char dir[512];
    snprintf(dir, sizeof dir, "%s", in_folder("model"));
    heed_model *m = make(cx, 0);
    heed_model_save(cx, m, dir);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        write_text(in_folder("model/config.json"), wrong[i].config);
        assert_null(heed_model_load(cx, dir));
        EXPECT_SENTENCE(cx, wrong[i].sentence);
    }
    heed_model_save(cx, m, dir);
    remove(in_folder("model/model.safetensors"));
    assert_null(heed_model_load(cx, dir));
    EXPECT_SENTENCE(cx, "model");
    remove_model(dir);
    assert_null(heed_model_load(cx, dir));
    EXPECT_SENTENCE(cx, "model/config.json");
    assert_null(heed_model_load(cx, NULL));
    EXPECT_SENTENCE(cx, "model_load: the directory is NULL");
    write_text(in_folder("file"), "");
    assert_false(heed_model_save(cx, m, in_folder("file/model")));
    EXPECT_SENTENCE(cx, "file");
    remove(in_folder("file"));
    assert_true(heed_model_save(cx, m, in_folder("a/b/"))); /* those above it are made too */
    remove_model(in_folder("a/b"));
    remove(in_folder("a"));
    assert_false(heed_model_save(cx, NULL, dir));
    EXPECT_SENTENCE(cx, "model_save");
    assert_false(heed_model_forward(cx, NULL, NULL, NULL));
    EXPECT_SENTENCE(cx, "model_forward: the model is NULL");
    assert_false(heed_model_sample(cx, m, 0, 1, &(heed_io){0}));
    EXPECT_SENTENCE(cx, "model_sample");
    heed_model_free(cx, m);
    heed_model_free(cx, NULL);
    close_context(cx);
}

/* An input that the head does not read is a name misspelt, and what it takes is said. */
static void test_unknown_inputs(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    static const char *const settings[] = {"vocab_size=9",          "hidden_size=4",       "num_hidden_layers=1",
                                           "num_attention_heads=1", "intermediate_size=4", "max_position_embeddings=8"};
    heed_model *m = heed_model_new(cx, heed_family_find("bert"), settings, 6, 1);
    heed_io in = {0}, out = {0};
    heed_tensor *ids = heed_from_i32(cx, (const int32_t[]){1, 2, 0}, 2, (const int64_t[]){1, 3});
    heed_io_put(cx, &in, "input_ids", ids);
    heed_io_put(cx, &in, "atention_mask", ids);
    assert_non_null(m);
    assert_false(heed_model_forward(cx, m, &in, &out));
    EXPECT_SENTENCE(cx, "'atention_mask' is not an input of BertForMaskedLM, which takes: input_ids attention_mask");
    heed_model_free(cx, m);
    close_context(cx);
}

static void test_io(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_io io = {0};
    char name[8];
    heed_tensor *t = heed_full(cx, 1, 0, NULL), *u = heed_full(cx, 2, 0, NULL);
    for (int i = 0; i < 100; i++) { /* names are copied, and there is no limit */
        snprintf(name, sizeof name, "t%d", i);
        assert_true(heed_io_put(cx, &io, name, i == 50 ? u : t));
    }
    assert_int_equal(io.n, 100);
    assert_ptr_equal(heed_io_get(&io, "t50"), u);
    assert_true(heed_io_put(cx, &io, "t7", u)); /* the same name again replaces */
    assert_ptr_equal(heed_io_get(&io, "t7"), u);
    assert_int_equal(io.n, 100);
    assert_null(heed_io_get(&io, "z"));
    assert_null(heed_io_get(NULL, "z"));
    assert_false(heed_io_put(cx, &io, "z", NULL));
    EXPECT_SENTENCE(cx, "io: ");
    close_context(cx);
}

/* Memory refused at any moment is a sentence, and nothing is lost. */
static void test_refused_memory(void **state) {
    (void)state;
    heed_ctx *maker = open_context();
    char dir[512];
    snprintf(dir, sizeof dir, "%s", in_folder("model"));
    heed_model *m = make(maker, 4);
    heed_model_save(maker, m, dir);
    heed_model_free(maker, m);
    close_context(maker);
    bool through = false;
    for (int64_t n = 1; !through; n++) {
        heed_ctx *cx = open_context();
        books.fail_at = books.requests + n;
        heed_model *loaded = heed_model_load(cx, dir);
        heed_io in, out;
        heed_model_sample(cx, loaded, 2, 1, &in);
        const bool ran = loaded && !heed_failed(cx) && heed_model_forward(cx, loaded, &in, &out);
        through = books.requests < books.fail_at;
        assert_true(ran || !through); /* the arena may get by with a smaller piece */
        assert_int_equal(heed_error(cx), ran ? HEED_OK : HEED_ERR_MEMORY);
        heed_model_free(cx, loaded);
        heed_clear(cx);
        close_context(cx);
        assert_true(n < 1000);
    }
    remove_model(dir);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_families),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_settings),
        cmocka_unit_test(test_config_is_kept),
        cmocka_unit_test(test_wrong_directories),
        cmocka_unit_test(test_io),
        cmocka_unit_test(test_unknown_inputs),
        cmocka_unit_test(test_refused_memory),
        cmocka_unit_test(test_no_tokens),
        cmocka_unit_test(test_any_locale),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_replaced),
        cmocka_unit_test(test_directory_lock),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
