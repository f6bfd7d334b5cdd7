//! The modules of the service by their names.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::platform::PlatformError;

/// A module of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ModuleKind {
    /// Exchange, lending, staking.
    Defi,
    /// Minting and a marketplace.
    Nft,
    /// Governance and voting.
    Dao,
    /// Transfers between chains.
    Bridge,
    /// Prices from outside.
    Oracle,
    /// Decentralised identity.
    Identity,
    /// Zero-knowledge proofs.
    Privacy,
    /// Decentralised storage.
    Storage,
}

impl ModuleKind {
    /// Every module.
    pub const ALL: [Self; 8] =
        [Self::Defi, Self::Nft, Self::Dao, Self::Bridge, Self::Oracle, Self::Identity, Self::Privacy, Self::Storage];

    /// Name of the module, in the service and in the registry of a chain.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Defi => "defi",
            Self::Nft => "nft",
            Self::Dao => "dao",
            Self::Bridge => "bridge",
            Self::Oracle => "oracle",
            Self::Identity => "identity",
            Self::Privacy => "privacy",
            Self::Storage => "storage",
        }
    }

    /// Returns the module with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Refuses a module that this build can't switch on.
    ///
    /// # Errors
    /// [`PlatformError::Conflict`], which names those that it can.
    pub(in crate::platform) fn check_in_this_build(self) -> Result<(), PlatformError> {
        if self.is_in_this_build() {
            return Ok(());
        }
        let built: Vec<&str> = Self::ALL.into_iter().filter(|kind| kind.is_in_this_build()).map(Self::name).collect();
        let message = format!("this build has no module {}: it can enable {}", self.name(), built.join(", "));
        Err(PlatformError::Conflict { message })
    }

    /// Whether this build has its contracts, so that it can be switched on.
    pub const fn is_in_this_build(self) -> bool {
        matches!(self, Self::Defi | Self::Nft | Self::Dao)
    }
}

impl Serialize for ModuleKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for ModuleKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::from_name(&name).ok_or_else(|| D::Error::custom(format!("there is no module {name}")))
    }
}
