//! Random histories against balances in a map, and arbitrary call data.

use std::collections::BTreeMap;

use proptest::{collection::vec, prelude::*};

use super::*;

#[derive(Clone, Debug)]
enum Step {
    Transfer(u8, u8, u64),
    Approve(u8, u8, u64),
    TransferFrom(u8, u8, u8, u64),
    Mint(u8, u64),
    Burn(u8, u64),
}

fn step() -> impl Strategy<Value = Step> {
    let who = || 0_u8..4;
    let amount = || 0_u64..800;
    prop_oneof![
        (who(), who(), amount()).prop_map(|(a, b, n)| Step::Transfer(a, b, n)),
        (who(), who(), amount()).prop_map(|(a, b, n)| Step::Approve(a, b, n)),
        (who(), who(), who(), amount()).prop_map(|(a, b, c, n)| Step::TransferFrom(a, b, c, n)),
        (who(), amount()).prop_map(|(a, n)| Step::Mint(a, n)),
        (who(), amount()).prop_map(|(a, n)| Step::Burn(a, n)),
    ]
}

fn who(n: u8) -> Address {
    [OWNER, BOB, CAROL, Address::with_last_byte(9)][usize::from(n)]
}

#[derive(Default)]
struct Model {
    balances: BTreeMap<u8, u64>,
    allowances: BTreeMap<(u8, u8), u64>,
}

impl Model {
    fn take(map: &mut u64, n: u64) -> bool {
        map.checked_sub(n).map(|rest| *map = rest).is_some()
    }

    fn transfer(&mut self, from: u8, to: u8, n: u64) -> bool {
        let done = Self::take(self.balances.entry(from).or_default(), n);
        if done {
            *self.balances.entry(to).or_default() += n;
        }
        done
    }

    fn supply(&self) -> u64 {
        self.balances.values().sum()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn balances_are_those_of_a_map(steps in vec(step(), 1..40)) {
        let mut token = deploy(&params());
        for n in 0..4 {
            token.ok(who(n), &sol::delegateCall { delegatee: who(n) });
        }
        let mut model = Model { balances: [(0, 1_000)].into(), ..Model::default() };
        for step in steps {
            let amount = |n: u64| U256::from(n);
            let (want, got) = match step {
                Step::Transfer(from, to, n) => {
                    (model.transfer(from, to, n), token.call(who(from), &transfer(who(to), n)))
                }
                Step::Approve(owner, spender, n) => {
                    model.allowances.insert((owner, spender), n);
                    let call = sol::approveCall { spender: who(spender), value: amount(n) };
                    (true, token.call(who(owner), &call))
                }
                Step::TransferFrom(spender, from, to, n) => {
                    let is_allowed = model.allowances.get(&(from, spender)).is_some_and(|left| *left >= n) || n == 0;
                    let done = is_allowed && model.transfer(from, to, n);
                    if done && n > 0 {
                        *model.allowances.get_mut(&(from, spender)).unwrap() -= n;
                    }
                    let call = sol::transferFromCall { from: who(from), to: who(to), value: amount(n) };
                    (done, token.call(who(spender), &call))
                }
                Step::Mint(to, n) => {
                    let fits = model.supply() + n <= 5_000;
                    if fits {
                        *model.balances.entry(to).or_default() += n;
                    }
                    (fits, token.call(OWNER, &sol::mintCall { to: who(to), amount: amount(n) }))
                }
                Step::Burn(from, n) => {
                    let done = Model::take(model.balances.entry(from).or_default(), n);
                    (done, token.call(who(from), &sol::burnCall { value: amount(n) }))
                }
            };
            prop_assert_eq!(got.is_success(), want);
            for n in 0..4 {
                let balance = model.balances.get(&n).copied().unwrap_or_default();
                prop_assert_eq!(token.balance(who(n)), balance);
                prop_assert_eq!(token.read(&sol::getVotesCall { account: who(n) }), amount(balance));
            }
            prop_assert_eq!(token.read(&sol::totalSupplyCall {}), amount(model.supply()));
        }
    }

    #[test]
    fn no_input_makes_it_panic(selector in 0_usize..45, tail: Vec<u8>, value in 0_u64..2) {
        let mut token = deploy(&params());
        let known = sol::Erc20TokenCalls::selectors().nth(selector).unwrap_or([1; 4]);
        let input = [known.as_slice(), &tail].concat();
        for gas in [1_000_000, 20_000] {
            let result = token.call_raw(OWNER, value, &input, gas);
            prop_assert_ne!(result.outcome, FrameOutcome::Halt(crate::vm::HaltReason::TemplatePanic));
        }
        let (_, result) = create(&mut empty_journal(), &Marker(Erc20::ID).init_code(&tail), 0, 1_000_000);
        prop_assert!(!result.is_success());
        prop_assert_ne!(result.outcome, FrameOutcome::Halt(crate::vm::HaltReason::TemplatePanic));
    }
}
