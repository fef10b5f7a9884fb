/* From the words of a caption to what it asks for. */
#include "data/captions/caption.h"
#include "io/text.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { MOST_WORDS = 64, LONGEST_WORD = 64 };

enum word_kind {
    UNKNOWN,
    ARTICLE,
    SIZE,
    COLOUR,
    SHAPE,
    RELATION,
    COLUMN,
    ROW,
    CENTRE,
    PREPOSITION,
    OF,
    CORNER,
    AND,
    IS,
    THERE,
    PICTURE,
};

struct caption_word {
    enum word_kind kind;
    int value;
    char text[LONGEST_WORD];
};

struct caption_reader {
    heed_ctx *cx;
    struct caption_word word[MOST_WORDS + 1]; /* UNKNOWN at the end */
    int n, at;
    heed_caption *out;
};

/* ---- words ---- */

static const struct {
    const char *text;
    enum word_kind kind;
    int value;
} others[] = {
    {"a", ARTICLE, 0},
    {"an", ARTICLE, 0},
    {"the", ARTICLE, 0},
    {"one", ARTICLE, 0},
    {"shape", SHAPE, UNSAID},
    {"thing", SHAPE, UNSAID},
    {"object", SHAPE, UNSAID},
    {"left", COLUMN, CAPTION_LOW},
    {"right", COLUMN, CAPTION_HIGH},
    {"top", ROW, CAPTION_LOW},
    {"upper", ROW, CAPTION_LOW},
    {"bottom", ROW, CAPTION_HIGH},
    {"lower", ROW, CAPTION_HIGH},
    {"middle", CENTRE, 0},
    {"center", CENTRE, 0},
    {"centre", CENTRE, 0},
    {"in", PREPOSITION, 0},
    {"at", PREPOSITION, 0},
    {"on", PREPOSITION, 0},
    {"to", PREPOSITION, 0},
    {"of", OF, 0},
    {"corner", CORNER, 0},
    {"side", CORNER, 0},
    {"half", CORNER, 0},
    {"edge", CORNER, 0},
    {"and", AND, 0},
    {"is", IS, 0},
    {"are", IS, 0},
    {"there", THERE, 0},
    {"picture", PICTURE, 0},
    {"image", PICTURE, 0},
    {"drawing", PICTURE, 0},
    {"photo", PICTURE, 0},
};

static bool is_among(const struct caption_words *w, const char *text) {
    for (int k = 0; w->word[k]; k++)
        if (strcmp(w->word[k], text) == 0) return true;
    return false;
}

static void look_up(struct caption_word *w) {
    for (int k = 0; k < CAPTION_SHAPES; k++)
        if (is_among(&caption_shape_words[caption_shapes[k]], w->text))
            w->kind = SHAPE, w->value = (int)caption_shapes[k];
    for (int k = 0; k < CAPTION_COLOURS; k++)
        if (strcmp(scene_colour_names[caption_colours[k]], w->text) == 0)
            w->kind = COLOUR, w->value = caption_colours[k];
    for (int k = 0; k < 2; k++)
        if (is_among(&caption_size_words[k], w->text)) w->kind = SIZE, w->value = k;
    for (int k = 0; k < CAPTION_RELATIONS; k++)
        if (is_among(&caption_relation_words[k], w->text)) w->kind = RELATION, w->value = k;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(others[i].text, w->text) == 0) w->kind = others[i].kind, w->value = others[i].value;
}

/* Words in lower case, without the punctuation between them. */
static bool cut(struct caption_reader *r, const char *text) {
    static const char between[] = " \t\r\n.,;:!?\"'()";
    for (text += strspn(text, between); *text; text += strspn(text, between)) {
        const size_t length = strcspn(text, between);
        if (r->n == MOST_WORDS) return heed_fail(r->cx, HEED_ERR_FORMAT, "caption: more than %d words", MOST_WORDS);
        struct caption_word *w = &r->word[r->n++];
        snprintf(w->text, sizeof w->text, "%.*s", length < LONGEST_WORD ? (int)length : LONGEST_WORD - 1, text);
        for (char *c = w->text; *c; c++)
            if (*c >= 'A' && *c <= 'Z') *c = (char)(*c - 'A' + 'a');
        if (length < LONGEST_WORD) look_up(w);
        text += length;
    }
    return r->n > 0 || heed_fail(r->cx, HEED_ERR_FORMAT, "caption: there are no words");
}

/* All of them at once, each once. */
static bool check_words(const struct caption_reader *r) {
    char list[400] = "";
    int unknown = 0;
    for (int i = 0; i < r->n; i++) {
        bool again = r->word[i].kind != UNKNOWN;
        for (int k = 0; k < i && !again; k++) again = strcmp(r->word[k].text, r->word[i].text) == 0;
        if (again) continue;
        const size_t n = strlen(list);
        if (n + LONGEST_WORD + 4 < sizeof list)
            snprintf(list + n, sizeof list - n, "%s'%.60s'", n > 0 ? ", " : "", escaped(r->word[i].text).s);
        unknown++;
    }
    return unknown == 0 ||
           heed_fail(
               r->cx, HEED_ERR_FORMAT,
               "caption: unknown word%s %s: captions name a circle, cross, square or triangle that is black, blue, "
               "green, purple, red or yellow, small or large, and where it is",
               unknown > 1 ? "s" : "", list);
}

static const struct caption_word *now(const struct caption_reader *r) { return &r->word[r->at]; }
static bool is_next(const struct caption_reader *r, enum word_kind kind) {
    return r->at < r->n && now(r)->kind == kind;
}
static bool take(struct caption_reader *r, enum word_kind kind) { return is_next(r, kind) && ++r->at; }

static bool unfit(const struct caption_reader *r) {
    if (r->at == r->n) return heed_fail(r->cx, HEED_ERR_FORMAT, "caption: it ends before it is complete");
    return heed_fail(r->cx, HEED_ERR_FORMAT, "caption: word %d, '%s', does not fit what is before it", r->at + 1,
                     escaped(now(r)->text).s);
}

/* ---- the grammar ---- */

static bool set(const struct caption_reader *r, int *to, int value) {
    if (*to != UNSAID) return unfit(r);
    *to = value;
    return true;
}

static bool read_thing(struct caption_reader *r) {
    if (r->out->things == HEED_CAPTION_THINGS)
        return heed_fail(r->cx, HEED_ERR_FORMAT, "caption: more than two things");
    heed_caption_thing *t = &r->out->thing[r->out->things++];
    *t = (heed_caption_thing){UNSAID, UNSAID, UNSAID, UNSAID, UNSAID};
    for (take(r, ARTICLE); is_next(r, SIZE) || is_next(r, COLOUR); r->at++)
        if (!set(r, now(r)->kind == SIZE ? &t->size : &t->colour, now(r)->value)) return false;
    if (!is_next(r, SHAPE)) return unfit(r);
    t->shape = r->word[r->at++].value;
    return true;
}

static bool read_other(struct caption_reader *r, int relation) {
    if (r->out->things == HEED_CAPTION_THINGS)
        return heed_fail(r->cx, HEED_ERR_FORMAT, "caption: more than two things");
    r->out->relation = relation;
    return read_thing(r);
}

/* "the top left corner": what it says of column and row. */
static bool read_directions(struct caption_reader *r, heed_caption_thing *place) {
    const int first = r->at;
    bool centre = false;
    for (; is_next(r, COLUMN) || is_next(r, ROW) || is_next(r, CENTRE); r->at++) {
        if (now(r)->kind == CENTRE) {
            if (centre) return unfit(r);
            centre = true;
        } else if (!set(r, now(r)->kind == COLUMN ? &place->column : &place->row, now(r)->value)) {
            return false;
        }
    }
    if (r->at == first || (centre && place->column != UNSAID && place->row != UNSAID)) return unfit(r);
    if (centre && place->column == UNSAID) place->column = CAPTION_MIDDLE;
    if (centre && place->row == UNSAID) place->row = CAPTION_MIDDLE;
    return take(r, CORNER) || true;
}

/* "in the top left corner (of the picture)", or "to the left of" and another thing. */
static bool read_place(struct caption_reader *r) {
    heed_caption_thing place = {.column = UNSAID, .row = UNSAID}, *t = &r->out->thing[r->out->things - 1];
    take(r, PREPOSITION);
    take(r, ARTICLE);
    if (!read_directions(r, &place)) return false;
    if (take(r, OF)) {
        const int before = r->at;
        take(r, ARTICLE);
        if (!take(r, PICTURE)) {
            r->at = before;
            if ((place.column == UNSAID) == (place.row == UNSAID)) return unfit(r);
            const bool beside = place.row == UNSAID;
            return read_other(r, (beside ? CAPTION_LEFT : CAPTION_ABOVE) +
                                     ((beside ? place.column : place.row) == CAPTION_HIGH));
        }
    }
    if (t->column != UNSAID || t->row != UNSAID)
        return heed_fail(r->cx, HEED_ERR_FORMAT, "caption: two places of one thing");
    t->column = place.column;
    t->row = place.row;
    return true;
}

static void read_lead(struct caption_reader *r) {
    if (take(r, THERE)) take(r, IS);
    const int before = r->at;
    take(r, ARTICLE);
    if (!take(r, PICTURE) || !take(r, OF)) r->at = before;
}

static bool read_caption(struct caption_reader *r) {
    read_lead(r);
    if (!read_thing(r)) return false;
    while (r->at < r->n) {
        take(r, IS);
        if (take(r, AND)) {
            if (!read_other(r, UNSAID)) return false;
        } else if (is_next(r, RELATION)) {
            if (!read_other(r, r->word[r->at++].value)) return false;
        } else if (!read_place(r)) {
            return false;
        }
    }
    return true;
}

bool heed_caption_parse(heed_ctx *cx, const char *text, heed_caption *out) {
    if (heed_failed(cx)) return false;
    if (!text || !out) return heed_fail(cx, HEED_ERR_USAGE, "caption: the text or the place for it is NULL");
    struct caption_reader r = {.cx = cx, .out = out};
    *out = (heed_caption){.relation = UNSAID};
    return cut(&r, text) && check_words(&r) && read_caption(&r);
}
