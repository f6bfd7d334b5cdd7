//! The records of a replica: its state with the committed block, and the blocks that it keeps above.

use std::{collections::BTreeSet, sync::Arc};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{BlockTimers, BlockTree, INTAKE, Proposal};
use crate::{
    chain::Block,
    consensus::{
        BlockId, DecodeError, Effect, Record, ReplicaStart, Ticket,
        branch_tree::BranchTree,
        common::records::{block_key, records_under},
        intake::Intake,
    },
    primitives::{Address, Bytes, Timestamp},
};

/// Key of the record of state and root.
const STATE: &[u8] = b"state";
/// Beginning of the keys of kept blocks.
const BLOCK: &[u8] = b"block/";

/// A record that can't be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[error("record {key}: {source}")]
pub struct RecordError {
    /// Key of the record.
    pub key: Bytes,
    /// What is wrong with its value.
    #[source]
    pub source: DecodeError,
}

/// The words of the error, which ends a replica's start ([`OwnProtocol::new`](crate::consensus::OwnProtocol::new)).
impl From<RecordError> for String {
    fn from(error: RecordError) -> Self {
        error.to_string()
    }
}

/// The root as a record has it.
#[derive(Serialize, Deserialize)]
struct Root<T> {
    id: BlockId,
    parent: BlockId,
    author: Address,
    timestamp: Timestamp,
    payload: T,
}

impl<T> BlockTree<T>
where
    T: Clone + core::fmt::Debug + Serialize + DeserializeOwned,
{
    /// Returns the tree of a replica that starts, with the state of the protocol that was written last: at its committed block, or at genesis,
    /// which `genesis` is the payload of, with no state.
    ///
    /// # Errors
    /// [`RecordError`] for a record that is damaged or of another protocol.
    pub fn open<S: Serialize + DeserializeOwned>(
        start: &ReplicaStart<'_>,
        timers: BlockTimers,
        genesis: T,
    ) -> Result<(Self, Option<S>), RecordError> {
        let written = start.records.get(STATE).map(|value| read::<(Root<T>, S)>(STATE, value)).transpose()?;
        let (root, state) = match written {
            Some((root, state)) => (root, Some(state)),
            None => (Root::of_genesis(start.genesis, genesis), None),
        };
        let mut restored: Vec<Arc<Block>> = Vec::new();
        for (key, value) in records_under(start.records, BLOCK) {
            restored.push(read(key, value)?);
        }
        let root = Arc::new(root.into_proposal());
        let tree = Self {
            participant: start.participant(),
            timers,
            root: root.clone(),
            branches: BranchTree::new(root),
            intake: Intake::new(INTAKE),
            fetched: BTreeSet::new(),
            attempts: 0,
            is_waiting: false,
            kept: restored.iter().map(|block| BlockId::of(block)).collect(),
            restored,
            next: None,
            next_ticket: Ticket::new(0),
        };
        Ok((tree, state))
    }

    /// Writes the protocol's state. Returns the ticket that messages wait for which depend on it.
    pub fn persist<S: Serialize>(&mut self, state: &S, effects: &mut Vec<Effect>) -> Ticket {
        self.write(None, state, effects)
    }

    /// As [`BlockTree::persist`], and writes an executed block too, which is restored after a crash: whoever votes for a block must have it, or
    /// a certificate could remain of a block that nobody has.
    pub fn persist_with<S: Serialize>(&mut self, block: BlockId, state: &S, effects: &mut Vec<Effect>) -> Ticket {
        self.write(Some(block), state, effects)
    }

    fn write<S: Serialize>(&mut self, block: Option<BlockId>, state: &S, effects: &mut Vec<Effect>) -> Ticket {
        let mut records = vec![Record::of(STATE, &(Root::of(&self.root), state))];
        if let Some((id, block)) = block.and_then(|id| Some((id, self.get(id)?.block.clone()?))) {
            self.kept.insert(id);
            records.push(Record::of(block_key(BLOCK, id), &block));
        }
        let settled: BTreeSet<_> = self.kept.iter().filter(|id| id.height <= self.root.id.height).copied().collect();
        records.extend(settled.iter().map(|id| Record::forgotten(block_key(BLOCK, *id))));
        self.kept = &self.kept - &settled;
        let ticket = self.next_ticket.take_next();
        effects.push(Effect::Persist { ticket, records });
        ticket
    }
}

impl<T> Root<T> {
    fn of_genesis(genesis: &Block, payload: T) -> Self {
        let (id, timestamp) = (BlockId::of(genesis), genesis.timestamp());
        Self { id, parent: BlockId::parent_of(genesis), author: Address::ZERO, timestamp, payload }
    }

    fn into_proposal(self) -> Proposal<T> {
        let Self { id, parent, author, timestamp, payload } = self;
        Proposal { id, parent, author, timestamp, payload, block: None, from: None }
    }
}

impl<'a, T> Root<&'a T> {
    fn of(root: &'a Proposal<T>) -> Self {
        let Proposal { id, parent, author, timestamp, ref payload, .. } = *root;
        Self { id, parent, author, timestamp, payload }
    }
}

fn read<T: Serialize + DeserializeOwned>(key: &[u8], value: &[u8]) -> Result<T, RecordError> {
    Record::read(value).map_err(|source| RecordError { key: Bytes::copy_from_slice(key), source })
}
