/* Exact attention as the rest of the room sees it. */
#ifndef ATTENTION_ATTENTION_H
#define ATTENTION_ATTENTION_H

#include "attention/mask.h"
#include "kernel/attention.h"

/* Slopes of ALiBi are few: they travel with the op. */
#define ALIBI_HEADS 256

/* After an attention has run: hands the rows that the context's capture asks for over. top, sum: as the kernel keeps
 * them. */
bool capture_attention(heed_ctx *cx, const struct attention *a, const float *top, const float *sum, const char *site,
                       int layer);
bool capture_wants(const heed_ctx *cx, const char *site, int layer);
/* Weights (B,H,rows,W) whose rows come in chunks of `chunk`; 0: they do not. */
bool capture_chunks(heed_ctx *cx, const char *site, int layer, int64_t chunk, const heed_tensor *t);
/* Counts bytes that are about to be kept; fails when they are more than the cap allows. */
bool capture_room(heed_ctx *cx, const char *site, int layer, size_t bytes);
/* Where the list of the weights of graphs' edges begins (graph_attention.c); NULL: nothing is captured. */
struct edges_kept;
struct edges_kept **capture_edges_list(const heed_ctx *cx);
void capture_edges_free(heed_ctx *cx, struct edges_kept *first);
/* What was kept, as the caller's: the list, its weights and its sites are heed_mem_free's. */
heed_capture_map *capture_take(heed_ctx *cx, int *n);

#endif
