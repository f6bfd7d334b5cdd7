// Log-in at `chainbox serve` with an outside OpenID provider that others wrote (oidc-provider): its server is this test's, the person
// follows its redirects and forms.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import Provider from 'oidc-provider';
import { accessToken, json, publicClient } from './client.mjs';
import { run, step } from './outside.mjs';
import { Person } from './person.mjs';
import { freePort, start } from './service.mjs';

const server = createServer();
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const issuer = `http://127.0.0.1:${server.address().port}`;

const port = await freePort();
// Another name than the provider's: cookies are kept by host, whatever the port.
const site = `http://localhost:${port}`;
const callback = `${site}/oauth/openid/provider/callback`;

const provider = new Provider(issuer, {
  clients: [
    {
      client_id: 'chainbox',
      redirect_uris: [callback],
      response_types: ['code'],
      grant_types: ['authorization_code'],
      token_endpoint_auth_method: 'none',
    },
  ],
  claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
  findAccount: (_, id) => ({
    accountId: id,
    claims: () => ({ sub: id, email: `${id}@example.org`, email_verified: id !== 'unverified', name: id }),
  }),
  features: { devInteractions: { enabled: true } },
  pkce: { required: () => true },
  cookies: { keys: ['of this test'] },
  ttl: { AccessToken: 600, AuthorizationCode: 60, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 },
});
server.on('request', provider.callback());

const service = await start(
  ['serve', '--in-memory', '--public-url', site, '--openid-issuer', issuer, '--openid-client-id', 'chainbox', '--openid-name', 'Example & Sons']
    .concat(['--allow-outbound', issuer]),
  { port },
);

// The way through the provider's pages, up to the redirect that leaves them.
async function atProvider(start, login) {
  const visitor = new Person(issuer);
  let at = await visitor.follow(await visitor.load(start));
  for (const prompt of ['login', 'consent']) {
    const [, action] = /<form[^>]* action="([^"]+)"/.exec(at.page) ?? assert.fail(at.page.slice(0, 400));
    const form = new URLSearchParams(prompt === 'login' ? { prompt, login, password: 'any' } : { prompt });
    at = await visitor.follow(await visitor.load(action, form));
  }
  return at.location;
}

// Begins a log-in as the login page offers it, and hands back where the provider sends the person.
async function answer(person, login, place = '') {
  const { page } = await person.follow(await person.load(`/oauth/login${place && `?return_to=${encodeURIComponent(place)}`}`));
  const [, href] = /<a href="([^"]+)">Log in with Example &amp; Sons<\/a>/.exec(page) ?? assert.fail(page);
  const begun = await person.load(href.replaceAll('&amp;', '&'));
  assert.ok(begun.location.startsWith(`${issuer}/`), begun.page);
  return atProvider(begun.location, login);
}

async function logIn(person, login, place) {
  const returned = await answer(person, login, place);
  assert.ok(returned.startsWith(`${callback}?`), returned);
  return person.load(returned);
}

const alice = new Person(site);
step('who comes from the provider is a user with a workspace', async () => {
  const back = await logIn(alice, 'alice');
  assert.equal(back.location, `${site}/oauth/account`, back.page);
  const { page } = await alice.follow(back);
  assert.match(page, /alice@example\.org/);
  assert.match(page, /\(owner\) <code>ws_/);
  assert.doesNotMatch(page, /Change the password/);
});

step('an access token of that user works', async () => {
  const token = await accessToken(alice, await publicClient(alice));
  const authorization = `Bearer ${token}`;
  const { data } = await json(await fetch(`${site}/v1/workspaces`, { headers: { authorization } }), 200);
  assert.equal(data.length, 1);
  assert.match((await alice.load('/oauth/account')).page, new RegExp(`<code>${data[0].id}</code>`));
  await json(await fetch(`${site}/v1/workspaces`, { headers: { authorization: `${authorization}0` } }), 401);
});

step('the same person is the same user', async () => {
  const workspace = async (person) => /<code>(ws_\w+)<\/code>/.exec((await person.load('/oauth/account')).page)[1];
  const elsewhere = new Person(site);
  await logIn(elsewhere, 'alice');
  assert.equal(await workspace(elsewhere), await workspace(alice));
  const bob = new Person(site);
  await logIn(bob, 'bob');
  assert.notEqual(await workspace(bob), await workspace(alice));
});

step('an address that the provider does not vouch for is no way in', async () => {
  const back = await logIn(new Person(site), 'unverified');
  assert.deepEqual([back.status, back.location], [403, null]);
});

step('an answer is for the browser that asked, and once', async () => {
  const [victim, attacker] = [new Person(site), new Person(site)];
  const returned = await answer(attacker, 'mallory');
  const planted = await victim.load(returned);
  assert.deepEqual([planted.status, planted.location], [403, null]);
  const forged = new URL(returned);
  forged.searchParams.set('state', 'other');
  const wrong = await attacker.load(forged.href);
  assert.ok(wrong.status >= 400 && !wrong.location, String(wrong.status));
  const late = await attacker.load(returned);
  assert.deepEqual([late.status, late.location], [403, null], 'the wrong answer has used the log-in up');
});

await run('provider', async () => {
  await service.stop();
  server.close();
  server.closeAllConnections();
});
