#include "probe/net/direct.h"

#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "probe/device/buffer.h"
#include "probe/session.h"

enum { STATUS_TAKEN = 40, STATUS_REFUSED, STATUS_WRONG, STATUS_NO_GPU };
enum { STARTED = 3 /* the descriptor on which the child says that MPI has started */ };
enum { TRY_S = 30, PAUSE_NS = 2000000, MOST_BYTES = 4 << 20 };

extern char **environ;

/* What makes a process a rank of the user's run, by how the names begin. */
static bool is_launchers(const char *variable)
{
    static const char *const starts[] = {"OMPI_", "PMIX_", "PMI_",   "PRTE_",  "ORTE_",
                                         "MPI_",  "HYDI_", "HYDRA_", "SLURM_", "MPIR_"};

    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
        if (!strncmp(variable, starts[i], strlen(starts[i])))
            return true;
    return false;
}

/* The environment of a process that is a run of its own. What the user set for MPI's choice of a
 * way is kept. */
static char **own_environment(void)
{
    static char isolated[] = "OMPI_MCA_ess_singleton_isolated=1";
    size_t count = 0, kept = 0;
    char **list;

    while (environ[count])
        count++;
    list = calloc(count + 2, sizeof(*list));
    for (size_t i = 0; list && i < count; i++)
        if (!is_launchers(environ[i]) || !strncmp(environ[i], "OMPI_MCA_btl", 12) ||
            !strncmp(environ[i], "OMPI_MCA_pml", 12))
            list[kept++] = environ[i];
    if (list)
        list[kept] = isolated;
    return list;
}

static bool start(char **argv, int pipe_ends, pid_t *child)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none;
    char **environment = own_environment();
    bool started;

    sigemptyset(&none);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&files, pipe_ends, STARTED);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    started = environment &&
              !posix_spawn(child, "/proc/self/exe", &files, &attributes, argv, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    free(environment);
    return started;
}

enum xfp_net_direct xfp_net_direct_of(int status, bool started)
{
    enum xfp_net_direct crashed = started ? XFP_NET_CRASHED : XFP_NET_NOT_TRIED;

    if (!WIFEXITED(status))
        return crashed;
    switch (WEXITSTATUS(status)) {
    case STATUS_TAKEN:
        return XFP_NET_TAKEN;
    case STATUS_REFUSED:
        return XFP_NET_REFUSED;
    case STATUS_WRONG:
        return XFP_NET_WRONG;
    case STATUS_NO_GPU:
        return XFP_NET_NOT_TRIED;
    default: /* MPI's handler of signals ends it with a status of its own */
        return crashed;
    }
}

enum xfp_net_direct xfp_net_try_device(int ordinal)
{
    char name[] = "xferscope-net", word[] = XFP_NET_TRY, number[16];
    char *argv[] = {name, word, number, NULL};
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    time_t until = time(NULL) + TRY_S;
    int status = 0, pipe_ends[2];
    pid_t child;
    bool started;
    char byte;

    snprintf(number, sizeof(number), "%d", ordinal);
    if (pipe2(pipe_ends, O_CLOEXEC | O_NONBLOCK))
        return XFP_NET_NOT_TRIED;
    if (!start(argv, pipe_ends[1], &child)) {
        close(pipe_ends[0]);
        close(pipe_ends[1]);
        return XFP_NET_NOT_TRIED;
    }
    while (!waitpid(child, &status, WNOHANG)) {
        if (time(NULL) > until)
            kill(child, SIGKILL);
        nanosleep(&pause, NULL);
    }
    started = read(pipe_ends[0], &byte, 1) == 1;
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    return xfp_net_direct_of(status, started);
}

/* ---- the child ------------------------------------------------------------------------------- */

static int send_to_itself(struct xfp_session *s, struct xfp_buffer *src, struct xfp_buffer *dst,
                          size_t bytes)
{
    if (xfp_buffer_clear(&s->sys, dst, bytes))
        return STATUS_NO_GPU;
    if (MPI_Sendrecv((void *)src->address, (int)bytes, MPI_BYTE, 0, 1, (void *)dst->address,
                     (int)bytes, MPI_BYTE, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE))
        return STATUS_REFUSED;
    return xfp_buffer_verify(&s->sys, dst, dst, bytes) ? STATUS_WRONG : STATUS_TAKEN;
}

static int try_device(struct xfp_session *s, int ordinal)
{
    static const size_t sizes[] = {8, 4096, 65536, MOST_BYTES}; /* eager and not */
    struct xfp_place place = {XFT_MEM_DEVICE, ordinal, -1};
    struct xfp_buffer src, dst;
    struct xfp_device *d;
    int status = STATUS_TAKEN;

    if (!s->sys.cu || ordinal < 0 || (size_t)ordinal >= s->sys.device_count)
        return STATUS_NO_GPU;
    d = &s->sys.devices[ordinal];
    if (xfp_session_make_pattern(s) || xfp_device_open(&s->sys, d) ||
        xfp_buffer_make(&s->sys, d, place, MOST_BYTES, &src) ||
        xfp_buffer_make(&s->sys, d, place, MOST_BYTES, &dst) ||
        xfp_buffer_fill(&s->sys, &src, MOST_BYTES))
        return STATUS_NO_GPU;
    if (MPI_Init(NULL, NULL))
        return STATUS_REFUSED;
    if (write(STARTED, "", 1) != 1)
        return STATUS_NO_GPU;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]) && status == STATUS_TAKEN; i++)
        status = send_to_itself(s, &src, &dst, sizes[i]);
    return status;
}

int xfp_net_try_child(int argc, char **argv)
{
    const struct xfp_probe_options options = {
        .min_bytes = 1, .max_bytes = MOST_BYTES, .device = -1, .verify = true};
    struct xfp_session s;
    int status = STATUS_NO_GPU;

    if (argc == 3 && !xfp_session_open(&s, &options))
        status = try_device(&s, atoi(argv[2]));
    _exit(status); /* without MPI_Finalize(): there is no run to report to */
}
