//! From the specification to the genesis state and header.

use std::collections::BTreeMap;

use alloy_consensus::Header;
use alloy_primitives::{B256, U256, keccak256};

use super::{Forks, GenesisSpec};
use crate::{
    chain::{
        base_fee::BaseFeeParams,
        block::empty_header,
        fork_fields::{predictable_mix_hash, with_fork_fields},
    },
    primitives::Height,
    state::{AccountChange, AccountInfo, EMPTY_CODE_HASH, EMPTY_ROOT, StateChanges},
    vm::ForkRules,
};

impl GenesisSpec {
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
        // Without a bound to turn off, the switch is at its default, so that earlier forms are equal to it.
        let has_cap = matches!(self.forks, Forks::Since(hardfork) if hardfork.rules().tx_gas_limit_max.is_some());
        let transaction_gas_cap = self.transaction_gas_cap || !has_cap;
        let (permissions, modules) = (self.permissions.clone(), self.modules.clone());
        Self {
            name,
            extra_data,
            accounts,
            contracts,
            validators,
            permissions,
            modules,
            consensus,
            transaction_gas_cap,
            ..*self
        }
    }

    /// Returns the base fee that a header has by these rules: by `next` where it is dynamic; where it is off, zero for the forks whose
    /// headers need the field, for the encoding has no place for those after it otherwise.
    pub(in crate::chain) fn base_fee_by(
        params: Option<BaseFeeParams>,
        rules: &ForkRules,
        next: impl FnOnce(BaseFeeParams) -> u64,
    ) -> Option<u64> {
        match params {
            Some(params) => rules.has_base_fee.then(|| next(params)),
            None => rules.withdrawals_root.map(|_| 0),
        }
    }

    /// Returns `mixHash` of the genesis header.
    pub(in crate::chain) fn genesis_mix_hash(&self) -> B256 {
        match self.mix_hash {
            B256::ZERO if self.rules_at(Height::GENESIS).has_prev_randao => {
                predictable_mix_hash(B256::ZERO, Height::GENESIS)
            }
            given => given,
        }
    }

    /// Returns the genesis header over a state with this root.
    pub fn header(&self, state_root: B256) -> Header {
        let rules = self.rules_at(Height::GENESIS);
        Header {
            beneficiary: self.coinbase,
            state_root,
            transactions_root: EMPTY_ROOT,
            receipts_root: EMPTY_ROOT,
            difficulty: self.difficulty,
            gas_limit: self.gas_limit.get(),
            timestamp: self.timestamp.as_secs(),
            extra_data: self.extra_data.clone(),
            mix_hash: self.genesis_mix_hash(),
            nonce: self.nonce,
            base_fee_per_gas: Self::base_fee_by(self.base_fee.params(), &rules, |params| params.initial),
            ..with_fork_fields(empty_header(), &rules)
        }
    }
}
