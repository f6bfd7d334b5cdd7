// The authorization server as a client of others sees it (oauth4webapi, which is certified), with people who log in and consent by the
// forms: at `chainbox dev`, whose mails are in its mailbox, and at `chainbox serve`, whose mails go to smtp-server.
import assert from 'node:assert/strict';
import * as oauth from 'oauth4webapi';
import { REDIRECT, SCOPE, apiKey, json } from './client.mjs';
import { run, step } from './outside.mjs';
import { PASSWORD, Person } from './person.mjs';
import { linkIn, mailServer, start } from './service.mjs';

const plain = { [oauth.allowInsecureRequests]: true };

const running = [];

async function dev() {
  const service = await start(['dev']);
  running.push(service.stop);
  const mailed = async (to) => {
    const { mails } = await json(await fetch(`${service.url}/oauth/mailbox`, { headers: { accept: 'application/json' } }), 200);
    return linkIn(mails.find((mail) => mail.to === to).body);
  };
  return { ...service, mailed, key: await service.secret('cbx') };
}

async function serve() {
  const mails = await mailServer();
  running.push(mails.close);
  const service = await start(['serve', '--in-memory', '--smtp-url', mails.url, '--smtp-from', 'chains@example.org']);
  running.push(service.stop);
  return { ...service, mailed: mails.link };
}

// What is the same at both services. `world` gets a `site`, `bob` with his browser, and a `credential` that may register clients.
function flow(name, world) {
  let server;
  const clients = {};
  const get = (path, headers) => fetch(`${world.site.url}${path}`, { headers });
  const bearer = (token) => ({ authorization: `Bearer ${token}` });
  const works = async (token) => (await get('/v1/workspaces', bearer(token))).status;

  async function register(method) {
    const metadata = { client_name: `A ${method} client`, redirect_uris: [REDIRECT], token_endpoint_auth_method: method, scope: SCOPE };
    const headers = { ...world.credential(), 'content-type': 'application/json' };
    return json(await fetch(server.registration_endpoint, { method: 'POST', headers, body: JSON.stringify(metadata) }), 201);
  }

  const authentication = ({ token_endpoint_auth_method: method, client_secret: secret }) =>
    ({ none: oauth.None, client_secret_basic: oauth.ClientSecretBasic, client_secret_post: oauth.ClientSecretPost })[method](secret);

  // One authorization by a person, up to the validated callback.
  async function authorized(client, { more = {}, decision } = {}) {
    const verifier = oauth.generateRandomCodeVerifier();
    const state = oauth.generateRandomState();
    const url = new URL(server.authorization_endpoint);
    url.search = new URLSearchParams({
      client_id: client.client_id,
      redirect_uri: REDIRECT,
      response_type: 'code',
      scope: SCOPE,
      state,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      ...more,
    });
    const back = await world.bob.authorize(url.href, { email: 'bob@example.org', decision });
    assert.equal(`${back.origin}${back.pathname}`, REDIRECT);
    assert.equal(back.searchParams.get('iss'), server.issuer);
    return { parameters: oauth.validateAuthResponse(server, client, back, state), verifier };
  }

  const redeem = (client, { parameters, verifier }) =>
    oauth.authorizationCodeGrantRequest(server, client, authentication(client), parameters, REDIRECT, verifier, plain);

  async function tokens(client) {
    const code = await authorized(client);
    return { code, ...(await oauth.processAuthorizationCodeResponse(server, client, await redeem(client, code))) };
  }

  const refresh = async (client, token) =>
    oauth.processRefreshTokenResponse(
      server,
      client,
      await oauth.refreshTokenGrantRequest(server, client, authentication(client), token, plain),
    );

  const refused = (attempt, error) => assert.rejects(attempt, (cause) => cause.error === error || assert.fail(cause));

  step(`${name}: the metadata is found under the issuer`, async () => {
    const issuer = new URL(world.site.url);
    server = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...plain }));
    assert.equal(server.authorization_response_iss_parameter_supported, true);
    assert.deepEqual(server.code_challenge_methods_supported, ['S256']);
  });

  step(`${name}: clients are registered with a credential, and not without`, async () => {
    for (const method of ['none', 'client_secret_basic', 'client_secret_post']) clients[method] = await register(method);
    assert.equal(clients.none.client_secret, undefined);
    const bare = await fetch(server.registration_endpoint, { method: 'POST', body: '{}' });
    assert.equal((await json(bare, 401)).error, 'invalid_token');
    assert.match(bare.headers.get('www-authenticate'), /^Bearer /);
  });

  for (const method of ['none', 'client_secret_basic', 'client_secret_post']) {
    step(`${name}: code flow with PKCE, ${method}`, async () => {
      const client = clients[method];
      const first = await tokens(client);
      assert.equal(first.scope, SCOPE);
      assert.equal(first.token_type, 'bearer');
      const { data } = await json(await get('/v1/workspaces', bearer(first.access_token)), 200);
      assert.equal(data.length, 1);
      assert.equal(await works(`${first.access_token}x`), 401);

      const next = await refresh(client, first.refresh_token);
      assert.notEqual(next.refresh_token, first.refresh_token);
      assert.notEqual(next.access_token, first.access_token);
      assert.equal(await works(next.access_token), 200);

      // The first refresh token again: the whole family ends.
      await refused(refresh(client, first.refresh_token), 'invalid_grant');
      await refused(refresh(client, next.refresh_token), 'invalid_grant');
      assert.deepEqual([await works(first.access_token), await works(next.access_token)], [401, 401]);
    });
  }

  step(`${name}: a code that is used again takes its tokens back`, async () => {
    const client = clients.none;
    const { code, access_token: token } = await tokens(client);
    assert.equal(await works(token), 200);
    const again = await redeem(client, code);
    await refused(oauth.processAuthorizationCodeResponse(server, client, again), 'invalid_grant');
    assert.equal(await works(token), 401);
  });

  step(`${name}: introspection and revocation`, async () => {
    const client = clients.client_secret_basic;
    const look = async (token) =>
      oauth.processIntrospectionResponse(
        server,
        client,
        await oauth.introspectionRequest(server, client, authentication(client), token, plain),
      );
    const revoke = async (token) =>
      oauth.processRevocationResponse(await oauth.revocationRequest(server, client, authentication(client), token, plain));
    const { access_token: access, refresh_token: renewal } = await tokens(client);
    const { active, scope, client_id: id, username, exp, iat, iss } = await look(access);
    assert.deepEqual([active, scope, id, username, iss], [true, SCOPE, client.client_id, 'bob@example.org', server.issuer]);
    assert.equal(exp - iat, 3600);
    await revoke(access);
    assert.deepEqual(await look(access), { active: false });
    assert.equal(await works(access), 401);
    assert.equal((await look(renewal)).active, true);
    await revoke(renewal);
    assert.deepEqual(await look(renewal), { active: false });
    await revoke('unknown');
    // Another client's token is nobody else's business.
    const other = await tokens(clients.client_secret_post);
    assert.deepEqual(await look(other.access_token), { active: false });
    assert.equal(await works(other.access_token), 200);
  });

  step(`${name}: an API key is made with an access token, and with nothing else`, async () => {
    const { access_token: token } = await tokens(clients.none);
    const make = (headers, scopes = ['workspace:read', 'workspace:write']) =>
      fetch(`${world.site.url}/v1/auth/api-keys`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify({ name: 'ci', scopes, expiresIn: '30d' }),
      });
    const { data } = await json(await make(bearer(token)), 201);
    assert.match(data.key, /^cbx_/);
    await json(await get('/v1/workspaces', { 'x-api-key': data.key }), 200);
    assert.equal((await json(await make({ 'x-api-key': data.key }), 401)).error.code, 'UNAUTHORIZED');
    assert.equal((await json(await make({}), 401)).error.code, 'UNAUTHORIZED');
    assert.equal((await json(await make(bearer(token), ['admin']), 403)).error.code, 'FORBIDDEN');
    assert.equal(await works(data.key), 200, 'a key is a bearer token, too');
    // Either registers a client.
    for (const headers of [bearer(token), { 'x-api-key': data.key }]) {
      const metadata = { client_name: 'Registered', redirect_uris: [REDIRECT], scope: 'workspace:read' };
      const body = JSON.stringify(metadata);
      await json(await fetch(server.registration_endpoint, { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body }), 201);
    }
  });

  step(`${name}: exactly the specification's parameters, with and without the version prefix`, async () => {
    const { client_id: id, client_secret: secret } = clients.client_secret_post;
    for (const path of ['/oauth', '/v1/oauth']) {
      const query = new URLSearchParams({ client_id: id, redirect_uri: REDIRECT, response_type: 'code', scope: 'workspace:read', state: 'a random string' });
      const back = await world.bob.authorize(`${path}/authorize?${query}`);
      assert.equal(back.searchParams.get('state'), 'a random string');
      const body = new URLSearchParams({
        grant_type: 'authorization_code',
        code: back.searchParams.get('code'),
        redirect_uri: REDIRECT,
        client_id: id,
        client_secret: secret,
      });
      const response = await fetch(`${world.site.url}${path}/token`, { method: 'POST', body });
      assert.equal(response.headers.get('cache-control'), 'no-store');
      const given = await json(response, 200);
      assert.deepEqual([given.token_type, given.scope, given.expires_in], ['Bearer', 'workspace:read', 3600]);
      assert.equal(await works(given.access_token), 200);
    }
  });

  step(`${name}: refusals go to the client, wrong clients and redirect URIs nowhere`, async () => {
    const client = clients.none;
    await refused(authorized(client, { decision: 'refuse' }), 'access_denied');
    await refused(authorized(client, { more: { scope: 'magic' } }), 'invalid_scope');
    await refused(authorized(client, { more: { response_type: 'token' } }), 'unsupported_response_type');
    await refused(authorized(client, { more: { code_challenge: '', code_challenge_method: '' } }), 'invalid_request');
    for (const wrong of [{ redirect_uri: 'http://127.0.0.1:9/other' }, { client_id: 'cli_none' }]) {
      const query = new URLSearchParams({ client_id: client.client_id, redirect_uri: REDIRECT, response_type: 'code', ...wrong });
      const shown = await new Person(world.site.url).load(`/oauth/authorize?${query}`);
      assert.deepEqual([shown.status, shown.location], [400, null]);
    }
    const code = await authorized(client);
    const other = { ...code, verifier: oauth.generateRandomCodeVerifier() };
    await refused(redeem(client, other).then((response) => oauth.processAuthorizationCodeResponse(server, client, response)), 'invalid_grant');
    const secretless = { ...clients.client_secret_post, client_secret: 'wrong' };
    const taken = await redeem(secretless, await authorized(secretless));
    assert.match(taken.headers.get('www-authenticate'), /^Basic /);
    assert.equal((await json(taken, 401)).error, 'invalid_client');
  });
}

const first = {};
step('dev: sign up, confirm by the mailbox, log out and in', async () => {
  first.site = await dev();
  const bob = new Person(first.site.url);
  await bob.signUp('bob@example.org', first.site.mailed);
  const out = await bob.submit('/oauth/logout', '/oauth/logout', {});
  assert.equal(out.location, `${first.site.url}/oauth/login`);
  first.bob = bob;
  const wrong = await new Person(first.site.url).submit('/oauth/login', '/oauth/login', { email: 'bob@example.org', password: `${PASSWORD}!` });
  assert.deepEqual([wrong.status, wrong.location], [403, null]);
  // A form without the token of its page is another site's.
  const forged = await bob.load('/oauth/logout', new URLSearchParams());
  assert.equal(forged.status, 403);
});
first.credential = () => ({ 'x-api-key': first.site.key });
flow('dev', first);

const second = {};
step('serve: the token of the console lets the first user sign up, once', async () => {
  second.site = await serve();
  const token = await second.site.secret('cbb');
  const typed = (email, bootstrap) => ({ email, new_password: PASSWORD, bootstrap_token: bootstrap });
  const sign = (email, bootstrap) => new Person(second.site.url).submit('/oauth/signup', '/oauth/signup', typed(email, bootstrap));
  const wrong = await sign('ann@example.org', `${token}0`);
  assert.deepEqual([wrong.status, wrong.location], [422, null]);
  second.ann = new Person(second.site.url);
  const signed = await second.ann.submit('/oauth/signup', '/oauth/signup', typed('ann@example.org', token));
  assert.equal(signed.location, `${second.site.url}/oauth/account`, signed.page);
  assert.match((await second.ann.follow(signed)).page, /ann@example\.org/);
  const again = await sign('eve@example.org', token);
  assert.deepEqual([again.status, again.location], [422, null]);
});

step('serve: the second user confirms by mail', async () => {
  const bob = new Person(second.site.url);
  second.bob = bob;
  await bob.signUp('bob@example.org', second.site.mailed);
  assert.ok((await second.site.mailed('bob@example.org')).startsWith(`${second.site.url}/oauth/`));
  const mailbox = await bob.load('/oauth/mailbox');
  assert.equal(mailbox.status, 404, 'the mailbox is for development alone');
});

step('serve: the first user makes an API key', async () => {
  const key = await apiKey(second.ann);
  second.credential = () => ({ 'x-api-key': key });
  const stranger = await new Person(second.site.url).load('/oauth/account/api-keys', new URLSearchParams({ name: 'x', scope: 'admin' }));
  assert.equal(stranger.status, 403, stranger.page);
});
flow('serve', second);

await run('oauth4webapi', async () => {
  for (const stop of running.reverse()) await stop();
});
