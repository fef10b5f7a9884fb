/* What a config.json says of a Reformer, and its parameters. */
#include "model/efficient/reformer.h"
#include <string.h>

const heed_key reformer_keys[] = {
    {"vocab_size", HEED_KEY_INT, "320", "number of tokens"},
    {"hidden_size", HEED_KEY_INT, "256", "width of each of the two streams"},
    {"attn_layers", HEED_KEY_TEXTS, "[\"local\", \"lsh\", \"local\", \"lsh\", \"local\", \"lsh\"]",
     "attention of each layer, local or lsh"},
    {"num_attention_heads", HEED_KEY_INT, "12", "number of attention heads"},
    {"attention_head_size", HEED_KEY_INT, "64", "width of a head"},
    {"feed_forward_size", HEED_KEY_INT, "512", "width of the feed-forward layer"},
    {"hidden_act", HEED_KEY_TEXT, "relu", "activation, by transformers' name"},
    {"chunk_size_feed_forward", HEED_KEY_INT, "0", "positions that the feed-forward layer takes at a time; 0: all"},
    {"local_attn_chunk_length", HEED_KEY_INT, "64", "length of chunks in local layers"},
    {"local_num_chunks_before", HEED_KEY_INT, "1", "chunks before its own that a query of a local layer sees"},
    {"local_num_chunks_after", HEED_KEY_INT, "0", "chunks after its own that a query of a local layer sees"},
    {"local_attention_probs_dropout_prob", HEED_KEY_NUMBER, "0.05", "dropout of attention weights in local layers"},
    {"lsh_attn_chunk_length", HEED_KEY_INT_OR_NULL, "64", "length of chunks of sorted positions in LSH layers"},
    {"lsh_num_chunks_before", HEED_KEY_INT_OR_NULL, "1", "chunks before its own that a query of an LSH layer sees"},
    {"lsh_num_chunks_after", HEED_KEY_INT_OR_NULL, "0", "chunks after its own that a query of an LSH layer sees"},
    {"lsh_attention_probs_dropout_prob", HEED_KEY_NUMBER_OR_NULL, "0.0", "dropout of attention weights in LSH layers"},
    {"num_hashes", HEED_KEY_INT, "1", "number of rounds of hashing"},
    {"num_buckets", HEED_KEY_INT_OR_LIST, "null", "number of buckets, even, or its even factors; null: by the length"},
    {"hash_seed", HEED_KEY_INT_OR_NULL, "null", "seed of the hashes, as in PyTorch; null: drawn anew in each step"},
    {"axial_pos_embds", HEED_KEY_BOOL, "true", "positions are axial; false: learned one by one"},
    {"axial_pos_shape", HEED_KEY_INTS, "64,64", "rows and columns of axial positions; at least as many as tokens"},
    {"axial_pos_embds_dim", HEED_KEY_INTS, "64,192", "width of the embeddings of rows and of columns"},
    {"axial_norm_std", HEED_KEY_NUMBER, "1.0", "standard deviation of fresh axial positions"},
    {"max_position_embeddings", HEED_KEY_INT, "4096", "maximum sequence length, padding included"},
    {"hidden_dropout_prob", HEED_KEY_NUMBER, "0.05", "dropout of embeddings and of the sublayers' outputs"},
    {"layer_norm_eps", HEED_KEY_NUMBER, "1e-12", "epsilon of layer norms"},
    {"initializer_range", HEED_KEY_NUMBER, "0.02", "standard deviation of fresh weights"},
    {"pad_token_id", HEED_KEY_INT_OR_NULL, "0", "padding token"},
    {"eos_token_id", HEED_KEY_INT_OR_LIST, "2", "token that text ends with"},
    {"bos_token_id", HEED_KEY_INT_OR_NULL, "null", "token that text begins with"},
    END_OF_KEYS,
};

#define SIZE_MOST    ((int64_t)1 << 30)
#define MAX_LENGTH   ((int64_t)1 << 24)
#define MAX_HASHES   256
#define MAX_AROUND   1024
#define MAX_HEAD     1024
#define POSITION_MAX ((int64_t)1 << 30)

/* ---- chunks, hashes and buckets ---- */

static bool read_chunks(heed_ctx *cx, heed_json config, struct reformer *m) {
    m->local.length = config_int(cx, config, "local_attn_chunk_length", 1, MAX_LENGTH);
    m->local.before = config_int(cx, config, "local_num_chunks_before", 0, MAX_AROUND);
    m->local.after = config_int(cx, config, "local_num_chunks_after", 0, MAX_AROUND);
    m->local.dropout = (float)config_number(cx, config, "local_attention_probs_dropout_prob", 0, 1);
    m->lsh.length = config_int_or(cx, config, "lsh_attn_chunk_length", 1, MAX_LENGTH, 64);
    m->lsh.before = config_int_or(cx, config, "lsh_num_chunks_before", 0, MAX_AROUND, 1);
    m->lsh.after = config_int_or(cx, config, "lsh_num_chunks_after", 0, MAX_AROUND, 0);
    m->lsh.dropout = (float)config_number_or(cx, config, "lsh_attention_probs_dropout_prob", 0, 1, 0);
    return !heed_failed(cx);
}

static bool read_buckets(heed_ctx *cx, heed_json config, struct reformer *m) {
    static const char *const key = "num_buckets";
    const heed_json at = heed_json_find(cx, config, key), seed = heed_json_find(cx, config, "hash_seed");
    heed_lsh_opts *const o = &m->buckets;
    m->hashes = config_int(cx, config, "num_hashes", 1, MAX_HASHES);
    m->seeded = heed_json_kind_of(seed) == HEED_JSON_INT;
    if (m->seeded) m->seed = heed_json_int(cx, config, "hash_seed");
    if (heed_failed(cx) || heed_json_kind_of(at) <= HEED_JSON_NULL) return !heed_failed(cx);
    if (heed_json_kind_of(at) == HEED_JSON_INT)
        o->factors = 1, o->factor[0] = config_int(cx, config, key, 1, HEED_LSH_BUCKETS);
    else
        o->factors = config_ints(cx, config, key, 1, HEED_LSH_BUCKETS, o->factor, HEED_LSH_FACTORS);
    int64_t all = 1;
    for (int i = 0; i < o->factors && !heed_failed(cx); i++) {
        if (o->factor[i] % 2)
            return heed_json_fail(cx, at, "%lld buckets: the number must be even", (long long)o->factor[i]);
        all *= o->factor[i];
        if (all > HEED_LSH_BUCKETS) return heed_json_fail(cx, at, "more than %d buckets", HEED_LSH_BUCKETS);
    }
    if (!heed_failed(cx) && o->factors < 1) return heed_json_fail(cx, at, "a list of no factors");
    return !heed_failed(cx);
}

/* ---- parameters ---- */

static bool make_positions(heed_ctx *cx, heed_json config, heed_params *set, const char *base, struct reformer *m) {
    const struct part_name name = part_under(cx, base, "embeddings.position_embeddings");
    m->allowed = m->positions = config_int(cx, config, "max_position_embeddings", 1, POSITION_MAX);
    if (heed_failed(cx)) return false;
    if (!heed_json_bool(cx, config, "axial_pos_embds"))
        return part_embedding(cx, set, name.s, "embedding", m->positions, m->width, m->init, &m->position);
    int64_t n[2], wide[2];
    const heed_init init = {HEED_INIT_NORMAL, 0, (float)config_number(cx, config, "axial_norm_std", 0, 1e6)};
    const int axes = config_ints(cx, config, "axial_pos_shape", 1, POSITION_MAX, n, 2),
              parts = config_ints(cx, config, "axial_pos_embds_dim", 1, SIZE_MOST, wide, 2);
    if (heed_failed(cx)) return false;
    if (axes != 2 || parts != 2)
        return heed_json_fail(cx, heed_json_find(cx, config, axes != 2 ? "axial_pos_shape" : "axial_pos_embds_dim"),
                              "2 numbers are needed, of rows and of columns, not %d", axes != 2 ? axes : parts);
    if (wide[0] + wide[1] != m->width)
        return heed_json_fail(cx, heed_json_find(cx, config, "axial_pos_embds_dim"),
                              "%lld and %lld do not add up to a hidden_size of %lld", (long long)wide[0],
                              (long long)wide[1], (long long)m->width);
    m->axial[0] = heed_param_add(cx, set, name.s, "weights.0", 3, (int64_t[]){n[0], 1, wide[0]}, init);
    m->axial[1] = heed_param_add(cx, set, name.s, "weights.1", 3, (int64_t[]){1, n[1], wide[1]}, init);
    if (n[0] <= m->positions / n[1]) m->positions = n[0] * n[1];
    return !heed_failed(cx);
}

static bool make_layer(heed_ctx *cx, heed_json config, heed_params *set, const char *prefix, const struct reformer *m,
                       struct reformer_layer *l) {
    static const char *const local[] = {"query", "key", "value"}, *const lsh[] = {"query_key", "value"};
    const int64_t C = m->width, all = m->heads * m->size, rows[] = {all, all, all};
    const int64_t inner = config_int(cx, config, "feed_forward_size", 1, SIZE_MOST);
    const float eps = (float)config_number(cx, config, "layer_norm_eps", 0, 1);
    const struct part_name self = part_under(cx, prefix, "attention.self_attention");
    return part_norm(cx, set, prefix, "attention.layer_norm", C, eps, &l->norm1) &&
           part_slices(cx, set, self.s, "in", l->lsh ? lsh : local, rows, l->lsh ? 2 : 3, C, false, m->init, &l->in) &&
           part_linear(cx, set, prefix, "attention.output.dense", all, C, false, m->init, &l->out) &&
           part_norm(cx, set, prefix, "feed_forward.layer_norm", C, eps, &l->norm2) &&
           part_linear(cx, set, prefix, "feed_forward.dense.dense", C, inner, true, m->init, &l->up) &&
           part_linear(cx, set, prefix, "feed_forward.output.dense", inner, C, true, m->init, &l->down);
}

static int64_t common_multiple(int64_t a, int64_t b) {
    int64_t x = a, y = b;
    while (y > 0) {
        const int64_t rest = x % y;
        x = y, y = rest;
    }
    return a / x * b;
}

/* The kinds of the layers, and to what multiple sequences are padded. */
static bool read_layers(heed_ctx *cx, heed_json config, heed_params *set, struct reformer *m) {
    const heed_json list = heed_json_array(cx, config, "attn_layers");
    const int64_t n = heed_json_count(list);
    bool has[2] = {false, false};
    if (heed_failed(cx)) return false;
    if (n < 1 || n > MAX_LAYERS)
        return heed_json_fail(cx, list, "%lld layers: 1 to %d are possible", (long long)n, MAX_LAYERS);
    m->layers = (int)n;
    m->layer = heed_params_alloc(cx, set, (size_t)n, sizeof *m->layer);
    for (int i = 0; i < m->layers && !heed_failed(cx); i++) {
        const heed_json at = heed_json_item(cx, list, i);
        const char *const name = heed_json_text(cx, at, NULL);
        if (!name) return false;
        m->layer[i].lsh = strcmp(name, "lsh") == 0;
        if (!m->layer[i].lsh && strcmp(name, "local") != 0)
            return heed_json_fail(cx, at, "it is neither local nor lsh");
        has[m->layer[i].lsh] = true;
    }
    if (heed_failed(cx)) return false;
    const int64_t local = m->local.length, lsh = m->lsh.length;
    m->multiple = has[0] && has[1] ? common_multiple(local, lsh) : has[1] ? lsh : local;
    m->shortest = has[0] && has[1] ? (local < lsh ? local : lsh) : m->multiple;
    if (m->causal && ((has[0] && m->local.after) || (has[1] && m->lsh.after)))
        return heed_json_fail(
            cx,
            heed_json_find(cx, config, has[0] && m->local.after ? "local_num_chunks_after" : "lsh_num_chunks_after"),
            "a decoder sees no chunks after its own");
    return true;
}

bool reformer_make(heed_ctx *cx, heed_json config, heed_params *set, const char *base, struct reformer *m) {
    const int64_t words = config_int(cx, config, "vocab_size", 1, SIZE_MOST);
    m->width = config_int(cx, config, "hidden_size", 1, SIZE_MOST);
    m->heads = config_int(cx, config, "num_attention_heads", 1, SIZE_MOST);
    m->size = config_int(cx, config, "attention_head_size", 1, MAX_HEAD);
    m->piece = config_int(cx, config, "chunk_size_feed_forward", 0, POSITION_MAX);
    m->dropout = (float)config_number(cx, config, "hidden_dropout_prob", 0, 1);
    m->act = config_activation(cx, config, "hidden_act");
    m->init = (heed_init){HEED_INIT_NORMAL, 0, (float)config_number(cx, config, "initializer_range", 0, 1e6)};
    m->causal = heed_json_bool(cx, config, "is_decoder");
    const int32_t padding = config_token(cx, config, "pad_token_id", words);
    m->padding = padding < 0 ? 0 : padding;
    if (!read_chunks(cx, config, m) || !read_buckets(cx, config, m) || !read_layers(cx, config, set, m)) return false;
    if (m->heads > SIZE_MOST / m->size)
        return heed_json_fail(cx, heed_json_find(cx, config, "num_attention_heads"), "%lld heads of %lld are too many",
                              (long long)m->heads, (long long)m->size);
    if (!part_embedding(cx, set, base, "embeddings.word_embeddings", words, m->width, m->init, &m->word) ||
        !make_positions(cx, config, set, base, m))
        return false;
    const int64_t whole = m->positions - m->positions % m->multiple;
    const int64_t one = m->shortest < m->positions ? m->shortest : m->positions;
    m->max_length = whole > one ? whole : one;
    for (int i = 0; i < m->layers; i++)
        if (!make_layer(cx, config, set, part_numbered(cx, base, "encoder.layers", i).s, m, &m->layer[i])) return false;
    return part_norm(cx, set, base, "encoder.layer_norm", 2 * m->width,
                     (float)config_number(cx, config, "layer_norm_eps", 0, 1), &m->norm);
}
