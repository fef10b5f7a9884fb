/* Every exported function with NULL for each of its pointers in turn, for all of them at once, and in a context that
 * has failed: none may crash, and none may touch the error of a failed context. The calls are made of the public
 * headers (null_walk.awk), so that no function can be forgotten. They run in a child process, which begins again behind
 * a call that ended it; `test_meta_null_walk NAME` runs those of one function here, for a debugger. */
#include "folder.h"
#include "meta/null_walk.h"

#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { NONE = -1, ALL = -2, FAILED = -3 }; /* what is NULL, beside one argument by its number */
#define GIVEN(i)   (without != (i) && without != ALL)
#define CONTEXT(i) (without != (i) ? cx : NULL)
#define SECONDS    20 /* that a call may take */

struct call {
    const char *name, *pointers; /* "cx model path" */
    void (*run)(heed_ctx *cx, int without);
};

struct maker {
    const char *type;
    bool (*made)(heed_ctx *cx);
};

#pragma GCC diagnostic ignored "-Wformat-security" /* formats are pointers here like all others */
#include "null_walk_calls.h"

/* An argument that cannot be made would leave the calls that take it untried. */
static int check_makers(void) {
    int wrong = 0;
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++) {
        heed_ctx *cx = heed_open(&(heed_config){.threads = 1});
        if (!makers[i].made(cx)) printf("some_%s: %s\n", makers[i].type, heed_message(cx)), wrong++;
        heed_close(cx);
    }
    return wrong;
}

/* ---- walking ---- */

static const int n_calls = (int)(sizeof calls / sizeof *calls);

static int pointers_of(const struct call *c) {
    int n = 1;
    for (const char *s = c->pointers; *s; s++) n += *s == ' ';
    return n;
}

/* False: the call changed the error of a context that had failed. */
static bool run_call(const struct call *c, int without) {
    heed_ctx *cx = heed_open(&(heed_config){.threads = 1});
    if (without == FAILED) heed_fail(cx, HEED_ERR_USAGE, "failed before");
    c->run(cx, without == FAILED ? ALL : without);
    const bool ends = !strcmp(c->name, "heed_close"),
               may = !strcmp(c->name, "heed_clear") || !strcmp(c->name, "heed_fail_in");
    const bool kept = ends || may || without != FAILED || !strcmp(heed_message(cx), "failed before");
    if (!ends) heed_close(cx);
    return kept;
}

static void report(const struct call *c, int without, const char *what) {
    const char *from = c->pointers, *to = from;
    for (int i = 0; i < without; i++) from = strchr(from, ' ') + 1;
    to = from + strcspn(from, " ");
    printf("%s: %s %s%.*s\n", c->name, what,
           without == FAILED ? "in a failed context"
           : without == ALL  ? "when all is NULL"
           : without == NONE ? "when nothing is NULL"
                             : "without ",
           without < 0 ? 0 : (int)(to - from), from);
    fflush(stdout);
}

struct place {
    int call, without;
    int wrong;
};

static bool next_place(struct place *at) {
    if (++at->without < pointers_of(&calls[at->call])) return true;
    at->without = FAILED;
    return ++at->call < n_calls;
}

/* Walks on from a place until the end or a crash; *at, in shared memory, is where it is. */
static void walk(struct place *at) {
    do {
        alarm(SECONDS);
        if (!run_call(&calls[at->call], at->without))
            report(&calls[at->call], at->without, "touched the error"), at->wrong++;
    } while (next_place(at));
}

static int walk_all(void) {
    struct place *at = mmap(NULL, sizeof *at, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return 1;
    *at = (struct place){.without = FAILED};
    bool more = true;
    while (more) {
        fflush(stdout);
        const pid_t child = fork();
        if (child < 0) return 1;
        if (child == 0) {
            if (!freopen("/dev/null", "w", stderr)) _exit(2); /* a sanitizer's pages */
            walk(at);
            _exit(0);
        }
        int status = 0;
        if (waitpid(child, &status, 0) < 0) return 1;
        if (status == 0) break;
        const bool late = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
        report(&calls[at->call], at->without, late ? "did not end" : "crashed");
        at->wrong++;
        more = next_place(at);
    }
    return at->wrong;
}

int main(int argc, char **argv) {
    if (make_folder(NULL) || chdir(folder) || !freopen("/dev/null", "r", stdin)) return perror("folder"), 1;
    int wrong = 0;
    for (int i = 0; argc > 1 && i < n_calls; i++)
        for (int w = FAILED; !strcmp(calls[i].name, argv[1]) && w < pointers_of(&calls[i]); w++) {
            report(&calls[i], w, "runs");
            wrong += !run_call(&calls[i], w);
        }
    if (argc == 1) wrong = check_makers() + walk_all();
    word[0] = '.';
    if (argc == 1) wrong += walk_all();
    if (chdir("/") || wipe_folder(NULL)) wrong++;
    if (argc == 1) printf("%d functions, %d calls wrong\n", n_calls, wrong);
    fflush(stdout);
    _exit(wrong > 0); /* arguments are not freed */
}
