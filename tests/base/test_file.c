/* Files: mapped, read whole, gunzipped, written in one piece; refused, truncated, corrupt, cut off. */
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "../context.h"
#include "../folder.h"
#include "counting.h"

static int set_up(void **state) { return open_cx(state) || make_folder(state); }
static int tear_down(void **state) { return close_cx(state) || wipe_folder(state); }

static void put(const char *path, const void *data, size_t size) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, size, f), size);
    fclose(f);
}

static int entries(void) {
    int count = 0;
    DIR *dir = opendir(folder);
    for (const struct dirent *e; (e = readdir(dir));) count += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
    closedir(dir);
    return count;
}

/* The context has failed with this status, and the sentence holds both words. */
static void expect_error(heed_status status, const char *word, const char *other) {
    assert_int_equal(heed_error(cx), status);
    if (!strstr(heed_message(cx), word) || !strstr(heed_message(cx), other))
        fail_msg("'%s' should say '%s' and '%s'", heed_message(cx), word, other);
    heed_clear(cx);
}

/* One gzip member; returns its size. */
static size_t gzip(const void *data, size_t size, unsigned char *out, size_t room) {
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (unsigned char *)(uintptr_t)data;
    z.avail_in = (uInt)size;
    z.next_out = out;
    z.avail_out = (uInt)room;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    deflateEnd(&z);
    return room - z.avail_out;
}

static unsigned char *noise(size_t size) {
    unsigned char *data = malloc(size);
    for (size_t i = 0; i < size; i++) data[i] = (unsigned char)(heed_random_bits(1, 1, i) % 251);
    return data;
}

static void test_map(void **state) {
    (void)state;
    struct file_map map;
    put(in_folder("m"), "hello", 5);
    assert_true(file_map_open(cx, in_folder("m"), &map));
    assert_int_equal(map.size, 5);
    assert_memory_equal(map.data, "hello", 5);
    file_map_close(&map);
    assert_null(map.data);
    file_map_close(&map);
    file_map_close(NULL);
    put(in_folder("empty"), "", 0);
    assert_true(file_map_open(cx, in_folder("empty"), &map));
    assert_null(map.data);
    assert_int_equal(map.size, 0);
    file_map_close(&map);
    unlink(in_folder("m"));
    unlink(in_folder("empty"));
}

static void test_map_refused(void **state) {
    (void)state;
    struct file_map map;
    assert_false(file_map_open(cx, in_folder("none"), &map));
    expect_error(HEED_ERR_FILE, "none", strerror(ENOENT));
    assert_false(file_map_open(cx, folder, &map));
    expect_error(HEED_ERR_FILE, folder, strerror(EISDIR));
    assert_false(file_map_open(cx, "/dev/null", &map));
    expect_error(HEED_ERR_FILE, "/dev/null", "not a regular file");
    assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
    assert_false(file_map_open(cx, in_folder("pipe"), &map)); /* and does not wait */
    expect_error(HEED_ERR_FILE, "pipe", "not a regular file");
    unlink(in_folder("pipe"));
    assert_false(file_map_open(cx, NULL, &map));
    expect_error(HEED_ERR_USAGE, "path", "");
    assert_false(file_map_open(cx, "x", NULL));
    expect_error(HEED_ERR_USAGE, "map", "");
    heed_fail(cx, HEED_ERR_SHAPE, "before");
    assert_false(file_map_open(cx, "x", &map));
    expect_error(HEED_ERR_SHAPE, "before", "");
}

static void expect_contents(const char *path, size_t limit, const void *data, size_t size) {
    size_t got = 999;
    unsigned char *read = file_read(cx, path, limit, &got);
    if (!read) fail_msg("%s", heed_message(cx));
    assert_int_equal(got, size);
    if (size > 0) assert_memory_equal(read, data, size);
    assert_int_equal(read[size], 0);
    heed_mem_free(cx, read);
}

static void test_read(void **state) {
    (void)state;
    const size_t sizes[] = {0, 1, 2, 65535, 65536, 65537, 300001};
    unsigned char *data = noise(300001);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        put(in_folder("r"), data, sizes[i]);
        expect_contents(in_folder("r"), SIZE_MAX, data, sizes[i]);
        expect_contents(in_folder("r"), sizes[i], data, sizes[i]); /* the limit itself is allowed */
        if (sizes[i] == 0) continue;
        size_t got;
        assert_null(file_read(cx, in_folder("r"), sizes[i] - 1, &got));
        expect_error(HEED_ERR_RANGE, "/r", "bytes allowed");
    }
    free(data);
    unlink(in_folder("r"));
}

static void test_read_gzip(void **state) {
    (void)state;
    const size_t size = 300001;
    unsigned char *data = noise(size), *packed = calloc(1, 2 * size);
    /* Two members, an empty one, and padding after them. */
    size_t n = gzip(data, 200000, packed, 2 * size);
    n += gzip("", 0, packed + n, 2 * size - n);
    n += gzip(data + 200000, size - 200000, packed + n, 2 * size - n);
    put(in_folder("g.gz"), packed, n);
    expect_contents(in_folder("g.gz"), size, data, size);
    put(in_folder("g.gz"), packed, n + 1000);
    expect_contents(in_folder("g.gz"), SIZE_MAX, data, size);
    size_t got;
    assert_null(file_read(cx, in_folder("g.gz"), size - 1, &got));
    expect_error(HEED_ERR_RANGE, "g.gz", "300000 bytes allowed");
    memcpy(packed + n, "tail", 4);
    put(in_folder("g.gz"), packed, n + 4);
    assert_null(file_read(cx, in_folder("g.gz"), SIZE_MAX, &got));
    expect_error(HEED_ERR_FORMAT, "g.gz", "corrupt gzip data");
    free(data);
    free(packed);
    unlink(in_folder("g.gz"));
}

/* A name that ends in .gz is written as gzip, whatever pieces the contents come in. */
static void test_write_gzip(void **state) {
    (void)state;
    static const size_t pieces[] = {1, 3000, 70000, 300001};
    const size_t size = 300001;
    unsigned char *data = noise(size);
    memset(data + 100000, 'a', 150000);
    for (size_t k = 0; k < sizeof pieces / sizeof *pieces; k++) {
        struct file_writer *w = file_write_open(cx, in_folder("w.gz"));
        for (size_t at = 0; at < size; at += pieces[k])
            assert_true(file_write(w, data + at, size - at < pieces[k] ? size - at : pieces[k]));
        assert_true(file_write_commit(w));
        expect_contents(in_folder("w.gz"), size, data, size);
        struct file_map map;
        assert_true(file_map_open(cx, in_folder("w.gz"), &map));
        assert_true(map.size < 170000 && map.data[0] == 0x1F && map.data[1] == 0x8B);
        file_map_close(&map);
    }
    struct file_writer *w = file_write_open(cx, in_folder("w.gz"));
    assert_true(file_write(w, data, 9));
    file_write_abort(w);
    expect_contents(in_folder("w.gz"), size, data, size); /* as it was */
    w = file_write_open(cx, in_folder("w.gz"));
    assert_true(file_write_commit(w));
    expect_contents(in_folder("w.gz"), size, data, 0);
    free(data);
    unlink(in_folder("w.gz"));
}

/* Cut at every place, and with every byte changed: an error that names the file, or the very contents. */
static void test_mutated_gzip(void **state) {
    (void)state;
    const char *text = "attention is what is left when everything else has been looked away from, from, from";
    unsigned char packed[256], changed[256];
    const size_t n = gzip(text, strlen(text), packed, sizeof packed);
    const char *path = in_folder("cut.gz");
    for (size_t cut = 2; cut < n; cut++) {
        put(path, packed, cut);
        size_t got;
        assert_null(file_read(cx, path, SIZE_MAX, &got));
        expect_error(HEED_ERR_FORMAT, "cut.gz", "ends too early");
    }
    for (size_t i = 2; i < n; i++) {
        memcpy(changed, packed, n);
        changed[i] ^= 0x55;
        put(path, changed, n);
        size_t got = 0;
        unsigned char *data = file_read(cx, path, 1 << 20, &got);
        if (data) {
            assert_int_equal(got, strlen(text)); /* a byte of the header that does not matter, such as the time */
            assert_memory_equal(data, text, got);
            heed_mem_free(cx, data);
        } else {
            expect_error(HEED_ERR_FORMAT, "cut.gz", "gzip data");
        }
    }
    unlink(path);
}

/* 64 MiB of zeros in 64 KiB: stopped at the limit, and never much more than that held. */
static void test_gzip_bomb(void **state) {
    (void)state;
    const size_t size = 64 << 20;
    unsigned char *zeros = calloc(1, size), *packed = malloc(1 << 20);
    put(in_folder("bomb.gz"), packed, gzip(zeros, size, packed, 1 << 20));
    free(zeros);
    free(packed);
    heed_memory_reset_peak(cx);
    const size_t before = heed_memory_use(cx).held;
    size_t got;
    assert_null(file_read(cx, in_folder("bomb.gz"), 1 << 20, &got));
    expect_error(HEED_ERR_RANGE, "bomb.gz", "1048576");
    assert_int_equal(heed_memory_use(cx).held, before);
    assert_true(heed_memory_use(cx).held_peak - before < 3 << 20);
    unlink(in_folder("bomb.gz"));
}

static void test_read_refused(void **state) {
    (void)state;
    size_t got;
    assert_null(file_read(cx, in_folder("none"), 10, &got));
    expect_error(HEED_ERR_FILE, "none", strerror(ENOENT));
    assert_null(file_read(cx, folder, 10, &got));
    expect_error(HEED_ERR_FILE, folder, strerror(EISDIR));
    assert_null(file_read(cx, NULL, 10, &got));
    expect_error(HEED_ERR_USAGE, "path", "");
    assert_null(file_read(cx, "x", 10, NULL));
    expect_error(HEED_ERR_USAGE, "size", "");
    expect_contents("/dev/null", 10, "", 0);
    assert_null(file_read(cx, "/dev/zero", 1 << 20, &got)); /* without end */
    expect_error(HEED_ERR_RANGE, "/dev/zero", "allowed");
}

/* Pieces come late and interrupted by signals. */
static void on_alarm(int signal) { (void)signal; }
static void with_alarms(bool on) {
    struct sigaction action = {.sa_handler = on_alarm}; /* without SA_RESTART */
    sigaction(SIGALRM, &action, NULL);
    const struct itimerval often = {{0, on ? 500 : 0}, {0, on ? 500 : 0}};
    setitimer(ITIMER_REAL, &often, NULL);
}

/* The signals are for the thread that is tested. */
static void without_alarms(void) {
    sigset_t alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarms, NULL);
}

struct transfer {
    int fd;
    unsigned char *data;
    size_t size, done;
};
static void *send_slowly(void *arg) {
    struct transfer *const t = arg;
    without_alarms();
    while (t->done < t->size) {
        const size_t left = t->size - t->done;
        const ssize_t n = write(t->fd, t->data + t->done, left < 1777 ? left : 1777);
        if (n > 0) t->done += (size_t)n;
        if (t->done % 5 == 0) usleep(2000);
    }
    close(t->fd);
    return NULL;
}
static void *receive_slowly(void *arg) {
    struct transfer *const t = arg;
    without_alarms();
    for (ssize_t n; (n = read(t->fd, t->data + t->done, 7777)) != 0;) {
        if (n > 0) t->done += (size_t)n;
        if (t->done % 5 == 0) usleep(2000);
    }
    return NULL;
}

/* Pipes and devices are refused at once where a file is expected; standard input may be a pipe. */
static void test_read_regular(void **state) {
    (void)state;
    size_t got;
    put(in_folder("r"), "hello", 5);
    unsigned char *text = file_read_regular(cx, in_folder("r"), 10, &got);
    assert_int_equal(got, 5);
    assert_memory_equal(text, "hello", 6);
    heed_mem_free(cx, text);
    assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
    const char *const others[] = {in_folder("pipe"), "/dev/zero"};
    for (int i = 0; i < 2; i++) {
        assert_null(file_read_regular(cx, others[i], 10, &got)); /* nobody writes into the pipe: it must not wait */
        expect_error(HEED_ERR_FILE, others[i], "not a regular file");
    }
    unlink(in_folder("pipe"));
    unlink(in_folder("r"));
    int ends[2];
    const int before = dup(STDIN_FILENO);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "hi", 2), 2);
    close(ends[1]);
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
    text = file_read_regular(cx, "-", 10, &got);
    dup2(before, STDIN_FILENO);
    close(before);
    assert_int_equal(got, 2);
    heed_mem_free(cx, text);
}

static void test_standard_input(void **state) {
    (void)state;
    const int before = dup(STDIN_FILENO);
    for (int packed = 0; packed < 2; packed++) {
        unsigned char *data = noise(150000), *sent = malloc(300000);
        memcpy(sent, data, 150000);
        const size_t n = packed ? gzip(data, 150000, sent, 300000) : 150000;
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        dup2(ends[0], STDIN_FILENO);
        close(ends[0]);
        struct transfer t = {ends[1], sent, n, 0};
        pthread_t sender;
        assert_int_equal(pthread_create(&sender, NULL, send_slowly, &t), 0);
        with_alarms(true);
        expect_contents("-", SIZE_MAX, data, 150000);
        with_alarms(false);
        pthread_join(sender, NULL);
        free(data);
        free(sent);
    }
    dup2(before, STDIN_FILENO);
    close(before);
}

static void test_standard_output(void **state) {
    (void)state;
    unsigned char *data = noise(500000);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    struct transfer t = {ends[0], malloc(500000 + 7777), 500000, 0};
    pthread_t receiver;
    assert_int_equal(pthread_create(&receiver, NULL, receive_slowly, &t), 0);
    fflush(stdout);
    const int before = dup(STDOUT_FILENO);
    dup2(ends[1], STDOUT_FILENO);
    close(ends[1]);
    with_alarms(true);
    struct file_writer *w = file_write_open(cx, "-");
    const bool written = file_write(w, data, 300000) && file_write(w, data + 300000, 200000);
    const bool committed = file_write_commit(w);
    with_alarms(false);
    dup2(before, STDOUT_FILENO); /* also closes the pipe */
    close(before);
    pthread_join(receiver, NULL);
    assert_true(written && committed);
    assert_int_equal(t.done, 500000);
    assert_memory_equal(t.data, data, 500000);
    close(ends[0]);
    free(t.data);
    free(data);
}

/* With standard output closed, a file gets its number; it is closed like any other. */
static void test_closed_output(void **state) {
    (void)state;
    fflush(stdout);
    const int before = dup(STDOUT_FILENO);
    close(STDOUT_FILENO);
    struct file_writer *w = file_write_open(cx, in_folder("a"));
    const bool committed = file_write(w, "text", 4) && file_write_commit(w);
    const bool closed = fcntl(STDOUT_FILENO, F_GETFD) < 0;
    file_write_abort(file_write_open(cx, in_folder("b")));
    const bool closed_again = fcntl(STDOUT_FILENO, F_GETFD) < 0;
    dup2(before, STDOUT_FILENO);
    close(before);
    assert_true(committed && closed && closed_again);
    expect_contents(in_folder("a"), 10, "text", 4);
    unlink(in_folder("a"));
    assert_int_equal(entries(), 0);
}

/* What a killed process left beside is removed by whoever writes next; what is still written stays, and whatever else
 * there is. */
static void test_abandoned(void **state) {
    (void)state;
    char old[512], other[512], link[512];
    snprintf(old, sizeof old, "%s", in_folder(".heed-123-abc-0.tmp"));
    snprintf(other, sizeof other, "%s", in_folder(".heed-notes"));
    snprintf(link, sizeof link, "%s", in_folder(".heed-1-1-1.tmp"));
    put(old, "half", 4);
    put(other, "mine", 4);
    assert_int_equal(symlink("/etc/passwd", link), 0);
    struct file_writer *first = file_write_open(cx, in_folder("a"));
    file_write(first, "a", 1);
    assert_int_equal(access(old, F_OK), -1);
    assert_int_equal(access(other, F_OK), 0);
    assert_int_equal(entries(), 3);
    struct file_writer *second = file_write_open(cx, in_folder("b")); /* the first is not finished */
    file_write(second, "b", 1);
    assert_int_equal(entries(), 4);
    assert_true(file_write_commit(first));
    assert_true(file_write_commit(second));
    expect_contents(in_folder("a"), 10, "a", 1);
    expect_contents(in_folder("b"), 10, "b", 1);
    const pid_t child = fork(); /* killed while it writes */
    if (child == 0) {
        heed_ctx *own = heed_open(&(heed_config){.threads = 1});
        struct file_writer *w = file_write_open(own, in_folder("a"));
        file_write(w, "half", 4);
        raise(SIGKILL);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(entries(), 5);
    assert_true(file_write_commit(file_write_open(cx, in_folder("c"))));
    assert_int_equal(entries(), 5); /* a, b, c, .heed-notes and the link */
    expect_contents(in_folder("a"), 10, "a", 1);
    unlink(in_folder("a")), unlink(in_folder("b")), unlink(in_folder("c"));
    unlink(other), unlink(link);
    assert_int_equal(entries(), 0);
}

static void test_write(void **state) {
    (void)state;
    const char *path = in_folder("w");
    unsigned char *data = noise(400000);
    const mode_t mask = umask(027);
    struct file_writer *w = file_write_open(cx, path);
    assert_non_null(w);
    size_t at = 0; /* pieces smaller, as large as, and larger than the buffer */
    const size_t pieces[] = {1, 0, 100, 65536, 65535, 2, 200000};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; at += pieces[i++])
        assert_true(file_write(w, data + at, pieces[i]));
    assert_true(file_write(w, NULL, 0));
    assert_int_equal(access(path, F_OK), -1); /* not there until it is whole */
    assert_true(file_write_commit(w));
    umask(mask);
    expect_contents(path, SIZE_MAX, data, at);
    struct stat what;
    assert_int_equal(stat(path, &what), 0);
    assert_int_equal(what.st_mode & 0777, 0640);
    w = file_write_open(cx, path); /* over an old one, empty */
    expect_contents(path, SIZE_MAX, data, at);
    assert_true(file_write_commit(w));
    expect_contents(path, SIZE_MAX, "", 0);
    assert_int_equal(entries(), 1);
    unlink(path);
    free(data);
}

static void test_write_abort(void **state) {
    (void)state;
    put(in_folder("a"), "old", 3);
    struct file_writer *w = file_write_open(cx, in_folder("a"));
    assert_true(file_write(w, "new", 3));
    file_write_abort(w);
    w = file_write_open(cx, in_folder("a"));
    assert_true(file_write(w, "new", 3));
    heed_fail(cx, HEED_ERR_SHAPE, "elsewhere"); /* a failed context commits nothing */
    assert_false(file_write_commit(w));
    expect_error(HEED_ERR_SHAPE, "elsewhere", "");
    expect_contents(in_folder("a"), 10, "old", 3);
    assert_int_equal(entries(), 1);
    unlink(in_folder("a"));
    file_write_abort(NULL);
    assert_false(file_write_commit(NULL));
    assert_false(file_write(NULL, "x", 1));
}

/* In the working directory, and through a link, which stays one. */
static void test_write_places(void **state) {
    (void)state;
    char here[4096];
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(folder), 0);
    struct file_writer *w = file_write_open(cx, "plain");
    file_write(w, "one", 3);
    const bool plain = file_write_commit(w);
    const bool linked = symlink("plain", "link") == 0;
    w = file_write_open(cx, "link");
    file_write(w, "two", 3);
    const bool through = file_write_commit(w);
    assert_int_equal(chdir(here), 0);
    assert_true(plain && linked && through);
    expect_contents(in_folder("plain"), 10, "two", 3);
    struct stat what;
    assert_int_equal(lstat(in_folder("link"), &what), 0);
    assert_true(S_ISLNK(what.st_mode));
    assert_int_equal(entries(), 2);
    unlink(in_folder("plain"));
    unlink(in_folder("link"));
}

/* The disk is full half way: the old file stays, nothing is left beside, later calls do nothing. */
static void test_write_disk_full(void **state) {
    (void)state;
    put(in_folder("full"), "old", 3);
    unsigned char *data = noise(400000);
    struct rlimit before, small;
    getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    small.rlim_cur = 100000;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    struct file_writer *w = file_write_open(cx, in_folder("full"));
    const bool first = file_write(w, data, 50000), second = file_write(w, data, 400000);
    const bool third = file_write(w, data, 1), committed = file_write_commit(w);
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, SIG_DFL);
    assert_true(first && !second && !third && !committed);
    expect_error(HEED_ERR_FILE, "/full", strerror(EFBIG));
    expect_contents(in_folder("full"), 10, "old", 3);
    assert_int_equal(entries(), 1);
    unlink(in_folder("full"));
    /* A device is written as it is; what is buffered fails at the commit. */
    w = file_write_open(cx, "/dev/full");
    assert_true(file_write(w, data, 10));
    assert_false(file_write_commit(w));
    expect_error(HEED_ERR_FILE, "/dev/full", strerror(ENOSPC));
    w = file_write_open(cx, "/dev/null");
    assert_true(file_write(w, data, 400000));
    assert_true(file_write_commit(w));
    struct stat what;
    assert_int_equal(stat("/dev/null", &what), 0);
    assert_true(S_ISCHR(what.st_mode));
    free(data);
}

static void test_write_refused(void **state) {
    (void)state;
    assert_null(file_write_open(cx, in_folder("no/such/folder")));
    expect_error(HEED_ERR_FILE, "no/such/folder", strerror(ENOENT));
    assert_null(file_write_open(cx, folder));
    expect_error(HEED_ERR_FILE, folder, strerror(EISDIR));
    assert_null(file_write_open(cx, NULL));
    expect_error(HEED_ERR_USAGE, "path", "");
    char *longer = calloc(1, 10001);
    memset(longer, 'x', 10000);
    assert_null(file_write_open(cx, longer));
    expect_error(HEED_ERR_USAGE, "too long", "");
    longer[300] = '\0'; /* the rename is refused: the name is too long for the system */
    char name[512];
    snprintf(name, sizeof name, "%s/%s", folder, longer);
    struct file_writer *w = file_write_open(cx, name);
    if (w) assert_false(file_write_commit(w));
    expect_error(HEED_ERR_FILE, "xxx", strerror(ENAMETOOLONG));
    free(longer);
    w = file_write_open(cx, in_folder("null"));
    assert_false(file_write(w, NULL, 5));
    assert_false(file_write_commit(w));
    expect_error(HEED_ERR_USAGE, "null", "5 bytes");
    assert_int_equal(entries(), 0);
}

static bool stop_now(void *user) { return ++*(int *)user > 3; }

static void test_cancel(void **state) {
    (void)state;
    int asked = 0;
    heed_ctx *own = heed_open(&(heed_config){.threads = 1, .cancel = stop_now, .user = &asked});
    size_t got;
    assert_null(file_read(own, "/dev/zero", SIZE_MAX, &got));
    assert_int_equal(heed_error(own), HEED_ERR_CANCELLED);
    heed_close(own);
}

/* Refuse the N-th request for memory of reading and writing, for every N. */
static void test_refusal_sweep(void **state) {
    (void)state;
    unsigned char *data = noise(300000), *packed = malloc(600000);
    put(in_folder("s.gz"), packed, gzip(data, 300000, packed, 600000));
    put(in_folder("s"), "old", 3);
    bool done = false;
    for (int64_t n = 1; !done; n++) {
        assert_in_range(n, 1, 100);
        struct counting c = {0};
        heed_ctx *own = heed_open(&(heed_config){.threads = 1, .alloc = counting_alloc, .user = &c});
        c.fail_at = c.requests + n;
        size_t got = 0;
        unsigned char *read = file_read(own, in_folder("s.gz"), SIZE_MAX, &got);
        struct file_writer *w = file_write_open(own, in_folder("s"));
        file_write(w, read, got);
        done = file_write_commit(w);
        assert_int_equal(done, !heed_failed(own));
        if (!done) assert_int_equal(heed_error(own), HEED_ERR_MEMORY);
        heed_mem_free(own, read);
        heed_close(own);
        assert_int_equal(c.blocks, 0);
        assert_int_equal(c.mistakes, 0);
        assert_int_equal(entries(), 2);
        if (!done) expect_contents(in_folder("s"), 10, "old", 3);
    }
    expect_contents(in_folder("s"), SIZE_MAX, data, 300000);
    unlink(in_folder("s"));
    unlink(in_folder("s.gz"));
    free(data);
    free(packed);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_map),
        cmocka_unit_test(test_map_refused),
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_read_gzip),
        cmocka_unit_test(test_write_gzip),
        cmocka_unit_test(test_mutated_gzip),
        cmocka_unit_test(test_gzip_bomb),
        cmocka_unit_test(test_read_refused),
        cmocka_unit_test(test_read_regular),
        cmocka_unit_test(test_standard_input),
        cmocka_unit_test(test_standard_output),
        cmocka_unit_test(test_closed_output),
        cmocka_unit_test(test_abandoned),
        cmocka_unit_test(test_write),
        cmocka_unit_test(test_write_abort),
        cmocka_unit_test(test_write_places),
        cmocka_unit_test(test_write_disk_full),
        cmocka_unit_test(test_write_refused),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_refusal_sweep),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
