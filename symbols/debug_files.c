#include "symbols/debug_files.h"

#include <elf.h>
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <libelf.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#define DEBUG_ROOT "/usr/lib/debug"

/* ---- opening ---------------------------------------------------------------------------- */

/* File systems whose regular files are generated when read, or are endless. */
static bool is_invented(const char *path)
{
    static const uint32_t invented[] = {PROC_SUPER_MAGIC, SYSFS_MAGIC,        DEBUGFS_MAGIC,
                                        TRACEFS_MAGIC,    CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC,
                                        SECURITYFS_MAGIC, EFIVARFS_MAGIC,     BPF_FS_MAGIC,
                                        SELINUX_MAGIC,    PSTOREFS_MAGIC};
    struct statfs system;
    if (statfs(path, &system) != 0)
        return true;
    for (size_t i = 0; i < sizeof invented / sizeof *invented; i++)
        if ((uint32_t)system.f_type == invented[i])
            return true;
    return false;
}

static bool is_plain(const char *path, struct stat *info)
{
    return path[0] == '/' && stat(path, info) == 0 && S_ISREG(info->st_mode) && !is_invented(path);
}

bool xfs_is_plain_file(const char *path, struct stat *info)
{
    return is_plain(path, info) && info->st_size >= (off_t)sizeof(Elf64_Ehdr);
}

/* The name may refer to another file since it was checked: the opened descriptor is checked again,
 * and the flags keep open() from blocking. */
int xfs_plain_open(const char *path, struct stat *info)
{
    struct stat opened;
    if (!is_plain(path, info))
        return -1;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return -1;
    if (fstat(fd, &opened) == 0 && opened.st_dev == info->st_dev && opened.st_ino == info->st_ino &&
        S_ISREG(opened.st_mode)) {
        *info = opened;
        return fd;
    }
    close(fd);
    return -1;
}

int xfs_elf_open(const char *path, struct stat *info)
{
    unsigned char ident[EI_NIDENT];
    int fd = xfs_plain_open(path, info);
    if (fd >= 0 && pread(fd, ident, sizeof ident, 0) == (ssize_t)sizeof ident &&
        memcmp(ident, ELFMAG, SELFMAG) == 0 && ident[EI_CLASS] == ELFCLASS64)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* ---- is it the right one? --------------------------------------------------------------- */

struct identity {
    const unsigned char *build_id;
    int build_id_bytes; /* 0: the checksum decides */
    uint32_t crc;
};

/* Of .gnu_debuglink: the reversed polynomial 0xedb88320. */
static bool has_crc(int fd, uint32_t wanted)
{
    static uint32_t table[256];
    unsigned char block[65536];
    uint32_t crc = UINT32_MAX;
    ssize_t n;
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t value = i;
        for (int bit = 0; bit < 8; bit++)
            value = value & 1 ? value >> 1 ^ 0xedb88320u : value >> 1;
        table[i] = value;
    }
    for (off_t at = 0; (n = pread(fd, block, sizeof block, at)) > 0; at += n)
        for (ssize_t i = 0; i < n; i++)
            crc = crc >> 8 ^ table[(crc ^ block[i]) & 255];
    return n == 0 && ~crc == wanted;
}

static bool has_build_id(int fd, const struct identity *wanted)
{
    const void *id = NULL;
    Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    ssize_t n = elf ? dwelf_elf_gnu_build_id(elf, &id) : -1;
    bool same = n == wanted->build_id_bytes && memcmp(id, wanted->build_id, (size_t)n) == 0;
    elf_end(elf);
    return same;
}

/* Takes the path when the file is the wanted one. */
static int open_debug(const char *path, const struct identity *wanted, char **taken)
{
    struct stat info;
    int fd = xfs_elf_open(path, &info);
    if (fd < 0)
        return -1;
    bool right = wanted->build_id_bytes > 0 ? has_build_id(fd, wanted) : has_crc(fd, wanted->crc);
    if (right && (*taken = strdup(path)) != NULL)
        return fd;
    close(fd);
    return -1;
}

/* ---- where debug files are -------------------------------------------------------------- */

static int find_by_build_id(const struct identity *wanted, char **taken)
{
    char path[sizeof DEBUG_ROOT + 160];
    int n = snprintf(path, sizeof path, "%s/.build-id/", DEBUG_ROOT);
    if (wanted->build_id_bytes < 2 || wanted->build_id_bytes > 64)
        return -1;
    for (int i = 0; i < wanted->build_id_bytes; i++)
        n += snprintf(path + n, sizeof path - (size_t)n, i == 0 ? "%02x/" : "%02x",
                      wanted->build_id[i]);
    snprintf(path + n, sizeof path - (size_t)n, ".debug");
    return open_debug(path, wanted, taken);
}

static int find_beside(const char *file, const char *link, const struct identity *wanted,
                       char **taken)
{
    static const char *const forms[] = {"%.*s/%s", "%.*s/.debug/%s", DEBUG_ROOT "%.*s/%s"};
    char path[2 * PATH_MAX];
    const char *slash = strrchr(file, '/');
    int fd = -1, directory = slash ? (int)(slash - file) : 0;
    for (size_t i = 0; fd < 0 && slash && i < sizeof forms / sizeof *forms; i++) {
        int n = snprintf(path, sizeof path, forms[i], directory, file, link);
        if (n > 0 && (size_t)n < sizeof path && strcmp(path, file) != 0)
            fd = open_debug(path, wanted, taken);
    }
    return fd;
}

static int find_by_link(const char *file, const char *link, const struct identity *wanted,
                        char **taken)
{
    int fd = find_beside(file, link, wanted, taken);
    char *real = fd < 0 ? realpath(file, NULL) : NULL;
    if (real && strcmp(real, file) != 0)
        fd = find_beside(real, link, wanted, taken);
    free(real);
    return fd;
}

/* The file that several debug files share (dwz). libdwfl's search finds the right one, but may use
 * the network if that is configured: it runs only when there is a plain file to find. */
static int find_shared(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
                       const char *file, const char *link, char **taken)
{
    char path[2 * PATH_MAX];
    struct stat info;
    const char *slash = strrchr(file, '/');
    int directory = slash && link[0] != '/' ? (int)(slash + 1 - file) : 0;
    int n = snprintf(path, sizeof path, "%.*s%s", directory, file, link);
    if (n <= 0 || (size_t)n >= sizeof path || !xfs_is_plain_file(path, &info) ||
        getenv("DEBUGINFOD_URLS") != NULL)
        return -1;
    return dwfl_standard_find_debuginfo(module, data, name, base, file, link, 0, taken);
}

int xfs_find_debuginfo(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
                       const char *file, const char *link, GElf_Word crc, char **path)
{
    struct identity wanted = {.crc = crc};
    GElf_Addr where;
    if (file == NULL)
        return -1;
    if (link && crc == 0)
        return find_shared(module, data, name, base, file, link, path);
    wanted.build_id_bytes = dwfl_module_build_id(module, &wanted.build_id, &where);
    int fd = find_by_build_id(&wanted, path);
    if (fd < 0 && link && strchr(link, '/') == NULL)
        fd = find_by_link(file, link, &wanted, path);
    return fd;
}
