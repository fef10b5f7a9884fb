/* Parallel text as the loop's source: pairs in groups of similar length, with BPE-dropout other tokens in every epoch.
 * The tokens that were seen are counted as if that were not there. */
#include "train/loop.h"

struct heed_translation {
    heed_translation_opts opts;
    heed_dataset train, valid, test;
    heed_pairs drawn; /* of an epoch with BPE-dropout */
    heed_source *source;
};

/* ---- measuring ---- */

/* What is measured: all pairs of a set, or some. */
struct some {
    const heed_pairs *pairs;
    const int64_t *rows; /* which; NULL: all */
    int64_t n;
};

static bool measure_loss(heed_ctx *cx, const heed_model *model, const struct some *p, double *loss) {
    heed_dataset set;
    const int32_t pad = (int32_t)heed_json_int(cx, heed_model_config(model), "pad_token_id");
    const heed_over_opts opts = {.rows = p->rows, .n_rows = p->rows ? p->n : 0, .loss_only = true};
    return heed_pairs_columns(cx, p->pairs, pad, &set) && heed_loop_over(cx, model, &set, &opts, loss);
}

static bool decode_lines(heed_ctx *cx, const heed_model *model, const struct some *p, const heed_tokenizer *target,
                         const heed_generate_opts *decode, heed_lines *lines) {
    const heed_preprocessing as_is = {0};
    heed_translated found = {0};
    heed_string text = {0};
    heed_ids *source = heed_mem_new(cx, (size_t)p->n * sizeof *source);
    for (int64_t i = 0; source && i < p->n; i++) source[i] = heed_pair_source(p->pairs, p->rows ? p->rows[i] : i);
    bool ok = source && heed_translate_ids(cx, model, source, p->n, decode, &found);
    for (int64_t i = 0; ok && i < p->n; i++)
        ok = heed_translation_text(cx, &as_is, target, &found.ids[i * found.n_best], true, &text) &&
             heed_string_put(cx, &text, "\n", 1);
    ok = ok && heed_lines_cut(cx, &text, lines);
    heed_string_free(cx, &text);
    heed_translated_free(cx, &found);
    heed_mem_free(cx, source);
    return ok;
}

bool heed_translation_measure_lines(heed_ctx *cx, const heed_model *model, const heed_translation_set *set,
                                    const heed_tokenizer *target, const heed_generate_opts *decode,
                                    const heed_bleu_opts *bleu, heed_score *score, heed_bleu *details,
                                    heed_lines *decoded) {
    heed_bleu found = {0};
    if (heed_failed(cx)) return false;
    if (!model || !set || !set->pairs || set->pairs->n < 1 || !set->text || set->text->count != set->pairs->n ||
        !target || !score || !decoded)
        return heed_fail(cx, HEED_ERR_USAGE, "translation: a model, pairs with their text and a tokenizer are needed");
    const struct some all = {.pairs = set->pairs, .n = set->pairs->n};
    if (!measure_loss(cx, model, &all, &score->loss) || !decode_lines(cx, model, &all, target, decode, decoded))
        return false;
    if (!heed_bleu_corpus(cx, decoded, set->text, 1, bleu, &found)) {
        heed_lines_free(cx, decoded);
        return false;
    }
    score->metric = found.score;
    if (details) *details = found;
    return true;
}

bool heed_translation_measure(heed_ctx *cx, const heed_model *model, const heed_translation_set *set,
                              const heed_tokenizer *target, const heed_generate_opts *decode,
                              const heed_bleu_opts *bleu, heed_score *score, heed_bleu *details) {
    heed_lines lines = {0};
    const bool ok = heed_translation_measure_lines(cx, model, set, target, decode, bleu, score, details, &lines);
    heed_lines_free(cx, &lines);
    return ok;
}

static bool measure(heed_ctx *cx, void *own, const heed_model *model, bool test, heed_score *score) {
    const heed_translation_opts *o = &((const heed_translation *)own)->opts;
    return heed_translation_measure(cx, model, test ? &o->test : &o->valid, o->target, NULL, &o->bleu, score, NULL);
}

static bool pick_lines(heed_ctx *cx, const heed_lines *from, const int64_t *rows, int64_t n, heed_lines *to) {
    heed_string text = {0};
    for (int64_t i = 0; i < n && !heed_failed(cx); i++) {
        heed_string_put(cx, &text, heed_line_text(from, rows[i]), heed_line_size(from, rows[i]));
        heed_string_put(cx, &text, "\n", 1);
    }
    heed_lines_cut(cx, &text, to);
    heed_string_free(cx, &text);
    return !heed_failed(cx);
}

static bool measure_some(heed_ctx *cx, void *own, const heed_model *model, const int64_t *rows, int64_t n,
                         heed_score *score) {
    const heed_translation_opts *o = &((const heed_translation *)own)->opts;
    const struct some some = {o->valid.pairs, rows, n};
    heed_lines wanted = {0}, decoded = {0};
    heed_bleu bleu = {0};
    const bool ok = pick_lines(cx, o->valid.text, rows, n, &wanted) && measure_loss(cx, model, &some, &score->loss) &&
                    decode_lines(cx, model, &some, o->target, NULL, &decoded) &&
                    heed_bleu_corpus(cx, &decoded, &wanted, 1, &o->bleu, &bleu);
    score->metric = bleu.score;
    heed_lines_free(cx, &wanted);
    heed_lines_free(cx, &decoded);
    return ok;
}

/* ---- BPE-dropout ---- */

static bool draw(heed_ctx *cx, void *own, int64_t epoch, heed_dataset *set) {
    heed_translation *t = own;
    const heed_translation_opts *o = &t->opts;
    const heed_resample_opts opts = {o->merge_dropout, o->max_length, o->seed, epoch};
    heed_pairs drawn;
    if (!heed_pairs_resample(cx, o->train_text, o->train.pairs, &opts, &drawn)) return false;
    heed_pairs_free(cx, &t->drawn);
    t->drawn = drawn;
    return heed_pairs_columns(cx, &t->drawn, o->pad, set);
}

static void settings(heed_ctx *cx, void *own, heed_json at) {
    const heed_translation_opts *o = &((const heed_translation *)own)->opts;
    if (o->merge_dropout > 0) notes_put_number(cx, at, "merge-dropout", o->merge_dropout);
}

/* ---- making ---- */

static bool make_columns(heed_ctx *cx, heed_translation *t) {
    const heed_translation_opts *o = &t->opts;
    const heed_translation_set *const sets[] = {&o->train, &o->valid, &o->test};
    heed_dataset *const columns[] = {&t->train, &t->valid, &t->test};
    for (int i = 0; i < 3; i++)
        if (sets[i]->pairs && !heed_pairs_columns(cx, sets[i]->pairs, o->pad, columns[i])) return false;
    return true;
}

heed_translation *heed_translation_new(heed_ctx *cx, const heed_translation_opts *opts) {
    if (heed_failed(cx)) return NULL;
    if (!opts || !opts->train.pairs || opts->train.pairs->n < 1 || opts->tokens < 1 || opts->micro_tokens < 0) {
        heed_fail(cx, HEED_ERR_USAGE, "translation: pairs and a batch of at least one token are needed");
        return NULL;
    }
    heed_translation *t = heed_mem_new(cx, sizeof *t);
    if (!t) return NULL;
    *t = (heed_translation){.opts = *opts};
    if (make_columns(cx, t))
        t->source = heed_source_new(cx, &(heed_source_opts){.train = &t->train,
                                                            .valid = opts->valid.pairs ? &t->valid : NULL,
                                                            .test = opts->test.pairs ? &t->test : NULL,
                                                            .tokens = opts->tokens,
                                                            .micro_tokens = opts->micro_tokens,
                                                            .seed = opts->seed,
                                                            .own = t,
                                                            .forcing = opts->forcing,
                                                            .draw = opts->merge_dropout != 0 ? draw : NULL,
                                                            .measure = measure,
                                                            .measure_some = measure_some,
                                                            .metrics = "bleu",
                                                            .settings = settings,
                                                            .examples = "pairs"});
    if (t->source) return t;
    heed_translation_free(cx, t);
    return NULL;
}

void heed_translation_free(heed_ctx *cx, heed_translation *t) {
    if (!t) return;
    heed_source_free(cx, t->source);
    heed_pairs_free(cx, &t->drawn);
    heed_mem_free(cx, t);
}

const heed_loop_source *heed_translation_source(const heed_translation *t) {
    return t ? heed_source_loop(t->source) : NULL;
}
