/*
 * A process that forks between its copies: the child finds no CUDA, as without us, and its copies
 * of the program's memory; the parent's copies go on. Then a child that becomes another program.
 */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/apply/programs/applied.h"

#define BYTES (4 * MIB)

static int child(void *device, char *host, uint64_t sent)
{
    int error = cudaMemcpy(device, host, BYTES, XRT_COPY_H2D);
    printf("child: %d, memory %s\n", error, sum(host, BYTES) == sent ? "same" : "different");
    fflush(stdout);
    return error != 0;
}

int main(void)
{
    char *host = malloc(WARM_BYTES), *found = malloc(BYTES);
    void *device;
    int status;
    memset(host, 1, WARM_BYTES);
    MUST(cudaMalloc(&device, WARM_BYTES));
    warm_up(device, host);
    for (uint64_t i = 0; i < 4; i++) {
        fill(host, BYTES, i);
        uint64_t sent = sum(host, BYTES);
        fflush(stdout);
        pid_t pid = fork();
        if (pid == 0) {
            int code = child(device, host, sent);
            if (i == 3)
                execlp("echo", "echo", "became echo", (char *)NULL);
            if (i & 1)
                _exit(code);
            exit(code);
        }
        waitpid(pid, &status, 0);
        printf("child ended with %d\n", status);
        MUST(cudaMemcpy(device, host, BYTES, XRT_COPY_H2D));
        MUST(cudaMemcpy(found, device, BYTES, XRT_COPY_D2H));
        printf("parent: %s\n", sum(found, BYTES) == sent ? "same" : "different");
    }
    return 0;
}
