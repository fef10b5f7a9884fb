/* Runs a fuzz target over the files named on the command line: for compilers without libFuzzer, and to see a finding
 * again. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay(const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END) != 0) {
        perror(path);
        if (f) fclose(f);
        return 1;
    }
    const long size = ftell(f);
    rewind(f);
    /* Exactly as large as the input, so that a sanitizer sees one byte too many. */
    uint8_t *data = size >= 0 ? malloc(size > 0 ? (size_t)size : 1) : NULL;
    const int bad = !data || fread(data, 1, (size_t)size, f) != (size_t)size;
    fclose(f);
    if (bad)
        fprintf(stderr, "%s: cannot be read\n", path);
    else
        LLVMFuzzerTestOneInput(data, (size_t)size);
    free(data);
    return bad;
}

int main(int argc, char **argv) {
    int bad = 0;
    for (int i = 1; i < argc; i++) bad |= replay(argv[i]);
    printf("%d inputs replayed\n", argc - 1);
    return bad;
}
