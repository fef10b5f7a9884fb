/* The tokenizer.json of a directory of older files, written: what a class says as a template, added tokens and the
 * post-processor. */
#include "text/tokenizer/legacy.h"

#include <stdio.h>
#include <string.h>

bool legacy_put(struct legacy *l, const char *text) { return heed_string_put(l->cx, &l->out, text, strlen(text)); }

/* As a JSON string. */
bool legacy_put_string(struct legacy *l, const char *s, size_t size) {
    bool ok = legacy_put(l, "\"");
    for (size_t i = 0; ok && i < size; i++) {
        char escape[8];
        const unsigned char c = (unsigned char)s[i];
        if (c < 0x20 || c == '"' || c == '\\') {
            snprintf(escape, sizeof escape, "\\u%04x", c);
            ok = legacy_put(l, escape);
        } else
            ok = heed_string_put(l->cx, &l->out, s + i, 1);
    }
    return ok && legacy_put(l, "\"");
}

/* ---- the text ---- */

static bool put_base64(struct legacy *l, const char *bytes, size_t size) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    bool ok = true;
    for (size_t i = 0; ok && i < size; i += 3) {
        uint32_t bits = 0;
        for (size_t k = 0; k < 3; k++) bits = bits << 8 | (i + k < size ? (unsigned char)bytes[i + k] : 0);
        char four[5] = {digits[bits >> 18], digits[bits >> 12 & 63], digits[bits >> 6 & 63], digits[bits & 63], 0};
        if (i + 2 >= size) four[3] = '=';
        if (i + 1 >= size) four[2] = '=';
        ok = legacy_put(l, four);
    }
    return ok;
}

#define NOTHING "{\"type\":\"Sequence\",\"normalizers\":[]}"
static bool put_charsmap(struct legacy *l) {
    if (l->spm.charsmap_size > 0)
        return legacy_put(l, "{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"") &&
               put_base64(l, l->spm.charsmap, l->spm.charsmap_size) &&
               legacy_put(l, l->class->files == LEGACY_MARIAN ? "\",\"longest_match\":true}" : "\"}");
    if (l->class->order && strcmp(l->class->order, "pegasus") == 0)
        return legacy_put(l, "{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"\\\\n\"},\"content\":\" \"}");
    return legacy_put(l, NOTHING);
}

bool legacy_put_role(struct legacy *l, enum role role) {
    return legacy_put_string(l, l->role[role].text.s ? l->role[role].text.s : "", l->role[role].text.size);
}

/* What $name$ stands for. */
static bool fill_in(struct legacy *l, const char *name, size_t size) {
#define IS(text) (size == sizeof text - 1 && memcmp(name, text, size) == 0)
    const bool lower =
        legacy_flag(l, "do_lower_case",
                    l->class->files == LEGACY_WORDS || (l->class->order && strcmp(l->class->order, "albert") == 0));
    const node accents = legacy_member(&l->config, "strip_accents"),
               prefix = legacy_member(&l->config, "add_prefix_space");
    const bool no_prefix = prefix && prefix->kind == TREE_BOOL && prefix->number == 0;
    if (IS("lower")) return legacy_put(l, lower ? "true" : "false");
    if (IS("accents")) return legacy_put(l, !accents ? "null" : accents->number != 0 ? "true" : "false");
    if (IS("chinese")) return legacy_put(l, legacy_flag(l, "tokenize_chinese_chars", true) ? "true" : "false");
    if (IS("prefix")) return legacy_put(l, legacy_flag(l, "add_prefix_space", false) ? "true" : "false");
    if (IS("spaced")) return legacy_put(l, legacy_flag(l, "add_prefix_space", true) ? "true" : "false");
    if (IS("scheme")) return legacy_put(l, no_prefix ? "never" : "always");
    if (IS("first")) return legacy_put(l, no_prefix ? "first" : "always");
    if (IS("llama")) return legacy_put(l, no_prefix ? "never" : legacy_flag(l, "legacy", false) ? "always" : "first");
    if (IS("strip"))
        return no_prefix || legacy_put(l, ",{\"type\":\"Strip\",\"content\":\" \",\"start\":1,\"stop\":0}");
    if (IS("unk")) return legacy_put_role(l, ROLE_UNK);
    if (IS("piece")) return legacy_put_string(l, l->spm.unk_piece, l->spm.unk_piece_size);
    if (IS("fallback")) return legacy_put(l, l->spm.byte_fallback ? "true" : "false");
    if (IS("charsmap")) return put_charsmap(l);
    if (IS("lowercase")) return !legacy_flag(l, "do_lower_case", false) || legacy_put(l, "{\"type\":\"Lowercase\"},");
    if (IS("punctuation"))
        return !legacy_flag(l, "split_by_punct", false) ||
               legacy_put(l, "{\"type\":\"Punctuation\",\"behavior\":\"Isolated\"},");
    if (IS("albert"))
        return (legacy_flag(l, "keep_accents", false) ||
                legacy_put(l, ",{\"type\":\"NFKD\"},{\"type\":\"StripAccents\"}")) &&
               (!lower || legacy_put(l, ",{\"type\":\"Lowercase\"}"));
    return legacy_put(
               l,
               "{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"Replace\",\"pattern\":{\"String\":\"\xE2\x96\x81\"},"
               "\"content\":\" \"}") &&
           legacy_put(l, l->spm.byte_fallback ? ",{\"type\":\"ByteFallback\"},{\"type\":\"Fuse\"}]}" : "]}");
#undef IS
}

bool legacy_put_template(struct legacy *l, const char *text) {
    bool ok = text ? true : legacy_put(l, "null");
    while (ok && text && *text) {
        const char *mark = strchr(text, '$'), *close = mark ? strchr(mark + 1, '$') : NULL;
        const bool name = close && close > mark + 1;
        const size_t n = name ? (size_t)(mark - text) : strlen(text);
        bool letters = name;
        for (const char *c = name ? mark + 1 : text; letters && c < close; c++) letters = *c >= 'a' && *c <= 'z';
        if (name && !letters) { /* a dollar of a regular expression */
            ok = heed_string_put(l->cx, &l->out, text, n + 1);
            text = mark + 1;
            continue;
        }
        ok = heed_string_put(l->cx, &l->out, text, n) && (!name || fill_in(l, mark + 1, (size_t)(close - mark - 1)));
        text = name ? close + 1 : text + n;
    }
    return ok;
}

/* ---- added tokens ---- */

/* Its id: in the vocabulary, or behind it. */
static int64_t id_of(struct legacy *l, const heed_string *text) {
    const int64_t before = l->vocabulary.count,
                  entry = map_add(l->cx, &l->vocabulary, text->s ? text->s : "", text->size);
    if (entry < 0) return -1;
    if (l->vocabulary.count > before) l->vocabulary.entries[entry].value = l->next_id++;
    return l->vocabulary.entries[entry].value;
}

static bool put_added_token(struct legacy *l, const struct legacy_token *t, bool *first) {
    char id[48];
    static const char *const keys[] = {"single_word", "lstrip", "rstrip", "normalized", "special"};
    const bool values[] = {t->word, t->left, t->right, t->normalized, t->special};
    if (!t->given || t->text.size == 0) return true;
    snprintf(id, sizeof id, "%s{\"id\":%lld,\"content\":", *first ? "" : ",", (long long)id_of(l, &t->text));
    *first = false;
    bool ok = legacy_put(l, id) && legacy_put_string(l, t->text.s, t->text.size);
    for (int i = 0; i < 5; i++)
        ok = ok && legacy_put(l, ",\"") && legacy_put(l, keys[i]) && legacy_put(l, values[i] ? "\":true" : "\":false");
    return ok && legacy_put(l, "}");
}

static bool is_special_text(const struct legacy *l, node text) {
    for (int i = 0; i < ROLES; i++)
        if (l->role[i].given && l->role[i].text.size == text->key_size &&
            memcmp(l->role[i].text.s, text->key, text->key_size) == 0)
            return true;
    return false;
}

/* tokenizer_config.json's added_tokens_decoder, or added_tokens.json, in the order of their ids; special tokens by
 * role; and the others. */
static bool put_added(struct legacy *l) {
    const node decoder = legacy_member(&l->config, "added_tokens_decoder");
    bool ok = legacy_put(l, "\"added_tokens\":["), first = true;
    int64_t last = -1;
    while (ok && (decoder || l->added.cx)) { /* the next larger id; such lists are short */
        const struct tree *t = decoder ? &l->config : &l->added;
        int64_t best = INT64_MAX;
        node found = NULL;
        for (EACH_NODE(v, t, decoder ? decoder : tree_root(t))) {
            int64_t id = 0;
            if (decoder)
                for (uint32_t i = 0; i < v->key_size && v->key[i] >= '0' && v->key[i] <= '9' && id < INT32_MAX; i++)
                    id = 10 * id + (v->key[i] - '0');
            else
                ok = (id = legacy_id(t, v)) >= 0;
            if (!ok) return false;
            if (id > last && id < best) best = id, found = v;
        }
        if (!found) break;
        last = best;
        struct legacy_token one = {.given = false};
        if (decoder)
            ok = legacy_read_token(l, t, found, false, &one);
        else {
            const bool special = is_special_text(l, found);
            ok = legacy_token(l, found->key, found->key_size, special, &one);
            one.normalized = !special;
        }
        ok = ok && put_added_token(l, &one, &first);
        legacy_token_free(l->cx, &one);
    }
    for (int i = 0; ok && i < ROLES; i++) ok = put_added_token(l, &l->role[i], &first);
    for (int64_t i = 0; ok && i < l->extra_count; i++) ok = put_added_token(l, &l->extra[i], &first);
    return ok && legacy_put(l, "],");
}

/* ---- post-processors ---- */

/* The token that a letter of a class's template stands for. */
static struct legacy_token *token_of(struct legacy *l, char letter, struct legacy_token *language) {
    static const char letters[] = "beuspcm"; /* in the order of the roles; s is the separator */
    if (letter == 'L') return language;
    const char *at = strchr(letters, letter);
    return at ? &l->role[at - letters] : NULL;
}

static bool put_parts(struct legacy *l, const char *from, const char *to, struct legacy_token *language) {
    bool ok = legacy_put(l, "["), first = true;
    for (const char *s = from; ok && s + 1 < to; s++) {
        if (*s == ' ') continue;
        const struct legacy_token *t = token_of(l, *s, language);
        if (t && !t->given) {
            s++;
            continue;
        }
        ok = legacy_put(l, first ? "{" : ",{") &&
             legacy_put(l, t ? "\"SpecialToken\":{\"id\":" : "\"Sequence\":{\"id\":") &&
             legacy_put_string(l, t ? t->text.s : s, t ? t->text.size : 1) && legacy_put(l, ",\"type_id\":") &&
             heed_string_put(l->cx, &l->out, s + 1, 1) && legacy_put(l, "}}");
        first = false;
        s++;
    }
    return ok && legacy_put(l, "]");
}

static bool put_special(struct legacy *l, const struct legacy_token *t, bool *first) {
    char id[32];
    snprintf(id, sizeof id, "%lld", (long long)id_of(l, &t->text));
    const bool ok = legacy_put(l, *first ? "" : ",") && legacy_put_string(l, t->text.s, t->text.size) &&
                    legacy_put(l, ":{\"id\":") && legacy_put_string(l, t->text.s, t->text.size) &&
                    legacy_put(l, ",\"ids\":[") && legacy_put(l, id) && legacy_put(l, "],\"tokens\":[") &&
                    legacy_put_string(l, t->text.s, t->text.size) && legacy_put(l, "]}");
    *first = false;
    return ok;
}

static bool put_template_processor(struct legacy *l, const char *post) {
    const node named = legacy_member(&l->config, "src_lang");
    struct legacy_token language = {.given = true};
    const char *bar = strchr(post, '|'), *end = post + strlen(post);
    bool ok = named && named->kind == TREE_TEXT ? heed_string_put(l->cx, &language.text, named->text, named->size)
                                                : heed_string_put(l->cx, &language.text, "en_XX", 5);
    ok = ok && legacy_put(l, "{\"type\":\"TemplateProcessing\",\"single\":") && put_parts(l, post, bar, &language) &&
         legacy_put(l, ",\"pair\":") && put_parts(l, bar + 1, end, &language) && legacy_put(l, ",\"special_tokens\":{");
    bool first = true, done[128] = {false};
    for (const char *s = post; ok && *s; s++) {
        const struct legacy_token *t = *s >= 'A' ? token_of(l, *s, &language) : NULL;
        if (!t || !t->given || done[(unsigned char)*s & 127]) continue;
        done[(unsigned char)*s & 127] = true;
        ok = put_special(l, t, &first);
    }
    legacy_token_free(l->cx, &language);
    return ok && legacy_put(l, "}}");
}

static bool put_roberta(struct legacy *l, enum role sep, enum role cls, bool trim, bool prefix) {
    char ids[2][32];
    const enum role roles[] = {sep, cls};
    for (int i = 0; i < 2; i++) snprintf(ids[i], sizeof ids[i], ",%lld]", (long long)id_of(l, &l->role[roles[i]].text));
    return legacy_put(l, "{\"type\":\"RobertaProcessing\",\"sep\":[") && legacy_put_role(l, sep) &&
           legacy_put(l, ids[0]) && legacy_put(l, ",\"cls\":[") && legacy_put_role(l, cls) && legacy_put(l, ids[1]) &&
           legacy_put(l, trim ? ",\"trim_offsets\":true" : ",\"trim_offsets\":false") &&
           legacy_put(l, prefix ? ",\"add_prefix_space\":true}" : ",\"add_prefix_space\":false}");
}

static bool put_post_processor(struct legacy *l) {
    const char *post = l->class->post;
    const bool bos = legacy_flag(l, "add_bos_token", false) && l->role[ROLE_BOS].given;
    const bool eos = legacy_flag(l, "add_eos_token", false) && l->role[ROLE_EOS].given;
    if (post && strcmp(post, "clip") == 0) return put_roberta(l, ROLE_EOS, ROLE_BOS, false, false);
    if (post && strcmp(post, "roberta") == 0)
        return put_roberta(l, ROLE_SEP, ROLE_CLS, legacy_flag(l, "trim_offsets", true),
                           l->class->files == LEGACY_PAIRS && legacy_flag(l, "add_prefix_space", false));
    if (post) return put_template_processor(l, post);
    return put_template_processor(l, bos && eos ? "b0 A0 e0 | b0 A0 e0 b1 B1 e1"
                                     : bos      ? "b0 A0 | b0 A0 b1 B1"
                                     : eos      ? "A0 e0 | A0 e0 B1 e1"
                                                : "A0 | A0 B1");
}

bool legacy_compose(struct legacy *l) {
    return legacy_put(l, "{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\"model\":") &&
           legacy_put_model(l) && legacy_put(l, ",") && put_added(l) && legacy_put(l, "\"normalizer\":") &&
           legacy_put_template(l, l->class->normalizer) && legacy_put(l, ",\"pre_tokenizer\":") &&
           legacy_put_template(l, l->class->pre_tokenizer) && legacy_put(l, ",\"decoder\":") &&
           legacy_put_template(l, l->class->decoder) && legacy_put(l, ",\"post_processor\":") &&
           put_post_processor(l) && legacy_put(l, "}");
}
