//! What a differential test is made of: a kind of contract, its constructor parameters, and the operations of its users.

use core::fmt::Debug;

use alloy_primitives::{Address, Bytes, U256};
use alloy_sol_types::SolCall;
use proptest::{collection::vec, prelude::*};

use crate::{
    artifacts::{Artifact, artifact},
    engine::{Call, Engine, FIRST_BLOCK, FIRST_TIMESTAMP},
    layout::Keys,
    parties,
};

/// A creation: init code, and the value sent along, in wei.
#[derive(Clone, Debug)]
pub struct Creation {
    pub init_code: Bytes,
    pub value: U256,
}

impl Creation {
    pub fn new(init_code: impl Into<Bytes>) -> Self {
        Self { init_code: init_code.into(), value: U256::ZERO }
    }

    /// Returns the creation of the reference contract called `name` with ABI-encoded constructor parameters.
    pub fn reference(name: &str, params: &[u8]) -> Self {
        Self::new([&artifact(name).creation_code, params].concat())
    }
}

/// A kind of contract with a reference.
pub trait Suite: Clone + Debug + 'static {
    /// Constructor parameters.
    type Setup: Clone + Debug + 'static;
    /// One transaction of a user.
    type Operation: Clone + Debug + 'static;

    /// The compiled contract under test.
    const CONTRACT: &'static str;
    /// Its place among the creations: those before it are contracts that it uses.
    const INDEX: usize = 0;
    /// Custom errors of the contract that no operation can lead to and functions that never fail, as signatures; variables that stay
    /// zero, by name.
    const UNREACHABLE: &'static [&'static str] = &[];

    /// Steps that let time pass, of twenty.
    const ADVANCES: u32 = 2;
    /// Functions that change nothing though they are neither `view` nor `pure`, as signatures.
    const WITHOUT_EFFECT: &'static [&'static str] = &[];

    /// Returns the address of the contract under test: that of a creation, unless a contract makes it.
    fn address() -> Address {
        parties::contract(Self::INDEX)
    }

    fn setups() -> BoxedStrategy<Self::Setup>;

    fn operations() -> BoxedStrategy<Self::Operation>;

    /// Returns the creations of the reference, in order; contract number n is at [`parties::contract`].
    fn reference(setup: &Self::Setup) -> Vec<Creation>;

    /// Returns the transaction of an operation; what depends on the state, such as a nonce, is read from the reference.
    fn call(setup: &Self::Setup, operation: &Self::Operation, scene: &mut Scene<'_>) -> Call;

    /// Returns the keys of mappings to compare, and the arguments of view functions.
    fn keys(setup: &Self::Setup) -> Keys;

    /// Returns the contracts that the contract under test creates, whose storage and wei are compared too.
    fn created() -> Vec<Address> {
        Vec::new()
    }

    /// Returns inputs of view functions that take lists, which are not called by themselves.
    fn views(_setup: &Self::Setup) -> Vec<Bytes> {
        Vec::new()
    }

    /// Returns whether a transaction, damaged perhaps, does the same on both sides: where a template deviates on purpose it does not.
    fn is_compared(_call: &Call) -> bool {
        true
    }

    /// Returns what is done before the operations, so that more of these succeed: tokens spread, allowances given.
    fn preparation(_setup: &Self::Setup) -> Vec<Call> {
        Vec::new()
    }
}

/// Returns the compiled contract under test.
pub fn reference_of<S: Suite>() -> &'static Artifact {
    artifact(S::CONTRACT)
}

/// Returns the address of the contract under test.
pub fn under_test<S: Suite>() -> Address {
    S::address()
}

/// A transaction, or the time between two.
#[derive(Clone, Debug)]
pub enum Step<O> {
    Send(O),
    /// The operation's transaction with damage done to it.
    SendDamaged(O, Damage),
    Advance {
        blocks: u64,
        seconds: u64,
    },
}

/// What turns a transaction into one that decoders should refuse, or read the same way.
#[derive(Clone, Copy, Debug)]
pub enum Damage {
    /// Ends the input after so many bytes.
    Cut(usize),
    /// Adds a byte to the input.
    Append,
    /// Sets all bits of an argument.
    FillArgument(usize),
    /// Names a function that there is not.
    UnknownFunction,
    /// Sends one wei along.
    Value,
}

impl Damage {
    pub fn apply(self, call: &mut Call) {
        let mut input = call.input.to_vec();
        match self {
            Self::Cut(length) => input.truncate(length),
            Self::Append => input.push(1),
            Self::FillArgument(index) => input.iter_mut().skip(4 + 32 * index).take(32).for_each(|byte| *byte = 0xff),
            Self::UnknownFunction => input.iter_mut().take(4).for_each(|byte| *byte ^= 0xff),
            Self::Value => call.value += U256::ONE,
        }
        call.input = input.into();
    }

    fn strategy() -> impl Strategy<Value = Self> {
        prop_oneof![
            (0usize..200).prop_map(Self::Cut),
            Just(Self::Append),
            (0usize..4).prop_map(Self::FillArgument),
            Just(Self::UnknownFunction),
            Just(Self::Value)
        ]
    }
}

/// Constructor parameters and what happens afterwards.
#[derive(Clone, Debug)]
pub struct Case<S: Suite> {
    pub setup: S::Setup,
    pub steps: Vec<Step<S::Operation>>,
}

/// Returns the strategy of cases with up to `steps_max` steps. Of twenty, one is damaged and [`Suite::ADVANCES`] let
/// time pass.
pub fn cases<S: Suite>(steps_max: usize) -> impl Strategy<Value = Case<S>> {
    let advance = (1u64..5, prop_oneof![Just(0u64), 1u64..100, 1_000u64..200_000]);
    let step = prop_oneof![
        19 - S::ADVANCES => S::operations().prop_map(Step::Send),
        1 => (S::operations(), Damage::strategy()).prop_map(|(operation, damage)| Step::SendDamaged(operation, damage)),
        S::ADVANCES => advance.prop_map(|(blocks, seconds)| Step::Advance { blocks, seconds }),
    ]
    .boxed();
    (S::setups(), vec(step, 1..=steps_max)).prop_map(|(setup, steps)| Case { setup, steps })
}

/// The moment of an operation.
pub struct Scene<'a> {
    pub reference: &'a mut dyn Engine,
    pub clock: Clock,
}

/// Number and timestamp of the block.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    pub block: u64,
    /// In seconds.
    pub timestamp: u64,
}

impl Clock {
    pub const FIRST: Self = Self { block: FIRST_BLOCK, timestamp: FIRST_TIMESTAMP };
}

impl Scene<'_> {
    /// Returns the word that a view function of the reference gives, zero when it reverts.
    pub fn read(&mut self, contract: Address, view: &impl SolCall) -> U256 {
        let call = Call { from: Address::ZERO, to: contract, value: U256::ZERO, input: view.abi_encode().into() };
        let outcome = self.reference.view(&call);
        let is_word = outcome.is_success() && outcome.output().len() == 32;
        if is_word { U256::from_be_slice(outcome.output()) } else { U256::ZERO }
    }
}
