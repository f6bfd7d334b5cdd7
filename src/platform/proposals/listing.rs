//! Lists of proposals.

use super::{Proposal, Proposals, check_governance, unreadable};
use crate::{
    platform::{PlatformError, principal::Principal},
    system::governance::interface as sol,
};

impl Proposals<'_> {
    /// Returns the number of a chain's proposals, and at most `count` of them, without those before `skipped`: the oldest first, or the
    /// newest first. Those that wait in the pool are not among them.
    ///
    /// # Errors
    /// [`PlatformError::Conflict`] on a chain without governance; as
    /// [`Blockchains::readable`](crate::platform::Blockchains::readable).
    pub fn list(
        &self,
        principal: &Principal,
        chain: &str,
        (skipped, count, newest_first): (u64, u64, bool),
    ) -> Result<(Vec<Proposal>, u64), PlatformError> {
        let chain = self.chains.readable(principal, chain)?;
        check_governance(&chain)?;
        let view = chain.node().view();
        let total = view.chain().governance_view(view.head(), &sol::proposalCountCall {}).map_err(unreadable)?;
        let total: u64 = total.saturating_to();
        let first = skipped.saturating_add(1);
        let last = skipped.saturating_add(count).min(total);
        let mut found = Vec::new();
        for place in first..=last {
            let number = if newest_first { total.saturating_add(1).saturating_sub(place) } else { place };
            let Some(record) = view.chain().proposal(view.head(), number).map_err(unreadable)? else { continue };
            // One whose block the chain has forgotten has no id to ask for it by.
            if let Some(id) = self.id_of(&chain, &record)? {
                found.push(Proposal::of(id, record));
            }
        }
        Ok((found, total))
    }
}
