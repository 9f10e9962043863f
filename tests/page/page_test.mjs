// The HTML report in Chromium: see the names of the tests.
//
//   node page_test.mjs XFERSCOPE MAKE_TRACE BIG_TRACE DATA PAGE NODE_MODULES CHROMIUM
//
// DATA: tests/data; PAGE: the page's sources; NODE_MODULES: playwright-core and axe-core.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { command, drawn, end_browser, make_page, open, scratch, start_browser, with_blocks, with_source, with_texts } from './pages.mjs';

const [xferscope, make_trace, big_trace, data, sources, modules, chromium] = process.argv.slice(2);
const { text_of } = await import(pathToFileURL(join(sources, 'src/format.js')));

const profile = join(data, 'h200.json');
const pages = {};

before(async () => {
  await start_browser(modules, chromium);
  const recorded = (name) => join(data, `${name}.xft`);
  pages.pytorch = make_page(xferscope, 'pytorch', recorded('h200-pytorch'), '-p', profile);
  pages.static = make_page(xferscope, 'static', recorded('h200-static'), '-p', profile);
  pages.old = make_page(xferscope, 'old', recorded('h200-shared-1.0'), '-p', join(data, 'h200-1.0.json'));
  pages.bare = make_page(xferscope, 'bare', recorded('h200-static'));
  pages.compared = make_page(xferscope, 'compared', '--compare', recorded('h200-shared-1.0'), recorded('h200-static'), '-p', profile);
  const exchange = join(scratch, 'exchange.xft'), network = join(scratch, 'network.json');
  mkdirSync(exchange);
  for (const rank of ['0', '1', '2', '3']) command(make_trace, 'exchange', join(exchange, `${rank}.trace`), rank);
  command(make_trace, 'profile', network, 'network');
  pages.messages = make_page(xferscope, 'messages', exchange, '-p', network);
  pages.part = make_page(xferscope, 'part', recorded('h200-static'), '-p', profile, '--kind', 'pageable-host-memory');
});

after(end_browser);

// ---- figures -----------------------------------------------------------------------------------

// What "report.run.wall_s" or "report.a - report.b" stands for; of our own, not the page's.
function meant(at, all) {
  const value = (path) => path.split('.').reduce((of, key) => (of === null || of === undefined ? null : of[key]), all) ?? null;
  const [a, operator, b] = at.split(' ');
  if (!operator) return value(a);
  if (value(a) === null || value(b) === null) return null;
  return operator === '-' ? value(a) - value(b) : value(b) === 0 ? null : value(a) / value(b);
}

// Those that have to be there, whatever else is.
function needed(json) {
  if (json.schema.name === 'xferscope-comparison') {
    const change = (at) => ['before_s', 'after_s', 'shift_s'].map((key) => `${at}.${key}`);
    return [...['span', 'wall', 'transfers'].flatMap((key) => change(`report.run.${key}`)), ...json.transfers.flatMap((_, i) => change(`report.transfers.${i}.time`))];
  }
  const keys = (at, ...names) => names.map((name) => `${at}.${name}`);
  return [
    'report.run.wall_s', ...['exposed', 'waits', 'launches', 'host'].map((key) => `timeline.shares.${key}`),
    ...json.findings.flatMap((finding, i) => [...keys(`report.findings.${i}`, 'transfers', 'bytes', 'achieved_gbps', 'achievable_gbps', 'lost_s'),
      ...(finding.saving_s.likely === null ? [] : keys(`report.findings.${i}.saving_s`, 'low', 'likely', 'high')),
      ...finding.sites.slice(0, 10).flatMap((_, k) => keys(`report.findings.${i}.sites.${k}`, 'transfers', 'bytes', 'lost_s'))]),
    ...json.transfers.flatMap((_, i) => keys(`report.transfers.${i}`, 'transfers', 'bytes', 'achieved_gbps', 'achievable_gbps', 'lost_s')),
    ...json.waits.flatMap((_, i) => keys(`report.waits.${i}`, 'times', 'time_s', 'longest_s')),
    ...(json.messages?.rows ?? []).flatMap((row, i) => keys(`report.messages.rows.${i}`, 'calls', row.sent > row.arrived ? 'sent' : 'arrived', 'time_s', 'waits_s', 'before_others_s', 'lost_s',
      ...(row.timed && !row.sent && !row.arrived ? ['call_s', 'achievable_call_s'] : ['achieved_gbps', 'achievable_gbps']))),
    ...(json.messages?.processes ?? []).flatMap(({ last }, i) => (last ? keys(`report.messages.processes.${i}`, 'last', 'collectives', 'others_waited_s') : [])),
    ...(json.whatif?.known && json.whatif.together ? keys('report.whatif.together', 'processes', 'messages') : []),
    ...(json.whatif?.known && json.findings.some((finding) => !finding.saving_s.idle) && json.whatif.set_saving_s.likely !== null
      ? ['report.whatif.alone_s', 'report.whatif.alone_s - report.whatif.set_saving_s.likely', ...keys('report.whatif.set_saving_s', 'low', 'likely', 'high')] : []),
  ];
}

for (const name of ['pytorch', 'static', 'old', 'bare', 'part', 'compared', 'messages']) {
  test(`${name}: no errors, nothing asked of a network, every figure is the JSON's`, async () => {
    const { file, json } = pages[name];
    const page = await open(file);
    assert.deepEqual(page.wrong, []);
    const all = await page.evaluate(() => ({ report: JSON.parse(document.getElementById('report').textContent), timeline: JSON.parse(document.getElementById('timeline').textContent) }));
    assert.deepEqual(all.report, json);
    const figures = await page.$$eval('data[data-at]', (nodes) => nodes.map((node) => ({ at: node.dataset.at, unit: node.dataset.unit, value: node.value, text: node.lastChild.textContent })));
    for (const { at, unit, value, text } of figures) {
      const is = meant(at, all);
      assert.equal(value, is === null ? '' : String(is), at);
      assert.equal(text, text_of(is, unit), at);
    }
    const there = new Set(figures.map(({ at }) => at));
    assert.deepEqual(needed(json).filter((at) => !there.has(at)), []);
    assert.ok((await page.title()).startsWith('xferscope: '));
    const ids = await page.$$eval('[id]', (nodes) => nodes.map((node) => node.id));
    assert.equal(new Set(ids).size, ids.length);
    assert.deepEqual(await page.$$eval('a[href^="#"]', (nodes) => nodes.filter((node) => !document.getElementById(node.getAttribute('href').slice(1))).map((node) => node.outerHTML)), []);
    await page.context().close();
  });
}

test('figures are written as the terminal writes them', () => {
  const cases = [[0, 's', '0 ns'], [0.0844872826, 's', '84.5 ms'], [5.50873168, 's', '5.51 s'], [-0.0443, 's', '-44.3 ms'], [1.5e-6, 's', '1.50 us'], [64, 'bytes', '64 B'], [1258291200, 'bytes', '1.17 GiB'],
    [2097152, 'bytes', '2 MiB'], [0.0076, 'gbps', '0.0076 GB/s'], [54.6740837, 'gbps', '54.7 GB/s'], [787.2, 'gbps', '787 GB/s'], [0.0144, 'part', '1.4 %'], [0.28, 'part', '28 %'], [null, 's', '-'], [12, 'ns', '12.0 ns']];
  for (const [value, unit, text] of cases) assert.equal(text_of(value, unit), text);
});

test('a fix that the best set has for some of its transfers says for how many', async () => {
  const whole = await open(pages.static.file);
  assert.equal(await whole.$$eval('.tag', (nodes) => nodes.filter((node) => node.textContent.includes('in part')).length), 0);
  await whole.context().close();
  let of = null;
  const changed = with_blocks(pages.static, 'in-part', (block, id) => {
    const at = id === 'report' ? block.findings.findIndex((finding) => finding.saving_s.order && finding.sites[0].transfers > 1) : -1;
    if (at >= 0) {
      block.findings[at].sites[0].in_set = 1;
      of = { at, order: block.findings[at].saving_s.order };
    }
    return block;
  });
  assert.ok(of);
  const page = await open(changed.file);
  assert.deepEqual(page.wrong, []);
  assert.deepEqual(await page.$$eval('.tag', (nodes) => nodes.map((node) => node.textContent).filter((text) => text.includes('in part'))), [`fix ${of.order} of the best set, in part`]);
  assert.equal(await page.$eval(`data[data-at="report.findings.${of.at}.sites.0.in_set"]`, (node) => node.value), '1');
  await page.context().close();
});

test('the source of a site stands under its finding, as text, with its line marked', async () => {
  const bare = await open(pages.static.file);
  assert.equal(await bare.$$eval('.source', (nodes) => nodes.length), 0); // recorded without
  await bare.context().close();
  const lines = ['def upload():', '\tsend(batch)  # </code><b class=evil>\u202e', ''];
  const page = await open(with_source(pages.static, 'source', 41, lines).file);
  assert.deepEqual(page.wrong, []);
  assert.deepEqual(await page.$$eval('.finding .code .line', (nodes) => nodes.map((node) => [...node.children].map((child) => child.textContent))),
    [['41', lines[0]], ['42', lines[1].replace('\u202e', '<U+202E>')], ['43', '']]);
  assert.deepEqual(await page.$$eval('.code .own .line-number', (nodes) => nodes.map((node) => node.textContent)), ['42']);
  assert.equal(await page.$eval('.source figcaption', (node) => node.textContent), 'upload.py:42');
  await page.context().close();
});

test('a patch is copied by a click', async () => {
  const page = await open(with_source(pages.pytorch, 'patch', 60, ['for step in range(9):', '    x = images[step].to(device)', ''], (finding) => /^pin/.test(finding.remedy) && finding.sites.length === 1 && finding.sites[0].direction === 'H2D').file);
  assert.deepEqual(page.wrong, []);
  const shown = await page.$$eval('.patch code', (nodes) => nodes.map((node) => node.textContent));
  assert.deepEqual(shown.filter((line) => /^[-+]/.test(line)), ['-    x = images[step].to(device)', '+    x = images[step].to(device, non_blocking=True)']);
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.$eval('.patch', (node) => {
    for (let at = node; at; at = at.parentElement) if (at.tagName === 'DETAILS') at.open = true;
  });
  await page.click('.patch .copy');
  await page.waitForFunction(() => document.querySelector('.patch [role=status]').textContent.includes('copied'));
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  assert.equal(copied, ['--- a/upload.py', '+++ b/upload.py', ...shown, ''].join('\n'));
  await page.context().close();
});

test('titles of findings are sentences, their kinds stand beside them', async () => {
  const page = await open(pages.pytorch.file);
  const titles = await page.$$eval('.finding .title', (nodes) => nodes.map((node) => node.textContent));
  assert.deepEqual(titles.filter((text) => !/^[0-9A-Z].* \w/.test(text)), []);
  const kinds = pages.pytorch.json.findings.map(({ kind }) => kind);
  assert.deepEqual((await page.$$eval('.finding .kind', (nodes) => nodes.map((node) => node.textContent))).sort(), kinds.sort());
  await page.context().close();
});

// ---- which fixes ---------------------------------------------------------------------------------

const verdict = (page) => page.$$eval('.verdict data', (nodes) => Object.fromEntries(nodes.map((node) => [node.dataset.at, Number(node.value)])));
const canvas_label = (page) => page.$eval('canvas', (node) => node.getAttribute('aria-label'));

test('ticking fixes changes total, bars and timeline to what was played of that set', async () => {
  const { file, json } = pages.static;
  const of = (order) => json.findings.find((finding) => finding.saving_s.order === order);
  assert.ok(of(2) && !of(3)); // the run has a best set of two
  const page = await open(file);
  const before = await verdict(page);
  assert.equal(before['report.whatif.set_saving_s.likely'], json.whatif.set_saving_s.likely);
  await page.click('.set li:nth-child(2) input');
  const first = await verdict(page);
  // Played by itself it saves what its finding says, which the analyzer found by other plays.
  const [at] = Object.keys(first).filter((key) => key.endsWith('.saved_s'));
  assert.ok(Math.abs(first[at] - of(1).saving_s.likely) < 1e-8, `${first[at]}`);
  assert.ok(Math.abs(first[at.replace('saved_s', 'with_s')] + first[at] - json.whatif.alone_s) < 1e-8);
  assert.match(await canvas_label(page), /as recorded, .* and the run with fix 1, /);
  const row = await page.$$eval('#time tbody tr', (nodes) => nodes.map((node) => [...node.querySelectorAll('data')].map((figure) => [figure.dataset.at, Number(figure.value)])));
  for (const [[, recorded], [key, value]] of row) assert.ok(key.startsWith(at.replace('saved_s', 'shares')) && value >= 0 && recorded >= 0);
  const sum = row.reduce((all, [, [, value]]) => all + value, 0);
  assert.ok(Math.abs(sum / 1e9 - first[at.replace('saved_s', 'with_s')]) < 1e-8);
  await page.click('.set li:nth-child(1) input');
  assert.deepEqual(Object.keys(await verdict(page)), ['report.whatif.alone_s']);
  assert.doesNotMatch(await canvas_label(page), / and the run/);
  await page.click('.set li:nth-child(1) input');
  await page.click('.set li:nth-child(2) input');
  assert.deepEqual(await verdict(page), before);
  assert.deepEqual(page.wrong, []);
  await page.context().close();
});

test('a set that was not played is said to be so', async () => {
  const page = await open(with_blocks(pages.static, 'unplayed', (block, id) => (id === 'timeline' ? { ...block, sets: block.sets.filter(({ members }) => members[0] !== 2) } : block)).file);
  await page.click('.set li:nth-child(1) input');
  assert.match(await page.textContent('.verdict'), /not known.*was not played/);
  assert.deepEqual(Object.keys(await verdict(page)), ['report.whatif.alone_s']);
  assert.deepEqual(page.wrong, []);
  await page.context().close();
});

const seen = (page) => page.$eval('canvas', (node) => [Number(node.dataset.from), Number(node.dataset.to)]);

// ---- call stacks ---------------------------------------------------------------------------------

test('a row shows the frames of the program, and folds those of frameworks', async () => {
  const { file, json } = pages.pytorch;
  const page = await open(file);
  await page.$$eval('details', (nodes) => nodes.forEach((node) => (node.open = true)));
  const found = await page.$$eval('details.stack', (nodes) => nodes.map((node) => ({
    own: node.querySelectorAll(':scope > ol > li').length, all: node.querySelectorAll(':scope > details > ol > li').length,
    title: node.querySelector(':scope > details > summary')?.textContent ?? '',
  })));
  const wanted = json.transfers.filter(({ site }) => site.stack.length)
    .map(({ site: { stack } }) => [stack.filter(({ of }) => of === null).length, stack.length, stack.filter(({ of }) => of === 'PyTorch').length])
    .filter(([own, all, torch]) => own > 0 && own < all && torch > 1);
  assert.ok(wanted.length > 0);
  for (const [own, all, torch] of wanted)
    assert.ok(found.some((one) => one.own === own && one.all === all && RegExp(`\\b${torch} (frames )?of PyTorch`).test(one.title)), `${own} of ${all}`);
  await page.context().close();
});

test('the call stacks add up, as a flame graph and as a list, by each measure', async () => {
  const { file, json } = pages.pytorch;
  const page = await open(file);
  const sums = { lost: 0, bytes: 0, time: 0 };
  for (const row of json.transfers) {
    sums.lost += Math.max(0, row.lost_s ?? 0);
    sums.bytes += row.bytes;
    sums.time += row.achieved_gbps > 0 ? row.bytes / row.achieved_gbps / 1e9 : 0;
  }
  await page.$eval('#stacks details', (node) => (node.open = true));
  for (const [by, unit] of [['lost', 's'], ['bytes', 'bytes'], ['time', 's']]) {
    await page.selectOption('#stacks select', by);
    await drawn(page);
    assert.equal(await page.$eval('#stacks .frame title', (node) => node.textContent), `all transfers: ${text_of(sums[by], unit)}`);
    assert.ok(Math.abs((await page.$eval('#stacks .tree .weight', (node) => Number(node.value))) / sums[by] - 1) < 1e-9);
    const below = await page.$$eval('#stacks .tree > li > details > ul > li', (nodes) => nodes.map((node) => Number(node.querySelector('.weight').value)));
    assert.ok(below.length > 1 && Math.abs(below.reduce((a, b) => a + b, 0) / sums[by] - 1) < 1e-9);
  }
  // A click on a frame makes it as wide as the drawing.
  const widths = () => page.$$eval('#stacks .frame', (nodes) => Object.fromEntries(nodes.map((node) => [node.querySelector('title').textContent, Math.round(Number(node.querySelector('rect').getAttribute('width')))]).filter(([title], _, all) => all.filter(([other]) => other === title).length === 1)));
  // The library widens frames little by little.
  await page.waitForFunction(() => document.querySelector('#stacks .frame rect').getAttribute('width') === document.querySelector('#stacks svg').getAttribute('width'));
  const before = await widths();
  const whole = Math.max(...Object.values(before));
  const [part] = Object.entries(before).find(([, width]) => width < whole - 2 && width > 2);
  const becomes = (width) => page.waitForFunction(([title, wanted]) => [...document.querySelectorAll('#stacks .frame')].some((node) => node.querySelector('title').textContent === title && Math.round(Number(node.querySelector('rect').getAttribute('width'))) === wanted), [part, width]);
  await page.$$eval('#stacks .frame', (nodes, wanted) => nodes.find((node) => node.querySelector('title').textContent === wanted).dispatchEvent(new MouseEvent('click', { bubbles: true })), part);
  await becomes(whole);
  await page.click('#stacks button');
  await becomes(before[part]);
  assert.deepEqual(page.wrong, []);
  await page.context().close();
});

test('from a finding to the timeline, and from there to the finding', async () => {
  for (const [key, i] of [['pytorch', 0], ['static', 1]]) {
    const page = await open(pages[key].file);
    const id = `finding-${i + 1}`;
    await page.$eval(`#${id}`, (node) => (node.open = true));
    await page.click(`#${id} >> text=Show in the timeline`);
    await drawn(page);
    assert.equal(await page.evaluate(() => document.activeElement.tagName), 'CANVAS');
    const { sites } = pages[key].json.findings[i];
    const said = await page.textContent('#timeline-drawn [role=status]');
    assert.ok(sites.some(({ text }) => said.includes(text)), said);
    const [from, to] = await seen(page);
    const [, at] = /at ([\d.]+ \w+),/.exec(said);
    assert.ok(to > from && at);
    await page.$eval(`#${id}`, (node) => (node.open = false));
    await page.keyboard.press('Enter');
    // The first finding that has the site, in the report's order.
    const [, number] = /finding (\d+): click/.exec(said);
    await page.waitForFunction((wanted) => location.hash === wanted, `#finding-${number}`);
    assert.ok(await page.$eval(`#finding-${number}`, (node) => node.open));
    assert.ok(pages[key].json.findings[number - 1].sites.some(({ text }) => said.includes(text)));
    // The same by a click: the slice is in the middle of what is seen.
    await page.evaluate(() => {
      location.hash = '';
      document.querySelector('canvas').scrollIntoView({ block: 'center' });
    });
    const box = await (await page.$('canvas')).boundingBox();
    for (let y = 30; y < 200 && !(await page.evaluate(() => location.hash.startsWith('#finding'))); y += 10) await page.mouse.click(box.x + 170 + (box.width - 178) / 2, box.y + y);
    assert.match(await page.evaluate(() => location.hash), /^#finding-/);
    assert.deepEqual(page.wrong, []);
    await page.context().close();
  }
});

// ---- use ---------------------------------------------------------------------------------------

test('Tab reaches every finding, Enter unfolds it', async () => {
  const page = await open(pages.static.file);
  const ids = await page.$$eval('.finding', (nodes) => nodes.map((node) => node.id));
  assert.equal(ids.length, pages.static.json.findings.length);
  await page.$$eval('details.idle', (nodes) => nodes.forEach((node) => (node.open = true)));
  const reached = new Set();
  const steps = await page.$$eval('a, button, summary, input, select, [tabindex]', (nodes) => nodes.length);
  for (let i = 0; i < steps && reached.size < ids.length; i++) {
    await page.keyboard.press('Tab');
    const id = await page.evaluate(() => document.activeElement.matches('.finding > summary') && document.activeElement.parentNode.id);
    if (!id || reached.has(id)) continue;
    const open_before = await page.evaluate(() => document.activeElement.parentNode.open);
    await page.keyboard.press('Enter');
    assert.equal(await page.evaluate(() => document.activeElement.parentNode.open), !open_before);
    reached.add(id);
  }
  assert.deepEqual([...reached].sort(), [...ids].sort());
  await page.context().close();
});

test('arrow keys reach every point, each says its figures', async () => {
  const page = await open(pages.pytorch.file);
  const points = await page.$$eval('#bandwidth .point', (nodes) => nodes.length);
  assert.equal(points, pages.pytorch.json.transfers.filter((row) => row.achieved_gbps > 0).length);
  assert.equal(await page.$$eval('#bandwidth .point[tabindex="0"]', (nodes) => nodes.length), 1);
  await page.focus('#bandwidth .point[tabindex="0"]');
  const said = new Set();
  for (let i = 0; i < points; i++) {
    said.add(await page.evaluate(() => document.activeElement.dataset.row));
    assert.match(await page.evaluate(() => document.activeElement.getAttribute('aria-label')), /achieved .*GB\/s/);
    assert.ok(await page.isVisible('.tooltip'));
    await page.keyboard.press('ArrowRight');
  }
  assert.equal(said.size, points);
  await page.context().close();
});

test('the timeline zooms and moves by keys, mouse, wheel and buttons', async () => {
  const page = await open(pages.pytorch.file);
  const width = async () => {
    await drawn(page);
    const [from, to] = await seen(page);
    return to - from;
  };
  await page.click('text=Whole run');
  const whole = await width();
  await page.focus('canvas');
  await page.keyboard.press('+');
  assert.ok(Math.abs((await width()) / whole - 0.5) < 1e-6);
  const [from] = await seen(page);
  await page.keyboard.press('ArrowRight');
  await drawn(page);
  assert.ok((await seen(page))[0] > from);
  await page.keyboard.press('0');
  assert.equal(await width(), whole);
  await page.keyboard.press('n');
  assert.match(await page.textContent('#timeline-drawn [role=status]'), /at .*s/);
  const box = await (await page.$('canvas')).boundingBox();
  await page.mouse.move(box.x + box.width * 0.7, box.y + 60);
  await page.mouse.wheel(0, -400);
  const zoomed = await width();
  assert.ok(zoomed < whole * 0.7);
  const before_drag = await seen(page);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.6, box.y + 60, { steps: 4 });
  await page.mouse.up();
  await drawn(page);
  const after_drag = await seen(page);
  assert.ok(after_drag[0] > before_drag[0]);
  assert.ok(Math.abs(after_drag[1] - after_drag[0] - zoomed) < 1);
  assert.deepEqual(page.wrong, []);
  await page.context().close();
});

test('tables are sorted and filtered', async () => {
  const page = await open(pages.pytorch.file);
  const bytes = () => page.$$eval('#transfers data[data-at$=".bytes"]', (nodes) => nodes.map((node) => Number(node.value)));
  const head = page.locator('#transfers th', { hasText: /^bytes$/ });
  await head.locator('button').click();
  assert.equal(await head.getAttribute('aria-sort'), 'descending');
  assert.deepEqual(await bytes(), (await bytes()).sort((a, b) => b - a));
  await head.locator('button').click();
  assert.deepEqual(await bytes(), (await bytes()).sort((a, b) => a - b));
  await page.fill('#transfers input[type=search]', 'train.py:61');
  assert.equal((await bytes()).length, pages.pytorch.json.transfers.filter((row) => row.site.text.includes('train.py:61')).length);
  await page.fill('#transfers input[type=search]', '');
  await page.fill('#transfers input[type=search]', 'no such site');
  assert.deepEqual(await page.$$eval('#transfers tbody tr', (nodes) => nodes.map((node) => node.textContent)), ['No row has "no such site" with what is chosen beside it.']);
  await page.fill('#transfers input[type=search]', '');
  await page.selectOption('#transfers select >> nth=0', 'D2H');
  assert.equal((await bytes()).length, pages.pytorch.json.transfers.filter((row) => row.direction === 'D2H').length);
  await page.context().close();
});

for (const name of ['static', 'pytorch', 'compared', 'part']) {
  for (const width of [360, 420]) {
    test(`${name}: nothing is wider than a screen of ${width} pixels`, async () => {
      const small = await open(pages[name].file, { viewport: { width, height: 700 }, hasTouch: true });
      await small.$$eval('details', (nodes) => nodes.forEach((node) => (node.open = true)));
      await drawn(small);
      assert.ok((await small.evaluate(() => document.documentElement.scrollWidth)) <= width);
      await small.context().close();
    });
  }
}

test('on paper all is unfolded, and light', async () => {
  const paper = await open(pages.static.file, { colorScheme: 'dark' });
  assert.equal(await paper.evaluate(() => document.documentElement.dataset.theme), 'dark');
  await paper.evaluate(() => addEventListener('beforeprint', () => (window.at_print = [document.querySelectorAll('.finding:not([open]), .idle:not([open])').length, document.documentElement.dataset.theme])));
  await paper.pdf({ format: 'A4' });
  assert.deepEqual(await paper.evaluate(() => window.at_print), [0, 'light']);
  assert.equal(await paper.evaluate(() => document.documentElement.dataset.theme), 'dark');
  assert.ok(await paper.$$eval('details:not([open])', (nodes) => nodes.length > 0));
  await paper.context().close();
});

test('a part of the report says what it is, a run between one host and one GPU has no traffic to draw', async () => {
  const page = await open(pages.part.file);
  const { filter } = pages.part.json;
  assert.ok(filter.findings < filter.of_findings);
  assert.match(await page.textContent('header'), new RegExp(`Only a part is shown, kind pageable-host-memory: ${filter.transfers} of .* ${filter.findings} of ${filter.of_findings} findings`));
  assert.equal(await page.$('#traffic'), null);
  await page.context().close();
  const twice = await open(with_blocks(pages.static, 'two-gpus', (block, id) => (id === 'timeline' ? { ...block, places: [...block.places, { ...block.places.at(-1), id: 'gpu:1', label: 'GPU 1' }], traffic: [...block.traffic, { ...block.traffic[0], to: 'gpu:1' }] } : block)).file);
  assert.ok(await twice.$('#traffic svg'));
  await twice.context().close();
  const bare = await open(with_blocks(pages.static, 'no-buffers', (block, id) => (id === 'timeline' ? { ...block, buffers: block.buffers.map((buffer) => ({ ...buffer, bytes: null })) } : block)).file);
  assert.equal(await bare.$('#buffers'), null);
  assert.deepEqual(bare.wrong, []);
  await bare.context().close();
});

test('a run that moved nothing says so, and draws no bar of no time', async () => {
  const trace = join(scratch, 'nothing.trace');
  command(make_trace, 'nameless', trace, 'nothing');
  const page = await open(make_page(xferscope, 'nothing', trace, '-p', profile).file);
  assert.deepEqual(page.wrong, []);
  assert.match(await page.textContent('#advice'), /Nothing was moved: no transfer was seen\./);
  await page.context().close();
  const idle = await open(with_blocks(pages.static, 'no-span', (block, id) => (id === 'report' ? { ...block, whatif: { ...block.whatif, span: { ...block.whatif.span, recorded_s: 0 } } } : block)).file);
  assert.ok(!(await idle.textContent('#time')).includes('from the first work for a GPU'));
  await idle.context().close();
});

test('without a profile the page says how to get one', async () => {
  const page = await open(pages.bare.file);
  assert.match(await page.textContent('#advice'), /not known without a machine profile.*xferscope probe -o machine\.json\s*xferscope analyze .*h200-static\.xft --profile machine\.json/s);
  await page.context().close();
});

test('text and page write the same bytes', async () => {
  const text = command(xferscope, 'analyze', join(data, 'h200-pytorch.xft'), '-p', profile, '--full');
  const page = await open(pages.pytorch.file);
  const bytes = await page.$$eval('#findings data[data-at$=".bytes"], header data[data-at$=".bytes"]', (nodes) => nodes.filter((node) => !node.closest('.idle')).map((node) => node.textContent));
  assert.ok(bytes.length > 2);
  assert.deepEqual(bytes.filter((one) => !text.includes(one)), []);
  await page.context().close();
});

for (const [colours, which] of [['light', 'static'], ['dark', 'static'], ['light', 'compared'], ['dark', 'compared']]) {
  test(`${which}, ${colours}: axe finds nothing against what people with other senses need`, async () => {
    const axe = readFileSync(join(modules, 'axe-core/axe.min.js'), 'utf8');
    const page = await open(pages[which].file, { colorScheme: colours });
    await page.$$eval('details', (nodes) => nodes.forEach((node) => (node.open = true)));
    await drawn(page);
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
    assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((node) => `${node.html.slice(0, 200)} ${node.failureSummary}`).join(' | ')}`), []);
    await page.context().close();
  });
}

// ---- what others wrote -------------------------------------------------------------------------

// What the scenario "markup" of make_trace, and our own changes of a page, put into names.
const MARK = '</script><script>alert(1)</script><!--<script>-->';
const EVIL = `${MARK}<img src=x onerror="window.struck=2"><svg onload=window.struck=3>"'--><!--\u202e\u0007<b class=evil>`;

async function unharmed(file) {
  const page = await open(file);
  await page.$$eval('details', (nodes) => nodes.forEach((node) => (node.open = true)));
  for (const point of await page.$$('.point, .flow')) await point.hover({ force: true });
  await page.focus('canvas').catch(() => {});
  await page.keyboard.press('n');
  await drawn(page);
  assert.equal(await page.evaluate(() => window.struck), undefined);
  assert.equal(await page.$$eval('script', (nodes) => nodes.length), 3);
  assert.equal(await page.$$eval('img, iframe, object, .evil, [onerror], [onload], [onclick]', (nodes) => nodes.length), 0);
  assert.ok((await page.textContent('body')).includes(MARK));
  assert.ok(!(await page.evaluate(() => document.body.innerText)).includes('\u202e'));
  assert.deepEqual(page.wrong, []);
  await page.context().close();
}

test('names of a trace run no script', async () => {
  const trace = join(scratch, 'hostile.trace');
  command(make_trace, 'markup', trace);
  const ill = JSON.parse(readFileSync(profile, 'utf8'));
  ill.warnings = [EVIL.replace('\u0007', '')]; // with a control it is refused
  const ill_profile = join(scratch, 'ill.json');
  writeFileSync(ill_profile, JSON.stringify(ill));
  await unharmed(make_page(xferscope, 'hostile', trace).file);
  await unharmed(make_page(xferscope, 'hostile-profile', join(data, 'h200-static.xft'), '-p', ill_profile).file);
});

// Words of fixed lists that the page looks up.
const FIXED = new Set(['direction', 'src_memory', 'dst_memory', 'memory', 'id', 'from', 'to', 'parent', 'a', 'b', 'started', 'recorded', 'name', 'slices']);

test('no text of the report at all runs a script', async () => {
  for (const from of ['pytorch', 'static']) {
    await unharmed(with_texts(pages[from], `evil-${from}`, (text, key) => (FIXED.has(key) || (key === 'kind' && !text.includes('-')) ? text : `${text}${EVIL}`)).file);
  }
});

test('the phase that the headline is of leads', async () => {
  const { file, json } = make_page(xferscope, 'train', join(data, 'examples', 'pytorch_train.xft'), '-p', join(data, 'examples', 'machine.json'));
  const page = await open(file);
  assert.deepEqual(page.wrong, []);
  const focus = await page.evaluate(() => JSON.parse(document.getElementById('timeline').textContent).focus);
  assert.equal(focus.phase, 'train');
  const whole = Object.values(focus.shares).reduce((a, b) => a + b, 0);
  const phase = json.phases.ranges.find(({ path }) => path[0]?.name === 'train');
  assert.ok(Math.abs(whole / 1e9 / phase.time_s - 1) < 1e-6, `${whole} ns of ${phase.time_s} s`);
  const text = await page.$eval('#time', (node) => node.textContent);
  assert.match(text, /In phase train, as recorded:.*Compute 44\.9 ms \(21 %\).*Exposed transfers .* \(46 %\).*Launches .* \(4\.6 %\).*Host .* \(24 %\)/);
  const [figures] = await page.$$eval('#advice dl', (lists) => lists.map((list) => [...list.querySelectorAll('dd data')].map((node) => node.textContent)));
  assert.deepEqual(figures, ['209 ms', '119 ms', '89.6 ms']);
  // The timeline begins with it.
  const [from, to] = await page.$eval('#timeline-drawn canvas', (canvas) => [Number(canvas.dataset.from), Number(canvas.dataset.to)]);
  assert.ok(Math.abs((to - from) / (whole * 1.02) - 1) < 1e-3, `${from} to ${to}`);
  await page.context().close();
  assert.equal(await (await open(pages.static.file)).evaluate(() => JSON.parse(document.getElementById('timeline').textContent).focus), null);
});

test('an answer that is ticked becomes the command that counts with it', async () => {
  const trace = join(data, 'examples', 'jax_fit.xft');
  const { file, json } = make_page(xferscope, 'asked', trace, '-p', join(data, 'examples', 'machine.json'));
  const [{ question }] = json.findings.filter((finding) => finding.question).sort((a, b) => b.question.up_to_s - a.question.up_to_s);
  const page = await open(file);
  assert.equal(await page.$('.commands pre'), null);
  const [yes, no] = await page.$$('.questions li:first-child input');
  await yes.check();
  const line = () => page.$eval('.commands code', (node) => node.textContent);
  const words = (answer) => ['xferscope', 'analyze', trace, '-p', join(data, 'examples', 'machine.json'), '--assume', `${question.key}=${answer}`, '-f', 'html', '--open'];
  const parsed = async () => command('/bin/sh', '-c', `printf '%s\\n' ${await line()}`).trim().split('\n');
  assert.deepEqual(await parsed(), words('yes'));
  await page.setViewportSize({ width: 360, height: 900 });
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'the command is wider than the window');
  await no.check();
  assert.equal(await yes.isChecked(), false);
  assert.deepEqual(await parsed(), words('no'));
  assert.notEqual(command(xferscope, 'analyze', ...words('yes').slice(2, 7), '--brief'), command(xferscope, 'analyze', ...words('no').slice(2, 7), '--brief'));
  await no.uncheck();
  assert.equal(await page.$('.commands pre'), null);
  await page.context().close();
});

test('a link to a part that is shown later finds it; so does paper', async () => {
  const page = await open(pages.pytorch.file);
  const fragment = await page.context().newPage();
  await fragment.goto(`${pathToFileURL(pages.pytorch.file).href}#transfers`);
  await fragment.waitForFunction(() => 'complete' in document.documentElement.dataset);
  assert.equal(await fragment.$eval('.here', (node) => node.id), 'transfers');
  const sections = (of) => of.$$eval('main > *', (nodes) => nodes.map((node) => node.id));
  const all = await sections(page);
  assert.deepEqual(await sections(fragment), all);
  assert.deepEqual(await page.$$eval('nav a', (nodes) => nodes.map((node) => node.getAttribute('href').slice(1))), all);
  await page.context().close();
});

// ---- size --------------------------------------------------------------------------------------

// The page holds so many slices, however many transfers there are: a hundred thousand are as good as a million.
const MANY = process.env.XFERSCOPE_LONG_TESTS ? 1000000 : 100000;

test(`${MANY} transfers: under 3 MB, and it opens`, async (context) => {
  const run = join(scratch, 'many.xft');
  command(big_trace, String(MANY), '1', '4', '200', run);
  const file = join(scratch, 'many.html');
  command(xferscope, 'analyze', run, ...(MANY > 100000 ? ['-p', profile] : []), '--format', 'html', '-o', file);
  assert.ok(statSync(file).size < 3e6, `${statSync(file).size} bytes`);
  const began = performance.now();
  const page = await open(file);
  context.diagnostic(`${statSync(file).size} bytes, opened in ${Math.round(performance.now() - began)} ms`);
  assert.deepEqual(page.wrong, []);
  // It is shown before most of it is made.
  const first = await page.evaluate(() => window.first);
  const nodes = await page.evaluate(() => document.querySelectorAll('*').length);
  context.diagnostic(`${first.nodes} of ${nodes} elements when it was shown`);
  assert.deepEqual(first.sections, ['time', 'advice', 'findings'].filter((id) => first.sections.includes(id)));
  assert.ok(first.sections.includes('findings') && !first.complete);
  context.diagnostic(`shown after ${Math.round(first.at)} ms`);
  assert.ok(first.nodes < 1500 && nodes < 10000, `${first.nodes} of ${nodes}`);
  assert.equal(await page.evaluate(() => JSON.parse(document.getElementById('report').textContent).transfers.reduce((sum, row) => sum + row.transfers, 0)), MANY);
  // A link to a row that is not shown shows it.
  assert.equal(await page.$('#transfer-150'), null);
  await page.evaluate(() => (location.hash = '#transfer-150'));
  await page.waitForSelector('#transfer-150.here');
  await page.context().close();
});
