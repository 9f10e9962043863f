#include "analyzer/model/resolve.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyzer/base/alloc.h"
#include "preload/format/segments.h"
#include "symbols/symbols.h"

/* A trace in memory that holds stacks and modules only: what the recorder's look-up reads. It is
 * built from what the reader has checked, so that the look-up never sees the file itself. */
struct image {
    unsigned char *bytes;
    size_t size, room;
};

static void append(struct image *image, const void *bytes, size_t n)
{
    image->bytes = xfa_room(image->bytes, &image->room, image->size + n, 1);
    if (n)
        memcpy(image->bytes + image->size, bytes, n);
    image->size += n;
}

static void pad(struct image *image)
{
    static const unsigned char zeros[8];
    append(image, zeros, (8 - image->size % 8) % 8);
}

static size_t segment_begin(struct image *image)
{
    static const struct xft_segment none;
    size_t at = image->size;
    append(image, &none, sizeof none);
    return at;
}

static void segment_end(struct image *image, size_t at, enum xft_segment_type type)
{
    size_t payload = at + sizeof(struct xft_segment), bytes = image->size - payload;
    struct xft_segment head = xft_segment_make(type, 0, image->bytes + payload, bytes, bytes);
    memcpy(image->bytes + at, &head, sizeof head);
    pad(image);
}

static void put_stacks(struct image *image, const struct xfa_trace *trace)
{
    size_t at = segment_begin(image);
    for (size_t i = 0; i < trace->names.stacks.count; i++) {
        const struct xfa_stack *stack = xfa_table_at(&trace->names.stacks, i);
        struct xft_stack entry = {stack->id, stack->depth};
        append(image, &entry, sizeof entry);
        append(image, stack->addresses, (size_t)stack->depth * sizeof(uint64_t));
    }
    segment_end(image, at, XFT_SEG_STACKS);
}

/* A path in a trace may name anything: only plain files are opened, and only those that can be
 * told to be the very ones. */
static bool usable(const struct xfa_module *module)
{
    struct stat status;
    return module->path[0] == '/' && module->build_id[0] && stat(module->path, &status) == 0 &&
           S_ISREG(status.st_mode);
}

static void put_build_id(struct image *image, const char *hexadecimal)
{
    for (size_t i = 0; hexadecimal[i] && hexadecimal[i + 1]; i += 2) {
        char digits[3] = {hexadecimal[i], hexadecimal[i + 1], 0};
        unsigned char byte = (unsigned char)strtoul(digits, NULL, 16);
        append(image, &byte, 1);
    }
}

static size_t put_modules(struct image *image, const struct xfa_trace *trace)
{
    size_t at = segment_begin(image), count = 0;
    for (size_t i = 0; i < trace->names.module_count; i++) {
        const struct xfa_module *module = &trace->names.modules[i];
        if (!usable(module))
            continue;
        struct xft_module entry = {
            .start = module->start,
            .end = module->end,
            .bias = module->bias,
            .path_bytes = (uint32_t)strlen(module->path),
            .build_id_bytes = (uint32_t)strlen(module->build_id) / 2,
        };
        append(image, &entry, sizeof entry);
        append(image, module->path, entry.path_bytes);
        put_build_id(image, module->build_id);
        count++;
    }
    segment_end(image, at, XFT_SEG_MODULES);
    return count;
}

static void put_header(struct image *image, const struct xfa_trace *trace)
{
    static const unsigned char block[XFT_HEADER_BYTES];
    struct xft_file_header header = trace->header;
    xft_header_seal(&header);
    append(image, block, sizeof block);
    memcpy(image->bytes, &header, sizeof header);
}

/* By address: those of Python frames, which the recorder names as it goes, come last. */
static bool code_is_named(const struct xfa_names *names)
{
    return names->symbol_count > 0 && !(names->symbols[0].address & XFT_PYTHON_FRAME);
}

void xfa_trace_resolve(struct xfa_trace *trace)
{
    const int never = 0;
    struct image image = {0};
    void *payload = NULL;
    size_t bytes = 0;
    if (code_is_named(&trace->names) || trace->names.stacks.count == 0)
        return;
    put_header(&image, trace);
    if (put_modules(&image, trace) > 0) {
        put_stacks(&image, trace);
        if (xfs_symbols_resolve(image.bytes, image.size, NULL, &never, &payload, &bytes) && payload)
            xfa_names_take(trace, XFT_SEG_SYMBOLS, payload, bytes);
        xfa_names_finish(&trace->names);
    }
    free(image.bytes);
}
