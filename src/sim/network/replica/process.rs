//! A replica as a process: it stops, stands still, and comes back with what its disk has.

use imbl::Vector;

use super::{Replica, disk::Disk};
use crate::{
    chain::ChainError,
    consensus::{Event, Protocol, Records, ReplicaId, Ticket, is_whole_record},
    sim::{
        check::invariant::Violation,
        faults::{byzantine::Conduct, plan::FaultKind},
        network::{
            environment::{Happening, World},
            error::NetworkError,
            shared::Shared,
        },
        trace::Incident,
    },
};

/// Most that waits for a replica that stands still; what comes later is lost.
const STALLED_MAX: usize = 100_000;

/// Whether a replica runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Process {
    /// It does.
    #[default]
    Running,
    /// It stands still; what reaches it waits.
    Paused,
    /// It does not; what reaches it is lost.
    Down,
}

impl Replica {
    /// Whether it runs.
    pub const fn process(&self) -> Process {
        self.process
    }

    /// Everything that its disk has, what is on its way there included.
    pub fn records(&self) -> Records {
        self.disk.kept().iter().map(|(key, value)| (key.clone(), value.clone())).collect()
    }

    pub(in crate::sim) const fn set_process(&mut self, process: Process) {
        self.process = process;
    }

    /// Keeps what reaches it while it stands still.
    pub(in crate::sim) fn stall(&mut self, happening: Happening) -> Option<Happening> {
        if self.stalled.len() < STALLED_MAX {
            self.stalled.push_back(happening);
        }
        None
    }

    pub(in crate::sim) const fn disk_mut(&mut self) -> &mut Disk {
        &mut self.disk
    }

    pub(in crate::sim) const fn conduct_mut(&mut self) -> &mut Conduct {
        &mut self.conduct
    }

    /// What waited while it stood still.
    pub(in crate::sim) fn take_stalled(&mut self) -> Vector<Happening> {
        core::mem::take(&mut self.stalled)
    }

    /// Stops at once: memory is lost, and what was on its way to the disk.
    pub(in crate::sim) fn crash(&mut self, world: &mut World) {
        if self.process == Process::Down {
            return;
        }
        self.process = Process::Down;
        self.timers.clear();
        (self.wanted, self.held, self.stalled) = (None, Vector::new(), Vector::new());
        self.pool.clear();
        self.waiting = None;
        self.conduct.forget();
        if let Some(trouble) = &mut world.trouble {
            let lost = self.disk.crash(&mut trouble.disk);
            self.counters.writes_lost += lost.writes;
            self.counters.writes_torn += u64::from(lost.is_torn);
        }
        let (now, replica) = (world.scheduler.now(), self.id.get());
        if let Some(recorder) = &mut world.recorder {
            recorder.incident(now, Incident::Crashed { replica });
        }
    }

    /// Comes back with what its disk has.
    pub(in crate::sim) fn restart(&mut self, shared: &Shared, world: &mut World) -> Result<(), NetworkError> {
        if self.process != Process::Down {
            return Ok(());
        }
        self.check_disk(world);
        let (records, id) = (self.records(), self.id);
        let (now, step) = (world.scheduler.now(), world.steps);
        let signer = shared.signers.get(id.index()).cloned().flatten();
        let genesis = self.chain.genesis().block().clone();
        let validators = shared.validators.clone();
        let recovered = shared.config.recover(&genesis, validators, &records, shared.authenticator.clone(), signer);
        // Records that were written by this very protocol are refused by it.
        let machine = recovered.map_err(|error| {
            let detail = format!("{id} can't go on with its own records: {error}");
            NetworkError::Violated(Box::new(Violation { invariant: "recovery".into(), at: now, step, detail }))
        })?;
        self.machine = machine;
        match self.rewind() {
            // Amnesia can reach further back than the chain: it forgot the branch when another became irreversible.
            Err(ChainError::UnknownBlock { .. }) => {
                self.wipe();
                let (validators, signer) =
                    (shared.validators.clone(), shared.signers.get(id.index()).cloned().flatten());
                self.machine = shared.config.start(&genesis, validators, shared.authenticator.clone(), signer)?;
                self.rewind()
            }
            other => other,
        }
        .map_err(|source| NetworkError::Chain { replica: id, source })?;
        self.persisted = Ticket::default();
        self.process = Process::Running;
        self.counters.restarts += 1;
        if let Some(recorder) = &mut world.recorder {
            recorder.incident(now, Incident::Restarted { replica: id.get(), records });
            recorder.stands(now, id, &self.machine);
        }
        self.handle(Event::Start, world)
    }

    /// Reads a disk that decayed: records whose checksum does not fit are told, and then nothing of the disk is trusted.
    fn check_disk(&mut self, world: &mut World) {
        let Some(trouble) = &mut world.trouble else { return };
        if self.disk.flip_bits(&mut trouble.disk) == 0 {
            return;
        }
        let damaged = self.disk.kept().values().filter(|record| !is_whole_record(record)).count();
        self.counters.records_damaged += damaged as u64;
        if damaged > 0 {
            self.wipe();
        }
    }

    /// Brings the chain to where the protocol stands.
    fn rewind(&mut self) -> Result<(), ChainError> {
        let head = self.machine.head();
        let rewound = self.chain.rewound(head.hash)?;
        if let Some(durable) = &self.durable {
            // In one batch with the chain, if this one's is stored.
            durable.follow_restart(self.id, &self.records())?;
        }
        self.chain.restore(&rewound)?;
        let finality = self.machine.finality();
        match self.chain.set_advisory_finality(finality.safe.hash, finality.finalized.hash, finality.irreversible) {
            // The protocol knows less than it did; its next word on finality sets the marks.
            Err(ChainError::UnknownBlock { .. } | ChainError::BelowFinality { .. }) => Ok(()),
            other => other,
        }
    }

    /// Loses its disk, the chain too.
    pub(in crate::sim) fn wipe(&mut self) {
        self.disk.wipe();
        // What is remembered speaks of blocks that are gone with the disk.
        self.remembered = None;
        self.counters.wipes += 1;
    }

    /// Another machine with the same key and the same past, that goes its own way.
    pub(in crate::sim) fn twin(&self, slot: ReplicaId, world: &mut World) -> Self {
        let mut twin = self.forked();
        twin.slot = slot;
        for (timer, armed) in &twin.timers {
            let happening = Happening::Timer { replica: slot, timer: *timer, generation: armed.generation };
            world.scheduler.at(armed.queued, happening);
        }
        twin
    }

    /// Keeps what the disk has now, to go back to it.
    pub(in crate::sim) fn remember(&mut self) {
        self.remembered = Some(self.disk.kept().clone());
    }

    /// Goes back to what the disk had when [`Replica::remember`] was called.
    pub(in crate::sim) fn forget_since(&mut self) {
        if let Some(records) = self.remembered.take() {
            self.disk.roll_back(records);
        }
    }
}

/// Whether a fault keeps its replica down.
pub(in crate::sim) const fn keeps_down(kind: &FaultKind) -> bool {
    matches!(kind, FaultKind::Crash { .. } | FaultKind::Wipe { .. })
}
