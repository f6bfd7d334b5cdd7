//! What the results of a file come from.

use core::fmt;

use serde::{Deserialize, Serialize};

use super::two_phase::CampaignSetup;
use crate::primitives::B256;

/// The first line of a file of results: results of one origin may be added up, others may not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// The protocol's short name.
    pub protocol: String,
    /// BLAKE3 of the setup's JSON.
    pub setup: B256,
    /// Version of chainbox.
    pub version: String,
}

/// Results of two origins.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("results are of {got}; expected {want}: only results of one campaign and one build add up")]
pub struct OriginError {
    /// Of the file.
    pub got: Origin,
    /// Of the campaign, or of the files before.
    pub want: Origin,
}

impl Origin {
    /// Where results come from that this build makes with `setup`.
    pub fn of(setup: &CampaignSetup) -> Self {
        let json = serde_json::to_vec(setup).unwrap_or_default();
        Self {
            protocol: setup.consensus.kind().short_name().to_owned(),
            setup: B256::from(*blake3::hash(&json).as_bytes()),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    /// Whether results from here add up with those of `want`.
    ///
    /// # Errors
    /// [`OriginError`] when they do not.
    pub fn check(&self, want: &Self) -> Result<(), Box<OriginError>> {
        if self == want {
            return Ok(());
        }
        Err(Box::new(OriginError { got: self.clone(), want: want.clone() }))
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { protocol, setup, version } = self;
        write!(f, "{protocol} (setup {}, chainbox {version})", &setup.to_string()[..10])
    }
}
