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
 * A module whose file is missing, or is another one than was mapped (its build id differs, or,
 * having none, it is younger than the recording), makes a session without names. NULL only when
 * memory runs out.
 */
struct xfs_session *xfs_session_open(const struct xfs_loaded_module *module,
                                     uint64_t start_real_ns);
void xfs_session_close(struct xfs_session *session); /* NULL is allowed */

/* Appends what is known of a return address, inlined frames included; at least the module. */
void xfs_session_resolve(struct xfs_session *session, uint64_t address,
                         struct xfs_symbol_list *out);

#endif
