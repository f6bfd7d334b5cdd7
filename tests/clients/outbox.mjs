// Mails that `chainbox serve` has accepted and not yet sent, across a kill: they are in the database, and the next process sends them to
// smtp-server. One that the relay has taken without saying so is sent again, with the same identifier and the same link.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run, step } from './outside.mjs';
import { PASSWORD, Person } from './person.mjs';
import { freePort, linkIn, mailServer, start } from './service.mjs';

const BOB = 'bob@example.org';
// A mail that found the relay closed is tried again after 30 s.
const RETRY_MS = 30_000;
const WAIT_MS = RETRY_MS + 30_000;
// Both starts and what people do, beside that.
const STEP_MS = WAIT_MS + 60_000;

const folder = mkdtempSync(join(tmpdir(), 'chainbox-outbox-'));
const closing = [];

async function serve(relay) {
  const service = await start(['serve', '--db-path', join(folder, 'data'), '--smtp-url', relay, '--smtp-from', 'chains@example.org']);
  closing.push(service.kill);
  return service;
}

async function relay(options) {
  const server = await mailServer(options);
  closing.push(server.close);
  return server;
}

// The URL of a relay that refuses connections.
const closedRelay = async () => `smtp://127.0.0.1:${await freePort()}?tls=none`;

const ask = async (site, form, typed) => assert.match((await new Person(site).submit(form, form, typed)).page, /Look into your mailbox/);
const askToSignUp = (site, email) => ask(site, '/oauth/signup', { email, new_password: PASSWORD });
const askToReset = (site) => ask(site, '/oauth/forgot', { email: BOB });

async function logIn(site, password) {
  const { location, page } = await new Person(site).submit('/oauth/login', '/oauth/login', { email: BOB, password });
  assert.equal(location, `${site}/oauth/account`, page);
}

// Mails go out one after the other, those that are due longest first: when a later one has come, each before it is out of the outbox.
async function sentAllBefore(site, mails, later) {
  await askToSignUp(site, later);
  await mails.link(later, WAIT_MS);
}

const mailsTo = (mails, email) => mails.taken.filter(({ to }) => to.includes(email));
const tokenIn = (link) => new URL(link).searchParams.get('token');

// Sets another password by a link, which is of no use afterwards.
async function reset(site, link, password) {
  const done = await new Person(site).submit(link, '/oauth/reset', { new_password: password });
  assert.match(done.page, /The password is changed/);
  await logIn(site, password);
  const again = await new Person(site).submit(link, '/oauth/reset', { new_password: `${password}, again` });
  assert.deepEqual([again.status, again.location], [404, null], again.page);
  await logIn(site, password);
}

step('a confirmation that waits for a closed relay is sent once after a kill', async () => {
  const before = await serve(await closedRelay());
  await askToSignUp(before.url, BOB);
  await before.kill();

  const mails = await relay();
  const { url, stop } = await serve(mails.url);
  const link = await mails.link(BOB, WAIT_MS);
  assert.ok(link.startsWith(`${url}/oauth/confirm?`), link);
  await sentAllBefore(url, mails, 'carol@example.org');
  assert.equal(mailsTo(mails, BOB).length, 1);
  const confirmed = await new Person(url).submit(link, '/oauth/confirm', { password: PASSWORD });
  assert.equal(confirmed.location, `${url}/oauth/account`, confirmed.page);
  await logIn(url, PASSWORD);
  await stop();
  assert.equal(mailsTo(mails, BOB).length, 1);
}, STEP_MS);

// What the relay is at when the process is killed: it answers nothing from there on.
for (const [name, silent, isTaken, later] of [
  ['has not taken the recipient', (held) => ({ onRcptTo: held }), false, 'dora@example.org'],
  ['has the text and has not said so', (held) => ({ answer: held }), true, 'eve@example.org'],
]) {
  step(`a password reset is sent after a kill while the relay ${name}`, async () => {
    let held;
    const isHeld = new Promise((resolve) => (held = resolve));
    const silentRelay = await relay(silent(() => held()));
    const before = await serve(silentRelay.url);
    await askToReset(before.url);
    await isHeld;
    await before.kill();

    const mails = await relay();
    const { url, stop } = await serve(mails.url);
    const link = await mails.link(BOB, WAIT_MS);
    await sentAllBefore(url, mails, later);
    const [sent, ...more] = mailsTo(mails, BOB);
    assert.deepEqual(more, []);
    const [first] = mailsTo(silentRelay, BOB);
    assert.equal(first !== undefined, isTaken);
    if (isTaken) assert.deepEqual([sent.id, tokenIn(link)], [first.id, tokenIn(linkIn(first.text))]);
    await reset(url, link, `${PASSWORD} of ${later}`);
    await stop();
  }, STEP_MS);
}

await run('outbox', async () => {
  for (const close of closing.reverse()) await close();
  rmSync(folder, { recursive: true });
});
