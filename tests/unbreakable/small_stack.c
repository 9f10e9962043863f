/*
 * How much stack do CUDA's calls take of the thread that makes them? Prints for each call how many
 * bytes below its caller's frame were written, so that a run under the recorder can be compared
 * with one without. Nothing is linked but libc: the driver is whatever libcuda.so.1 is found.
 *
 *   small_stack measure       a line per call: name, bytes
 *   small_stack threads BYTES COPIES  copies in threads of so little stack, above a page that may
 * not be touched small_stack handler COPIES  copies in a signal handler on an alternate stack of 8
 * KiB
 */
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/programs/nvtx_client.h"
#include "tests/unbreakable/find_driver.h"

#define PAINT 0xa5
#define PAGE 4096u
#define MEASURED_BYTES (256u << 10)
#define NEAR 256 /* below the frame that paints: its own calls */
#define ALTERNATE_BYTES 8192
#define COPY_BYTES 4096

static struct driver_calls cu;
static struct {
    xcu_result (*begin_capture)(xcu_stream, int);
    xcu_result (*end_capture)(xcu_stream, xcu_graph *);
    xcu_result (*instantiate)(xcu_graph_exec *, xcu_graph, unsigned long long);
    xcu_result (*launch)(xcu_graph_exec, xcu_stream);
    xcu_result (*destroy)(xcu_graph_exec);
    xcu_result (*alloc_host)(void **, size_t, unsigned);
    xcu_result (*free_host)(void *);
} more;

static xcu_device device;
static xcu_context context;
static xcu_deviceptr on_device;
static xcu_stream stream;
static xcu_graph graph;
static xcu_graph_exec executable;
static char on_host[COPY_BYTES];
static void *pinned;

static void check(xcu_result result, const char *what)
{
    if (result == 0)
        return;
    fprintf(stderr, "small_stack: %s: %d\n", what, result);
    exit(1);
}

static void resolve(void)
{
    static const struct wanted others[] = {
        {(void **)&more.begin_capture, "cuStreamBeginCapture_v2"},
        {(void **)&more.end_capture, "cuStreamEndCapture"},
        {(void **)&more.instantiate, "cuGraphInstantiateWithFlags"},
        {(void **)&more.launch, "cuGraphLaunch"},
        {(void **)&more.destroy, "cuGraphExecDestroy"},
        {(void **)&more.alloc_host, "cuMemHostAlloc"},
        {(void **)&more.free_host, "cuMemFreeHost"},
    };
    const char *missing = find_driver(&cu);
    if (missing == NULL)
        missing = find_wanted(others, sizeof others / sizeof *others);
    if (missing)
        check(-1, missing);
}

/* ---- measuring ---------------------------------------------------------------------------- */

static unsigned char *lowest; /* of the stack that is measured */

/* Nothing that runs meanwhile writes there but the call. */
static __attribute__((noinline)) void measure(const char *name, void (*call)(void))
{
    volatile unsigned char *frame = __builtin_frame_address(0);
    volatile unsigned char *end = frame - NEAR;
    for (volatile unsigned char *at = lowest; at < end; at++)
        *at = PAINT;
    call();
    volatile unsigned char *at = lowest;
    while (at < end && *at == PAINT)
        at++;
    printf("%s %td\n", name, frame - at);
}

static void initialise(void)
{
    check(cu.init(0), "cuInit");
}
static void retain(void)
{
    check(cu.device_get(&device, 0), "cuDeviceGet");
    check(cu.context_retain(&context, device), "cuDevicePrimaryCtxRetain");
    check(cu.context_set(context), "cuCtxSetCurrent");
}
static void make_current(void)
{
    check(cu.context_set(context), "cuCtxSetCurrent");
}
static void allocate(void)
{
    check(cu.mem_alloc(&on_device, COPY_BYTES), "cuMemAlloc");
}
static void allocate_host(void)
{
    check(more.alloc_host(&pinned, COPY_BYTES, 0), "cuMemHostAlloc");
}
static void free_host(void)
{
    check(more.free_host(pinned), "cuMemFreeHost");
}
static void copy(void)
{
    check(cu.htod(on_device, on_host, sizeof on_host), "cuMemcpyHtoD");
}
static void copy_back(void)
{
    check(cu.dtoh(on_host, on_device, sizeof on_host), "cuMemcpyDtoH");
}
static void make_stream(void)
{
    check(cu.stream_create(&stream, 1), "cuStreamCreate");
}
static void copy_async(void)
{
    check(cu.htod_async(on_device, pinned, COPY_BYTES, stream), "cuMemcpyHtoDAsync");
}
static void await_stream(void)
{
    check(cu.stream_sync(stream), "cuStreamSynchronize");
}
static void begin_capture(void)
{
    check(more.begin_capture(stream, 2), "cuStreamBeginCapture");
}
static void end_capture(void)
{
    check(more.end_capture(stream, &graph), "cuStreamEndCapture");
}
static void instantiate(void)
{
    check(more.instantiate(&executable, graph, 0), "cuGraphInstantiate");
}
static void launch(void)
{
    check(more.launch(executable, stream), "cuGraphLaunch");
}
static void destroy(void)
{
    check(more.destroy(executable), "cuGraphExecDestroy");
}
static void many_copies(void)
{
    for (int i = 0; i < 3000; i++) /* several slabs */
        copy();
}

/* Environments that lack the recorder's settings. */
static char *few[] = {"A=b", NULL}, *many[4001];
static char *const no_arguments[] = {"true", NULL};
static void spawn_with(char **environment)
{
    pid_t child;
    int status;
    check(posix_spawn(&child, "/bin/true", NULL, NULL, no_arguments, environment), "posix_spawn");
    check(waitpid(child, &status, 0) != child || status != 0, "waitpid");
}
static void spawn_few(void)
{
    spawn_with(few);
}
static void spawn_many(void)
{
    for (size_t i = 0; i + 1 < sizeof many / sizeof *many; i++)
        many[i] = few[0];
    spawn_with(many);
}
static void exec_few(void)
{
    check(execve("/nowhere/at/all", no_arguments, few) != -1, "execve");
}
static void exec_many(void)
{
    check(execve("/nowhere/at/all", no_arguments, many) != -1, "execve");
}
static void exec_list(void)
{
    check(execl("/nowhere/at/all", "1", "2", "3", "4", "5", "6", "7", (char *)NULL) != -1, "execl");
}

static void push(void)
{
    nvtxRangePushA("a range");
}
static void push_wide(void)
{
    nvtxRangePushW(L"a wide one");
}
static void pop(void)
{
    nvtxRangePop();
}

struct step {
    const char *name;
    void (*call)(void);
};

/* How far below the last frame of a thread its end reaches. */
static volatile unsigned char *last_frame;

static void *measure_all(void *steps)
{
    for (const struct step *step = steps; step->name; step++)
        measure(step->name, step->call);
    last_frame = __builtin_frame_address(0);
    for (volatile unsigned char *at = lowest; at < last_frame - NEAR; at++)
        *at = PAINT;
    return NULL;
}

static void print_end(void)
{
    static int threads;
    const volatile unsigned char *at = lowest;
    while (at < last_frame - NEAR && *at == PAINT)
        at++;
    printf("end-%d %td\n", ++threads, last_frame - at);
}

static const struct step first[] = {
    {"init", initialise},
    {"resolve", resolve},
    {"retain", retain},
    {"alloc", allocate},
    {"first-copy", copy},
    {"copy", copy},
    {"copy-back", copy_back},
    {"alloc-host", allocate_host},
    {"stream", make_stream},
    {"first-async", copy_async},
    {"async", copy_async},
    {"wait", await_stream},
    {"capture", begin_capture},
    {"captured-copy", copy_async},
    {"captured", end_capture},
    {"instantiate", instantiate},
    {"launch", launch},
    {"launch-again", launch},
    {"wait-again", await_stream},
    {"destroy", destroy},
    {"many", many_copies},
    {"free-host", free_host},
    {NULL, NULL},
};
/* Ranges before there is anything to record, and afterwards. */
static const struct step early[] = {
    {"early-look", nvtx_look},
    {"early-push", push},
    {"early-pop", pop},
    {NULL, NULL},
};
static const struct step late[] = {
    {"push", push}, {"pop", pop}, {"push-wide", push_wide}, {"pop-wide", pop}, {NULL, NULL},
};
static const struct step starts[] = {
    {"spawn", spawn_few},      {"spawn-large", spawn_many}, {"exec", exec_few},
    {"exec-large", exec_many}, {"exec-list", exec_list},    {NULL, NULL},
};
static const struct step other[] = {
    {"other-current", make_current}, {"other-first", copy},       {"other-copy", copy},
    {"other-back", copy_back},       {"other-many", many_copies}, {NULL, NULL},
};

static void on_stack_of(size_t bytes, void *(*work)(void *), void *argument)
{
    pthread_attr_t attributes;
    pthread_t thread;
    char *map =
        mmap(NULL, bytes + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(map == MAP_FAILED || mprotect(map, PAGE, PROT_NONE) != 0, "mmap");
    lowest = (unsigned char *)map + PAGE;
    pthread_attr_init(&attributes);
    check(pthread_attr_setstack(&attributes, lowest, bytes), "pthread_attr_setstack");
    check(pthread_create(&thread, &attributes, work, argument), "pthread_create");
    pthread_join(thread, NULL);
    if (last_frame)
        print_end();
    last_frame = NULL;
    munmap(map, bytes + PAGE);
}

/* ---- little room -------------------------------------------------------------------------- */

static int copies;

static void *copy_in_thread(void *unused)
{
    (void)unused;
    make_current();
    for (int i = 0; i < copies; i++)
        copy();
    return NULL;
}

static void prepare(void)
{
    resolve();
    initialise();
    retain();
    allocate();
}

static void on_signal(int signal)
{
    (void)signal;
    copy();
}

static void *raise_in_thread(void *unused)
{
    char *map = mmap(NULL, ALTERNATE_BYTES + PAGE, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(map == MAP_FAILED || mprotect(map, PAGE, PROT_NONE) != 0, "mmap");
    stack_t alternate = {.ss_sp = map + PAGE, .ss_size = ALTERNATE_BYTES};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    check(sigaltstack(&alternate, NULL), "sigaltstack");
    check(sigaction(SIGUSR1, &action, NULL), "sigaction");
    make_current();
    for (int i = 0; i < copies; i++)
        raise(SIGUSR1);
    return unused;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "measure";
    setvbuf(stdout, NULL, _IONBF, 0);
    if (strcmp(what, "measure") == 0) {
        resolve();
        on_stack_of(MEASURED_BYTES, measure_all, (void *)early);
        on_stack_of(MEASURED_BYTES, measure_all, (void *)first);
        on_stack_of(MEASURED_BYTES, measure_all, (void *)late);
        on_stack_of(MEASURED_BYTES, measure_all, (void *)other);
        on_stack_of(MEASURED_BYTES, measure_all, (void *)starts);
    } else if (strcmp(what, "threads") == 0 && argc == 4) {
        prepare();
        copies = atoi(argv[3]);
        for (int i = 0; i < 4; i++)
            on_stack_of((size_t)atoi(argv[2]), copy_in_thread, NULL);
    } else if (strcmp(what, "handler") == 0 && argc == 3) {
        prepare();
        copies = atoi(argv[2]);
        on_stack_of(MEASURED_BYTES, raise_in_thread, NULL);
    } else {
        fprintf(stderr, "usage: small_stack measure | threads BYTES COPIES | handler COPIES\n");
        return 2;
    }
    return 0;
}
