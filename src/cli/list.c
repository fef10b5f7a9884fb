/* heed list: the families of models; heed list FAMILY: the keys of its config.json. */
#include "cli/options.h"
#include "heed/model.h"
#include <stdio.h>
#include <string.h>

static const struct option options[] = {JSON_OPTION, {.name = NULL}};

static void put_words(heed_ctx *cx, heed_json at, const char *key, const char *words) {
    const heed_json list = heed_json_put_array(cx, at, key);
    for (size_t n; (n = strcspn(words, " ")); words += n, words += strspn(words, " ")) {
        char word[64];
        snprintf(word, sizeof word, "%.*s", (int)n, words);
        heed_json_put_text(cx, list, NULL, word);
    }
}

static const char *kind_name(heed_key_kind kind) {
    static const char *const names[] = {"int", "number", "bool", "text", "ints", "texts", "int or null"};
    return names[kind];
}

static void put_family(heed_ctx *cx, heed_json list, const heed_family *f) {
    const heed_json at = heed_json_put_object(cx, list, NULL);
    heed_json_put_text(cx, at, "name", f->name);
    heed_json_put_text(cx, at, "model_type", f->type);
    heed_json_put_text(cx, at, "paper", f->paper);
    heed_json_put_text(cx, at, "summary", f->summary);
    put_words(cx, at, "tasks", f->tasks);
    put_words(cx, at, "inputs", f->inputs);
    const heed_json keys = heed_json_put_array(cx, at, "keys");
    for (const heed_key *k = f->keys; k->name; k++) {
        const heed_json key = heed_json_put_object(cx, keys, NULL);
        heed_json_put_text(cx, key, "name", k->name);
        heed_json_put_text(cx, key, "kind", kind_name(k->kind));
        if (k->standard) heed_json_put_text(cx, key, "default", k->standard);
        heed_json_put_text(cx, key, "help", k->help);
    }
}

static int print_json(const struct options *o, const heed_family *only) {
    heed_ctx *cx = heed_open(&(heed_config){.threads = 1});
    const heed_json doc = heed_json_new(cx, "list"), list = heed_json_put_array(cx, doc, "families");
    for (int i = 0; i < heed_family_count(); i++)
        if (!only || heed_family_at(i) == only) put_family(cx, list, heed_family_at(i));
    json_answer(cx, stdout, list, 2);
    heed_json_free(doc);
    return options_close(o, cx, EXIT_DONE);
}

enum { TABLE_COLUMNS = 4 };

static const char *table_cell(const heed_family *f, int column) {
    const char *const cells[TABLE_COLUMNS] = {f->name, *f->tasks ? f->tasks : "-", f->paper, f->summary};
    return cells[column];
}

/* Each column as wide as its widest cell, in characters; the last is not filled up. */
static void print_table(void) {
    static const heed_family head = {.name = "name", .tasks = "trains", .paper = "paper", .summary = "what it is"};
    const int n = heed_family_count();
    int width[TABLE_COLUMNS] = {0};
    for (int i = -1; i < n; i++)
        for (int k = 0; k < TABLE_COLUMNS - 1; k++) {
            const char *cell = table_cell(i < 0 ? &head : heed_family_at(i), k);
            const int size = help_width(cell, strlen(cell));
            if (size > width[k]) width[k] = size;
        }
    for (int i = -1; i < n; i++)
        for (int k = 0; k < TABLE_COLUMNS; k++) {
            const char *cell = table_cell(i < 0 ? &head : heed_family_at(i), k);
            const int fill = width[k] - help_width(cell, strlen(cell));
            printf("%s%*s%s", cell, fill > 0 ? fill : 0, "", k < TABLE_COLUMNS - 1 ? "  " : "\n");
        }
}

static void print_family(const heed_family *f) {
    printf("%s: %s (%s)\n\n", f->name, f->summary, f->paper);
    help_wrapped(f->notes, 0, 0);
    printf("\nmodel_type  %s\ninputs      %s\ntrains      %s\n\n", f->type, f->inputs, *f->tasks ? f->tasks : "-");
    printf("%-32s %-11s %-10s %s\n", "key", "kind", "default", "");
    for (const heed_key *k = f->keys; k->name; k++)
        printf("%-32s %-11s %-10s %s\n", k->name, kind_name(k->kind), k->standard ? k->standard : "(needed)", k->help);
}

const heed_family *cli_family(const char *command, const char *name) {
    const heed_family *family = heed_family_find(name);
    const char *names[64];
    int n = 0;
    if (family) return family;
    for (; n < heed_family_count() && n < 64; n++) names[n] = heed_family_at(n)->name;
    const char *nearest = cli_nearest(name, names, n);
    if (nearest)
        cli_error(EXIT_USAGE, "%s: %s: unknown family, did you mean '%s'?", command, name, nearest);
    else
        cli_error(EXIT_USAGE, "%s: %s: unknown family, 'heed list' lists them", command, name);
    return NULL;
}

const char *cli_family_name(int i) { return i < heed_family_count() ? heed_family_at(i)->name : NULL; }

static int run(int argc, char **argv) {
    struct options *o = options_read("list", options, argc, argv, 0, 1, "FAMILY");
    if (!o) return EXIT_USAGE;
    const char *name = options_word(o, 0);
    const heed_family *family = name ? cli_family("list", name) : NULL;
    int status = EXIT_DONE;
    if (name && !family)
        status = EXIT_USAGE;
    else if (option_flag(o, "json"))
        status = print_json(o, family);
    else if (family)
        print_family(family);
    else
        print_table();
    options_free(o);
    return status;
}

const struct command list_command = {
    .name = "list",
    .summary = "the architectures, and what each can do",
    .words = "[FAMILY]",
    .about =
        "Lists the families of models with the tasks that 'heed train' can train each for, its paper and what it is. "
        "With FAMILY: its inputs and the keys of its config.json.",
    .options = options,
    .examples = "heed list\nheed list mlp\nheed list --json\n",
    .run = run,
    .first = cli_family_name,
};
