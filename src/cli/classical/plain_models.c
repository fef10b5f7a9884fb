#include "cli/classical/plain_models.h"
#include "classical/ngram/ngram_model.h"
#include "heed/words.h"
#include "io/limits.h"
#include "model/core/directory.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static int64_t disk(const char *path, const char *name) {
    char file[PATH_ROOM];
    struct stat s;
    if (stat(path, &s) == 0 && S_ISREG(s.st_mode)) return s.st_size;
    snprintf(file, sizeof file, "%s/%s", path, name);
    return stat(file, &s) == 0 ? s.st_size : 0;
}

static void head(const struct options *o, heed_ctx *cx, const struct plain_model *m, heed_json doc, int64_t parameters,
                 int64_t bytes) {
    char size[32];
    heed_json_put_text(cx, doc, "name", m->way->model);
    heed_json_put_text(cx, doc, "model_type", m->way->type);
    heed_json_put_int(cx, doc, "parameters", parameters);
    heed_json_put_int(cx, doc, "disk_bytes", bytes);
    if (heed_failed(cx) || option_flag(o, "json")) return;
    printf("%-12s %s (%s): %s\n", "family", m->way->model, m->way->type, m->summary);
    printf("%-12s %lld\n%-12s %s\n", "parameters", (long long)parameters, "on disk", cli_size((size_t)bytes, size));
}

/* A probability for each n-gram and, below the highest order, a back-off weight. */
static void ngram_info(const struct options *o, heed_ctx *cx, const struct plain_model *m, const char *path,
                       heed_json doc) {
    struct ngram_model model;
    if (!ngram_model_open(cx, path, &model)) return;
    const int order = heed_ngram_order(model.m);
    int64_t parameters = 0;
    for (int k = 1; k <= order; k++) parameters += heed_ngram_count(model.m, k) * (k < order ? 2 : 1);
    head(o, cx, m, doc, parameters, disk(path, NGRAM_FILE));
    heed_json_put_int(cx, doc, "order", order);
    const heed_json list = heed_json_put_array(cx, doc, "ngrams");
    const bool text = !option_flag(o, "json");
    if (text) printf("%-12s %d\n%-12s", "order", order, "n-grams");
    for (int k = 1; k <= order; k++) {
        heed_json_put_int(cx, list, NULL, heed_ngram_count(model.m, k));
        if (text) printf(" %lld", (long long)heed_ngram_count(model.m, k));
    }
    if (text)
        printf("\n%-12s %s\n", "tokens",
               model.pieces   ? "letters or parts of words"
               : model.tokens ? "words of tokenizer.json"
                              : "words between blanks");
    ngram_model_close(&model);
}

static void hmm_info(const struct options *o, heed_ctx *cx, const struct plain_model *m, const char *path,
                     heed_json doc) {
    char file[PATH_ROOM];
    if (!directory_path(cx, path, CONFIG_FILE, file)) return;
    const heed_json config = json_open_within(cx, file, IO_CONFIG_LIMIT), tags = heed_json_array(cx, config, "tags");
    const int64_t states = heed_json_count(tags), symbols = heed_json_int(cx, config, "vocab_size");
    if (!heed_failed(cx) && (states < 1 || symbols < 1 || symbols > INT64_MAX / (2 * states + 2) - states))
        heed_fail(cx, HEED_ERR_FORMAT, "%s: %lld tags and %lld symbols make no model", file, (long long)states,
                  (long long)symbols);
    if (!heed_failed(cx)) {
        head(o, cx, m, doc, states * (1 + states + symbols), disk(path, "model.safetensors"));
        heed_json_put_int(cx, doc, "states", states);
        heed_json_put_int(cx, doc, "symbols", symbols);
        if (!option_flag(o, "json"))
            printf("%-12s %lld\n%-12s %lld\n", "states", (long long)states, "symbols", (long long)symbols);
    }
    heed_json_free(config);
}

static void words_info(const struct options *o, heed_ctx *cx, const struct plain_model *m, const char *path,
                       heed_json doc) {
    heed_words *w = heed_words_open(cx, path);
    if (!w) return;
    const int64_t words = heed_words_count(w), width = heed_words_width(w);
    head(o, cx, m, doc, words * width, disk(path, "model.safetensors"));
    heed_json_put_int(cx, doc, "words", words);
    heed_json_put_int(cx, doc, "width", width);
    if (!option_flag(o, "json"))
        printf("%-12s %lld%s\n%-12s %lld\n", "words", (long long)words, heed_words_lower(w) ? ", lower-cased" : "",
               "width", (long long)width);
    heed_words_close(cx, w);
}

/* ---- the list ---- */

/* clang-format off */
static const struct plain_model models[] = {
    {&way_ngram, "Shannon 1948; Kneser & Ney 1995; Chen & Goodman 1999",
     "counts of n-grams, smoothed: how probable a token is after those before it",
     "Files: config.json, model.ngram, which is mapped when it is used, and tokenizer.json; or an ARPA file, where a command takes DIR. Made by "
     "'heed train ngram'; used by heed complete, eval, generate and score.",
     {{"order", "length of the longest n-grams"}, {"vocab_size", "number of words, with <unk>, <s> and </s>"},
      {"smoothing", "modified-kneser-ney or kneser-ney"}, {"tokens", "what is counted: char, word, bpe, byte-bpe, wordpiece or unigram"},
      {"split", "where words end: at punctuation, or at blanks only"},
      {"sequences", "what has a beginning and an end: lines, text or chorales"}, {"ngrams", "number of n-grams of each order"}},
     ngram_info},
    {&way_tag_hmm, "Rabiner 1989",
     "a hidden Markov model: tags follow tags, and each emits words",
     "Files: config.json, vocab.txt, a symbol a line, and model.safetensors (initial, transition, emission). Made by 'heed train tag --model hmm'; used by "
     "heed tag and eval.",
     {{"vocab_size", "number of symbols: words, and looks of unknown words"}, {"tags", "the tag of each state"},
      {"split", "where the words of a text to be tagged end: at punctuation, or at blanks only"}},
     hmm_info},
    {&way_words, "Mikolov et al. 2013",
     "a vector for each word, learnt from the words around it",
     "Files: config.json, model.safetensors (embedding.weight) and words.txt, a line for each word; or word2vec's or GloVe's own file, where a command takes "
     "DIR. Made by 'heed train words'; used by heed words, and with --embeddings by all that train models of words.",
     {{"vocab_size", "number of words"}, {"hidden_size", "width of the vectors"}, {"lower", "the words were lower-cased for training"},
      {"split", "where the words of the text ended: at punctuation, or at blanks only"}},
     words_info},
};
/* clang-format on */
enum { MODELS = sizeof models / sizeof *models };

const struct plain_model *plain_model_at(int i) { return i >= 0 && i < MODELS ? &models[i] : NULL; }

const struct plain_model *plain_model_find(const char *name) {
    for (int i = 0; i < MODELS; i++)
        if (strcmp(models[i].way->model, name) == 0 || strcmp(models[i].way->type, name) == 0) return &models[i];
    return NULL;
}

const struct plain_model *plain_model_of(const char *path) {
    const struct plain_model *found = NULL;
    for (int i = 0; i < MODELS && !directory_has(path, CONFIG_FILE); i++)
        if (models[i].way->is && models[i].way->is(path, options_memory())) return &models[i];
    heed_ctx *const cx = cli_peek();
    heed_directory *const d = heed_directory_open(cx, path);
    if (d && !heed_directory_family(d)) found = plain_model_find(heed_directory_type(d));
    heed_directory_close(cx, d);
    heed_close(cx);
    return found;
}

bool plain_model_is(const char *path, const struct task_way *way) {
    const struct plain_model *const m = plain_model_of(path);
    return m && m->way == way;
}

void plain_model_info(const struct options *o, heed_ctx *cx, const struct plain_model *m, const char *path) {
    const heed_json doc = heed_json_new(cx, "info");
    m->info(o, cx, m, path, doc);
    if (!heed_failed(cx) && option_flag(o, "json")) json_answer(cx, stdout, doc, 2);
    heed_json_free(doc);
}
