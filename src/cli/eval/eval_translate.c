/* What heed eval says of a translator: BLEU and loss, and BLEU by the length of sentences. */
#include "base/file.h"
#include "base/text.h"
#include "cli/core/decoding_options.h"
#include "cli/eval/eval_report.h"
#include "task/run.h"
#include <stdio.h>

/* JSON lines for heed plot --x words. */
static bool log_lengths(heed_ctx *cx, const char *path, const struct evaluated_translation *t) {
    struct file_writer *w = file_write_open(cx, path);
    for (int i = 0; w && i < t->n_lengths; i++) {
        const heed_length_score *const s = &t->by_length[i];
        char line[160];
        const int size = snprintf(line, sizeof line, "{\"words\": %.4f, \"sentences\": %lld, \"bleu\": %.4f}\n",
                                  s->words, (long long)s->sentences, s->bleu);
        file_write(w, line, (size_t)size);
    }
    return w && file_write_commit(w);
}

static void put_lengths(heed_ctx *cx, heed_json result, const struct evaluated_translation *t) {
    const heed_json list = heed_json_put_array(cx, result, "by_length");
    for (int i = 0; i < t->n_lengths; i++) {
        const heed_length_score *const s = &t->by_length[i];
        const heed_json one = heed_json_put_object(cx, list, NULL);
        heed_json_put_int(cx, one, "from", s->from);
        heed_json_put_int(cx, one, "to", s->to);
        heed_json_put_int(cx, one, "sentences", s->sentences);
        heed_json_put_number(cx, one, "words", s->words);
        heed_json_put_number(cx, one, "bleu", s->bleu);
    }
}

static void print_lengths(const struct evaluated_translation *t) {
    printf("%9s %10s %7s\n", "words", "sentences", "BLEU");
    for (int i = 0; i < t->n_lengths; i++) {
        const heed_length_score *const s = &t->by_length[i];
        char range[48];
        snprintf(range, sizeof range, "%lld-%lld", (long long)s->from, (long long)s->to);
        printf("%9s %10lld %7.2f\n", range, (long long)s->sentences, s->bleu);
    }
}

static void print_text(const heed_evaluation *e, const struct evaluated_translation *t) {
    char decoding[48], sentences[48];
    printf("BLEU %.2f (%s), loss %.4f (%s, %s)\n", e->score.metric, decoding_name(t->beams, decoding), e->score.loss,
           text_count(e->n, e->one, e->many, sentences), t->bleu.signature);
    if (t->n_lengths > 0) print_lengths(t);
}

static void print_json(heed_ctx *cx, const heed_evaluation *e, const struct evaluated_translation *t) {
    const heed_json result = heed_json_new(cx, "result");
    heed_json_put_int(cx, result, e->many, e->n);
    heed_json_put_number(cx, result, "loss", e->score.loss);
    heed_json_put_number(cx, result, "bleu", e->score.metric);
    heed_json_put_int(cx, result, "beam", t->beams);
    heed_json_put_text(cx, result, "signature", t->bleu.signature);
    if (t->n_lengths > 0) put_lengths(cx, result, t);
    json_answer(cx, stdout, result, 2);
    heed_json_free(result);
}

void report_translation(const struct options *o, heed_ctx *cx, const heed_evaluation *e) {
    const struct evaluated_translation *const t = e->more->translation;
    const char *const log = option_text(o, "log");
    if (log && !log_lengths(cx, log, t)) return;
    if (option_flag(o, "json"))
        print_json(cx, e, t);
    else
        print_text(e, t);
}
