/* adapter_config.json of peft: whatever is read is attached to some linear layers, or refused. */
#include "fuzz.h"

#include "model/core/lora.h"

#include <sys/stat.h>

static char directory[] = "/tmp/heed-fuzz-XXXXXX", file[64];

static void remove_directory(void) {
    unlink(file);
    rmdir(directory);
}

/* Without values: an adapter of any rank is a wish, which the budget of memory would end. */
static heed_params *layers(heed_ctx *cx) {
    heed_linear_layer l;
    heed_params *set = heed_params_new(cx);
    MUST(set && heed_linear_make(cx, set, "model.layers.0.self_attn.q_proj", 4, 4, false, &l));
    MUST(heed_linear_make(cx, set, "model.layers.1.self_attn.v_proj", 4, 6, true, &l));
    MUST(heed_linear_make(cx, set, "lm_head", 4, 5, false, &l));
    return set;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static bool made;
    heed_ctx *cx = fuzz_context();
    if (!made) {
        MUST(mkdtemp(directory));
        snprintf(file, sizeof file, "%s/" ADAPTER_CONFIG_FILE, directory);
        atexit(remove_directory);
        made = true;
    }
    const size_t held = fuzz_held();
    FILE *f = fopen(file, "wb");
    MUST(f && fwrite(data, 1, size, f) == size && fclose(f) == 0);
    heed_params *set = layers(cx);
    const heed_json config = lora_read(cx, directory);
    bool ok = config.node != NULL;
    if (ok) {
        lora_task(cx, config);
        ok = lora_attach(cx, config, set);
    }
    heed_json_free(config);
    heed_params_free(cx, set);
    fuzz_check(cx, ok, held);
    return 0;
}
