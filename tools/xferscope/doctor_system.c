/* The recorder's own files, and what the system allows. First, what all checks use. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/xferscope/doctor.h"
#include "tools/xferscope/own_files.h"

extern char **environ;

/* ---- for all checks ---------------------------------------------------------------------- */

void doctor_say(struct doctor_finding *finding, enum doctor_verdict verdict, const char *format,
                ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(finding->text, sizeof finding->text, format, arguments);
    va_end(arguments);
    finding->verdict = verdict;
    for (char *at = finding->text; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            *at = ' ';
}

bool doctor_read_line(const char *path, char *line, size_t bytes)
{
    FILE *file = fopen(path, "re");
    bool good = file && fgets(line, (int)bytes, file);
    if (file)
        fclose(file);
    if (!good)
        line[0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    return line[0] != '\0';
}

/* ---- the recorder's files --------------------------------------------------------------- */

/* In a separate process, since the library cannot be unloaded. */
static bool can_load(const char *path, char *error, size_t bytes)
{
    int ends[2];
    size_t n = 0;
    if (pipe(ends) != 0)
        return false;
    pid_t child = fork();
    if (child == 0) {
        const char *text = dlopen(path, RTLD_NOW | RTLD_LOCAL) ? "" : dlerror();
        _exit(write(ends[1], text, strlen(text)) != 0);
    }
    close(ends[1]);
    for (ssize_t got = 1; got > 0 && n<bytes - 1; n += got> 0 ? (size_t)got : 0)
        got = read(ends[0], error + n, bytes - 1 - n);
    error[n] = '\0';
    close(ends[0]);
    int status = 1;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static void look_at_library(struct doctor_finding *f)
{
    char folder[PATH_MAX], path[PATH_MAX + 32], real[PATH_MAX], error[512] = "";
    if (!xferscope_library_folder(folder, sizeof folder)) {
        doctor_say(f, DOCTOR_FAIL, "cannot tell where this command lies: %s", strerror(errno));
        return;
    }
    snprintf(path, sizeof path, "%s/libxferscope.so", folder);
    if (!realpath(path, real))
        doctor_say(f, DOCTOR_FAIL, "%s: %s", path, strerror(errno));
    else if (strpbrk(real, " :"))
        doctor_say(f, DOCTOR_FAIL, "%s: LD_PRELOAD cannot hold a path with a space or a colon",
                   real);
    else if (!can_load(real, error, sizeof error))
        doctor_say(f, DOCTOR_FAIL, "%s", error[0] ? error : "libxferscope.so crashes when loaded");
    else
        doctor_say(f, DOCTOR_OK, "%s", real);
}

/* Searches as the recorder does: by name, then in its library's directory, then in deps/ there. */
static bool find_helper(const char *name, char *error, size_t bytes)
{
    static const char *const places[] = {"", "deps/"};
    char folder[PATH_MAX], path[PATH_MAX + 64], other[512];
    if (can_load(name, error, bytes))
        return true;
    for (size_t i = 0; i < 2 && xferscope_library_folder(folder, sizeof folder); i++) {
        snprintf(path, sizeof path, "%s/%s%s", folder, places[i], name);
        if (can_load(path, other, sizeof other))
            return true;
        if (access(path, F_OK) == 0) /* it is there, and this is what it lacks */
            snprintf(error, bytes, "%s", other);
    }
    return false;
}

static void look_at_helper(struct doctor_finding *f, const char *name, const char *good,
                           const char *without)
{
    char error[512] = "";
    if (find_helper(name, error, sizeof error))
        doctor_say(f, DOCTOR_OK, "%s: %s", name, good);
    else
        doctor_say(f, DOCTOR_WARN, "%s; %s", error, without);
}

static void look_at_zstd(struct doctor_finding *f)
{
    look_at_helper(f, "libzstd.so.1", "traces are compressed", "traces are several times larger");
}

static void look_at_symbols(struct doctor_finding *f)
{
    look_at_helper(f, "libxferscope-symbols.so",
                   "names and lines are found when a program ends (with libdw)",
                   "only xferscope record adds names and lines");
}

/* ---- what is set ------------------------------------------------------------------------- */

#define PROFILE "XFERSCOPE_PROFILE" /* no setting of the recorder: analyze, export, the summary */

static bool is_setting(const char *name, size_t length)
{
    static const char *const names[] = {
#define X(variable, field, type, value, meaning) variable,
#include "preload/base/settings.def"
#undef X
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0)
            return true;
    return strlen(PROFILE) == length && memcmp(PROFILE, name, length) == 0;
}

static void look_at_settings(struct doctor_finding *f)
{
    char known[512] = "";
    size_t n = 0;
    for (char **at = environ; *at; at++) {
        int length = (int)strcspn(*at, "=");
        if (strncmp(*at, "XFERSCOPE_", 10) != 0)
            continue;
        if (!is_setting(*at, (size_t)length) && strncmp(*at, "XFERSCOPE_SIM", 13) != 0) {
            doctor_say(f, DOCTOR_WARN,
                       "%.*s is set and means nothing; docs/settings.md lists what does", length,
                       *at);
            return;
        }
        if (n < sizeof known)
            n += (size_t)snprintf(known + n, sizeof known - n, "%s%s", n ? ", " : "", *at);
    }
    const char *enable = getenv("XFERSCOPE_ENABLE"), *profile = getenv(PROFILE);
    if (enable && strcmp(enable, "0") == 0)
        doctor_say(f, DOCTOR_WARN, "XFERSCOPE_ENABLE=0 is set: nothing will be recorded");
    else if (profile && *profile && access(profile, R_OK) != 0)
        doctor_say(f, DOCTOR_WARN, PROFILE "=%s: %s", profile, strerror(errno));
    else
        doctor_say(f, DOCTOR_OK, "%s", n ? known : "the environment sets nothing");
}

static void look_at_preload(struct doctor_finding *f)
{
    char line[512];
    const char *others = getenv("LD_PRELOAD");
    if (others && *others)
        doctor_say(f, DOCTOR_WARN, "LD_PRELOAD=%s is set: record puts its library before these",
                   others);
    else if (doctor_read_line("/etc/ld.so.preload", line, sizeof line))
        doctor_say(f, DOCTOR_WARN, "/etc/ld.so.preload loads %s into every program", line);
    else
        doctor_say(f, DOCTOR_OK, "nothing else is preloaded");
}

/* ---- limits, disk ------------------------------------------------------------------------ */

static void look_at_memlock(struct doctor_finding *f)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0)
        doctor_say(f, DOCTOR_WARN, "not known: %s", strerror(errno));
    else if (limit.rlim_cur == RLIM_INFINITY)
        doctor_say(f, DOCTOR_OK, "unlimited");
    else if (limit.rlim_cur < 65536)
        doctor_say(f, DOCTOR_WARN, "%llu bytes: libraries that lock memory themselves may fail",
                   (unsigned long long)limit.rlim_cur);
    else
        doctor_say(f, DOCTOR_OK, "%llu KiB", (unsigned long long)limit.rlim_cur / 1024);
}

static const struct {
    uint32_t magic;
    const char *name;
    bool remote;
} filesystems[] = {
    {0xef53, "ext4", false},      {0x58465342, "xfs", false},     {0x9123683e, "btrfs", false},
    {0x01021994, "tmpfs", false}, {0x794c7630, "overlay", false}, {0x2fc12fc1, "zfs", false},
    {0xf2f52010, "f2fs", false},  {0x6969, "nfs", true},          {0xff534d42, "cifs", true},
    {0xfe534d42, "smb", true},    {0x0bd00bd0, "lustre", true},   {0x47504653, "gpfs", true},
    {0x65735546, "fuse", true},   {0x01021997, "9p", true},       {0x00c36400, "ceph", true},
};

static void describe_filesystem(const struct statfs *fs, const char **name, bool *remote)
{
    *name = "a file system of another kind";
    *remote = false;
    for (size_t i = 0; i < sizeof filesystems / sizeof filesystems[0]; i++) {
        if ((uint32_t)fs->f_type == filesystems[i].magic) {
            *name = filesystems[i].name;
            *remote = filesystems[i].remote;
        }
    }
}

/* Does what the recorder does with its file: allocates blocks, then maps it shared. 0 or errno. */
static int try_file(const char *folder)
{
    enum { BYTES = 1 << 20 };
    char path[PATH_MAX + 32];
    snprintf(path, sizeof path, "%s/.xferscope-doctor-XXXXXX", folder);
    int fd = mkstemp(path);
    if (fd < 0)
        return errno;
    int error = posix_fallocate(fd, 0, BYTES);
    void *map = error ? MAP_FAILED : mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED && !error)
        error = errno;
    if (map != MAP_FAILED) {
        memset(map, 1, BYTES);
        munmap(map, BYTES);
    }
    close(fd);
    unlink(path);
    return error;
}

/* Where run directories are made: the parent of XFERSCOPE_OUTPUT, or here. */
static void output_folder(char *folder, size_t bytes)
{
    const char *output = getenv("XFERSCOPE_OUTPUT");
    char copy[PATH_MAX] = ".";
    if (output && *output && strlen(output) < sizeof copy)
        snprintf(copy, sizeof copy, "%s", output);
    snprintf(folder, bytes, "%s", dirname(copy));
}

static void look_at_output(struct doctor_finding *f)
{
    char folder[PATH_MAX], real[PATH_MAX];
    struct statfs fs;
    const char *name;
    bool remote;
    output_folder(folder, sizeof folder);
    if (!realpath(folder, real) || statfs(real, &fs) != 0) {
        doctor_say(f, DOCTOR_FAIL, "%s: %s", folder, strerror(errno));
        return;
    }
    describe_filesystem(&fs, &name, &remote);
    int error = try_file(real);
    uint64_t free_mib = (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize >> 20;
    if (error)
        doctor_say(f, DOCTOR_FAIL, "%s (%s): %s; run where you may write, or use record -o", real,
                   name, strerror(error));
    else if (remote)
        doctor_say(f, DOCTOR_WARN,
                   "%s is on %s: traces are slower to write; use record -o on a local "
                   "disk",
                   real, name);
    else if (free_mib < 512)
        doctor_say(f, DOCTOR_WARN, "%s (%s) has %llu MiB left; a busy trace may fill it", real,
                   name, (unsigned long long)free_mib);
    else
        doctor_say(f, DOCTOR_OK, "%s (%s), %llu MiB free", real, name,
                   (unsigned long long)free_mib);
}

/* ---- the kernel --------------------------------------------------------------------------- */

static void look_at_clock(struct doctor_finding *f)
{
    static const char *const quick[] = {"tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "xen",
                                        "arch_sys_counter"};
    char source[64];
    if (!doctor_read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource",
                          source, sizeof source)) {
        doctor_say(f, DOCTOR_WARN, "the kernel does not say which clock it uses");
        return;
    }
    for (size_t i = 0; i < sizeof quick / sizeof quick[0]; i++) {
        if (strcmp(source, quick[i]) == 0) {
            doctor_say(f, DOCTOR_OK, "%s", source);
            return;
        }
    }
    doctor_say(f, DOCTOR_WARN, "%s: reading it takes a system call, twice per recorded call",
               source);
}

static int status_number(const char *field)
{
    char line[256];
    int value = -1;
    FILE *file = fopen("/proc/self/status", "re");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, field, strlen(field)) == 0 && line[strlen(field)] == ':')
            value = atoi(line + strlen(field) + 1);
    if (file)
        fclose(file);
    return value;
}

static bool reads_own_memory(void)
{
    int from = 42, to = 0;
    struct iovec local = {&to, sizeof to}, remote = {&from, sizeof from};
    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)sizeof to && to == from;
}

static void look_at_confinement(struct doctor_finding *f)
{
    bool container = access("/.dockerenv", F_OK) == 0 || access("/run/.containerenv", F_OK) == 0 ||
                     getenv("container") || getenv("KUBERNETES_SERVICE_HOST");
    const char *where = container ? "a container; a program started in another one is not followed"
                                  : "no container";
    const char *filter = status_number("Seccomp") == 2 ? ", with a system-call filter" : "";
    if (!reads_own_memory())
        doctor_say(f, DOCTOR_WARN,
                   "%s%s; process_vm_readv is refused (%s): no lines of Python code", where, filter,
                   strerror(errno));
    else if (status_number("TracerPid") > 0)
        doctor_say(f, DOCTOR_WARN, "%s%s; a debugger is attached: times are not the program's own",
                   where, filter);
    else
        doctor_say(f, DOCTOR_OK, "%s%s", where, filter);
}

const struct doctor_check doctor_system_checks[] = {
    {"library", look_at_library},       {"zstd", look_at_zstd},
    {"symbols", look_at_symbols},       {"settings", look_at_settings},
    {"preload", look_at_preload},       {"memlock", look_at_memlock},
    {"output", look_at_output},         {"clock", look_at_clock},
    {"container", look_at_confinement},
};
const size_t doctor_system_count = sizeof doctor_system_checks / sizeof doctor_system_checks[0];
