/* Models: a family's struct, its parameters and its config, made fresh or opened from a directory. */
#include "base/profile.h"
#include "base/text.h"
#include "io/limits.h"
#include "io/text.h"
#include "model/core/config.h"
#include "model/core/families.h"
#include "model/core/lora.h"
#include "model/core/opened.h"
#include "model/core/resized.h"
#include "nn/params.h"
#include "tensor/engine.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* ---- the list ---- */

static const heed_family *const families[] = {
#define FAMILY(name) &family_##name,
#include "model/core/families.def"
#undef FAMILY
};

int heed_family_count(void) { return (int)(sizeof families / sizeof *families); }
const heed_family *heed_family_at(int i) { return i >= 0 && i < heed_family_count() ? families[i] : NULL; }

const heed_family *heed_family_find(const char *name) {
    for (int i = 0; name && i < heed_family_count(); i++)
        if (strcmp(families[i]->name, name) == 0 || strcmp(families[i]->type, name) == 0) return families[i];
    return NULL;
}

const heed_head *heed_head_named(const heed_family *family, const char *architecture) {
    for (const heed_head *h = family && architecture ? family->heads : NULL; h && h->architecture; h++)
        if (strcmp(h->architecture, architecture) == 0) return h;
    return NULL;
}

const heed_head *heed_head_for(const heed_family *family, const char *task) {
    if (!family || !task) return family ? family->heads : NULL;
    for (const heed_head *h = family->heads; h->architecture; h++)
        if (text_among(h->tasks, task)) return h;
    return NULL;
}

/* ---- tensors by name ---- */

heed_tensor *heed_io_get(const heed_io *io, const char *name) {
    for (int i = 0; io && name && i < io->n; i++)
        if (strcmp(io->name[i], name) == 0) return io->tensor[i];
    return NULL;
}

static bool io_grow(heed_ctx *cx, heed_io *io) {
    struct engine *const e = engine_of(cx);
    const int room = io->room > 0 ? 2 * io->room : 8;
    const char **name = e ? bump_take(cx, &e->lists, (size_t)room * sizeof *name) : NULL;
    heed_tensor **tensor = name ? bump_take(cx, &e->lists, (size_t)room * sizeof *tensor) : NULL;
    if (!tensor) return false;
    for (int i = 0; i < io->n; i++) name[i] = io->name[i], tensor[i] = io->tensor[i];
    io->name = name, io->tensor = tensor, io->room = room;
    return true;
}

bool heed_io_put(heed_ctx *cx, heed_io *io, const char *name, heed_tensor *tensor) {
    if (heed_failed(cx)) return false;
    if (!io || !name || !tensor) return heed_fail(cx, HEED_ERR_USAGE, "io: a list, a name and a tensor are needed");
    int at = 0;
    while (at < io->n && strcmp(io->name[at], name) != 0) at++;
    if (at == io->n) {
        const size_t size = strlen(name) + 1;
        if (at == io->room && !io_grow(cx, io)) return false;
        char *const kept = bump_take(cx, &engine_of(cx)->lists, size);
        if (!kept) return false;
        io->name[io->n++] = memcpy(kept, name, size);
    }
    io->tensor[at] = tensor;
    return true;
}

/* ---- models ---- */

struct heed_model {
    const heed_family *family;
    const heed_head *head;
    heed_params *params;
    heed_json config, decoding; /* generation_config.json, or nothing */
    heed_json adapter;          /* adapter_config.json, or nothing */
    void *own;
};

void heed_model_free(heed_ctx *cx, heed_model *m) {
    if (!cx || !m) return;
    heed_params_free(cx, m->params);
    heed_json_free(m->config);
    heed_json_free(m->decoding);
    heed_json_free(m->adapter);
    heed_mem_free(cx, m->own);
    heed_mem_free(cx, m);
}

static struct params_file names_of(const heed_family *family) {
    return (struct params_file){.base = family->base, .ignored = family->ignored, .renamed = family->renamed};
}

/* The adapters of a model whose parameters are declared: those of a directory, or fresh ones. */
struct adapting {
    heed_json read; /* adapter_config.json, or nothing */
    const heed_lora_opts *fresh;
    const char *base;
};

static bool adapt(heed_ctx *cx, heed_model *m, const struct adapting *a) {
    if (a->fresh) m->adapter = lora_new(cx, a->fresh, m->head, m->params, a->base);
    return !heed_failed(cx) && (!heed_model_adapted(m) || lora_attach(cx, m->adapter, m->params));
}

/* Takes config and what was read of an adapter over; dir: where the weights are, or NULL. The parameters have no
 * numbers yet; those that will be mapped no memory either. */
static heed_model *build(heed_ctx *cx, const heed_family *family, const heed_head *head, heed_json config,
                         const char *dir, bool map, const struct adapting *adapting) {
    const struct params_file names = names_of(family);
    heed_model *m = heed_mem_new(cx, sizeof *m);
    if (!m) {
        heed_json_free(config);
        heed_json_free(adapting->read);
        return NULL;
    }
    *m = (heed_model){.family = family, .head = head, .config = config, .adapter = adapting->read};
    m->params = heed_params_new(cx);
    m->own = heed_mem_new(cx, family->size);
    if (m->own) memset(m->own, 0, family->size);
    if (m->own && m->params && head->build(cx, &(heed_build){family, head, config, m->params}, m->own) &&
        (!dir || params_resolve_ties(cx, m->params, dir, &names)) && adapt(cx, m, adapting) &&
        (map || heed_params_allocate(cx, m->params)))
        return m;
    heed_model_free(cx, m);
    return NULL;
}

heed_model *heed_model_new_as(heed_ctx *cx, const heed_family *family, const heed_head *head,
                              const char *const *settings, int n, uint64_t seed) {
    if (heed_failed(cx)) return NULL;
    if (!family || (n > 0 && !settings)) {
        heed_fail(cx, HEED_ERR_USAGE, "model_new: the %s NULL", family ? "settings are" : "family is");
        return NULL;
    }
    if (!head) head = family->heads;
    const heed_json config = config_new(cx, family, head, settings, n);
    heed_model *m = heed_failed(cx) ? NULL : build(cx, family, head, config, NULL, false, &(struct adapting){0});
    if (m && heed_params_init(cx, m->params, seed)) return m;
    heed_model_free(cx, m);
    return NULL;
}

heed_model *heed_model_new(heed_ctx *cx, const heed_family *family, const char *const *settings, int n, uint64_t seed) {
    return heed_model_new_as(cx, family, NULL, settings, n, seed);
}

/* ---- of a directory ---- */

static const heed_head *head_for_task(heed_ctx *cx, const heed_family *family, const char *dir, const char *task) {
    const heed_head *const head = heed_head_for(family, task);
    if (!head)
        heed_fail(cx, HEED_ERR_USAGE, "%s: %s has no head for %s; 'heed list %s' shows those it has", dir, family->name,
                  task, family->name);
    return head;
}

static bool open_decoding(heed_ctx *cx, heed_model *m, const char *dir, const char *base) {
    char path[PATH_ROOM];
    const char *const from = directory_has(dir, GENERATION_CONFIG_FILE) || directory_has(dir, CONFIG_FILE) ? dir : base;
    if (directory_has(from, GENERATION_CONFIG_FILE) && directory_path(cx, from, GENERATION_CONFIG_FILE, path))
        m->decoding = json_open_within(cx, path, IO_CONFIG_LIMIT);
    return !heed_failed(cx);
}

/* Reads the weights; with a fresh head, what the file lacks is drawn first. Those of an adapter's head are in its file.
 */
static bool read_weights(heed_ctx *cx, heed_model *m, const char *dir, const heed_load_opts *o, bool quiet) {
    struct params_file file = names_of(m->family);
    file.fresh_head = o->fresh_head, file.seed = o->seed;
    if (o->fresh_head && !o->map && !heed_params_init(cx, m->params, o->seed)) return false;
    if (!(o->map ? params_map : params_load)(cx, m->params, dir, &file)) return false;
    if (quiet) return !heed_failed(cx);
    if (o->map && o->pack && !heed_params_pack(cx, m->params)) return false;
    if (file.fresh.n) heed_note(cx, HEED_LOG_WARN, "%s: drawn fresh: %s", dir, file.fresh.text);
    if (file.resized.n) heed_note(cx, HEED_LOG_WARN, "%s: interpolated: %s", dir, file.resized.text);
    if (file.unused.n) heed_note(cx, HEED_LOG_WARN, "%s: not used: %s", dir, file.unused.text);
    return !heed_failed(cx);
}

/* Those of an adapter: of the base what it has, and of the adapter the rest. */
static bool read_adapter(heed_ctx *cx, heed_model *m, const char *dir, const char *base, const heed_load_opts *o) {
    heed_load_opts own = *o;
    own.fresh_head = true;
    if (!read_weights(cx, m, base, &own, true) || !lora_load(cx, m->family, m->params, dir, o->task != NULL))
        return false;
    if (o->map && o->pack && !heed_params_pack(cx, m->params)) return false; /* once all is there */
    for (int i = 0; i < heed_params_count(m->params) && !o->fresh_head; i++)
        if (heed_params_at(m->params, i)->fresh)
            return heed_fail(cx, HEED_ERR_FORMAT, "%s: neither the adapter nor its base, %s, has '%s'", dir, base,
                             heed_params_at(m->params, i)->name);
    return true;
}

/* The head that is wanted; the config with what the caller overrides. */
static const heed_head *set_config(heed_ctx *cx, const heed_directory *d, heed_json config, const heed_load_opts *o) {
    const char *const task = o->task ? o->task : d->task;
    const heed_head *const head =
        task && d->family ? head_for_task(cx, d->family, d->path, task) : directory_head(cx, d);
    if (!head || !config_complete(cx, d->family, head, config)) return NULL;
    for (int i = 0; i < o->n_settings; i++)
        config_set(cx, d->family, head, config, o->settings ? o->settings[i] : NULL);
    if (task) config_put_architecture(cx, d->family, config, head);
    return heed_failed(cx) ? NULL : head;
}

/* Does the caller say how many tokens there are? Their tables may then have new rows. */
static bool grow_tables(heed_ctx *cx, heed_model *m, const heed_load_opts *o) {
    bool said = false;
    for (int i = 0; i < o->n_settings; i++) said |= strncmp(o->settings[i], "vocab_size=", 11) == 0;
    return !said || !o->fresh_head || resizable_tokens(cx, m->params, heed_json_int(cx, m->config, "vocab_size"));
}

/* Takes config and adapter, which are the directory's or copies, over. */
static heed_model *load(heed_ctx *cx, const heed_directory *d, heed_json config, heed_json adapter,
                        const heed_load_opts *o) {
    const bool adapts = directory_adapts(d);
    char base[PATH_ROOM] = "";
    if (adapts && o->lora)
        heed_fail(cx, HEED_ERR_USAGE, "%s: holds an adapter already; 'heed merge' makes a model of it", d->path);
    if (adapts && !heed_failed(cx)) directory_base_of(cx, d, base);
    const heed_head *const head = heed_failed(cx) ? NULL : set_config(cx, d, config, o);
    if (!head) {
        heed_json_free(config);
        heed_json_free(adapter);
        return NULL;
    }
    const struct adapting adapting = {.read = adapter, .fresh = o->lora, .base = d->path};
    const char *const from = adapts ? base : d->path;
    heed_model *const m = build(cx, d->family, head, config, from, o->map, &adapting);
    if (m && open_decoding(cx, m, d->path, from) && grow_tables(cx, m, o) &&
        (adapts ? read_adapter(cx, m, d->path, base, o) : read_weights(cx, m, d->path, o, false)) &&
        (!o->lora || lora_freeze(cx, m->adapter, m->params)))
        return m;
    heed_model_free(cx, m);
    return NULL;
}

heed_model *heed_directory_model(heed_ctx *cx, const heed_directory *d, const heed_load_opts *opts) {
    const heed_load_opts o = opts ? *opts : (heed_load_opts){0};
    if (heed_failed(cx)) return NULL;
    if (!d || (o.n_settings > 0 && !o.settings)) {
        heed_fail(cx, HEED_ERR_USAGE, "directory_model: the %s NULL", d ? "settings are" : "directory is");
        return NULL;
    }
    if (o.base)
        return heed_fail(cx, HEED_ERR_USAGE, "directory_model: %s is open, and its base is known", d->path), NULL;
    const struct profile_mark mark = profile_begin(cx);
    const heed_json config = heed_json_copy(cx, d->config);
    heed_model *const m = load(cx, d, config, heed_json_copy(cx, d->adapter), &o);
    profile_end(cx, mark, "load model", PROFILE_FORWARD);
    return m;
}

heed_model *heed_model_load_as(heed_ctx *cx, const char *dir, const heed_load_opts *opts) {
    const heed_load_opts o = opts ? *opts : (heed_load_opts){0};
    if (heed_failed(cx)) return NULL;
    if (!dir || (o.n_settings > 0 && !o.settings)) {
        heed_fail(cx, HEED_ERR_USAGE, "model_load: the %s NULL", dir ? "settings are" : "directory is");
        return NULL;
    }
    const struct profile_mark mark = profile_begin(cx);
    heed_directory *const d = directory_open_on(cx, dir, o.base);
    heed_model *const m = d ? load(cx, d, d->config, d->adapter, &o) : NULL;
    if (d) d->config = d->adapter = (heed_json){0}; /* they are the model's */
    heed_directory_close(cx, d);
    profile_end(cx, mark, "load model", PROFILE_FORWARD);
    return m;
}

heed_model *heed_model_load(heed_ctx *cx, const char *dir) { return heed_model_load_as(cx, dir, NULL); }

/* Whether config.json says the same already. */
static bool has_config(heed_ctx *cx, const char *path, heed_json config) {
    size_t size, at = 0;
    struct stat what;
    char *text = heed_json_print(cx, config, 2, &size);
    FILE *f = text && stat(path, &what) == 0 && S_ISREG(what.st_mode) ? fopen(path, "rbe") : NULL;
    if (text) text[size++] = '\n'; /* as it is written */
    while (f && at < size && getc(f) == (unsigned char)text[at]) at++;
    const bool same = f && at == size && getc(f) == EOF;
    if (f) fclose(f);
    heed_mem_free(cx, text);
    return same;
}

/* The type of the weights that config.json states is that of the file that is written: "auto" of transformers' loaders
 * goes by it. */
static bool put_dtype(heed_ctx *cx, const heed_model *m) {
    static const char *const keys[] = {"dtype", "torch_dtype"};
    bool narrow;
    if (heed_model_adapted(m) || (params_as_stored(m->params, &narrow) && narrow)) return true;
    for (int i = 0; i < 2; i++) {
        const heed_json said = heed_json_find(cx, m->config, keys[i]);
        const char *const type = heed_json_kind_of(said) == HEED_JSON_TEXT ? heed_json_text(cx, said, NULL) : "";
        if (strcmp(type, "bfloat16") == 0 || strcmp(type, "float16") == 0)
            heed_json_put_text(cx, m->config, keys[i], "float32");
    }
    return !heed_failed(cx);
}

/* A model is two files. So that no moment shows the config of one model and the weights of another, a config that says
 * otherwise goes first, with what belongs to it; from then on there is no model, until the new config is written. */
bool heed_model_save(heed_ctx *cx, const heed_model *m, const char *dir) {
    char path[PATH_ROOM];
    if (heed_failed(cx)) return false;
    if (!m || !dir || !*dir) return heed_fail(cx, HEED_ERR_USAGE, "model_save: a model and a directory are needed");
    if (!put_dtype(cx, m) || !directory_make(cx, dir) || !directory_path(cx, dir, CONFIG_FILE, path)) return false;
    if (!has_config(cx, path, m->config) &&
        (!directory_remove(cx, dir, CONFIG_FILE) || !directory_remove(cx, dir, GENERATION_CONFIG_FILE)))
        return false;
    const bool adapted = heed_model_adapted(m), diffusers = m->family->diffusers;
    const char *const weights = diffusers ? DIFFUSERS_WEIGHTS_FILE : WEIGHTS_FILE, *const others =
                                                                                       diffusers
                                                                                           ? WEIGHTS_FILE
                                                                                           : DIFFUSERS_WEIGHTS_FILE;
    if (!directory_remove(cx, dir, adapted ? weights : ADAPTER_CONFIG_FILE) || !directory_remove(cx, dir, others) ||
        !directory_path(cx, dir, adapted ? ADAPTER_WEIGHTS_FILE : weights, path) || !model_write_weights(cx, m, path))
        return false;
    if (adapted && (!directory_path(cx, dir, ADAPTER_CONFIG_FILE, path) || !heed_json_write(cx, path, m->adapter)))
        return false;
    if (!directory_path(cx, dir, CONFIG_FILE, path) || !heed_json_write(cx, path, m->config)) return false;
    if (heed_json_kind_of(m->decoding) == HEED_JSON_NONE) /* that of a model before would override config.json */
        return directory_remove(cx, dir, GENERATION_CONFIG_FILE);
    return directory_path(cx, dir, GENERATION_CONFIG_FILE, path) && heed_json_write(cx, path, m->decoding);
}

bool heed_model_adapted(const heed_model *m) { return m && heed_json_kind_of(m->adapter) != HEED_JSON_NONE; }

bool heed_model_merge(heed_ctx *cx, heed_model *m) {
    if (heed_failed(cx)) return false;
    if (!heed_model_adapted(m)) return heed_fail(cx, HEED_ERR_USAGE, "merge: a model with adapters is needed");
    if (!heed_params_merge(cx, m->params)) return false;
    heed_json_free(m->adapter);
    m->adapter = (heed_json){0};
    return true;
}

bool model_write_weights(heed_ctx *cx, const heed_model *m, const char *path) {
    return heed_model_adapted(m) ? lora_save(cx, m->params, path) : heed_params_save(cx, m->params, path);
}

bool model_read_weights(heed_ctx *cx, heed_model *m, const char *dir) {
    struct params_file file = names_of(m->family);
    if (heed_model_adapted(m)) return lora_load(cx, m->family, m->params, dir, false);
    if (!params_load(cx, m->params, dir, &file)) return false;
    return !file.unused.n ||
           heed_fail(cx, HEED_ERR_FORMAT, "%s: the model does not have: %s", dir, file.unused.text); /* another head */
}

const heed_family *heed_model_family(const heed_model *m) { return m ? m->family : NULL; }
const heed_head *heed_model_head(const heed_model *m) { return m ? m->head : NULL; }
heed_params *heed_model_params(const heed_model *m) { return m ? m->params : NULL; }
const void *model_own(const heed_model *m) { return m ? m->own : NULL; }
heed_json heed_model_config(const heed_model *m) { return m ? m->config : (heed_json){0}; }
heed_json heed_model_decoding(const heed_model *m) {
    return m && heed_json_kind_of(m->decoding) != HEED_JSON_NONE ? m->decoding : heed_model_config(m);
}

/* Does `name` fit a pattern of `n` characters, in which * is a number from 0 on? */
static bool input_fits(const char *name, const char *pattern, size_t n) {
    for (const char *const end = pattern + n; pattern < end; pattern++) {
        const size_t digits = strspn(name, "0123456789");
        if (*pattern == '*' ? !digits || (digits > 1 && *name == '0') : *name != *pattern) return false;
        name += *pattern == '*' ? digits : 1;
    }
    return !*name;
}

bool heed_head_takes(const heed_head *head, const char *input) {
    for (const char *at = head && input ? head->inputs : NULL; at && *at;) {
        const size_t n = strcspn(at, " ");
        if (n && input_fits(input, at, n)) return true;
        at += n + (at[n] == ' ');
    }
    return false;
}

/* An input that nobody reads is a name misspelt. */
static bool check_inputs(heed_ctx *cx, const heed_model *m, const heed_io *in) {
    for (int i = 0; i < in->n; i++)
        if (!heed_head_takes(m->head, in->name[i]))
            return heed_fail(cx, HEED_ERR_USAGE, "model_forward: '%s' is not an input of %s, which takes: %s",
                             escaped(in->name[i]).s, m->head->architecture, m->head->inputs);
    return true;
}

bool heed_model_forward(heed_ctx *cx, const heed_model *m, const heed_io *in, heed_io *out) {
    if (heed_failed(cx)) return false;
    if (!m || !in || !out)
        return heed_fail(cx, HEED_ERR_USAGE, "model_forward: the %s NULL", !m ? "model is" : "inputs or outputs are");
    if (!check_inputs(cx, m, in)) return false;
    *out = (heed_io){0};
    return m->head->forward(cx, m->own, in, out) && !heed_failed(cx);
}

bool heed_model_sample(heed_ctx *cx, const heed_model *m, int64_t batch, int64_t length, heed_io *in) {
    if (heed_failed(cx)) return false;
    if (!m || !in || batch < 1 || length < 1)
        return heed_fail(cx, HEED_ERR_USAGE,
                         "model_sample: a model, a list and at least one example and token are needed");
    *in = (heed_io){0};
    return m->head->sample(cx, m->own, batch, length, in) && !heed_failed(cx);
}
