/* Translation, as bench/translate.py has it: a training step of the Transformer, beam search and BPE. What the two
 * sides share lies in the folder that the worker was started with. */
#include "bench.h"
#include <stdio.h>
#include <stdlib.h>

#define VOCABULARY "vocab_size=10000"
#define BEAMS      5

const char *shared(struct bench *b, const char *name) {
    static char path[4096];
    snprintf(path, sizeof path, "%s/%s", b->folder, name);
    return path;
}

/* m: pairs, n: tokens of either side */
static void transformer_setup(struct bench *b) {
    static const char *const settings[] = {VOCABULARY,
                                           "d_model=128",
                                           "encoder_layers=4",
                                           "decoder_layers=4",
                                           "encoder_ffn_dim=256",
                                           "decoder_ffn_dim=256",
                                           "dropout=0.1",
                                           "attention_dropout=0.1",
                                           "activation_dropout=0.1",
                                           "pad_token_id=9999",
                                           "encoder_attention_heads=4",
                                           "eos_token_id=0",
                                           "init_std=0.05",
                                           "decoder_attention_heads=4",
                                           "label_smoothing=0.0"};
    b->model = heed_model_new(b->cx, heed_family_find("transformer"), settings, sizeof settings / sizeof *settings, 1);
    if (!b->model) return;
    const heed_trainer_opts opts = {.optimizer = {.kind = HEED_ADAMW}, .schedule = {.lr = 1e-3}};
    b->trainer = heed_trainer_new(b->cx, heed_model_params(b->model), &opts);
    b->ids = class_ids(b->cx, b->m * b->n, 9973);
    heed_set_training(b->cx, true);
}
static void transformer_step(struct bench *b) {
    const int64_t shape[] = {b->m, b->n};
    heed_io in = {.loss_only = true}, out = {0};
    heed_trainer_begin(b->cx, b->trainer);
    heed_io_put(b->cx, &in, "input_ids", heed_borrow(b->cx, HEED_I32, b->ids, 2, shape, NULL));
    heed_io_put(b->cx, &in, "labels", heed_borrow(b->cx, HEED_I32, b->ids, 2, shape, NULL));
    heed_model_forward(b->cx, b->model, &in, &out);
    heed_backward(b->cx, heed_io_get(&out, "loss"));
    heed_trainer_step(b->cx, b->trainer, NULL);
}

/* The sentences of source.txt, as numbers; the translations go into heed.txt. m: how many, n: most tokens */
static void translate_setup(struct bench *b) {
    b->model = heed_model_load(b->cx, shared(b, "model"));
    FILE *file = fopen(shared(b, "source.txt"), "r");
    b->source = heed_mem_new(b->cx, (size_t)b->m * sizeof *b->source);
    if (!b->model || !b->source || !file) {
        heed_fail(b->cx, HEED_ERR_FILE, "%s: no model or no sentences", b->folder);
        return;
    }
    for (int64_t i = 0; i < b->m; i++) {
        long id;
        char after = ' ';
        b->source[i] = (heed_ids){0};
        while (after == ' ' && fscanf(file, "%ld%c", &id, &after) == 2) heed_ids_put(b->cx, &b->source[i], (int32_t)id);
    }
    fclose(file);
}
void write_tokens(struct bench *b, const heed_generated *made) {
    FILE *file = fopen(shared(b, "heed.txt"), "w");
    if (!file) exit(1);
    for (int64_t i = 0; i < made->sentences; i++) {
        for (int64_t t = 0; t < made->best[i].length; t++) fprintf(file, "%s%d", t ? " " : "", made->best[i].ids[t]);
        fputc('\n', file);
    }
    fclose(file);
    b->step = 1; /* once is enough */
}
static void translate(struct bench *b) {
    heed_generated *made =
        heed_generate(b->cx, b->model, b->source, b->m,
                      &(heed_generate_opts){
                          .beams = BEAMS, .length_penalty = 1, .early_stopping = HEED_STOP_EARLY, .max_length = b->n});
    if (made && !b->step) write_tokens(b, made);
    heed_mem_free(b->cx, made);
}

/* The lines of text.txt, with the tokenizer beside it. */
static void encode_setup(struct bench *b) {
    heed_lines_read(b->cx, shared(b, "text.txt"), &b->lines);
    b->tokenizer = heed_tokenizer_load(b->cx, shared(b, "tokenizer.json"));
}
static void encode(struct bench *b) {
    heed_ids ids = {0};
    for (int64_t i = 0; b->tokenizer && i < b->lines.count; i++) {
        ids.count = 0; /* a list of each line's own, as the peer gives */
        heed_encode(b->cx, b->tokenizer, heed_line_text(&b->lines, i), heed_line_size(&b->lines, i), true, &ids);
    }
    heed_ids_free(b->cx, &ids);
}

/* Trains that tokenizer on those lines. m: tokens */
static void bpe_setup(struct bench *b) { heed_lines_read(b->cx, shared(b, "text.txt"), &b->lines); }
static void train_bpe(struct bench *b) {
    const heed_lines *texts[] = {&b->lines};
    const heed_tokenizer_opts opts = {
        .kind = HEED_TOKENS_BPE, .vocabulary = b->m, .eos = "</s>", .unk = "<unk>", .pad = "<pad>"};
    heed_tokenizer *t = heed_tokenizer_train(b->cx, texts, 1, &opts);
    heed_tokenizer_save(b->cx, t, shared(b, "tokenizer.json"));
    heed_tokenizer_free(b->cx, t);
}

void translate_close(struct bench *b) {
    for (int64_t i = 0; b->source && i < b->m; i++) heed_ids_free(b->cx, &b->source[i]);
    heed_mem_free(b->cx, b->source);
    heed_model_free(b->cx, b->model);
    heed_tokenizer_free(b->cx, b->tokenizer);
    heed_lines_free(b->cx, &b->lines);
}

const struct workload translate_workloads[] = {
    {"transformer_step", transformer_setup, transformer_step, false},
    {"translate", translate_setup, translate, true},
    {"encode", encode_setup, encode, true},
    {"train_bpe", bpe_setup, train_bpe, true},
    {0},
};
