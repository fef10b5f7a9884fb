/* heed eval on objects in pictures: COCO's twelve figures, and the average precision of each class. */
#include "base/text.h"
#include "cli/core/figure_options.h"
#include "cli/eval/eval_report.h"
#include "heed/detect.h"
#include "plot/terminal.h"
#include "task/run.h"
#include "train/loop.h"
#include <stdio.h>
#include <string.h>

enum { NAME_WIDEST = 32, DRAWN = 12 };

/* What a figure is, as pycocotools' summarize says it. */
static const char *const meanings[HEED_COCO_FIGURES] = {"average precision, IoU 0.50 to 0.95",
                                                        "average precision, IoU 0.50",
                                                        "average precision, IoU 0.75",
                                                        "of small objects, below 32 x 32 pixels",
                                                        "of medium ones",
                                                        "of large ones, from 96 x 96 pixels on",
                                                        "average recall, 1 detection a picture",
                                                        "average recall, 10 detections",
                                                        "average recall, 100 detections",
                                                        "of small objects",
                                                        "of medium ones",
                                                        "of large ones"};

static void print_figure(double value) {
    if (value < 0)
        printf("%8s", "-");
    else
        printf("%8.4f", value);
}

static void print_text(const struct options *o, const heed_evaluation *e, const struct evaluated_objects *f) {
    char text[512], count[48];
    int wide = 5;
    text_count(e->n, e->one, e->many, count);
    if (f->given) {
        printf("%s of %s (%s)\n\n", option_text(o, "detections"), option_text(o, "data"), count);
    } else {
        score_text(text, sizeof text, e->metrics.list, &e->score);
        printf("%s (%s)\n\n", text, count);
    }
    for (int i = 0; i < HEED_COCO_FIGURES; i++) {
        printf("%-5s", heed_coco_name(i));
        print_figure(f->coco.figure[i]);
        printf("  %s\n", meanings[i]);
    }
    for (int64_t k = 0; k < f->classes; k++) {
        const int has = text_columns(f->names[k]);
        if (has > wide) wide = has < NAME_WIDEST ? has : NAME_WIDEST;
    }
    putchar('\n');
    cli_print_cell(stdout, "class", wide);
    puts("      AP");
    for (int64_t k = 0; k < f->classes; k++) {
        if (f->classes > 20 && f->coco.ap[k] < 0) continue; /* none of many occurs */
        char name[128];
        text_printable(name, sizeof name, f->names[k], strlen(f->names[k]));
        cli_print_cell(stdout, name, wide);
        print_figure(f->coco.ap[k]);
        putchar('\n');
    }
}

static void print_json(heed_ctx *cx, const heed_evaluation *e, const struct evaluated_objects *f) {
    const heed_json result = heed_json_new(cx, "result");
    heed_json_put_int(cx, result, e->many, e->n);
    if (!f->given) heed_json_put_number(cx, result, "loss", e->score.loss);
    for (int i = 0; i < HEED_COCO_FIGURES; i++) heed_json_put_number(cx, result, heed_coco_name(i), f->coco.figure[i]);
    for (int i = 0; !f->given && e->metrics.list[i]; i++)
        if (strncmp(e->metrics.list[i]->name, "loss_", 5) == 0)
            heed_json_put_number(cx, result, e->metrics.list[i]->name, heed_score_value(&e->score, i));
    const heed_json list = heed_json_put_array(cx, result, "classes");
    for (int64_t k = 0; k < f->classes; k++) {
        const heed_json one = heed_json_put_object(cx, list, NULL);
        heed_json_put_text(cx, one, "name", f->names[k]);
        heed_json_put_number(cx, one, "AP", f->coco.ap[k]);
    }
    json_answer(cx, stdout, result, 2);
    heed_json_free(result);
}

/* The first pictures with what was found in them. */
static bool draw(const struct options *o, heed_ctx *cx, const struct evaluated_objects *f) {
    heed_image picture[DRAWN];
    heed_detections_look look[DRAWN];
    heed_detection *const sure = heed_mem_new(cx, (size_t)(f->n + 1) * sizeof *sure);
    int64_t at = 0, kept = 0;
    int n = 0;
    while (sure && n < DRAWN && n < heed_object_set_count(f->set)) {
        heed_object *objects;
        int64_t count;
        if (!heed_object_set_read(cx, f->set, n, &picture[n], &objects, &count)) break;
        heed_mem_free(cx, objects);
        look[n] = (heed_detections_look){.picture = &picture[n], .found = sure + kept, .names = f->names};
        for (; at < f->n && f->found[at].picture == n; at++)
            if (f->found[at].score > HEED_DETECT_THRESHOLD) sure[kept++] = f->found[at], look[n].n++;
        n++;
    }
    heed_figure *const figure = heed_failed(cx) ? NULL : heed_figure_new(cx, 0, 0);
    const bool ok = figure && heed_plot_detections(figure, look, n) &&
                    pictures_write(o, figure, "the first pictures with the objects that were found");
    heed_figure_free(figure);
    for (int i = 0; i < n; i++) heed_image_free(cx, &picture[i]);
    heed_mem_free(cx, sure);
    return ok;
}

void report_objects(const struct options *o, heed_ctx *cx, const heed_evaluation *e) {
    const struct evaluated_objects *const f = e->more->objects;
    if ((pictures_asked(o) && !draw(o, cx, f)) || pictures_take_standard(o)) return;
    if (option_flag(o, "json"))
        print_json(cx, e, f);
    else
        print_text(o, e, f);
}
