/* The bilingual grammar: words (grammar_words.c), the parts of a sentence, and how they are said in English
 * (grammar_english.c) and in German (grammar_german.c). What is said is drawn in grammar_draw.c.
 *
 * Invariant: an English sentence has one German translation. What the German depends on, gender, case, the sense of a
 * word, the antecedent of a pronoun, follows from the English words of the same sentence. */
#ifndef DATA_SYNTHETIC_GRAMMAR_H
#define DATA_SYNTHETIC_GRAMMAR_H

#include "heed/data.h"

/* ---- words ---- */

enum gender { MASCULINE, FEMININE, NEUTER, GENDERS };
enum grammatical_case { NOMINATIVE, ACCUSATIVE, DATIVE, CASES };
enum tense { PRESENT = 1, PAST = 2, FUTURE = 4 };

/* Traits of nouns: what they are ... */
#define PERSON   (UINT64_C(1) << 0)
#define ANIMAL   (UINT64_C(1) << 1)
#define BIRD     (UINT64_C(1) << 2)
#define WAY      (UINT64_C(1) << 3) /* can be crossed */
#define FENCE    (UINT64_C(1) << 4) /* can be jumped over */
#define BUILDING (UINT64_C(1) << 5)
#define OPENING  (UINT64_C(1) << 6)
#define PRINT    (UINT64_C(1) << 7)
#define FOOD     (UINT64_C(1) << 8)
#define GOODS    (UINT64_C(1) << 9)
#define DEVICE   (UINT64_C(1) << 10)
#define WORN     (UINT64_C(1) << 11) /* tells a person: "the man with the hat" */
#define MONEY    (UINT64_C(1) << 12)
#define AFLOAT   (UINT64_C(1) << 13)
#define ONLY_THE (UINT64_C(1) << 14) /* takes the definite article alone */
#define GROWN    (UINT64_C(1) << 15) /* a person of no age in particular */
#define LIVING   (PERSON | ANIMAL)
#define THING    (PRINT | FOOD | GOODS | DEVICE)
/* ... what a way can be ... */
#define WIDE     (UINT64_C(1) << 16)
#define LONG     (UINT64_C(1) << 17)
#define NARROW   (UINT64_C(1) << 18)
#define SLIPPERY (UINT64_C(1) << 19)
#define MUDDY    (UINT64_C(1) << 20)
#define STEEP    (UINT64_C(1) << 21)
#define HIGH     (UINT64_C(1) << 22)
#define THIN     (UINT64_C(1) << 23)
/* ... and where they stand after a preposition. */
#define IN          (UINT64_C(1) << 32)
#define IN_FIELD    (UINT64_C(1) << 33)
#define IN_WATER    (UINT64_C(1) << 34)
#define IN_BANK     (UINT64_C(1) << 35)
#define UNDER       (UINT64_C(1) << 36)
#define BEHIND      (UINT64_C(1) << 37)
#define BEFORE      (UINT64_C(1) << 38)
#define NEAR        (UINT64_C(1) << 39)
#define ON          (UINT64_C(1) << 40)
#define ON_SHORE    (UINT64_C(1) << 41)
#define INTO        (UINT64_C(1) << 42)
#define INTO_FIELD  (UINT64_C(1) << 43)
#define THROUGH     (UINT64_C(1) << 44)
#define ABOVE       (UINT64_C(1) << 45)
#define TO          (UINT64_C(1) << 46)
#define TO_SHORE    (UINT64_C(1) << 47)
#define TO_BANK     (UINT64_C(1) << 48)
#define ALONG_WATER (UINT64_C(1) << 49)
#define ALONG_WAY   (UINT64_C(1) << 50)
/* Uses of prepositions with nouns that are told by other traits. */
#define OVER_FENCE   (UINT64_C(1) << 51)
#define WITH_SOMEONE (UINT64_C(1) << 52)
#define WITH_WORN    (UINT64_C(1) << 53)
#define WAIT_FOR     (UINT64_C(1) << 54)
#define FOR_SOMEONE  (UINT64_C(1) << 55)

struct noun {
    const char *english, *plural; /* plural NULL: none of it is used */
    enum gender gender;
    const char *german, *german_plural, *oblique; /* oblique: accusative and dative of the weak nouns, else NULL */
    const char *pronoun; /* of one, in English; NULL where English and German would not agree on it ("girl") */
    uint64_t traits;
};

struct adjective {
    const char *english, *german, *stem; /* "müde", "hoch" have another stem before endings; NULL: stands alone only */
    int rank;                            /* size and age (0) come before colour (1) */
    uint64_t before, after;              /* nouns that it stands before, and nouns that are said to be so */
};

/* A preposition with its nouns. The same English word may be several: "on the roof", "on the bank". */
struct place {
    const char *english, *german; /* german "": the bare case */
    enum grammatical_case governs;
    const char *prefix;  /* joins the verb, as in "entlanggehen"; else NULL */
    uint64_t use, nouns; /* use: the one bit by which verbs ask for it; nouns: the traits that it takes */
};

enum verb_form { PRESENT_ONE, PRESENT_MANY, PAST_ONE, PAST_MANY };
enum place_use { NO_PLACE, MAYBE_PLACE, NEEDS_PLACE };
struct verb {
    const char *base, *third, *past, *going; /* going NULL: has no progressive */
    const char *particle;                    /* "on", "for"; else NULL */
    const char *german[4];                   /* sieht, sehen, sah, sahen; the second is the infinitive too */
    const char *prefix;                      /* "an" of anmachen; else NULL */
    uint64_t subjects, objects, receivers;   /* objects 0: intransitive */
    enum grammatical_case governs;           /* of the object */
    enum place_use place;
    uint64_t places; /* uses of prepositions */
    bool stays;      /* where? may be asked */
};

struct modal {
    const char *english[3], *not [3]; /* one, many, past; NULL: not used */
    const char *german[4];
    bool inverts; /* "can he": without "do" */
    int tenses;
};
struct adverb {
    const char *english, *german;
    int tenses;
    bool habitual; /* goes with no progressive and no negation */
};
struct conjunction {
    const char *english, *german, *german_past;
    int tenses;
    bool final; /* the clause behind it has its verb last */
};
struct degree {
    const char *english, *german;
};

extern const struct noun grammar_nouns[];
extern const struct adjective grammar_adjectives[];
extern const struct place grammar_places[];
extern const struct verb grammar_verbs[], grammar_sayings[]; /* sayings: verbs that take "that" */
extern const struct modal grammar_modals[];
extern const struct adverb grammar_adverbs[];
extern const struct conjunction grammar_subordinators[], grammar_that, grammar_and, grammar_but;
extern const struct degree grammar_too, grammar_very;
extern const struct degree grammar_questions[]; /* why, when, where */
extern const int grammar_noun_count, grammar_adjective_count, grammar_place_count, grammar_verb_count,
    grammar_saying_count, grammar_modal_count, grammar_adverb_count, grammar_subordinator_count;

/* Places in the tables that the rules name. */
enum { MODAL_CAN, MODAL_WANT };
enum { BECAUSE, ALTHOUGH };
enum { WHY, WHEN, WHERE };

/* ---- the parts of a sentence ---- */

enum determiner { THE, A, THIS, TWO, THREE, FOUR, POSSESSIVE, PRONOUN };
struct clause;
struct phrase {
    enum determiner determiner;
    const struct noun *noun; /* of a pronoun: what it stands for */
    bool plural;
    const struct adjective *adjective[2];
    const struct phrase *owner;    /* of a possessive */
    const struct phrase *second;   /* "the man and the woman" */
    const struct place *place;     /* "near the bridge", with `at` */
    const struct phrase *at;       /* at most one of second, place and relative is there */
    const struct clause *relative; /* its gap is this phrase */
};

enum gap { NO_GAP, SUBJECT_GAP, OBJECT_GAP };
struct clause {
    const struct phrase *subject, *object, *receiver;
    const struct place *place;
    const struct phrase *at;
    const struct verb *verb; /* NULL: the subject is (degree) adjective */
    const struct adjective *adjective;
    const struct degree *degree;
    const struct modal *modal;
    const struct adverb *time;
    enum tense tense;
    bool time_first, negative, progressive, receiver_last;
    enum gap gap; /* of a relative clause: the part that is not said */
};

enum form { MAIN, QUESTION, JOINED, SHARED, BEHIND_MAIN, BEFORE_MAIN };
struct sentence {
    enum form form;
    const struct clause *first, *second;   /* SHARED: second has the subject of first, unsaid */
    const struct conjunction *conjunction; /* before `second` */
    const struct degree *asks;             /* QUESTION: why, when, where; NULL: yes or no */
};

bool phrase_is_plural(const struct phrase *p);
enum verb_form clause_form(const struct clause *c);

/* ---- writing ---- words with one blank between them, a capital first. */

#define GRAMMAR_ROOM  512
#define GRAMMAR_WORDS 24
struct writing {
    char text[GRAMMAR_ROOM];
    size_t size;
    int words;
    bool comma; /* due before the next word; before a full stop it falls away */
};
void write_word(struct writing *w, const char *word); /* NULL and "" are nothing */
void write_joined(struct writing *w, const char *stem, const char *ending);
void write_end(struct writing *w, const char *stop);

void write_english(struct writing *w, const struct sentence *s);
void write_german(struct writing *w, const struct sentence *s);

/* ---- drawing ---- */

struct draws {
    uint64_t seed, stream, position;
    uint32_t words[4];
};
#define DRAWN_PHRASES 16
#define DRAWN_CLAUSES 4
struct drawn {
    struct draws draws;
    struct phrase phrase[DRAWN_PHRASES];
    struct clause clause[DRAWN_CLAUSES];
    int phrases, clauses;
    struct sentence sentence;
};
/* A sentence of that kind, which must not be HEED_GRAMMAR_ANY. */
void draw_sentence(struct drawn *d, heed_grammar_kind kind);
int draw_below(struct draws *d, int n);

#endif
