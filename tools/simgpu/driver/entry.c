/*
 * Entry points: cuGetProcAddress in both versions, over the one list of exported functions.
 */
#include <string.h>

#include "tools/simgpu/driver/call.h"

/* Only the addresses are of interest here; the real types are where the functions are. */
#define SIM_FUNCTION(base, symbol, version, variant) void symbol##_address(void) __asm__(#symbol);
#include "tools/simgpu/driver/functions.def"
#undef SIM_FUNCTION

enum variant { PLAIN, PER_THREAD };

static const struct function {
    const char *base, *symbol;
    int version;
    enum variant variant;
    void (*address)(void);
} functions[] = {
#define SIM_FUNCTION(base, symbol, version, variant)                                               \
    {#base, #symbol, version, variant, symbol##_address},
#include "tools/simgpu/driver/functions.def"
#undef SIM_FUNCTION
};

/* Per-thread default streams came with CUDA 7, whatever the age of the function. */
static int since(const struct function *f)
{
    return f->variant == PER_THREAD && f->version < 7000 ? 7000 : f->version;
}

static bool has_variant(const char *base, enum variant variant)
{
    for (unsigned i = 0; i < SIM_FUNCTION_COUNT; i++)
        if (functions[i].variant == variant && strcmp(functions[i].base, base) == 0)
            return true;
    return false;
}

/* The newest version that is not newer than asked for. *known: the name exists, in any version. */
static const struct function *newest(const char *base, int version, enum variant variant,
                                     bool *known)
{
    const struct function *best = NULL;

    for (unsigned i = 0; i < SIM_FUNCTION_COUNT; i++) {
        const struct function *f = &functions[i];

        if (strcmp(f->base, base))
            continue;
        *known = true;
        if (f->variant == variant && since(f) <= version && (!best || f->version > best->version))
            best = f;
    }
    return best;
}

enum status { FOUND = 0, NO_SUCH_SYMBOL = 1, VERSION_TOO_OLD = 2 };

static xcu_result look_up(const char *name, void **out, int version, uint64_t flags, int *status)
{
    const struct function *f = NULL;
    bool known = false;

    if (!name || !out || (flags & ~3ull) || flags == 3)
        return XCU_ERROR_INVALID_VALUE;
    if (flags & XCU_ENTRY_PER_THREAD_STREAM)
        f = newest(name, version, PER_THREAD, &known);
    /* As on a real driver: too old a version for the variant asked for is not given the other. */
    if (!(flags & XCU_ENTRY_PER_THREAD_STREAM) || !has_variant(name, PER_THREAD))
        f = newest(name, version, PLAIN, &known);
    *out = f ? (void *)f->address : NULL;
    if (status)
        *status = f ? FOUND : known ? VERSION_TOO_OLD : NO_SUCH_SYMBOL;
    return XCU_SUCCESS;
}

SIM_API(cuGetProcAddress, SIM_NOTHING, (const char *name, void **out, int version, uint64_t flags),
        (name, out, version, flags))
{
    xcu_result r = look_up(name, out, version, flags, NULL);

    return r || *out ? r : XCU_ERROR_NOT_FOUND;
}

SIM_API(cuGetProcAddress_v2, SIM_NOTHING,
        (const char *name, void **out, int version, uint64_t flags, int *status),
        (name, out, version, flags, status))
{
    return look_up(name, out, version, flags, status);
}

/* NVIDIA's private tables: there are none here. */
SIM_API(cuGetExportTable, SIM_NOTHING, (const void **out, const struct xcu_uuid *id), (out, id))
{
    if (!out || !id)
        return XCU_ERROR_INVALID_VALUE;
    *out = NULL;
    return XCU_ERROR_NOT_FOUND;
}
