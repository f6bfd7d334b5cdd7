//! Durations as whole milliseconds: the form in which plans, profiles, setups and reports are written.

use core::time::Duration;

/// Returns the whole milliseconds, clamped at the largest `u64`.
pub(crate) fn whole_millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Returns whether a duration has no fraction of a millisecond, which would not be written.
pub(crate) const fn is_whole_millis(duration: Duration) -> bool {
    duration.subsec_nanos().is_multiple_of(1_000_000)
}

/// A [`Duration`] as the number of its whole milliseconds; a fraction of one is dropped.
pub(crate) mod millis_serde {
    use core::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    use super::whole_millis;

    pub(crate) fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(whole_millis(*duration))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_millis)
    }
}

/// As [`millis_serde`], of a field that may be absent.
pub(crate) mod optional_millis_serde {
    use core::time::Duration;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::whole_millis;

    pub(crate) fn serialize<S: Serializer>(duration: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
        duration.map(whole_millis).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<u64>::deserialize(deserializer)?.map(Duration::from_millis))
    }
}
