/*
 * Line tables of CPython's code objects: which source line an instruction belongs to. Any bytes
 * are taken without reading beyond them.
 */
#ifndef XFS_PYTHON_LINES_H
#define XFS_PYTHON_LINES_H

#include <stddef.h>
#include <stdint.h>

/*
 * The line of the instruction at this byte offset; 0 when the table gives none. first_line is
 * co_firstlineno. Formats: PEP 626's co_linetable (3.10); the location table of 3.11 and later, in
 * which every entry begins with a byte that has bit 7 set.
 */
uint32_t xfs_python_line_310(const uint8_t *table, size_t bytes, int32_t first_line,
                             int64_t offset);
uint32_t xfs_python_line_311(const uint8_t *table, size_t bytes, int32_t first_line,
                             int64_t offset);

#endif
