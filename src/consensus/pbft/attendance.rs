//! Who took part in a block, for a chain whose blocks report who did not (`reportAbsences`).
//!
//! A commit certificate has a quorum's signatures and no more, so that some honest validator is missing in each. What counts here is
//! whether a validator's commit for a block arrives before the next block is built, a period later, as with the commits that
//! CometBFT's proposers gather (`LastCommitInfo`). The primary names in its block those whose commit for the parent it lacks: at
//! most as many as a quorum leaves, and none when it does not know a quorum's commits itself.
//!
//! Nobody can prove an absence, and a primary of PBFT stays for long. So backups compare: one that has the commit of a validator which
//! the primary names for [`WRONG_REPORTS_MAX`] blocks of a view suspects the primary, and `f + 1` of them end its view, far below
//! what the staking contract punishes.

use std::collections::BTreeSet;

use super::{Committee, Payload, Pbft};
use crate::{
    chain::Block,
    consensus::{Effect, Encoder},
    primitives::Address,
};

/// Blocks of one view whose primary names a validator absent of which this replica has the commit, before it suspects the primary.
pub(super) const WRONG_REPORTS_MAX: u32 = 8;

/// The commits for the head that arrived here. Empty where absences are not reported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Attendance {
    present: BTreeSet<Address>,
    /// Blocks of this view that named somebody absent who is in `present`.
    wrong_reports: u32,
}

impl Attendance {
    pub(super) fn encode(&self, out: &mut Encoder) {
        let Self { present, wrong_reports } = self;
        out.list(present.iter(), |out, validator| out.address(validator));
        out.u32(*wrong_reports);
    }

    /// Begins a view.
    pub(super) const fn begin_view(&mut self) {
        self.wrong_reports = 0;
    }

    /// Returns the members of the committee whose commit did not arrive, in ascending order; none without a quorum's commits.
    fn absent(&self, committee: &Committee) -> Vec<Address> {
        let members = || committee.validators().addresses();
        let present = members().filter(|member| self.present.contains(member)).count();
        if present < committee.quorums().strong() {
            return Vec::new();
        }
        members().filter(|member| !self.present.contains(member)).collect()
    }
}

impl Pbft {
    /// Whether blocks report absences. Blocks on demand follow each other at once, so that they report none.
    pub(super) const fn reports_absences(&self) -> bool {
        self.config.report_absences && self.config.period > 0
    }

    /// Notes whose commits a new head has; `is_same_committee` unless it changed the committee, whose members did not all vote for it.
    pub(super) fn begin_attendance(&mut self, present: BTreeSet<Address>, is_same_committee: bool) {
        if self.reports_absences() {
            self.attendance.present = if is_same_committee { present } else { BTreeSet::new() };
        }
    }

    /// Notes a member's commit for the head that arrived after it was committed.
    pub(super) fn note_attendance(&mut self, member: Address) {
        if self.reports_absences() {
            self.attendance.present.insert(member);
        }
    }

    /// Returns those whom the next block reports.
    pub(super) fn absent(&self) -> Vec<Address> {
        if self.reports_absences() { self.attendance.absent(self.committee()) } else { Vec::new() }
    }

    /// Returns whether a proposal on the head reports somebody whose commit for the head arrived here.
    pub(super) fn is_wrongly_reported(&self, block: &Block) -> bool {
        if !self.reports_absences() {
            return false;
        }
        let reported = Payload::decode(block.payload()).map(|payload| payload.absent).unwrap_or_default();
        reported.iter().any(|member| self.attendance.present.contains(member))
    }

    /// Suspects the primary once enough of its blocks reported somebody wrongly.
    pub(super) fn on_wrong_report(&mut self, effects: &mut Vec<Effect>) {
        effects.push(Effect::Mark("pbft/wrong-absence"));
        self.attendance.wrong_reports = self.attendance.wrong_reports.saturating_add(1);
        if self.attendance.wrong_reports >= WRONG_REPORTS_MAX {
            self.attendance.wrong_reports = 0;
            self.on_overdue(effects);
        }
    }
}
