/* The vocabularies of older models: words, pairs with their merges, and SentencePiece's pieces in the order that each
 * class gives them. */
#include "text/tokenizer/legacy.h"

#include <stdio.h>
#include <string.h>

/* ---- vocabularies ---- */

static bool add_word(struct legacy *l, const char *text, size_t size, int64_t id) {
    const int64_t entry = map_add(l->cx, &l->vocabulary, text, size);
    if (entry >= 0) l->vocabulary.entries[entry].value = id;
    if (id >= l->next_id) l->next_id = id + 1;
    return entry >= 0;
}

static size_t trimmed(const char *s, size_t size) {
    size_t last = 0;
    for (const char *at = s, *end = s + size; at < end;)
        if (!unicode_is_space(utf8_next(&at, end))) last = (size_t)(at - s);
    return last;
}

static bool check_utf8(struct legacy *l, const char *file, const char *text, size_t size) {
    char what[128];
    snprintf(what, sizeof what, "%s", file);
    return utf8_check(l->cx, what, text, size);
}

/* vocab.txt: a token a line. */
bool legacy_read_words(struct legacy *l) {
    size_t size;
    char *text = legacy_read(l, "vocab.txt", &size);
    bool ok = text && check_utf8(l, "vocab.txt", text, size);
    int64_t id = 0;
    for (const char *s = text, *end = text + (ok ? size : 0); ok && s < end; id++) {
        const char *stop = memchr(s, '\n', (size_t)(end - s));
        const size_t n = (size_t)((stop ? stop : end) - s);
        ok = add_word(l, s, trimmed(s, n), id);
        s = stop ? stop + 1 : end;
    }
    heed_mem_free(l->cx, text);
    return ok;
}

int64_t legacy_id(const struct tree *t, node at) {
    const int64_t id = tree_int(t, at, NULL, -1);
    if (heed_failed(t->cx)) return -1;
    if (id >= 0 && id <= INT32_MAX / 4) return id;
    return tree_fail(t, at, NULL, "id %lld is out of range", (long long)id), -1;
}

bool legacy_read_vocabulary(struct legacy *l) {
    struct tree t = {0};
    size_t size;
    char *text = legacy_read(l, "vocab.json", &size);
    bool ok =
        text && tree_parse(l->cx, "vocab.json", text, size, &t) && tree_need(&t, tree_root(&t), NULL, TREE_OBJECT);
    if (ok)
        for (EACH_NODE(v, &t, tree_root(&t))) {
            const int64_t id = legacy_id(&t, v);
            ok = id >= 0 && add_word(l, v->key, v->key_size, id);
            if (!ok) break;
        }
    tree_free(&t);
    heed_mem_free(l->cx, text);
    return ok;
}

bool legacy_make_bytes(struct legacy *l) {
    static const enum role first[] = {ROLE_PAD, ROLE_BOS, ROLE_EOS, ROLE_MASK, ROLE_CLS, ROLE_SEP};
    enum { SPECIALS = sizeof first / sizeof *first };
    for (int i = 0; i < SPECIALS; i++) {
        const heed_string *const text = &l->role[first[i]].text;
        if (!add_word(l, text->s ? text->s : "", text->size, i)) return false;
    }
    for (int i = 0; i < 256; i++) {
        char text[4];
        const int size = utf8_put(text, byte_character((unsigned char)i));
        if (!add_word(l, text, (size_t)size, SPECIALS + i)) return false;
    }
    return true;
}

/* The lines of merges.txt as a JSON list. */
static bool put_merges_file(struct legacy *l) {
    size_t size;
    char *text = legacy_read(l, "merges.txt", &size);
    bool ok = text && check_utf8(l, "merges.txt", text, size) && legacy_put(l, "["), first = true;
    for (const char *s = text, *end = text + (ok ? size : 0); ok && s < end;) {
        const char *stop = memchr(s, '\n', (size_t)(end - s));
        size_t n = (size_t)((stop ? stop : end) - s);
        if (n > 0 && s[n - 1] == '\r') n--;
        if (!(n >= 8 && memcmp(s, "#version", 8) == 0) && n > 0) {
            ok = (first || legacy_put(l, ",")) && legacy_put_string(l, s, n);
            first = false;
        }
        s = stop ? stop + 1 : end;
    }
    heed_mem_free(l->cx, text);
    return ok && legacy_put(l, "]");
}

static bool put_vocabulary(struct legacy *l) {
    bool ok = legacy_put(l, "{");
    for (int64_t i = 0; ok && i < l->vocabulary.count; i++) {
        char id[32];
        snprintf(id, sizeof id, ":%lld", (long long)l->vocabulary.entries[i].value);
        ok = (i == 0 || legacy_put(l, ",")) &&
             legacy_put_string(l, map_key(&l->vocabulary, i), map_size(&l->vocabulary, i)) && legacy_put(l, id);
    }
    return ok && legacy_put(l, "}");
}

/* ---- SentencePiece ---- */

bool legacy_read_pieces(struct legacy *l, const char *file) {
    size_t size;
    static const char *const usual[] = {"spiece.model", "sentencepiece.bpe.model", "tokenizer.model", "spm.model",
                                        "source.spm"};
    for (int i = 0; !file && i < 5; i++)
        if (legacy_has(l->dir, usual[i])) file = usual[i];
    if (!file) return heed_fail(l->cx, HEED_ERR_FILE, "%s: no SentencePiece model", l->dir);
    l->bytes = legacy_read(l, file, &size);
    return l->bytes && spm_parse(l->cx, file, l->bytes, size, &l->spm);
}

/* Unigram's list under way: equal texts keep their places. */
struct scored {
    struct legacy *l;
    int64_t count, room;
    bool ok;
};
static void put_piece(struct scored *s, const char *text, size_t size, double score) {
    struct legacy *l = s->l;
    char number[64];
    if (s->count == s->room && s->ok) {
        const int64_t room = s->room ? 2 * s->room : 4096;
        double *larger = heed_mem_resize(l->cx, l->scores, (size_t)room * sizeof *larger);
        if (larger) l->scores = larger, s->room = room;
        s->ok = larger;
    }
    snprintf(number, sizeof number, ",%.17g]", score);
    for (char *c = number + 1; *c; c++) /* whatever the locale */
        if (*c == ',') *c = '.';
    if (s->ok) l->scores[s->count] = score;
    s->ok = s->ok && legacy_put(l, s->count ? ",[" : "[") && legacy_put_string(l, text, size) &&
            legacy_put(l, number) && add_word(l, text, size, s->count);
    s->count++;
}

static void put_role(struct scored *s, enum role role, const char *usual) {
    const struct legacy_token *t = &s->l->role[role];
    if (t->given)
        put_piece(s, t->text.s, t->text.size, 0);
    else
        put_piece(s, usual, strlen(usual), 0);
}

static void put_spm_from(struct scored *s, int64_t first) {
    const struct spm *m = &s->l->spm;
    for (int64_t i = first; i < m->count; i++)
        put_piece(s, m->pieces[i].text, m->pieces[i].size, (double)m->pieces[i].score);
}

const char *const legacy_languages[LEGACY_LANGUAGES] = {
    "ar_AR", "cs_CZ", "de_DE", "en_XX", "es_XX", "et_EE", "fi_FI", "fr_XX", "gu_IN", "hi_IN", "it_IT",
    "ja_XX", "kk_KZ", "ko_KR", "lt_LT", "lv_LV", "my_MM", "ne_NP", "nl_XX", "ro_RO", "ru_RU", "si_LK",
    "tr_TR", "vi_VN", "zh_CN", "af_ZA", "az_AZ", "bn_IN", "fa_IR", "he_IL", "hr_HR", "id_ID", "ka_GE",
    "km_KH", "mk_MK", "ml_IN", "mn_MN", "mr_IN", "pl_PL", "ps_AF", "pt_XX", "sv_SE", "sw_KE", "ta_IN",
    "te_IN", "th_TH", "tl_XX", "uk_UA", "ur_PK", "xh_ZA", "gl_ES", "sl_SI"};

int legacy_language_count(const struct legacy *l) {
    const char *order = l->class->order ? l->class->order : "";
    return strcmp(order, "mbart50") == 0 ? LEGACY_LANGUAGES : strcmp(order, "mbart") == 0 ? 25 : 0;
}

int64_t legacy_extra_ids(const struct legacy *l) {
    const node v = legacy_member(&l->config, "extra_ids");
    return v && v->kind == TREE_NUMBER && v->number >= 0 && v->number <= 10000 ? (int64_t)v->number : 100;
}

static void put_numbered(struct scored *s, const char *format, int64_t i, double score) {
    char text[48];
    snprintf(text, sizeof text, format, (long long)i);
    put_piece(s, text, strlen(text), score);
}

/* The pieces as the class orders them, with those it adds; l->unknown is where the unknown one is then. */
static void order_pieces(struct scored *s, const char *order) {
    struct legacy *l = s->l;
    l->unknown = l->spm.unk_id;
    if (strcmp(order, "fairseq") == 0 || strncmp(order, "mbart", 5) == 0) {
        put_role(s, ROLE_BOS, "<s>");
        put_role(s, ROLE_PAD, "<pad>");
        put_role(s, ROLE_EOS, "</s>");
        put_role(s, ROLE_UNK, "<unk>");
        put_spm_from(s, 3);
        for (int i = 0; i < legacy_language_count(l); i++)
            put_piece(s, legacy_languages[i], strlen(legacy_languages[i]), 0);
        put_role(s, ROLE_MASK, "<mask>");
        l->unknown = 3;
    } else if (strcmp(order, "camembert") == 0) {
        put_piece(s, "<s>NOTUSED", 10, 0);
        put_role(s, ROLE_PAD, "<pad>");
        put_piece(s, "</s>NOTUSED", 11, 0);
        put_role(s, ROLE_UNK, "<unk>");
        put_piece(s, "<unk>NOTUSED", 12, -100);
        put_spm_from(s, 1);
        put_role(s, ROLE_MASK, "<mask>");
        l->unknown = 3;
    } else if (strcmp(order, "pegasus") == 0) {
        put_role(s, ROLE_PAD, "<pad>");
        put_role(s, ROLE_EOS, "</s>");
        put_piece(s, "<mask_1>", 8, 0);
        put_piece(s, "<mask_2>", 8, 0);
        for (int64_t i = 2; i < 103; i++) put_numbered(s, "<unk_%lld>", i, -100);
        put_spm_from(s, 2);
        l->unknown = l->spm.unk_id + 103;
    } else {
        put_spm_from(s, 0);
        if (strcmp(order, "t5") == 0) {
            for (int64_t i = legacy_extra_ids(l); i-- > 0;) put_numbered(s, "<extra_id_%lld>", i, 0);
            l->unknown = 2;
        }
        if (strcmp(order, "albert") == 0) l->unknown = 1;
    }
}

/* Ids are those of vocab.json; a token that the model does not have is never the best. */
#define NEVER (-1e30)
static bool put_marian(struct scored *s) {
    struct legacy *l = s->l;
    struct map pieces = {0}, ids = l->vocabulary;
    l->vocabulary = (struct map){0};
    int64_t *by_id = heed_mem_new(l->cx, (size_t)(l->next_id + 1) * sizeof *by_id);
    bool ok = by_id;
    for (int64_t i = 0; ok && i < l->next_id; i++) by_id[i] = -1;
    for (int64_t i = 0; ok && i < ids.count; i++) by_id[ids.entries[i].value] = i;
    for (int64_t i = 0; ok && i < l->spm.count; i++) {
        const int64_t entry = map_add(l->cx, &pieces, l->spm.pieces[i].text, l->spm.pieces[i].size);
        ok = entry >= 0;
        if (ok) pieces.entries[entry].value = i;
    }
    const int64_t n = l->next_id;
    for (int64_t i = 0; ok && i < n; i++) {
        const char *text = by_id[i] < 0 ? "" : map_key(&ids, by_id[i]);
        const size_t size = by_id[i] < 0 ? 0 : map_size(&ids, by_id[i]);
        const int64_t piece = size ? map_find(&pieces, text, size) : -1;
        const bool usable = piece >= 0 && l->spm.pieces[pieces.entries[piece].value].type == SPM_NORMAL;
        put_piece(s, text, size, usable ? (double)l->spm.pieces[pieces.entries[piece].value].score : NEVER);
        if (size > 4 && memcmp(text, ">>", 2) == 0 && memcmp(text + size - 2, "<<", 2) == 0)
            ok = legacy_add(l, text, size, false);
    }
    l->unknown = map_find(&ids, l->role[ROLE_UNK].text.s, l->role[ROLE_UNK].text.size);
    if (l->unknown >= 0) l->unknown = ids.entries[l->unknown].value;
    map_free(l->cx, &ids);
    map_free(l->cx, &pieces);
    heed_mem_free(l->cx, by_id);
    return ok && s->ok;
}

/* Merges of a vocabulary that has none: for each token in turn, its halves that are tokens, short ones on the left
 * first. */
static bool put_generated_merges(struct legacy *l) {
    bool ok = legacy_put(l, "["), first = true;
    for (int64_t i = 0; ok && i < l->spm.count; i++) {
        const char *text = l->spm.pieces[i].text, *end = text + l->spm.pieces[i].size;
        const char *s = text;
        for (utf8_next(&s, end); ok && s < end; utf8_next(&s, end)) {
            const size_t left = (size_t)(s - text), right = (size_t)(end - s);
            if (map_find(&l->vocabulary, text, left) < 0 || map_find(&l->vocabulary, s, right) < 0) continue;
            ok = legacy_put(l, first ? "[" : ",[") && legacy_put_string(l, text, left) && legacy_put(l, ",") &&
                 legacy_put_string(l, s, right) && legacy_put(l, "]");
            first = false;
        }
    }
    return ok && legacy_put(l, "]");
}

/* Control pieces are special tokens, and those that the user defined are tokens. */
bool legacy_add_pieces(struct legacy *l) {
    bool ok = true;
    for (int64_t i = 0; ok && i < l->spm.count; i++) {
        const struct spm_piece *p = &l->spm.pieces[i];
        if (p->type == SPM_CONTROL || p->type == SPM_USER_DEFINED)
            ok = legacy_add(l, p->text, p->size, p->type == SPM_CONTROL);
    }
    return ok;
}

/* ---- models ---- */

static bool put_unigram(struct legacy *l) {
    struct scored s = {.l = l, .ok = true};
    char unknown[48];
    bool ok = legacy_put(l, "{\"type\":\"Unigram\",\"vocab\":[");
    if (ok && l->class->files == LEGACY_MARIAN)
        ok = put_marian(&s);
    else
        order_pieces(&s, l->class->order ? l->class->order : "");
    if (!l->class->order && l->role[ROLE_UNK].given) { /* DeBERTa: where the unknown token is */
        const int64_t entry = map_find(&l->vocabulary, l->role[ROLE_UNK].text.s, l->role[ROLE_UNK].text.size);
        if (entry >= 0) l->unknown = l->vocabulary.entries[entry].value;
    }
    const bool fallback = l->class->order && strcmp(l->class->order, "generic") == 0 && l->spm.byte_fallback;
    if (l->unknown >= s.count) l->unknown = -1;
    snprintf(unknown, sizeof unknown, "],\"unk_id\":%lld", (long long)l->unknown);
    l->next_id = s.count;
    return ok && s.ok && legacy_put(l, l->unknown >= 0 ? unknown : "],\"unk_id\":null") &&
           legacy_put(l, l->class->files == LEGACY_MARIAN ? ",\"single_precision\":true" : "") &&
           legacy_put(l, fallback ? ",\"byte_fallback\":true}" : ",\"byte_fallback\":false}");
}

static bool put_bpe(struct legacy *l) {
    bool ok = legacy_put(l, "{\"type\":\"BPE\",\"dropout\":null,") && legacy_put_template(l, l->class->model) &&
              legacy_put(l, ",\"vocab\":");
    if (l->class->files == LEGACY_PIECES)
        for (int64_t i = 0; ok && i < l->spm.count; i++)
            ok = add_word(l, l->spm.pieces[i].text, l->spm.pieces[i].size, i);
    ok = ok && put_vocabulary(l) && legacy_put(l, ",\"merges\":");
    ok = ok && (l->class->files == LEGACY_PIECES  ? put_generated_merges(l)
                : l->class->files == LEGACY_BYTES ? legacy_put(l, "[]")
                                                  : put_merges_file(l));
    l->next_id = l->vocabulary.count; /* as Python numbers what it adds */
    return ok && legacy_put(l, "}");
}

static bool put_word_piece(struct legacy *l) {
    const bool ok =
        legacy_put(l, "{\"type\":\"WordPiece\",\"unk_token\":") && legacy_put_role(l, ROLE_UNK) &&
        legacy_put(l, ",\"continuing_subword_prefix\":\"##\",\"max_input_chars_per_word\":100,\"vocab\":") &&
        put_vocabulary(l) && legacy_put(l, "}");
    l->next_id = l->vocabulary.count;
    return ok;
}

bool legacy_put_model(struct legacy *l) {
    if (l->class->files == LEGACY_WORDS) return put_word_piece(l);
    if (l->class->files == LEGACY_PAIRS || l->class->files == LEGACY_BYTES) return put_bpe(l);
    const bool generic = l->class->order && strcmp(l->class->order, "generic") == 0;
    const bool bpe = generic ? l->spm.model_type == 2 : l->class->model != NULL;
    if (!bpe && l->spm.model_type != 1)
        return heed_fail(l->cx, HEED_ERR_FORMAT, "%s: a SentencePiece model that is not unigram", l->dir);
    return bpe ? put_bpe(l) : put_unigram(l);
}
