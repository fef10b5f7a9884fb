/* The parts of a sentence in German: gender, number and case on articles, adjectives and nouns; the verb second, first
 * or last; its prefix and the infinitive at the end; "nicht" before what belongs closest to the verb. */
#include "data/synthetic/grammar.h"

#include <string.h>

/* Columns of the tables below: the genders, then the plural. */
#define COLUMNS (GENDERS + 1)
static int column(const struct phrase *p) { return p->plural ? GENDERS : (int)p->noun->gender; }

/* ---- noun phrases ---- */

static const char *const the[CASES][COLUMNS] = {
    {"der", "die", "das", "die"}, {"den", "die", "das", "die"}, {"dem", "der", "dem", "den"}};
static const char *const which[CASES][COLUMNS] = {
    {"der", "die", "das", "die"}, {"den", "die", "das", "die"}, {"dem", "der", "dem", "denen"}};
static const char *const after_this[CASES][COLUMNS] = {
    {"er", "e", "es", "e"}, {"en", "e", "es", "e"}, {"em", "er", "em", "en"}};
static const char *const after_a[CASES][COLUMNS] = {{"", "e", "", "e"}, {"en", "e", "", "e"}, {"em", "er", "em", "en"}};
/* Endings of adjectives: weak after der and dieser, mixed after ein, sein and ihr, strong after numbers. */
static const char *const weak[CASES][COLUMNS] = {
    {"e", "e", "e", "en"}, {"en", "e", "e", "en"}, {"en", "en", "en", "en"}};
static const char *const mixed[CASES][COLUMNS] = {
    {"er", "e", "es", "en"}, {"en", "e", "es", "en"}, {"en", "en", "en", "en"}};
static const char *const strong_plural[CASES] = {"e", "e", "en"};

static void write_determiner(struct writing *w, const struct phrase *p, enum grammatical_case in) {
    const int k = column(p);
    switch (p->determiner) {
    case THE:
        write_word(w, the[in][k]);
        break;
    case A:
        write_joined(w, "ein", after_a[in][k]);
        break;
    case THIS:
        write_joined(w, "dies", after_this[in][k]);
        break;
    case TWO:
        write_word(w, "zwei");
        break;
    case THREE:
        write_word(w, "drei");
        break;
    case FOUR:
        write_word(w, "vier");
        break;
    case POSSESSIVE: {
        const bool hers = phrase_is_plural(p->owner) || p->owner->noun->gender == FEMININE;
        write_joined(w, hers ? "ihr" : "sein", after_a[in][k]);
        break;
    }
    case PRONOUN:
        break;
    }
}

static const char *adjective_ending(const struct phrase *p, enum grammatical_case in) {
    switch (p->determiner) {
    case THE:
    case THIS:
        return weak[in][column(p)];
    case A:
    case POSSESSIVE:
        return mixed[in][column(p)];
    default:
        return strong_plural[in];
    }
}

/* The dative plural ends in n, unless the plural does already (or in s). */
static void write_noun(struct writing *w, const struct phrase *p, enum grammatical_case in) {
    const struct noun *noun = p->noun;
    if (!p->plural) {
        write_word(w, in != NOMINATIVE && noun->oblique ? noun->oblique : noun->german);
        return;
    }
    const char last = noun->german_plural[strlen(noun->german_plural) - 1];
    write_joined(w, noun->german_plural, in == DATIVE && last != 'n' && last != 's' ? "n" : NULL);
}

enum order { VERB_SECOND, VERB_FIRST, VERB_LAST, NO_SUBJECT };
static void write_clause(struct writing *w, const struct clause *c, enum order order);
static void write_place(struct writing *w, const struct place *place, const struct phrase *at);

/* What follows the determiner. */
static void write_rest(struct writing *w, const struct phrase *p, enum grammatical_case in) {
    for (int i = 0; i < 2; i++)
        if (p->adjective[i]) write_joined(w, p->adjective[i]->stem, adjective_ending(p, in));
    write_noun(w, p, in);
    if (p->place) write_place(w, p->place, p->at);
}

static void write_phrase(struct writing *w, const struct phrase *p, enum grammatical_case in) {
    if (p->determiner == PRONOUN) { /* the subject only */
        static const char *const pronoun[COLUMNS] = {"er", "sie", "es", "sie"};
        write_word(w, pronoun[column(p)]);
        return;
    }
    write_determiner(w, p, in);
    write_rest(w, p, in);
    if (p->second) {
        write_word(w, "und");
        write_phrase(w, p->second, in);
    }
    if (p->relative) {
        const struct clause *r = p->relative;
        w->comma = true;
        write_word(w, which[r->gap == SUBJECT_GAP ? NOMINATIVE : r->verb->governs][column(p)]);
        write_clause(w, r, VERB_LAST);
        w->comma = true;
    }
}

static void write_place(struct writing *w, const struct place *place, const struct phrase *at) {
    static const char *const contracted[][3] = {{"in", "dem", "im"},    {"in", "das", "ins"}, {"an", "dem", "am"},
                                                {"bei", "dem", "beim"}, {"zu", "dem", "zum"}, {"zu", "der", "zur"}};
    const char *article = at->determiner == THE ? the[place->governs][column(at)] : "";
    for (size_t i = 0; i < sizeof contracted / sizeof contracted[0]; i++)
        if (strcmp(place->german, contracted[i][0]) == 0 && strcmp(article, contracted[i][1]) == 0) {
            write_word(w, contracted[i][2]);
            write_rest(w, at, place->governs);
            return;
        }
    write_word(w, place->german);
    write_phrase(w, at, place->governs);
}

/* ---- clauses ---- */

/* What stands between the two places of the verb. */
static void write_middle(struct writing *w, const struct clause *c) {
    if (c->time && !c->time_first) write_word(w, c->time->german);
    if (c->receiver) write_phrase(w, c->receiver, DATIVE);
    if (c->object && c->gap != OBJECT_GAP) write_phrase(w, c->object, c->verb->governs);
    if (c->negative) write_word(w, "nicht");
    if (c->place) write_place(w, c->place, c->at);
    if (c->degree) write_word(w, c->degree->german);
    if (c->adjective) write_word(w, c->adjective->german);
}

static void write_clause(struct writing *w, const struct clause *c, enum order order) {
    static const char *const be[] = {"ist", "sind", "war", "waren"};
    const enum verb_form form = clause_form(c);
    const struct verb *v = c->verb;
    const char *finite = !v ? be[form] : c->modal ? c->modal->german[form] : v->german[form];
    const char *infinitive = c->modal ? v->german[PRESENT_MANY] : NULL;
    const char *prefix = c->place && c->place->prefix ? c->place->prefix : v ? v->prefix : NULL;

    if (order == VERB_SECOND && c->time_first) write_word(w, c->time->german);
    if ((order == VERB_SECOND && !c->time_first) || order == VERB_LAST)
        if (c->gap != SUBJECT_GAP) write_phrase(w, c->subject, NOMINATIVE);
    if (order != VERB_LAST) write_word(w, finite);
    if ((order == VERB_SECOND && c->time_first) || order == VERB_FIRST) write_phrase(w, c->subject, NOMINATIVE);
    write_middle(w, c);
    if (order != VERB_LAST)
        write_joined(w, prefix, infinitive);
    else if (infinitive) {
        write_joined(w, prefix, infinitive);
        write_word(w, finite);
    } else
        write_joined(w, prefix, finite);
}

void write_german(struct writing *w, const struct sentence *s) {
    const struct conjunction *joint = s->conjunction;
    const char *word = !joint ? NULL : s->second->tense == PAST ? joint->german_past : joint->german;
    if (s->form == BEFORE_MAIN) {
        write_word(w, word);
        write_clause(w, s->second, VERB_LAST);
        w->comma = true;
    }
    if (s->asks) write_word(w, s->asks->german);
    write_clause(w, s->first, s->form == QUESTION || s->form == BEFORE_MAIN ? VERB_FIRST : VERB_SECOND);
    if (s->form == JOINED || s->form == SHARED || s->form == BEHIND_MAIN) {
        if (joint != &grammar_and) w->comma = true;
        write_word(w, word);
        write_clause(w, s->second, joint->final ? VERB_LAST : s->form == SHARED ? NO_SUBJECT : VERB_SECOND);
    }
    write_end(w, s->form == QUESTION ? "?" : ".");
}
