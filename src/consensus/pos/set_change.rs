//! Changes of the set that are not final yet: the validators before and after one answer for what becomes final.
//!
//! Branches put the same change in force each by its own finality, so that they may do it in different epochs. Were the votes of an
//! epoch counted with one set, a quorum of the set before the change could make one branch final and a quorum of the set after it
//! another one, and the two need not meet. So, after "dynasties" in Buterin and Griffith, "Casper the Friendly Finality Gadget"
//! (section 4), an epoch counts its votes with both, the *rear* and the *forward* set, until a checkpoint of such an epoch is final.
//! Whoever left keeps its duties until then.

use std::collections::BTreeMap;

use super::payload::{decode_set, encode_members};
use crate::{
    consensus::{
        Encoder, Validator, ValidatorSet,
        encoding::Decoder,
        mutation::{self, Mutation},
    },
    primitives::{Address, B256, keccak256},
};

/// The sets before and after a change that is not final.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetChange {
    /// Validators before the change, less penalties.
    pub rear: ValidatorSet,
    /// Validators after the change, less penalties.
    pub forward: ValidatorSet,
}

/// The validators of an epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Electorate {
    /// Validators with duties. In a change those of both sets, with their weights after it; who left has its weight before it.
    pub set: ValidatorSet,
    /// The change that is not final, if any.
    pub change: Option<SetChange>,
}

/// The set before the last change, kept until a checkpoint is final by its votes, too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rear {
    /// First epoch of the changed set.
    since: u64,
    /// Members and their weights in the last epoch before the change, in gwei.
    members: ValidatorSet,
    /// What they lost since, in gwei.
    debts: BTreeMap<Address, u64>,
}

impl Electorate {
    /// Returns validators that no change is under way for.
    pub const fn settled(set: ValidatorSet) -> Self {
        Self { set, change: None }
    }

    fn changing(rear: ValidatorSet, forward: ValidatorSet) -> Self {
        let mut weights: BTreeMap<Address, u64> = weights(&rear).collect();
        weights.extend(self::weights(&forward));
        let members = weights.into_iter().map(|(address, weight)| Validator { address, weight });
        Self { set: ValidatorSet::from_sorted(members.collect()), change: Some(SetChange { rear, forward }) }
    }

    /// Returns the sets of which each must have two thirds of its stake vote: one, or the two of a change.
    pub fn quorum_sets(&self) -> impl Iterator<Item = &ValidatorSet> + Clone {
        let [first, second] = match &self.change {
            Some(change) if !mutation::active(Mutation::PosForgetsRearSet) => [&change.forward, &change.rear].map(Some),
            Some(change) => [Some(&change.forward), None],
            None => [Some(&self.set), None],
        };
        first.into_iter().chain(second)
    }

    /// Returns [`ValidatorSet::hash`]; in a change keccak of that of the set with duties, the rear and the forward set.
    pub fn hash(&self) -> B256 {
        match &self.change {
            None => self.set.hash(),
            Some(SetChange { rear, forward }) => {
                keccak256([self.set.hash(), rear.hash(), forward.hash()].map(|hash| hash.0).concat())
            }
        }
    }

    pub(super) fn encode(&self, out: &mut Encoder) {
        let Self { set, change } = self;
        encode_members(set.members(), out);
        out.option(change.as_ref(), |out, SetChange { rear, forward }| {
            encode_members(rear.members(), out);
            encode_members(forward.members(), out);
        });
    }

    pub(super) fn decode(bytes: &mut Decoder<'_>) -> Option<Self> {
        let set = decode_set(bytes)?;
        let change = bytes.option(|bytes| Some(SetChange { rear: decode_set(bytes)?, forward: decode_set(bytes)? }))?;
        Some(Self { set, change })
    }
}

impl Rear {
    /// The members of a set that changes in epoch `since`.
    pub(super) const fn new(since: u64, members: ValidatorSet) -> Self {
        Self { since, members, debts: BTreeMap::new() }
    }

    /// Whether the final checkpoint of this epoch settles the change.
    pub(super) const fn is_settled_by(&self, finalized_epoch: u64) -> bool {
        finalized_epoch >= self.since
    }

    /// Deducts from a member's weight as much of it as `gwei` are of `weight`, rounded up.
    pub(super) fn penalize(&mut self, validator: &Address, gwei: u64, weight: u64) {
        let before = self.members.weight_of(validator);
        if before == 0 {
            return;
        }
        let part = (u128::from(before) * u128::from(gwei)).div_ceil(u128::from(weight.max(1)));
        let debt = self.debts.entry(*validator).or_default();
        *debt = debt.saturating_add(u64::try_from(part).unwrap_or(u64::MAX)).min(before);
    }

    /// Returns the set that answers: without offenders, and without whoever lost half of its weight, which only a leak takes from
    /// it in time. As with `EJECTION_BALANCE`, half of an activation's stake, those who stay away do not stall finality for ever.
    pub(super) fn in_force(&self, is_slashed: impl Fn(&Address) -> bool) -> Option<ValidatorSet> {
        let left = self.members.members().iter().filter(|member| !is_slashed(&member.address)).filter_map(|member| {
            let debt = self.debts.get(&member.address).copied().unwrap_or_default();
            (debt < member.weight.div_ceil(2)).then(|| Validator { weight: member.weight - debt, ..*member })
        });
        ValidatorSet::new(left).ok()
    }

    /// Returns the members with their weights before the change.
    pub(super) const fn members(&self) -> &ValidatorSet {
        &self.members
    }

    pub(super) fn encode(&self, out: &mut Encoder) {
        let Self { since, members, debts } = self;
        out.u64(*since);
        encode_members(members.members(), out);
        out.list(debts.iter(), |out, (validator, gwei)| {
            out.address(validator);
            out.u64(*gwei);
        });
    }

    pub(super) fn decode(bytes: &mut Decoder<'_>) -> Option<Self> {
        let (since, members) = (bytes.u64()?, decode_set(bytes)?);
        let debts = bytes.list(|bytes| Some((bytes.address()?, bytes.u64()?)))?.into_iter().collect();
        Some(Self { since, members, debts })
    }
}

/// Returns the electorate of a set in force and the set before it, if its change is not settled.
pub(super) fn electorate(rear: Option<ValidatorSet>, forward: ValidatorSet) -> Electorate {
    match rear {
        Some(rear) => Electorate::changing(rear, forward),
        None => Electorate::settled(forward),
    }
}

fn weights(set: &ValidatorSet) -> impl Iterator<Item = (Address, u64)> + '_ {
    set.members().iter().map(|member| (member.address, member.weight))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(members: &[(u8, u64)]) -> ValidatorSet {
        let members = members.iter().map(|(byte, weight)| (Address::repeat_byte(*byte), *weight));
        ValidatorSet::new(members.map(|(address, weight)| Validator { address, weight })).unwrap()
    }

    #[test]
    fn in_a_change_both_sets_have_duties_and_quorums() {
        let (rear, forward) = (set(&[(1, 4), (2, 4)]), set(&[(2, 9), (3, 5)]));
        let changing = electorate(Some(rear.clone()), forward.clone());
        assert_eq!(changing.set, set(&[(1, 4), (2, 9), (3, 5)]), "the weight after the change goes first");
        assert_eq!(changing.quorum_sets().collect::<Vec<_>>(), [&forward, &rear]);
        let settled = electorate(None, forward.clone());
        assert_eq!(settled.quorum_sets().collect::<Vec<_>>(), [&forward]);
        assert_eq!(settled.hash(), forward.hash());
        assert_ne!(changing.hash(), changing.set.hash());
        for electorate in [changing, settled] {
            let mut out = Encoder::new();
            electorate.encode(&mut out);
            assert_eq!(Electorate::decode(&mut Decoder::new(out.as_bytes())), Some(electorate));
        }
    }

    #[test]
    fn the_rear_set_loses_in_proportion_and_without_half_its_weight_its_voice() {
        let mut rear = Rear::new(7, set(&[(1, 100), (2, 100)]));
        assert!(!rear.is_settled_by(6) && rear.is_settled_by(7));
        let (first, nobody) = (Address::repeat_byte(1), |_: &Address| false);
        rear.penalize(&first, 1, 3);
        rear.penalize(&Address::repeat_byte(9), 1, 3);
        assert_eq!(rear.in_force(nobody), Some(set(&[(1, 66), (2, 100)])), "a third, rounded up");
        rear.penalize(&first, 1, 7);
        assert_eq!(rear.in_force(nobody), Some(set(&[(1, 51), (2, 100)])));
        rear.penalize(&first, 1, 1_000);
        assert_eq!(rear.in_force(nobody), Some(set(&[(2, 100)])));
        assert_eq!(rear.in_force(|who| *who != first), None);
        assert_eq!(*rear.members(), set(&[(1, 100), (2, 100)]));
        let mut out = Encoder::new();
        rear.encode(&mut out);
        assert_eq!(Rear::decode(&mut Decoder::new(out.as_bytes())), Some(rear));
    }
}
