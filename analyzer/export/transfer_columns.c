/* The columns of a transfer. */
#include <math.h>

#include "analyzer/export/columns.h"

#define GETTER(name)                                                                               \
    static struct xfa_value get_##name(struct xfa_export *export, const struct xfa_event *event)

static const struct xfa_class_key *key_of(const struct xfa_event *event)
{
    return &event->transfer.class->key;
}

static const struct xfa_row *row_of(const struct xfa_export *export, const struct xfa_event *event)
{
    return xfa_analysis_row(export->analysis, event->transfer.class->row);
}

static bool priced(const struct xfa_event *event)
{
    return event->transfer.achievable.basis != XFP_UNKNOWN;
}

static struct xfa_value rate(uint64_t bytes, double ns)
{
    return xfa_value_real(ns > 0 ? (double)bytes / ns : NAN);
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
    return xfa_value_if(event->tid > 0, event->tid);
}

GETTER(call_start_ns)
{
    return xfa_value_moment(event->process, event->start_ns);
}

GETTER(call_ns)
{
    return event->start_ns && event->end_ns >= event->start_ns
               ? xfa_value_count(event->end_ns - event->start_ns)
               : xfa_value_if(false, 0);
}

GETTER(device_start_ns)
{
    return xfa_value_moment(event->process, event->transfer.device.start_ns);
}

GETTER(device_ns)
{
    const struct xfa_transfer *transfer = &event->transfer;
    return transfer->device.start_ns && transfer->device.end_ns >= transfer->device.start_ns
               ? xfa_value_count(transfer->device.end_ns - transfer->device.start_ns)
               : xfa_value_if(false, 0);
}

GETTER(correlation)
{
    return xfa_value_if(event->correlation != 0, event->correlation);
}

/* ---- what moved ------------------------------------------------------------------------------ */

GETTER(direction)
{
    return xfa_value_word(xft_direction_word(key_of(event)->row.direction));
}

GETTER(bytes)
{
    return xfa_value_count(event->bytes);
}

GETTER(copies)
{
    return xfa_value_count(event->transfer.copies ? event->transfer.copies : 1);
}

GETTER(src_memory)
{
    return xfa_value_memory(key_of(event)->row.src_mem);
}

GETTER(dst_memory)
{
    return xfa_value_memory(key_of(event)->row.dst_mem);
}

GETTER(src_gpu)
{
    return xfa_value_if(key_of(event)->row.src_gpu >= 0, key_of(event)->row.src_gpu);
}

GETTER(dst_gpu)
{
    return xfa_value_if(key_of(event)->row.dst_gpu >= 0, key_of(event)->row.dst_gpu);
}

GETTER(src_node)
{
    return xfa_value_if(key_of(event)->src_node >= 0, key_of(event)->src_node);
}

GETTER(dst_node)
{
    return xfa_value_if(key_of(event)->dst_node >= 0, key_of(event)->dst_node);
}

/* ---- how ------------------------------------------------------------------------------------- */

GETTER(function)
{
    return xfa_value_text(
        xfa_words_function(&export->words, xfa_row_called(row_of(export, event))));
}

GETTER(async)
{
    return xfa_value_truth(key_of(event)->row.async);
}

GETTER(blocks)
{
    return xfa_value_truth(event->transfer.blocks);
}

GETTER(graph)
{
    return xfa_value_truth(event->flags & XFT_GRAPH);
}

GETTER(stream)
{
    static const char *const words[] = {[XFA_STREAM_DEFAULT] = "default",
                                        [XFA_STREAM_PER_THREAD] = "per-thread",
                                        [XFA_STREAM_MADE] = "made"};
    return xfa_value_word(words[key_of(event)->stream]);
}

GETTER(shape)
{
    static const char *const words[] = {
        [XFA_LINEAR] = "linear", [XFA_STRIDED] = "strided", [XFA_BATCH] = "batch"};
    return xfa_value_word(words[key_of(event)->shape]);
}

GETTER(peer_access)
{
    static const char *const words[] = {
        [XFA_PEER_NONE] = NULL, [XFA_PEER_OFF] = "off", [XFA_PEER_ON] = "on"};
    return xfa_value_word(words[key_of(event)->peer]);
}

/* ---- figures --------------------------------------------------------------------------------- */

GETTER(achieved_ns)
{
    return xfa_value_real(event->transfer.achieved_ns);
}

GETTER(achieved_gb_s)
{
    return rate(event->bytes, event->transfer.achieved_ns);
}

GETTER(achieved_basis)
{
    static const char *const words[] = {
        [XFA_TIMED_NOT] = NULL, [XFA_TIMED_DEVICE] = "device", [XFA_TIMED_HOST] = "host"};
    return xfa_value_word(words[event->transfer.timed]);
}

GETTER(achievable_ns)
{
    return xfa_value_real(priced(event) ? event->transfer.achievable.ns : NAN);
}

GETTER(achievable_gb_s)
{
    return rate(event->bytes, priced(event) ? event->transfer.achievable.ns : NAN);
}

GETTER(achievable_basis)
{
    return xfa_value_word(priced(event) ? xfp_basis_word(event->transfer.achievable.basis) : NULL);
}

GETTER(achievable_error)
{
    return xfa_value_real(priced(event) ? event->transfer.achievable.error : NAN);
}

GETTER(other_machine)
{
    return xfa_value_truth(priced(event) && export->analysis->achievable.match == XFA_MATCH_NO);
}

GETTER(lost_ns)
{
    return xfa_value_real(event->transfer.lost_ns);
}

GETTER(simulated)
{
    return xfa_value_truth(xfa_export_simulated(export, event->process));
}

/* ---- where from ------------------------------------------------------------------------------ */

GETTER(site)
{
    return xfa_value_text(
        xfa_words_site(&export->words, row_of(export, event)->site, XFA_WORDS_SITE));
}

GETTER(site_function)
{
    return xfa_value_text(
        xfa_words_site(&export->words, row_of(export, event)->site, XFA_WORDS_SITE_FUNCTION));
}

GETTER(site_file)
{
    return xfa_value_text(
        xfa_words_site(&export->words, row_of(export, event)->site, XFA_WORDS_SITE_FILE));
}

GETTER(site_line)
{
    const struct xfa_site *site = row_of(export, event)->site;
    uint32_t line = site->chosen >= 0 ? site->frames[site->chosen].line : 0;
    return xfa_value_if(line > 0, line);
}

/* clang-format off: a table */
const struct xfa_transfer_column xfa_transfer_columns[] = {
    {"host", XFA_VALUE_TEXT, get_host},
    {"process", XFA_VALUE_TEXT, get_process},
    {"pid", XFA_VALUE_INTEGER, get_pid},
    {"rank", XFA_VALUE_INTEGER, get_rank},
    {"thread", XFA_VALUE_INTEGER, get_thread},
    {"call_start_ns", XFA_VALUE_MOMENT, get_call_start_ns},
    {"call_ns", XFA_VALUE_INTEGER, get_call_ns},
    {"device_start_ns", XFA_VALUE_MOMENT, get_device_start_ns},
    {"device_ns", XFA_VALUE_INTEGER, get_device_ns},
    {"correlation", XFA_VALUE_INTEGER, get_correlation},
    {"direction", XFA_VALUE_WORD, get_direction},
    {"bytes", XFA_VALUE_INTEGER, get_bytes},
    {"copies", XFA_VALUE_INTEGER, get_copies},
    {"src_memory", XFA_VALUE_WORD, get_src_memory},
    {"dst_memory", XFA_VALUE_WORD, get_dst_memory},
    {"src_gpu", XFA_VALUE_INTEGER, get_src_gpu},
    {"dst_gpu", XFA_VALUE_INTEGER, get_dst_gpu},
    {"src_node", XFA_VALUE_INTEGER, get_src_node},
    {"dst_node", XFA_VALUE_INTEGER, get_dst_node},
    {"function", XFA_VALUE_TEXT, get_function},
    {"async", XFA_VALUE_TRUTH, get_async},
    {"blocks", XFA_VALUE_TRUTH, get_blocks},
    {"graph", XFA_VALUE_TRUTH, get_graph},
    {"stream", XFA_VALUE_WORD, get_stream},
    {"shape", XFA_VALUE_WORD, get_shape},
    {"peer_access", XFA_VALUE_WORD, get_peer_access},
    {"achieved_ns", XFA_VALUE_REAL, get_achieved_ns},
    {"achieved_gb_s", XFA_VALUE_REAL, get_achieved_gb_s},
    {"achieved_basis", XFA_VALUE_WORD, get_achieved_basis},
    {"achievable_ns", XFA_VALUE_REAL, get_achievable_ns},
    {"achievable_gb_s", XFA_VALUE_REAL, get_achievable_gb_s},
    {"achievable_basis", XFA_VALUE_WORD, get_achievable_basis},
    {"achievable_error", XFA_VALUE_REAL, get_achievable_error},
    {"other_machine", XFA_VALUE_TRUTH, get_other_machine},
    {"lost_ns", XFA_VALUE_REAL, get_lost_ns},
    {"simulated", XFA_VALUE_TRUTH, get_simulated},
    {"site", XFA_VALUE_TEXT, get_site},
    {"site_function", XFA_VALUE_TEXT, get_site_function},
    {"site_file", XFA_VALUE_TEXT, get_site_file},
    {"site_line", XFA_VALUE_INTEGER, get_site_line},
};
/* clang-format on */
const size_t xfa_transfer_column_count = sizeof xfa_transfer_columns / sizeof *xfa_transfer_columns;
