/* What the workloads share. */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include "base/ctx.h"
#include "heed/attention.h"
#include "heed/data.h"
#include "heed/generate.h"
#include "heed/model.h"
#include "heed/nn.h"
#include "heed/text.h"
#include "heed/train.h"

struct bench {
    heed_ctx *cx;
    const char *folder; /* of files that the peers read too */
    int64_t m, n, k;    /* sizes, as the line gives them */
    float *x, *w, *b, *dy;
    float *grad;
    heed_grad slot[8];
    int32_t *ids;
    float *moments;
    int64_t step;
    heed_data *data;
    heed_batches *batches;
    heed_params *params;
    heed_mlp mlp;
    heed_trainer *trainer;
    heed_multihead multihead;
    heed_cache *cache;
    heed_model *model;
    heed_ids *source; /* (m) sentences */
    heed_tokenizer *tokenizer;
    heed_lines lines;
};

struct workload {
    const char *name; /* what stands before the sizes */
    void (*setup)(struct bench *b);
    void (*run)(struct bench *b);
    bool forward_only;
};

/* Each ends with a NULL name. */
extern const struct workload attention_workloads[], translate_workloads[], tokens_workloads[], encoders_workloads[],
    recurrent_workloads[], vision_workloads[], decoders_workloads[], language_workloads[], fourier_workloads[],
    detectors_workloads[], assignment_workloads[], autoencoders_workloads[], diffusion_workloads[], graphs_workloads[];
void translate_close(struct bench *b); /* gives back what its setups took */
void encoders_close(struct bench *b);
void decoders_close(struct bench *b);
void language_close(struct bench *b);
void graphs_close(struct bench *b);

float *numbers(heed_ctx *cx, int64_t n, uint64_t stream); /* normal ones */
int32_t *class_ids(heed_ctx *cx, int64_t n, int64_t classes);
const char *shared(struct bench *b, const char *name);               /* the path of a file in the folder */
void write_tokens(struct bench *b, const heed_generated *generated); /* into heed.txt, once */

#endif
