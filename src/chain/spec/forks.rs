//! The forks of a chain: one from genesis on, or in the earlier form London from a height on.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::{
    primitives::Height,
    vm::{ForkRules, Hardfork},
};

/// The forks of a chain.
///
/// JSON: the fork's name, such as `"osaka"`. The earlier form, an object with the height at which London begins or null, is
/// read too, as rules of London and none later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Forks {
    /// One fork from genesis on.
    Since(Hardfork),
    /// London from this height on, Berlin's rules below; `None` is never. JSON: `{"london": height}`.
    LondonAt(Option<Height>),
}

impl Forks {
    /// Returns the fork at `height`.
    pub fn at(&self, height: Height) -> Hardfork {
        match self {
            Self::Since(hardfork) => *hardfork,
            Self::LondonAt(Some(from)) if height >= *from => Hardfork::London,
            Self::LondonAt(_) => Hardfork::Berlin,
        }
    }

    /// Returns the rules at `height`.
    pub fn rules_at(&self, height: Height) -> ForkRules {
        self.at(height).rules()
    }
}

impl Default for Forks {
    fn default() -> Self {
        Self::Since(Hardfork::default())
    }
}

impl From<Hardfork> for Forks {
    fn from(hardfork: Hardfork) -> Self {
        Self::Since(hardfork)
    }
}

/// JSON of [`Forks::LondonAt`].
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LondonAt {
    #[serde(default = "genesis")]
    london: Option<Height>,
}

#[expect(clippy::unnecessary_wraps, reason = "the default of a field that may be null")]
const fn genesis() -> Option<Height> {
    Some(Height::GENESIS)
}

/// JSON of [`Forks`].
#[derive(Deserialize)]
#[serde(untagged)]
enum ForksJson {
    Name(String),
    London(LondonAt),
}

impl Serialize for Forks {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Since(hardfork) => hardfork.serialize(serializer),
            Self::LondonAt(london) => LondonAt { london: *london }.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Forks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let names = || Hardfork::ALL.map(Hardfork::name).join(", ");
        match ForksJson::deserialize(deserializer) {
            Ok(ForksJson::Name(name)) => Hardfork::from_name(&name).map(Self::Since).ok_or_else(|| {
                D::Error::custom(format_args!("hardfork: there is no fork {name:?}; choose one of {}", names()))
            }),
            Ok(ForksJson::London(LondonAt { london: Some(Height::GENESIS) })) => Ok(Self::Since(Hardfork::London)),
            Ok(ForksJson::London(LondonAt { london })) => Ok(Self::LondonAt(london)),
            Err(_) => Err(D::Error::custom(format_args!(
                "hardfork: expected the name of a fork ({}) or the earlier form {{\"london\": height}}",
                names()
            ))),
        }
    }
}
