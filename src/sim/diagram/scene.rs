//! Contents of a diagram, collected from a trace.

use std::collections::{BTreeMap, BTreeSet};

use super::{fault_words::in_words, style::MessageClass};
use crate::{
    consensus::BlockId,
    primitives::{Address, B256},
    sim::{
        engine::clock::SimTime,
        trace::{Incident, ReplicaStatus, RoundRole, Trace, TraceContent, TracedEffect, TracedEvent},
    },
};

/// Arrows above which a long run is narrowed to its default window.
const ARROWS_MAX: usize = 700;
/// Most arrows before the first violation and after it in the default window of a run with one.
const ARROWS_BEFORE: usize = 120;
const ARROWS_AFTER: usize = 60;

/// Most different violations of a picture.
const VIOLATIONS_MAX: usize = 100;

/// A sent message.
#[derive(Clone, Debug)]
pub(super) struct Arrow {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) sent: u64,
    /// Time of arrival, or the time at which it would have arrived.
    pub(super) arrives: Option<u64>,
    pub(super) is_lost: bool,
    pub(super) kind: MessageClass,
    pub(super) label: String,
}

/// A mark on a lane.
#[derive(Clone, Debug)]
pub(super) struct Mark {
    pub(super) at: u64,
    pub(super) replica: u32,
    pub(super) what: Sign,
    /// The block that became final.
    pub(super) block: Option<B256>,
}

/// A violation of an invariant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BrokenInvariant {
    pub(super) at: u64,
    pub(super) step: u64,
    pub(super) invariant: String,
    pub(super) detail: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// A block of this height was built.
    Made(u64),
    /// The head is at this height; this many blocks were removed.
    Head {
        height: u64,
        reorg: u64,
    },
    /// Blocks up to this height are final.
    Final(u64),
    /// A checkpoint of this height was justified.
    Justified(u64),
    /// A timeout.
    Timeout,
    /// Evidence was found.
    Evidence,
    Crash,
    Restart,
}

/// Status of a replica from one time to another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Band {
    pub(super) replica: u32,
    pub(super) from: u64,
    pub(super) until: u64,
    pub(super) status: ReplicaStatus,
}

/// A shaded time span.
#[derive(Clone, Debug)]
pub(super) struct FaultSpan {
    /// Affected replicas; empty for the whole network.
    pub(super) replicas: Vec<u32>,
    pub(super) from: u64,
    pub(super) until: u64,
    pub(super) kind: String,
    pub(super) text: String,
}

/// A block of the tree.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) hash: B256,
    pub(super) parent: B256,
    pub(super) height: u64,
    pub(super) author: Option<u32>,
    pub(super) at: u64,
    pub(super) is_final: bool,
    pub(super) is_canonical: bool,
    /// Final beside the canonical branch, which has another block of its height.
    pub(super) is_rival: bool,
    /// No head yet, at the end.
    pub(super) is_pending: bool,
    pub(super) is_justified: bool,
}

/// Contents of a diagram.
#[derive(Clone, Debug)]
pub(super) struct Scene {
    pub(super) names: Vec<String>,
    pub(super) round_name: &'static str,
    pub(super) from: u64,
    pub(super) until: u64,
    pub(super) arrows: Vec<Arrow>,
    pub(super) marks: Vec<Mark>,
    pub(super) bands: Vec<Band>,
    pub(super) shades: Vec<FaultSpan>,
    pub(super) nodes: Vec<Node>,
    /// Violations, the same one once.
    pub(super) violations: Vec<BrokenInvariant>,
}

impl Scene {
    /// Collects the contents of `window`, or of the default window.
    pub(super) fn of(trace: &Trace, window: Option<(SimTime, SimTime)>) -> Self {
        let mut scene = SceneBuilder::of(trace).scene(trace);
        let (from, until) = match window {
            Some((from, until)) => (from.as_nanos(), until.as_nanos().min(trace.ends_at().as_nanos())),
            None => scene.default_window(),
        };
        scene.narrow(from, until.max(from));
        scene
    }

    /// Returns the default window of a run that does not fit as a whole.
    pub(super) fn excerpt(trace: &Trace) -> Option<(u64, u64)> {
        let scene = SceneBuilder::of(trace).scene(trace);
        let window = scene.default_window();
        (window != (scene.from, scene.until)).then_some(window)
    }

    /// Returns the times of all drawn events, in order.
    pub(super) fn busy(&self) -> Vec<u64> {
        let loud = self.arrows.iter().filter(|arrow| arrow.kind != MessageClass::Noise);
        let arrows = loud.flat_map(|arrow| [Some(arrow.sent), arrow.arrives]).flatten();
        let marks = self.marks.iter().map(|mark| mark.at);
        let bands = self.bands.iter().map(|band| band.from);
        let shades = self.shades.iter().flat_map(|shade| [shade.from, shade.until]);
        let violations = self.violations.iter().map(|violation| violation.at);
        let mut busy: Vec<_> = arrows.chain(marks).chain(bands).chain(shades).chain(violations).collect();
        busy.sort_unstable();
        busy
    }

    /// Returns what is around the first violation; without one the whole run, or as much as fits around the first fault.
    fn default_window(&self) -> (u64, u64) {
        let mut sent: Vec<_> =
            self.arrows.iter().filter(|arrow| arrow.kind != MessageClass::Noise).map(|arrow| arrow.sent).collect();
        sent.sort_unstable();
        if let Some(violation) = self.violations.first() {
            let place = sent.partition_point(|at| *at < violation.at);
            let from = place.checked_sub(ARROWS_BEFORE).map_or(self.from, |first| sent[first]);
            return (from, sent.get(place + ARROWS_AFTER).map_or(self.until, |last| (*last).max(violation.at)));
        }
        if sent.len() <= ARROWS_MAX {
            return (self.from, self.until);
        }
        let shaded = self.shades.iter().map(|shade| shade.from).min();
        let reorged = self.marks.iter().find(|mark| matches!(mark.what, Sign::Head { reorg: 1.., .. }));
        let moment = shaded.or(reorged.map(|mark| mark.at)).unwrap_or(self.from);
        let place = sent.partition_point(|at| *at < moment);
        let first = place.saturating_sub(ARROWS_MAX / 5).min(sent.len() - ARROWS_MAX);
        let from = if first == 0 { self.from } else { sent[first] };
        (from, sent[first + ARROWS_MAX - 1])
    }

    fn narrow(&mut self, from: u64, until: u64) {
        let within = from..=until;
        self.arrows.retain(|arrow| within.contains(&arrow.sent));
        for arrow in &mut self.arrows {
            arrow.arrives = arrow.arrives.filter(|at| *at <= until);
        }
        self.marks.retain(|mark| within.contains(&mark.at));
        self.bands.retain(|band| band.from <= until && band.until >= from);
        for band in &mut self.bands {
            (band.from, band.until) = (band.from.max(from), band.until.min(until));
        }
        self.shades.retain(|shade| shade.from <= until && shade.until >= from);
        for shade in &mut self.shades {
            (shade.from, shade.until) = (shade.from.max(from), shade.until.min(until));
        }
        self.violations.retain(|violation| within.contains(&violation.at));
        // The parent of a block in the picture is shown too, at the left end.
        let nodes = self.nodes.iter().filter(|node| within.contains(&node.at));
        let parents: BTreeSet<B256> = nodes.map(|node| node.parent).collect();
        self.nodes.retain(|node| within.contains(&node.at) || (node.at < from && parents.contains(&node.hash)));
        (self.from, self.until) = (from, until);
    }
}

/// State of the pass over the entries.
#[derive(Default)]
struct SceneBuilder {
    arrows: Vec<Arrow>,
    marks: Vec<Mark>,
    bands: Vec<Band>,
    shades: Vec<FaultSpan>,
    nodes: Vec<Node>,
    violations: Vec<BrokenInvariant>,
    labels: Vec<String>,
    /// Of the blocks, by number.
    heights: Vec<u64>,
    known: BTreeSet<B256>,
    standing: BTreeMap<u32, (u64, ReplicaStatus)>,
    running: BTreeMap<u64, FaultSpan>,
    crashed: BTreeMap<u32, u64>,
    outages: Vec<(u32, u64, u64)>,
    heads: BTreeMap<u32, BlockId>,
    finals: BTreeMap<u32, BlockId>,
    /// Final beyond reversal, that is not by depth.
    promised: BTreeSet<B256>,
    justified: BTreeSet<B256>,
    finalized: BTreeSet<B256>,
    authors: BTreeMap<Address, u32>,
    replicas: u32,
}

impl SceneBuilder {
    fn of(trace: &Trace) -> Self {
        let numbered = trace.header.replicas.iter().zip(0..);
        let authors = numbered.filter_map(|(replica, number)| Some((replica.address?, number))).collect();
        let replicas = u32::try_from(trace.header.replicas.len()).unwrap_or(u32::MAX);
        let mut gathering = Self { authors, replicas, ..Self::default() };
        for entry in &trace.entries {
            gathering.take(entry.at_ns, &entry.content);
        }
        gathering
    }

    fn take(&mut self, at: u64, content: &TraceContent) {
        match content {
            TraceContent::Message { label, .. } => self.labels.push(label.clone()),
            TraceContent::Block { id, parent, author, .. } => {
                self.heights.push(id.height.get());
                self.node(at, *id, *parent, self.authors.get(author).copied());
            }
            TraceContent::Sent { from, to, label, arrives_ns, .. } => self.arrows.push(Arrow {
                from: *from,
                to: *to,
                sent: at,
                arrives: *arrives_ns,
                is_lost: arrives_ns.is_none(),
                kind: MessageClass::of(label),
                label: label.clone(),
            }),
            TraceContent::Status { replica, status } => self.record_status(*replica, at, Some(*status)),
            TraceContent::Step { replica, event, effects } => self.step(at, *replica, event, effects),
            TraceContent::Incident(incident) => self.incident(at, incident),
            TraceContent::State { .. } | TraceContent::Full { .. } => {}
        }
    }

    fn node(&mut self, at: u64, id: BlockId, parent: B256, author: Option<u32>) {
        if self.known.insert(id.hash) {
            self.nodes.push(Node {
                hash: id.hash,
                parent,
                height: id.height.get(),
                author,
                at,
                is_final: false,
                is_canonical: false,
                is_rival: false,
                is_pending: false,
                is_justified: false,
            });
        }
    }

    /// Adds a block that no replica built or fetched: it came in a message that no protocol of the run sent.
    fn inserted(&mut self, at: u64, replica: u32, id: BlockId) {
        let head = self.heads.get(&replica).filter(|head| head.height.next() == id.height);
        let sibling = || {
            let beside = self.nodes.iter().find(|node| node.height == id.height.get());
            beside.map_or(B256::ZERO, |node| node.parent)
        };
        let parent = head.map_or_else(sibling, |head| head.hash);
        self.node(at, id, parent, None);
    }

    fn record_status(&mut self, replica: u32, at: u64, status: Option<ReplicaStatus>) {
        if let Some((from, before)) = self.standing.remove(&replica)
            && at > from
        {
            self.bands.push(Band { replica, from, until: at, status: before });
        }
        if let Some(status) = status {
            self.standing.insert(replica, (at, status));
        }
    }

    fn step(&mut self, at: u64, replica: u32, event: &TracedEvent, effects: &[TracedEffect]) {
        let mut marks = Vec::new();
        if let TracedEvent::Built { block, .. } = event
            && let Some(height) = self.heights.get(*block as usize)
        {
            marks.push(Sign::Made(*height));
        }
        let asks = effects.iter().any(|effect| match effect {
            TracedEffect::Mark { name } => name.ends_with("/timeout"),
            TracedEffect::Send { message, .. } => {
                let label = self.labels.get(*message as usize).map(String::as_str);
                matches!(label, Some("raft-vote-request" | "raft-pre-vote-request"))
            }
            _ => false,
        });
        if asks && matches!(event, TracedEvent::Timer { .. }) {
            marks.push(Sign::Timeout);
        }
        for effect in effects {
            match effect {
                TracedEffect::Head { new, reorg_depth, .. } => {
                    self.inserted(at, replica, *new);
                    self.heads.insert(replica, *new);
                    marks.push(Sign::Head { height: new.height.get(), reorg: *reorg_depth });
                }
                TracedEffect::Inserted { id } => self.inserted(at, replica, *id),
                TracedEffect::Final { finalized, kind, .. } => {
                    self.finalized.insert(finalized.hash);
                    if kind != "Depth" {
                        self.promised.insert(finalized.hash);
                    }
                    if self.finals.get(&replica).copied().unwrap_or_default().height < finalized.height {
                        self.finals.insert(replica, *finalized);
                        marks.push(Sign::Final(finalized.height.get()));
                    }
                }
                TracedEffect::Justified { id } => {
                    self.justified.insert(id.hash);
                    marks.push(Sign::Justified(id.height.get()));
                }
                TracedEffect::Evidence { .. } => marks.push(Sign::Evidence),
                _ => {}
            }
        }
        // Immediate finality needs no separate mark of the head.
        let is_final = |height: u64| marks.contains(&Sign::Final(height));
        let kept = marks.iter().filter(|sign| match sign {
            Sign::Head { height, reorg: 0 } => !is_final(*height),
            _ => true,
        });
        let last_final = self.finals.get(&replica).map(|id| id.hash);
        self.marks.extend(kept.map(|sign| {
            let block = last_final.filter(|_| matches!(sign, Sign::Final(_)));
            Mark { at, replica, what: sign.clone(), block }
        }));
    }

    fn incident(&mut self, at: u64, incident: &Incident) {
        match incident {
            Incident::Began { fault, kind, replicas, text } => {
                let shade = FaultSpan {
                    replicas: replicas.clone(),
                    from: at,
                    until: at,
                    kind: kind.clone(),
                    text: in_words(text, self.replicas),
                };
                self.running.insert(*fault, shade);
            }
            Incident::Ended { fault } => {
                if let Some(shade) = self.running.remove(fault) {
                    self.shades.push(FaultSpan { until: at, ..shade });
                }
            }
            Incident::Crashed { replica } => {
                self.crashed.insert(*replica, at);
                self.marks.push(Mark { at, replica: *replica, what: Sign::Crash, block: None });
            }
            Incident::Restarted { replica, .. } => {
                if let Some(from) = self.crashed.remove(replica) {
                    self.outages.push((*replica, from, at));
                }
                self.marks.push(Mark { at, replica: *replica, what: Sign::Restart, block: None });
            }
            Incident::Altered { replica, how } => self.shades.push(FaultSpan {
                replicas: vec![*replica],
                from: at,
                until: at,
                kind: "altered".to_owned(),
                text: how.clone(),
            }),
            Incident::Note { replica, text } => self.shades.push(FaultSpan {
                replicas: replica.iter().copied().collect(),
                from: at,
                until: at,
                kind: "note".to_owned(),
                text: text.clone(),
            }),
            Incident::Violation { invariant, step, detail } => {
                // An invariant that stays broken is found so at every step.
                let is_known = |known: &BrokenInvariant| known.invariant == *invariant && known.detail == *detail;
                if !self.violations.iter().any(is_known) && self.violations.len() < VIOLATIONS_MAX {
                    let (invariant, detail) = (invariant.clone(), detail.clone());
                    self.violations.push(BrokenInvariant { at, step: *step, invariant, detail });
                }
            }
        }
    }

    fn scene(mut self, trace: &Trace) -> Scene {
        let until = trace.ends_at().as_nanos();
        for replica in self.standing.keys().copied().collect::<Vec<_>>() {
            self.record_status(replica, until.saturating_add(1), None);
        }
        for (_, shade) in core::mem::take(&mut self.running) {
            self.shades.push(FaultSpan { until, ..shade });
        }
        for (replica, from) in core::mem::take(&mut self.crashed) {
            self.outages.push((replica, from, until));
        }
        self.outages_swallow();
        self.colour_tree();
        self.bands.sort_by_key(|band| (band.replica, band.from));
        self.shades.sort_by_key(|shade| (shade.from, shade.replicas.first().copied()));
        Scene {
            names: trace.header.replicas.iter().map(|replica| replica.name.clone()).collect(),
            round_name: super::style::round_name(&trace.header.consensus),
            from: 0,
            until,
            arrows: self.arrows,
            marks: self.marks,
            bands: self.bands,
            shades: self.shades,
            nodes: self.nodes,
            violations: self.violations,
        }
    }

    /// Envelopes to a stopped replica are lost, and a crash is shaded once.
    fn outages_swallow(&mut self) {
        let outages = &self.outages;
        let is_down = |replica: u32, at: u64| {
            outages.iter().any(|(down, from, until)| *down == replica && *from <= at && at < *until)
        };
        for arrow in &mut self.arrows {
            arrow.is_lost |= arrow.arrives.is_some_and(|at| is_down(arrow.to, at));
        }
        let bands = core::mem::take(&mut self.bands);
        self.bands = bands.into_iter().flat_map(|band| awake(band, outages)).collect();
        self.shades.retain(|shade| !matches!(shade.kind.as_str(), "crash" | "wipe"));
        self.shades.extend(outages.iter().map(|(replica, from, until)| FaultSpan {
            replicas: vec![*replica],
            from: *from,
            until: *until,
            kind: "crash".to_owned(),
            text: "down".to_owned(),
        }));
    }

    /// Marks the canonical branch: that of most heads at the end.
    fn colour_tree(&mut self) {
        let parents: BTreeMap<B256, (usize, B256)> =
            self.nodes.iter().enumerate().map(|(place, node)| (node.hash, (place, node.parent))).collect();
        let mut votes: BTreeMap<B256, usize> = BTreeMap::new();
        for head in self.heads.values() {
            *votes.entry(head.hash).or_default() += 1;
        }
        let depth = |hash: &B256| parents.get(hash).map_or(0, |(place, _)| self.nodes[*place].height);
        let best = votes.iter().max_by_key(|(hash, count)| (**count, depth(hash))).map(|(hash, _)| *hash);
        let mut canonical = Vec::new();
        let mut at = best;
        while let Some((place, parent)) = at.and_then(|hash| parents.get(&hash)) {
            canonical.push(*place);
            at = Some(*parent);
        }
        let with_ancestors = |hashes: &BTreeSet<B256>| {
            let mut places = BTreeSet::new();
            for hash in hashes {
                let mut at = *hash;
                while let Some((place, parent)) = parents.get(&at) {
                    if !places.insert(*place) {
                        break;
                    }
                    at = *parent;
                }
            }
            places
        };
        let (is_final, promised) = (with_ancestors(&self.finalized), with_ancestors(&self.promised));
        for place in canonical {
            self.nodes[place].is_canonical = true;
        }
        for place in is_final {
            self.nodes[place].is_final = true;
        }
        let highest = self.nodes.iter().filter(|node| node.is_canonical).map(|node| node.height).max();
        // Of several at one height the canonical one is no rival, or else the first.
        let canonical = self.nodes.iter().filter(|node| node.is_canonical);
        let mut chosen: BTreeMap<u64, B256> = canonical.map(|node| (node.height, node.hash)).collect();
        for place in promised {
            let node = &mut self.nodes[place];
            node.is_rival = *chosen.entry(node.height).or_insert(node.hash) != node.hash;
        }
        for node in &mut self.nodes {
            node.is_justified = self.justified.contains(&node.hash);
            node.is_pending = !node.is_canonical && Some(node.parent) == best && Some(node.height) > highest;
        }
    }
}

/// Returns the parts of a band in which its replica runs.
fn awake(band: Band, outages: &[(u32, u64, u64)]) -> Vec<Band> {
    let mut parts = vec![band];
    for (_, down, up) in outages.iter().filter(|(replica, ..)| *replica == band.replica) {
        let cut = |part: Band| {
            let before = Band { until: part.until.min(*down), ..part };
            let after = Band { from: part.from.max(*up), ..part };
            [before, after].into_iter().filter(|part| part.from < part.until)
        };
        parts = parts.into_iter().flat_map(cut).collect();
    }
    parts
}

impl Scene {
    /// Returns whether a mark is of a block that became final in conflict with the canonical branch.
    pub(super) fn is_rival(&self, mark: &Mark) -> bool {
        mark.block.is_some_and(|hash| self.nodes.iter().any(|node| node.is_rival && node.hash == hash))
    }
}

impl Node {
    /// Returns whether it is on the canonical branch, or may be soon.
    pub(super) const fn is_main(&self) -> bool {
        self.is_canonical || (self.is_final && !self.is_rival) || self.is_pending
    }
}

impl Band {
    /// Returns its label.
    pub(super) fn text(&self, round_name: &str) -> String {
        let round = self.status.round;
        match self.status.role {
            RoundRole::Leader => format!("{round_name} {round} · leads"),
            RoundRole::Follower => format!("{round_name} {round}"),
            RoundRole::Seeking if round_name == "view" => format!("wants view {round}"),
            RoundRole::Seeking => format!("{round_name} {round} · no leader"),
        }
    }
}
