/* heed list: the families of models; heed list FAMILY: the keys of its config.json. */
#include "cli/classical/plain_models.h"
#include "cli/core/options.h"
#include "heed/model.h"
#include <stdio.h>
#include <string.h>

static const heed_field options[] = {JSON_OPTION, {.name = NULL}};

static void put_words(heed_ctx *cx, heed_json list, const char *words) {
    for (size_t n; (n = strcspn(words, " ")); words += n, words += strspn(words, " ")) {
        char word[64];
        snprintf(word, sizeof word, "%.*s", (int)n, words);
        heed_json_put_text(cx, list, NULL, word);
    }
}

static const char *kind_name(heed_key_kind kind) {
    switch (kind) { /* the compiler says which one is missing */
    case HEED_KEY_INT:
        return "int";
    case HEED_KEY_NUMBER:
        return "number";
    case HEED_KEY_BOOL:
        return "bool";
    case HEED_KEY_TEXT:
        return "text";
    case HEED_KEY_INTS:
        return "ints";
    case HEED_KEY_TEXTS:
        return "texts";
    case HEED_KEY_INT_OR_NULL:
        return "int or null";
    case HEED_KEY_NUMBER_OR_NULL:
        return "number or null";
    case HEED_KEY_TEXT_OR_NULL:
        return "text or null";
    case HEED_KEY_INT_OR_LIST:
    case HEED_KEY_INT_OR_LISTS:
        return "ints or null";
    case HEED_KEY_BOOL_OR_NULL:
        return "bool or null";
    case HEED_KEY_NUMBERS:
        return "numbers";
    case HEED_KEY_BOOLS:
    case HEED_KEY_BOOL_OR_LIST:
        return "bools";
    case HEED_KEY_NUMBERS_OR_NULL:
        return "numbers or null";
    }
    return "?";
}

static void put_keys(heed_ctx *cx, heed_json at, const heed_key *key) {
    const heed_json keys = heed_json_put_array(cx, at, "keys");
    for (; key->name; key++) {
        const heed_json one = heed_json_put_object(cx, keys, NULL);
        heed_json_put_text(cx, one, "name", key->name);
        heed_json_put_text(cx, one, "kind", kind_name(key->kind));
        if (key->standard) heed_json_put_text(cx, one, "default", key->standard);
        heed_json_put_text(cx, one, "help", key->help);
    }
}

static void put_family(heed_ctx *cx, heed_json list, const heed_family *f) {
    const heed_json at = heed_json_put_object(cx, list, NULL);
    heed_json_put_text(cx, at, "name", f->name);
    heed_json_put_text(cx, at, "model_type", f->type);
    heed_json_put_text(cx, at, "paper", f->paper);
    heed_json_put_text(cx, at, "summary", f->summary);
    const heed_json tasks = heed_json_put_array(cx, at, "tasks");
    for (const heed_head *h = f->heads; h->architecture; h++) put_words(cx, tasks, h->tasks);
    put_keys(cx, at, f->keys);
    const heed_json heads = heed_json_put_array(cx, at, "heads");
    for (const heed_head *h = f->heads; h->architecture; h++) {
        const heed_json head = heed_json_put_object(cx, heads, NULL);
        heed_json_put_text(cx, head, "architecture", h->architecture);
        put_words(cx, heed_json_put_array(cx, head, "tasks"), h->tasks);
        put_words(cx, heed_json_put_array(cx, head, "inputs"), h->inputs);
        if (h->keys) put_keys(cx, head, h->keys);
    }
}

static void put_plain(heed_ctx *cx, heed_json list, const struct plain_model *m) {
    const heed_json at = heed_json_put_object(cx, list, NULL);
    heed_json_put_text(cx, at, "name", m->way->model);
    heed_json_put_text(cx, at, "model_type", m->way->type);
    heed_json_put_text(cx, at, "paper", m->paper);
    heed_json_put_text(cx, at, "summary", m->summary);
    put_words(cx, heed_json_put_array(cx, at, "tasks"), run_task_of(m->way)->name);
    const heed_json keys = heed_json_put_array(cx, at, "keys");
    for (int i = 0; m->keys[i][0]; i++) {
        const heed_json one = heed_json_put_object(cx, keys, NULL);
        heed_json_put_text(cx, one, "name", m->keys[i][0]);
        heed_json_put_text(cx, one, "help", m->keys[i][1]);
    }
    heed_json_put_array(cx, at, "heads");
}

static int print_json(const struct options *o, const heed_family *only, const struct plain_model *plain) {
    heed_ctx *cx = heed_open(&(heed_config){.threads = 1});
    const heed_json doc = heed_json_new(cx, "list"), list = heed_json_put_array(cx, doc, "families");
    for (int i = 0; i < heed_family_count(); i++)
        if (only ? heed_family_at(i) == only : !plain) put_family(cx, list, heed_family_at(i));
    for (int i = 0; plain_model_at(i); i++)
        if (plain ? plain_model_at(i) == plain : !only) put_plain(cx, list, plain_model_at(i));
    json_answer(cx, stdout, list, 2);
    heed_json_free(doc);
    return options_close(o, cx, EXIT_DONE);
}

/* The tasks of all heads, one space between them. */
static const char *tasks_of(const heed_family *f, char *out, size_t size) {
    size_t used = 0;
    out[0] = 0;
    for (const heed_head *h = f->heads; h->architecture; h++)
        if (*h->tasks && used < size)
            used += (size_t)snprintf(out + used, size - used, "%s%s", used ? " " : "", h->tasks);
    return used ? out : "-";
}

enum { TABLE_COLUMNS = 4 };

/* Of row i, families first; -1: the heading. NULL: there is no such row. */
static const char *table_cell(int i, int column, char tasks[256]) {
    static const char *const heading[TABLE_COLUMNS] = {"name", "tasks", "paper", "what it is"};
    if (i < 0) return heading[column];
    if (i < heed_family_count()) {
        const heed_family *f = heed_family_at(i);
        return (const char *const[TABLE_COLUMNS]){f->name, tasks_of(f, tasks, 256), f->paper, f->summary}[column];
    }
    const struct plain_model *m = plain_model_at(i - heed_family_count());
    if (!m) return NULL;
    return (const char *const[TABLE_COLUMNS]){m->way->model, run_task_of(m->way)->name, m->paper, m->summary}[column];
}

/* Each column as wide as its widest cell, in characters; the last is not filled up. */
static void print_table(void) {
    char tasks[256];
    const char *cell;
    int width[TABLE_COLUMNS] = {0};
    for (int k = 0; k < TABLE_COLUMNS - 1; k++)
        for (int i = -1; (cell = table_cell(i, k, tasks)); i++) {
            const int size = help_width(cell, strlen(cell));
            if (size > width[k]) width[k] = size;
        }
    for (int i = -1; table_cell(i, 0, tasks); i++)
        for (int k = 0; k < TABLE_COLUMNS; k++) {
            cell = table_cell(i, k, tasks);
            const int fill = width[k] - help_width(cell, strlen(cell));
            printf("%s%*s%s", cell, fill > 0 ? fill : 0, "", k < TABLE_COLUMNS - 1 ? "  " : "\n");
        }
}

static void print_keys(const heed_key *key) {
    for (; key->name; key++)
        printf("%-32s %-14s %-10s %s\n", key->name, kind_name(key->kind), key->standard ? key->standard : "(needed)",
               key->help);
}

static void print_family(const heed_family *f) {
    printf("%s: %s (%s)\n\n", f->name, f->summary, f->paper);
    help_wrapped(f->notes, 0, 0);
    printf("\nmodel_type  %s\n\n%-36s %-22s %s\n", f->type, "architecture", "tasks", "inputs");
    for (const heed_head *h = f->heads; h->architecture; h++)
        printf("%-36s %-22s %s\n", h->architecture, *h->tasks ? h->tasks : "-", h->inputs);
    printf("\n%-32s %-14s %-10s\n", "key", "kind", "default");
    print_keys(f->keys);
    for (const heed_head *h = f->heads; h->architecture; h++)
        if (h->keys) {
            printf("\nof %s\n", h->architecture);
            print_keys(h->keys);
        }
}

static void print_plain(const struct plain_model *m) {
    printf("%s: %s (%s)\n\n", m->way->model, m->summary, m->paper);
    help_wrapped(m->notes, 0, 0);
    printf("\nmodel_type  %s\n\nkey\n", m->way->type);
    for (int i = 0; m->keys[i][0]; i++) printf("%-32s %s\n", m->keys[i][0], m->keys[i][1]);
}

const heed_family *cli_family(const char *command, const char *name) {
    const heed_family *family = heed_family_find(name);
    const char *names[96];
    char how[96];
    int n = 0;
    if (family) return family;
    if (run_plain_how(name, how)) {
        cli_error(EXIT_USAGE, "%s: %s is no network: '%s' makes one", command, name, how);
        return NULL;
    }
    for (; n < heed_family_count() && n < 96; n++) names[n] = heed_family_at(n)->name;
    const char *nearest = text_nearest(name, names, n);
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
    const struct plain_model *plain = name ? plain_model_find(name) : NULL;
    const heed_family *family = name && !plain ? cli_family("list", name) : NULL;
    int status = EXIT_DONE;
    if (name && !family && !plain)
        status = EXIT_USAGE;
    else if (option_flag(o, "json"))
        status = print_json(o, family, plain);
    else if (plain)
        print_plain(plain);
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
        "Lists the families of models with the tasks of each, one head for each task, its paper and what it is. "
        "With FAMILY: its inputs and the keys of its config.json. The last ones are no networks: 'heed new' and 'heed "
        "forward' are not for them.",
    .options = options,
    .examples = "heed list\nheed list mlp\nheed list --json\n",
    .run = run,
    .first = cli_family_name,
};
