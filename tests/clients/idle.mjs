// Idle chains of `chainbox serve --db-path`, not part of `run`: CHAINBOX_BIN=... node idle.mjs [CHAINS] [SECONDS]
//
// Makes chains of one validator of proof of authority with a block every 15 s, sends them nothing, and looks at the process. Then it is
// killed, and started again until all chains answer. It fails when a bound is broken: docs/load.md has the figures of a release build.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { firstKey } from './client.mjs';
import { start } from './service.mjs';

const CHAINS = Number(process.argv[2] ?? 1000);
const SECONDS = Number(process.argv[3] ?? 60);
const AT_ONCE = 16;
const KIB_MAX = 1024;
const CORE_MAX = 0.25;
const START_MS_MAX = 5000;
// Unit of the times in /proc/PID/stat (USER_HZ), in seconds.
const TICK = 0.01;

const folder = mkdtempSync(join(tmpdir(), 'chainbox-idle-'));
const serve = (options) => start(['serve', '--db-path', folder, '--requests-per-minute', '1000000000'], options);
let service = await serve();
const key = await firstKey(service);

async function send(method, path, body) {
  const headers = { 'x-api-key': key, ...(body && { 'content-type': 'application/json' }) };
  const response = await fetch(`${service.url}${path}`, { method, headers, body: body && JSON.stringify(body) });
  const answered = await response.json();
  assert.ok(response.ok, JSON.stringify(answered));
  return answered.data;
}

// Does `work` for each of the items, some at a time.
async function each(items, work) {
  const waiting = [...items].reverse();
  const results = [];
  const worker = async () => {
    while (waiting.length) results.push(await work(waiting.pop()));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return results;
}

function looked() {
  const of = (file) => readFileSync(`/proc/${service.pid}/${file}`, 'utf8');
  const [kib] = /(?<=VmRSS:\s*)\d+/.exec(of('status'));
  const [user, system] = of('stat').slice(of('stat').lastIndexOf(')')).split(' ').slice(12, 14);
  const count = (name) => readdirSync(`/proc/${service.pid}/${name}`).length;
  return { kib: Number(kib), processor: (Number(user) + Number(system)) * TICK, threads: count('task'), files: count('fd') };
}

const heightOf = async (id) => (await send('GET', `/v1/blockchains/${id}/metrics`)).currentBlock;
const broken = [];
function bound(what, got, most) {
  console.log(`${what}: ${got}, at most ${most}`);
  if (!(got <= most)) broken.push(what);
}

const before = looked();
let begun = performance.now();
const ids = await each(Array.from({ length: CHAINS }, (_, number) => number), async (number) =>
  (await send('POST', '/v1/blockchains', { name: `idle ${number}`, config: { blockTime: '15s' } })).id);
console.log(`${CHAINS} chains made in ${((performance.now() - begun) / 1000).toFixed(1)} s`);

// Nobody asks for anything meanwhile.
const then = looked();
begun = performance.now();
await new Promise((resolve) => setTimeout(resolve, SECONDS * 1000));
const now = looked();
bound('share of a core', ((now.processor - then.processor) / ((performance.now() - begun) / 1000)).toFixed(4), CORE_MAX);
bound('memory of a chain in KiB', ((now.kib - before.kib) / CHAINS).toFixed(0), KIB_MAX);
// A pool's threads, and the database's files, not the chains'.
bound('threads more than before', now.threads - before.threads, 8);
bound('files more than before', now.files - before.files, 40);
const heights = await each(ids, heightOf);
console.log(`blocks of a chain: ${Math.min(...heights)} to ${Math.max(...heights)}`);
assert.ok(Math.min(...heights) >= Math.floor(SECONDS / 15), 'every chain has its blocks');

await service.kill();
begun = performance.now();
service = await serve();
const listening = performance.now() - begun;
const after = await each(ids, heightOf);
bound('milliseconds from the start until all answered', (performance.now() - begun).toFixed(0), START_MS_MAX);
console.log(`it listened after ${listening.toFixed(0)} ms`);
assert.equal(after.length, CHAINS);
await service.stop();
rmSync(folder, { recursive: true });
broken.forEach((what) => console.log(`out of its bound: ${what}`));
process.exit(broken.length ? 1 : 0);
