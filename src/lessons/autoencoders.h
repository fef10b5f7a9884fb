/* What the lessons on autoencoders share: digits as numbers, small autoencoders of heed's own families that learn them,
 * and a judge that says of a picture which digit it shows, or that it shows none. */
#ifndef LESSONS_AUTOENCODERS_H
#define LESSONS_AUTOENCODERS_H

#include "heed/autoencode.h"
#include "lessons/lesson.h"

enum { DIGIT_EXAMPLES = 12000, DIGIT_TESTS = 1000 };
enum { DIGIT_SIDE = 28, DIGIT_PIXELS = DIGIT_SIDE * DIGIT_SIDE, DIGIT_KINDS = 10, NO_DIGIT = DIGIT_KINDS };

/* Digits that heed draws: x (n, DIGIT_PIXELS) from 0 to 1. */
struct digit_set {
    int64_t n;
    float *x;
    int32_t *label;
};

/* ---- autoencoders ---- dense, of digits */

struct autoencoder_opts {
    bool variational;
    int64_t latent;
    double beta; /* loss = mean over x of sum (x - x')^2 + beta sum (mu^2 + sigma^2 - log sigma^2 - 1) */
};
heed_model *autoencoder_new(struct lesson_run *r, const struct autoencoder_opts *opts);

struct autoencoder_course {
    const float *x; /* (n, height * width) of the model's pictures */
    int64_t n, steps;
    double lr;                  /* 0: what suits digits */
    heed_corruption corruption; /* of what it is given; the clean picture is to come out */
    const char *what;           /* is said meanwhile */
};
bool autoencoder_learn(struct lesson_run *r, heed_model *model, const struct autoencoder_course *course);
/* The mean over n pictures of sum (x - y)^2. */
double autoencoder_error(const float *x, const float *y, int64_t n);

/* ---- the judge ---- a network of one hidden layer with eleven answers. It has learnt digits, half of them blurred,
 * and that there is none in two digits on top of each other, in four quarters of four digits, and in noise. */

struct judge {
    heed_params *params;
    heed_mlp mlp;
};
void judge_close(struct lesson_run *r, struct judge *j);

/* Draws DIGIT_EXAMPLES to learn from and DIGIT_TESTS others; the judge learns. It is to be closed in any case. */
bool digits_open(struct lesson_run *r, struct digit_set *train, struct digit_set *test, struct judge *j);

struct verdict {
    double legible; /* the share of pictures that show a digit */
    double kinds;   /* how many digits there are among them: 2 to the entropy of the answers; 10 where all are equal */
};
/* Of pictures x (n, DIGIT_PIXELS). answers (n): a digit or NO_DIGIT; or NULL. */
bool judge_ask(struct lesson_run *r, const struct judge *j, const float *x, int64_t n, int32_t *answers,
               struct verdict *v);
/* The share of pictures in which two digits laid over each other, half of each, are taken for one: a baseline. */
double judge_blends(struct lesson_run *r, const struct judge *j, const struct digit_set *d);

#endif
