//! What a differential test asks of the two sides.

use alloy_primitives::{Address, Bytes, Log, U256};

use crate::parties::Answer;

/// Number of the first block in which contracts are called.
pub const FIRST_BLOCK: u64 = 100;
/// Timestamp of that block, in seconds.
pub const FIRST_TIMESTAMP: u64 = 1_000_000;
/// Gas limit of a call or creation; enough for all, as gas is not compared.
pub const GAS_LIMIT: u64 = 30_000_000;
pub const CHAIN_ID: u64 = 1;

/// A transaction that calls.
#[derive(Clone, Debug)]
pub struct Call {
    pub from: Address,
    pub to: Address,
    /// In wei.
    pub value: U256,
    pub input: Bytes,
}

/// How a call or creation ended, as its caller sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The output of a creation is empty here: its code is what differs.
    Success {
        output: Bytes,
        logs: Vec<Log>,
    },
    Revert {
        output: Bytes,
    },
    Halt,
}

impl Outcome {
    /// Fills what follows a reason with zeros: old compilers leave there what was in memory.
    pub fn without_padding(self) -> Self {
        match self {
            Self::Revert { output } if output.starts_with(&[0x08, 0xc3, 0x79, 0xa0]) && output.len() >= 68 => {
                let length = usize::from(output[66]) << 8 | usize::from(output[67]);
                let mut output = output.to_vec();
                output.iter_mut().skip(68 + length).for_each(|byte| *byte = 0);
                Self::Revert { output: output.into() }
            }
            other => other,
        }
    }

    pub const fn is_success(&self) -> bool {
        matches!(self, Self::Success { .. })
    }

    /// Returns return data or revert data.
    pub fn output(&self) -> &[u8] {
        match self {
            Self::Success { output, .. } | Self::Revert { output } => output,
            Self::Halt => &[],
        }
    }
}

/// A chain in memory. The same creations give contracts of the same addresses in every engine.
pub trait Engine {
    /// Creates a contract at `creator.create(0)`; a creator creates once.
    fn create(&mut self, creator: Address, value: U256, init_code: &[u8]) -> Outcome;

    /// Runs a transaction.
    fn call(&mut self, call: &Call) -> Outcome;

    /// Runs a call of which nothing is kept.
    fn view(&mut self, call: &Call) -> Outcome;

    fn storage(&mut self, contract: Address, slot: U256) -> U256;

    /// Returns the slots of `contract` that were ever read or written.
    fn touched(&self, contract: Address) -> Vec<U256>;

    /// Returns an account's balance, in wei.
    fn balance(&mut self, account: Address) -> U256;

    /// Sets an account's balance, in wei.
    fn set_balance(&mut self, account: Address, balance: U256);

    /// Moves to a later block.
    fn advance(&mut self, blocks: u64, seconds: u64);

    /// Returns the init code of a receiver.
    fn receiver(&self, answer: Answer) -> Bytes;
}
