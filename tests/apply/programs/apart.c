/*
 * Processes that part from what was there as they began: apart descriptors | root | locked |
 * processors | namespace | hidden [early].
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/apply/programs/applied.h"

#define BYTES (20 * MIB)
enum { ROUNDS = 5, KEPT = 16 };

static void *device;
static char *host, *found;

static void there_and_back(int round)
{
    fill(host, BYTES, (uint64_t)round);
    uint64_t sent = sum(host, BYTES);
    MUST(cudaMemcpy(device, host, BYTES, XRT_COPY_H2D));
    MUST(cudaMemcpy(found, device, BYTES, XRT_COPY_D2H));
    printf("round %d: %s\n", round, sum(found, BYTES) == sent ? "same" : "different");
    fflush(stdout);
}

static void rounds(void)
{
    for (int i = 0; i < ROUNDS; i++)
        there_and_back(i);
    usleep(1200000); /* threads that have nothing to do end */
    for (int i = 0; i < ROUNDS; i++)
        there_and_back(i);
}

/* ---- descriptors ------------------------------------------------------------------------------
 */

static int is_of_a_driver(int fd)
{
    char path[64], target[256] = "";
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return readlink(path, target, sizeof target - 1) > 0 &&
           (strstr(target, "nvidia") || strstr(target, "anon_inode") || strstr(target, "socket") ||
            strstr(target, "pipe"));
}

/* All but standard output and a driver's; what is opened next takes their places. */
static void descriptors(void)
{
    int opened[KEPT], wrong = 0;
    for (int fd = 3; fd < 256; fd++)
        if (!is_of_a_driver(fd))
            close(fd);
    close(0), close(2);
    for (int i = 0; i < KEPT; i++) {
        opened[i] = memfd_create("own", 0);
        if (ftruncate(opened[i], 100 + i) != 0)
            wrong++;
    }
    rounds();
    for (int i = 0; i < KEPT; i++) {
        struct stat info;
        wrong += fstat(opened[i], &info) != 0 || info.st_size != 100 + i;
    }
    printf("%d of its files are others\n", wrong);
}

/* ---- the rest -------------------------------------------------------------------------------- */

static void root(void)
{
    char folder[] = "/tmp/apart-XXXXXX";
    if (mkdtemp(folder) == NULL || chdir(folder) != 0)
        exit(1);
    int made = chroot(folder);
    printf("chroot %s\n", made == 0 ? "done" : strerror(errno));
    rmdir(made == 0 ? "/" : folder);
    rounds();
}

/* What comes is locked, within a limit that the program's own memory nearly fills. */
static void locked(void)
{
    struct rlimit limit = {8 * MIB, 8 * MIB};
    char *own;
    size_t got = 0;
    if (getuid() == 0 && setuid(65534) != 0)
        exit(1);
    if (setrlimit(RLIMIT_MEMLOCK, &limit) != 0 || mlockall(MCL_FUTURE) != 0) {
        printf("not locked: %s\n", strerror(errno));
        return;
    }
    rounds();
    while (got < 16 && (own = mmap(NULL, MIB / 2, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) != MAP_FAILED) {
        memset(own, 1, MIB / 2);
        got++;
    }
    printf("%s\n", got >= 8 ? "enough could be locked" : "too little could be locked");
}

static void *copy_on_it(void *unused)
{
    rounds();
    return unused;
}

/* Fewer and fewer processors, and at last another one than its threads have. */
static void processors(void)
{
    cpu_set_t all, one;
    pthread_t thread;
    sched_getaffinity(0, sizeof all, &all);
    for (int i = 0; i < CPU_SETSIZE; i++) {
        if (!CPU_ISSET(i, &all))
            continue;
        CPU_ZERO(&one);
        CPU_SET(i, &one);
        sched_setaffinity(0, sizeof one, &one);
        there_and_back(i);
        if (i > 3)
            break;
    }
    pthread_create(&thread, NULL, copy_on_it, NULL);
    pthread_join(thread, NULL);
    sched_getaffinity(0, sizeof all, &all);
    printf("%d processor\n", CPU_COUNT(&all));
}

/* Another table of descriptors, other mounts and another root of its own: of this thread alone. */
static void namespace(void)
{
    printf("files %d\n", unshare(CLONE_FILES | CLONE_FS));
    (void)unshare(CLONE_NEWNS);
    (void)unshare(CLONE_NEWPID);
    rounds();
    fflush(stdout);
    pid_t pid = fork(); /* the first process there, where it may */
    int status = -1;
    if (pid == 0)
        _exit(cudaMemcpy(device, host, BYTES, XRT_COPY_H2D) != 0 ? 3 : 4);
    waitpid(pid, &status, 0);
    printf("the first process ended with %d\n", status);
}

/* Nobody may look into it, nor may it itself open what it has. */
static void not_dumpable(void)
{
    syscall(SYS_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0);
    if (getuid() == 0 && setuid(65534) != 0)
        exit(1);
    rounds();
    printf("dumpable %d\n", prctl(PR_GET_DUMPABLE, 0, 0, 0, 0));
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*attack)(void);
    } attacks[] = {{"descriptors", descriptors}, {"root", root},
                   {"locked", locked},           {"processors", processors},
                   {"namespace", namespace},     {"hidden", not_dumpable}};
    const char *how = argc > 1 ? argv[1] : "descriptors";
    int early = argc > 2; /* before the first copy */
    host = malloc(WARM_BYTES);
    found = malloc(BYTES);
    memset(host, 1, WARM_BYTES);
    memset(found, 1, BYTES);
    MUST(cudaMalloc(&device, WARM_BYTES));
    if (!early)
        warm_up(device, host);
    for (size_t i = 0; i < sizeof attacks / sizeof *attacks; i++)
        if (strcmp(attacks[i].name, how) == 0)
            attacks[i].attack();
    printf("last error %d\n", cudaGetLastError());
    return 0;
}
