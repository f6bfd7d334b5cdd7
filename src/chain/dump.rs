//! A chain as one JSON document of deterministic bytes. [`Chain::load`] reads it.

use core::ops::ControlFlow;
use std::collections::BTreeMap;

use alloy_primitives::{Address, B256, Bytes, U256};
use serde::{Deserialize, Serialize};

use super::{
    BaseFee, BaseFeeParams, Chain,
    error::{DumpError, ReadError},
    intervention::Intervention,
    receipt,
    spec::{GenesisAccount, GenesisSpec},
    used_templates,
};
use crate::{
    primitives::{Gas, Height},
    state::{EMPTY_ROOT, StateError, StateView},
    vm::TemplateIdentity,
};

/// Text of an account without storage, and of a storage slot, in bytes, about: code is a marker of a template.
#[cfg(feature = "platform")]
const ACCOUNT_TEXT_BYTES: u64 = 256;
#[cfg(feature = "platform")]
const SLOT_TEXT_BYTES: u64 = 140;

/// Version of the document format. Format 1 had impersonated transactions as a form of signature.
const FORMAT: u32 = 2;

/// The canonical blocks that a chain keeps, the state after its head, and the pending interventions.
///
/// States of earlier blocks are not included: reading them after loading gives [`ReadError::Pruned`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChainDump {
    /// Version of the document format: 2.
    pub format: u32,
    /// The genesis specification; contracts are among its accounts.
    pub genesis: GenesisSpec,
    /// Hash of the genesis block.
    pub genesis_hash: B256,
    /// Canonical blocks above genesis, oldest first.
    pub blocks: Vec<DumpedBlock>,
    /// Hash of the newest block.
    pub head: B256,
    /// Hash of the newest safe block.
    pub safe: B256,
    /// Hash of the newest finalized block.
    pub finalized: B256,
    /// Accounts of the state after the head.
    pub accounts: BTreeMap<Address, GenesisAccount>,
    /// Templates that the code of accounts names; a dump of an earlier version has none, and nothing of it is then checked.
    #[serde(default)]
    pub templates: Vec<TemplateIdentity>,
    /// RLP list of the pending interventions.
    pub interventions: Bytes,
}

/// A block of a [`ChainDump`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DumpedBlock {
    /// Height of the block, for human readers.
    pub number: u64,
    /// The stored form of the block.
    pub block: Bytes,
    /// The stored form of its receipts.
    pub receipts: Bytes,
    /// Sum of the difficulties from genesis up to and including the block.
    pub total_difficulty: U256,
    /// Its changes of the validator set: address and weight (8 bytes, big-endian) each, sorted.
    #[serde(default, skip_serializing_if = "super::spec::has_no_bytes")]
    pub updates: Bytes,
}

impl ChainDump {
    /// Returns the document's bytes; equal chains give equal bytes.
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Parses the bytes of [`ChainDump::to_json`].
    ///
    /// # Errors
    /// [`DumpError::Json`], [`DumpError::Format`].
    pub fn from_json(bytes: &[u8]) -> Result<Self, DumpError> {
        let dump: Self = serde_json::from_slice(bytes)?;
        match dump.format {
            FORMAT => Ok(dump),
            got => Err(DumpError::Format { got, want: FORMAT }),
        }
    }
}

impl ChainDump {
    /// Returns whether the dump is of a state alone, which another chain has as its genesis: [`Chain::dump_state`].
    pub fn is_state_alone(&self) -> bool {
        self.blocks.is_empty() && self.genesis_hash.is_zero() && self.head.is_zero()
    }
}

impl Chain {
    /// Returns how long the text of a dump of the state after the head is, about; counting ends where it is past `bytes_max`.
    ///
    /// # Errors
    /// [`ReadError::State`] when the state can't be read.
    #[cfg(feature = "platform")]
    pub(crate) fn state_text_len(&self, bytes_max: u64) -> Result<u64, ReadError> {
        let state = self.state_of(self.head().hash())?;
        let mut bytes = 0_u64;
        let mut owners = Vec::new();
        state.for_each_account(&mut |address, account| {
            if account.storage_root != EMPTY_ROOT {
                owners.push(address);
            }
            bytes = bytes.saturating_add(ACCOUNT_TEXT_BYTES);
            if bytes > bytes_max { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        for owner in owners {
            if bytes > bytes_max {
                break;
            }
            state.for_each_slot(&owner, &mut |_, _| {
                bytes = bytes.saturating_add(SLOT_TEXT_BYTES);
                if bytes > bytes_max { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })?;
        }
        Ok(bytes)
    }

    /// Returns a dump of the state after the head alone, as the genesis of another chain with other validators: accounts with their
    /// balances, nonces, code and storage, and the gas limit and base fee in force. Blocks are left out, and so are the protocol, the
    /// validators and the system contracts, whose records are of this chain's validators.
    ///
    /// # Errors
    /// [`ReadError::State`] when the state can't be read.
    pub fn dump_state(&self) -> Result<ChainDump, ReadError> {
        let mut accounts = dump_accounts(&*self.state_of(self.head().hash())?)?;
        accounts.retain(|address, _| !is_of_system(address));
        let templates = self.templates_of(accounts.values(), &[]);
        let genesis = GenesisSpec {
            accounts,
            validators: Vec::new(),
            staking: None,
            parameters: None,
            governance: None,
            permissions: None,
            modules: None,
            validator_registry: None,
            consensus: serde_json::Value::Null,
            extra_data: Bytes::new(),
            timestamp: self.head().timestamp(),
            gas_limit: Gas::new(self.head().block().header().gas_limit),
            base_fee: self.base_fee_in_force()?,
            ..self.spec().without_state()
        };
        Ok(ChainDump {
            format: FORMAT,
            genesis,
            genesis_hash: B256::ZERO,
            blocks: Vec::new(),
            head: B256::ZERO,
            safe: B256::ZERO,
            finalized: B256::ZERO,
            accounts: BTreeMap::new(),
            templates,
            interventions: alloy_rlp::encode(Vec::<Intervention>::new()).into(),
        })
    }

    /// Returns the base fee by the rules of the head, with the head's as that of genesis.
    fn base_fee_in_force(&self) -> Result<BaseFee, ReadError> {
        let in_force = self.base_fee_params(self.head())?;
        let initial = self.head().block().base_fee();
        Ok(in_force.map_or(BaseFee::Off, |params| {
            let initial = initial.unwrap_or(params.initial).max(params.floor);
            BaseFee::Dynamic(BaseFeeParams { initial, ..params })
        }))
    }

    /// Returns whether the accounts of a dump of a state alone are those of this chain's genesis.
    ///
    /// # Errors
    /// [`ReadError::State`] when the state can't be read.
    pub(crate) fn begins_with(&self, dump: &ChainDump) -> Result<bool, ReadError> {
        let state = self.state_of(self.genesis().hash())?;
        let found = dump_accounts(&*state)?;
        Ok(dump.genesis.chain_id == self.spec().chain_id
            && dump.genesis.accounts.iter().all(|(address, account)| found.get(address) == Some(account)))
    }

    /// Returns a dump that [`ChainBuilder::open_dump`](super::ChainBuilder::open_dump) and [`Chain::load`] continue from.
    ///
    /// # Errors
    /// [`ReadError::Store`], [`ReadError::State`] when blocks or the state can't be read.
    pub fn dump(&self) -> Result<ChainDump, ReadError> {
        let mut blocks = Vec::new();
        for height in self.oldest_block().get().max(1)..=self.head().height().get() {
            let block = self.block_at(Height::new(height))?;
            blocks.push(DumpedBlock {
                number: height,
                block: block.block().encode_stored().into(),
                receipts: receipt::encode_receipts(block.receipts()).into(),
                total_difficulty: block.total_difficulty(),
                updates: block.updates().to_bytes().into(),
            });
        }
        let accounts = dump_accounts(&*self.state_of(self.genesis().hash())?)?;
        let genesis = GenesisSpec { accounts, ..self.spec().without_state() };
        let accounts = dump_accounts(&*self.state_of(self.head().hash())?)?;
        let pending: Vec<Intervention> = self.pending_interventions().cloned().collect();
        Ok(ChainDump {
            format: FORMAT,
            templates: self.templates_of(genesis.accounts.values().chain(accounts.values()), &pending),
            genesis,
            genesis_hash: self.genesis().hash(),
            blocks,
            head: self.head().hash(),
            safe: self.safe().hash(),
            finalized: self.finalized().hash(),
            accounts,
            interventions: alloy_rlp::encode(pending).into(),
        })
    }

    /// Returns the templates that the code of accounts names, and the code that pending interventions set.
    fn templates_of<'a>(
        &self,
        accounts: impl Iterator<Item = &'a GenesisAccount>,
        pending: &'a [Intervention],
    ) -> Vec<TemplateIdentity> {
        let pending = pending.iter().filter_map(|intervention| match intervention {
            Intervention::Code { code, .. } => Some(code),
            _ => None,
        });
        used_templates::of_codes(accounts.map(|account| &account.code).chain(pending), self.registry())
    }
}

/// Returns whether an address is one of those that are kept for system contracts.
pub(crate) fn is_of_system(address: &Address) -> bool {
    let (zeros, number) = address.split_at(18);
    zeros.iter().all(|byte| *byte == 0) && matches!(number, [0x10, _])
}

fn dump_accounts(state: &dyn StateView) -> Result<BTreeMap<Address, GenesisAccount>, StateError> {
    let mut found = Vec::new();
    state.for_each_account(&mut |address, account| {
        found.push((address, account));
        ControlFlow::Continue(())
    })?;
    let mut accounts = BTreeMap::new();
    for (address, account) in found {
        let mut storage = BTreeMap::new();
        if account.storage_root != EMPTY_ROOT {
            state.for_each_slot(&address, &mut |slot, value| {
                storage.insert(slot, value);
                ControlFlow::Continue(())
            })?;
        }
        let code = state.code(&account.code_hash)?;
        accounts.insert(address, GenesisAccount { balance: account.balance, nonce: account.nonce, code, storage });
    }
    Ok(accounts)
}
