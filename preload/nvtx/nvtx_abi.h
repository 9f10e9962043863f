/*
 * NVTX's binary interface to tools, as far as it is used: what a program's NVTX passes to the
 * function InitializeInjectionNvtx2 of the library that NVTX_INJECTION64_PATH names, and the
 * arguments of its calls. The same since NVTX 2; tests/contracts/abi_nvtx.def compares it with
 * NVIDIA's headers. Described in https://github.com/NVIDIA/NVTX.
 */
#ifndef XFS_NVTX_ABI_H
#define XFS_NVTX_ABI_H

#include <stddef.h>
#include <stdint.h>

enum { XNV_TABLE_CALLBACKS = 1 };

enum xnv_module {
    XNV_MODULE_CORE = 1,  /* the default domain */
    XNV_MODULE_CORE2 = 5, /* domains, registered strings */
};

/* Places in the tables of functions. */
enum xnv_core {
    XNV_CORE_RANGE_START_EX = 4,
    XNV_CORE_RANGE_START_A = 5,
    XNV_CORE_RANGE_START_W = 6,
    XNV_CORE_RANGE_END = 7,
    XNV_CORE_RANGE_PUSH_EX = 8,
    XNV_CORE_RANGE_PUSH_A = 9,
    XNV_CORE_RANGE_PUSH_W = 10,
    XNV_CORE_RANGE_POP = 11,
};

enum xnv_core2 {
    XNV_CORE2_RANGE_START_EX = 2,
    XNV_CORE2_RANGE_END = 3,
    XNV_CORE2_RANGE_PUSH_EX = 4,
    XNV_CORE2_RANGE_POP = 5,
    XNV_CORE2_REGISTER_STRING_A = 10,
    XNV_CORE2_REGISTER_STRING_W = 11,
    XNV_CORE2_DOMAIN_CREATE_A = 12,
    XNV_CORE2_DOMAIN_CREATE_W = 13,
};

typedef void (*xnv_function)(void);

/* (*table)[i] is where NVTX keeps its i-th function: a tool stores its own there. */
struct xnv_callbacks {
    size_t struct_size;
    int (*module_table)(enum xnv_module module, xnv_function ***table, unsigned *size);
};

typedef const void *(*xnv_export_table)(uint32_t id);

enum xnv_message_type {
    XNV_MESSAGE_ASCII = 1,
    XNV_MESSAGE_WIDE = 2,
    XNV_MESSAGE_REGISTERED = 3,
};

struct xnv_attributes {
    uint16_t version;
    uint16_t size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type;
    int32_t reserved;
    uint64_t payload;
    int32_t message_type;
    const void *message; /* text, wide text, or what REGISTER_STRING gave */
};

/* What push and pop return when no tool counts their depth: what programs see without a tool. */
enum { XNV_NO_PUSH_POP_TRACKING = -2 };

#endif
