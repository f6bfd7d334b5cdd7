//! From the specification to the genesis state and header.

use std::collections::BTreeMap;

use alloy_consensus::Header;
use alloy_primitives::{B256, U256, keccak256};

use super::GenesisSpec;
use crate::{
    chain::block::empty_header,
    primitives::Height,
    state::{AccountChange, AccountInfo, EMPTY_CODE_HASH, EMPTY_ROOT, StateChanges},
    system::staking::{STAKING_ADDRESS, StakingTemplate},
    vm::Marker,
};

impl GenesisSpec {
    /// Returns whether the staking contract is among the accounts, as in a dump.
    pub(in crate::chain) fn has_staking_contract(&self) -> bool {
        let marker = Marker(StakingTemplate::ID).to_bytes();
        self.accounts.get(&STAKING_ADDRESS).is_some_and(|account| account.code.as_ref() == marker)
    }

    /// Returns the accounts as changes to the empty state, without the contracts, whose constructors run on top of them.
    pub fn state_changes(&self) -> StateChanges {
        let mut changes = StateChanges::default();
        for (address, account) in &self.accounts {
            let code_hash = if account.code.is_empty() { EMPTY_CODE_HASH } else { keccak256(&account.code) };
            if !account.code.is_empty() {
                changes.codes.insert(code_hash, account.code.clone());
            }
            let info = AccountInfo { nonce: account.nonce, balance: account.balance, code_hash };
            let storage = account.storage.iter().map(|(slot, value)| (*slot, *value)).collect();
            let is_empty = info == AccountInfo { nonce: 0, balance: U256::ZERO, code_hash: EMPTY_CODE_HASH };
            if !is_empty || !account.storage.is_empty() {
                changes.accounts.insert(*address, AccountChange { info: Some(info), clear_storage: false, storage });
            }
        }
        changes
    }

    /// Returns the specification without accounts and contracts, which are in the state once genesis is built.
    #[must_use]
    pub fn without_state(&self) -> Self {
        let (accounts, contracts, consensus) = (BTreeMap::new(), Vec::new(), self.consensus.clone());
        let (name, extra_data, validators) = (self.name.clone(), self.extra_data.clone(), self.validators.clone());
        Self { name, extra_data, accounts, contracts, validators, consensus, ..*self }
    }

    /// Returns the genesis header over a state with this root.
    pub fn header(&self, state_root: B256) -> Header {
        Header {
            beneficiary: self.coinbase,
            state_root,
            transactions_root: EMPTY_ROOT,
            receipts_root: EMPTY_ROOT,
            difficulty: self.difficulty,
            gas_limit: self.gas_limit.get(),
            timestamp: self.timestamp.as_secs(),
            extra_data: self.extra_data.clone(),
            mix_hash: self.mix_hash,
            nonce: self.nonce,
            base_fee_per_gas: self
                .base_fee
                .params()
                .filter(|_| self.forks.is_london(Height::GENESIS))
                .map(|params| params.initial),
            ..empty_header()
        }
    }
}
