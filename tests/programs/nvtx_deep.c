/*
 * Ranges that are open when recording begins, more deeply nested than is kept: those that are kept
 * end where they do. Another domain's lie among them; one has none that are kept.
 */
#include <stdio.h>
#include <stdlib.h>

#include "nvtx_client.h"
#include "runtime_api.h"

enum { KEPT = 64, BEYOND = 7, SOLVER_AT = 10 };

static char host[4096];
static void *device;

static void copy_in(size_t bytes)
{
    if (cudaMemcpy(device, host, bytes, XRT_COPY_H2D) != 0) {
        fprintf(stderr, "nvtx_deep: cudaMemcpy\n");
        exit(1);
    }
}

static void push(nvtxDomainHandle_t domain, const char *name)
{
    nvtxEventAttributes_t attributes = {.version = 2,
                                        .size = sizeof attributes,
                                        .message_type = NVTX_MESSAGE_TYPE_REGISTERED,
                                        .message = nvtxDomainRegisterStringA(domain, name)};
    nvtxDomainRangePushEx(domain, &attributes);
}

int main(void)
{
    nvtxDomainHandle_t solver = nvtxDomainCreateA("solver"), late = nvtxDomainCreateA("late");
    for (int i = 0; i < KEPT - 1 + BEYOND; i++) {
        if (i == SOLVER_AT)
            push(solver, "solve");
        nvtxRangePushA("deep");
    }
    push(late, "not kept");
    push(solver, "not kept");
    nvtxRangePushA("not kept");
    nvtxRangePop();
    if (cudaMalloc(&device, sizeof host) != 0)
        return 1;
    copy_in(1); /* in 63 deep ones */
    for (int i = 0; i < BEYOND / 2; i++)
        nvtxRangePop();
    nvtxRangePushA("since");
    push(solver, "since");
    copy_in(2);
    nvtxDomainRangePop(solver); /* since */
    nvtxDomainRangePop(solver); /* not kept */
    nvtxRangePop();             /* since */
    nvtxDomainRangePop(late);   /* not kept, and nothing else of the domain is */
    for (int i = BEYOND / 2; i < BEYOND; i++)
        nvtxRangePop();
    copy_in(4); /* in 63 deep ones still */
    for (int i = 0; i < KEPT - 1; i++)
        nvtxRangePop();
    copy_in(8); /* in solve */
    nvtxDomainRangePop(solver);
    copy_in(16);
    puts("done");
    return 0;
}
