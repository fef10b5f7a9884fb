/* The classes of a set: those of its data, or those that a model knows already. */
#include "data/objects/object_set.h"
#include "data/tables/table_columns.h"
#include "io/text.h"

#include <string.h>

/* Whether each name occurs once. */
static bool all_differ(heed_ctx *cx, const char *file, char **names, int64_t n) {
    struct vocabulary v;
    bool ok = vocabulary_like(cx, names, n, &v);
    for (int64_t k = 1; ok && k < n; k++) {
        const struct word a = v.list[k - 1].word, b = v.list[k].word;
        if (a.length == b.length && memcmp(a.text, b.text, a.length) == 0)
            ok = heed_fail(cx, HEED_ERR_FORMAT, "%s: two classes are called '%s'", file, escaped(a.text).s);
    }
    heed_mem_free(cx, v.list);
    return ok;
}

static bool find_labels(heed_ctx *cx, heed_object_set *set, const char *file, struct object_class *list, char **own,
                        int64_t n) {
    struct vocabulary v;
    bool ok = vocabulary_like(cx, set->names, set->classes, &v);
    for (int64_t k = 0; ok && k < n; k++) {
        list[k].label = (int32_t)vocabulary_find(&v, own[k]);
        if (list[k].label < 0 && list[k].used)
            ok = heed_fail(cx, HEED_ERR_RANGE, "%s: class '%s' is not one of the %lld known", file, escaped(own[k]).s,
                           (long long)set->classes);
    }
    heed_mem_free(cx, v.list);
    return ok;
}

static char **copy_names(heed_ctx *cx, const char *const *known, int64_t n) {
    struct word *words = data_room(cx, n, 1, sizeof *words);
    for (int64_t k = 0; words && k < n; k++) words[k] = (struct word){known[k], strlen(known[k])};
    char **names = words ? data_names(cx, words, n) : NULL;
    heed_mem_free(cx, words);
    return names;
}

bool object_set_classes(heed_ctx *cx, heed_object_set *set, const char *file, struct object_class *list, int64_t n,
                        const char *const *known) {
    int64_t classes = n;
    if (known)
        for (classes = 0; known[classes]; classes++) {}
    if (classes > DATA_MOST_CLASSES)
        return heed_fail(cx, HEED_ERR_RANGE, "%s: %lld classes, at most %d are allowed", file, (long long)classes,
                         DATA_MOST_CLASSES);
    struct word *words = data_room(cx, n, 1, sizeof *words);
    for (int64_t k = 0; words && k < n; k++) words[k] = list[k].name;
    char **own = words ? data_names(cx, words, n) : NULL;
    bool ok = own && all_differ(cx, file, own, n);
    set->category = ok ? data_room(cx, classes, 1, sizeof *set->category) : NULL;
    set->names = ok && known ? copy_names(cx, known, classes) : ok ? data_names(cx, words, n) : NULL;
    ok = set->category && set->names;
    set->classes = ok ? classes : 0;
    for (int64_t k = 0; ok && k < classes; k++) set->category[k] = -1;
    for (int64_t k = 0; k < n; k++) list[k].label = (int32_t)k;
    if (ok && known) ok = find_labels(cx, set, file, list, own, n);
    for (int64_t k = 0; ok && k < n; k++)
        if (list[k].label >= 0) set->category[list[k].label] = list[k].category;
    for (int64_t k = 0; ok && k < classes; k++)
        set->hash = data_hash(set->hash, set->names[k], strlen(set->names[k]) + 1);
    heed_mem_free(cx, own);
    heed_mem_free(cx, words);
    return ok;
}
