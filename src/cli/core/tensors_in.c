#include "cli/core/tensors_in.h"
#include "base/file.h"
#include <string.h>

heed_safetensors *tensors_open(heed_ctx *cx, const char *path, unsigned char **bytes) {
    size_t size;
    if (strcmp(path, "-") != 0) return heed_safetensors_open(cx, path);
    *bytes = file_read(cx, path, SIZE_MAX / 2, &size);
    return *bytes ? heed_safetensors_parse(cx, "standard input", *bytes, size) : NULL;
}
