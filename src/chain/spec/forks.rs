//! Activation heights of forks.

use serde::{Deserialize, Serialize};

use crate::primitives::Height;

/// Activation heights of forks; `None` (JSON: `null`) is never. The gas schedule is the same at every height.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[non_exhaustive]
pub struct ForkRules {
    /// London: headers have a base fee, beginning with [`BaseFeeParams::initial`](crate::chain::BaseFeeParams::initial), and type 2 transactions are valid
    /// (EIP-1559).
    pub london: Option<Height>,
}

impl ForkRules {
    /// Returns whether London is active at `height`.
    pub fn is_london(&self, height: Height) -> bool {
        self.london.is_some_and(|from| height >= from)
    }
}

impl Default for ForkRules {
    fn default() -> Self {
        Self { london: Some(Height::GENESIS) }
    }
}
