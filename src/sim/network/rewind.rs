//! Going back to an earlier head: every replica's protocol starts again from the record of that head, as after a dump.

use super::{Network, error::NetworkError};
use crate::{
    chain::Finality,
    consensus::{BlockId, RecordValue},
    primitives::Height,
};

/// What a network starts again from at a head that it had. It shares what it holds with the chain, and costs little to keep.
#[derive(Clone, Debug)]
pub(crate) struct EarlierHead {
    head: BlockId,
    finality: Finality,
    /// The protocol's record of the head; `None` at genesis.
    record: Option<RecordValue>,
}

impl EarlierHead {
    pub(crate) const fn height(&self) -> Height {
        self.head.height
    }

    pub(crate) const fn id(&self) -> BlockId {
        self.head
    }
}

impl Network {
    /// Returns what [`Network::rewind`] needs to come back to the present head.
    pub(crate) fn earlier_head(&self) -> EarlierHead {
        let primary = self.primary();
        let record = primary.head_record().cloned();
        EarlierHead { head: primary.head(), finality: primary.chain().finality().clone(), record }
    }

    /// Takes every replica back to an ancestor of the head, in the durable store too; the interventions of the block after it wait
    /// again. Queued events and safety records are discarded; pools stay, and time does not go back.
    ///
    /// # Errors
    /// [`NetworkError::Chain`] when the ancestor or its state was pruned or the store fails, [`NetworkError::Consensus`]; the network
    /// may then be half changed.
    pub(crate) fn rewind(&mut self, to: &EarlierHead) -> Result<(), NetworkError> {
        let record = to.record.as_ref().map(RecordValue::bytes);
        let record = record.as_ref().map(AsRef::as_ref);
        let protocols = self.protocols_at(to.head, record)?;
        self.env.forget_all();
        let records = vec![self.head_records(record); protocols.len()];
        self.change_chain(records, |replicas| {
            let Some(primary) = replicas.first() else { return Ok(()) };
            let rewound = primary.chain().rewound_to(to.head.hash, to.finality.clone());
            let rewound = rewound.map_err(|error| primary.chain_error(error))?;
            let mut pairs = replicas.iter_mut().zip(protocols);
            pairs.try_for_each(|(replica, protocol)| replica.switch_chain(&rewound, protocol, record))
        })?;
        self.start_on_given_chain(&format!("its chain went back to height {}", to.head.height))
    }
}
