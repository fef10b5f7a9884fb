/* The parts of a sentence in English: agreement of the verb, "do" in questions and negations, the progressive. Also
 * what both languages share: writing, and whether there is one or many. */
#include "data/synthetic/grammar.h"

#include <string.h>

/* ---- writing ---- */

static void write_bytes(struct writing *w, const char *s) {
    const size_t size = strlen(s), left = GRAMMAR_ROOM - 1 - w->size, take = size < left ? size : left;
    memcpy(w->text + w->size, s, take);
    w->size += take;
    w->text[w->size] = 0;
}

/* The capitals of a to z and, in UTF-8, of ä, ö, ü lie 32 below: C3 A4 becomes C3 84. */
static void capital(char *s) {
    if (*s >= 'a' && *s <= 'z') *s = (char)(*s - 32);
    if ((unsigned char)s[0] == 0xC3 && (unsigned char)s[1] >= 0xA0) s[1] = (char)(s[1] - 32);
}

void write_joined(struct writing *w, const char *stem, const char *ending) {
    if (!stem || !*stem) stem = ending, ending = NULL;
    if (!stem || !*stem) return;
    if (w->size > 0) write_bytes(w, w->comma ? ", " : " ");
    w->comma = false;
    const size_t start = w->size;
    write_bytes(w, stem);
    if (ending) write_bytes(w, ending);
    if (start == 0) capital(w->text);
    w->words++;
    for (const char *s = w->text + start; *s; s++) w->words += *s == ' ';
}

void write_word(struct writing *w, const char *word) { write_joined(w, word, NULL); }

void write_end(struct writing *w, const char *stop) {
    w->comma = false;
    write_bytes(w, stop);
}

/* ---- one or many ---- */

bool phrase_is_plural(const struct phrase *p) { return p->plural || p->second; }

enum verb_form clause_form(const struct clause *c) {
    const bool many = phrase_is_plural(c->subject);
    return c->tense == PAST ? (many ? PAST_MANY : PAST_ONE) : many ? PRESENT_MANY : PRESENT_ONE;
}

/* ---- phrases ---- */

static const char *possessive(const struct phrase *owner) {
    if (phrase_is_plural(owner)) return "their";
    return strcmp(owner->noun->pronoun, "he") == 0 ? "his" : strcmp(owner->noun->pronoun, "she") == 0 ? "her" : "its";
}

static const char *determiner(const struct phrase *p, const char *next) {
    switch (p->determiner) {
    case THE:
        return "the";
    case A:
        return strchr("aeiou", *next) ? "an" : "a";
    case THIS:
        return p->plural ? "these" : "this";
    case TWO:
        return "two";
    case THREE:
        return "three";
    case FOUR:
        return "four";
    case POSSESSIVE:
        return possessive(p->owner);
    case PRONOUN:
        break;
    }
    return NULL;
}

static void write_clause(struct writing *w, const struct clause *c, bool question);

static void write_phrase(struct writing *w, const struct phrase *p) {
    if (p->determiner == PRONOUN) {
        write_word(w, p->plural ? "they" : p->noun->pronoun);
        return;
    }
    const char *noun = p->plural ? p->noun->plural : p->noun->english;
    const struct adjective *first = p->adjective[0] ? p->adjective[0] : p->adjective[1];
    write_word(w, determiner(p, first ? first->english : noun));
    for (int i = 0; i < 2; i++)
        if (p->adjective[i]) write_word(w, p->adjective[i]->english);
    write_word(w, noun);
    if (p->place) {
        write_word(w, p->place->english);
        write_phrase(w, p->at);
    }
    if (p->second) {
        write_word(w, "and");
        write_phrase(w, p->second);
    }
    if (p->relative) {
        write_word(w, p->relative->gap == SUBJECT_GAP && (p->noun->traits & PERSON) ? "who" : "that");
        write_clause(w, p->relative, false);
    }
}

/* ---- clauses ---- */

/* A past that looks like the present ("they read") would leave the tense open: it is said in the progressive. */
static bool is_progressive(const struct clause *c, bool question) {
    if (c->modal || c->negative || !c->verb || !c->verb->going) return false;
    return c->progressive || (!question && phrase_is_plural(c->subject) && strcmp(c->verb->base, c->verb->past) == 0);
}

/* The verb in up to two words: `helper`, which changes places with the subject in questions, and `main`. */
static void conjugate(const struct clause *c, bool question, const char **helper, const char **main) {
    static const char *const be[] = {"is", "are", "was", "were"}, *const does[] = {"does", "do", "did", "did"},
                             *const not [] = {"doesn't", "don't", "didn't", "didn't"};
    const enum verb_form form = clause_form(c);
    const struct verb *v = c->verb;
    *helper = *main = NULL;
    if (!v)
        *helper = be[form];
    else if (c->modal) {
        const int which = form >= PAST_ONE ? 2 : (int)form;
        *helper = c->negative ? c->modal->not [which] : c->modal->english[which];
        *main = v->base;
    } else if (is_progressive(c, question)) {
        *helper = be[form];
        *main = v->going;
    } else if (c->negative || question) {
        *helper = (c->negative ? not : does)[form];
        *main = v->base;
    } else
        *main = form == PRESENT_ONE ? v->third : form == PRESENT_MANY ? v->base : v->past;
}

static void write_clause(struct writing *w, const struct clause *c, bool question) {
    const char *helper, *main;
    conjugate(c, question, &helper, &main);
    if (c->time_first) write_word(w, c->time->english);
    if (question) write_word(w, helper);
    if (c->gap != SUBJECT_GAP) write_phrase(w, c->subject);
    if (!question) write_word(w, helper);
    if (!c->verb && c->negative) write_word(w, "not");
    write_word(w, main);
    if (c->verb) write_word(w, c->verb->particle);
    if (c->receiver && !c->receiver_last) write_phrase(w, c->receiver);
    if (c->object && c->gap != OBJECT_GAP) write_phrase(w, c->object);
    if (c->receiver && c->receiver_last) {
        write_word(w, "to");
        write_phrase(w, c->receiver);
    }
    if (c->place) {
        write_word(w, c->place->english);
        write_phrase(w, c->at);
    }
    if (c->degree) write_word(w, c->degree->english);
    if (c->adjective) write_word(w, c->adjective->english);
    if (c->time && !c->time_first) write_word(w, c->time->english);
}

void write_english(struct writing *w, const struct sentence *s) {
    if (s->form == BEFORE_MAIN) {
        write_word(w, s->conjunction->english);
        write_clause(w, s->second, false);
        w->comma = true;
    }
    if (s->asks) write_word(w, s->asks->english);
    write_clause(w, s->first, s->form == QUESTION);
    if (s->form == JOINED || s->form == SHARED || s->form == BEHIND_MAIN) {
        w->comma = s->conjunction == &grammar_but;
        write_word(w, s->conjunction->english);
        struct clause second = *s->second;
        if (s->form == SHARED) second.gap = SUBJECT_GAP;
        write_clause(w, &second, false);
    }
    write_end(w, s->form == QUESTION ? "?" : ".");
}
