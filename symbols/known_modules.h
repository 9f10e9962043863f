/*
 * A cache of the modules of a run: each file is opened once for all processes that had it loaded,
 * and each place in it is looked up once. Not thread-safe.
 *
 * Keyed by path, build id, and the file's identity (device, inode, size, times): a file that was
 * replaced meanwhile is another one. Memory is bounded: names are kept up to 64 MiB, then all are
 * dropped; open files up to 16, and up to 1 GiB and 4 million functions of them, the least recently
 * used are closed first.
 */
#ifndef XFS_KNOWN_MODULES_H
#define XFS_KNOWN_MODULES_H

#include <stddef.h>
#include <stdint.h>

#include "symbols/address_info.h"
#include "symbols/symbols.h"

struct xfs_known_module;

/* NULL only when memory runs out. Valid until the next call of this function. */
struct xfs_known_module *xfs_known_module(struct xfs_known *known,
                                          const struct xfs_loaded_module *module);

/*
 * Appends what is known of a return address of that module, at least the module itself. A module
 * whose file cannot be used has no names, nor has one without a build id whose file is younger than
 * the recording.
 */
void xfs_known_resolve(struct xfs_known *known, struct xfs_known_module *at,
                       const struct xfs_loaded_module *module, uint64_t start_real_ns,
                       uint64_t address, struct xfs_symbol_list *out);

#endif
