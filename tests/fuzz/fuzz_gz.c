/* Files read whole, gunzipped: the input goes through a file in memory. */
#define _GNU_SOURCE /* memfd_create */
#include "base/file.h"
#include "fuzz.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const size_t limit = (size_t)1 << 20;
    heed_ctx *cx = fuzz_context();
    const size_t held = fuzz_held();
    const int fd = memfd_create("fuzz", MFD_CLOEXEC);
    MUST(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    char path[64];
    size_t n = 0;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    unsigned char *bytes = file_read(cx, path, limit, &n);
    MUST(!bytes || (n <= limit && bytes[n] == 0));
    if (bytes && (size < 2 || data[0] != 0x1F || data[1] != 0x8B))
        MUST(n == size && (n == 0 || !memcmp(bytes, data, n)));
    heed_mem_free(cx, bytes);
    close(fd);
    fuzz_check(cx, bytes, held);
    return 0;
}
