#include "analyzer/run/applied.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"

#define MOST 512 /* places of a process, as the recorder has */

static bool parse(const char *text, struct xfa_applied *out)
{
    int end = 0;
    *out = (struct xfa_applied){0};
    return sscanf(text,
                  "%23s %u %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
                  " %" SCNu64 "%n",
                  out->class, &out->step, &out->asked, &out->done, &out->done_bytes, &out->done_ns,
                  &out->instead_ns, &out->checked, &out->different, &end) == 9 &&
           text[end] == '\0';
}

struct xfa_applied *xfa_applied_of(const struct xfa_trace *trace, size_t *count)
{
    struct xfa_applied *list = NULL;
    size_t capacity = 0;
    const char *text = NULL;
    *count = 0;
    for (unsigned i = 1; i <= MOST; i++) {
        char key[32];
        struct xfa_applied one;
        snprintf(key, sizeof key, "apply.%u", i);
        text = xfa_trace_meta(trace, key);
        if (!text)
            break;
        if (!parse(text, &one))
            continue;
        list = xfa_room(list, &capacity, *count + 1, sizeof *list);
        list[(*count)++] = one;
    }
    return list;
}
