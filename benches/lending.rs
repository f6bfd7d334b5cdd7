//! Operations of a lending market that ask two prices and move tokens: execution alone, in transactions of one user, without intrinsic gas,
//! roots or commits. Tokens are `erc20-token`s, the feed is a `price-feed`; each operation is in a block of its own, so that interest accrues.

use alloy_sol_types::SolCall;
use chainbox::{
    primitives::{Address, Gas, Timestamp, U256},
    state::{CommitId, Journal, MemoryState, StateStore},
    templates::{
        Erc20Params, LendingParams, PriceFeedParams, builtin,
        erc20::interface::approveCall,
        lending::interface::{borrowCall, liquidationCallCall, repayCall, supplyCall},
        price_feed::interface::updateAnswerCall,
    },
    vm::{BlockContext, Message, execute},
};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};

const USER: Address = Address::repeat_byte(0xaa);
const OPERATIONS: u64 = 1_000;
const NOW: u64 = 1_000;
const SUPPLY: U256 = U256::from_limbs([1 << 63, 0, 0, 0]);
const PUT_IN: U256 = U256::from_limbs([1 << 60, 0, 0, 0]);

/// A market in which the user has supplied, put in collateral and borrowed.
struct World {
    journal: Journal,
    token: Address,
    collateral: Address,
    feed: Address,
    market: Address,
}

impl World {
    fn new() -> Self {
        let view = MemoryState::new().view(CommitId::EMPTY).expect("the empty version");
        let mut journal = Journal::new(view);
        let mut nonce = 0;
        let mut create = |init_code: &[u8]| {
            let message = Message::create(USER, nonce, U256::ZERO, init_code, Gas::new(10_000_000));
            nonce += 1;
            transact(&mut journal, NOW, &message);
            message.to
        };
        let [token, collateral] =
            ["Dollar", "Gold"].map(|name| create(&Erc20Params::new(name, "TKN", SUPPLY, USER).init_code()));
        let feed = create(&PriceFeedParams::new("Gold in dollars", 200_000_000, USER).init_code());
        let market = create(&LendingParams::new(token, collateral, feed, USER).init_code());
        let mut world = Self { journal, token, collateral, feed, market };
        for asset in [token, collateral] {
            world.call(asset, &approveCall { spender: market, value: U256::MAX });
            let supply = supplyCall { asset, amount: PUT_IN, onBehalfOf: USER, referralCode: 0 };
            world.call(market, &supply);
        }
        world.call(market, &world.borrow(PUT_IN / U256::from(2)));
        world
    }

    fn borrow(&self, amount: U256) -> borrowCall {
        borrowCall { asset: self.token, amount, interestRateMode: U256::from(2), referralCode: 0, onBehalfOf: USER }
    }

    fn repay(&self, amount: U256) -> repayCall {
        repayCall { asset: self.token, amount, interestRateMode: U256::from(2), onBehalfOf: USER }
    }

    fn liquidation(&self, debt_to_cover: U256) -> liquidationCallCall {
        liquidationCallCall {
            collateralAsset: self.collateral,
            debtAsset: self.token,
            user: USER,
            debtToCover: debt_to_cover,
            receiveAToken: false,
        }
    }

    fn call(&mut self, to: Address, call: &impl SolCall) {
        let input = call.abi_encode();
        transact(&mut self.journal, NOW, &Message::call(USER, to, U256::ZERO, &input, Gas::new(10_000_000)));
    }
}

fn transact(journal: &mut Journal, now: u64, message: &Message<'_>) {
    let block = BlockContext { timestamp: Timestamp::from_secs(now), ..BlockContext::default() };
    journal.begin_transaction();
    let result = execute(journal, &block, builtin(), message).expect("memory");
    assert!(result.is_success(), "{result:?}");
}

fn operations(c: &mut Criterion) {
    let mut world = World::new();
    let amount = U256::from(1_000_000);
    let (borrow, repay) = (world.borrow(amount).abi_encode(), world.repay(amount).abi_encode());
    let liquidation = world.liquidation(amount).abi_encode();
    let healthy = world.journal.clone();
    // Half of the collateral's worth is owed: at 0.6 the health factor is 0.96.
    let fallen = updateAnswerCall { _answer: 60_000_000_i64.try_into().expect("small") };
    world.call(world.feed, &fallen);
    let mut group = c.benchmark_group("execute_lending");
    group.throughput(Throughput::Elements(OPERATIONS)).sample_size(20);
    for (name, journal, input) in
        [("borrow", &healthy, &borrow), ("repay", &healthy, &repay), ("liquidationCall", &world.journal, &liquidation)]
    {
        let message = Message::call(USER, world.market, U256::ZERO, input, Gas::new(10_000_000));
        let run_all = |mut journal: Journal| {
            (1..=OPERATIONS).for_each(|second| transact(&mut journal, NOW + second, &message));
            journal
        };
        group.bench_function(format!("operation={name}"), |b| {
            b.iter_batched(|| journal.clone(), run_all, BatchSize::PerIteration);
        });
    }
    group.finish();
}

criterion_group!(benches, operations);
criterion_main!(benches);
