/* heed tokens: text to ids, line by line, and back; and a tokenizer of one's own from text. */
#include "cli/lines.h"
#include "cli/options.h"
#include "cli/vocabulary.h"
#include "heed/text.h"
#include "io/text.h"
#include "model/directory.h"
#include <stdio.h>
#include <string.h>

/* clang-format off */
static const struct option options[] = {
    {.name = "decode", .letter = 'd', .help = "from ids back to text"},
    {.name = "a tokenizer of one's own", .kind = OPTION_GROUP},
    {.name = "train", .letter = 't', .kind = OPTION_CHOICE, .value = "KIND", .choices = "char word bpe",
     .help = "learn one from text"},
    {.name = "vocab", .letter = 'v', .kind = OPTION_INT, .standard = "0", .value = "N", .high = 1 << 24,
     .help = "most tokens, special ones included; 0: all there are"},
    {.name = "out", .letter = 'o', .kind = OPTION_FILE, .value = "DIR", .help = "where tokenizer.json goes"},
    {.name = "least", .kind = OPTION_INT, .standard = "1", .value = "N", .low = 1, .high = 1e9,
     .help = "words and characters seen less often are unknown"},
    {.name = "lower", .letter = 'l', .help = "lower-case all text first"},
    {.name = "add-bos", .help = "encoding puts the bos token before"},
    {.name = "add-eos", .help = "encoding puts the eos token after"},
    {.name = "pad", .kind = OPTION_TEXT, .standard = "<pad>", .value = "TEXT",
     .help = "token that fills up; empty: none, as with those below"},
    {.name = "bos", .kind = OPTION_TEXT, .standard = "<s>", .value = "TEXT", .help = "token that begins a text"},
    {.name = "eos", .kind = OPTION_TEXT, .standard = "</s>", .value = "TEXT", .help = "token that ends a text"},
    {.name = "unk", .kind = OPTION_TEXT, .standard = "<unk>", .value = "TEXT", .help = "token of all that is unknown"},
    {.name = NULL},
};
/* clang-format on */

struct converter {
    heed_ctx *cx;
    heed_tokenizer *tokenizer;
    bool decode;
    heed_string out; /* answers not yet written */
    heed_string text;
    heed_ids ids;
    struct cli_lines in;
};

/* ---- a line ---- */

static bool put_id(struct converter *c, int32_t id, bool first) {
    char text[16];
    const int n = snprintf(text, sizeof text, first ? "%d" : " %d", id);
    return heed_string_put(c->cx, &c->out, text, (size_t)n);
}

static bool encode_line(struct converter *c) {
    c->ids.count = 0;
    bool ok = heed_encode(c->cx, c->tokenizer, c->in.text, c->in.size, true, &c->ids);
    for (int64_t i = 0; ok && i < c->ids.count; i++) ok = put_id(c, c->ids.id[i], i == 0);
    return ok;
}

/* The ids of a line of numbers. */
static bool read_ids(struct converter *c) {
    static const char blanks[] = " \t\r";
    c->ids.count = 0;
    for (const char *s = c->in.text, *end = s + c->in.size; s < end;) {
        const char *word = s;
        int64_t id = 0;
        while (s < end && !strchr(blanks, *s)) {
            id = *s >= '0' && *s <= '9' && id >= 0 ? id * 10 + (*s - '0') : -1;
            if (id > INT32_MAX) id = -1;
            s++;
        }
        if (id < 0) return cli_lines_fail(&c->in, "'%s' is not an id", shown_bytes(word, (size_t)(s - word)).text);
        if (s > word && !heed_ids_put(c->cx, &c->ids, (int32_t)id)) return false;
        s += s < end;
    }
    return true;
}

static bool decode_line(struct converter *c) {
    c->text.size = 0;
    return read_ids(c) && heed_decode(c->cx, c->tokenizer, c->ids.id, c->ids.count, false, &c->text) &&
           heed_string_put(c->cx, &c->out, c->text.s, c->text.size);
}

/* One answer, or none and a sentence that says which line is wrong. */
static bool convert_line(struct converter *c) {
    const size_t before = c->out.size;
    if ((c->decode ? decode_line : encode_line)(c)) return heed_string_put(c->cx, &c->out, "\n", 1);
    c->out.size = before;
    char why[1024];
    const heed_status status = heed_error(c->cx);
    if (status != HEED_ERR_FORMAT && status != HEED_ERR_RANGE) return false;
    snprintf(why, sizeof why, "%s", heed_message(c->cx));
    if (strncmp(why, "encode: ", 8) != 0 && strncmp(why, "decode: ", 8) != 0) return false;
    heed_clear(c->cx);
    return cli_lines_fail(&c->in, "%s", why + 8);
}

static void write_answers(struct converter *c) {
    if (c->out.size > 0) fwrite(c->out.s, 1, c->out.size, stdout);
    fflush(stdout);
    c->out.size = 0;
}

static void convert_lines(struct converter *c) {
    bool ok = cli_lines_open(&c->in, c->cx, "-");
    while (ok && cli_lines_next(&c->in)) {
        ok = convert_line(c);
        if (!cli_lines_ready(&c->in)) write_answers(c); /* before waiting for more */
    }
    write_answers(c);
    cli_lines_close(&c->in);
}

static int convert(const struct options *o) {
    struct converter c = {.cx = options_open(o), .decode = option_flag(o, "decode")};
    if (!c.cx) return EXIT_FAILED;
    c.tokenizer = heed_tokenizer_load(c.cx, options_word(o, 0));
    if (c.tokenizer) convert_lines(&c);
    heed_tokenizer_free(c.cx, c.tokenizer);
    heed_string_free(c.cx, &c.out);
    heed_string_free(c.cx, &c.text);
    heed_ids_free(c.cx, &c.ids);
    return options_close(o, c.cx, EXIT_DONE);
}

/* ---- training ---- */

#define MOST_TEXTS 64

static heed_tokenizer *train_tokenizer(heed_ctx *cx, const struct options *o, const heed_tokenizer_opts *opts) {
    heed_lines texts[MOST_TEXTS] = {{0}};
    const heed_lines *list[MOST_TEXTS];
    int n = 0;
    for (bool ok = true; ok && (n < options_words(o) || n == 0);) {
        ok = heed_lines_read(cx, options_words(o) > 0 ? options_word(o, n) : "-", &texts[n]);
        list[n] = &texts[n];
        n++;
    }
    heed_tokenizer *t = heed_failed(cx) ? NULL : heed_tokenizer_train(cx, list, n, opts);
    for (int i = 0; i < n; i++) heed_lines_free(cx, &texts[i]);
    return t;
}

static const char *special(const struct options *o, const char *name) {
    const char *text = option_text(o, name);
    return text && *text ? text : NULL;
}

static int train(const struct options *o, const char *kind, const char *dir) {
    const heed_tokenizer_opts opts = {
        .kind = vocabulary_kind(kind),
        .vocabulary = option_int(o, "vocab"),
        .least = option_int(o, "least"),
        .lower = option_flag(o, "lower"),
        .pad = special(o, "pad"),
        .bos = special(o, "bos"),
        .eos = special(o, "eos"),
        .unk = special(o, "unk"),
        .add_bos = option_flag(o, "add-bos"),
        .add_eos = option_flag(o, "add-eos"),
    };
    if (opts.kind == HEED_TOKENS_BPE && opts.vocabulary == 0)
        return cli_error(EXIT_USAGE, "tokens: --vocab N is needed with --train bpe");
    heed_ctx *cx = options_open(o);
    if (!cx) return EXIT_FAILED;
    heed_tokenizer *t = train_tokenizer(cx, o, &opts);
    if (t && directory_make(cx, dir) && heed_tokenizer_save(cx, t, dir) && !option_flag(o, "quiet"))
        fprintf(stderr, "%s: %s with %lld tokens\n", dir, kind, (long long)heed_tokenizer_size(t));
    const bool wrong = !t && heed_error(cx) == HEED_ERR_USAGE;
    heed_tokenizer_free(cx, t);
    const int status = options_close(o, cx, EXIT_DONE);
    return wrong ? EXIT_USAGE : status;
}

static int run(int argc, char **argv) {
    struct options *o = options_read("tokens", options, argc, argv, 0, MOST_TEXTS, "DIR");
    if (!o) return EXIT_USAGE;
    const char *kind = option_text(o, "train"), *dir = option_text(o, "out");
    int status;
    if (!kind && options_words(o) != 1)
        status = cli_error(EXIT_USAGE, "tokens: expected: DIR");
    else if (!kind && dir)
        status = cli_error(EXIT_USAGE, "tokens: --out goes with --train");
    else if (kind && option_flag(o, "decode"))
        status = cli_error(EXIT_USAGE, "tokens: --decode does not go with --train");
    else if (kind)
        status = option_need(o, "out") ? train(o, kind, dir) : EXIT_USAGE;
    else
        status = convert(o);
    options_free(o);
    return status;
}

const struct command tokens_command = {
    .name = "tokens",
    .summary = "text to token ids and back; tokenizers from text",
    .words = "DIR",
    .about =
        "Reads lines of text from standard input and answers each with the ids of its tokens, separated by spaces, "
        "by the tokenizer.json of DIR, which may also be the file itself. The special tokens that the file's "
        "post-processor adds are among them; --decode turns ids back into text and drops them.\n\n"
        "With --train a tokenizer is learnt from the text files given instead of DIR, or from standard input, and "
        "written to --out: every character a token (char), every word (word), or pieces of words (bpe). Python's "
        "tokenizers open it and give the same ids.",
    .options = options,
    .examples = "heed tokens --train bpe --vocab 8000 --out pieces train.en.gz train.de.gz\n"
                "echo 'a bird flies through the window' | heed tokens pieces | heed tokens pieces --decode\n",
    .run = run,
};
