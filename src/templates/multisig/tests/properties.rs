//! All histories against a model: a transaction is executed once, and never with fewer confirmations of the owners of that moment than the
//! wallet required then.

use std::collections::BTreeSet;

use proptest::{collection::vec, prelude::*, sample::select};

use super::*;

const PEOPLE: [Address; 4] = [ALICE, BOB, CAROL, DAVE];

/// What a transaction does.
#[derive(Clone, Copy, Debug)]
enum Action {
    Pay {
        to: Address,
        value: u64,
    },
    Add {
        owner: Address,
    },
    Remove {
        owner: Address,
    },
    Replace {
        owner: Address,
        new_owner: Address,
    },
    Require {
        required: u64,
    },
    /// Another transaction of the wallet, which is no owner at first.
    Confirm {
        id: u64,
    },
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Submit { from: Address, action: Action },
    Confirm { from: Address, id: u64 },
    Revoke { from: Address, id: u64 },
    Execute { from: Address, id: u64 },
    Deposit { from: Address, value: u64 },
}

/// The wallet, which may be an owner of itself.
const ITSELF: Address = Address::ZERO;

fn a_person() -> impl Strategy<Value = Address> {
    select(PEOPLE.to_vec())
}

fn an_owner() -> impl Strategy<Value = Address> {
    prop_oneof![8 => a_person(), 1 => Just(ITSELF)]
}

fn an_action() -> impl Strategy<Value = Action> {
    prop_oneof![
        4 => (a_person(), 0_u64..400).prop_map(|(to, value)| Action::Pay { to, value }),
        2 => an_owner().prop_map(|owner| Action::Add { owner }),
        2 => an_owner().prop_map(|owner| Action::Remove { owner }),
        2 => (an_owner(), an_owner()).prop_map(|(owner, new_owner)| Action::Replace { owner, new_owner }),
        2 => (0_u64..5).prop_map(|required| Action::Require { required }),
        1 => (0_u64..12).prop_map(|id| Action::Confirm { id }),
    ]
}

fn a_step() -> impl Strategy<Value = Step> {
    let id = || 0_u64..12;
    prop_oneof![
        5 => (a_person(), an_action()).prop_map(|(from, action)| Step::Submit { from, action }),
        8 => (a_person(), id()).prop_map(|(from, id)| Step::Confirm { from, id }),
        2 => (a_person(), id()).prop_map(|(from, id)| Step::Revoke { from, id }),
        3 => (a_person(), id()).prop_map(|(from, id)| Step::Execute { from, id }),
        1 => (a_person(), 0_u64..100).prop_map(|(from, value)| Step::Deposit { from, value }),
    ]
}

/// What the wallet should be.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Model {
    wallet: Address,
    owners: Vec<Address>,
    required: u64,
    wei: u64,
    transactions: Vec<Planned>,
    /// Executions, with the confirmations and the requirement at that moment.
    executions: Vec<(usize, u64, u64)>,
}

#[derive(Clone, Debug)]
struct Planned {
    action: Action,
    confirmations: BTreeSet<Address>,
    is_executed: bool,
}

impl PartialEq for Planned {
    fn eq(&self, other: &Self) -> bool {
        (&self.confirmations, self.is_executed) == (&other.confirmations, other.is_executed)
    }
}

impl Eq for Planned {}

/// A refusal, after which nothing has changed.
struct Refused;

fn allow(condition: bool) -> Result<(), Refused> {
    if condition { Ok(()) } else { Err(Refused) }
}

impl Model {
    fn step(&mut self, step: Step) -> bool {
        let before = self.clone();
        let result = match step {
            Step::Submit { from, action } => {
                let planned = Planned { action, confirmations: BTreeSet::new(), is_executed: false };
                self.transactions.push(planned);
                self.confirm(from, self.transactions.len() - 1)
            }
            Step::Confirm { from, id } => self.confirm(from, id as usize),
            Step::Revoke { from, id } => self.revoke(from, id as usize),
            Step::Execute { from, id } => self.execute(from, id as usize),
            Step::Deposit { value, .. } => {
                self.wei += value;
                Ok(())
            }
        };
        if result.is_err() {
            *self = before;
        }
        result.is_ok()
    }

    fn confirm(&mut self, from: Address, id: usize) -> Result<(), Refused> {
        allow(self.owners.contains(&from) && id < self.transactions.len())?;
        allow(self.transactions[id].confirmations.insert(from))?;
        self.execute(from, id)
    }

    fn revoke(&mut self, from: Address, id: usize) -> Result<(), Refused> {
        self.allow_pending(from, id)?;
        self.transactions[id].confirmations.remove(&from);
        Ok(())
    }

    fn execute(&mut self, from: Address, id: usize) -> Result<(), Refused> {
        self.allow_pending(from, id)?;
        let confirmed = &self.transactions[id].confirmations;
        let count = self.owners.iter().filter(|owner| confirmed.contains(*owner)).count() as u64;
        if count < self.required {
            return Ok(());
        }
        let before = self.clone();
        self.executions.push((id, count, self.required));
        self.transactions[id].is_executed = true;
        if self.act(self.transactions[id].action).is_err() {
            *self = before;
        }
        Ok(())
    }

    fn act(&mut self, action: Action) -> Result<(), Refused> {
        let own = |owner| if owner == ITSELF { self.wallet } else { owner };
        match action {
            Action::Pay { value, .. } => {
                allow(value <= self.wei)?;
                self.wei -= value;
            }
            Action::Add { owner } => {
                let owner = own(owner);
                allow(!self.owners.contains(&owner))?;
                self.owners.push(owner);
            }
            Action::Remove { owner } => {
                let owner = own(owner);
                let place = self.owners.iter().position(|other| *other == owner).ok_or(Refused)?;
                self.owners.swap_remove(place);
                allow(!self.owners.is_empty())?;
                self.required = self.required.min(self.owners.len() as u64);
            }
            Action::Replace { owner, new_owner } => {
                let (owner, new_owner) = (own(owner), own(new_owner));
                allow(!self.owners.contains(&new_owner))?;
                let place = self.owners.iter().position(|other| *other == owner).ok_or(Refused)?;
                self.owners[place] = new_owner;
            }
            Action::Require { required } => {
                allow(required > 0 && required <= self.owners.len() as u64)?;
                self.required = required;
            }
            Action::Confirm { id } => self.confirm(self.wallet, id as usize)?,
        }
        Ok(())
    }

    fn allow_pending(&self, from: Address, id: usize) -> Result<(), Refused> {
        let transaction = self.transactions.get(id).ok_or(Refused)?;
        allow(self.owners.contains(&from) && transaction.confirmations.contains(&from) && !transaction.is_executed)
    }
}

impl World {
    /// Sends a step's transaction; returns whether it succeeded.
    fn step(&mut self, step: Step) -> bool {
        let wallet = self.wallet;
        let own = |owner| if owner == ITSELF { wallet } else { owner };
        let (from, value, input) = match step {
            Step::Submit { from, action } => {
                let to_itself = |call: Vec<u8>| submit(wallet, 0, call);
                let call = match action {
                    Action::Pay { to, value } => submit(to, value, Vec::new()),
                    Action::Add { owner } => to_itself(sol::addOwnerCall { owner: own(owner) }.abi_encode()),
                    Action::Remove { owner } => to_itself(sol::removeOwnerCall { owner: own(owner) }.abi_encode()),
                    Action::Replace { owner, new_owner } => {
                        to_itself(sol::replaceOwnerCall { owner: own(owner), newOwner: own(new_owner) }.abi_encode())
                    }
                    Action::Require { required } => {
                        to_itself(sol::changeRequirementCall { _required: U256::from(required) }.abi_encode())
                    }
                    Action::Confirm { id } => to_itself(confirm(U256::from(id)).abi_encode()),
                };
                (from, 0, call.abi_encode())
            }
            Step::Confirm { from, id } => (from, 0, confirm(U256::from(id)).abi_encode()),
            Step::Revoke { from, id } => (from, 0, revoke(U256::from(id)).abi_encode()),
            Step::Execute { from, id } => (from, 0, execute(U256::from(id)).abi_encode()),
            Step::Deposit { from, value } => (from, value, Vec::new()),
        };
        self.chain.send(from, wallet, value, &input, 5_000_000).is_success()
    }

    fn is(&mut self, model: &Model) -> Result<(), TestCaseError> {
        let wallet = self.wallet;
        prop_assert_eq!(self.read(&sol::getOwnersCall {}), model.owners.clone());
        prop_assert_eq!(self.read(&sol::requiredCall {}), U256::from(model.required));
        prop_assert_eq!(self.chain.wei(wallet), model.wei);
        prop_assert_eq!(self.read(&sol::transactionCountCall {}), U256::from(model.transactions.len()));
        for owner in PEOPLE.into_iter().chain([wallet]) {
            prop_assert_eq!(self.read(&sol::isOwnerCall { owner }), model.owners.contains(&owner));
        }
        for (number, planned) in model.transactions.iter().enumerate() {
            let id = U256::from(number);
            prop_assert_eq!(self.is_executed(id), planned.is_executed);
            let confirming: Vec<_> =
                model.owners.iter().filter(|owner| planned.confirmations.contains(*owner)).copied().collect();
            let is_confirmed = confirming.len() as u64 >= model.required;
            prop_assert_eq!(self.read(&sol::getConfirmationsCall { transactionId: id }), confirming);
            prop_assert_eq!(self.read(&sol::isConfirmedCall { transactionId: id }), is_confirmed);
        }
        Ok(())
    }

    /// Numbers of the transactions that the last one executed for good.
    fn executed_now(&self) -> Vec<usize> {
        let executions = self.events().into_iter().filter_map(|event| {
            sol::Execution::decode_log_data(&event).ok().map(|event| event.transactionId.to::<usize>())
        });
        executions.collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn nothing_is_executed_without_enough_confirmations_or_twice(
        (owners, threshold) in (1_usize..5).prop_flat_map(|owners| (Just(owners), 1..=owners as u32)),
        steps in vec(a_step(), 1..50),
    ) {
        let owners = PEOPLE[..owners].to_vec();
        let mut world = World::of(owners.clone(), threshold);
        let mut model = Model {
            wallet: world.wallet,
            owners,
            required: u64::from(threshold),
            wei: WEI,
            transactions: Vec::new(),
            executions: Vec::new(),
        };
        for step in steps {
            let before = model.executions.len();
            let is_allowed = model.step(step);
            prop_assert_eq!(world.step(step), is_allowed, "{:?}", step);
            let mut now: Vec<_> = model.executions[before..].iter().map(|(id, ..)| *id).collect();
            let mut emitted = world.executed_now();
            now.sort_unstable();
            emitted.sort_unstable();
            prop_assert_eq!(emitted, now);
            world.is(&model)?;
        }
        let mut executed: Vec<_> = model.executions.iter().map(|(id, ..)| *id).collect();
        executed.sort_unstable();
        prop_assert!(executed.windows(2).all(|pair| pair[0] != pair[1]), "{executed:?}");
        prop_assert!(model.executions.iter().all(|(_, count, required)| count >= required));
    }

    #[test]
    fn no_input_makes_it_panic(selector in 0_usize..24, tail: Vec<u8>, words: [u64; 8], gas in 0_u64..600_000) {
        let mut world = World::new();
        world.submit(ALICE, BOB, 5, vec![1]);
        let wallet = world.wallet;
        let known = sol::MultisigCalls::selectors().nth(selector).unwrap_or([1; 4]);
        let words: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        for arguments in [tail.as_slice(), &words] {
            let input = [known.as_slice(), arguments].concat();
            for from in [ALICE, wallet] {
                let result = world.chain.send(from, wallet, 0, &input, gas);
                prop_assert_ne!(result.outcome, FrameOutcome::Halt(HaltReason::TemplatePanic));
            }
        }
        let init_code = Marker(Multisig::ID).init_code(&tail);
        let (_, result) = TestChain::new(&[ALICE]).create(ALICE, 0, &init_code, 1_000_000);
        prop_assert_ne!(result.outcome, FrameOutcome::Halt(HaltReason::TemplatePanic));
    }
}
