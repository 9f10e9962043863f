#include "preload/format/lists.h"

#include <stdint.h>
#include <string.h>

#include "xferscope/trace.h"

/* Head and tail of an entry; 0 when they do not fit. */
static size_t fitting(size_t head, uint64_t tail, size_t left)
{
    return tail <= left - head ? head + (size_t)tail : 0;
}

static size_t pair_bytes(const unsigned char *at, size_t left)
{
    const unsigned char *end = memchr(at, 0, left);
    size_t key = end ? (size_t)(end - at) + 1 : left;
    end = key < left ? memchr(at + key, 0, left - key) : NULL;
    return end ? (size_t)(end - at) + 1 : 0;
}

/* Heads are copied: entries lie at any address. */
static bool read_head(void *head, size_t bytes, const unsigned char *at, size_t left)
{
    if (left < bytes)
        return false;
    memcpy(head, at, bytes);
    return true;
}

static size_t call_bytes(const unsigned char *at, size_t left)
{
    struct xft_call_name call;
    if (!read_head(&call, sizeof call, at, left))
        return 0;
    return fitting(sizeof call, call.name_bytes, left);
}

static size_t stack_bytes(const unsigned char *at, size_t left)
{
    struct xft_stack stack;
    if (!read_head(&stack, sizeof stack, at, left))
        return 0;
    return fitting(sizeof stack, (uint64_t)stack.depth * sizeof(uint64_t), left);
}

static size_t module_bytes(const unsigned char *at, size_t left)
{
    struct xft_module module;
    if (!read_head(&module, sizeof module, at, left))
        return 0;
    return fitting(sizeof module, (uint64_t)module.path_bytes + module.build_id_bytes, left);
}

static size_t symbol_bytes(const unsigned char *at, size_t left)
{
    struct xft_symbol symbol;
    if (!read_head(&symbol, sizeof symbol, at, left))
        return 0;
    uint64_t tail = (uint64_t)symbol.function_bytes + symbol.file_bytes + symbol.module_bytes;
    return fitting(sizeof symbol, tail, left);
}

static size_t name_bytes(const unsigned char *at, size_t left)
{
    struct xft_name name;
    if (!read_head(&name, sizeof name, at, left))
        return 0;
    return name.bytes <= XFT_NAME_MOST ? fitting(sizeof name, name.bytes, left) : 0;
}

static size_t arguments_bytes(const unsigned char *at, size_t left)
{
    struct xft_arguments arguments;
    if (!read_head(&arguments, sizeof arguments, at, left) || arguments.count > XFT_ARGUMENTS_MOST)
        return 0;
    return fitting(sizeof arguments, arguments.count * sizeof(uint64_t), left);
}

static size_t source_bytes(const unsigned char *at, size_t left)
{
    struct xft_source source;
    if (!read_head(&source, sizeof source, at, left) || source.text_bytes > XFT_SOURCE_MOST)
        return 0;
    return fitting(sizeof source, (uint64_t)source.file_bytes + source.text_bytes, left);
}

size_t xft_list_entry(unsigned type, const unsigned char *at, size_t left)
{
    switch (type) {
    case XFT_SEG_META:
        return pair_bytes(at, left);
    case XFT_SEG_CALLS:
        return call_bytes(at, left);
    case XFT_SEG_STACKS:
        return stack_bytes(at, left);
    case XFT_SEG_MODULES:
        return module_bytes(at, left);
    case XFT_SEG_SYMBOLS:
        return symbol_bytes(at, left);
    case XFT_SEG_NAMES:
        return name_bytes(at, left);
    case XFT_SEG_ARGUMENTS:
        return arguments_bytes(at, left);
    case XFT_SEG_SOURCES:
        return source_bytes(at, left);
    default:
        return 0;
    }
}

bool xft_list_ok(unsigned type, const unsigned char *payload, size_t bytes)
{
    while (bytes > 0) {
        size_t entry = xft_list_entry(type, payload, bytes);
        if (entry == 0)
            return false;
        payload += entry;
        bytes -= entry;
    }
    return true;
}
