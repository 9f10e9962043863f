/*
 * A plan as libxferscope.so reads it: what is to be done at which call sites. Made by `xferscope
 * apply --plan` of the plan that people edit (docs/plan.md, docs/plan.schema.json); it lives as
 * long as that command, and is no file format to be kept: command and library are of one version.
 *
 * The library treats it as hostile: xft_plan_holds() says whether its bytes can be used at all.
 *
 *     struct xft_plan_header
 *     struct xft_plan_module  [modules]   which sites name by their place here
 *     struct xft_plan_site    [sites]
 *     struct xft_plan_reader  [readers]
 *
 * A site is a return address in a call stack: module (by build id) and offset of the address in the
 * module's ELF file, as in the trace; or a line of a Python program, whose file stands in place of
 * the module, by a hash of its path as the interpreter has it, and whose number in place of the
 * offset. `caller` is a second one further up the stack, where the same helper is called for
 * several purposes.
 */
#ifndef XFERSCOPE_PLAN_H
#define XFERSCOPE_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* What is done at a site: enumerator, number, word in plans, messages and settings. */
#define XFT_PLAN_CLASS_LIST(X)                                                                     \
    X(XFT_PLAN_LEAVE_OUT, 1, "leave-out") /* uploads of what the device has already */             \
    X(XFT_PLAN_POOL, 2, "pool")           /* device memory that is freed and allocated again */    \
    X(XFT_PLAN_PREFETCH, 3, "prefetch")   /* managed memory that kernels are given */              \
    X(XFT_PLAN_PLACEMENT, 4, "placement") /* memory of the program on a NUMA node */               \
    X(XFT_PLAN_STREAMS, 5, "streams")     /* work of threads in the legacy default stream */

#define XFT_ENUM_ROW(symbol, number, word) symbol = number,
enum xft_plan_class { XFT_PLAN_NOTHING, XFT_PLAN_CLASS_LIST(XFT_ENUM_ROW) XFT_PLAN_CLASSES };
#undef XFT_ENUM_ROW

/* NULL for a number that this version does not know. */
static inline const char *xft_plan_class_word(unsigned number)
{
#define XFT_WORD_ROW(symbol, value, word)                                                          \
    case symbol:                                                                                   \
        return word;
    switch (number) {
        XFT_PLAN_CLASS_LIST(XFT_WORD_ROW)
    default:
        return (const char *)0;
    }
#undef XFT_WORD_ROW
}

#define XFT_PLAN_MAGIC "XFERPLAN"
#define XFT_PLAN_VERSION 6

#define XFT_PLAN_MODULES_MOST 64
#define XFT_PLAN_SITES_MOST 256
#define XFT_PLAN_STEPS_MOST 256
#define XFT_PLAN_READERS_MOST 64
#define XFT_PLAN_ARGUMENTS_MOST 64 /* of a kernel, that can be named */
#define XFT_PLAN_BUILD_ID_MOST 64
#define XFT_PLAN_TEXT_BYTES 108
#define XFT_PLAN_NO_MODULE UINT32_MAX
#define XFT_PLAN_NODES_MOST 1024

struct xft_plan_header {
    char magic[8];
    uint32_t version;
    uint32_t modules, sites, readers;
};

struct xft_plan_module {
    uint32_t build_id_bytes; /* 1 to XFT_PLAN_BUILD_ID_MOST */
    uint32_t python;         /* 1: a Python file, and the build id is xft_plan_text_hash() */
    unsigned char build_id[XFT_PLAN_BUILD_ID_MOST];
};

/* FNV-1a. */
static inline uint64_t xft_plan_text_hash(const char *text, size_t bytes)
{
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ (unsigned char)text[i]) * 1099511628211u;
    return hash;
}

/* Flags of a site. */
#define XFT_PLAN_KERNELS_KEEP 1u  /* granted: no kernel writes the device memory of its copies */
#define XFT_PLAN_KERNELS_APART 2u /* granted: kernels reach only what their parameters name */

struct xft_plan_site {
    uint64_t offset;        /* of the return address in the module's file, or a number of a line */
    uint64_t caller_offset; /* of the caller's, with caller_module; or xft_plan_text_hash() */
    uint32_t module;
    uint32_t caller_module;         /* XFT_PLAN_NO_MODULE: any caller */
    uint16_t what;                  /* enum xft_plan_class, not XFT_PLAN_NOTHING */
    uint16_t step;                  /* of the plan that people edit: its place there, from 1 on */
    uint32_t flags;                 /* XFT_PLAN_KERNELS_... */
    int32_t node;                   /* of XFT_PLAN_PLACEMENT: the NUMA node; else -1 */
    char text[XFT_PLAN_TEXT_BYTES]; /* the site in words, terminated */
};

/* Of XFT_PLAN_STREAMS, granted: a kernel only reads what some of its arguments point to. */
struct xft_plan_reader {
    uint64_t kernel;    /* xft_plan_text_hash() of its name as the driver has it, mangled */
    uint64_t arguments; /* bit k: the one of number k, from 0 on */
};

static inline size_t xft_plan_bytes(uint32_t modules, uint32_t sites, uint32_t readers)
{
    return sizeof(struct xft_plan_header) + modules * sizeof(struct xft_plan_module) +
           sites * sizeof(struct xft_plan_site) + readers * sizeof(struct xft_plan_reader);
}
#define XFT_PLAN_BYTES_MOST                                                                        \
    (sizeof(struct xft_plan_header) + XFT_PLAN_MODULES_MOST * sizeof(struct xft_plan_module) +     \
     XFT_PLAN_SITES_MOST * sizeof(struct xft_plan_site) +                                          \
     XFT_PLAN_READERS_MOST * sizeof(struct xft_plan_reader))

/* The parts of a plan in memory, aligned as its header; for what xft_plan_holds() allows. */
static inline const struct xft_plan_module *xft_plan_modules(const struct xft_plan_header *plan)
{
    return (const struct xft_plan_module *)(plan + 1);
}
static inline const struct xft_plan_site *xft_plan_sites(const struct xft_plan_header *plan)
{
    const char *at = (const char *)(plan + 1) + plan->modules * sizeof(struct xft_plan_module);
    return (const struct xft_plan_site *)(const void *)at;
}

static inline const struct xft_plan_reader *xft_plan_readers(const struct xft_plan_header *plan)
{
    return (const struct xft_plan_reader *)(const void *)(xft_plan_sites(plan) + plan->sites);
}

static inline bool xft_plan_site_holds(const struct xft_plan_site *site, uint32_t modules)
{
    return site->module < modules &&
           (site->caller_module == XFT_PLAN_NO_MODULE || site->caller_module < modules) &&
           site->what > XFT_PLAN_NOTHING && site->what < XFT_PLAN_CLASSES && site->step > 0 &&
           site->step <= XFT_PLAN_STEPS_MOST &&
           (site->flags & ~(XFT_PLAN_KERNELS_KEEP | XFT_PLAN_KERNELS_APART)) == 0 &&
           (site->what == XFT_PLAN_PLACEMENT ? site->node >= 0 && site->node < XFT_PLAN_NODES_MOST
                                             : site->node == -1) &&
           memchr(site->text, 0, sizeof site->text) != NULL;
}

/* Are these bytes, aligned as a header, a plan of this version, with every number in its bounds? */
static inline bool xft_plan_holds(const void *data, size_t bytes)
{
    const struct xft_plan_header *plan = data;
    if (bytes < sizeof *plan || memcmp(plan->magic, XFT_PLAN_MAGIC, sizeof plan->magic) != 0 ||
        plan->version != XFT_PLAN_VERSION || plan->modules > XFT_PLAN_MODULES_MOST ||
        plan->sites > XFT_PLAN_SITES_MOST || plan->readers > XFT_PLAN_READERS_MOST ||
        bytes != xft_plan_bytes(plan->modules, plan->sites, plan->readers))
        return false;
    for (uint32_t i = 0; i < plan->modules; i++) {
        const struct xft_plan_module *module = &xft_plan_modules(plan)[i];
        uint32_t length = module->build_id_bytes;
        if (length == 0 || length > XFT_PLAN_BUILD_ID_MOST || module->python > 1 ||
            (module->python && length != sizeof(uint64_t)))
            return false;
    }
    for (uint32_t i = 0; i < plan->sites; i++)
        if (!xft_plan_site_holds(&xft_plan_sites(plan)[i], plan->modules))
            return false;
    return true;
}

#endif
