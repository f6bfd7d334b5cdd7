//! Beginning and ending faults, by plan and by direct calls.

use core::time::Duration;
use std::sync::Arc;

use super::{
    active::ActiveFaults,
    clock_skew::ClockSkew,
    link_faults::Cut,
    plan::{Behaviour, FaultId, FaultKind, FaultPlan, LinkFault, Trigger},
};
use crate::{
    consensus::ReplicaId,
    sim::{
        engine::clock::SimTime,
        network::{
            Network,
            environment::SimEvent,
            error::NetworkError,
            replica::process::{self, ProcessState},
        },
        trace::Incident,
    },
};

/// Faults by direct calls.
impl Network {
    /// Begins a fault now; it lasts until [`Network::end_fault`] or until the network is healed.
    ///
    /// # Errors
    /// [`NetworkError::Plan`] for a fault that this network can't have, and as [`Network::step`].
    pub fn begin_fault(&mut self, kind: FaultKind) -> Result<FaultId, NetworkError> {
        let plan = FaultPlan::default().with_lasting(Duration::ZERO, kind);
        plan.check(self.replicas.len())?;
        let id = self.active_faults().take_id();
        for fault in plan.faults {
            self.begin(id, fault.kind)?;
        }
        Ok(id)
    }

    /// Ends a fault; has no effect when it has ended.
    ///
    /// # Errors
    /// As [`Network::step`].
    pub fn end_fault(&mut self, fault: FaultId) -> Result<(), NetworkError> {
        let Some(kind) = self.env.faults.as_mut().and_then(|faults| faults.active.remove(&fault)) else {
            return Ok(());
        };
        self.env.record("fault-ends", |out| out.u64(fault.get()));
        self.note(Incident::Ended { fault: fault.get() });
        let Some(faults) = &mut self.env.faults else { return Ok(()) };
        let twin = faults.end(fault);
        for held in faults.links.end(fault) {
            self.env.send(held.from, held.to, held.envelope);
        }
        if let Some((twin, _)) = twin.and_then(|twin| self.slot_mut(twin)) {
            twin.set_process(ProcessState::Down);
        }
        match kind {
            FaultKind::Crash { replica } | FaultKind::Wipe { replica } => self.start_again(replica),
            FaultKind::Pause { replica } => self.release(replica),
            FaultKind::Disk { replica, .. } => {
                self.replica_mut(replica)?.disk_mut().end(fault);
                Ok(())
            }
            FaultKind::SlowExecution { replica, .. } => {
                self.replica_mut(replica)?.processor.end(fault);
                Ok(())
            }
            FaultKind::Byzantine { replica, .. } => {
                for slot in self.slots_of(replica) {
                    if let Some((process, _)) = self.slot_mut(slot) {
                        process.misbehaviour_mut().end(fault);
                    }
                }
                Ok(())
            }
            FaultKind::Amnesia { replica } => self.restart_with_amnesia(replica),
            FaultKind::Corrupt { replica } => {
                self.stop(replica);
                self.start_again(replica)
            }
            _ => Ok(()),
        }
    }

    /// Ends every link fault and cut; faults of replicas stay in force.
    ///
    /// # Errors
    /// As [`Network::step`].
    pub fn heal(&mut self) -> Result<(), NetworkError> {
        let of_network = |kind: &FaultKind| kind.replica().is_none() || matches!(kind, FaultKind::Isolate { .. });
        self.end_all(of_network)
    }

    /// Ends every fault but misbehaviour, restarts every stopped replica, and cancels the rest of the plan.
    ///
    /// # Errors
    /// As [`Network::step`].
    pub fn heal_all(&mut self) -> Result<(), NetworkError> {
        if let Some(faults) = &mut self.env.faults {
            faults.is_healed = true;
        }
        self.end_all(|kind| !matches!(kind, FaultKind::Byzantine { .. } | FaultKind::Twins { .. }))?;
        for replica in (0..self.env.replica_count).map(ReplicaId::new) {
            self.restart(replica)?;
            self.resume(replica)?;
        }
        Ok(())
    }

    /// Cuts the network into groups without links between them; replicas that are not listed form one more.
    ///
    /// # Errors
    /// As [`Network::begin_fault`].
    pub fn partition(&mut self, groups: &[&[ReplicaId]]) -> Result<FaultId, NetworkError> {
        self.begin_fault(FaultKind::Partition { groups: groups.iter().map(|group| group.to_vec()).collect() })
    }

    /// Cuts all links of one replica.
    ///
    /// # Errors
    /// As [`Network::begin_fault`].
    pub fn isolate(&mut self, replica: ReplicaId) -> Result<FaultId, NetworkError> {
        self.begin_fault(FaultKind::Isolate { replica })
    }

    /// Begins a fault of some links.
    ///
    /// # Errors
    /// As [`Network::begin_fault`].
    pub fn set_link(&mut self, fault: LinkFault) -> Result<FaultId, NetworkError> {
        self.begin_fault(FaultKind::Link(fault))
    }

    /// Makes a replica misbehave.
    ///
    /// # Errors
    /// As [`Network::begin_fault`].
    pub fn misbehave(
        &mut self,
        replica: ReplicaId,
        behaviour: Behaviour,
        when: Trigger,
    ) -> Result<FaultId, NetworkError> {
        self.begin_fault(FaultKind::Byzantine { replica, behaviour, when })
    }

    /// Stops a replica: its memory and unfinished writes are lost.
    ///
    /// # Errors
    /// As [`Network::begin_fault`].
    pub fn crash(&mut self, replica: ReplicaId) -> Result<FaultId, NetworkError> {
        self.begin_fault(FaultKind::Crash { replica })
    }

    /// Stops a replica and empties its disk.
    ///
    /// # Errors
    /// As [`Network::begin_fault`].
    pub fn wipe(&mut self, replica: ReplicaId) -> Result<FaultId, NetworkError> {
        self.begin_fault(FaultKind::Wipe { replica })
    }

    /// Restarts a stopped replica with the contents of its disk.
    ///
    /// # Errors
    /// As [`Network::step`].
    pub fn restart(&mut self, replica: ReplicaId) -> Result<(), NetworkError> {
        self.end_of_replica(replica, process::keeps_down)?;
        self.start_again(replica)
    }

    /// Pauses a replica; events that reach it wait.
    ///
    /// # Errors
    /// As [`Network::begin_fault`].
    pub fn pause(&mut self, replica: ReplicaId) -> Result<FaultId, NetworkError> {
        self.begin_fault(FaultKind::Pause { replica })
    }

    /// Resumes a paused replica.
    ///
    /// # Errors
    /// As [`Network::step`].
    pub fn resume(&mut self, replica: ReplicaId) -> Result<(), NetworkError> {
        self.end_of_replica(replica, |kind| matches!(kind, FaultKind::Pause { .. }))
    }

    /// Iterates over the faults in force.
    pub fn faults(&self) -> impl Iterator<Item = (FaultId, &FaultKind)> {
        let active = self.env.faults.iter().flat_map(|faults| &faults.active);
        active.map(|(id, kind)| (*id, kind))
    }
}

impl Network {
    /// Queues the faults of a plan.
    pub(in crate::sim) fn schedule(&mut self, plan: FaultPlan) -> Result<(), NetworkError> {
        plan.check(self.replicas.len())?;
        for (index, fault) in (0..).zip(&plan.faults) {
            self.env.scheduler.at(SimTime::ZERO.plus(fault.at), SimEvent::FaultBegins { index });
        }
        self.env.faults = Some(Box::new(ActiveFaults::new(self.env.streams, Arc::new(plan))));
        Ok(())
    }

    /// Begins a fault of the plan, unless the rest of the plan was cancelled.
    pub(in crate::sim) fn on_fault_begins(&mut self, index: usize) -> Result<(), NetworkError> {
        let Some(faults) = self.env.faults.as_ref().filter(|faults| !faults.is_healed) else { return Ok(()) };
        let Some(fault) = faults.plan.faults.get(index).cloned() else { return Ok(()) };
        let id = FaultId::new(index as u64);
        if self.is_put_off(fault.at, SimEvent::FaultBegins { index }) {
            return Ok(());
        }
        if let (FaultKind::Sleep, Some(duration)) = (&fault.kind, fault.duration) {
            return self.sleep_by_plan(id, duration);
        }
        if let Some(duration) = fault.duration {
            self.env.scheduler.at(self.now().plus(duration), SimEvent::FaultEnds { fault: id });
        }
        self.begin(id, fault.kind)
    }

    /// Ends a fault of the plan.
    pub(in crate::sim) fn on_fault_ends(&mut self, fault: FaultId) -> Result<(), NetworkError> {
        let planned = self.env.faults.as_ref().and_then(|faults| faults.plan.faults.get(fault.get() as usize));
        let end = planned.and_then(|planned| Some(planned.at.saturating_add(planned.duration?)));
        if end.is_some_and(|end| self.is_put_off(end, SimEvent::FaultEnds { fault })) {
            return Ok(());
        }
        self.end_fault(fault)
    }

    /// Queues an event of the plan again if the network slept, so that its time, of those in which it ran, has not come.
    fn is_put_off(&mut self, time: Duration, event: SimEvent) -> bool {
        let due = SimTime::ZERO.plus(time).plus(self.slept());
        let is_early = due > self.now();
        if is_early {
            self.env.scheduler.at(due, event);
        }
        is_early
    }

    fn sleep_by_plan(&mut self, id: FaultId, duration: Duration) -> Result<(), NetworkError> {
        self.announce(id, &FaultKind::Sleep);
        self.sleep(duration)?;
        self.note(Incident::Ended { fault: id.get() });
        Ok(())
    }

    /// Records that a fault begins.
    fn announce(&mut self, id: FaultId, kind: &FaultKind) {
        self.env.record("fault-begins", |out| {
            out.u64(id.get());
            out.bytes(kind.label().as_bytes());
        });
        self.note(Incident::Began {
            fault: id.get(),
            kind: kind.label().to_owned(),
            replicas: kind.replica().map(ReplicaId::get).into_iter().collect(),
            text: serde_json::to_string(kind).unwrap_or_default(),
        });
    }

    fn active_faults(&mut self) -> &mut ActiveFaults {
        let streams = self.env.streams;
        self.env.faults.get_or_insert_with(|| Box::new(ActiveFaults::new(streams, Arc::default())))
    }

    fn begin(&mut self, id: FaultId, kind: FaultKind) -> Result<(), NetworkError> {
        let (now, count) = (self.now(), self.env.replica_count);
        self.announce(id, &kind);
        let faults = self.active_faults();
        faults.active.insert(id, kind.clone());
        faults.dishonest.extend(kind.byzantine());
        match kind {
            FaultKind::Link(rule) => faults.links.rule(id, rule),
            FaultKind::Partition { groups } => faults.links.cut(id, Cut::groups(&groups)),
            FaultKind::Isolate { replica } => faults.links.cut(id, Cut::groups(&[vec![replica]])),
            FaultKind::OneWay { from, to } => faults.links.cut(id, Cut::OneWay { from, to }),
            FaultKind::Split { size } => {
                let group = faults.links.draw_group(size, count);
                faults.links.cut(id, Cut::groups(&[group]));
            }
            FaultKind::Clock { replica, offset_ms, drift_ppm } => {
                faults.set_skew(id, replica, ClockSkew::new(now, offset_ms, drift_ppm));
            }
            FaultKind::Crash { replica } => self.stop(replica),
            FaultKind::Wipe { replica } => {
                self.stop(replica);
                self.replica_mut(replica)?.wipe();
            }
            FaultKind::Pause { replica } => self.hold(replica),
            FaultKind::Disk { replica, delay } => {
                self.replica_mut(replica)?.disk_mut().slow_down(id, delay.into());
            }
            FaultKind::SlowExecution { replica, delay } => {
                self.replica_mut(replica)?.processor.slow_down(id, delay.into());
            }
            FaultKind::Byzantine { replica, behaviour, when } => {
                let signer = self.setup.signers.get(replica.index()).cloned().flatten();
                for slot in self.slots_of(replica) {
                    if let Some((process, _)) = self.slot_mut(slot) {
                        process.misbehaviour_mut().add(id, behaviour.clone(), when.clone(), signer.clone());
                    }
                }
            }
            FaultKind::Amnesia { replica } => self.replica_mut(replica)?.disk_mut().save(),
            FaultKind::Corrupt { replica } => self.replica_mut(replica)?.disk_mut().decay(),
            FaultKind::Twins { replica, group } => self.split_key(id, replica, group),
            // It is over when it has begun.
            FaultKind::Sleep => {}
        }
        Ok(())
    }

    /// Starts a second process with a replica's key.
    fn split_key(&mut self, id: FaultId, replica: ReplicaId, group: Vec<ReplicaId>) {
        let slot = ReplicaId::new(self.env.replica_count + self.twins.len() as u32);
        let Some(first) = self.replicas.get(replica.index()) else { return };
        let twin = first.twin(slot, &mut self.env);
        self.twins.push(twin);
        self.active_faults().add_route(id, replica, slot, group);
        self.note(Incident::Altered { replica: replica.get(), how: "its key runs on two machines".to_owned() });
    }

    /// Stops a replica and its twin.
    fn stop(&mut self, replica: ReplicaId) {
        for slot in self.slots_of(replica) {
            if let Some((process, env)) = self.slot_mut(slot) {
                process.crash(env);
            }
        }
    }

    /// Holds a running replica and its twin.
    fn hold(&mut self, replica: ReplicaId) {
        for slot in self.slots_of(replica) {
            if let Some((process, _)) = self.slot_mut(slot)
                && process.process() == ProcessState::Running
            {
                process.set_process(ProcessState::Paused);
            }
        }
    }

    /// Restarts a replica, unless another fault keeps it down.
    fn start_again(&mut self, replica: ReplicaId) -> Result<(), NetworkError> {
        let held = |network: &Self, is_such: fn(&FaultKind) -> bool| {
            network.env.faults.as_ref().is_some_and(|faults| faults.holds(is_such, replica))
        };
        if held(self, process::keeps_down) {
            return Ok(());
        }
        let is_paused = held(self, |kind| matches!(kind, FaultKind::Pause { .. }));
        for slot in self.slots_of(replica) {
            let setup = self.setup.clone();
            let Some((process, env)) = self.slot_mut(slot) else { continue };
            process.restart(&setup, env)?;
            if is_paused {
                process.set_process(ProcessState::Paused);
            }
        }
        Ok(())
    }

    /// Resumes a paused replica and its twin, unless another fault pauses them; deferred events happen now.
    fn release(&mut self, replica: ReplicaId) -> Result<(), NetworkError> {
        let is_pause = |kind: &FaultKind| matches!(kind, FaultKind::Pause { .. });
        if self.env.faults.as_ref().is_some_and(|faults| faults.holds(is_pause, replica)) {
            return Ok(());
        }
        for slot in self.slots_of(replica) {
            let Some((process, env)) = self.slot_mut(slot) else { continue };
            if process.process() != ProcessState::Paused {
                continue;
            }
            process.set_process(ProcessState::Running);
            process.tell_resumed(env)?;
            let now = env.scheduler.now();
            for (place, sim_event) in (0..).zip(process.take_deferred()) {
                // In the order of their arrival.
                env.scheduler.at(now.plus_nanos(place), sim_event);
            }
        }
        Ok(())
    }

    /// Restarts a replica with the records that its disk had when its amnesia began.
    fn restart_with_amnesia(&mut self, replica: ReplicaId) -> Result<(), NetworkError> {
        self.stop(replica);
        self.replica_mut(replica)?.disk_mut().roll_back_to_saved();
        self.start_again(replica)
    }

    fn end_all(&mut self, is_such: impl Fn(&FaultKind) -> bool) -> Result<(), NetworkError> {
        let such: Vec<_> = self.faults().filter(|(_, kind)| is_such(kind)).map(|(id, _)| id).collect();
        such.into_iter().try_for_each(|id| self.end_fault(id))
    }

    fn end_of_replica(&mut self, replica: ReplicaId, is_such: fn(&FaultKind) -> bool) -> Result<(), NetworkError> {
        self.replica(replica)?;
        self.end_all(|kind| kind.replica() == Some(replica) && is_such(kind))
    }
}
