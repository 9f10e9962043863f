// Fixes as patches: which lines they are made of, and that they are right in their language. Titles of findings.
//
//   node patches_test.mjs PAGE NODE_MODULES
//
// PAGE: the page's sources; NODE_MODULES: what they are made with.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';

const [sources, modules] = process.argv.slice(2);
const esbuild = createRequire(join(modules, 'x.js'))('esbuild');

async function bundled(name, define = {}) {
  const { outputFiles } = await esbuild.build({ entryPoints: [join(sources, 'src', name)], bundle: true, format: 'esm', nodePaths: [modules], write: false, define });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`);
}

const { fix_diff } = await bundled('fix_diff.js');

const folder = mkdtempSync(join(tmpdir(), 'xferscope-patches-'));
after(() => rmSync(folder, { recursive: true }));

const SAYS = { pytorch: 'tensor.pin_memory() and .to(device, non_blocking=True)', cupy: 'cupyx.empty_pinned()', numba: 'cuda.pinned_array()', jax: 'jax.device_put(), which does not wait', c: 'cudaMallocHost()' };

// The lines begin at number 10; the site is in the second, by default.
function patch_of(dialect, lines, { remedy = 'pin', direction = 'H2D', name = dialect === 'c' ? 'a.cu' : 'a.py', at = 1 } = {}) {
  return fix_diff({ remedy, fix: SAYS[dialect], sites: [{ file: `/w/${name}`, line: 10 + at, direction, source: { line: 10, lines } }] });
}

const changes = (patch) => patch.text.split('\n').slice(3).filter((line) => /^[-+]/.test(line));

const MECHANICAL = [
  ['pytorch', ['if x:', '\tx = model(x).to(device)', ''], ['-\tx = model(x).to(device)', '+\tx = model(x).to(device, non_blocking=True)']],
  ['pytorch', ['', 'b = b.to("cuda:1", copy=True)  # .to(x)'], ['-b = b.to("cuda:1", copy=True)  # .to(x)', '+b = b.to("cuda:1", copy=True, non_blocking=True)  # .to(x)']],
  ['pytorch', ['', 'b = b.cuda()'], ['-b = b.cuda()', '+b = b.to("cuda", non_blocking=True)']],
  ['pytorch', ['', 'b = b.to(device)'], ['-b = b.to(device)', '+b = b.to(device, non_blocking=True)'], { remedy: 'asynchronous' }],
  ['pytorch', ['l = DataLoader(set, 8)', 'b = next(l).to(dev,)'], ['-l = DataLoader(set, 8)', '-b = next(l).to(dev,)', '+l = DataLoader(set, 8, pin_memory=True)', '+b = next(l).to(dev, non_blocking=True)']],
  ['cupy', ['host = np.empty((n, 4), dtype=np.float32)', 'gpu.set(host)'], ['-host = np.empty((n, 4), dtype=np.float32)', '+host = cupyx.empty_pinned((n, 4), dtype=np.float32)']],
  ['numba', ['host = numpy.empty_like(other)', 'd = cuda.to_device(host)'], ['-host = numpy.empty_like(other)', '+host = cuda.pinned_array_like(other)']],
  ['numba', ['n = 3', 'd = cuda.to_device(host)'], ['-d = cuda.to_device(host)', '+with cuda.pinned(host):', '+    d = cuda.to_device(host)'], { remedy: 'pin-per-use' }],
  ['jax', ['for x in batches:', '    x = jax.device_put(x).block_until_ready()  # there'], ['-    x = jax.device_put(x).block_until_ready()  # there', '+    x = jax.device_put(x)  # there'], { remedy: 'asynchronous' }],
  ['jax', ['', 'y = f(jax.block_until_ready(jax.device_put(x, dev)), 1)'], ['-y = f(jax.block_until_ready(jax.device_put(x, dev)), 1)', '+y = f(jax.device_put(x, dev), 1)'], { remedy: 'pin-asynchronous' }],
  ['c', ['void f(char *d, int n) {', '    float *a = (float *)malloc(n * sizeof(float));', '    cudaMemcpy(d, a, n * sizeof(float), cudaMemcpyHostToDevice);', '    free(a);', '}'],
    ['-    float *a = (float *)malloc(n * sizeof(float));', '+    float *a;', '+    cudaMallocHost((void **)&a, n * sizeof(float));', '-    free(a);', '+    cudaFreeHost(a);'], { at: 2 }],
  ['c', ['void f(char *d, char *h, int n) {', '  CHECK(cudaMemcpy(h, d, n, cudaMemcpyDeviceToHost)); // all', '}'],
    ['+  CHECK(cudaHostRegister((void *)(h), n, cudaHostRegisterDefault));', '+  CHECK(cudaHostUnregister((void *)(h)));'], { remedy: 'pin-per-use', direction: 'D2H' }],
  ['c', ['void f(char *d, const int *h, int n) {', '  cudaMemcpy(d, h + 1, n * sizeof(int), cudaMemcpyHostToDevice);', '}'],
    ['+  cudaHostRegister((void *)(h + 1), n * sizeof(int), cudaHostRegisterDefault);', '+  cudaHostUnregister((void *)(h + 1));'], { remedy: 'pin-per-use' }],
];

// Lines that look alike, and that nobody can change without knowing more.
const NOT_MECHANICAL = [
  ['pytorch', ['', 'x = x.to(device, non_blocking=True)']], ['pytorch', ['', 'x = x.to(device, torch.half, True)']], ['pytorch', ['', 'x = x.to(']], ['pytorch', ['', 'x = x.to(*where)']],
  ['pytorch', ['', 'x, y = x.to(device), y.to(device)']], ['pytorch', ['', 'x = x.to("cpu")']], ['pytorch', ['', 'print("x.to(device)")']], ['pytorch', ['', 'x = x.cuda(1)']],
  ['pytorch', ['"""', 'x = x.to(device)', '"""']], ['pytorch', ['', 'x = x.to(device)'], { direction: 'D2H' }], ['pytorch', ['', 'x = x.to(device)'], { remedy: 'keep' }],
  ['pytorch', ['', `x = x.to(device) ${'#'.repeat(200)}`]], // may have been cut
  ['cupy', ['host = np.empty((n, 4), dtype=np.float32)', 'gpu.set(hosts)']], ['cupy', ['host = np.empty(n, like=x)', 'gpu.set(host)']], ['cupy', ['host = np.empty(n) + 1', 'gpu.set(host)']],
  ['numba', ['host = np.zeros(n)', 'd = cuda.to_device(host)']], ['numba', ['host = np.empty(n)', 'd = to_device(host)']], ['numba', ['x = f(', 'd = cuda.to_device(host)'], { remedy: 'pin-per-use' }],
  ['numba', ['', 'd = cuda.to_device(f(x))'], { remedy: 'pin-per-use' }],
  ['jax', ['', 'x = jax.device_put(x)'], { remedy: 'asynchronous' }], ['jax', ['', 'x = f(x).block_until_ready()'], { remedy: 'asynchronous' }],
  ['jax', ['', 'x = jax.block_until_ready((jax.device_put(x), y))'], { remedy: 'asynchronous' }], ['jax', ['', 'x = jax.block_until_ready(jax.device_put(x) + y)'], { remedy: 'asynchronous' }],
  ['jax', ['', 'x = jax.device_put(x).block_until_ready()'], { remedy: 'keep' }], ['jax', ['', 'x = jax.device_put(x).block_until_ready()'], { remedy: 'asynchronous', direction: 'D2H' }],
  ['c', ['if (x)', '    cudaMemcpy(d, a, n, cudaMemcpyHostToDevice);'], { remedy: 'pin-per-use' }], ['c', ['{', 'cudaMemcpy(d, a++, n, cudaMemcpyHostToDevice);'], { remedy: 'pin-per-use' }],
  ['c', ['{', 'if (cudaMemcpy(d, a, n, cudaMemcpyHostToDevice))'], { remedy: 'pin-per-use' }], ['c', ['{', 'cudaMemcpy(d, f(a), n, cudaMemcpyHostToDevice);'], { remedy: 'pin-per-use' }],
  ['c', ['{', 'error = cudaMemcpy(d, a, n, cudaMemcpyHostToDevice);'], { remedy: 'pin-per-use' }], ['c', ['{', 'cudaMemcpyAsync(d, a, n, cudaMemcpyHostToDevice);'], { remedy: 'pin-per-use' }],
  ['c', ['/* float *a = malloc(n);', 'cudaMemcpy(d, a, n, cudaMemcpyHostToDevice); */']], ['c', ['float *a = malloc(n);', 'cudaMemcpy(d, b, n, cudaMemcpyHostToDevice);']], ['c', ['', 'x = x.to(device)'], { name: 'a.rs' }],
];

test('fixes are patches where they are mechanical', () => {
  for (const [dialect, lines, wanted, options] of MECHANICAL) assert.deepEqual(changes(patch_of(dialect, lines, options)), wanted, lines.join('\n'));
});

test('elsewhere there is none', () => {
  for (const [dialect, lines, options] of NOT_MECHANICAL) assert.equal(patch_of(dialect, lines, options), null, lines.join('\n'));
});

test('what is missing for a fix to be whole is said', () => {
  assert.match(patch_of('pytorch', ['', 'x = x.to(device)']).note, /pin_memory/);
  assert.equal(patch_of('pytorch', ['', 'x = x.to(device)'], { remedy: 'asynchronous' }).note, null);
  assert.match(patch_of('jax', ['', 'x = jax.device_put(x).block_until_ready()']).note, /a step before its use/);
  assert.match(patch_of('c', ['{', 'int *a = malloc(n);', 'cudaMemcpy(d, a, n, cudaMemcpyHostToDevice);'], { at: 2 }).note, /cudaFreeHost\(a\)/);
});

const HEAD = 'int cudaMemcpy(void *, const void *, unsigned long, int), cudaMallocHost(void **, unsigned long), cudaFreeHost(void *), cudaHostRegister(void *, unsigned long, int), cudaHostUnregister(void *); void *malloc(unsigned long); void free(void *); enum { cudaHostRegisterDefault, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost }; void CHECK(int);\n';

test('patch(1) takes a patch, and the file is right in its language behind it', () => {
  for (const [dialect, lines, , options] of MECHANICAL) {
    const name = dialect === 'c' ? 'a.cu' : 'a.py';
    const file = join(folder, name);
    const head = dialect === 'c' ? HEAD : '\n';
    writeFileSync(file, `${head}${'\n'.repeat(8)}${lines.join('\n')}\n`);
    const { text } = patch_of(dialect, lines, options);
    assert.ok(text.startsWith(`--- a/${name}\n+++ b/${name}\n@@ -10,`), text);
    execFileSync('patch', ['-p1', '-s', '-F0', '-d', folder], { input: text });
    if (dialect === 'c') for (const language of ['c', 'c++']) execFileSync('cc', ['-x', language, '-fpermissive', '-w', '-fsyntax-only', file]);
    else execFileSync('python3', ['-c', 'import ast, sys; ast.parse(open(sys.argv[1]).read())', file]);
  }
});

test('each kind of finding has a sentence as its title, of one copy and of many', async () => {
  const kinds = [...readFileSync(join(sources, '../../../findings/kinds.def'), 'utf8').matchAll(/^XFA_FINDING\(\w+, \w+, "([\w-]+)"/gm)].map(([, kind]) => kind);
  const { title_of } = await bundled('titles.js', { KINDS: JSON.stringify(Object.fromEntries(kinds.map((kind) => [kind, 'no sentence']))) });
  assert.ok(kinds.length > 30);
  for (const kind of kinds) {
    const [one, many] = [1, 2].map((transfers) => title_of({ kind, transfers, bytes: 4096, sites: [{ direction: 'H2D' }] }));
    assert.notEqual(one, 'No sentence', kind);
    // The verb of one copy is not that of two.
    if (one.startsWith('1 copy') && !one.includes('take turns')) assert.notEqual(one.slice('1 copy'.length), many.slice('2 copies'.length), kind);
  }
});
