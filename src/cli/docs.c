/* heed docs: the manual page and the shells' completions, for whoever installs heed. */
#include "cli/docs.h"
#include "cli/options.h"
#include <string.h>

static const struct option options[] = {{.name = NULL}};

static const struct {
    const char *name;
    void (*print)(void);
} pages[] = {{"man", docs_man}, {"bash", docs_bash}, {"zsh", docs_zsh}};

static int run(int argc, char **argv) {
    struct options *o = options_read("docs", options, argc, argv, 1, 1, "man, bash or zsh");
    if (!o) return EXIT_USAGE;
    int status = EXIT_USAGE;
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++)
        if (strcmp(options_word(o, 0), pages[i].name) == 0) {
            pages[i].print();
            status = EXIT_DONE;
        }
    if (status != EXIT_DONE) cli_error(status, "docs: '%s' is not one of: man, bash, zsh", options_word(o, 0));
    options_free(o);
    return status;
}

const struct command docs_command = {
    .name = "docs",
    .summary = "the manual page and the shells' completions",
    .words = "man|bash|zsh",
    .about = "Prints the manual page heed(1) in roff, or the completion script of a shell.",
    .options = options,
    .examples = "heed docs man > heed.1\nsource <(heed docs bash)\n",
    .run = run,
    .hidden = true,
};
