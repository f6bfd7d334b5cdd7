//! Replay of a trace: the recorded inputs, passed to new protocol instances.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    Incident, ReplayError, Trace, TraceContent, TraceEntry, TracedEffect, TracedEvent,
    record::{digest_of, effect_of},
};
use crate::{
    chain::Block,
    consensus::{
        AnyProtocol, Authenticator, BlockId, ConsensusConfig, ConsensusMessage, Effect, Event, OwnProtocol, Protocol,
        Records, ReplicaId, SealScheme, Signer, Ticket, TimerId, Validator, ValidatorSet, Verdict,
    },
    primitives::{B256, KeyPair},
    system::{ValidatorUpdate, ValidatorUpdates},
};

/// A trace, and the protocol instances that replay it.
///
/// Replay uses no seed, network, chain or clock: each recorded event goes to the protocol instance of its replica, and each
/// effect must equal the recorded one. Messages are those that the instances send; the trace contains all others in full.
#[derive(Debug)]
pub struct Replay<'a> {
    trace: &'a Trace,
    config: ConsensusConfig,
    genesis: Block,
    validators: ValidatorSet,
    authenticator: Authenticator,
    signers: Vec<Option<Signer>>,
    protocols: Vec<Player>,
    /// By number.
    messages: Vec<Told>,
    numbers: BTreeMap<B256, u32>,
    /// By number.
    blocks: Vec<Arc<Block>>,
    next: usize,
}

#[derive(Debug)]
struct Player {
    protocol: AnyProtocol,
    /// Its state is unknown after an alteration.
    is_altered: bool,
}

#[derive(Debug)]
struct Told {
    message: Option<ConsensusMessage>,
}

fn failed(what: &str, error: &dyn core::fmt::Display) -> ReplayError {
    ReplayError::Header { reason: format!("{what}: {error}") }
}

/// Returns the genesis section of the protocol.
fn consensus_section(trace: &Trace) -> Result<serde_json::Value, ReplayError> {
    serde_json::from_str(&trace.header.consensus).map_err(|error| failed("consensus", &error))
}

/// A replayed entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplayStep<'a> {
    /// Its line (or record) in the trace, from 1; the header is the first.
    pub record: usize,
    /// The entry.
    pub entry: &'a TraceEntry,
}

impl<'a> Replay<'a> {
    /// Creates protocol instances at the start, before the first entry.
    ///
    /// # Errors
    /// [`ReplayError::Header`] and [`ReplayError::Consensus`] when the header describes no replicas, or those of a protocol of one's
    /// own; see [`Replay::of_own`].
    pub fn new(trace: &'a Trace) -> Result<Self, ReplayError> {
        let section = consensus_section(trace)?;
        if section["protocol"] == "own" {
            let name = &section["name"];
            let reason =
                format!("the run is of {name}, a protocol of one's own: replay it by `Replay::of_own` in code");
            return Err(ReplayError::Header { reason });
        }
        let config = ConsensusConfig::deserialize_section(&section).map_err(|error| failed("consensus", &error))?;
        Self::with_config(trace, config)
    }

    /// Creates instances of a protocol of one's own, as [`Replay::new`] does of all others.
    ///
    /// # Errors
    /// [`ReplayError::Header`] for a trace of another protocol or of other parameters, and as [`Replay::new`].
    pub fn of_own(trace: &'a Trace, protocol: &OwnProtocol) -> Result<Self, ReplayError> {
        let config = ConsensusConfig::Own(protocol.clone());
        let (got, want) = (consensus_section(trace)?, config.section());
        if got != want {
            return Err(ReplayError::Header { reason: format!("the run is of {got}, given is {want}") });
        }
        Self::with_config(trace, config)
    }

    fn with_config(trace: &'a Trace, config: ConsensusConfig) -> Result<Self, ReplayError> {
        let header = &trace.header;
        let genesis = Block::decode_stored(&header.genesis).map_err(|error| failed("genesis", &error))?;
        let members =
            header.validators.iter().map(|(address, weight)| Validator { address: *address, weight: *weight });
        let validators = ValidatorSet::new(members).map_err(|error| failed("validators", &error))?;
        let scheme = if header.real_seals { SealScheme::Secp256k1 } else { SealScheme::Symbolic };
        let authenticator = Authenticator::new(scheme, header.seal_seed).for_chain(genesis.hash());

        let (mut signers, mut roster, mut observers) = (Vec::new(), Vec::new(), Vec::new());
        let mut candidates = Vec::new();
        for (number, replica) in (0..).zip(&header.replicas) {
            match &replica.key {
                Some(key) => {
                    let key = KeyPair::from_bytes(key).map_err(|error| failed("key", &error))?;
                    match validators.contains(&key.address()) {
                        true => roster.push(key.address()),
                        // A candidate: no validator at genesis.
                        false => {
                            observers.push(ReplicaId::new(number));
                            candidates.push(key.address());
                        }
                    }
                    signers.push(Some(authenticator.signer(&key)));
                }
                None => {
                    observers.push(ReplicaId::new(number));
                    signers.push(None);
                }
            }
        }
        let mut replay = Self {
            trace,
            config: config.with_roster(&roster, observers).with_candidates(&candidates),
            genesis,
            validators,
            authenticator,
            signers,
            protocols: Vec::new(),
            messages: Vec::new(),
            numbers: BTreeMap::new(),
            blocks: Vec::new(),
            next: 0,
        };
        for number in 0..header.replicas.len() {
            let protocol = replay.protocol(number, &BTreeMap::new(), 1)?;
            replay.protocols.push(Player { protocol, is_altered: false });
        }
        Ok(replay)
    }

    /// Replays all remaining entries.
    ///
    /// # Errors
    /// As [`Replay::step`].
    pub fn finish(&mut self) -> Result<(), ReplayError> {
        while self.step()?.is_some() {}
        Ok(())
    }

    /// Replays the next entry; returns `None` at the end.
    ///
    /// # Errors
    /// [`ReplayError`] when effects differ from the recorded ones, or an event is not in the trace.
    pub fn step(&mut self) -> Result<Option<ReplayStep<'a>>, ReplayError> {
        let Some(entry) = self.trace.entries.get(self.next) else { return Ok(None) };
        let record = self.next + 2;
        self.next += 1;
        match &entry.content {
            TraceContent::Message { digest, body, .. } => self.tell(*digest, body.as_deref(), record)?,
            TraceContent::Block { rlp, .. } => {
                let content =
                    |error: &dyn core::fmt::Display| ReplayError::Content { record, reason: error.to_string() };
                self.blocks.push(Arc::new(Block::decode_stored(rlp).map_err(|error| content(&error))?));
            }
            TraceContent::Step { replica, event, effects } => self.give(*replica, event, effects, record)?,
            TraceContent::State { replica, digest } => self.compare_state(*replica, *digest, record)?,
            TraceContent::Incident(Incident::Restarted { replica, records }) => {
                let protocol = self.protocol(*replica as usize, records, record)?;
                // An altered one stays altered: a replica with a twin restarts twice.
                if let Some(player) = self.protocols.get_mut(*replica as usize) {
                    player.protocol = protocol;
                }
            }
            TraceContent::Incident(Incident::Altered { replica, .. }) => {
                if let Some(player) = self.protocols.get_mut(*replica as usize) {
                    player.is_altered = true;
                }
            }
            TraceContent::Incident(_)
            | TraceContent::Sent { .. }
            | TraceContent::Status { .. }
            | TraceContent::Full { .. } => {}
        }
        Ok(Some(ReplayStep { record, entry }))
    }

    /// Returns the replica's protocol; `None` when there is no such replica, or its state was altered.
    #[cfg(feature = "internals")]
    pub fn protocol_of(&self, replica: u32) -> Option<&AnyProtocol> {
        self.known_protocol(replica)
    }

    /// Returns the head of a replica's protocol; `None` when there is no such replica, or its state was altered.
    pub fn head_of(&self, replica: u32) -> Option<BlockId> {
        self.known_protocol(replica).map(AnyProtocol::head)
    }

    /// Returns a message by its number, if the trace has its content or a replayed protocol has sent it so far.
    pub fn message(&self, number: u32) -> Option<&ConsensusMessage> {
        self.messages.get(number as usize)?.message.as_ref()
    }

    fn known_protocol(&self, replica: u32) -> Option<&AnyProtocol> {
        let player = self.protocols.get(replica as usize)?;
        (!player.is_altered).then_some(&player.protocol)
    }

    fn protocol(&self, number: usize, records: &Records, record: usize) -> Result<AnyProtocol, ReplayError> {
        let signer = self.signers.get(number).cloned().flatten();
        let (validators, authenticator) = (self.validators.clone(), self.authenticator.clone());
        let protocol = if records.is_empty() {
            self.config.start(&self.genesis, validators, authenticator, signer)
        } else {
            self.config.recover(&self.genesis, validators, records, authenticator, signer)
        };
        protocol.map_err(|source| ReplayError::Consensus { record, source })
    }

    fn tell(&mut self, digest: B256, body: Option<&str>, record: usize) -> Result<(), ReplayError> {
        let message: Option<ConsensusMessage> = match body {
            Some(body) => Some(
                serde_json::from_str(body)
                    .map_err(|error| ReplayError::Content { record, reason: error.to_string() })?,
            ),
            None => None,
        };
        self.numbers.insert(digest, u32::try_from(self.messages.len()).unwrap_or(u32::MAX));
        self.messages.push(Told { message });
        Ok(())
    }

    fn give(
        &mut self,
        replica: u32,
        event: &TracedEvent,
        recorded: &[TracedEffect],
        record: usize,
    ) -> Result<(), ReplayError> {
        if self.protocols.get(replica as usize).is_none_or(|player| player.is_altered) {
            return Ok(());
        }
        let event = self.event(event, record)?;
        let mut effects = Vec::new();
        if let Some(player) = self.protocols.get_mut(replica as usize) {
            player.protocol.step(event, &mut effects);
        }
        for (place, effect) in effects.iter().enumerate() {
            if let Effect::Send { message, .. } = effect {
                self.said(message);
            }
            let got = effect_of(effect, |message| self.numbers.get(&digest_of(message)).copied().unwrap_or(u32::MAX));
            let want = recorded.get(place);
            if want != Some(&got) {
                let want = want.map_or_else(|| "nothing".to_owned(), |want| format!("{want:?}"));
                return Err(ReplayError::Effect { record, replica, place: place + 1, got: format!("{got:?}"), want });
            }
        }
        match recorded.get(effects.len()) {
            None => Ok(()),
            Some(want) => {
                let (place, got, want) = (effects.len() + 1, "nothing".to_owned(), format!("{want:?}"));
                Err(ReplayError::Effect { record, replica, place, got, want })
            }
        }
    }

    /// Stores a message that an instance sent.
    fn said(&mut self, message: &ConsensusMessage) {
        let number = self.numbers.get(&digest_of(message));
        let told = number.and_then(|number| self.messages.get_mut(*number as usize));
        if let Some(told) = told.filter(|told| told.message.is_none()) {
            told.message = Some(message.clone());
        }
    }

    fn compare_state(&self, replica: u32, want: B256, record: usize) -> Result<(), ReplayError> {
        match self.known_protocol(replica).map(Protocol::digest) {
            Some(got) if got != want => Err(ReplayError::State { record, replica, got, want }),
            _ => Ok(()),
        }
    }

    fn event(&self, event: &TracedEvent, record: usize) -> Result<Event, ReplayError> {
        let missing = |what: String| ReplayError::Missing { record, what };
        let block_of = |block: u32| {
            let found = self.blocks.get(block as usize).cloned();
            found.ok_or_else(|| missing(format!("block {block}")))
        };
        Ok(match event {
            TracedEvent::Start => Event::Start,
            TracedEvent::Message { from, message } => {
                let told = self.messages.get(*message as usize).and_then(|told| told.message.clone());
                let content = told.ok_or_else(|| missing(format!("message {message}")))?;
                Event::Message { from: ReplicaId::new(*from), message: content }
            }
            TracedEvent::Timer { timer } => Event::Timer(TimerId::new(*timer)),
            TracedEvent::Persisted { ticket } => Event::Persisted(Ticket::new(*ticket)),
            TracedEvent::Built { ticket, block } => {
                Event::BlockBuilt { ticket: Ticket::new(*ticket), block: block_of(*block)? }
            }
            TracedEvent::Judged { id, updates, invalid } => {
                let updates =
                    updates.iter().map(|(address, weight)| ValidatorUpdate { address: *address, weight: *weight });
                let verdict = match invalid {
                    Some(reason) => Verdict::Invalid { reason: reason.clone() },
                    None => Verdict::Valid { updates: ValidatorUpdates::new(updates) },
                };
                Event::BlockJudged { block: *id, verdict }
            }
            TracedEvent::Random { ticket, value } => Event::Random { ticket: Ticket::new(*ticket), value: *value },
            TracedEvent::Synced { from, block } => {
                Event::BlockSynced { from: ReplicaId::new(*from), block: block_of(*block)? }
            }
            TracedEvent::Admin(admin) => Event::Admin(admin.clone()),
        })
    }
}
