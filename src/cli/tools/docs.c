/* heed docs: the manual pages, the shells' completions and the page of models, for whoever installs heed. */
#include "cli/tools/docs.h"
#include "cli/classical/plain_models.h"
#include "cli/core/options.h"
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

static const heed_field options[] = {{.name = NULL}};

static const struct {
    const char *name;
    void (*print)(void);
} pages[] = {
    {"man", docs_man}, {"bash", docs_bash}, {"zsh", docs_zsh}, {"models", docs_models}, {"commands", docs_commands}};

static int man_of(const char *name) {
    const struct command *c;
    for (int i = 0; (c = cli_command(i)); i++)
        if (strcmp(c->name, name) == 0 && !c->hidden) {
            docs_man_command(c);
            return EXIT_DONE;
        }
    return cli_error(EXIT_USAGE, "docs: man: there is no command '%s'", name);
}

static int print_page(const char *name) {
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++)
        if (strcmp(name, pages[i].name) == 0) {
            pages[i].print();
            return EXIT_DONE;
        }
    return cli_error(EXIT_USAGE, "docs: '%s' is not one of: man, bash, zsh, models, commands", name);
}

static int run(int argc, char **argv) {
    struct options *o = options_read("docs", options, argc, argv, 1, 2, "man [COMMAND], bash, zsh, models or commands");
    if (!o) return EXIT_USAGE;
    const char *const page = options_word(o, 0), *const name = options_words(o) > 1 ? options_word(o, 1) : NULL;
    int status;
    if (name && strcmp(page, "man") == 0)
        status = man_of(name);
    else if (name)
        status = cli_error(EXIT_USAGE, "docs: '%s' is one word too many: only man is by command", name);
    else
        status = print_page(page);
    options_free(o);
    return status;
}

const struct command docs_command = {
    .name = "docs",
    .summary = "the manual pages and the shells' completions",
    .words = "man [COMMAND]|bash|zsh|models|commands",
    .about =
        "Prints the manual page heed(1), or that of a command, in roff, the completion script of a shell, the page "
        "of models in Markdown, or the names of the commands.",
    .options = options,
    .examples = "heed docs man > heed.1\nheed docs man train > heed-train.1\nsource <(heed docs bash)\n",
    .run = run,
    .hidden = true,
};
