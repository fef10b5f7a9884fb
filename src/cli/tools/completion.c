/* heed docs bash|zsh: completions from the tables. Commands, their first words, options and choices are completed by
 * name; whatever is a path, by the shell. */
#include "cli/core/options.h"
#include "cli/tools/docs.h"
#include <stdio.h>
#include <string.h>

typedef void (*option_fn)(const heed_field *option);

/* The options of a command, then the common ones; none when it takes none. */
static void each_option(const struct command *c, option_fn fn) {
    const heed_field *const tables[] = {c->options, common_options}, *row;
    for (int t = 0; c->options && t < 2; t++)
        for (int i = 0; (row = heed_field_row(tables[t], i)); i++)
            if (row->kind != HEED_FIELD_GROUP) fn(row);
}

static void print_names(const char *(*name)(int i)) {
    for (int i = 0; name && name(i); i++) printf("%s%s", i ? " " : "", name(i));
}

/* What an option's value may be, as far as it can be listed. */
static void print_values(const heed_field *o) {
    if (o->kind == HEED_FIELD_CHOICE)
        fputs(o->choices, stdout);
    else if (o->value && strcmp(o->value, "FAMILY") == 0)
        print_names(cli_family_name);
}

static void print_commands(void) {
    const struct command *c;
    for (int i = 0; (c = cli_command(i)); i++)
        if (!c->hidden) printf("%s ", c->name);
}

/* ---- bash ---- */

static void bash_name(const heed_field *o) {
    printf(" --%s", o->name);
    if (o->letter) printf(" -%c", o->letter);
}

/* What may follow an option: its choices; nothing for a number; a path is left to readline. */
static void bash_value(const heed_field *o) {
    if (o->kind == HEED_FIELD_FLAG || field_is_path(o)) return;
    printf("        --%s", o->name);
    if (o->letter) printf("|-%c", o->letter);
    fputs(") values='", stdout);
    print_values(o);
    fputs("' ;;\n", stdout);
}

/* The options of a page, and what may follow each. */
static void bash_page(const struct command *c) {
    fputs("        options='", stdout);
    each_option(c, bash_name);
    fputs("'\n        case $last in\n", stdout);
    each_option(c, bash_value);
    fputs("        *) given= ;;\n        esac\n", stdout);
}

static void bash_command(const struct command *c) {
    const struct command *task;
    printf("    %s)\n        words='", c->name);
    print_names(c->first);
    fputs("'\n", stdout);
    if (c->task) fputs("        case ${COMP_WORDS[2]} in\n", stdout);
    for (int i = 0; c->task && (task = c->task(i)); i++) {
        printf("        %s)\n", task->name);
        bash_page(task);
        fputs("        ;;\n", stdout);
    }
    if (c->task) fputs("        *)\n", stdout);
    bash_page(c);
    fputs(c->task ? "        ;;\n        esac\n    ;;\n" : "    ;;\n", stdout);
}

void docs_bash(void) {
    fputs(
        "# bash completion of heed; made by `heed docs bash`\n"
        "_heed() {\n"
        "    local word=${COMP_WORDS[COMP_CWORD]} last=${COMP_WORDS[COMP_CWORD-1]} options= words= values= given=yes\n"
        "    COMPREPLY=()\n"
        "    if [[ $last == = ]]; then last=${COMP_WORDS[COMP_CWORD-2]}; elif [[ $word == = ]]; then word=; fi\n"
        "    if ((COMP_CWORD == 1)); then\n"
        "        COMPREPLY=($(compgen -W '",
        stdout);
    print_commands();
    fputs("help --help --version' -- \"$word\"))\n        return\n    fi\n    case ${COMP_WORDS[1]} in\n    help)\n"
          "        words='",
          stdout);
    print_commands();
    fputs("'\n        given=\n    ;;\n", stdout);
    const struct command *c;
    for (int i = 0; (c = cli_command(i)); i++)
        if (!c->hidden) bash_command(c);
    fputs("    esac\n"
          "    if [[ $given ]]; then\n"
          "        COMPREPLY=($(compgen -W \"$values\" -- \"$word\"))\n"
          "    elif [[ $word == -* ]]; then\n"
          "        COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
          "    elif ((COMP_CWORD == 2)); then\n"
          "        COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
          "    fi\n"
          "}\n"
          "complete -o default -F _heed heed\n",
          stdout);
}

/* ---- zsh ---- */

/* Within '...[HELP]:...': quotes end the string, brackets the help, colons the part. */
static void zsh_text(const char *s) {
    for (; *s; s++) {
        if (*s == '\'')
            fputs("'\\''", stdout);
        else if (strchr("[]:\\", *s))
            printf("\\%c", *s);
        else
            putchar(*s);
    }
}

/* One spelling of an option; where there are two, each rules the other out. */
static void zsh_spelling(const heed_field *o, bool letter) {
    fputs("            '", stdout);
    if (field_repeats(o))
        putchar('*');
    else if (o->letter)
        printf("(-%c --%s)", o->letter, o->name);
    if (letter)
        printf("-%c[", o->letter);
    else
        printf("--%s%s[", o->name, o->kind == HEED_FIELD_FLAG ? "" : "=");
    zsh_text(o->help);
    putchar(']');
    if (o->kind != HEED_FIELD_FLAG) {
        printf(":%s:", o->value ? o->value : "value");
        if (field_is_path(o))
            fputs("_files", stdout);
        else if (o->kind == HEED_FIELD_CHOICE || strcmp(o->value, "FAMILY") == 0) {
            putchar('(');
            print_values(o);
            putchar(')');
        }
    }
    fputs("' \\\n", stdout);
}

static void zsh_option(const heed_field *o) {
    if (o->letter) zsh_spelling(o, true);
    zsh_spelling(o, false);
}

/* `first`: the command whose first words are offered. */
static void zsh_page(const struct command *c, const struct command *first) {
    fputs("        _arguments \\\n", stdout);
    each_option(c, zsh_option);
    if (first->first) {
        printf("            '1:%s:(", first->words);
        print_names(first->first);
        fputs(")' \\\n", stdout);
    }
    fputs("            '*:file:_files'\n", stdout);
}

static void zsh_command(const struct command *c) {
    const struct command *task;
    printf("    %s)\n", c->name);
    if (c->task) fputs("        case $words[2] in\n", stdout);
    for (int i = 0; c->task && (task = c->task(i)); i++) {
        printf("        %s)\n", task->name);
        zsh_page(task, c);
        fputs("        ;;\n", stdout);
    }
    if (c->task) fputs("        *)\n", stdout);
    zsh_page(c, c);
    fputs(c->task ? "        ;;\n        esac\n    ;;\n" : "    ;;\n", stdout);
}

void docs_zsh(void) {
    fputs("#compdef heed\n# zsh completion of heed; made by `heed docs zsh`\n"
          "local -a commands\ncommands=(\n",
          stdout);
    const struct command *c;
    for (int i = 0; (c = cli_command(i)); i++) {
        if (c->hidden) continue;
        printf("    '%s:", c->name);
        zsh_text(c->summary);
        fputs("'\n", stdout);
    }
    fputs(")\nif ((CURRENT == 2)); then\n    _describe command commands\n    return\nfi\n"
          "shift words\n((CURRENT--))\ncase $words[1] in\n",
          stdout);
    for (int i = 0; (c = cli_command(i)); i++)
        if (!c->hidden) zsh_command(c);
    fputs("esac\n", stdout);
}
