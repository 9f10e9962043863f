#include "preload/apply/near.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/apply/driver.h"
#include "preload/base/sandbox.h"

#define HOST_NUMA_NODE 134 /* CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID */
#define MOST_NODES 4096    /* more than any kernel is built for, whose masks must fit */
#define WORD_BITS (8 * (int)sizeof(unsigned long))

struct nodes {
    unsigned long words[MOST_NODES / WORD_BITS];
};

static bool has(const struct nodes *nodes, int node)
{
    return nodes->words[node / WORD_BITS] >> node % WORD_BITS & 1;
}

static bool is_free_to_choose(void)
{
    int policy = -1;
    return syscall(SYS_get_mempolicy, &policy, NULL, 0ul, NULL, 0ul) == 0 && policy == MPOL_DEFAULT;
}

static bool may_have(int node)
{
    struct nodes allowed = {0};
    return syscall(SYS_get_mempolicy, NULL, &allowed, (unsigned long)MOST_NODES, NULL,
                   (unsigned long)MPOL_F_MEMS_ALLOWED) == 0 &&
           has(&allowed, node);
}

static void prefer(void *memory, size_t bytes, int node)
{
    struct nodes nodes = {0};
    nodes.words[node / WORD_BITS] = 1ul << node % WORD_BITS;
    (void)syscall(SYS_mbind, memory, bytes, (unsigned long)MPOL_PREFERRED, &nodes,
                  (unsigned long)MOST_NODES, 0ul);
}

void xfs_near_place(void *memory, size_t bytes, xcu_device device)
{
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    int node = -1, saved = errno;
    if (driver && driver->device_attribute && xfs_may_call_kernel() &&
        driver->device_attribute(&node, HOST_NUMA_NODE, device) == XCU_SUCCESS && node >= 0 &&
        node < MOST_NODES && is_free_to_choose() && may_have(node))
        prefer(memory, bytes, node);
    errno = saved;
}
