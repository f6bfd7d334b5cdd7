// The pool, its factory, the router and wrapped ether by the ABIs that Uniswap publishes, with ethers; and Uniswap's SDK, which has to
// compute the amounts that these contracts give. Each published function is called, and each event is emitted.
import { run, step } from './harness.mjs';
import { liquidity, liquidityByPermit } from './uniswap/liquidity.mjs';
import { factory, lpTokens, pool, poolAlone, wrappedNative } from './uniswap/pool.mjs';
import { PUBLISHED, allUsed, compared } from './uniswap/published.mjs';
import { arithmetic, swaps } from './uniswap/swaps.mjs';

for (const name of Object.keys(PUBLISHED)) step(`${name}: the ABI`, () => compared(name));
step('wrapped-native', wrappedNative);
step('liquidity-factory', factory);
step('liquidity-pool: liquidity and swaps as the SDK computes them', pool);
step('liquidity-pool: LP tokens, permits, skim and sync', lpTokens);
step('liquidity-pool: alone', poolAlone);
step('liquidity-router: liquidity as the SDK computes it', liquidity);
step('liquidity-router: liquidity removed with permits', liquidityByPermit);
step('liquidity-router: swaps that the SDK makes', swaps);
step('liquidity-router: the arithmetic of the SDK', arithmetic);
step('each published function and event is used', allUsed);

await run("Uniswap's ABIs and SDK");
