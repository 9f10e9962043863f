/*
 * A small NVTX of our own, for programs that are to build without a CUDA toolkit: it finds a tool
 * the way NVIDIA's does, and does nothing when there is none.
 */
#ifndef XFERSCOPE_PROGRAMS_NVTX_CLIENT_H
#define XFERSCOPE_PROGRAMS_NVTX_CLIENT_H

#include <dlfcn.h>
#include <stdlib.h>
#include <wchar.h>

#include "preload/nvtx/nvtx_abi.h"

typedef struct xnv_attributes nvtxEventAttributes_t;
typedef void *nvtxDomainHandle_t;
typedef void *nvtxStringHandle_t;
typedef uint64_t nvtxRangeId_t;
enum { NVTX_MESSAGE_TYPE_REGISTERED = XNV_MESSAGE_REGISTERED };

static struct {
    int looked;
    xnv_function core[16], core2[16];
    xnv_function *core_places[16], *core2_places[16];
} nvtx_client;

static inline int nvtx_module_table(enum xnv_module module, xnv_function ***table, unsigned *size)
{
    xnv_function **places =
        module == XNV_MODULE_CORE ? nvtx_client.core_places : nvtx_client.core2_places;
    xnv_function *functions = module == XNV_MODULE_CORE ? nvtx_client.core : nvtx_client.core2;
    if (module != XNV_MODULE_CORE && module != XNV_MODULE_CORE2)
        return 0;
    for (int i = 0; i < 16; i++)
        places[i] = &functions[i];
    *table = places;
    *size = 16;
    return 1;
}

static inline const void *nvtx_table(uint32_t id)
{
    static const struct xnv_callbacks callbacks = {sizeof callbacks, nvtx_module_table};
    return id == XNV_TABLE_CALLBACKS ? &callbacks : NULL;
}

static inline void nvtx_look(void)
{
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_LAZY) : NULL;
    int (*attach)(xnv_export_table) = NULL;
    if (library)
        *(void **)&attach = dlsym(library, "InitializeInjectionNvtx2");
    if (library && (!attach || !attach(nvtx_table)))
        dlclose(library);
    nvtx_client.looked = 1;
}

static inline xnv_function nvtx_function(int core2, int place)
{
    if (!nvtx_client.looked)
        nvtx_look();
    return core2 ? nvtx_client.core2[place] : nvtx_client.core[place];
}

#define NVTX_CLIENT(result, name, parameters, arguments, core2, place, otherwise)                  \
    static inline result name parameters                                                           \
    {                                                                                              \
        result(*function) parameters = (__typeof__(function))nvtx_function(core2, place);          \
        return function ? function arguments : (result)otherwise;                                  \
    }
NVTX_CLIENT(int, nvtxRangePushA, (const char *text), (text), 0, XNV_CORE_RANGE_PUSH_A, -2)
NVTX_CLIENT(int, nvtxRangePushW, (const wchar_t *text), (text), 0, XNV_CORE_RANGE_PUSH_W, -2)
NVTX_CLIENT(int, nvtxRangePop, (void), (), 0, XNV_CORE_RANGE_POP, -2)
NVTX_CLIENT(nvtxRangeId_t, nvtxRangeStartA, (const char *text), (text), 0, XNV_CORE_RANGE_START_A,
            0)
NVTX_CLIENT(int, nvtxDomainRangePushEx,
            (nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes),
            (domain, attributes), 1, XNV_CORE2_RANGE_PUSH_EX, -2)
NVTX_CLIENT(int, nvtxDomainRangePop, (nvtxDomainHandle_t domain), (domain), 1, XNV_CORE2_RANGE_POP,
            -2)
NVTX_CLIENT(nvtxDomainHandle_t, nvtxDomainCreateA, (const char *text), (text), 1,
            XNV_CORE2_DOMAIN_CREATE_A, 0)
NVTX_CLIENT(nvtxStringHandle_t, nvtxDomainRegisterStringA,
            (nvtxDomainHandle_t domain, const char *text), (domain, text), 1,
            XNV_CORE2_REGISTER_STRING_A, 0)

static inline void nvtxRangeEnd(nvtxRangeId_t id)
{
    void (*function)(nvtxRangeId_t) = (__typeof__(function))nvtx_function(0, XNV_CORE_RANGE_END);
    if (function)
        function(id);
}

#endif
