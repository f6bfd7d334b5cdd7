//! Undo entries of a journal.

use alloy_primitives::{B256, Bytes, U256};

use super::{
    cache::StateCache,
    entry::{AccountId, SlotId},
};

/// One change, with the value before it.
#[derive(Clone, Debug)]
pub(super) enum Undo {
    Balance { account: AccountId, previous: U256 },
    Nonce { account: AccountId, previous: u64 },
    Code { account: AccountId, previous: Box<(B256, Option<Box<Bytes>>)> },
    Slot { slot: SlotId, previous: U256 },
    AccountWarmed { account: AccountId },
    SlotWarmed { slot: SlotId },
}

impl Undo {
    pub(super) fn apply(self, cache: &mut StateCache) {
        match self {
            Self::Balance { account, previous } => cache.account_mut(account).info.balance = previous,
            Self::Nonce { account, previous } => cache.account_mut(account).info.nonce = previous,
            Self::Code { account, previous } => {
                let entry = cache.account_mut(account);
                (entry.info.code_hash, entry.code) = *previous;
            }
            Self::Slot { slot, previous } => cache.slot_mut(slot).value = previous,
            Self::AccountWarmed { account } => cache.account_mut(account).warm_in = 0,
            Self::SlotWarmed { slot } => cache.slot_mut(slot).warm_in = 0,
        }
    }
}
