/* The metrics of all tasks. */
#include "heed/loop.h"
#include "io/text.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define PERCENT(key, said)                                                                                             \
    { .name = key, .label = said, .text = said " %.2f %%", .scale = 100, .loss = "loss %.4g" }

static const heed_metric metrics[] = {
    PERCENT("accuracy", "accuracy"),
    PERCENT("top5_accuracy", "top-5 accuracy"),
    PERCENT("f1", "F1"),
    PERCENT("f1_macro", "macro F1"),
    PERCENT("precision", "precision"),
    PERCENT("recall", "recall"),
    PERCENT("exact_match", "exact match"),
    PERCENT("next_sentence", "next-sentence accuracy"),
    PERCENT("sentence_order", "sentence-order accuracy"),
    PERCENT("replaced", "replaced-token accuracy"),
    {.name = "generator_loss",
     .label = "generator loss",
     .text = "generator loss %.4g",
     .loss = "loss %.4f",
     .smaller = true},
    PERCENT("rougeL", "ROUGE-L"),
#define COCO_FIGURE(key)                                                                                               \
    { .name = key, .label = key, .text = key " %.4f", .loss = "loss %.4g" }
    COCO_FIGURE("AP"),
    COCO_FIGURE("AP50"),
    COCO_FIGURE("AP75"),
    {.name = "matthews", .label = "Matthews correlation", .text = "Matthews correlation %.4f", .loss = "loss %.4g"},
    {.name = "pearson", .label = "Pearson correlation", .text = "Pearson correlation %.4f", .loss = "loss %.4g"},
    {.name = "spearman", .label = "Spearman correlation", .text = "Spearman correlation %.4f", .loss = "loss %.4g"},
    {.name = "r2", .label = "r2", .text = "R^2 %.6g", .loss = "mean squared error %.6g"},
#define SMALLER(key, said)                                                                                             \
    { .name = key, .label = said, .text = said " %.4f", .loss = "loss %.4g", .smaller = true }
    SMALLER("loss_ce", "classes"),
    SMALLER("loss_bbox", "boxes"),
    SMALLER("loss_giou", "GIoU"),
    SMALLER("mse", "MSE"),
    SMALLER("noise_mse", "noise MSE"),
    SMALLER("mae", "MAE"),
    SMALLER("mase", "MASE"),
    SMALLER("pinball", "pinball loss"),
    PERCENT("coverage", "coverage"),
    {.name = "bleu", .label = "greedy BLEU", .text = "BLEU %.2f (greedy decoding)", .loss = "loss %.4f"},
    {.name = "perplexity", .label = "perplexity", .text = "perplexity %.4g", .loss = "loss %.4f", .smaller = true},
    {.name = "nats_per_point",
     .label = "nats per point",
     .text = "%.4f nats per point",
     .loss = "loss %.4f",
     .smaller = true},
    {.name = "nats_per_piece",
     .label = "nats per piece",
     .text = "%.2f nats per piece",
     .loss = "loss %.4f",
     .smaller = true},
    {.name = "bits_per_byte",
     .label = "bits per byte",
     .text = "%.4g bits per byte",
     .loss = "loss %.4f",
     .smaller = true},
    {.name = "elbo", .label = "ELBO", .text = "ELBO %.2f nats", .loss = "loss %.4g"},
    {.name = "log_likelihood", .label = "log p(x)", .text = "log p(x) %.2f nats", .loss = "loss %.4g"},
    {.name = "reconstruction",
     .label = "reconstruction error",
     .text = "reconstruction error %.4g",
     .loss = "loss %.4g",
     .smaller = true},
    {.name = "kl", .label = "KL divergence", .text = "KL %.4g nats", .loss = "loss %.4g", .smaller = true},
    {.name = "nats_per_note",
     .label = "nats per note",
     .text = "%.4f nats per note",
     .loss = "loss %.4f",
     .smaller = true},
};

const heed_metric *heed_metric_find(const char *name) {
    for (size_t i = 0; name && i < sizeof metrics / sizeof *metrics; i++)
        if (strcmp(metrics[i].name, name) == 0) return &metrics[i];
    return NULL;
}

bool heed_metrics_find(heed_ctx *cx, const char *names, heed_metrics *found) {
    if (heed_failed(cx)) return false;
    if (!found) return heed_fail(cx, HEED_ERR_USAGE, "metrics: the list is NULL");
    *found = (heed_metrics){{NULL}};
    for (int n = 0; names && *names; n++) {
        char name[32];
        const size_t length = strcspn(names, " ");
        snprintf(name, sizeof name, "%.*s", (int)length, names);
        if (n == HEED_METRICS_MAX || length >= sizeof name || !(found->list[n] = heed_metric_find(name)))
            return heed_fail(cx, HEED_ERR_USAGE, "metrics: '%s' is not one, or one too many", escaped(name).s);
        names += length + strspn(names + length, " ");
    }
    return true;
}

double heed_score_value(const heed_score *score, int metric) {
    if (!score) return (double)NAN;
    return metric == 0                               ? score->metric
           : metric > 0 && metric < HEED_METRICS_MAX ? score->more[metric - 1]
                                                     : score->loss;
}
