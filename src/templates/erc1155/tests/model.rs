//! Random histories against balances in a map, and arbitrary call data.

use std::collections::BTreeMap;

use proptest::{collection::vec, prelude::*};

use super::*;

type Pairs = Vec<(u64, u64)>;

#[derive(Clone, Debug)]
enum Step {
    Approve(usize, usize, bool),
    /// By whom, from, to.
    Transfer(usize, usize, usize, Pairs),
    Mint(usize, Pairs),
    /// By whom, whose.
    Burn(usize, usize, Pairs),
}

/// Holders. The last one has no role and no tokens at first.
const HOLDERS: [Address; 3] = [OWNER, BOB, CAROL];
const IDS: [u64; 3] = [1, 2, 3];

fn step() -> impl Strategy<Value = Step> {
    let who = || 0..HOLDERS.len();
    let pairs = || vec((1_u64..=3, 0_u64..60), 0..4);
    prop_oneof![
        (who(), who(), any::<bool>()).prop_map(|(a, b, is_on)| Step::Approve(a, b, is_on)),
        (who(), who(), who(), pairs()).prop_map(|(a, b, c, pairs)| Step::Transfer(a, b, c, pairs)),
        (who(), who(), pairs()).prop_map(|(a, b, pairs)| Step::Transfer(a, a, b, pairs)),
        (who(), pairs()).prop_map(|(a, pairs)| Step::Mint(a, pairs)),
        (who(), pairs()).prop_map(|(a, pairs)| Step::Burn(a, a, pairs)),
        (who(), who(), pairs()).prop_map(|(a, b, pairs)| Step::Burn(a, b, pairs)),
    ]
}

#[derive(Clone, Default)]
struct Model {
    balances: BTreeMap<(usize, u64), u64>,
    operators: BTreeMap<(usize, usize), bool>,
}

impl Model {
    /// Moves all of a list, or nothing; an end that is missing is minting or burning.
    fn move_all(&mut self, from: Option<usize>, to: Option<usize>, pairs: &Pairs) -> bool {
        let mut next = self.balances.clone();
        for &(id, value) in pairs {
            if let Some(from) = from {
                let balance = next.entry((from, id)).or_default();
                let Some(rest) = balance.checked_sub(value) else { return false };
                *balance = rest;
            }
            if let Some(to) = to {
                *next.entry((to, id)).or_default() += value;
            }
        }
        self.balances = next;
        true
    }

    fn may_act(&self, by: usize, whose: usize) -> bool {
        by == whose || self.operators.get(&(whose, by)).copied().unwrap_or_default()
    }

    fn supply(&self, id: u64) -> u64 {
        self.balances.iter().filter(|((_, of), _)| *of == id).map(|(_, balance)| balance).sum()
    }

    /// Does a step and returns whether it is allowed.
    fn step(&mut self, step: &Step) -> bool {
        match step {
            Step::Approve(account, operator, is_on) => {
                self.operators.insert((*account, *operator), *is_on);
                true
            }
            Step::Transfer(by, from, to, pairs) => {
                self.may_act(*by, *from) && self.move_all(Some(*from), Some(*to), pairs)
            }
            Step::Mint(to, pairs) => self.move_all(None, Some(*to), pairs),
            Step::Burn(by, from, pairs) => self.may_act(*by, *from) && self.move_all(Some(*from), None, pairs),
        }
    }
}

/// Returns who sends what; a list of one is sent by the function for one.
fn transaction(step: &Step) -> (Address, Vec<u8>) {
    let at = |index: usize| HOLDERS[index];
    match step {
        Step::Approve(account, operator, approved) => {
            let call = sol::setApprovalForAllCall { operator: at(*operator), approved: *approved };
            (at(*account), call.abi_encode())
        }
        Step::Transfer(by, from, to, pairs) => match pairs[..] {
            [(id, value)] => (at(*by), transfer(at(*from), at(*to), id, value).abi_encode()),
            _ => (at(*by), transfer_batch(at(*from), at(*to), pairs).abi_encode()),
        },
        Step::Mint(to, pairs) => match pairs[..] {
            [(id, value)] => (OWNER, mint(at(*to), id, value).abi_encode()),
            _ => (OWNER, mint_batch(at(*to), pairs).abi_encode()),
        },
        Step::Burn(by, from, pairs) => match pairs[..] {
            [(id, value)] => (at(*by), burn(at(*from), id, value).abi_encode()),
            _ => (at(*by), burn_batch(at(*from), pairs).abi_encode()),
        },
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn balances_are_those_of_a_map_and_supplies_their_sums(steps in vec(step(), 1..40)) {
        let mut token = deploy(&params());
        let mut model = Model::default();
        for step in steps {
            let (from, input) = transaction(&step);
            let result = token.call_raw(from, 0, &input, 1_000_000);
            prop_assert_eq!(result.is_success(), model.step(&step), "{:?}", step);
            for id in IDS {
                for (index, holder) in HOLDERS.into_iter().enumerate() {
                    let want = model.balances.get(&(index, id)).copied().unwrap_or_default();
                    prop_assert_eq!(token.balance(holder, id), want);
                }
                prop_assert_eq!(token.supply(id), model.supply(id));
            }
            let all: u64 = IDS.into_iter().map(|id| model.supply(id)).sum();
            prop_assert_eq!(token.read(&sol::totalSupply_0Call {}), U256::from(all));
        }
    }

    #[test]
    fn no_input_makes_it_panic(selector in 0_usize..32, tail: Vec<u8>, value in 0_u64..2) {
        let mut token = deploy(&params());
        let known = Calls::selectors().nth(selector).unwrap_or([1; 4]);
        let input = [known.as_slice(), &tail].concat();
        for gas in [1_000_000, 20_000] {
            let result = token.call_raw(OWNER, value, &input, gas);
            prop_assert_ne!(result.outcome, FrameOutcome::Halt(crate::vm::HaltReason::TemplatePanic));
        }
        let (_, result) = create(&mut empty_journal(), &Marker(Erc1155::ID).init_code(&tail), 0, 1_000_000);
        prop_assert!(!result.is_success());
        prop_assert_ne!(result.outcome, FrameOutcome::Halt(crate::vm::HaltReason::TemplatePanic));
    }
}
