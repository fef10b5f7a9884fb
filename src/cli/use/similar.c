/* heed similar: for every line the nearest lines of a file, for every picture the nearest of a folder. */
#include "heed/similar.h"
#include "base/clock.h"
#include "cli/core/each_line.h"
#include "cli/core/each_picture.h"
#include "cli/use/use_pictures.h"
#include "io/text.h"
#include "model/core/directory.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* clang-format off */
static const heed_field options[] = {
    {.name = "texts", .kind = HEED_FIELD_FILE, .value = "FILE", .help = "the texts to search, one a line (also .gz)"},
    {.name = "pictures", .letter = 'p', .kind = HEED_FIELD_FILE, .value = "PATH",
     .help = "the pictures to search, of a model of pictures: a folder, with the folders in it, or a file with a path "
             "a line"},
    {.name = "top", .letter = 'k', .kind = HEED_FIELD_INT, .standard = "5", .value = "N", .low = 1, .high = 1000000,
     .help = "number of lines or pictures for each query"},
    {.name = "index", .kind = HEED_FIELD_FILE, .value = "FILE",
     .help = "where the vectors are kept; by default FILE.vectors.safetensors or PATH.vectors.safetensors"},
    POOLING_OPTION,
    STRICT_OPTION,
    JSON_OPTION,
    {.name = NULL},
};
/* clang-format on */

#define SAY_EVERY 5 /* seconds */

struct similar {
    heed_similar *index;
    const char *what; /* "lines", "pictures" */
    double said;      /* when it was said how far the vectors are */
};

/* ---- texts and pictures ---- */

static void say_progress(void *own, int64_t done, int64_t rows) {
    struct similar *s = own;
    const double now = clock_seconds();
    if (now - s->said < SAY_EVERY || done == rows) return;
    fprintf(stderr, "vectors of %lld of %lld %s\n", (long long)done, (long long)rows, s->what);
    s->said = now;
}

static struct similar *begin(heed_ctx *cx, const char *what) {
    struct similar *s = heed_mem_new(cx, sizeof *s);
    if (s) *s = (struct similar){.what = what, .said = clock_seconds()};
    return s;
}

static heed_similar_opts opts_of(const struct options *o, struct similar *s) {
    return (heed_similar_opts){
        .index = option_text(o, "index"), .progress = option_flag(o, "quiet") ? NULL : say_progress, .own = s};
}

static void say_made(const struct options *o, const heed_similar *index) {
    const char *made = heed_similar_rebuild_reason(index);
    char count[48];
    if (!made || option_flag(o, "quiet")) return;
    fprintf(stderr, "%s: %s computed: %s\n", heed_similar_index(index),
            text_count(heed_similar_lines(index), "vector", "vectors", count), made);
}

static int64_t top_of(const struct options *o, const heed_similar *index) {
    const int64_t asked = option_int(o, "top"), rows = heed_similar_lines(index);
    return asked < rows ? asked : rows;
}

static void put_found(heed_ctx *cx, heed_json at, const heed_similar *index, const char *key, const heed_found *found,
                      int64_t top) {
    const heed_json list = heed_json_put_array(cx, at, "found");
    for (int64_t k = 0; k < top && found[k].line > 0; k++) {
        const heed_json one = heed_json_put_object(cx, list, NULL);
        heed_json_put_int(cx, one, "line", found[k].line);
        heed_json_put_number(cx, one, "score", (double)found[k].score);
        heed_json_put_text(cx, one, key, heed_similar_text(index, found[k].line));
    }
}

static void print_found(const heed_similar *index, const heed_found *found, int64_t top) {
    for (int64_t k = 0; k < top && found[k].line > 0; k++) {
        printf("%.4f\t%lld\t", (double)found[k].score, (long long)found[k].line);
        cli_print_text(stdout, heed_similar_text(index, found[k].line));
        puts("");
    }
}

static void finish(heed_ctx *cx, struct similar *s) {
    if (s) heed_similar_close(cx, s->index);
    heed_mem_free(cx, s);
}

/* ---- texts ---- */

static bool begin_texts(struct each_line *e) {
    const char *texts = option_text(e->o, "texts");
    struct similar *s = e->own = begin(e->cx, "lines");
    if (!s) return false;
    each_line_pool(e);
    const heed_similar_opts opts = opts_of(e->o, s);
    s->index = heed_similar_open(e->cx, e->m, texts, &opts);
    if (!s->index) return false;
    say_made(e->o, s->index);
    const int64_t cut = heed_similar_cut(s->index);
    char count[48];
    if (cut > 0 && !option_flag(e->o, "quiet"))
        fprintf(stderr, "heed: %s: %s longer than the model's %lld tokens, truncated\n", texts,
                text_count(cut, "line is", "lines are", count), (long long)e->m->reader.max_length);
    return true;
}

static void print_json(const struct each_line *e, int64_t i, const heed_found *found, int64_t top) {
    const struct similar *s = e->own;
    const heed_json at = e->error[i] ? each_line_json(e, i) : heed_json_new(e->cx, "answer");
    if (!e->error[i]) {
        heed_json_put_text(e->cx, at, "query", each_line_text(e, i));
        put_found(e->cx, at, s->index, "text", found, top);
    }
    json_answer(e->cx, stdout, at, 0);
    heed_json_free(at);
}

/* An empty line ends the lines of a query where there may be several. */
static void print_lines(const struct each_line *e, int64_t i, const heed_found *found, int64_t top) {
    const struct similar *s = e->own;
    if (!e->error[i]) print_found(s->index, found, top);
    if (option_int(e->o, "top") > 1 || e->error[i]) puts("");
}

static bool answer_texts(struct each_line *e) {
    const struct similar *s = e->own;
    heed_ctx *cx = e->cx;
    const int64_t top = top_of(e->o, s->index), width = heed_similar_width(s->index);
    int64_t n = 0, cut = 0;
    heed_text_input *query = heed_mem_new(cx, (size_t)e->n * sizeof *query);
    float *vector = heed_mem_new(cx, (size_t)(e->n * width) * sizeof *vector);
    heed_found *found = heed_mem_new(cx, (size_t)e->n * (size_t)top * sizeof *found);
    for (int64_t i = 0; !heed_failed(cx) && i < e->n; i++)
        if (!e->error[i]) query[n++] = (heed_text_input){.text = each_line_text(e, i)};
    if (!heed_failed(cx) && heed_embed(cx, e->m, query, n, vector, &cut) &&
        heed_similar_find(cx, s->index, vector, n, top, found)) {
        for (int64_t i = 0, at = 0; i < e->n; i++) {
            const heed_found *const of = found + (e->error[i] ? 0 : at++) * top;
            if (option_flag(e->o, "json"))
                print_json(e, i, of, top);
            else
                print_lines(e, i, of, top);
        }
        e->cut += cut;
    }
    heed_mem_free(cx, query);
    heed_mem_free(cx, vector);
    heed_mem_free(cx, found);
    return !heed_failed(cx);
}

static bool finish_texts(struct each_line *e, bool good) {
    finish(e->cx, e->own);
    return good;
}

/* ---- pictures ---- */

static bool begin_pictures(struct each_picture *e) {
    const char *path = option_text(e->o, "pictures");
    struct similar *s = e->own = begin(e->cx, "pictures");
    if (!s) return false;
    each_picture_pool(e);
    const heed_similar_opts opts = opts_of(e->o, s);
    s->index = heed_similar_pictures(e->cx, e->m, path, &opts);
    if (s->index) say_made(e->o, s->index);
    return s->index != NULL;
}

static bool answer_pictures(struct each_picture *e, int64_t first, int64_t n) {
    const struct similar *s = e->own;
    heed_ctx *cx = e->cx;
    const int64_t top = top_of(e->o, s->index);
    int64_t width = 0;
    float *vector = heed_embed_pictures(cx, e->m, e->picture + first, n, &width);
    heed_found *found = heed_mem_new(cx, (size_t)n * (size_t)top * sizeof *found);
    const bool ok = vector && found && heed_similar_find(cx, s->index, vector, n, top, found);
    for (int64_t i = 0; ok && i < n; i++) {
        if (option_flag(e->o, "json")) {
            const heed_json at = each_picture_json(e, "query", e->path[first + i]);
            put_found(cx, at, s->index, "picture", found + i * top, top);
            each_picture_print(e, at);
            continue;
        }
        print_found(s->index, found + i * top, top);
        if (option_int(e->o, "top") > 1) puts("");
    }
    heed_mem_free(cx, vector);
    heed_mem_free(cx, found);
    return ok;
}

static bool reject_picture(struct each_picture *e, const char *path) {
    (void)path;
    if (!option_flag(e->o, "json")) puts("");
    return true;
}

static bool finish_pictures(struct each_picture *e, bool good) {
    finish(e->cx, e->own);
    return good;
}

/* ---- the command ---- */

/* Of the options alone, before the model is opened. */
static bool usage(const struct options *o, bool pictures) {
    const char *const needed = pictures ? "pictures" : "texts", *const other = pictures ? "texts" : "pictures";
    if (option_given(o, other)) {
        cli_error(EXIT_USAGE, "similar: --%s is for models of %s, which %s is not", other,
                  pictures ? "text" : "pictures", escaped(options_word(o, 0)).s);
        return false;
    }
    const char *path = option_need(o, needed);
    if (!path) return false;
    if (strcmp(path, "-") != 0) return pictures || !pictures_given(o);
    cli_error(EXIT_USAGE, "similar: --%s: a file is needed; standard input is for queries", needed);
    return false;
}

static int run(int argc, char **argv) {
    static const struct each_line_command texts = {.task = "embed",
                                                   .begin = begin_texts,
                                                   .answer = answer_texts,
                                                   .end = each_line_say_cut,
                                                   .finish = finish_texts};
    static const struct each_picture_command of_pictures = {.task = "embed",
                                                            .begin = begin_pictures,
                                                            .answer = answer_pictures,
                                                            .reject = reject_picture,
                                                            .finish = finish_pictures};
    struct options *o = options_read(argv[0], options, argc, argv, 1, INT_MAX, "DIR [TEXT or PICTURE...]");
    bool pictures = o && pictures_are_read(options_word(o, 0));
    if (o && !directory_has(options_word(o, 0), CONFIG_FILE)) /* opening it will say so */
        pictures = option_given(o, "pictures");
    int status = EXIT_USAGE;
    if (o && usage(o, pictures)) status = pictures ? each_picture_run(&of_pictures, o) : each_line_with(&texts, o);
    options_free(o);
    return status;
}

const struct command similar_command = {
    .name = "similar",
    .summary = "the nearest lines of a file for each text, or pictures for each picture",
    .words = "DIR --texts FILE|--pictures PATH [QUERY...]",
    .about =
        "Prints for each text after DIR, or else for each line of standard input, those lines of FILE whose vectors "
        "have the largest cosine with its own: the cosine, the number of the line, and the line; an empty line ends "
        "the answer, unless --top 1 asks for a line only. The search is exact. --json gives an object a query: its "
        "text, and what was found.\n\n"
        "The vectors of FILE are computed once and kept beside it in FILE.vectors.safetensors, or in --index: an array "
        "`vectors` with a row for each line that is not blank. The file says of which texts and of which model it is; "
        "when one of these has changed, it is made anew, which is said. Vectors are pooled as for 'heed embed'.\n\n"
        "A model of pictures searches --pictures in the same way for each PNG or JPEG file after DIR, or else for each "
        "path on standard input: PATH is a folder, searched with the folders in it for .png, .jpg and .jpeg files, or "
        "a "
        "file with a path a line. Instead of a line it prints the path of a picture. The vectors are made anew when a "
        "path, a size or a time of change differs.",
    .options = options,
    .examples = "heed similar all-MiniLM-L6-v2 --texts sentences.txt 'A man is eating food.'\n"
                "heed similar all-MiniLM-L6-v2 --texts sentences.txt --top 1 < queries.txt\n"
                "heed similar all-MiniLM-L6-v2 --texts sentences.txt --json < queries.txt\n"
                "heed similar vit --pictures photos cat.jpg --top 3\n"
                "find new -name '*.jpg' | heed similar vit --pictures photos --top 1\n",
    .run = run,
};
