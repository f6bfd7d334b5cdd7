// What the steps share: the contracts deployed so far, tokens, pools, and permits for them.
import assert from 'node:assert/strict';
import { Contract, Signature, ZeroAddress, dataSlice, getAddress, id } from 'ethers';
import { failure } from '../harness.mjs';
import { alice, deploy, provider } from '../templates.mjs';
import { used } from './published.mjs';
import { pairAt, valueOf } from './sdk.mjs';

export const RECIPIENT = getAddress(dataSlice(id('recipient'), 0, 20));
export const ETHER = 10n ** 18n;
export const MINIMUM_LIQUIDITY = 1_000n;
export const deployed = {};

// Calls a function that must be refused with this reason.
export async function reverts(call, reason) {
  const error = await failure(call);
  assert.deepEqual([error.code, error.reason], ['CALL_EXCEPTION', reason]);
}

// A token for pools, all of it alice's.
export function token(symbol) {
  const features = Object.fromEntries(['mintable', 'burnable', 'pausable', 'votes', 'flashMint'].map((feature) => [feature, false]));
  const supply = 10n ** 30n;
  const values = { name: symbol, symbol, decimals: 18, totalSupply: supply, cap: supply, owner: alice.address, features, vesting: [] };
  return deploy('erc20-token', values);
}

export const sorted = (...tokens) => tokens.sort((a, b) => (BigInt(a.target) < BigInt(b.target) ? -1 : 1));

// The pool of two tokens, where the factory says that it is.
export async function poolOf(tokenA, tokenB) {
  const { factory } = deployed;
  const address = await factory.getPair(tokenA.target, tokenB.target);
  assert.equal(await factory.getPair(tokenB.target, tokenA.target), address);
  return new Contract(address, used['liquidity-pool'], alice);
}

// What the SDK computes for LP tokens, with the protocol's fee where there is one.
export async function worth(pool, lp) {
  const [pair, supply, kLast, feeTo] = await Promise.all([pairAt(pool), pool.totalSupply(), pool.kLast(), deployed.factory.feeTo()]);
  return valueOf(pair, supply, lp, feeTo !== ZeroAddress, kLast);
}

export const PERMIT = {
  Permit: [['owner', 'address'], ['spender', 'address'], ['value', 'uint256'], ['nonce', 'uint256'], ['deadline', 'uint256']]
    .map(([name, type]) => ({ name, type })),
};

// What `permit` takes beside accounts, value and deadline: the owner's signature.
export async function permit(pool, owner, spender, value, deadline) {
  const message = { owner: owner.address, spender, value, nonce: await pool.nonces(owner.address), deadline };
  const { v, r, s } = Signature.from(await owner.signTypedData(await domainOf(pool), PERMIT, message));
  return [v, r, s];
}

export async function domainOf(pool) {
  return { name: await pool.name(), version: '1', chainId: (await provider.getNetwork()).chainId, verifyingContract: pool.target };
}
