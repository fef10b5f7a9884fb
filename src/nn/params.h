/* A parameter set from the inside. */
#ifndef NN_PARAMS_H
#define NN_PARAMS_H

#include "heed/nn.h"

struct heed_params {
    heed_param **list;
    int n, cap;
    float *block;
    int64_t numbers;
    char **ignored; /* names in files that are not read */
    int n_ignored;
};

#endif
