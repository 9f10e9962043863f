#include "preload/base/check.h"

#include <stdlib.h>

#include "preload/base/log.h"
#include "preload/base/sandbox.h"
#include "preload/base/settings.h"

enum { CHECKS_SAY, CHECKS_ABORT }; /* the words of XFERSCOPE_CHECKS, in the order of settings.def */

static const char *first_words;
static unsigned failed;

void xfs_check_failed(int *said, const char *words)
{
    const char *none = NULL;
    __atomic_compare_exchange_n(&first_words, &none, words, false, __ATOMIC_RELAXED,
                                __ATOMIC_RELAXED);
    __atomic_fetch_add(&failed, 1, __ATOMIC_RELAXED);
    bool ends = xfs_settings()->checks == CHECKS_ABORT;
    bool again = __atomic_exchange_n(said, 1, __ATOMIC_RELAXED);
    if (ends || (!again && xfs_may_call_kernel()))
        xfs_log("a mistake of the recorder: %s; figures may be wrong, please report it", words);
    if (ends)
        abort();
}

const char *xfs_checks_failed(unsigned *count)
{
    *count = __atomic_load_n(&failed, __ATOMIC_RELAXED);
    return __atomic_load_n(&first_words, __ATOMIC_RELAXED);
}
