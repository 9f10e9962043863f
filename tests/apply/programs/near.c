/*
 * Where apply's own memory lies: near GPU [bind | locked]. Copies in the way that it carries out to
 * that GPU, with `bind` under a memory policy of the program's own, with `locked` beside a large
 * allocation, and says on standard error how much memory of the process prefers which NUMA node.
 */
#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/apply/programs/applied.h"

static void bind_self(void)
{
    unsigned long node = 1;
    if (syscall(SYS_set_mempolicy, MPOL_BIND, &node, 64ul) != 0)
        exit(1);
}

/* Lines of numa_maps: ADDRESS POLICY KEY=VALUE... */
static void say_preferred(void)
{
    char line[4096], policy[64];
    FILE *maps = fopen("/proc/self/numa_maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        if (sscanf(line, "%*s %63s", policy) == 1 && strncmp(policy, "prefer", 6) == 0)
            fprintf(stderr, "mapping: %s\n", policy);
    fprintf(stderr, maps ? "numa_maps read\n" : "no numa_maps\n");
    if (maps)
        fclose(maps);
}

int main(int argc, char **argv)
{
    void *device, *locked;
    char *host = malloc(WARM_BYTES);
    MUST(cudaSetDevice(argc > 1 ? atoi(argv[1]) : 0));
    if (argc > 2 && strcmp(argv[2], "bind") == 0)
        bind_self();
    fill(host, WARM_BYTES, 1);
    MUST(cudaMalloc(&device, WARM_BYTES));
    warm_up(device, host);
    if (argc > 2 && strcmp(argv[2], "locked") == 0)
        MUST(cudaMallocHost(&locked, WARM_BYTES));
    printf("%016llx\n", (unsigned long long)sum(host, WARM_BYTES));
    say_preferred();
    return 0;
}
