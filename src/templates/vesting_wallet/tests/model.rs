//! Random histories against sums in plain integers, and arbitrary call data.

use proptest::{collection::vec, prelude::*};

use super::{multi_token::ID, *};
use crate::vm::{HaltReason, Marker};

#[derive(Clone, Debug)]
enum Step {
    Wait(u64),
    Pay(u64),
    Fund(u64),
    ReleaseEther,
    ReleaseTokens,
    RevokeEther,
    RevokeTokens,
    FundItems(u64),
    ReleaseItems,
    RevokeItems,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0_u64..400).prop_map(Step::Wait),
        2 => (0_u64..100).prop_map(Step::Pay),
        2 => (0_u64..100).prop_map(Step::Fund),
        4 => Just(Step::ReleaseEther),
        4 => Just(Step::ReleaseTokens),
        1 => Just(Step::RevokeEther),
        1 => Just(Step::RevokeTokens),
        2 => (0_u64..100).prop_map(Step::FundItems),
        4 => Just(Step::ReleaseItems),
        1 => Just(Step::RevokeItems),
    ]
}

/// One asset of a wallet.
#[derive(Clone, Copy, Debug)]
struct Model {
    held: u64,
    released: u64,
    /// What went back, once it was revoked.
    returned: Option<u64>,
}

impl Model {
    /// Returns what can be released so many seconds after the start.
    fn releasable(self, seconds: u64) -> u64 {
        let all = self.held + self.released;
        let vested = match seconds {
            _ if self.returned.is_some() => all,
            0..250 => 0,
            _ => all * seconds.min(1_000) / 1_000,
        };
        vested - self.released
    }

    fn release(&mut self, seconds: u64) {
        let amount = self.releasable(seconds);
        (self.held, self.released) = (self.held - amount, self.released + amount);
    }

    /// Returns whether it may be revoked.
    fn revoke(&mut self, seconds: u64) -> bool {
        let is_first = self.returned.is_none();
        if is_first {
            let returned = self.held - self.releasable(seconds);
            (self.held, self.returned) = (self.held - returned, Some(returned));
        }
        is_first
    }
}

impl World {
    /// Returns what has vested of ether, of the token and of the items so many seconds after the start.
    fn vested(&self, items: Address, seconds: u64) -> [u64; 3] {
        let (token, timestamp) = (self.token, NOW - 100 + seconds);
        let ether = self.read(&sol::vestedAmount_0Call { timestamp });
        let tokens = self.read(&sol::vestedAmount_1Call { token, timestamp });
        let items = self.read(&sol::vestedAmount_2Call { token: items, id: ID, timestamp });
        [ether, tokens, items].map(|amount| amount.to())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn nothing_is_lost_and_nobody_gets_more_than_the_rule_gives(steps in vec((step(), 0_u64..2_000), 1..40)) {
        let mut world = deploy(&revocable());
        let items = world.make_items(500);
        let (wallet, token) = (world.wallet, world.token);
        let mut ether = Model { held: 1_000, released: 0, returned: None };
        let mut tokens = Model { held: 10_000, released: 0, returned: None };
        let mut things = Model { held: 500, released: 0, returned: None };
        let mut seconds = 100;
        let mut vested_before = [0; 3];
        for (step, later) in steps {
            match step {
                Step::Wait(more) => {
                    seconds += more;
                    world.after_start(seconds);
                }
                Step::Pay(wei) => {
                    prop_assert!(world.chain.send(STRANGER, wallet, wei, &[], 10_000).is_success());
                    ether.held += wei;
                }
                Step::Fund(amount) => {
                    world.fund(amount);
                    tokens.held += amount;
                }
                Step::ReleaseEther => {
                    world.ok(STRANGER, &sol::release_0Call {});
                    ether.release(seconds);
                }
                Step::ReleaseTokens => {
                    world.ok(STRANGER, &sol::release_1Call { token });
                    tokens.release(seconds);
                }
                Step::RevokeEther => {
                    let got = world.chain.call(REVOKER, wallet, &sol::revoke_0Call {});
                    prop_assert_eq!(got.is_ok(), ether.revoke(seconds));
                }
                Step::RevokeTokens => {
                    let got = world.chain.call(REVOKER, wallet, &sol::revoke_1Call { token });
                    prop_assert_eq!(got.is_ok(), tokens.revoke(seconds));
                }
                Step::FundItems(amount) => {
                    world.fund_items(items, amount);
                    things.held += amount;
                }
                Step::ReleaseItems => {
                    world.ok(STRANGER, &sol::release_2Call { token: items, id: ID });
                    things.release(seconds);
                }
                Step::RevokeItems => {
                    let got = world.chain.call(REVOKER, wallet, &sol::revoke_2Call { token: items, id: ID });
                    prop_assert_eq!(got.is_ok(), things.revoke(seconds));
                }
            }
            prop_assert_eq!(world.releasable(), (ether.releasable(seconds), tokens.releasable(seconds)));
            prop_assert_eq!(world.releasable_items(items), things.releasable(seconds));
            prop_assert_eq!(world.chain.wei(wallet), ether.held);
            prop_assert_eq!(world.chain.wei(BENEFICIARY), FUNDS + ether.released);
            prop_assert_eq!(world.chain.wei(REVOKER), FUNDS + ether.returned.unwrap_or_default());
            prop_assert_eq!(world.tokens(wallet), tokens.held);
            prop_assert_eq!(world.tokens(BENEFICIARY), tokens.released);
            prop_assert_eq!(world.tokens(REVOKER), tokens.returned.unwrap_or_default());
            let of = [wallet, BENEFICIARY, REVOKER].map(|account| world.items(items, account));
            prop_assert_eq!(of, [things.held, things.released, things.returned.unwrap_or_default()]);
            // What has vested is never less than it was, whatever happened, nor less at a later time.
            let vested = world.vested(items, seconds);
            prop_assert!((0..3).all(|asset| vested_before[asset] <= vested[asset]), "{:?}, {:?}", vested_before, vested);
            let vested_later = world.vested(items, seconds + later);
            prop_assert!((0..3).all(|asset| vested[asset] <= vested_later[asset]), "{:?}, {:?}", vested, vested_later);
            vested_before = vested;
        }
    }

    #[test]
    fn no_input_makes_it_panic(selector in 0_usize..30, tail: Vec<u8>, value in 0_u64..2) {
        let world = deploy(&revocable());
        let known = sol::VestingWalletCalls::selectors().nth(selector).unwrap_or([1; 4]);
        let input = [known.as_slice(), &tail].concat();
        for gas in [1_000_000, 20_000] {
            let result = world.chain.clone().send(STRANGER, world.wallet, value, &input, gas);
            prop_assert_ne!(result.outcome, FrameOutcome::Halt(HaltReason::TemplatePanic));
        }
        let init_code = Marker(VestingWallet::ID).init_code(&tail);
        let (_, result) = TestChain::new(&[STRANGER]).create(STRANGER, value, &init_code, 1_000_000);
        prop_assert!(!result.is_success());
        prop_assert_ne!(result.outcome, FrameOutcome::Halt(HaltReason::TemplatePanic));
    }
}
