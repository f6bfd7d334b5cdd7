// What Uniswap's SDK computes of pools: tokens by address and amounts as bigints, as ethers has them.
import { createRequire } from 'node:module';
import { config } from '../harness.mjs';

// The packages' own ES modules name their files without extensions, which Node doesn't load.
const require = createRequire(import.meta.url);
const { CurrencyAmount, NativeCurrency, Percent, Token } = require('@uniswap/sdk-core');
const { Pair, Route, Router, Trade } = require('@uniswap/v2-sdk');

const CHAIN_ID = Number(config.chainId);
const DECIMALS = 18;

// The chain's coin, for which the SDK has to be told the token that wraps it.
export class Coin extends NativeCurrency {
  constructor(wrapped) {
    super(CHAIN_ID, DECIMALS);
    this.wrapped = token(wrapped);
  }

  equals(other) {
    return other.isNative;
  }
}

const token = (address) => new Token(CHAIN_ID, address, DECIMALS);
const currency = (what) => (what instanceof Coin ? what : token(what));
const amount = (what, units) => CurrencyAmount.fromRawAmount(currency(what), units.toString());
const units = (amount) => BigInt(amount.quotient.toString());

// A pool of so much of two tokens.
export function pairOf(tokenA, reserveA, tokenB, reserveB) {
  return new Pair(amount(tokenA, reserveA), amount(tokenB, reserveB));
}

// A pool as the contract has it. Its LP token is the contract: the SDK computes an address from the init code of Uniswap's pools.
export async function pairAt(pool) {
  const [token0, token1, [reserve0, reserve1]] = await Promise.all([pool.token0(), pool.token1(), pool.getReserves()]);
  const pair = pairOf(token0, reserve0, token1, reserve1);
  pair.liquidityToken = token(pool.target);
  return pair;
}

// Both reserves, by the order of the tokens' addresses.
export function reservesOf(pair) {
  return [units(pair.reserve0), units(pair.reserve1)];
}

// As much of the other token as this is worth by the reserves.
export function quoteOf(pair, tokenIn, amountIn) {
  return units(pair.priceOf(token(tokenIn)).quote(amount(tokenIn, amountIn)));
}

// What comes out for an amount, and the pool after that.
export function outputOf(pair, tokenIn, amountIn) {
  const [output, after] = pair.getOutputAmount(amount(tokenIn, amountIn));
  return [units(output), after];
}

// What has to come in for an amount, and the pool after that.
export function inputOf(pair, tokenOut, amountOut) {
  const [input, after] = pair.getInputAmount(amount(tokenOut, amountOut));
  return [units(input), after];
}

// The LP tokens that two amounts make, by the tokens' order.
export function mintedOf(pair, totalSupply, amount0, amount1) {
  const { liquidityToken, token0, token1 } = pair;
  const supply = CurrencyAmount.fromRawAmount(liquidityToken, totalSupply.toString());
  return units(pair.getLiquidityMinted(supply, amount(token0.address, amount0), amount(token1.address, amount1)));
}

// Both amounts that LP tokens are worth, with the protocol's share of the growth since `kLast` where the fee is on.
export function valueOf(pair, totalSupply, liquidity, feeOn, kLast) {
  const [supply, part] = [totalSupply, liquidity].map((lp) => CurrencyAmount.fromRawAmount(pair.liquidityToken, lp.toString()));
  return [pair.token0, pair.token1].map((of) => units(pair.getLiquidityValue(of, supply, part, feeOn, kLast.toString())));
}

// A swap through pools, of an amount that comes in or of one that goes out: the router's function and what it takes, with no room for
// slippage; the amounts along the path, the pools after it, and the price impact as a numerator and a denominator.
export function swapOf(pairs, { input, output, amountIn, amountOut, to, deadline, feeOnTransfer = false }) {
  const route = new Route(pairs, currency(input), currency(output));
  const isExactIn = amountIn !== undefined;
  const trade = isExactIn ? Trade.exactIn(route, amount(input, amountIn)) : Trade.exactOut(route, amount(output, amountOut));
  const options = { allowedSlippage: new Percent(0), recipient: to, deadline, feeOnTransfer };
  const { methodName, args, value } = Router.swapCallParameters(trade, options);
  const path = route.path.map((token) => token.address);
  const steps = isExactIn ? forwards(pairs, path, amountIn) : backwards(pairs, path, amountOut);
  const impact = [trade.priceImpact.numerator, trade.priceImpact.denominator].map((part) => BigInt(part.toString()));
  return { methodName, args, value: BigInt(value), path, impact, ...steps };
}

function forwards(pairs, path, amountIn) {
  const [amounts, after] = [[amountIn], []];
  for (const [index, pair] of pairs.entries()) {
    const [out, left] = outputOf(pair, path[index], amounts[index]);
    amounts.push(out);
    after.push(left);
  }
  return { amounts, after };
}

function backwards(pairs, path, amountOut) {
  const [amounts, after] = [[amountOut], []];
  for (const [index, pair] of [...pairs.entries()].reverse()) {
    const [into, left] = inputOf(pair, path[index + 1], amounts[0]);
    amounts.unshift(into);
    after.unshift(left);
  }
  return { amounts, after };
}
