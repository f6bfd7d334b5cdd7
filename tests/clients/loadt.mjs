// Load on `chainbox serve --db-path`, not part of `run`: CHAINBOX_BIN=... node load.mjs [SECONDS] [CONNECTIONS]
//
// Connections that are kept alive send four reads to one write, as fast as they are answered. Writes change a workspace of their connection's
// own, or send a signed transaction. Then the process is killed, and after a restart each write that was acknowledged must be there. It
// fails when a request failed, a write is lost, or answers came later than they may: docs/load.md has the figures of a release build.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Wallet } from 'ethers';
import { firstKey } from './client.mjs';
import { Connection, request } from './connection.mjs';
import { start } from './service.mjs';

const SECONDS = Number(process.argv[2] ?? 30);
const CONNECTIONS = Number(process.argv[3] ?? 200);
const SENDERS = 200;
// Signed before the load, so that it does not measure the signing: more than a sender comes to send.
const TRANSACTIONS = 80;
// Bounds of the 99th percentiles, in milliseconds.
const LATEST = { reads: 20, writes: 100 };

const folder = mkdtempSync(join(tmpdir(), 'chainbox-load-'));
const limits = `${folder}.toml`;
writeFileSync(limits, '[workspaces]\nof_a_user_max = 1000\n');
const flags = ['serve', '--db-path', folder, '--requests-per-minute', '1000000000', '--limits', limits];
const serve = (options) => start(flags, options);
let service = await serve();
const key = await firstKey(service);

const requestOf = (method, path, body) => request(service.url, method, path, { 'x-api-key': key }, body && JSON.stringify(body));
const rpcOf = (method, params) => requestOf('POST', '/v1/rpc', { jsonrpc: '2.0', id: 1, method, params });

// A client has one connection; this one is for what is not part of the load.
let beside = new Connection(service.url);
async function ask(bytes) {
  const { status, body } = await beside.send(bytes);
  return { status, body: JSON.parse(body) };
}
const send = (method, path, body) => ask(requestOf(method, path, body));
const rpc = (method, params) => ask(rpcOf(method, params));

async function make(path, body) {
  const { status, body: made } = await send('POST', path, body);
  assert.equal(status, 201, JSON.stringify(made));
  return made.data;
}

const nativeToken = { name: 'Ether', symbol: 'ETH', premine: '1000000000000000000000000' };
const { id: chain, chainId, treasury } = await make('/v1/blockchains', { name: 'load', config: { nativeToken } });

// The signed transactions of one of the senders, whom the chain's treasury gives what they cost.
async function signed(index) {
  const wallet = new Wallet(`0x${(index + 1).toString(16).padStart(64, '0')}`);
  const given = { blockchainId: chain, contractAddress: wallet.address, data: '0x', from: treasury, value: '1000000000000000000000' };
  const { body } = await rpc('contract.execute', given);
  assert.ok(body.result, JSON.stringify(body));
  const fees = { maxFeePerGas: 100_000_000_000n, maxPriorityFeePerGas: 1_000_000_000n, gasLimit: 21_000n };
  const numbers = Array.from({ length: TRANSACTIONS }, (_, nonce) => nonce);
  return Promise.all(numbers.map((nonce) => wallet.signTransaction({ type: 2, chainId, to: wallet.address, value: 1n, nonce, ...fees })));
}

const errors = new Map();
const times = { reads: [], writes: [] };
// The last change of each workspace that was sent: after a kill it may be there without an answer.
const asked = new Map();
const acknowledged = { descriptions: new Map(), transactions: [] };

// What the body of each failure has, of REST and of JSON-RPC, which answers it with 200.
const FAILED = Buffer.from('"error":');

async function timed(kind, connection, bytes) {
  const begun = performance.now();
  let failure;
  try {
    const { status, body } = await connection.send(bytes);
    if (status < 300 && !body.includes(FAILED)) {
      times[kind].push(performance.now() - begun);
      return body;
    }
    failure = `${status} ${body}`;
  } catch (error) {
    failure = error.code ?? error.message;
  }
  errors.set(failure, (errors.get(failure) ?? 0) + 1);
}

// The writer of a connection: signed transactions for the first ones, changes of a workspace of its own for the others.
async function writer(index, connection) {
  if (index < SENDERS) {
    const waiting = (await signed(index)).reverse();
    return async () => {
      const signedTransaction = waiting.pop() ?? assert.fail('every signed transaction is sent: sign more');
      const body = await timed('writes', connection, rpcOf('transaction.send', { blockchainId: chain, signedTransaction }));
      if (body) acknowledged.transactions.push(JSON.parse(body).result.transactionHash);
    };
  }
  const { id } = await make('/v1/workspaces', { name: `load ${index}` });
  let version = 0;
  return async () => {
    const description = `version ${(version += 1)}`;
    asked.set(id, description);
    const body = await timed('writes', connection, requestOf('PATCH', `/v1/workspaces/${id}`, { description }));
    if (body) acknowledged.descriptions.set(id, description);
  };
}

const reads = [
  requestOf('GET', '/v1/workspaces/ws_default'),
  requestOf('GET', `/v1/blockchains/${chain}`),
  requestOf('GET', '/v1/workspaces'),
  rpcOf('blockchain.getBlock', { blockchainId: chain, blockNumber: 'latest' }),
];

// Nothing is sent after the kill, so that at most one change of a workspace has no answer.
let killed = false;
async function work({ write, connection }) {
  for (;;) {
    for (const bytes of []) {
      await timed('reads', connection, bytes);
      if (killed) return;
    }
    await write();
    if (killed) return;
  }
}

const writers = [];
for (let index = 0; index < CONNECTIONS; index += 1) {
  const connection = new Connection(service.url);
  writers.push({ write: await writer(index, connection), connection });
}

// The kill comes while all connections are at work.
const all = writers.map(work);
await new Promise((resolve) => setTimeout(resolve, SECONDS * 1000));
const failures = [...errors];
killed = true;
await service.kill();
await Promise.all(all);

const quantile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
const late = [];
for (const [kind, list] of Object.entries(times)) {
  list.sort((a, b) => a - b);
  const [half, last] = [quantile(list, 0.5), quantile(list, 0.99)];
  console.log(`${kind}: ${list.length}, ${(list.length / SECONDS).toFixed(0)} a second, p50 ${half?.toFixed(1)} ms, p99 ${last?.toFixed(1)} ms`);
  if (!(last < LATEST[kind])) late.push(`p99 of ${kind} is ${last?.toFixed(1)} ms; below ${LATEST[kind]} ms is wanted`);
}
late.forEach((line) => console.log(line));
console.log(`errors before the kill: ${failures.length ? failures.map(([what, count]) => `${count} of ${what}`).join(', ') : 'none'}`);

service = await serve({ port: new URL(service.url).port });
beside = new Connection(service.url);
let lost = 0;
function lose(what) {
  lost += 1;
  console.log(`lost ${what}`);
}
for (const [id, description] of acknowledged.descriptions) {
  const { body } = await send('GET', `/v1/workspaces/${id}`);
  if (![description, asked.get(id)].includes(body.data?.description)) lose(`${id}: ${body.data?.description}, acknowledged ${description}, asked ${asked.get(id)}`);
}
for (const transactionHash of acknowledged.transactions) {
  const { body } = await rpc('blockchain.getTransaction', { blockchainId: chain, transactionHash });
  if (!body.result) lose(`${transactionHash}: ${JSON.stringify(body)}`);
}
console.log(`after kill and restart: ${acknowledged.descriptions.size} workspaces and ${acknowledged.transactions.length} transactions looked at, ${lost} lost`);
await service.stop();
rmSync(folder, { recursive: true });
rmSync(limits);
process.exit(failures.length || late.length || lost ? 1 : 0);
