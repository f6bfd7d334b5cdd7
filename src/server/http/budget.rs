//! The bytes of request bodies that the server receives at one time.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bytes of one permit: a semaphore counts at most 2^32 of them at a time.
const UNIT: usize = 1 << 10;
/// Bytes of a body that don't count: so many fit beside each other in all connections.
const FREE: usize = 64 << 10;

/// Shared by all connections of a server.
#[derive(Clone, Debug)]
pub(super) struct BodyBudget(Arc<Semaphore>);

/// A body's share of the budget, given back when it is dropped.
#[derive(Debug)]
pub(super) struct Reservation {
    budget: BodyBudget,
    units: usize,
    permit: Option<OwnedSemaphorePermit>,
}

impl BodyBudget {
    /// Creates a budget of `bytes` bytes, in whole KiB.
    pub(super) fn new(bytes: usize) -> Self {
        Self(Arc::new(Semaphore::new((bytes / UNIT).min(Semaphore::MAX_PERMITS))))
    }

    /// Returns the share of an empty body.
    pub(super) fn empty(&self) -> Reservation {
        Reservation { budget: self.clone(), units: 0, permit: None }
    }
}

impl Reservation {
    /// Makes the share large enough for a body of `bytes` bytes; `false` when the budget is used up.
    pub(super) fn grow_to(&mut self, bytes: usize) -> bool {
        let needed = if bytes <= FREE { 0 } else { bytes.div_ceil(UNIT) };
        let Some(more) = needed.checked_sub(self.units).filter(|more| *more > 0) else { return true };
        let Some(permit) =
            u32::try_from(more).ok().and_then(|more| self.budget.0.clone().try_acquire_many_owned(more).ok())
        else {
            return false;
        };
        match &mut self.permit {
            Some(held) => held.merge(permit),
            None => self.permit = Some(permit),
        }
        self.units = needed;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_share_the_budget_and_give_it_back() {
        let budget = BodyBudget::new(100 << 10);
        let (mut first, mut second, mut short) = (budget.empty(), budget.empty(), budget.empty());
        assert!(first.grow_to(FREE) && first.grow_to(80 << 10) && first.grow_to(100 << 10), "at the bound");
        assert!(!first.grow_to((100 << 10) + 1) && !second.grow_to(FREE + 1), "one past it");
        assert!(short.grow_to(FREE), "short bodies don't count");
        drop(first);
        assert!(second.grow_to(100 << 10) && second.grow_to(1));
    }
}
