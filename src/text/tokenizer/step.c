/* Steps, read: a component of tokenizer.json or the members of its sequences, one after the other. */
#include "text/tokenizer/step.h"
#include "base/checked.h"
#include "io/text.h"

#include <string.h>

void step_free(heed_ctx *cx, struct step *s) {
    heed_string_free(cx, &s->text);
    heed_string_free(cx, &s->content);
    regex_free(cx, s->regex);
    heed_mem_free(cx, s->charsmap.bytes);
    *s = (struct step){0};
}

void steps_free(heed_ctx *cx, struct steps *s) {
    for (int i = 0; i < s->count; i++) step_free(cx, &s->step[i]);
    heed_mem_free(cx, s->step);
    *s = (struct steps){0};
}

static struct step *add_step(heed_ctx *cx, struct steps *to) {
    if (to->count == to->room) {
        const int room = to->room ? 2 * to->room : 4;
        struct step *larger = heed_mem_resize(cx, to->step, (size_t)room * sizeof *larger);
        if (!larger) return NULL;
        to->step = larger;
        to->room = room;
    }
    to->step[to->count] = (struct step){0};
    return &to->step[to->count++];
}

/* Older files leave the type out where the options tell it. */
static const char *guessed_type(const struct tree *t, node at) {
    if (tree_find(t, at, "clean_text")) return "BertNormalizer";
    if (tree_find(t, at, "strip_left")) return "Strip";
    if (tree_find(t, at, "replacement")) return "Metaspace";
    return NULL;
}

static bool read_steps(const struct tree *t, node at, const char *list, const struct step_kind *kinds, struct steps *to,
                       int depth) {
    if (heed_failed(t->cx)) return false;
    if (!at) return true;
    if (at->kind != TREE_OBJECT) return tree_need(t, at, NULL, TREE_OBJECT) != NULL;
    if (depth > 32) return tree_fail(t, at, NULL, "sequences within sequences more than 32 deep");
    node type = tree_find(t, at, "type");
    const char *name = type ? NULL : guessed_type(t, at);
    if (!name) {
        if (!(type = tree_need(t, at, "type", TREE_TEXT))) return false;
        name = type->text;
    }
    if (type && node_is(type, "Sequence")) {
        const node members = tree_need(t, at, list, TREE_ARRAY);
        for (EACH_NODE(v, t, members))
            if (!read_steps(t, v, list, kinds, to, depth + 1)) return false;
        return members;
    }
    if (strcmp(name, "Bert") == 0) name = "BertNormalizer";
    for (; kinds->name; kinds++) {
        if (strcmp(kinds->name, name) != 0) continue;
        struct step *s = add_step(t->cx, to);
        if (!s) return false;
        s->kind = kinds;
        return !kinds->read || kinds->read(t, at, s);
    }
    return tree_fail(t, at, NULL, "type '%s' is not supported", escaped(name).s);
}

bool steps_read(const struct tree *t, node at, const char *list, const struct step_kind *kinds, struct steps *to) {
    return read_steps(t, at, list, kinds, to, 0);
}

/* ---- options ---- */

bool read_string(const struct tree *t, node at, const char *key, heed_string *to) {
    const node v = tree_need(t, at, key, TREE_TEXT);
    return v && heed_string_put(t->cx, to, v->text, v->size);
}

bool read_character(const struct tree *t, node at, const char *key, int32_t *to) {
    const node v = tree_need(t, at, key, TREE_TEXT);
    if (!v) return false;
    const char *s = v->text, *end = s + v->size;
    *to = s < end ? utf8_next(&s, end) : -1;
    return (*to >= 0 && s == end) || tree_fail(t, v, NULL, "must be one character");
}

bool read_pattern(const struct tree *t, node at, struct step *s) {
    const node pattern = tree_find(t, at, "pattern");
    if (!pattern) return tree_fail(t, at, "pattern", "missing");
    const node plain = pattern->kind == TREE_TEXT ? pattern : tree_text(t, pattern, "String");
    const node regex = pattern->kind == TREE_OBJECT ? tree_text(t, pattern, "Regex") : NULL;
    if (heed_failed(t->cx)) return false;
    if (plain) return (s->regex = regex_literal(t->cx, plain->text, plain->size));
    if (!regex) return tree_fail(t, pattern, NULL, "neither String nor Regex");
    heed_string why = {0};
    s->regex = regex_compile(t->cx, regex->text, regex->size, &why);
    if (!s->regex && !heed_failed(t->cx))
        tree_fail(t, regex, NULL, "the regular expression '%s' is not supported: %s", escaped(regex->text).s,
                  why.size ? escaped(why.s).s : "it does not compile");
    heed_string_free(t->cx, &why);
    return s->regex;
}

bool read_behavior(const struct tree *t, node at, const char *key, struct step *s) {
    static const char *const names[] = {"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"};
    const node v = tree_need(t, at, key, TREE_TEXT);
    for (int i = 0; v && i <= CONTIGUOUS; i++)
        if (node_is(v, names[i])) return s->behavior = (enum behavior)i, true;
    return v && tree_fail(t, v, NULL, "no behavior '%s'", escaped(v->text).s);
}

/* Older files say add_prefix_space. */
bool read_metaspace(const struct tree *t, node at, struct step *s) {
    static const char *const schemes[] = {"never", "first", "always"};
    int32_t mark = 0x2581;
    char text[4];
    const node scheme = tree_text(t, at, "prepend_scheme");
    const bool prefix = tree_bool(t, at, "add_prefix_space", true);
    s->split = tree_bool(t, at, "split", true);
    if (heed_failed(t->cx)) return false;
    if (tree_find(t, at, "replacement") && !read_character(t, at, "replacement", &mark)) return false;
    s->prepend = prefix ? PREPEND_ALWAYS : PREPEND_NEVER;
    for (int i = 0; scheme && i < 4; i++) {
        if (i == 3) return tree_fail(t, scheme, NULL, "no prepend_scheme '%s'", escaped(scheme->text).s);
        if (!node_is(scheme, schemes[i])) continue;
        s->prepend = (enum prepend)i;
        break;
    }
    return heed_string_put(t->cx, &s->text, text, (size_t)utf8_put(text, mark));
}

/* ---- texts ---- */

bool texts_end(heed_ctx *cx, struct texts *to) {
    if (to->count == to->room) {
        const int64_t room = to->room ? 2 * to->room : 64;
        size_t bytes;
        size_t *larger = size_mul((size_t)room, sizeof *larger, &bytes) ? heed_mem_resize(cx, to->end, bytes) : NULL;
        if (!larger) return heed_fail(cx, HEED_ERR_MEMORY, "decode: too many tokens");
        to->end = larger;
        to->room = room;
    }
    to->end[to->count++] = to->all.size;
    return true;
}

bool texts_append(heed_ctx *cx, struct texts *to, const char *text, size_t size) {
    if (to->most > 0 && (to->all.size > to->most || size > to->most - to->all.size))
        return grown_too_far(cx, "decode", to->most);
    return heed_string_put(cx, &to->all, text, size);
}

bool texts_put(heed_ctx *cx, struct texts *to, const char *text, size_t size) {
    return texts_append(cx, to, text, size) && texts_end(cx, to);
}

void texts_free(heed_ctx *cx, struct texts *t) {
    heed_string_free(cx, &t->all);
    heed_mem_free(cx, t->end);
    *t = (struct texts){0};
}
