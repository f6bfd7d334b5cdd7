//! Which of a replica's records are its own word, which it has in common with every replica of its chain, and which are of no
//! more use.

use crate::{
    consensus::{ConsensusKind, Machine, Records, dpos, pbft, poa, pos, raft},
    primitives::{Bytes, Height},
};

/// The records whose key begins with `prefix`, in order.
pub(in crate::consensus) fn records_under<'a>(
    records: &'a Records,
    prefix: &'static [u8],
) -> impl Iterator<Item = (&'a Bytes, &'a Bytes)> {
    records.range(Bytes::from_static(prefix)..).take_while(move |(key, _)| key.starts_with(prefix))
}

impl ConsensusKind {
    /// Whether a record holds what this replica alone promised (its term and vote, what it signed): nobody else can tell it
    /// that again, and without it the replica could contradict itself.
    pub(crate) fn is_promise(self, key: &[u8]) -> bool {
        match self {
            Self::Poa => key == poa::SIGNED_KEY || key.starts_with(poa::SEALED_PREFIX),
            Self::Pos => key == pos::PROMISES_KEY,
            Self::Dpos => key == dpos::PROMISE_KEY,
            Self::Pbft => pbft::PROMISE_PREFIXES.iter().any(|prefix| key.starts_with(prefix)),
            Self::Raft => key.starts_with(raft::HARD_STATE_KEY) || key.starts_with(raft::ENTRY_PREFIX),
        }
    }

    /// The height of a block that a replica answers for by this record: what it sealed or prepared there. While the chain that
    /// everybody would come back to does not have that block for good, the record is needed, though the replica itself is
    /// ahead and forgets it.
    pub(crate) fn answers_for(self, key: &[u8]) -> Option<Height> {
        match self {
            Self::Poa => poa::sealed_height(key),
            Self::Pbft => pbft::promised_height(key),
            Self::Pos | Self::Dpos | Self::Raft => None,
        }
    }

    /// Key of the record that is written with every head, of which alone a replica can go on there.
    pub(crate) const fn head_key(self) -> &'static [u8] {
        match self {
            Self::Poa => poa::HEAD_KEY,
            Self::Pos => pos::HEAD_KEY,
            Self::Dpos => dpos::HEAD_KEY,
            Self::Pbft => pbft::HEAD_KEY,
            Self::Raft => raft::HEAD_KEY,
        }
    }

    /// Whether a record says where the chain stands.
    fn is_standing(self, key: &[u8]) -> bool {
        match self {
            Self::Poa | Self::Pos | Self::Dpos => key == self.head_key(),
            Self::Raft => raft::HEAD_KEYS.contains(&key),
            // Each committed height and the stable checkpoint have records of their own.
            Self::Pbft => !self.is_promise(key),
        }
    }

    /// A replica's own promises, on the chain as `other` knows it.
    pub(crate) fn promises_on(self, own: &Records, other: &Records) -> Records {
        self.joined(own, other, |key| !self.is_promise(key))
    }

    /// The same on the chain's head alone.
    pub(crate) fn promises_at_head(self, own: &Records, other: &Records) -> Records {
        self.joined(own, other, |key| self.is_standing(key))
    }

    fn joined(self, own: &Records, other: &Records, is_taken: impl Fn(&[u8]) -> bool) -> Records {
        let promised = own.iter().filter(|(key, _)| self.is_promise(key));
        let taken = other.iter().filter(|(key, _)| is_taken(key));
        promised.chain(taken).map(|(key, value)| (key.clone(), value.clone())).collect()
    }
}

impl Machine {
    /// Whether a replica that went on from this record still needs it. It forgets by itself what it knows of; a branch or a log
    /// that it did not take up again it will never speak of.
    pub(crate) fn needs(&self, key: &[u8]) -> bool {
        match self {
            // It knows every record that it keeps.
            Self::Pbft(_) => true,
            Self::Poa(poa) => poa.needs(key),
            Self::Pos(pos) => pos.needs(key),
            Self::Dpos(dpos) => dpos.needs(key),
            Self::Raft(raft) => raft.needs(key),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn promises_stay_and_the_chain_is_taken_over() {
        let records = |pairs: &[(&str, u8)]| -> Records {
            pairs.iter().map(|(key, value)| (Bytes::copy_from_slice(key.as_bytes()), vec![*value].into())).collect()
        };
        let own = records(&[("head", 1), ("head/copy", 1), ("hard-state", 1), ("hard-state/copy", 1), ("entry/1", 1)]);
        let other = records(&[("head", 2), ("head/copy", 2), ("hard-state", 2), ("entry/2", 2)]);
        let wanted =
            records(&[("head", 2), ("head/copy", 2), ("hard-state", 1), ("hard-state/copy", 1), ("entry/1", 1)]);
        assert_eq!(ConsensusKind::Raft.promises_on(&own, &other), wanted);
        assert_eq!(ConsensusKind::Raft.promises_at_head(&own, &other), wanted);

        let own = records(&[("head", 1), ("promises", 1), ("node/1", 1)]);
        let other = records(&[("head", 2), ("promises", 2), ("node/2", 2)]);
        assert_eq!(
            ConsensusKind::Pos.promises_on(&own, &other),
            records(&[("head", 2), ("promises", 1), ("node/2", 2)])
        );
        assert_eq!(ConsensusKind::Pos.promises_at_head(&own, &other), records(&[("head", 2), ("promises", 1)]));

        let own = records(&[("c/1", 1), ("q/1", 1), ("p/1", 1), ("v/1", 1), ("b/1", 1)]);
        let other = records(&[("head", 2), ("c/2", 2), ("s/2", 2), ("q/2", 2)]);
        let wanted = records(&[("head", 2), ("c/2", 2), ("s/2", 2), ("q/1", 1), ("p/1", 1), ("v/1", 1), ("b/1", 1)]);
        assert_eq!(ConsensusKind::Pbft.promises_on(&own, &other), wanted);
    }
}
