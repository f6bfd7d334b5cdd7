// A first API key, client and access token of a person, for tests of what comes after.
import assert from 'node:assert/strict';
import * as oauth from 'oauth4webapi';
import { PASSWORD, Person } from './person.mjs';

export const REDIRECT = 'http://127.0.0.1:9/callback';
export const SCOPE = 'workspace:read workspace:write blockchain:read';

export async function json(response, status) {
  const body = await response.json();
  assert.equal(response.status, status, JSON.stringify(body));
  return body;
}

// The API key that a person who is logged in makes on the page of the account.
export async function apiKey(person, scope = SCOPE) {
  const { status, page } = await person.submit('/oauth/account', '/oauth/account/api-keys', { name: 'first', scope });
  const [key] = /cbx_[0-9a-f]+/.exec(page) ?? assert.fail(`${status}: ${page}`);
  return key;
}

// Signs the first user of a service up, and returns a key of its own with every scope.
export async function firstKey(service) {
  const ann = new Person(service.url);
  await ann.submit('/oauth/signup', '/oauth/signup', {
    email: 'ann@example.org',
    new_password: PASSWORD,
    bootstrap_token: await service.secret('cbb'),
  });
  return apiKey(ann, 'admin');
}

// Registers a public client with a key of that person.
export async function publicClient(person, scope = SCOPE) {
  const response = await fetch(`${person.site}/oauth/register`, {
    method: 'POST',
    headers: { 'x-api-key': await apiKey(person, scope), 'content-type': 'application/json' },
    body: JSON.stringify({ client_name: 'first', redirect_uris: [REDIRECT], token_endpoint_auth_method: 'none', scope }),
  });
  return (await json(response, 201)).client_id;
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
