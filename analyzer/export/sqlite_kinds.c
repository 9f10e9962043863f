#include "analyzer/export/sqlite_kinds.h"

#include <stdbool.h>

#include "analyzer/export/sqlite_schema.h"

int xfa_nsys_memory_kind(unsigned memory)
{
    switch (memory) {
    case XFT_MEM_PAGEABLE:
        return XFA_NSYS_PAGEABLE;
    case XFT_MEM_PINNED:
    case XFT_MEM_WRITE_COMBINED:
    case XFT_MEM_MAPPED:
    case XFT_MEM_REGISTERED:
        return XFA_NSYS_PINNED;
    case XFT_MEM_DEVICE:
        return XFA_NSYS_DEVICE;
    case XFT_MEM_ARRAY:
        return XFA_NSYS_ARRAY;
    case XFT_MEM_MANAGED:
        return XFA_NSYS_MANAGED;
    default:
        return XFA_NSYS_UNKNOWN_MEMORY;
    }
}

int xfa_nsys_copy_kind(const struct xfa_event *event)
{
    bool from = event->src_mem == XFT_MEM_ARRAY, to = event->dst_mem == XFT_MEM_ARRAY;
    switch (event->direction) {
    case XFT_DIR_H2D:
        return to ? XFA_NSYS_HTOA : XFA_NSYS_HTOD;
    case XFT_DIR_D2H:
        return from ? XFA_NSYS_ATOH : XFA_NSYS_DTOH;
    case XFT_DIR_D2D:
        return from && to ? XFA_NSYS_ATOA
               : from     ? XFA_NSYS_ATOD
               : to       ? XFA_NSYS_DTOA
                          : XFA_NSYS_DTOD;
    case XFT_DIR_P2P:
        return XFA_NSYS_PTOP;
    case XFT_DIR_H2H:
        return XFA_NSYS_HTOH;
    default:
        return XFA_NSYS_UNKNOWN_COPY;
    }
}

int xfa_nsys_migration_kind(const struct xfa_event *event)
{
    return event->direction == XFT_DIR_H2D   ? XFA_NSYS_UVM_HTOD
           : event->direction == XFT_DIR_D2H ? XFA_NSYS_UVM_DTOH
                                             : XFA_NSYS_UVM_DTOD;
}
