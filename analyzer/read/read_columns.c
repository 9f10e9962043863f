#include "analyzer/read/read_columns.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"

#define MOST_TEMPLATES 1024 /* the recorder's largest dictionary */

/* ---- numbers -------------------------------------------------------------------------- */

static bool varint(struct xfa_cursor *cursor, uint64_t *value)
{
    uint64_t result = 0;
    for (unsigned shift = 0; shift < 64 && cursor->at < cursor->end; shift += 7) {
        uint8_t byte = *cursor->at++;
        result |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *value = result;
            return true;
        }
    }
    return false;
}

static uint64_t unzigzag(uint64_t value)
{
    return value >> 1 ^ (0 - (value & 1));
}

/* ---- the directory -------------------------------------------------------------------- */

/* Planes follow, each of as many bytes as there are rows: they must be there. */
static bool open_planes(struct xfa_column *column, unsigned planes, uint32_t rows)
{
    column->planes = planes;
    column->plane_bytes = rows;
    return planes <= 8 && (size_t)(column->data.end - column->data.at) >= (size_t)planes * rows;
}

static bool open_differences(struct xfa_column *column, uint32_t rows)
{
    bool delta = column->encoding == XFT_ENC_DELTA_PLANES;
    uint64_t least;
    if ((delta && !varint(&column->data, &column->previous)) || !varint(&column->data, &least) ||
        column->data.at == column->data.end)
        return false;
    column->least = unzigzag(least);
    if (delta) /* the first row differs by nothing */
        column->previous -= column->least;
    unsigned planes = *column->data.at++;
    return open_planes(column, planes, rows);
}

static bool open_table(struct xfa_columns *columns, struct xfa_column *column, uint64_t entries)
{
    uint64_t value = 0, difference;
    if (entries == 0 || entries > XFT_DICT_MOST)
        return false;
    size_t end = columns->tables_used + entries;
    columns->tables =
        xfa_room(columns->tables, &columns->tables_room, end, sizeof *columns->tables);
    column->entries = (uint32_t)entries;
    column->table = columns->tables_used;
    for (; columns->tables_used < end; columns->tables_used++) {
        if (!varint(&column->data, &difference))
            return false;
        columns->tables[columns->tables_used] = value += unzigzag(difference);
    }
    return true;
}

static bool open_dictionary(struct xfa_columns *columns, struct xfa_column *column, uint32_t rows)
{
    uint64_t entries;
    return varint(&column->data, &entries) && open_table(columns, column, entries) &&
           open_planes(column, entries > 256 ? 2 : 1, rows);
}

static bool needs_base(unsigned encoding)
{
    return encoding == XFT_ENC_DIFF || encoding == XFT_ENC_DIFF_PLANES || encoding == XFT_ENC_MAP;
}

/* What the encoding has before its rows; false when that is not sound, or not known. */
static bool open_column(struct xfa_columns *columns, uint32_t position, uint32_t rows)
{
    struct xfa_column *column = &columns->columns[position];
    const struct xfa_column *base = column->base >= 0 ? &columns->columns[column->base] : NULL;
    if (needs_base(column->encoding) && (base == NULL || base->undecodable))
        return false;
    switch (column->encoding) {
    case XFT_ENC_CONST:
        return varint(&column->data, &column->previous);
    case XFT_ENC_VARINT:
    case XFT_ENC_DELTA:
    case XFT_ENC_DIFF:
        return true;
    case XFT_ENC_PLANES:
    case XFT_ENC_DELTA_PLANES:
    case XFT_ENC_DIFF_PLANES:
        return open_differences(column, rows);
    case XFT_ENC_DICT:
        return open_dictionary(columns, column, rows);
    case XFT_ENC_MAP:
        return base->encoding == XFT_ENC_DICT && open_table(columns, column, base->entries);
    default:
        return false;
    }
}

static bool known_column(unsigned id)
{
#define KNOWN_ROW(number, field) || id == number
    return false XFT_COLUMN_LIST(KNOWN_ROW);
#undef KNOWN_ROW
}

/* A column this version cannot decode reads as zero where it is unknown, and is damage where it is
 * known. */
static bool column_usable(struct xfa_columns *columns, uint32_t position, uint32_t rows)
{
    struct xfa_column *column = &columns->columns[position];
    if (open_column(columns, position, rows))
        return true;
    column->undecodable = true;
    column->encoding = XFT_ENC_CONST;
    column->previous = 0;
    return !known_column(column->id);
}

static int directory_position(const struct xfa_columns *columns, uint32_t before, unsigned id)
{
    for (uint32_t i = 0; i < before; i++)
        if (columns->columns[i].id == id)
            return (int)i;
    return -1;
}

/* ---- templates ------------------------------------------------------------------------ */

/* Where a column's values lie in an event. */
struct place {
    uint8_t offset, bytes;
};
#define PLACE_ROW(number, field)                                                                   \
    [number] = {offsetof(struct xft_event, field), sizeof(((struct xft_event *)0)->field)},
static const struct place places[] = {XFT_COLUMN_LIST(PLACE_ROW)};

#define SCATTER(type)                                                                              \
    for (size_t i = 0; i < rows; i++)                                                              \
    *(type *)(to + i * sizeof(struct xft_event)) = (type)values[i]

/* -fno-strict-aliasing is in force: fields are stored as numbers of their width. */
static void scatter(struct xft_event *events, unsigned id, const uint64_t *values, size_t rows)
{
    if (id >= sizeof places / sizeof *places)
        return; /* a column of a newer version */
    unsigned char *to = (unsigned char *)events + places[id].offset;
    switch (places[id].bytes) {
    case 8:
        SCATTER(uint64_t);
        break;
    case 4:
        SCATTER(uint32_t);
        break;
    case 2:
        SCATTER(uint16_t);
        break;
    case 1:
        SCATTER(uint8_t);
        break;
    default: /* no column has the number */
        break;
    }
}

/* Ids that are there twice: the later one counts, as if there were no templates. */
static bool is_twofold(const struct xfa_columns *columns)
{
    for (uint32_t i = 0; i < columns->count; i++)
        if (directory_position(columns, i, columns->columns[i].id) >= 0)
            return true;
    return false;
}

/* The dictionary that most columns follow from; -1 when there is none. */
static int choose_dictionary(const struct xfa_columns *columns)
{
    uint8_t followers[XFA_MAX_COLUMNS] = {0};
    int best = -1;
    for (uint32_t i = 0; i < columns->count; i++)
        if (columns->columns[i].encoding == XFT_ENC_MAP)
            followers[columns->columns[i].base]++;
    for (uint32_t i = 0; i < columns->count; i++)
        if (columns->columns[i].encoding == XFT_ENC_DICT &&
            columns->columns[i].entries <= MOST_TEMPLATES &&
            (best < 0 || followers[i] > followers[best]))
            best = (int)i;
    return best;
}

static void put_in_templates(struct xfa_columns *columns, uint32_t position, uint32_t entries)
{
    struct xfa_column *column = &columns->columns[position];
    bool constant = column->encoding == XFT_ENC_CONST;
    column->in_template = constant || (int)position == columns->template_of ||
                          (column->encoding == XFT_ENC_MAP && column->base == columns->template_of);
    for (uint32_t i = 0; constant && i < entries; i++)
        scatter(&columns->templates[i], column->id, &column->previous, 1);
    if (column->in_template && !constant)
        scatter(columns->templates, column->id, columns->tables + column->table, entries);
}

static void make_templates(struct xfa_columns *columns)
{
    bool none = is_twofold(columns);
    columns->template_of = none ? -1 : choose_dictionary(columns);
    uint32_t entries =
        columns->template_of < 0 ? 1 : columns->columns[columns->template_of].entries;
    columns->templates =
        xfa_room(columns->templates, &columns->templates_room, entries, sizeof *columns->templates);
    memset(columns->templates, 0, entries * sizeof *columns->templates);
    for (uint32_t i = 0; i < columns->count; i++) {
        const struct xfa_column *column = &columns->columns[i];
        if (!none)
            put_in_templates(columns, i, entries);
        if (column->base >= 0 && needs_base(column->encoding) && column->encoding != XFT_ENC_MAP)
            columns->columns[column->base].is_base = true;
    }
}

/* ---- the door ------------------------------------------------------------------------- */

bool xfa_chunk_sound(const struct xft_chunk *chunk)
{
    return chunk->rows <= XFA_MAX_ROWS && chunk->first_seq <= UINT64_MAX - chunk->rows;
}

bool xfa_columns_open(struct xfa_columns *columns, struct xft_chunk *chunk,
                      struct xfa_cursor *payload)
{
    struct xft_column entries[XFA_MAX_COLUMNS];
    if (!xfa_take(payload, chunk, sizeof *chunk) || !xfa_chunk_sound(chunk) ||
        chunk->columns > XFA_MAX_COLUMNS ||
        !xfa_take(payload, entries, chunk->columns * sizeof *entries))
        return false;
    columns->count = chunk->columns;
    columns->tables_used = 0;
    for (uint32_t i = 0; i < chunk->columns; i++) {
        struct xfa_column *column = &columns->columns[i];
        const char *data = xfa_take_bytes(payload, entries[i].bytes);
        if (!data)
            return false;
        *column = (struct xfa_column){
            .id = entries[i].id, .encoding = entries[i].encoding, .wanted = true};
        column->base = directory_position(columns, i, entries[i].base);
        column->data.at = (const unsigned char *)data;
        column->data.end = column->data.at + entries[i].bytes;
        if (!column_usable(columns, i, chunk->rows))
            return false;
    }
    make_templates(columns);
    return true;
}

void xfa_columns_free(struct xfa_columns *columns)
{
    free(columns->tables);
    free(columns->templates);
}

size_t xfa_columns_bytes(const struct xfa_columns *columns)
{
    return columns->tables_used * sizeof *columns->tables +
           columns->templates_room * sizeof *columns->templates;
}

int xfa_columns_only(struct xfa_columns *columns, unsigned id)
{
    int position = -1; /* the last one counts, as in an event */
    for (uint32_t i = 0; i < columns->count; i++) {
        columns->columns[i].wanted = columns->columns[i].id == id;
        position = columns->columns[i].id == id ? (int)i : position;
    }
    for (uint32_t i = columns->count; i-- > 0;) /* a base comes before who refers to it */
        if (columns->columns[i].wanted && columns->columns[i].base >= 0)
            columns->columns[columns->columns[i].base].wanted = true;
    return position;
}

/* ---- rows ----------------------------------------------------------------------------- */

/* base: what differences are added to, or NULL. */
static __attribute__((nonnull(2))) bool next_varints(struct xfa_column *column, uint64_t *values,
                                                     const uint64_t *base, size_t rows)
{
    for (size_t i = 0; i < rows; i++) {
        uint64_t value;
        if (!varint(&column->data, &value))
            return false;
        if (column->encoding == XFT_ENC_DELTA)
            value = column->previous += unzigzag(value);
        else if (base)
            value = base[i] + unzigzag(value);
        values[i] = value;
    }
    return true;
}

/* Bytes of the rows, put together again: `planes` of them, which the compiler is to know. */
static inline __attribute__((always_inline)) void join(uint64_t *restrict values,
                                                       const unsigned char *restrict from,
                                                       size_t step, unsigned planes, size_t rows)
{
    for (size_t i = 0; i < rows; i++) {
        uint64_t value = 0;
        for (unsigned plane = 0; plane < planes; plane++)
            value |= (uint64_t)from[plane * step + i] << 8 * plane;
        values[i] = value;
    }
}

static void next_planes(struct xfa_column *column, uint64_t *values, size_t rows)
{
    const unsigned char *from = column->data.at;
    size_t step = column->plane_bytes;
    switch (column->planes) {
    case 0:
        memset(values, 0, rows * sizeof *values);
        return; /* and no bytes are used up */
    case 1:
        join(values, from, step, 1, rows);
        break;
    case 2:
        join(values, from, step, 2, rows);
        break;
    case 3:
        join(values, from, step, 3, rows);
        break;
    case 4:
        join(values, from, step, 4, rows);
        break;
    default:
        join(values, from, step, column->planes, rows);
        break;
    }
    column->data.at += rows;
}

static void next_differences(struct xfa_column *column, uint64_t *values, const uint64_t *base,
                             size_t rows)
{
    uint64_t least = column->least, previous = column->previous;
    next_planes(column, values, rows);
    if (column->encoding == XFT_ENC_DELTA_PLANES)
        for (size_t i = 0; i < rows; i++)
            values[i] = previous += values[i] + least;
    else if (base)
        for (size_t i = 0; i < rows; i++)
            values[i] += least + base[i];
    else
        for (size_t i = 0; i < rows; i++)
            values[i] += least;
    column->previous = previous;
}

static void look_up(uint64_t *restrict values, const uint64_t *restrict table,
                    const uint16_t *restrict indices, size_t rows)
{
    for (size_t i = 0; i < rows; i++)
        values[i] = table[indices[i]];
}

static bool next_entries(struct xfa_column *column, const uint64_t *table, uint64_t *values,
                         uint16_t *indices, size_t rows)
{
    uint64_t most = 0;
    next_planes(column, values, rows);
    for (size_t i = 0; i < rows; i++) {
        most = values[i] > most ? values[i] : most;
        indices[i] = (uint16_t)values[i];
    }
    if (!table || most >= column->entries)
        return false;
    look_up(values, table, indices, rows);
    return true;
}

static bool next_rows(struct xfa_columns *columns, struct xfa_block *block, uint32_t position,
                      size_t rows)
{
    struct xfa_column *column = &columns->columns[position];
    uint64_t *values = block->values[position];
    const uint64_t *base = column->base >= 0 ? block->values[column->base] : NULL;
    const uint64_t *table = column->entries ? columns->tables + column->table : NULL;
    switch (column->encoding) {
    case XFT_ENC_CONST:
        for (size_t i = 0; i < rows; i++)
            values[i] = column->previous;
        return true;
    case XFT_ENC_DICT:
        return next_entries(column, table, values, block->indices[position], rows);
    case XFT_ENC_MAP:
        look_up(values, table, block->indices[column->base], rows);
        return true;
    case XFT_ENC_PLANES:
    case XFT_ENC_DELTA_PLANES:
        base = NULL; /* whatever the directory says */
        /* fall through */
    case XFT_ENC_DIFF_PLANES:
        next_differences(column, values, base, rows);
        return true;
    case XFT_ENC_DIFF:
        return next_varints(column, values, base, rows);
    default:
        return next_varints(column, values, NULL, rows);
    }
}

static bool begin_events(struct xfa_columns *columns, struct xfa_block *block,
                         struct xft_event *restrict events, size_t rows)
{
    const struct xft_event *templates = columns->templates;
    if (columns->template_of < 0) {
        for (size_t i = 0; i < rows; i++)
            events[i] = *templates;
        return true;
    }
    if (!next_rows(columns, block, (uint32_t)columns->template_of, rows))
        return false;
    const uint16_t *indices = block->indices[columns->template_of];
    for (size_t i = 0; i < rows; i++)
        events[i] = templates[indices[i]];
    return true;
}

bool xfa_columns_next(struct xfa_columns *columns, struct xfa_block *block,
                      struct xft_event *events, size_t rows)
{
    int done = events ? columns->template_of : -1;
    if (events && !begin_events(columns, block, events, rows))
        return false;
    for (uint32_t i = 0; i < columns->count; i++) {
        const struct xfa_column *column = &columns->columns[i];
        bool made = events && column->in_template;
        if (!column->wanted || (int)i == done || (made && !column->is_base))
            continue;
        if (!next_rows(columns, block, i, rows))
            return false;
        if (events && !made)
            scatter(events, column->id, block->values[i], rows);
    }
    return true;
}
