/*
 * SQLite writing to a file that has no name yet (base/files.h): a VFS over one descriptor. The
 * database has no other user and no journal: when it cannot be written whole it is given up.
 */
#ifndef XFA_SQLITE_FILE_H
#define XFA_SQLITE_FILE_H

#include <sqlite3.h>

struct xfa_sqlite_file {
    int fd;
    int error; /* errno of the first write that failed; 0 */
    sqlite3_vfs vfs;
};

/* Opens an empty database there; NULL: it cannot. `file` lives until xfa_sqlite_file_close(). */
sqlite3 *xfa_sqlite_file_open(struct xfa_sqlite_file *file, int fd);
void xfa_sqlite_file_close(struct xfa_sqlite_file *file, sqlite3 *database);

#endif
