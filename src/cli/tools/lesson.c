/* heed lesson: experiments that explain themselves. Each is a file of src/lessons/ and a line of lessons.def. */
#include "lessons/lesson.h"
#include "cli/core/options.h"
#include "cli/core/program.h"
#include "cli/core/table_usage.h"
#include "model/core/directory.h"
#include <stdio.h>
#include <string.h>

static const struct lesson *const lessons[] = {
#define LESSON(name) &name##_lesson,
#include "lessons/lessons.def"
#undef LESSON
};
enum { LESSONS = sizeof lessons / sizeof lessons[0] };

/* clang-format off */
static const heed_field options[] = {
    {.name = "out", .letter = 'o', .kind = HEED_FIELD_FILE, .value = "DIR",
     .help = "write the pictures (PNG, SVG) and the data behind them (CSV) here"},
    {.name = "data", .letter = 'd', .kind = HEED_FIELD_FILE, .value = "PATH",
     .help = "data of your own; 'heed lesson' says what each lesson takes"},
    {.name = "target", .letter = 't', .kind = HEED_FIELD_TEXT, .value = "COLUMN",
     .help = "the column y of a table, by name or number; by default the last"},
    {.name = "tables", .kind = HEED_FIELD_TABLE, .table = table_fields},
    {.name = "model", .letter = 'm', .kind = HEED_FIELD_FILE, .value = "DIR",
     .help = "a masked language model of your own, for masked-words, fine-tuning and class-token"},
    {.name = "steps", .kind = HEED_FIELD_INT, .value = "N", .low = 30, .high = 20000,
     .help = "number of training steps, of lessons that train for seconds (memory, transformer, ...)"},
    {.name = "dark", .help = "pictures for a dark page"},
    JSON_OPTION,
    {.name = NULL},
};
/* clang-format on */

static void print_row(int width, const char *name, const char *text) {
    printf("%-*s  ", width, name);
    help_wrapped(text, width + 2, width + 2);
}

static void print_list(void) {
    int width = 0;
    for (int i = 0; i < LESSONS; i++)
        if ((int)strlen(lessons[i]->name) > width) width = (int)strlen(lessons[i]->name);
    printf("%-*s  %s\n", width, "name", "what it shows");
    for (int i = 0; i < LESSONS; i++) print_row(width, lessons[i]->name, lessons[i]->summary);
    printf("\n'%s lesson NAME' runs one; '--out DIR' keeps its pictures and numbers.\n"
           "With data of your own, '--data PATH':\n\n",
           cli_program());
    for (int i = 0; i < LESSONS; i++)
        if (lessons[i]->data) print_row(width, lessons[i]->name, lessons[i]->data);
}

static int print_json(const struct options *o) {
    heed_ctx *cx = heed_open(&(heed_config){.threads = 1});
    const heed_json doc = heed_json_new(cx, "lessons"), list = heed_json_put_array(cx, doc, "lessons");
    for (int i = 0; i < LESSONS; i++) {
        const heed_json at = heed_json_put_object(cx, list, NULL);
        heed_json_put_text(cx, at, "name", lessons[i]->name);
        heed_json_put_text(cx, at, "summary", lessons[i]->summary);
        if (lessons[i]->data) heed_json_put_text(cx, at, "data", lessons[i]->data);
    }
    json_answer(cx, stdout, list, 2);
    heed_json_free(doc);
    return options_close(o, cx, EXIT_DONE);
}

static const struct lesson *find_lesson(const char *name) {
    const char *names[LESSONS];
    for (int i = 0; i < LESSONS; i++) {
        names[i] = lessons[i]->name;
        if (strcmp(name, names[i]) == 0) return lessons[i];
    }
    const char *nearest = text_nearest(name, names, LESSONS);
    if (nearest)
        cli_error(EXIT_USAGE, "lesson: %s: unknown lesson, did you mean '%s'?", name, nearest);
    else
        cli_error(EXIT_USAGE, "lesson: %s: unknown lesson, 'heed lesson' lists them", name);
    return NULL;
}

static int run_lesson(const struct options *o, const struct lesson *lesson) {
    struct lesson_run r = {.lesson = lesson,
                           .program = cli_program(),
                           .data = option_text(o, "data"),
                           .out = option_text(o, "out"),
                           .model = option_text(o, "model"),
                           .seed = (uint64_t)option_int(o, "seed"),
                           .steps = option_given(o, "steps") ? option_int(o, "steps") : lesson->steps,
                           .dark = option_flag(o, "dark"),
                           .quiet = option_flag(o, "quiet"),
                           .json = option_flag(o, "json"),
                           .terminal = cli_terminal(88)} /* wider is not read comfortably */;
    if (r.data && !lesson->data) return cli_error(EXIT_USAGE, "lesson %s: takes no data of your own", lesson->name);
    if (r.model && !lesson->model) return cli_error(EXIT_USAGE, "lesson %s: takes no --model", lesson->name);
    if (r.steps && !lesson->steps) return cli_error(EXIT_USAGE, "lesson %s: takes no --steps", lesson->name);
    if (r.model && option_given(o, "steps"))
        return cli_error(EXIT_USAGE, "lesson %s: --steps is for pre-training, which a model of --model has behind it",
                         lesson->name);
    if (!table_usage(o)) return EXIT_USAGE;
    r.cx = options_open(o);
    if (!r.cx) return EXIT_FAILED;
    struct table_columns columns;
    r.opts.target = option_text(o, "target");
    table_ask(options_values(o), r.cx, &columns, &r.opts);
    if (r.out && !*r.out) heed_fail(r.cx, HEED_ERR_USAGE, "--out: the name of the directory is empty");
    if (lesson_begin(&r) && (!r.out || directory_make(r.cx, r.out))) lesson->run(&r);
    lesson_end(&r);
    table_columns_free(r.cx, &columns);
    return options_close(o, r.cx, EXIT_DONE);
}

static int run(int argc, char **argv) {
    struct options *o = options_read("lesson", options, argc, argv, 0, 1, "NAME");
    if (!o) return EXIT_USAGE;
    const char *name = options_word(o, 0);
    const struct lesson *lesson = name ? find_lesson(name) : NULL;
    int status = EXIT_DONE;
    if (name)
        status = lesson ? run_lesson(o, lesson) : EXIT_USAGE;
    else if (option_flag(o, "json"))
        status = print_json(o);
    else
        print_list();
    options_free(o);
    return status;
}

static const char *lesson_name(int i) { return i < LESSONS ? lessons[i]->name : NULL; }

const struct command lesson_command = {
    .name = "lesson",
    .summary = "experiments on attention: explanation, numbers, pictures",
    .words = "[NAME]",
    .about =
        "Runs an experiment on attention or on what it is made of: explains it, prints its figures and draws it in the "
        "terminal. With --out also as pictures, with the data behind them as CSV. Without NAME: the list.",
    .options = options,
    .examples = "heed lesson\nheed lesson neuron\nheed lesson nadaraya-watson --out pictures\n"
                "heed lesson nadaraya-watson --data mine.csv --out pictures\nheed lesson digits --data mnist\n"
                "heed lesson masked-words --model bert-base-uncased\n",
    .run = run,
    .first = lesson_name,
};
