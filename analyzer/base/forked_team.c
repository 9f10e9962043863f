#include "analyzer/base/forked_team.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyzer/base/alloc.h"
#include "common/text.h"

enum { FAILED = 1, MOST_COMMAND = 4 << 20 };

/* ---- members --------------------------------------------------------------------------------- */

struct member {
    pid_t pid;
    int socket; /* to it; of the others than rank 0: to that, in the first one */
};

struct forked {
    struct xfa_team team;
    struct member *members; /* by rank */
};

static void stop_all(struct forked *forked)
{
    for (uint32_t i = 1; i < forked->team.count; i++) {
        struct member *member = &forked->members[i];
        if (member->pid <= 0)
            continue;
        close(member->socket);
        kill(member->pid, SIGKILL);
        waitpid(member->pid, NULL, 0);
    }
}

/* The command that this process was started with, and --alone behind its first "analyze". NULL: it
 * is not known. */
static char **alone_command(void)
{
    size_t bytes, count = 0, at = 0;
    FILE *file = fopen("/proc/self/cmdline", "rce");
    char *text = file ? xfa_alloc(MOST_COMMAND) : NULL;
    if (!file)
        return NULL;
    bytes = fread(text, 1, MOST_COMMAND - 1, file);
    fclose(file);
    char **argv = xfa_alloc((bytes + 2) * sizeof *argv);
    for (; at < bytes; at += strlen(text + at) + 1) {
        argv[count++] = text + at;
        if (strcmp(text + at, "analyze") == 0)
            break;
    }
    if (at >= bytes)
        return NULL;
    argv[count++] = xfa_text("--alone");
    for (at += strlen(text + at) + 1; at < bytes; at += strlen(text + at) + 1)
        argv[count++] = text + at;
    return argv;
}

static void go_alone(struct forked *forked, const char *why) __attribute__((noreturn));
static void go_alone(struct forked *forked, const char *why)
{
    if (forked->team.rank > 0)
        _exit(FAILED); /* rank 0 sees it */
    stop_all(forked);
    xfc_print(stderr, "xferscope analyze: %s: going on with one process alone\n", why);
    fflush(stderr);
    char **argv = alone_command();
    if (argv)
        execv("/proc/self/exe", argv);
    xfc_print(stderr, "xferscope analyze: %s: try --alone\n", strerror(errno));
    _exit(FAILED);
}

static void fail(void *self, const char *why) __attribute__((noreturn));
static void fail(void *self, const char *why)
{
    go_alone(self, why);
}

/* Something that rank 0 was to get, or others from it, will not come. */
static void gone(struct forked *forked, uint32_t rank) __attribute__((noreturn));
static void gone(struct forked *forked, uint32_t rank)
{
    struct member *member = &forked->members[rank];
    int status = 0;
    if (forked->team.rank > 0)
        _exit(FAILED);
    bool known = waitpid(member->pid, &status, 0) == member->pid && WIFSIGNALED(status);
    close(member->socket);
    member->pid = 0;
    go_alone(forked,
             known ? xfa_print("a process that helped was ended by signal %d", WTERMSIG(status))
                   : "a process that helped has ended");
}

/* ---- exchanges ------------------------------------------------------------------------------- */

static void give(struct forked *forked, uint32_t to, const void *bytes, size_t count)
{
    const unsigned char *at = bytes;
    while (count > 0) {
        ssize_t done = send(forked->members[to].socket, at, count, MSG_NOSIGNAL);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            gone(forked, to);
        at += done;
        count -= (size_t)done;
    }
}

static void take(struct forked *forked, uint32_t from, void *bytes, size_t count)
{
    unsigned char *at = bytes;
    while (count > 0) {
        ssize_t done = recv(forked->members[from].socket, at, count, 0);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            gone(forked, from);
        at += done;
        count -= (size_t)done;
    }
}

static void give_parcel(struct forked *forked, uint32_t to, const struct xfa_parcel *parcel)
{
    uint64_t count = parcel->count;
    give(forked, to, &count, sizeof count);
    give(forked, to, parcel->bytes, parcel->count);
}

static void take_parcel(struct forked *forked, uint32_t from, struct xfa_parcel *parcel)
{
    uint64_t count;
    take(forked, from, &count, sizeof count);
    parcel->bytes = xfa_alloc_unset((size_t)count + 1);
    parcel->count = parcel->capacity = (size_t)count;
    take(forked, from, parcel->bytes, parcel->count);
}

/* Rank 0 takes all, and gives all to each. */
static void exchange(void *self, const struct xfa_parcel *mine, struct xfa_parcel *all)
{
    struct forked *forked = self;
    const uint32_t rank = forked->team.rank, count = forked->team.count;
    xfa_parcel_put(&all[rank], mine->bytes, mine->count);
    if (rank > 0)
        give_parcel(forked, 0, mine);
    for (uint32_t i = 0; i < count; i++)
        if (i != rank)
            take_parcel(forked, rank > 0 ? 0 : i, &all[i]);
    for (uint32_t to = 1; to < count && rank == 0; to++)
        for (uint32_t i = 0; i < count; i++)
            if (i != to)
                give_parcel(forked, to, &all[i]);
}

/* ---- beginning and end ----------------------------------------------------------------------- */

static void be_member(struct forked *forked, uint32_t rank, int to_first)
{
    for (uint32_t i = 1; i < rank; i++)
        close(forked->members[i].socket);
    forked->team.rank = rank;
    forked->members[0].socket = to_first;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0 || dup2(null, STDOUT_FILENO) < 0 || dup2(null, STDERR_FILENO) < 0 ||
        prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
        _exit(FAILED);
    close(null);
}

/* False: it cannot be made. Returns in both, with the new one's rank there. */
static bool fork_member(struct forked *forked, uint32_t rank)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return false;
    pid_t first = getpid(), pid = fork();
    if (pid == 0) {
        close(ends[0]);
        be_member(forked, rank, ends[1]);
        if (getppid() != first)
            _exit(FAILED);
        return true;
    }
    close(ends[1]);
    forked->members[rank] = (struct member){pid, ends[0]};
    if (pid < 0)
        close(ends[0]);
    return pid > 0;
}

struct xfa_team *xfa_forked_team(uint32_t count)
{
    static struct forked of_process; /* until it ends */
    struct forked *forked = &of_process;
    forked->members = xfa_alloc(count * sizeof *forked->members);
    forked->team = (struct xfa_team){0, count, forked, exchange, fail, 0};
    fflush(NULL);
    for (uint32_t rank = 1; rank < count && forked->team.rank == 0; rank++)
        if (!fork_member(forked, rank)) {
            stop_all(forked);
            free(forked->members);
            return NULL;
        }
    return &forked->team;
}

void xfa_forked_team_leave(struct xfa_team *team)
{
    struct forked *forked = team->self;
    if (team->rank > 0)
        _exit(0);
    for (uint32_t i = 1; i < team->count; i++) {
        close(forked->members[i].socket);
        waitpid(forked->members[i].pid, NULL, 0);
    }
}
