// The router's swaps, by calls that the SDK makes, and its arithmetic.
import assert from 'node:assert/strict';
import { toBeHex } from 'ethers';
import { failure } from '../harness.mjs';
import { alice, mined, now, provider } from '../templates.mjs';
import { Coin, inputOf, outputOf, pairAt, pairOf, quoteOf, reservesOf, swapOf } from './sdk.mjs';
import { ETHER, RECIPIENT, deployed, poolOf, reverts } from './world.mjs';

export async function swaps() {
  const [gold, silver, copper] = [deployed.gold, deployed.silver, deployed.copper].map((token) => token.target);
  const coin = new Coin(deployed.weth.target);
  const goldEther = await poolOf(deployed.gold, deployed.weth);
  const goldSilver = await poolOf(deployed.gold, deployed.silver);
  const silverCopper = await poolOf(deployed.silver, deployed.copper);
  const all = [goldEther, goldSilver, silverCopper];
  const list = [
    { pools: [goldSilver], input: gold, output: silver, amountIn: 1_003n },
    { pools: [goldSilver], input: silver, output: gold, amountIn: 50n * ETHER },
    { pools: [goldSilver], input: gold, output: silver, amountOut: ETHER / 5n },
    { pools: [goldSilver, silverCopper], input: gold, output: copper, amountOut: 77n },
    { pools: [goldSilver, silverCopper], input: gold, output: copper, amountIn: ETHER, feeOnTransfer: true },
    { pools: [goldEther], input: coin, output: gold, amountIn: ETHER },
    { pools: all, input: coin, output: copper, amountIn: ETHER / 3n },
    { pools: all, input: coin, output: copper, amountOut: ETHER / 1_000n },
    { pools: [goldEther], input: coin, output: gold, amountIn: 999_999n, feeOnTransfer: true },
    { pools: [...all].reverse(), input: copper, output: coin, amountIn: ETHER },
    { pools: [goldEther], input: gold, output: coin, amountOut: ETHER },
    { pools: [...all].reverse(), input: copper, output: coin, amountOut: 10n ** 9n },
    { pools: [goldEther], input: gold, output: coin, amountIn: 4n * ETHER, feeOnTransfer: true },
  ];
  for (const swap of list) await swapped(swap);
}

const balanceOf = (what, account) => (what instanceof Coin ? provider.getBalance(account) : deployed.gold.attach(what).balanceOf(account));

// Swaps by the call that the SDK makes. It gives all that the SDK has computed, which the call asks for, and no unit more.
async function swapped({ pools, input, output, ...rest }) {
  const { router } = deployed;
  const pairs = await Promise.all(pools.map(pairAt));
  const computed = swapOf(pairs, { input, output, ...rest, to: RECIPIENT, deadline: (await now()) + 1_000 });
  const { methodName, args, value, path, amounts } = computed;
  const [amountIn, amountOut] = [amounts[0], amounts.at(-1)];
  const isExactIn = rest.amountIn !== undefined;
  assert.deepEqual([...await (isExactIn ? router.getAmountsOut(amountIn, path) : router.getAmountsIn(amountOut, path))], amounts);
  const given = await router[methodName].staticCall(...args, { value });
  if (!rest.feeOnTransfer) assert.deepEqual([...given], amounts);
  await refusedWithout(methodName, computed, isExactIn);

  const [had, held] = [await balanceOf(input, alice.address), await balanceOf(output, RECIPIENT)];
  // Ether that a swap for an exact amount doesn't need goes back.
  const spare = input instanceof Coin && !isExactIn ? ETHER : 0n;
  const { fee } = await mined(router[methodName](...args, { value: value + spare }));
  const spent = had - (await balanceOf(input, alice.address)) - (input instanceof Coin ? fee : 0n);
  assert.deepEqual([spent, (await balanceOf(output, RECIPIENT)) - held], [amountIn, amountOut]);
  assert.deepEqual((await Promise.all(pools.map(pairAt))).map(reservesOf), computed.after.map(reservesOf));
  assertImpact(pairs, computed);
}

// The call is refused when it asks for one unit more of what goes out, or allows one unit less of what comes in.
async function refusedWithout(methodName, { args, value, amounts }, isExactIn) {
  const call = (args, value) => () => deployed.router[methodName].staticCall(...args, { value });
  const bound = args.indexOf(`0x${(isExactIn ? amounts.at(-1) : amounts[0]).toString(16)}`);
  const by = (change) => args.map((arg, index) => (index === bound ? toBeHex(BigInt(arg) + change) : arg));
  if (isExactIn) return reverts(call(by(1n), value), 'UniswapV2Router: INSUFFICIENT_OUTPUT_AMOUNT');
  const less = value > 0n ? call(args, value - 1n) : call(by(-1n), value);
  return reverts(less, 'UniswapV2Router: EXCESSIVE_INPUT_AMOUNT');
}

// The SDK's price impact: by how much less comes out than by the reserves' prices.
function assertImpact(pairs, { path, amounts, impact }) {
  const reserves = pairs.map((pair, index) => {
    const [reserve0, reserve1] = reservesOf(pair);
    return pair.token0.address === path[index] ? [reserve0, reserve1] : [reserve1, reserve0];
  });
  const whole = reserves.reduce((product, [, out]) => product * out, amounts[0]);
  const got = reserves.reduce((product, [into]) => product * into, amounts.at(-1));
  assert.ok(got < whole);
  assert.equal(impact[0] * whole, impact[1] * (whole - got));
}

// Random reserves and amounts of all sizes up to the 112 bits of a reserve, the same in each run.
function* randomNumbers(seed) {
  let state = seed;
  const next = () => (state = BigInt.asUintN(64, state * 6_364_136_223_846_793_005n + 1_442_695_040_888_963_407n)) >> 32n;
  for (;;) {
    const size = 1n + next() % 112n;
    yield 1n + BigInt.asUintN(Number(size), (next() << 96n) | (next() << 64n) | (next() << 32n) | next()) % (2n ** 112n - 1n);
  }
}

export async function arithmetic() {
  const { router } = deployed;
  const [a, b] = [deployed.gold.target, deployed.silver.target];
  const numbers = randomNumbers(11n);
  const seen = { amounts: 0, nothing: 0, tooMuch: 0 };
  const compare = async (given, reserveIn, reserveOut) => {
    const pair = pairOf(a, reserveIn, b, reserveOut);
    const [quote, out] = await Promise.all([router.quote(given, reserveIn, reserveOut), router.getAmountOut(given, reserveIn, reserveOut)]);
    assert.equal(quote, quoteOf(pair, a, given));
    if (out === 0n) {
      assert.throws(() => outputOf(pair, a, given), { isInsufficientInputAmountError: true });
      seen.nothing += 1;
    } else {
      assert.equal(out, outputOf(pair, a, given)[0]);
    }
    const input = () => router.getAmountIn(given, reserveIn, reserveOut);
    if (given >= reserveOut) {
      assert.throws(() => inputOf(pair, b, given), { isInsufficientReservesError: true });
      assert.equal((await failure(input)).code, 'CALL_EXCEPTION');
      seen.tooMuch += 1;
    } else {
      assert.equal(await input(), inputOf(pair, b, given)[0]);
      seen.amounts += 1;
    }
  };
  const triples = Array.from({ length: 200 }, () => [numbers.next().value, numbers.next().value, numbers.next().value]);
  await Promise.all([...triples, [5n, 5n, 5n]].map((triple) => compare(...triple)));
  assert.ok(Object.values(seen).every((count) => count > 20), JSON.stringify(seen));
  await reverts(() => router.getAmountIn(6n, 5n, 5n), 'ds-math-sub-underflow');
  await reverts(() => router.getAmountOut(0n, 5n, 5n), 'UniswapV2Library: INSUFFICIENT_INPUT_AMOUNT');
  await reverts(() => router.getAmountOut(5n, 0n, 5n), 'UniswapV2Library: INSUFFICIENT_LIQUIDITY');
}
