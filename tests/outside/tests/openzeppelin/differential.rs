//! A template against its reference: the same creations and operations, compared one by one.

use core::fmt::{self, Debug, Display};
use std::env;

use alloy_primitives::{Address, Bytes, U256, hex};
use proptest::test_runner::{Config, FileFailurePersistence, TestCaseError, TestError, TestRunner};

use crate::{
    engine::{Call, Engine, Outcome},
    parties::{self, Answer, PERSONS},
    reference::Reference,
    suite::{Case, Clock, Creation, Scene, Step, Suite, cases, reference_of, under_test},
    templates::Templates,
    views,
};

/// Ether that each person has at first, in wei.
const FUNDS: u64 = 1_000_000;
const CASES: u32 = 64;
const STEPS_MAX: usize = 40;
/// Most cases that are tried to make a failing one smaller.
const SHRINK_STEPS_MAX: u32 = 1_000;

/// A template to compare with the reference of `S`.
pub struct Differential<S: Suite> {
    /// Creations that make the same contracts as [`Suite::reference`] from templates.
    pub creations: fn(&S::Setup) -> Vec<Creation>,
    /// Slots in which the templates keep what Solidity has in its code.
    pub own_slots: &'static [U256],
    /// File below the package in which failing seeds are kept.
    pub regressions: &'static str,
}

impl<S: Suite> Differential<S> {
    /// Compares random cases, as many as the environment's `PROPTEST_CASES` says.
    ///
    /// # Panics
    /// With the smallest case found in which the two differ.
    pub fn run(&self) {
        self.run_on(|| Box::new(Templates::new()));
    }

    /// As [`Differential::run`], on engines that `subject` makes.
    ///
    /// # Panics
    /// As [`Differential::run`].
    pub fn run_on(&self, subject: impl Fn() -> Box<dyn Engine>) {
        let persistence = FileFailurePersistence::Direct(self.regressions);
        let mut config = Config {
            failure_persistence: Some(Box::new(persistence)),
            max_shrink_iters: SHRINK_STEPS_MAX,
            ..Config::default()
        };
        if env::var_os("PROPTEST_CASES").is_none() {
            config.cases = CASES;
        }
        if let Err(error) = self.search(config, subject) {
            panic!("{error}");
        }
    }

    /// Compares random cases on engines that `subject` makes, and returns the smallest in which the two differ.
    pub fn search(&self, config: Config, subject: impl Fn() -> Box<dyn Engine>) -> Result<(), TestError<Case<S>>> {
        TestRunner::new(config).run(&cases::<S>(STEPS_MAX), |case| {
            self.compare(&case, &mut *subject()).map_err(|difference| TestCaseError::fail(difference.to_string()))
        })
    }

    /// Compares one case.
    pub fn compare(&self, case: &Case<S>, subject: &mut dyn Engine) -> Result<(), Difference> {
        let mut reference = Reference::new();
        let mut pair = Pair::<S> { differential: self, setup: &case.setup, reference: &mut reference, subject };
        pair.run(&case.steps)?;
        pair.views()?;
        pair.layout()
    }

    /// Compares one case by its transactions alone, without views and variables at its end.
    pub fn compare_transactions(&self, case: &Case<S>, subject: &mut dyn Engine) -> Result<(), Difference> {
        let mut reference = Reference::new();
        Pair::<S> { differential: self, setup: &case.setup, reference: &mut reference, subject }.run(&case.steps)
    }
}

/// Creates the receivers and gives the persons funds, before a suite's own creations.
pub fn prepare(engine: &mut dyn Engine) {
    for answer in Answer::ALL {
        let init_code = engine.receiver(answer);
        let outcome = engine.create(parties::receiver_creator(answer), U256::ZERO, &init_code);
        assert!(outcome.is_success(), "the receiver {answer:?}: {outcome:?}");
    }
    for index in 0..PERSONS {
        engine.set_balance(parties::person(index), U256::from(FUNDS));
    }
}

/// Creates a suite's contract number `index`.
pub fn create(engine: &mut dyn Engine, index: usize, creation: &Creation) -> Outcome {
    let creator = parties::contract_creator(index);
    engine.set_balance(creator, creation.value);
    engine.create(creator, creation.value, &creation.init_code)
}

/// A difference between template and reference.
#[derive(Debug)]
pub struct Difference {
    at: String,
    template: String,
    reference: String,
}

impl Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n  template:  {}\n  reference: {}", self.at, self.template, self.reference)
    }
}

fn same<T: PartialEq + Debug>(template: T, reference: T, at: impl FnOnce() -> String) -> Result<(), Difference> {
    if template == reference {
        return Ok(());
    }
    Err(Difference { at: at(), template: format!("{template:?}"), reference: format!("{reference:?}") })
}

/// Both engines with the same contracts.
struct Pair<'a, S: Suite> {
    differential: &'a Differential<S>,
    setup: &'a S::Setup,
    reference: &'a mut dyn Engine,
    subject: &'a mut dyn Engine,
}

impl<S: Suite> Pair<'_, S> {
    fn run(&mut self, steps: &[Step<S::Operation>]) -> Result<(), Difference> {
        self.create()?;
        let mut clock = Clock::FIRST;
        for (number, step) in steps.iter().enumerate() {
            self.step(number, step, &mut clock)?;
        }
        Ok(())
    }

    fn create(&mut self) -> Result<(), Difference> {
        prepare(self.reference);
        prepare(self.subject);
        let theirs = S::reference(self.setup);
        let ours = (self.differential.creations)(self.setup);
        assert_eq!(ours.len(), theirs.len(), "as many creations as the reference has");
        for (index, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
            let outcomes = (create(self.subject, index, ours), create(self.reference, index, theirs));
            same(outcomes.0, outcomes.1, || format!("the creation of contract {index}"))?;
        }
        for call in S::preparation(self.setup) {
            self.call(&call, || "the preparation".to_owned())?;
        }
        self.storage(|| "the creations".to_owned())
    }

    fn step(&mut self, number: usize, step: &Step<S::Operation>, clock: &mut Clock) -> Result<(), Difference> {
        let at = || format!("step {number}, {step:?}");
        match step {
            Step::Advance { blocks, seconds } => {
                self.reference.advance(*blocks, *seconds);
                self.subject.advance(*blocks, *seconds);
                clock.block += blocks;
                clock.timestamp += seconds;
                Ok(())
            }
            Step::Send(operation) | Step::SendDamaged(operation, _) => {
                let mut scene = Scene { reference: self.reference, clock: *clock };
                let mut call = S::call(self.setup, operation, &mut scene);
                if let Step::SendDamaged(_, damage) = step {
                    damage.apply(&mut call);
                }
                if !S::is_compared(&call) {
                    return Ok(());
                }
                // A transaction whose sender lacks its value is in no block.
                call.value = call.value.min(self.reference.balance(call.from));
                self.call(&call, at)?;
                self.storage(at)
            }
        }
    }

    fn call(&mut self, call: &Call, at: impl Fn() -> String) -> Result<(), Difference> {
        let ours = self.subject.call(call).without_padding();
        let theirs = self.reference.call(call).without_padding();
        let sent = || format!("{} by {}: {}", at(), parties::name_of(call.from), hex::encode(&call.input));
        same(ours, theirs, sent)?;
        for account in self.accounts() {
            let balances = (self.subject.balance(account), self.reference.balance(account));
            same(balances.0, balances.1, || format!("{}: wei of {}", at(), parties::name_of(account)))?;
        }
        Ok(())
    }

    /// Compares every slot of the suite's contracts that either side ever touched.
    fn storage(&mut self, at: impl Fn() -> String) -> Result<(), Difference> {
        for contract in contracts::<S>() {
            let mut slots = self.subject.touched(contract);
            slots.extend(self.reference.touched(contract));
            slots.sort_unstable();
            slots.dedup();
            slots.retain(|slot| !self.differential.own_slots.contains(slot));
            for slot in slots {
                let words = (self.subject.storage(contract, slot), self.reference.storage(contract, slot));
                if words.0 != words.1 {
                    let place = self.place(contract, slot);
                    same(in_hex(words.0), in_hex(words.1), || format!("{}: storage of {place}", at()))?;
                }
            }
        }
        Ok(())
    }

    /// Returns the names of what lies in a slot.
    fn place(&mut self, contract: Address, slot: U256) -> String {
        if contract != under_test::<S>() {
            return format!("{}, slot {slot:#x}", parties::name_of(contract));
        }
        let (layout, keys) = (&reference_of::<S>().layout, S::keys(self.setup));
        let locations = layout.locations(self.reference, contract, &keys);
        let names: Vec<_> = locations.into_iter().filter(|at| at.slot == slot).map(|at| at.path).collect();
        if names.is_empty() { format!("slot {slot:#x}") } else { names.join(", ") }
    }

    /// Compares what every view function returns.
    fn views(&mut self) -> Result<(), Difference> {
        let keys = S::keys(self.setup);
        for function in reference_of::<S>().functions.iter().filter(|function| function.is_view) {
            for input in views::inputs(function, &keys) {
                self.view(&function.signature, input)?;
            }
        }
        for input in S::views(self.setup) {
            self.view("a list", input)?;
        }
        Ok(())
    }

    fn view(&mut self, signature: &str, input: Bytes) -> Result<(), Difference> {
        let call = Call { from: Address::ZERO, to: under_test::<S>(), value: U256::ZERO, input };
        let (ours, theirs) = (self.subject.view(&call), self.reference.view(&call));
        same(ours, theirs, || format!("view of {signature} at the end: {}", hex::encode(&call.input)))
    }

    /// Compares every variable that solc's layout has, slot, offset and length.
    fn layout(&mut self) -> Result<(), Difference> {
        let (contract, keys) = (under_test::<S>(), S::keys(self.setup));
        for location in reference_of::<S>().layout.locations(self.reference, contract, &keys) {
            let ours = location.value(self.subject.storage(contract, location.slot));
            let theirs = location.value(self.reference.storage(contract, location.slot));
            same(in_hex(ours), in_hex(theirs), || format!("{} in slot {:#x}", location.path, location.slot))?;
        }
        Ok(())
    }

    fn accounts(&self) -> Vec<Address> {
        let persons = (0..PERSONS).map(parties::person);
        let receivers = Answer::ALL.into_iter().map(parties::receiver);
        persons.chain(receivers).chain(contracts::<S>()).collect()
    }
}

/// Returns the contracts of a suite: the one under test, also where another makes it, those before it, and those that it creates.
fn contracts<S: Suite>() -> impl Iterator<Item = Address> {
    let own = under_test::<S>();
    let made = (own != parties::contract(S::INDEX)).then_some(own);
    (0..=S::INDEX).map(parties::contract).chain(made).chain(S::created())
}

fn in_hex(word: U256) -> String {
    format!("{word:#x}")
}
