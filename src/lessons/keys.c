/* Keys and queries. Attention as a database: people are labelled by keys k_j = W_K x_j, a question becomes a query
 * q = W_Q x_q, and q'k_j is the score. Texts enter as bags of words. Both matrices are learnt from questions with
 * answers; then questions are asked that were not among them. Follows CISC 7026, University of Macau. */
#include "lessons/store.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SIZE = 8, STEPS = 300, MAX_PEOPLE = 12, MAX_QUESTIONS = 400, MAX_WORDS = 2000, WORD_SIZE = 24, MAX_ASKED = 20 };

static const char *const own[][2] = {
    {"play me a song", "Musician"},
    {"I want to dance", "Musician"},
    {"who sings in the band", "Musician"},
    {"I want to hear music", "Musician"},
    {"let us have a fun evening", "Musician"},
    {"the concert was fun", "Musician"},
    {"my landlord sued me", "Lawyer"},
    {"who helps me with a contract", "Lawyer"},
    {"I have to go to court", "Lawyer"},
    {"is that legal", "Lawyer"},
    {"I want to sue the company", "Lawyer"},
    {"is there milk in the shop", "Shopkeeper"},
    {"I need bread", "Shopkeeper"},
    {"where can I buy shoes", "Shopkeeper"},
    {"who sells batteries", "Shopkeeper"},
    {"I want to buy a present", "Shopkeeper"},
    {"what does it cost", "Shopkeeper"},
    {"I am hungry", "Chef"},
    {"cook me a dinner", "Chef"},
    {"I want to eat", "Chef"},
    {"who helps me in the kitchen", "Chef"},
    {"what is for lunch", "Chef"},
    {"help me to pass the exam", "Scientist"},
    {"explain gravity to me", "Scientist"},
    {"who helps me with my homework", "Scientist"},
    {"I must learn physics for my exam", "Scientist"},
    {"how do I solve this equation", "Scientist"},
    {"the exam is about atoms", "Scientist"},
    {"who helps me in my exam", ""},
    {"I want to have fun", ""},
};

struct base {
    int people, questions, asked, words;
    char (*word)[WORD_SIZE]; /* the vocabulary */
    const char *person[MAX_PEOPLE];
    const char **question;     /* those with answers, then those asked */
    int32_t *answer;           /* of those with answers */
    float *bags, *people_bags; /* (questions + asked, words), (people, words): 1 where the word occurs */
};

/* ---- texts ---- */

/* The next word of a text, in small letters; bytes beyond ASCII are letters. Returns what is left, NULL at the end. */
static const char *next_word(const char *text, char word[WORD_SIZE]) {
    size_t n = 0;
    while (*text && !isalnum((unsigned char)*text) && !((unsigned char)*text & 0x80)) text++;
    if (!*text) return NULL;
    for (; isalnum((unsigned char)*text) || ((unsigned char)*text & 0x80) || *text == '\''; text++)
        if (n + 1 < WORD_SIZE) word[n++] = (char)tolower((unsigned char)*text);
    word[n] = 0;
    return text;
}

static int find_word(const struct base *b, const char *word) {
    for (int i = 0; i < b->words; i++)
        if (strcmp(b->word[i], word) == 0) return i;
    return -1;
}

static bool learn_words(struct lesson_run *r, struct base *b, const char *text) {
    char word[WORD_SIZE];
    while ((text = next_word(text, word))) {
        if (find_word(b, word) >= 0) continue;
        if (b->words == MAX_WORDS)
            return heed_fail(r->cx, HEED_ERR_RANGE, "%s: more than %d different words", r->data, MAX_WORDS);
        memcpy(b->word[b->words++], word, WORD_SIZE);
    }
    return true;
}

static void fill_bag(const struct base *b, const char *text, float *bag) {
    char word[WORD_SIZE];
    while ((text = next_word(text, word))) bag[find_word(b, word)] = 1;
}

static int find_person(struct lesson_run *r, struct base *b, const char *name) {
    for (int i = 0; i < b->people; i++)
        if (strcmp(b->person[i], name) == 0) return i;
    if (b->people == MAX_PEOPLE) {
        heed_fail(r->cx, HEED_ERR_RANGE, "%s: more than %d different answers", r->data, MAX_PEOPLE);
        return -1;
    }
    b->person[b->people] = name;
    return b->people++;
}

/* ---- the table of questions and answers ---- */

/* Row i: its question and its answer, "" when it is to be asked. */
static bool read_row(struct lesson_run *r, const heed_table *t, int64_t i, const char *cells[2]) {
    for (int k = 0; k < 2; k++) {
        const char *cell = t ? heed_table_cell(r->cx, t, i, k) : own[i][k];
        cells[k] = t && cell ? lesson_text(r, cell, 0) : cell;
    }
    return cells[0] && cells[1];
}

static bool fill_base(struct lesson_run *r, const heed_table *t, struct base *b) {
    const int64_t rows = t ? heed_table_rows(t) : (int64_t)(sizeof own / sizeof own[0]);
    if (t && heed_table_columns(t) != 2)
        return heed_fail(r->cx, HEED_ERR_FORMAT, "%s: %lld columns, the lesson takes two (question, answer)", r->data,
                         (long long)heed_table_columns(t));
    if (rows < 2 || rows > MAX_QUESTIONS)
        return heed_fail(r->cx, HEED_ERR_RANGE, "%s: %lld questions, the lesson takes 2 to %d", r->data,
                         (long long)rows, MAX_QUESTIONS);
    b->word = lesson_room(r, MAX_WORDS, sizeof *b->word);
    b->question = lesson_room(r, rows, sizeof *b->question);
    b->answer = lesson_room(r, rows, sizeof *b->answer);
    if (heed_failed(r->cx)) return false;
    for (int pass = 0; pass < 2; pass++) /* first those with answers */
        for (int64_t i = 0; i < rows; i++) {
            const char *cells[2];
            if (!read_row(r, t, i, cells)) return false;
            if (i == 0 && strcmp(cells[0], "question") == 0 && strcmp(cells[1], "answer") == 0) continue;
            if ((*cells[1] == 0) != (pass == 1)) continue;
            const int person = pass ? 0 : find_person(r, b, cells[1]);
            if (person < 0 || !learn_words(r, b, cells[0]) || !learn_words(r, b, cells[1])) return false;
            b->question[b->questions + b->asked] = cells[0];
            if (pass == 0) b->answer[b->questions] = person;
            *(pass ? &b->asked : &b->questions) += 1;
        }
    if (b->people < 2) return heed_fail(r->cx, HEED_ERR_FORMAT, "%s: fewer than two different answers", r->data);
    if (b->asked < 1 || b->asked > MAX_ASKED)
        return heed_fail(r->cx, HEED_ERR_FORMAT, "%s: %d questions without an answer, which are asked: must be 1 to %d",
                         r->data, b->asked, MAX_ASKED);
    b->bags = lesson_room(r, (int64_t)(b->questions + b->asked) * b->words, sizeof *b->bags);
    b->people_bags = lesson_room(r, (int64_t)b->people * b->words, sizeof *b->people_bags);
    if (heed_failed(r->cx)) return false;
    for (int i = 0; i < b->questions + b->asked; i++) fill_bag(b, b->question[i], b->bags + (int64_t)i * b->words);
    for (int i = 0; i < b->people; i++) fill_bag(b, b->person[i], b->people_bags + (int64_t)i * b->words);
    return true;
}

static bool open_base(struct lesson_run *r, struct base *b) {
    heed_table *t = r->data ? lesson_open(r, HEED_HEADER_NO) : NULL;
    const bool ok = (t || !r->data) && fill_base(r, t, b);
    heed_table_close(t);
    return ok;
}

/* ---- keys and queries ---- */

struct matrices {
    heed_params *params;
    heed_linear_layer key, query; /* W_K, W_Q: (SIZE, words) */
    heed_trainer *trainer;
};

/* Scores of n bags of words against the keys of all people: (1, n, people) */
static heed_tensor *scores_of(heed_ctx *cx, const struct base *b, const struct matrices *m, const float *bags,
                              int64_t n) {
    heed_tensor *x = heed_from_f32(cx, bags, 3, (int64_t[]){1, n, b->words});
    heed_tensor *people = heed_from_f32(cx, b->people_bags, 3, (int64_t[]){1, b->people, b->words});
    heed_tensor *q = heed_linear_run(cx, &m->query, x, HEED_ACT_NONE),
                *k = heed_linear_run(cx, &m->key, people, HEED_ACT_NONE);
    return heed_scores(cx, q, k, &(heed_score_opts){.kind = HEED_SCORE_DOT});
}

static bool learn(struct lesson_run *r, const struct base *b, struct matrices *m, float *loss) {
    heed_ctx *cx = r->cx;
    m->params = heed_params_new(cx);
    if (!heed_linear_make(cx, m->params, "W_K", b->words, SIZE, false, &m->key) ||
        !heed_linear_make(cx, m->params, "W_Q", b->words, SIZE, false, &m->query))
        return false;
    m->key.weight->init = m->query.weight->init = (heed_init){HEED_INIT_NORMAL, 0, 0.3f};
    if (!heed_params_allocate(cx, m->params) || !heed_params_init(cx, m->params, r->seed)) return false;
    /* decay: words that tell nothing are to say nothing */
    const heed_trainer_opts opts = {.optimizer = {.kind = HEED_ADAMW, .weight_decay = 1.0},
                                    .schedule = {.kind = HEED_LINEAR, .lr = 0.03, .steps = STEPS}};
    m->trainer = heed_trainer_new(cx, m->params, &opts);
    for (int step = 0; m->trainer && step < STEPS && !heed_failed(cx); step++) {
        heed_trainer_begin(cx, m->trainer);
        heed_tensor *wanted = heed_from_i32(cx, b->answer, 2, (int64_t[]){1, b->questions});
        heed_tensor *l = heed_cross_entropy(cx, scores_of(cx, b, m, b->bags, b->questions), wanted, NULL);
        loss[step] = lesson_learn(cx, m->trainer, l);
    }
    return !heed_failed(cx);
}

static float *answers_of(struct lesson_run *r, const struct base *b, const struct matrices *m, const float *bags,
                         int64_t n, bool weights) {
    heed_tensor *scores = scores_of(r->cx, b, m, bags, n);
    float *out = numbers_of(r, weights ? heed_normalise(r->cx, scores, HEED_NORMALISE_SOFTMAX, NULL) : scores);
    heed_reset(r->cx);
    return out;
}

/* ---- words and pictures ---- */

/* Which word says most for the answer to each question. */
static void say_words(struct lesson_run *r, const struct base *b, const struct matrices *m, const float *scores) {
    for (int i = 0; i < b->asked && i < 2; i++) {
        const int64_t best = lesson_winner(scores + (int64_t)i * b->people, b->people);
        char word[WORD_SIZE], most[WORD_SIZE] = "";
        float score = 0;
        for (const char *text = b->question[b->questions + i]; (text = next_word(text, word));) {
            float *bag = lesson_room(r, b->words, sizeof *bag);
            if (!bag) return;
            bag[find_word(b, word)] = 1;
            const float *alone = answers_of(r, b, m, bag, 1, false);
            if (!alone) return;
            if (!*most || alone[best] > score) score = alone[best], snprintf(most, sizeof most, "%s", word);
        }
        lesson_say(r, "The words of '%.200s' add up to a score of %.1f for %s; '%s' alone says %.1f of it.",
                   b->question[b->questions + i], (double)scores[(int64_t)i * b->people + best], b->person[best], most,
                   (double)score);
    }
}

/* The words of the asked questions, each asked alone: what it adds to everybody's score. */
static void print_words(struct lesson_run *r, const struct base *b, const struct matrices *m) {
    enum { MOST = 24 };
    float *single = lesson_room(r, (int64_t)b->words * b->words, sizeof *single);
    int *seen = lesson_room(r, b->words, sizeof *seen), n = 0;
    const char *rows[MOST];
    if (!single || !seen) return;
    for (int i = 0; i < b->asked; i++) {
        char word[WORD_SIZE];
        for (const char *text = b->question[b->questions + i]; n < MOST && (text = next_word(text, word));) {
            const int at = find_word(b, word);
            if (seen[at]++) continue;
            single[(int64_t)n * b->words + at] = 1;
            rows[n++] = b->word[at];
        }
    }
    const float *scores = answers_of(r, b, m, single, n, false);
    if (!scores) return;
    heed_terminal how = r->terminal;
    how.title = "Scores q'k of the words, each on its own";
    lesson_show(
        r, heed_terminal_heatmap(
               r->cx, scores, n, b->people,
               &(heed_heatmap){.map = HEED_MAP_DIVERGING, .row_names = rows, .col_names = b->person, .numbers = true},
               &how));
    heed_figure *f = lesson_figure(r, 200 + 50 * (double)b->people, 90 + 22 * (double)n);
    heed_panel *p = heed_figure_panel(f, 0, 0);
    heed_panel_title(p, "What each word asks for: q'k");
    heed_panel_heatmap(p, scores, n, b->people,
                       &(heed_heatmap){.map = HEED_MAP_DIVERGING,
                                       .row_names = rows,
                                       .col_names = b->person,
                                       .numbers = b->people <= 8,
                                       .scale_label = "score",
                                       .stretch = true});
    lesson_picture(r, f, "keys-and-queries-words");
    map_table(r, "keys-and-queries-words", rows, b->person, "score", scores, n, b->people);
}

static void show_answers(struct lesson_run *r, const struct base *b, const float *weights, const float *scores) {
    const int shown = b->asked < 4 ? b->asked : 4;
    heed_figure *f = lesson_figure(r, 340 * (double)shown + 20, 100 + 28 * (double)b->people);
    heed_figure_grid(f, 1, shown);
    for (int i = 0; i < b->asked; i++) {
        const float *w = weights + (int64_t)i * b->people;
        const int64_t best = lesson_winner(w, b->people);
        char name[48], title[256];
        heed_terminal how = r->terminal;
        snprintf(title, sizeof title, "'%.200s'", b->question[b->questions + i]);
        how.title = title;
        lesson_show(r, heed_terminal_bars(r->cx, b->person, w, b->people, &how));
        lesson_line(r, "  -> %s, weight %.2f, score %.1f\n", b->person[best], (double)w[best],
                    (double)scores[i * b->people + best]);
        snprintf(name, sizeof name, "answer_%d", i + 1);
        lesson_result(r, name, (double)best);
        snprintf(name, sizeof name, "weight_%d", i + 1);
        lesson_result(r, name, (double)w[best]);
        if (i >= shown) continue;
        heed_panel *p = heed_figure_panel(f, 0, i);
        heed_panel_title(p, title);
        heed_panel_limits_x(p, 0, 1.15);
        heed_panel_hbars(p, b->person, w, b->people,
                         &(heed_style){.numbers = true, .color = i % 2 ? HEED_COLOR_ORANGE : HEED_COLOR_BLUE});
    }
    lesson_picture(r, f, "keys-and-queries");
    map_table(r, "keys-and-queries", b->question + b->questions, b->person, "weight", weights, b->asked, b->people);
}

static void draw_all(struct lesson_run *r, const struct base *b, const float *weights) {
    if (b->questions <= 60) {
        heed_figure *f = lesson_figure(r, 330 + 50 * (double)b->people, 90 + 15 * (double)b->questions);
        heed_panel *p = heed_figure_panel(f, 0, 0);
        heed_panel_title(p, "The questions it learnt from");
        heed_panel_heatmap(
            p, weights, b->questions, b->people,
            &(heed_heatmap){
                .high = 1, .row_names = b->question, .col_names = b->person, .scale_label = "weight", .stretch = true});
        lesson_picture(r, f, "keys-and-queries-learnt");
    }
    map_table(r, "keys-and-queries-learnt", b->question, b->person, "weight", weights, b->questions, b->people);
}

static void study(struct lesson_run *r, const struct base *b, struct matrices *m) {
    float loss[STEPS];
    lesson_say(
        r,
        "Attention as a database. Everybody has a key, k = W_K x; a question becomes a query, q = W_Q x; the "
        "score q'k says how well they fit. W_K and W_Q map words to %d numbers. They are learnt from %d questions "
        "with known answers.",
        SIZE, b->questions);
    if (r->data)
        lesson_line(r, "%s: %d questions with answers, %d without, %d different words.\n", r->data, b->questions,
                    b->asked, b->words);
    if (!learn(r, b, m, loss)) return;
    const float *weights = answers_of(r, b, m, b->bags, b->questions + b->asked, true);
    const float *scores = answers_of(r, b, m, b->bags, b->questions + b->asked, false);
    if (!weights || !scores) return;
    int right = 0;
    for (int i = 0; i < b->questions; i++) right += lesson_winner(weights + i * b->people, b->people) == b->answer[i];
    lesson_line(r, "loss %.2f at first, %.2f after %d steps; answers right: %d of %d\n", (double)loss[0],
                (double)loss[STEPS - 1], STEPS, right, b->questions);
    lesson_result(r, "right", right);
    lesson_result(r, "questions", b->questions);
    lesson_say(r, "Now questions that were not among them:");
    show_answers(r, b, weights + b->questions * b->people, scores + b->questions * b->people);
    print_words(r, b, m);
    draw_all(r, b, weights);
    say_words(r, b, m, scores + b->questions * b->people);
    lesson_say(r,
               "Questions and people are vectors in one space of %d dimensions, compared by the dot product; what "
               "the dimensions mean was learnt too.",
               SIZE);
}

static void run(struct lesson_run *r) {
    struct base *b = lesson_room(r, 1, sizeof *b);
    struct matrices m = {.params = NULL};
    if (!b || !open_base(r, b)) return;
    study(r, b, &m);
    heed_trainer_free(r->cx, m.trainer);
    heed_params_free(r->cx, m.params);
}

const struct lesson keys_lesson = {
    .name = "keys-and-queries",
    .summary = "attention as a database: who helps me in my exam, who when I want to have fun",
    .data = "a table of question, answer; rows without an answer are asked",
    .run = run,
};
