//! A factory with a pool of two plain tokens, a router and wrapped ether, for the tests of each of these.

use alloy_primitives::{Address, U256, address};
use alloy_sol_types::{Revert, SolCall};

use super::{
    TestChain,
    actor::ActorTemplate,
    test_token::{self as asset, TestToken},
};
use crate::templates::{
    LiquidityFactoryParams, LiquidityRouterParams, WrappedNativeParams,
    liquidity_factory::{interface as factory, pool_address},
    liquidity_pool::interface as pool,
};

pub(in crate::templates) const OWNER: Address = address!("000000000000000000000000000000000000a001");
pub(in crate::templates) const BOB: Address = address!("000000000000000000000000000000000000b002");
pub(in crate::templates) const CAROL: Address = address!("000000000000000000000000000000000000c003");

/// Tokens of each kind that each user has at first.
pub(in crate::templates) const TOKENS: u64 = 1_000_000_000;

/// The contracts. The tokens are in the pool's order.
#[derive(Clone)]
pub(in crate::templates) struct Pools {
    pub(in crate::templates) chain: TestChain,
    pub(in crate::templates) tokens: [Address; 2],
    pub(in crate::templates) factory: Address,
    pub(in crate::templates) pool: Address,
    pub(in crate::templates) weth: Address,
    pub(in crate::templates) router: Address,
}

impl Pools {
    /// An empty pool of plain tokens.
    pub(in crate::templates) fn new() -> Self {
        Self::with_token(&TestToken::init_code(18, 3 * TOKENS))
    }

    /// An empty pool of a plain token and a hostile one.
    pub(in crate::templates) fn hostile() -> Self {
        Self::with_token(&ActorTemplate::init_code(3 * TOKENS))
    }

    fn with_token(init_code: &[u8]) -> Self {
        let mut chain = TestChain::new(&[OWNER, BOB, CAROL]);
        let mut tokens =
            [chain.deploy(OWNER, 0, init_code), chain.deploy(OWNER, 0, &TestToken::init_code(18, 3 * TOKENS))];
        tokens.sort_unstable();
        let factory = chain.deploy(OWNER, 0, &LiquidityFactoryParams::new(OWNER).init_code());
        let weth = chain.deploy(OWNER, 0, &WrappedNativeParams::default().init_code());
        let router = chain.deploy(OWNER, 0, &LiquidityRouterParams::new(factory, weth).init_code());
        let pool = chain.ok(OWNER, factory, &factory::createPairCall { tokenA: tokens[1], tokenB: tokens[0] });
        assert_eq!(pool, pool_address(factory, tokens[0], tokens[1]));
        let mut pools = Self { chain, tokens, factory, pool, weth, router };
        for token in tokens {
            for user in [BOB, CAROL] {
                pools.pay(OWNER, token, user, TOKENS);
            }
            for user in [OWNER, BOB, CAROL] {
                pools.chain.ok(user, token, &asset::approveCall { spender: router, value: U256::MAX });
            }
        }
        pools
    }

    /// A pool with liquidity of the owner.
    pub(in crate::templates) fn with_liquidity(amount0: u64, amount1: u64) -> Self {
        let mut pools = Self::new();
        pools.add(OWNER, amount0, amount1);
        pools
    }

    /// Puts in tokens and gets LP tokens for them.
    pub(in crate::templates) fn add(&mut self, user: Address, amount0: u64, amount1: u64) -> U256 {
        self.pay_in(user, amount0, amount1);
        self.ok(user, &pool::mintCall { to: user })
    }

    /// Sends tokens to the pool.
    pub(in crate::templates) fn pay_in(&mut self, user: Address, amount0: u64, amount1: u64) {
        for (token, amount) in self.tokens.into_iter().zip([amount0, amount1]) {
            self.pay(user, token, self.pool, amount);
        }
    }

    pub(in crate::templates) fn pay(&mut self, from: Address, token: Address, to: Address, value: u64) {
        self.chain.ok(from, token, &asset::transferCall { to, value: U256::from(value) });
    }

    /// Calls the pool.
    pub(in crate::templates) fn ok<C: SolCall>(&mut self, from: Address, call: &C) -> C::Return {
        self.chain.ok(from, self.pool, call)
    }

    /// Calls the pool, which refuses with this reason.
    pub(in crate::templates) fn fails<C: SolCall>(&mut self, from: Address, call: &C, reason: &str) {
        self.chain.fails(from, self.pool, call, &Revert::from(reason));
    }

    /// Reads of the pool.
    pub(in crate::templates) fn read<C: SolCall>(&self, call: &C) -> C::Return {
        self.chain.read(self.pool, call)
    }

    /// What an account has of both tokens.
    pub(in crate::templates) fn held(&self, account: Address) -> (u64, u64) {
        let held = |token| self.chain.read(token, &asset::balanceOfCall { account }).to();
        (held(self.tokens[0]), held(self.tokens[1]))
    }

    pub(in crate::templates) fn lp_tokens(&self, owner: Address) -> u64 {
        self.read(&pool::balanceOfCall { owner }).to()
    }

    pub(in crate::templates) fn reserves(&self) -> (u64, u64) {
        let reserves = self.read(&pool::getReservesCall {});
        (reserves._reserve0.to(), reserves._reserve1.to())
    }
}
