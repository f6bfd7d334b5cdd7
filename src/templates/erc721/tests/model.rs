//! Random histories against owners in a map, and arbitrary call data.

use std::collections::BTreeMap;

use proptest::{collection::vec, prelude::*};

use super::*;

#[derive(Clone, Debug)]
enum Step {
    Mint(u8, u8),
    Burn(u8, u8),
    Transfer(u8, u8, u8, u8),
    Approve(u8, u8, u8),
    Operate(u8, u8, bool),
    Delegate(u8, u8),
}

fn step() -> impl Strategy<Value = Step> {
    let who = || 0_u8..4;
    let id = || 0_u8..6;
    prop_oneof![
        4 => (who(), id()).prop_map(|(to, id)| Step::Mint(to, id)),
        2 => (who(), id()).prop_map(|(by, id)| Step::Burn(by, id)),
        5 => (who(), who(), who(), id()).prop_map(|(by, from, to, id)| Step::Transfer(by, from, to, id)),
        2 => (who(), who(), id()).prop_map(|(by, to, id)| Step::Approve(by, to, id)),
        2 => (who(), who(), any::<bool>()).prop_map(|(by, operator, is_on)| Step::Operate(by, operator, is_on)),
        1 => (who(), who()).prop_map(|(by, to)| Step::Delegate(by, to)),
    ]
}

fn who(n: u8) -> Address {
    [OWNER, BOB, CAROL, Address::with_last_byte(9)][usize::from(n)]
}

#[derive(Default)]
struct Model {
    owners: BTreeMap<u8, u8>,
    approved: BTreeMap<u8, u8>,
    operators: BTreeMap<(u8, u8), bool>,
    delegates: BTreeMap<u8, u8>,
}

impl Model {
    fn operates(&self, owner: u8, by: u8) -> bool {
        owner == by || self.operators.get(&(owner, by)).copied().unwrap_or_default()
    }

    fn may_move(&self, by: u8, id: u8) -> bool {
        self.owners.get(&id).is_some_and(|owner| self.operates(*owner, by) || self.approved.get(&id) == Some(&by))
    }

    /// Applies a step and returns whether it succeeds.
    fn apply(&mut self, step: &Step) -> bool {
        match *step {
            Step::Mint(to, id) => {
                let is_new = !self.owners.contains_key(&id);
                if is_new {
                    self.owners.insert(id, to);
                }
                is_new
            }
            Step::Burn(by, id) => {
                let may = self.may_move(by, id);
                if may {
                    self.owners.remove(&id);
                    self.approved.remove(&id);
                }
                may
            }
            Step::Transfer(by, from, to, id) => {
                let may = self.may_move(by, id) && self.owners[&id] == from;
                if may {
                    self.owners.insert(id, to);
                    self.approved.remove(&id);
                }
                may
            }
            Step::Approve(by, to, id) => {
                let may = self.owners.get(&id).is_some_and(|owner| self.operates(*owner, by));
                if may {
                    self.approved.insert(id, to);
                }
                may
            }
            Step::Operate(by, operator, is_on) => {
                self.operators.insert((by, operator), is_on);
                true
            }
            Step::Delegate(by, to) => {
                self.delegates.insert(by, to);
                true
            }
        }
    }

    fn tokens_of(&self, owner: u8) -> Vec<U256> {
        self.owners.iter().filter(|(_, other)| **other == owner).map(|(id, _)| U256::from(*id)).collect()
    }

    fn votes_of(&self, delegate: u8) -> u64 {
        self.owners.values().filter(|owner| self.delegates.get(*owner) == Some(&delegate)).count() as u64
    }
}

fn input(step: &Step) -> (Address, Vec<u8>) {
    let id = |id: u8| U256::from(id);
    match *step {
        Step::Mint(to, token) => (OWNER, mint(who(to), token.into(), "").abi_encode()),
        Step::Burn(by, token) => (who(by), sol::burnCall { tokenId: id(token) }.abi_encode()),
        Step::Transfer(by, from, to, token) => (who(by), transfer(who(from), who(to), token.into()).abi_encode()),
        Step::Approve(by, to, token) => (who(by), sol::approveCall { to: who(to), tokenId: id(token) }.abi_encode()),
        Step::Operate(by, operator, approved) => {
            (who(by), sol::setApprovalForAllCall { operator: who(operator), approved }.abi_encode())
        }
        Step::Delegate(by, to) => (who(by), sol::delegateCall { delegatee: who(to) }.abi_encode()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// The supply is the sum of the balances, and what is enumerated is what is owned.
    #[test]
    fn owners_are_those_of_a_map(steps in vec(step(), 1..40)) {
        let mut token = deploy(&params());
        let mut model = Model::default();
        for step in steps {
            let (caller, input) = input(&step);
            let got = token.call_raw(caller, 0, &input, 1_000_000);
            prop_assert_eq!(got.is_success(), model.apply(&step), "{:?}", step);
            let accounts = [0, 1, 2, 3].map(who);
            let (mut all, mut by_owner) = token.enumerated(&accounts);
            all.sort_unstable();
            by_owner.iter_mut().for_each(|owned| owned.sort_unstable());
            prop_assert_eq!(all, model.owners.keys().map(|id| U256::from(*id)).collect::<Vec<_>>());
            prop_assert_eq!(by_owner, [0, 1, 2, 3].map(|n| model.tokens_of(n)).to_vec());
            for (id, owner) in &model.owners {
                prop_assert_eq!(token.owner_of((*id).into()), who(*owner));
                let approved = token.read(&sol::getApprovedCall { tokenId: U256::from(*id) });
                prop_assert_eq!(approved, model.approved.get(id).map_or(Address::ZERO, |n| who(*n)));
            }
            for n in 0..4 {
                let votes = token.read(&sol::getVotesCall { account: who(n) });
                prop_assert_eq!(votes, U256::from(model.votes_of(n)));
            }
        }
    }

    #[test]
    fn no_input_makes_it_panic(selector in 0_usize..46, tail: Vec<u8>, value in 0_u64..2) {
        let mut token = deploy_with_tokens(&params());
        let known = sol::Erc721NftCalls::selectors().nth(selector).unwrap_or([1; 4]);
        let input = [known.as_slice(), &tail].concat();
        for gas in [1_000_000, 20_000] {
            let result = token.call_raw(OWNER, value, &input, gas);
            prop_assert_ne!(result.outcome, FrameOutcome::Halt(crate::vm::HaltReason::TemplatePanic));
        }
        let (_, result) = create(&mut empty_journal(), &Marker(Erc721::ID).init_code(&tail), 0, 1_000_000);
        prop_assert!(!result.is_success());
        prop_assert_ne!(result.outcome, FrameOutcome::Halt(crate::vm::HaltReason::TemplatePanic));
    }
}
