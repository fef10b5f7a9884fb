/* The post-processors: what is added around the tokens of a text or of two, their types, and offsets without the spaces
 * that byte-level tokens begin with. Texts are parts; a template cuts its result into parts again, for the next. */
#include "io/text.h"
#include "text/tokenizer/tokenizer.h"

#include <string.h>

#define MAX_PARTS 256
#define MAX_ADDED 65536 /* tokens that a template adds */

/* ---- reading ---- */

static void template_free(heed_ctx *cx, struct template *t) {
    for (int i = 0; i < t->count; i++) heed_string_free(cx, &t->part[i].token);
    heed_mem_free(cx, t->part);
    *t = (struct template){0};
}

void processors_free(heed_ctx *cx, struct processors *p) {
    for (int i = 0; i < p->count; i++) {
        template_free(cx, &p->at[i].single);
        template_free(cx, &p->at[i].pair);
    }
    heed_mem_free(cx, p->at);
    *p = (struct processors){0};
}

/* text: 0 or 1, and -1 for a token; id -1: no token, a part that is empty. */
static bool put_part(heed_ctx *cx, struct template *to, int text, int64_t type, int64_t id, const char *token,
                     size_t size) {
    if (to->count == to->room) {
        const int room = to->room ? 2 * to->room : 8;
        struct template_part *larger = heed_mem_resize(cx, to->part, (size_t)room * sizeof *larger);
        if (!larger) return false;
        to->part = larger;
        to->room = room;
    }
    struct template_part *p = &to->part[to->count++];
    *p = (struct template_part){.text = text, .type = (int32_t)type, .id = (int32_t)id};
    to->added += text < 0 && id >= 0;
    return heed_string_put(cx, &p->token, token, size);
}

/* An id that tokens have: whatever a file adds can be decoded. */
static bool check_id(const heed_tokenizer *t, const struct tree *tree, node at, int64_t id) {
    if (id >= 0 && id < t->size && t->token[id]) return true;
    return tree_fail(tree, at, NULL, "no token has id %lld", (long long)id);
}

/* ["[CLS]", 101] */
static node read_pair(const heed_tokenizer *t, const struct tree *tree, node at, const char *key, int64_t *id) {
    const node pair = tree_need(tree, at, key, TREE_ARRAY);
    const node token = pair ? tree_first(tree, pair) : NULL, number = token ? tree_next(tree, token) : NULL;
    if (!pair) return NULL;
    if (!number || pair->size != 2) return tree_fail(tree, pair, NULL, "expected a token and its id"), NULL;
    if (!tree_need(tree, token, NULL, TREE_TEXT)) return NULL;
    *id = tree_int(tree, number, NULL, -1);
    return !heed_failed(tree->cx) && check_id(t, tree, number, *id) ? token : NULL;
}

static bool read_bert(const heed_tokenizer *t, const struct tree *tree, node at, struct processor *p) {
    heed_ctx *cx = tree->cx;
    int64_t cls_id = -1, sep_id = -1;
    const bool roberta = p->kind == PROCESS_ROBERTA;
    const node cls = read_pair(t, tree, at, "cls", &cls_id), sep = cls ? read_pair(t, tree, at, "sep", &sep_id) : NULL;
    if (!sep) return false;
    p->trim = roberta && tree_bool(tree, at, "trim_offsets", true);
    p->prefix_space = roberta && tree_bool(tree, at, "add_prefix_space", true);
    if (heed_failed(cx)) return false;
    const int second = roberta ? 0 : 1;
    for (int pair = 0; pair < 2; pair++) {
        struct template *to = pair ? &p->pair : &p->single;
        if (!put_part(cx, to, -1, 0, cls_id, cls->text, cls->size) || !put_part(cx, to, 0, 0, 0, "", 0) ||
            !put_part(cx, to, -1, 0, sep_id, sep->text, sep->size))
            return false;
        if (pair && roberta && !put_part(cx, to, -1, 0, sep_id, sep->text, sep->size)) return false;
        if (pair &&
            (!put_part(cx, to, 1, second, 0, "", 0) || !put_part(cx, to, -1, second, sep_id, sep->text, sep->size)))
            return false;
    }
    return true;
}

/* ---- templates ---- */

/* A template, the special tokens that its parts name by their ids, and the parts so far. */
struct template_reader {
    const heed_tokenizer *t;
    const struct tree *tree;
    node list;           /* special_tokens */
    struct map specials; /* value: place in the list's tree */
    int parts;
    bool single;
};

/* Of names that come twice the last one counts. */
static bool index_specials(struct template_reader *r) {
    for (EACH_NODE(v, r->tree, r->list)) {
        const int64_t entry = v->key ? map_add(r->tree->cx, &r->specials, v->key, v->key_size) : -1;
        if (heed_failed(r->tree->cx)) return false;
        if (entry >= 0) r->specials.entries[entry].value = v - r->tree->nodes;
    }
    return true;
}

static node find_special(const struct template_reader *r, node name) {
    const int64_t entry = map_find(&r->specials, name->text, name->size);
    const node found = entry < 0 ? NULL : &r->tree->nodes[r->specials.entries[entry].value];
    return found && found->kind != TREE_NULL ? found : NULL;
}

/* A special token of a template stands for one id, for several, or for none. */
static bool read_special(const struct template_reader *r, node at, int64_t type, struct template *to) {
    const struct tree *tree = r->tree;
    const node name = tree_need(tree, at, "id", TREE_TEXT), special = name ? find_special(r, name) : NULL;
    if (!name) return false;
    if (!special) return tree_fail(tree, at, NULL, "'%s' is not among its special_tokens", escaped(name->text).s);
    const node ids = tree_need(tree, special, "ids", TREE_ARRAY);
    const node tokens = ids ? tree_need(tree, special, "tokens", TREE_ARRAY) : NULL;
    if (!tokens) return false;
    if (ids->size != tokens->size) return tree_fail(tree, special, NULL, "as many ids as tokens are needed");
    if (ids->size == 0) return put_part(tree->cx, to, -1, type, -1, "", 0);
    if (to->count + (int64_t)ids->size > MAX_ADDED)
        return tree_fail(tree, at, NULL, "a template that adds more than %d tokens", MAX_ADDED);
    node token = tree_first(tree, tokens);
    const int first = to->count;
    for (EACH_NODE(v, tree, ids)) {
        const int64_t id = tree_int(tree, v, NULL, -1);
        if (heed_failed(tree->cx) || !check_id(r->t, tree, v, id) || !tree_need(tree, token, NULL, TREE_TEXT))
            return false;
        if (!put_part(tree->cx, to, -1, type, id, token->text, token->size)) return false;
        to->part[to->count - 1].joined = to->count > first + 1;
        token = tree_next(tree, token);
    }
    return true;
}

static bool read_template_part(struct template_reader *r, node at, struct template *to) {
    const struct tree *tree = r->tree;
    const node text = tree_find(tree, at, "Sequence"), special = tree_find(tree, at, "SpecialToken");
    const node part = text ? text : special;
    if (++r->parts > MAX_PARTS) return tree_fail(tree, at, NULL, "a template of more than %d parts", MAX_PARTS);
    if (!part) return tree_fail(tree, at, NULL, "neither Sequence nor SpecialToken");
    const int64_t type = tree_int(tree, part, "type_id", 0);
    if (heed_failed(tree->cx)) return false;
    if (type < 0 || type > INT32_MAX) return tree_fail(tree, part, "type_id", "out of range");
    if (special && !text) return read_special(r, special, type, to);
    const node name = tree_need(tree, text, "id", TREE_TEXT);
    if (!name) return false;
    const bool second = node_is(name, "B");
    if (!second && !node_is(name, "A")) return tree_fail(tree, name, NULL, "sequences are A and B");
    if (second && r->single) return tree_fail(tree, at, NULL, "a single text is sequence A");
    return put_part(tree->cx, to, second, type, 0, "", 0);
}

static bool read_parts(struct template_reader *r, node list, bool single, struct template *to) {
    r->single = single;
    r->parts = 0;
    for (EACH_NODE(v, r->tree, list))
        if (!read_template_part(r, v, to)) return false;
    return true;
}

static bool read_template(const heed_tokenizer *t, const struct tree *tree, node at, struct processor *p) {
    struct template_reader r = {.t = t, .tree = tree, .list = tree_find(tree, at, "special_tokens")};
    const node single = tree_need(tree, at, "single", TREE_ARRAY);
    const node pair = single && tree_find(tree, at, "pair") ? tree_need(tree, at, "pair", TREE_ARRAY) : NULL;
    bool ok = !heed_failed(tree->cx) && index_specials(&r) && read_parts(&r, single, true, &p->single);
    if (ok && pair)
        ok = read_parts(&r, pair, false, &p->pair);
    else if (ok) /* as Python's default: A, then B */
        ok = put_part(tree->cx, &p->pair, 0, 0, 0, "", 0) && put_part(tree->cx, &p->pair, 1, 1, 0, "", 0);
    map_free(tree->cx, &r.specials);
    return ok;
}

static bool add_processor(heed_ctx *cx, struct processors *to, struct processor **made) {
    if (to->count == to->room) {
        const int room = to->room ? 2 * to->room : 4;
        struct processor *larger = heed_mem_resize(cx, to->at, (size_t)room * sizeof *larger);
        if (!larger) return false;
        to->at = larger;
        to->room = room;
    }
    *made = &to->at[to->count++];
    **made = (struct processor){0};
    return true;
}

static bool read_processor(heed_tokenizer *t, const struct tree *tree, node at, int depth) {
    static const char *const names[] = {"BertProcessing", "RobertaProcessing", "ByteLevel", "TemplateProcessing"};
    if (heed_failed(tree->cx)) return false;
    if (!at) return true;
    const node type = tree_need(tree, at, "type", TREE_TEXT);
    if (!type) return false;
    if (depth > 32) return tree_fail(tree, at, NULL, "sequences within sequences more than 32 deep");
    if (node_is(type, "Sequence")) {
        const node members = tree_need(tree, at, "processors", TREE_ARRAY);
        for (EACH_NODE(v, tree, members))
            if (!read_processor(t, tree, v, depth + 1)) return false;
        return members;
    }
    struct processor *p;
    int kind = 0;
    while (kind < 4 && !node_is(type, names[kind])) kind++;
    if (kind == 4) return tree_fail(tree, at, NULL, "type '%s' is not supported", escaped(type->text).s);
    if (!add_processor(tree->cx, &t->processors, &p)) return false;
    p->kind = (enum process_kind)kind;
    if (kind == PROCESS_TEMPLATE) return read_template(t, tree, at, p);
    if (kind != PROCESS_BYTES) return read_bert(t, tree, at, p);
    p->trim = tree_bool(tree, at, "trim_offsets", true);
    p->prefix_space = tree_bool(tree, at, "add_prefix_space", true);
    return !heed_failed(tree->cx);
}

bool processors_read(heed_tokenizer *t, const struct tree *tree, node at) { return read_processor(t, tree, at, 0); }

int processors_added(const struct processors *p, bool pair) {
    int n = 0;
    for (int i = 0; i < p->count; i++) n += pair ? p->at[i].pair.added : p->at[i].single.added;
    return n;
}

/* ---- applying ---- */

static bool is_blank(int32_t c) { return c == 0x120 || unicode_is_space(c); } /* U+0120 stands for a space */

/* Offsets without the blanks that the token begins and ends with; of the first one, a single blank may have been added
 * by us. */
static void trim(const struct processor *p, const heed_string *texts, heed_token *token, bool first) {
    const char *s = texts->s + token->text, *end = s + token->size, *at = s;
    uint32_t leading = 0, trailing = 0;
    while (at < end && is_blank(utf8_next(&at, end))) leading++;
    for (const char *last = end; last > s;) {
        const char *begin = last - 1;
        while (begin > s && (*begin & 0xC0) == 0x80) begin--;
        at = begin;
        if (!is_blank(utf8_next(&at, last))) break;
        trailing++;
        last = begin;
    }
    if (leading > 0) {
        if ((first || token->start == 0) && p->prefix_space && leading == 1) leading = 0;
        token->start = token->start + leading < token->end ? token->start + leading : token->end;
    }
    if (trailing > 0 && token->end >= trailing)
        token->end = token->end - trailing > token->start ? token->end - trailing : token->start;
}

/* Tokens in parts: part i ends at ends[i]. */
struct parts {
    struct tokens tokens;
    int64_t ends[MAX_PARTS];
    int count;
};

/* type -1: as it was. */
static bool put_tokens(struct work *w, struct parts *to, const struct parts *from, int part, int32_t type) {
    if (part >= from->count)
        return heed_fail(w->cx, HEED_ERR_FORMAT, "encode: the template has a sequence that is not given");
    for (int64_t i = part ? from->ends[part - 1] : 0; i < from->ends[part]; i++) {
        heed_token *made = tokens_add(w->cx, &to->tokens);
        if (!made) return false;
        *made = from->tokens.at[i];
        if (type >= 0) made->type = type;
    }
    return true;
}

static bool put_added(struct work *w, struct parts *to, const struct template_part *p) {
    heed_token *made = tokens_add(w->cx, &to->tokens);
    if (!made) return false;
    *made = (heed_token){.id = p->id, .type = p->type, .word = -1, .special = true, .text = (uint32_t)w->texts.size};
    if (!w->wanted) return true;
    made->size = (uint32_t)p->token.size;
    return heed_string_put(w->cx, &w->texts, p->token.s, p->token.size);
}

static bool apply_template(struct work *w, const struct template *t, bool special, const struct parts *from,
                           struct parts *to) {
    to->tokens.count = 0;
    to->count = 0;
    for (int i = 0; i < t->count; i++) {
        const struct template_part *p = &t->part[i];
        if (p->text < 0 && !special) continue;
        if (!(p->text >= 0 ? put_tokens(w, to, from, p->text, p->type) : p->id < 0 || put_added(w, to, p)))
            return false;
        to->count += !p->joined;
        to->ends[to->count - 1] = to->tokens.count;
    }
    return true;
}

/* BERT's way: the first text between cls and sep, and sep behind each of the others, before them too in RoBERTa's. What
 * was there is no longer special, as in Python. */
static bool apply_bert(struct work *w, const struct processor *p, const struct parts *from, struct parts *to) {
    const struct template_part *cls = &p->single.part[0], *sep = &p->single.part[2];
    const bool roberta = p->kind == PROCESS_ROBERTA;
    to->tokens.count = 0;
    to->count = from->count;
    for (int part = 0; part < from->count; part++) {
        struct template_part end = *sep;
        end.type = roberta || part == 0 ? 0 : 1;
        if (part == 0 ? !put_added(w, to, cls) : roberta && !put_added(w, to, &end)) return false;
        const int64_t before = to->tokens.count;
        if (!put_tokens(w, to, from, part, -1)) return false;
        for (int64_t i = before; i < to->tokens.count; i++) to->tokens.at[i].special = false;
        if (!put_added(w, to, &end)) return false;
        to->ends[part] = to->tokens.count;
    }
    return true;
}

static void trim_parts(const struct work *w, const struct processor *p, struct parts *parts) {
    for (int part = 0; part < parts->count; part++)
        for (int64_t start = part ? parts->ends[part - 1] : 0, i = start; i < parts->ends[part]; i++)
            trim(p, &w->texts, &parts->tokens.at[i], i == start);
}

static bool run_one(struct work *w, const struct processor *p, bool special, struct parts *now, struct parts *other) {
    if (p->trim && w->wanted) trim_parts(w, p, now);
    if (p->kind == PROCESS_BYTES) return true;
    if (p->kind == PROCESS_ROBERTA)
        for (int64_t i = 0; i < now->tokens.count; i++) now->tokens.at[i].type = 0;
    if (!special && p->kind != PROCESS_TEMPLATE) return true;
    if (p->kind != PROCESS_TEMPLATE) {
        if (!apply_bert(w, p, now, other)) return false;
    } else {
        if (now->count > 2)
            return heed_fail(w->cx, HEED_ERR_FORMAT, "encode: a second template finds more than two texts");
        if (!apply_template(w, now->count == 2 ? &p->pair : &p->single, special, now, other)) return false;
    }
    const struct parts swap = *now;
    *now = *other;
    *other = swap;
    return true;
}

bool processors_run(struct work *w, int64_t first, bool pair, bool special) {
    const struct processors *all = &w->t->processors;
    if (all->count == 0) return true;
    struct parts now = {.tokens = w->tokens, .count = 1}, other = {.count = 0};
    now.ends[0] = first;
    if (pair) now.ends[now.count++] = w->tokens.count;
    bool ok = true;
    for (int i = 0; ok && i < all->count; i++) ok = run_one(w, &all->at[i], special, &now, &other);
    w->tokens = now.tokens;
    heed_mem_free(w->cx, other.tokens.at);
    return ok;
}
