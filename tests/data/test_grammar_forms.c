/* Sentences whose German was written by hand: articles, endings, agreement, the places of verb, prefix and "nicht",
 * relative clauses, pronouns and senses. Parts are given in a shorthand that is looked up in the grammar's tables. */
#include "data/synthetic/grammar.h"
#include "io/io_test.h"

/* ---- the shorthand ---- */

static struct phrase phrases[512];
static int phrase_count;

static bool is(const char *a, const char *b) { return a && b && strcmp(a, b) == 0; }

/* "the old dogs"; where one English noun is several German ones, the German follows: "the bank=Ufer". */
static struct phrase *np(const char *text) {
    static const char *const determiners[] = {"the", "a", "this", "two", "three", "four", "own", "it"};
    struct phrase *p = &phrases[phrase_count++];
    char words[64];
    *p = (struct phrase){0};
    snprintf(words, sizeof words, "%s", text);
    char *german = strchr(words, '='), *rest = strchr(words, ' ');
    if (german) *german++ = 0;
    *rest++ = 0;
    while (!is(determiners[p->determiner], words)) p->determiner++;
    for (int k = 0; k < grammar_adjective_count; k++) {
        const struct adjective *a = &grammar_adjectives[k];
        const size_t length = strlen(a->english);
        if (strncmp(a->english, rest, length) != 0 || rest[length] != ' ') continue;
        p->adjective[a->rank] = a;
        rest += length + 1;
        k = -1; /* the next one may come earlier in the table */
    }
    for (int k = 0; k < grammar_noun_count && !p->noun; k++) {
        const struct noun *noun = &grammar_nouns[k];
        if ((!is(noun->english, rest) && !is(noun->plural, rest)) || (german && !is(noun->german, german))) continue;
        p->noun = noun;
        p->plural = is(noun->plural, rest);
    }
    assert_non_null(p->noun);
    return p;
}
static struct phrase *own(const char *text, const struct phrase *owner) {
    struct phrase *p = np(text);
    p->owner = owner;
    return p;
}
static struct phrase *both(struct phrase *p, const struct phrase *second) {
    p->second = second;
    return p;
}
static const struct place *use(uint64_t bit) {
    for (int k = 0; k < grammar_place_count; k++)
        if (grammar_places[k].use == bit) return &grammar_places[k];
    fail();
    return NULL;
}
static struct phrase *near(struct phrase *p, uint64_t bit, const struct phrase *at) {
    p->place = use(bit);
    p->at = at;
    return p;
}
static struct phrase *rel(struct phrase *p, struct clause *relative) {
    *(relative->gap == SUBJECT_GAP ? &relative->subject : &relative->object) = p;
    p->relative = relative;
    return p;
}
static const struct verb *v(const char *infinitive) {
    for (int k = 0; k < grammar_verb_count + grammar_saying_count; k++) {
        const struct verb *verb = k < grammar_verb_count ? &grammar_verbs[k] : &grammar_sayings[k - grammar_verb_count];
        char joined[64];
        snprintf(joined, sizeof joined, "%s%s", verb->prefix ? verb->prefix : "", verb->german[1]);
        if (is(joined, infinitive)) return verb;
    }
    fail_msg("no verb '%s'", infinitive);
    return NULL;
}
static const struct adjective *adj(const char *english) {
    for (int k = 0; k < grammar_adjective_count; k++)
        if (is(grammar_adjectives[k].english, english)) return &grammar_adjectives[k];
    fail();
    return NULL;
}
static const struct adverb *at(const char *english) {
    for (int k = 0; k < grammar_adverb_count; k++)
        if (is(grammar_adverbs[k].english, english)) return &grammar_adverbs[k];
    fail();
    return NULL;
}
static const struct modal *mod(const char *german) {
    for (int k = 0; k < grammar_modal_count; k++)
        if (is(grammar_modals[k].german[0], german) || is(grammar_modals[k].german[2], german))
            return &grammar_modals[k];
    fail();
    return NULL;
}
static const struct conjunction *sub(const char *english) {
    for (int k = 0; k < grammar_subordinator_count; k++)
        if (is(grammar_subordinators[k].english, english)) return &grammar_subordinators[k];
    fail();
    return NULL;
}

static void expect(const struct sentence *s, const char *english, const char *german) {
    struct writing e = {.size = 0}, g = {.size = 0};
    write_english(&e, s);
    write_german(&g, s);
    assert_string_equal(e.text, english);
    assert_string_equal(g.text, german);
    phrase_count = 0;
}

/* S subject, V verb, O object, R receiver; P a place, IS an adjective. What is not told is in the present. */
#define C(...)                     (&(struct clause){__VA_ARGS__})
#define S(text)                    .subject = np(text)
#define V(word)                    .verb = v(word)
#define O(text)                    .object = np(text)
#define R(text)                    .receiver = np(text)
#define P(bit, text)               .place = use(bit), .at = np(text)
#define IS(word)                   .adjective = adj(word)
#define NOT                        .negative = true
#define WAS                        .tense = PAST
#define ING                        .progressive = true
#define FIRST(word)                .time = at(word), .time_first = true
#define LAST(word)                 .time = at(word)
#define SAY(...)                   (&(struct sentence){.form = MAIN, .first = C(__VA_ARGS__)})
#define ASK(...)                   (&(struct sentence){.form = QUESTION, .first = C(__VA_ARGS__)})
#define WHQ(word, ...)             (&(struct sentence){.form = QUESTION, .asks = &grammar_questions[word], .first = C(__VA_ARGS__)})
#define TWO_PARTS(how, word, a, b) (&(struct sentence){.form = how, .conjunction = word, .first = a, .second = b})

/* ---- noun phrases ---- */

static void test_cases(void **state) {
    (void)state;
    expect(SAY(S("the old dog"), V("sehen"), O("the old dog")), "The old dog sees the old dog.",
           "Der alte Hund sieht den alten Hund.");
    expect(SAY(S("a old dog"), V("sehen"), O("a old dog")), "An old dog sees an old dog.",
           "Ein alter Hund sieht einen alten Hund.");
    expect(SAY(S("this small cat"), V("folgen"), O("this small cat")), "This small cat follows this small cat.",
           "Diese kleine Katze folgt dieser kleinen Katze.");
    expect(SAY(S("a small cat"), V("folgen"), O("a small cat")), "A small cat follows a small cat.",
           "Eine kleine Katze folgt einer kleinen Katze.");
    expect(SAY(S("a white horse"), V("lieben"), O("a white horse")), "A white horse loves a white horse.",
           "Ein weißes Pferd liebt ein weißes Pferd.");
    expect(SAY(S("this white horse"), V("folgen"), O("a white horse")), "This white horse follows a white horse.",
           "Dieses weiße Pferd folgt einem weißen Pferd.");
    expect(SAY(S("the farmer"), V("helfen"), O("the boy")), "The farmer helps the boy.", "Der Bauer hilft dem Jungen.");
    expect(SAY(S("the boy"), V("sehen"), O("this farmer")), "The boy sees this farmer.",
           "Der Junge sieht diesen Bauern.");
    expect(SAY(S("two small black dogs"), V("lieben"), O("three young cats")),
           "Two small black dogs love three young cats.", "Zwei kleine schwarze Hunde lieben drei junge Katzen.");
    expect(SAY(S("this big dogs"), V("folgen"), O("four old cows")), "These big dogs follow four old cows.",
           "Diese großen Hunde folgen vier alten Kühen.");
    expect(SAY(S("the birds"), V("folgen"), O("the men")), "The birds follow the men.",
           "Die Vögel folgen den Männern.");
    expect(SAY(S("the queens"), V("helfen"), O("two young birds")), "The queens help two young birds.",
           "Die Königinnen helfen zwei jungen Vögeln.");
    expect(SAY(S("the girls"), V("suchen"), O("the mice")), "The girls look for the mice.",
           "Die Mädchen suchen die Mäuse.");
    expect(SAY(S("a high wall"), IS("wide")), "A high wall is wide.", "Eine hohe Mauer ist breit.");
    expect(SAY(S("the woman"), V("geben"), R("the old man"), O("a new red bag")),
           "The woman gives the old man a new red bag.", "Die Frau gibt dem alten Mann eine neue rote Tasche.");
    expect(SAY(S("the king"), V("geben"), R("the children"), O("the apple"), .receiver_last = true, WAS),
           "The king gave the apple to the children.", "Der König gab den Kindern den Apfel.");
}

static void test_owners(void **state) {
    (void)state;
    const struct phrase *owner = np("the man");
    expect(SAY(.subject = owner, V("lieben"), .object = own("own old dog", owner)), "The man loves his old dog.",
           "Der Mann liebt seinen alten Hund.");
    owner = np("the woman");
    expect(SAY(.subject = owner, V("lieben"), .object = own("own horse", owner)), "The woman loves her horse.",
           "Die Frau liebt ihr Pferd.");
    owner = np("the cow");
    expect(SAY(.subject = owner, V("fressen"), .object = own("own small apple", owner)),
           "The cow eats its small apple.", "Die Kuh frisst ihren kleinen Apfel.");
    owner = np("the pig");
    expect(SAY(.subject = owner, V("fressen"), .object = own("own carrots", owner)), "The pig eats its carrots.",
           "Das Schwein frisst seine Karotten.");
    owner = both(np("the man"), np("the girl"));
    expect(SAY(.subject = owner, V("helfen"), .object = own("own animals", owner)),
           "The man and the girl help their animals.", "Der Mann und das Mädchen helfen ihren Tieren.");
}

static void test_places(void **state) {
    (void)state;
    expect(SAY(S("a bird"), V("fliegen"), P(THROUGH, "the window")), "A bird flies through the window.",
           "Ein Vogel fliegt durch das Fenster.");
    expect(SAY(S("the woman"), V("gehen"), P(ALONG_WATER, "the river bank"), ING),
           "The woman is walking along the river bank.", "Die Frau geht am Flussufer entlang.");
    expect(SAY(S("the boys"), V("laufen"), P(ALONG_WAY, "the long street"), WAS), "The boys ran along the long street.",
           "Die Jungen liefen die lange Straße entlang.");
    expect(SAY(S("the cat"), V("schlafen"), P(IN, "the old house")), "The cat sleeps in the old house.",
           "Die Katze schläft im alten Haus.");
    expect(SAY(S("the cat"), V("laufen"), P(INTO, "the old house")), "The cat runs into the old house.",
           "Die Katze läuft ins alte Haus.");
    expect(SAY(S("the cat"), V("laufen"), P(INTO, "the garden")), "The cat runs into the garden.",
           "Die Katze läuft in den Garten.");
    expect(SAY(S("the cat"), V("schlafen"), P(IN, "a small church")), "The cat sleeps in a small church.",
           "Die Katze schläft in einer kleinen Kirche.");
    expect(SAY(S("the farmers"), V("arbeiten"), P(IN_FIELD, "the field")), "The farmers work in the field.",
           "Die Bauern arbeiten auf dem Feld.");
    expect(SAY(S("the goats"), V("gehen"), P(TO, "the church"), WAS), "The goats walked to the church.",
           "Die Ziegen gingen zur Kirche.");
    expect(SAY(S("the goats"), V("gehen"), P(TO, "the tree"), WAS), "The goats walked to the tree.",
           "Die Ziegen gingen zum Baum.");
    expect(SAY(S("the fox"), V("warten"), P(NEAR, "the gate")), "The fox waits near the gate.",
           "Der Fuchs wartet beim Tor.");
    expect(SAY(S("the fox"), V("warten"), P(WAIT_FOR, "the mouse")), "The fox waits for the mouse.",
           "Der Fuchs wartet auf die Maus.");
    expect(SAY(S("the king"), V("kaufen"), O("two hats"), P(FOR_SOMEONE, "the boy"), WAS),
           "The king bought two hats for the boy.", "Der König kaufte zwei Hüte für den Jungen.");
    expect(SAY(S("the child"), V("spielen"), P(WITH_SOMEONE, "the small dogs")), "The child plays with the small dogs.",
           "Das Kind spielt mit den kleinen Hunden.");
    expect(SAY(.subject = near(np("the man"), WITH_WORN, np("the black bag")), V("sitzen"), P(UNDER, "a tree")),
           "The man with the black bag sits under a tree.",
           "Der Mann mit der schwarzen Tasche sitzt unter einem Baum.");
    expect(SAY(S("the horse"), V("springen"), P(OVER_FENCE, "a high fence")), "The horse jumps over a high fence.",
           "Das Pferd springt über einen hohen Zaun.");
}

/* "bank" is told by what stands with it. */
static void test_senses(void **state) {
    (void)state;
    expect(SAY(S("the man"), V("tragen"), O("the money"), P(TO_BANK, "the bank=Bank")),
           "The man carries the money to the bank.", "Der Mann trägt das Geld zur Bank.");
    expect(SAY(S("the man"), V("tragen"), O("the boat"), P(TO_SHORE, "the bank=Ufer")),
           "The man carries the boat to the bank.", "Der Mann trägt das Boot zum Ufer.");
    expect(SAY(S("the dog"), V("schwimmen"), P(TO_SHORE, "the bank=Ufer")), "The dog swims to the bank.",
           "Der Hund schwimmt zum Ufer.");
    expect(SAY(S("the queen"), V("arbeiten"), P(IN_BANK, "the bank=Bank")), "The queen works in the bank.",
           "Die Königin arbeitet in der Bank.");
    expect(SAY(S("the queen"), V("sitzen"), P(ON_SHORE, "the bank=Ufer")), "The queen sits on the bank.",
           "Die Königin sitzt am Ufer.");
    expect(SAY(S("the cat"), V("sitzen"), P(ON, "the roof")), "The cat sits on the roof.",
           "Die Katze sitzt auf dem Dach.");
    expect(SAY(S("the child"), V("essen"), O("a egg")), "The child eats an egg.", "Das Kind isst ein Ei.");
    expect(SAY(S("the dog"), V("fressen"), O("a egg")), "The dog eats an egg.", "Der Hund frisst ein Ei.");
}

/* ---- verbs ---- */

static void test_order(void **state) {
    (void)state;
    expect(SAY(S("the child"), V("lesen"), O("a book"), FIRST("today")), "Today the child reads a book.",
           "Heute liest das Kind ein Buch.");
    expect(SAY(S("the child"), V("lesen"), O("a book"), LAST("today")), "The child reads a book today.",
           "Das Kind liest heute ein Buch.");
    expect(SAY(S("the children"), V("lesen"), O("the letters"), FIRST("in the evening")),
           "In the evening the children are reading the letters.", "Am Abend lesen die Kinder die Briefe.");
    expect(SAY(S("the children"), V("lesen"), O("the letters"), WAS), "The children were reading the letters.",
           "Die Kinder lasen die Briefe.");
    expect(SAY(S("the child"), V("lesen"), O("the letters"), WAS), "The child read the letters.",
           "Das Kind las die Briefe.");
    expect(SAY(S("the boy"), V("anmachen"), O("the lamp")), "The boy turns on the lamp.",
           "Der Junge macht die Lampe an.");
    expect(SAY(S("the boy"), V("ausmachen"), O("the radio"), NOT, WAS), "The boy didn't turn off the radio.",
           "Der Junge machte das Radio nicht aus.");
    expect(SAY(S("the boy"), V("anmachen"), O("the computer"), .modal = mod("will")),
           "The boy wants to turn on the computer.", "Der Junge will den Computer anmachen.");
    expect(SAY(S("the girls"), V("zurückkommen"), P(TO, "the house"), WAS), "The girls came back to the house.",
           "Die Mädchen kamen zum Haus zurück.");
    expect(SAY(S("the girl"), V("aufwachen"), NOT), "The girl doesn't wake up.", "Das Mädchen wacht nicht auf.");
    expect(SAY(S("the girls"), V("gehen"), P(ALONG_WATER, "the river"), .modal = mod("kann"), NOT, WAS),
           "The girls couldn't walk along the river.", "Die Mädchen konnten nicht am Fluss entlanggehen.");
    expect(SAY(S("the cow"), V("schlafen"), P(IN_FIELD, "the field"), NOT), "The cow doesn't sleep in the field.",
           "Die Kuh schläft nicht auf dem Feld.");
    expect(SAY(S("the cows"), V("folgen"), O("the dog"), NOT), "The cows don't follow the dog.",
           "Die Kühe folgen dem Hund nicht.");
    expect(SAY(S("the king"), V("öffnen"), O("the gate"), .modal = mod("wird"), .tense = FUTURE, FIRST("tomorrow")),
           "Tomorrow the king will open the gate.", "Morgen wird der König das Tor öffnen.");
    expect(SAY(S("the kings"), V("arbeiten"), .modal = mod("musste"), WAS), "The kings had to work.",
           "Die Könige mussten arbeiten.");
    expect(SAY(S("the dogs"), IS("tired"), NOT, .degree = &grammar_very), "The dogs are not very tired.",
           "Die Hunde sind nicht sehr müde.");
}

static void test_questions(void **state) {
    (void)state;
    expect(ASK(S("the dog"), V("sehen"), O("the cat")), "Does the dog see the cat?", "Sieht der Hund die Katze?");
    expect(ASK(S("the women"), V("öffnen"), O("the door"), WAS), "Did the women open the door?",
           "Öffneten die Frauen die Tür?");
    expect(ASK(S("the dog"), V("schwimmen"), .modal = mod("kann")), "Can the dog swim?", "Kann der Hund schwimmen?");
    expect(ASK(S("the goat"), V("überqueren"), O("the ice"), ING), "Is the goat crossing the ice?",
           "Überquert die Ziege das Eis?");
    expect(ASK(S("the man"), V("anmachen"), O("the lamp"), LAST("every day")),
           "Does the man turn on the lamp every day?", "Macht der Mann jeden Tag die Lampe an?");
    expect(WHQ(WHERE, S("the pigs"), V("schlafen"), WAS), "Where did the pigs sleep?", "Wo schliefen die Schweine?");
    expect(WHQ(WHY, S("the fox"), IS("hungry")), "Why is the fox hungry?", "Warum ist der Fuchs hungrig?");
    expect(WHQ(WHEN, S("the birds"), V("zurückkommen")), "When do the birds come back?",
           "Wann kommen die Vögel zurück?");
}

/* ---- several clauses ---- */

static void test_relatives(void **state) {
    (void)state;
    struct phrase *man = near(np("the old man"), NEAR, np("the bridge"));
    expect(SAY(.subject = rel(np("the dogs"), C(.subject = man, V("sehen"), .gap = OBJECT_GAP)), IS("tired")),
           "The dogs that the old man near the bridge sees are tired.",
           "Die Hunde, die der alte Mann bei der Brücke sieht, sind müde.");
    expect(SAY(.subject = rel(np("the dog"), C(S("the boy"), V("folgen"), .gap = OBJECT_GAP)), V("schlafen")),
           "The dog that the boy follows sleeps.", "Der Hund, dem der Junge folgt, schläft.");
    expect(SAY(.subject = rel(np("the mice"), C(S("the boy"), V("helfen"), .gap = OBJECT_GAP)), V("schlafen"), NOT),
           "The mice that the boy helps don't sleep.", "Die Mäuse, denen der Junge hilft, schlafen nicht.");
    expect(SAY(.subject = rel(np("the woman"), C(V("gehen"), P(ALONG_WATER, "the bank=Ufer"), ING, .gap = SUBJECT_GAP)),
               V("sehen"), O("a boat"), FIRST("now")),
           "Now the woman who is walking along the bank sees a boat.",
           "Jetzt sieht die Frau, die am Ufer entlanggeht, ein Boot.");
    expect(
        SAY(S("the king"), V("sehen"), .object = rel(np("the dog"), C(S("the queen"), V("lieben"), .gap = OBJECT_GAP))),
        "The king sees the dog that the queen loves.", "Der König sieht den Hund, den die Königin liebt.");
    expect(SAY(S("the king"), V("lesen"),
               .object = rel(np("the books"), C(S("the queen"), V("kaufen"), WAS, .gap = OBJECT_GAP)), WAS),
           "The king read the books that the queen bought.", "Der König las die Bücher, die die Königin kaufte.");
    expect(ASK(.subject = rel(np("the cow"), C(S("the farmers"), V("suchen"), .gap = OBJECT_GAP)), IS("sick")),
           "Is the cow that the farmers look for sick?", "Ist die Kuh, die die Bauern suchen, krank?");
    expect(SAY(.subject = rel(np("a child"), C(V("ausmachen"), O("the radio"), NOT, .gap = SUBJECT_GAP)), V("warten")),
           "A child who doesn't turn off the radio waits.", "Ein Kind, das das Radio nicht ausmacht, wartet.");
}

static void test_clauses(void **state) {
    (void)state;
    expect(TWO_PARTS(BEHIND_MAIN, sub("because"), C(S("the dog"), V("warten")),
                     C(S("the cat"), V("schwimmen"), .modal = mod("kann"), NOT)),
           "The dog waits because the cat can't swim.", "Der Hund wartet, weil die Katze nicht schwimmen kann.");
    expect(TWO_PARTS(BEFORE_MAIN, sub("when"), C(S("the mice"), V("spielen")), C(S("the cat"), V("schlafen"))),
           "When the cat sleeps, the mice play.", "Wenn die Katze schläft, spielen die Mäuse.");
    expect(
        TWO_PARTS(BEFORE_MAIN, sub("when"), C(S("the mice"), V("spielen"), WAS), C(S("the cat"), V("schlafen"), WAS)),
        "When the cat slept, the mice played.", "Als die Katze schlief, spielten die Mäuse.");
    expect(TWO_PARTS(BEHIND_MAIN, sub("if"), C(S("the man"), V("anmachen"), O("the lamp")),
                     C(S("the girl"), V("zurückkommen"))),
           "The man turns on the lamp if the girl comes back.",
           "Der Mann macht die Lampe an, wenn das Mädchen zurückkommt.");
    expect(TWO_PARTS(BEHIND_MAIN, &grammar_that, C(S("the women"), V("wissen")),
                     C(S("the boy"), V("ausmachen"), O("the lamp"))),
           "The women know that the boy turns off the lamp.", "Die Frauen wissen, dass der Junge die Lampe ausmacht.");
    expect(TWO_PARTS(BEHIND_MAIN, &grammar_that, C(S("the man"), V("glauben"), WAS),
                     C(S("the bridges"), IS("narrow"), WAS)),
           "The man thought that the bridges were narrow.", "Der Mann glaubte, dass die Brücken schmal waren.");
    expect(TWO_PARTS(JOINED, &grammar_and, C(S("the dog"), V("schlafen")), C(S("the cat"), V("spielen"))),
           "The dog sleeps and the cat plays.", "Der Hund schläft und die Katze spielt.");
    expect(
        TWO_PARTS(JOINED, &grammar_but, C(S("the dogs"), V("schlafen"), WAS), C(S("the cats"), V("spielen"), WAS, NOT)),
        "The dogs slept, but the cats didn't play.", "Die Hunde schliefen, aber die Katzen spielten nicht.");
    const struct phrase *man = np("the man");
    expect(TWO_PARTS(SHARED, &grammar_and, C(.subject = man, V("öffnen"), O("the door")),
                     C(.subject = man, V("gehen"), P(INTO, "the house"))),
           "The man opens the door and walks into the house.", "Der Mann öffnet die Tür und geht ins Haus.");
}

/* er, sie, es: of the subject or of the object, as the adjective tells. */
static void test_reasons(void **state) {
    (void)state;
#define CROSS(who, what, about, word)                                                                                  \
    TWO_PARTS(BEHIND_MAIN, sub("because"), C(S(who), V("überqueren"), O(what), NOT, WAS),                              \
              C(S(about), IS(word), .degree = &grammar_too, WAS))
    expect(CROSS("the animal", "the street", "it animal", "tired"),
           "The animal didn't cross the street because it was too tired.",
           "Das Tier überquerte die Straße nicht, weil es zu müde war.");
    expect(CROSS("the animal", "the street", "it street", "wide"),
           "The animal didn't cross the street because it was too wide.",
           "Das Tier überquerte die Straße nicht, weil sie zu breit war.");
    expect(CROSS("the dog", "the river", "it river", "wide"), "The dog didn't cross the river because it was too wide.",
           "Der Hund überquerte den Fluss nicht, weil er zu breit war.");
    expect(CROSS("the cat", "the field", "it field", "muddy"),
           "The cat didn't cross the field because it was too muddy.",
           "Die Katze überquerte das Feld nicht, weil es zu schlammig war.");
    expect(CROSS("the cat", "the field", "it cat", "hungry"),
           "The cat didn't cross the field because it was too hungry.",
           "Die Katze überquerte das Feld nicht, weil sie zu hungrig war.");
    expect(CROSS("the queen", "the bridge", "it queen", "tired"),
           "The queen didn't cross the bridge because she was too tired.",
           "Die Königin überquerte die Brücke nicht, weil sie zu müde war.");
    expect(CROSS("the boy", "the ice", "it ice", "thin"), "The boy didn't cross the ice because it was too thin.",
           "Der Junge überquerte das Eis nicht, weil es zu dünn war.");
    expect(CROSS("the horses", "the path", "it horses", "lazy"),
           "The horses didn't cross the path because they were too lazy.",
           "Die Pferde überquerten den Weg nicht, weil sie zu faul waren.");
    expect(TWO_PARTS(BEHIND_MAIN, sub("because"),
                     C(S("the goat"), V("springen"), P(OVER_FENCE, "the fence"), NOT, .modal = mod("will"), WAS),
                     C(S("it fence"), IS("high"), .degree = &grammar_too, WAS)),
           "The goat didn't want to jump over the fence because it was too high.",
           "Die Ziege wollte nicht über den Zaun springen, weil er zu hoch war.");
    expect(TWO_PARTS(BEHIND_MAIN, sub("although"),
                     C(S("a young fox"), V("überqueren"), O("the bridge"), FIRST("every day")),
                     C(S("it bridge"), IS("slippery"), .degree = &grammar_very)),
           "Every day a young fox crosses the bridge although it is very slippery.",
           "Jeden Tag überquert ein junger Fuchs die Brücke, obwohl sie sehr glatt ist.");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),     cmocka_unit_test(test_owners),  cmocka_unit_test(test_places),
        cmocka_unit_test(test_senses),    cmocka_unit_test(test_order),   cmocka_unit_test(test_questions),
        cmocka_unit_test(test_relatives), cmocka_unit_test(test_clauses), cmocka_unit_test(test_reasons),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
