//! What becomes of a proposal: its states, and the one table of their transitions.

use core::fmt;

/// State of a proposal.
///
/// | from | event | to |
/// |---|---|---|
/// | `Active` | `Pass` | `Passed` |
/// | `Active` | `Reject` | `Rejected` |
/// | `Active` | `Veto` | `Vetoed` |
/// | `Active` | `Expire` | `Expired` |
/// | `Active` | `Cancel` | `Canceled` |
/// | `Passed` | `Execute` | `Executed` |
/// | `Passed` | `Fail` | `Failed` |
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ProposalState {
    /// Votes are taken.
    Active,
    /// It has passed, and is executed in the same call.
    Passed,
    /// It was executed.
    Executed,
    /// It passed, and its execution failed.
    Failed,
    /// Not enough votes were in favour.
    Rejected,
    /// Too many votes were vetoes.
    Vetoed,
    /// The quorum was not reached.
    Expired,
    /// Its proposer withdrew it before a vote.
    Canceled,
}

/// What happens to a proposal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ProposalEvent {
    /// The votes carry it.
    Pass,
    /// The votes do not carry it.
    Reject,
    /// The vetoes stop it.
    Veto,
    /// Too few voted.
    Expire,
    /// Its proposer withdraws it.
    Cancel,
    /// Its execution succeeds.
    Execute,
    /// Its execution fails.
    Fail,
}

impl ProposalState {
    /// All states, in ascending order of their numbers.
    pub const ALL: [Self; 8] = [
        Self::Active,
        Self::Passed,
        Self::Executed,
        Self::Failed,
        Self::Rejected,
        Self::Vetoed,
        Self::Expired,
        Self::Canceled,
    ];

    /// Returns the number in calls and events, from 1 on.
    pub const fn code(self) -> u8 {
        self as u8 + 1
    }

    /// Returns the state with this number.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code).checked_sub(1)?).copied()
    }

    /// Returns the state after an event; `None` where it cannot happen.
    pub const fn after(self, event: ProposalEvent) -> Option<Self> {
        match (self, event) {
            (Self::Active, ProposalEvent::Pass) => Some(Self::Passed),
            (Self::Active, ProposalEvent::Reject) => Some(Self::Rejected),
            (Self::Active, ProposalEvent::Veto) => Some(Self::Vetoed),
            (Self::Active, ProposalEvent::Expire) => Some(Self::Expired),
            (Self::Active, ProposalEvent::Cancel) => Some(Self::Canceled),
            (Self::Passed, ProposalEvent::Execute) => Some(Self::Executed),
            (Self::Passed, ProposalEvent::Fail) => Some(Self::Failed),
            _ => None,
        }
    }

    /// Returns whether nothing happens to the proposal any more.
    pub const fn is_final(self) -> bool {
        !matches!(self, Self::Active | Self::Passed)
    }

    /// Returns its name, in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Passed => "passed",
            Self::Executed => "executed",
            Self::Failed => "failed",
            Self::Rejected => "rejected",
            Self::Vetoed => "vetoed",
            Self::Expired => "expired",
            Self::Canceled => "canceled",
        }
    }
}

impl ProposalEvent {
    /// All events.
    pub const ALL: [Self; 7] =
        [Self::Pass, Self::Reject, Self::Veto, Self::Expire, Self::Cancel, Self::Execute, Self::Fail];
}

impl fmt::Display for ProposalState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every state, with every event, against the table written out.
    #[test]
    fn transitions_are_those_of_the_table_and_no_others() {
        use ProposalEvent as E;
        use ProposalState as S;
        let table = [
            (S::Active, E::Pass, S::Passed),
            (S::Active, E::Reject, S::Rejected),
            (S::Active, E::Veto, S::Vetoed),
            (S::Active, E::Expire, S::Expired),
            (S::Active, E::Cancel, S::Canceled),
            (S::Passed, E::Execute, S::Executed),
            (S::Passed, E::Fail, S::Failed),
        ];
        for state in S::ALL {
            for event in E::ALL {
                let want = table.iter().find(|(from, on, _)| (*from, *on) == (state, event)).map(|(.., to)| *to);
                assert_eq!(state.after(event), want, "{state:?} on {event:?}");
            }
            let leaves = E::ALL.iter().any(|event| state.after(*event).is_some());
            assert_eq!(state.is_final(), !leaves, "{state:?}");
        }
    }

    #[test]
    fn every_state_is_reached_from_the_first() {
        let mut reached = vec![ProposalState::Active];
        let mut next = 0;
        while let Some(state) = reached.get(next).copied() {
            next += 1;
            let after = ProposalEvent::ALL.iter().filter_map(|event| state.after(*event));
            let new: Vec<_> = after.filter(|state| !reached.contains(state)).collect();
            reached.extend(new);
        }
        reached.sort_unstable();
        assert_eq!(reached, ProposalState::ALL);
    }

    #[test]
    fn numbers_and_names_come_back() {
        for (number, state) in (1..).zip(ProposalState::ALL) {
            assert_eq!((state.code(), ProposalState::from_code(number)), (number, Some(state)));
            assert_eq!(state.name(), format!("{state:?}").to_lowercase());
        }
        assert_eq!((ProposalState::from_code(0), ProposalState::from_code(9)), (None, None));
    }
}
