/* Processors this process may use: affinity, then the container's quota (cgroup v2 cpu.max, v1 cpu.cfs_quota_us). A
 * group is bound by its own quota and by those of all groups above it. */
#ifndef _GNU_SOURCE
#    define _GNU_SOURCE /* sched_getaffinity */
#endif
#include "base/cpus.h"
#include "heed/base.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int cpus_of(long long quota, long long period) {
    if (quota <= 0 || period <= 0) return 0;
    const long long cpus = quota / period + (quota % period != 0);
    return cpus < INT_MAX ? (int)cpus : INT_MAX;
}

/* Reads a number and moves *text behind it; -1 when there is none. */
static long long number(const char **text) {
    char *end;
    const long long value = strtoll(*text, &end, 10);
    if (end == *text) return -1;
    *text = end;
    return value;
}

int cpus_of_max(const char *cpu_max) {
    const long long quota = number(&cpu_max); /* "max" is no number */
    return quota > 0 ? cpus_of(quota, number(&cpu_max)) : 0;
}

int cpus_of_cfs(const char *quota, const char *period) { return cpus_of(number(&quota), number(&period)); }

/* Whether a comma-separated list such as "cpu,cpuacct" names `one`; "" is named by the empty list only. */
static bool listed(const char *list, size_t length, const char *one) {
    const size_t size = strlen(one);
    while (true) {
        const char *comma = memchr(list, ',', length);
        const size_t item = comma ? (size_t)(comma - list) : length;
        if (item == size && memcmp(list, one, size) == 0) return true;
        if (!comma) return false;
        list = comma + 1;
        length -= item + 1;
    }
}

bool cpus_group(const char *proc_cgroup, const char *controller, char *path, size_t size) {
    for (const char *line = proc_cgroup, *next; *line; line = next) {
        const size_t length = strcspn(line, "\n");
        next = line + length + (line[length] == '\n');
        const char *list = memchr(line, ':', length);
        if (!list) continue;
        list++;
        const char *group = memchr(list, ':', length - (size_t)(list - line));
        if (!group || !listed(list, (size_t)(group - list), controller)) continue;
        const size_t bytes = length - (size_t)(group + 1 - line);
        if (bytes >= size) return false;
        memcpy(path, group + 1, bytes);
        path[bytes] = '\0';
        return true;
    }
    return false;
}

/* Reads a small file whole; false when it is not there or does not fit. */
static bool small_file(const char *path, char *text, size_t size) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    size_t have = 0;
    ssize_t got = 0;
    while (have < size && ((got = read(fd, text + have, size - have)) > 0 || (got < 0 && errno == EINTR)))
        if (got > 0) have += (size_t)got;
    close(fd);
    if (got < 0 || have == size) return false;
    text[have] = '\0';
    return true;
}

static bool group_file(const char *mount, const char *hierarchy, const char *group, const char *name, char *text,
                       size_t size) {
    char path[2 * PATH_MAX];
    const int length = snprintf(path, sizeof path, "%s%s%s/%s", mount, hierarchy, group, name);
    return length > 0 && (size_t)length < sizeof path && small_file(path, text, size);
}

static int least(int a, int b) { return a == 0 || (b != 0 && b < a) ? b : a; }

static int quota_at(const char *mount, const char *hierarchy, const char *group) {
    char quota[128], period[128];
    if (*hierarchy == '\0')
        return group_file(mount, "", group, "cpu.max", quota, sizeof quota) ? cpus_of_max(quota) : 0;
    return group_file(mount, hierarchy, group, "cpu.cfs_quota_us", quota, sizeof quota) &&
                   group_file(mount, hierarchy, group, "cpu.cfs_period_us", period, sizeof period)
               ? cpus_of_cfs(quota, period)
               : 0;
}

int cpus_quota(const char *mount, const char *proc_cgroup) {
    static const struct {
        const char *controller, *hierarchy;
    } versions[] = {{"", ""}, {"cpu", "/cpu"}, {"cpu", "/cpu,cpuacct"}};
    int cpus = 0;
    for (size_t v = 0; v < sizeof versions / sizeof *versions; v++) {
        char group[PATH_MAX];
        if (!cpus_group(proc_cgroup, versions[v].controller, group, sizeof group)) continue;
        /* A group outside the container's view is shown with ".."; then only what is mounted here can be seen. */
        if (strstr(group, "..")) group[0] = '\0';
        while (true) {
            cpus = least(cpus, quota_at(mount, versions[v].hierarchy, group));
            char *parent = strrchr(group, '/');
            if (!parent) break;
            *parent = '\0';
        }
    }
    return cpus;
}

int heed_threads_available(void) {
    cpu_set_t set;
    int cpus = 0;
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        cpus = CPU_COUNT(&set);
    } else { /* more processors than the set has room for */
        const long online = sysconf(_SC_NPROCESSORS_ONLN);
        cpus = online < INT_MAX ? (int)online : INT_MAX;
    }
    char groups[PATH_MAX];
    if (small_file("/proc/self/cgroup", groups, sizeof groups))
        cpus = least(cpus, cpus_quota("/sys/fs/cgroup", groups));
    return cpus > 1 ? cpus : 1;
}
