//! ERC-2771 forwarders, and a contract that trusts one.

use alloy_primitives::{Address, Bytes, U256, aliases::U48};
use alloy_sol_types::{SolCall, SolValue, sol};
use chainbox::{
    templates::{Erc2771ForwarderParams, erc2771_forwarder::IMMUTABLES},
    vm::Marker,
};
use proptest::{collection::vec, prelude::*, sample::select};

use crate::{
    altered::notices_each_function,
    differential::Differential,
    engine::Call,
    exercise::exercise,
    layout::Keys,
    parties::{contract, person},
    relay_target::{FORWARDER_SLOT, RELAY_TARGET, RelayTarget},
    signatures::Signing,
    suite::{Creation, Scene, Suite},
    values,
};

sol! {
    #[derive(Debug)]
    struct ForwardRequestData {
        address from;
        address to;
        uint256 value;
        uint256 gas;
        uint48 deadline;
        bytes data;
        bytes signature;
    }

    #[derive(Debug)]
    struct ForwardRequest {
        address from;
        address to;
        uint256 value;
        uint256 gas;
        uint256 nonce;
        uint48 deadline;
        bytes data;
    }

    function verify(ForwardRequestData request);
    function execute(ForwardRequestData request);
    function executeBatch(ForwardRequestData[] requests, address refundReceiver);
}

/// Place of the contract that trusts the forwarder among the creations.
const TARGET: usize = 0;
const FORWARDER: usize = 1;

/// Gas of a request, in gas units: ample, and so that its share that a caller keeps is left.
const GAS: u64 = 1_000_000;

#[derive(Clone, Debug)]
pub struct Forwarder;

/// A request, mostly as its signer wants it.
#[derive(Clone, Debug)]
pub struct Choice {
    signing: Signing,
    /// An account that is not the signer.
    other_from: Option<Address>,
    to: Address,
    /// In wei.
    value: u64,
    /// In gas units.
    gas: U256,
    data: Bytes,
    /// Length of the signature in bytes, if not 65.
    length: Option<usize>,
}

#[derive(Clone, Debug)]
pub enum Operation {
    /// One request by itself.
    Execute {
        from: Address,
        choice: Choice,
        /// Ether sent beyond what the request says, in wei.
        excess: u64,
    },
    /// Several requests.
    Batch {
        from: Address,
        choices: Vec<Choice>,
        refund_receiver: Address,
        /// Ether sent beyond what the requests say, in wei.
        excess: u64,
    },
}

impl Choice {
    fn strategy() -> impl Strategy<Value = Self> {
        let to = prop_oneof![12 => Just(contract(TARGET)), 1 => values::account()];
        // A request without gas has no value, whose stipend lasts longer in one engine than in the other.
        let value_and_gas = prop_oneof![
            8 => Just((0, U256::from(GAS))),
            6 => (1_u64..50).prop_map(|value| (value, U256::from(GAS))),
            1 => Just((0, U256::ZERO)),
            1 => select(vec![U256::from(u64::MAX), U256::MAX]).prop_map(|gas| (0, gas)),
        ];
        let length = proptest::option::weighted(0.05, select(vec![0_usize, 64, 66]));
        (Signing::strategy(), proptest::option::weighted(0.05, values::account()), to, value_and_gas, data(), length)
            .prop_map(|(signing, other_from, to, (value, gas), data, length)| Self {
                signing,
                other_from,
                to,
                value,
                gas,
                data,
                length,
            })
    }

    /// Returns the request, signed with the nonce in force after `before` others of the same signer.
    fn request(&self, name: &str, before: usize, scene: &mut Scene<'_>) -> ForwardRequestData {
        let nonce = self.signing.nonce(contract(FORWARDER), scene) + U256::from(before);
        let deadline = self.signing.deadline(scene).min(U256::from(u64::MAX >> 16));
        self.signed(name, nonce, U48::from(deadline))
    }

    fn signed(&self, name: &str, nonce: U256, deadline: U48) -> ForwardRequestData {
        let from = self.other_from.unwrap_or(person(self.signing.signer));
        let (to, value, gas, data) = (self.to, U256::from(self.value), self.gas, self.data.clone());
        let message = ForwardRequest { from, to, value, gas, nonce, deadline, data: data.clone() };
        let parts = self.signing.sign(&message, name, contract(FORWARDER));
        let mut signature = [parts.r.as_slice(), parts.s.as_slice(), &[parts.v]].concat();
        signature.resize(self.length.unwrap_or(65), 0);
        ForwardRequestData { from, to, value, gas, deadline, data, signature: signature.into() }
    }
}

/// Returns the strategy of what the target is asked. None is cut: the bytes that a forwarder appends would fill the gap.
fn data() -> impl Strategy<Value = Bytes> {
    let tell = || RelayTarget::tellCall {}.abi_encode();
    let pass = move |to| RelayTarget::passCall { to, data: tell().into() }.abi_encode();
    let refusals = vec![RelayTarget::refuseCall {}.abi_encode(), vec![1, 2, 3, 4], pass(contract(FORWARDER))];
    let told = vec![tell(), tell(), pass(contract(TARGET)), pass(person(0))];
    prop_oneof![5 => select(told), 1 => select(refusals)].prop_map(Bytes::from)
}

impl Suite for Forwarder {
    /// Name of the domain.
    type Setup = String;
    type Operation = Operation;

    const CONTRACT: &'static str = "ERC2771Forwarder";
    const INDEX: usize = FORWARDER;
    const UNREACHABLE: &'static [&'static str] = &[
        // Nonces are used in turn, and never named.
        "InvalidAccountNonce(address,uint256)",
        // It refunds what it was sent.
        "InsufficientBalance(uint256,uint256)",
        // Names that are too long are refused at the creation.
        "InvalidShortString()",
        "_nameFallback",
        "_versionFallback",
    ];

    fn setups() -> BoxedStrategy<String> {
        prop_oneof![6 => values::short_text(), 1 => values::text()].boxed()
    }

    fn operations() -> BoxedStrategy<Operation> {
        let excess = || prop_oneof![15 => Just(0_u64), 1 => 1_u64..5];
        let execute = (values::a_person(), Choice::strategy(), excess())
            .prop_map(|(from, choice, excess)| Operation::Execute { from, choice, excess });
        let refund_receiver = prop_oneof![3 => values::a_person(), 1 => values::a_receiver(), 2 => Just(Address::ZERO)];
        let batch = (values::a_person(), vec(Choice::strategy(), 0..4), refund_receiver, excess()).prop_map(
            |(from, choices, refund_receiver, excess)| Operation::Batch { from, choices, refund_receiver, excess },
        );
        prop_oneof![3 => execute, 2 => batch].boxed()
    }

    fn reference(name: &String) -> Vec<Creation> {
        let target = Creation::reference("RelayTarget", &contract(FORWARDER).abi_encode());
        vec![target, Creation::reference(Self::CONTRACT, &(name,).abi_encode_params())]
    }

    fn call(name: &String, operation: &Operation, scene: &mut Scene<'_>) -> Call {
        let to = contract(FORWARDER);
        match operation {
            Operation::Execute { from, choice, excess } => {
                let request = choice.request(name, 0, scene);
                let value = U256::from(choice.value + excess);
                Call { from: *from, to, value, input: executeCall { request }.abi_encode().into() }
            }
            Operation::Batch { from, choices, refund_receiver, excess } => {
                let before = |index: usize| {
                    let signer = choices[index].signing.signer;
                    choices[..index].iter().filter(|other| other.signing.signer == signer).count()
                };
                let requests = choices.iter().enumerate();
                let requests = requests.map(|(index, choice)| choice.request(name, before(index), scene)).collect();
                let value = U256::from(choices.iter().map(|choice| choice.value).sum::<u64>() + excess);
                let input = executeBatchCall { requests, refundReceiver: *refund_receiver }.abi_encode().into();
                Call { from: *from, to, value, input }
            }
        }
    }

    fn keys(_: &String) -> Keys {
        Keys { addresses: values::accounts(), numbers: Vec::new(), words: Vec::new() }
    }

    /// Requests with the first nonces, one of which is in force if its signer has not used many.
    fn views(name: &String) -> Vec<Bytes> {
        let signed = |signer: usize, nonce: u64| {
            let signing = Signing { signer, nonce_offset: 0, deadline_offset: None, flaw: None };
            let (value, gas, data) = (0, U256::from(GAS), Bytes::new());
            let choice = Choice { signing, other_from: None, to: contract(TARGET), value, gas, data, length: None };
            verifyCall { request: choice.signed(name, U256::from(nonce), U48::MAX) }.abi_encode().into()
        };
        (0..2).flat_map(|signer| (0..4).map(move |nonce| signed(signer, nonce))).collect()
    }
}

#[test]
fn operations_reach_all_of_the_reference() {
    exercise::<Forwarder>();
}

#[test]
fn each_function_is_noticed() {
    notices_each_function::<Forwarder>();
}

#[test]
fn the_template_does_what_the_reference_does() {
    Differential::<Forwarder> {
        creations: |name| {
            let target = Marker(RELAY_TARGET).init_code(&contract(FORWARDER).abi_encode());
            vec![Creation::new(target), Creation::new(Erc2771ForwarderParams::new(name).init_code())]
        },
        own_slots: &[IMMUTABLES, FORWARDER_SLOT],
        regressions: "tests/openzeppelin/regressions/forwarder.txt",
    }
    .run();
}
