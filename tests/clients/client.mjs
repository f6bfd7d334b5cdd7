// A first client at `chainbox serve`, and an access token by it, for tests of what comes after.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as oauth from 'oauth4webapi';
import { start } from './service.mjs';

export const REDIRECT = 'http://127.0.0.1:9/callback';
export const SCOPE = 'workspace:read workspace:write blockchain:read';

export async function json(response, status) {
  const body = await response.json();
  assert.equal(response.status, status, JSON.stringify(body));
  return body;
}

// Registers a public client at `chainbox dev`, whose console shows an API key, in a new database: `serve` knows it there.
export async function databaseWithClient(scope = SCOPE) {
  const folder = mkdtempSync(join(tmpdir(), 'chainbox-oauth-'));
  const dev = await start(['dev', '--db-path', folder]);
  const response = await fetch(`${dev.url}/oauth/register`, {
    method: 'POST',
    headers: { 'x-api-key': await dev.secret('cbx'), 'content-type': 'application/json' },
    body: JSON.stringify({ client_name: 'first', redirect_uris: [REDIRECT], token_endpoint_auth_method: 'none', scope }),
  });
  const { client_id: client } = await json(response, 201);
  await dev.stop();
  return { folder, client, remove: () => rmSync(folder, { recursive: true }) };
}

// The API key that a person who is logged in makes on the page of the account.
export async function apiKey(person, scope = SCOPE) {
  const { status, page } = await person.submit('/oauth/account', '/oauth/account/api-keys', { name: 'first', scope });
  const [key] = /cbx_[0-9a-f]+/.exec(page) ?? assert.fail(`${status}: ${page}`);
  return key;
}

// The code flow of a person who is logged in.
export async function accessToken(person, client, options) {
  const verifier = oauth.generateRandomCodeVerifier();
  const query = new URLSearchParams({
    client_id: client,
    redirect_uri: REDIRECT,
    response_type: 'code',
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  });
  const back = await person.authorize(`/oauth/authorize?${query}`, options);
  const code = back.searchParams.get('code');
  assert.ok(code, back.href);
  const body = new URLSearchParams({ grant_type: 'authorization_code', code, redirect_uri: REDIRECT, client_id: client, code_verifier: verifier });
  const { access_token: token } = await json(await fetch(`${person.site}/oauth/token`, { method: 'POST', body }), 200);
  return token;
}
