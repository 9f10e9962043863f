/*
 * Phases by NVTX: ranges open before the first CUDA call, nested ones, a domain, a registered
 * string, wide text, a range of the process, a thread of its own, one pop too many. Prints what its
 * NVTX calls return, which is the same with and without a recorder.
 *
 * usage: nvtx_phases [STEPS [ranges|names]]: with `ranges` the steps are empty, to see what a range
 * costs; with `names` each has a name of its own too.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef NVIDIA_NVTX
#include <nvtx3/nvToolsExt.h>
#define REGISTERED(attributes, string) (attributes).message.registered = (string)
#else
#include "nvtx_client.h"
#define NVTX_VERSION 3
#define messageType message_type
#define REGISTERED(attributes, string) (attributes).message = (string)
#endif

#include "runtime_api.h"

#define BYTES 65536

static char *host;
static void *device;

static void check(xrt_error error)
{
    if (error != 0) {
        fprintf(stderr, "nvtx_phases: %s\n", cudaGetErrorName(error));
        exit(1);
    }
}

static void copy_in(size_t bytes)
{
    check(cudaMemcpy(device, host, bytes, XRT_COPY_H2D));
}

static void copy_out(size_t bytes)
{
    check(cudaMemcpy(host, device, bytes, XRT_COPY_D2H));
}

static nvtxEventAttributes_t named(nvtxStringHandle_t string)
{
    nvtxEventAttributes_t attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.version = NVTX_VERSION;
    attributes.size = sizeof attributes;
    attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    REGISTERED(attributes, string);
    return attributes;
}

static void *worker(void *unused)
{
    nvtxRangePushA("worker");
    copy_in(4096);
    nvtxRangePop();
    copy_in(512);
    return unused;
}

static void steps(int count, nvtxDomainHandle_t domain, const nvtxEventAttributes_t *solve)
{
    for (int i = 0; i < count; i++) {
        nvtxRangePushA("step");
        nvtxRangePushW(L"l\u00e4den"); /* German for to load */
        copy_in(BYTES);
        copy_in(BYTES);
        nvtxRangePop();
        copy_in(1024);
        nvtxDomainRangePushEx(domain, solve);
        copy_out(BYTES);
        nvtxDomainRangePop(domain);
        nvtxRangePop();
    }
}

static void ranges_only(int count, bool names)
{
    char name[32] = "range";
    for (int i = 0; i < count; i++) {
        if (names)
            snprintf(name, sizeof name, "range %d", i);
        nvtxRangePushA(name);
        nvtxRangePop();
    }
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 3;
    int pushed = nvtxRangePushA("train");
    nvtxRangeId_t whole = nvtxRangeStartA("whole run");
    nvtxRangePushA("over before CUDA");
    int popped = nvtxRangePop();
    nvtxDomainHandle_t domain = nvtxDomainCreateA("solver");
    nvtxEventAttributes_t solve = named(nvtxDomainRegisterStringA(domain, "solve"));
    check(cudaMalloc(&device, BYTES));
    check(cudaMallocHost((void **)&host, BYTES));
    memset(host, 1, BYTES);
    if (argc > 2)
        ranges_only(count, strcmp(argv[2], "names") == 0);
    else
        steps(count, domain, &solve);
    pthread_t thread;
    pthread_create(&thread, NULL, worker, NULL);
    pthread_join(thread, NULL);
    nvtxRangeEnd(whole);
    copy_in(128);
    nvtxRangePop();
    nvtxRangePop();
    copy_in(64);
    check(cudaFreeHost(host));
    check(cudaFree(device));
    printf("pushed %d popped %d\n", pushed, popped);
    return 0;
}
