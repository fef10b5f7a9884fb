/* heed train --teacher-forcing, --scheduled-sampling: which tokens a decoder reads while it is trained. */
#include "task/run.h"
#include <string.h>

/* clang-format off */
const heed_field forcing_fields[] = {
    {.name = "teacher forcing", .kind = HEED_FIELD_GROUP},
    {.name = "teacher-forcing", .kind = HEED_FIELD_NUMBER, .value = "P", .high = 1,
     .help = "for recurrent models: probability that the decoder is given the true previous token instead of the one that "
             "it predicted; 1, the default: teacher forcing; 0: free running (Williams & Zipser 1989). With "
             "--scheduled-sampling the lowest value that it falls to, by default 0"},
    {.name = "scheduled-sampling", .kind = HEED_FIELD_CHOICE, .value = "KIND",
     .choices = "linear exponential inverse-sigmoid",
     .help = "let that probability fall from 1 with the number of updates i (Bengio et al. 2015): linear, 1 - K i; "
             "exponential, K^i; inverse-sigmoid, K / (K + exp(i / K)); one of"},
    {.name = "sampling-decay", .kind = HEED_FIELD_NUMBER, .value = "K", .low = 1e-12, .high = 1e12,
     .help = "K of --scheduled-sampling; by default the one that spreads the decay over all updates"},
    {.name = NULL},
};
/* clang-format on */

static heed_forcing_kind kind_of(const heed_run *r) {
    const char *const name = run_text(r, "scheduled-sampling");
    if (!name) return HEED_FORCING_CONSTANT;
    if (strcmp(name, "linear") == 0) return HEED_FORCING_LINEAR;
    return strcmp(name, "exponential") == 0 ? HEED_FORCING_EXPONENTIAL : HEED_FORCING_INVERSE_SIGMOID;
}

static bool is_asked(const heed_run *r) {
    return run_knows(r, "teacher-forcing") && (run_given(r, "teacher-forcing") || run_given(r, "scheduled-sampling"));
}

bool run_forcing_fits(const heed_run *r) {
    const heed_head *const head = heed_head_for(r->family, run_head(r));
    if (!run_knows(r, "teacher-forcing")) return true;
    const heed_forcing_kind kind = kind_of(r);
    const bool decays = run_given(r, "sampling-decay");
    const double decay = decays ? run_number(r, "sampling-decay") : 0;
    if (is_asked(r) && head && !strstr(head->inputs, "teacher_forcing"))
        run_misused(r, "--%s: %s reads all tokens at once",
                    run_given(r, "scheduled-sampling") ? "scheduled-sampling" : "teacher-forcing", r->family->name);
    else if (decays && kind == HEED_FORCING_CONSTANT)
        run_misused(r, "--sampling-decay goes with --scheduled-sampling");
    else if (decays && kind == HEED_FORCING_EXPONENTIAL && decay >= 1)
        run_misused(r, "--sampling-decay: %g: of exponential it must be below 1", decay);
    else if (decays && kind == HEED_FORCING_INVERSE_SIGMOID && decay < 1)
        run_misused(r, "--sampling-decay: %g: of inverse-sigmoid it must be at least 1", decay);
    else
        return true;
    return false;
}

void run_set_forcing(const heed_run *r, heed_forcing *to) {
    *to = (heed_forcing){.probability = 1};
    if (!is_asked(r)) return;
    const int64_t steps = r->loop.steps > 0 ? r->loop.steps : r->loop.epochs * r->loop.source->per_epoch;
    to->kind = kind_of(r);
    to->probability = run_given(r, "teacher-forcing")     ? run_number(r, "teacher-forcing")
                      : to->kind == HEED_FORCING_CONSTANT ? 1
                                                          : 0;
    if (to->kind != HEED_FORCING_CONSTANT)
        to->decay =
            run_given(r, "sampling-decay") ? run_number(r, "sampling-decay") : heed_forcing_decay(to->kind, steps);
}
