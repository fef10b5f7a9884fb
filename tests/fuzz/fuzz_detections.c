/* Detections in COCO's result JSON, and their figures, whatever numbers they have. */
#include "fuzz.h"
#include "heed/objects.h"

static const char truths[] =
    "{\"images\":[{\"id\":1,\"file_name\":\"a\"},{\"id\":2,\"file_name\":\"b\"}],\"categories\":[{\"id\":1,\"name\":"
    "\"a\"},{\"id\":3,\"name\":\"b\"}],\"annotations\":[{\"id\":1,\"image_id\":1,\"category_id\":1,\"bbox\":[1,1,4,4]},"
    "{\"id\":2,\"image_id\":1,\"category_id\":3,\"bbox\":[10,10,40,40],\"iscrowd\":1},{\"id\":0,\"image_id\":2,"
    "\"category_id\":3,\"bbox\":[5,5,200,100]}]}";

static const heed_object_set *objects(void) {
    static heed_object_set *set;
    const heed_object_set_opts opts = {.unseen = true};
    if (set) return set;
    const char *path = fuzz_file(".json", (const uint8_t *)truths, sizeof truths - 1);
    set = heed_object_set_open(fuzz_context(), path, "val", &opts);
    unlink(path);
    MUST(set);
    return set;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    heed_ctx *cx = fuzz_context();
    const heed_object_set *set = objects();
    const size_t held = fuzz_held();
    const char *path = fuzz_file("", data, size);
    int64_t n;
    heed_coco_score score = {0};
    heed_detection *found = heed_detections_read(cx, set, path, &n);
    const bool read = found;
    if (read) {
        MUST(heed_coco_measure(cx, set, NULL, 0, found, n, &score));
        for (int i = 0; i < HEED_COCO_FIGURES; i++) MUST(score.figure[i] >= -1 && score.figure[i] <= 1 + 1e-9);
        heed_coco_score_free(cx, &score);
    }
    heed_mem_free(cx, found);
    unlink(path);
    fuzz_check(cx, read, held);
    return 0;
}
