// What the report does not know, and why.
import { h, section } from './dom.js';
import { bytes, plural, shown, text_of } from './format.js';

function of_run({ run }) {
  const counts = run.not_counted;
  return [
    ...run.unreadable.map((line) => `Not read: ${line}`),
    ...run.lacks.map((line) => `Recorded in format ${run.format}, which lacks: ${line}`),
    ...run.processes.filter(({ losses }) => losses.line).map(({ file, losses }) => `${file}: ${losses.line}`),
    ...run.processes.filter((process) => process.checks_failed).map(({ file, checks_failed: checks }) => `${file}: checks of the recorder's own code failed (${checks}): figures may be wrong, please report it`),
    ...run.processes.filter(({ finished }) => !finished).map(({ file }) => `${file}: recording was not ended properly`),
    ...run.processes.filter(({ timing_why: why }) => why).map(({ file, timing, timing_why: why }) => `${file}: device times from ${timing ?? 'nowhere'}: ${why}`),
    counts.failed ? `${plural(counts.failed, 'call')} that returned an error: not counted` : null,
    counts.captured ? `${plural(counts.captured, 'call')} captured into graphs: not counted, they move nothing then` : null,
    counts.empty ? `${plural(counts.empty, 'call')} of no bytes: not counted` : null,
    counts.device_only ? `${plural(counts.device_only, 'copy').replace('copys', 'copies')} of the device (${bytes(counts.device_only_bytes)}) that no recorded call asked for: not counted` : null,
    counts.late ? `${plural(counts.late, 'call')} whose device times came too late, or not at all` : null,
    run.recording.took_s !== null ? `Recording added ${text_of(run.recording.took_s, 's')} to the program's calls, threads added up` : null,
  ];
}

function of_content({ run: { content } }) {
  return [
    content.mode === 'off' && !content.why ? 'Contents were not compared (recorded without --content): copies of the same bytes, and of bytes that all have one value, are not looked for' : null,
    content.why ? `Contents were not compared: ${content.why}` : null,
    content.not_hashed ? `${plural(content.not_hashed, 'transfer')} not hashed` : null,
    content.not_compared ? `${plural(content.not_compared, 'hash').replace('hashs', 'hashes')} over the analyzer's limit: not compared` : null,
  ];
}

function of_machine({ machine }) {
  return [machine.profile ? null : 'No machine profile was given (--profile): what was achievable is not known', ...machine.warnings];
}

function of_rest({ whatif, managed, phases, replay }, timeline) {
  return [
    whatif && !whatif.known ? `What the run would save is not known: ${whatif.why_not}` : null,
    managed.why_not ? `Managed memory: ${managed.why_not}` : null,
    managed.beyond_limits ? `Managed memory: ${managed.beyond_limits} events over the analyzer's limits, maybe set to the wrong place` : null,
    phases.beyond_limits ? `${plural(phases.beyond_limits, 'NVTX range')} over the analyzer's limits` : null,
    phases.begins_without_end ? `${plural(phases.begins_without_end, 'NVTX range')} without an end, taken to last until the last call` : null,
    phases.ends_without_begin ? `${plural(phases.ends_without_begin, 'end')} of NVTX ranges without a begin` : null,
    ...(replay ? [replay.why_not && `Not replayed: ${replay.why_not}`, replay.note, replay.failure && `Replay: ${replay.failure}`, replay.not_kept] : []),
    timeline.untimed ? `${plural(timeline.untimed, 'transfer')} in no track of the timeline: nobody knows when they ran` : null,
  ];
}

export function notes_section({ report, timeline }) {
  const lines = [...of_run(report), ...of_machine(report), ...of_content(report), ...of_rest(report, timeline)].filter(Boolean);
  return section('notes', 'What is missing, and why', lines.length ? h('ul', {}, lines.map((line) => h('li', {}, shown(line)))) : h('p', {}, 'Nothing that was to be recorded is.'));
}
