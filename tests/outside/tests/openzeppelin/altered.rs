//! Engines with a deviation, which a comparison must find.

use alloy_primitives::{Address, Bytes, Selector, U256};
use proptest::{
    strategy::{Strategy, ValueTree},
    test_runner::TestRunner,
};

use crate::{
    differential::Differential,
    engine::{Call, Engine, Outcome},
    parties::Answer,
    reference::Reference,
    suite::{Suite, cases, reference_of, under_test},
};

/// An engine that deviates.
pub struct Altered<E> {
    pub engine: E,
    /// Changes transactions on their way in.
    pub call: fn(Call) -> Call,
    /// Changes the word of a slot on its way out.
    pub storage: fn(U256, U256) -> U256,
    /// A function of a contract whose calls end as they should and change nothing.
    pub forgotten: Option<(Address, Selector)>,
}

impl<E> Altered<E> {
    /// Alters nothing yet.
    pub const fn new(engine: E) -> Self {
        Self { engine, call: |call| call, storage: |_, word| word, forgotten: None }
    }
}

impl<E: Engine> Engine for Altered<E> {
    fn create(&mut self, creator: Address, value: U256, init_code: &[u8]) -> Outcome {
        self.engine.create(creator, value, init_code)
    }

    fn call(&mut self, call: &Call) -> Outcome {
        let call = (self.call)(call.clone());
        match self.forgotten {
            Some((to, selector)) if call.to == to && call.input.starts_with(selector.as_slice()) => {
                self.engine.view(&call)
            }
            _ => self.engine.call(&call),
        }
    }

    fn view(&mut self, call: &Call) -> Outcome {
        self.engine.view(call)
    }

    fn storage(&mut self, contract: Address, slot: U256) -> U256 {
        (self.storage)(slot, self.engine.storage(contract, slot))
    }

    fn touched(&self, contract: Address) -> Vec<U256> {
        self.engine.touched(contract)
    }

    fn balance(&mut self, account: Address) -> U256 {
        self.engine.balance(account)
    }

    fn set_balance(&mut self, account: Address, balance: U256) {
        self.engine.set_balance(account, balance);
    }

    fn advance(&mut self, blocks: u64, seconds: u64) {
        self.engine.advance(blocks, seconds);
    }

    fn receiver(&self, answer: Answer) -> Bytes {
        self.engine.receiver(answer)
    }
}

/// Fewest cases in which nothing may differ, and most until each forgotten function is noticed.
const CASES_MIN: u32 = 3;
const CASES_MAX: u32 = 400;

/// Runs the reference against itself: nothing differs, but when one function of the contract changes nothing, some case shows it. The
/// cases are always the same.
///
/// # Panics
/// When a difference is found where there is none, or a forgotten function is not noticed.
pub fn notices_each_function<S: Suite>() {
    let reference = Differential::<S> { creations: S::reference, own_slots: &[], regressions: "" };
    let mut unnoticed: Vec<_> = reference_of::<S>().functions.iter().filter(|function| !function.is_view).collect();
    unnoticed.retain(|function| !S::WITHOUT_EFFECT.contains(&function.signature.as_str()));
    let (mut runner, strategy) = (TestRunner::deterministic(), cases::<S>(60));
    for number in 1..=CASES_MAX {
        let case = strategy.new_tree(&mut runner).expect("no value is filtered").current();
        if number <= CASES_MIN
            && let Err(difference) = reference.compare(&case, &mut Reference::new())
        {
            panic!("the reference differs from itself: {difference}");
        }
        unnoticed.retain(|function| {
            let forgotten = Some((under_test::<S>(), function.selector));
            let mut subject = Altered { forgotten, ..Altered::new(Reference::new()) };
            reference.compare_transactions(&case, &mut subject).is_ok()
        });
        if unnoticed.is_empty() {
            return;
        }
    }
    let names: Vec<_> = unnoticed.iter().map(|function| &function.signature).collect();
    panic!("nobody notices that these functions change nothing: {names:?}");
}
