//! The first ready transaction of each sender: what the next block can begin with.

use alloy_primitives::Address;
use imbl::OrdMap;

use super::tip_index::{Case, Offer, TipIndex};

/// The first ready transactions, those that the next block can contain by effective tip. Cloning is O(1).
#[derive(Clone, Debug)]
pub(super) struct ReadyHeads {
    gas_limit: u64,
    /// Those whose gas limit is at most the block's.
    tips: TipIndex,
    /// All of them by gas limit and arrival.
    by_gas: OrdMap<(u64, u64), (Offer, Address)>,
}

impl ReadyHeads {
    pub(super) fn new(base_fee: u64, gas_limit: u64) -> Self {
        Self { gas_limit, tips: TipIndex::new(base_fee), by_gas: OrdMap::new() }
    }

    pub(super) fn insert(&mut self, offer: Offer, gas: u64, sender: Address) {
        self.by_gas.insert((gas, offer.arrival), (offer, sender));
        if gas <= self.gas_limit {
            self.tips.insert(offer, sender);
        }
    }

    pub(super) fn remove(&mut self, offer: Offer, gas: u64) {
        self.by_gas.remove(&(gas, offer.arrival));
        if gas <= self.gas_limit {
            self.tips.remove(offer);
        }
    }

    pub(super) fn set_base_fee(&mut self, base_fee: u64) {
        self.tips.set_base_fee(base_fee);
    }

    /// Takes in or leaves out the transactions whose gas limit is between the old bound and the new one, and no others.
    pub(super) fn set_gas_limit(&mut self, gas_limit: u64) {
        let (low, high) = (self.gas_limit.min(gas_limit), self.gas_limit.max(gas_limit));
        for ((gas, _), (offer, sender)) in self.by_gas.range((low, u64::MAX)..=(high, u64::MAX)) {
            if *gas <= low {
                continue;
            }
            if gas_limit == high {
                self.tips.insert(*offer, *sender);
            } else {
                self.tips.remove(*offer);
            }
        }
        self.gas_limit = gas_limit;
    }

    /// Returns whether the next block can contain one.
    pub(super) fn has_payable(&self) -> bool {
        self.tips.has_payable()
    }

    /// Returns the best one of a case; with `after`, the best one below it.
    pub(super) fn best_of(&self, case: Case, after: Option<Offer>) -> Option<(Offer, Address)> {
        self.tips.best_of(case, after)
    }
}
