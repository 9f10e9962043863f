#include "preload/apply/state/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define PAGE UINT64_C(4096)

static void read_text(const char *path, char *text, size_t bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, bytes - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
}

/* ---- groups ---------------------------------------------------------------------------------- */

static void keep_least(uint64_t *memory, uint64_t limit, uint64_t used)
{
    uint64_t left = limit > used ? limit - used : 0;
    if (left < *memory)
        *memory = left;
}

void xfs_limits_of_group(struct xfs_limits *limits, const char *cpu_max, const char *memory_max,
                         const char *memory_current)
{
    char *end;
    unsigned long long quota = strtoull(cpu_max, &end, 10), period = strtoull(end, NULL, 10);
    if (end != cpu_max && period > 0) { /* else "max 100000" */
        unsigned long long whole = quota / period > 0 ? quota / period : 1;
        if (whole < limits->processors)
            limits->processors = (unsigned)whole;
    }
    unsigned long long most = strtoull(memory_max, &end, 10);
    if (end != memory_max)
        keep_least(&limits->memory, most, strtoull(memory_current, NULL, 10));
}

static void look_at_group(struct xfs_limits *limits, const char *group)
{
    char path[PATH_MAX], text[3][64];
    static const char *const files[] = {"cpu.max", "memory.max", "memory.current"};
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "/sys/fs/cgroup/%s/%s", group, files[i]);
        read_text(path, text[i], sizeof text[i]);
    }
    xfs_limits_of_group(limits, text[0], text[1], text[2]);
}

/* The group of the process in the hierarchy of version 2 (the line that begins with 0::), and those
 * above it. */
static void look_at_groups(struct xfs_limits *limits)
{
    char text[4096], group[1024] = "";
    read_text("/proc/self/cgroup", text, sizeof text);
    const char *line = strstr(text, "0::/");
    if (line)
        snprintf(group, sizeof group, "%.*s", (int)strcspn(line + 4, "\n"), line + 4);
    for (;;) {
        look_at_group(limits, group);
        char *slash = strrchr(group, '/');
        if (*group == '\0')
            return;
        *(slash ? slash : group) = '\0';
    }
}

/* ---- the process ----------------------------------------------------------------------------- */

static void look_at_process(struct xfs_limits *limits)
{
    static const int which[] = {RLIMIT_AS, RLIMIT_DATA};
    char text[256];
    struct rlimit limit;
    read_text("/proc/self/statm", text, sizeof text);
    uint64_t mapped = strtoull(text, NULL, 10) * PAGE;
    for (int i = 0; i < 2; i++)
        if (getrlimit(which[i], &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
            keep_least(&limits->memory, limit.rlim_cur, mapped);
}

/* Then the driver fails at what needs one, too: an attempt of ours would fail, and the program's
 * calls behind it, some of which need none. */
static bool has_descriptors(void)
{
    int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0)
        close(fd);
    return fd >= 0 || (errno != EMFILE && errno != ENFILE);
}

void xfs_limits_read(struct xfs_limits *limits)
{
    cpu_set_t set;
    limits->processors = 1;
    limits->memory = UINT64_MAX;
    if (!has_descriptors())
        return;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        limits->processors = (unsigned)CPU_COUNT(&set);
    look_at_groups(limits);
    look_at_process(limits);
}
