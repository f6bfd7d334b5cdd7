//! The layout of a chain in its store: writing and reading it.
//!
//! | table | key | value |
//! |---|---|---|
//! | `Meta` | `chain/head`, `chain/safe`, `chain/finalized` | block hash |
//! | `Meta` | `chain/irreversible` | height (u64) up to which no block is ever reverted |
//! | `Meta` | `chain/genesis` | genesis hash |
//! | `Meta` | `chain/spec` | JSON of the genesis specification without accounts and contracts, which are in the state |
//! | `Meta` | `chain/hand/` + index (u32) | RLP of an intervention that no block records yet |
//! | `Meta` | `chain/pruned/states`, `chain/pruned/blocks` | height (u64) below which the retention policy has deleted all but genesis |
//! | `Meta` | `chain/garbage/` + number (u64) | height (u64), block hash or zeros, commit id (u64; all ones for none), 1 or 0: may return |
//! | `Meta` | `chain/updates/` + block hash | what the block changed for the protocol, if anything: `BlockUpdates::to_bytes` |
//! | `Meta` | `chain/template/` + id, version (u16 each) | digest of a template that a stored code names, and its name |
//! | `Blocks` | block hash | commit id (u64; all ones without a state), total difficulty (32 bytes), the stored form of the block |
//! | `Receipts` | block hash | RLP list of stored receipts |
//! | `Canonical` | height (u64) | block hash |
//! | `Transactions` | transaction hash | height (u64), index (u32) of a canonical block |
//!
//! Numbers are big-endian.

use alloy_primitives::{B256, Bytes, U256, hex};
use alloy_rlp::Decodable;
use core::ops::ControlFlow;

use super::{
    block::{Block, TransactionIndex},
    context::ChainContext,
    error::ReadError,
    executed_block::{ExecutedBlock, Execution},
    garbage::{GarbageChange, GarbageItem, Holder},
    hook::Finality,
    intervention::Intervention,
    receipt,
    spec::GenesisSpec,
    version::Version,
};
use crate::{
    primitives::Height,
    state::{Commit, CommitId},
    store::{Batch, KeyValue, Order, StoreError, Table},
    system::BlockUpdates,
    vm::{TemplateId, TemplateIdentity},
};

const HEAD: &[u8] = b"chain/head";
const SAFE: &[u8] = b"chain/safe";
const FINALIZED: &[u8] = b"chain/finalized";
const IRREVERSIBLE: &[u8] = b"chain/irreversible";
const GENESIS: &[u8] = b"chain/genesis";
const SPEC: &[u8] = b"chain/spec";
const PENDING: &[u8] = b"chain/hand/";
const GARBAGE: &[u8] = b"chain/garbage/";
const UPDATES: &[u8] = b"chain/updates/";
const TEMPLATES: &[u8] = b"chain/template/";

/// Stored in place of a commit id for a block without a state.
const NO_STATE: u64 = u64::MAX;

/// The stored head and finality of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Heads {
    pub(super) head: B256,
    pub(super) safe: B256,
    pub(super) finalized: B256,
    /// Height up to which no block is ever reverted.
    pub(super) irreversible: Height,
}

impl Heads {
    pub(super) fn of(head: &ExecutedBlock, finality: &Finality) -> Self {
        let Finality { safe, finalized, irreversible } = finality;
        Self { head: head.hash(), safe: safe.hash(), finalized: finalized.hash(), irreversible: *irreversible }
    }
}

/// Adds a block with its state and receipts.
pub(super) fn put_block(block: &ExecutedBlock, batch: &mut Batch) {
    let stored = block.block().encode_stored();
    let mut value = Vec::with_capacity(40 + stored.len());
    let commit = block.version().map_or(NO_STATE, |version| version.commit().id.get());
    value.extend_from_slice(&commit.to_be_bytes());
    value.extend_from_slice(&block.total_difficulty().to_be_bytes::<32>());
    value.extend_from_slice(&stored);
    batch.put(Table::Blocks, block.hash().to_vec(), value);
    batch.put(Table::Receipts, block.hash().to_vec(), receipt::encode_receipts(block.receipts()));
    if !block.updates().is_empty() {
        batch.put(Table::Meta, updates_key(block.hash()), block.updates().to_bytes());
    }
    if let Some(version) = block.version() {
        version.write_to(batch);
    }
}

/// Adds a block to the canonical indices.
pub(super) fn put_canonical(block: &ExecutedBlock, batch: &mut Batch) {
    let height = block.height().get().to_be_bytes();
    batch.put(Table::Canonical, height, block.hash().to_vec());
    let places = (0_u32..).zip(block.block().transactions());
    let mut sorted: Vec<_> = places.map(|(index, transaction)| (transaction.hash(), index)).collect();
    // Writing in key order is faster.
    sorted.sort_unstable();
    for (hash, index) in sorted {
        let place = [height.as_slice(), &index.to_be_bytes()].concat();
        batch.put(Table::Transactions, hash.as_slice(), place);
    }
}

/// Removes a block from the canonical indices; in a batch, additions must follow removals.
pub(super) fn remove_canonical(block: &ExecutedBlock, batch: &mut Batch) {
    batch.delete(Table::Canonical, block.height().get().to_be_bytes());
    for transaction in block.block().transactions() {
        batch.delete(Table::Transactions, transaction.hash().to_vec());
    }
}

/// Removes a block, its receipts and its changes of the validator set, but not its canonical indices.
pub(super) fn remove_block(hash: B256, batch: &mut Batch) {
    batch.delete(Table::Blocks, hash.to_vec());
    batch.delete(Table::Receipts, hash.to_vec());
    batch.delete(Table::Meta, updates_key(hash));
}

/// What the retention policy deletes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pruned {
    States,
    Blocks,
}

impl Pruned {
    const fn key(self) -> &'static [u8] {
        match self {
            Self::States => b"chain/pruned/states",
            Self::Blocks => b"chain/pruned/blocks",
        }
    }
}

/// Reads the height below which all but genesis was deleted; `None` before the first deletion.
pub(super) fn pruned_below(store: &dyn KeyValue, what: Pruned) -> Result<Option<u64>, StoreError> {
    let Some(value) = store.get(Table::Meta, what.key())? else { return Ok(None) };
    let height = <[u8; 8]>::try_from(&value[..]).map_err(|error| corrupt(Table::Meta, what.key(), error.to_string()));
    height.map(|height| Some(u64::from_be_bytes(height)))
}

pub(super) fn put_pruned_below(what: Pruned, height: u64, batch: &mut Batch) {
    batch.put(Table::Meta, what.key(), height.to_be_bytes());
}

/// Adds a change of the garbage list.
pub(super) fn put_garbage(change: &GarbageChange, batch: &mut Batch) {
    for number in &change.removed {
        batch.delete(Table::Meta, garbage_key(*number));
    }
    for (number, item) in &change.added {
        let mut value = Vec::with_capacity(49);
        value.extend_from_slice(&item.height.get().to_be_bytes());
        value.extend_from_slice(item.block.unwrap_or_default().as_slice());
        value.extend_from_slice(&item.commit.map_or(NO_STATE, CommitId::get).to_be_bytes());
        value.push(item.may_return.into());
        batch.put(Table::Meta, garbage_key(*number), value);
    }
}

fn garbage_key(number: u64) -> Vec<u8> {
    [GARBAGE, &number.to_be_bytes()].concat()
}

/// Reads the garbage list. No clone lives through a restart, so only the head still holds an item.
pub(super) fn garbage(store: &dyn KeyValue) -> Result<Vec<(u64, GarbageItem)>, StoreError> {
    let (mut found, mut wrong) = (Vec::new(), None);
    store.scan(Table::Meta, GARBAGE, Order::Ascending, &mut |key, value| match decode_garbage(key, value) {
        Some(item) => {
            found.push(item);
            ControlFlow::Continue(())
        }
        None => {
            wrong = Some(corrupt(Table::Meta, key, "is no item of the garbage list".to_owned()));
            ControlFlow::Break(())
        }
    })?;
    wrong.map_or(Ok(found), Err)
}

fn decode_garbage(key: &[u8], value: &[u8]) -> Option<(u64, GarbageItem)> {
    let number = u64::from_be_bytes(key.strip_prefix(GARBAGE)?.try_into().ok()?);
    let (height, rest) = value.split_first_chunk::<8>()?;
    let (hash, rest) = rest.split_first_chunk::<32>()?;
    let (commit, [may_return]) = rest.split_first_chunk::<8>()? else { return None };
    let (hash, commit) = (B256::from(*hash), u64::from_be_bytes(*commit));
    let item = GarbageItem {
        block: (!hash.is_zero()).then_some(hash),
        commit: (commit != NO_STATE).then_some(CommitId::new(commit)),
        height: Height::new(u64::from_be_bytes(*height)),
        may_return: *may_return == 1,
        holder: Holder::Head,
    };
    Some((number, item))
}

fn updates_key(hash: B256) -> Vec<u8> {
    [UPDATES, hash.as_slice()].concat()
}

pub(super) fn put_genesis(hash: B256, batch: &mut Batch) {
    batch.put(Table::Meta, GENESIS, hash.to_vec());
}

pub(super) fn put_spec(spec: &GenesisSpec, batch: &mut Batch) {
    batch.put(Table::Meta, SPEC, spec.without_state().to_json());
}

/// Reads the specification in a store, without accounts and contracts.
pub(super) fn spec(store: &dyn KeyValue) -> Result<Option<GenesisSpec>, StoreError> {
    let Some(json) = store.get(Table::Meta, SPEC)? else { return Ok(None) };
    serde_json::from_slice(&json).map(Some).map_err(|error| corrupt(Table::Meta, SPEC, error.to_string()))
}

pub(super) fn put_heads(heads: Heads, batch: &mut Batch) {
    for (key, hash) in [(HEAD, heads.head), (SAFE, heads.safe), (FINALIZED, heads.finalized)] {
        batch.put(Table::Meta, key, hash.to_vec());
    }
    batch.put(Table::Meta, IRREVERSIBLE, heads.irreversible.get().to_be_bytes());
}

pub(super) fn put_intervention(index: usize, intervention: &Intervention, batch: &mut Batch) {
    batch.put(Table::Meta, pending_key(index), alloy_rlp::encode(intervention));
}

pub(super) fn remove_interventions(count: usize, batch: &mut Batch) {
    (0..count).for_each(|index| batch.delete(Table::Meta, pending_key(index)));
}

fn pending_key(index: usize) -> Vec<u8> {
    [PENDING, &u32::try_from(index).unwrap_or(u32::MAX).to_be_bytes()].concat()
}

/// Adds a template that a code in the store names.
pub(super) fn put_template(template: &TemplateIdentity, batch: &mut Batch) {
    let TemplateId { id, version } = template.id;
    let key = [TEMPLATES, &id.to_be_bytes(), &version.to_be_bytes()].concat();
    batch.put(Table::Meta, key, [template.digest.as_slice(), template.name.as_bytes()].concat());
}

/// Reads the templates that codes in a store name.
pub(super) fn templates(store: &dyn KeyValue) -> Result<Vec<TemplateIdentity>, StoreError> {
    let (mut found, mut wrong) = (Vec::new(), None);
    store.scan(Table::Meta, TEMPLATES, Order::Ascending, &mut |key, value| {
        match decode_template(&key[TEMPLATES.len()..], value) {
            Some(template) => found.push(template),
            None => wrong = Some(corrupt(Table::Meta, key, "is no identity of a template".to_owned())),
        }
        if wrong.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    wrong.map_or(Ok(found), Err)
}

fn decode_template(key: &[u8], value: &[u8]) -> Option<TemplateIdentity> {
    let [id_high, id_low, version_high, version_low] = *<&[u8; 4]>::try_from(key).ok()?;
    let id = TemplateId::new(u16::from_be_bytes([id_high, id_low]), u16::from_be_bytes([version_high, version_low]));
    let (digest, name) = value.split_first_chunk::<32>()?;
    Some(TemplateIdentity { id, name: core::str::from_utf8(name).ok()?.to_owned(), digest: digest.into() })
}

/// Reads the genesis hash in a store; `None` when it holds no chain.
pub(super) fn genesis(store: &dyn KeyValue) -> Result<Option<B256>, StoreError> {
    hash_under(store, Table::Meta, GENESIS)
}

pub(super) fn heads(store: &dyn KeyValue) -> Result<Heads, StoreError> {
    let read = |key| {
        let missing = || corrupt(Table::Meta, key, "is missing".to_owned());
        hash_under(store, Table::Meta, key)?.ok_or_else(missing)
    };
    let height = store.get(Table::Meta, IRREVERSIBLE)?.and_then(|value| <[u8; 8]>::try_from(&value[..]).ok());
    let height = height.ok_or_else(|| corrupt(Table::Meta, IRREVERSIBLE, "is not a height".to_owned()))?;
    let irreversible = Height::new(u64::from_be_bytes(height));
    Ok(Heads { head: read(HEAD)?, safe: read(SAFE)?, finalized: read(FINALIZED)?, irreversible })
}

pub(super) fn interventions(store: &dyn KeyValue) -> Result<Vec<Intervention>, StoreError> {
    let (mut found, mut wrong) = (Vec::new(), None);
    store.scan(
        Table::Meta,
        PENDING,
        Order::Ascending,
        &mut |key, mut value| match Intervention::decode(&mut value) {
            Ok(intervention) => {
                found.push(intervention);
                ControlFlow::Continue(())
            }
            Err(error) => {
                wrong = Some(corrupt(Table::Meta, key, error.to_string()));
                ControlFlow::Break(())
            }
        },
    )?;
    wrong.map_or(Ok(found), Err)
}

impl ChainContext {
    /// Reads a stored block; `None` when the store is not durable or has no such block.
    pub(super) fn load(&self, hash: B256) -> Result<Option<ExecutedBlock>, ReadError> {
        if !self.is_durable {
            return Ok(None);
        }
        if let Some(block) = self.decoded_blocks.get(hash) {
            return Ok(Some(block));
        }
        let evictions = self.decoded_blocks.evictions();
        let Some(value) = self.store.get(Table::Blocks, hash.as_slice())? else { return Ok(None) };
        let block = self.decode(hash, &value)?;
        self.decoded_blocks.put(block.clone(), evictions);
        Ok(Some(block))
    }

    /// Reads the commit of a stored block's state, without decoding the block; `None` when either is missing.
    pub(super) fn stored_commit(&self, hash: B256) -> Result<Option<CommitId>, StoreError> {
        let Some(value) = self.store.get(Table::Blocks, hash.as_slice())? else { return Ok(None) };
        let commit = value.first_chunk().map(|bytes| u64::from_be_bytes(*bytes));
        Ok(commit.filter(|commit| *commit != NO_STATE).map(CommitId::new))
    }

    pub(super) fn has_stored(&self, hash: B256) -> bool {
        self.is_durable && self.store.get(Table::Blocks, hash.as_slice()).is_ok_and(|found| found.is_some())
    }

    pub(super) fn stored_canonical(&self, height: Height) -> Result<Option<B256>, StoreError> {
        if !self.is_durable {
            return Ok(None);
        }
        hash_under(&*self.store, Table::Canonical, &height.get().to_be_bytes())
    }

    pub(super) fn stored_transaction(&self, hash: B256) -> Result<Option<(Height, TransactionIndex)>, StoreError> {
        if !self.is_durable {
            return Ok(None);
        }
        let Some(place) = self.store.get(Table::Transactions, hash.as_slice())? else { return Ok(None) };
        let parsed = place.split_first_chunk::<8>().and_then(|(height, index)| {
            let index = <[u8; 4]>::try_from(index).ok()?;
            Some((Height::new(u64::from_be_bytes(*height)), u32::from_be_bytes(index)))
        });
        parsed
            .map(Some)
            .ok_or_else(|| corrupt(Table::Transactions, hash.as_slice(), "is not a height and an index".to_owned()))
    }

    fn decode(&self, hash: B256, value: &Bytes) -> Result<ExecutedBlock, ReadError> {
        let short = || corrupt(Table::Blocks, hash.as_slice(), "is too short".to_owned());
        let (commit, rest) = value.split_first_chunk::<8>().ok_or_else(short)?;
        let (difficulty, rest) = rest.split_first_chunk::<32>().ok_or_else(short)?;
        let block = Block::decode_stored(rest).map_err(|source| ReadError::Corrupt { hash, source })?;
        let receipts = self.store.get(Table::Receipts, hash.as_slice())?.unwrap_or_default();
        let receipts = receipt::decode_receipts(&receipts)
            .map_err(|error| corrupt(Table::Receipts, hash.as_slice(), error.to_string()))?;
        let difficulty = U256::from_be_bytes(*difficulty);
        let commit = u64::from_be_bytes(*commit);
        let updates = self.stored_updates(hash)?;
        if commit == NO_STATE {
            return Ok(ExecutedBlock::without_state(block.into(), receipts.into(), updates, difficulty, true));
        }
        let commit = Commit { id: CommitId::new(commit), root: block.header().state_root };
        let version = Version::stored(self.state.clone(), commit).into();
        let execution = Execution::new(&block, receipts, version, CommitId::EMPTY, updates);
        Ok(ExecutedBlock::stored(block, execution, difficulty))
    }

    fn stored_updates(&self, hash: B256) -> Result<BlockUpdates, StoreError> {
        if self.spec.staking.is_none() && self.spec.parameters.is_none() {
            return Ok(BlockUpdates::NONE);
        }
        let key = updates_key(hash);
        let Some(value) = self.store.get(Table::Meta, &key)? else { return Ok(BlockUpdates::NONE) };
        BlockUpdates::from_bytes(&value)
            .ok_or_else(|| corrupt(Table::Meta, &key, "is no list of validators' weights and of parameters".to_owned()))
    }
}

fn hash_under(store: &dyn KeyValue, table: Table, key: &[u8]) -> Result<Option<B256>, StoreError> {
    let Some(value) = store.get(table, key)? else { return Ok(None) };
    B256::try_from(&value[..]).map(Some).map_err(|error| corrupt(table, key, error.to_string()))
}

fn corrupt(table: Table, key: &[u8], reason: String) -> StoreError {
    StoreError::Corrupt { table, key: hex::encode(key), reason }
}
