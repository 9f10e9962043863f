#include "analyzer/export/sqlite_file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct opened {
    sqlite3_file base;
    struct xfa_sqlite_file *file;
};

static struct xfa_sqlite_file *file_of(sqlite3_file *opened)
{
    return ((struct opened *)opened)->file;
}

static int failed(struct xfa_sqlite_file *file)
{
    if (file->error == 0)
        file->error = errno;
    return errno == ENOSPC || errno == EDQUOT ? SQLITE_FULL : SQLITE_IOERR_WRITE;
}

static int close_file(sqlite3_file *opened)
{
    return SQLITE_OK;
}

static int read_file(sqlite3_file *opened, void *bytes, int count, sqlite3_int64 at)
{
    char *to = bytes;
    int left = count;
    while (left > 0) {
        ssize_t n = pread(file_of(opened)->fd, to, (size_t)left, at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return SQLITE_IOERR_READ;
        if (n == 0)
            break;
        to += n;
        at += n;
        left -= (int)n;
    }
    memset(to, 0, (size_t)left);
    return left ? SQLITE_IOERR_SHORT_READ : SQLITE_OK;
}

static int write_file(sqlite3_file *opened, const void *bytes, int count, sqlite3_int64 at)
{
    const char *from = bytes;
    while (count > 0) {
        ssize_t n = pwrite(file_of(opened)->fd, from, (size_t)count, at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            errno = ENOSPC;
        if (n <= 0)
            return failed(file_of(opened));
        from += n;
        at += n;
        count -= (int)n;
    }
    return SQLITE_OK;
}

static int truncate_file(sqlite3_file *opened, sqlite3_int64 bytes)
{
    return ftruncate(file_of(opened)->fd, bytes) == 0 ? SQLITE_OK : failed(file_of(opened));
}

/* The code that replaces the old file syncs it to disk. */
static int sync_file(sqlite3_file *opened, int flags)
{
    return SQLITE_OK;
}

static int size_of_file(sqlite3_file *opened, sqlite3_int64 *bytes)
{
    struct stat status;
    if (fstat(file_of(opened)->fd, &status) != 0)
        return SQLITE_IOERR_FSTAT;
    *bytes = status.st_size;
    return SQLITE_OK;
}

static int lock_file(sqlite3_file *opened, int how)
{
    return SQLITE_OK;
}

static int check_lock(sqlite3_file *opened, int *locked)
{
    *locked = 0;
    return SQLITE_OK;
}

static int control_file(sqlite3_file *opened, int what, void *argument)
{
    return SQLITE_NOTFOUND;
}

static int sector_size(sqlite3_file *opened)
{
    return 4096;
}

static int characteristics(sqlite3_file *opened)
{
    return 0;
}

static const sqlite3_io_methods methods = {
    .iVersion = 1,
    .xClose = close_file,
    .xRead = read_file,
    .xWrite = write_file,
    .xTruncate = truncate_file,
    .xSync = sync_file,
    .xFileSize = size_of_file,
    .xLock = lock_file,
    .xUnlock = lock_file,
    .xCheckReservedLock = check_lock,
    .xFileControl = control_file,
    .xSectorSize = sector_size,
    .xDeviceCharacteristics = characteristics,
};

/* The database alone: there is no journal, and what is temporary stays in memory. */
static int open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *opened, int flags,
                     int *out_flags)
{
    opened->pMethods = NULL;
    if (!(flags & SQLITE_OPEN_MAIN_DB))
        return SQLITE_CANTOPEN;
    opened->pMethods = &methods;
    ((struct opened *)opened)->file = vfs->pAppData;
    if (out_flags)
        *out_flags = flags;
    return SQLITE_OK;
}

static int access_file(sqlite3_vfs *vfs, const char *name, int flags, int *result)
{
    *result = 0;
    return SQLITE_OK;
}

static int delete_file(sqlite3_vfs *vfs, const char *name, int sync)
{
    return SQLITE_OK;
}

static int full_path(sqlite3_vfs *vfs, const char *name, int room, char *path)
{
    sqlite3_snprintf(room, path, "%s", name);
    return SQLITE_OK;
}

sqlite3 *xfa_sqlite_file_open(struct xfa_sqlite_file *file, int fd)
{
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); /* a lock each time that memory is asked for */
    const sqlite3_vfs *usual = sqlite3_vfs_find(NULL);
    sqlite3 *database = NULL;
    if (!usual)
        return NULL;
    *file = (struct xfa_sqlite_file){.fd = fd, .vfs = *usual};
    file->vfs.zName = "xferscope";
    file->vfs.pNext = NULL;
    file->vfs.szOsFile = sizeof(struct opened);
    file->vfs.pAppData = file;
    file->vfs.xOpen = open_file;
    file->vfs.xAccess = access_file;
    file->vfs.xDelete = delete_file;
    file->vfs.xFullPathname = full_path;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    if (sqlite3_vfs_register(&file->vfs, 0) != SQLITE_OK)
        return NULL;
    if (sqlite3_open_v2("export", &database, flags, file->vfs.zName) == SQLITE_OK)
        return database;
    xfa_sqlite_file_close(file, database);
    return NULL;
}

void xfa_sqlite_file_close(struct xfa_sqlite_file *file, sqlite3 *database)
{
    sqlite3_close(database);
    sqlite3_vfs_unregister(&file->vfs);
}
