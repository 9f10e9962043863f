/*
 * Names and lines for addresses in modules, from the modules' symbol tables and debug information
 * (elfutils): for the recorder, and for the analyzer of a trace without names.
 *
 * A module is used only when its file is a regular one and still has the build id that was mapped.
 * No debug information is fetched from the network, and no file that a trace names can block the
 * look-up (debug_files.h).
 */
#ifndef XFS_SYMBOLS_H
#define XFS_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/address_info.h"

/*
 * The cache of a run's modules (known_modules.h), used for its processes one after the other: a
 * place that was looked up before is not looked up again.
 */
struct xfs_known;
struct xfs_known *xfs_known_new(void); /* NULL: out of memory */
void xfs_known_free(struct xfs_known *known);

/* Work done so far, for tests. */
struct xfs_known_counts {
    uint64_t opened;    /* files of modules */
    uint64_t looked_up; /* places in them */
};
struct xfs_known_counts xfs_known_counts(const struct xfs_known *known);

/* Of one process. */
struct xfs_symbols_wanted {
    const struct xfs_loaded_module *modules; /* as they were mapped: where two overlap, the later */
    size_t module_count;
    const uint64_t *addresses; /* return addresses, in any order; those of Python frames are left
                                  out */
    size_t address_count;
    uint64_t start_real_ns; /* a file without build id is used only when it is older */
};

/*
 * The names and lines of the addresses, as the payload of a SYMBOLS segment (struct xft_symbol
 * ...): *payload, which the caller frees with free(), of *bytes. True when it got through; false
 * when *stop became non-zero or memory ran out, with nothing to free. `known` NULL: with its own
 * cache.
 *
 * At most 2^18 addresses are looked up and 32 MiB of names are made.
 */
bool xfs_symbols_name(struct xfs_known *known, const struct xfs_symbols_wanted *wanted,
                      const int *stop, void **payload, size_t *bytes);

#endif
