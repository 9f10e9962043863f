/*
 * The names that are looked up: the rows of the table of calls, and functions with a wrapper of
 * their own. Defined in preload/intercept/.
 */
#ifndef XFS_ROWS_H
#define XFS_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct xfs_row {
    const char *symbol; /* exported name */
    uint8_t level;      /* enum xft_level */
    uint8_t version;    /* node libcudart.so.N, 0 = any */
    bool moves;         /* it can move data */
    void (*wrapper)(void);
};
#define XFS_ROWS_MOST 1024
extern const struct xfs_row xfs_rows[];
extern const unsigned xfs_row_count;

/* MPI's and NCCL's functions (preload/messages/): their numbers follow those that the rows above
 * can have. */
extern const struct xfs_row xfs_message_rows[];
extern const unsigned xfs_message_row_count;

static inline const struct xfs_row *xfs_row_of(unsigned call)
{
    return call < XFS_ROWS_MOST ? &xfs_rows[call] : &xfs_message_rows[call - XFS_ROWS_MOST];
}

/* Functions that record nothing but return addresses of others. */
struct xfs_special {
    const char *symbol;
    bool driver; /* libcuda's, which hands it out as well */
    void (*wrapper)(void);
    void (*learn)(void *real); /* gets the real function that dlsym found, where no library depends
                                  on it; else NULL */
};
extern const struct xfs_special xfs_specials[];
extern const size_t xfs_special_count;

#endif
