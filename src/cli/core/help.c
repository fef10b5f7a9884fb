/* Help from the tables: the overview, and a command's own page, wrapped to 80 columns. */
#include "base/text.h"
#include "cli/core/options.h"
#include "task/run.h"
#include <stdio.h>
#include <string.h>

enum { COLUMNS = 80, OPTION_COLUMN = 26 };

int help_width(const char *s, size_t n) {
    int width = 0;
    for (size_t i = 0; i < n; i++) width += ((unsigned char)s[i] & 0xC0) != 0x80; /* characters, not bytes */
    return width;
}

/* Words of text from column `at` on, further lines indented by `indent`; a blank line parts paragraphs. */
void help_wrapped(const char *text, int at, int indent) {
    while (*text) {
        const size_t n = strcspn(text, " \n");
        const int width = help_width(text, n);
        if (at > indent && at + 1 + width > COLUMNS) {
            printf("\n%*s", indent, "");
            at = indent;
        } else if (at > indent) {
            putchar(' ');
            at++;
        }
        fwrite(text, 1, n, stdout);
        at += width;
        text += n;
        if (strncmp(text, "\n\n", 2) == 0) {
            printf("\n\n%*s", indent, "");
            at = indent;
        }
        text += strspn(text, " \n");
    }
    putchar('\n');
}

enum { WIDEST_NAME = sizeof "compare-attention" - 1 };

void help_overview(void) {
    fputs("usage: heed COMMAND [OPTIONS]\n"
          "       heed COMMAND --help\n"
          "       heed --help | --version\n\n"
          "Attention networks: train them, look inside them, run them.\n\n"
          "commands:\n",
          stdout);
    const struct command *command;
    for (int i = 0; (command = cli_command(i)); i++)
        if (!command->hidden) printf("  %-*s  %s\n", WIDEST_NAME, command->name, command->summary);
    fputs("\nExit status: 0 success, 1 failure, 2 wrong usage, 130 after Ctrl-C, 143 after SIGTERM.\n", stdout);
}

static void add_default(char *out, size_t size, const char *before, const char *what, const char *text) {
    const size_t n = strlen(out);
    if (text && *text) snprintf(out + n, size - n, "%s%s%s", n > 0 ? before : "", what, text);
}

#define HELP_DEFAULT 256
static void put_default(const struct heed_task *task, const heed_field *o, char *out, size_t size) {
    *out = 0;
    if (o->kind == HEED_FIELD_FLAG) return;
    add_default(out, size, "; ", "", o->standard);
    add_default(out, size, "; ", "with --init ", o->tuned);
    for (int i = 0; task && task->ways[i]; i++)
        for (const struct task_default *d = task->ways[i]->defaults; d && d->field; d++) {
            char of[64];
            if (strcmp(d->field, o->name) != 0) continue;
            snprintf(of, sizeof of, "of %s ", task->ways[i]->what);
            add_default(out, size, "; ", of, d->standard);
            add_default(out, size, ", ", "with --init ", d->tuned);
        }
}

void help_option(const struct heed_task *task, const heed_field *o, char *out, size_t size) {
    char standard[HELP_DEFAULT];
    put_default(task, o, standard, sizeof standard);
    snprintf(out, size, "%s%s%s%s%s%s%s", o->help, o->kind == HEED_FIELD_CHOICE ? ": " : "",
             o->kind == HEED_FIELD_CHOICE ? o->choices : "", field_repeats(o) ? "; may be given several times" : "",
             *standard ? " (default: " : "", standard, *standard ? ")" : "");
}

static void print_option(const struct heed_task *task, const heed_field *o) {
    char left[64], right[HELP_OPTION];
    const char letter[5] = {'-', o->letter, ',', ' ', 0};
    const int n = snprintf(left, sizeof left, "  %s--%s%s%s", o->letter ? letter : "    ", o->name, o->value ? " " : "",
                           o->value ? o->value : "");
    help_option(task, o, right, sizeof right);
    if (n + 2 > OPTION_COLUMN)
        printf("%s\n%*s", left, OPTION_COLUMN, "");
    else
        printf("%-*s", OPTION_COLUMN, left);
    help_wrapped(right, OPTION_COLUMN, OPTION_COLUMN);
}

/* Those that are used most, in the order of their names. */
static void print_often(const struct command *page, const char *often) {
    const heed_field *row;
    bool begun = false;
    for (const char *name = often; *name; name += strcspn(name, " "), name += *name == ' ')
        for (int i = 0; (row = heed_field_row(page->options, i)); i++) {
            const size_t n = strcspn(name, " ");
            if (row->kind == HEED_FIELD_GROUP || strlen(row->name) != n || strncmp(row->name, name, n) != 0) continue;
            if (!begun) printf("\nmost used:\n");
            begun = true;
            print_option(page->of_task, row);
        }
}

/* All others, a heading only where something follows under it, and another than before. */
static void print_table(const struct command *page, const heed_field *table, const char *often) {
    const char *heading = "options", *printed = "";
    const heed_field *row;
    for (int i = 0; (row = heed_field_row(table, i)); i++) {
        if (row->kind == HEED_FIELD_GROUP) heading = row->name;
        if (row->kind == HEED_FIELD_GROUP || text_among(often, row->name)) continue;
        if (strcmp(heading, printed) != 0) printf("\n%s:\n", heading);
        printed = heading;
        print_option(page->of_task, row);
    }
}

static void print_tasks(const struct command *command) {
    const struct command *task;
    printf("\n%s is one of:\n", command->words);
    for (int i = 0; (task = command->task(i)); i++) printf("  %-*s  %s\n", WIDEST_NAME, task->name, task->summary);
}

void help_command(const struct command *command, const struct command *task) {
    const struct command *page = task ? task : command;
    const char *words = task ? task->name : command->words;
    printf("usage: heed %s%s%s%s\n\n", command->name, words ? " " : "", words ? words : "",
           page->options ? " [OPTIONS]" : "");
    help_wrapped(page->about, 0, 0);
    if (page->task) print_tasks(page);
    if (page->options) {
        const char *const often = command->often ? command->often : "";
        print_often(page, often);
        print_table(page, page->options, often);
        print_table(page, common_options, "");
    }
    fputs("\nexamples:\n", stdout);
    for (const char *line = page->examples; *line; line += strcspn(line, "\n"), line += *line == '\n')
        printf("  %.*s\n", (int)strcspn(line, "\n"), line);
}
