/*
 * A process that gives up rights between its copies: from then on there is no thread of ours, since
 * the kernel may end the process for a call that one makes, and its copies go on.
 *
 *     sandboxed before | after      the first copy
 */
#include <string.h>
#include <sys/prctl.h>

#include "tests/apply/programs/applied.h"

#define BYTES (4 * MIB)

int main(int argc, char **argv)
{
    char *host = malloc(WARM_BYTES), *found = malloc(BYTES);
    void *device;
    memset(host, 1, WARM_BYTES);
    MUST(cudaMalloc(&device, WARM_BYTES));
    if (argc > 1 && strcmp(argv[1], "before") == 0)
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    warm_up(device, host);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    printf("threads %d\n", threads());
    for (uint64_t i = 0; i < 10; i++) {
        fill(host, BYTES, i);
        MUST(cudaMemcpy(device, host, BYTES, XRT_COPY_H2D));
        MUST(cudaMemcpy(found, device, BYTES, XRT_COPY_D2H));
        if (memcmp(host, found, BYTES) != 0)
            printf("round %d: different\n", (int)i);
    }
    printf("last error %d\n", cudaGetLastError());
    return 0;
}
