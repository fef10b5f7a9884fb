/* heed similar: for every line the nearest lines of a file. */
#include "heed/similar.h"
#include "base/clock.h"
#include "cli/each_line.h"
#include <stdio.h>
#include <string.h>

/* clang-format off */
static const struct option options[] = {
    {.name = "texts", .letter = 't', .kind = OPTION_FILE, .value = "FILE", .help = "the texts to search, one a line (also .gz)"},
    {.name = "top", .letter = 'k', .kind = OPTION_INT, .standard = "5", .value = "N", .low = 1, .high = 1000000,
     .help = "number of lines for each query"},
    {.name = "index", .kind = OPTION_FILE, .value = "FILE",
     .help = "where the vectors of the texts are kept; by default TEXTS.vectors.safetensors"},
    POOLING_OPTION,
    STRICT_OPTION,
    JSON_OPTION,
    {.name = NULL},
};
/* clang-format on */

#define SAY_EVERY 5 /* seconds */

struct similar {
    heed_similar *index;
    double said; /* when it was said how far the vectors are */
};

static void say_progress(void *own, int64_t done, int64_t lines) {
    struct similar *s = own;
    const double now = clock_seconds();
    if (now - s->said < SAY_EVERY || done == lines) return;
    fprintf(stderr, "vectors of %lld of %lld lines\n", (long long)done, (long long)lines);
    s->said = now;
}

static void say_made(const struct each_line *e, const heed_similar *index, const char *texts) {
    const char *name = option_text(e->o, "index"), *made = heed_similar_made(index);
    const int64_t cut = heed_similar_cut(index);
    char count[48];
    if (option_flag(e->o, "quiet")) return;
    if (made)
        fprintf(stderr, "%s%s: %s computed: %s\n", name ? name : texts, name ? "" : ".vectors.safetensors",
                cli_count(heed_similar_lines(index), "vector", "vectors", count), made);
    if (cut > 0)
        fprintf(stderr, "heed: %s: %s longer than the model's %lld tokens, truncated\n", texts,
                cli_count(cut, "line is", "lines are", count), (long long)e->m->reader.longest);
}

static bool begin(struct each_line *e) {
    const char *texts = option_text(e->o, "texts");
    struct similar *s = e->own = heed_mem_new(e->cx, sizeof *s);
    if (!s) return false;
    *s = (struct similar){.said = clock_seconds()};
    each_line_pool(e);
    s->index = heed_similar_open(e->cx, e->m, texts,
                                 &(heed_similar_opts){.index = option_text(e->o, "index"),
                                                      .progress = option_flag(e->o, "quiet") ? NULL : say_progress,
                                                      .own = s});
    if (s->index) say_made(e, s->index, texts);
    return s->index != NULL;
}

static void print_json(const struct each_line *e, int64_t i, const heed_found *found, int64_t top) {
    const struct similar *s = e->own;
    heed_ctx *cx = e->cx;
    const heed_json at = e->error[i] ? each_line_json(e, i) : heed_json_new(cx, "answer");
    if (!e->error[i]) {
        heed_json_put_text(cx, at, "query", each_line_text(e, i));
        const heed_json list = heed_json_put_array(cx, at, "found");
        for (int64_t k = 0; k < top && found[k].line > 0; k++) {
            const heed_json one = heed_json_put_object(cx, list, NULL);
            heed_json_put_int(cx, one, "line", found[k].line);
            heed_json_put_number(cx, one, "score", (double)found[k].score);
            heed_json_put_text(cx, one, "text", heed_similar_text(s->index, found[k].line));
        }
    }
    json_answer(cx, stdout, at, 0);
    heed_json_free(at);
}

/* An empty line ends the lines of a query where there may be several. */
static void print_lines(const struct each_line *e, int64_t i, const heed_found *found, int64_t top) {
    const struct similar *s = e->own;
    for (int64_t k = 0; !e->error[i] && k < top && found[k].line > 0; k++) {
        printf("%.4f\t%lld\t", (double)found[k].score, (long long)found[k].line);
        cli_print_text(stdout, heed_similar_text(s->index, found[k].line));
        puts("");
    }
    if (option_int(e->o, "top") > 1 || e->error[i]) puts("");
}

static bool answer(struct each_line *e) {
    const struct similar *s = e->own;
    heed_ctx *cx = e->cx;
    const int64_t asked = option_int(e->o, "top"), lines = heed_similar_lines(s->index);
    const int64_t top = asked < lines ? asked : lines, width = heed_similar_width(s->index);
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

static bool finish(struct each_line *e, bool good) {
    struct similar *s = e->own;
    if (s) heed_similar_close(e->cx, s->index);
    heed_mem_free(e->cx, s);
    return good;
}

/* Of the options alone, before the model is opened. */
static bool usage(const struct options *o) {
    const char *texts = option_need(o, "texts");
    if (!texts) return false;
    if (strcmp(texts, "-") != 0) return true;
    cli_error(EXIT_USAGE, "similar: --texts: a file is needed; standard input is for queries");
    return false;
}

static int run(int argc, char **argv) {
    static const struct each_line_command similar = {
        .task = "embed", .usage = usage, .begin = begin, .answer = answer, .end = each_line_say_cut, .finish = finish};
    return each_line_run(&similar, options, argc, argv);
}

const struct command similar_command = {
    .name = "similar",
    .summary = "the nearest lines of a file for each line of text",
    .words = "DIR --texts FILE [QUERY...]",
    .about =
        "Prints for each text after DIR, or else for each line of standard input, those lines of FILE whose vectors "
        "have the largest cosine with its own: the cosine, the number of the line, and the line; an empty line ends "
        "the answer, unless --top 1 asks for a line only. The search is exact. --json gives an object a query: its "
        "text, and what was found.\n\n"
        "The vectors of FILE are computed once and kept beside it in FILE.vectors.safetensors, or in --index: an array "
        "`vectors` with a row for each line that is not blank. The file says of which texts and of which model it is; "
        "when one of these has changed, it is made anew, which is said. Vectors are pooled as for 'heed embed'.",
    .options = options,
    .examples = "heed similar all-MiniLM-L6-v2 --texts sentences.txt 'A man is eating food.'\n"
                "heed similar all-MiniLM-L6-v2 --texts sentences.txt --top 1 < queries.txt\n"
                "heed similar all-MiniLM-L6-v2 --texts sentences.txt --json < queries.txt\n",
    .run = run,
};
