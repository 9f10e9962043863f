/*
 * Memory that is not simply there, or changes beneath a copy: sources file | truncated | demand |
 * keys | jump | dropped | moved | guarded.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/apply/programs/applied.h"

#define BYTES (24 * MIB)
#define PAGE ((size_t)4096)
enum { ROUNDS = 8 };

static void *device;
static char *found;

static char *map(int protection, int flags, int fd)
{
    char *memory = mmap(NULL, BYTES, protection, flags, fd, 0);
    if (memory != MAP_FAILED)
        return memory;
    printf("no memory: %s\n", strerror(errno));
    exit(0);
}

static char *map_new(void)
{
    return map(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

static void there_and_back(const char *what, char *up, char *down)
{
    uint64_t sent = sum(up, BYTES);
    MUST(cudaMemcpy(device, up, BYTES, XRT_COPY_H2D));
    MUST(cudaMemcpyAsync(down, device, BYTES, XRT_COPY_D2H, NULL));
    printf("%s: %s\n", what, sum(down, BYTES) == sent ? "same" : "different");
    fflush(stdout);
}

static int new_file(void)
{
    int fd = memfd_create("source", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)BYTES) != 0)
        exit(1);
    return fd;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Shared, of one's own, only readable, with pages that nobody has read yet. */
static void files(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        int fd = new_file();
        char *shared = map(PROT_READ | PROT_WRITE, MAP_SHARED, fd);
        fill(shared, BYTES, (uint64_t)i);
        char *own = map(PROT_READ | PROT_WRITE, MAP_PRIVATE, fd);
        char *read_only = map(PROT_READ, MAP_PRIVATE, fd);
        there_and_back("shared", shared, found);
        there_and_back("own", own, found);
        there_and_back("read only", read_only, own);
        there_and_back("into the file", found, shared);
        printf("the file is %s\n", memcmp(read_only, found, BYTES) ? "different" : "same");
        int full = fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK);
        printf("seal %d\n", full);
        munmap(shared, BYTES), munmap(own, BYTES), munmap(read_only, BYTES);
        close(fd);
    }
}

/* A page that is there no more is another one from then on, in whatever thread that is seen. */
static void replace_page(int number, siginfo_t *info, void *context)
{
    char *page = (char *)((uintptr_t)info->si_addr & ~(PAGE - 1));
    (void)number, (void)context;
    if (mmap(page, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
        MAP_FAILED)
        _Exit(9);
}

static int file;
static volatile int stop, cuts;

static void *cut_and_grow(void *unused)
{
    (void)unused;
    while (!stop) {
        if (ftruncate(file, (off_t)(BYTES / 2)) != 0 || ftruncate(file, (off_t)BYTES) != 0)
            _Exit(8);
        cuts++;
    }
    return NULL;
}

static void truncated(void)
{
    struct sigaction action = {.sa_sigaction = replace_page, .sa_flags = SA_SIGINFO};
    pthread_t thread;
    sigaction(SIGBUS, &action, NULL);
    file = new_file();
    pthread_create(&thread, NULL, cut_and_grow, NULL);
    for (int i = 0; i < 3 * ROUNDS; i++) {
        char *shared = map(PROT_READ | PROT_WRITE, MAP_SHARED, file);
        while (cuts <= i)
            usleep(10);
        MUST(cudaMemcpy(device, shared, BYTES, XRT_COPY_H2D));
        MUST(cudaMemcpy(shared, device, BYTES, XRT_COPY_D2H));
        printf("%d: came through\n", i);
        munmap(shared, BYTES);
    }
    stop = 1;
    pthread_join(thread, NULL);
}

/* ---- pages that the program brings itself ------------------------------------------------------
 */

static int faults;

static void *bring_pages(void *unused)
{
    static char page[PAGE] __attribute__((aligned(4096)));
    struct uffd_msg message;
    struct pollfd ready = {.fd = faults, .events = POLLIN};
    (void)unused;
    while (poll(&ready, 1, -1) == 1 && read(faults, &message, sizeof message) == sizeof message) {
        uint64_t at = message.arg.pagefault.address & ~(uint64_t)(PAGE - 1);
        struct uffdio_copy copy = {.dst = at, .src = (uintptr_t)page, .len = PAGE};
        memset(page, (int)(at / PAGE % 251), PAGE);
        if (ioctl(faults, UFFDIO_COPY, &copy) != 0 && errno != EEXIST)
            _Exit(8);
    }
    return NULL;
}

static void on_demand(void)
{
    struct uffdio_api api = {.api = UFFD_API};
    pthread_t thread;
    faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    if (faults < 0 || ioctl(faults, UFFDIO_API, &api) != 0) {
        printf("no userfaultfd\n");
        return;
    }
    pthread_create(&thread, NULL, bring_pages, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        char *memory = map_new();
        struct uffdio_register range = {.range = {(uintptr_t)memory, BYTES},
                                        .mode = UFFDIO_REGISTER_MODE_MISSING};
        if (ioctl(faults, UFFDIO_REGISTER, &range) != 0)
            exit(1);
        MUST(i & 1 ? cudaMemcpyAsync(device, memory, BYTES, XRT_COPY_H2D, NULL)
                   : cudaMemcpy(device, memory, BYTES, XRT_COPY_H2D));
        MUST(cudaMemcpy(found, device, BYTES, XRT_COPY_D2H));
        size_t wrong = 0;
        for (size_t at = 0; at < BYTES; at += PAGE / 4)
            wrong += (unsigned char)found[at] != ((uintptr_t)memory + at) / PAGE % 251;
        printf("%d: %zu wrong\n", i, wrong);
        munmap(memory, BYTES);
        memory = map_new(); /* written first by a download */
        range.range.start = (uintptr_t)memory;
        if (ioctl(faults, UFFDIO_REGISTER, &range) != 0)
            exit(1);
        MUST(cudaMemcpy(memory, device, BYTES, XRT_COPY_D2H));
        printf("%d: %s\n", i, memcmp(memory, found, BYTES) ? "different" : "same");
        munmap(memory, BYTES);
    }
}

/* ---- rights of one thread ---------------------------------------------------------------------
 */

/* Memory that only threads may touch which say so: this one does. */
static void keys(void)
{
    char *memory = map_new();
    int key = pkey_alloc(0, PKEY_DISABLE_ACCESS);
    fill(memory, BYTES, 5);
    if (key < 0 || pkey_mprotect(memory, BYTES, PROT_READ | PROT_WRITE, key) != 0) {
        printf("no protection keys\n");
        return;
    }
    for (int i = 0; i < ROUNDS; i++) {
        pkey_set(key, 0);
        there_and_back("with the key", memory, found);
        there_and_back("into it", found, memory);
        pkey_set(key, PKEY_DISABLE_ACCESS);
    }
}

/* ---- faults that a handler leaves -------------------------------------------------------------
 */

static __thread sigjmp_buf *way_out;

static void jump(int number)
{
    if (way_out == NULL)
        _Exit(9); /* a thread that knows nothing of it */
    siglongjmp(*way_out, number);
}

/* The driver's locks may be lost with it, and threads may still copy: no call of it comes after. */
static void *leave_by_jump(void *unused)
{
    struct sigaction action = {.sa_handler = jump}, now;
    (void)unused;
    char *memory = map_new();
    sigjmp_buf out;
    sigset_t mask;
    int state = -1;
    memset(memory, 1, BYTES);
    mprotect(memory + 17 * MIB, MIB, PROT_NONE);
    sigaction(SIGSEGV, &action, NULL);
    errno = 77;
    way_out = &out;
    int number = sigsetjmp(out, 1);
    if (number == 0)
        MUST(cudaMemcpy(device, memory, BYTES, XRT_COPY_H2D));
    int saved = errno;
    way_out = NULL;
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    sigaction(SIGSEGV, NULL, &now);
    printf("left by signal %d, errno %d, cancelled %s, blocked %d, handler %s\n", number, saved,
           state == PTHREAD_CANCEL_ENABLE ? "as before" : "no more", sigismember(&mask, SIGSEGV),
           now.sa_handler == jump ? "there" : "gone");
    fflush(stdout);
    _exit(0);
}

/* On a stack that nobody has looked at. */
static void jumps(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, leave_by_jump, NULL);
    pthread_join(thread, NULL);
}

/* ---- memory that is emptied, moved, guarded ----------------------------------------------------
 */

static char *victim;

/* What is emptied is zero from then on, whoever reads it. */
static void *empty(void *unused)
{
    (void)unused;
    while (!stop) {
        madvise(victim, BYTES, MADV_DONTNEED);
        cuts++;
    }
    return NULL;
}

static void dropped(void)
{
    pthread_t thread;
    victim = map_new();
    memset(found, 0, BYTES);
    pthread_create(&thread, NULL, empty, NULL);
    for (int i = 0; i < 3 * ROUNDS; i++) {
        size_t strange = 0;
        memset(victim, 7, BYTES);
        MUST(cudaMemcpy(device, victim, BYTES, XRT_COPY_H2D));
        MUST(cudaMemcpy(found, device, BYTES, XRT_COPY_D2H));
        MUST(cudaMemcpy(victim, device, BYTES, XRT_COPY_D2H));
        for (size_t at = 0; at < BYTES; at++)
            strange += found[at] != 0 && found[at] != 7;
        printf("%d: %zu strange bytes\n", i, strange);
    }
    stop = 1;
    pthread_join(thread, NULL);
}

/* The same pages at other addresses, and others at theirs. */
static void moved(void)
{
    char *memory = map_new();
    for (int i = 0; i < ROUNDS; i++) {
        char *other = map_new();
        fill(memory, BYTES, (uint64_t)i);
        there_and_back("before", memory, found);
        if (mremap(memory, BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, other) != other)
            exit(1);
        if (mmap(memory, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                 0) != memory)
            exit(1);
        there_and_back("moved", other, found);
        there_and_back("new at its place", memory, found);
        munmap(other, BYTES);
    }
}

static pthread_t own;
static volatile int guarded;

/* As collectors of garbage do: a page is opened when it is touched, on a stack of the handler's. */
static void open_page(int number, siginfo_t *info, void *context)
{
    char *page = (char *)((uintptr_t)info->si_addr & ~(PAGE - 1));
    (void)number, (void)context;
    if (!pthread_equal(pthread_self(), own))
        _Exit(9);
    guarded++;
    mprotect(page, PAGE, PROT_READ | PROT_WRITE);
}

static void guards(void)
{
    static char stack[64 << 10];
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_sigaction = open_page, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    char *memory = map_new();
    own = pthread_self();
    sigaltstack(&alternate, NULL);
    sigaction(SIGSEGV, &action, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        fill(memory, BYTES, (uint64_t)i);
        uint64_t sent = sum(memory, BYTES);
        for (size_t at = 0; at < BYTES; at += 61 * PAGE)
            mprotect(memory + at, PAGE, i & 1 ? PROT_READ : PROT_NONE);
        guarded = 0;
        if (i & 1)
            MUST(cudaMemcpy(memory, device, BYTES, XRT_COPY_D2H));
        else
            MUST(cudaMemcpy(device, memory, BYTES, XRT_COPY_H2D));
        printf("%d: %d faults", i, guarded);
        mprotect(memory, BYTES, PROT_READ | PROT_WRITE);
        if (i & 1)
            printf("\n");
        else
            printf(", %s\n", sum(memory, BYTES) == sent ? "same" : "different");
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*attack)(void);
    } attacks[] = {{"file", files},  {"truncated", truncated}, {"demand", on_demand},
                   {"keys", keys},   {"jump", jumps},          {"dropped", dropped},
                   {"moved", moved}, {"guarded", guards}};
    const char *how = argc > 1 ? argv[1] : "file";
    found = malloc(WARM_BYTES);
    memset(found, 1, WARM_BYTES);
    MUST(cudaMalloc(&device, WARM_BYTES));
    warm_up(device, found);
    for (size_t i = 0; i < sizeof attacks / sizeof *attacks; i++)
        if (strcmp(attacks[i].name, how) == 0)
            attacks[i].attack();
    printf("last error %d\n", cudaGetLastError());
    return 0;
}
