// The calls of the README and of `dev --help`, run as they stand there except for the address: curl lines and the ethers program.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { config, http, run, step } from './harness.mjs';

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');

// The only fenced block of `language` that contains `word`, with the README's address replaced by the node's.
function snippet(language, word) {
  const found = [...readme.matchAll(/^```(\w+)\n([^]*?)^```$/gm)].filter(([, is, body]) => is === language && body.includes(word));
  assert.equal(found.length, 1, `README.md has ${found.length} ${language} blocks with ${word}`);
  const body = found[0][2];
  assert.ok(body.includes('http://127.0.0.1:8545'));
  return body.replaceAll('http://127.0.0.1:8545', http);
}

step('the curl call answers a balance', async () => {
  const answer = JSON.parse(execFileSync('bash', ['-c', snippet('sh', 'eth_getBalance')], { encoding: 'utf8' }));
  assert.ok(BigInt(answer.result) > 0n);
});

step('the curl call of the help deploys a token by its name', async () => {
  const help = execFileSync(process.env.CHAINBOX_BIN, ['dev', '--help'], { encoding: 'utf8' });
  const call = /curl [^]*?\}\}'/.exec(help);
  assert.ok(call, help);
  const env = { ...process.env, KEY: config.apiKey };
  const line = call[0].replaceAll('http://127.0.0.1:8545', http);
  const answer = JSON.parse(execFileSync('bash', ['-c', line], { encoding: 'utf8', env }));
  assert.equal(answer.data.status, 'deployed', JSON.stringify(answer));
});

step('the ethers program prints what its comment says', async () => {
  const file = new URL('.readme.mjs', import.meta.url);
  writeFileSync(file, snippet('js', 'ethers'));
  const printed = [];
  const log = console.log;
  try {
    console.log = (value) => printed.push(value);
    await import(file);
  } finally {
    console.log = log;
    rmSync(file);
  }
  assert.deepEqual(printed, [25_000_000_000_000_000_000n]);
  assert.ok(config.accounts.length >= 2);
});

await run('README');
