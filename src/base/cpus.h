/* How many processors this process may use: the parts of heed_threads_available, apart so that they can be tested. */
#ifndef BASE_CPUS_H
#define BASE_CPUS_H

#include <stdbool.h>
#include <stddef.h>

/* Processors, rounded up and at least 1, that a quota grants; 0 when it sets no limit or makes no sense.
 * cgroup v2: the text of cpu.max, "150000 100000" or "max 100000". v1: cpu.cfs_quota_us (-1: none) and
 * cpu.cfs_period_us. */
int cpus_of_max(const char *cpu_max);
int cpus_of_cfs(const char *quota, const char *period);

/* The path of the own group from the text of /proc/self/cgroup: controller "" is version 2 ("0::/a/b"), "cpu" the line
 * of version 1 ("4:cpu,cpuacct:/a/b"). False when there is no such line or the path does not fit. */
bool cpus_group(const char *proc_cgroup, const char *controller, char *path, size_t size);

/* The tightest quota from the own group up to the root of the hierarchy mounted at `mount`; 0 for none. */
int cpus_quota(const char *mount, const char *proc_cgroup);

#endif
