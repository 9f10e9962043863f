#include "tests/analyzer/gather.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

void gather(void *context, const struct xfa_batch *batch)
{
    struct gathered *all = context;
    for (size_t i = 0; i < batch->rows; i++) {
        if (all->count == all->room) {
            all->room = all->room ? 2 * all->room : 1024;
            all->events = realloc(all->events, all->room * sizeof *all->events);
            all->names = realloc(all->names, all->room * sizeof *all->names);
        }
        all->names[all->count] = (uint64_t)batch->lane << 32 | (batch->first_seq + i);
        all->events[all->count++] = batch->events[i];
    }
}

void forget(struct gathered *all)
{
    free(all->events);
    free(all->names);
    *all = (struct gathered){0};
}

struct xfa_trace *open_built(const struct trace_builder *b)
{
    char error[512] = "";
    struct xfa_trace *trace = xfa_trace_open_bytes(b->bytes, b->size, error, sizeof error);
    if (!trace)
        print_error("%s\n", error);
    assert_non_null(trace);
    return trace;
}
