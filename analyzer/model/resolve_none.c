/* Where the recorder, which brings the look-up of symbols, is not built. */
#include "analyzer/model/resolve.h"

void xfa_trace_resolve(struct xfa_trace *trace)
{
}
