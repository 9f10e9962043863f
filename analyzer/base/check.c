#include "analyzer/base/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void xfa_check_failed(int *said, const char *words)
{
    const char *asked = getenv("XFERSCOPE_CHECKS");
    if (!__atomic_exchange_n(said, 1, __ATOMIC_RELAXED))
        fprintf(
            stderr,
            "xferscope: a mistake of the analyzer: %s; figures may be wrong, please report it\n",
            words);
    if (asked && strcmp(asked, "abort") == 0)
        abort();
}
