#include "preload/python/python_lines.h"

#include <stdbool.h>

static uint32_t valid(int64_t line)
{
    return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

uint32_t xfs_python_line_310(const uint8_t *table, size_t bytes, int32_t first_line, int64_t offset)
{
    int64_t line = first_line, end = 0;
    for (size_t i = 0; i + 1 < bytes; i += 2) {
        int8_t delta = (int8_t)table[i + 1];
        bool none = delta == -128;
        end += table[i];
        line += none ? 0 : delta;
        if (offset < end)
            return none ? 0 : valid(line);
    }
    return 0;
}

/* Six bits in each byte, the lowest first; bit 6 says that more follow; bit 0 of the number is its
 * sign. */
static int64_t signed_number(const uint8_t *table, size_t bytes, size_t at)
{
    uint64_t number = 0;
    unsigned shift = 0;
    while (at < bytes) {
        uint8_t byte = table[at++];
        number |= (uint64_t)(byte & 63) << shift;
        shift += 6;
        if (!(byte & 64) || shift > 36)
            break;
    }
    int64_t half = (int64_t)(number >> 1);
    return number & 1 ? -half : half;
}

/* How far the line moves at the entry that begins at `at`; *none: the entry has no line. */
static int64_t line_delta(const uint8_t *table, size_t bytes, size_t at, bool *none)
{
    enum { ONE_LINE_0 = 10, ONE_LINE_2 = 12, NO_COLUMNS = 13, LONG = 14, NONE = 15 };
    unsigned code = table[at] >> 3 & 15;
    *none = code == NONE;
    if (code == NO_COLUMNS || code == LONG)
        return signed_number(table, bytes, at + 1);
    return code >= ONE_LINE_0 && code <= ONE_LINE_2 ? (int64_t)code - ONE_LINE_0 : 0;
}

uint32_t xfs_python_line_311(const uint8_t *table, size_t bytes, int32_t first_line, int64_t offset)
{
    int64_t line = first_line, end = 0;
    size_t at = 0;
    while (at < bytes) {
        bool none;
        if (!(table[at] & 128))
            return 0;
        line += line_delta(table, bytes, at, &none);
        end += (int64_t)2 * ((table[at] & 7) + 1);
        if (offset < end)
            return none ? 0 : valid(line);
        for (at++; at < bytes && !(table[at] & 128);)
            at++;
    }
    return 0;
}
