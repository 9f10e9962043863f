/* The report's keys `run`, `machine` and `replay`. */
#include <math.h>
#include <string.h>

#include "analyzer/report/json/json.h"

/* ---- processes ------------------------------------------------------------------------------- */

static json_t *losses_json(const struct xfa_process *process)
{
    const struct xfa_loss *loss = &process->loss;
    json_t *json = json_object();
    json_object_set_new(json, "header_damaged", json_boolean(loss->header_damaged));
    json_object_set_new(json, "truncated", json_boolean(loss->truncated || loss->cut_short));
    json_object_set_new(json, "damaged_places", xfa_json_count(loss->damaged_segments));
    json_object_set_new(json, "damaged_bytes", xfa_json_count(loss->damaged_bytes));
    json_object_set_new(json, "unreadable_segments", xfa_json_count(loss->limited_segments));
    json_object_set_new(json, "malformed_entries", xfa_json_count(loss->bad_entries));
    json_object_set_new(json, "malformed_events", xfa_json_count(loss->bad_rows));
    json_object_set_new(json, "missing_events", xfa_json_count(loss->missing_events));
#define XFT_LOSS(name, field, key, metric, what, one)                                              \
    json_object_set_new(json, key, xfa_json_count(process->lost[XFT_LOSS_##name]));
#include "xferscope/losses.def"
#undef XFT_LOSS
    json_object_set_new(json, "line", xfa_json_text(process->losses));
    return json;
}

static json_t *seconds_json(uint64_t ns)
{
    return ns ? xfa_json_seconds((double)ns) : json_null();
}

static json_t *periods_json(const struct xfa_periods *periods)
{
    json_t *json = json_object();
    json_object_set_new(json, "count", xfa_json_count(periods->none ? 0 : periods->count));
    json_object_set_new(json, "recorded_s", xfa_json_seconds((double)periods->recorded_ns));
    json_object_set_new(json, "process_s", xfa_json_seconds((double)periods->process_ns));
    json_object_set_new(json, "full_s", seconds_json(periods->full_ns));
    json_object_set_new(json, "delay_s", seconds_json(periods->delay_ns));
    json_object_set_new(json, "duration_s", seconds_json(periods->duration_ns));
    json_object_set_new(json, "phase", xfa_json_text(periods->phase));
    json_object_set_new(json, "max_bytes",
                        periods->max_bytes ? xfa_json_count(periods->max_bytes) : json_null());
    return json;
}

static json_t *id_json(int id)
{
    return id > 0 ? json_integer(id) : json_null();
}

static json_t *host_json(const struct xfa_run *run, uint32_t host)
{
    return xfa_json_text(run->hosts[host].name);
}

static json_t *process_json(const struct xfa_analysis *analysis, const struct xfa_process *process)
{
    json_t *json = json_object();
    json_object_set_new(json, "file", xfa_json_text(process->file));
    json_object_set_new(json, "host", host_json(analysis->run, process->host));
    json_object_set_new(json, "pid", id_json(process->pid));
    json_object_set_new(json, "ppid", id_json(process->ppid));
    json_object_set_new(json, "program", xfa_json_text(process->exe));
    json_object_set_new(json, "finished", json_boolean(process->closed));
    json_object_set_new(json, "exit", xfa_json_text(process->exit));
    json_object_set_new(json, "timing", xfa_json_text(process->timing));
    json_object_set_new(json, "timing_why", xfa_json_text(process->timing_why));
    json_object_set_new(json, "transfer_calls",
                        xfa_json_count(analysis->transfers[process->number]));
    json_object_set_new(json, "losses", losses_json(process));
    if (process->calls_after_end)
        json_object_set_new(json, "calls_after_end", xfa_json_count(process->calls_after_end));
    if (process->checks_failed)
        json_object_set_new(json, "checks_failed", xfa_json_text(process->checks_failed));
    if (process->periods)
        json_object_set_new(json, "periods", periods_json(process->periods));
    return json;
}

static json_t *processes_json(const struct xfa_analysis *analysis)
{
    json_t *json = json_array();
    for (size_t i = 0; i < analysis->run->process_count; i++)
        json_array_append_new(json, process_json(analysis, analysis->run->processes[i]));
    return json;
}

/* ---- run ------------------------------------------------------------------------------------- */

static json_t *hosts_json(const struct xfa_run *run)
{
    json_t *json = json_array();
    for (uint32_t i = 0; i < run->host_count; i++)
        json_array_append_new(json, host_json(run, i));
    return json;
}

static json_t *gpus_json(const struct xfa_run *run)
{
    json_t *json = json_array();
    for (size_t i = 0; i < run->gpu_count; i++) {
        const struct xfa_gpu *gpu = &run->gpus[i];
        json_array_append_new(json, json_pack("{s:o,s:o,s:o}", "name", xfa_json_text(gpu->name),
                                              "uuid", xfa_json_text(gpu->uuid), "host",
                                              host_json(run, gpu->host)));
    }
    return json;
}

static json_t *levels_json(const struct xfa_analysis *analysis)
{
    json_t *json = json_object();
    if (analysis->runtime.transfers)
        json_object_set_new(json, "runtime", xfa_traffic_json(&analysis->runtime));
    if (analysis->driver.transfers)
        json_object_set_new(json, "driver", xfa_traffic_json(&analysis->driver));
    return json;
}

static json_t *uncounted_json(const struct xfa_counts *counts)
{
    json_t *json = json_object();
    json_object_set_new(json, "failed", xfa_json_count(counts->failed));
    json_object_set_new(json, "captured", xfa_json_count(counts->captured));
    json_object_set_new(json, "empty", xfa_json_count(counts->empty));
    json_object_set_new(json, "device_only", xfa_json_count(counts->device_only));
    json_object_set_new(json, "device_only_bytes", xfa_json_count(counts->device_only_bytes));
    json_object_set_new(json, "late", xfa_json_count(counts->late));
    return json;
}

static json_t *texts_json(char *const *texts, size_t n)
{
    json_t *json = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(json, xfa_json_text(texts[i]));
    return json;
}

static json_t *host_access_json(const struct xfa_host_sum *host)
{
    json_t *json = json_object();
    json_object_set_new(json, "asked", json_boolean(host->asked));
    json_object_set_new(json, "why", xfa_json_text(host->why));
    json_object_set_new(json, "told", xfa_json_count(host->known));
    json_object_set_new(json, "not_told",
                        host->skipped_unknown ? json_null() : xfa_json_count(host->skipped));
    json_object_set_new(json, "took_s", xfa_json_seconds(host->ns));
    return json;
}

static json_t *verify_json(const struct xfa_verify_sum *verify)
{
    json_t *json = json_object();
    json_object_set_new(json, "why", xfa_json_text(verify->why));
    json_object_set_new(json, "launches", xfa_json_count(verify->launches));
    json_object_set_new(json, "kept", xfa_json_count(verify->kept));
    json_object_set_new(json, "not_told", xfa_json_count(verify->skipped));
    json_object_set_new(json, "took_s", xfa_json_seconds(verify->ns));
    return json;
}

static json_t *content_json(const struct xfa_contents *contents)
{
    const char *mode = contents->whole        ? "whole"
                       : contents->on_samples ? "sampled"
                       : contents->by_default ? "auto"
                                              : "off";
    json_t *json = json_object();
    json_object_set_new(json, "mode", xfa_json_text(mode));
    json_object_set_new(json, "why", xfa_json_text(contents->why));
    json_object_set_new(json, "hashed", xfa_json_count(contents->hashes));
    json_object_set_new(json, "by_samples", xfa_json_count(contents->sampled));
    json_object_set_new(json, "not_hashed",
                        contents->skipped_unknown ? json_null()
                                                  : xfa_json_count(contents->skipped));
    json_object_set_new(json, "not_compared", xfa_json_count(contents->not_compared));
    json_object_set_new(json, "took_s", xfa_json_seconds(contents->hash_ns));
    return json;
}

static json_t *recording_json(const struct xfa_recording *recording)
{
    json_t *json = json_object(), *kinds = json_object();
    for (unsigned i = 1; i < XFA_EVENT_KINDS; i++) {
        const struct xfa_recording_kind *kind = &recording->kinds[i];
        if (kind->samples == 0)
            continue;
        json_object_set_new(kinds, xft_event_word(i),
                            json_pack("{s:o,s:o,s:o}", "ns", xfa_json_number(kind->ns), "samples",
                                      xfa_json_count(kind->samples), "calls",
                                      xfa_json_count(kind->calls)));
    }
    json_object_set_new(json, "kinds", kinds);
    json_object_set_new(json, "took_s",
                        recording->known ? xfa_json_seconds(recording->took_ns) : json_null());
    json_object_set_new(json, "once_s", xfa_json_seconds(recording->once_ns));
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

static json_t *folded_json(const struct xfa_analysis *analysis)
{
    json_t *json = json_object();
    json_object_set_new(json, "without_gpu", xfa_json_count(analysis->without_gpu));
    json_object_set_new(json, "without_site", xfa_json_count(analysis->without_site));
    return json;
}

json_t *xfa_run_json(const struct xfa_analysis *analysis)
{
    const struct xfa_run *run = analysis->run;
    double wall = xfa_run_wall_ns(run);
    json_t *json = json_object();
    json_object_set_new(json, "trace", xfa_json_text(run->path));
    json_object_set_new(json, "runs", xfa_json_count(analysis->runs));
    json_object_set_new(json, "mixed", xfa_json_text(analysis->mixed));
    json_object_set_new(json, "format", format_json(run));
    json_object_set_new(json, "lacks", lacks_json(run));
    json_object_set_new(json, "program", xfa_json_text(run->program));
    json_object_set_new(json, "command", texts_json(run->arguments, run->argument_count));
    json_object_set_new(json, "host", xfa_json_text(run->hostname));
    json_object_set_new(json, "hosts", hosts_json(run));
    json_object_set_new(json, "started", xfa_json_moment(xfa_run_start_real_ns(run)));
    json_object_set_new(json, "wall_s", wall > 0 ? xfa_json_seconds(wall) : json_null());
    json_object_set_new(json, "simulated", json_boolean(run->simulated));
    json_object_set_new(json, "cuda_driver_version",
                        run->driver_version ? json_integer(run->driver_version) : json_null());
    json_object_set_new(json, "gpus", gpus_json(run));
    json_object_set_new(json, "directions", xfa_directions_json(analysis->directions));
    json_object_set_new(json, "levels", levels_json(analysis));
    json_object_set_new(json, "content", content_json(&analysis->contents));
    json_object_set_new(json, "host_access", host_access_json(&analysis->contents.host));
    if (analysis->contents.verify.asked)
        json_object_set_new(json, "verify", verify_json(&analysis->contents.verify));
    json_object_set_new(json, "recording", recording_json(&analysis->recording));
    json_object_set_new(json, "not_counted", uncounted_json(&analysis->counts));
    if (analysis->without_gpu || analysis->without_site)
        json_object_set_new(json, "folded", folded_json(analysis));
    json_object_set_new(json, "processes", processes_json(analysis));
    json_object_set_new(json, "unreadable", texts_json(run->unreadable, run->unreadable_count));
    return json;
}

/* ---- machine --------------------------------------------------------------------------------- */

static json_t *matches_json(enum xfa_match match)
{
    return match == XFA_MATCH_UNKNOWN ? json_null() : json_boolean(match == XFA_MATCH_YES);
}

static json_t *warnings_json(const struct xfa_analysis *analysis)
{
    const struct xfp_profile *profile = analysis->profile;
    json_t *json = json_array();
    if (analysis->profile_problem)
        json_array_append_new(json, xfa_json_text(analysis->profile_problem));
    if (analysis->profile_unused)
        json_array_append_new(json, xfa_json_text(analysis->profile_unused));
    if (analysis->achievable.mismatch)
        json_array_append_new(json, xfa_json_text(analysis->achievable.mismatch));
    for (size_t i = 0; profile && i < profile->warning_count; i++)
        json_array_append_new(json, xfa_json_text(profile->warnings[i]));
    return json;
}

json_t *xfa_machine_json(const struct xfa_analysis *analysis)
{
    const struct xfp_profile *profile = analysis->profile;
    json_t *json = json_object(), *gpus = json_array();
    for (size_t i = 0; profile && i < profile->machine.gpu_count; i++)
        json_array_append_new(gpus, json_pack("{s:o,s:o}", "name",
                                              xfa_json_text(profile->machine.gpus[i].name), "uuid",
                                              xfa_json_text(profile->machine.gpus[i].uuid)));
    json_object_set_new(json, "profile", xfa_json_text(profile ? analysis->profile_path : NULL));
    json_object_set_new(json, "profile_by", xfa_json_text(profile ? analysis->profile_by : NULL));
    json_object_set_new(json, "matches", matches_json(analysis->achievable.match));
    json_object_set_new(json, "host", xfa_json_text(profile ? profile->machine.hostname : NULL));
    json_object_set_new(json, "created", xfa_json_text(profile ? profile->created : NULL));
    json_object_set_new(json, "simulated",
                        profile ? json_boolean(profile->machine.simulated) : json_null());
    json_object_set_new(json, "gpus", gpus);
    json_object_set_new(json, "warnings", warnings_json(analysis));
    return json;
}

/* ---- replay ---------------------------------------------------------------------------------- */

static json_t *copies_json(const struct xfa_replayed *replayed)
{
    json_t *json = json_object();
    json_object_set_new(json, "measured", xfa_json_count(replayed->measured));
    json_object_set_new(json, "known", xfa_json_count(replayed->known));
    json_object_set_new(json, "failed", xfa_json_count(replayed->failed));
    json_object_set_new(json, "no_time", xfa_json_count(replayed->no_time));
    return json;
}

static double part(double of, double whole)
{
    return whole > 0 ? of / whole : NAN;
}

json_t *xfa_replay_json(const struct xfa_replayed *replayed)
{
    json_t *json = json_object();
    double covered = part(replayed->covered_ns, replayed->achieved_ns);
    json_object_set_new(json, "why_not", xfa_json_text(replayed->why));
    json_object_set_new(json, "note", xfa_json_text(replayed->note));
    json_object_set_new(json, "failure", xfa_json_text(replayed->failure));
    json_object_set_new(json, "not_kept", xfa_json_text(replayed->not_kept));
    json_object_set_new(json, "stopped", json_boolean(replayed->stopped));
    json_object_set_new(json, "distinct", xfa_json_count(replayed->distinct));
    json_object_set_new(json, "covered", xfa_json_count(replayed->covered));
    json_object_set_new(json, "impossible", xfa_json_count(replayed->impossible));
    json_object_set_new(json, "transfers", xfa_json_count(replayed->transfers));
    json_object_set_new(json, "covered_transfers", xfa_json_count(replayed->covered_transfers));
    json_object_set_new(json, "covered_time", xfa_json_number(covered));
    json_object_set_new(json, "merged", xfa_json_count(replayed->merged));
    json_object_set_new(json, "beyond_limits", xfa_json_count(replayed->beyond));
    json_object_set_new(json, "copies", copies_json(replayed));
    json_object_set_new(json, "took_s", xfa_json_number(replayed->seconds));
    json_object_set_new(json, "limit_s", xfa_json_number(replayed->limit_s));
    return json;
}
