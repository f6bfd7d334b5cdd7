// Wrapped ether, the factory, and pools that are called directly.
import assert from 'node:assert/strict';
import { TypedDataEncoder, ZeroAddress, concat, getCreate2Address, id, keccak256, solidityPackedKeccak256, toBeHex } from 'ethers';
import { alice, bob, carol, deploy, events, mined, now, provider, templates } from '../templates.mjs';
import { used } from './published.mjs';
import { inputOf, mintedOf, outputOf, pairAt, reservesOf } from './sdk.mjs';
import { ETHER, MINIMUM_LIQUIDITY, PERMIT, RECIPIENT, deployed, domainOf, permit, poolOf, reverts, sorted, token, worth } from './world.mjs';

export async function wrappedNative() {
  const weth = await deploy('wrapped-native', { name: 'Wrapped Ether', symbol: 'WETH' }, used['wrapped-native']);
  assert.deepEqual([await weth.name(), await weth.symbol(), await weth.decimals()], ['Wrapped Ether', 'WETH', 18n]);
  const deposited = await events(weth, weth.deposit({ value: 100n }));
  assert.deepEqual(deposited, { names: ['Deposit'], last: [alice.address, 100n] });
  const plain = await events(weth, bob.sendTransaction({ to: weth.target, value: 10n }));
  assert.deepEqual(plain, { names: ['Deposit'], last: [bob.address, 10n] });
  assert.deepEqual(await events(weth, weth.transfer(bob.address, 30n)), { names: ['Transfer'], last: [alice.address, bob.address, 30n] });
  const approved = await events(weth, weth.connect(bob).approve(alice.address, 15n));
  assert.deepEqual(approved, { names: ['Approval'], last: [bob.address, alice.address, 15n] });
  await mined(weth.transferFrom(bob.address, carol.address, 5n));
  assert.equal(await weth.allowance(bob.address, alice.address), 10n);
  await reverts(() => weth.transferFrom.staticCall(bob.address, carol.address, 11n), '');
  await reverts(() => weth.withdraw.staticCall(71n), '');
  assert.deepEqual(await events(weth, weth.withdraw(70n)), { names: ['Withdrawal'], last: [alice.address, 70n] });
  const held = await Promise.all([alice, bob, carol].map((account) => weth.balanceOf(account.address)));
  assert.deepEqual([held, await weth.totalSupply(), await provider.getBalance(weth.target)], [[0n, 35n, 5n], 40n, 40n]);
  deployed.weth = weth;
}

export async function factory() {
  const factory = await deploy('liquidity-factory', { feeToSetter: alice.address }, used['liquidity-factory']);
  const [lower, higher] = sorted(await token('GLD'), await token('SLV'));
  Object.assign(deployed, { factory, gold: lower, silver: higher });
  const pair = await factory.createPair.staticCall(higher.target, lower.target);
  const created = await events(factory, factory.createPair(higher.target, lower.target));
  assert.deepEqual(created, { names: ['PairCreated'], last: [lower.target, higher.target, pair, 1n] });
  assert.deepEqual([await factory.allPairs(0n), await factory.allPairsLength()], [pair, 1n]);
  assert.equal((await poolOf(lower, higher)).target, pair);
  assert.equal(await createdAt(lower.target, higher.target), pair);
  const create = (tokenA, tokenB) => factory.createPair.staticCall(tokenA, tokenB);
  await reverts(() => create(lower.target, higher.target), 'UniswapV2: PAIR_EXISTS');
  await reverts(() => create(lower.target, lower.target), 'UniswapV2: IDENTICAL_ADDRESSES');
  await reverts(() => create(lower.target, ZeroAddress), 'UniswapV2: ZERO_ADDRESS');

  await reverts(() => factory.connect(bob).setFeeTo.staticCall(bob.address), 'UniswapV2: FORBIDDEN');
  await mined(factory.setFeeToSetter(bob.address));
  await mined(factory.connect(bob).setFeeTo(carol.address));
  assert.deepEqual([await factory.feeToSetter(), await factory.feeTo()], [bob.address, carol.address]);
}

// The address of a factory's pool from the init code of pools: their code in the list of templates, for no tokens yet.
async function createdAt(token0, token1) {
  const { bytecode } = (await templates()).find((listed) => listed.name === 'liquidity-pool');
  const initCode = concat([bytecode, toBeHex(0, 64)]);
  return getCreate2Address(deployed.factory.target, solidityPackedKeccak256(['address', 'address'], [token0, token1]), keccak256(initCode));
}

export async function pool() {
  const { gold, silver } = deployed;
  const pool = await poolOf(gold, silver);
  await mined(gold.transfer(pool.target, 1_000n));
  await mined(silver.transfer(pool.target, 1_000n));
  await reverts(() => pool.mint.staticCall(bob.address), 'UniswapV2: INSUFFICIENT_LIQUIDITY_MINTED');
  await mined(pool.skim(alice.address));
  await minted(pool, 5n * ETHER, 20n * ETHER + 7n);
  assert.equal(await pool.balanceOf(ZeroAddress), MINIMUM_LIQUIDITY);
  assert.equal(await minted(pool, ETHER, 3n * ETHER), 0n);

  for (const amountIn of [1n, 333n, 10n ** 9n + 1n, ETHER / 3n, 100n * ETHER]) await exactIn(pool, gold, amountIn);
  for (const amountIn of [1_001n, ETHER, 777n * ETHER]) await exactIn(pool, silver, amountIn);
  for (const amountOut of [1n, 12_345n, ETHER / 7n]) await exactOut(pool, gold, silver, amountOut);
  const [reserve0, reserve1] = await pool.getReserves();
  await reverts(() => pool.swap.staticCall(reserve0, 0n, bob.address, '0x'), 'UniswapV2: INSUFFICIENT_LIQUIDITY');
  await reverts(() => pool.swap.staticCall(0n, 0n, bob.address, '0x'), 'UniswapV2: INSUFFICIENT_OUTPUT_AMOUNT');
  await reverts(() => pool.swap.staticCall(0n, 1n, silver.target, '0x'), 'UniswapV2: INVALID_TO');
  await reverts(() => pool.swap.staticCall(0n, 1n, bob.address, '0x'), 'UniswapV2: INSUFFICIENT_INPUT_AMOUNT');

  assert.ok(await minted(pool, reserve0 / 3n, reserve1 / 2n) > 0n);
  await exactIn(pool, gold, ETHER);
  await burned(pool, (await pool.balanceOf(bob.address)) / 3n);
}

// Mints LP tokens for bob, as many as the SDK computes: the supply that counts has what the protocol gets before.
async function minted(pool, amount0, amount1) {
  const [pair, supply, fees, held] = await Promise.all([
    pairAt(pool), pool.totalSupply(), pool.balanceOf(carol.address), pool.balanceOf(bob.address),
  ]);
  await mined(deployed.gold.transfer(pool.target, amount0));
  await mined(deployed.silver.transfer(pool.target, amount1));
  const { names, last } = await events(pool, pool.mint(bob.address));
  assert.deepEqual([names.slice(-3), last], [['Transfer', 'Sync', 'Mint'], [alice.address, amount0, amount1]]);
  const fee = (await pool.balanceOf(carol.address)) - fees;
  assert.equal((await pool.balanceOf(bob.address)) - held, mintedOf(pair, supply + fee, amount0, amount1));
  return fee;
}

// Swaps what comes in for what the SDK computes, and for no unit more.
async function exactIn(pool, tokenIn, amountIn) {
  const [out, after] = outputOf(await pairAt(pool), tokenIn.target, amountIn);
  const isToken0 = tokenIn.target === deployed.gold.target;
  await mined(tokenIn.transfer(pool.target, amountIn));
  const outs = (amount) => (isToken0 ? [0n, amount] : [amount, 0n]);
  await reverts(() => pool.swap.staticCall(...outs(out + 1n), RECIPIENT, '0x'), 'UniswapV2: K');
  const swapped = await events(pool, pool.swap(...outs(out), RECIPIENT, '0x'));
  const ins = isToken0 ? [amountIn, 0n] : [0n, amountIn];
  assert.deepEqual(swapped, { names: ['Sync', 'Swap'], last: [alice.address, ...ins, ...outs(out), RECIPIENT] });
  assert.deepEqual(reservesOf(await pairAt(pool)), reservesOf(after));
}

// Takes what goes out for what the SDK computes, and for no unit less.
async function exactOut(pool, token0In, token1Out, amountOut) {
  const [input, after] = inputOf(await pairAt(pool), token1Out.target, amountOut);
  const swap = (method) => pool.swap[method](0n, amountOut, RECIPIENT, '0x');
  await mined(token0In.transfer(pool.target, input - 1n));
  await reverts(() => swap('staticCall'), input === 1n ? 'UniswapV2: INSUFFICIENT_INPUT_AMOUNT' : 'UniswapV2: K');
  await mined(token0In.transfer(pool.target, 1n));
  const { last } = await events(pool, swap('send'));
  assert.deepEqual(last, [alice.address, input, 0n, 0n, amountOut, RECIPIENT]);
  assert.deepEqual(reservesOf(await pairAt(pool)), reservesOf(after));
}

// Burns LP tokens of bob's for what the SDK computes, with the protocol's fee.
async function burned(pool, lp) {
  const values = await worth(pool, lp);
  const { gold, silver } = deployed;
  const balances = async () => [await gold.balanceOf(RECIPIENT), await silver.balanceOf(RECIPIENT)];
  const [before0, before1] = await balances();
  await mined(pool.connect(bob).transfer(pool.target, lp));
  const burned = await events(pool, pool.burn(RECIPIENT));
  assert.deepEqual(burned, { names: ['Transfer', 'Transfer', 'Sync', 'Burn'], last: [alice.address, ...values, RECIPIENT] });
  assert.deepEqual(await balances(), [before0 + values[0], before1 + values[1]]);
}

export async function lpTokens() {
  const { gold, silver } = deployed;
  const pool = await poolOf(gold, silver);
  assert.deepEqual([await pool.name(), await pool.symbol(), await pool.decimals()], ['Uniswap V2', 'UNI-V2', 18n]);
  assert.deepEqual([await pool.factory(), await pool.token0(), await pool.token1()], [deployed.factory.target, gold.target, silver.target]);
  assert.equal(await pool.MINIMUM_LIQUIDITY(), MINIMUM_LIQUIDITY);
  assert.equal(await pool.DOMAIN_SEPARATOR(), TypedDataEncoder.hashDomain(await domainOf(pool)));
  assert.equal(await pool.PERMIT_TYPEHASH(), id(TypedDataEncoder.from(PERMIT).encodeType('Permit')));

  const deadline = BigInt(await now()) + 1_000n;
  const signed = await permit(pool, bob, alice.address, 50n, deadline);
  const permitted = await events(pool, pool.permit(bob.address, alice.address, 50n, deadline, ...signed));
  assert.deepEqual(permitted, { names: ['Approval'], last: [bob.address, alice.address, 50n] });
  const again = (until) => pool.permit.staticCall(bob.address, alice.address, 50n, until, ...signed);
  await reverts(() => again(deadline), 'UniswapV2: INVALID_SIGNATURE');
  await reverts(() => again(1n), 'UniswapV2: EXPIRED');
  const moved = await events(pool, pool.transferFrom(bob.address, RECIPIENT, 20n));
  assert.deepEqual(moved, { names: ['Transfer'], last: [bob.address, RECIPIENT, 20n] });
  assert.equal(await pool.allowance(bob.address, alice.address), 30n);
  await mined(pool.connect(bob).approve(alice.address, 0n));
  await reverts(() => pool.transferFrom.staticCall(bob.address, RECIPIENT, 1n), 'ds-math-sub-underflow');

  await mined(gold.transfer(pool.target, 9n));
  await mined(pool.skim(bob.address));
  assert.equal(await gold.balanceOf(bob.address), 9n);
  await mined(gold.transfer(pool.target, 9n));
  const [reserve0, reserve1, from] = await pool.getReserves();
  const [price0, price1] = [await pool.price0CumulativeLast(), await pool.price1CumulativeLast()];
  await provider.send('evm_setNextBlockTimestamp', [toBeHex(from + 500n)]);
  assert.deepEqual(await events(pool, pool.sync()), { names: ['Sync'], last: [reserve0 + 9n, reserve1] });
  assert.equal((await pool.getReserves())[2], from + 500n);
  assert.equal((await pool.price0CumulativeLast()) - price0, ((reserve1 << 112n) / reserve0) * 500n);
  assert.equal((await pool.price1CumulativeLast()) - price1, ((reserve0 << 112n) / reserve1) * 500n);
  await reverts(() => pool.initialize.staticCall(gold.target, silver.target), 'UniswapV2: FORBIDDEN');
}

export async function poolAlone() {
  const { gold, silver } = deployed;
  const pool = await deploy('liquidity-pool', { token0: silver.target, token1: gold.target }, used['liquidity-pool']);
  assert.deepEqual([await pool.factory(), await pool.token0(), await pool.token1()], [alice.address, gold.target, silver.target]);
  await reverts(() => pool.initialize.staticCall(gold.target, silver.target), 'UniswapV2: FORBIDDEN');
  await minted(pool, 10n ** 9n, 10n ** 12n);
  await exactIn(pool, silver, 10n ** 10n);
  assert.equal(await minted(pool, 10n ** 6n, 10n ** 12n), 0n);
  assert.equal(await pool.kLast(), 0n);
}
