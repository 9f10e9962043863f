/*
 * One module's names and lines, through elfutils' libdwfl.
 */
#ifndef XFS_ADDRESS_INFO_H
#define XFS_ADDRESS_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct xfs_loaded_module { /* as MODULES has it */
    uint64_t start, end, bias;
    char *path;
    unsigned char *build_id;
    size_t build_id_bytes;
};

/* Payload of a SYMBOLS segment, growing; the caller frees bytes. */
struct xfs_symbol_list {
    unsigned char *bytes;
    size_t count, room;
    bool failed; /* memory ran out */
};

struct xfs_session;

/*
 * Opens a module's file, for addresses relative to the file (bias 0), so that it serves every
 * process that has it loaded. NULL when it cannot be used: missing, not a regular ELF file, or not
 * the one that was mapped (its build id differs; without one, the caller compares times).
 */
struct xfs_session *xfs_session_open(const struct xfs_loaded_module *module);
void xfs_session_close(struct xfs_session *session); /* NULL is allowed */

/* Number of functions in its table, once one was looked up: a measure of its memory. */
size_t xfs_session_functions(const struct xfs_session *session);

/* Appends what is known of a return address, inlined frames included; at least the module. The
 * entries' address is 0. */
void xfs_session_resolve(struct xfs_session *session, uint64_t address,
                         struct xfs_symbol_list *out);

/* One entry of which nothing but the module is known. */
void xfs_symbol_unknown(const char *path, uint64_t address, struct xfs_symbol_list *out);

void xfs_symbol_append(struct xfs_symbol_list *out, const void *bytes, size_t n);

#endif
