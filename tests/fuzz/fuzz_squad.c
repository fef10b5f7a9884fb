/* Questions as SQuAD's JSON has them: the first byte chooses length and stride of windows, the rest is the file. */
#include "fuzz_task.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    const heed_task_opts opts = {.max_length = 8 + (data[0] & 15), .stride = 1 + (data[0] >> 4 & 7)};
    fuzz_task("qa", data + 1, size - 1, &opts);
    return 0;
}
