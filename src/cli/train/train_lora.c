/* What the options of heed train say of LoRA. */
#include "cli/train/train.h"
#include "heed/model.h"
#include <string.h>

bool train_lora_fits(const struct options *o) {
    static const char *const more[] = {"lora-alpha", "lora-dropout", "lora-targets"};
    struct train_lora lora;
    for (int i = 0; i < 3; i++)
        if (option_given(o, more[i]) && !option_given(o, "lora"))
            return cli_error(EXIT_USAGE, "%s: --%s needs --lora RANK", options_command(o), more[i]), false;
    if (!option_given(o, "lora")) return true;
    if (!option_given(o, "init"))
        return cli_error(EXIT_USAGE, "%s: --lora needs --init DIR, the model to adapt", options_command(o)), false;
    return train_lora(o, &lora) != NULL;
}

const heed_lora_opts *train_lora(const struct options *o, struct train_lora *to) {
    const char *const targets = option_text(o, "lora-targets");
    if (!option_given(o, "lora")) return NULL;
    to->opts = (heed_lora_opts){.rank = option_int(o, "lora"),
                                .alpha = option_given(o, "lora-alpha") ? option_number(o, "lora-alpha") : 0,
                                .dropout = option_number(o, "lora-dropout"),
                                .targets = to->target};
    if (!targets) return &to->opts;
    if (strlen(targets) >= sizeof to->text)
        return cli_error(EXIT_USAGE, "%s: --lora-targets: too long", options_command(o)), NULL;
    strcpy(to->text, targets);
    for (char *at = to->text, *next; at; at = next) {
        if ((next = strchr(at, ','))) *next++ = 0;
        if (!*at || to->opts.n_targets == (int)(sizeof to->target / sizeof *to->target))
            return cli_error(EXIT_USAGE, "%s: --lora-targets: %s", options_command(o),
                             *at ? "too many names" : "an empty name"),
                   NULL;
        to->target[to->opts.n_targets++] = at;
    }
    return &to->opts;
}
