/*
 * The recorder's settings, from the environment variables of settings.def, parsed once per process;
 * a value that cannot be parsed is reported in one line and replaced by its default.
 *
 * In a set-uid program (AT_SECURE) the environment belongs to another user: recording is off.
 */
#ifndef XFS_SETTINGS_H
#define XFS_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define XFS_TEXT_BYTES 4096
#define XFS_WORD_BYTES 64
#define XFS_NAME_BYTES 256
#define XFS_LEAST_SIZE (UINT64_C(1) << 20) /* most_bytes, where it is not 0 */

typedef bool xfs_type_BOOL;
typedef char xfs_type_TEXT[XFS_TEXT_BYTES];
typedef char xfs_type_NAME[XFS_NAME_BYTES];
typedef char xfs_type_WORD[XFS_WORD_BYTES];
typedef uint64_t xfs_type_BYTES;
typedef uint64_t xfs_type_SECONDS; /* ns */
typedef uint32_t xfs_type_COUNT;
typedef int xfs_type_CHOICE; /* index of the word in its list */

struct xfs_settings {
#define X(variable, field, type, default_text, meaning) xfs_type_##type field;
#include "preload/base/settings.def"
#undef X
};

/* Valid for the life of the process. The first call must not be made by two threads at once:
 * xfs_record_ready() makes it. */
const struct xfs_settings *xfs_settings(void);

/* The value of a variable that is in effect; NULL: it is not set. For what is decided before
 * recording begins. */
const char *xfs_settings_text(const char *name);

/* Reads all settings through `get`, which is like getenv; false when one was bad. For tests. */
bool xfs_settings_parse(struct xfs_settings *settings, const char *(*get)(const char *name));

#endif
