/* The environment of programs: Python, NVTX, other tools, NUMA, /dev/shm. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tools/xferscope/doctor.h"
#include "preload/python/python_offsets.h"

/* ---- Python ----------------------------------------------------------------------------- */

/* The file that this word starts, links followed; false when there is none. */
static bool find_program(const char *name, char *real)
{
    const char *path = getenv("PATH");
    char copy[8192], candidate[PATH_MAX], *rest = copy, *folder;
    snprintf(copy, sizeof copy, "%s", path ? path : "/usr/bin:/bin");
    while ((folder = strsep(&rest, ":"))) {
        int n = snprintf(candidate, sizeof candidate, "%s/%s", *folder ? folder : ".", name);
        if (n > 0 && (size_t)n < sizeof candidate && access(candidate, X_OK) == 0)
            return realpath(candidate, real) != NULL;
    }
    return false;
}

/* Its version, from its name (python3.12); 0 when the name has none. */
static unsigned minor_of(const char *path)
{
    unsigned minor = 0;
    const char *slash = strrchr(path, '/');
    return slash && sscanf(slash, "/python3.%u", &minor) == 1 ? minor : 0;
}

/* By the recorder's own table. From 3.13 on it also needs the running interpreter. */
static bool frames_are_known(unsigned minor)
{
    struct xfs_python_layout layout;
    const char *why = xfs_python_layout(3u << 24 | minor << 16, NULL, &layout);
    return why == NULL || strstr(why, "_PyRuntime") != NULL;
}

static void look_at_python(struct doctor_finding *f)
{
    char real[PATH_MAX];
    if (!find_program("python3", real))
        doctor_say(f, DOCTOR_OK, "no python3 on the path");
    else if (minor_of(real) == 0)
        doctor_say(f, DOCTOR_OK, "%s, whose name does not tell its version", real);
    else if (frames_are_known(minor_of(real)))
        doctor_say(f, DOCTOR_OK, "%s: call sites are lines of Python code", real);
    else
        doctor_say(f, DOCTOR_WARN,
                   "%s: its frames are not known; call sites are the libraries' functions", real);
}

/* ---- other tools ------------------------------------------------------------------------ */

static void look_at_nvtx(struct doctor_finding *f)
{
    const char *tool = getenv("NVTX_INJECTION64_PATH");
    if (!tool || !*tool)
        doctor_say(f, DOCTOR_OK, "no other tool takes NVTX ranges: record attaches itself");
    else if (strstr(tool, "libxferscope.so"))
        doctor_say(f, DOCTOR_OK, "NVTX_INJECTION64_PATH=%s", tool);
    else
        doctor_say(f, DOCTOR_WARN,
                   "NVTX_INJECTION64_PATH=%s is set: ranges go to that tool, phases are not "
                   "recorded",
                   tool);
}

static void look_at_tools(struct doctor_finding *f)
{
    const char *injected = getenv("CUDA_INJECTION64_PATH");
    const char *queued = getenv("CUDA_LAUNCH_BLOCKING");
    if (injected && *injected)
        doctor_say(f, DOCTOR_WARN,
                   "CUDA_INJECTION64_PATH=%s is set: if that tool takes CUPTI, device times are "
                   "the host's",
                   injected);
    else if (queued && *queued && strcmp(queued, "0") != 0)
        doctor_say(f, DOCTOR_WARN,
                   "CUDA_LAUNCH_BLOCKING=%s is set: kernels and copies do not overlap", queued);
    else
        doctor_say(f, DOCTOR_OK, "no other tool is injected into CUDA programs");
}

/* Nsight Compute starts its target through helpers of its own (TreeLauncherSubreaper), which put
 * together the LD_PRELOAD of every process of the tree, and controls its libraries in the target by
 * these variables. */
static bool is_under_ncu(void)
{
    static const char *const signs[] = {"NV_NSIGHT_INJECTION_PORT_BASE",
                                        "NV_NSIGHT_INJECTION_TRANSPORT_TYPE",
                                        "NV_COMPUTE_PROFILER_PERFWORKS_DIR"};
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++)
        if (getenv(signs[i]))
            return true;
    return false;
}

static void look_at_ncu(struct doctor_finding *f)
{
    static const char order[] = "ncu --target-processes all xferscope record PROGRAM";
    char real[PATH_MAX];
    if (is_under_ncu())
        doctor_say(f, DOCTOR_WARN,
                   "Nsight Compute runs this: %s is the order that works; times are not the "
                   "program's own",
                   order);
    else if (find_program("ncu", real))
        doctor_say(f, DOCTOR_OK, "%s: %s works, ncu within record is not seen", real, order);
    else
        doctor_say(f, DOCTOR_OK, "no ncu on the path");
}

/* ---- memory ----------------------------------------------------------------------------- */

static int count_nodes(void)
{
    char line[256];
    unsigned first = 0, last = 0;
    if (!doctor_read_line("/sys/devices/system/node/online", line, sizeof line))
        return 0;
    int numbers = sscanf(line, "%u-%u", &first, &last);
    if (strchr(line, ',') || numbers < 1)
        return 2;
    return numbers == 2 ? (int)(last - first) + 1 : 1;
}

/* The system call by which the recorder finds the node of host memory. 0 or errno. */
static int ask_for_node(void)
{
    long page = sysconf(_SC_PAGESIZE);
    int node = -1;
    char *memory =
        mmap(NULL, (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return errno;
    *memory = 1;
    void *where = memory;
    int error = syscall(SYS_move_pages, 0, 1ul, &where, NULL, &node, 0) != 0 ? errno : 0;
    munmap(memory, (size_t)page);
    return error ? error : node < 0 ? -node : 0;
}

static void look_at_numa(struct doctor_finding *f)
{
    int nodes = count_nodes(), error = nodes > 1 ? ask_for_node() : 0;
    if (nodes <= 1)
        doctor_say(f, DOCTOR_OK, "one NUMA node");
    else if (error)
        doctor_say(f, DOCTOR_WARN,
                   "several NUMA nodes, and move_pages is refused (%s): on which one host memory "
                   "lies is not known",
                   strerror(error));
    else
        doctor_say(f, DOCTOR_OK, "%d NUMA nodes; the kernel tells where host memory lies", nodes);
}

static void look_at_shared_memory(struct doctor_finding *f)
{
    struct statvfs shm;
    if (statvfs("/dev/shm", &shm) != 0) {
        doctor_say(f, DOCTOR_WARN, "/dev/shm: %s; loader workers and NCCL need it",
                   strerror(errno));
        return;
    }
    unsigned long long mib = (unsigned long long)shm.f_bavail * shm.f_frsize >> 20;
    if (mib < 256)
        doctor_say(f, DOCTOR_WARN,
                   "%llu MiB free in /dev/shm: loader workers and NCCL may fail, recorded or not",
                   mib);
    else
        doctor_say(f, DOCTOR_OK, "%llu MiB free in /dev/shm", mib);
}

const struct doctor_check doctor_program_checks[] = {
    {"python", look_at_python}, {"NVTX", look_at_nvtx}, {"tools", look_at_tools},
    {"ncu", look_at_ncu},       {"NUMA", look_at_numa}, {"shm", look_at_shared_memory},
};
const size_t doctor_program_count = sizeof doctor_program_checks / sizeof doctor_program_checks[0];
