/* The columns of an event that is no transfer. */
#include <inttypes.h>

#include "analyzer/export/columns.h"

#define GETTER(name)                                                                               \
    static struct xfa_value get_##name(struct xfa_export *export, const struct xfa_event *event)

static const struct xfa_value none;

static bool is(const struct xfa_event *event, uint32_t kinds)
{
    return kinds & XFA_KIND(event->kind);
}

#define OF_DEVICE                                                                                  \
    (XFA_KIND(XFT_EVENT_DEVICE_COPY) | XFA_KIND(XFT_EVENT_KERNEL) | XFA_KIND(XFT_EVENT_MEMSET))
#define NO_CALLS                                                                                   \
    (OF_DEVICE | XFA_KIND(XFT_EVENT_MIGRATION) | XFA_KIND(XFT_EVENT_FAULT) |                       \
     XFA_KIND(XFT_EVENT_RANGE_BEGIN) | XFA_KIND(XFT_EVENT_RANGE_END) |                             \
     XFA_KIND(XFT_EVENT_CONTENT) | XFA_KIND(XFT_EVENT_RECORDS))
#define OF_MEMORY                                                                                  \
    (XFA_KIND(XFT_EVENT_ALLOC) | XFA_KIND(XFT_EVENT_FREE) | XFA_KIND(XFT_EVENT_REGISTER) |         \
     XFA_KIND(XFT_EVENT_UNREGISTER) | XFA_KIND(XFT_EVENT_SET))
#define OF_MANAGED                                                                                 \
    (XFA_KIND(XFT_EVENT_PREFETCH) | XFA_KIND(XFT_EVENT_ADVISE) | XFA_KIND(XFT_EVENT_MIGRATION) |   \
     XFA_KIND(XFT_EVENT_FAULT))
#define OF_EVENTS (XFA_KIND(XFT_EVENT_RECORD) | XFA_KIND(XFT_EVENT_WAIT))
#define WAITING (XFA_KIND(XFT_EVENT_SYNC) | XFA_KIND(XFT_EVENT_QUERY))
#define RANGES (XFA_KIND(XFT_EVENT_RANGE_BEGIN) | XFA_KIND(XFT_EVENT_RANGE_END))

/* As in a dump: hexadecimal, since not every reader has numbers of 64 bits. */
static struct xfa_value in_hexadecimal(bool known, uint64_t value)
{
    static char text[24];
    snprintf(text, sizeof text, "0x%" PRIx64, value);
    return known ? xfa_value_word(text) : none;
}

/* ---- who and when ---------------------------------------------------------------------------- */

GETTER(host)
{
    return xfa_value_text(xfa_words_host(&export->words, event->process));
}

GETTER(process)
{
    return xfa_value_text(xfa_words_file(&export->words, event->process));
}

GETTER(pid)
{
    return xfa_value_if(event->process->pid > 0, event->process->pid);
}

GETTER(rank)
{
    return xfa_value_if(event->process->rank.known, event->process->rank.number);
}

GETTER(thread)
{
    bool programs = !is(event, OF_DEVICE | XFA_KIND(XFT_EVENT_MIGRATION));
    return xfa_value_if(programs && event->tid > 0, event->tid);
}

GETTER(start_ns)
{
    return xfa_value_moment(event->process, event->start_ns);
}

GETTER(ns)
{
    bool lasts = !is(event, RANGES | XFA_KIND(XFT_EVENT_CONTENT) | XFA_KIND(XFT_EVENT_RECORDS));
    return lasts && event->start_ns && event->end_ns >= event->start_ns
               ? xfa_value_count(event->end_ns - event->start_ns)
               : none;
}

GETTER(correlation)
{
    return xfa_value_if(event->correlation != 0, event->correlation);
}

/* ---- what ------------------------------------------------------------------------------------ */

GETTER(function)
{
    const struct xfa_function *function = is(event, NO_CALLS) ? NULL : xfa_function_of(event);
    return xfa_value_text(function ? xfa_words_function(&export->words, function) : NULL);
}

GETTER(name)
{
    uint64_t id = is(event, XFA_KIND(XFT_EVENT_KERNEL))        ? event->work.name
                  : is(event, XFA_KIND(XFT_EVENT_LAUNCH))      ? event->launch.name
                  : is(event, XFA_KIND(XFT_EVENT_RANGE_BEGIN)) ? event->nvtx.name
                                                               : 0;
    return xfa_value_text(xfa_words_name(&export->words, event->process, id));
}

GETTER(domain)
{
    return xfa_value_text(
        xfa_words_name(&export->words, event->process, is(event, RANGES) ? event->nvtx.domain : 0));
}

GETTER(range)
{
    return xfa_value_if(is(event, RANGES) && event->nvtx.id, (int64_t)event->nvtx.id);
}

GETTER(bytes)
{
    return event->bytes ? xfa_value_count(event->bytes) : none;
}

GETTER(count)
{
    if (is(event, XFA_KIND(XFT_EVENT_FAULT)))
        return xfa_value_if(true, event->managed.count);
    return xfa_value_if(is(event, XFA_KIND(XFT_EVENT_GRAPH_LAUNCH)), event->copies);
}

GETTER(threads)
{
    uint64_t threads = is(event, XFA_KIND(XFT_EVENT_KERNEL))   ? event->work.threads
                       : is(event, XFA_KIND(XFT_EVENT_LAUNCH)) ? event->launch.threads
                                                               : 0;
    return threads ? xfa_value_count(threads) : none;
}

GETTER(direction)
{
    return event->direction ? xfa_value_word(xft_direction_word(event->direction)) : none;
}

GETTER(src_memory)
{
    return xfa_value_memory(event->src_mem);
}

GETTER(dst_memory)
{
    return xfa_value_memory(event->dst_mem);
}

GETTER(cause)
{
    static const char *const words[] = {
#define CAUSE(symbol, number, word, phrase) [number] = word,
        XFT_CAUSE_LIST(CAUSE)
#undef CAUSE
    };
    bool known = is(event, XFA_KIND(XFT_EVENT_MIGRATION)) &&
                 event->managed.cause < sizeof words / sizeof *words;
    return xfa_value_word(known ? words[event->managed.cause] : NULL);
}

GETTER(waits_for)
{
    static const char *const words[] = {NULL, "event", "stream", "context"};
    return xfa_value_word(is(event, WAITING) ? words[event->wait.what] : NULL);
}

GETTER(failed)
{
    return event->flags & XFT_FAILED ? xfa_value_truth(true) : none;
}

GETTER(captured)
{
    return event->flags & XFT_CAPTURED ? xfa_value_truth(true) : none;
}

GETTER(status)
{
    return xfa_value_if(event->status != 0, event->status);
}

/* ---- where ----------------------------------------------------------------------------------- */

GETTER(gpu)
{
    return xfa_value_if(event->gpu >= 0, event->gpu);
}

GETTER(stream_number)
{
    return is(event, OF_DEVICE) ? xfa_value_count(event->work.stream) : none;
}

GETTER(stream)
{
    return in_hexadecimal(event->flags & XFT_STREAM_KNOWN, event->stream);
}

GETTER(address)
{
    bool managed = is(event, OF_MANAGED);
    return in_hexadecimal(managed || is(event, OF_MEMORY),
                          managed ? event->managed.address : event->memory.address);
}

GETTER(cuda_event)
{
    bool known = is(event, OF_EVENTS | WAITING) && event->wait.what == XFT_SYNC_EVENT;
    return in_hexadecimal(known, known ? event->wait.event : 0);
}

static const struct xfa_site *site_of(const struct xfa_event *event)
{
    return event->stack ? xfa_site_of(event) : NULL;
}

static struct xfa_value site_word(struct xfa_export *export, const struct xfa_event *event,
                                  enum xfa_words_list list)
{
    const struct xfa_site *site = site_of(event);
    return xfa_value_text(site ? xfa_words_site(&export->words, site, list) : NULL);
}

GETTER(site)
{
    return site_word(export, event, XFA_WORDS_SITE);
}

GETTER(site_function)
{
    return site_word(export, event, XFA_WORDS_SITE_FUNCTION);
}

GETTER(site_file)
{
    return site_word(export, event, XFA_WORDS_SITE_FILE);
}

GETTER(site_line)
{
    const struct xfa_site *site = site_of(event);
    uint32_t line = site && site->chosen >= 0 ? site->frames[site->chosen].line : 0;
    return xfa_value_if(line > 0, line);
}

/* clang-format off: a table */
const struct xfa_event_column xfa_event_columns[] = {
    {"host", get_host},
    {"process", get_process},
    {"pid", get_pid},
    {"rank", get_rank},
    {"thread", get_thread},
    {"start_ns", get_start_ns},
    {"ns", get_ns},
    {"correlation", get_correlation},
    {"function", get_function},
    {"name", get_name},
    {"domain", get_domain},
    {"range", get_range},
    {"bytes", get_bytes},
    {"count", get_count},
    {"threads", get_threads},
    {"direction", get_direction},
    {"src_memory", get_src_memory},
    {"dst_memory", get_dst_memory},
    {"cause", get_cause},
    {"waits_for", get_waits_for},
    {"failed", get_failed},
    {"captured", get_captured},
    {"status", get_status},
    {"gpu", get_gpu},
    {"stream_number", get_stream_number},
    {"stream", get_stream},
    {"address", get_address},
    {"cuda_event", get_cuda_event},
    {"site", get_site},
    {"site_function", get_site_function},
    {"site_file", get_site_file},
    {"site_line", get_site_line},
};
/* clang-format on */
const size_t xfa_event_column_count = sizeof xfa_event_columns / sizeof *xfa_event_columns;
