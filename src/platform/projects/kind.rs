//! Types of projects, and the networks that their chains are.

use core::time::Duration;

use serde::{Deserialize, Serialize};

/// Type of a project.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum ProjectKind {
    /// An application of any kind.
    #[default]
    Dapp,
    /// A token.
    Token,
    /// NFTs.
    Nft,
    /// Finance.
    Defi,
    /// An organisation that votes.
    Dao,
    /// A chain.
    Network,
}

impl ProjectKind {
    /// Every type.
    pub const ALL: [Self; 6] = [Self::Dapp, Self::Token, Self::Nft, Self::Defi, Self::Dao, Self::Network];

    /// Name of the type.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dapp => "dapp",
            Self::Token => "token",
            Self::Nft => "nft",
            Self::Defi => "defi",
            Self::Dao => "dao",
            Self::Network => "network",
        }
    }

    /// Returns the type with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// Network that the chain of a project is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum ProjectNetwork {
    /// Blocks on demand, one validator.
    #[default]
    Development,
    /// A block every two seconds, one validator.
    Testnet,
    /// A block every five seconds, four validators.
    Mainnet,
}

impl ProjectNetwork {
    /// Every network.
    pub const ALL: [Self; 3] = [Self::Development, Self::Testnet, Self::Mainnet];

    /// Name of the network.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Development => "development",
            Self::Testnet => "testnet",
            Self::Mainnet => "mainnet",
        }
    }

    /// Returns the network with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|network| network.name() == name)
    }

    /// Time between blocks; `None` on demand.
    pub(super) const fn block_time(self) -> Option<Duration> {
        match self {
            Self::Development => None,
            Self::Testnet => Some(Duration::from_secs(2)),
            Self::Mainnet => Some(Duration::from_secs(5)),
        }
    }

    /// Operators that genesis names; without any the treasury is the one.
    pub(super) const fn operators(self) -> usize {
        match self {
            Self::Development | Self::Testnet => 0,
            Self::Mainnet => 4,
        }
    }
}
