//! Templates in chainbox.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use alloy_sol_types::SolValue;
use chainbox::{
    primitives::{Gas, Height, Timestamp},
    state::{CommitId, Journal, MemoryState, StateStore},
    templates,
    vm::{BlockContext, FrameOutcome, Marker, Message, TemplateRegistry, execute},
};

use crate::{
    engine::{CHAIN_ID, Call, Engine, FIRST_BLOCK, FIRST_TIMESTAMP, GAS_LIMIT, Outcome},
    parties::Answer,
    receiver::{RECEIVER, ReceiverTemplate},
    relay_target::RelayTargetTemplate,
};

/// A chain of the ready-made templates, and of those that do what `Receiver.sol` and `RelayTarget.sol` do.
pub struct Templates {
    journal: Journal,
    block: BlockContext,
    registry: TemplateRegistry,
    touched: BTreeMap<Address, BTreeSet<U256>>,
}

impl Templates {
    pub fn new() -> Self {
        let mut registry = templates::builtin().clone();
        registry.register(Arc::new(ReceiverTemplate)).expect("a free id");
        registry.register(Arc::new(RelayTargetTemplate)).expect("a free id");
        let block = BlockContext {
            chain_id: CHAIN_ID,
            height: Height::new(FIRST_BLOCK),
            parent_hash: parent_hash(FIRST_BLOCK),
            timestamp: Timestamp::from_secs(FIRST_TIMESTAMP),
            gas_limit: Gas::new(u64::MAX),
            ..BlockContext::default()
        };
        let view = MemoryState::new().view(CommitId::EMPTY).expect("the empty version");
        Self { journal: Journal::new(view), block, registry, touched: BTreeMap::new() }
    }

    fn run(&mut self, message: &Message<'_>) -> Outcome {
        let result = execute(&mut self.journal, &self.block, &self.registry, message).expect("memory is readable");
        for (contract, slot) in self.journal.accessed() {
            self.touched.entry(contract).or_default().extend(slot);
        }
        match result.outcome {
            FrameOutcome::Success => Outcome::Success { output: result.output, logs: self.journal.take_logs() },
            FrameOutcome::Revert => Outcome::Revert { output: result.output },
            FrameOutcome::Halt(_) => Outcome::Halt,
        }
    }
}

impl Engine for Templates {
    fn create(&mut self, creator: Address, value: U256, init_code: &[u8]) -> Outcome {
        self.journal.begin_transaction();
        match self.run(&Message::create(creator, 0, value, init_code, Gas::new(GAS_LIMIT))) {
            Outcome::Success { logs, .. } => Outcome::Success { output: Default::default(), logs },
            other => other,
        }
    }

    fn call(&mut self, call: &Call) -> Outcome {
        self.journal.begin_transaction();
        self.run(&Message::call(call.from, call.to, call.value, &call.input, Gas::new(GAS_LIMIT)))
    }

    fn view(&mut self, call: &Call) -> Outcome {
        self.journal.begin_transaction();
        let checkpoint = self.journal.checkpoint();
        let outcome = self.run(&Message::call(call.from, call.to, call.value, &call.input, Gas::new(GAS_LIMIT)));
        self.journal.revert_to(checkpoint);
        outcome
    }

    fn storage(&mut self, contract: Address, slot: U256) -> U256 {
        self.journal.storage(&contract, &slot).expect("memory is readable")
    }

    fn touched(&self, contract: Address) -> Vec<U256> {
        self.touched.get(&contract).into_iter().flatten().copied().collect()
    }

    fn balance(&mut self, account: Address) -> U256 {
        self.journal.balance(&account).expect("memory is readable")
    }

    fn set_balance(&mut self, account: Address, balance: U256) {
        self.journal.set_balance(&account, balance).expect("memory is readable");
    }

    fn advance(&mut self, blocks: u64, seconds: u64) {
        let height = self.block.height.get() + blocks;
        (self.block.height, self.block.parent_hash) = (Height::new(height), parent_hash(height));
        self.block.timestamp = Timestamp::from_secs(self.block.timestamp.as_secs() + seconds);
    }

    fn receiver(&self, answer: Answer) -> Bytes {
        Marker(RECEIVER).init_code(&U256::from(answer as u8).abi_encode())
    }
}

/// Returns the hash that revm's empty database gives the block below.
fn parent_hash(height: u64) -> B256 {
    keccak256((height - 1).to_string())
}
