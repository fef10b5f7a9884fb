/* Activations by their names in config.json files; the names are in kernel/functions.def. */
#include "heed/ops.h"
#include "kernel/isa.h"
#include <string.h>

#define ACTIVATION(name, NAME, ...)                                                                                    \
    _Static_assert((int)HEED_ACT_##NAME == (int)ACT_##NAME, "heed/ops.h and kernel/functions.def have one order");
#include "kernel/functions.def"

#define NONE_NAMES "linear, identity"

const char *heed_activation_names(void) {
    return NONE_NAMES
#define ACTIVATION(name, NAME, parameters, reads, names) ", " names
#include "kernel/functions.def"
        ;
}

/* Is `name` one of `names`, "gelu, gelu_python"? */
static bool is_among(const char *name, const char *names) {
    const size_t n = strlen(name);
    while (*names) {
        const size_t length = strcspn(names, ",");
        if (length == n && memcmp(name, names, n) == 0) return true;
        names += length;
        names += strspn(names, ", ");
    }
    return false;
}

bool heed_activation_find(const char *name, heed_activation *act) {
    static const char *const of[ACT_COUNT] = {
        [ACT_NONE] = NONE_NAMES,
#define ACTIVATION(name, NAME, parameters, reads, names) [ACT_##NAME] = names,
#include "kernel/functions.def"
    };
    for (int i = 0; name && i < ACT_COUNT; i++)
        if (is_among(name, of[i])) {
            if (act) *act = (heed_activation)i;
            return true;
        }
    return false;
}
