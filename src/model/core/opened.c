/* Directories that are opened: family, head and config, which are found here and passed on. */
#include "model/core/opened.h"
#include "base/text.h"
#include "io/limits.h"
#include "io/text.h"
#include "model/core/config.h"
#include "model/core/families.h"
#include "model/core/lora.h"
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

/* ---- the family ---- */

static const heed_family *family_by_type(const char *type) {
    const heed_family *const family = heed_family_find(type);
    return family && strcmp(family->type, type) == 0 ? family : NULL;
}

bool family_is_timm(const heed_family *family, const char *architecture) {
    for (const char *at = family->timm; at && *at; at += *at == ' ') {
        char pattern[64];
        const size_t n = strcspn(at, " ");
        snprintf(pattern, sizeof pattern, "%.*s", (int)n, at);
        if (fnmatch(pattern, architecture, 0) == 0) return true;
        at += n;
    }
    return false;
}

static const heed_family *family_by_timm(const char *architecture) {
    for (int i = 0; i < heed_family_count(); i++)
        if (family_is_timm(heed_family_at(i), architecture)) return heed_family_at(i);
    return NULL;
}

static const heed_family *family_by_class(const char *name) {
    for (int i = 0; i < heed_family_count(); i++)
        if (heed_family_at(i)->diffusers && heed_head_named(heed_family_at(i), name)) return heed_family_at(i);
    return NULL;
}

/* What is in directories of heed's that hold no network. */
static const struct plain {
    const char *type, *what;
} plain[] = {
    {"heed-ngram", "is an n-gram model, which is for heed complete, eval, generate, info and score"},
    {"heed-hmm", "is a hidden Markov model, which is for heed tag, eval and info"},
    {"heed-words", "is word vectors, which are for heed words, heed info and --embeddings"},
};

static const struct plain *plain_of(const char *type) {
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (strcmp(plain[i].type, type) == 0) return &plain[i];
    return NULL;
}

/* transformers says model_type, timm architecture, diffusers _class_name. */
static bool find_type(heed_ctx *cx, heed_directory *d) {
    static const struct {
        const char *key;
        const heed_family *(*find)(const char *name);
    } said[] = {{"model_type", family_by_type}, {"architecture", family_by_timm}, {CLASS_NAME, family_by_class}};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        const heed_json at = heed_json_find(cx, d->config, said[i].key);
        if (heed_json_kind_of(at) != HEED_JSON_TEXT) continue;
        const char *const name = heed_json_text(cx, at, NULL);
        if (strcmp(name, "timm_wrapper") == 0) continue; /* transformers around timm, with its architecture */
        const struct plain *const other = i == 0 ? plain_of(name) : NULL;
        d->family = said[i].find(name);
        d->type = d->family ? d->family->type : other ? other->type : NULL;
        return d->type || heed_json_fail(cx, at, "no family of heed's is '%s'", escaped(name).s);
    }
    heed_json_text(cx, d->config, "model_type"); /* says that it is missing, or no text */
    return false;
}

/* ---- the head ---- */

static bool no_head(heed_ctx *cx, const heed_family *family, heed_json list) {
    char known[512] = "";
    size_t used = 0;
    for (const heed_head *h = family->heads; h->architecture && used < sizeof known; h++)
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "", h->architecture);
    return heed_json_fail(cx, list, "'%s' is not an architecture of %s, which has: %s",
                          escaped(heed_json_text(cx, heed_json_first(list), NULL)).s, family->name, known);
}

/* The first of "architectures" that heed has, or _class_name; where a file names none, the body, or the family's first.
 */
static const heed_head *head_named(heed_ctx *cx, const heed_directory *d) {
    if (d->family->diffusers) return heed_head_named(d->family, heed_json_text(cx, d->config, CLASS_NAME));
    const heed_json list = heed_json_find(cx, d->config, "architectures"), first = heed_json_first(list);
    for (heed_json v = first; heed_json_kind_of(v) == HEED_JSON_TEXT; v = heed_json_next(v)) {
        const heed_head *const head = heed_head_named(d->family, heed_json_text(cx, v, NULL));
        if (head) return head;
    }
    if (heed_json_kind_of(first) == HEED_JSON_TEXT) return NULL;
    for (const heed_head *h = d->family->heads; h->architecture; h++)
        if (h->bare) return h;
    return d->family->heads;
}

/* An adapter directory that a Python program wrote has no config.json: its head is the base's, unless that is for
 * another task. */
static void find_head(heed_ctx *cx, heed_directory *d) {
    d->head = head_named(cx, d);
    const bool own = !directory_adapts(d) || directory_has(d->path, CONFIG_FILE);
    const char *const task = own || !d->head ? NULL : lora_task(cx, d->adapter);
    if (!task || text_among(d->head->tasks, task) || !heed_head_for(d->family, task)) return;
    d->task = task;
    d->head = heed_head_for(d->family, task);
}

const heed_head *directory_head(heed_ctx *cx, const heed_directory *d) {
    if (heed_failed(cx) || d->head) return heed_failed(cx) ? NULL : d->head;
    if (d->family)
        no_head(cx, d->family, heed_json_find(cx, d->config, "architectures"));
    else
        heed_json_fail(cx, heed_json_find(cx, d->config, "model_type"), "'%s' %s", d->type, plain_of(d->type)->what);
    return NULL;
}

/* ---- the files ---- */

bool directory_base_of(heed_ctx *cx, const heed_directory *d, char base[PATH_ROOM]) {
    if (!d->base) return directory_base_in(cx, d->path, d->adapter, base);
    if (snprintf(base, PATH_ROOM, "%s", d->base) >= PATH_ROOM)
        return heed_fail(cx, HEED_ERR_FILE, "%.60s...: the path is too long", d->base);
    return !directory_is_adapter(base) ||
           heed_fail(cx, HEED_ERR_USAGE, "%s: an adapter, not the model that one adapts", base);
}

static bool read_files(heed_ctx *cx, heed_directory *d) {
    char path[PATH_ROOM], base[PATH_ROOM];
    const char *from = d->path;
    if (directory_is_adapter(d->path)) {
        d->adapter = lora_read(cx, d->path);
        if (heed_failed(cx)) return false;
        if (!directory_has(d->path, CONFIG_FILE)) from = directory_base_of(cx, d, base) ? base : NULL;
    }
    if (from && directory_path(cx, from, CONFIG_FILE, path)) d->config = json_open_within(cx, path, IO_CONFIG_LIMIT);
    return !heed_failed(cx);
}

heed_directory *directory_open_on(heed_ctx *cx, const char *path, const char *base) {
    char network[PATH_ROOM];
    if (!directory_network(cx, path, network)) return NULL;
    const size_t size = strlen(network) + 1;
    heed_directory *const d = heed_mem_new(cx, sizeof *d + size);
    if (!d) return NULL;
    *d = (heed_directory){.base = base};
    memcpy(d->path, network, size);
    if (read_files(cx, d) && find_type(cx, d) && d->family) find_head(cx, d);
    if (!heed_failed(cx)) return d;
    heed_directory_close(cx, d);
    return NULL;
}

heed_directory *heed_directory_open(heed_ctx *cx, const char *path) {
    if (heed_failed(cx)) return NULL;
    if (!path) return heed_fail(cx, HEED_ERR_USAGE, "directory_open: the path is NULL"), NULL;
    return directory_open_on(cx, path, NULL);
}

void heed_directory_close(heed_ctx *cx, heed_directory *d) {
    if (!d) return;
    heed_json_free(d->config);
    heed_json_free(d->adapter);
    heed_mem_free(cx, d);
}

/* ---- what it holds ---- */

const char *heed_directory_path(const heed_directory *d) { return d ? d->path : NULL; }
const char *heed_directory_type(const heed_directory *d) { return d ? d->type : NULL; }
const heed_family *heed_directory_family(const heed_directory *d) { return d ? d->family : NULL; }
const heed_head *heed_directory_head(const heed_directory *d) { return d ? d->head : NULL; }
heed_json heed_directory_config(const heed_directory *d) { return d ? d->config : (heed_json){0}; }
