//! The protocols' names, as in configurations and on the command line, and the constant facts about each.

use super::{ConsensusKind, StakeUse};
use crate::primitives::Height;

impl ConsensusKind {
    /// Returns the protocol's use of stake.
    pub const fn stake_use(self) -> StakeUse {
        self.info().stake_use
    }

    /// Returns the full name, such as `proof-of-authority`.
    pub const fn name(self) -> &'static str {
        self.info().name
    }

    /// Returns the short name, such as `poa`; the full one where there is no other.
    pub const fn short_name(self) -> &'static str {
        self.info().short_name
    }

    /// Returns the protocol's number in records and canonical encodings. Never changes.
    pub(crate) const fn number(self) -> u8 {
        self.info().number
    }

    /// Returns the protocol with this number.
    pub(crate) fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.number() == number)
    }

    /// Returns the protocol with this name, full or short.
    ///
    /// ```
    /// use chainbox::consensus::ConsensusKind;
    /// assert_eq!(ConsensusKind::from_name("poa"), ConsensusKind::from_name("proof-of-authority"));
    /// assert_eq!(ConsensusKind::from_name("pow"), None);
    /// ```
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name || kind.short_name() == name)
    }

    /// See [`RecordKeys`](crate::consensus::common::record_class::RecordKeys).
    #[cfg(test)]
    pub(crate) fn is_safety_record(self, key: &[u8]) -> bool {
        self.info().record_keys.is_safety_record(key)
    }

    /// See [`RecordKeys`](crate::consensus::common::record_class::RecordKeys).
    pub(crate) fn attested_height(self, key: &[u8]) -> Option<Height> {
        self.info().record_keys.attested_height(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        consensus::{any::ConsensusConfig, common::records::Records},
        primitives::Bytes,
    };

    #[test]
    fn names_are_the_sections_of_genesis_too() {
        for kind in ConsensusKind::ALL {
            assert_eq!(ConsensusKind::from_name(kind.name()), Some(kind));
            assert_eq!(ConsensusKind::from_name(kind.short_name()), Some(kind));
            assert_eq!(ConsensusKind::from_number(kind.number()), Some(kind));
            let config = kind.on_demand();
            assert_eq!((config.kind(), config.period()), (Some(kind), core::time::Duration::ZERO));
            for name in [kind.name(), kind.short_name()] {
                let mut section = config.section();
                section["protocol"] = name.into();
                assert_eq!(ConsensusConfig::deserialize_section(&section).unwrap(), config, "{name}");
            }
        }
    }

    #[test]
    fn safety_records_stay_and_records_of_the_chain_are_replaced() {
        let records = |pairs: &[(&str, u8)]| -> Records {
            pairs.iter().map(|(key, value)| (Bytes::copy_from_slice(key.as_bytes()), vec![*value].into())).collect()
        };
        let own = records(&[("head", 1), ("head/copy", 1), ("hard-state", 1), ("hard-state/copy", 1), ("entry/1", 1)]);
        let other = records(&[("head", 2), ("head/copy", 2), ("hard-state", 2), ("entry/2", 2)]);
        let wanted =
            records(&[("head", 2), ("head/copy", 2), ("hard-state", 1), ("hard-state/copy", 1), ("entry/1", 1)]);
        let keys = |kind: ConsensusKind| kind.info().record_keys;
        assert_eq!(keys(ConsensusKind::Raft).on_chain_of(&own, &other), wanted);
        assert_eq!(keys(ConsensusKind::Raft).at_head_of(&own, &other), wanted);

        let own = records(&[("head", 1), ("promises", 1), ("node/1", 1)]);
        let other = records(&[("head", 2), ("promises", 2), ("node/2", 2)]);
        assert_eq!(
            keys(ConsensusKind::Pos).on_chain_of(&own, &other),
            records(&[("head", 2), ("promises", 1), ("node/2", 2)])
        );
        assert_eq!(keys(ConsensusKind::Pos).at_head_of(&own, &other), records(&[("head", 2), ("promises", 1)]));

        let own = records(&[("c/1", 1), ("q/1", 1), ("p/1", 1), ("v/1", 1), ("b/1", 1)]);
        let other = records(&[("head", 2), ("c/2", 2), ("s/2", 2), ("q/2", 2)]);
        let wanted = records(&[("head", 2), ("c/2", 2), ("s/2", 2), ("q/1", 1), ("p/1", 1), ("v/1", 1), ("b/1", 1)]);
        assert_eq!(keys(ConsensusKind::Pbft).on_chain_of(&own, &other), wanted);
    }
}
