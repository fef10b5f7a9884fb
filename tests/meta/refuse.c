/* Put before the C library (LD_PRELOAD), this refuses the N-th request for memory of a program, whoever asks: heed or a
 * library below it. REFUSE_AT is N, counted from 1; how many requests there were goes to the file REFUSE_COUNT. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static atomic_long requests;
static long refused = -1; /* before main the program is not heed's yet */

static int refuses(void) {
    if (refused < 0) return 0;
    if (atomic_fetch_add(&requests, 1) + 1 != refused) return 0;
    errno = ENOMEM;
    return 1;
}

__attribute__((constructor)) static void begin(void) {
    const char *at = getenv("REFUSE_AT");
    refused = at ? strtol(at, NULL, 10) : 0;
}

__attribute__((destructor)) static void end(void) {
    const char *path = getenv("REFUSE_COUNT");
    const long count = requests;
    refused = -1;
    FILE *f = path ? fopen(path, "w") : NULL;
    if (f) fprintf(f, "%ld\n", count), fclose(f);
}

void *malloc(size_t size) { return refuses() ? NULL : __libc_malloc(size); }
void *calloc(size_t n, size_t size) { return refuses() ? NULL : __libc_calloc(n, size); }
void *realloc(void *p, size_t size) { return refuses() ? NULL : __libc_realloc(p, size); }
void *aligned_alloc(size_t alignment, size_t size) { return refuses() ? NULL : __libc_memalign(alignment, size); }
int posix_memalign(void **p, size_t alignment, size_t size) {
    if (refuses()) return ENOMEM;
    *p = __libc_memalign(alignment, size);
    return *p ? 0 : ENOMEM;
}
