//! Lists of proposals.

use super::{Proposal, Proposals, check_governance, id_of, unreadable};
use crate::{
    platform::{PlatformError, blockchain::Blockchain, principal::Principal},
    system::governance::interface as sol,
};

impl Proposals<'_> {
    /// Returns how many proposals a chain has, and those of a range: `(skipped, count, newest_first)`. Those that wait in the pool are not
    /// among them.
    ///
    /// # Errors
    /// [`PlatformError::Conflict`] on a chain without governance; as
    /// [`Blockchains::readable`](crate::platform::Blockchains::readable).
    pub fn list(
        &self,
        principal: &Principal,
        chain: &str,
        range: (u64, u64, bool),
    ) -> Result<(Vec<Proposal>, u64), PlatformError> {
        let chain = self.chains.readable(principal, chain)?;
        check_governance(&chain)?;
        self.of_chain(&chain, range)
    }

    /// As [`Proposals::list`], of a chain with governance that the caller has in hand.
    pub(in crate::platform) fn of_chain(
        &self,
        chain: &Blockchain,
        (skipped, count, newest_first): (u64, u64, bool),
    ) -> Result<(Vec<Proposal>, u64), PlatformError> {
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
            if let Some(id) = id_of(chain, (record.id, record.height))? {
                found.push(Proposal::of(id, record));
            }
        }
        Ok((found, total))
    }
}
