#include "preload/unwind/fde.h"

#include <stddef.h>

#include "common/search.h"
#include "preload/unwind/rule.h"

/* DW_EH_PE_*: a pointer's encoding, and its base. */
enum { ABSOLUTE = 0x00, ULEB = 0x01, U2 = 0x02, U4 = 0x03, U8 = 0x04, SLEB = 0x09, S2, S4, S8 };
enum { FORM = 0x0f, FROM_HERE = 0x10, FROM_TABLE = 0x30, OMITTED = 0xff };

static uint64_t read_form(struct xfs_reader *reader, unsigned form)
{
    switch (form) {
    case ABSOLUTE:
    case U8:
    case S8:
        return xfs_read(reader, 8);
    case ULEB:
        return xfs_read_uleb(reader);
    case SLEB:
        return (uint64_t)xfs_read_sleb(reader);
    case U2:
        return xfs_read(reader, 2);
    case U4:
        return xfs_read(reader, 4);
    case S2:
        return (uint64_t)xfs_read_signed(reader, 2);
    case S4:
        return (uint64_t)xfs_read_signed(reader, 4);
    default:
        reader->failed = true;
        return 0;
    }
}

uint64_t xfs_read_pointer(struct xfs_reader *reader, unsigned encoding)
{
    uint64_t here = (uintptr_t)reader->at, value = read_form(reader, encoding & FORM);
    switch (encoding & ~(unsigned)FORM) {
    case 0:
        return value;
    case FROM_HERE:
        return here + value;
    default:
        reader->failed = true;
        return 0;
    }
}

/* ---- CIE and FDE ------------------------------------------------------------------------ */

static struct xfs_reader reader_at(const struct xfs_module *module, uintptr_t address)
{
    size_t bytes = xfs_module_rest(module, address);
    const unsigned char *at = (const unsigned char *)address;
    return (struct xfs_reader){at, at + bytes, bytes == 0};
}

/* The rest of an entry, behind its length; an empty one is the end of them. */
static struct xfs_reader read_entry(struct xfs_reader *reader)
{
    uint64_t bytes = xfs_read(reader, 4);
    if (bytes == UINT32_MAX)
        bytes = xfs_read(reader, 8);
    return xfs_read_part(reader, bytes);
}

/* What the augmentation's letters announce. `fde` learns what matters here. */
static void read_augmentation(const unsigned char *letters, struct xfs_reader data,
                              struct xfs_fde *fde)
{
    for (; *letters && !data.failed; letters++) {
        if (*letters == 'R')
            fde->encoding = (unsigned char)xfs_read(&data, 1);
        else if (*letters == 'S')
            fde->is_signal = true;
        else if (*letters == 'L')
            xfs_read(&data, 1);
        else if (*letters == 'P')
            read_form(&data, (unsigned)xfs_read(&data, 1) & FORM);
        else
            return;
    }
}

static bool read_cie(struct xfs_reader reader, struct xfs_fde *fde)
{
    struct xfs_reader entry = read_entry(&reader);
    uint64_t id = xfs_read(&entry, 4), version = xfs_read(&entry, 1);
    const unsigned char *letters = entry.at;
    while (xfs_read(&entry, 1) != 0)
        ;
    if (entry.failed || id != 0 || (version != 1 && version != 3) ||
        (*letters != '\0' && *letters != 'z'))
        return false;
    fde->code_unit = xfs_read_uleb(&entry);
    fde->data_unit = xfs_read_sleb(&entry);
    uint64_t column = version == 1 ? xfs_read(&entry, 1) : xfs_read_uleb(&entry);
    fde->is_augmented = *letters == 'z';
    if (fde->is_augmented)
        read_augmentation(letters + 1, xfs_read_part(&entry, xfs_read_uleb(&entry)), fde);
    fde->common = entry;
    return !entry.failed && column == XFS_REGISTER_RIP;
}

/* `at` is the entry's start; `fde` has its CIE's part when there is one. */
static bool read_fde(const struct xfs_module *module, uintptr_t at, struct xfs_fde *fde)
{
    struct xfs_reader reader = reader_at(module, at), entry = read_entry(&reader);
    uintptr_t here = (uintptr_t)entry.at;
    uint64_t back = xfs_read(&entry, 4);
    *fde = (struct xfs_fde){0};
    if (entry.failed || back == 0 || !read_cie(reader_at(module, here - back), fde))
        return false;
    fde->start = xfs_read_pointer(&entry, fde->encoding);
    fde->end = fde->start + read_form(&entry, fde->encoding & FORM);
    if (fde->is_augmented)
        xfs_read_part(&entry, xfs_read_uleb(&entry));
    fde->program = entry;
    return !entry.failed;
}

/* ---- which one -------------------------------------------------------------------------- */

/* A row of the table in .eh_frame_hdr, both relative to the header. */
struct row {
    int32_t code, entry;
};

static bool begins_before(const void *item, const void *key)
{
    struct row row;
    memcpy(&row, item, sizeof row);
    return row.code <= *(const int64_t *)key;
}

/* The entry that the sorted table has for the instruction; 0: none. */
static uintptr_t look_up(struct xfs_reader table, uint64_t rows, uintptr_t header, uintptr_t pc)
{
    struct row row;
    int64_t key = (int64_t)(pc - header);
    if (table.failed || rows > (uint64_t)(table.end - table.at) / sizeof row)
        return 0;
    size_t behind = xfc_partition(table.at, rows, sizeof row, begins_before, &key);
    if (behind == 0)
        return 0;
    memcpy(&row, table.at + (behind - 1) * sizeof row, sizeof row);
    return header + (uintptr_t)(intptr_t)row.entry;
}

static bool covers(const struct xfs_fde *fde, uintptr_t pc)
{
    return pc >= fde->start && pc < fde->end;
}

/* Without the linker's sorted table: a linear search. */
static bool look_through(const struct xfs_module *module, uintptr_t frames, uintptr_t pc,
                         struct xfs_fde *fde)
{
    struct xfs_reader all = reader_at(module, frames);
    while (!xfs_reader_is_done(&all)) {
        uintptr_t at = (uintptr_t)all.at;
        struct xfs_reader entry = read_entry(&all);
        if (entry.at == entry.end)
            return false;
        if (read_fde(module, at, fde) && covers(fde, pc))
            return true;
    }
    return false;
}

bool xfs_fde_find(const struct xfs_module *module, uintptr_t pc, struct xfs_fde *fde)
{
    uintptr_t header = (uintptr_t)module->frames;
    if (header == 0)
        return false;
    struct xfs_reader reader = reader_at(module, header);
    uint64_t version = xfs_read(&reader, 1);
    unsigned of_frames = (unsigned)xfs_read(&reader, 1), of_count = (unsigned)xfs_read(&reader, 1),
             of_table = (unsigned)xfs_read(&reader, 1);
    if (reader.failed || version != 1)
        return false;
    uintptr_t frames = xfs_read_pointer(&reader, of_frames);
    if (of_table != (FROM_TABLE | S4) || of_count == OMITTED)
        return !reader.failed && look_through(module, frames, pc, fde);
    uint64_t rows = read_form(&reader, of_count & FORM);
    uintptr_t at = look_up(reader, rows, header, pc);
    return at && read_fde(module, at, fde) && covers(fde, pc);
}
