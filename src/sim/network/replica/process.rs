//! A replica as a process: crash, pause, restart from its disk, twins.

use imbl::Vector;

use super::{Replica, disk::Disk, inclusion_timeout::InclusionWatch};
use crate::{
    chain::{Chain, ChainError, HeadError, ReadError, RestoreError},
    consensus::{Admin, AnyProtocol, Event, Protocol, Records, ReplicaId, effect_handler::Outbox},
    sim::{
        check::violation::Violation,
        faults::{byzantine::Misbehaviour, plan::FaultKind},
        network::{
            consensus_setup::ConsensusSetup,
            environment::{Environment, SimEvent},
            error::NetworkError,
        },
        trace::Incident,
    },
};

/// Most events deferred for a paused replica; later ones are lost.
const DEFERRED_EVENTS_MAX: usize = 100_000;

/// State of a replica's process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProcessState {
    /// Processes events.
    #[default]
    Running,
    /// Paused: events that reach it are deferred.
    Paused,
    /// Stopped: events that reach it are lost.
    Down,
}

/// A replica's process with the events that wait for it.
#[derive(Clone, Debug, Default)]
pub(super) struct Process {
    state: ProcessState,
    /// Events deferred while the process is paused.
    deferred: Vector<SimEvent>,
}

impl Replica {
    /// Returns the state of its process.
    pub const fn process(&self) -> ProcessState {
        self.process.state
    }

    /// Returns all records on its disk, unfinished writes included.
    pub fn records(&self) -> Records {
        self.disk.kept().iter().map(|(key, value)| (key.clone(), value.bytes())).collect()
    }

    pub(in crate::sim) const fn set_process(&mut self, process: ProcessState) {
        self.process.state = process;
    }

    /// Defers an event that reaches the paused process; returns whether there was room, without which it is lost.
    pub(in crate::sim) fn defer(&mut self, sim_event: SimEvent) -> bool {
        let has_room = self.process.deferred.len() < DEFERRED_EVENTS_MAX;
        if has_room {
            self.process.deferred.push_back(sim_event);
        }
        has_room
    }

    pub(in crate::sim) const fn disk_mut(&mut self) -> &mut Disk {
        &mut self.disk
    }

    pub(in crate::sim) const fn misbehaviour_mut(&mut self) -> &mut Misbehaviour {
        &mut self.misbehaviour
    }

    /// Removes deferred events for which `is_dropped` holds; returns their number.
    pub(super) fn drop_deferred(&mut self, is_dropped: impl Fn(&SimEvent) -> bool) -> usize {
        let before = self.process.deferred.len();
        self.process.deferred.retain(|sim_event| !is_dropped(sim_event));
        before - self.process.deferred.len()
    }

    /// Takes the events deferred during a pause.
    pub(in crate::sim) fn take_deferred(&mut self) -> Vector<SimEvent> {
        core::mem::take(&mut self.process.deferred)
    }

    /// Stops the process: its memory and unfinished writes are lost.
    pub(in crate::sim) fn crash(&mut self, env: &mut Environment) {
        if self.process.state == ProcessState::Down {
            return;
        }
        self.process.state = ProcessState::Down;
        let gone = self.drop_deferred(|sim_event| sim_event.carries_transaction(None));
        env.on_transactions_gone(gone);
        self.timers.clear();
        self.processor.crash();
        (self.wanted, self.outbox, self.process.deferred) = (None, Outbox::default(), Vector::new());
        self.pool.clear();
        self.inclusion_watch = InclusionWatch::default();
        self.misbehaviour.forget();
        if let Some(faults) = &mut env.faults {
            let lost = self.disk.crash(&mut faults.disk);
            self.observations.counters.writes_lost += lost.writes;
            self.observations.counters.writes_torn += u64::from(lost.is_torn);
        }
        let (now, replica) = (env.scheduler.now(), self.id.get());
        if let Some(recorder) = &mut env.recorder {
            recorder.incident(now, Incident::Crashed { replica });
        }
    }

    /// Restarts the process from its disk.
    pub(in crate::sim) fn restart(
        &mut self,
        setup: &ConsensusSetup,
        env: &mut Environment,
    ) -> Result<(), NetworkError> {
        if self.process.state != ProcessState::Down {
            return Ok(());
        }
        self.check_disk(env);
        let (records, id) = (self.records(), self.id);
        let (now, step) = (env.scheduler.now(), env.steps);
        let signer = setup.signers.get(id.index()).cloned().flatten();
        let genesis = self.chain.genesis().block().clone();
        let validators = setup.validators.clone();
        let recovered = setup.config.recover(&genesis, validators, &records, setup.authenticator.clone(), signer);
        // The protocol refuses records that it wrote itself.
        let protocol = recovered.map_err(|error| {
            let detail = format!("{id} cannot recover from its own records: {error}");
            env.violated(Violation { invariant: "recovery".into(), at: now, step, detail })
        })?;
        self.protocol = protocol;
        match self.rewind() {
            // Amnesia can reach further back than the chain, which pruned that branch when another became irreversible.
            Err(error) if is_unknown_block(&error) => {
                self.wipe();
                let (validators, signer) = (setup.validators.clone(), setup.signers.get(id.index()).cloned().flatten());
                self.protocol = setup.config.start(&genesis, validators, setup.authenticator.clone(), signer)?;
                self.rewind()
            }
            other => other,
        }
        .map_err(|source| NetworkError::Chain { replica: id, source })?;
        self.outbox = Outbox::default();
        self.process.state = ProcessState::Running;
        self.observations.counters.restarts += 1;
        if let Some(recorder) = &mut env.recorder {
            recorder.incident(now, Incident::Restarted { replica: id.get(), records });
            recorder.record_status(now, id, &self.protocol);
        }
        self.handle(Event::Start, env)?;
        self.tell_resumed(env)
    }

    /// Starts the stopped process anew, on a chain with a protocol at its head and the records of that.
    pub(in crate::sim) fn start_at(
        &mut self,
        chain: Chain,
        protocol: AnyProtocol,
        records: &Records,
        env: &mut Environment,
    ) -> Result<(), NetworkError> {
        self.wipe();
        records.iter().for_each(|(key, value)| self.disk.put(key, Some(value)));
        if let Some(durable) = &self.durable {
            let written = durable.follow_restart(self.id, records).map_err(RestoreError::Write);
            written.map_err(|source| self.chain_error(source))?;
        }
        (self.chain, self.protocol, self.outbox) = (chain, protocol, Outbox::default());
        self.head_log.add(&self.chain);
        self.process.state = ProcessState::Running;
        self.observations.counters.restarts += 1;
        self.handle(Event::Start, env)?;
        self.tell_resumed(env)
    }

    /// Tells a protocol that counts the slots of its clock that its process goes on after a time in which it did not run.
    pub(in crate::sim) fn tell_resumed(&mut self, env: &mut Environment) -> Result<(), NetworkError> {
        if !self.protocol.counts_slots() {
            return Ok(());
        }
        let head = env.clock.moment(self.chain.head().timestamp());
        let stood_still_secs = env.sleeps.since(head).as_secs();
        self.handle(Event::Admin(Admin::Resumed { now: env.timestamp_of(self.slot), stood_still_secs }), env)
    }

    /// Reads a decayed disk: if any record fails its checksum, the whole disk is discarded.
    fn check_disk(&mut self, env: &mut Environment) {
        let Some(faults) = &mut env.faults else { return };
        if self.disk.flip_bits(&mut faults.disk) == 0 {
            return;
        }
        let damaged = self.disk.kept().values().filter(|record| !record.is_whole()).count();
        self.observations.counters.records_damaged += damaged as u64;
        if damaged > 0 {
            self.wipe();
        }
    }

    /// Sets the chain to the protocol's head and finality.
    fn rewind(&mut self) -> Result<(), ChainError> {
        let head = self.protocol.head();
        let rewound = self.chain.rewound(head.hash)?;
        if let Some(durable) = &self.durable {
            // In one batch with the chain, if this replica's chain is stored.
            durable.follow_restart(self.id, &self.records()).map_err(RestoreError::Write)?;
        }
        self.chain.restore(&rewound)?;
        self.head_log.add(&self.chain);
        let finality = self.protocol.finality();
        match self.chain.set_advisory_finality(finality.safe.hash, finality.finalized.hash, finality.irreversible) {
            // The protocol lost finality that it had; its next finality event sets the marks.
            Err(HeadError::Read(ReadError::UnknownBlock { .. }) | HeadError::BelowFinality { .. }) => Ok(()),
            other => Ok(other?),
        }
    }

    /// Erases its disk.
    pub(in crate::sim) fn wipe(&mut self) {
        self.disk.wipe();
        // The saved records refer to blocks that are lost with the disk.
        self.disk.drop_saved();
        self.observations.counters.wipes += 1;
    }

    /// Returns a second process with the same key and state, at `slot`.
    pub(in crate::sim) fn twin(&self, slot: ReplicaId, env: &mut Environment) -> Self {
        let mut twin = self.forked();
        twin.slot = slot;
        for (timer, armed) in twin.timers.iter() {
            let sim_event = SimEvent::Timer { replica: slot, timer, generation: armed.generation };
            env.scheduler.at(armed.queued, sim_event);
        }
        twin
    }
}

const fn is_unknown_block(error: &ChainError) -> bool {
    matches!(
        error,
        ChainError::Read(ReadError::UnknownBlock { .. })
            | ChainError::Restore(RestoreError::Read(ReadError::UnknownBlock { .. }))
    )
}

/// Returns whether a fault keeps its replica stopped.
pub(in crate::sim) const fn keeps_down(kind: &FaultKind) -> bool {
    matches!(kind, FaultKind::Crash { .. } | FaultKind::Wipe { .. })
}
