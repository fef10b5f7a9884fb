/* Models: a family's struct, its parameters and its config, made fresh or opened from a directory. */
#include "io/limits.h"
#include "model/config.h"
#include "model/directory.h"
#include "model/families.h"
#include <stdio.h>
#include <string.h>

/* ---- the list ---- */

static const heed_family *const families[] = {
#define FAMILY(name) &family_##name,
#include "model/families.def"
#undef FAMILY
};

int heed_family_count(void) { return (int)(sizeof families / sizeof *families); }
const heed_family *heed_family_at(int i) { return i >= 0 && i < heed_family_count() ? families[i] : NULL; }

const heed_family *heed_family_find(const char *name) {
    for (int i = 0; name && i < heed_family_count(); i++)
        if (strcmp(families[i]->name, name) == 0 || strcmp(families[i]->type, name) == 0) return families[i];
    return NULL;
}

/* ---- tensors by name ---- */

heed_tensor *heed_io_get(const heed_io *io, const char *name) {
    for (int i = 0; io && name && i < io->n; i++)
        if (strcmp(io->name[i], name) == 0) return io->tensor[i];
    return NULL;
}

bool heed_io_put(heed_ctx *cx, heed_io *io, const char *name, heed_tensor *tensor) {
    if (heed_failed(cx)) return false;
    if (!io || !name || !tensor) return heed_fail(cx, HEED_ERR_USAGE, "io: a list, a name and a tensor are needed");
    int at = 0;
    while (at < io->n && strcmp(io->name[at], name) != 0) at++;
    if (at == HEED_IO_MOST)
        return heed_fail(cx, HEED_ERR_RANGE, "io: '%s' is one tensor more than the %d that fit", name, HEED_IO_MOST);
    io->name[at] = name;
    io->tensor[at] = tensor;
    if (at == io->n) io->n++;
    return true;
}

/* ---- models ---- */

struct heed_model {
    const heed_family *family;
    heed_params *params;
    heed_json config, decoding; /* generation_config.json, or nothing */
    void *own;
};

void heed_model_free(heed_ctx *cx, heed_model *m) {
    if (!cx || !m) return;
    heed_params_free(cx, m->params);
    heed_json_free(m->config);
    heed_json_free(m->decoding);
    heed_mem_free(cx, m->own);
    heed_mem_free(cx, m);
}

/* Takes config over. The parameters have no numbers yet. */
static heed_model *build(heed_ctx *cx, const heed_family *family, heed_json config) {
    heed_model *m = heed_mem_new(cx, sizeof *m);
    if (!m) {
        heed_json_free(config);
        return NULL;
    }
    *m = (heed_model){.family = family, .config = config};
    m->params = heed_params_new(cx);
    m->own = heed_mem_new(cx, family->size);
    if (m->own) memset(m->own, 0, family->size);
    if (m->own && m->params && family->build(cx, config, m->params, m->own) && heed_params_allocate(cx, m->params))
        return m;
    heed_model_free(cx, m);
    return NULL;
}

heed_model *heed_model_new(heed_ctx *cx, const heed_family *family, const char *const *settings, int n, uint64_t seed) {
    if (heed_failed(cx)) return NULL;
    if (!family || (n > 0 && !settings)) {
        heed_fail(cx, HEED_ERR_USAGE, "model_new: the %s NULL", family ? "settings are" : "family is");
        return NULL;
    }
    const heed_json config = config_new(cx, family, settings, n);
    heed_model *m = heed_failed(cx) ? NULL : build(cx, family, config);
    if (m && heed_params_init(cx, m->params, seed)) return m;
    heed_model_free(cx, m);
    return NULL;
}

static const heed_family *family_of(heed_ctx *cx, heed_json config) {
    const char *type = heed_json_text(cx, config, "model_type");
    const heed_family *family = heed_family_find(type);
    if (type && (!family || strcmp(family->type, type) != 0)) {
        heed_json_fail(cx, heed_json_find(cx, config, "model_type"), "no family of heed's is '%.60s'", type);
        return NULL;
    }
    return family;
}

static bool open_decoding(heed_ctx *cx, heed_model *m, const char *dir) {
    char path[PATH_ROOM];
    if (directory_has(dir, "generation_config.json") && directory_path(cx, dir, "generation_config.json", path))
        m->decoding = json_open_within(cx, path, IO_CONFIG_LIMIT);
    return !heed_failed(cx);
}

heed_model *heed_model_load(heed_ctx *cx, const char *dir) {
    char path[PATH_ROOM];
    if (heed_failed(cx)) return NULL;
    if (!dir) {
        heed_fail(cx, HEED_ERR_USAGE, "model_load: the directory is NULL");
        return NULL;
    }
    if (!directory_path(cx, dir, "config.json", path)) return NULL;
    const heed_json config = json_open_within(cx, path, IO_CONFIG_LIMIT);
    if (heed_failed(cx)) return NULL;
    const heed_family *family = family_of(cx, config);
    if (!family || !config_complete(cx, family, config)) {
        heed_json_free(config);
        return NULL;
    }
    heed_model *m = build(cx, family, config);
    if (m && open_decoding(cx, m, dir) && heed_params_load(cx, m->params, dir)) return m;
    heed_model_free(cx, m);
    return NULL;
}

bool heed_model_save(heed_ctx *cx, const heed_model *m, const char *dir) {
    char path[PATH_ROOM];
    if (heed_failed(cx)) return false;
    if (!m || !dir || !*dir) return heed_fail(cx, HEED_ERR_USAGE, "model_save: a model and a directory are needed");
    return directory_make(cx, dir) && directory_path(cx, dir, "model.safetensors", path) &&
           heed_params_save(cx, m->params, path) && directory_path(cx, dir, "config.json", path) &&
           heed_json_write(cx, path, m->config) &&
           (heed_json_kind_of(m->decoding) == HEED_JSON_NONE ||
            (directory_path(cx, dir, "generation_config.json", path) && heed_json_write(cx, path, m->decoding)));
}

const heed_family *heed_model_family(const heed_model *m) { return m ? m->family : NULL; }
heed_params *heed_model_params(const heed_model *m) { return m ? m->params : NULL; }
const void *model_own(const heed_model *m) { return m ? m->own : NULL; }
heed_json heed_model_config(const heed_model *m) { return m ? m->config : (heed_json){0}; }
heed_json heed_model_decoding(const heed_model *m) {
    return m && heed_json_kind_of(m->decoding) != HEED_JSON_NONE ? m->decoding : heed_model_config(m);
}

bool heed_model_forward(heed_ctx *cx, const heed_model *m, const heed_io *in, heed_io *out) {
    if (heed_failed(cx)) return false;
    if (!m || !in || !out)
        return heed_fail(cx, HEED_ERR_USAGE, "model_forward: the %s NULL", !m ? "model is" : "inputs or outputs are");
    *out = (heed_io){0};
    return m->family->forward(cx, m->own, in, out) && !heed_failed(cx);
}

bool heed_model_sample(heed_ctx *cx, const heed_model *m, int64_t batch, int64_t length, heed_io *in) {
    if (heed_failed(cx)) return false;
    if (!m || !in || batch < 1 || length < 1)
        return heed_fail(cx, HEED_ERR_USAGE,
                         "model_sample: a model, a list and at least one example and token are needed");
    *in = (heed_io){0};
    return m->family->sample(cx, m->own, batch, length, in) && !heed_failed(cx);
}
