// The page of a dApp of all eight components at `chainbox dev` in Chromium: in light and dark, wide and narrow, and its live state.
// CHROMIUM names the browser, SCREENSHOTS a folder for pictures of the pages.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { chromium } from 'playwright-core';
import { run, step } from './outside.mjs';
import { start } from './service.mjs';

const service = await start(['dev']);
const key = await service.secret('cbx');

function chromiumOnPath() {
  const found = process.env.PATH.split(delimiter).map((folder) => join(folder, 'chromium')).find(existsSync);
  return found ?? assert.fail('no chromium on the PATH: install the package chromium, or name it in CHROMIUM');
}

// Chromium's own sandbox needs rights that a container may lack; all pages here are this test's.
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? chromiumOnPath(), args: ['--no-sandbox'] });

const complaints = [];
async function open(url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1100, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(10_000);
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(`${page.url()}: ${message.text()}`);
  });
  page.on('pageerror', (error) => complaints.push(`${page.url()}: ${error}`));
  page.on('response', (response) => {
    if (response.status() >= 400) complaints.push(`${response.url()}: ${response.status()}`);
  });
  await page.goto(url);
  return page;
}

async function picture(page, name) {
  if (process.env.SCREENSHOTS) await page.screenshot({ path: join(process.env.SCREENSHOTS, `${name}.png`), fullPage: true });
}

async function request(method, path, body) {
  const headers = { 'x-api-key': key, 'content-type': 'application/json' };
  const response = await fetch(`${service.url}${path}`, { method, headers, body: body && JSON.stringify(body) });
  const answer = await response.json();
  assert.ok(response.ok, JSON.stringify(answer));
  return answer.data;
}

const OWNERS = ['0x1111111111111111111111111111111111111111', '0x2222222222222222222222222222222222222222'];
const SUPPLY = '115792089237316195423570985008687907853269984665640564039457';
const COMPONENTS = [
  { type: 'token', config: { name: 'Gold', symbol: 'GLD', totalSupply: SUPPLY, features: ['mintable', 'votes'] } },
  { type: 'token', config: { name: 'Silver', symbol: 'SLV', totalSupply: '500000', decimals: 6 } },
  { type: 'staking', config: { stakingToken: 'GLD', rewardRate: '10', lockPeriod: '30d', fund: '6000' } },
  { type: 'liquidity-pool', config: { token0: 'GLD', token1: 'SLV' } },
  { type: 'lending', config: { token: 'SLV', collateral: 'GLD', oracle: { answer: '200000000', description: 'GLD / SLV' } } },
  { type: 'governance', config: { name: 'Council', token: 'GLD', ownsToken: false } },
  { type: 'nft-marketplace', config: { fee: '2.5', token: 'GLD', owner: 'Owners' } },
  { type: 'auction', config: { token: 'SLV' } },
  { type: 'multisig', name: 'Owners', config: { owners: OWNERS, threshold: 2 } },
];

// The card of a component, and what it says under a label.
const card = (page, title) => page.locator('section').filter({ has: page.getByRole('heading', { level: 2, name: title }) });
const figure = (page, title, label) => card(page, title).locator(`dt:text-is("${label}") + dd`).first().innerText();
const background = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
const isFitting = (page) => page.evaluate(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth);

const [LIGHT, DARK] = ['rgb(246, 248, 250)', 'rgb(13, 17, 23)'];
let dapp;

step('a page of all eight components tells what the contracts say', async () => {
  dapp = await request('POST', '/v1/dapps', {
    name: 'Gold exchange', blockchainId: 'bc_default', components: COMPONENTS, frontend: { theme: 'light', public: true },
  });
  assert.equal(dapp.status, 'deployed');
  const page = await open(`${service.url}${dapp.site}`, { colorScheme: 'dark' });
  assert.equal(await page.locator('section').count(), COMPONENTS.length);
  assert.equal(await background(page), LIGHT, 'light, whatever the system has');
  const told = {
    'Gold': ['Supply, in the smallest unit', SUPPLY], 'Silver': ['Decimals', '6'], 'Staking': ['Reward a second', '10'],
    'Liquidity pool': ['Reserve of the first', '0'], 'Lending': ['Supplied', '0'], 'Council': ['Proposals', '0'],
    'NFT marketplace': ['Fee', '2.50 %'], 'Auction': ['Auctions', '0'], 'Owners': ['Threshold', '2 of 2'],
  };
  for (const [title, [label, value]] of Object.entries(told)) assert.equal(await figure(page, title, label), value, title);
  for (const { address } of dapp.components) await page.getByText(address).first().waitFor();
  await picture(page, 'dapp-light');
});

step('its figures are those of the newest block', async () => {
  const token = dapp.components[1].address;
  const pool = dapp.components[3].address;
  const [from] = await rpc('eth_accounts', []);
  const transfer = (to, amount) => `0xa9059cbb${to.slice(2).padStart(64, '0')}${amount.toString(16).padStart(64, '0')}`;
  for (const [to, data] of [
    [token, transfer(pool, 4000n)],
    [dapp.components[0].address, transfer(pool, 9000n)],
    [pool, `0x6a627842${from.slice(2).padStart(64, '0')}`],
  ]) {
    await rpc('eth_sendTransaction', [{ from, to, data }]);
  }
  const page = await open(`${service.url}${dapp.site}`);
  const reserves = [await figure(page, 'Liquidity pool', 'Reserve of the first'), await figure(page, 'Liquidity pool', 'Reserve of the second')];
  assert.deepEqual(reserves.sort(), ['4000', '9000']);
});

step('dark, and as the system has it', async () => {
  const path = `/v1/dapps/${dapp.id}`;
  await request('PATCH', path, { frontend: { theme: 'dark' } });
  const dark = await open(`${service.url}${dapp.site}`, { colorScheme: 'light' });
  assert.equal(await background(dark), DARK);
  await picture(dark, 'dapp-dark');
  await request('PATCH', path, { frontend: { theme: 'auto' } });
  for (const [colorScheme, colour] of [['light', LIGHT], ['dark', DARK]]) {
    assert.equal(await background(await open(`${service.url}${dapp.site}`, { colorScheme })), colour, colorScheme);
  }
});

step('a narrow window, a long name and long numbers', async () => {
  await request('PATCH', `/v1/dapps/${dapp.id}`, { name: `<b>${'Name'.repeat(60)}</b>` });
  const page = await open(`${service.url}${dapp.site}`, { viewport: { width: 320, height: 700 } });
  assert.ok(await isFitting(page), 'nothing is cut off at the side');
  await page.getByRole('heading', { level: 1, name: '<b>Name' }).waitFor();
  assert.equal(await page.locator('b').count(), 0);
  await picture(page, 'dapp-narrow');
});

step('a dApp without components', async () => {
  const empty = await request('POST', '/v1/dapps', { name: 'Empty', frontend: { public: true } });
  const page = await open(`${service.url}${empty.site}`);
  await page.getByText('This dApp has no components.').waitFor();
  await picture(page, 'dapp-empty');
});

step('the browser complained of nothing', () => assert.deepEqual(complaints, []));

async function rpc(method, params) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const response = await fetch(`${service.url}/`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  const { result, error } = await response.json();
  assert.ok(!error, JSON.stringify(error));
  return result;
}

await run('dapp page', async () => {
  await browser.close();
  await service.stop();
});
