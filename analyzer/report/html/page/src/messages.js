// Messages of MPI and NCCL: by site and pair of ranks, and who was waited for.
import { figure, h, name, section } from './dom.js';
import { place } from './findings.js';
import { plural } from './format.js';
import { table } from './table.js';

const known = (rank) => (rank === null ? '?' : String(rank));

// As the text's: "0 to 1"; ">1 <3" of a call that sends to 1 and receives from 3; "all 8, root 0".
function ranks_of(row) {
  if (row.operation === 'wait') return '-';
  if (row.operation === 'send-receive') return `>${known(row.to)} <${known(row.from)}`;
  if (['send', 'receive', 'put', 'get'].includes(row.operation)) return `${known(row.from)} to ${known(row.to)}`;
  return `all${row.size === null ? '' : ` ${row.size}`}${row.to === null ? '' : `, root ${row.to}`}`;
}

// Of a receive what arrived, of other calls what they sent.
const bytes_at = ({ row, at }) => (row.sent > row.arrived ? `${at}.sent` : `${at}.arrived`);

// Of a call that moves nothing (a barrier) the time of one instead of a rate.
const rate_at = (entry, rate, time) => `${entry.at}.${entry.row.timed > 0 && entry.row.sent + entry.row.arrived === 0 ? time : rate}`;

const BECAUSE = {
  'not-measured': 'the profile has no such operation',
  'other-ranks': 'the profile has it of other ranks, not of as many on as many of its hosts',
  'other-sizes': 'the profile has it of one size only, which is smaller',
  'device-memory': 'MPI was given device memory, with which it was not measured',
  'unequal-parts': 'not all ranks give, or get, as much',
  grouped: 'they are of groups of more than one send and one receive',
};

function unknown(messages) {
  return Object.keys(BECAUSE).filter((why) => messages.rows.some((row) => row.unknown_because === why))
    .map((why) => h('li', {}, 'what was achievable is not known of ', plural(messages.rows.filter((row) => row.unknown_because === why).length, 'row'), `: ${BECAUSE[why]}`));
}

const named = (process, i) => (process.rank === null ? `process ${i}` : `rank ${process.rank}`);

function last_ones(messages) {
  return messages.processes.map((process, i) => [process, i, `report.messages.processes.${i}`]).filter(([process]) => process.last > 0)
    .map(([process, i, at]) => h('li', {}, named(process, i), ' came last in ', figure(`${at}.last`), ' of ', figure(`${at}.collectives`), ' collectives; others waited ', figure(`${at}.others_waited_s`), ' for it, added up'));
}

function slow_ones(messages) {
  return messages.processes.map((process, i) => [process, i, `report.messages.processes.${i}`]).filter(([process]) => process.slow)
    .map(([process, i, at]) => h('li', {}, named(process, i), ' is slow: its messages take ', figure(`${at}.times_usual`, 'count'), ' times what others take for the same sizes, with the peer with which it is fastest'));
}

function clocks(messages) {
  return messages.clocks.map((clock, i) => [clock, `report.messages.clocks.${i}`]).filter(([clock]) => clock.basis === 'messages' || clock.basis === 'contradicted')
    .map(([clock, at]) => (clock.basis === 'messages'
      ? h('li', {}, 'the clock of ', name(clock.host), ' is set by messages, at most ', figure(`${at}.error_s`), ' off')
      : h('li', {}, 'the messages of ', name(clock.host), ' contradict each other: its own clock is taken')));
}

function matched(messages) {
  return h('p', { class: 'dim' }, figure('report.messages.matched'), ' matched with their other side',
    messages.one_in > 1 ? [' (one in ', figure('report.messages.one_in'), ', chosen by chance)'] : null,
    messages.not_matched > 0 ? ['; of ', figure('report.messages.not_matched'), ` ${plural(messages.not_matched, 'call').replace(/^\S+ /, '')} the other side is not known for sure`] : null,
    '. Late: of the time (of NCCL: of its kernels), what passed before the other side, or the last rank, had begun. Achieved: once both were there; of NCCL by the whole time of its kernels where that is not known.');
}

export function messages_section({ report }) {
  const { messages } = report;
  if (!messages) return null;
  const rows = messages.rows.map((row, i) => ({ row, at: `report.messages.rows.${i}` }));
  const remarks = [...last_ones(messages), ...slow_ones(messages), ...unknown(messages), ...clocks(messages)];
  return section('messages', 'Messages of MPI and NCCL', matched(messages), remarks.length ? h('ul', {}, remarks) : null, table({
    caption: 'Messages by site and ranks', rows, filter: rows.length > 10 ? 'Filter messages' : null, columns: [
      { title: 'call site', text: ({ row }) => row.site.text, cell: ({ row }) => place(row.site) },
      { title: 'function', text: ({ row }) => row.function },
      { title: 'ranks', text: ({ row }) => ranks_of(row) },
      { title: 'calls', number: ({ row }) => row.calls, at: ({ at }) => `${at}.calls` },
      { title: 'bytes', number: ({ row }) => Math.max(row.sent, row.arrived), cell: (entry) => figure(bytes_at(entry), 'bytes') },
      { title: 'time', number: ({ row }) => row.time_s, at: ({ at }) => `${at}.time_s` },
      { title: 'waited', number: ({ row }) => row.waits_s, at: ({ at }) => `${at}.waits_s` },
      { title: 'late', number: ({ row }) => row.before_others_s, at: ({ at }) => `${at}.before_others_s` },
      { title: 'achieved', number: ({ row }) => row.achieved_gbps, at: (entry) => rate_at(entry, 'achieved_gbps', 'call_s') },
      { title: 'achievable', number: ({ row }) => row.achievable_gbps, at: (entry) => rate_at(entry, 'achievable_gbps', 'achievable_call_s') },
      { title: 'lost', number: ({ row }) => row.lost_s, at: ({ at }) => `${at}.lost_s` },
    ],
  }));
}
