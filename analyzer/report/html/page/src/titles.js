// What a finding is, as a sentence about its transfers.
import { bytes } from './format.js';

const copies = ({ transfers }) => (transfers === 1 ? '1 copy' : `${transfers} copies`);
const verb = ({ transfers }, one, many) => (transfers === 1 ? one : many);

// Where to, when all sites go one way.
function to({ sites }) {
  const ways = new Set(sites.map(({ direction }) => direction));
  return ways.size === 1 ? { H2D: ' to the device', D2H: ' to the host' }[[...ways][0]] ?? '' : '';
}

const pageable = (f) => `${copies(f)}${to(f)} ${{ ' to the device': verb(f, 'comes from', 'come from'), ' to the host': verb(f, 'goes to', 'go to') }[to(f)] ?? verb(f, 'uses', 'use')} pageable memory`;

const SENTENCES = {
  'pageable-host-memory': pageable,
  'fresh-memory': (f) => `${copies(f)}${to(f)} ${verb(f, 'uses', 'use')} memory that is new each time`,
  'small-transfers': (f) => `${copies(f)}${to(f)} of ${bytes(Math.round(f.bytes / Math.max(1, f.transfers)))} on average ${verb(f, 'is', 'are')} too small to use the link`,
  'synchronous-transfer': (f) => `${copies(f)}${to(f)} ${verb(f, 'makes', 'make')} the host wait`,
  'element-by-element': () => 'The host fetches and sends elements of the GPU\'s memory one by one',
  'repeated-transfer': (f) => `${copies(f)}${to(f)} ${verb(f, 'brings', 'bring')} bytes that are there already`,
  'round-trip': (f) => `${copies(f)} ${verb(f, 'brings', 'bring')} back bytes that had not changed`,
  'duplicate-transfer': (f) => `${copies(f)} ${verb(f, 'sends', 'send')} bytes that the device has in another place`,
  'constant-content': (f) => `${copies(f)} ${verb(f, 'sends', 'send')} bytes that all have one value`,
  'unused-transfer': (f) => `${copies(f)} ${verb(f, 'is', 'are')} overwritten or freed before anything uses ${verb(f, 'it', 'them')}`,
  'copy-instead-of-swap': (f) => `${copies(f)} within a device ${verb(f, 'is', 'are')} made where buffers could change places`,
  'unused-download': (f) => `${copies(f)} ${verb(f, 'is', 'are')} never read by the host`,
  'host-device-turns': (f) => (f.remedy === 'touch-on-device' ? 'The host touches managed memory between kernels, which moves it to and fro'
    : `${copies(f)} ${verb(f, 'brings', 'bring')} what the host works on, or makes, while the GPU waits`),
  'serial-host-work': (f) => `The host works on what ${copies(f)} ${verb(f, 'brings', 'bring')} before it goes on`,
  'peer-access-disabled': (f) => `${copies(f)} between GPUs ${verb(f, 'goes', 'go')} without peer access`,
  'remote-numa-node': (f) => `${copies(f)}${to(f)} ${verb(f, 'uses', 'use')} memory on a NUMA node far from the GPU`,
  'far-gpu': (f) => `${copies(f)} ${verb(f, 'goes', 'go')} to or from a GPU that is far away`,
  'repeated-allocation': () => 'Memory is allocated and freed again and again',
  'repeated-registration': () => 'The same memory is page-locked and unlocked again and again',
  'early-wait': () => 'The host waits for results before work that does not need them',
  'overbroad-wait': () => 'The host waits for a whole device where waits for streams or events come anyway',
  'wait-beyond-result': () => 'The host waits for more than the copies whose memory it uses next',
  'unneeded-wait': () => 'The host waits for work of which nothing is for it',
  'wait-for-order': () => 'The host waits only so that one stream\'s work comes behind another\'s',
  'polled-wait': () => 'The host asks whether work is done, and pauses in between while it already is',
  'host-function-in-stream': () => 'Streams call functions of the host, and wait until they return',
  'threads-by-turns': () => 'Threads take turns: each waits until the GPU has done another one\'s work',
  'gpus-by-turns': () => 'One thread serves several GPUs in turn: each waits for the others',
  'frequent-readback': (f) => `${copies(f)}${to(f)} ${verb(f, 'fetches', 'fetch')} a few bytes between launches`,
  'parameters-by-copy': (f) => `${copies(f)}${to(f)} ${verb(f, 'brings', 'bring')} parameters that launches could take along`,
  'launch-bound': () => 'The GPU waits for launches of short work, made call by call in an order that comes again',
  'looped-launches': () => 'One kernel is launched again and again in a row with the same memory',
  'default-stream-serialization': () => 'Work of the default stream makes streams wait for each other',
  'serial-transfer-and-compute': (f) => `${copies(f)}${to(f)} and kernels take turns, though they could run at the same time`,
  'one-direction-at-a-time': (f) => `${copies(f)} to and from the device take turns, though the link carries both at once`,
  'mapped-memory': () => 'Kernels read host memory over the link again and again, or it is copied for little of it',
  'staged-peer-copy': (f) => `${copies(f)} ${verb(f, 'takes', 'take')} bytes from one GPU to another by way of the host`,
  'managed-demand-migration': () => 'Kernels and the host wait for managed memory, page by page',
  'managed-thrashing': () => 'Managed memory goes to kernels and back again and again for a little of it',
  'degraded-link': (f) => `${copies(f)}${to(f)} ${verb(f, 'runs', 'run')} over a link that is slower than GPU and slot can`,
  'repeated-graph-upload': (f) => `${copies(f)}${to(f)} ${verb(f, 'is', 'are')} made by graphs of memory that had no time to change`,
  'graph-instantiated-again': () => 'Graphs of one form are instantiated and destroyed again and again',
  'repeated-library-setup': () => 'Plans or handles of a library are made and destroyed again and again',
  'slow-page-locking': () => 'The driver allocates page-locked memory more slowly than the program can',
  'driver-contention': () => 'Calls of several threads wait for each other in the driver',
  'write-combined-readback': (f) => `${copies(f)} ${verb(f, 'brings', 'bring')} results to write-combined memory, which the host reads without its caches`,
  'unpipelined-staging': () => "Messages of a GPU's bytes begin only when all of them are on the host, or the other way",
  'host-staged-mpi': () => "Messages of a GPU's bytes go by way of the host, where MPI takes device buffers",
  'small-messages': () => 'Messages to one rank are too small to use the network',
  'exposed-communication': () => 'Calls wait for messages while no kernel runs',
  'narrow-rows': (f) => `${copies(f)} ${verb(f, 'is', 'are')} of short rows that are not contiguous`,
};

// Of a kind without a sentence of its own: what it is in a line.
export function title_of(finding) {
  const made = Object.hasOwn(SENTENCES, finding.kind) ? SENTENCES[finding.kind](finding) : Object.hasOwn(KINDS, finding.kind) ? KINDS[finding.kind] : finding.kind;
  return made[0].toUpperCase() + made.slice(1);
}
