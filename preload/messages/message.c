/* Whether calls of MPI and NCCL are recorded. */
#include "preload/messages/message.h"

#include <errno.h>
#include <string.h>
#include <sys/auxv.h>

#include "preload/base/settings.h"

/* ---- whether --------------------------------------------------------------------------------- */

static atomic_char wanted; /* 0: not known yet; else 'y' or 'n' */

static bool is_zero(const char *variable)
{
    const char *text = xfs_settings_text(variable);
    return text && strcmp(text, "0") == 0;
}

/* The settings as a whole, and what is wrong with them, are read when recording begins. */
static XFS_COLD bool ask_settings(void)
{
    int saved = errno;
    bool off = getauxval(AT_SECURE) || is_zero("XFERSCOPE_ENABLE") || is_zero("XFERSCOPE_MESSAGES");
    atomic_store(&wanted, off ? 'n' : 'y');
    errno = saved;
    return !off;
}

bool xfs_messages_wanted(void)
{
    char known = atomic_load_explicit(&wanted, memory_order_relaxed);
    return __builtin_expect(known == 0, 0) ? ask_settings() : known == 'y';
}
