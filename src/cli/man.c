/* heed docs man: the manual page heed(1), in roff, from the tables. */
#include "cli/docs.h"
#include "cli/options.h"
#include <stdio.h>
#include <string.h>

/* Text with what roff would take for its own escaped; a line must not begin with a dot or an apostrophe. */
static void roff(const char *text) {
    bool start = true;
    for (; *text; text++) {
        if (start && (*text == '.' || *text == '\'')) fputs("\\&", stdout);
        start = *text == '\n';
        if (*text == '\\')
            fputs("\\e", stdout);
        else if (*text == '-')
            fputs("\\-", stdout);
        else
            putchar(*text);
    }
}

/* Paragraphs: an empty line would be one too, but .PP is what pages use. */
static void roff_paragraphs(const char *text) {
    const char *gap;
    while ((gap = strstr(text, "\n\n"))) {
        char part[2048];
        snprintf(part, sizeof part, "%.*s", (int)(gap - text), text);
        roff(part);
        fputs("\n.PP\n", stdout);
        text = gap + 2;
    }
    roff(text);
    putchar('\n');
}

static void man_option(const struct option *o) {
    fputs(".TP\n\\fB", stdout);
    if (o->letter) printf("\\-%c\\fR, \\fB", o->letter);
    fputs("\\-\\-", stdout);
    roff(o->name);
    fputs("\\fR", stdout);
    if (o->value) printf(" \\fI%s\\fR", o->value);
    putchar('\n');
    roff(o->help);
    if (o->kind == OPTION_CHOICE) {
        fputs(": ", stdout);
        roff(o->choices);
    }
    if (option_repeats(o)) fputs("; may be given several times", stdout);
    if (o->standard && *o->standard) {
        fputs(" (default: ", stdout);
        roff(o->standard);
        putchar(')');
    }
    putchar('\n');
}

static bool has_row(const struct option *table, const char *name) {
    for (; table->name; table++)
        if (table->kind != OPTION_TABLE && strcmp(table->name, name) == 0) return true;
    return false;
}

/* The options of a table and of those that it inserts; of `shown`, which stands on another page, only what it
 * replaces. */
static void man_table(const struct option *table, const struct option *shown) {
    for (const struct option *row = table; row->name; row++) {
        if (row->kind != OPTION_GROUP && row->kind != OPTION_TABLE) man_option(row);
        if (row->kind != OPTION_TABLE || row->table == shown) continue;
        for (const struct option *in = row->table; in->name; in++)
            if (in->kind != OPTION_GROUP && !has_row(table, in->name)) man_option(in);
    }
}

static void man_page(const struct command *c, const char *name, const char *words, const struct option *shown) {
    printf(".SS heed %s ", name);
    roff(words ? words : "");
    puts(c->options ? " [OPTIONS]" : "");
    roff_paragraphs(c->about);
    if (c->options) man_table(c->options, shown);
    fputs(".PP\nExamples:\n.PP\n.nf\n", stdout);
    roff(c->examples);
    fputs(".fi\n", stdout);
}

static void man_command(const struct command *c) {
    const struct command *task;
    man_page(c, c->name, c->words, NULL);
    for (int i = 0; c->task && (task = c->task(i)); i++) man_page(task, c->name, task->name, c->options);
}

void docs_man(void) {
    printf(".TH HEED 1 \"\" \"heed %s\" \"User Commands\"\n", heed_version());
    fputs(".SH NAME\nheed \\- attention networks: train them, look inside them, run them\n"
          ".SH SYNOPSIS\n.B heed\n.I COMMAND\n[OPTIONS]\n.br\n.B heed\n.I COMMAND\n\\-\\-help\n.br\n"
          ".B heed\n\\-\\-help | \\-\\-version\n.SH COMMANDS\n",
          stdout);
    const struct command *c;
    for (int i = 0; (c = cli_command(i)); i++)
        if (!c->hidden) man_command(c);
    fputs(".SH COMMON OPTIONS\nEvery command that takes options takes these.\n", stdout);
    man_table(common_options, NULL);
    fputs(
        ".SH FILES\nA model is a directory: config.json, model.safetensors and, where it reads text, tokenizer.json.\n"
        "A recipe holds options, one a line, without the dashes; # begins a comment.\n"
        "\\- is standard input or output; .gz inputs are read as they are.\n"
        ".SH EXIT STATUS\n0 success, 1 failure, 2 wrong usage, 130 after Ctrl\\-C, 143 after SIGTERM.\n"
        ".SH ENVIRONMENT\n.TP\n.B HEED_ISA\nthe kernels to use, for tests: portable, baseline, avx2, avx512\n",
        stdout);
}
