//! Who took part in a block, for a chain whose blocks report who did not (`reportAbsences`).
//!
//! A commit certificate has a quorum's signatures and no more, so that some honest validator is missing in each. What counts here is
//! whether a validator's commit for a block arrives before the next block is built, a period later, as with the commits that
//! CometBFT's proposers gather (`LastCommitInfo`). The primary names in its block those whose commit for the parent it lacks: at
//! most as many as a quorum leaves, and none when it does not know a quorum's commits itself.
//!
//! Nobody can prove an absence, and a primary of PBFT stays for long. So backups compare: a report is wrong for a replica that has, or gets
//! later, the commit of the validator that it names. Each replica counts the wrong reports of each validator over the window in which the
//! staking contract counts absences, whoever made them and in whatever view: from [`DowntimeWindow::wrong_reports_max`] on, each one
//! more makes it suspect the primary at once, and `f + 1` of them end the view. So primaries in turn, or one that comes back, have no more
//! reports between them than one alone. Commits that come late count too, since a primary may propose before they arrive.

use std::collections::{BTreeMap, BTreeSet};

use super::{Body, BuildState, Committee, Payload, Pbft, PbftMessage, Seal, View, downtime_window::DowntimeWindow};
use crate::{
    chain::Block,
    consensus::{
        BlockId, Effect, Encoder,
        mutation::{self, Mutation},
    },
    primitives::{Address, Height},
};

/// Blocks below the head whose reports a late commit can still contradict.
const CONTRADICTED_MAX: u64 = 32;

/// The commits for the head that arrived here, and the reports that were wrong. Empty where absences are not reported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Attendance {
    present: BTreeSet<Address>,
    /// Whether the head put another committee in force, whose members did not all vote for it.
    is_of_former: bool,
    /// Whom blocks reported whose commit has not arrived, by the block that they missed, and the view in which they were reported.
    reported: BTreeMap<BlockId, (View, BTreeSet<Address>)>,
    /// Heights for which each member was reported wrongly, within the window.
    wrong: BTreeMap<Address, BTreeSet<Height>>,
}

/// Members that a proposal of `view` reports though their commits for the block at `height` arrived here.
#[derive(Debug)]
pub(super) struct WrongReports {
    members: Vec<Address>,
    height: Height,
    view: View,
}

impl Attendance {
    pub(super) fn encode(&self, out: &mut Encoder) {
        let Self { present, is_of_former, reported, wrong } = self;
        out.list(present.iter(), |out, validator| out.address(validator));
        out.bool(*is_of_former);
        out.list(reported.iter(), |out, (parent, (view, members))| {
            parent.encode(out);
            out.u64(view.get());
            out.list(members.iter(), |out, member| out.address(member));
        });
        out.list(wrong.iter(), |out, (member, heights)| {
            out.address(member);
            out.list(heights.iter(), |out, height| out.u64(height.get()));
        });
    }

    /// Begins the next height: forgets what is out of the window, and who is no member.
    fn begin(&mut self, head: Height, window: &DowntimeWindow, committee: &Committee) {
        let is_within = |height: Height, blocks: u64| height.get().saturating_add(blocks) > head.get();
        self.reported.retain(|parent, _| is_within(parent.height, CONTRADICTED_MAX));
        self.wrong.retain(|member, heights| {
            heights.retain(|height| is_within(*height, window.blocks.into()));
            committee.contains(member) && !heights.is_empty()
        });
    }

    /// Returns the members of the committee whose commit did not arrive, in ascending order; none without a quorum's commits.
    fn absent(&self, committee: &Committee) -> Vec<Address> {
        let members = || committee.validators().addresses();
        let present = members().filter(|member| self.present.contains(member)).count();
        if self.is_of_former || present < committee.quorums().strong() {
            return Vec::new();
        }
        members().filter(|member| !self.present.contains(member)).collect()
    }

    /// Notes that a member took part in `block`; returns the view whose primary reported it as absent.
    fn contradicted(&mut self, member: &Address, block: &BlockId) -> Option<View> {
        let (view, members) = self.reported.get_mut(block)?;
        members.remove(member).then_some(*view)
    }

    /// Counts a wrong report; returns whether there are enough of them in the window.
    fn count_wrong(&mut self, member: Address, height: Height, window: &DowntimeWindow) -> bool {
        let heights = self.wrong.entry(member).or_default();
        heights.insert(height) && heights.len() >= window.wrong_reports_max as usize
    }
}

impl Pbft {
    /// Whether blocks report absences. Blocks on demand follow each other at once, so that they report none.
    pub(crate) const fn reports_absences(&self) -> bool {
        self.config.report_absences && self.config.period > 0
    }

    /// Notes whose commits a new head has; `is_same_committee` unless it changed the committee, whose members did not all vote for it.
    pub(super) fn begin_attendance(&mut self, present: BTreeSet<Address>, is_same_committee: bool) {
        if self.reports_absences() {
            self.attendance.present = present;
            self.attendance.is_of_former = !is_same_committee;
            if !is_same_committee {
                // Views begin anew.
                self.attendance.reported.clear();
            }
            self.attendance.begin(self.head.height, &self.config.downtime, self.transition.committee());
        }
    }

    /// Notes a member's commit for a block that is committed here.
    pub(super) fn note_attendance(&mut self, member: Address, block: &BlockId, effects: &mut Vec<Effect>) {
        if !self.reports_absences() {
            return;
        }
        if *block == self.head {
            self.attendance.present.insert(member);
        }
        if let Some(view) = self.attendance.contradicted(&member, block) {
            let wrong = WrongReports { members: vec![member], height: block.height, view };
            self.on_wrong_reports(&wrong, effects);
        }
    }

    /// Returns whose commits for the head arrived here; nobody where absences are not reported.
    pub(crate) const fn present(&self) -> &BTreeSet<Address> {
        &self.attendance.present
    }

    /// Returns the sender and the block of a commit that a member sent.
    pub(crate) fn commit_of(&self, message: &PbftMessage) -> Option<(Address, BlockId)> {
        let Body::Commit { block, .. } = &message.body else { return None };
        let sender = self.signer_of(message).ok()?;
        self.committee().contains(&sender).then_some((sender, *block))
    }

    /// Loses a member's commit for the head.
    #[cfg(test)]
    pub(crate) fn lose_attendance(&mut self, member: &Address) {
        self.attendance.present.remove(member);
    }

    /// Returns whether this replica has requested the block after its head, which is not built yet.
    pub(crate) const fn is_building(&self) -> bool {
        matches!(self.build_state, BuildState::Building(_))
    }

    /// Returns the proposal of this view after the head, if its body is here; also one of an earlier view that the new view chose.
    pub(crate) fn proposed(&self) -> Option<&Block> {
        let slot = self.log.slot(self.head.height.next())?;
        slot.bodies.get(&slot.proposal?.hash).map(AsRef::as_ref)
    }

    /// Returns those whom the next block reports.
    pub(super) fn absent(&self) -> Vec<Address> {
        if !self.reports_absences() {
            return Vec::new();
        }
        if mutation::active(Mutation::PbftReportsUnsigned) {
            let quorum = self.quorums().strong();
            let members = self.committee().validators().addresses();
            return members.skip(quorum).collect();
        }
        self.attendance.absent(self.committee())
    }

    /// Compares whom a proposal on the head reports with the commits that arrived here; returns what is wrong.
    pub(super) fn review_report(&mut self, block: &Block) -> Option<WrongReports> {
        if !self.reports_absences() || mutation::active(Mutation::PbftBelievesReports) {
            return None;
        }
        let named = Payload::decode(block.protocol_payload()).ok()?.absent;
        let Ok(Seal::Proposal { view, .. }) = Seal::decode(block.seal()) else { return None };
        let missed = BlockId::parent_of(block);
        // A committed block is voted for again in a new view.
        if missed != self.head {
            return None;
        }
        let (members, open): (Vec<_>, Vec<_>) =
            named.into_iter().partition(|member| self.attendance.present.contains(member));
        if !open.is_empty() {
            self.attendance.reported.insert(missed, (view, open.into_iter().collect()));
        }
        (!members.is_empty()).then_some(WrongReports { members, height: missed.height, view })
    }

    /// Suspects the primary of this view once one of the members was reported wrongly too often. A proposal of an earlier view, which a
    /// new view has to make again, counts, and is not held against the primary of now.
    pub(super) fn on_wrong_reports(&mut self, wrong: &WrongReports, effects: &mut Vec<Effect>) {
        effects.push(Effect::Mark("pbft/wrong-absence"));
        let (window, mut is_enough) = (self.config.downtime, false);
        for member in &wrong.members {
            is_enough |= self.attendance.count_wrong(*member, wrong.height, &window);
        }
        if is_enough && wrong.view == self.view {
            self.on_overdue(effects);
        }
    }
}
