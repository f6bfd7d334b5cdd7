//! Classifies a replica's durable records: safety records, records of the chain that all replicas share, and records of the head.

use super::records::Records;
use crate::primitives::Height;

/// The keys of a protocol's records, by what the records are for. Every key begins with exactly one of the protocol's prefixes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordKeys {
    /// Key of the record that is written with every head; a replica can restart at that head from it alone.
    pub(crate) head: &'static [u8],
    /// Prefixes of the records that describe the head.
    pub(crate) head_prefixes: &'static [&'static [u8]],
    /// Prefixes of the safety records.
    pub(crate) safety_prefixes: &'static [&'static [u8]],
    /// Prefixes, each followed by a height of 8 bytes, of the safety records that attest a block of that height.
    pub(crate) attested_prefixes: &'static [&'static [u8]],
}

impl RecordKeys {
    /// Returns whether a record holds what this replica alone has signed or voted for. No other replica can restore it,
    /// and without it the replica could equivocate.
    pub(crate) fn is_safety_record(&self, key: &[u8]) -> bool {
        has_prefix(key, self.safety_prefixes)
    }

    /// Returns whether a record describes the head of the chain.
    pub(crate) fn is_head_record(&self, key: &[u8]) -> bool {
        has_prefix(key, self.head_prefixes)
    }

    /// Returns the height of the block that a safety record attests: one that the replica sealed or prepared. The record is
    /// needed until the stored chain has a block at that height for good, even where the replica itself is ahead and
    /// deletes it.
    pub(crate) fn attested_height(&self, key: &[u8]) -> Option<Height> {
        let number = self.attested_prefixes.iter().find_map(|prefix| key.strip_prefix(*prefix))?;
        number.first_chunk().map(|height| Height::new(u64::from_be_bytes(*height)))
    }

    /// Returns the safety records of `own` with all other records of `other`: the replica of `own` on the chain of `other`.
    pub(crate) fn on_chain_of(&self, own: &Records, other: &Records) -> Records {
        self.joined(own, other, |key| !self.is_safety_record(key))
    }

    /// Returns the safety records of `own` with the head records of `other`: the replica of `own` at the head of `other`.
    pub(crate) fn at_head_of(&self, own: &Records, other: &Records) -> Records {
        self.joined(own, other, |key| self.is_head_record(key))
    }

    fn joined(&self, own: &Records, other: &Records, is_taken: impl Fn(&[u8]) -> bool) -> Records {
        let safety = own.iter().filter(|(key, _)| self.is_safety_record(key));
        let taken = other.iter().filter(|(key, _)| is_taken(key));
        safety.chain(taken).map(|(key, value)| (key.clone(), value.clone())).collect()
    }
}

fn has_prefix(key: &[u8], prefixes: &[&[u8]]) -> bool {
    prefixes.iter().any(|prefix| key.starts_with(prefix))
}
