#include "analyzer/team/mpi_team.h"

#include <limits.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "analyzer/analyzer.h"
#include "analyzer/base/alloc.h"
#include "analyzer/base/team.h"
#include "common/text.h"

enum { FAILED = 1 };

static void give_up(void *self, const char *why) __attribute__((noreturn));

/* Other ranks wait for this one: MPI ends them. */
static void give_up(void *self, const char *why)
{
    signal(SIGTERM, SIG_DFL); /* one line is enough */
    xfc_print(stderr, "xferscope analyze: %s\n", why);
    fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, FAILED);
    _exit(FAILED);
}

static void check(int result)
{
    if (result != MPI_SUCCESS)
        give_up(NULL, "the ranks cannot reach each other (MPI)");
}

/* ---- exchanges ------------------------------------------------------------------------------- */

/* Ranks wait for the one with the most to do: without taking processors, which it may want. */
static void wait_for(MPI_Request *request)
{
    struct timespec pause = {.tv_nsec = 20000};
    int done = 0;

    for (;;) {
        check(MPI_Test(request, &done, MPI_STATUS_IGNORE));
        if (done)
            return;
        nanosleep(&pause, NULL);
        if (pause.tv_nsec < 2000000)
            pause.tv_nsec *= 2;
    }
}

/* The bytes of all ranks, concatenated; MPI gathers and broadcasts them along a tree. */
static unsigned char *gather(const struct xfa_team *team, const struct xfa_parcel *mine,
                             const int *sizes, int *places)
{
    size_t all = 0;
    MPI_Request request;

    for (uint32_t i = 0; i < team->count; i++) {
        places[i] = (int)all;
        all += (size_t)sizes[i];
        if (all > INT_MAX)
            give_up(NULL, "the ranks have more to tell than MPI takes at once (2 GiB)");
    }
    unsigned char *bytes = xfa_alloc_unset(all + 1);
    check(MPI_Iallgatherv(mine->bytes, (int)mine->count, MPI_BYTE, bytes, sizes, places, MPI_BYTE,
                          MPI_COMM_WORLD, &request));
    wait_for(&request);
    return bytes;
}

static void exchange(void *self, const struct xfa_parcel *mine, struct xfa_parcel *all)
{
    const struct xfa_team *team = self;
    int size = (int)mine->count, *sizes = xfa_alloc(team->count * sizeof *sizes);
    int *places = xfa_alloc(team->count * sizeof *places);
    MPI_Request request;

    if (mine->count > INT_MAX)
        give_up(NULL, "a rank has more to tell than MPI takes at once (2 GiB)");
    check(MPI_Iallgather(&size, 1, MPI_INT, sizes, 1, MPI_INT, MPI_COMM_WORLD, &request));
    wait_for(&request);
    unsigned char *bytes = gather(team, mine, sizes, places);
    for (uint32_t i = 0; i < team->count; i++)
        xfa_parcel_put(&all[i], bytes + places[i], (size_t)sizes[i]);
    free(bytes);
    free(sizes);
    free(places);
}

/* ---- the end --------------------------------------------------------------------------------- */

/* Launchers send SIGTERM to the others when a rank has ended by itself. */
static void end_by_signal(int number)
{
    static const char line[] = "xferscope analyze: ended by SIGTERM, which launchers send when "
                               "another rank has ended: there is no report\n";
    (void)!write(STDERR_FILENO, line, sizeof line - 1);
    signal(number, SIG_DFL);
    raise(number);
}

static void leave(struct xfa_team *team)
{
    MPI_Finalize();
    signal(SIGTERM, SIG_DFL);
}

/* ---- beginning ------------------------------------------------------------------------------- */

/* Never changes: ranks of other versions read it. */
struct version {
    char text[128];
};

/* Before anything else is exchanged. */
static bool is_one_version(const struct xfa_team *team, const char *version)
{
    struct version own = {{0}}, *all = xfa_alloc(team->count * sizeof *all);
    uint32_t other = 1;

    snprintf(own.text, sizeof own.text, "xferscope %.100s, %u-bit%s", version,
             (unsigned)sizeof(void *) * 8,
             __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? "" : " big-endian");
    check(MPI_Allgather(&own, sizeof own, MPI_BYTE, all, sizeof own, MPI_BYTE, MPI_COMM_WORLD));
    while (other < team->count && memcmp(all[other].text, all[0].text, sizeof own.text) == 0)
        other++;
    if (other < team->count && team->rank == 0)
        xfc_print(stderr,
                  "xferscope analyze: rank %u has %.100s, rank 0 has %.100s: install the same on "
                  "all hosts\n",
                  other, all[other].text, all[0].text);
    free(all);
    return other == team->count;
}

static bool is_one_command(struct xfa_team *team, int argc, char **argv)
{
    char folder[PATH_MAX] = "";
    struct xfa_parcel command = {0};

    if (!getcwd(folder, sizeof folder))
        *folder = '\0';
    xfa_parcel_text(&command, folder);
    for (int i = 1; i < argc; i++)
        xfa_parcel_text(&command, argv[i]);
    bool same = xfa_team_agrees(team, command.bytes, command.count);
    xfa_parcel_free(&command);
    return same;
}

/* ---- output ---------------------------------------------------------------------------------- */

/* Open MPI's mpirun gives rank 0 a terminal of its own for what is a file to the user: a report
 * would have colours and be cut to a screen. So output goes there through a pipe, by a thread. */
struct outlet {
    int from, to;
    bool there;
    pthread_t thread;
};

static void *pass_on(void *self)
{
    struct outlet *outlet = self;
    static char bytes[1 << 16];
    ssize_t count;

    while ((count = read(outlet->from, bytes, sizeof bytes)) > 0)
        for (ssize_t done = 0, n; done < count; done += n)
            if ((n = write(outlet->to, bytes + done, (size_t)(count - done))) <= 0) {
                close(outlet->from); /* writes fail from here on */
                return NULL;
            }
    return NULL;
}

static void open_outlet(struct outlet *outlet)
{
    int ends[2];

    if (!isatty(STDOUT_FILENO) || pipe(ends) != 0)
        return;
    outlet->from = ends[0];
    outlet->to = dup(STDOUT_FILENO);
    if (outlet->to >= 0 && dup2(ends[1], STDOUT_FILENO) >= 0)
        outlet->there = pthread_create(&outlet->thread, NULL, pass_on, outlet) == 0;
    if (!outlet->there && outlet->to >= 0)
        dup2(outlet->to, STDOUT_FILENO);
    close(ends[1]);
}

static void close_outlet(struct outlet *outlet)
{
    if (!outlet->there)
        return;
    fflush(stdout);
    close(STDOUT_FILENO); /* the pipe's last end */
    pthread_join(outlet->thread, NULL);
    dup2(outlet->to, STDOUT_FILENO);
}

static void be_silent(void)
{
    if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
        _exit(FAILED);
}

static int work(struct xfa_team *team, int argc, char **argv)
{
    struct outlet outlet = {0};

    if (team->rank > 0) {
        be_silent();
    } else {
        signal(SIGTERM, end_by_signal);
        open_outlet(&outlet);
    }
    int status = xfa_analyze_in_team(argc, argv, team, leave);
    close_outlet(&outlet);
    return team->rank > 0 ? 0 : status; /* launchers end all when one has failed */
}

int xfa_mpi_team_main(int argc, char **argv, const char *version)
{
    int level, rank, count, over, status;

    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS)
        return FAILED;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &count);
    struct xfa_team team = {(uint32_t)rank, (uint32_t)count, &team, exchange, give_up, 0};
    if (!is_one_version(&team, version))
        status = FAILED;
    else if (count > 1 && is_one_command(&team, argc, argv))
        status = work(&team, argc, argv);
    else
        status = -1;
    if (MPI_Finalized(&over) == MPI_SUCCESS && !over)
        MPI_Finalize();
    return status < 0 ? xfa_analyze_in_team(argc, argv, NULL, NULL) : status;
}
