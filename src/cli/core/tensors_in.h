/* Tensors by name that a command is given. */
#ifndef CLI_CORE_TENSORS_IN_H
#define CLI_CORE_TENSORS_IN_H

#include "heed/io.h"

/* A safetensors file, or standard input for "-", whose bytes go to *bytes, to be freed after the handle is closed. */
heed_safetensors *tensors_open(heed_ctx *cx, const char *path, unsigned char **bytes);

#endif
