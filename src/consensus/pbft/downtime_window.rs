//! How many wrong reports of absences a chain of PBFT bears, by the parameters of its stake.

use serde::{Deserialize, Serialize};

use crate::system::staking::StakingParams;

/// Wrong reports of one validator in a window before a replica suspects the primary, at most.
pub(super) const WRONG_REPORTS_MAX: u32 = 8;

/// The window in which the staking contract counts absences, and how many of them may be wrong reports before the primary is suspected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DowntimeWindow {
    /// Length of the window, in blocks.
    pub blocks: u32,
    /// Wrong reports of one validator in the window with which a replica suspects the primary: a quarter of what is not punished, at most
    /// 8 and at least 1.
    pub wrong_reports_max: u32,
}

impl Default for DowntimeWindow {
    fn default() -> Self {
        Self::of_staking(&StakingParams::default())
    }
}

impl DowntimeWindow {
    /// Returns the window of a chain with these parameters of stake.
    pub fn of_staking(params: &StakingParams) -> Self {
        let blocks = params.downtime_window;
        let unpunished =
            u64::from(blocks) * u64::from(1_000_000_u32.saturating_sub(params.downtime_min_signed_ppm)) / 1_000_000;
        let quarter = u32::try_from(unpunished / 4).unwrap_or(u32::MAX);
        Self { blocks, wrong_reports_max: quarter.clamp(1, WRONG_REPORTS_MAX) }
    }

    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}
