/* tokenizer.json, read: normalizer, pre-tokenizer, post-processor and decoder. Each is null or an object that says its
 * type; sequences are flattened. A type or option that heed cannot follow to the letter is refused by name. */
#include "io/text.h"
#include "text/tokenizer.h"

static bool absent(heed_json at) {
    return heed_json_kind_of(at) == HEED_JSON_NONE || heed_json_kind_of(at) == HEED_JSON_NULL;
}

static bool unsupported(heed_ctx *cx, heed_json at, const char *type) {
    return heed_json_fail(cx, at, "type '%s' is not supported", shown(type).text);
}

typedef bool (*read_fn)(heed_ctx *cx, heed_tokenizer *t, heed_json at, const char *type);

/* The part at `at`, or each of the parts of a Sequence, which keeps them under `key`. */
static bool read_parts(heed_ctx *cx, heed_tokenizer *t, heed_json at, const char *key, read_fn read) {
    if (heed_failed(cx)) return false;
    if (absent(at)) return true;
    const char *type = heed_json_text(cx, at, "type");
    if (!type) return false;
    if (strcmp(type, "Sequence") != 0) return read(cx, t, at, type);
    const heed_json list = heed_json_array(cx, at, key);
    for (EACH(v, list))
        if (!read_parts(cx, t, v, key, read)) return false;
    return !heed_failed(cx);
}

/* ---- normalizers ---- */

static bool read_normalizer(heed_ctx *cx, heed_tokenizer *t, heed_json at, const char *type) {
    static const char *const types[] = {"Lowercase", "NFC", "NFD", "NFKC", "NFKD", "Strip"};
    int kind = 0;
    while (kind <= NORMAL_STRIP && strcmp(type, types[kind]) != 0) kind++;
    if (kind > NORMAL_STRIP) return unsupported(cx, at, type);
    if (t->normalizer_count == MOST_STEPS)
        return heed_json_fail(cx, at, "more than %d normalizers in a row", MOST_STEPS);
    struct normalizer *n = &t->normalizers[t->normalizer_count++];
    *n = (struct normalizer){.kind = (enum normal_kind)kind};
    n->left = kind == NORMAL_STRIP && heed_json_bool_or(cx, at, "strip_left", true);
    n->right = kind == NORMAL_STRIP && heed_json_bool_or(cx, at, "strip_right", true);
    return !heed_failed(cx);
}

bool read_normalizers(heed_ctx *cx, heed_tokenizer *t, heed_json at) {
    return read_parts(cx, t, at, "normalizers", read_normalizer);
}

/* ---- pre-tokenizers ---- */

/* The mark of a Metaspace and where one is put before the text; files of old say add_prefix_space. */
static bool read_metaspace(heed_ctx *cx, heed_json at, char mark[5], enum prepend *prepend) {
    static const char *const schemes[] = {"never", "first", "always"};
    const char *text = heed_json_text_or(cx, at, "replacement", "\xE2\x96\x81"), *s = text;
    const bool prefix = heed_json_bool_or(cx, at, "add_prefix_space", true);
    const char *scheme = heed_json_text_or(cx, at, "prepend_scheme", prefix ? "always" : "never");
    if (heed_failed(cx)) return false;
    if (!*text || utf8_next(&s, text + strlen(text)) < 0 || *s)
        return heed_json_fail(cx, at, "the replacement must be one character");
    memset(mark, 0, 5);
    memcpy(mark, text, (size_t)(s - text));
    for (int i = 0; i < 3; i++)
        if (strcmp(scheme, schemes[i]) == 0) return *prepend = (enum prepend)i, true;
    return heed_json_fail(cx, at, "no prepend_scheme '%s'", shown(scheme).text);
}

static bool read_split(heed_ctx *cx, heed_json at, struct splitter *s) {
    static const char *const names[] = {"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"};
    static const char *const every[] = {".", "[\\s\\S]"}; /* a point is any character but a new line */
    const heed_json pattern = heed_json_object(cx, at, "pattern");
    const char *keep = heed_json_text(cx, at, "behavior");
    s->invert = heed_json_bool_or(cx, at, "invert", false);
    if (heed_failed(cx)) return false;
    int i = 0;
    while (i <= KEEP_CONTIGUOUS && strcmp(keep, names[i]) != 0) i++;
    if (i > KEEP_CONTIGUOUS) return heed_json_fail(cx, at, "no behavior '%s'", shown(keep).text);
    s->keep = (enum split_keep)i;
    const heed_json regex = heed_json_find(cx, pattern, "Regex");
    if (absent(regex)) {
        const char *literal = heed_json_text(cx, pattern, "String");
        s->kind = SPLIT_LITERAL;
        if (!literal || !(s->literal = text_copy(cx, literal))) return false;
        s->literal_size = strlen(literal);
        return s->literal_size > 0 || heed_json_fail(cx, pattern, "an empty string splits nothing");
    }
    const char *text = heed_json_text(cx, regex, NULL);
    s->kind = SPLIT_CHARS;
    for (i = 0; text && i < 2; i++)
        if (strcmp(text, every[i]) == 0) return s->split = i == 1, true;
    return text && heed_json_fail(cx, at, "the regular expression '%s' is not supported", shown(text).text);
}

static bool read_splitter(heed_ctx *cx, heed_tokenizer *t, heed_json at, const char *type) {
    if (t->splitter_count == MOST_STEPS)
        return heed_json_fail(cx, at, "more than %d pre-tokenizers in a row", MOST_STEPS);
    struct splitter *s = &t->splitters[t->splitter_count++];
    *s = (struct splitter){.split = true};
    if (strcmp(type, "Metaspace") == 0) {
        s->kind = SPLIT_METASPACE;
        s->split = heed_json_bool_or(cx, at, "split", true);
        return read_metaspace(cx, at, s->mark, &s->prepend);
    }
    if (strcmp(type, "WhitespaceSplit") == 0) return s->kind = SPLIT_SPACES, true;
    if (strcmp(type, "Whitespace") == 0) return s->kind = SPLIT_WORDS, true;
    if (strcmp(type, "Split") == 0) return read_split(cx, at, s);
    if (strcmp(type, "ByteLevel") != 0) return unsupported(cx, at, type);
    s->kind = SPLIT_BYTES;
    s->split = heed_json_bool_or(cx, at, "use_regex", true);
    s->prefix_space = heed_json_bool_or(cx, at, "add_prefix_space", true);
    return !heed_failed(cx);
}

bool read_splitters(heed_ctx *cx, heed_tokenizer *t, heed_json at) {
    return read_parts(cx, t, at, "pretokenizers", read_splitter);
}

/* ---- post-processors ---- */

/* A special token of a template stands for one id or several. */
static bool put_special(heed_ctx *cx, heed_tokenizer *t, heed_json specials, heed_json at, heed_ids *to) {
    const char *name = heed_json_text(cx, at, "id");
    const heed_json special = name ? heed_json_find(cx, specials, name) : (heed_json){0};
    if (heed_failed(cx)) return false;
    if (absent(special)) return heed_json_fail(cx, at, "'%s' is not among its special_tokens", shown(name).text);
    const heed_json ids = heed_json_array(cx, special, "ids");
    for (EACH(v, ids)) {
        const int64_t id = heed_json_int(cx, v, NULL);
        if (heed_failed(cx)) return false;
        if (id < 0 || id >= t->size || !t->token[id])
            return heed_json_fail(cx, v, "no token has id %lld", (long long)id);
        if (!heed_ids_put(cx, to, (int32_t)id)) return false;
    }
    return !heed_failed(cx);
}

static bool read_template(heed_ctx *cx, heed_tokenizer *t, heed_json at) {
    const heed_json single = heed_json_array(cx, at, "single"), specials = heed_json_object(cx, at, "special_tokens");
    if (heed_failed(cx)) return false;
    if (t->before.count + t->after.count > 0) return heed_json_fail(cx, at, "a second template is not supported");
    int texts = 0;
    for (EACH(v, single)) {
        const heed_json special = heed_json_find(cx, v, "SpecialToken");
        if (heed_failed(cx)) return false;
        if (absent(special)) {
            const char *text = heed_json_text(cx, heed_json_object(cx, v, "Sequence"), "id");
            if (!text) return false;
            if (strcmp(text, "A") != 0) return heed_json_fail(cx, v, "a single text is called A");
            texts++;
        } else if (!put_special(cx, t, specials, special, texts ? &t->after : &t->before))
            return false;
    }
    return texts == 1 || heed_json_fail(cx, single, "a template must hold the text once");
}

static bool read_processor(heed_ctx *cx, heed_tokenizer *t, heed_json at, const char *type) {
    if (strcmp(type, "ByteLevel") == 0) return true; /* moves offsets, which heed does not give */
    return strcmp(type, "TemplateProcessing") == 0 ? read_template(cx, t, at) : unsupported(cx, at, type);
}

bool read_post_processor(heed_ctx *cx, heed_tokenizer *t, heed_json at) {
    return read_parts(cx, t, at, "processors", read_processor);
}

/* ---- decoders ---- */

bool read_decoder(heed_ctx *cx, heed_tokenizer *t, heed_json at) {
    if (heed_failed(cx)) return false;
    if (absent(at)) return true;
    const char *type = heed_json_text(cx, at, "type");
    if (!type) return false;
    if (strcmp(type, "Fuse") == 0) return t->decoder = DECODE_FUSE, true;
    if (strcmp(type, "ByteLevel") == 0) return t->decoder = DECODE_BYTES, true;
    if (strcmp(type, "Metaspace") == 0) {
        enum prepend prepend;
        if (!read_metaspace(cx, at, t->decoder_mark, &prepend)) return false;
        t->decoder = DECODE_METASPACE;
        t->decoder_prefixed = prepend != PREPEND_NEVER;
        return true;
    }
    if (strcmp(type, "BPEDecoder") != 0) return unsupported(cx, at, type);
    const char *suffix = heed_json_text_or(cx, at, "suffix", "</w>");
    if (!suffix || !(t->decoder_suffix = text_copy(cx, suffix))) return false;
    t->decoder = DECODE_SUFFIX;
    return *suffix || heed_json_fail(cx, at, "an empty suffix");
}

/* ---- what must not be asked for ---- */

bool read_unused(heed_ctx *cx, heed_json root) {
    const heed_json truncation = heed_json_find(cx, root, "truncation"), padding = heed_json_find(cx, root, "padding");
    if (heed_failed(cx)) return false;
    if (!absent(truncation)) return heed_json_fail(cx, truncation, "truncation is not supported: it must be null");
    if (absent(padding)) return true;
    const heed_json strategy = heed_json_find(cx, padding, "strategy"); /* of a batch: a text alone gets none */
    const bool batch =
        heed_json_kind_of(strategy) == HEED_JSON_TEXT && absent(heed_json_find(cx, padding, "pad_to_multiple_of"));
    return !heed_failed(cx) && (batch || heed_json_fail(cx, padding, "padding is not supported: it must be null"));
}
