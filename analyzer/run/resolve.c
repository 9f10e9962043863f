#include "analyzer/run/resolve.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyzer/base/alloc.h"
#include "symbols/symbols.h"

/* What is to be named, built from what the reader has checked. */
struct lists {
    struct xfs_loaded_module *modules;
    size_t module_count, module_room;
    uint64_t *addresses;
    size_t address_count, address_room;
};

/* A path in a trace may name anything: only plain files are opened, and only those whose
 * build id shows that they are the recorded ones. */
static bool usable(const struct xfa_module *module)
{
    struct stat status;
    return module->path[0] == '/' && module->build_id[0] && stat(module->path, &status) == 0 &&
           S_ISREG(status.st_mode);
}

/* Two digits a byte, as the reader made them. */
static size_t put_build_id(unsigned char *out, const char *hexadecimal)
{
    size_t n = 0;
    for (; hexadecimal[2 * n] && hexadecimal[2 * n + 1]; n++) {
        const char digits[3] = {hexadecimal[2 * n], hexadecimal[2 * n + 1], 0};
        out[n] = (unsigned char)strtoul(digits, NULL, 16);
    }
    return n;
}

static void put_modules(struct lists *lists, const struct xfa_trace *trace)
{
    for (size_t i = 0; i < trace->names.module_count; i++) {
        const struct xfa_module *module = &trace->names.modules[i];
        if (!usable(module))
            continue;
        lists->modules = xfa_room(lists->modules, &lists->module_room, lists->module_count + 1,
                                  sizeof *lists->modules);
        struct xfs_loaded_module *put = &lists->modules[lists->module_count++];
        *put = (struct xfs_loaded_module){
            .start = module->start,
            .end = module->end,
            .bias = module->bias,
            .path = module->path,
            .build_id = xfa_alloc(strlen(module->build_id) / 2 + 1),
        };
        put->build_id_bytes = put_build_id(put->build_id, module->build_id);
    }
}

static void put_addresses(struct lists *lists, const struct xfa_trace *trace)
{
    for (size_t i = 0; i < trace->names.stacks.count; i++) {
        const struct xfa_stack *stack = xfa_table_at(&trace->names.stacks, i);
        lists->addresses = xfa_room(lists->addresses, &lists->address_room,
                                    lists->address_count + stack->depth, sizeof *lists->addresses);
        if (stack->depth)
            memcpy(lists->addresses + lists->address_count, stack->addresses,
                   (size_t)stack->depth * sizeof *lists->addresses);
        lists->address_count += stack->depth;
    }
}

static void name_code(struct xfa_trace *trace, const struct lists *lists)
{
    const int never = 0;
    const struct xfs_symbols_wanted wanted = {
        .modules = lists->modules,
        .module_count = lists->module_count,
        .addresses = lists->addresses,
        .address_count = lists->address_count,
        .start_real_ns = trace->header.start_real_ns,
    };
    void *payload = NULL;
    size_t bytes = 0;
    if (xfs_symbols_name(NULL, &wanted, &never, &payload, &bytes) && payload)
        xfa_names_take(trace, XFT_SEG_SYMBOLS, payload, bytes);
    xfa_names_finish(&trace->names);
}

/* By address: those of Python frames, which the recorder names as it goes, come last. */
static bool code_is_named(const struct xfa_names *names)
{
    return names->symbol_count > 0 && !(names->symbols[0].address & XFT_PYTHON_FRAME);
}

void xfa_trace_resolve(struct xfa_trace *trace)
{
    struct lists lists = {0};
    if (code_is_named(&trace->names) || trace->names.stacks.count == 0)
        return;
    put_modules(&lists, trace);
    if (lists.module_count > 0) {
        put_addresses(&lists, trace);
        name_code(trace, &lists);
    }
    for (size_t i = 0; i < lists.module_count; i++)
        free(lists.modules[i].build_id);
    free(lists.modules);
    free(lists.addresses);
}
