/* Pipelines of diffusion: directories with a network, its scheduler and the names of its classes. */
#include "heed/pipeline.h"
#include "base/file.h"
#include "base/text.h"
#include "io/limits.h"
#include "io/text.h"
#include "model/core/config.h"
#include "model/core/directory.h"
#include "model/core/families.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TASK "diffusion"

/* ---- networks ---- */

/* Which key says how many classes there are, and where the network lies in a pipeline. */
static const struct network {
    const char *family, *labels_key, *part, *pipeline;
} networks[] = {{"unet2d", "num_class_embeds", UNET_PART, "DDIMPipeline"},
                {"dit", "num_embeds_ada_norm", TRANSFORMER_PART, "DiTPipeline"}};

static const struct network *network_of(const heed_model *model) {
    const heed_family *const family = heed_model_family(model);
    for (size_t i = 0; family && i < sizeof networks / sizeof *networks; i++)
        if (strcmp(networks[i].family, family->name) == 0) return &networks[i];
    return NULL;
}

const char *heed_pipeline_network(const heed_model *model) {
    const struct network *const n = network_of(model);
    return n ? n->part : NULL;
}

bool heed_denoiser_of(heed_ctx *cx, const heed_model *model, heed_denoiser *denoiser) {
    heed_io in = {0};
    int64_t shape[4] = {0};
    if (heed_failed(cx)) return false;
    if (!model || !denoiser)
        return heed_fail(cx, HEED_ERR_USAGE, "denoiser: the %s is NULL", model ? "denoiser" : "model");
    const struct network *const n = network_of(model);
    if (!n)
        return heed_fail(cx, HEED_ERR_USAGE, "a model of family %s does not make pictures of noise alone",
                         heed_model_family(model)->name);
    const heed_json config = heed_model_config(model);
    heed_scope_begin(cx); /* what the caller is computing stays */
    if (heed_model_sample(cx, model, 1, 1, &in))
        for (int i = 0; i < 4; i++) shape[i] = heed_dim(heed_io_get(&in, "sample"), i);
    const bool labelled = heed_io_get(&in, "class_labels");
    heed_scope_end(cx, NULL);
    *denoiser = (heed_denoiser){.channels = (int)shape[1],
                                .output_channels = (int)heed_json_int_or(cx, config, "out_channels", shape[1]),
                                .height = shape[2],
                                .width = shape[3],
                                .numbers = shape[1] * shape[2] * shape[3],
                                .labels = labelled ? heed_json_int_or(cx, config, n->labels_key, 0) : 0};
    if (heed_failed(cx)) return false;
    if (labelled && denoiser->labels == 0)
        return heed_fail(cx, HEED_ERR_USAGE, "a network whose classes are vectors or steps: numbers are needed");
    if (denoiser->channels != 1 && denoiser->channels != 3)
        return heed_fail(cx, HEED_ERR_SHAPE, "a network of %d channels: pictures have 1 or 3", denoiser->channels);
    if (denoiser->output_channels != denoiser->channels && denoiser->output_channels != 2 * denoiser->channels)
        return heed_fail(cx, HEED_ERR_SHAPE,
                         "a network that makes %d channels of %d: as many or twice as many are needed",
                         denoiser->output_channels, denoiser->channels);
    return true;
}

/* ---- opening ---- */

/* Networks of DiT have a row for no class; those of U-Nets have one where there is a row more than there are names. */
static bool read_classes(heed_ctx *cx, heed_json index, heed_pipeline *p) {
    const int64_t named = heed_json_count(heed_json_find(cx, index, "id2label")), labels = p->denoiser.labels;
    const bool beside = strcmp(heed_pipeline_network(p->model), TRANSFORMER_PART) == 0;
    p->no_class = beside && labels > 1 ? labels : -1;
    p->classes = labels > 1 ? labels : 0;
    if (named == 0 || labels == 0) return !heed_failed(cx);
    if (!beside && named == labels - 1) p->classes = p->no_class = named;
    if (named != p->classes)
        return heed_json_fail(cx, heed_json_find(cx, index, "id2label"), "%lld names, and the network has %lld classes",
                              (long long)named, (long long)p->classes);
    p->names = config_label_names(cx, index, named);
    return !heed_failed(cx);
}

static bool open_parts(heed_ctx *cx, const char *dir, const char *scheduler, heed_json index, heed_pipeline *p) {
    const heed_json vae = heed_json_find(cx, index, "vae");
    if (heed_json_kind_of(vae) != HEED_JSON_NONE)
        return heed_json_fail(cx, vae,
                              "the network works on codes, and the pictures that a VAE makes of them are not "
                              "sampled");
    p->scheduler = heed_scheduler_open(cx, dir, scheduler);
    heed_directory *const d = p->scheduler ? heed_directory_open(cx, dir) : NULL;
    if (d && !text_among(heed_directory_head(d) ? heed_directory_head(d)->tasks : "", TASK))
        heed_fail(cx, HEED_ERR_USAGE, "%s: the network makes no pictures of noise alone",
                  escaped(heed_directory_path(d)).s);
    if (d) p->model = heed_directory_model(cx, d, &(heed_load_opts){.map = true, .pack = true});
    heed_directory_close(cx, d);
    return p->model && heed_denoiser_of(cx, p->model, &p->denoiser) && read_classes(cx, index, p);
}

heed_pipeline *heed_pipeline_open(heed_ctx *cx, const char *dir, const char *scheduler) {
    char path[PATH_ROOM];
    if (heed_failed(cx)) return NULL;
    if (!dir) return heed_fail(cx, HEED_ERR_USAGE, "pipeline_open: no directory is given"), NULL;
    if (!directory_is_pipeline(dir))
        return heed_fail(cx, HEED_ERR_FILE, "%s: holds no " MODEL_INDEX_FILE ", as a pipeline does", escaped(dir).s),
               NULL;
    if (!directory_path(cx, dir, MODEL_INDEX_FILE, path)) return NULL;
    const heed_json index = json_open_within(cx, path, IO_CONFIG_LIMIT);
    heed_pipeline *const p = heed_failed(cx) ? NULL : heed_mem_new(cx, sizeof *p);
    if (p) *p = (heed_pipeline){.no_class = -1};
    const bool ok = p && open_parts(cx, dir, scheduler, index, p);
    heed_json_free(index);
    if (ok) return p;
    heed_pipeline_free(cx, p);
    return NULL;
}

void heed_pipeline_free(heed_ctx *cx, heed_pipeline *p) {
    if (!cx || !p) return;
    heed_mem_free(cx, p->names);
    heed_model_free(cx, p->model);
    heed_scheduler_free(cx, p->scheduler);
    heed_mem_free(cx, p);
}

int64_t heed_pipeline_class(heed_ctx *cx, const heed_pipeline *p, const char *name) {
    char known[256] = "";
    size_t used = 0;
    if (heed_failed(cx)) return -1;
    if (!p || !name) return heed_fail(cx, HEED_ERR_USAGE, "class: a pipeline and a name are needed"), -1;
    if (p->classes == 0)
        return heed_fail(cx, HEED_ERR_USAGE, "class %s: the model knows no classes", escaped(name).s), -1;
    for (int64_t i = 0; p->names && i < p->classes; i++) {
        if (strcmp(p->names[i], name) == 0) return i;
        if (used < sizeof known)
            used += (size_t)text_format(known + used, sizeof known - used, "%s%s", i ? ", " : "", p->names[i]);
    }
    char *end;
    const long long number = strtoll(name, &end, 10);
    if (*name >= '0' && *name <= '9' && !*end && number < p->classes) return number;
    if (p->names)
        heed_fail(cx, HEED_ERR_USAGE, "class '%s' is not one of the model's: %s", escaped(name).s, known);
    else
        heed_fail(cx, HEED_ERR_USAGE, "class '%s' is not a number from 0 to %lld", escaped(name).s,
                  (long long)p->classes - 1);
    return -1;
}

/* ---- writing ---- */

/* A part of model_index.json: the library and the class that opens it. */
static void put_part(heed_ctx *cx, heed_json index, const char *name, const char *class) {
    const heed_json list = heed_json_put_array(cx, index, name);
    heed_json_put_text(cx, list, NULL, "diffusers");
    heed_json_put_text(cx, list, NULL, class);
}

bool heed_pipeline_describe(heed_ctx *cx, const char *dir, const heed_model *model, const heed_scheduler *scheduler,
                            char *const *names, int64_t classes) {
    char path[PATH_ROOM], key[32];
    if (heed_failed(cx)) return false;
    const struct network *const n = model ? network_of(model) : NULL;
    if (!dir || !n || !scheduler)
        return heed_fail(cx, HEED_ERR_USAGE,
                         "pipeline_describe: a directory, a network of diffusion and its scheduler are needed");
    const heed_json index = heed_json_new(cx, MODEL_INDEX_FILE);
    heed_json_put_text(cx, index, "_class_name", n->pipeline);
    put_part(cx, index, SCHEDULER_PART, heed_scheduler_class(scheduler));
    put_part(cx, index, n->part, heed_model_head(model)->architecture);
    const heed_json map = classes > 0 ? heed_json_put_object(cx, index, "id2label") : index;
    for (int64_t i = 0; i < classes; i++) {
        snprintf(key, sizeof key, "%lld", (long long)i);
        heed_json_put_text(cx, map, key, names ? names[i] : key);
    }
    const bool ok = !heed_failed(cx) && directory_make(cx, dir) && directory_path(cx, dir, SCHEDULER_PART, path) &&
                    heed_scheduler_save(cx, scheduler, path) && directory_path(cx, dir, MODEL_INDEX_FILE, path) &&
                    heed_json_write(cx, path, index);
    heed_json_free(index);
    return ok;
}
