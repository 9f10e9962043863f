#include "preload/python/python.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "preload/base/loading.h"
#include "preload/base/real_dlsym.h"
#include "preload/python/python_memory.h"

struct search {
    uintptr_t wanted;
    uintptr_t start, end;
    char path[PATH_MAX]; /* of a libpython3 */
};

static int visit(struct dl_phdr_info *info, size_t size, void *out)
{
    struct search *search = out;
    uintptr_t start = UINTPTR_MAX, end = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD)
            continue;
        uintptr_t from = info->dlpi_addr + part->p_vaddr;
        start = from < start ? from : start;
        end = from + part->p_memsz > end ? from + part->p_memsz : end;
    }
    if (search->wanted >= start && search->wanted < end) {
        search->start = start;
        search->end = end;
    }
    const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
    if (slash && strncmp(slash, "/libpython3.", 12) == 0 && strlen(info->dlpi_name) < PATH_MAX)
        memcpy(search->path, info->dlpi_name, strlen(info->dlpi_name) + 1);
    return 0;
}

/* In the global scope, where extension modules find it; else a libpython that was loaded privately.
 */
static bool find_interpreter(void **handle)
{
    struct search search = {0};
    *handle = RTLD_DEFAULT;
    if (xfs_real_dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState"))
        return true;
    xfs_walk_loaded(visit, &search);
    *handle = search.path[0] ? dlopen(search.path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    dlerror(); /* not the program's message */
    return *handle != NULL;
}

static uint32_t version_of(void *handle)
{
    const uint32_t *number = xfs_real_dlsym(handle, "Py_Version");
    const char *(*text)(void) = (const char *(*)(void))xfs_real_dlsym(handle, "Py_GetVersion");
    unsigned major = 0, minor = 0;
    if (number)
        return *number;
    if (text == NULL || sscanf(text(), "%u.%u", &major, &minor) != 2)
        return 0;
    return major << 24 | minor << 16;
}

static const char *look_up(struct xfs_python *python, void *handle, uint32_t version)
{
    char byte = 0, copy;
    struct iovec to = {&copy, 1}, from = {&byte, 1};
    struct search search = {0};
    python->code_type = (uintptr_t)xfs_real_dlsym(handle, "PyCode_Type");
    python->string_type = (uintptr_t)xfs_real_dlsym(handle, "PyUnicode_Type");
    python->bytes_type = (uintptr_t)xfs_real_dlsym(handle, "PyBytes_Type");
    python->thread_state = (void *(*)(void))xfs_real_dlsym(handle, "PyGILState_GetThisThreadState");
    python->finalizing = (int (*)(void))xfs_real_dlsym(handle, "Py_IsFinalizing");
    if (python->finalizing == NULL)
        python->finalizing = (int (*)(void))xfs_real_dlsym(handle, "_Py_IsFinalizing");
    const void *runtime = xfs_real_dlsym(handle, "_PyRuntime");
    dlerror();
    if (!python->code_type || !python->string_type || !python->bytes_type || !python->thread_state)
        return "it does not export its types";
    search.wanted = (uintptr_t)python->thread_state;
    xfs_walk_loaded(visit, &search);
    python->start = search.start;
    python->end = search.end;
    if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != 1)
        return "process_vm_readv is not allowed";
    return xfs_python_layout(version, runtime, &python->layout);
}

static bool make_room(struct xfs_python *python)
{
    void *habits = mmap(NULL, XFS_PYTHON_HABITS * sizeof *python->habits, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (habits == MAP_FAILED ||
        !xfs_numbers_init(&python->numbers, XFS_PYTHON_SLOTS, python->host->wait))
        return false;
    python->habits = habits;
    return true;
}

void xfs_python_init(struct xfs_recorder *recorder, const struct xfs_python_host *host,
                     struct xfs_python *python)
{
    char text[32];
    void *handle;
    if (!find_interpreter(&handle))
        return;
    uint32_t version = version_of(handle);
    python->recorder = recorder;
    python->host = host;
    python->pid = getpid();
    snprintf(text, sizeof text, "%u.%u", version >> 24, version >> 16 & 255);
    host->write_meta(recorder, "python.version", text);
    const char *why = look_up(python, handle, version);
    if (why == NULL && !make_room(python))
        why = "out of memory";
    if (why) {
        host->write_meta(recorder, "python.frames", "off");
        host->write_meta(recorder, "python.frames.why", why);
        return;
    }
    atomic_store_explicit(&python->state, XFS_PYTHON_UNTRIED, memory_order_release);
}
