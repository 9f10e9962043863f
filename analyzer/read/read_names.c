/* Names: META, CALLS, STACKS, MODULES, SYMBOLS, NAMES, ARGUMENTS, SOURCES. Entries point into the
 * payloads, which are kept. */
#include "analyzer/read/read.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "analyzer/base/alloc.h"
#include "common/search.h"

bool xfa_take(struct xfa_cursor *cursor, void *out, size_t bytes)
{
    if ((size_t)(cursor->end - cursor->at) < bytes)
        return false;
    if (bytes)
        memcpy(out, cursor->at, bytes);
    cursor->at += bytes;
    return true;
}

const char *xfa_take_bytes(struct xfa_cursor *cursor, size_t bytes)
{
    if ((size_t)(cursor->end - cursor->at) < bytes)
        return NULL;
    const char *at = (const char *)cursor->at;
    cursor->at += bytes;
    return at;
}

struct named_call {
    uint64_t hash; /* key: of the name */
    const char *name;
};

void xfa_names_init(struct xfa_names *names)
{
    *names = (struct xfa_names){0};
    xfa_table_init(&names->pairs, sizeof(uint64_t), sizeof(struct xfa_pair));
    xfa_table_init(&names->calls, sizeof(uint16_t), sizeof(struct xfa_call));
    xfa_table_init(&names->named, sizeof(uint64_t), sizeof(struct named_call));
    xfa_table_init(&names->stacks, sizeof(uint32_t), sizeof(struct xfa_stack));
    xfa_table_init(&names->texts, sizeof(uint32_t), sizeof(struct xfa_text));
    xfa_table_init(&names->arguments, sizeof(uint32_t), sizeof(struct xfa_arguments));
}

void xfa_names_free(struct xfa_names *names)
{
    for (size_t i = 0; i < names->block_count; i++)
        free(names->blocks[i]);
    for (size_t i = 0; i < names->calls.count; i++)
        free(((struct xfa_call *)xfa_table_at(&names->calls, i))->name);
    for (size_t i = 0; i < names->module_count; i++) {
        free(names->modules[i].path);
        free(names->modules[i].build_id);
    }
    free(names->blocks);
    free(names->modules);
    free(names->symbols);
    free(names->lines);
    xfa_table_free(&names->pairs);
    xfa_table_free(&names->calls);
    xfa_table_free(&names->named);
    xfa_table_free(&names->stacks);
    xfa_table_free(&names->texts);
    xfa_table_free(&names->arguments);
}

/* Each returns false when the entry is malformed or over a limit: the rest of the payload is then
 * given up. */
static bool take_meta(struct xfa_names *names, struct xfa_cursor *cursor)
{
    size_t left = (size_t)(cursor->end - cursor->at);
    char *key = (char *)cursor->at;
    char *end = memchr(key, 0, left);
    char *value = end ? end + 1 : NULL;
    char *last = end ? memchr(value, 0, left - (size_t)(value - key)) : NULL;
    if (!last)
        return false;
    cursor->at = (unsigned char *)last + 1;
    if (last - key >= XFA_MAX_PAIR)
        return false;
    uint64_t hash = XXH3_64bits(key, (size_t)(end - key));
    struct xfa_pair *pair = xfa_table_get(&names->pairs, &hash);
    if (!pair && names->pairs.count == XFA_MAX_META)
        return false;
    pair = pair ? pair : xfa_table_put(&names->pairs, &hash);
    pair->key = key;
    pair->value = value;
    return true;
}

static bool take_call(struct xfa_names *names, struct xfa_cursor *cursor)
{
    struct xft_call_name entry;
    const char *name;
    if (!xfa_take(cursor, &entry, sizeof entry) ||
        !(name = xfa_take_bytes(cursor, entry.name_bytes)))
        return false;
    struct xfa_call *call = xfa_table_get(&names->calls, &entry.id);
    if (!call && names->calls.count == XFA_MAX_CALLS)
        return false;
    call = call ? call : xfa_table_put(&names->calls, &entry.id);
    free(call->name);
    call->name = xfa_kept(name, entry.name_bytes);
    call->level = entry.level;
    return true;
}

static bool take_stack(struct xfa_names *names, struct xfa_cursor *cursor)
{
    struct xft_stack entry;
    if (!xfa_take(cursor, &entry, sizeof entry))
        return false;
    const char *addresses = xfa_take_bytes(cursor, (size_t)entry.depth * sizeof(uint64_t));
    if (!addresses || names->stacks.count >= XFA_MAX_ENTRIES)
        return false;
    struct xfa_stack *stack = xfa_table_put(&names->stacks, &entry.id);
    stack->depth = entry.depth;
    stack->addresses = (const unsigned char *)addresses;
    return true;
}

static bool take_text(struct xfa_names *names, struct xfa_cursor *cursor)
{
    struct xft_name entry;
    if (!xfa_take(cursor, &entry, sizeof entry))
        return false;
    const char *text = xfa_take_bytes(cursor, entry.bytes);
    if (!text || entry.bytes > XFT_NAME_MOST || names->texts.count >= XFA_MAX_ENTRIES)
        return false;
    struct xfa_text *kept = xfa_table_put(&names->texts, &entry.id);
    kept->bytes = entry.bytes;
    kept->text = text;
    return true;
}

static bool take_arguments(struct xfa_names *names, struct xfa_cursor *cursor)
{
    struct xft_arguments entry;
    if (!xfa_take(cursor, &entry, sizeof entry) || entry.count > XFT_ARGUMENTS_MOST ||
        names->arguments.count >= XFA_MAX_ENTRIES)
        return false;
    const char *pointers = xfa_take_bytes(cursor, entry.count * sizeof(uint64_t));
    if (!pointers)
        return false;
    struct xfa_arguments *arguments = xfa_table_put(&names->arguments, &entry.id);
    arguments->count = entry.count;
    arguments->pointers = (const unsigned char *)pointers;
    return true;
}

static char *hexadecimal(const char *bytes, size_t n)
{
    char *text = xfa_alloc(n * 2 + 1);
    for (size_t i = 0; i < n; i++) {
        text[i * 2] = "0123456789abcdef"[(unsigned char)bytes[i] >> 4];
        text[i * 2 + 1] = "0123456789abcdef"[bytes[i] & 15];
    }
    return text;
}

static bool take_module(struct xfa_names *names, struct xfa_cursor *cursor)
{
    struct xft_module entry;
    const char *path, *build_id;
    if (!xfa_take(cursor, &entry, sizeof entry) ||
        !(path = xfa_take_bytes(cursor, entry.path_bytes)) ||
        !(build_id = xfa_take_bytes(cursor, entry.build_id_bytes)) ||
        names->module_count == XFA_MAX_MODULES)
        return false;
    names->modules = xfa_room(names->modules, &names->module_capacity, names->module_count + 1,
                              sizeof *names->modules);
    names->modules[names->module_count++] = (struct xfa_module){
        .start = entry.start,
        .end = entry.end,
        .bias = entry.bias,
        .path = xfa_kept(path, entry.path_bytes),
        .build_id = hexadecimal(build_id, entry.build_id_bytes),
    };
    return true;
}

static bool take_symbol(struct xfa_names *names, struct xfa_cursor *cursor)
{
    struct xft_symbol entry;
    struct xfa_symbol symbol = {0};
    if (!xfa_take(cursor, &entry, sizeof entry) ||
        !(symbol.function = xfa_take_bytes(cursor, entry.function_bytes)) ||
        !(symbol.file = xfa_take_bytes(cursor, entry.file_bytes)) ||
        !(symbol.module = xfa_take_bytes(cursor, entry.module_bytes)) ||
        names->symbol_count == XFA_MAX_ENTRIES)
        return false;
    symbol.address = entry.address;
    symbol.depth = entry.depth;
    symbol.line = entry.line;
    symbol.function_bytes = entry.function_bytes;
    symbol.file_bytes = entry.file_bytes;
    symbol.module_bytes = entry.module_bytes;
    names->symbols = xfa_room(names->symbols, &names->symbol_capacity, names->symbol_count + 1,
                              sizeof *names->symbols);
    names->symbols[names->symbol_count++] = symbol;
    return true;
}

static bool take_lines(struct xfa_names *names, struct xfa_cursor *cursor)
{
    struct xft_source entry;
    struct xfa_lines lines = {0};
    if (!xfa_take(cursor, &entry, sizeof entry) || entry.text_bytes > XFT_SOURCE_MOST ||
        !(lines.file = xfa_take_bytes(cursor, entry.file_bytes)) ||
        !(lines.text = xfa_take_bytes(cursor, entry.text_bytes)) ||
        names->lines_count == XFA_MAX_ENTRIES)
        return false;
    lines.line = entry.line;
    lines.file_bytes = entry.file_bytes;
    lines.text_bytes = entry.text_bytes;
    names->lines = xfa_room(names->lines, &names->lines_capacity, names->lines_count + 1,
                            sizeof *names->lines);
    names->lines[names->lines_count++] = lines;
    return true;
}

typedef bool take_fn(struct xfa_names *names, struct xfa_cursor *cursor);
static take_fn *const take_table[] = {
    [XFT_SEG_META] = take_meta,           [XFT_SEG_CALLS] = take_call,
    [XFT_SEG_STACKS] = take_stack,        [XFT_SEG_MODULES] = take_module,
    [XFT_SEG_SYMBOLS] = take_symbol,      [XFT_SEG_NAMES] = take_text,
    [XFT_SEG_ARGUMENTS] = take_arguments, [XFT_SEG_SOURCES] = take_lines,
};

void xfa_names_take(struct xfa_trace *trace, uint16_t type, unsigned char *payload, uint64_t bytes)
{
    struct xfa_names *names = &trace->names;
    if (bytes > XFA_MAX_NAMES - names->bytes) {
        trace->loss.limited_segments++;
        free(payload);
        return;
    }
    names->bytes += bytes;
    names->blocks = xfa_room(names->blocks, &names->block_capacity, names->block_count + 1,
                             sizeof *names->blocks);
    names->blocks[names->block_count++] = payload;
    struct xfa_cursor cursor = {payload, payload + bytes};
    while (cursor.at < cursor.end) {
        if (!take_table[type](names, &cursor)) {
            trace->names_bad_entries++;
            trace->loss.bad_entries++;
            return;
        }
    }
}

static int by_start(const void *a, const void *b)
{
    const struct xfa_module *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

static int by_address(const void *a, const void *b)
{
    const struct xfa_symbol *x = a, *y = b;
    if (x->address != y->address)
        return x->address > y->address ? 1 : -1;
    return (x->depth > y->depth) - (x->depth < y->depth);
}

/* No compiler inlines that deep, and a look-up of an address goes through all of them. */
static void forget_beyond(struct xfa_names *names)
{
    size_t kept = 0, alike = 0;
    for (size_t i = 0; i < names->symbol_count; i++) {
        bool same = kept > 0 && names->symbols[kept - 1].address == names->symbols[i].address;
        alike = same ? alike + 1 : 1;
        if (alike <= XFA_MAX_INLINED)
            names->symbols[kept++] = names->symbols[i];
    }
    names->beyond += names->symbol_count - kept;
    names->symbol_count = kept;
}

static int by_file(const void *a, const void *b)
{
    const struct xfa_lines *x = a, *y = b;
    uint32_t least = x->file_bytes < y->file_bytes ? x->file_bytes : y->file_bytes;
    int order = memcmp(x->file, y->file, least);
    if (order == 0)
        order = (x->file_bytes > y->file_bytes) - (x->file_bytes < y->file_bytes);
    return order ? order : (x->line > y->line) - (x->line < y->line);
}

void xfa_names_finish(struct xfa_names *names)
{
    if (names->module_count)
        qsort(names->modules, names->module_count, sizeof *names->modules, by_start);
    if (names->symbol_count)
        qsort(names->symbols, names->symbol_count, sizeof *names->symbols, by_address);
    forget_beyond(names);
    if (names->lines_count)
        qsort(names->lines, names->lines_count, sizeof *names->lines, by_file);
    for (size_t i = 0; i < names->calls.count; i++) {
        const struct xfa_call *call = xfa_table_at(&names->calls, i);
        uint64_t hash = XXH3_64bits(call->name, strlen(call->name));
        if (call->level == XFT_LEVEL_RUNTIME)
            ((struct named_call *)xfa_table_put(&names->named, &hash))->name = call->name;
    }
}

const char *xfa_trace_meta(const struct xfa_trace *trace, const char *key)
{
    uint64_t hash = XXH3_64bits(key, strlen(key));
    const struct xfa_pair *pair = xfa_table_get(&trace->names.pairs, &hash);
    return pair ? pair->value : NULL;
}

const struct xfa_call *xfa_trace_call(const struct xfa_trace *trace, unsigned id)
{
    uint16_t key = (uint16_t)id;
    return id <= UINT16_MAX ? xfa_table_get(&trace->names.calls, &key) : NULL;
}

const char *xfa_trace_runtime_name(const struct xfa_trace *trace, const char *name, size_t bytes)
{
    uint64_t hash = XXH3_64bits(name, bytes);
    const struct named_call *found = xfa_table_get(&trace->names.named, &hash);
    bool same = found && strlen(found->name) == bytes && memcmp(found->name, name, bytes) == 0;
    return same ? found->name : NULL;
}

const struct xfa_stack *xfa_trace_stack(const struct xfa_trace *trace, uint32_t id)
{
    return xfa_table_get(&trace->names.stacks, &id);
}

static bool starts_by(const void *module, const void *address)
{
    return ((const struct xfa_module *)module)->start <= *(const uint64_t *)address;
}

/* Modules may have been unmapped and others mapped there: the last that starts at or before the
 * address and reaches beyond it. */
const struct xfa_module *xfa_trace_module(const struct xfa_trace *trace, uint64_t address)
{
    const struct xfa_module *modules = trace->names.modules;
    size_t behind =
        xfc_partition(modules, trace->names.module_count, sizeof *modules, starts_by, &address);
    for (size_t back = 0; behind > 0 && back < 8; back++, behind--)
        if (address < modules[behind - 1].end)
            return &modules[behind - 1];
    return NULL;
}

static bool lies_before(const void *symbol, const void *address)
{
    return ((const struct xfa_symbol *)symbol)->address < *(const uint64_t *)address;
}

const struct xfa_symbol *xfa_trace_symbols(const struct xfa_trace *trace, uint64_t address,
                                           size_t *count)
{
    const struct xfa_symbol *symbols = trace->names.symbols;
    size_t all = trace->names.symbol_count;
    size_t first = xfc_partition(symbols, all, sizeof *symbols, lies_before, &address);
    *count = 0;
    while (first + *count < all && symbols[first + *count].address == address)
        ++*count;
    return *count ? &symbols[first] : NULL;
}

static bool begins_by(const void *lines, const void *wanted)
{
    return by_file(lines, wanted) <= 0;
}

const char *xfa_trace_source_line(const struct xfa_trace *trace, const char *file,
                                  size_t file_bytes, uint32_t line, size_t *bytes)
{
    const struct xfa_names *names = &trace->names;
    const struct xfa_lines wanted = {
        .line = line, .file = file, .file_bytes = (uint32_t)file_bytes};
    size_t behind = file_bytes <= UINT32_MAX ? xfc_partition(names->lines, names->lines_count,
                                                             sizeof wanted, begins_by, &wanted)
                                             : 0;
    const struct xfa_lines *found = behind ? &names->lines[behind - 1] : NULL;
    if (!found || found->file_bytes != file_bytes || memcmp(found->file, file, file_bytes) != 0)
        return NULL;
    const char *at = found->text, *end = at + found->text_bytes, *stop = NULL;
    for (uint32_t number = found->line;; number++, at = stop + 1) {
        stop = memchr(at, '\n', (size_t)(end - at));
        if (number == line) {
            *bytes = (size_t)((stop ? stop : end) - at);
            return at;
        }
        if (!stop)
            return NULL;
    }
}

const struct xfa_text *xfa_trace_text(const struct xfa_trace *trace, uint64_t id)
{
    uint32_t key = (uint32_t)id;
    return id <= UINT32_MAX ? xfa_table_get(&trace->names.texts, &key) : NULL;
}

const struct xfa_arguments *xfa_trace_arguments(const struct xfa_trace *trace, uint64_t id)
{
    const struct xfa_table *all = &trace->names.arguments;
    const uint32_t key = (uint32_t)id;
    /* The recorder numbers them from 1 on, in the order in which it writes them. */
    const struct xfa_arguments *at =
        id > 0 && id <= all->count ? xfa_table_at(all, (size_t)id - 1) : NULL;
    if (at && at->id == key)
        return at;
    return id <= UINT32_MAX ? xfa_table_get(all, &key) : NULL;
}

/* Number i of those that lie there, unaligned. */
static uint64_t number_at(const unsigned char *at, uint32_t i)
{
    uint64_t number;
    memcpy(&number, at + (size_t)i * sizeof number, sizeof number);
    return number;
}

uint64_t xfa_stack_address(const struct xfa_stack *stack, uint32_t i)
{
    return number_at(stack->addresses, i);
}

uint64_t xfa_arguments_pointer(const struct xfa_arguments *arguments, uint32_t i)
{
    return number_at(arguments->pointers, i);
}
