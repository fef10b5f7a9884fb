/* Encoders, as bench/encoders.py has them: forward of BERT-base and of MiniLM-L6, a fine-tuning step of the latter, and
 * text to vectors. */
#include "bench.h"
#include "heed/task.h"
#include <stdio.h>
#include <string.h>

enum { BASE, MINILM };

static heed_model *encoder(struct bench *b, const char *task, int kind) {
    static const char *const sizes[2][4] = {
        {"hidden_size=768", "num_hidden_layers=12", "num_attention_heads=12", "intermediate_size=3072"},
        {"hidden_size=384", "num_hidden_layers=6", "num_attention_heads=12", "intermediate_size=1536"}};
    const heed_family *bert = heed_family_find("bert");
    return heed_model_new_as(b->cx, bert, heed_head_for(bert, task), sizes[kind], 4, 1);
}

/* As it is opened for use. m: texts, n: tokens of each, k: 0 for BERT-base, 1 for MiniLM */
static void forward_setup(struct bench *b) {
    char dir[4096];
    heed_model *const fresh = encoder(b, "embed", (int)b->k);
    snprintf(dir, sizeof dir, "%s/heed-encoder-%d", b->folder, (int)b->k);
    heed_model_save(b->cx, fresh, dir);
    heed_model_free(b->cx, fresh);
    b->model = heed_model_load_as(b->cx, dir, &(heed_load_opts){.map = true, .pack = true});
    b->ids = class_ids(b->cx, b->m * b->n, 9973);
}
static void forward(struct bench *b) {
    heed_io in = {0}, out = {0};
    heed_io_put(b->cx, &in, "input_ids", heed_borrow(b->cx, HEED_I32, b->ids, 2, (int64_t[]){b->m, b->n}, NULL));
    heed_model_forward(b->cx, b->model, &in, &out);
}

/* The same sizes: a step of AdamW, dropout on. */
static void step_setup(struct bench *b) {
    b->model = encoder(b, "classify", MINILM);
    if (!b->model) return;
    const heed_trainer_opts opts = {.optimizer = {.kind = HEED_ADAMW}, .schedule = {.lr = 5e-5}};
    b->trainer = heed_trainer_new(b->cx, heed_model_params(b->model), &opts);
    b->ids = class_ids(b->cx, b->m * b->n, 9973);
    heed_set_training(b->cx, true);
}
static void step(struct bench *b) {
    heed_io in = {.loss_only = true}, out = {0};
    heed_trainer_begin(b->cx, b->trainer);
    heed_io_put(b->cx, &in, "input_ids", heed_borrow(b->cx, HEED_I32, b->ids, 2, (int64_t[]){b->m, b->n}, NULL));
    heed_io_put(b->cx, &in, "labels", heed_zeros(b->cx, HEED_I32, 1, &b->m));
    heed_model_forward(b->cx, b->model, &in, &out);
    heed_backward(b->cx, heed_io_get(&out, "loss"));
    heed_trainer_step(b->cx, b->trainer, NULL);
}

/* Text to vectors: sentences.txt and a directory, encoder, of the shared folder. m: sentences */
static struct {
    heed_text_model *model;
    heed_text_input text[4096];
    float *out;
} texts;

static void embed_setup(struct bench *b) {
    char path[4096];
    snprintf(path, sizeof path, "%s/sentences.txt", b->folder);
    heed_lines_read(b->cx, path, &b->lines);
    snprintf(path, sizeof path, "%s/encoder", b->folder);
    texts.model = heed_text_model_open(b->cx, path, "embed");
    for (int64_t i = 0; i < b->lines.count && i < 4096; i++)
        texts.text[i] = (heed_text_input){.text = heed_line_text(&b->lines, i), .size = heed_line_size(&b->lines, i)};
    texts.out = heed_mem_new(b->cx, 4096 * 1024 * sizeof *texts.out);
}
static void embed_texts(struct bench *b) { heed_embed(b->cx, texts.model, texts.text, b->m, texts.out, NULL); }

void encoders_close(struct bench *b) {
    heed_text_model_free(b->cx, texts.model);
    heed_mem_free(b->cx, texts.out);
    texts.model = NULL;
    texts.out = NULL;
}

const struct workload encoders_workloads[] = {
    {"encoder_forward", forward_setup, forward, true},
    {"encoder_step", step_setup, step, false},
    {"embed_texts", embed_setup, embed_texts, true},
    {0},
};
