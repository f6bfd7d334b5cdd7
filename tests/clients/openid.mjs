// A login at a provider of OpenID Connect that others wrote (oidc-provider, which is certified), as the relying party sees it. The browser
// here follows redirects and fills forms; the provider is a server of its own on a free loopback port.
import assert from 'node:assert/strict';
import { webcrypto } from 'node:crypto';
import { createServer } from 'node:http';
import Provider from 'oidc-provider';
import { drive, run, step } from './outside.mjs';

const redirect = 'https://chainbox.test/callback';
const client = (id, algorithm, more) => ({
  client_id: id,
  redirect_uris: [redirect],
  response_types: ['code'],
  grant_types: ['authorization_code'],
  id_token_signed_response_alg: algorithm,
  ...more,
});
const clients = [
  client('public', 'RS256', { token_endpoint_auth_method: 'none' }),
  client('basic', 'ES256', { token_endpoint_auth_method: 'client_secret_basic', client_secret: 'a s&cret: +%~' }),
  client('post', 'EdDSA', { token_endpoint_auth_method: 'client_secret_post', client_secret: 'a s&cret: +%~' }),
];

async function signingKeys() {
  const { subtle } = webcrypto;
  const make = async (kid, alg, parameters) => {
    const { privateKey } = await subtle.generateKey(parameters, true, ['sign', 'verify']);
    const { key_ops: _operations, ext: _extractable, alg: _named, ...jwk } = await subtle.exportKey('jwk', privateKey);
    return { ...jwk, kid, alg, use: 'sig' };
  };
  const rsa = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256', modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]) };
  return {
    keys: [
      await make('rsa', 'RS256', rsa),
      await make('p256', 'ES256', { name: 'ECDSA', namedCurve: 'P-256' }),
      await make('ed25519', 'EdDSA', { name: 'Ed25519' }),
    ],
  };
}

const server = createServer();
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const issuer = `http://127.0.0.1:${server.address().port}`;
const account = (id) => ({
  accountId: id,
  claims: () => ({ sub: id, email: `${id}@example.org`, email_verified: id !== 'unverified', name: `Name of ${id}` }),
});
const provider = new Provider(issuer, {
  clients,
  jwks: await signingKeys(),
  claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
  findAccount: (_, id) => account(id),
  features: { devInteractions: { enabled: true } },
  pkce: { required: () => true },
  cookies: { keys: ['of this test'] },
  ttl: { AccessToken: 600, AuthorizationCode: 60, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 },
});
server.on('request', provider.callback());

// Goes where it is sent, keeps cookies, fills the forms of the provider's pages, and answers where it leaves the provider.
async function browse(start, login) {
  const jar = new Map();
  let [url, form] = [start, undefined];
  for (let hops = 0; hops < 20; hops += 1) {
    const response = await fetch(url, {
      redirect: 'manual',
      method: form ? 'POST' : 'GET',
      body: form,
      headers: { cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; ') },
    });
    for (const cookie of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie);
      if (value === '') jar.delete(name);
      else jar.set(name, value);
    }
    const location = response.headers.get('location');
    if (location) {
      const next = new URL(location, url);
      if (next.origin !== issuer) return next.href;
      [url, form] = [next.href, undefined];
      continue;
    }
    const page = await response.text();
    const [, action] = /<form[^>]* action="([^"]+)"/.exec(page) ?? [];
    assert.ok(action, `${response.status} ${url}: ${page.slice(0, 400)}`);
    const [, prompt] = /name="prompt" value="(\w+)"/.exec(page);
    form = new URLSearchParams(prompt === 'login' ? { prompt, login, password: 'any' } : { prompt });
    url = new URL(action, url).href;
  }
  throw new Error('too many redirects');
}

function begin(id) {
  const { client_secret: secret } = clients.find((known) => known.client_id === id) ?? {};
  return drive(['login', issuer, id, redirect], secret ? { OUTBOUND_CLIENT_SECRET: secret } : {});
}

async function logIn(id, person) {
  const driver = begin(id);
  driver.say(await browse(await driver.line(), person));
  const who = JSON.parse(await driver.line());
  assert.deepEqual(await driver.end(), { code: 0, errors: '' });
  return who;
}

for (const { client_id: id, id_token_signed_response_alg: algorithm, token_endpoint_auth_method: method } of clients) {
  step(`logs in with ${algorithm} and ${method}`, async () => {
    assert.deepEqual(await logIn(id, 'alice'), {
      issuer,
      subject: 'alice',
      email: 'alice@example.org',
      emailVerified: true,
      name: 'Name of alice',
    });
  });
}

step('an address that the provider does not vouch for is not verified', async () => {
  const who = await logIn('public', 'unverified');
  assert.deepEqual([who.email, who.emailVerified], ['unverified@example.org', false]);
});

step('a code is taken once', async () => {
  const driver = begin('public');
  const returned = await browse(await driver.line(), 'alice');
  driver.say(returned);
  assert.equal(JSON.parse(await driver.line()).subject, 'alice');
  driver.say(returned);
  assert.match(JSON.parse(await driver.line()).error, /refused the code: invalid_grant/);
  await driver.end();
});

step('an answer with another state, issuer or code is refused', async () => {
  const driver = begin('public');
  const returned = new URL(await browse(await driver.line(), 'alice'));
  assert.equal(returned.searchParams.get('iss'), issuer);
  const changed = (name, value) => {
    const url = new URL(returned);
    if (value === null) url.searchParams.delete(name);
    else url.searchParams.set(name, value);
    return url.href;
  };
  for (const [name, value, says] of [
    ['state', 'other', /\(state\)/],
    ['state', null, /\(state\)/],
    ['iss', 'https://other.test', /\(iss\)/],
    ['iss', null, /\(iss\)/],
    ['code', 'other', /invalid_grant/],
    ['code', null, /no code/],
  ]) {
    driver.say(changed(name, value));
    assert.match(JSON.parse(await driver.line()).error, says, name);
  }
  await driver.end();
});

step('a code of another login is refused (PKCE)', async () => {
  const [victim, attacker] = [begin('public'), begin('public')];
  const [stolen, own] = [await browse(await victim.line(), 'alice'), await browse(await attacker.line(), 'mallory')];
  const injected = new URL(own);
  injected.searchParams.set('code', new URL(stolen).searchParams.get('code'));
  attacker.say(injected.href);
  assert.match(JSON.parse(await attacker.line()).error, /refused the code: invalid_grant/);
  await Promise.all([victim.end(), attacker.end()]);
});

step('a wrong secret is refused by the provider', async () => {
  const driver = drive(['login', issuer, 'basic', redirect], { OUTBOUND_CLIENT_SECRET: 'wrong' });
  driver.say(await browse(await driver.line(), 'alice'));
  const { error } = JSON.parse(await driver.line());
  assert.match(error, /invalid_client/);
  assert.ok(!error.includes('wrong'), error);
  await driver.end();
});

step('a provider under another name is refused', async () => {
  const driver = drive(['login', issuer.replace('127.0.0.1', 'localhost'), 'public', redirect]);
  const { code, errors } = await driver.end();
  assert.equal(code, 1);
  assert.match(errors, /calls itself "http:\/\/127\.0\.0\.1:/);
});

step('without the allow-list, the provider is out of reach', async () => {
  const driver = drive(['login', issuer.replace('http:', 'https:'), 'public', redirect]);
  const { code, errors } = await driver.end();
  assert.equal(code, 1);
  assert.match(errors, /127\.0\.0\.1 is loopback/);
});

await run('oidc-provider', () => server.close());
