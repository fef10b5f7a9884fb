/* What the grammar says: nouns that fit verbs, and of tense, negation, order and clauses what goes together in both
 * languages. Where a choice would be told by nothing in the English sentence, it is not left open here. */
#include "base/philox.h"
#include "data/synthetic/grammar.h"

#include <string.h>

/* ---- random choices ---- */

int draw_below(struct draws *d, int n) {
    if (d->position % 4 == 0) philox_block(d->seed, d->stream, d->position / 4, d->words);
    return (int)((uint64_t)d->words[d->position++ % 4] * (uint64_t)n >> 32);
}

static bool chance(struct drawn *d, int percent) { return draw_below(&d->draws, 100) < percent; }

/* One of those in [0, count) that fits(k, arg), each as likely; -1: none does. */
static int draw_fitting(struct drawn *d, int count, bool (*fits)(int k, const void *arg), const void *arg) {
    int fitting = 0, k = 0;
    for (int i = 0; i < count; i++) fitting += fits(i, arg);
    if (fitting == 0) return -1;
    for (int nth = draw_below(&d->draws, fitting);; k++)
        if (fits(k, arg) && nth-- == 0) return k;
}

/* ---- noun phrases ---- */

/* Bare: without adjectives; told: one has a pronoun. */
enum phrase_flags { DEFINITE = 1, SINGULAR = 2, PLURAL = 4, BARE = 8, TOLD = 16 };

struct noun_wish {
    uint64_t traits;
    bool told;              /* only what has a pronoun */
    const struct drawn *in; /* only what this does not speak of yet; NULL: all the same */
};
static bool noun_fits(int k, const void *arg) {
    const struct noun_wish *wish = arg;
    const struct noun *noun = &grammar_nouns[k];
    if (!(noun->traits & wish->traits) || (wish->told && !noun->pronoun)) return false;
    for (int i = 0; wish->in && i < wish->in->phrases; i++)
        if (wish->in->phrase[i].noun == noun) return false;
    return true;
}
static const struct noun *draw_noun(struct drawn *d, uint64_t traits, bool told) {
    struct noun_wish wish = {traits, told, d};
    int k = draw_fitting(d, grammar_noun_count, noun_fits, &wish);
    if (k < 0) {
        wish.in = NULL;
        k = draw_fitting(d, grammar_noun_count, noun_fits, &wish);
    }
    return &grammar_nouns[k];
}

struct adjective_wish {
    const struct phrase *phrase;
    bool after;
    int rank;
};
static bool adjective_fits(int k, const void *arg) {
    const struct adjective_wish *wish = arg;
    const struct adjective *a = &grammar_adjectives[k];
    const struct phrase *p = wish->phrase;
    if (wish->after) return (a->after & p->noun->traits) && a != p->adjective[0] && a != p->adjective[1];
    return (a->before & p->noun->traits) && a->rank == wish->rank;
}
static const struct adjective *draw_adjective(struct drawn *d, const struct phrase *of, bool after, int rank) {
    const int k = draw_fitting(d, grammar_adjective_count, adjective_fits, &(struct adjective_wish){of, after, rank});
    return k < 0 ? NULL : &grammar_adjectives[k];
}

static enum determiner draw_determiner(struct drawn *d, const struct phrase *p, int flags) {
    const int roll = draw_below(&d->draws, 100);
    if (p->noun->traits & ONLY_THE) return THE;
    if (flags & DEFINITE) return roll < 90 ? THE : THIS;
    if (p->plural) return roll < 55 ? THE : roll < 64 ? THIS : roll < 82 ? TWO : roll < 92 ? THREE : FOUR;
    return roll < 60 ? THE : roll < 92 ? A : THIS;
}

static struct phrase *new_phrase(struct drawn *d) {
    struct phrase *p = &d->phrase[d->phrases++];
    *p = (struct phrase){0};
    return p;
}

static struct phrase *draw_phrase(struct drawn *d, uint64_t traits, int flags) {
    const struct noun *noun = draw_noun(d, traits, flags & TOLD);
    struct phrase *p = new_phrase(d);
    p->noun = noun;
    p->plural = noun->plural && !(flags & SINGULAR) && ((flags & PLURAL) || chance(d, 30));
    p->determiner = draw_determiner(d, p, flags);
    if (flags & BARE || noun->traits & MONEY) return p;
    if (chance(d, 28)) p->adjective[0] = draw_adjective(d, p, false, 0);
    if (chance(d, 18)) p->adjective[1] = draw_adjective(d, p, false, 1);
    return p;
}

static bool place_fits(int k, const void *arg) { return grammar_places[k].use & *(const uint64_t *)arg; }
static const struct place *draw_place(struct drawn *d, uint64_t uses) {
    return &grammar_places[draw_fitting(d, grammar_place_count, place_fits, &uses)];
}

/* "near the bridge", "with the black hat": tells which one is meant. */
static void add_mark(struct drawn *d, struct phrase *p) {
    p->place = draw_place(d, p->noun->traits & PERSON && !p->plural ? NEAR | WITH_WORN : NEAR);
    p->at = draw_phrase(d, p->place->nouns, SINGULAR);
}

/* ---- clauses ---- */

enum may {
    MAY_MODAL = 1,
    MAY_NEGATE = 2,
    MAY_BEGIN_WITH_TIME = 4,
    MAY_END_WITH_TIME = 8,
    MAY_BE = 16,         /* "is tired" */
    MAY_BE_TWO = 32,     /* subjects, or one with a mark */
    MAY_PROGRESS = 64,   /* "is walking" */
    MUST_INVERT = 128,   /* modals as "can" */
    MAY_BE_A_THING = 256 /* the subject of "is new" */
};

static bool fits_subject(const struct verb *v, const struct phrase *subject) {
    return (v->subjects & subject->noun->traits) && (!subject->second || (v->subjects & subject->second->noun->traits));
}

struct verb_wish {
    const struct phrase *subject;
    const struct noun *object; /* of a relative clause; NULL: any */
    bool same_past;            /* may look the same in the present and the past */
    uint64_t only;             /* what these alone do; 0: anything */
};
static bool verb_fits(int k, const void *arg) {
    const struct verb_wish *wish = arg;
    const struct verb *v = &grammar_verbs[k];
    if (!fits_subject(v, wish->subject) || (wish->only && v->subjects != wish->only)) return false;
    if (wish->object && (!(v->objects & wish->object->traits) || v->receivers || v->place == NEEDS_PLACE)) return false;
    return wish->same_past || !phrase_is_plural(wish->subject) || strcmp(v->base, v->past) != 0;
}
static const struct verb *draw_verb(struct drawn *d, struct verb_wish wish) {
    const int k = draw_fitting(d, grammar_verb_count, verb_fits, &wish);
    return k < 0 ? NULL : &grammar_verbs[k];
}

struct modal_wish {
    enum tense tense;
    bool negative, inverts;
};
static bool modal_fits(int k, const void *arg) {
    const struct modal_wish *wish = arg;
    const struct modal *m = &grammar_modals[k];
    const int which = wish->tense == PAST ? 2 : 0;
    return (m->tenses & (int)wish->tense) && (wish->negative ? m->not : m->english)[which] &&
           (!wish->inverts || m->inverts);
}

struct adverb_wish {
    enum tense tense;
    bool once; /* not a habit */
};
static bool adverb_fits(int k, const void *arg) {
    const struct adverb_wish *wish = arg;
    const struct adverb *a = &grammar_adverbs[k];
    return (a->tenses & (int)wish->tense) && !(a->habitual && wish->once);
}

static enum tense draw_tense(struct drawn *d) { return chance(d, 58) ? PRESENT : PAST; }

static struct clause *new_clause(struct drawn *d, enum tense tense) {
    struct clause *c = &d->clause[d->clauses++];
    *c = (struct clause){.tense = tense};
    return c;
}

static struct phrase *draw_subject(struct drawn *d, uint64_t traits, int may, bool negative) {
    struct phrase *p = draw_phrase(d, traits, negative ? DEFINITE : 0);
    if (may & MAY_BE_TWO && chance(d, 18)) {
        if (chance(d, 50))
            add_mark(d, p);
        else
            p->second = draw_phrase(d, traits, negative ? DEFINITE : 0);
    }
    return p;
}

/* "his dog", "its apple": where English and German see the owner alike. */
static bool may_own(const struct phrase *owner, const struct noun *thing) {
    if (owner->determiner == PRONOUN || (!phrase_is_plural(owner) && !owner->noun->pronoun)) return false;
    return thing->traits & (owner->noun->traits & PERSON ? ANIMAL | PRINT | FOOD | GOODS : FOOD);
}

static void draw_objects(struct drawn *d, struct clause *c) {
    const struct verb *v = c->verb;
    const int flags = c->negative ? DEFINITE : 0;
    if (v->receivers) {
        c->receiver = draw_phrase(d, v->receivers, flags);
        c->receiver_last = chance(d, 40);
    }
    if (v->objects && c->gap != OBJECT_GAP) {
        struct phrase *object = draw_phrase(d, v->objects, flags);
        if (may_own(c->subject, object->noun) && chance(d, 25)) {
            object->determiner = POSSESSIVE;
            object->owner = c->subject;
        }
        c->object = object;
    }
    if (v->place == NEEDS_PLACE || (v->place == MAYBE_PLACE && c->gap != OBJECT_GAP && chance(d, 60))) {
        c->place = draw_place(d, v->places);
        c->at = draw_phrase(d, c->place->nouns, c->place->nouns & LIVING ? flags : flags | SINGULAR);
    }
}

static void draw_time(struct drawn *d, struct clause *c, int may) {
    if (!(may & (MAY_BEGIN_WITH_TIME | MAY_END_WITH_TIME)) || !chance(d, 32)) return;
    if (!c->verb && !(c->subject->noun->traits & LIVING)) return;
    const int k = draw_fitting(d, grammar_adverb_count, adverb_fits,
                               &(struct adverb_wish){c->tense, c->progressive || c->negative});
    const bool end = (may & MAY_END_WITH_TIME) && !c->negative && !c->receiver;
    c->time_first = (may & MAY_BEGIN_WITH_TIME) && (!end || chance(d, 55));
    if (c->time_first || end) c->time = &grammar_adverbs[k];
}

static void draw_being(struct drawn *d, struct clause *c) {
    c->adjective = draw_adjective(d, c->subject, true, 0);
    if (c->adjective->rank == 0 && chance(d, 35)) c->degree = &grammar_very;
}

/* subject NULL: any. */
static struct clause *draw_clause(struct drawn *d, enum tense tense, int may, const struct phrase *subject) {
    struct clause *c = new_clause(d, tense);
    c->negative = (may & MAY_NEGATE) && chance(d, 18);
    const bool being = (may & MAY_BE) && chance(d, subject ? 12 : 18);
    if (being && !subject && (may & MAY_BE_A_THING) && chance(d, 50))
        subject = draw_phrase(d, WAY | FENCE | PRINT | GOODS | DEVICE, c->negative ? DEFINITE : 0);
    if (!subject) subject = draw_subject(d, chance(d, 50) ? PERSON : ANIMAL, may, c->negative);
    c->subject = subject;
    if (!being && (may & MAY_MODAL) && chance(d, 20)) {
        if (tense == PRESENT && chance(d, 40)) c->tense = FUTURE;
        const struct modal_wish wish = {c->tense, c->negative, may & MUST_INVERT};
        c->modal = &grammar_modals[draw_fitting(d, grammar_modal_count, modal_fits, &wish)];
    }
    if (being)
        draw_being(d, c);
    else {
        const bool flies = (subject->noun->traits & BIRD) && !subject->second && chance(d, 40);
        c->verb = draw_verb(d, (struct verb_wish){subject, NULL, may & MAY_PROGRESS, flies ? BIRD : 0});
        c->progressive = (may & MAY_PROGRESS) && !c->modal && !c->negative && c->verb->going && chance(d, 25);
        draw_objects(d, c);
    }
    draw_time(d, c, may);
    return c;
}

/* ---- relative clauses ---- */

static const struct clause *draw_relative(struct drawn *d, const struct phrase *of, enum tense tense) {
    if ((of->noun->traits & LIVING) && chance(d, 45)) {
        struct clause *c = draw_clause(d, tense, MAY_NEGATE | MAY_BE | MAY_PROGRESS, of);
        c->gap = SUBJECT_GAP;
        return c;
    }
    struct clause *c = new_clause(d, tense);
    struct phrase *subject = draw_phrase(d, PERSON, 0);
    const struct verb *verb = draw_verb(d, (struct verb_wish){subject, of->noun, true, 0});
    if (chance(d, 20)) add_mark(d, subject);
    *c = (struct clause){.subject = subject, .object = of, .verb = verb, .tense = tense, .gap = OBJECT_GAP};
    c->progressive = verb->going && chance(d, 20);
    return c;
}

/* Whether the object is the last word of the clause in both languages. */
static bool object_is_last(const struct clause *c) {
    return c->object && c->object->determiner != POSSESSIVE && !(c->object->noun->traits & MONEY) && !c->receiver &&
           !c->place && !c->modal && !c->negative && !c->verb->prefix && (!c->time || c->time_first);
}

static void draw_with_relative(struct drawn *d) {
    const enum tense tense = draw_tense(d);
    struct clause *c = draw_clause(d, tense,
                                   MAY_MODAL | MAY_NEGATE | MAY_BEGIN_WITH_TIME | MAY_END_WITH_TIME | MAY_BE |
                                       MAY_PROGRESS | MAY_BE_A_THING,
                                   NULL);
    struct phrase *of = &d->phrase[(object_is_last(c) && chance(d, 50) ? c->object : c->subject) - d->phrase];
    of->relative = draw_relative(d, of, tense);
    d->sentence.first = c;
}

/* ---- reasons: "because it was too tired" ---- */

enum about { PERSONS, ONE_ANIMAL, ANIMALS };

/* The animal and the way are each one of three genders; what "it" stands for, and so er, sie or es, is told by the
 * adjective alone. Persons and many animals have pronouns of their own. */
static void draw_reason(struct drawn *d, enum about about) {
    const bool although = chance(d, 25), over = chance(d, 25), of_subject = chance(d, 50);
    const enum tense tense = chance(d, 75) ? PAST : PRESENT;
    const int flags = although ? 0 : DEFINITE;
    struct clause *main = new_clause(d, tense), *reason = new_clause(d, tense);

    main->subject = about == PERSONS ? draw_phrase(d, PERSON, flags | TOLD)
                                     : draw_phrase(d, ANIMAL, flags | (about == ANIMALS ? PLURAL : SINGULAR));
    const uint64_t ways = over ? FENCE : WAY;
    const struct phrase *way = draw_phrase(d, ways, flags | SINGULAR | (of_subject ? 0 : BARE));
    for (int k = 0; k < grammar_verb_count; k++)
        if (over ? grammar_verbs[k].places & OVER_FENCE : grammar_verbs[k].objects == WAY)
            main->verb = &grammar_verbs[k];
    if (over) {
        main->place = draw_place(d, OVER_FENCE);
        main->at = way;
    } else
        main->object = way;
    main->negative = !although;
    if (chance(d, 30)) main->modal = &grammar_modals[chance(d, 50) && !although ? MODAL_WANT : MODAL_CAN];
    draw_time(d, main, MAY_BEGIN_WITH_TIME);

    struct phrase *pronoun = new_phrase(d);
    const struct phrase *antecedent = of_subject ? main->subject : way;
    *pronoun = (struct phrase){.determiner = PRONOUN, .noun = antecedent->noun, .plural = antecedent->plural};
    reason->subject = pronoun;
    reason->adjective = draw_adjective(d, antecedent, true, 0);
    if (chance(d, 75)) reason->degree = although ? &grammar_very : &grammar_too;
    d->sentence = (struct sentence){.form = BEHIND_MAIN,
                                    .first = main,
                                    .second = reason,
                                    .conjunction = &grammar_subordinators[although ? ALTHOUGH : BECAUSE]};
}

/* ---- other sentences ---- */

static bool saying_fits(int k, const void *arg) { return fits_subject(&grammar_sayings[k], arg); }
static bool subordinator_fits(int k, const void *arg) {
    return grammar_subordinators[k].tenses & (int)*(const enum tense *)arg;
}

static void draw_with_clause(struct drawn *d) {
    struct sentence *s = &d->sentence;
    const enum tense tense = draw_tense(d);
    const int roll = draw_below(&d->draws, 100);
    if (roll < 30) {
        draw_reason(d, chance(d, 65) ? PERSONS : ANIMALS);
        return;
    }
    if (roll < 55) {
        struct clause *c = new_clause(d, tense);
        c->subject = draw_subject(d, PERSON, MAY_BE_TWO, false);
        c->verb = &grammar_sayings[draw_fitting(d, grammar_saying_count, saying_fits, c->subject)];
        s->form = BEHIND_MAIN;
        s->first = c;
        s->conjunction = &grammar_that;
        s->second = draw_clause(d, tense, MAY_MODAL | MAY_NEGATE | MAY_BE | MAY_PROGRESS | MAY_BE_A_THING, NULL);
        return;
    }
    const int k = draw_fitting(d, grammar_subordinator_count, subordinator_fits, &tense);
    const bool reason = k == BECAUSE || k == ALTHOUGH;
    s->form = chance(d, 50) ? BEHIND_MAIN : BEFORE_MAIN;
    s->conjunction = &grammar_subordinators[k];
    s->first = draw_clause(d, tense, MAY_MODAL | MAY_NEGATE | (s->form == BEHIND_MAIN ? MAY_BEGIN_WITH_TIME : 0), NULL);
    s->second = draw_clause(d, tense, MAY_NEGATE | MAY_BE | MAY_PROGRESS | (reason ? MAY_MODAL : 0), NULL);
}

static void draw_question(struct drawn *d) {
    const bool asks = chance(d, 40);
    struct clause *c = draw_clause(d, draw_tense(d),
                                   MAY_MODAL | MUST_INVERT | MAY_BE | MAY_BE_TWO | MAY_PROGRESS | MAY_BE_A_THING |
                                       (asks ? 0 : MAY_END_WITH_TIME),
                                   NULL);
    int word = chance(d, 60) ? WHY : WHEN;
    if (asks && c->verb && c->verb->stays && chance(d, 70)) {
        word = WHERE;
        c->place = NULL;
        c->at = NULL;
    }
    d->sentence = (struct sentence){.form = QUESTION, .first = c, .asks = asks ? &grammar_questions[word] : NULL};
}

static void draw_joined(struct drawn *d) {
    struct sentence *s = &d->sentence;
    const enum tense tense = draw_tense(d);
    s->conjunction = &grammar_and;
    if (chance(d, 40)) {
        s->form = SHARED;
        s->first = draw_clause(d, tense, MAY_BE_TWO, NULL);
        s->second = draw_clause(d, tense, 0, s->first->subject);
        return;
    }
    s->form = JOINED;
    s->first = draw_clause(d, tense, MAY_MODAL | MAY_NEGATE | MAY_BE | MAY_PROGRESS, NULL);
    s->second = draw_clause(d, tense, MAY_MODAL | MAY_NEGATE | MAY_BE | MAY_PROGRESS, NULL);
    if (chance(d, 50)) s->conjunction = &grammar_but;
}

static void draw_plain(struct drawn *d) {
    d->sentence.first = draw_clause(d, draw_tense(d),
                                    MAY_MODAL | MAY_NEGATE | MAY_BEGIN_WITH_TIME | MAY_END_WITH_TIME | MAY_BE |
                                        MAY_BE_TWO | MAY_PROGRESS | MAY_BE_A_THING,
                                    NULL);
}

void draw_sentence(struct drawn *d, heed_grammar_kind kind) {
    d->phrases = d->clauses = 0;
    d->sentence = (struct sentence){.form = MAIN};
    switch (kind) {
    case HEED_GRAMMAR_RELATIVE:
        draw_with_relative(d);
        break;
    case HEED_GRAMMAR_CLAUSE:
        draw_with_clause(d);
        break;
    case HEED_GRAMMAR_QUESTION:
        draw_question(d);
        break;
    case HEED_GRAMMAR_JOINED:
        draw_joined(d);
        break;
    case HEED_GRAMMAR_PRONOUN:
        draw_reason(d, ONE_ANIMAL);
        break;
    case HEED_GRAMMAR_PLAIN:
    case HEED_GRAMMAR_ANY:
        draw_plain(d);
        break;
    }
}
