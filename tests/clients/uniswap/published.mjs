// The published ABIs of the four templates, compared with the templates' own, and what of them the steps have used.
import assert from 'node:assert/strict';
import { Interface } from 'ethers';
import { interfaceOf, packagedAbi, signature, typed } from '../templates.mjs';

// Contracts with the published ABI of a template; steps use that of the last one. Uniswap's interfaces say `pure` of some constants of which
// the compiled contracts say `view`: a template's function is as in one of the two.
export const PUBLISHED = {
  'wrapped-native': ['v2-periphery/build/WETH9'],
  'liquidity-factory': ['v2-core/build/IUniswapV2Factory', 'v2-core/build/UniswapV2Factory'],
  'liquidity-pool': ['v2-core/build/IUniswapV2Pair', 'v2-core/build/UniswapV2Pair'],
  'liquidity-router': ['v2-periphery/build/IUniswapV2Router02', 'v2-periphery/build/UniswapV2Router02'],
};
// What a template has beside that: ERC-165, and the refusals of a pool that is made alone.
const ADDED = { 'liquidity-pool': ['PoolIdenticalTokens', 'PoolInvalidToken', 'supportsInterface'] };

// An interface that notes what of it is used: functions by selector, events by topic.
class Noted extends Interface {
  noted = new Set();

  encodeFunctionData(fragment, values) {
    this.noted.add(typeof fragment === 'string' ? this.getFunction(fragment).selector : fragment.selector);
    return super.encodeFunctionData(fragment, values);
  }

  parseLog(log) {
    const event = super.parseLog(log);
    if (event) this.noted.add(event.topic);
    return event;
  }
}

const published = Object.fromEntries(
  Object.entries(PUBLISHED).map(([name, paths]) => [name, paths.map((path) => new Interface(packagedAbi(`@uniswap/${path}`)))]),
);
export const used = Object.fromEntries(Object.entries(published).map(([name, abis]) => [name, new Noted(abis.at(-1).fragments)]));

// What is published is the template's, and what the template has beside that is listed.
export async function compared(name) {
  const own = await interfaceOf(name);
  const theirs = published[name].flatMap((abi) => abi.fragments);
  const signatures = theirs.filter(isFunction).map(signature);
  for (const { selector } of theirs.filter(isFunction)) {
    const ours = own.getFunction(selector);
    assert.ok(ours && signatures.includes(signature(ours)), `${selector}: ${signature(ours)}`);
  }
  for (const event of theirs.filter(isEvent)) assert.equal(typed(own.getEvent(event.topicHash)), typed(event));
  const known = new Set(theirs.map(idOf));
  const added = own.fragments.filter((ours) => (isFunction(ours) || isEvent(ours) || ours.type === 'error') && !known.has(idOf(ours)));
  assert.deepEqual(added.map((fragment) => fragment.name).sort(), ADDED[name] ?? ['supportsInterface']);
}

// Each published function was called, or refused, and each event was read from a receipt.
export async function allUsed() {
  for (const [name, abis] of Object.entries(published)) {
    const all = abis.flatMap((abi) => abi.fragments).filter((fragment) => isFunction(fragment) || isEvent(fragment));
    const missing = all.filter((fragment) => !used[name].noted.has(idOf(fragment)));
    assert.deepEqual(missing.map((fragment) => `${name}: ${fragment.format('sighash')}`), []);
  }
}

const isFunction = ({ type }) => type === 'function';
const isEvent = ({ type }) => type === 'event';
const idOf = (fragment) => fragment.selector ?? fragment.topicHash;
