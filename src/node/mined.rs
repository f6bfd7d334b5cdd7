//! A transaction in its block, with its receipt.

use core::fmt;
use std::sync::Arc;

use alloy_sol_types::SolEvent;

use crate::{
    chain::{ExecutedBlock, Receipt, TransactionIndex},
    primitives::{Log, Transaction},
    vm::TemplateRegistry,
};

/// A transaction in a canonical block, with its receipt.
#[derive(Clone)]
pub struct MinedTransaction {
    block: ExecutedBlock,
    index: TransactionIndex,
    /// The chain's templates, by whose ABIs its logs are told in words.
    registry: Arc<TemplateRegistry>,
}

impl MinedTransaction {
    pub(super) const fn new(block: ExecutedBlock, index: TransactionIndex, registry: Arc<TemplateRegistry>) -> Self {
        Self { block, index, registry }
    }

    /// The block that includes it.
    pub const fn block(&self) -> &ExecutedBlock {
        &self.block
    }

    /// The transaction's position in the block, from 0.
    pub const fn index(&self) -> TransactionIndex {
        self.index
    }

    /// The transaction.
    pub fn transaction(&self) -> &Transaction {
        &self.block.block().transactions()[self.index as usize]
    }

    /// The transaction's receipt.
    pub fn receipt(&self) -> &Receipt {
        &self.block.receipts()[self.index as usize]
    }

    /// Whether the transaction succeeded.
    pub fn is_success(&self) -> bool {
        self.receipt().is_success()
    }

    /// The transaction's logs, in order.
    pub fn logs(&self) -> &[Log] {
        self.receipt().logs()
    }

    /// The transaction's events of kind `E`, in order, of all contracts.
    pub fn events<E: SolEvent>(&self) -> Vec<E> {
        self.receipt().events()
    }

    /// Returns its logs in words, in order: `Transfer(from: 0x..., to: 0x..., value: 5) of 0x...` where a template of the chain has the
    /// event, else the first topic and the length of the data.
    pub fn describe_logs(&self) -> Vec<String> {
        let text = |log: &Log| match (self.registry.describe_event(log), log.data.topics().first()) {
            (Some(text), _) => format!("{text} of {}", log.address),
            (None, Some(topic)) => {
                format!("an unknown event {topic}, {} bytes, of {}", log.data.data.len(), log.address)
            }
            (None, None) => format!("a log without topics, {} bytes, of {}", log.data.data.len(), log.address),
        };
        self.logs().iter().map(text).collect()
    }
}

/// A line: hashes, sender, recipient, status, gas and the number of logs.
impl fmt::Debug for MinedTransaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (transaction, receipt) = (self.transaction(), self.receipt());
        let mut fields = f.debug_struct("MinedTransaction");
        fields
            .field("hash", &transaction.hash())
            .field("height", &self.block.height().get())
            .field("block_hash", &self.block.hash())
            .field("index", &self.index)
            .field("from", &transaction.sender());
        match (transaction.to(), receipt.contract_address) {
            (Some(to), _) => fields.field("to", &to),
            (None, Some(created)) => fields.field("created", &created),
            (None, None) => &mut fields,
        };
        fields
            .field("value", &transaction.value())
            .field("input_bytes", &transaction.input().len())
            .field("status", &if receipt.is_success() { "success" } else { "failed" })
            .field("gas_used", &receipt.gas_used.get())
            .field("logs", &receipt.logs().len())
            .finish()
    }
}
