//! An order by effective tip that follows the base fee.
//!
//! The effective tip is `min(tip cap, fee cap - base fee)` (EIP-1559). Where the first term is the smaller one, the order
//! is that of the tip caps; where it is the second, that of the fee caps. Neither depends on the base fee, so that the
//! index keeps one order for each case, and a change of the base fee moves the entries that cross from one case to another
//! and no others: `O(moved * log n)`.

use core::cmp::Reverse;

use alloy_primitives::Address;
use imbl::OrdMap;

use crate::primitives::Transaction;

/// The fees of an indexed transaction, with a number that orders equal ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Offer {
    /// Largest fee, in the smallest unit per unit of gas.
    pub(super) fee_cap: u128,
    /// Largest tip, in the smallest unit per unit of gas; at most `fee_cap`.
    pub(super) tip_cap: u128,
    /// Sequence number of arrival; unique in an index.
    pub(super) arrival: u64,
}

impl Offer {
    pub(super) fn of(transaction: &Transaction, arrival: u64) -> Self {
        let (fee_cap, tip_cap) = (transaction.max_fee_per_gas(), transaction.max_priority_fee_per_gas());
        Self { fee_cap, tip_cap: tip_cap.min(fee_cap), arrival }
    }

    /// Returns the lower fees of two transactions of one sender, of which this one is mined first.
    pub(super) fn lower_of(self, later: &Transaction) -> Self {
        let later = Self::of(later, self.arrival);
        Self { fee_cap: self.fee_cap.min(later.fee_cap), tip_cap: self.tip_cap.min(later.tip_cap), ..self }
    }

    /// Returns the value by which offers compare: those that cover the base fee by effective tip, below them the others by
    /// fee cap.
    pub(super) fn rank(self, base_fee: u64) -> (bool, u128) {
        match self.fee_cap.checked_sub(u128::from(base_fee)) {
            Some(over) => (true, over.min(self.tip_cap)),
            None => (false, self.fee_cap),
        }
    }

    /// Largest base fee at which the effective tip is the whole tip cap.
    const fn slack(self) -> u128 {
        self.fee_cap.saturating_sub(self.tip_cap)
    }
}

/// Where an entry belongs at a base fee.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Case {
    /// The effective tip is the tip cap.
    WholeTip,
    /// The effective tip is the fee cap minus the base fee.
    PartOfTip,
    /// The fee cap is below the base fee.
    BelowBaseFee,
}

/// Price, then arrival: the earlier one is the greater.
type PriceKey = (u128, Reverse<u64>);

/// Senders by the effective tip of an [`Offer`] of each. Cloning is O(1).
#[derive(Clone, Debug, Default)]
pub(super) struct TipIndex {
    base_fee: u64,
    /// By tip cap.
    whole: OrdMap<PriceKey, (Offer, Address)>,
    /// By fee cap.
    part: OrdMap<PriceKey, (Offer, Address)>,
    /// By fee cap.
    below: OrdMap<PriceKey, (Offer, Address)>,
    /// The entries of `whole` by slack and arrival.
    whole_slack: OrdMap<(u128, u64), (Offer, Address)>,
    /// The entries of `part` by slack and arrival.
    part_slack: OrdMap<(u128, u64), (Offer, Address)>,
}

impl TipIndex {
    pub(super) fn new(base_fee: u64) -> Self {
        Self { base_fee, ..Self::default() }
    }

    pub(super) fn insert(&mut self, offer: Offer, sender: Address) {
        let case = self.case_of(offer);
        let (key, value) = (price_key(case, offer), (offer, sender));
        let slack = (offer.slack(), offer.arrival);
        match case {
            Case::WholeTip => drop((self.whole.insert(key, value), self.whole_slack.insert(slack, value))),
            Case::PartOfTip => drop((self.part.insert(key, value), self.part_slack.insert(slack, value))),
            Case::BelowBaseFee => drop(self.below.insert(key, value)),
        }
    }

    pub(super) fn remove(&mut self, offer: Offer) {
        let case = self.case_of(offer);
        let key = price_key(case, offer);
        let slack = (offer.slack(), offer.arrival);
        match case {
            Case::WholeTip => drop((self.whole.remove(&key), self.whole_slack.remove(&slack))),
            Case::PartOfTip => drop((self.part.remove(&key), self.part_slack.remove(&slack))),
            Case::BelowBaseFee => drop(self.below.remove(&key)),
        }
    }

    /// Moves the entries whose case differs at the new base fee.
    pub(super) fn set_base_fee(&mut self, base_fee: u64) {
        let rises = base_fee > self.base_fee;
        if base_fee == self.base_fee {
            return;
        }
        while let Some((offer, sender)) = self.first_to_move(rises, u128::from(base_fee)) {
            self.remove(offer);
            let before = core::mem::replace(&mut self.base_fee, base_fee);
            self.insert(offer, sender);
            self.base_fee = before;
        }
        self.base_fee = base_fee;
    }

    /// Returns an entry whose case changes when the base fee rises or falls to `base_fee`.
    fn first_to_move(&self, rises: bool, base_fee: u128) -> Option<(Offer, Address)> {
        let value = |(_, value): &(_, (Offer, Address))| *value;
        if rises {
            let whole = self.whole_slack.get_min().map(value).filter(|(offer, _)| offer.slack() < base_fee);
            whole.or_else(|| self.part.get_min().map(|(_, value)| *value).filter(|(offer, _)| offer.fee_cap < base_fee))
        } else {
            let below = self.below.get_max().map(|(_, value)| *value).filter(|(offer, _)| offer.fee_cap >= base_fee);
            below.or_else(|| self.part_slack.get_max().map(value).filter(|(offer, _)| offer.slack() >= base_fee))
        }
    }

    /// Returns the best entry of a case that covers the base fee; with `after`, the best one below it.
    pub(super) fn best_of(&self, case: Case, after: Option<Offer>) -> Option<(Offer, Address)> {
        let map = match case {
            Case::WholeTip => &self.whole,
            Case::PartOfTip => &self.part,
            Case::BelowBaseFee => return None,
        };
        match after {
            None => map.get_max().map(|(_, value)| *value),
            Some(offer) => map.range(..price_key(case, offer)).next_back().map(|(_, value)| *value),
        }
    }

    /// Returns whether an entry covers the base fee.
    pub(super) fn has_payable(&self) -> bool {
        !self.whole.is_empty() || !self.part.is_empty()
    }

    /// Returns the entry with the lowest rank; of equal ones, that which arrived last.
    pub(super) fn worst(&self) -> Option<(Offer, Address)> {
        if let Some((_, value)) = self.below.get_min() {
            return Some(*value);
        }
        let lowest = [self.whole.get_min(), self.part.get_min()].into_iter().flatten().map(|(_, value)| *value);
        lowest.min_by_key(|(offer, _)| (offer.rank(self.base_fee), Reverse(offer.arrival)))
    }

    fn case_of(&self, offer: Offer) -> Case {
        let base_fee = u128::from(self.base_fee);
        if offer.fee_cap < base_fee {
            Case::BelowBaseFee
        } else if offer.slack() >= base_fee {
            Case::WholeTip
        } else {
            Case::PartOfTip
        }
    }
}

const fn price_key(case: Case, offer: Offer) -> PriceKey {
    let price = match case {
        Case::WholeTip => offer.tip_cap,
        Case::PartOfTip | Case::BelowBaseFee => offer.fee_cap,
    };
    (price, Reverse(offer.arrival))
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    fn ordered(index: &TipIndex) -> Vec<u64> {
        let base_fee = index.base_fee;
        let mut found = Vec::new();
        for case in [Case::WholeTip, Case::PartOfTip] {
            let mut after = None;
            while let Some((offer, _)) = index.best_of(case, after) {
                found.push(offer);
                after = Some(offer);
            }
        }
        found.sort_by_key(|offer| (offer.rank(base_fee), Reverse(offer.arrival)));
        found.iter().rev().map(|offer| offer.arrival).collect()
    }

    proptest! {
        #[test]
        fn a_moved_base_fee_is_as_a_new_index(
            fees in vec((0_u128..30, 0_u128..30), 0..40),
            base_fees in vec(0_u64..40, 1..8),
            removed in vec(0_usize..40, 0..10),
        ) {
            let offers: Vec<_> = (0..)
                .zip(&fees)
                .map(|(arrival, (fee_cap, tip_cap))| Offer {
                    fee_cap: *fee_cap,
                    tip_cap: *tip_cap.min(fee_cap),
                    arrival,
                })
                .collect();
            let mut moved = TipIndex::new(7);
            offers.iter().for_each(|offer| moved.insert(*offer, Address::ZERO));
            base_fees.iter().for_each(|base_fee| moved.set_base_fee(*base_fee));
            let last = base_fees[base_fees.len() - 1];
            let mut fresh = TipIndex::new(last);
            offers.iter().for_each(|offer| fresh.insert(*offer, Address::ZERO));
            for index in removed {
                if let Some(offer) = offers.get(index) {
                    moved.remove(*offer);
                    fresh.remove(*offer);
                }
            }
            prop_assert_eq!(ordered(&moved), ordered(&fresh));
            prop_assert_eq!(moved.worst(), fresh.worst());
            prop_assert_eq!(moved.whole_slack.len(), moved.whole.len());
            prop_assert_eq!(moved.part_slack.len(), moved.part.len());
            prop_assert_eq!(moved.has_payable(), !ordered(&fresh).is_empty());
        }
    }
}
