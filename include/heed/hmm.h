/* heed/hmm.h: hidden Markov models (Rabiner 1989): a chain of states that nobody sees, each of which emits a symbol.
 *
 *     heed_hmm *h = heed_hmm_new(cx, 2, 3);                      two states, three symbols, all equally likely
 *     ... h->initial, h->transition, h->emission ...
 *     heed_hmm_viterbi(cx, h, symbols, n, path, NULL);           the likeliest states
 *
 * All numbers are doubles, scaled step by step, so that long sequences do not underflow. */
#ifndef HEED_HMM_H
#define HEED_HMM_H

#include "heed/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct heed_hmm {
    int64_t states, symbols;
    double *initial;    /* (states) */
    double *transition; /* (states, states): from a state to the next */
    double *emission;   /* (states, symbols) */
} heed_hmm;

HEED_API heed_hmm *heed_hmm_new(heed_ctx *cx, int64_t states, int64_t symbols);
HEED_API void heed_hmm_free(heed_ctx *cx, heed_hmm *h);
/* Makes probabilities of counts: every row is divided by its sum; one without any count becomes uniform. */
HEED_API void heed_hmm_normalise(heed_hmm *h);
/* Probabilities drawn by chance near the uniform ones, to begin learning with. */
HEED_API void heed_hmm_draw(heed_hmm *h, uint64_t seed);

/* Forward-backward: ln P(symbols), and, unless NULL, the probability of each state at each place, posterior (n,
 * states). -INFINITY: the model cannot emit them; the posterior is then uniform. NAN: the context has failed. */
HEED_API double heed_hmm_forward(heed_ctx *cx, const heed_hmm *h, const int32_t *symbol, int64_t n, double *posterior);
/* The likeliest states (Viterbi 1967): path (n); ln P(path, symbols) in *log_probability, which may be NULL. */
HEED_API bool heed_hmm_viterbi(heed_ctx *cx, const heed_hmm *h, const int32_t *symbol, int64_t n, int32_t *path,
                               double *log_probability);
/* One step of Baum-Welch (Baum et al. 1970) over n sequences, sequence i being symbol[start[i]] up to start[i + 1].
 * Gives ln P of all of them before the step, which a step never makes smaller. */
HEED_API bool heed_hmm_baum_welch(heed_ctx *cx, heed_hmm *h, const int32_t *symbol, const int64_t *start, int64_t n,
                                  double *log_probability);

#ifdef __cplusplus
}
#endif
#endif
