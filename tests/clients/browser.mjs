// Sign-up, log-in and consent at `chainbox dev` in Chromium, clicked as a person does: with its cookies, its checks of forms and its
// content security policy. CHROMIUM names the browser, SCREENSHOTS a folder for pictures of the pages.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import { delimiter, join } from 'node:path';
import * as oauth from 'oauth4webapi';
import { chromium } from 'playwright-core';
import { run, step } from './outside.mjs';
import { PASSWORD } from './person.mjs';
import { start } from './service.mjs';

const service = await start(['dev']);
const key = await service.secret('cbx');

// The client's own site. What comes to the redirect URI is kept.
const visits = [];
const site = createServer((request, response) => {
  visits.push(request.url);
  response.setHeader('content-type', 'text/html').end('<!DOCTYPE html><link rel="icon" href="data:,"><title>Client</title><h1>Welcome back</h1>');
});
await new Promise((resolve) => site.listen(0, '127.0.0.1', resolve));
const redirect = `http://127.0.0.1:${site.address().port}/callback`;

function chromiumOnPath() {
  const found = process.env.PATH.split(delimiter).map((folder) => join(folder, 'chromium')).find(existsSync);
  return found ?? assert.fail('no chromium on the PATH: install the package chromium, or name it in CHROMIUM');
}

// Chromium's own sandbox needs rights that a container may lack; all pages here are this test's.
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? chromiumOnPath(), args: ['--no-sandbox'] });
const context = await browser.newContext({ viewport: { width: 900, height: 700 } });
context.setDefaultTimeout(10_000);
const page = await context.newPage();

// Everything that the browser complains about: violations of the policy are written to the console, too.
const complaints = [];
page.on('console', (message) => {
  if (['error', 'warning'].includes(message.type())) complaints.push(`${page.url()}: ${message.text()}`);
});
page.on('pageerror', (error) => complaints.push(`${page.url()}: ${error}`));
page.on('requestfailed', (request) => complaints.push(`${request.url()}: ${request.failure().errorText}`));
page.on('response', (response) => {
  if (response.status() >= 400) complaints.push(`${response.url()}: ${response.status()}`);
});

async function picture(name) {
  if (process.env.SCREENSHOTS) await page.screenshot({ path: join(process.env.SCREENSHOTS, `${name}.png`) });
}

const title = (text) => page.getByRole('heading', { level: 1, name: text }).waitFor();
const press = (name) => page.getByRole('button', { name, exact: true }).click();

async function logIn() {
  await title('Log in');
  await page.getByLabel('E-mail').fill('ann@example.org');
  await page.getByLabel('Password').fill(PASSWORD);
  await press('Log in');
}

step('sign up, and follow the link in the mailbox', async () => {
  await page.goto(`${service.url}/oauth/login`);
  await page.getByRole('link', { name: 'Sign up' }).click();
  await title('Sign up');
  await page.getByLabel('E-mail').fill('ann@example.org');
  await page.getByLabel('Password').fill(PASSWORD);
  await picture('sign-up');
  await press('Sign up');
  await title('Look into your mailbox');
  await page.getByRole('link', { name: /^Mailbox/ }).click();
  await page.getByRole('link', { name: /token=/ }).click();
  await title('Confirm');
  await page.getByLabel('Password').fill(PASSWORD);
  await press('Confirm');
  await title('Your account');
  await page.getByText('ann@example.org').waitFor();
  await picture('account');
});

step('log out', async () => {
  await press('Log out');
  await title('Log in');
});

async function client(method) {
  const response = await fetch(`${service.url}/oauth/register`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify({ client_name: 'Chess & <b>Go</b>', redirect_uris: [redirect], token_endpoint_auth_method: method, scope: 'workspace:read blockchain:read' }),
  });
  const body = await response.json();
  assert.equal(response.status, 201, JSON.stringify(body));
  return body;
}

async function authorizationUrl(id, verifier) {
  const query = new URLSearchParams({
    client_id: id,
    redirect_uri: redirect,
    response_type: 'code',
    scope: 'workspace:read blockchain:read',
    state: 'a state & more',
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  });
  return `${service.url}/oauth/authorize?${query}`;
}

let app;
step('log in for a client, allow, and arrive with a code', async () => {
  app = await client('none');
  const verifier = oauth.generateRandomCodeVerifier();
  await page.goto(await authorizationUrl(app.client_id, verifier));
  await picture('log-in');
  await logIn();
  await title('Chess & <b>Go</b> asks for access');
  assert.equal(await page.locator('main li').count(), 2);
  await picture('consent');
  await press('Allow');
  await title('Welcome back');
  const back = new URL(page.url());
  assert.equal(`${back.origin}${back.pathname}`, redirect);
  assert.deepEqual([back.searchParams.get('state'), back.searchParams.get('iss')], ['a state & more', service.url]);
  const response = await fetch(`${service.url}/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      code: back.searchParams.get('code'),
      redirect_uri: redirect,
      client_id: app.client_id,
      code_verifier: verifier,
    }),
  });
  const tokens = await response.json();
  assert.equal(response.status, 200, JSON.stringify(tokens));
  const read = await fetch(`${service.url}/v1/workspaces`, { headers: { authorization: `Bearer ${tokens.access_token}` } });
  assert.equal(read.status, 200);
});

step('refuse, and arrive without one', async () => {
  await page.goto(await authorizationUrl(app.client_id, oauth.generateRandomCodeVerifier()));
  await title('Chess & <b>Go</b> asks for access');
  await press('Refuse');
  await title('Welcome back');
  const { searchParams: answer } = new URL(page.url());
  assert.deepEqual([answer.get('error'), answer.get('code'), answer.get('state')], ['access_denied', null, 'a state & more']);
});

step('the client saw codes and refusals, and no address with a secret', async () => {
  assert.equal(visits.filter((visit) => visit.startsWith('/callback?')).length, 2);
});

step('the cookie is kept from scripts and from forms of other sites', async () => {
  const [cookie] = (await context.cookies(service.url)).filter(({ name }) => name === 'chainbox-session');
  assert.deepEqual([cookie.httpOnly, cookie.sameSite], [true, 'Lax']);
});

step('the browser has nothing to complain about', async () => {
  assert.deepEqual(complaints, []);
});

await run('chromium', async () => {
  await browser.close();
  await new Promise((resolve) => {
    site.close(resolve);
    site.closeAllConnections();
  });
  await service.stop();
});
