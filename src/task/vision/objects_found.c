/* Detections against the objects of pictures: a model's, or those of a file. */
#include "task/vision/objects_found.h"
#include "base/file.h"
#include "base/text.h"
#include "heed/attend.h"
#include "model/core/inputs.h"
#include "task/vision/ahead.h"
#include "task/vision/object_training.h"
#include "task/vision/objects_way.h"
#include <stdio.h>
#include <string.h>

/* ---- what is said of data ---- */

static void add_note(char *to, size_t room, int64_t n, const char *one, const char *many, const char *what) {
    char count[48];
    const size_t used = strlen(to);
    if (n > 0)
        text_format(to + used, room - used, "%s%s %s", used > 0 ? ", " : "", text_count(n, one, many, count), what);
}

void objects_say_notes(heed_ctx *cx, const char *name, const heed_object_set *set, bool crowds) {
    const heed_object_notes n = heed_object_set_notes(set);
    char text[400] = "";
    add_note(text, sizeof text, n.clipped, "box", "boxes", "clipped at the border of a picture");
    add_note(text, sizeof text, n.empty, "box", "boxes", "of no size or outside of a picture left out");
    if (crowds) add_note(text, sizeof text, n.crowds, "crowd", "crowds", "left out of training");
    add_note(text, sizeof text, n.pictures, "picture", "pictures", "not found and left out");
    if (*text) heed_note(cx, HEED_LOG_WARN, "%s: %s", name, text);
}

/* ---- measuring ---- */

struct measured {
    heed_object_set *set;
    char **names; /* of the model's classes */
    struct detections all;
    struct evaluated_objects found;
    struct heed_evaluated more;
};

static void free_measured(heed_ctx *cx, void *own) {
    struct measured *const m = own;
    heed_coco_score_free(cx, &m->found.coco);
    heed_mem_free(cx, m->all.at);
    heed_object_set_free(cx, m->set);
    heed_mem_free(cx, m->names);
    heed_mem_free(cx, m);
}

static bool open_set(heed_run *r, const char *part, struct measured *m) {
    const heed_object_set_opts opts = {.classes = (const char *const *)m->names,
                                       .pictures = run_text(r, "picture-dir"),
                                       .count = OBJECTS_MEASURED,
                                       .seed = heed_seed(r->cx),
                                       .unseen = m->found.given};
    m->set = heed_object_set_open(r->cx, r->path, part, &opts);
    if (m->set) objects_say_notes(r->cx, r->path, m->set, false);
    return m->set;
}

/* Detections as COCO's result JSON: a list of image_id, category_id, bbox and score. Classes that the data do not have
 * have no category. */
static bool save(heed_run *r, const heed_object_set *set, const struct detections *d) {
    const char *const path = run_text(r, "save-detections");
    struct file_writer *const w = path ? file_write_open(r->cx, path) : NULL;
    if (!path || !w) return !heed_failed(r->cx);
    bool first = true;
    file_write(w, "[", 1);
    for (int64_t i = 0; i < d->n; i++) {
        const heed_detection *const f = &d->at[i];
        const int64_t category = heed_object_set_category(set, f->label);
        char line[256];
        if (category < 0) continue;
        text_format(
            line, sizeof line,
            "%s\n{\"image_id\": %lld, \"category_id\": %lld, \"bbox\": [%.9g, %.9g, %.9g, %.9g], \"score\": %.9g}",
            first ? "" : ",", (long long)heed_object_set_id(set, f->picture), (long long)category, f->box[0], f->box[1],
            f->box[2], f->box[3], f->score);
        file_write(w, line, strlen(line));
        first = false;
    }
    file_write(w, "\n]\n", 3);
    return file_write_commit(w);
}

static bool measure_given(heed_run *r, const char *part, const char *path, struct measured *m) {
    int64_t n = 0;
    heed_detection *const found = open_set(r, part, m) ? heed_detections_read(r->cx, m->set, path, &n) : NULL;
    const bool ok =
        found && heed_coco_measure(r->cx, m->set, NULL, heed_object_set_count(m->set), found, n, &m->found.coco);
    heed_mem_free(r->cx, found);
    return ok;
}

static bool same_classes(heed_run *r, const heed_model *model, const struct measured *m) {
    const int64_t its = config_labels(r->cx, heed_model_config(model)), ours = heed_object_set_classes(m->set);
    return !heed_failed(r->cx) &&
           (its == ours || heed_fail(r->cx, HEED_ERR_SHAPE, "%s: a model of %lld classes, but the data have %lld",
                                     r->dir, (long long)its, (long long)ours));
}

static bool run_model(heed_run *r, const heed_model *model, const heed_image_processor *p, struct measured *m,
                      heed_score *score) {
    struct object_measure_opts opts = {
        .set = m->set,
        .n = heed_object_set_count(m->set),
        .processor = p,
        .masks = heed_model_takes(model, "pixel_mask"),
        .batch = run_given(r, "batch") && heed_object_set_endless(m->set) ? run_int(r, "batch") : 0,
        .workers = ahead_workers(r->cx, r->budget)};
    const bool ok = object_bounds(r->cx, m->set, p, &opts.height, &opts.width) &&
                    object_measure(r->cx, model, &opts, score, &m->found.coco, &m->all) && save(r, m->set, &m->all);
    m->found.found = m->all.at;
    m->found.n = m->all.n;
    return ok;
}

static bool has_colours(heed_run *r, const heed_image_processor *p) {
    return p->channels == 3 ||
           heed_fail(r->cx, HEED_ERR_SHAPE, "%s: a model of pictures of %d channel%s: objects are measured in 3",
                     r->dir, p->channels, p->channels == 1 ? "" : "s");
}

static bool measure_model(heed_run *r, const char *part, struct measured *m, heed_evaluation *to) {
    heed_model *const model = heed_directory_model(r->cx, r->measured, &(heed_load_opts){.map = true});
    heed_image_processor p;
    const int64_t classes = model ? config_labels(r->cx, heed_model_config(model)) : 0;
    if (classes > 0) m->names = heed_model_labels(r->cx, model, classes);
    const bool ok = model && object_processor_of(r->cx, model, r->dir, &p) && has_colours(r, &p) &&
                    open_set(r, part, m) && same_classes(r, model, m) &&
                    heed_metrics_find(r->cx, OBJECT_METRICS, &to->metrics) && run_model(r, model, &p, m, &to->score);
    heed_model_free(r->cx, model);
    return ok;
}

bool objects_evaluate(heed_run *r, const char *part, heed_evaluation *to) {
    struct measured *const m = evaluation_room(r->cx, to, sizeof *m, free_measured);
    const char *const given = run_text(r, "detections");
    if (!m) return false;
    to->one = "picture";
    to->many = "pictures";
    m->found.given = given != NULL;
    if (given ? !measure_given(r, part, given, m) : !measure_model(r, part, m, to)) return false;
    to->n = heed_object_set_count(m->set);
    m->found.set = m->set;
    m->found.names = heed_object_set_names(m->set);
    m->found.classes = heed_object_set_classes(m->set);
    m->more.objects = &m->found;
    to->more = &m->more;
    return true;
}
