/* heed eval of a translator: BLEU and loss, and BLEU by the length of sentences. */
#include "base/file.h"
#include "cli/core/decoding_options.h"
#include "cli/train/train.h"
#include "heed/task.h"
#include <stdio.h>

enum { LENGTHS = 64 };
struct by_length {
    heed_length_score score[LENGTHS];
    int n;
};

/* JSON lines for heed plot --x words. */
static bool log_lengths(heed_ctx *cx, const char *path, const struct by_length *l) {
    struct file_writer *w = file_write_open(cx, path);
    for (int i = 0; w && i < l->n; i++) {
        char line[160];
        const int size = snprintf(line, sizeof line, "{\"words\": %.4f, \"sentences\": %lld, \"bleu\": %.4f}\n",
                                  l->score[i].words, (long long)l->score[i].sentences, l->score[i].bleu);
        file_write(w, line, (size_t)size);
    }
    return w && file_write_commit(w);
}

static void put_lengths(heed_ctx *cx, heed_json result, const struct by_length *l) {
    const heed_json list = heed_json_put_array(cx, result, "by_length");
    for (int i = 0; i < l->n; i++) {
        const heed_json one = heed_json_put_object(cx, list, NULL);
        heed_json_put_int(cx, one, "from", l->score[i].from);
        heed_json_put_int(cx, one, "to", l->score[i].to);
        heed_json_put_int(cx, one, "sentences", l->score[i].sentences);
        heed_json_put_number(cx, one, "words", l->score[i].words);
        heed_json_put_number(cx, one, "bleu", l->score[i].bleu);
    }
}

static void print_lengths(const struct by_length *l) {
    printf("%9s %10s %7s\n", "words", "sentences", "BLEU");
    for (int i = 0; i < l->n; i++) {
        char range[48];
        snprintf(range, sizeof range, "%lld-%lld", (long long)l->score[i].from, (long long)l->score[i].to);
        printf("%9s %10lld %7.2f\n", range, (long long)l->score[i].sentences, l->score[i].bleu);
    }
}

static void print_bleu(const struct options *o, heed_ctx *cx, int64_t n, int64_t beams, const heed_score *score,
                       const heed_bleu *bleu, const struct by_length *lengths) {
    if (!option_flag(o, "json")) {
        char decoding[48], sentences[48];
        printf("BLEU %.2f (%s), loss %.4f (%s, %s)\n", score->metric, decoding_name(beams, decoding), score->loss,
               cli_count(n, "sentence", "sentences", sentences), bleu->signature);
        if (lengths->n > 0) print_lengths(lengths);
        return;
    }
    const heed_json result = heed_json_new(cx, "result");
    heed_json_put_int(cx, result, "sentences", n);
    heed_json_put_number(cx, result, "loss", score->loss);
    heed_json_put_number(cx, result, "bleu", score->metric);
    heed_json_put_int(cx, result, "beam", beams);
    heed_json_put_text(cx, result, "signature", bleu->signature);
    if (lengths->n > 0) put_lengths(cx, result, lengths);
    json_answer(cx, stdout, result, 2);
    heed_json_free(result);
}

void translate_evaluate(const struct options *o, heed_ctx *cx, const char *dir, const char *path) {
    heed_translator *t = heed_translator_open(cx, dir);
    heed_lines lines[2] = {{0}}, decoded = {0};
    heed_pairs pairs = {0};
    heed_score score;
    heed_bleu bleu;
    if (t && heed_parallel_read(cx, path, option_text(o, "part"), &t->preprocessing, lines) &&
        heed_pairs_encode(cx, &(heed_parallel_text){&lines[0], &lines[1], t->tokens[0], t->tokens[1]}, NULL, &pairs)) {
        const heed_translation_set set = {&pairs, &lines[1]};
        heed_generate_opts decode = {.beams = option_int(o, "beam"),
                                     .length_penalty = (float)option_number(o, "length-penalty")};
        heed_generate_config(cx, t->model, &decode);
        if (option_given(o, "beam")) decode.beams = option_int(o, "beam");
        if (option_given(o, "length-penalty")) decode.length_penalty = (float)option_number(o, "length-penalty");
        decode.n_best = 1, decode.sample = false;
        const heed_bleu_opts opts = {.tokens = t->preprocessing.moses ? HEED_BLEU_NONE : HEED_BLEU_13A};
        struct by_length lengths = {.n = 0};
        if (heed_translation_measure_lines(cx, t->model, &set, t->tokens[1], &decode, &opts, &score, &bleu, &decoded)) {
            if (option_given(o, "by-length"))
                lengths.n = heed_bleu_by_length(cx, &lines[0], &decoded, &lines[1], option_int(o, "by-length"), &opts,
                                                lengths.score, LENGTHS);
            if (!heed_failed(cx) && (!option_text(o, "log") || log_lengths(cx, option_text(o, "log"), &lengths)))
                print_bleu(o, cx, pairs.n, decode.beams, &score, &bleu, &lengths);
        }
    }
    heed_lines_free(cx, &decoded);
    heed_pairs_free(cx, &pairs);
    heed_parallel_free(cx, lines);
    heed_translator_free(cx, t);
}
