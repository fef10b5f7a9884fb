#include "model/small_model.h"

#include <fnmatch.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    VOCABULARY = 11,
    NUMBERS = 20000, /* of parameters; a size that has no line below has its default, and the model many more */
    SETTINGS = 128,
    LENGTH = 128
};

/* What makes a model small: sizes by the names of keys, as patterns, of which the first that fits counts. A key whose
 * default is 0, null or empty says "none" or "as another one" and keeps it. */
static const struct {
    const char *key, *value; /* or family.key, of one family alone */
} sizes[] = {
    {"volo.patch_size", "4"}, /* which are no smaller */
    {"volo.img_size", "16"},
    {"levit.hidden_sizes", "8,9"},
    {"nonlocal.blocks", "0"},
    {"levit.key_dim", "3"},
    {"levit.attention_ratio", "2"},
    {"timm-levit.key_dim", "3"},
    {"timm-levit.img_size", "16,32"}, /* 1 x 2 tokens */
    {"volo.layers", "2,2"},
    {"unet2d.block_out_channels", "4,4,4,4"}, /* of the four stages that it has */
    {"layers_per_block", "1"},
    {"norm_num_groups", "2"},
    {"sample_size", "8"},
    {"vocab_size", "11"},
    {"timm-resnet.channels", "4,4,4,4"}, /* of the four stages that a ResNet of timm has */
    {"timm-resnet.layers", "1,2,1,1"},
    {"timm-resnet.stem_width", "4"},
    {"input_size", "3"},
    {"output_size", "2"},
    {"points", "7"},
    {"num_classes", "3"},
    {"context_length", "5"},
    {"prediction_length", "3"},
    {"num_targets", "2"},
    /* pictures of 4 x 4 patches, windows of 2 x 2 */
    {"image_size", "8"},
    {"img_size", "8"},
    {"max_resolution", "8"},
    {"patch_size", "2"},
    {"window_size", "2"},
    {"pretrained_window_sizes", "0,3"},
    {"encoder_stride", "2"},
    {"mlp_ratio", "2"},
    /* depth */
    {"*depths", "2,1"},
    {"*depth_token_only", "1"},
    {"stem_hidden_dim", "3"},
    {"*embed_dims", "8"},
    {"*layers", "2"},
    {"*layer", "2"},
    {"*depth", "2"},
    {"num_blocks", "2"},
    {"num_self_attends_per_block", "2"},
    /* heads, keys and what they attend to */
    {"num_key_value_heads", "1"},
    {"*heads", "2"},
    {"n_head", "2"},
    {"head_dim", "6"},
    {"attention_head_size", "4"},
    {"attention_head_dim", "2"},
    {"d_kv", "5"},
    {"decoder_qk_channels", "16"},
    {"num_bands", "3"}, /* 2 x 2 x 3 + 2 numbers for a place, and two channels */
    {"in_channels", "2"},
    {"num_latents", "3"},
    {"num_detection_tokens", "3"},
    {"num_queries", "3"},
    {"num_slots", "3"},
    {"top_k", "2"},
    {"num_random_features", "6"},
    {"projected_length", "3"},
    {"lsh_attn_chunk_length", "2"},
    {"local_attn_chunk_length", "4"},
    {"axial_pos_shape", "4,4"},
    {"axial_pos_embds_dim", "3,5"},
    {"local_attention", "4"},
    {"sliding_window", "2"},
    {"window", "2"},
    {"original_max_position_embeddings", "4"},
    {"max_position_embeddings", "9"},
    {"n_positions", "9"},
    /* width */
    {"hidden_sizes", "5,4"},
    {"hidden_size", "8"},
    {"*d_model", "8"},
    {"d_latents", "8"},
    {"n_embd", "8"},
    {"*embed_dim", "8"},
    {"dim", "8"},
    {"embedding_size", "5"},
    {"intermediate_size", "6"},
    {"feed_forward_size", "6"},
    {"hidden_dim", "6"},
    {"tokens_mlp_dim", "6"},
    {"d_ff", "6"},
    {"*_ffn_dim", "6"},
    {"decoder_size", "3"},
    {"maxout_size", "3"},
    {"num_mixtures", "3"},
    {"num_windows", "3"},
    {"out_channels", "4"},
};

static const char *size_of(const char *family, const heed_key *key) {
    const char *const standard = key->standard;
    const heed_key_kind kind = key->kind;
    if (standard && (!*standard || strcmp(standard, "0") == 0 || strcmp(standard, "null") == 0)) return NULL;
    if (kind != HEED_KEY_INT && kind != HEED_KEY_INTS && kind != HEED_KEY_INT_OR_NULL && kind != HEED_KEY_INT_OR_LIST)
        return NULL;
    char own[LENGTH];
    snprintf(own, sizeof own, "%s.%s", family, key->name);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (fnmatch(sizes[i].key, strchr(sizes[i].key, '.') ? own : key->name, 0) == 0) return sizes[i].value;
    return NULL;
}

struct settings {
    const char *family;
    char text[SETTINGS][LENGTH];
    const char *list[SETTINGS];
    int n;
};

static void put(struct settings *s, const char *key, int key_length, const char *value, int value_length) {
    if (s->n == SETTINGS) fail_msg("%s: more than %d settings", s->family, SETTINGS);
    const int length = snprintf(s->text[s->n], LENGTH, "%.*s=%.*s", key_length, key, value_length, value);
    if (length >= LENGTH) fail_msg("%s: a setting of %d bytes: %s", s->family, length, s->text[s->n]);
    s->list[s->n] = s->text[s->n];
    s->n++;
}

/* Sizes of the configs within the config: of a network below. */
static void put_inner(struct settings *s, const char *name, const heed_key *key) {
    for (; key && key->name; key++) {
        const char *const value = size_of(s->family, key);
        char full[LENGTH];
        snprintf(full, sizeof full, "%s.%s", name, key->name);
        if (value) put(s, full, LENGTH, value, LENGTH);
    }
}

/* Has `more`, which overrides, a "key="? */
static bool is_given(const char *more, const char *key) {
    const size_t n = strlen(key);
    for (const char *at = more; at && (at = strstr(at, key)); at += n)
        if ((at == more || at[-1] == ' ') && at[n] == '=') return true;
    return false;
}

static void put_sizes(struct settings *s, const heed_key *key, const char *more) {
    for (; key && key->name; key++) {
        const char *const value = size_of(s->family, key);
        char token[16];
        if (is_given(more, key->name)) continue;
        if (value) {
            char list[32]; /* of a key with a list one for each of the two stages that `depths` says */
            const bool pair = strchr(key->standard ? key->standard : "", ',') && !strchr(value, ',');
            snprintf(list, sizeof list, "%s%s%s", value, pair ? "," : "", pair ? value : "");
            put(s, key->name, LENGTH, list, LENGTH);
        }
        if (strcmp(key->name, "pad_token_id") == 0 && strcmp(key->standard, "null") == 0)
            put(s, key->name, LENGTH, "0", LENGTH); /* classes of texts of different lengths need one */
        if (fnmatch("*token_id", key->name, 0) != 0 || !key->standard) continue;
        if (strtol(key->standard, NULL, 10) >= VOCABULARY) { /* a token of the large vocabulary */
            snprintf(token, sizeof token, "%ld", strtol(key->standard, NULL, 10) % VOCABULARY);
            put(s, key->name, LENGTH, token, LENGTH);
        }
    }
}

heed_model *small_model_try(heed_ctx *cx, const heed_family *family, const heed_head *head, const char *more,
                            uint64_t seed) {
    struct settings s = {.family = family->name};
    if (!head) head = family->heads;
    put_sizes(&s, family->keys, more);
    put_sizes(&s, head->keys, more);
    for (int i = 0; family->inner && family->inner[i]; i += 2)
        put_inner(&s, family->inner[i], heed_family_find(family->inner[i + 1])->keys);
    for (const char *at = more; at && *at; at += strspn(at, " ")) {
        const int n = (int)strcspn(at, " "), key = (int)strcspn(at, "=");
        put(&s, at, key, at + key + 1, n - key - 1);
        at += n;
    }
    return heed_model_new_as(cx, family, head, s.list, s.n, seed);
}

heed_model *small_model(heed_ctx *cx, const heed_family *family, const heed_head *head, const char *more,
                        uint64_t seed) {
    const char *const name = (head ? head : family->heads)->architecture;
    heed_model *m = small_model_try(cx, family, head, more, seed);
    if (!m) fail_msg("%s, %s: %s (sizes: tests/model/small_model.c)", family->name, name, heed_message(cx));
    const int64_t numbers = heed_params_size(heed_model_params(m));
    if (numbers > NUMBERS)
        fail_msg("%s, %s: %lld parameters, which is not small: its keys want lines in tests/model/small_model.c",
                 family->name, name, (long long)numbers);
    return m;
}
