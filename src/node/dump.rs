//! Dumps: blocks, state, time and pool as bytes. The encoding is deterministic, and loading executes nothing.

use std::sync::Arc;

use serde::{Deserialize, Serialize, de::IgnoredAny};

use super::{EngineError, LoadError, Node, NodeEvent, NodeView, clock::BlockTime, writer::blocks_missing_from};
use crate::{
    chain::{ChainDump, DumpError, GenesisSpec, LoadSummary},
    primitives::{B256, Bytes},
};

/// A dump of a node. Two dumps of the same state are equal, byte for byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dump(Vec<u8>);

/// What a dump is of: read from it without its blocks and its state, which [`Node::load`] checks.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct DumpOrigin {
    /// The genesis specification of the dumped chain.
    pub genesis: GenesisSpec,
    /// Whether the dump is of a state alone ([`NodeView::dump_state`]): no block depends on its genesis.
    pub is_state_alone: bool,
}

/// The part of the JSON document that tells it.
#[derive(Deserialize)]
struct OriginDocument {
    chain: OriginChain,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OriginChain {
    genesis: GenesisSpec,
    #[serde(default)]
    genesis_hash: B256,
    #[serde(default)]
    blocks: Vec<IgnoredAny>,
    #[serde(default)]
    head: B256,
}

impl OriginChain {
    /// As [`ChainDump::is_state_alone`].
    fn is_state_alone(&self) -> bool {
        self.blocks.is_empty() && self.genesis_hash.is_zero() && self.head.is_zero()
    }
}

/// The dump's JSON document.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Document {
    chain: ChainDump,
    head_record: Option<Bytes>,
    time: BlockTime,
    /// Signed transactions in the pool (EIP-2718), in the order of arrival.
    pool: Vec<Bytes>,
}

impl Dump {
    /// A dump from the bytes of [`Dump::as_bytes`]; [`Node::load`] checks them.
    pub const fn from_bytes(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// The JSON text.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the genesis specification of the dumped chain. A node that is built with it loads the dump.
    ///
    /// # Errors
    /// [`LoadError::Malformed`] for bytes that are no dump.
    pub fn genesis(&self) -> Result<GenesisSpec, LoadError> {
        Ok(self.origin()?.genesis)
    }

    /// Returns what the dump is of.
    ///
    /// # Errors
    /// [`LoadError::Malformed`] for bytes that are no dump.
    pub fn origin(&self) -> Result<DumpOrigin, LoadError> {
        let OriginDocument { chain } = self.parse()?;
        Ok(DumpOrigin { is_state_alone: chain.is_state_alone(), genesis: chain.genesis })
    }

    /// Parses the document, or a part of it.
    fn parse<'a, T: Deserialize<'a>>(&'a self) -> Result<T, LoadError> {
        serde_json::from_slice(&self.0).map_err(|error| LoadError::Malformed { reason: error.to_string() })
    }
}

impl NodeView {
    /// Dumps the state after the head alone, as the genesis of a chain with other validators; see
    /// [`Chain::dump_state`](crate::chain::Chain::dump_state). A node that is built with [`Dump::genesis`] loads it.
    ///
    /// # Errors
    /// [`EngineError`] when the store fails.
    pub fn dump_state(&self) -> Result<Dump, EngineError> {
        let document = Document {
            chain: self.chain().dump_state()?,
            head_record: None,
            time: BlockTime::default(),
            pool: Vec::new(),
        };
        serde_json::to_vec(&document).map(Dump).map_err(|error| EngineError::Internal(error.into()))
    }
}

impl Node {
    /// Dumps the node: retained blocks, the state after the head, time, and the signed transactions of the pool.
    ///
    /// Snapshots, impersonations, impersonated transactions that wait in the pool, and the mining mode are not part of it.
    ///
    /// # Errors
    /// [`EngineError`] when the store fails.
    pub fn dump(&self) -> Result<Dump, EngineError> {
        self.inner.check_own_network()?;
        let writer = self.write();
        let mut pooled = writer.pool().content();
        pooled.sort_by_key(|pooled| pooled.arrival);
        let document = Document {
            chain: writer.chain().dump()?,
            head_record: writer.network.head_record(),
            time: writer.settings.time,
            pool: pooled
                .iter()
                .filter(|pooled| !pooled.transaction.is_impersonated())
                .map(|pooled| pooled.transaction.encoded())
                .collect(),
        };
        serde_json::to_vec(&document).map(Dump).map_err(|error| EngineError::Internal(error.into()))
    }

    /// Replaces chain, state, time and pool by those of a dump, and removes all snapshots. See
    /// [`Chain::load`](crate::chain::Chain::load) for what is checked. Returns what was loaded, with the number of impersonated
    /// transactions in the dump's blocks; subscribers get it as [`NodeEvent::Loaded`].
    ///
    /// # Errors
    /// [`LoadError::Malformed`] for bytes that are no dump, and other variants for a dump of another genesis, of other
    /// validators, or one that contradicts itself; the node is then unchanged. A dump of a state alone ([`NodeView::dump_state`]) changes
    /// nothing: the node's genesis has to have that state.
    pub fn load(&self, dump: &Dump) -> Result<LoadSummary, LoadError> {
        let document: Document = dump.parse()?;
        if document.chain.is_state_alone() {
            let (view, want) = (self.view(), self.view().genesis_hash());
            let is_same =
                view.head().hash() == want && view.chain().begins_with(&document.chain).map_err(EngineError::from)?;
            let other = DumpError::OtherGenesis { got: document.chain.genesis_hash, want };
            return if is_same { Ok(LoadSummary::default()) } else { Err(other.into()) };
        }
        let mut pooled = Vec::with_capacity(document.pool.len());
        for (index, decoded) in self.inner.recovery.decode_batch(&document.pool).into_iter().enumerate() {
            pooled.push(Arc::new(decoded.map_err(|source| LoadError::PooledTransaction { index, source })?));
        }
        let mut writer = self.write();
        let head_record = document.head_record.as_ref().map(AsRef::as_ref);
        let summary = writer.command(&self.inner, |writer| {
            let before = writer.chain().clone();
            let summary = writer.network.load(&document.chain, head_record).map_err(LoadError::from_network)?;
            // The load has succeeded: where the old blocks can't be read any more, followers are told of a gap.
            match blocks_missing_from(&before, writer.chain()) {
                Ok(removed) => writer.switches.record_to(writer.network.primary().chain(), &removed),
                Err(_) => writer.switches.record_gap(),
            }
            writer.settings.time = document.time;
            let context = writer.chain().pool_context().map_err(EngineError::from)?;
            writer.network.for_each_pool(|pool| {
                pool.clear();
                pool.refill(pooled.clone(), &context);
            });
            writer.publish_head(&self.inner, &[], &[]).map_err(EngineError::from)?;
            writer.events.push(NodeEvent::Loaded { summary });
            Ok::<_, LoadError>(summary)
        })?;
        writer.snapshots.clear();
        Ok(summary)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primitives::{Address, U256};

    /// Without its blocks and its state it says what the whole document says.
    #[test]
    fn a_dump_tells_what_it_is_of() {
        let node = Node::new();
        let at_genesis = node.dump().unwrap();
        node.transfer(node.accounts()[0], Address::repeat_byte(7), U256::from(1)).unwrap();
        for (dump, is_state_alone) in
            [(at_genesis, false), (node.dump().unwrap(), false), (node.view().dump_state().unwrap(), true)]
        {
            let (origin, document) = (dump.origin().unwrap(), dump.parse::<Document>().unwrap());
            assert_eq!((origin.is_state_alone, document.chain.is_state_alone()), (is_state_alone, is_state_alone));
            assert_eq!(origin.genesis, document.chain.genesis);
            assert_eq!(dump.genesis().unwrap(), origin.genesis);
        }
        for nonsense in ["", "nonsense", "{}", r#"{"chain":{}}"#, r#"{"chain":{"genesis":{"chainId":1},"blocks":1}}"#] {
            let refused = Dump::from_bytes(nonsense.as_bytes().to_vec()).origin();
            assert!(matches!(refused, Err(LoadError::Malformed { .. })), "{nonsense}: {refused:?}");
        }
    }
}
