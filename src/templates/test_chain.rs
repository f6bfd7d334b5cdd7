//! A chain of ready-made templates for their tests, and plain tokens that these hold.

use std::sync::LazyLock;

use alloy_primitives::{Address, Bytes, U256, hex};
use alloy_sol_types::{SolCall, SolError};

use self::{actor::ActorTemplate, golden::Place, test_nft::TestNft, test_token::TestToken, test_votes::TestVotes};
use crate::{
    primitives::{Gas, Height, Timestamp},
    state::{Journal, fixture::MapView},
    vm::{BlockContext, FrameOutcome, FrameResult, Message, MessageKind, TemplateRegistry, execute},
};

pub(super) mod actor;
pub(crate) mod golden;
pub(super) mod pools;
pub(super) mod test_nft;
pub(super) mod test_token;
pub(super) mod test_votes;

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

    /// Moves so many blocks on.
    pub(super) fn advance(&mut self, blocks: u64) {
        self.block.height = Height::new(self.block.height.get() + blocks);
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

    /// Returns a line of a golden table, of a call: see [`Place::line`].
    pub(super) fn line(&mut self, name: &str, from: Address, to: Address, value: u64, input: &[u8]) -> String {
        let message = Message::call(from, to, U256::from(value), input, Gas::new(GAS));
        Place { block: &self.block, registry: registry() }.line(name, &mut self.journal, &message)
    }

    /// As [`TestChain::line`], of a creation; its address if it succeeds.
    pub(super) fn creation_line(&mut self, from: Address, name: &str, init_code: &[u8]) -> (Option<Address>, String) {
        let message = Message::create(from, self.creations, U256::ZERO, init_code, Gas::new(GAS));
        self.creations += 1;
        let place = Place { block: &self.block, registry: registry() };
        let (result, line) = place.run(&format!("construction with {name}"), &mut self.journal, &message);
        (result.is_success().then_some(message.to), line)
    }

    fn run(&mut self, message: &Message<'_>) -> FrameResult {
        self.journal.begin_transaction();
        execute(&mut self.journal, &self.block, registry(), message).unwrap()
    }
}

/// Returns the ready-made templates, [`TestToken`], [`TestVotes`], [`TestNft`] and [`ActorTemplate`].
fn registry() -> &'static TemplateRegistry {
    static REGISTRY: LazyLock<TemplateRegistry> = LazyLock::new(|| {
        let mut registry = super::builtin().clone();
        registry.register(std::sync::Arc::new(TestToken)).unwrap();
        registry.register(std::sync::Arc::new(TestVotes)).unwrap();
        registry.register(std::sync::Arc::new(TestNft)).unwrap();
        registry.register(std::sync::Arc::new(ActorTemplate)).unwrap();
        registry
    });
    &REGISTRY
}
