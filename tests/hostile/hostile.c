#include "tests/hostile/hostile.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SKIPPED = 77, FAILED = 3 };

struct driver_calls cu;
xcu_deviceptr on_device;

static void *driver;
static xcu_context context;
static unsigned char up[SLOTS][SLOT_BYTES], down[SLOTS][SLOT_BYTES];
static _Atomic unsigned long copies, copied_bytes;

/* ---- words -------------------------------------------------------------------------------- */

void say(const char *format, ...)
{
    char line[400];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line - 1, format, arguments);
    va_end(arguments);
    if (length > (int)sizeof line - 2)
        length = (int)sizeof line - 2;
    line[length++] = '\n';
    while (write(STDOUT_FILENO, line, (size_t)length) < 0 && errno == EINTR)
        continue;
}

void must(bool so, const char *what)
{
    if (so)
        return;
    say("FAILED: %s: %s", what, strerror(errno));
    _exit(FAILED);
}

void skip(const char *why)
{
    say("skipped: %s", why);
    _exit(SKIPPED);
}

void count_copy(size_t bytes)
{
    atomic_fetch_add(&copies, 1);
    atomic_fetch_add(&copied_bytes, bytes);
}

void moved(void)
{
    say("moved %lu copies %lu bytes", copies, copied_bytes);
}

void moved_at_least(void)
{
    say("moved at least %lu copies %lu bytes", copies, copied_bytes);
}

void forget_moved(void)
{
    copies = 0;
    copied_bytes = 0;
}

/* ---- the GPU ------------------------------------------------------------------------------ */

void *driver_function(const char *name)
{
    if (!driver)
        driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!driver)
        skip("there is no libcuda.so.1");
    return dlsym(driver, name);
}

bool simulated(void)
{
    return driver_function("xferscope_simgpu_now_ns") != NULL;
}

static void call(xcu_result result, const char *what)
{
    if (result == 0)
        return;
    say("FAILED: %s: %d", what, result);
    _exit(FAILED);
}

void begin(void)
{
    xcu_device device;
#define FIND(field, exported, name, version, parameters)                                           \
    must((*(void **)&cu.field = driver_function(#exported)) != NULL, #exported);
    DRIVER_CALLS(FIND)
#undef FIND
    call(cu.init(0), "cuInit");
    call(cu.device_get(&device, 0), "cuDeviceGet");
    call(cu.context_retain(&context, device), "cuDevicePrimaryCtxRetain");
    use_gpu();
    call(cu.mem_alloc(&on_device, (size_t)SLOTS * SLOT_BYTES), "cuMemAlloc");
}

bool try_gpu(void)
{
    return cu.context_set(context) == 0;
}

void use_gpu(void)
{
    call(cu.context_set(context), "cuCtxSetCurrent");
}

void round_trip(unsigned slot, size_t bytes)
{
    static _Atomic unsigned turns;
    unsigned char *from = up[slot % SLOTS], *to = down[slot % SLOTS];
    xcu_deviceptr there = on_device + (xcu_deviceptr)(slot % SLOTS) * SLOT_BYTES;
    memset(from, (int)(++turns + slot), bytes);
    from[bytes - 1] = (unsigned char)~from[0];
    memset(to, 0, bytes);
    call(cu.htod(there, from, bytes), "cuMemcpyHtoD");
    count_copy(bytes);
    call(cu.dtoh(to, there, bytes), "cuMemcpyDtoH");
    count_copy(bytes);
    must(memcmp(from, to, bytes) == 0, "the bytes that came back");
}

void round_trips(unsigned slot, unsigned times)
{
    for (unsigned i = 0; i < times; i++)
        round_trip(slot, 64 + 64 * (i % 32));
}

/* ---- processes and threads ---------------------------------------------------------------- */

void await(pid_t child, const char *name)
{
    int status = 0;
    pid_t ended;
    while ((ended = waitpid(child, &status, 0)) < 0 && errno == EINTR)
        continue;
    must(ended > 0, name);
    if (WIFSIGNALED(status))
        say("%s: signal %d", name, WTERMSIG(status));
    else
        say("%s: status %d", name, WEXITSTATUS(status));
}

struct task {
    pthread_t thread;
    void (*work)(unsigned);
    unsigned number;
};

static void *run_task(void *given)
{
    struct task *task = given;
    task->work(task->number);
    return NULL;
}

void in_threads(unsigned count, size_t stack, void (*work)(unsigned number))
{
    struct task tasks[64];
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (stack)
        must(pthread_attr_setstacksize(&attributes, stack) == 0, "a stack of that size");
    for (unsigned i = 0; i < count; i++) {
        tasks[i] = (struct task){.work = work, .number = i};
        int error = pthread_create(&tasks[i].thread, &attributes, run_task, &tasks[i]);
        must(error == 0, "pthread_create");
    }
    for (unsigned i = 0; i < count; i++)
        pthread_join(tasks[i].thread, NULL);
    pthread_attr_destroy(&attributes);
}

const char *own_path(void)
{
    static char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    must(length > 0, "/proc/self/exe");
    path[length] = '\0';
    return path;
}

const char *beside(const char *name)
{
    static char path[4400];
    const char *own = own_path();
    snprintf(path, sizeof path, "%.*s/%s", (int)(strrchr(own, '/') - own), own, name);
    return path;
}

/* ---- files -------------------------------------------------------------------------------- */

void write_file(const char *path, const char *text, int times)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    must(fd >= 0, path);
    for (int i = 0; i < times; i++)
        must(write(fd, text, strlen(text)) == (ssize_t)strlen(text), path);
    close(fd);
}

void say_file(const char *path)
{
    unsigned char bytes[512];
    uint32_t sum = 2166136261u;
    ssize_t length;
    size_t all = 0;
    int fd = open(path, O_RDONLY);
    must(fd >= 0, path);
    while ((length = read(fd, bytes, sizeof bytes)) > 0) {
        all += (size_t)length;
        for (ssize_t i = 0; i < length; i++)
            sum = (sum ^ bytes[i]) * 16777619u;
    }
    close(fd);
    say("%s: %zu bytes, %08x", path, all, sum);
}

int free_descriptors(void)
{
    return simulated() ? 3 : 200;
}

void close_foreign(void)
{
    struct stat about;
    if (simulated())
        syscall(SYS_close_range, 3u, ~0u, 0);
    for (int fd = 3; fd < 4096; fd++)
        if (!simulated() && fstat(fd, &about) == 0 && S_ISREG(about.st_mode))
            close(fd);
}
