#include "preload/apply/memory/near.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/apply/state/driver.h"
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

void xfs_near_place_on(void *memory, size_t bytes, int node)
{
    int saved = errno;
    if (xfs_may_call_kernel())
        prefer(memory, bytes, node);
    errno = saved;
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

/* ---- the program's memory -------------------------------------------------------------------- */

#define PAGE 4096ul
#define BATCH 512

static bool choose(int node)
{
    struct nodes nodes = {0};
    nodes.words[node / WORD_BITS] = 1ul << node % WORD_BITS;
    return syscall(SYS_set_mempolicy, MPOL_PREFERRED, &nodes, (unsigned long)MOST_NODES) == 0;
}

bool xfs_near_may(int node)
{
    int saved = errno;
    bool may = node >= 0 && node < MOST_NODES && xfs_may_call_kernel() && is_free_to_choose() &&
               may_have(node);
    errno = saved;
    return may;
}

bool xfs_near_begin(int node)
{
    int saved = errno;
    bool begun = xfs_near_may(node) && choose(node);
    errno = saved;
    return begun;
}

void xfs_near_end(void)
{
    int saved = errno;
    (void)syscall(SYS_set_mempolicy, MPOL_DEFAULT, NULL, 0ul);
    errno = saved;
}

/* Of the mapping that the page is in; of a mapping without one it is the thread's. */
static bool has_policy(const void *page)
{
    int policy = -1;
    return syscall(SYS_get_mempolicy, &policy, NULL, 0ul, page, (unsigned long)MPOL_F_ADDR) != 0 ||
           policy != MPOL_DEFAULT;
}

/* Of so many pages from there on, those that lie elsewhere and may be moved; their number. */
static unsigned long find_far(char *from, unsigned long count, int node, void *far[BATCH])
{
    int where[BATCH];
    unsigned long n = 0;
    for (unsigned long i = 0; i < count; i++)
        far[i] = from + i * PAGE;
    if (syscall(SYS_move_pages, 0, count, far, NULL, where, 0) != 0)
        return 0;
    for (unsigned long i = 0; i < count; i++)
        if (where[i] >= 0 && where[i] != node && !has_policy(from + i * PAGE))
            far[n++] = from + i * PAGE;
    return n;
}

/* The bytes that are there then. */
static size_t move(void *pages[BATCH], unsigned long count, int node)
{
    int nodes[BATCH], where[BATCH];
    size_t moved = 0;
    for (unsigned long i = 0; i < count; i++) {
        nodes[i] = node;
        where[i] = -1;
    }
    if (count == 0 ||
        syscall(SYS_move_pages, 0, count, pages, nodes, where, (unsigned long)MPOL_MF_MOVE) < 0)
        return 0;
    for (unsigned long i = 0; i < count; i++)
        moved += where[i] == node ? PAGE : 0;
    return moved;
}

size_t xfs_near_move(void *memory, size_t bytes, int node, size_t most)
{
    uintptr_t at = ((uintptr_t)memory + PAGE - 1) & ~(PAGE - 1);
    uintptr_t end = ((uintptr_t)memory + bytes) & ~(PAGE - 1);
    int saved = errno;
    size_t moved = 0;
    void *far[BATCH];
    while (at < end && moved + PAGE <= most) {
        unsigned long count = (end - at) / PAGE, left = (most - moved) / PAGE;
        count = count < BATCH ? count : BATCH;
        count = count < left ? count : left;
        moved += move(far, find_far((char *)at, count, node, far), node);
        at += count * PAGE;
    }
    errno = saved;
    return moved;
}

int xfs_near_node_of(const void *memory)
{
    void *page = (void *)((uintptr_t)memory & ~(PAGE - 1));
    int node = -1, saved = errno;
    if (syscall(SYS_move_pages, 0, 1ul, &page, NULL, &node, 0) != 0)
        node = -1;
    errno = saved;
    return node < 0 ? -1 : node;
}
