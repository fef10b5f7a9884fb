/* heed tokens: text to ids, line by line, and back; and training tokenizers on text. */
#include "cli/core/input_lines.h"
#include "cli/core/options.h"
#include "heed/plot.h"
#include "heed/task.h"
#include "heed/text.h"
#include "io/text.h"
#include "model/core/directory.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* clang-format off */
static const heed_field options[] = {
    {.name = "decode", .letter = 'd', .help = "decode: from ids back to text"},
    {.name = "json", .help = "a JSON object per line: ids, tokens, offsets, type_ids; with --decode the text"},
    {.name = "pair", .letter = 'p', .help = "each line is a pair of texts, separated by a tab"},
    {.name = "plain", .help = "do not add special tokens; with --decode do not skip them"},
    {.name = "truncate", .kind = HEED_FIELD_INT, .standard = "0", .value = "N", .high = 1 << 30,
     .help = "truncate to N tokens, special tokens included; 0: do not truncate"},
    {.name = "pad", .kind = HEED_FIELD_TEXT, .value = "N",
     .help = "pad to N tokens with the padding token; with --train the padding token itself (default <pad>; of "
             "wordpiece [PAD])"},
    {.name = "training a tokenizer", .kind = HEED_FIELD_GROUP},
    {.name = "train", .kind = HEED_FIELD_CHOICE, .value = "KIND",
     .choices = "char word bpe byte-bpe wordpiece unigram", .help = "train a tokenizer of this kind on text"},
    {.name = "vocab", .letter = 'v', .kind = HEED_FIELD_INT, .standard = "0", .value = "N", .high = 1 << 24,
     .help = "vocabulary size, special tokens included; 0: all characters or words (char and word)"},
    {.name = "out", .letter = 'o', .kind = HEED_FIELD_FILE, .value = "DIR", .help = "directory to write the tokenizer to"},
    {.name = "least", .kind = HEED_FIELD_INT, .standard = "1", .value = "N", .low = 1, .high = 1e9,
     .help = "minimum frequency of words and characters; rarer ones are unknown"},
    {.name = "min-frequency", .kind = HEED_FIELD_INT, .standard = "2", .value = "N", .low = 1, .high = 1e9,
     .help = "minimum frequency of a pair to be merged (bpe, byte-bpe, wordpiece)"},
    {.name = "lower", .letter = 'l', .help = "lowercase all text"},
    {.name = "add-bos", .help = "add the beginning-of-sequence token to every text"},
    {.name = "add-eos", .help = "add the end-of-sequence token to every text"},
    {.name = "bos", .kind = HEED_FIELD_TEXT, .value = "TEXT",
     .help = "beginning-of-sequence token; empty: none, as with --pad and those below (default <s>; of wordpiece [CLS])"},
    {.name = "eos", .kind = HEED_FIELD_TEXT, .value = "TEXT", .help = "end-of-sequence token (default </s>; [SEP])"},
    {.name = "unk", .kind = HEED_FIELD_TEXT, .value = "TEXT",
     .help = "unknown token (default <unk>; [UNK]; none of byte-bpe)"},
    {.name = "mask", .kind = HEED_FIELD_TEXT, .value = "TEXT", .help = "mask token (default none; [MASK])"},
    {.name = NULL},
};
/* clang-format on */

struct converter {
    heed_ctx *cx;
    heed_tokenizer *tokenizer;
    bool decode, json, pair, terminal, colors;
    heed_encode_opts opts;
    heed_string out; /* answers not yet written */
    heed_string text;
    heed_ids ids;
    heed_encoding tokens;
    struct cli_lines in;
};

static bool put(struct converter *c, const char *text) { return heed_string_put(c->cx, &c->out, text, strlen(text)); }

/* ---- encoding ---- */

static bool encode(struct converter *c) {
    const char *text = c->in.text, *tab = c->pair ? memchr(text, '\t', c->in.size) : NULL;
    size_t size = c->in.size;
    if (c->pair && !tab) return heed_fail(c->cx, HEED_ERR_FORMAT, "encode: a pair needs a tab between its texts");
    if (tab) {
        size = (size_t)(tab - text);
        c->opts.pair = tab + 1;
        c->opts.pair_size = c->in.size - size - 1;
    }
    return heed_encode_text(c->cx, c->tokenizer, text, size, &c->opts, &c->tokens);
}

static bool put_ids(struct converter *c) {
    for (int64_t i = 0; i < c->tokens.count; i++) {
        char text[16];
        snprintf(text, sizeof text, i ? " %d" : "%d", c->tokens.token[i].id);
        if (!put(c, text)) return false;
    }
    return true;
}

/* {"ids": …, "tokens": …, "offsets": …, "type_ids": …, "special_tokens_mask": …}: Python's names. */
static bool put_object(struct converter *c) {
    const heed_json root = heed_json_new(c->cx, "tokens"), ids = heed_json_put_array(c->cx, root, "ids"),
                    tokens = heed_json_put_array(c->cx, root, "tokens"),
                    offsets = heed_json_put_array(c->cx, root, "offsets"),
                    types = heed_json_put_array(c->cx, root, "type_ids"),
                    special = heed_json_put_array(c->cx, root, "special_tokens_mask");
    for (int64_t i = 0; i < c->tokens.count && !heed_failed(c->cx); i++) {
        const heed_token *t = &c->tokens.token[i];
        c->text.size = 0;
        heed_string_put(c->cx, &c->text, c->tokens.text.s + t->text, t->size);
        heed_json_put_int(c->cx, ids, NULL, t->id);
        heed_json_put_text(c->cx, tokens, NULL, c->text.s);
        const heed_json place = heed_json_put_array(c->cx, offsets, NULL);
        heed_json_put_int(c->cx, place, NULL, t->start);
        heed_json_put_int(c->cx, place, NULL, t->end);
        heed_json_put_int(c->cx, types, NULL, t->type);
        heed_json_put_int(c->cx, special, NULL, t->special);
    }
    char *text = heed_json_print(c->cx, root, 0, NULL);
    const bool ok = text && put(c, text);
    heed_mem_free(c->cx, text);
    heed_json_free(root);
    return ok;
}

/* What begins and ends token i on a terminal with colours: white on dark, so that it can be read whatever the
 * terminal's own background is. Special tokens are grey. */
static const char *color_of(const struct converter *c, int64_t i) {
    static const int backgrounds[] = {24, 58, 53, 22, 94, 60};
    static char begin[32];
    if (!c->colors) return "";
    snprintf(begin, sizeof begin, "\x1B[48;5;%d;38;5;231m", c->tokens.token[i].special ? 240 : backgrounds[i % 6]);
    return begin;
}
static const char *end_of_color(const struct converter *c) { return c->colors ? "\x1B[0m" : ""; }

/* For people: the pieces side by side, each on a colour of its own or with a bar between them, and below the ids on the
 * same colours. */
static bool put_pieces(struct converter *c) {
    bool ok = true;
    for (int64_t i = 0; ok && i < c->tokens.count; i++) {
        const heed_token *t = &c->tokens.token[i];
        c->text.size = 0;
        ok = heed_string_put(c->cx, &c->text, c->tokens.text.s + t->text, t->size);
        if (ok) c->text.size = cli_plain_line(c->text.s, c->text.size);
        ok = ok && put(c, i && !c->colors ? "|" : "") && put(c, color_of(c, i)) &&
             heed_string_put(c->cx, &c->out, c->text.s, c->text.size) && put(c, end_of_color(c));
    }
    ok = ok && put(c, "\n");
    for (int64_t i = 0; ok && i < c->tokens.count; i++) {
        char id[16];
        snprintf(id, sizeof id, "%d", c->tokens.token[i].id);
        ok = put(c, i ? " " : "") && put(c, color_of(c, i)) && put(c, id) && put(c, end_of_color(c));
    }
    return ok;
}

/* The same without offsets, which are not shown. */
static bool put_plain_ids(struct converter *c) {
    c->ids.count = 0;
    if (!heed_encode(c->cx, c->tokenizer, c->in.text, c->in.size, !c->opts.plain, &c->ids)) return false;
    for (int64_t i = 0; i < c->ids.count; i++) {
        char text[16];
        snprintf(text, sizeof text, i ? " %d" : "%d", c->ids.id[i]);
        if (!put(c, text)) return false;
    }
    return true;
}

static bool encode_line(struct converter *c) {
    if (!c->json && !c->terminal && !c->pair && !c->opts.truncate && !c->opts.pad) return put_plain_ids(c);
    return encode(c) && (c->json ? put_object(c) : c->terminal ? put_pieces(c) : put_ids(c));
}

/* ---- decoding ---- */

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
        if (id < 0) return cli_lines_fail(&c->in, "'%s' is not an id", escaped_bytes(word, (size_t)(s - word)).s);
        if (s > word && !heed_ids_put(c->cx, &c->ids, (int32_t)id)) return false;
        s += s < end;
    }
    return true;
}

static bool put_text(struct converter *c) {
    const heed_json root = heed_json_new(c->cx, "text");
    heed_json_put_text(c->cx, root, "text", c->text.s);
    char *text = heed_json_print(c->cx, root, 0, NULL);
    const bool ok = text && put(c, text);
    heed_mem_free(c->cx, text);
    heed_json_free(root);
    return ok;
}

/* A line for a line: newlines of the text are spaces, and on a terminal all control characters. --json keeps them. */
static bool decode_line(struct converter *c) {
    c->text.size = 0;
    if (!read_ids(c) || !heed_decode(c->cx, c->tokenizer, c->ids.id, c->ids.count, c->opts.plain, &c->text))
        return false;
    if (c->json) return put_text(c);
    if (c->terminal) c->text.size = cli_plain_line(c->text.s, c->text.size);
    for (size_t i = 0; i < c->text.size; i++)
        if (c->text.s[i] == '\n') c->text.s[i] = ' ';
    return heed_string_put(c->cx, &c->out, c->text.s, c->text.size);
}

/* ---- lines ---- */

/* One answer, or none and a sentence that says which line is wrong. */
static bool convert_line(struct converter *c) {
    const size_t before = c->out.size;
    if ((c->decode ? decode_line : encode_line)(c)) return put(c, "\n");
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
        if (!cli_lines_ready(&c->in) || c->out.size > 1 << 20) write_answers(c); /* before waiting for more */
    }
    write_answers(c);
    cli_lines_close(&c->in);
}

/* --pad of a conversion: a number of tokens, or -1 when it is none. */
static int64_t pad_length(const struct options *o) {
    const char *text = option_text(o, "pad");
    int64_t length = 0;
    for (const char *s = text ? text : "0"; *s; s++) {
        if (*s < '0' || *s > '9' || length > 1 << 30) return -1;
        length = 10 * length + (*s - '0');
    }
    return text && !*text ? -1 : length;
}

static int convert(const struct options *o) {
    if (pad_length(o) < 0)
        return cli_error(EXIT_USAGE, "tokens: --pad: '%s' is not a number of tokens", option_text(o, "pad"));
    struct converter c = {.cx = options_open(o), .decode = option_flag(o, "decode")};
    if (!c.cx) return EXIT_FAILED;
    c.json = option_flag(o, "json");
    c.pair = option_flag(o, "pair");
    c.terminal = isatty(STDOUT_FILENO) == 1;
    c.colors = cli_terminal(80).colors != HEED_TERMINAL_PLAIN;
    c.opts = (heed_encode_opts){
        .plain = option_flag(o, "plain"), .truncate = option_int(o, "truncate"), .pad = pad_length(o)};
    c.tokenizer = heed_tokenizer_load(c.cx, options_word(o, 0));
    if (c.tokenizer) convert_lines(&c);
    heed_tokenizer_free(c.cx, c.tokenizer);
    heed_string_free(c.cx, &c.out);
    heed_string_free(c.cx, &c.text);
    heed_ids_free(c.cx, &c.ids);
    heed_encoding_free(c.cx, &c.tokens);
    return options_close(o, c.cx, EXIT_DONE);
}

/* ---- training ---- */

#define MAX_TEXTS 64

static heed_tokenizer *train_tokenizer(heed_ctx *cx, const struct options *o, const heed_tokenizer_opts *opts) {
    heed_lines texts[MAX_TEXTS] = {{0}};
    const heed_lines *list[MAX_TEXTS];
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

/* A special token as given, or what the kind of tokenizer usually calls it. */
static const char *special(const struct options *o, const char *name, heed_tokenizer_kind kind, const char *usual,
                           const char *of_pieces) {
    const char *given = option_text(o, name);
    if (given) return *given ? given : NULL;
    return kind == HEED_TOKENS_WORDPIECE ? of_pieces : usual;
}

static int train(const struct options *o, const char *name, const char *dir) {
    const heed_tokenizer_kind kind = heed_vocabulary_kind(name);
    const heed_tokenizer_opts opts = {
        .kind = kind,
        .vocabulary = option_int(o, "vocab"),
        .least = option_int(o, "least"),
        .least_pair = option_int(o, "min-frequency"),
        .lower = option_flag(o, "lower"),
        .pad = special(o, "pad", kind, "<pad>", "[PAD]"),
        .bos = special(o, "bos", kind, "<s>", "[CLS]"),
        .eos = special(o, "eos", kind, "</s>", "[SEP]"),
        .unk = special(o, "unk", kind, kind == HEED_TOKENS_BYTE_BPE ? NULL : "<unk>", "[UNK]"),
        .mask = special(o, "mask", kind, NULL, "[MASK]"),
        .add_bos = option_flag(o, "add-bos"),
        .add_eos = option_flag(o, "add-eos"),
    };
    if (kind >= HEED_TOKENS_BPE && opts.vocabulary == 0)
        return cli_error(EXIT_USAGE, "tokens: --vocab N is needed with --train %s", name);
    heed_ctx *cx = options_open(o);
    if (!cx) return EXIT_FAILED;
    const bool over = directory_has_tokenizers(dir);
    heed_tokenizer *t = train_tokenizer(cx, o, &opts);
    const int lock = t ? directory_claim(cx, dir, over ? NULL : directory_has_tokenizers) : -1;
    if (lock >= 0 && heed_tokenizer_save(cx, t, dir) && !option_flag(o, "quiet"))
        fprintf(stderr, "%s: %s with %lld tokens\n", dir, name, (long long)heed_tokenizer_size(t));
    const bool wrong = !t && heed_error(cx) == HEED_ERR_USAGE;
    directory_unlock(lock);
    heed_tokenizer_free(cx, t);
    const int status = options_close(o, cx, EXIT_DONE);
    return wrong ? EXIT_USAGE : status;
}

static int run(int argc, char **argv) {
    struct options *o = options_read("tokens", options, argc, argv, 0, MAX_TEXTS, "DIR");
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
        "Encodes lines of text from standard input: each is answered with its token ids, separated by spaces. DIR "
        "holds "
        "a tokenizer.json or what older models have instead: vocab.txt, vocab.json with merges.txt, or a SentencePiece "
        "model; it may also be the file tokenizer.json itself. Special tokens are added as the tokenizer says; "
        "--decode "
        "turns ids back into text and skips them. In a terminal each token is shown on a colour of its own above its "
        "id; "
        "NO_COLOR and pipes are respected.\n\n"
        "With --json each line is answered with an object: ids, tokens, offsets in characters, type_ids and "
        "special_tokens_mask, as Python's tokenizers give them.\n\n"
        "With --train a tokenizer is trained on the text files given instead of DIR, or on standard input, and written "
        "to --out: characters (char), words (word), byte-pair encoding over characters (bpe) or over bytes (byte-bpe, "
        "as "
        "GPT-2's), WordPiece (wordpiece, as BERT's) or a unigram language model (unigram, as T5's). Python's "
        "tokenizers "
        "and transformers' AutoTokenizer open it and give the same ids.",
    .options = options,
    .examples = "echo 'a bird flies through the window' | heed tokens gpt2\n"
                "echo '64 6512 17607' | heed tokens gpt2 --decode\n"
                "printf 'a question\\tits context\\n' | heed tokens bert-base-uncased --pair --truncate 384 --json\n"
                "heed tokens --train bpe --vocab 8000 --out bpe train.en.gz train.de.gz\n"
                "heed tokens --train wordpiece --vocab 30000 --lower --add-bos --add-eos --out wordpiece <text\n",
    .run = run,
};
