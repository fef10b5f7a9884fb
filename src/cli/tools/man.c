/* heed docs man: the manual pages in roff, from the tables: heed(1), and one of each command. */
#include "cli/core/options.h"
#include "cli/tools/docs.h"
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

static void man_option(const struct heed_task *task, const heed_field *o) {
    char text[HELP_OPTION];
    fputs(".TP\n\\fB", stdout);
    if (o->letter) printf("\\-%c\\fR, \\fB", o->letter);
    fputs("\\-\\-", stdout);
    roff(o->name);
    fputs("\\fR", stdout);
    if (o->value) printf(" \\fI%s\\fR", o->value);
    putchar('\n');
    help_option(task, o, text, sizeof text);
    roff(text);
    putchar('\n');
}

static bool is_option(const heed_field *o) { return o->kind != HEED_FIELD_GROUP; }

static const heed_field *find_row(const heed_field *table, const char *name) {
    const heed_field *row;
    for (int i = 0; (row = heed_field_row(table, i)); i++)
        if (is_option(row) && strcmp(row->name, name) == 0) return row;
    return NULL;
}

/* Whether a row stands in the table `shown` already, with the default that it has on the page of the task. */
static bool is_shown(const heed_field *shown, const struct heed_task *task, const heed_field *row) {
    char text[2][HELP_OPTION];
    if (!shown || find_row(shown, row->name) != row) return false;
    help_option(NULL, row, text[0], sizeof text[0]);
    help_option(task, row, text[1], sizeof text[1]);
    return strcmp(text[0], text[1]) == 0;
}

void docs_table(const struct heed_task *task, const heed_field *table, const heed_field *shown,
                void (*heading)(const char *name), void (*option)(const struct heed_task *, const heed_field *)) {
    const heed_field *row, *above = NULL;
    for (int i = 0; (row = heed_field_row(table, i)); i++) {
        if (!is_option(row)) above = row;
        if (!is_option(row) || is_shown(shown, task, row)) continue;
        if (above) heading(above->name);
        above = NULL;
        option(task, row);
    }
}

static void man_heading(const char *name) { printf(".PP\n.I %s\n", name); }

static void man_table(const heed_field *table, const heed_field *shown, const struct heed_task *task) {
    docs_table(task, table, shown, man_heading, man_option);
}

static void man_synopsis(const struct command *c, const char *name, const char *words) {
    printf(".B heed %s\n", name);
    if (words) {
        fputs(".I \"", stdout);
        roff(words);
        fputs("\"\n", stdout);
    }
    if (c->options) puts("[OPTIONS]");
}

static void man_examples(const struct command *c) {
    fputs(".PP\n.nf\n", stdout);
    roff(c->examples);
    fputs(".fi\n", stdout);
}

/* The page of a task, as a section of its command's. */
static void man_task(const struct command *task, const struct command *of) {
    printf(".SH HEED %s %s\n.PP\n", of->name, task->name);
    man_synopsis(task, of->name, task->name);
    fputs(".PP\n", stdout);
    roff_paragraphs(task->about);
    if (task->options) man_table(task->options, of->options, task->of_task);
    fputs(".PP\nExamples:\n", stdout);
    man_examples(task);
}

static void man_begin(const char *title, const char *name, const char *summary) {
    printf(".TH \"%s\" 1 \"\" \"heed %s\" \"User Commands\"\n.SH NAME\n", title, heed_version());
    roff(name);
    fputs(" \\- ", stdout);
    roff(summary);
    fputs("\n.SH SYNOPSIS\n", stdout);
}

void docs_man_command(const struct command *c) {
    const struct command *task;
    char name[64], title[64];
    snprintf(name, sizeof name, "heed-%s", c->name);
    for (size_t i = 0; i <= strlen(name); i++)
        title[i] = (char)(name[i] >= 'a' && name[i] <= 'z' ? name[i] - 32 : name[i]);
    man_begin(title, name, c->summary);
    man_synopsis(c, c->name, c->words);
    fputs(".SH DESCRIPTION\n", stdout);
    roff_paragraphs(c->about);
    if (c->options) {
        fputs(".SH OPTIONS\n", stdout);
        man_table(c->options, NULL, NULL);
        man_table(common_options, NULL, NULL);
    }
    for (int i = 0; c->task && (task = c->task(i)); i++) man_task(task, c);
    fputs(".SH EXAMPLES\n", stdout);
    man_examples(c);
    fputs(".SH EXIT STATUS\n0 success, 1 failure, 2 wrong usage, 130 after Ctrl\\-C, 143 after SIGTERM.\n"
          ".SH SEE ALSO\n.BR heed (1)\n",
          stdout);
}

void docs_commands(void) {
    const struct command *c;
    for (int i = 0; (c = cli_command(i)); i++)
        if (!c->hidden) puts(c->name);
}

void docs_man(void) {
    const struct command *c;
    man_begin("HEED", "heed", "attention networks: train them, look inside them, run them");
    fputs(".B heed\n.I COMMAND\n[OPTIONS]\n.br\n.B heed\n.I COMMAND\n\\-\\-help\n.br\n"
          ".B heed\n\\-\\-help | \\-\\-version\n.SH COMMANDS\nEach has a page of its own, and \\-\\-help.\n",
          stdout);
    for (int i = 0; (c = cli_command(i)); i++)
        if (!c->hidden) {
            fputs(".TP\n.BR heed\\-", stdout);
            roff(c->name);
            fputs(" (1)\n", stdout);
            roff(c->summary);
            putchar('\n');
        }
    fputs(".SH COMMON OPTIONS\nEvery command that takes options takes these.\n", stdout);
    man_table(common_options, NULL, NULL);
    fputs(
        ".SH FILES\nA model is a directory: config.json, model.safetensors and, where it reads text, tokenizer.json.\n"
        "A recipe holds options, one a line, without the dashes; # begins a comment.\n"
        "\\- is standard input or output; .gz inputs are read as they are.\n"
        ".SH EXIT STATUS\n0 success, 1 failure, 2 wrong usage, 130 after Ctrl\\-C, 143 after SIGTERM.\n"
        ".SH ENVIRONMENT\n.TP\n.B HEED_ISA\nthe kernels to use, for tests: portable, baseline, avx2, avx512\n",
        stdout);
}
