/* preprocessor_config.json and timm's pretrained_cfg: what is accepted makes floats of a picture, of the size it says.
 */
#include "fuzz.h"
#include "heed/image.h"

#define MOST (1 << 16) /* pixels: larger ones take too long */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    heed_ctx *cx = fuzz_context();
    const size_t held = fuzz_held();
    uint8_t pixels[7 * 5 * 3];
    for (size_t i = 0; i < sizeof pixels; i++) pixels[i] = (uint8_t)(i * 37);
    const heed_image picture = {7, 5, 3, pixels};
    heed_image_processor p;
    int64_t channels, height, width, c, h, w;
    bool ok = heed_image_processor_parse(cx, "fuzz", (const char *)data, size, &p) &&
              heed_image_processor_size(cx, &p, &picture, &channels, &height, &width);
    const bool small = ok && p.width <= MOST && p.height <= MOST && p.shorter <= MOST && height <= MOST &&
                       width <= MOST && height * width <= MOST &&
                       (p.resize != HEED_RESIZE_EXACT || p.height * p.width <= MOST) && p.shorter <= 512;
    if (small) {
        float *const x = heed_image_process(cx, &p, &picture, &c, &h, &w);
        MUST(!x || (c == channels && h == height && w == width));
        volatile float sum = 0;
        for (int64_t i = 0; x && i < c * h * w; i++) sum = sum * 0.5F + x[i];
        ok = x != NULL;
        heed_mem_free(cx, x);
    }
    fuzz_check(cx, ok, held);
    return 0;
}
