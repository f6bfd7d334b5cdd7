// The router's liquidity: added and removed as the SDK computes it, with ether and with permits.
import assert from 'node:assert/strict';
import { MaxUint256 } from 'ethers';
import { alice, deploy, mined, now, provider } from '../templates.mjs';
import { used } from './published.mjs';
import { mintedOf, pairAt, pairOf, quoteOf, reservesOf } from './sdk.mjs';
import { ETHER, RECIPIENT, deployed, permit, poolOf, reverts, sorted, token, worth } from './world.mjs';

export async function liquidity() {
  const { factory, gold, silver, weth } = deployed;
  const router = await deploy('liquidity-router', { factory: factory.target, WETH: weth.target }, used['liquidity-router']);
  const copper = await token('CPR');
  Object.assign(deployed, { router, copper });
  assert.deepEqual([await router.factory(), await router.WETH()], [factory.target, weth.target]);
  for (const each of [gold, silver, copper]) await mined(each.approve(router.target, MaxUint256));
  const deadline = BigInt(await now()) + 10_000n;

  // The first makes the pool; of the others one amount gives way to the reserves.
  const [a, b] = [silver.target, copper.target];
  const add = (method, ...amounts) => router.addLiquidity[method](a, b, ...amounts, alice.address, deadline);
  const empty = pairOf(a, 0n, b, 0n);
  const [first, second] = [3n * ETHER, 2n * ETHER + 5n];
  assert.deepEqual([...await add('staticCall', first, second, first, second)], [first, second, mintedOf(empty, 0n, first, second)]);
  await mined(add('send', first, second, first, second));
  const pool = await poolOf(silver, copper);
  const pair = await pairAt(pool);
  const inOrder = (amountA, amountB) => (pair.token0.address === a ? [amountA, amountB] : [amountB, amountA]);
  const supply = await pool.totalSupply();
  const lessB = quoteOf(pair, a, ETHER);
  const lessA = quoteOf(pair, b, ETHER + 1n);
  assert.equal(await router.quote(ETHER, ...inOrder(...reservesOf(pair))), lessB);
  const given = (amountA, amountB) => [amountA, amountB, mintedOf(pair, supply, ...inOrder(amountA, amountB))];
  assert.deepEqual([...await add('staticCall', ETHER, ETHER, 0n, lessB)], given(ETHER, lessB));
  assert.deepEqual([...await add('staticCall', 2n * ETHER, ETHER + 1n, lessA, 0n)], given(lessA, ETHER + 1n));
  await reverts(() => add('staticCall', ETHER, ETHER, 0n, lessB + 1n), 'UniswapV2Router: INSUFFICIENT_B_AMOUNT');
  await reverts(() => add('staticCall', 2n * ETHER, ETHER + 1n, lessA + 1n, 0n), 'UniswapV2Router: INSUFFICIENT_A_AMOUNT');
  await reverts(() => router.addLiquidity.staticCall(a, b, 1n, 1n, 0n, 0n, alice.address, 1n), 'UniswapV2Router: EXPIRED');
  await mined(add('send', ETHER, ETHER, 0n, lessB));
  await addedWithEther(deadline);

  const lp = ETHER / 7n;
  await mined(pool.approve(router.target, MaxUint256));
  const values = inOrder(...await worth(pool, lp));
  const remove = (method, ...least) => router.removeLiquidity[method](a, b, lp, ...least, RECIPIENT, deadline);
  assert.deepEqual([...await remove('staticCall', ...values)], values);
  await reverts(() => remove('staticCall', values[0] + 1n, 0n), 'UniswapV2Router: INSUFFICIENT_A_AMOUNT');
  await reverts(() => remove('staticCall', 0n, values[1] + 1n), 'UniswapV2Router: INSUFFICIENT_B_AMOUNT');
  const before = await copper.balanceOf(RECIPIENT);
  await mined(remove('send', ...values));
  assert.equal(await copper.balanceOf(RECIPIENT), before + values[1]);
}

// A pool of gold and ether: the ether that the reserves don't take goes back. Removed as ether, also by the function for tokens with fees.
async function addedWithEther(deadline) {
  const { router, gold, weth } = deployed;
  const add = (method, tokens, value, least) => router.addLiquidityETH[method](gold.target, tokens, 0n, least, alice.address, deadline, { value });
  await mined(add('send', 40n * ETHER, 10n * ETHER, 10n * ETHER));
  const pool = await poolOf(gold, weth);
  const [pair, supply] = [await pairAt(pool), await pool.totalSupply()];
  const takes = quoteOf(pair, gold.target, ETHER);
  const inOrder = (tokens, ether) => (pair.token0.address === gold.target ? [tokens, ether] : [ether, tokens]);
  assert.deepEqual([...await add('staticCall', ETHER, ETHER, takes)], [ETHER, takes, mintedOf(pair, supply, ...inOrder(ETHER, takes))]);
  const before = await provider.getBalance(alice.address);
  const { fee } = await mined(add('send', ETHER, ETHER, takes));
  assert.equal(before - (await provider.getBalance(alice.address)) - fee, takes);

  const lp = ETHER / 9n;
  await mined(pool.approve(router.target, 2n * lp));
  const taken = [gold.target, lp];
  for (const name of ['removeLiquidityETH', 'removeLiquidityETHSupportingFeeOnTransferTokens']) {
    const values = inOrder(...await worth(pool, lp));
    const result = await router[name].staticCall(...taken, ...values, RECIPIENT, deadline);
    assert.deepEqual(typeof result === 'bigint' ? [values[0], result] : [...result], values);
    await removedWithEther(values, () => router[name](...taken, ...values, RECIPIENT, deadline));
  }
}

// The recipient gets as much of gold and ether as the SDK has computed.
async function removedWithEther(values, remove) {
  const balances = async () => [await deployed.gold.balanceOf(RECIPIENT), await provider.getBalance(RECIPIENT)];
  const [tokens, ether] = await balances();
  await mined(remove());
  assert.deepEqual(await balances(), [tokens + values[0], ether + values[1]]);
}

export async function liquidityByPermit() {
  const { router, gold, silver, copper, weth } = deployed;
  const deadline = BigInt(await now()) + 10_000n;
  const lp = ETHER / 11n;
  const tokens = await poolOf(silver, copper);
  await mined(tokens.approve(router.target, 0n));
  const [a, b] = sorted(silver, copper);
  const values = await worth(tokens, lp);
  const signed = [false, ...await permit(tokens, alice, router.target, lp, deadline)];
  const remove = router.removeLiquidityWithPermit;
  assert.deepEqual([...await remove.staticCall(a.target, b.target, lp, ...values, RECIPIENT, deadline, ...signed)], values);
  await reverts(() => remove.staticCall(a.target, b.target, lp + 1n, ...values, RECIPIENT, deadline, ...signed), 'UniswapV2: INVALID_SIGNATURE');
  const before = await copper.balanceOf(RECIPIENT);
  await mined(remove(a.target, b.target, lp, ...values, RECIPIENT, deadline, ...signed));
  assert.equal(await copper.balanceOf(RECIPIENT), before + values[a.target === copper.target ? 0 : 1]);

  const pool = await poolOf(gold, weth);
  const isGoldFirst = (await pool.token0()) === gold.target;
  for (const name of ['removeLiquidityETHWithPermit', 'removeLiquidityETHWithPermitSupportingFeeOnTransferTokens']) {
    const [value0, value1] = await worth(pool, lp);
    const values = isGoldFirst ? [value0, value1] : [value1, value0];
    const signed = [true, ...await permit(pool, alice, router.target, MaxUint256, deadline)];
    await removedWithEther(values, () => router[name](gold.target, lp, ...values, RECIPIENT, deadline, ...signed));
    assert.equal(await pool.allowance(alice.address, router.target), MaxUint256);
  }
}
