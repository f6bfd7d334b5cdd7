//! Swaps through the router: execution alone, in transactions of one trader, without intrinsic gas, roots or commits.
//!
//! `hops` is the number of pools along the path, each of two `erc20-token`s.

use alloy_sol_types::SolCall;
use chainbox::{
    primitives::{Address, Gas, Timestamp, U256},
    state::{CommitId, Journal, MemoryState, StateStore},
    templates::{
        Erc20Params, LiquidityFactoryParams, LiquidityRouterParams, WrappedNativeParams, builtin,
        erc20::interface::approveCall,
        liquidity_router::interface::{addLiquidityCall, swapExactTokensForTokensCall},
    },
    vm::{BlockContext, Message, execute},
};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};

const TRADER: Address = Address::repeat_byte(0xaa);
const SWAPS: u64 = 1_000;
const HOPS_MAX: usize = 3;
const LIQUIDITY: U256 = U256::from_limbs([1 << 60, 0, 0, 0]);
const SUPPLY: U256 = U256::from_limbs([1 << 63, 0, 0, 0]);

/// Tokens, each with a pool with the next one, and the router.
struct Market {
    journal: Journal,
    block: BlockContext,
    tokens: Vec<Address>,
    router: Address,
}

impl Market {
    fn new() -> Self {
        let view = MemoryState::new().view(CommitId::EMPTY).expect("the empty version");
        let block = BlockContext { timestamp: Timestamp::from_secs(1_000), ..BlockContext::default() };
        let mut market = Self { journal: Journal::new(view), block, tokens: Vec::new(), router: Address::ZERO };
        let mut creations = 0;
        let mut create = |market: &mut Self, init_code: &[u8]| {
            let message = Message::create(TRADER, creations, U256::ZERO, init_code, Gas::new(10_000_000));
            creations += 1;
            market.run(&message);
            message.to
        };
        let factory = create(&mut market, &LiquidityFactoryParams::new(TRADER).init_code());
        let weth = create(&mut market, &WrappedNativeParams::default().init_code());
        let router = create(&mut market, &LiquidityRouterParams::new(factory, weth).init_code());
        market.router = router;
        for number in 0..=HOPS_MAX {
            let params = Erc20Params::new(&format!("Token {number}"), "TKN", SUPPLY, TRADER);
            let token = create(&mut market, &params.init_code());
            market.call(token, &approveCall { spender: router, value: U256::MAX });
            market.tokens.push(token);
        }
        for number in 0..HOPS_MAX {
            let call = addLiquidityCall {
                tokenA: market.tokens[number],
                tokenB: market.tokens[number + 1],
                amountADesired: LIQUIDITY,
                amountBDesired: LIQUIDITY,
                amountAMin: U256::ZERO,
                amountBMin: U256::ZERO,
                to: TRADER,
                deadline: U256::MAX,
            };
            market.call(router, &call);
        }
        market
    }

    fn call(&mut self, to: Address, call: &impl SolCall) {
        self.run(&Message::call(TRADER, to, U256::ZERO, &call.abi_encode(), Gas::new(10_000_000)));
    }

    fn run(&mut self, message: &Message<'_>) {
        transact(&mut self.journal, &self.block, message);
    }
}

fn transact(journal: &mut Journal, block: &BlockContext, message: &Message<'_>) {
    journal.begin_transaction();
    let result = execute(journal, block, builtin(), message).expect("memory");
    assert!(result.is_success(), "{result:?}");
}

fn swaps(c: &mut Criterion) {
    let market = Market::new();
    let mut group = c.benchmark_group("execute_router_swaps");
    group.throughput(Throughput::Elements(SWAPS)).sample_size(20);
    for hops in 1..=HOPS_MAX {
        let call = swapExactTokensForTokensCall {
            amountIn: U256::from(1_000_000),
            amountOutMin: U256::from(1),
            path: market.tokens[..=hops].to_vec(),
            to: TRADER,
            deadline: U256::MAX,
        };
        let input = call.abi_encode();
        let message = Message::call(TRADER, market.router, U256::ZERO, &input, Gas::new(10_000_000));
        let run_all = |mut journal: Journal| {
            (0..SWAPS).for_each(|_| transact(&mut journal, &market.block, &message));
            journal
        };
        group.bench_function(format!("hops={hops}"), |b| {
            b.iter_batched(|| market.journal.clone(), run_all, BatchSize::PerIteration);
        });
    }
    group.finish();
}

criterion_group!(benches, swaps);
criterion_main!(benches);
