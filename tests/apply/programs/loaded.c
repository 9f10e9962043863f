/*
 * More than one runtime in a process: a copy of the runtime's file beside the one that is linked,
 * with memory and errors of its own, used in turn; a copy that is unloaded and loaded again; one
 * loaded with RTLD_DEEPBIND, or in a namespace of its own: loaded two | again | deep | apart.
 */
#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <fcntl.h>
#include <unistd.h>

#include "tests/apply/programs/applied.h"

#define BYTES (6 * MIB)
enum { ROUNDS = 8 };

struct runtime {
    void *library;
    xrt_error (*alloc)(void **, size_t);
    xrt_error (*copy)(void *, const void *, size_t, int);
    xrt_error (*copy_async)(void *, const void *, size_t, int, xcu_stream);
    xrt_error (*free)(void *);
    xrt_error (*last)(void);
    xrt_error (*peek)(void);
    void *device;
};

static char *host, *found;

/* A file of its own with the same bytes, so that it is another library. */
static struct runtime load(int flags, int apart)
{
    Dl_info linked;
    struct stat status;
    char path[64];
    struct runtime r = {0};
    if (!dladdr((void *)cudaMemcpy2D, &linked)) /* not intercepted under that address */
        exit(1);
    void *real = dlopen("libcudart.so.13", RTLD_NOW | RTLD_NOLOAD);
    struct link_map *map = NULL;
    if (real == NULL || dlinfo(real, RTLD_DI_LINKMAP, &map) != 0)
        exit(1);
    int from = open(map->l_name, O_RDONLY), to = memfd_create("runtime", 0);
    if (from < 0 || to < 0 || fstat(from, &status) != 0 ||
        sendfile(to, from, NULL, (size_t)status.st_size) != status.st_size)
        exit(1);
    close(from);
    snprintf(path, sizeof path, "/proc/self/fd/%d", to);
    r.library = apart ? dlmopen(LM_ID_NEWLM, path, flags) : dlopen(path, flags);
    if (r.library == NULL) {
        printf("%s\n", apart ? "no namespace" : "not loaded");
        exit(0);
    }
    close(to);
#define FIND(field, name) *(void **)&r.field = dlsym(r.library, name)
    FIND(alloc, "cudaMalloc");
    FIND(copy, "cudaMemcpy");
    FIND(copy_async, "cudaMemcpyAsync");
    FIND(free, "cudaFree");
    FIND(last, "cudaGetLastError");
    FIND(peek, "cudaPeekAtLastError");
    return r;
}

static void there_and_back(struct runtime *r, const char *name, int round)
{
    fill(host, BYTES, (uint64_t)round);
    must(r->copy(r->device, host, BYTES, XRT_COPY_H2D), "up");
    memset(host, 0, BYTES);
    must(r->copy_async(found, r->device, BYTES, XRT_COPY_D2H, NULL), "down");
    printf("%s %d: %016llx\n", name, round, (unsigned long long)sum(found, BYTES));
}

/* What one fails with is its own last error. */
static void errors(struct runtime *one, struct runtime *two, int round)
{
    int status = one->copy((void *)(uintptr_t)64, host, BYTES, XRT_COPY_H2D);
    printf("round %d: %d, then %d beside %d", round, status, one->peek(), two->peek());
    printf(", taken %d beside %d\n", one->last(), two->last());
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "two";
    struct runtime linked = {NULL,     cudaMalloc,       cudaMemcpy,          cudaMemcpyAsync,
                             cudaFree, cudaGetLastError, cudaPeekAtLastError, NULL};
    int apart = strcmp(how, "apart") == 0, again = strcmp(how, "again") == 0;
    int flags = RTLD_NOW | (strcmp(how, "deep") == 0 ? RTLD_DEEPBIND : 0);
    host = malloc(WARM_BYTES);
    found = malloc(WARM_BYTES);
    memset(host, 1, WARM_BYTES);
    MUST(cudaMalloc(&linked.device, WARM_BYTES));
    struct runtime other = load(flags, apart);
    must(other.alloc(&other.device, WARM_BYTES), "alloc");
    warm_up(linked.device, host);
    for (int i = 0; i < ROUNDS; i++) {
        there_and_back(&linked, "linked", i);
        there_and_back(&other, "other", i);
        errors(i & 1 ? &linked : &other, i & 1 ? &other : &linked, i);
        if (!again)
            continue;
        must(other.free(other.device), "free");
        dlclose(other.library);
        other = load(flags, apart);
        must(other.alloc(&other.device, WARM_BYTES), "alloc");
    }
    return 0;
}
