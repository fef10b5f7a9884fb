/* COCO's annotations: all that is read of a file whose pictures nobody looks for. */
#include "fuzz.h"
#include "heed/objects.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    heed_ctx *cx = fuzz_context();
    const size_t held = fuzz_held();
    const heed_object_set_opts opts = {.unseen = true};
    const char *path = fuzz_file(".json", data, size);
    heed_object_set *set = heed_object_set_open(cx, path, "train", &opts);
    const int64_t classes = heed_object_set_classes(set);
    for (int64_t i = 0; i < heed_object_set_count(set); i++) {
        heed_object *o;
        int64_t n;
        MUST(heed_object_set_read(cx, set, i, NULL, &o, &n));
        MUST(heed_object_set_path(set, i) && (i == 0 || heed_object_set_id(set, i) > heed_object_set_id(set, i - 1)));
        for (int64_t k = 0; k < n; k++) {
            MUST(o[k].label >= 0 && o[k].label < classes && o[k].box[2] > 0 && o[k].box[3] > 0);
            MUST(o[k].box[0] >= 0 && o[k].box[1] >= 0 && heed_object_set_category(set, o[k].label) >= -1);
        }
        heed_mem_free(cx, o);
    }
    const bool read = set;
    heed_object_set_free(cx, set);
    unlink(path);
    fuzz_check(cx, read, held);
    return 0;
}
