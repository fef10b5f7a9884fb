/* How many processors there are to use: the quotas as written by the system, and as they lie in its folders. */
#include "base/cpus.h"
#include "heed/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../folder.h"

static void test_cpu_max(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int cpus;
    } cases[] = {{"max 100000\n", 0},
                 {"200000 100000\n", 2},
                 {"150000 100000\n", 2},
                 {"1000 100000\n", 1},
                 {"", 0},
                 {"garbage", 0},
                 {"100000", 0},
                 {"100000 0", 0},
                 {"-5 100000", 0},
                 {"0 100000", 0},
                 {"100000 -1", 0},
                 {"9999999999999999999 1", 2147483647}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(cpus_of_max(cases[i].text), cases[i].cpus);
    assert_int_equal(cpus_of_cfs("-1\n", "100000\n"), 0);
    assert_int_equal(cpus_of_cfs("250000\n", "100000\n"), 3);
    assert_int_equal(cpus_of_cfs("", ""), 0);
}

static void test_group(void **state) {
    (void)state;
    char path[64];
    const char *hybrid = "12:cpuset:/other\n4:cpu,cpuacct:/docker/abc\n1:name=systemd:/x\n0::/user.slice/a:b\n";
    assert_true(cpus_group(hybrid, "", path, sizeof path));
    assert_string_equal(path, "/user.slice/a:b");
    assert_true(cpus_group(hybrid, "cpu", path, sizeof path));
    assert_string_equal(path, "/docker/abc");
    assert_true(cpus_group(hybrid, "cpuacct", path, sizeof path));
    assert_false(cpus_group(hybrid, "memory", path, sizeof path));
    assert_true(cpus_group("0::/", "", path, sizeof path));
    assert_string_equal(path, "/");
    assert_false(cpus_group("0::/", "", path, 1));
    assert_false(cpus_group("", "", path, sizeof path));
    assert_false(cpus_group("nonsense\n:\n0:\n\n", "", path, sizeof path));
}

static void put(const char *path, const char *text) {
    char full[600];
    snprintf(full, sizeof full, "%s", in_folder(path));
    for (char *slash = full + strlen(folder) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = '\0';
        mkdir(full, 0777);
    }
    FILE *f = fopen(full, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void test_folders(void **state) {
    (void)state;
    assert_int_equal(make_folder(state), 0);
    assert_int_equal(cpus_quota(folder, "0::/a/b\n"), 0); /* nothing is there */
    put("a/b/cpu.max", "max 100000\n");
    put("a/cpu.max", "300000 100000\n");
    assert_int_equal(cpus_quota(folder, "0::/a/b\n"), 3); /* the parent binds */
    put("a/b/cpu.max", "50000 100000\n");
    assert_int_equal(cpus_quota(folder, "0::/a/b\n"), 1);
    assert_int_equal(cpus_quota(folder, "0::/a\n"), 3);
    assert_int_equal(cpus_quota(folder, "0::/gone/deep\n"), 0);
    put("cpu.max", "400000 100000\n");
    assert_int_equal(cpus_quota(folder, "0::/gone/deep\n"), 4); /* a container sees its own as the root */
    assert_int_equal(cpus_quota(folder, "0::/../../x\n"), 4);
    assert_int_equal(cpus_quota(folder, "0::/\n"), 4);
    put("cpu,cpuacct/d/cpu.cfs_quota_us", "200000\n");
    put("cpu,cpuacct/d/cpu.cfs_period_us", "100000\n");
    assert_int_equal(cpus_quota(folder, "4:cpu,cpuacct:/d/e\n"), 2);
    assert_int_equal(cpus_quota(folder, "4:cpu,cpuacct:/d\n0::/a/b\n"), 1); /* the tighter of the two */
    assert_int_equal(wipe_folder(state), 0);
}

static void test_available(void **state) {
    (void)state;
    assert_in_range(heed_threads_available(), 1, sysconf(_SC_NPROCESSORS_CONF));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cpu_max), cmocka_unit_test(test_group),
                                       cmocka_unit_test(test_folders), cmocka_unit_test(test_available)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
