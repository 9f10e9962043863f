#define XXH_INLINE_ALL
#include "preload/python/python.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

#include "preload/python/python_lines.h"
#include "preload/python/python_memory.h"
#include "preload/base/sandbox.h"
#include "xferscope/trace.h"

#define MODULE_NAME "python"
#define MOST_LINKS 256 /* frames visited in one walk, including those left out */

/* ---- a frame and its code --------------------------------------------------------------- */

struct frame {
    uintptr_t previous;
    uintptr_t code;
    uint64_t position; /* as the layout has it */
    uint8_t owner;
};

/* What identifies a place in a program. */
struct place {
    uint64_t code;
    uint64_t file, name, lines;
    int64_t offset;   /* of the instruction, in bytes */
    uint64_t content; /* hash of file, name and lines; 0 when `version` identifies the code */
    int32_t first_line;
    uint32_t version;
};

#define FIELD(target, bytes, offset) memcpy(&(target), (bytes) + (offset), sizeof(target))

static bool read_frame(struct xfs_python_reader *reader, uintptr_t at, struct frame *frame)
{
    const struct xfs_python_layout *layout = &reader->python->layout;
    unsigned char bytes[XFS_PYTHON_FRAME_BYTES];
    size_t end = layout->frame_position + sizeof(uint64_t);
    if (layout->frame_owner >= end)
        end = layout->frame_owner + 1u;
    *frame = (struct frame){0};
    if (at % sizeof(void *) || !xfs_python_read(reader, at, bytes, end))
        return false;
    FIELD(frame->previous, bytes, layout->frame_previous);
    FIELD(frame->code, bytes, layout->frame_code);
    frame->code &= layout->frame_code_mask;
    FIELD(frame->position, bytes, layout->frame_position);
    if (layout->frame_owner)
        frame->owner = bytes[layout->frame_owner];
    return true;
}

/* Byte offset of the instruction; negative when the frame does not run yet. */
static int64_t offset_of(const struct xfs_python_layout *layout, const struct frame *frame,
                         int64_t units)
{
    if (layout->by_index)
        return 2 * (int64_t)(int32_t)frame->position;
    int64_t offset = (int64_t)(frame->position - frame->code - layout->code_instructions);
    return offset < 2 * units ? offset : -1;
}

static bool hash_content(struct xfs_python_reader *reader, struct place *place)
{
    struct xfs_python_content file, name, lines;
    uint64_t hashes[3];
    bool good = xfs_python_string(reader, place->file, &file) &&
                xfs_python_string(reader, place->name, &name) &&
                xfs_python_bytes(reader, place->lines, &lines) &&
                xfs_python_sample(reader, &file, &hashes[0]) &&
                xfs_python_sample(reader, &name, &hashes[1]) &&
                xfs_python_sample(reader, &lines, &hashes[2]);
    place->content = good ? XXH3_64bits(hashes, sizeof hashes) : 0;
    return good;
}

static bool read_place(struct xfs_python_reader *reader, const struct frame *frame,
                       struct place *place)
{
    const struct xfs_python_layout *layout = &reader->python->layout;
    unsigned char bytes[XFS_PYTHON_CODE_BYTES];
    uintptr_t type;
    int64_t units;
    *place = (struct place){.code = frame->code};
    if (frame->code % sizeof(void *) ||
        !xfs_python_read(reader, frame->code, bytes, layout->code_lines + sizeof(uint64_t)))
        return false;
    FIELD(type, bytes, XFS_PYTHON_TYPE);
    if (type != reader->python->code_type)
        return false;
    FIELD(units, bytes, XFS_PYTHON_SIZE);
    FIELD(place->file, bytes, layout->code_file);
    FIELD(place->name, bytes, layout->code_name);
    FIELD(place->lines, bytes, layout->code_lines);
    FIELD(place->first_line, bytes, layout->code_first_line);
    if (layout->code_version)
        FIELD(place->version, bytes, layout->code_version);
    place->offset = offset_of(layout, frame, units);
    return place->version || place->offset < 0 || hash_content(reader, place);
}

/* ---- names and lines of a place that is new --------------------------------------------- */

static uint32_t line_of(struct xfs_python_reader *reader, const struct place *place)
{
    unsigned char small[4096], *table = small;
    struct xfs_python_content lines;
    uint32_t line = 0;
    if (!xfs_python_bytes(reader, place->lines, &lines))
        return 0;
    bool large = lines.units > sizeof small;
    if (large)
        table = mmap(NULL, lines.units, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (table == MAP_FAILED)
        return 0;
    if (xfs_python_read(reader, lines.at, table, lines.units))
        line = (reader->python->layout.minor == 10 ? xfs_python_line_310 : xfs_python_line_311)(
            table, lines.units, place->first_line, place->offset);
    if (large)
        munmap(table, lines.units);
    return line;
}

struct new_place {
    struct xfs_python_reader *reader;
    const struct place *place;
};

/* Writes its SYMBOLS entry at once, in a segment of its own. */
static bool write_symbol(struct xfs_recorder *recorder, const void *thing, uint32_t id)
{
    struct xfs_python_reader *reader = ((const struct new_place *)thing)->reader;
    const struct place *place = ((const struct new_place *)thing)->place;
    char text[(size_t)8 * XFS_PYTHON_TEXT + sizeof MODULE_NAME];
    unsigned char payload[sizeof(struct xft_symbol) + sizeof text];
    struct xft_symbol symbol = {.address = XFT_PYTHON_FRAME | id,
                                .module_bytes = sizeof MODULE_NAME - 1};
    struct xfs_python_content file, name;
    if (!xfs_python_string(reader, place->file, &file) ||
        !xfs_python_string(reader, place->name, &name) ||
        !xfs_python_text(reader, &name, false, text, &symbol.function_bytes) ||
        !xfs_python_text(reader, &file, true, text + symbol.function_bytes, &symbol.file_bytes))
        return false;
    symbol.line = line_of(reader, place);
    size_t bytes = symbol.function_bytes + symbol.file_bytes;
    memcpy(text + bytes, MODULE_NAME, symbol.module_bytes);
    bytes += symbol.module_bytes;
    memcpy(payload, &symbol, sizeof symbol);
    memcpy(payload + sizeof symbol, text, bytes);
    return reader->python->host->write_symbol(recorder, payload, sizeof symbol + bytes);
}

/* ---- the walk --------------------------------------------------------------------------- */

static bool innermost(struct xfs_python_reader *reader, uintptr_t thread, uintptr_t *frame)
{
    const struct xfs_python_layout *layout = &reader->python->layout;
    if (thread % sizeof(void *) ||
        !xfs_python_read(reader, thread + layout->thread_frame, frame, sizeof *frame))
        return false;
    if (!layout->by_cframe || *frame == 0)
        return true;
    return *frame % sizeof(void *) == 0 &&
           xfs_python_read(reader, *frame + layout->cframe_frame, frame, sizeof *frame);
}

static const char not_kept[] = "not kept"; /* nothing wrong with the interpreter */

/* NULL, or what was not as expected. */
static const char *walk(struct xfs_python *python, struct xfs_python_reader *reader,
                        uintptr_t thread, uint64_t *addresses, uint32_t most, uint32_t *depth)
{
    struct frame frame;
    struct place place;
    uintptr_t at = 0;
    *depth = 0;
    if (!innermost(reader, thread, &at))
        return "its thread state is not where it should be";
    for (int links = 0; at != 0 && *depth < most && links < MOST_LINKS; links++) {
        if (!read_frame(reader, at, &frame))
            return "its frames are not where they should be";
        at = frame.previous;
        if (frame.owner >= XFS_PYTHON_OWNER_OTHER)
            continue;
        if (!read_place(reader, &frame, &place))
            return "its code objects are not what they should be";
        if (place.offset < 0)
            continue;
        uint32_t id =
            xfs_number_of(&python->numbers, XXH3_64bits(&place, sizeof place), write_symbol,
                          python->recorder, &(struct new_place){reader, &place});
        if (id == 0)
            return not_kept;
        addresses[(*depth)++] = XFT_PYTHON_FRAME | id;
    }
    return NULL;
}

/* The first walk that finds frames decides. */
static void decide(struct xfs_python *python, const char *why, uint32_t depth)
{
    enum xfs_python_state untried = XFS_PYTHON_UNTRIED;
    if (why == not_kept || (why == NULL && depth == 0))
        return;
    if (!atomic_compare_exchange_strong(&python->state, &untried,
                                        why ? XFS_PYTHON_OFF : XFS_PYTHON_ON))
        return;
    if (why)
        python->host->write_meta(python->recorder, "python.frames.why", why);
    python->host->write_meta(python->recorder, "python.frames", why ? "off" : "on");
}

uint32_t xfs_python_take(struct xfs_python *python, pid_t tid, uint64_t *addresses, uint32_t most)
{
    uint32_t depth = 0;
    enum xfs_python_state state = atomic_load_explicit(&python->state, memory_order_acquire);
    if (state == XFS_PYTHON_OFF || (python->finalizing && python->finalizing()))
        return 0;
    uintptr_t thread = (uintptr_t)python->thread_state();
    if (thread == 0)
        return 0;
    bool quietly = !xfs_may_call_kernel();
    if (quietly && state != XFS_PYTHON_ON)
        return 0;
    struct xfs_python_reader reader;
    reader.python = python;
    reader.pid = state == XFS_PYTHON_ON && (tid == python->pid || quietly) ? 0 : python->pid;
    xfs_python_read_begin(&reader, &python->habits[(uint32_t)tid % XFS_PYTHON_HABITS]);
    const char *why = walk(python, &reader, thread, addresses, most, &depth);
    xfs_python_read_end(&reader);
    if (state == XFS_PYTHON_UNTRIED)
        decide(python, why, depth);
    return why ? 0 : depth;
}
