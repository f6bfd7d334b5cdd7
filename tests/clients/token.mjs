// The template erc20-token as a client's tools see it: an ABI, and a "bytecode" to which they append the constructor's
// arguments. Kept in erc20.json, for Python too.
import { readFileSync } from 'node:fs';

const artifact = JSON.parse(readFileSync(new URL('erc20.json', import.meta.url), 'utf8'));

export const abi = artifact.abi;
export const bytecode = artifact.bytecode;

// The constructor's arguments: name, symbol, decimals, supply, cap, owner, features, vesting.
export const parameters = (owner) => ['Gold', 'GLD', 18, SUPPLY, 2n ** 256n - 1n, owner, { mintable: true, burnable: true, pausable: true, votes: true, flashMint: true }, []];

export const UNIT = 10n ** 18n;
export const SUPPLY = 1_000_000n * UNIT;
