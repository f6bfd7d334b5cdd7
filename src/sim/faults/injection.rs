//! Doing faults to a network, and undoing them: by plan and by hand.

use core::time::Duration;
use std::sync::Arc;

use super::{
    active::Trouble,
    clock_skew::Skew,
    link_faults::Cut,
    plan::{Behaviour, Fault, FaultId, FaultKind, FaultPlan, LinkFault, Trigger},
};
use crate::{
    consensus::ReplicaId,
    sim::{
        engine::clock::SimTime,
        network::{
            Network,
            environment::Happening,
            error::NetworkError,
            replica::process::{self, Process},
        },
        trace::Incident,
    },
};

/// Faults by hand.
impl Network {
    /// Lets a fault begin now; it lasts until [`Network::end_fault`] or until the network is healed.
    ///
    /// # Errors
    /// [`NetworkError::Plan`] for a fault that this network can't have, and as [`Network::step`].
    pub fn begin_fault(&mut self, what: FaultKind) -> Result<FaultId, NetworkError> {
        let plan = FaultPlan::new([Fault { at_ms: 0, for_ms: None, what }]);
        plan.check(self.replicas.len())?;
        let id = self.trouble().take_id();
        for fault in plan.faults {
            self.begin(id, fault.what)?;
        }
        Ok(id)
    }

    /// Ends a fault; one that is over already stays over.
    ///
    /// # Errors
    /// As [`Network::step`].
    pub fn end_fault(&mut self, fault: FaultId) -> Result<(), NetworkError> {
        let Some(kind) = self.world.trouble.as_mut().and_then(|trouble| trouble.active.remove(&fault)) else {
            return Ok(());
        };
        self.world.record("fault-ends", |out| out.u64(fault.get()));
        self.note(Incident::Ended { fault: fault.get() });
        let Some(trouble) = &mut self.world.trouble else { return Ok(()) };
        let second = trouble.end(fault);
        for clogged in trouble.weather.end(fault) {
            self.world.send(clogged.from, clogged.to, clogged.parcel);
        }
        if let Some(second) = second.and_then(|second| self.machine_mut(second)) {
            second.set_process(Process::Down);
        }
        match kind {
            FaultKind::Crash { replica } | FaultKind::Wipe { replica } => self.come_back(replica),
            FaultKind::Pause { replica } => {
                self.go_on(replica);
                Ok(())
            }
            FaultKind::Disk { replica, .. } => {
                self.replica_mut(replica)?.disk_mut().end(fault);
                Ok(())
            }
            FaultKind::Byzantine { replica, .. } => {
                for slot in [Some(replica), second_of(self, replica)].into_iter().flatten() {
                    if let Some(machine) = self.machine_mut(slot) {
                        machine.conduct_mut().end(fault);
                    }
                }
                Ok(())
            }
            FaultKind::Amnesia { replica } => self.forget(replica),
            FaultKind::Corrupt { replica } => {
                self.stop(replica);
                self.come_back(replica)
            }
            _ => Ok(()),
        }
    }

    /// Ends every fault of links and cuts; replicas stay as they are.
    ///
    /// # Errors
    /// As [`Network::step`].
    pub fn heal(&mut self) -> Result<(), NetworkError> {
        let of_network = |kind: &FaultKind| kind.replica().is_none() || matches!(kind, FaultKind::Isolate { .. });
        self.end_all(of_network)
    }

    /// Ends every fault but misbehaviour, brings every replica back, and calls off what the plan still has.
    ///
    /// # Errors
    /// As [`Network::step`].
    pub fn heal_all(&mut self) -> Result<(), NetworkError> {
        if let Some(trouble) = &mut self.world.trouble {
            trouble.is_healed = true;
        }
        self.end_all(|kind| !matches!(kind, FaultKind::Byzantine { .. } | FaultKind::Twins { .. }))?;
        for replica in (0..self.world.replica_count).map(ReplicaId::new) {
            self.restart(replica)?;
            self.resume(replica)?;
        }
        Ok(())
    }

    /// Cuts the network in groups that don't hear each other; those that are not listed form one more.
    ///
    /// # Errors
    /// As [`Network::begin_fault`].
    pub fn partition(&mut self, groups: &[&[ReplicaId]]) -> Result<FaultId, NetworkError> {
        self.begin_fault(FaultKind::Partition { groups: groups.iter().map(|group| group.to_vec()).collect() })
    }

    /// Cuts one replica off.
    ///
    /// # Errors
    /// As [`Network::begin_fault`].
    pub fn isolate(&mut self, replica: ReplicaId) -> Result<FaultId, NetworkError> {
        self.begin_fault(FaultKind::Isolate { replica })
    }

    /// Makes messages on some links fare badly.
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

    /// Stops a replica: its memory is lost, and what was on its way to its disk.
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

    /// Brings a replica back that is down, with what its disk has.
    ///
    /// # Errors
    /// As [`Network::step`].
    pub fn restart(&mut self, replica: ReplicaId) -> Result<(), NetworkError> {
        self.end_of_replica(replica, process::keeps_down)?;
        self.come_back(replica)
    }

    /// Makes a replica stand still; what reaches it waits.
    ///
    /// # Errors
    /// As [`Network::begin_fault`].
    pub fn pause(&mut self, replica: ReplicaId) -> Result<FaultId, NetworkError> {
        self.begin_fault(FaultKind::Pause { replica })
    }

    /// Lets a replica go on that stands still.
    ///
    /// # Errors
    /// As [`Network::step`].
    pub fn resume(&mut self, replica: ReplicaId) -> Result<(), NetworkError> {
        self.end_of_replica(replica, |kind| matches!(kind, FaultKind::Pause { .. }))
    }

    /// The faults that are under way.
    pub fn faults(&self) -> impl Iterator<Item = (FaultId, &FaultKind)> {
        let active = self.world.trouble.iter().flat_map(|trouble| &trouble.active);
        active.map(|(id, kind)| (*id, kind))
    }
}

impl Network {
    /// Puts the faults of a plan in the queue.
    pub(in crate::sim) fn schedule(&mut self, plan: FaultPlan) -> Result<(), NetworkError> {
        plan.check(self.replicas.len())?;
        for (index, fault) in (0..).zip(&plan.faults) {
            self.world.scheduler.at(after_millis(SimTime::ZERO, fault.at_ms), Happening::FaultBegins { index });
        }
        self.world.trouble = Some(Box::new(Trouble::new(self.world.streams, Arc::new(plan))));
        Ok(())
    }

    /// The time of a fault of the plan is here.
    pub(in crate::sim) fn on_fault_begins(&mut self, index: usize) -> Result<(), NetworkError> {
        let Some(trouble) = self.world.trouble.as_ref().filter(|trouble| !trouble.is_healed) else { return Ok(()) };
        let Some(fault) = trouble.plan.faults.get(index).cloned() else { return Ok(()) };
        let id = FaultId::new(index as u64);
        if let Some(for_ms) = fault.for_ms {
            self.world.scheduler.at(after_millis(self.now(), for_ms), Happening::FaultEnds { fault: id });
        }
        self.begin(id, fault.what)
    }

    fn trouble(&mut self) -> &mut Trouble {
        let streams = self.world.streams;
        self.world.trouble.get_or_insert_with(|| Box::new(Trouble::new(streams, Arc::default())))
    }

    fn begin(&mut self, id: FaultId, what: FaultKind) -> Result<(), NetworkError> {
        let (now, count) = (self.now(), self.world.replica_count);
        self.world.record("fault-begins", |out| {
            out.u64(id.get());
            out.bytes(what.label().as_bytes());
        });
        self.note(Incident::Began {
            fault: id.get(),
            kind: what.label().to_owned(),
            replicas: what.replica().map(ReplicaId::get).into_iter().collect(),
            text: serde_json::to_string(&what).unwrap_or_default(),
        });
        let trouble = self.trouble();
        trouble.active.insert(id, what.clone());
        trouble.dishonest.extend(what.byzantine());
        match what {
            FaultKind::Link(rule) => trouble.weather.rule(id, rule),
            FaultKind::Partition { groups } => trouble.weather.cut(id, Cut::groups(&groups)),
            FaultKind::Isolate { replica } => trouble.weather.cut(id, Cut::groups(&[vec![replica]])),
            FaultKind::OneWay { from, to } => trouble.weather.cut(id, Cut::OneWay { from, to }),
            FaultKind::Split { size } => {
                let group = trouble.weather.draw_group(size, count);
                trouble.weather.cut(id, Cut::groups(&[group]));
            }
            FaultKind::Clock { replica, offset_ms, drift_ppm } => {
                trouble.set_skew(id, replica, Skew::new(now, offset_ms, drift_ppm));
            }
            FaultKind::Crash { replica } => self.stop(replica),
            FaultKind::Wipe { replica } => {
                self.stop(replica);
                self.replica_mut(replica)?.wipe();
            }
            FaultKind::Pause { replica } => {
                let paused = self.replica_mut(replica)?;
                if paused.process() == Process::Running {
                    paused.set_process(Process::Paused);
                }
            }
            FaultKind::Disk { replica, delay } => {
                self.replica_mut(replica)?.disk_mut().slow_down(id, delay.into());
            }
            FaultKind::Byzantine { replica, behaviour, when } => {
                let signer = self.shared.signers.get(replica.index()).cloned().flatten();
                for slot in [Some(replica), second_of(self, replica)].into_iter().flatten() {
                    if let Some(machine) = self.machine_mut(slot) {
                        machine.conduct_mut().add(id, behaviour.clone(), when.clone(), signer.clone());
                    }
                }
            }
            FaultKind::Amnesia { replica } => self.replica_mut(replica)?.remember(),
            FaultKind::Corrupt { replica } => self.replica_mut(replica)?.disk_mut().decay(),
            FaultKind::Twins { replica, group } => self.split_key(id, replica, group),
        }
        Ok(())
    }

    /// Puts a second machine beside a replica's, with the same key.
    fn split_key(&mut self, id: FaultId, replica: ReplicaId, group: Vec<ReplicaId>) {
        let second = ReplicaId::new(self.world.replica_count + self.twins.len() as u32);
        let Some(first) = self.replicas.get(replica.index()) else { return };
        let twin = first.twin(second, &mut self.world);
        self.twins.push(twin);
        self.trouble().add_route(id, replica, second, group);
        self.note(Incident::Altered { replica: replica.get(), how: "its key runs on two machines".to_owned() });
    }

    fn stop(&mut self, replica: ReplicaId) {
        for slot in [Some(replica), second_of(self, replica)].into_iter().flatten() {
            let count = self.world.replica_count as usize;
            let machine = match slot.index().checked_sub(count) {
                None => self.replicas.get_mut(slot.index()),
                Some(place) => self.twins.get_mut(place),
            };
            if let Some(machine) = machine {
                machine.crash(&mut self.world);
            }
        }
    }

    /// Brings a replica back, unless another fault keeps it down.
    fn come_back(&mut self, replica: ReplicaId) -> Result<(), NetworkError> {
        let held = |network: &Self, is_such: fn(&FaultKind) -> bool| {
            network.world.trouble.as_ref().is_some_and(|trouble| trouble.holds(is_such, replica))
        };
        if held(self, process::keeps_down) {
            return Ok(());
        }
        let is_paused = held(self, |kind| matches!(kind, FaultKind::Pause { .. }));
        for slot in [Some(replica), second_of(self, replica)].into_iter().flatten() {
            let shared = self.shared.clone();
            let count = self.world.replica_count as usize;
            let machine = match slot.index().checked_sub(count) {
                None => self.replicas.get_mut(slot.index()),
                Some(place) => self.twins.get_mut(place),
            };
            let Some(machine) = machine else { continue };
            machine.restart(&shared, &mut self.world)?;
            if is_paused {
                machine.set_process(Process::Paused);
            }
        }
        Ok(())
    }

    /// Lets a paused replica go on, unless another fault holds it; what waited happens now.
    fn go_on(&mut self, replica: ReplicaId) {
        let is_pause = |kind: &FaultKind| matches!(kind, FaultKind::Pause { .. });
        if self.world.trouble.as_ref().is_some_and(|trouble| trouble.holds(is_pause, replica)) {
            return;
        }
        let Some(paused) = self.replicas.get_mut(replica.index()) else { return };
        if paused.process() == Process::Paused {
            paused.set_process(Process::Running);
            let now = self.world.scheduler.now();
            for (place, happening) in (0..).zip(paused.take_stalled()) {
                // In the order in which it came.
                self.world.scheduler.at(now.plus_nanos(place), happening);
            }
        }
    }

    /// Restarts a replica with what its disk had when its amnesia began.
    fn forget(&mut self, replica: ReplicaId) -> Result<(), NetworkError> {
        self.stop(replica);
        self.replica_mut(replica)?.forget_since();
        self.come_back(replica)
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

/// The number of the second machine of a replica whose key runs on two.
fn second_of(network: &Network, replica: ReplicaId) -> Option<ReplicaId> {
    network.world.trouble.as_ref()?.second(replica)
}

fn after_millis(time: SimTime, millis: u64) -> SimTime {
    time.plus(Duration::from_millis(millis))
}
