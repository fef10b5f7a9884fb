/* heed docs: the manual pages, the shells' completions and the reference pages, for whoever installs heed. */
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
    printf("\n## %s\n\n%s (%s).\n\n- `\"model_type\": \"%s\"`\n\n%s\n\n| key | |\n|---|---|\n", m->way->model,
           m->summary, m->paper, m->way->type, m->notes);
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

static void prose(const char *text) { /* a bar would begin the next cell of a table, < a tag of HTML */
    for (; *text; text++) {
        if (strchr("|<", *text)) putchar('\\');
        putchar(*text);
    }
}

static void heading_row(const char *name) { printf("| *%s* | |\n", name); }

static void option_line(const struct heed_task *task, const heed_field *o) {
    char text[HELP_OPTION];
    fputs("| `", stdout);
    if (o->letter) printf("-%c`, `", o->letter);
    printf("--%s%s", o->name, o->value ? " " : "");
    prose(o->value ? o->value : "");
    fputs("` | ", stdout);
    help_option(task, o, text, sizeof text);
    prose(text);
    fputs(" |\n", stdout);
}

/* A command, or its task where `of` is not NULL, with what its table adds to the command's. */
static void command_page(const struct command *c, const struct command *of) {
    const struct command *task;
    const char *const words = c->words ? c->words : "";
    if (of)
        printf("\n### heed %s %s\n\n", of->name, c->name);
    else
        printf("\n## heed %s\n\n`heed %s%s%s%s`\n\n", c->name, c->name, *words ? " " : "", words,
               c->options ? " [OPTIONS]" : "");
    prose(c->about);
    if (c->options && heed_field_row(c->options, 0)) {
        fputs("\n\n| option | |\n|---|---|\n", stdout);
        docs_table(c->of_task, c->options, of ? of->options : NULL, heading_row, option_line);
    } else
        putchar('\n');
    printf("\n```sh\n%s```\n", c->examples);
    for (int i = 0; c->task && (task = c->task(i)); i++) command_page(task, c);
}

void docs_help(void) {
    const struct command *c;
    fputs("# Commands\n\nMade by `heed docs help`; `heed COMMAND --help` and the manual pages say the same. A model is "
          "a directory; `-` is standard input or\noutput; `.gz` files are read as they are. The exit status is 0 for "
          "success, 1 for failure, 2 for wrong usage, 130 after Ctrl-C and\n143 after SIGTERM. Every command takes "
          "these options:\n\n| option | |\n|---|---|\n",
          stdout);
    docs_table(NULL, common_options, NULL, heading_row, option_line);
    for (int i = 0; (c = cli_command(i)); i++)
        if (!c->hidden) command_page(c, NULL);
}

static const heed_field options[] = {{.name = NULL}};

static const struct {
    const char *name;
    void (*print)(void);
} pages[] = {{"man", docs_man},       {"bash", docs_bash}, {"zsh", docs_zsh},
             {"models", docs_models}, {"help", docs_help}, {"commands", docs_commands}};

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
    return cli_error(EXIT_USAGE, "docs: '%s' is not one of: man, bash, zsh, models, help, commands", name);
}

static int run(int argc, char **argv) {
    struct options *o =
        options_read("docs", options, argc, argv, 1, 2, "man [COMMAND], bash, zsh, models, help or commands");
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
    .words = "man [COMMAND]|bash|zsh|models|help|commands",
    .about =
        "Prints the manual page heed(1), or that of a command, in roff, the completion script of a shell, the pages "
        "of models or of all commands in Markdown, or the names of the commands.",
    .options = options,
    .examples = "heed docs man > heed.1\nheed docs man train > heed-train.1\nsource <(heed docs bash)\n",
    .run = run,
    .hidden = true,
};
