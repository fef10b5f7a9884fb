/* heed docs bash|zsh: completions from the tables. Options, choices and families are completed by name; whatever is a
 * path, by the shell. */
#include "cli/docs.h"
#include "cli/options.h"
#include "heed/model.h"
#include <stdio.h>
#include <string.h>

typedef void (*option_fn)(const struct option *option);

/* The options of a command, then the common ones; none when it takes none. */
static void each_option(const struct command *c, option_fn fn) {
    const struct option *const tables[] = {c->options, common_options};
    for (int t = 0; c->options && t < 2; t++)
        for (const struct option *o = tables[t]; o->name; o++)
            if (o->kind != OPTION_GROUP) fn(o);
}

static bool takes_family(const struct command *c) {
    return c->words && (strncmp(c->words, "FAMILY", 6) == 0 || strncmp(c->words, "[FAMILY", 7) == 0);
}

static void print_families(void) {
    for (int i = 0; i < heed_family_count(); i++) printf("%s%s", i ? " " : "", heed_family_at(i)->name);
}

static void print_commands(void) {
    const struct command *c;
    for (int i = 0; (c = cli_command(i)); i++)
        if (!c->hidden) printf("%s ", c->name);
}

/* ---- bash ---- */

static void bash_name(const struct option *o) {
    printf(" --%s", o->name);
    if (o->letter) printf(" -%c", o->letter);
}

/* What may follow an option: its choices; nothing for a number; a path is left to readline. */
static void bash_value(const struct option *o) {
    if (o->kind == OPTION_FLAG || o->kind == OPTION_FILE) return;
    printf("        --%s) values='%s' ;;\n", o->name, o->kind == OPTION_CHOICE ? o->choices : "");
}

static void bash_command(const struct command *c) {
    printf("    %s)\n        options='", c->name);
    each_option(c, bash_name);
    fputs("'\n        words='", stdout);
    if (takes_family(c)) print_families();
    fputs("'\n        case $last in\n", stdout);
    each_option(c, bash_value);
    fputs("        *) given= ;;\n        esac\n        ;;\n", stdout);
}

void docs_bash(void) {
    fputs(
        "# bash completion of heed; made by `heed docs bash`\n"
        "_heed() {\n"
        "    local word=${COMP_WORDS[COMP_CWORD]} last=${COMP_WORDS[COMP_CWORD-1]} options= words= values= given=yes\n"
        "    COMPREPLY=()\n"
        "    if ((COMP_CWORD == 1)); then\n"
        "        COMPREPLY=($(compgen -W '",
        stdout);
    print_commands();
    fputs("help --help --version' -- \"$word\"))\n        return\n    fi\n    case ${COMP_WORDS[1]} in\n    help)\n"
          "        words='",
          stdout);
    print_commands();
    fputs("'\n        given=\n        ;;\n", stdout);
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

static void zsh_option(const struct option *o) {
    printf("            '%s--%s%s[", o->kind == OPTION_LIST ? "*" : "", o->name, o->kind == OPTION_FLAG ? "" : "=");
    zsh_text(o->help);
    putchar(']');
    if (o->kind != OPTION_FLAG) {
        printf(":%s:", o->value ? o->value : "value");
        if (o->kind == OPTION_FILE)
            fputs("_files", stdout);
        else if (o->kind == OPTION_CHOICE)
            printf("(%s)", o->choices);
    }
    fputs("' \\\n", stdout);
}

static void zsh_command(const struct command *c) {
    printf("    %s)\n        _arguments \\\n", c->name);
    each_option(c, zsh_option);
    if (takes_family(c)) {
        fputs("            '1:family:(", stdout);
        print_families();
        fputs(")' \\\n", stdout);
    }
    fputs("            '*:file:_files'\n        ;;\n", stdout);
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
