//! A chain of ready-made templates for their tests, and a plain token that these hold.

use std::sync::LazyLock;

use alloy_primitives::{Address, Bytes, U256, hex, keccak256};
use alloy_sol_types::{SolCall, SolError};

use self::{actor::ActorTemplate, test_token::TestToken};
use crate::{
    primitives::{Gas, Timestamp},
    state::{Journal, fixture::MapView},
    vm::{BlockContext, FrameOutcome, FrameResult, HaltReason, Message, MessageKind, TemplateRegistry, execute},
};

pub(super) mod actor;
pub(super) mod pools;
pub(super) mod test_token;

/// Gas of a call, in gas units: ample.
const GAS: u64 = 10_000_000;

/// Ether that each account has at first, in wei.
pub(super) const FUNDS: u64 = 1_000_000;

/// Timestamp of the first block, in seconds.
pub(super) const NOW: u64 = 1_000_000;

/// Contracts, and the block in which they are called; each call is a transaction.
#[derive(Clone)]
pub(super) struct TestChain {
    pub(super) journal: Journal,
    pub(super) block: BlockContext,
    creations: u64,
}

impl TestChain {
    pub(super) fn new(accounts: &[Address]) -> Self {
        let journal = Journal::new(MapView::with_balances(accounts, U256::from(FUNDS)));
        let block = BlockContext { chain_id: 1, timestamp: Timestamp::from_secs(NOW), ..BlockContext::default() };
        Self { journal, block, creations: 0 }
    }

    /// Moves to a block of another time, in seconds.
    pub(super) fn at(&mut self, timestamp: u64) -> &mut Self {
        self.block.timestamp = Timestamp::from_secs(timestamp);
        self
    }

    pub(super) fn create(&mut self, from: Address, value: u64, init_code: &[u8], gas: u64) -> (Address, FrameResult) {
        let message = Message::create(from, self.creations, U256::from(value), init_code, Gas::new(gas));
        self.creations += 1;
        (message.to, self.run(&message))
    }

    pub(super) fn deploy(&mut self, from: Address, value: u64, init_code: &[u8]) -> Address {
        let (contract, result) = self.create(from, value, init_code, GAS);
        assert!(result.is_success(), "{result:?}");
        contract
    }

    pub(super) fn send(&mut self, from: Address, to: Address, value: u64, input: &[u8], gas: u64) -> FrameResult {
        self.run(&Message::call(from, to, U256::from(value), input, Gas::new(gas)))
    }

    /// A call in which all changes are forbidden.
    pub(super) fn send_static(&mut self, from: Address, to: Address, input: &[u8], gas: u64) -> FrameResult {
        let mut message = Message::call(from, to, U256::ZERO, input, Gas::new(gas));
        message.kind = MessageKind::StaticCall;
        self.run(&message)
    }

    /// Calls, and returns what the contract returns or reverts with.
    pub(super) fn call<C: SolCall>(&mut self, from: Address, to: Address, call: &C) -> Result<C::Return, Bytes> {
        let result = self.send(from, to, 0, &call.abi_encode(), GAS);
        match result.outcome {
            FrameOutcome::Success => Ok(C::abi_decode_returns_validate(&result.output).unwrap()),
            FrameOutcome::Revert => Err(result.output),
            FrameOutcome::Halt(reason) => panic!("{reason:?}"),
        }
    }

    /// Calls without an effect that stays.
    pub(super) fn try_read<C: SolCall>(&self, to: Address, call: &C) -> Result<C::Return, Bytes> {
        self.clone().call(Address::ZERO, to, call)
    }

    pub(super) fn read<C: SolCall>(&self, to: Address, call: &C) -> C::Return {
        self.try_read(to, call).unwrap_or_else(|data| panic!("{}: {}", C::SIGNATURE, hex::encode(data)))
    }

    pub(super) fn ok<C: SolCall>(&mut self, from: Address, to: Address, call: &C) -> C::Return {
        self.call(from, to, call).unwrap_or_else(|data| panic!("{}: {}", C::SIGNATURE, hex::encode(data)))
    }

    pub(super) fn fails<C: SolCall>(&mut self, from: Address, to: Address, call: &C, error: &impl SolError) {
        match self.call(from, to, call) {
            Ok(_) => panic!("{} succeeds", C::SIGNATURE),
            Err(data) => assert_eq!(hex::encode(data), hex::encode(error.abi_encode()), "{}", C::SIGNATURE),
        }
        assert!(self.journal.logs().is_empty());
    }

    /// A call that reverts without data, as that of a function that is not there.
    pub(super) fn is_absent<C: SolCall>(&mut self, from: Address, to: Address, call: &C) {
        match self.call(from, to, call) {
            Ok(_) => panic!("{} succeeds", C::SIGNATURE),
            Err(data) => assert!(data.is_empty(), "{}", hex::encode(data)),
        }
    }

    pub(super) fn wei(&mut self, account: Address) -> u64 {
        self.journal.balance(&account).unwrap().to()
    }

    pub(super) fn slot(&mut self, contract: Address, slot: U256) -> U256 {
        self.journal.storage(&contract, &slot).unwrap()
    }

    /// Returns a line of a golden table: outcome, gas and refund, and the first bytes of keccak of output and logs.
    pub(super) fn line(&mut self, name: &str, from: Address, to: Address, value: u64, input: &[u8]) -> String {
        let result = self.send(from, to, value, input, GAS);
        format!("{name}: {}\n", self.told(&result))
    }

    /// As [`TestChain::line`], of a creation; its address if it succeeds.
    pub(super) fn creation_line(&mut self, from: Address, name: &str, init_code: &[u8]) -> (Option<Address>, String) {
        let (contract, result) = self.create(from, 0, init_code, GAS);
        (result.is_success().then_some(contract), format!("construction with {name}: {}\n", self.told(&result)))
    }

    fn told(&self, result: &FrameResult) -> String {
        told(&self.journal, result, GAS)
    }

    /// Runs a call with gas limits of all sizes below what it needs, and finds the state as it was after each.
    pub(super) fn runs_out_of_gas_without_effect(&self, from: Address, to: Address, value: u64, input: &[u8]) {
        self.is_undone_without_gas(|chain, gas| chain.send(from, to, value, input, gas));
    }

    /// As [`TestChain::runs_out_of_gas_without_effect`], of a creation.
    pub(super) fn creation_runs_out_of_gas_without_effect(&self, from: Address, value: u64, init_code: &[u8]) {
        self.is_undone_without_gas(|chain, gas| chain.create(from, value, init_code, gas).1);
    }

    fn is_undone_without_gas(&self, run: impl Fn(&mut Self, u64) -> FrameResult) {
        let used = {
            let result = run(&mut self.clone(), GAS);
            assert!(result.is_success(), "{result:?}");
            GAS - result.gas_left.get()
        };
        let needed = (used..GAS).find(|gas| run(&mut self.clone(), *gas).is_success()).unwrap();
        let before = self.clone().journal.take_changes();
        let limits = (0..needed).step_by(61).chain([needed - 1]);
        for gas in limits {
            let mut chain = self.clone();
            let result = run(&mut chain, gas);
            assert!(!result.is_success(), "{gas} of {needed} suffice");
            assert_ne!(result.outcome, FrameOutcome::Halt(HaltReason::TemplatePanic), "gas {gas}");
            if result.outcome == FrameOutcome::Halt(HaltReason::OutOfGas) {
                assert_eq!(result.gas_left, Gas::ZERO);
            }
            assert!(chain.journal.logs().is_empty());
            assert_eq!(chain.journal.take_changes(), before, "gas {gas}");
        }
    }

    fn run(&mut self, message: &Message<'_>) -> FrameResult {
        self.journal.begin_transaction();
        execute(&mut self.journal, &self.block, registry(), message).unwrap()
    }
}

/// Returns the ready-made templates, [`TestToken`] and [`ActorTemplate`].
fn registry() -> &'static TemplateRegistry {
    static REGISTRY: LazyLock<TemplateRegistry> = LazyLock::new(|| {
        let mut registry = super::builtin().clone();
        registry.register(std::sync::Arc::new(TestToken)).unwrap();
        registry.register(std::sync::Arc::new(ActorTemplate)).unwrap();
        registry
    });
    &REGISTRY
}

/// Returns what a golden table has of a call with this gas limit: outcome, gas and refund, and the start of keccak of output and logs.
pub(super) fn told(journal: &Journal, result: &FrameResult, gas: u64) -> String {
    let mut effects = result.output.to_vec();
    for log in journal.logs() {
        log.topics().iter().for_each(|topic| effects.extend_from_slice(topic.as_slice()));
        effects.extend_from_slice(&log.data.data);
    }
    let outcome = if result.is_success() { "ok" } else { "reverts" };
    format!("{outcome}, {}, {}, {}", gas - result.gas_left.get(), journal.refund().get(), short(&effects))
}

/// Returns the start of keccak, in hex.
pub(super) fn short(bytes: &[u8]) -> String {
    hex::encode(&keccak256(bytes)[..4])
}
