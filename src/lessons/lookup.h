/* Brody et al.'s dictionary (2022): which kinds of attention find the key of a query's name. */
#ifndef LESSONS_LOOKUP_H
#define LESSONS_LOOKUP_H

#include "lessons/lesson.h"

enum { LOOKUP_DOT, LOOKUP_GAT, LOOKUP_GATV2, LOOKUP_KINDS };
enum { LOOKUP_KEYS = 8, LOOKUP_STEPS = 600 };

struct lookup {
    double right;                             /* of the queries of new dictionaries, a fraction */
    int rankings, favourites;                 /* how many different ones the queries of a dictionary have */
    float weights[LOOKUP_KEYS * LOOKUP_KEYS]; /* of that one; query i and key i have one name */
};

const char *lookup_name(int kind); /* for people, */
const char *lookup_key(int kind);  /* and for results */
bool lookup_learn(struct lesson_run *r, int kind, struct lookup *out);

#endif
