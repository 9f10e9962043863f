#include "probe/machine/machine_host.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include "probe/profile/json_text.h"
#include "analyzer/base/files.h"

enum { PATH_BYTES = 512, LINE_BYTES = 256, VERSION_BYTES = 1 << 20 };

/* Directories may be the user's ($CUDA_HOME): only regular files are opened, so that nothing
 * blocks. */
static FILE *open_text(const char *root, const char *path)
{
    char name[PATH_BYTES];
    const char *why;
    int fd;

    if (snprintf(name, sizeof(name), "%s%s", root, path) >= (int)sizeof(name))
        return NULL;
    fd = xfa_open_regular(name, &why);
    return fd < 0 ? NULL : fdopen(fd, "r");
}

void xfp_first_line(const char *root, const char *path, char *line, size_t bytes)
{
    FILE *file = open_text(root, path);

    line[0] = '\0';
    if (!file)
        return;
    if (fgets(line, (int)bytes, file))
        line[strcspn(line, "\n")] = '\0';
    fclose(file);
}

char *xfp_clean_text(const char *text)
{
    char *copy = strdup(text);

    for (char *c = copy; c && *c; c++)
        if (*c < 0x20 || *c > 0x7e)
            *c = '?';
    return copy;
}

/* The rest of the first line that begins with `key`; false when there is none. */
static bool find_line(const char *root, const char *path, const char *key, char *rest, size_t bytes)
{
    char *line = NULL;
    size_t room = 0;
    bool found = false;
    FILE *file = open_text(root, path);

    while (file && !found && getline(&line, &room, file) > 0) {
        found = !strncmp(line, key, strlen(key));
        if (found)
            snprintf(rest, bytes, "%s", line + strlen(key));
    }
    free(line);
    if (file)
        fclose(file);
    return found;
}

/* Of all processors: the one word, or "mixed". */
static char *read_governor(const char *root, int cpus)
{
    char first[LINE_BYTES] = "", line[LINE_BYTES], path[PATH_BYTES];

    for (int cpu = 0; cpu < cpus; cpu++) {
        snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_governor", cpu);
        xfp_first_line(root, path, line, sizeof(line));
        if (!*line)
            continue;
        if (*first && strcmp(first, line))
            return strdup("mixed");
        memcpy(first, line, sizeof(first));
    }
    return xfp_clean_text(first);
}

/* "always [madvise] never" */
static char *read_huge_pages(const char *root)
{
    char line[LINE_BYTES], *from, *to;

    xfp_first_line(root, "/sys/kernel/mm/transparent_hugepage/enabled", line, sizeof(line));
    from = strchr(line, '[');
    to = from ? strchr(from, ']') : NULL;
    if (!to)
        return strdup("");
    *to = '\0';
    return xfp_clean_text(from + 1);
}

#if defined(__x86_64__)
#include <cpuid.h>

/* A hypervisor's signature, twelve characters of its own choice: "KVMKVMKVM". "" without one. */
static const char *signature(char text[13])
{
    static const char *const known[][2] = {{"KVMKVMKVM", "KVM"},
                                           {"Microsoft Hv", "Hyper-V"},
                                           {"VMwareVMware", "VMware"},
                                           {"XenVMMXenVMM", "Xen"}};
    const unsigned leaf = 0x40000000;
    unsigned a, parts[3] = {0};

    __cpuid(leaf, a, parts[0], parts[1], parts[2]);
    memcpy(text, parts, sizeof(parts));
    text[12] = '\0';
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (!strcmp(text, known[i][0]))
            return known[i][1];
    return text;
}
#else
static const char *signature(char text[13])
{
    text[0] = '\0';
    return text;
}
#endif

/* The processor shows whether there is one (x86); its name is that of the firmware. */
static char *read_hypervisor(const char *root)
{
    char line[LINE_BYTES], signed_by[13], *flags = NULL;
    bool x86, virtual;
    enum { FLAGS = 8192 };

    flags = calloc(1, FLAGS);
    if (!flags)
        return NULL;
    x86 = find_line(root, "/proc/cpuinfo", "flags", flags, FLAGS);
    virtual = x86 && strstr(flags, " hypervisor");
    free(flags);
    xfp_first_line(root, "/sys/hypervisor/type", line, sizeof(line));
    if (!*line && x86 && !virtual)
        return strdup("none");
    if (!*line)
        xfp_first_line(root, "/sys/class/dmi/id/sys_vendor", line, sizeof(line));
    if (!virtual && !x86 && !strstr(line, "QEMU") && !strstr(line, "KVM") && !strstr(line, "xen"))
        return strdup(""); /* another architecture: a vendor's name does not tell */
    if (!*line && virtual && !*root)
        snprintf(line, sizeof(line), "%s", signature(signed_by));
    return *line ? xfp_clean_text(line) : strdup("of unknown make");
}

static char *read_driver(const char *root)
{
    char line[LINE_BYTES];

    xfp_first_line(root, "/sys/module/nvidia/version", line, sizeof(line));
    return xfp_clean_text(line);
}

/* A toolkit from parts (a Python wheel's, a distribution's) may have its headers only. */
static int version_in_header(const char *root, const char *directory)
{
    char path[PATH_BYTES / 2], rest[LINE_BYTES];
    int version = 0;

    snprintf(path, sizeof(path), "%s/include/cuda.h", directory);
    if (find_line(root, path, "#define CUDA_VERSION ", rest, sizeof(rest)))
        version = atoi(rest);
    return version > 0 && version < 1000000 ? version : 0;
}

/* "13.0.1" is 13000, as the driver counts. */
static int toolkit_at(const char *root, const char *directory)
{
    char path[PATH_BYTES], reason[128], *text;
    json_t *file;
    const char *version = NULL, *why;
    int major = 0, minor = 0;
    size_t bytes = 0;

    snprintf(path, sizeof(path), "%s%s/version.json", root, directory);
    text = xfa_read_whole(path, VERSION_BYTES, &bytes, &why);
    file = text ? xfp_json_parse(text, bytes, reason, sizeof(reason)) : NULL;
    free(text);
    if (file && !json_unpack(file, "{s:{s:s}}", "cuda", "version", &version) &&
        (sscanf(version, "%3d.%2d", &major, &minor) != 2 || major < 0 || minor < 0))
        major = minor = 0;
    json_decref(file);
    return major ? major * 1000 + minor * 10 : version_in_header(root, directory);
}

static int find_toolkit(const char *root)
{
    static const char *const variables[] = {"CUDA_HOME", "CUDA_PATH"};
    int version = 0;

    for (int i = 0; i < 2 && !version; i++) {
        const char *directory = getenv(variables[i]);

        version = directory && *directory ? toolkit_at("", directory) : 0;
    }
    return version ? version : toolkit_at(root, "/usr/local/cuda");
}

void xfp_read_host(const char *root, struct xfp_machine *m)
{
    struct utsname system;
    struct rlimit lock;
    char kernel[2 * sizeof(system.release)] = "";

    if (!uname(&system))
        snprintf(kernel, sizeof(kernel), "%s %s", system.sysname, system.release);
    m->kernel = xfp_clean_text(kernel);
    m->governor = read_governor(root, m->cpus);
    m->huge_pages = read_huge_pages(root);
    m->hypervisor = read_hypervisor(root);
    if (!m->driver_release || !*m->driver_release) {
        free(m->driver_release);
        m->driver_release = read_driver(root);
    }
    m->toolkit_version = find_toolkit(root);
    if (!getrlimit(RLIMIT_MEMLOCK, &lock))
        m->memlock_bytes = lock.rlim_cur == RLIM_INFINITY ? XFP_NO_LIMIT : (int64_t)lock.rlim_cur;
}

/* KiB of /proc/meminfo; 0 when it is not there. */
static double memory_kib(const char *root, const char *key)
{
    char rest[LINE_BYTES];

    return find_line(root, "/proc/meminfo", key, rest, sizeof(rest)) ? atof(rest) : 0;
}

static bool memory_is_short(const char *root, char *text)
{
    double all = memory_kib(root, "MemTotal:"), free_kib = memory_kib(root, "MemAvailable:");
    double swapped = memory_kib(root, "SwapTotal:") - memory_kib(root, "SwapFree:");

    if (!(all > 0) || free_kib > all / 10 || !(swapped > 0))
        return false;
    snprintf(text, XFP_TROUBLE_BYTES,
             "memory is short: %.0f MiB available, %.0f MiB swapped out; host times may vary",
             free_kib / 1024, swapped / 1024);
    return true;
}

static bool processors_are_busy(const char *root, int cpus, char *text)
{
    char line[LINE_BYTES];
    double load;

    xfp_first_line(root, "/proc/loadavg", line, sizeof(line));
    load = atof(line);
    if (cpus < 1 || load < 0.5 * cpus || load < 1.5)
        return false;
    snprintf(text, XFP_TROUBLE_BYTES,
             "other work runs on the processors (load %.1f on %d): host times may vary", load,
             cpus);
    return true;
}

static bool pages_wander(const char *root, const struct xfp_machine *m, char *text)
{
    char line[LINE_BYTES];

    xfp_first_line(root, "/proc/sys/kernel/numa_balancing", line, sizeof(line));
    if (m->numa_nodes < 2 || atoi(line) == 0)
        return false;
    snprintf(text, XFP_TROUBLE_BYTES,
             "automatic NUMA balancing is on: pages may move between nodes while measuring");
    return true;
}

size_t xfp_host_troubles(const char *root, const struct xfp_machine *m,
                         char text[XFP_HOST_TROUBLES][XFP_TROUBLE_BYTES])
{
    const char *governor = m->governor ? m->governor : "";
    size_t count = 0;

    if (*governor && strcmp(governor, "performance"))
        snprintf(text[count++], XFP_TROUBLE_BYTES,
                 "the processor's frequency governor is \"%.40s\", not \"performance\": host times "
                 "may vary",
                 governor);
    count += memory_is_short(root, text[count]);
    count += processors_are_busy(root, m->cpus, text[count]);
    count += pages_wander(root, m, text[count]);
    return count;
}

/* A container's limit minus its used memory, without reclaimable file cache. UINT64_MAX without a
 * limit. */
static uint64_t left_in(const char *root, const char *limit, const char *used, const char *stat,
                        const char *cached)
{
    char most[LINE_BYTES], now[LINE_BYTES], files[LINE_BYTES] = "";
    unsigned long long limit_bytes, used_bytes, file_bytes = 0;

    xfp_first_line(root, limit, most, sizeof(most));
    xfp_first_line(root, used, now, sizeof(now));
    if (sscanf(most, "%llu", &limit_bytes) != 1 || sscanf(now, "%llu", &used_bytes) != 1)
        return UINT64_MAX; /* "max", or no such file */
    if (find_line(root, stat, cached, files, sizeof(files)))
        file_bytes = strtoull(files, NULL, 10);
    used_bytes -= file_bytes < used_bytes ? file_bytes : used_bytes;
    return limit_bytes > used_bytes ? limit_bytes - used_bytes : 0;
}

uint64_t xfp_available_memory(const char *root)
{
    double kib = memory_kib(root, "MemAvailable:");
    const uint64_t known[] = {kib > 0 ? (uint64_t)kib * 1024 : UINT64_MAX,
                              left_in(root, "/sys/fs/cgroup/memory.max",
                                      "/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory.stat",
                                      "inactive_file "),
                              left_in(root, "/sys/fs/cgroup/memory/memory.limit_in_bytes",
                                      "/sys/fs/cgroup/memory/memory.usage_in_bytes",
                                      "/sys/fs/cgroup/memory/memory.stat", "total_inactive_file ")};
    uint64_t least = UINT64_MAX;

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        least = known[i] < least ? known[i] : least;
    return least;
}
