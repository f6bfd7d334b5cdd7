//! Who earns the fees of a block: the operator of the key that sealed it.
//!
//! Consensus and headers know validators by their sealing keys (a header's `beneficiary` stays the key's address); fees, and `COINBASE` in
//! contracts, are the operator's. On chains with a contract of the validators its storage tells the operator, read once a block from the
//! state before the block's system calls.

use alloy_consensus::Header;

use super::{context::ChainContext, spec::GenesisSpec};
use crate::{
    primitives::{Address, U256},
    state::{Journal, StateError, StateView},
    system::{
        staking::{self, STAKING_ADDRESS},
        validators::{self, VALIDATORS_ADDRESS},
    },
};

/// A contract that knows the operators of sealing keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyRegistry {
    Staking,
    Validators,
}

impl KeyRegistry {
    /// Returns that of a chain with this specification; `None` where every key is its own operator.
    const fn of(spec: &GenesisSpec) -> Option<Self> {
        match (&spec.staking, &spec.validator_registry) {
            (Some(_), _) => Some(Self::Staking),
            (None, Some(_)) => Some(Self::Validators),
            (None, None) => None,
        }
    }

    /// Returns the operator of a key, reading one word of storage.
    fn operator_of<E>(self, key: Address, read: impl FnOnce(&Address, &U256) -> Result<U256, E>) -> Result<Address, E> {
        match self {
            Self::Staking => staking::operator_in(key, |slot| read(&STAKING_ADDRESS, &slot)),
            Self::Validators => validators::operator_in(key, |slot| read(&VALIDATORS_ADDRESS, &slot)),
        }
    }
}

impl ChainContext {
    /// Returns the account that earns the fees of a block with this header, by the state in a journal.
    pub(super) fn fee_recipient(&self, header: &Header, journal: &mut Journal) -> Result<Address, StateError> {
        self.recipient(header, |address, slot| journal.storage(address, slot))
    }

    /// As [`ChainContext::fee_recipient`], by a state.
    pub(super) fn fee_recipient_in(&self, header: &Header, state: &dyn StateView) -> Result<Address, StateError> {
        self.recipient(header, |address, slot| state.storage(address, slot))
    }

    fn recipient<E>(
        &self,
        header: &Header,
        read: impl FnOnce(&Address, &U256) -> Result<U256, E>,
    ) -> Result<Address, E> {
        let author = self.rules.author(header);
        match KeyRegistry::of(&self.spec) {
            Some(registry) => registry.operator_of(author, read),
            None => Ok(author),
        }
    }
}
