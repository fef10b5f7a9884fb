/* The key-value cache as the rest of the room sees it: where the keys and values of a layer lie.
 *
 * A layer has one block: keys (B,G,room,D), then values (B,G,room,E), so that attention over one head reads memory in a
 * row. Sequence b holds positions first[b] .. first[b] + held[b], from place 0 of its rows on; `first` leaves 0 only
 * when a sliding cache forgets. Sequences beyond the current batch have no meaning. */
#ifndef ATTENTION_CACHE_H
#define ATTENTION_CACHE_H

#include "heed/attention.h"
#include "kernel/attention.h"

struct cache_layer {
    float *k, *v; /* NULL in dry contexts, where memory is only counted */
    int64_t room;
    int64_t *first;        /* (B) */
    int32_t *held, *added; /* (B) */
};

struct heed_cache {
    heed_cache_opts opts; /* opts.batch is the maximum number of sequences */
    int64_t batch;        /* the current one */
    struct cache_layer *layers;
    int64_t *spare;        /* (B), for reorder, as the next */
    int32_t *order, *uses; /* (B) */
};

struct cache_view {
    int64_t batch, kv_heads, key_size, value_size;
    const float *k, *v; /* place j of head g of sequence b: key j of those held */
    struct attention_at k_at, v_at;
    const int32_t *held;  /* (batch): keys held; the newest is key held - 1, at position first + held - 1 */
    const int32_t *added; /* (batch): how many of them the last append brought */
    const int64_t *first; /* (batch): the position of key 0 */
    int64_t longest;      /* the largest of held */
    int64_t window; /* of a sliding cache, which may hold more than its window: the mask must hide the rest; or 0 */
};

/* Stays true until the cache is changed. False and a sentence, prefixed with `who`, when there is no such layer. */
bool cache_view(heed_ctx *cx, const char *who, const heed_cache *cache, int layer, struct cache_view *view);
/* x (B,T,H,D) rotated to its positions, those appended next or those appended last, or by the angles given. A batch
 * that is not the cache's is left as it is: the next call reports it. */
heed_tensor *cache_turned(heed_ctx *cx, const heed_cache *cache, int layer, heed_tensor *x, bool appended,
                          const heed_rotary_opts *rotary);

/* The length of one sequence becomes 0, in every layer. */
void cache_forget(heed_cache *cache, int64_t sequence);

#endif
