/*
 * Opens the files that a trace names: modules, and the debug files that modules name. A trace may
 * come from anywhere: it must neither block its reader nor make it read a device.
 */
#ifndef XFS_DEBUG_FILES_H
#define XFS_DEBUG_FILES_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <sys/stat.h>

/*
 * A descriptor of a regular file that begins as a 64-bit ELF file does, and what it is; -1 for
 * anything else: pipes, devices, sockets, directories, files of /proc, /sys and their like, packed
 * images, relative paths. Never blocks on any of them, and does not touch devices.
 */
int xfs_elf_open(const char *path, struct stat *info);

/* The same of any regular file. */
int xfs_plain_open(const char *path, struct stat *info);

/* Whether the path is such a file; opens nothing else. *info: its state. */
bool xfs_is_plain_file(const char *path, struct stat *info);

/* For Dwfl_Callbacks: by build id below /usr/lib/debug, then by the name in .gnu_debuglink. Nothing
 * comes from the network. */
int xfs_find_debuginfo(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
                       const char *file, const char *link, GElf_Word crc, char **path);

#endif
