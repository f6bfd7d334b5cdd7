//! Recorder of a running network.

use std::{collections::BTreeMap, sync::Arc};

use imbl::{OrdMap, Vector};

use super::{
    Incident, ReplicaStatus, TRACE_ENTRIES_MAX, Trace, TraceContent, TraceEntry, TraceHeader, TraceOutcome,
    TracedEffect, TracedEvent, Written,
};
use crate::{
    chain::Block,
    consensus::{
        AnyProtocol, BlockId, ChainEvent, ConsensusMessage, Effect, Encoder, Event, Protocol, Recipients, ReplicaId,
        Verdict,
    },
    primitives::{Address, B256, Bytes},
    sim::{check::violation::Violation, engine::clock::SimTime},
};

/// Collects the entries of a run. Cloning is O(1); clones are independent.
#[derive(Clone, Debug)]
pub(crate) struct Recorder {
    header: Arc<TraceHeader>,
    replicas: Arc<BTreeMap<Address, u32>>,
    entries: Vector<TraceEntry>,
    /// Messages by the digest of their content.
    messages: OrdMap<B256, u32>,
    /// Blocks by hash, body and seal.
    blocks: OrdMap<(B256, B256, Bytes), u32>,
    status: OrdMap<u32, ReplicaStatus>,
    /// Replicas whose protocol was replaced, so that replay cannot reproduce their messages.
    altered: OrdMap<u32, ()>,
    /// By the first violation; also of a run that goes on after the last recorded entry.
    outcome: TraceOutcome,
}

impl Recorder {
    pub(crate) fn new(header: TraceHeader) -> Self {
        let numbered = header.replicas.iter().zip(0..);
        let replicas = numbered.filter_map(|(replica, number)| Some((replica.address?, number))).collect();
        Self {
            header: Arc::new(header),
            replicas: Arc::new(replicas),
            entries: Vector::new(),
            messages: OrdMap::new(),
            blocks: OrdMap::new(),
            status: OrdMap::new(),
            altered: OrdMap::new(),
            outcome: TraceOutcome::Passed,
        }
    }

    /// Returns the entries so far.
    pub(crate) fn entries(&self) -> &Vector<TraceEntry> {
        &self.entries
    }

    /// Returns the trace, with the states at `now`.
    pub(crate) fn trace<'a>(
        &self,
        now: SimTime,
        protocols: impl Iterator<Item = (ReplicaId, &'a AnyProtocol)>,
    ) -> Trace {
        let mut entries: Vec<_> = self.entries.iter().cloned().collect();
        for (replica, protocol) in protocols.filter(|(replica, _)| !self.altered.contains_key(&replica.get())) {
            let content = TraceContent::State { replica: replica.get(), digest: protocol.digest() };
            entries.push(TraceEntry { at_ns: now.as_nanos(), content });
        }
        Trace { header: self.header.as_ref().clone(), entries, outcome: self.outcome.clone() }
    }

    /// Records an event given to a protocol.
    pub(crate) fn event(&mut self, now: SimTime, event: &Event) -> TracedEvent {
        match event {
            Event::Start => TracedEvent::Start,
            Event::Message { from, message } => {
                TracedEvent::Message { from: from.get(), message: self.message(now, message, true) }
            }
            Event::Timer(timer) => TracedEvent::Timer { timer: timer.get() },
            Event::Persisted(ticket) => TracedEvent::Persisted { ticket: ticket.get() },
            Event::BlockBuilt { ticket, block } => {
                TracedEvent::Built { ticket: ticket.get(), block: self.block(now, block) }
            }
            Event::BlockJudged { block, verdict } => match verdict {
                Verdict::Valid { updates } => {
                    let updates = updates.iter().map(|update| (update.address, update.weight)).collect();
                    TracedEvent::Judged { id: *block, updates, invalid: None }
                }
                Verdict::Invalid { reason } => {
                    TracedEvent::Judged { id: *block, updates: Vec::new(), invalid: Some(reason.clone()) }
                }
            },
            Event::Random { ticket, value } => TracedEvent::Random { ticket: ticket.get(), value: *value },
            Event::BlockSynced { from, block } => {
                TracedEvent::Synced { from: from.get(), block: self.block(now, block) }
            }
            Event::Admin(admin) => TracedEvent::Admin(admin.clone()),
        }
    }

    /// Records a protocol's effects, and its status if it changed.
    pub(crate) fn step(
        &mut self,
        now: SimTime,
        replica: ReplicaId,
        event: TracedEvent,
        effects: &[Effect],
        protocol: &AnyProtocol,
    ) {
        let is_foreign = self.altered.contains_key(&replica.get());
        let effects = effects.iter().map(|effect| self.effect(now, effect, is_foreign)).collect();
        self.push(now, TraceContent::Step { replica: replica.get(), event, effects });
        self.record_status(now, replica, protocol);
    }

    /// Records an envelope that is put on a link.
    pub(crate) fn sent(
        &mut self,
        now: SimTime,
        (from, to): (ReplicaId, ReplicaId),
        label: &str,
        message: Option<&ConsensusMessage>,
        arrives: Option<SimTime>,
    ) {
        let number = message.map(|message| self.message(now, message, true));
        let label = message.map_or_else(|| label.to_owned(), |message| message.label().to_owned());
        let arrives_ns = arrives.map(SimTime::as_nanos);
        self.push(now, TraceContent::Sent { from: from.get(), to: to.get(), label, message: number, arrives_ns });
    }

    /// Records an action on the network, or a violation.
    pub(crate) fn incident(&mut self, now: SimTime, incident: Incident) {
        if let Incident::Altered { replica, .. } = &incident {
            self.altered.insert(*replica, ());
        }
        self.push(now, TraceContent::Incident(incident));
    }

    /// Records a violation; the first one is the outcome of the run.
    pub(crate) fn violation(&mut self, now: SimTime, violation: &Violation) {
        if self.outcome == TraceOutcome::Passed {
            self.outcome = TraceOutcome::Failed { reason: violation.to_string() };
        }
        let Violation { invariant, step, detail, .. } = violation;
        let (invariant, step, detail) = (invariant.to_string(), *step, detail.clone());
        self.incident(now, Incident::Violation { invariant, step, detail });
    }

    /// Records a replica's status, for instance after a restart.
    pub(crate) fn record_status(&mut self, now: SimTime, replica: ReplicaId, protocol: &AnyProtocol) {
        let Some(status) = ReplicaStatus::of(protocol, replica, &self.replicas) else { return };
        if self.status.get(&replica.get()) != Some(&status) {
            self.status.insert(replica.get(), status);
            self.push(now, TraceContent::Status { replica: replica.get(), status });
        }
    }

    fn push(&mut self, now: SimTime, content: TraceContent) {
        let (at_ns, count) = (now.as_nanos(), self.entries.len());
        match count.cmp(&TRACE_ENTRIES_MAX) {
            core::cmp::Ordering::Less => self.entries.push_back(TraceEntry { at_ns, content }),
            core::cmp::Ordering::Equal => {
                self.entries.push_back(TraceEntry { at_ns, content: TraceContent::Full { entries: count as u64 } });
            }
            core::cmp::Ordering::Greater => {}
        }
    }

    /// Returns the number of a message; `is_foreign` when no protocol of the run sent it.
    fn message(&mut self, now: SimTime, message: &ConsensusMessage, is_foreign: bool) -> u32 {
        let digest = digest_of(message);
        if let Some(number) = self.messages.get(&digest) {
            return *number;
        }
        let number = count(self.messages.len());
        self.messages.insert(digest, number);
        let body = if is_foreign { serde_json::to_string(message).ok() } else { None };
        self.push(now, TraceContent::Message { message: number, label: message.label().to_owned(), digest, body });
        number
    }

    fn block(&mut self, now: SimTime, block: &Block) -> u32 {
        let key = (block.hash(), block.body_digest(), block.seal().clone());
        if let Some(number) = self.blocks.get(&key) {
            return *number;
        }
        let number = count(self.blocks.len());
        self.blocks.insert(key, number);
        let content = TraceContent::Block {
            block: number,
            id: BlockId::of(block),
            parent: block.parent_hash(),
            author: block.header().beneficiary,
            timestamp: block.timestamp().as_secs(),
            rlp: block.encode_stored().into(),
        };
        self.push(now, content);
        number
    }

    fn effect(&mut self, now: SimTime, effect: &Effect, is_foreign: bool) -> TracedEffect {
        effect_of(effect, |message| self.message(now, message, is_foreign))
    }
}

/// Returns the BLAKE3 hash of a message's canonical encoding.
pub(super) fn digest_of(message: &ConsensusMessage) -> B256 {
    let mut out = Encoder::new();
    message.encode(&mut out);
    out.digest()
}

/// Returns the written form of an effect; `number` gives the number of its message.
pub(super) fn effect_of(effect: &Effect, number: impl FnOnce(&ConsensusMessage) -> u32) -> TracedEffect {
    match effect {
        Effect::Send { to, message, after } => {
            TracedEffect::Send { to: one_of(*to), message: number(message), after: after.map(|ticket| ticket.get()) }
        }
        Effect::ArmTimer { timer, deadline } => TracedEffect::Arm { timer: timer.get(), deadline: *deadline },
        Effect::DisarmTimer(timer) => TracedEffect::Disarm { timer: timer.get() },
        Effect::Persist { ticket, records } => {
            let written = records.iter().map(|record| {
                let value = record.value().unwrap_or_default();
                let digest = B256::new(*blake3::hash(&value).as_bytes());
                Written { key: record.key.clone(), len: value.len() as u64, digest }
            });
            TracedEffect::Persist { ticket: ticket.get(), records: written.collect() }
        }
        Effect::Build(request) => TracedEffect::Build {
            ticket: request.ticket.get(),
            parent: request.parent,
            beneficiary: request.beneficiary,
            difficulty: request.difficulty,
            timestamp_min: request.timestamp_min.as_secs(),
            mix_hash: request.mix_hash,
            payload: request.payload.clone(),
        },
        Effect::CancelBuild => TracedEffect::CancelBuild,
        Effect::Validate { block } => TracedEffect::Validate { id: BlockId::of(block) },
        Effect::Draw { ticket, bound } => TracedEffect::Draw { ticket: ticket.get(), bound: *bound },
        Effect::Fetch { block, from } => TracedEffect::Fetch { id: *block, from: from.get() },
        Effect::Show { block, to, after } => {
            TracedEffect::Show { id: *block, to: one_of(*to), after: after.map(|ticket| ticket.get()) }
        }
        Effect::Chain(event) => effect_of_chain(event),
        Effect::Evidence(evidence) => TracedEffect::Evidence { text: evidence.to_string() },
        Effect::Reject(rejection) => TracedEffect::Reject { reason: rejection.to_string() },
        Effect::Mark(name) => TracedEffect::Mark { name: (*name).to_owned() },
    }
}

/// The recipient; `None` for all others.
const fn one_of(to: Recipients) -> Option<u32> {
    match to {
        Recipients::Others => None,
        Recipients::One(to) => Some(to.get()),
    }
}

fn effect_of_chain(event: &ChainEvent) -> TracedEffect {
    match event {
        ChainEvent::Inserted(id) => TracedEffect::Inserted { id: *id },
        ChainEvent::Sealed { block, seal } => TracedEffect::Sealed { id: *block, seal: seal.clone() },
        ChainEvent::HeadMoved { old, new, reorg_depth } => {
            TracedEffect::Head { old: *old, new: *new, reorg_depth: *reorg_depth }
        }
        ChainEvent::Justified(id) => TracedEffect::Justified { id: *id },
        ChainEvent::Final { finality, proof } => TracedEffect::Final {
            safe: finality.safe,
            finalized: finality.finalized,
            irreversible: finality.irreversible.get(),
            kind: format!("{:?}", finality.kind),
            proof: proof.clone(),
        },
        ChainEvent::ReadReady { request, block } => TracedEffect::ReadReady { request: *request, id: *block },
        ChainEvent::ReadAborted { request } => TracedEffect::ReadAborted { request: *request },
    }
}

fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
