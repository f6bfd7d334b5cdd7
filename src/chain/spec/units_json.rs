//! JSON of gas, times and durations: numbers of their unit, in the forms of an amount.

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

/// JSON of a [`Duration`](std::time::Duration): its milliseconds, as [`amount::small`](crate::primitives::amount::small). A fraction of one is dropped; [`GenesisSpec::check`](super::GenesisSpec::check) refuses it.
pub(super) mod millis_json {
    use std::time::Duration;

    use serde::{Deserializer, Serializer};

    use crate::primitives::amount::small;

    pub(crate) fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        small::serialize(&u64::try_from(duration.as_millis()).unwrap_or(u64::MAX), serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        small::deserialize(deserializer).map(Duration::from_millis)
    }
}
