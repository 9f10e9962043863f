/*
 * Names and lines for the addresses in a trace's stacks, from the modules' symbol tables and debug
 * information (elfutils). Lives in a module of its own, so that elfutils is loaded only when
 * recording ends.
 *
 * A module is used only when its file is a regular one and still has the build id that was mapped.
 * No debug information is fetched from the network, and nothing that a trace names can make the
 * look-up wait (debug_files.h).
 */
#ifndef XFS_SYMBOLS_H
#define XFS_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define XFS_SYMBOLS_MODULE "libxferscope-symbols.so"

/* ZSTD_decompress. */
typedef size_t xfs_decompress_function(void *out, size_t capacity, const void *in, size_t bytes);

/*
 * Resolves every address in STACKS of the mapped trace file into the payload of a SYMBOLS segment
 * (struct xft_symbol ...): *payload, which the caller frees with free(), of *bytes. True when it
 * got through; false when *stop became non-zero or memory ran out, with nothing to free. Packed
 * segments are read only with `decompress`; a recorder's own file has none, and passes NULL.
 *
 * At most 2^18 addresses are looked up and 32 MiB of names are made, whatever the file holds.
 */
typedef bool xfs_symbols_function(const void *file, size_t size,
                                  xfs_decompress_function *decompress, const int *stop,
                                  void **payload, size_t *bytes);
#ifndef XFS_SYMBOLS_EXPORT
#define XFS_SYMBOLS_EXPORT /* the module exports it */
#endif
XFS_SYMBOLS_EXPORT xfs_symbols_function xfs_symbols_resolve;

/*
 * What is known of the modules of a run (known_modules.h), for completing its files one after the
 * other: of a file whose modules were seen before, nothing is opened and nothing looked up.
 */
struct xfs_known;
struct xfs_known *xfs_known_new(void); /* NULL: out of memory */
void xfs_known_free(struct xfs_known *known);

/* What was done so far, for tests and for the curious. */
struct xfs_known_counts {
    uint64_t opened;    /* files of modules */
    uint64_t looked_up; /* places in them */
};
struct xfs_known_counts xfs_known_counts(const struct xfs_known *known);

/* xfs_symbols_resolve() with it; NULL: with one of its own. */
bool xfs_symbols_resolve_known(struct xfs_known *known, const void *file, size_t size,
                               xfs_decompress_function *decompress, const int *stop, void **payload,
                               size_t *bytes);

/*
 * Finishes the file of a process that is dead: slabs become EVENTS, stacks get their symbols, the
 * file is replaced as a whole (rewrite.h). A file that is closed and has symbols, or wants none, is
 * left alone. Returns 0, or -1 with one line in `error`; the file is then as it was. A file whose
 * process still maps it is an error. What is damaged in the file is left behind, and counted in the
 * new one's header.
 */
int xfs_finish_file(const char *path, bool symbols, char *error, size_t error_bytes);

/* The same for one of many files; NULL: no names are wanted. */
int xfs_finish_file_known(const char *path, struct xfs_known *known, char *error,
                          size_t error_bytes);

#endif
