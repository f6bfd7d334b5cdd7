//! What a replica keeps to go on after a restart.

use super::{
    InView, View,
    log::{Log, Proposal, Standing},
};
use crate::{
    consensus::{BlockId, Encoder, ValidatorSet, encoding::Decoder, validators::Validator},
    primitives::{B256, Height, Timestamp},
};

/// Key of what is written with every head.
pub const HEAD_KEY: &[u8] = b"head";
/// Key of what is durable before any promise (pre-prepare, prepare, commit, view-change) is sent.
pub const PROMISES_KEY: &[u8] = b"promises";

/// Everything that must survive: both keys hold the same, the newer one counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Kept {
    /// Grows with every record.
    pub(super) serial: u64,
    pub(super) validators: ValidatorSet,
    pub(super) head: BlockId,
    pub(super) timestamp: Timestamp,
    pub(super) view: View,
    /// Whether it left the view before and waits for this one to begin.
    pub(super) is_changing: bool,
    pub(super) stable: BlockId,
    pub(super) checkpoints: Vec<BlockId>,
    pub(super) committed: Vec<BlockId>,
    /// What it is bound to in `view`.
    pub(super) bound: Vec<BlockId>,
    pub(super) prepared: Vec<InView>,
    pub(super) pre_prepared: Vec<InView>,
}

impl Kept {
    pub(super) fn encoded(&self) -> Vec<u8> {
        let mut out = Encoder::new();
        out.u64(self.serial);
        out.list(self.validators.members().iter(), |out, member| {
            out.address(&member.address);
            out.u64(member.weight);
        });
        self.head.encode(&mut out);
        out.timestamp(self.timestamp);
        out.u64(self.view.get());
        out.bool(self.is_changing);
        self.stable.encode(&mut out);
        for blocks in [&self.checkpoints, &self.committed, &self.bound] {
            out.list(blocks.iter(), |out, block| block.encode(out));
        }
        for entries in [&self.prepared, &self.pre_prepared] {
            out.list(entries.iter(), |out, entry| entry.encode(out));
        }
        out.into_bytes()
    }

    /// Reads [`Kept::encoded`]'s form; `None` for anything else.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut bytes = Decoder::new(bytes);
        let serial = bytes.u64()?;
        let members = bytes.list(|bytes| Some(Validator { address: bytes.address()?, weight: bytes.u64()? }))?;
        let kept = Self {
            serial,
            validators: ValidatorSet::new(members).ok()?,
            head: block(&mut bytes)?,
            timestamp: Timestamp::from_secs(bytes.u64()?),
            view: View::new(bytes.u64()?),
            is_changing: bytes.bool()?,
            stable: block(&mut bytes)?,
            checkpoints: bytes.list(block)?,
            committed: bytes.list(block)?,
            bound: bytes.list(block)?,
            prepared: bytes.list(in_view)?,
            pre_prepared: bytes.list(in_view)?,
        };
        bytes.is_empty().then_some(kept)
    }

    /// The log as it was, without votes.
    pub(super) fn log(&self, window: u64) -> Log {
        let mut log = Log::new(self.stable, window);
        log.checkpoints.extend(self.checkpoints.iter().map(|block| (block.height, block.hash)));
        for block in &self.committed {
            if let Some(slot) = log.slot_mut(block.height) {
                slot.committed = Some(block.hash);
            }
        }
        for block in &self.bound {
            if let Some(slot) = log.slot_mut(block.height) {
                // Its body is fetched again.
                slot.proposal = Some(Proposal { hash: block.hash, standing: Standing::Waiting, is_chosen: true });
            }
        }
        for entry in &self.pre_prepared {
            if let Some(slot) = log.slot_mut(entry.block.height) {
                slot.pre_prepare(entry.view, entry.block.hash);
            }
        }
        for entry in &self.prepared {
            if let Some(slot) = log.slot_mut(entry.block.height) {
                slot.prepared = Some((entry.view, entry.block.hash));
            }
        }
        log
    }
}

fn block(bytes: &mut Decoder<'_>) -> Option<BlockId> {
    let height = Height::new(bytes.u64()?);
    let hash: B256 = bytes.hash()?;
    Some(BlockId { height, hash })
}

fn in_view(bytes: &mut Decoder<'_>) -> Option<InView> {
    Some(InView { block: block(bytes)?, view: View::new(bytes.u64()?) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primitives::Address;

    #[test]
    fn a_record_comes_back_whole_and_a_damaged_one_does_not() {
        let id = |height| BlockId { height: Height::new(height), hash: B256::repeat_byte(height as u8) };
        let entry = |height, view| InView { block: id(height), view: View::new(view) };
        let kept = Kept {
            serial: 9,
            validators: ValidatorSet::equal([1, 2, 3, 4].map(Address::repeat_byte)).unwrap(),
            head: id(6),
            timestamp: Timestamp::from_secs(77),
            view: View::new(3),
            is_changing: true,
            stable: id(4),
            checkpoints: vec![id(4), id(6)],
            committed: vec![id(5), id(6)],
            bound: vec![id(7)],
            prepared: vec![entry(5, 0), entry(6, 2)],
            pre_prepared: vec![entry(5, 0), entry(6, 2), entry(7, 2)],
        };
        let bytes = kept.encoded();
        assert_eq!(Kept::decode(&bytes).as_ref(), Some(&kept));
        assert_eq!(Kept::decode(&bytes[1..]), None);
        assert_eq!(Kept::decode(&[bytes.as_slice(), &[0]].concat()), None);
        let log = kept.log(8);
        assert_eq!((log.prepared(), log.pre_prepared()), (kept.prepared, kept.pre_prepared));
        assert_eq!((log.committed(), log.bound()), (kept.committed, kept.bound));
    }
}
