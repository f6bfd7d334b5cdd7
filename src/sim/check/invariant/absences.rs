//! Reports of absent validators.

use std::collections::{BTreeMap, BTreeSet};

use super::{Invariant, Violation, honest};
use crate::{
    chain::ExecutedBlock,
    consensus::{
        AnyProtocol, ConsensusMessage, Protocol, ReplicaId,
        pbft::{Payload, Pbft},
    },
    primitives::{Address, B256, Height},
    sim::network::{Network, replica::Replica, step::SimStep},
    system::staking::{STAKING_ADDRESS, StakingParams, ValidatorStatus},
};

/// Heights whose commits are remembered.
const HEIGHTS_MAX: u64 = 64;

/// On a chain of PBFT whose blocks report absences:
///
/// - no honest replica reports a validator whose commit for the parent had reached it when it requested the block (`absences-own`). That is all
///   that can be asked of it: who is late for it, or heard by others alone, is absent. A block that a later view repeats says what its
///   author knew when it was built;
/// - reports by dishonest authors, of an honest validator whose commit for the parent has reached `f + 1` honest members of the committee when
///   the first of them commits the block, are at most half of any window of the staking contract, and fewer than it punishes, so that such a
///   validator is not jailed (`absences-unjust`). Those of a view whose primary `f + 1` of these members suspect do not count: they have done
///   what they can. Nor do observers, who have no vote with which to end a view;
/// - who suspects a primary, and has the suspicions of `f` others, stays in the view no longer (`absences-unjust`). So what keeps a suspected
///   primary is that suspicions or view-changes do not arrive;
/// - the staking contract counts the reports that the blocks have (`absences-counted`).
#[derive(Clone, Debug, Default)]
pub struct JustAbsences {
    heads: BTreeMap<ReplicaId, B256>,
    /// Whose commits for its head reached each honest replica.
    received: BTreeMap<ReplicaId, Received>,
    /// By block: the honest members that each validator's commit for it reached.
    commits: BTreeMap<(Height, B256), BTreeMap<Address, BTreeSet<ReplicaId>>>,
    /// Whose commits for its head an honest replica had when it requested the block after it, until that is built.
    building: BTreeMap<ReplicaId, (B256, BTreeSet<Address>)>,
    /// By block: whose commits for the parent its honest author had when it requested it.
    built: BTreeMap<(Height, B256), BTreeSet<Address>>,
    /// Members that each block reports.
    reports: BTreeMap<Height, BTreeSet<Address>>,
    /// Heights of reports that nobody ended.
    unjust: BTreeMap<Address, BTreeSet<Height>>,
    /// The block since which each validator has been bonded.
    bonded: BTreeMap<Address, Height>,
    reported: u64,
}

/// What reached a replica's process, whatever its protocol keeps of it.
#[derive(Clone, Debug, Default)]
struct Received {
    head: B256,
    restarts: u64,
    messages: u64,
    /// Whose commits the head has, and whose came later.
    members: BTreeSet<Address>,
}

impl Received {
    fn update(&mut self, replica: &Replica, pbft: &Pbft) {
        let (head, restarts) = (pbft.head(), replica.counters().restarts);
        if (self.head, self.restarts) != (head.hash, restarts) {
            (self.head, self.restarts, self.members) = (head.hash, restarts, pbft.present().clone());
        }
        let (messages, last) = replica.last_message();
        if core::mem::replace(&mut self.messages, messages) != messages
            && let Some(ConsensusMessage::Pbft(message)) = last
            && let Some((sender, block)) = pbft.commit_of(message)
            && block == head
        {
            self.members.insert(sender);
        }
    }
}

impl Invariant for JustAbsences {
    fn name(&self) -> &'static str {
        "absences-unjust"
    }

    fn names(&self) -> Vec<&'static str> {
        vec!["absences-unjust", "absences-own", "absences-counted"]
    }

    fn on_step(&mut self, network: &Network, step: &SimStep) -> Result<(), Violation> {
        let Some(replica) = honest(network, step) else { return Ok(()) };
        let AnyProtocol::Pbft(pbft) = replica.protocol() else { return Ok(()) };
        let Some(staking) = replica.chain().spec().staking.filter(|_| pbft.reports_absences()) else { return Ok(()) };
        if pbft.ignores_suspicions() {
            let detail = format!("{} stays in {} though f + 1 suspect its primary", replica.id(), pbft.view());
            return Err(Violation::new("absences-unjust", network, detail));
        }
        let head = replica.chain().head();
        // Before what the replica knows of its new head: another may be the first to commit it.
        if self.heads.insert(replica.id(), head.hash()) != Some(head.hash())
            && self.reports.keys().next_back().is_none_or(|newest| head.height() > *newest)
        {
            let wrong = self.check(network, replica, pbft, &staking);
            if let Some((name, detail)) = wrong {
                return Err(Violation::new(name, network, format!("block {}: {detail}", head.height())));
            }
        }
        self.note(replica, pbft);
        Ok(())
    }
}

impl JustAbsences {
    /// Returns the number of reports that were checked.
    pub const fn reported(&self) -> u64 {
        self.reported
    }

    /// Notes whose commits a replica has for its head, and had when it requested the block that it proposes.
    fn note(&mut self, replica: &Replica, pbft: &Pbft) {
        let (head, id) = (pbft.head(), replica.id());
        let received = self.received.entry(id).or_default();
        received.update(replica, pbft);
        if replica.address().is_some_and(|address| pbft.committee().contains(&address)) {
            let commits = self.commits.entry((head.height, head.hash)).or_default();
            for member in &received.members {
                commits.entry(*member).or_default().insert(id);
            }
        }
        let requested = self.building.remove(&id).filter(|(parent, _)| *parent == head.hash);
        let had = || requested.map_or_else(|| received.members.clone(), |(_, had)| had);
        if pbft.is_building() {
            self.building.insert(id, (head.hash, had()));
        } else if let Some(own) = pbft.proposed().filter(|block| Some(block.header().beneficiary) == replica.address())
        {
            // A later view that repeats the block changes nothing.
            self.built.entry((own.height(), own.hash())).or_insert_with(had);
        }
        let oldest = Height::new(head.height.get().saturating_sub(HEIGHTS_MAX));
        self.commits.retain(|(height, _), _| *height >= oldest);
        self.built.retain(|(height, _), _| *height >= oldest);
    }

    /// Checks the first block of its height that an honest replica committed.
    fn check(
        &mut self,
        network: &Network,
        replica: &Replica,
        pbft: &Pbft,
        staking: &StakingParams,
    ) -> Option<(&'static str, String)> {
        let head = replica.chain().head();
        let payload = Payload::decode(head.block().protocol_payload()).unwrap_or_default();
        let absent: BTreeSet<_> = payload.absent.into_iter().collect();
        self.reported += absent.len() as u64;
        let of = |address: &Address| network.replicas().iter().find(|one| one.address() == Some(*address));
        let is_honest = |address: &Address| of(address).is_some_and(|one| network.is_honest(one.id()));
        let (height, parent) = (head.height(), (head.height().parent().unwrap_or_default(), head.parent_hash()));
        let is_honest_author = is_honest(&head.block().header().beneficiary);
        let had = self.built.get(&(height, head.hash())).filter(|_| is_honest_author);
        if let Some(member) = had.and_then(|had| absent.iter().find(|member| had.contains(*member))) {
            return Some(("absences-own", format!("its honest author reports {member}, whose commit it has")));
        }
        let window = u64::from(staking.downtime_window);
        let unpunished = window - window * u64::from(staking.downtime_min_signed_ppm) / 1_000_000;
        let weak = pbft.committee().quorums().weak();
        for member in absent.iter().filter(|member| !is_honest_author && is_honest(member)) {
            let Some(seen) = self.commits.get(&parent).and_then(|commits| commits.get(member)) else { continue };
            let suspecting = seen.iter().filter(|id| suspects(network, **id)).count();
            if seen.len() < weak || suspecting >= weak {
                continue;
            }
            let heights = self.unjust.entry(*member).or_default();
            heights.retain(|earlier| earlier.get() + window > height.get());
            heights.insert(height);
            if heights.len() as u64 > unpunished.min(window / 2) {
                let count = heights.len();
                let detail =
                    format!("{member} is reported {count} times in {window} blocks though others have its commits");
                return Some(("absences-unjust", detail));
            }
        }
        // What a replica committed within one step.
        let newest = self.reports.keys().next_back().map_or(0, |height| height.get());
        for missed in newest + 1..height.get() {
            let found = replica.chain().block_at(Height::new(missed)).ok();
            let absent = found.and_then(|block| Payload::decode(block.block().protocol_payload()).ok());
            self.reports.insert(Height::new(missed), absent.unwrap_or_default().absent.into_iter().collect());
        }
        self.reports.insert(height, absent);
        self.reports.retain(|earlier, _| earlier.get() + 256 > height.get());
        self.miscounted(replica, head, window).map(|wrong| ("absences-counted", wrong))
    }

    /// Returns whose absences the staking contract counts otherwise than the blocks report them.
    fn miscounted(&mut self, replica: &Replica, head: &ExecutedBlock, window: u64) -> Option<String> {
        let records = match replica.chain().staked_validators(head) {
            Ok(records) => records,
            Err(error) => return Some(format!("validators can't be read: {error}")),
        };
        let height = head.height();
        for record in records {
            let Some(stake) = record.stake.filter(|_| record.status == ValidatorStatus::Bonded) else {
                self.bonded.remove(&record.address);
                continue;
            };
            let since =
                *self.bonded.entry(record.address).or_insert(if height.get() == 1 { Height::GENESIS } else { height });
            let counts = |at: &Height| *at > since && at.get() + window > height.get();
            let reported = self.reports.iter().filter(|(at, absent)| counts(at) && absent.contains(&record.address));
            let (want, got) = (reported.count() as u64, stake.missed_blocks);
            // Who left and joined again within the block begins anew.
            let has_moved = || {
                let mut sent = head.transactions().iter();
                sent.any(|sent| sent.sender() == record.address && sent.to() == Some(STAKING_ADDRESS))
            };
            if got == 0 && want > 0 && has_moved() {
                self.bonded.insert(record.address, height);
            } else if want != got {
                return Some(format!("{} missed {got} blocks by the contract, {want} by the reports", record.address));
            }
        }
        None
    }
}

/// Returns whether a replica suspects the primary of its view.
fn suspects(network: &Network, id: ReplicaId) -> bool {
    let protocol = network.replica(id).map(Replica::protocol);
    matches!(protocol, Ok(AnyProtocol::Pbft(pbft)) if pbft.suspects_primary())
}
