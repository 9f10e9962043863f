#include "tests/record/decode.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "preload/format/segments.h"

/* ---- columns ---------------------------------------------------------------------------- */

static bool get_varint(const unsigned char **at, const unsigned char *end, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; *at < end && shift < 70; shift += 7) {
        unsigned char byte = *(*at)++;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return true;
    }
    return false;
}

static uint64_t unzigzag(uint64_t value)
{
    return (value >> 1) ^ (0 - (value & 1));
}

#define STORE_ROW(number, name)                                                                    \
    case number:                                                                                   \
        event->name = (__typeof__(event->name))value;                                              \
        break;
static void store(struct xft_event *event, unsigned id, uint64_t value)
{
    switch (id) {
        XFT_COLUMN_LIST(STORE_ROW)
    }
}

#define LOAD_ROW(number, name)                                                                     \
    case number:                                                                                   \
        return (uint64_t)(int64_t)event->name;
static uint64_t load(const struct xft_event *event, unsigned id)
{
    switch (id) {
        XFT_COLUMN_LIST(LOAD_ROW)
    }
    return 0;
}

struct column_data {
    const unsigned char *at, *end;
    uint64_t previous, least;
    unsigned planes;
    uint64_t table[XFT_DICT_MOST];
    uint64_t entries;
};

static bool get_table(struct column_data *data)
{
    uint64_t before = 0, difference;
    if (data->entries > XFT_DICT_MOST)
        return false;
    for (uint64_t i = 0; i < data->entries; i++) {
        if (!get_varint(&data->at, data->end, &difference))
            return false;
        data->table[i] = before += unzigzag(difference);
    }
    return true;
}

/* What comes before the rows. */
static bool get_head(unsigned encoding, struct column_data *data)
{
    uint64_t least;
    switch (encoding) {
    case XFT_ENC_DICT:
        data->planes =
            get_varint(&data->at, data->end, &data->entries) && data->entries > 256 ? 2 : 1;
        return get_table(data);
    case XFT_ENC_MAP:
        return get_table(data);
    case XFT_ENC_DELTA_PLANES:
        if (!get_varint(&data->at, data->end, &data->previous))
            return false;
        /* fall through */
    case XFT_ENC_PLANES:
    case XFT_ENC_DIFF_PLANES:
        if (!get_varint(&data->at, data->end, &least) || data->at == data->end)
            return false;
        data->least = unzigzag(least);
        data->planes = *data->at++;
        return true;
    default:
        return encoding <= XFT_ENC_DIFF;
    }
}

static uint64_t get_planes(const struct column_data *data, uint32_t rows, uint32_t row)
{
    uint64_t value = 0;
    for (unsigned plane = 0; plane < data->planes; plane++)
        value |= (uint64_t)data->at[(size_t)plane * rows + row] << 8 * plane;
    return value;
}

/* Which entry of its base's dictionary this row has: that of the row's value there. */
static uint64_t mapped(const struct column_data *base, const struct column_data *data,
                       uint64_t value)
{
    for (uint64_t i = 0; i < data->entries; i++)
        if (base->table[i] == value)
            return data->table[i];
    return 0;
}

static uint64_t value_of(unsigned encoding, const struct column_data *data,
                         const struct column_data *base_data, uint64_t before, uint64_t base,
                         uint64_t value)
{
    switch (encoding) {
    case XFT_ENC_DELTA:
        return before + unzigzag(value);
    case XFT_ENC_DIFF:
        return base + unzigzag(value);
    case XFT_ENC_PLANES:
        return data->least + value;
    case XFT_ENC_DELTA_PLANES:
        return before + data->least + value;
    case XFT_ENC_DIFF_PLANES:
        return base + data->least + value;
    case XFT_ENC_DICT:
        return value < data->entries ? data->table[value] : 0;
    case XFT_ENC_MAP:
        return mapped(base_data, data, base);
    default:
        return value;
    }
}

static bool decode_column(const struct xft_column *column, struct column_data every[],
                          const unsigned char *at, uint32_t rows, struct xft_event *events)
{
    struct column_data *data = &every[column->id];
    *data = (struct column_data){.at = at, .end = at + column->bytes};
    data->entries = column->encoding == XFT_ENC_MAP ? every[column->base].entries : 0;
    if (!get_head(column->encoding, data) ||
        (size_t)(data->end - data->at) < (size_t)data->planes * rows)
        return false;
    uint64_t value = 0, before = data->previous - data->least;
    for (uint32_t i = 0; i < rows; i++) {
        uint64_t base = column->base ? load(&events[i], column->base) : 0;
        if (column->encoding <= XFT_ENC_DIFF) {
            if ((column->encoding != XFT_ENC_CONST || i == 0) &&
                !get_varint(&data->at, data->end, &value))
                return false;
        } else {
            value = get_planes(data, rows, i);
        }
        uint64_t is = value_of(column->encoding, data, &every[column->base], before, base, value);
        store(&events[i], column->id, is);
        before = is;
    }
    return data->at + (size_t)data->planes * rows == data->end;
}

#define MOST_IDS 32
static struct column_data columns[MOST_IDS]; /* by column id */

bool decode_chunk(const unsigned char *raw, size_t bytes, struct xft_chunk *chunk,
                  struct xft_event *events, uint32_t room)
{
    if (bytes < sizeof *chunk)
        return false;
    memcpy(chunk, raw, sizeof *chunk);
    size_t at = sizeof *chunk + chunk->columns * sizeof(struct xft_column);
    if (chunk->rows > room || at > bytes)
        return false;
    memset(events, 0, chunk->rows * sizeof *events);
    memset(columns, 0, sizeof columns);
    for (uint32_t i = 0; i < chunk->columns; i++) {
        struct xft_column column;
        memcpy(&column, raw + sizeof *chunk + i * sizeof column, sizeof column);
        if (column.bytes > bytes - at || column.id >= MOST_IDS || column.base >= MOST_IDS ||
            !decode_column(&column, columns, raw + at, chunk->rows, events))
            return false;
        at += column.bytes;
    }
    return at == bytes;
}

/* ---- segments --------------------------------------------------------------------------- */

static void add(struct decoded *d, const struct xft_chunk *chunk, const struct xft_event *events)
{
    for (uint32_t i = 0; i < chunk->rows; i++) {
        if (d->count == d->room) {
            d->room = d->room ? 2 * d->room : 4096;
            d->events = realloc(d->events, d->room * sizeof *d->events);
        }
        d->events[d->count++] =
            (struct decoded_event){chunk->lane, chunk->first_seq + i, events[i]};
    }
}

static void add_slab(struct decoded *d, const struct xft_slab *slab)
{
    if (slab->magic != XFT_SLAB_MAGIC || slab->state == XFT_SLAB_FREE)
        return;
    struct xft_chunk chunk = {
        .lane = slab->lane, .first_seq = slab->first_seq, .rows = slab->committed};
    add(d, &chunk, xft_slab_events(slab));
}

static void add_text(char **text, const char *bytes, size_t n, char end)
{
    size_t had = strlen(*text);
    *text = realloc(*text, had + n + 2);
    memcpy(*text + had, bytes, n);
    (*text)[had + n] = end;
    (*text)[had + n + 1] = '\0';
}

static void add_symbols(struct decoded *d, const unsigned char *at, size_t bytes)
{
    struct xft_symbol symbol;
    for (size_t n; bytes >= sizeof symbol; at += n, bytes -= n) {
        memcpy(&symbol, at, sizeof symbol);
        n = sizeof symbol + symbol.function_bytes + symbol.file_bytes + symbol.module_bytes;
        if (n > bytes)
            return;
        const char *function = (const char *)at + sizeof symbol;
        char line[32];
        add_text(&d->symbols, function, symbol.function_bytes, ' ');
        add_text(&d->symbols, function + symbol.function_bytes, symbol.file_bytes, ':');
        snprintf(line, sizeof line, "%u", symbol.line);
        add_text(&d->symbols, line, strlen(line), '\n');
    }
}

static void add_stacks(struct decoded *d, const unsigned char *at, size_t bytes)
{
    struct xft_stack stack;
    for (size_t n; bytes >= sizeof stack; at += n, bytes -= n) {
        memcpy(&stack, at, sizeof stack);
        n = sizeof stack + 8 * (size_t)stack.depth;
        if (n > bytes)
            return;
        if (stack.id > d->most_stack)
            d->most_stack = stack.id;
    }
}

static void add_names(struct decoded *d, const unsigned char *at, size_t bytes)
{
    struct xft_name name;
    for (size_t n; bytes >= sizeof name; at += n, bytes -= n) {
        memcpy(&name, at, sizeof name);
        n = sizeof name + name.bytes;
        if (n > bytes)
            return;
        d->texts++;
        d->text_bytes += name.bytes;
        if (name.id > d->most_text)
            d->most_text = name.id;
    }
}

static void add_meta(struct decoded *d, const char *at, size_t bytes)
{
    bool key = true;
    for (size_t n; bytes > 0; at += n, bytes -= n, key = !key) {
        n = strnlen(at, bytes) + 1;
        add_text(&d->meta, at, n - 1, key ? '=' : '\n');
    }
}

/* What INDEX should say of the EVENTS segments met so far and not named yet. */
static struct xft_index_entry expected[4096];
static size_t expected_count;

static void add_chunk(struct decoded *d, uint64_t offset, const unsigned char *raw, size_t bytes)
{
    static struct xft_event events[XFT_SLAB_EVENTS];
    struct xft_chunk chunk;
    if (!decode_chunk(raw, bytes, &chunk, events, XFT_SLAB_EVENTS)) {
        d->damaged = true;
        return;
    }
    add(d, &chunk, events);
    struct xft_index_entry entry = {.offset = offset,
                                    .first_seq = chunk.first_seq,
                                    .lane = chunk.lane,
                                    .rows = chunk.rows,
                                    .first_ns = UINT64_MAX};
    for (uint32_t i = 0; i < chunk.rows; i++) {
        uint64_t ns = events[i].start_ns;
        entry.first_ns = ns < entry.first_ns ? ns : entry.first_ns;
        entry.last_ns = ns > entry.last_ns ? ns : entry.last_ns;
    }
    expected[expected_count++ % 4096] = entry;
}

/* Entries come in the order of the segments that they name. */
static void check_index(struct decoded *d, const unsigned char *at, size_t bytes)
{
    size_t named = 0;
    for (; bytes >= sizeof *expected && named < expected_count;
         at += sizeof *expected, bytes -= sizeof *expected, named++)
        if (memcmp(at, &expected[named], sizeof *expected) == 0)
            d->indexed++;
        else
            d->index_wrong = true;
    d->index_wrong |= bytes > 0 || named < expected_count || expected_count > 4096;
    expected_count = 0;
}

static void add_payload(struct decoded *d, unsigned type, const unsigned char *raw, size_t bytes)
{
    if (type == XFT_SEG_INDEX)
        check_index(d, raw, bytes);
    else if (type == XFT_SEG_SYMBOLS)
        add_symbols(d, raw, bytes);
    else if (type == XFT_SEG_STACKS)
        add_stacks(d, raw, bytes);
    else if (type == XFT_SEG_NAMES)
        add_names(d, raw, bytes);
    else if (type == XFT_SEG_META)
        add_meta(d, (const char *)raw, bytes);
}

static void put_payload(struct decoded *d, const struct xft_view *view, const unsigned char *raw,
                        size_t bytes)
{
    if (view->head.type == XFT_SEG_EVENTS)
        add_chunk(d, view->offset, raw, bytes);
    else
        add_payload(d, view->head.type, raw, bytes);
}

static void add_segment(struct decoded *d, const struct xft_view *view, const unsigned char *file)
{
    d->segments[view->head.type & 15]++;
    d->packed += (view->head.flags & XFT_SEG_ZSTD) != 0;
    if (view->head.type == XFT_SEG_LANES) {
        const struct xft_slab *slab;
        size_t there;
        for (size_t i = 0; (slab = xft_lanes_slab(view, file, i, &there)); i++)
            if (there == XFT_SLAB_BYTES)
                add_slab(d, slab);
    } else if (view->head.flags & XFT_SEG_ZSTD) {
        unsigned char *raw = malloc(view->head.raw_bytes + 1);
        size_t n =
            ZSTD_decompress(raw, view->head.raw_bytes, view->payload, view->head.stored_bytes);
        if (n == view->head.raw_bytes)
            put_payload(d, view, raw, n);
        else
            d->damaged = true;
        free(raw);
    } else {
        put_payload(d, view, view->payload, view->head.stored_bytes);
    }
}

/* ---- the file --------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const struct decoded_event *x = a, *y = b;
    if (x->lane != y->lane)
        return x->lane < y->lane ? -1 : 1;
    return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static void keep_each_once(struct decoded *d)
{
    size_t kept = 0;
    if (d->count)
        qsort(d->events, d->count, sizeof *d->events, compare);
    for (size_t i = 0; i < d->count; i++) {
        if (kept && compare(&d->events[kept - 1], &d->events[i]) == 0)
            d->twice++;
        else
            d->events[kept++] = d->events[i];
    }
    d->count = kept;
}

static unsigned char *read_whole(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return NULL;
    fseek(file, 0, SEEK_END);
    *bytes = (size_t)ftell(file);
    rewind(file);
    /* slabs are read in place, at the file's own alignment */
    unsigned char *all = aligned_alloc(4096, XFT_ALIGN(*bytes + 1, 4096));
    if (fread(all, 1, *bytes, file) != *bytes)
        *bytes = 0;
    fclose(file);
    return all;
}

struct decoded *decode_file(const char *path)
{
    size_t bytes = 0;
    unsigned char *file = read_whole(path, &bytes);
    if (file == NULL || xft_header_check(file, bytes) != NULL) {
        free(file);
        return NULL;
    }
    struct decoded *d = calloc(1, sizeof *d);
    d->symbols = strdup("");
    d->meta = strdup("");
    d->file_bytes = bytes;
    memcpy(&d->header, file, sizeof d->header);
    expected_count = 0;
    struct xft_walk walk = xft_walk_begin(file, bytes, &d->header, 0);
    struct xft_view view;
    while (xft_walk_next(&walk, &view))
        add_segment(d, &view, file);
    d->damaged |= walk.damage.places > 0;
    keep_each_once(d);
    free(file);
    return d;
}

struct decoded *decode_only_file(const char *folder)
{
    char path[512] = "";
    DIR *list = opendir(folder);
    for (struct dirent *entry; list && (entry = readdir(list)) != NULL;)
        if (entry->d_name[0] != '.')
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    if (list)
        closedir(list);
    struct decoded *decoded = decode_file(path);
    unlink(path);
    return decoded;
}

void decode_free(struct decoded *d)
{
    if (d == NULL)
        return;
    free(d->events);
    free(d->symbols);
    free(d->meta);
    free(d);
}

bool decode_is_indexed(const struct decoded *d)
{
    return !d->index_wrong && d->indexed == d->segments[XFT_SEG_EVENTS];
}

bool decode_is_complete(const struct decoded *d)
{
    for (size_t i = 0; i < d->count; i++) {
        bool first = i == 0 || d->events[i - 1].lane != d->events[i].lane;
        if (d->events[i].seq != (first ? 0 : d->events[i - 1].seq + 1))
            return false;
    }
    return true;
}
