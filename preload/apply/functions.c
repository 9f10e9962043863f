/* The functions of functions.def, and the room's own settings. */
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "preload/apply/apply.h"
#include "preload/apply/classes.h"
#include "preload/apply/locking.h"
#include "preload/apply/move.h"
#include "preload/apply/ring.h"
#include "preload/base/settings.h"
#include "preload/lookup/resolve.h"

int (*xfs_apply_capturing)(void);
uint64_t xfs_move_least;

/* ---- which classes are on ------------------------------------------------------------------- */

static bool is_on[XFS_CLASS_COUNT];

static bool has_word(const char *text, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = text; *at;) {
        size_t n = strcspn(at, ",");
        if (n == length && strncmp(at, word, n) == 0)
            return true;
        at += n + (at[n] == ',');
    }
    return false;
}

bool xfs_class_on(enum xfs_apply_class class)
{
    return is_on[class];
}

bool xfs_apply_on(void)
{
    bool any = false;
    for (unsigned i = 0; i < XFS_CLASS_COUNT; i++)
        any |= is_on[i];
    return any;
}

/* ---- the functions ----------------------------------------------------------------------------
 */

enum {
#define XFS_IN_PLACE(symbol, params, args, carried) ID_##symbol,
#include "preload/apply/functions.def"
#undef XFS_IN_PLACE
    FUNCTIONS
};
static xfs_function real_of[FUNCTIONS]; /* written before the function in its place is known */

#define XFS_MOVED(form_, per_thread, stream_, blocking_)                                           \
    (bytes >= xfs_move_least &&                                                                    \
     xfs_move_carried_out(&(struct xfs_move){.form = (form_),                                      \
                                             .real = (xfs_function)real,                           \
                                             .dst = (uint64_t)(uintptr_t)dst,                      \
                                             .src = (uint64_t)(uintptr_t)src,                      \
                                             .bytes = bytes,                                       \
                                             .given = (stream_),                                   \
                                             .stream = xfs_move_stream(stream_, per_thread),       \
                                             .blocking = (blocking_)},                             \
                          &status))

#define XFS_IN_PLACE(symbol, params, args, carried)                                                \
    static int in_##symbol params                                                                  \
    {                                                                                              \
        int(*const real) params = (int(*) params)real_of[ID_##symbol];                             \
        int status = 0;                                                                            \
        if (carried)                                                                               \
            return status;                                                                         \
        return real args;                                                                          \
    }
#include "preload/apply/functions.def"
#undef XFS_IN_PLACE

static const struct {
    const char *symbol;
    xfs_function function;
} rows[] = {
#define XFS_IN_PLACE(symbol, params, args, carried) {#symbol, (xfs_function)in_##symbol},
#include "preload/apply/functions.def"
#undef XFS_IN_PLACE
};

static xfs_function in_place(const char *symbol, xfs_function real)
{
    for (unsigned i = 0; i < FUNCTIONS; i++) {
        if (strcmp(symbol, rows[i].symbol) != 0)
            continue;
        real_of[i] = real;
        return rows[i].function;
    }
    return real;
}

static const char *from_environment(const char *name)
{
    return getenv(name);
}

/* A copy of no bytes is not one. */
static uint64_t least_bytes(void)
{
    struct xfs_settings settings;
    xfs_settings_parse(&settings, from_environment);
    return settings.apply_least > 0 ? settings.apply_least : 1;
}

/* In a set-uid program the environment belongs to another user. What makes no sense is reported
 * with the other settings. */
__attribute__((constructor)) static void begin(void)
{
    const char *text = getenv("XFERSCOPE_APPLY");
    if (text == NULL || strcmp(text, "off") == 0 || getauxval(AT_SECURE))
        return;
    xfs_move_least = least_bytes();
    for (unsigned i = 0; i < XFS_CLASS_COUNT; i++)
        is_on[i] = strcmp(text, "on") == 0 || has_word(text, xfs_class_word(i));
    if (xfs_apply_on())
        xfs_in_place = in_place;
}
