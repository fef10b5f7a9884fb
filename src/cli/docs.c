/* heed docs: the manual page, the shells' completions and the page of models, for whoever installs heed. */
#include "cli/docs.h"
#include "cli/options.h"
#include "cli/plain_models.h"
#include "heed/model.h"
#include <stdio.h>
#include <string.h>

static void keys_table(const heed_key *k) {
    for (; k->name; k++)
        printf("| `%s` | %s%s%s | %s |\n", k->name, k->standard && *k->standard ? "`" : "",
               !k->standard   ? "needed"
               : *k->standard ? k->standard
                              : "none",
               k->standard && *k->standard ? "`" : "", k->help);
}

static void family_page(const heed_family *f) {
    printf("\n## %s\n\n%s (%s).\n\n", f->name, f->summary, f->paper);
    printf("- `\"model_type\": \"%s\"`\n", f->type);
    for (const heed_head *h = f->heads; h->architecture; h++)
        printf("- `\"architectures\": [\"%s\"]`: inputs of `heed forward`: %s; `heed train`: %s\n", h->architecture,
               h->inputs, *h->tasks ? h->tasks : "-");
    printf("\n%s\n\n", f->notes);
    fputs("| key | default | |\n|---|---|---|\n", stdout);
    keys_table(f->keys);
    for (const heed_head *h = f->heads; h->architecture; h++)
        if (h->keys) keys_table(h->keys);
}

static void plain_page(const struct plain_model *m) {
    printf("\n## %s\n\n%s (%s).\n\n- `\"model_type\": \"%s\"`\n\n%s\n\n| key | |\n|---|---|\n", m->name, m->summary,
           m->paper, m->type, m->notes);
    for (int i = 0; m->keys[i][0]; i++) printf("| `%s` | %s |\n", m->keys[i][0], m->keys[i][1]);
}

void docs_models(void) {
    fputs("# Models\n\nMade by `heed docs models`. Every family with the keys of its `config.json`; `heed list FAMILY` "
          "shows "
          "the same. Keys that a family does\nnot know are kept and written back.\n",
          stdout);
    for (int i = 0; i < heed_family_count(); i++) family_page(heed_family_at(i));
    for (int i = 0; plain_model_at(i); i++) plain_page(plain_model_at(i));
}

static const struct option options[] = {{.name = NULL}};

static const struct {
    const char *name;
    void (*print)(void);
} pages[] = {{"man", docs_man}, {"bash", docs_bash}, {"zsh", docs_zsh}, {"models", docs_models}};

static int run(int argc, char **argv) {
    struct options *o = options_read("docs", options, argc, argv, 1, 1, "man, bash, zsh or models");
    if (!o) return EXIT_USAGE;
    int status = EXIT_USAGE;
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++)
        if (strcmp(options_word(o, 0), pages[i].name) == 0) {
            pages[i].print();
            status = EXIT_DONE;
        }
    if (status != EXIT_DONE) cli_error(status, "docs: '%s' is not one of: man, bash, zsh, models", options_word(o, 0));
    options_free(o);
    return status;
}

const struct command docs_command = {
    .name = "docs",
    .summary = "the manual page and the shells' completions",
    .words = "man|bash|zsh|models",
    .about =
        "Prints the manual page heed(1) in roff, the completion script of a shell, or the page of models in Markdown.",
    .options = options,
    .examples = "heed docs man > heed.1\nsource <(heed docs bash)\n",
    .run = run,
    .hidden = true,
};
