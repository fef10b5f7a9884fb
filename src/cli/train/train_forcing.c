/* heed train --teacher-forcing, --scheduled-sampling: what a decoder reads while it is trained. */
#include "cli/train/train.h"
#include <string.h>

/* clang-format off */
const heed_field forcing_options[] = {
    {.name = "teacher forcing", .kind = HEED_FIELD_GROUP},
    {.name = "teacher-forcing", .kind = HEED_FIELD_NUMBER, .value = "P", .high = 1,
     .help = "recurrent models: the probability of giving the decoder the true token before, not the one that it "
             "predicted itself; 1, the default: teacher forcing, 0: free running (Williams & Zipser 1989); with "
             "--scheduled-sampling the lowest that it becomes, by default 0"},
    {.name = "scheduled-sampling", .kind = HEED_FIELD_CHOICE, .value = "KIND",
     .choices = "linear exponential inverse-sigmoid",
     .help = "let that probability fall from 1 with the updates i (Bengio et al. 2015): linear, 1 - K i; exponential, "
             "K^i; inverse-sigmoid, K / (K + exp(i / K)); one of"},
    {.name = "sampling-decay", .kind = HEED_FIELD_NUMBER, .value = "K", .low = 1e-12, .high = 1e12,
     .help = "K of --scheduled-sampling; by default such that it is spread over all updates"},
    {.name = NULL},
};
/* clang-format on */

static heed_forcing_kind kind_of(const struct options *o) {
    const char *const name = option_text(o, "scheduled-sampling");
    if (!name) return HEED_FORCING_CONSTANT;
    if (strcmp(name, "linear") == 0) return HEED_FORCING_LINEAR;
    return strcmp(name, "exponential") == 0 ? HEED_FORCING_EXPONENTIAL : HEED_FORCING_INVERSE_SIGMOID;
}

static bool is_asked(const struct options *o) {
    return option_known(o, "teacher-forcing") &&
           (option_given(o, "teacher-forcing") || option_given(o, "scheduled-sampling"));
}

bool train_forcing_fits(const struct train_run *r) {
    const heed_head *const head = heed_head_for(r->family, r->head ? r->head : r->task->page.name);
    if (!option_known(r->o, "teacher-forcing")) return true;
    const heed_forcing_kind kind = kind_of(r->o);
    const bool decays = option_given(r->o, "sampling-decay");
    const double decay = decays ? option_number(r->o, "sampling-decay") : 0;
    if (is_asked(r->o) && head && !strstr(head->inputs, "teacher_forcing"))
        cli_error(EXIT_USAGE, "train: --%s: %s reads all tokens at once",
                  option_given(r->o, "scheduled-sampling") ? "scheduled-sampling" : "teacher-forcing", r->family->name);
    else if (decays && kind == HEED_FORCING_CONSTANT)
        cli_error(EXIT_USAGE, "train: --sampling-decay goes with --scheduled-sampling");
    else if (decays && kind == HEED_FORCING_EXPONENTIAL && decay >= 1)
        cli_error(EXIT_USAGE, "train: --sampling-decay: %g: of exponential it must be below 1", decay);
    else if (decays && kind == HEED_FORCING_INVERSE_SIGMOID && decay < 1)
        cli_error(EXIT_USAGE, "train: --sampling-decay: %g: of inverse-sigmoid it must be at least 1", decay);
    else
        return true;
    return false;
}

void train_set_forcing(const struct train_run *r, heed_forcing *to) {
    *to = (heed_forcing){.probability = 1};
    if (!is_asked(r->o)) return;
    const int64_t steps = r->loop.steps > 0 ? r->loop.steps : r->loop.epochs * r->loop.source->per_epoch;
    to->kind = kind_of(r->o);
    to->probability = option_given(r->o, "teacher-forcing") ? option_number(r->o, "teacher-forcing")
                      : to->kind == HEED_FORCING_CONSTANT   ? 1
                                                            : 0;
    if (to->kind != HEED_FORCING_CONSTANT)
        to->decay = option_given(r->o, "sampling-decay") ? option_number(r->o, "sampling-decay")
                                                         : heed_forcing_decay(to->kind, steps);
}
