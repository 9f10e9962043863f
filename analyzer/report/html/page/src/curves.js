// The profile's curves: GB/s over the size of a transfer.

// At a size between two measured ones, on straight lines in logarithms; null outside of what was measured,
// but for sizes above the largest, where the largest stands.
export function at_size(curve, size) {
  const points = curve.points;
  if (!points.length || size < points[0][0]) return null;
  const next = points.findIndex(([bytes]) => bytes >= size);
  if (next < 0) return named(points[points.length - 1]);
  if (points[next][0] === size) return named(points[next]);
  const [a, b] = [points[next - 1], points[next]];
  const part = Math.log(size / a[0]) / Math.log(b[0] / a[0]);
  const between = (k) => (a[k] > 0 && b[k] > 0 ? a[k] * (b[k] / a[k]) ** part : null);
  return { gb_s: between(1), low: between(2), high: between(3) };
}

function named([, gb_s, low = null, high = null]) {
  return { gb_s, low, high };
}

const HOST_KINDS = new Set(['pageable', 'pinned', 'write-combined', 'mapped', 'registered', 'managed']);

// The kind of host memory of a row of transfers; `device` when there is none.
export function host_memory(row) {
  return HOST_KINDS.has(row.src_memory) ? row.src_memory : HOST_KINDS.has(row.dst_memory) ? row.dst_memory : 'device';
}
