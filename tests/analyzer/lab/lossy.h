/* Was anything lost, by the reader or, as the header of the file says, by the recorder? */
#ifndef LOSSY_H
#define LOSSY_H

#include <stdbool.h>
#include <stdlib.h>

#include "analyzer/read/read.h"

static inline bool is_lossy(const struct xfa_trace *trace)
{
    char *line = xfa_trace_loss_line(trace);
    free(line);
    return line != NULL;
}

#endif
