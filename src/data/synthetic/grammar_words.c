/* The words of the bilingual grammar. Dative plurals, articles and endings of adjectives follow by rule
 * (grammar_german.c), all else is said here. */
#include "data/synthetic/grammar.h"

#define COUNT(table) (int)(sizeof table / sizeof table[0])

/* clang-format off */

const struct noun grammar_nouns[] = {
    {"man",        "men",        MASCULINE, "Mann",      "Männer",      NULL,     "he",  PERSON | GROWN},
    {"woman",      "women",      FEMININE,  "Frau",      "Frauen",      NULL,     "she", PERSON | GROWN},
    {"child",      "children",   NEUTER,    "Kind",      "Kinder",      NULL,     NULL,  PERSON},
    {"boy",        "boys",       MASCULINE, "Junge",     "Jungen",      "Jungen", "he",  PERSON},
    {"girl",       "girls",      NEUTER,    "Mädchen",   "Mädchen",     NULL,     NULL,  PERSON},
    {"farmer",     "farmers",    MASCULINE, "Bauer",     "Bauern",      "Bauern", "he",  PERSON | GROWN},
    {"king",       "kings",      MASCULINE, "König",     "Könige",      NULL,     "he",  PERSON | GROWN},
    {"queen",      "queens",     FEMININE,  "Königin",   "Königinnen",  NULL,     "she", PERSON | GROWN},

    {"animal",     "animals",    NEUTER,    "Tier",      "Tiere",       NULL,     "it",  ANIMAL},
    {"dog",        "dogs",       MASCULINE, "Hund",      "Hunde",       NULL,     "it",  ANIMAL},
    {"cat",        "cats",       FEMININE,  "Katze",     "Katzen",      NULL,     "it",  ANIMAL},
    {"horse",      "horses",     NEUTER,    "Pferd",     "Pferde",      NULL,     "it",  ANIMAL},
    {"bird",       "birds",      MASCULINE, "Vogel",     "Vögel",       NULL,     "it",  ANIMAL | BIRD},
    {"cow",        "cows",       FEMININE,  "Kuh",       "Kühe",        NULL,     "it",  ANIMAL},
    {"pig",        "pigs",       NEUTER,    "Schwein",   "Schweine",    NULL,     "it",  ANIMAL},
    {"fox",        "foxes",      MASCULINE, "Fuchs",     "Füchse",      NULL,     "it",  ANIMAL},
    {"mouse",      "mice",       FEMININE,  "Maus",      "Mäuse",       NULL,     "it",  ANIMAL},
    {"goat",       "goats",      FEMININE,  "Ziege",     "Ziegen",      NULL,     "it",  ANIMAL},

    {"street",     "streets",    FEMININE,  "Straße",    "Straßen",     NULL,     "it",  WAY | WIDE | LONG | NARROW | SLIPPERY | MUDDY | STEEP | ALONG_WAY},
    {"bridge",     "bridges",    FEMININE,  "Brücke",    "Brücken",     NULL,     "it",  WAY | LONG | NARROW | SLIPPERY | UNDER | NEAR | TO},
    {"river",      "rivers",     MASCULINE, "Fluss",     "Flüsse",      NULL,     "it",  WAY | WIDE | MUDDY | IN_WATER | INTO | ABOVE | TO | ALONG_WATER},
    {"path",       "paths",      MASCULINE, "Weg",       "Wege",        NULL,     "it",  WAY | LONG | NARROW | SLIPPERY | MUDDY | STEEP | ALONG_WAY},
    {"field",      "fields",     NEUTER,    "Feld",      "Felder",      NULL,     "it",  WAY | WIDE | LONG | MUDDY | STEEP | IN_FIELD | INTO_FIELD | THROUGH | ABOVE},
    {"ice",        NULL,         NEUTER,    "Eis",       NULL,          NULL,     "it",  WAY | SLIPPERY | THIN | ONLY_THE},
    {"fence",      NULL,         MASCULINE, "Zaun",      NULL,          NULL,     "it",  FENCE | HIGH | BEHIND},
    {"wall",       NULL,         FEMININE,  "Mauer",     NULL,          NULL,     "it",  FENCE | WIDE | HIGH | BEHIND},
    {"gate",       NULL,         NEUTER,    "Tor",       NULL,          NULL,     "it",  FENCE | WIDE | NARROW | HIGH | OPENING | THROUGH | BEFORE | NEAR},

    {"house",      NULL,         NEUTER,    "Haus",      NULL,          NULL,     "it",  BUILDING | IN | INTO | BEHIND | BEFORE | NEAR | ABOVE | TO},
    {"garden",     NULL,         MASCULINE, "Garten",    NULL,          NULL,     "it",  IN | INTO | THROUGH | ABOVE},
    {"forest",     NULL,         MASCULINE, "Wald",      NULL,          NULL,     "it",  IN | INTO | THROUGH | ABOVE | TO},
    {"church",     NULL,         FEMININE,  "Kirche",    NULL,          NULL,     "it",  BUILDING | IN | INTO | BEHIND | BEFORE | NEAR | ABOVE | TO},
    {"school",     NULL,         FEMININE,  "Schule",    NULL,          NULL,     "it",  BUILDING | IN | INTO | BEHIND | BEFORE | NEAR | TO},
    {"tree",       NULL,         MASCULINE, "Baum",      NULL,          NULL,     "it",  UNDER | BEHIND | NEAR | TO},
    {"table",      NULL,         MASCULINE, "Tisch",     NULL,          NULL,     "it",  UNDER | ON},
    {"roof",       NULL,         NEUTER,    "Dach",      NULL,          NULL,     "it",  ON | ABOVE},
    {"window",     NULL,         NEUTER,    "Fenster",   NULL,          NULL,     "it",  OPENING | THROUGH},
    {"door",       NULL,         FEMININE,  "Tür",       NULL,          NULL,     "it",  OPENING | THROUGH | BEFORE},
    /* Three senses: money is carried to the first, the second lies by a river and so does the third. */
    {"bank",       NULL,         FEMININE,  "Bank",      NULL,          NULL,     "it",  IN_BANK | INTO | BEFORE | TO_BANK | ONLY_THE},
    {"bank",       NULL,         NEUTER,    "Ufer",      NULL,          NULL,     "it",  ON_SHORE | TO_SHORE | ALONG_WATER | ONLY_THE},
    {"river bank", NULL,         NEUTER,    "Flussufer", NULL,          NULL,     "it",  ON_SHORE | TO_SHORE | ALONG_WATER | ONLY_THE},

    {"book",       "books",      NEUTER,    "Buch",      "Bücher",      NULL,     "it",  PRINT},
    {"letter",     "letters",    MASCULINE, "Brief",     "Briefe",      NULL,     "it",  PRINT},
    {"newspaper",  "newspapers", FEMININE,  "Zeitung",   "Zeitungen",   NULL,     "it",  PRINT},
    {"apple",      "apples",     MASCULINE, "Apfel",     "Äpfel",       NULL,     "it",  FOOD},
    {"egg",        "eggs",       NEUTER,    "Ei",        "Eier",        NULL,     "it",  FOOD},
    {"carrot",     "carrots",    FEMININE,  "Karotte",   "Karotten",    NULL,     "it",  FOOD},
    {"hat",        "hats",       MASCULINE, "Hut",       "Hüte",        NULL,     "it",  GOODS | WORN},
    {"bag",        "bags",       FEMININE,  "Tasche",    "Taschen",     NULL,     "it",  GOODS | WORN},
    {"boat",       "boats",      NEUTER,    "Boot",      "Boote",       NULL,     "it",  GOODS | AFLOAT},
    {"lamp",       NULL,         FEMININE,  "Lampe",     NULL,          NULL,     "it",  DEVICE},
    {"radio",      NULL,         NEUTER,    "Radio",     NULL,          NULL,     "it",  DEVICE},
    {"computer",   NULL,         MASCULINE, "Computer",  NULL,          NULL,     "it",  DEVICE},
    {"money",      NULL,         NEUTER,    "Geld",      NULL,          NULL,     "it",  MONEY | ONLY_THE},
};
const int grammar_noun_count = COUNT(grammar_nouns);

/* What living things are said to be, no way is said to be: so the adjective tells what "it" stands for. */
const struct adjective grammar_adjectives[] = {
    {"old",       "alt",        "alt",     0, GROWN | ANIMAL | BUILDING | OPENING | FENCE | PRINT | GOODS | DEVICE, PRINT | GOODS | DEVICE},
    {"young",     "jung",       "jung",    0, GROWN | ANIMAL,                                              LIVING},
    {"small",     "klein",      "klein",   0, LIVING | BUILDING | OPENING | THING,                         THING},
    {"big",       "groß",       "groß",    0, LIVING | BUILDING | OPENING | THING,                         THING},
    {"new",       "neu",        "neu",     0, BUILDING | OPENING | PRINT | GOODS | DEVICE,                 PRINT | GOODS | DEVICE},
    {"wide",      "breit",      "breit",   0, WIDE,                                                        WIDE},
    {"long",      "lang",       "lang",    0, LONG,                                                        LONG},
    {"narrow",    "schmal",     "schmal",  0, NARROW,                                                      NARROW},
    {"high",      "hoch",       "hoh",     0, HIGH,                                                        HIGH},
    {"black",     "schwarz",    "schwarz", 1, ANIMAL | GOODS | DEVICE,                                     GOODS | DEVICE},
    {"white",     "weiß",       "weiß",    1, ANIMAL | GOODS | DEVICE,                                     GOODS | DEVICE},
    {"red",       "rot",        "rot",     1, GOODS | DEVICE | OPENING,                                    GOODS | DEVICE},
    {"tired",     "müde",       NULL,      0, 0, LIVING},
    {"weak",      "schwach",    NULL,      0, 0, LIVING},
    {"hungry",    "hungrig",    NULL,      0, 0, LIVING},
    {"sick",      "krank",      NULL,      0, 0, LIVING},
    {"lazy",      "faul",       NULL,      0, 0, LIVING},
    {"slow",      "langsam",    NULL,      0, 0, LIVING},
    {"dangerous", "gefährlich", NULL,      0, 0, WAY | FENCE},
    {"slippery",  "glatt",      NULL,      0, 0, SLIPPERY},
    {"muddy",     "schlammig",  NULL,      0, 0, MUDDY},
    {"steep",     "steil",      NULL,      0, 0, STEEP},
    {"thin",      "dünn",       NULL,      0, 0, THIN},
};
const int grammar_adjective_count = COUNT(grammar_adjectives);

const struct place grammar_places[] = {
    {"in",          "in",     DATIVE,     NULL,      IN,           IN},
    {"in",          "auf",    DATIVE,     NULL,      IN_FIELD,     IN_FIELD},
    {"in",          "in",     DATIVE,     NULL,      IN_WATER,     IN_WATER},
    {"in",          "in",     DATIVE,     NULL,      IN_BANK,      IN_BANK},
    {"under",       "unter",  DATIVE,     NULL,      UNDER,        UNDER},
    {"behind",      "hinter", DATIVE,     NULL,      BEHIND,       BEHIND},
    {"in front of", "vor",    DATIVE,     NULL,      BEFORE,       BEFORE},
    {"near",        "bei",    DATIVE,     NULL,      NEAR,         NEAR},
    {"on",          "auf",    DATIVE,     NULL,      ON,           ON},
    {"on",          "an",     DATIVE,     NULL,      ON_SHORE,     ON_SHORE},
    {"into",        "in",     ACCUSATIVE, NULL,      INTO,         INTO},
    {"into",        "auf",    ACCUSATIVE, NULL,      INTO_FIELD,   INTO_FIELD},
    {"through",     "durch",  ACCUSATIVE, NULL,      THROUGH,      THROUGH},
    {"over",        "über",   ACCUSATIVE, NULL,      OVER_FENCE,   FENCE},
    {"over",        "über",   ACCUSATIVE, NULL,      ABOVE,        ABOVE},
    {"to",          "zu",     DATIVE,     NULL,      TO,           TO},
    {"to",          "zu",     DATIVE,     NULL,      TO_SHORE,     TO_SHORE},
    {"to",          "zu",     DATIVE,     NULL,      TO_BANK,      TO_BANK},
    {"along",       "an",     DATIVE,     "entlang", ALONG_WATER,  ALONG_WATER},
    {"along",       "",       ACCUSATIVE, "entlang", ALONG_WAY,    ALONG_WAY},
    {"with",        "mit",    DATIVE,     NULL,      WITH_SOMEONE, LIVING},
    {"with",        "mit",    DATIVE,     NULL,      WITH_WORN,    WORN},
    {"for",         "auf",    ACCUSATIVE, NULL,      WAIT_FOR,     LIVING},
    {"for",         "für",    ACCUSATIVE, NULL,      FOR_SOMEONE,  PERSON},
};
const int grammar_place_count = COUNT(grammar_places);

#define SEEN (LIVING | WAY | FENCE | BUILDING | OPENING | THING)
const struct verb grammar_verbs[] = {
    {"see", "sees", "saw", NULL, NULL, {"sieht", "sehen", "sah", "sahen"}, NULL,
     LIVING, SEEN, 0, ACCUSATIVE, NO_PLACE, 0, false},
    {"love", "loves", "loved", NULL, NULL, {"liebt", "lieben", "liebte", "liebten"}, NULL,
     LIVING, LIVING, 0, ACCUSATIVE, NO_PLACE, 0, false},
    {"look", "looks", "looked", "looking", "for", {"sucht", "suchen", "suchte", "suchten"}, NULL,
     LIVING, LIVING | PRINT | FOOD | GOODS, 0, ACCUSATIVE, NO_PLACE, 0, false},
    {"find", "finds", "found", NULL, NULL, {"findet", "finden", "fand", "fanden"}, NULL,
     LIVING, LIVING | PRINT | FOOD | GOODS, 0, ACCUSATIVE, NO_PLACE, 0, false},
    {"follow", "follows", "followed", "following", NULL, {"folgt", "folgen", "folgte", "folgten"}, NULL,
     LIVING, LIVING, 0, DATIVE, NO_PLACE, 0, false},
    {"help", "helps", "helped", "helping", NULL, {"hilft", "helfen", "half", "halfen"}, NULL,
     PERSON, LIVING, 0, DATIVE, NO_PLACE, 0, false},
    {"read", "reads", "read", "reading", NULL, {"liest", "lesen", "las", "lasen"}, NULL,
     PERSON, PRINT, 0, ACCUSATIVE, NO_PLACE, 0, false},
    {"buy", "buys", "bought", "buying", NULL, {"kauft", "kaufen", "kaufte", "kauften"}, NULL,
     PERSON, THING, 0, ACCUSATIVE, MAYBE_PLACE, FOR_SOMEONE, false},
    {"carry", "carries", "carried", "carrying", NULL, {"trägt", "tragen", "trug", "trugen"}, NULL,
     PERSON, THING, 0, ACCUSATIVE, NO_PLACE, 0, false},
    {"carry", "carries", "carried", "carrying", NULL, {"trägt", "tragen", "trug", "trugen"}, NULL,
     PERSON, MONEY, 0, ACCUSATIVE, NEEDS_PLACE, TO_BANK, false},
    {"carry", "carries", "carried", "carrying", NULL, {"trägt", "tragen", "trug", "trugen"}, NULL,
     PERSON, AFLOAT, 0, ACCUSATIVE, NEEDS_PLACE, TO_SHORE, false},
    {"eat", "eats", "ate", "eating", NULL, {"isst", "essen", "aß", "aßen"}, NULL,
     PERSON, FOOD, 0, ACCUSATIVE, NO_PLACE, 0, false},
    {"eat", "eats", "ate", "eating", NULL, {"frisst", "fressen", "fraß", "fraßen"}, NULL,
     ANIMAL, FOOD, 0, ACCUSATIVE, NO_PLACE, 0, false},
    {"open", "opens", "opened", "opening", NULL, {"öffnet", "öffnen", "öffnete", "öffneten"}, NULL,
     PERSON, OPENING, 0, ACCUSATIVE, NO_PLACE, 0, false},
    {"cross", "crosses", "crossed", "crossing", NULL, {"überquert", "überqueren", "überquerte", "überquerten"}, NULL,
     LIVING, WAY, 0, ACCUSATIVE, NO_PLACE, 0, false},
    {"turn", "turns", "turned", "turning", "on", {"macht", "machen", "machte", "machten"}, "an",
     PERSON, DEVICE, 0, ACCUSATIVE, NO_PLACE, 0, false},
    {"turn", "turns", "turned", "turning", "off", {"macht", "machen", "machte", "machten"}, "aus",
     PERSON, DEVICE, 0, ACCUSATIVE, NO_PLACE, 0, false},
    {"give", "gives", "gave", "giving", NULL, {"gibt", "geben", "gab", "gaben"}, NULL,
     PERSON, PRINT | FOOD | GOODS, LIVING, ACCUSATIVE, NO_PLACE, 0, false},
    {"sleep", "sleeps", "slept", "sleeping", NULL, {"schläft", "schlafen", "schlief", "schliefen"}, NULL,
     LIVING, 0, 0, NOMINATIVE, MAYBE_PLACE, IN | IN_FIELD | UNDER | BEHIND | BEFORE | NEAR | ON, true},
    {"play", "plays", "played", "playing", NULL, {"spielt", "spielen", "spielte", "spielten"}, NULL,
     LIVING, 0, 0, NOMINATIVE, MAYBE_PLACE, IN | IN_FIELD | BEHIND | BEFORE | NEAR | WITH_SOMEONE, true},
    {"run", "runs", "ran", "running", NULL, {"läuft", "laufen", "lief", "liefen"}, NULL,
     LIVING, 0, 0, NOMINATIVE, MAYBE_PLACE, INTO | INTO_FIELD | THROUGH | TO | ALONG_WATER | ALONG_WAY, false},
    {"walk", "walks", "walked", "walking", NULL, {"geht", "gehen", "ging", "gingen"}, NULL,
     LIVING, 0, 0, NOMINATIVE, NEEDS_PLACE, INTO | INTO_FIELD | THROUGH | TO | ALONG_WATER | ALONG_WAY, false},
    {"swim", "swims", "swam", "swimming", NULL, {"schwimmt", "schwimmen", "schwamm", "schwammen"}, NULL,
     LIVING, 0, 0, NOMINATIVE, MAYBE_PLACE, IN_WATER | TO_SHORE, true},
    {"fly", "flies", "flew", "flying", NULL, {"fliegt", "fliegen", "flog", "flogen"}, NULL,
     BIRD, 0, 0, NOMINATIVE, MAYBE_PLACE, INTO | THROUGH | ABOVE | TO, false},
    {"sit", "sits", "sat", "sitting", NULL, {"sitzt", "sitzen", "saß", "saßen"}, NULL,
     LIVING, 0, 0, NOMINATIVE, NEEDS_PLACE, IN | UNDER | BEHIND | BEFORE | NEAR | ON | ON_SHORE, true},
    {"jump", "jumps", "jumped", "jumping", NULL, {"springt", "springen", "sprang", "sprangen"}, NULL,
     LIVING, 0, 0, NOMINATIVE, NEEDS_PLACE, INTO | THROUGH | OVER_FENCE, false},
    {"wait", "waits", "waited", "waiting", NULL, {"wartet", "warten", "wartete", "warteten"}, NULL,
     LIVING, 0, 0, NOMINATIVE, MAYBE_PLACE, IN | BEHIND | BEFORE | NEAR | WAIT_FOR, true},
    {"work", "works", "worked", "working", NULL, {"arbeitet", "arbeiten", "arbeitete", "arbeiteten"}, NULL,
     PERSON, 0, 0, NOMINATIVE, MAYBE_PLACE, IN | IN_FIELD | IN_BANK, true},
    {"wake", "wakes", "woke", NULL, "up", {"wacht", "wachen", "wachte", "wachten"}, "auf",
     LIVING, 0, 0, NOMINATIVE, MAYBE_PLACE, IN | UNDER, false},
    {"come", "comes", "came", "coming", "back", {"kommt", "kommen", "kam", "kamen"}, "zurück",
     LIVING, 0, 0, NOMINATIVE, MAYBE_PLACE, TO, false},
};
const int grammar_verb_count = COUNT(grammar_verbs);

const struct verb grammar_sayings[] = {
    {"know", "knows", "knew", NULL, NULL, {"weiß", "wissen", "wusste", "wussten"}, NULL,
     PERSON, 0, 0, NOMINATIVE, NO_PLACE, 0, false},
    {"say", "says", "said", NULL, NULL, {"sagt", "sagen", "sagte", "sagten"}, NULL,
     PERSON, 0, 0, NOMINATIVE, NO_PLACE, 0, false},
    {"think", "thinks", "thought", NULL, NULL, {"glaubt", "glauben", "glaubte", "glaubten"}, NULL,
     PERSON, 0, 0, NOMINATIVE, NO_PLACE, 0, false},
};
const int grammar_saying_count = COUNT(grammar_sayings);

const struct modal grammar_modals[] = {
    [MODAL_CAN] = {{"can", "can", "could"}, {"can't", "can't", "couldn't"},
                   {"kann", "können", "konnte", "konnten"}, true, PRESENT | PAST},
    [MODAL_WANT] = {{"wants to", "want to", "wanted to"}, {"doesn't want to", "don't want to", "didn't want to"},
                    {"will", "wollen", "wollte", "wollten"}, false, PRESENT | PAST},
    {{"must", "must", NULL}, {NULL, NULL, NULL}, {"muss", "müssen", NULL, NULL}, true, PRESENT},
    {{NULL, NULL, "had to"}, {NULL, NULL, NULL}, {NULL, NULL, "musste", "mussten"}, false, PAST},
    {{"will", "will", NULL}, {"won't", "won't", NULL}, {"wird", "werden", NULL, NULL}, true, FUTURE},
};
const int grammar_modal_count = COUNT(grammar_modals);

const struct adverb grammar_adverbs[] = {
    {"today",          "heute",     PRESENT | FUTURE,        false},
    {"now",            "jetzt",     PRESENT,                 false},
    {"yesterday",      "gestern",   PAST,                    false},
    {"tomorrow",       "morgen",    FUTURE,                  false},
    {"in the evening", "am Abend",  PRESENT | PAST | FUTURE, false},
    {"every day",      "jeden Tag", PRESENT | PAST,          true},
};
const int grammar_adverb_count = COUNT(grammar_adverbs);

const struct conjunction grammar_subordinators[] = {
    [BECAUSE]  = {"because",  "weil",   "weil",   PRESENT | PAST, true},
    [ALTHOUGH] = {"although", "obwohl", "obwohl", PRESENT | PAST, true},
    {"when", "wenn", "als", PRESENT | PAST, true},
    {"if",   "wenn", NULL,  PRESENT,        true},
};
const int grammar_subordinator_count = COUNT(grammar_subordinators);
const struct conjunction grammar_that = {"that", "dass", "dass", PRESENT | PAST, true};
const struct conjunction grammar_and = {"and", "und", "und", PRESENT | PAST | FUTURE, false};
const struct conjunction grammar_but = {"but", "aber", "aber", PRESENT | PAST | FUTURE, false};

const struct degree grammar_too = {"too", "zu"}, grammar_very = {"very", "sehr"};
const struct degree grammar_questions[] = {[WHY] = {"why", "warum"}, [WHEN] = {"when", "wann"}, [WHERE] = {"where", "wo"}};

/* clang-format on */
