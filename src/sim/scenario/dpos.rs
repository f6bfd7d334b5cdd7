//! Scenarios of delegated proof of stake.

use super::Scenario;

pub(super) const SCENARIOS: &[Scenario] = &[];
