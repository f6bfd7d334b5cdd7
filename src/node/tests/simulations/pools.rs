//! Pools with liquidity, and operations of who adds to it, takes from it and swaps.

use alloy_sol_types::{SolCall, SolValue};

use super::{
    choices::Choices,
    signed::DEADLINE,
    world::{World, amount},
};
use crate::{
    primitives::{Address, Bytes, U256},
    templates::{
        erc20::interface as erc20, erc4626::interface as vault, liquidity_factory::interface as factory,
        liquidity_pool::interface as pool, liquidity_router::interface as router,
    },
};

/// Of each token in each pool.
const LIQUIDITY: u64 = 10_000;

/// LP tokens of each pool that every account gets.
const PART: u64 = 1_000;

/// What is paid into a pool before a function that takes what is there.
const PAYMENT: u64 = 20;

/// What is added, removed and swapped.
const AMOUNTS: [u64; 3] = [10, 50, 100];

const NO_BOUND: U256 = U256::ZERO;

impl World {
    /// Gives the pool made alone and two of the factory liquidity, of which every account has a part that the router may take.
    pub(super) fn fill_pools(&self) {
        let [token, shares] = self.pooled();
        let [alone, router] = ["liquidity-pool", "liquidity-router"].map(|name| self.contract(name).address);
        let (owner, liquidity) = (self.owner(), amount(LIQUIDITY));
        self.run(owner, shares, 0, &vault::depositCall { assets: amount(5 * LIQUIDITY), receiver: owner });
        for account in self.accounts() {
            for asset in [token, shares] {
                self.run(*account, asset, 0, &erc20::approveCall { spender: router, value: U256::MAX });
            }
        }
        for asset in [token, shares] {
            self.run(owner, asset, 0, &erc20::transferCall { to: alone, value: liquidity });
        }
        self.run(owner, alone, 0, &pool::mintCall { to: owner });
        self.run(owner, router, 0, &self.addition(token, shares, liquidity, owner));
        self.run(owner, router, LIQUIDITY, &self.addition_of_ether(liquidity, owner));
        for lp_token in [alone, self.pair_of(shares), self.pair_of(self.weth())] {
            for account in self.accounts() {
                self.run(owner, lp_token, 0, &pool::transferCall { to: *account, value: amount(PART) });
                self.run(*account, lp_token, 0, &pool::approveCall { spender: router, value: U256::MAX });
                self.run(*account, lp_token, 0, &pool::approveCall { spender: owner, value: U256::MAX });
            }
        }
    }

    /// The two tokens of the pools without ether.
    fn pooled(&self) -> [Address; 2] {
        ["erc20-token", "erc4626-vault"].map(|name| self.contract(name).address)
    }

    fn weth(&self) -> Address {
        self.contract("wrapped-native").address
    }

    /// The factory's pool of the token and another one.
    fn pair_of(&self, other: Address) -> Address {
        let (token, factory) = (self.contract("erc20-token").address, self.contract("liquidity-factory").address);
        self.read(factory, &factory::getPairCall { tokenA: token, tokenB: other }).unwrap()
    }

    /// Pays what a function takes into a pool: tokens above the reserves, or LP tokens. Tokens that are paused refuse, and so does the
    /// function.
    pub(super) fn pay_into_pool(&self, to: Address, function: &str) {
        let assets = match function {
            "mint" | "swap" | "skim" | "sync" => self.pooled().to_vec(),
            "burn" => vec![to],
            _ => return,
        };
        for asset in assets {
            self.try_run(self.owner(), asset, erc20::transferCall { to, value: amount(PAYMENT) }.abi_encode());
        }
    }

    /// Returns the input of a pool's function that is about its tokens.
    pub(super) fn pool_input(&self, name: &str, from: Address, choices: &mut Choices) -> Option<Vec<u8>> {
        let to = choices.one_of(self.accounts());
        Some(match name {
            "swap" => {
                let out = amount(choices.one_of(&[1, 5, 15, 25]));
                let (amount0_out, amount1_out) = choices.one_of(&[(out, U256::ZERO), (U256::ZERO, out)]);
                // No ready-made template is called back: swaps are no flash swaps.
                pool::swapCall { amount0Out: amount0_out, amount1Out: amount1_out, to, data: Bytes::new() }.abi_encode()
            }
            "transferFrom" => {
                let (from, value) = (choices.one_of(&[from, to]), amount(choices.one_of(&AMOUNTS)));
                pool::transferFromCall { from, to, value }.abi_encode()
            }
            _ => return None,
        })
    }

    /// Returns the input of a router's function that is about pools that there are.
    pub(super) fn router_input(
        &self,
        router: Address,
        name: &str,
        from: Address,
        choices: &mut Choices,
    ) -> Option<Vec<u8>> {
        let some = amount(choices.one_of(&AMOUNTS));
        Some(match name {
            "addLiquidity" => {
                let [token, shares] = self.pooled();
                self.addition(token, shares, some, from).abi_encode()
            }
            "addLiquidityETH" => self.addition_of_ether(some, from).abi_encode(),
            name => {
                let arguments = if name.starts_with("removeLiquidity") {
                    self.removal(router, name, some, from, choices)
                } else if name.starts_with("swap") {
                    self.swap(name, some, choices)
                } else {
                    return None;
                };
                let functions = router::abi::functions();
                [functions[name][0].selector().as_slice(), &arguments].concat()
            }
        })
    }

    fn addition(&self, token: Address, other: Address, desired: U256, to: Address) -> router::addLiquidityCall {
        router::addLiquidityCall {
            tokenA: token,
            tokenB: other,
            amountADesired: desired,
            amountBDesired: desired,
            amountAMin: NO_BOUND,
            amountBMin: NO_BOUND,
            to,
            deadline: amount(DEADLINE),
        }
    }

    fn addition_of_ether(&self, desired: U256, to: Address) -> router::addLiquidityETHCall {
        router::addLiquidityETHCall {
            token: self.contract("erc20-token").address,
            amountTokenDesired: desired,
            amountTokenMin: NO_BOUND,
            amountETHMin: NO_BOUND,
            to,
            deadline: amount(DEADLINE),
        }
    }

    /// Returns the arguments of a function that removes liquidity: of ether too or of two tokens, with a permit or without.
    fn removal(&self, router: Address, name: &str, liquidity: U256, from: Address, choices: &mut Choices) -> Vec<u8> {
        let [token, shares] = self.pooled();
        let (tokens, other) =
            if name.contains("ETH") { (vec![token], self.weth()) } else { (vec![token, shares], shares) };
        let to = choices.one_of(self.accounts());
        let mut words: Vec<U256> = tokens.into_iter().map(word).collect();
        words.extend([liquidity, NO_BOUND, NO_BOUND, word(to), amount(DEADLINE)]);
        if name.contains("Permit") {
            let is_unbounded = choices.next(2) == 0;
            let allowed = if is_unbounded { U256::MAX } else { liquidity };
            // A contract, such as one that has calls made, signs nothing.
            let signer = if self.accounts().contains(&from) { from } else { self.owner() };
            let permit = self.permit(self.pair_of(other), signer, router, allowed);
            words.extend([U256::from(is_unbounded), U256::from(permit.v), permit.r.into(), permit.s.into()]);
        }
        words.iter().flat_map(U256::to_be_bytes::<32>).collect()
    }

    /// Returns the arguments of a function that swaps: those that take ether have one amount, the others an amount and a bound.
    fn swap(&self, name: &str, some: U256, choices: &mut Choices) -> Vec<u8> {
        let ([token, shares], weth) = (self.pooled(), self.weth());
        let (to, deadline) = (choices.one_of(self.accounts()), amount(DEADLINE));
        if name.contains("ETHFor") {
            let path = choices.one_of(&[vec![weth, token], vec![weth, token, shares]]);
            let out = amount(choices.one_of(&[1, 3, 100]));
            return (out, path, to, deadline).abi_encode_params();
        }
        let path = if name.contains("ETH") {
            choices.one_of(&[vec![token, weth], vec![shares, token, weth]])
        } else {
            choices.one_of(&[vec![token, shares], vec![shares, token]])
        };
        let bound = if name.contains("ForExact") { U256::MAX } else { NO_BOUND };
        (some, bound, path, to, deadline).abi_encode_params()
    }
}

fn word(address: Address) -> U256 {
    address.into_word().into()
}
