/* Tagged words: the first byte chooses separator, columns and class weights, the rest is the file. */
#include "fuzz_task.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const columns[] = {NULL, "1", "2", "-1"};
    if (size == 0) return 0;
    const heed_task_opts opts = {
        .table.delimiter = "\0\t ,"[data[0] & 3],
        .text = columns[data[0] >> 2 & 3],
        .target = columns[data[0] >> 4 & 3],
        .class_weights = data[0] & 64 ? "balanced" : NULL,
        .max_length = 12,
    };
    fuzz_task("tag", data + 1, size - 1, &opts);
    return 0;
}
