/* From an input to its attention: the model's inputs of it, one forward pass with every weight captured, and the maps
 * by site. Nothing here knows a family: what a model takes is in its head's list of inputs, and what it takes says what
 * the maps are of. */
#include "attention/attention.h"
#include "base/text.h"
#include "inspect/attended.h"
#include "model/core/families.h"
#include <stdio.h>
#include <string.h>

bool heed_model_takes(const heed_model *model, const char *input) {
    return model && input && text_among(heed_model_head(model)->inputs, input);
}

/* ---- names ---- */

struct side *side_new(struct attended *a) {
    struct side *const side = heed_mem_new(a->cx, sizeof *side);
    if (!side) return NULL;
    *side = (struct side){.before = a->sides};
    return a->sides = side;
}

struct side *side_numbered(struct attended *a, const char *what, int64_t n) {
    struct side *const side = side_new(a);
    if (!side) return NULL;
    side->names = heed_mem_new(a->cx, (size_t)n * sizeof *side->names);
    side->letters = heed_mem_new(a->cx, (size_t)n * NAME_ROOM);
    if (!side->names || !side->letters) return NULL;
    side->axis = (heed_axis){.what = what, .n = n, .tokens = side->names, .labels = side->names};
    for (int64_t i = 0; i < n; i++) {
        side->names[i] = side_name(side, i);
        snprintf(side_name(side, i), NAME_ROOM, "%lld", (long long)i);
    }
    return side;
}

char *side_name(const struct side *side, int64_t i) { return side->letters + i * NAME_ROOM; }

/* ---- the sites ---- */

static bool same_site(const struct attended *a, int i, int k) {
    const struct attended_map *const x = &a->of[i], *const y = &a->of[k];
    return strcmp(x->site, y->site) == 0 && a->captured[i].heads == a->captured[k].heads && x->queries == y->queries &&
           x->keys == y->keys;
}

/* The site of map i, whose layers are it and those behind it. Layers of a text are numbered as the model has them,
 * those over a picture within the site. */
static void make_site(struct attended *a, int i, heed_capture_map *to) {
    const struct attended_map *const of = &a->of[i];
    bool another = false; /* of the same name and another size */
    for (int k = 0; k < i; k++) another |= strcmp(a->of[k].site, of->site) == 0;
    heed_attended_site *const site = &a->sites[a->out.n];
    snprintf(a->names[a->out.n], NAME_ROOM, another ? "%.20s %lldx%lld" : "%.47s", of->site,
             (long long)a->captured[i].rows, (long long)a->captured[i].keys);
    *site = (heed_attended_site){.name = a->names[a->out.n++],
                                 .title = of->title,
                                 .queries = of->queries,
                                 .keys = of->keys,
                                 .maps = to,
                                 .cells = a->cells + (to - a->maps),
                                 .sources = a->sources,
                                 .targets = a->targets};
    for (int k = i; k < a->n; k++) {
        if (!same_site(a, i, k)) continue;
        a->of[k].sorted = true;
        a->cells[to - a->maps] = a->of[k].cells;
        *to = a->captured[k];
        if (a->picture || a->input->graph) to->layer = site->n_maps;
        to++, site->n_maps++;
    }
}

static bool sort_maps(struct attended *a) {
    const size_t n = (size_t)a->n;
    a->maps = heed_mem_new(a->cx, n * sizeof *a->maps);
    a->cells = heed_mem_new(a->cx, n * sizeof *a->cells);
    a->sites = heed_mem_new(a->cx, n * sizeof *a->sites);
    a->names = heed_mem_new(a->cx, n * sizeof *a->names);
    if (heed_failed(a->cx)) return false;
    heed_capture_map *to = a->maps;
    for (int i = 0; i < a->n; i++) {
        if (!*a->of[i].site || a->of[i].sorted) continue;
        make_site(a, i, to);
        to += a->sites[a->out.n - 1].n_maps;
    }
    a->out.sites = a->sites;
    return true;
}

/* ---- all of it ---- */

static bool capture(struct attended *a, const heed_io *in) {
    heed_ctx *const cx = a->cx;
    heed_io out = {0};
    if (!heed_capture_begin(cx, &(heed_capture_opts){.byte_cap = SIZE_MAX})) return false;
    const bool was = heed_set_grad(cx, false);
    heed_scope_begin(cx);
    bool ok = heed_model_forward(cx, a->model, in, &out) && attend_take_objects(a, &out) && attend_take_nodes(a, &out);
    heed_scope_end(cx, NULL);
    heed_set_grad(cx, was);
    a->captured = capture_take(cx, &a->n);
    ok = ok && attend_take_edges(a);
    heed_capture_end(cx);
    if (!ok) return false;
    if (a->n == 0)
        return heed_fail(cx, a->picture ? HEED_ERR_USAGE : HEED_ERR_FORMAT,
                         "attend: a model of family %s has no attention", heed_model_family(a->model)->name);
    a->of = heed_mem_new(cx, (size_t)a->n * sizeof *a->of);
    if (a->of) memset(a->of, 0, (size_t)a->n * sizeof *a->of);
    return a->of != NULL;
}

static bool attend(struct attended *a) {
    static const struct {
        const char *takes;
        bool (*read)(struct attended *a, heed_io *in);
        bool (*place)(struct attended *a);
    } kinds[] = {{"pixel_values", attend_read_picture, attend_place_picture},
                 {"input_ids", attend_read_text, attend_place_text},
                 {"edge_index", attend_read_graph, attend_place_graph},
                 {"x", attend_read_numbers, attend_place_numbers}};
    heed_io in = {0};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        if (heed_model_takes(a->model, kinds[k].takes))
            return kinds[k].read(a, &in) && capture(a, &in) && kinds[k].place(a) && sort_maps(a);
    return heed_fail(a->cx, HEED_ERR_USAGE, "attend: a model of family %s reads neither text nor rows of numbers",
                     heed_model_family(a->model)->name);
}

heed_attended *heed_attend(heed_ctx *cx, const heed_model *model, heed_tokenizer *const tokenizers[2],
                           const heed_attend_input *input) {
    if (heed_failed(cx)) return NULL;
    if (!model || !input) {
        heed_fail(cx, HEED_ERR_USAGE, "attend: the %s is NULL", model ? "input" : "model");
        return NULL;
    }
    struct attended *const a = heed_mem_new(cx, sizeof *a);
    if (!a) return NULL;
    *a = (struct attended){.cx = cx, .model = model, .input = input, .tokenizers = tokenizers};
    a->out.own = a;
    if (attend(a)) return &a->out;
    heed_attended_free(cx, &a->out);
    return NULL;
}

static void free_text(heed_ctx *cx, struct attended_text *t) {
    heed_string_free(cx, &t->text);
    heed_ids_free(cx, &t->ids);
    heed_mem_free(cx, t->next);
}

void heed_attended_free(heed_ctx *cx, heed_attended *attended) {
    if (!cx || !attended) return;
    struct attended *const a = attended->own;
    for (int i = 0; i < a->n; i++) {
        if (a->of) heed_mem_free(cx, a->of[i].cells);
        heed_mem_free(cx, (void *)(uintptr_t)a->captured[i].weights);
        heed_mem_free(cx, (void *)(uintptr_t)a->captured[i].site);
    }
    for (struct side *s = a->sides, *before; s; s = before) {
        before = s->before;
        heed_mem_free(cx, s->names);
        heed_mem_free(cx, s->letters);
        heed_mem_free(cx, s);
    }
    free_text(cx, &a->source);
    free_text(cx, &a->target);
    attend_words_free(cx, &a->words);
    heed_string_free(cx, &a->pair);
    heed_ids_free(cx, &a->types);
    heed_mem_free(cx, a->captured);
    heed_mem_free(cx, a->of);
    heed_mem_free(cx, a->maps);
    heed_mem_free(cx, a->cells);
    heed_mem_free(cx, a->sites);
    heed_mem_free(cx, a->names);
    heed_mem_free(cx, a->objects);
    heed_mem_free(cx, a->predicted);
    heed_mem_free(cx, a->sources);
    heed_mem_free(cx, a->targets);
    heed_mem_free(cx, a);
}
