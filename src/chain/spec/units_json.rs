//! JSON of gas and times: numbers of their unit, in the forms of an amount. JSON of fields that are no more.

/// JSON of a [`Gas`](crate::primitives::Gas) amount: as [`amount::small`](crate::primitives::amount::small).
pub(super) mod gas_json {
    use serde::{Deserializer, Serializer};

    use crate::primitives::{Gas, amount::small};

    pub(crate) fn serialize<S: Serializer>(gas: &Gas, serializer: S) -> Result<S::Ok, S::Error> {
        small::serialize(&gas.get(), serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Gas, D::Error> {
        small::deserialize(deserializer).map(Gas::new)
    }
}

/// JSON of a [`Timestamp`](crate::primitives::Timestamp): its seconds, as [`amount::small`](crate::primitives::amount::small).
pub(super) mod timestamp_json {
    use serde::{Deserializer, Serializer};

    use crate::primitives::{Timestamp, amount::small};

    pub(crate) fn serialize<S: Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
        small::serialize(&time.as_secs(), serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
        small::deserialize(deserializer).map(Timestamp::from_secs)
    }
}

/// The value of a field that is no more: any, and dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dropped;

impl<'de> serde::Deserialize<'de> for Dropped {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        serde::de::IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}
