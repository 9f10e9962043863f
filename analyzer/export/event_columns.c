/* The columns of an event that is no transfer. */
#include <inttypes.h>

#include "analyzer/export/columns.h"

#define GETTER(name)                                                                               \
    static struct xfa_value get_##name(struct xfa_export *export, const struct xfa_step *s)

static const struct xfa_value none;

static bool is(const struct xfa_step *s, uint32_t kinds)
{
    return kinds & XFA_KIND(s->event->kind);
}

#define OF_DEVICE                                                                                  \
    (XFA_KIND(XFT_EVENT_DEVICE_COPY) | XFA_KIND(XFT_EVENT_KERNEL) | XFA_KIND(XFT_EVENT_MEMSET))
#define NO_CALLS                                                                                   \
    (OF_DEVICE | XFA_KIND(XFT_EVENT_MIGRATION) | XFA_KIND(XFT_EVENT_FAULT) |                       \
     XFA_KIND(XFT_EVENT_RANGE_BEGIN) | XFA_KIND(XFT_EVENT_RANGE_END) |                             \
     XFA_KIND(XFT_EVENT_CONTENT) | XFA_KIND(XFT_EVENT_RECORDS))
#define AT_DST                                                                                     \
    (XFA_KIND(XFT_EVENT_ALLOC) | XFA_KIND(XFT_EVENT_FREE) | XFA_KIND(XFT_EVENT_REGISTER) |         \
     XFA_KIND(XFT_EVENT_UNREGISTER) | XFA_KIND(XFT_EVENT_SET))
#define AT_SRC                                                                                     \
    (XFA_KIND(XFT_EVENT_PREFETCH) | XFA_KIND(XFT_EVENT_ADVISE) | XFA_KIND(XFT_EVENT_MIGRATION) |   \
     XFA_KIND(XFT_EVENT_FAULT))
#define OF_EVENTS (XFA_KIND(XFT_EVENT_RECORD) | XFA_KIND(XFT_EVENT_WAIT))
#define WAITING (XFA_KIND(XFT_EVENT_SYNC) | XFA_KIND(XFT_EVENT_QUERY))
#define RANGES (XFA_KIND(XFT_EVENT_RANGE_BEGIN) | XFA_KIND(XFT_EVENT_RANGE_END))
#define WORK (XFA_KIND(XFT_EVENT_KERNEL) | XFA_KIND(XFT_EVENT_LAUNCH))

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
    return xfa_value_text(xfa_words_host(&export->words, s->process));
}

GETTER(process)
{
    return xfa_value_text(xfa_words_file(&export->words, s->process));
}

GETTER(pid)
{
    return xfa_value_if(s->process->pid > 0, s->process->pid);
}

GETTER(rank)
{
    return xfa_value_if(s->process->rank.known, s->process->rank.number);
}

GETTER(thread)
{
    bool programs = !is(s, OF_DEVICE | XFA_KIND(XFT_EVENT_MIGRATION));
    return xfa_value_if(programs && s->tid > 0, s->tid);
}

GETTER(start_ns)
{
    return xfa_value_moment(s->process, s->event->start_ns);
}

GETTER(ns)
{
    const struct xft_event *e = s->event;
    bool lasts = !is(s, RANGES | XFA_KIND(XFT_EVENT_CONTENT) | XFA_KIND(XFT_EVENT_RECORDS));
    return lasts && e->start_ns && e->end_ns >= e->start_ns
               ? xfa_value_count(e->end_ns - e->start_ns)
               : none;
}

GETTER(correlation)
{
    return xfa_value_if(s->event->correlation != 0, s->event->correlation);
}

/* ---- what ------------------------------------------------------------------------------------ */

GETTER(function)
{
    const struct xfa_function *function =
        is(s, NO_CALLS) ? NULL : xfa_process_function(s->process, s->event->call);
    return xfa_value_text(function ? xfa_words_function(&export->words, function) : NULL);
}

GETTER(name)
{
    uint64_t id = is(s, WORK)                              ? s->event->src
                  : is(s, XFA_KIND(XFT_EVENT_RANGE_BEGIN)) ? s->event->aux
                                                           : 0;
    return xfa_value_text(xfa_words_name(&export->words, s->process, id));
}

GETTER(domain)
{
    return xfa_value_text(
        xfa_words_name(&export->words, s->process, is(s, RANGES) ? s->event->src : 0));
}

GETTER(range)
{
    return xfa_value_if(is(s, RANGES) && s->event->dst, (int64_t)s->event->dst);
}

GETTER(bytes)
{
    return s->event->bytes ? xfa_value_count(s->event->bytes) : none;
}

GETTER(count)
{
    bool counts = is(s, XFA_KIND(XFT_EVENT_FAULT) | XFA_KIND(XFT_EVENT_GRAPH_LAUNCH));
    return xfa_value_if(counts, s->event->count);
}

GETTER(threads)
{
    return is(s, WORK) && s->event->dst ? xfa_value_count(s->event->dst) : none;
}

GETTER(direction)
{
    return s->event->direction ? xfa_value_word(xft_direction_word(s->event->direction)) : none;
}

GETTER(src_memory)
{
    return xfa_value_memory(s->event->src_mem);
}

GETTER(dst_memory)
{
    return xfa_value_memory(s->event->dst_mem);
}

GETTER(cause)
{
    static const char *const words[] = {
#define CAUSE(symbol, number, word, phrase) [number] = word,
        XFT_CAUSE_LIST(CAUSE)
#undef CAUSE
    };
    bool known =
        is(s, XFA_KIND(XFT_EVENT_MIGRATION)) && s->event->aux < sizeof words / sizeof *words;
    return xfa_value_word(known ? words[s->event->aux] : NULL);
}

GETTER(waits_for)
{
    static const char *const words[] = {NULL, "event", "stream", "context"};
    bool known = is(s, WAITING) && s->event->aux < sizeof words / sizeof *words;
    return xfa_value_word(known ? words[s->event->aux] : NULL);
}

GETTER(failed)
{
    return s->event->flags & XFT_FAILED ? xfa_value_truth(true) : none;
}

GETTER(captured)
{
    return s->event->flags & XFT_CAPTURED ? xfa_value_truth(true) : none;
}

GETTER(status)
{
    return xfa_value_if(s->event->status != 0, s->event->status);
}

/* ---- where ----------------------------------------------------------------------------------- */

GETTER(gpu)
{
    int gpu = xfa_process_gpu(s->process, s->event->device);
    return xfa_value_if(gpu >= 0, gpu);
}

GETTER(stream_number)
{
    return is(s, OF_DEVICE) ? xfa_value_count(s->event->aux) : none;
}

GETTER(stream)
{
    return in_hexadecimal(s->event->flags & XFT_STREAM_KNOWN, s->event->stream);
}

GETTER(address)
{
    uint64_t at = is(s, AT_DST) ? s->event->dst : s->event->src;
    return in_hexadecimal(is(s, AT_DST | AT_SRC), at);
}

GETTER(cuda_event)
{
    bool waits = is(s, WAITING) && s->event->aux == XFT_SYNC_EVENT;
    return in_hexadecimal(is(s, OF_EVENTS) || waits, s->event->src);
}

static const struct xfa_site *site_of(const struct xfa_step *s)
{
    return s->event->stack ? xfa_process_site(s->process, s->event->stack) : NULL;
}

static struct xfa_value site_word(struct xfa_export *export, const struct xfa_step *s,
                                  enum xfa_words_list list)
{
    const struct xfa_site *site = site_of(s);
    return xfa_value_text(site ? xfa_words_site(&export->words, site, list) : NULL);
}

GETTER(site)
{
    return site_word(export, s, XFA_WORDS_SITE);
}

GETTER(site_function)
{
    return site_word(export, s, XFA_WORDS_SITE_FUNCTION);
}

GETTER(site_file)
{
    return site_word(export, s, XFA_WORDS_SITE_FILE);
}

GETTER(site_line)
{
    const struct xfa_site *site = site_of(s);
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
