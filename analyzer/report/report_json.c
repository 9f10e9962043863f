/* The report for programs: docs/report-format.md, docs/report.schema.json. */
#include "analyzer/report/report.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/json_text.h"
#include "analyzer/report/report_json.h"

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *count(uint64_t value)
{
    return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

static json_t *seconds(double ns)
{
    return number(ns / 1e9);
}

static json_t *when(uint64_t real_ns)
{
    char buffer[40];
    time_t at = (time_t)(real_ns / 1000000000u);
    struct tm utc;
    if (real_ns == 0 || !gmtime_r(&at, &utc) ||
        !strftime(buffer, sizeof buffer, "%Y-%m-%dT%H:%M:%SZ", &utc))
        return json_null();
    return json_string(buffer);
}

/* ---- run ------------------------------------------------------------------------------ */

static json_t *losses_json(const struct xfa_process *process)
{
    const struct xfa_loss *loss = &process->loss;
    json_t *json = json_object();
    json_object_set_new(json, "header_damaged", json_boolean(loss->header_damaged));
    json_object_set_new(json, "truncated", json_boolean(loss->truncated || loss->cut_short));
    json_object_set_new(json, "damaged_places", count(loss->damaged_segments));
    json_object_set_new(json, "damaged_bytes", count(loss->damaged_bytes));
    json_object_set_new(json, "unreadable_segments", count(loss->limited_segments));
    json_object_set_new(json, "malformed_entries", count(loss->bad_entries));
    json_object_set_new(json, "malformed_events", count(loss->bad_rows));
    json_object_set_new(json, "missing_events", count(loss->missing_events));
    json_object_set_new(json, "events_not_stored", count(process->events_lost));
    json_object_set_new(json, "stacks_not_stored", count(process->stacks_lost));
    json_object_set_new(json, "device_times_dropped", count(process->device_lost));
    json_object_set_new(json, "line", xfa_json_text(process->losses));
    return json;
}

static json_t *process_json(const struct xfa_process *process)
{
    json_t *json = json_object();
    json_object_set_new(json, "file", xfa_json_text(process->file));
    json_object_set_new(json, "pid", process->pid > 0 ? json_integer(process->pid) : json_null());
    json_object_set_new(json, "ppid",
                        process->ppid > 0 ? json_integer(process->ppid) : json_null());
    json_object_set_new(json, "program", xfa_json_text(process->exe));
    json_object_set_new(json, "finished", json_boolean(process->closed));
    json_object_set_new(json, "exit", xfa_json_text(process->exit));
    json_object_set_new(json, "timing", xfa_json_text(process->timing));
    json_object_set_new(json, "timing_why", xfa_json_text(process->timing_why));
    json_object_set_new(json, "transfer_calls", count(process->transfers));
    json_object_set_new(json, "losses", losses_json(process));
    return json;
}

static json_t *directions_json(const struct xfa_report *report)
{
    json_t *json = json_object();
    for (unsigned d = 0; d < XFT_DIRECTION_COUNT; d++) {
        uint64_t transfers = 0, bytes = 0;
        for (size_t i = 0; i < report->rows.count; i++) {
            if (report->order[i]->key.direction != d)
                continue;
            transfers += report->order[i]->figures.transfers;
            bytes = xfa_add(bytes, report->order[i]->figures.bytes);
        }
        if (transfers)
            json_object_set_new(
                json, xft_direction_word(d),
                json_pack("{s:o,s:o}", "transfers", count(transfers), "bytes", count(bytes)));
    }
    return json;
}

static json_t *levels_json(const struct xfa_report *report)
{
    static const char *const levels[] = {"runtime", "driver"};
    json_t *json = json_object();
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        struct xfa_sum sum = xfa_report_level(report, levels[i]);
        if (sum.transfers)
            json_object_set_new(json, levels[i],
                                json_pack("{s:o,s:o}", "transfers", count(sum.transfers), "bytes",
                                          count(sum.bytes)));
    }
    return json;
}

static json_t *uncounted_json(const struct xfa_run *run)
{
    json_t *json = json_object();
    json_object_set_new(json, "failed", count(run->failed));
    json_object_set_new(json, "captured", count(run->captured));
    json_object_set_new(json, "empty", count(run->empty));
    json_object_set_new(json, "device_only", count(run->device_only));
    json_object_set_new(json, "device_only_bytes", count(run->device_only_bytes));
    return json;
}

static json_t *gpus_json(const struct xfa_run *run)
{
    json_t *json = json_array();
    for (size_t i = 0; i < run->gpu_count; i++)
        json_array_append_new(json, json_pack("{s:o,s:o}", "name", xfa_json_text(run->gpus[i].name),
                                              "uuid", xfa_json_text(run->gpus[i].uuid)));
    return json;
}

static json_t *texts_json(char *const *texts, size_t n)
{
    json_t *json = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(json, xfa_json_text(texts[i]));
    return json;
}

static json_t *content_json(const struct xfa_run *run)
{
    const struct xfa_run_content *content = &run->content;
    const char *mode = content->whole ? "whole" : content->sampled ? "sampled" : "off";
    json_t *json = json_object();
    json_object_set_new(json, "mode", xfa_json_text(mode));
    json_object_set_new(json, "why", xfa_json_text(content->why));
    json_object_set_new(json, "hashed", count(content->hashes));
    json_object_set_new(json, "by_samples", count(content->by_sample));
    json_object_set_new(json, "not_hashed",
                        content->skipped_unknown ? json_null() : count(content->skipped));
    json_object_set_new(json, "not_compared", count(content->not_compared));
    json_object_set_new(json, "took_s", seconds(content->ns));
    return json;
}

static json_t *format_json(const struct xfa_run *run)
{
    char version[16];
    snprintf(version, sizeof version, "%u.%d", XFT_VERSION_MAJOR, run->oldest_minor);
    return run->oldest_minor < 0 ? json_null() : json_string(version);
}

static json_t *lacks_json(const struct xfa_run *run)
{
    json_t *json = json_array();
    for (const char *const *lack = xfa_run_lacks(run); *lack; lack++)
        json_array_append_new(json, json_string(*lack));
    return json;
}

static json_t *run_json(const struct xfa_report *report)
{
    const struct xfa_run *run = &report->run;
    double wall = xfa_report_wall_ns(report);
    uint64_t start = 0;
    json_t *json = json_object(), *processes = json_array();
    for (size_t i = 0; i < run->process_count; i++) {
        uint64_t own = run->processes[i].start_real_ns;
        start = own && (start == 0 || own < start) ? own : start;
        json_array_append_new(processes, process_json(&run->processes[i]));
    }
    json_object_set_new(json, "trace", xfa_json_text(run->path));
    json_object_set_new(json, "format", format_json(run));
    json_object_set_new(json, "lacks", lacks_json(run));
    json_object_set_new(json, "program", xfa_json_text(run->program));
    json_object_set_new(json, "command", texts_json(run->arguments, run->argument_count));
    json_object_set_new(json, "host", xfa_json_text(run->hostname));
    json_object_set_new(json, "started", when(start));
    json_object_set_new(json, "wall_s", wall > 0 ? seconds(wall) : json_null());
    json_object_set_new(json, "simulated", json_boolean(run->simulated));
    json_object_set_new(json, "cuda_driver_version",
                        run->driver_version ? json_integer(run->driver_version) : json_null());
    json_object_set_new(json, "gpus", gpus_json(run));
    json_object_set_new(json, "directions", directions_json(report));
    json_object_set_new(json, "levels", levels_json(report));
    json_object_set_new(json, "content", content_json(run));
    json_object_set_new(json, "not_counted", uncounted_json(run));
    json_object_set_new(json, "processes", processes);
    json_object_set_new(json, "unreadable", texts_json(run->unreadable, run->unreadable_count));
    return json;
}

/* ---- machine -------------------------------------------------------------------------- */

static json_t *matches_json(enum xfa_match match)
{
    return match == XFA_MATCH_UNKNOWN ? json_null() : json_boolean(match == XFA_MATCH_YES);
}

static json_t *machine_json(const struct xfa_report *report)
{
    const struct xfp_profile *profile = report->profile;
    json_t *json = json_object(), *warnings = json_array(), *gpus = json_array();
    if (report->profile_problem)
        json_array_append_new(warnings, xfa_json_text(report->profile_problem));
    if (report->mismatch)
        json_array_append_new(warnings, xfa_json_text(report->mismatch));
    for (size_t i = 0; profile && i < profile->warning_count; i++)
        json_array_append_new(warnings, xfa_json_text(profile->warnings[i]));
    for (size_t i = 0; profile && i < profile->machine.gpu_count; i++)
        json_array_append_new(gpus, json_pack("{s:o,s:o}", "name",
                                              xfa_json_text(profile->machine.gpus[i].name), "uuid",
                                              xfa_json_text(profile->machine.gpus[i].uuid)));
    json_object_set_new(json, "profile",
                        profile ? xfa_json_text(report->profile_path) : json_null());
    json_object_set_new(json, "matches", matches_json(report->match));
    json_object_set_new(json, "host",
                        profile ? xfa_json_text(profile->machine.hostname) : json_null());
    json_object_set_new(json, "created", profile ? xfa_json_text(profile->created) : json_null());
    json_object_set_new(json, "simulated",
                        profile ? json_boolean(profile->machine.simulated) : json_null());
    json_object_set_new(json, "gpus", gpus);
    json_object_set_new(json, "warnings", warnings);
    return json;
}

/* ---- transfers ------------------------------------------------------------------------ */

static json_t *frame_json(const struct xfa_frame *frame)
{
    char offset[32];
    snprintf(offset, sizeof offset, "0x%llx", (unsigned long long)frame->offset);
    json_t *json = json_object();
    json_object_set_new(json, "function", xfa_json_text(frame->function));
    json_object_set_new(json, "file", xfa_json_text(frame->file));
    json_object_set_new(json, "line", frame->line ? json_integer(frame->line) : json_null());
    json_object_set_new(json, "module", xfa_json_text(frame->module));
    json_object_set_new(json, "offset", frame->module ? json_string(offset) : json_null());
    return json;
}

static json_t *site_json(const struct xfa_site *site, bool with_stack)
{
    static const struct xfa_frame none;
    json_t *json = frame_json(site->chosen >= 0 ? &site->frames[site->chosen] : &none);
    json_object_set_new(json, "text", xfa_json_text(site->text));
    json_object_set_new(json, "thread", xfa_json_text(site->autograd ? "autograd" : NULL));
    if (!with_stack)
        return json;
    json_t *stack = json_array();
    for (size_t i = 0; i < site->frame_count; i++)
        json_array_append_new(stack, frame_json(&site->frames[i]));
    json_object_set_new(json, "stack", stack);
    return json;
}

json_t *xfa_site_json(const struct xfa_site *site, bool with_stack)
{
    return site_json(site, with_stack);
}

static json_t *device_json(int device)
{
    return device >= 0 ? json_integer(device) : json_null();
}

static json_t *sizes_json(const struct xfa_figures *figures)
{
    json_t *json = json_object(), *classes = json_array();
    for (size_t i = 0; i < XFA_SIZE_CLASSES; i++)
        if (figures->sizes[i])
            json_array_append_new(classes, json_pack("{s:o,s:o}", "from_bytes",
                                                     count(i ? (uint64_t)1 << (i - 1) : 0),
                                                     "transfers", count(figures->sizes[i])));
    json_object_set_new(json, "least", count(figures->smallest));
    json_object_set_new(json, "most", count(figures->largest));
    json_object_set_new(json, "typical", count(xfa_typical_size(figures)));
    json_object_set_new(json, "classes", classes);
    return json;
}

static json_t *basis_json(const struct xfa_report *report, const char *achieved,
                          const char *achievable, double error, const char *note)
{
    json_t *json = json_object();
    bool other = achievable && report->match == XFA_MATCH_NO;
    json_object_set_new(json, "achieved", xfa_json_text(achieved));
    json_object_set_new(json, "achievable", xfa_json_text(achievable));
    json_object_set_new(json, "achievable_error", achievable ? number(error) : json_null());
    json_object_set_new(json, "other_machine", json_boolean(other));
    json_object_set_new(json, "note", xfa_json_text(note));
    return json;
}

static const char *row_note(const struct xfa_figures *figures)
{
    if (figures->host.transfers)
        return "host time of a blocking call includes waiting for earlier work: achieved bandwidth "
               "is a lower bound, lost time an upper bound";
    if (figures->device.transfers == 0)
        return "the time of these transfers was not recorded";
    return NULL;
}

static json_t *timed_json(const struct xfa_figures *figures)
{
    json_t *json = json_object();
    uint64_t known = figures->device.transfers + figures->host.transfers;
    double ns = figures->device.ns + figures->host.ns;
    json_object_set_new(json, "device", count(figures->device.transfers));
    json_object_set_new(json, "host", count(figures->host.transfers));
    json_object_set_new(json, "unknown", count(figures->transfers - known));
    json_object_set_new(json, "achieved_s", known ? seconds(ns) : json_null());
    json_object_set_new(json, "achievable_s",
                        figures->best.transfers ? seconds(figures->best.ns) : json_null());
    json_object_set_new(json, "blocked_s",
                        figures->blocked.transfers ? seconds(figures->blocked.ns) : json_null());
    return json;
}

static json_t *row_json(const struct xfa_report *report, const struct xfa_row *row)
{
    const struct xfa_figures *figures = &row->figures;
    json_t *json = json_object();
    json_object_set_new(json, "site", site_json(row->site, true));
    json_object_set_new(json, "function", xfa_json_text(row->call));
    json_object_set_new(json, "runtime_function", xfa_json_text(row->runtime_function));
    json_object_set_new(json, "level", xfa_json_text(row->level));
    json_object_set_new(json, "direction", xfa_json_text(xft_direction_word(row->key.direction)));
    json_object_set_new(json, "src_memory", xfa_json_text(xft_memory_word(row->key.src_mem)));
    json_object_set_new(json, "dst_memory", xfa_json_text(xft_memory_word(row->key.dst_mem)));
    json_object_set_new(json, "src_device", device_json(row->key.src_device));
    json_object_set_new(json, "dst_device", device_json(row->key.dst_device));
    json_object_set_new(json, "async", json_boolean(row->key.async));
    json_object_set_new(json, "transfers", count(figures->transfers));
    json_object_set_new(json, "copies", count(figures->copies));
    json_object_set_new(json, "strided", count(figures->strided));
    json_object_set_new(json, "bytes", count(figures->bytes));
    json_object_set_new(json, "sizes", sizes_json(figures));
    json_object_set_new(json, "timed", timed_json(figures));
    json_object_set_new(json, "achieved_gbps", number(xfa_achieved_gbps(figures)));
    json_object_set_new(json, "achievable_gbps", number(xfa_achievable_gbps(figures)));
    json_object_set_new(json, "lost_s", seconds(xfa_lost_ns(figures)));
    json_object_set_new(json, "basis",
                        basis_json(report, xfa_achieved_basis(figures),
                                   xfa_achievable_basis(figures), xfa_best_error(figures),
                                   row_note(figures)));
    return json;
}

/* ---- findings ------------------------------------------------------------------------- */

static json_t *finding_site_json(const struct xfa_finding_site *site)
{
    json_t *json = site_json(site->row->site, false);
    json_object_set_new(json, "called", xfa_json_text(site->row->call));
    json_object_set_new(json, "runtime_function", xfa_json_text(site->row->runtime_function));
    json_object_set_new(json, "direction",
                        xfa_json_text(xft_direction_word(site->row->key.direction)));
    json_object_set_new(json, "transfers", count(site->transfers));
    json_object_set_new(json, "bytes", count(site->bytes));
    json_object_set_new(json, "lost_s", seconds(site->lost_ns));
    json_object_set_new(json, "earlier", xfa_json_text(site->earlier ? site->earlier->text : NULL));
    return json;
}

static json_t *finding_json(const struct xfa_report *report, const struct xfa_finding *finding)
{
    json_t *json = json_object(), *sites = json_array();
    for (size_t i = 0; i < finding->site_count; i++)
        json_array_append_new(sites, finding_site_json(&finding->sites[i]));
    double bytes = (double)finding->bytes;
    json_object_set_new(json, "kind", xfa_json_text(finding->kind));
    json_object_set_new(json, "sites", sites);
    json_object_set_new(json, "transfers", count(finding->transfers));
    json_object_set_new(json, "bytes", count(finding->bytes));
    json_object_set_new(json, "achieved_gbps", number(bytes / finding->took_ns));
    json_object_set_new(json, "achievable_gbps", number(bytes / finding->best_ns));
    json_object_set_new(json, "lost_s", seconds(finding->lost_ns));
    json_object_set_new(json, "run_saving_s", json_null());
    json_object_set_new(json, "fix", xfa_json_text(finding->fix));
    json_object_set_new(json, "basis",
                        basis_json(report, finding->achieved_basis, finding->achievable_basis,
                                   finding->error, finding->note));
    return json;
}

static void write_json(const struct xfa_report *report, const struct xfa_view *view, FILE *out)
{
    size_t shown = view->top && view->top < report->rows.count ? view->top : report->rows.count;
    json_t *json = json_object(), *transfers = json_array(), *findings = json_array();
    for (size_t i = 0; i < shown; i++)
        json_array_append_new(transfers, row_json(report, report->order[i]));
    for (size_t i = 0; i < report->finding_count; i++)
        json_array_append_new(findings, finding_json(report, &report->findings[i]));
    json_object_set_new(
        json, "schema",
        json_pack("{s:s,s:i}", "name", XFA_REPORT_SCHEMA, "version", XFA_REPORT_VERSION));
    json_object_set_new(json, "run", run_json(report));
    json_object_set_new(json, "machine", machine_json(report));
    json_object_set_new(json, "transfers", transfers);
    json_object_set_new(json, "phases", xfa_phases_json(report));
    json_object_set_new(json, "managed", xfa_managed_json(report));
    json_object_set_new(json, "findings", findings);
    xfa_json_write(json, out, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    fputc('\n', out);
    json_decref(json);
}

const struct xfa_format xfa_format_json = {.name = "json", .write = write_json};
