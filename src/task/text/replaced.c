/* Replaced-token detection (Clark et al. 2020): masked words that ELECTRA's generator fills in, and a discriminator
 * that tells which tokens are not what they were. Of the chosen tokens 85 % are masked and the others stay. */
#include "base/ctx.h"
#include "model/core/directory.h"
#include "model/encoders/electra.h"
#include "task/text/masked.h"

static bool encode(heed_ctx *cx, const heed_text_reader *reader, heed_task_data *d) {
    if (!masked_encode(cx, reader, d)) return false;
    struct masking *m = d->own;
    m->parts = 20, m->as_mask = 17, m->as_random = 0;
    return true;
}

/* ---- measuring ---- */

struct told {
    double generator_loss;
    int64_t masked;                /* tokens of the generator's loss */
    int64_t right, n;              /* tokens */
    int64_t replaced, said, found; /* that were replaced, that were said to be, and both */
};

static bool take(heed_ctx *cx, void *own, const heed_batch *b, const heed_io *out) {
    struct told *t = own;
    heed_tensor *const logits = heed_io_get(out, "logits"), *const replaced = heed_io_get(out, "replaced"),
                       *const loss = heed_io_get(out, "generator_loss");
    const int32_t *const labels = heed_batch_i32(b, "labels");
    if (!logits || !replaced || !loss || !labels)
        return heed_fail(cx, HEED_ERR_USAGE, "mlm: the model has no generator beside it");
    if (cx->config.dry) return true;
    const float *const score = heed_f32(heed_contiguous(cx, logits));
    const int32_t *const truth = heed_i32(replaced);
    const float *const mask = heed_batch_f32(b, "attention_mask");
    int64_t masked = 0;
    for (int64_t i = 0; score && truth && i < heed_count(logits); i++) {
        masked += labels[i] >= 0;
        if (mask && mask[i] == 0) continue;
        const bool said = score[i] > 0;
        t->n++;
        t->right += said == (truth[i] != 0);
        t->replaced += truth[i] != 0;
        t->said += said;
        t->found += said && truth[i] != 0;
    }
    t->generator_loss += (double)heed_item(cx, loss) * (double)masked;
    t->masked += masked;
    return !heed_failed(cx);
}

static double share(int64_t part, int64_t all) { return all > 0 ? (double)part / (double)all : 0; }

/* With a masking and samples that are always the same. */
static bool measure(heed_ctx *cx, const heed_model *model, const heed_task_data *d, const int64_t *rows, int64_t n,
                    heed_score *score, int32_t *predicted) {
    struct told t = {0};
    (void)predicted;
    heed_over_opts opts = masked_run(cx, model, d, rows, n);
    opts.take = take;
    opts.own = &t;
    if (!heed_loop_over(cx, model, &d->set, &opts, &score->loss)) return false;
    const double precision = share(t.found, t.said), recall = share(t.found, t.replaced);
    score->metric = precision + recall > 0 ? 2 * precision * recall / (precision + recall) : 0;
    score->more[0] = share(t.right, t.n);
    score->more[1] = precision;
    score->more[2] = recall;
    score->more[3] = t.masked > 0 ? t.generator_loss / (double)t.masked : 0;
    return true;
}

/* ---- the generator's directory ---- its weights are written with the model's */

static bool write_generator(heed_ctx *cx, const heed_model *model, const heed_text_reader *reader, const char *dir) {
    char path[PATH_ROOM], file[PATH_ROOM];
    (void)reader;
    if (!directory_path(cx, dir, GENERATOR, path) || !directory_make(cx, path) ||
        !directory_copy_tokenizers(cx, dir, path) || !directory_path(cx, path, CONFIG_FILE, file))
        return false;
    const heed_json config = electra_generator_config(cx, heed_model_config(model));
    if (!heed_failed(cx)) {
        const heed_json list = heed_json_put_array(cx, config, "architectures");
        heed_json_put_text(cx, list, NULL, "ElectraForMaskedLM");
        heed_json_write(cx, file, config);
    }
    heed_json_free(config);
    return !heed_failed(cx);
}

const heed_text_task task_replaced = {.name = "replaced",
                                      .metrics = "f1 replaced precision recall generator_loss",
                                      .read = masked_read,
                                      .encode = encode,
                                      .measure = measure,
                                      .write = write_generator,
                                      .transform = mask_words,
                                      .free = masking_free};
