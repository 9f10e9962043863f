/*
 * What has no room in memory: pieces of bytes, packed, in a file without a name. It vanishes with
 * the process. Private to whatif/.
 *
 * The file is in $TMPDIR, else in /var/tmp; on a file system that is memory itself there is none.
 * It leaves as much free on its file system as it takes, so that ranks and others have room beside
 * it, and heeds the process's limit of file sizes.
 */
#ifndef XFW_SPILL_H
#define XFW_SPILL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct xfw_spill;
/* most_bytes: of a piece. NULL: there is no such place. */
struct xfw_spill *xfw_spill_new(size_t most_bytes);
void xfw_spill_free(struct xfw_spill *spill); /* NULL is allowed */

struct xfw_piece { /* where it is in the file */
    off_t at;
    size_t packed, bytes;
};
/* False: there is no more room. */
bool xfw_spill_put(struct xfw_spill *spill, const void *bytes, size_t count,
                   struct xfw_piece *piece);
/* All of its bytes, on any thread. A piece that cannot be read ends the process with one line on
 * stderr. */
void xfw_spill_get(const struct xfw_spill *spill, const struct xfw_piece *piece, void *bytes);

#endif
