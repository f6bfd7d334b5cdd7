//! Origin of a file of results.

use core::fmt;

use serde::{Deserialize, Serialize};

use super::two_phase::CampaignSetup;
use crate::primitives::B256;

/// First line of a file of results. Only results of one origin may be summed.
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

/// Results of two different origins.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("results are of {got}; expected {want}: only results of one campaign and one build can be summed")]
pub struct OriginError {
    /// Origin in the file.
    pub got: Origin,
    /// Origin of the campaign, or of the previous files.
    pub want: Origin,
}

impl Origin {
    /// Returns the origin of results that this build produces with `setup`.
    pub fn of(setup: &CampaignSetup) -> Self {
        let json = serde_json::to_vec(setup).unwrap_or_default();
        Self {
            protocol: setup.consensus.short_name().to_owned(),
            setup: B256::from(*blake3::hash(&json).as_bytes()),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    /// Checks that results of this origin may be summed with those of `want`.
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
