//! How votes decide.

use alloy_primitives::U256;

use super::state::ProposalEvent;
use crate::vm::storage::record;

/// Thousandths in a whole.
pub(super) const PERMILLE: u16 = 1_000;

/// What one votes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum VoteOption {
    /// In favour.
    Yes,
    /// Neither: it counts for the quorum alone.
    Abstain,
    /// Against.
    No,
    /// Against, and that it should not have been proposed.
    Veto,
}

impl VoteOption {
    /// All of them, in ascending order of their numbers, which are those of the Cosmos SDK.
    pub const ALL: [Self; 4] = [Self::Yes, Self::Abstain, Self::No, Self::Veto];

    /// Returns the number in calls and events, from 1 on.
    pub const fn code(self) -> u8 {
        self as u8 + 1
    }

    /// Returns the option with this number.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code).checked_sub(1)?).copied()
    }

    /// Returns its name, in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::Abstain => "abstain",
            Self::No => "no",
            Self::Veto => "veto",
        }
    }
}

record! {
    /// Weight that voted, by option.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Tally {
        /// In favour.
        pub yes: u128,
        /// Neither.
        pub abstain: u128,
        /// Against.
        pub no: u128,
        /// Against as vetoes.
        pub veto: u128,
    }
}

impl Tally {
    /// Returns the weight of one option.
    pub const fn of(&mut self, option: VoteOption) -> &mut u128 {
        match option {
            VoteOption::Yes => &mut self.yes,
            VoteOption::Abstain => &mut self.abstain,
            VoteOption::No => &mut self.no,
            VoteOption::Veto => &mut self.veto,
        }
    }

    /// Returns the weight that voted.
    pub fn voted(&self) -> U256 {
        [self.yes, self.abstain, self.no, self.veto].into_iter().map(U256::from).sum()
    }
}

/// What a proposal needs, in thousandths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VotingRules {
    /// Part of all weight that must vote, abstentions included.
    pub quorum_permille: u16,
    /// Part of the votes without abstentions that must be in favour, and more.
    pub threshold_permille: u16,
    /// Part of the votes above which vetoes stop it.
    pub veto_permille: u16,
}

impl VotingRules {
    /// Returns what becomes of a proposal with these votes, of a chain with this weight in all (`Tally` of the Cosmos SDK's `x/gov`):
    ///
    /// 1. less than the quorum voted: it expires;
    /// 2. more than the veto's part of the votes are vetoes: it is vetoed;
    /// 3. more than the threshold's part of the votes without abstentions are in favour: it passes; else it is rejected.
    pub fn outcome(&self, tally: &Tally, total: u128) -> ProposalEvent {
        // Sums of four numbers below 2^128 times a thousand fit 256 bits.
        let whole = |amount: U256| amount * U256::from(PERMILLE);
        let part = |amount: U256, permille: u16| amount * U256::from(permille);
        let (voted, yes, veto) = (tally.voted(), U256::from(tally.yes), U256::from(tally.veto));
        if whole(voted) < part(U256::from(total), self.quorum_permille) {
            ProposalEvent::Expire
        } else if whole(veto) > part(voted, self.veto_permille) {
            ProposalEvent::Veto
        } else if whole(yes) > part(voted - U256::from(tally.abstain), self.threshold_permille) {
            ProposalEvent::Pass
        } else {
            ProposalEvent::Reject
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const RULES: VotingRules = VotingRules { quorum_permille: 334, threshold_permille: 500, veto_permille: 334 };

    fn outcome(yes: u128, abstain: u128, no: u128, veto: u128) -> ProposalEvent {
        RULES.outcome(&Tally { yes, abstain, no, veto }, 1_000)
    }

    #[test]
    fn bounds_are_exact() {
        for (name, votes, want) in [
            ("one short of the quorum", (333, 0, 0, 0), ProposalEvent::Expire),
            ("the quorum", (334, 0, 0, 0), ProposalEvent::Pass),
            ("abstentions make the quorum", (1, 333, 0, 0), ProposalEvent::Pass),
            ("abstentions alone", (0, 1_000, 0, 0), ProposalEvent::Reject),
            ("half is not more than half", (200, 0, 200, 0), ProposalEvent::Reject),
            ("one more than half", (201, 0, 199, 0), ProposalEvent::Pass),
            ("vetoes count against", (500, 0, 250, 250), ProposalEvent::Reject),
            ("the veto's part", (666, 0, 0, 334), ProposalEvent::Pass),
            ("more than the veto's part", (665, 0, 0, 335), ProposalEvent::Veto),
            ("nobody", (0, 0, 0, 0), ProposalEvent::Expire),
        ] {
            let (yes, abstain, no, veto) = votes;
            assert_eq!(outcome(yes, abstain, no, veto), want, "{name}");
        }
        let all = VotingRules { quorum_permille: 1_000, threshold_permille: 999, veto_permille: 1_000 };
        let tally = Tally { yes: u128::MAX, ..Tally::default() };
        assert_eq!(all.outcome(&tally, u128::MAX), ProposalEvent::Pass);
        let tally = Tally { yes: u128::MAX, abstain: u128::MAX, no: u128::MAX, veto: u128::MAX };
        assert_eq!(all.outcome(&tally, u128::MAX), ProposalEvent::Reject);
    }

    proptest! {
        /// Against fractions of whole numbers.
        #[test]
        fn comparisons_are_those_of_fractions(votes in [0_u64..9, 0..9, 0..9, 0..9], rest in 0_u64..9, rules in [0_u16..=1_000, 0..=999, 0..=1_000]) {
            let [yes, abstain, no, veto] = votes.map(u128::from);
            let [quorum_permille, threshold_permille, veto_permille] = rules;
            let rules = VotingRules { quorum_permille, threshold_permille, veto_permille };
            let voted = yes + abstain + no + veto;
            let total = voted + u128::from(rest);
            // a / b compared with c / 1000, without a division.
            let above = |a: u128, b: u128, c: u16| (a * 1_000).cmp(&(b * u128::from(c)));
            let want = if above(voted, total, quorum_permille).is_lt() {
                ProposalEvent::Expire
            } else if above(veto, voted, veto_permille).is_gt() {
                ProposalEvent::Veto
            } else if above(yes, yes + no + veto, threshold_permille).is_gt() {
                ProposalEvent::Pass
            } else {
                ProposalEvent::Reject
            };
            prop_assert_eq!(rules.outcome(&Tally { yes, abstain, no, veto }, total), want);
        }
    }

    #[test]
    fn numbers_come_back() {
        for (number, option) in (1..).zip(VoteOption::ALL) {
            assert_eq!((option.code(), VoteOption::from_code(number)), (number, Some(option)));
            assert_eq!(option.name(), format!("{option:?}").to_lowercase());
        }
        assert_eq!((VoteOption::from_code(0), VoteOption::from_code(5)), (None, None));
    }
}
