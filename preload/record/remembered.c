#include "preload/record/remembered.h"

void xfs_remember(struct xfs_remembered_stack *place, const struct xfs_registers *from, uint32_t id,
                  uint64_t stamp)
{
    if (!place->reads.whole)
        return;
    place->sp = from->sp;
    place->fp = from->fp;
    place->id = id;
    place->stamp = stamp;
}
