#define XXH_INLINE_ALL
#include "preload/python/python_memory.h"

#include <string.h>
#include <sys/uio.h>
#include <xxhash.h>

#define LOWEST_ADDRESS 4096
#define HIGHEST_ADDRESS (UINT64_C(1) << 47)
#define MOST_UNITS (1u << 24)
#define SAMPLE_BYTES 128

/* ---- reading ---------------------------------------------------------------------------- */

void xfs_python_read_begin(struct xfs_python_reader *reader, struct xfs_python_habit *habit)
{
    struct iovec from[XFS_PYTHON_READS], to = {reader->data, 0};
    reader->habit = NULL;
    reader->next = 0;
    reader->used = reader->fetched = 0;
    if (reader->pid == 0 || habit == NULL ||
        atomic_flag_test_and_set_explicit(&habit->busy, memory_order_acquire))
        return;
    reader->habit = habit;
    for (uint32_t i = 0; i < habit->count; i++) {
        from[i] = (struct iovec){(void *)habit->reads[i].at, habit->reads[i].bytes};
        to.iov_len += habit->reads[i].bytes;
    }
    ssize_t n = habit->count ? process_vm_readv(reader->pid, &to, 1, from, habit->count, 0) : 0;
    reader->fetched = n > 0 ? (size_t)n : 0;
}

void xfs_python_read_end(struct xfs_python_reader *reader)
{
    if (reader->habit == NULL)
        return;
    reader->habit->count = reader->next;
    atomic_flag_clear_explicit(&reader->habit->busy, memory_order_release);
}

/* True when the habit foresaw this read. From the first one that it did not foresee, it is recorded
 * again. */
static bool foreseen(struct xfs_python_reader *reader, uintptr_t at, void *out, size_t bytes)
{
    struct xfs_python_habit *habit = reader->habit;
    uint32_t i = reader->next;
    if (habit == NULL || i == XFS_PYTHON_READS || reader->used + bytes > XFS_PYTHON_READ_BYTES)
        return false;
    bool same = i < habit->count && habit->reads[i].at == at && habit->reads[i].bytes == bytes &&
                reader->used + bytes <= reader->fetched;
    if (same) {
        memcpy(out, reader->data + reader->used, bytes);
    } else {
        habit->reads[i].at = at;
        habit->reads[i].bytes = bytes;
        habit->count = reader->fetched = 0;
    }
    reader->next++;
    reader->used += bytes;
    return same;
}

bool xfs_python_read(struct xfs_python_reader *reader, uintptr_t at, void *out, size_t bytes)
{
    if (at < LOWEST_ADDRESS || at >= HIGHEST_ADDRESS || bytes > HIGHEST_ADDRESS - at)
        return false;
    if (reader->pid == 0) {
        memcpy(out, (const void *)at, bytes);
        return true;
    }
    if (foreseen(reader, at, out, bytes))
        return true;
    struct iovec to = {out, bytes}, from = {(void *)at, bytes};
    return process_vm_readv(reader->pid, &to, 1, &from, 1, 0) == (ssize_t)bytes;
}

/* ---- objects ---------------------------------------------------------------------------- */

static bool read_head(struct xfs_python_reader *reader, uintptr_t object, uintptr_t type,
                      unsigned char *head, size_t bytes)
{
    uintptr_t found;
    if (object % sizeof(void *) || !xfs_python_read(reader, object, head, bytes))
        return false;
    memcpy(&found, head + XFS_PYTHON_TYPE, sizeof found);
    return found == type;
}

bool xfs_python_string(struct xfs_python_reader *reader, uintptr_t object,
                       struct xfs_python_content *content)
{
    const struct xfs_python_layout *layout = &reader->python->layout;
    unsigned char head[XFS_PYTHON_STATE + sizeof(uint32_t)];
    int64_t length;
    uint32_t state;
    if (!read_head(reader, object, reader->python->string_type, head, sizeof head))
        return false;
    memcpy(&length, head + XFS_PYTHON_LENGTH, sizeof length);
    memcpy(&state, head + XFS_PYTHON_STATE, sizeof state);
    bool compact = state >> 5 & 1, ascii = state >> 6 & 1;
    content->kind = state >> 2 & 7;
    content->units = (size_t)length;
    content->at = object + (ascii ? layout->ascii_bytes : layout->compact_bytes);
    bool known = content->kind == 1 || (!ascii && (content->kind == 2 || content->kind == 4));
    return compact && known && length >= 0 && length <= MOST_UNITS;
}

bool xfs_python_bytes(struct xfs_python_reader *reader, uintptr_t object,
                      struct xfs_python_content *content)
{
    unsigned char head[XFS_PYTHON_SIZE + sizeof(int64_t)];
    int64_t size;
    if (!read_head(reader, object, reader->python->bytes_type, head, sizeof head))
        return false;
    memcpy(&size, head + XFS_PYTHON_SIZE, sizeof size);
    *content = (struct xfs_python_content){object + XFS_PYTHON_BYTES, (size_t)size, 1};
    return size >= 0 && size <= MOST_UNITS;
}

bool xfs_python_sample(struct xfs_python_reader *reader, const struct xfs_python_content *content,
                       uint64_t *hash)
{
    unsigned char sample[2 * SAMPLE_BYTES];
    size_t bytes = content->units * content->kind, n = bytes;
    bool good;
    if (n <= sizeof sample) {
        good = xfs_python_read(reader, content->at, sample, n);
    } else {
        n = sizeof sample;
        good = xfs_python_read(reader, content->at, sample, SAMPLE_BYTES) &&
               xfs_python_read(reader, content->at + bytes - SAMPLE_BYTES, sample + SAMPLE_BYTES,
                               SAMPLE_BYTES);
    }
    *hash = good ? XXH3_64bits_withSeed(sample, n, bytes) : 0;
    return good;
}

/* ---- text ------------------------------------------------------------------------------- */

/* Python stores a byte of a file name that is not UTF-8 as U+DC80 ... U+DCFF: it becomes that byte
 * again. */
static char *put_utf8(char *out, uint32_t c)
{
    if (c < 0x80 || (c >= 0xdc80 && c <= 0xdcff)) {
        *out++ = (char)c;
    } else if (c < 0x800) {
        *out++ = (char)(0xc0 | c >> 6);
        *out++ = (char)(0x80 | (c & 63));
    } else if (c < 0x10000) {
        *out++ = (char)(0xe0 | c >> 12);
        *out++ = (char)(0x80 | (c >> 6 & 63));
        *out++ = (char)(0x80 | (c & 63));
    } else {
        *out++ = (char)(0xf0 | (c >> 18 & 7));
        *out++ = (char)(0x80 | (c >> 12 & 63));
        *out++ = (char)(0x80 | (c >> 6 & 63));
        *out++ = (char)(0x80 | (c & 63));
    }
    return out;
}

bool xfs_python_text(struct xfs_python_reader *reader, const struct xfs_python_content *content,
                     bool tail, char *out, uint32_t *bytes)
{
    unsigned char units[4 * XFS_PYTHON_TEXT];
    size_t n = content->units < XFS_PYTHON_TEXT ? content->units : XFS_PYTHON_TEXT;
    uintptr_t at = content->at + (tail ? (content->units - n) * content->kind : 0);
    char *end = out;
    if (!xfs_python_read(reader, at, units, n * content->kind))
        return false;
    for (size_t i = 0; i < n; i++) {
        uint32_t c = 0;
        memcpy(&c, units + i * content->kind, content->kind);
        end = put_utf8(end, c);
    }
    *bytes = (uint32_t)(end - out);
    return true;
}
