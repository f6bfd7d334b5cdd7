// Load on `chainbox serve --db-path`, not part of `run`: CHAINBOX_BIN=... node load.mjs [SECONDS] [CONNECTIONS]
//
// Connections that are kept alive send four reads to one write, as fast as they are answered. Writes change a workspace of their connection's
// own or transfer tokens. Then the process is killed, and after a restart each write that was acknowledged must be there.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'undici';
import { apiKey } from './client.mjs';
import { PASSWORD, Person } from './person.mjs';
import { start } from './service.mjs';

const SECONDS = Number(process.argv[2] ?? 30);
const CONNECTIONS = Number(process.argv[3] ?? 200);
const SENDERS = 10;

const folder = mkdtempSync(join(tmpdir(), 'chainbox-load-'));
const serve = (options) => start(['serve', '--db-path', folder, '--requests-per-minute', '1000000000'], options);
let service = await serve();
const ann = new Person(service.url);
await ann.submit('/oauth/signup', '/oauth/signup', {
  email: 'ann@example.org',
  new_password: PASSWORD,
  bootstrap_token: await service.secret('cbb'),
});
const key = await apiKey(ann, 'admin');

// Takes the bytes of a response as they come: undici's request makes a stream of each, which costs more than the service's own work.
class Answer {
  constructor(resolve, reject) {
    Object.assign(this, { resolve, reject, chunks: [] });
  }
  onRequestStart() {}
  onResponseStart(_, status) {
    this.status = status;
  }
  onResponseData(_, chunk) {
    this.chunks.push(chunk);
  }
  onResponseEnd() {
    try {
      this.resolve({ status: this.status, body: JSON.parse(Buffer.concat(this.chunks)) });
    } catch (error) {
      this.reject(error);
    }
  }
  onResponseError(_, error) {
    this.reject(error);
  }
}

// A client has one connection, which it keeps alive; one for what is not part of the load.
let beside = new Client(service.url);
function send(method, path, body, client = beside) {
  const headers = { 'x-api-key': key, ...(body && { 'content-type': 'application/json' }) };
  return new Promise((resolve, reject) => {
    client.dispatch({ method, path, headers, body: body && JSON.stringify(body) }, new Answer(resolve, reject));
  });
}
const rpc = (method, params, client) => send('POST', '/v1/rpc', { jsonrpc: '2.0', id: 1, method, params }, client);

async function make(path, body) {
  const { status, body: made } = await send('POST', path, body);
  assert.equal(status, 201, JSON.stringify(made));
  return made.data;
}

const nativeToken = { name: 'Ether', symbol: 'ETH', premine: '1000000000000000000000000' };
const { id: chain } = await make('/v1/blockchains', { name: 'load', config: { nativeToken } });
const params = { name: 'Gold', symbol: 'GLD', totalSupply: '1000000' };
const deployed = await make('/v1/contracts/deploy', { blockchainId: chain, template: 'erc20-token', params });
const contract = deployed.address ?? deployed.contractAddress;

const errors = new Map();
const times = { reads: [], writes: [] };
// The last change of each workspace that was sent: after a kill it may be there without an answer.
const asked = new Map();
const acknowledged = { descriptions: new Map(), transactions: [] };

async function timed(kind, attempt) {
  const begun = performance.now();
  let failure;
  try {
    const { status, body } = await attempt();
    if (status >= 300) failure = `${status} ${body.error?.code}`;
    else if (body.error) failure = `${body.error.code} ${body.error.message}`;
    else {
      times[kind].push(performance.now() - begun);
      return body;
    }
  } catch (error) {
    failure = error.code ?? error.message;
  }
  errors.set(failure, (errors.get(failure) ?? 0) + 1);
}

// The writer of a connection: transfers of a token for the first ones, changes of a workspace of its own for the others.
async function writer(index, client) {
  if (index < SENDERS) {
    const to = `0x${(index + 1).toString(16).padStart(40, '0')}`;
    const transfer = { blockchainId: chain, contractAddress: contract, method: 'transfer', args: [to, '1'] };
    return async () => {
      const body = await timed('writes', () => rpc('contract.execute', transfer, client));
      if (body) acknowledged.transactions.push(body.result.transactionHash);
    };
  }
  const { id } = await make('/v1/workspaces', { name: `load ${index}` });
  let version = 0;
  return async () => {
    const description = `version ${(version += 1)}`;
    asked.set(id, description);
    const body = await timed('writes', () => send('PATCH', `/v1/workspaces/${id}`, { description }, client));
    if (body) acknowledged.descriptions.set(id, description);
  };
}

const reads = [
  ['GET', '/v1/workspaces/ws_default'],
  ['GET', `/v1/blockchains/${chain}`],
  ['GET', '/v1/workspaces'],
  ['POST', '/v1/rpc', { jsonrpc: '2.0', id: 1, method: 'blockchain.getBlock', params: { blockchainId: chain, blockNumber: 'latest' } }],
];

// Nothing is sent after the kill, so that at most one change of a workspace has no answer.
let killed = false;
async function work({ write, client }) {
  for (;;) {
    for (const [method, path, body] of reads) {
      await timed('reads', () => send(method, path, body, client));
      if (killed) return;
    }
    await write();
    if (killed) return;
  }
}

const writers = [];
for (let index = 0; index < CONNECTIONS; index += 1) {
  const client = new Client(service.url);
  writers.push({ write: await writer(index, client), client });
}

// The kill comes while all connections are at work.
const all = writers.map(work);
await new Promise((resolve) => setTimeout(resolve, SECONDS * 1000));
const failures = [...errors];
killed = true;
await service.kill();
await Promise.all(all);

const quantile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]?.toFixed(1);
for (const [kind, list] of Object.entries(times)) {
  list.sort((a, b) => a - b);
  console.log(`${kind}: ${list.length}, ${(list.length / SECONDS).toFixed(0)} a second, p50 ${quantile(list, 0.5)} ms, p99 ${quantile(list, 0.99)} ms`);
}
console.log(`errors before the kill: ${failures.length ? failures.map(([what, count]) => `${count} of ${what}`).join(', ') : 'none'}`);

service = await serve({ port: new URL(service.url).port });
beside = new Client(service.url);
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
process.exit(failures.length || lost ? 1 : 0);
