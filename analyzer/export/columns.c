#include "analyzer/export/columns.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analyzer/base/check.h"
#include "common/text.h"

/* ---- values ---------------------------------------------------------------------------------- */

#define WHOLE 9007199254740992.0 /* up to here each whole number is a double */

static const struct xfa_value none;

struct xfa_value xfa_value_count(uint64_t count)
{
    return (struct xfa_value){XFA_VALUE_INTEGER,
                              {.integer = count > INT64_MAX ? INT64_MAX : (int64_t)count}};
}

struct xfa_value xfa_value_if(bool known, int64_t integer)
{
    return known ? (struct xfa_value){XFA_VALUE_INTEGER, {.integer = integer}} : none;
}

struct xfa_value xfa_value_moment(const struct xfa_process *process, uint64_t ns)
{
    uint64_t wall = xfa_process_wall_ns(process, ns);
    struct xfa_value value = xfa_value_count(wall);
    value.kind = XFA_VALUE_MOMENT;
    return wall ? value : none;
}

struct xfa_value xfa_value_real(double value)
{
    return isfinite(value) ? (struct xfa_value){XFA_VALUE_REAL, {.real = value}} : none;
}

struct xfa_value xfa_value_word(const char *word)
{
    return word ? (struct xfa_value){XFA_VALUE_WORD, {.text = word}} : none;
}

struct xfa_value xfa_value_text(const char *text)
{
    return text ? (struct xfa_value){XFA_VALUE_TEXT, {.text = text}} : none;
}

struct xfa_value xfa_value_truth(bool value)
{
    return (struct xfa_value){XFA_VALUE_TRUTH, {.integer = value}};
}

struct xfa_value xfa_value_memory(unsigned memory)
{
    return xfa_value_word(memory == XFT_MEM_UNKNOWN ? NULL : xft_memory_word(memory));
}

static void write_real(double value, struct xfa_line *line)
{
    if (fabs(value) < WHOLE && value == nearbyint(value))
        xfa_line_signed(line, (int64_t)value);
    else
        xfa_line_real(line, value, XFA_LINE_DIGITS);
}

void xfa_value_write(const struct xfa_value *value, struct xfa_line *line)
{
    switch (value->kind) {
    case XFA_VALUE_NONE:
        break;
    case XFA_VALUE_INTEGER:
    case XFA_VALUE_MOMENT:
        xfa_line_signed(line, value->integer);
        break;
    case XFA_VALUE_REAL:
        write_real(value->real, line);
        break;
    case XFA_VALUE_TRUTH:
        xfa_line_text(line, value->integer ? "true" : "false");
        break;
    case XFA_VALUE_WORD:
    case XFA_VALUE_TEXT:
        xfa_line_text(line, value->text);
        break;
    }
}

/* ---- kinds and words ------------------------------------------------------------------------- */

#define OF_DEVICE                                                                                  \
    (XFA_KIND(XFT_EVENT_DEVICE_COPY) | XFA_KIND(XFT_EVENT_KERNEL) | XFA_KIND(XFT_EVENT_MEMSET))
#define MIGRATIONS XFA_KIND(XFT_EVENT_MIGRATION)
#define FAULTS XFA_KIND(XFT_EVENT_FAULT)
#define RANGES (XFA_KIND(XFT_EVENT_RANGE_BEGIN) | XFA_KIND(XFT_EVENT_RANGE_END))
#define MOMENTS                                                                                    \
    (RANGES | XFA_KIND(XFT_EVENT_CONTENT) | XFA_KIND(XFT_EVENT_RECORDS) |                          \
     XFA_KIND(XFT_EVENT_HOST_ACCESS))
#define MESSAGES XFA_KIND(XFT_EVENT_MESSAGE)
#define OF_MEMORY                                                                                  \
    (XFA_KIND(XFT_EVENT_ALLOC) | XFA_KIND(XFT_EVENT_FREE) | XFA_KIND(XFT_EVENT_REGISTER) |         \
     XFA_KIND(XFT_EVENT_UNREGISTER) | XFA_KIND(XFT_EVENT_SET))
#define OF_MANAGED (XFA_KIND(XFT_EVENT_PREFETCH) | XFA_KIND(XFT_EVENT_ADVISE) | MIGRATIONS | FAULTS)
#define OF_EVENTS (XFA_KIND(XFT_EVENT_RECORD) | XFA_KIND(XFT_EVENT_WAIT))
#define QUERIES XFA_KIND(XFT_EVENT_QUERY)
#define WAITING (XFA_KIND(XFT_EVENT_SYNC) | XFA_KIND(XFT_EVENT_QUERY))
#define GRAPHS XFA_KIND(XFT_EVENT_GRAPH_LAUNCH)

static const char *const wait_words[] = {NULL, "event", "stream", "context"};
static const char *const stream_words[] = {[XFA_STREAM_DEFAULT] = "default",
                                           [XFA_STREAM_PER_THREAD] = "per-thread",
                                           [XFA_STREAM_MADE] = "made"};
static const char *const shape_words[] = {
    [XFA_LINEAR] = "linear", [XFA_STRIDED] = "strided", [XFA_BATCH] = "batch"};
static const char *const peer_words[] = {
    [XFA_PEER_NONE] = NULL, [XFA_PEER_OFF] = "off", [XFA_PEER_ON] = "on"};
static const char *const timed_words[] = {[XFA_TIMED_NOT] = NULL,
                                          [XFA_TIMED_DEVICE] = "device",
                                          [XFA_TIMED_HOST] = "host",
                                          [XFA_TIMED_SAMPLE] = "sampled"};

static bool is(const struct xfa_event *event, uint64_t kinds)
{
    return kinds & XFA_KIND(event->kind);
}

static struct xfa_value lasted(uint64_t start_ns, uint64_t end_ns)
{
    return start_ns && end_ns >= start_ns ? xfa_value_count(end_ns - start_ns) : none;
}

/* ---- transfers ------------------------------------------------------------------------------- */

static const struct xfa_class_key *key_of(const struct xfa_event *event)
{
    return &event->transfer.class->key;
}

static const struct xfa_device_copy *device_of(const struct xfa_event *event)
{
    return &event->transfer.device;
}

static const struct xfa_row *row_of(const struct xfa_export *export, const struct xfa_event *event)
{
    return xfa_analysis_row(export->analysis, event->transfer.class->row);
}

static bool priced(const struct xfa_event *event)
{
    return event->transfer.achievable.basis != XFP_UNKNOWN;
}

static double achievable_ns(const struct xfa_event *event)
{
    return priced(event) ? event->transfer.achievable.ns : NAN;
}

static const char *basis_word(const struct xfa_event *event)
{
    return priced(event) ? xfp_basis_word(event->transfer.achievable.basis) : NULL;
}

static struct xfa_value rate(uint64_t bytes, double ns)
{
    return xfa_value_real(ns > 0 ? (double)bytes / ns : NAN);
}

static struct xfa_value if_place(int place)
{
    return xfa_value_if(place >= 0, place);
}

/* ---- other events ---------------------------------------------------------------------------- */

/* As in a dump: hexadecimal, since not every reader has numbers of 64 bits. */
static struct xfa_value in_hexadecimal(bool known, uint64_t value)
{
    static char text[24];
    if (!known)
        return none;
    snprintf(text, sizeof text, "0x%" PRIx64, value);
    return xfa_value_word(text);
}

static const char *function_of(struct xfa_export *export, const struct xfa_event *event)
{
    bool calls = is(event, XFA_EXPORTED_CALLS) || !xft_event_word(event->kind);
    return calls ? xfa_words_function(&export->words, xfa_function_of(event)) : NULL;
}

static uint64_t name_of(const struct xfa_event *event)
{
    return is(event, XFA_KIND(XFT_EVENT_KERNEL))        ? event->work.name
           : is(event, XFA_KIND(XFT_EVENT_LAUNCH))      ? event->launch.name
           : is(event, XFA_KIND(XFT_EVENT_RANGE_BEGIN)) ? event->nvtx.name
                                                        : 0;
}

static uint64_t domain_of(const struct xfa_event *event)
{
    return is(event, RANGES) ? event->nvtx.domain : 0;
}

static uint64_t threads_of(const struct xfa_event *event)
{
    return is(event, XFA_KIND(XFT_EVENT_KERNEL))   ? event->work.threads
           : is(event, XFA_KIND(XFT_EVENT_LAUNCH)) ? event->launch.threads
                                                   : 0;
}

static const char *cause_word(uint64_t cause)
{
    static const char *const words[] = {
#define CAUSE(symbol, number, word, phrase) [number] = word,
        XFT_CAUSE_LIST(CAUSE)
#undef CAUSE
    };
    return cause < sizeof words / sizeof *words ? words[cause] : NULL;
}

/* ---- messages -------------------------------------------------------------------------------- */

static const char *operation_of(const struct xfa_event *event)
{
    return is(event, MESSAGES) ? xft_message_word(event->message.what) : NULL;
}

static struct xfa_value rank_of(const struct xfa_event *event, uint32_t rank)
{
    return xfa_value_if(is(event, MESSAGES) && rank < XFT_RANK_ANY, rank);
}

static uint32_t communicator_of(const struct xfa_event *event)
{
    return is(event, MESSAGES)                           ? event->message.communicator
           : is(event, XFA_KIND(XFT_EVENT_COMMUNICATOR)) ? event->communicator.number
                                                         : 0;
}

/* What MPI calls so; the calls that have none have 0. */
static struct xfa_value tag_of(const struct xfa_event *event)
{
    bool has =
        is(event, MESSAGES) && event->message.level == XFT_LEVEL_MPI &&
        (event->message.what == XFT_MESSAGE_SEND || event->message.what == XFT_MESSAGE_RECV ||
         event->message.what == XFT_MESSAGE_SENDRECV);
    return xfa_value_if(has, event->message.tag);
}

static uint64_t arrives_of(const struct xfa_event *event)
{
    return is(event, MESSAGES)                          ? event->message.arrives
           : is(event, XFA_KIND(XFT_EVENT_MESSAGE_END)) ? event->message_end.arrived
                                                        : 0;
}

/* ---- where from ------------------------------------------------------------------------------ */

/* NULL: an event without a stack. */
static const struct xfa_site *site_of(const struct xfa_export *export,
                                      const struct xfa_event *event)
{
    if (event->kind == XFT_EVENT_TRANSFER && event->transfer.class)
        return row_of(export, event)->site;
    return event->stack ? xfa_site_of(event) : NULL;
}

static struct xfa_value site_text(struct xfa_export *export, const struct xfa_event *event,
                                  enum xfa_words_list list)
{
    const struct xfa_site *site = site_of(export, event);
    return xfa_value_text(site ? xfa_words_site(&export->words, site, list) : NULL);
}

static struct xfa_value site_line(const struct xfa_export *export, const struct xfa_event *event)
{
    const struct xfa_site *site = site_of(export, event);
    uint32_t line = site && site->chosen >= 0 ? site->frames[site->chosen].line : 0;
    return xfa_value_if(line > 0, line);
}

/* ---- the columns ----------------------------------------------------------------------------- */

#define GETTER(name, value)                                                                        \
    static struct xfa_value get_##name(struct xfa_export *export, const struct xfa_event *event)   \
    {                                                                                              \
        return value;                                                                              \
    }
#define XFA_BOTH(name, kind, value) GETTER(name, value)
#define XFA_TRANSFER(name, kind, value) GETTER(transfer_##name, value)
#define XFA_EVENT(name, value) GETTER(event_##name, value)
#include "analyzer/export/columns.def"
#undef XFA_BOTH
#undef XFA_TRANSFER
#undef XFA_EVENT

const struct xfa_transfer_column xfa_transfer_columns[] = {
#define XFA_BOTH(name, kind, value) {#name, XFA_VALUE_##kind, get_##name},
#define XFA_TRANSFER(name, kind, value) {#name, XFA_VALUE_##kind, get_transfer_##name},
#define XFA_EVENT(name, value)
#include "analyzer/export/columns.def"
#undef XFA_BOTH
#undef XFA_TRANSFER
#undef XFA_EVENT
};
const size_t xfa_transfer_column_count = sizeof xfa_transfer_columns / sizeof *xfa_transfer_columns;

const struct xfa_event_column xfa_event_columns[] = {
#define XFA_BOTH(name, kind, value) {#name, get_##name},
#define XFA_TRANSFER(name, kind, value)
#define XFA_EVENT(name, value) {#name, get_event_##name},
#include "analyzer/export/columns.def"
};
const size_t xfa_event_column_count = sizeof xfa_event_columns / sizeof *xfa_event_columns;

/* ---- those of messages ----------------------------------------------------------------------- */

/* clang-format off: a table */
const struct xfa_message_column xfa_message_columns[] = {
    {"host", true},       {"process", true},       {"pid", false},       {"rank", false},
    {"thread", false},    {"start_ns", false},     {"ns", false},        {"function", true},
    {"message", true},    {"to_rank", false},      {"from_rank", false}, {"communicator", false},
    {"tag", false},       {"bytes", false},        {"arrives", false},   {"src_memory", true},
    {"dst_memory", true}, {"correlation", false},  {"failed", false},    {"status", false},
    {"site", true},       {"site_function", true}, {"site_file", true},  {"site_line", false},
};
/* clang-format on */
#define MESSAGE_COLUMNS (sizeof xfa_message_columns / sizeof *xfa_message_columns)
const size_t xfa_message_column_count = MESSAGE_COLUMNS;

struct xfa_value xfa_message_value(size_t column, struct xfa_export *export,
                                   const struct xfa_event *event)
{
    static uint8_t
        places[MESSAGE_COLUMNS]; /* + 1, once it was looked for; of the events' columns */
    for (size_t i = 0; i < xfa_event_column_count && !places[column]; i++)
        if (strcmp(xfa_event_columns[i].name, xfa_message_columns[column].name) == 0)
            places[column] = (uint8_t)(i + 1);
    XFA_EXPECT(places[column], "an event has no such column");
    return places[column] ? xfa_event_columns[places[column] - 1].get(export, event) : none;
}

const char *xfa_message_event(const struct xfa_event *event)
{
    return event->kind == XFT_EVENT_MESSAGE       ? "message"
           : event->kind == XFT_EVENT_MESSAGE_END ? "message-end"
                                                  : NULL;
}

/* ---- CSV ------------------------------------------------------------------------------------- */

/* Quotes are for few of them. */
void xfa_value_write_csv(const struct xfa_value *value, struct xfa_line *line)
{
    bool plain = value->kind != XFA_VALUE_TEXT ||
                 (!strpbrk(value->text, ",\"\r\n") && !strchr("=+-@\t", *value->text));
    if (plain) {
        xfa_value_write(value, line);
        return;
    }
    xfa_line_end(line);
    xfc_csv_field(line->out, value->text);
}
