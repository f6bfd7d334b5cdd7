//! Faults in force in a network, and their state: link faults, clock errors, twins, random streams.

use core::time::Duration;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{
    clock_skew::ClockSkew,
    link_faults::LinkFaults,
    plan::{FaultId, FaultKind, FaultPlan},
};
use crate::{
    consensus::ReplicaId,
    sim::engine::rng::{SimRng, Streams},
};

/// Faults in force. A network that never had a fault or plan has none of this.
#[derive(Clone, Debug)]
pub(crate) struct ActiveFaults {
    pub(crate) plan: Arc<FaultPlan>,
    /// Whether the remaining faults of the plan are cancelled.
    pub(super) is_healed: bool,
    pub(crate) active: BTreeMap<FaultId, FaultKind>,
    next: u64,
    pub(crate) links: LinkFaults,
    skews: BTreeMap<ReplicaId, (FaultId, ClockSkew)>,
    routes: Vec<Route>,
    /// Replicas that misbehaved at some time, or lost durable safety records.
    pub(crate) dishonest: BTreeSet<ReplicaId>,
    /// Random stream of misbehaviour.
    pub(crate) byzantine: SimRng,
    /// Random stream of disks.
    pub(crate) disk: SimRng,
    /// Random stream of slow processors.
    pub(crate) execution: SimRng,
}

/// Connections of a replica whose key runs in two processes.
#[derive(Clone, Debug)]
struct Route {
    fault: FaultId,
    replica: ReplicaId,
    /// Slot of the twin, above the numbers of all replicas.
    twin: ReplicaId,
    /// Replicas connected to the first process; the others are connected to the twin.
    group: Vec<ReplicaId>,
}

impl ActiveFaults {
    pub(crate) fn new(streams: Streams, plan: Arc<FaultPlan>) -> Self {
        Self {
            is_healed: false,
            active: BTreeMap::new(),
            next: plan.faults.len() as u64,
            plan,
            links: LinkFaults::new(streams.stream("faults")),
            skews: BTreeMap::new(),
            routes: Vec::new(),
            dishonest: BTreeSet::new(),
            byzantine: streams.stream("byzantine"),
            disk: streams.stream("disk"),
            execution: streams.stream("execution"),
        }
    }

    /// Returns a new number for a fault outside the plan.
    pub(super) fn take_id(&mut self) -> FaultId {
        let id = FaultId::new(self.next);
        self.next += 1;
        id
    }

    /// Returns the clock error of the replica or twin at `slot`.
    pub(crate) fn skew(&self, slot: ReplicaId) -> Option<&ClockSkew> {
        self.skews.get(&self.identity(slot)).map(|(_, skew)| skew)
    }

    /// Lets clocks drift in the time in which the network runs alone.
    pub(crate) fn sleep(&mut self, duration: Duration) {
        self.skews.values_mut().for_each(|(_, skew)| skew.sleep(duration));
    }

    pub(super) fn set_skew(&mut self, fault: FaultId, replica: ReplicaId, skew: ClockSkew) {
        self.skews.insert(replica, (fault, skew));
    }

    pub(super) fn add_route(&mut self, fault: FaultId, replica: ReplicaId, twin: ReplicaId, group: Vec<ReplicaId>) {
        self.routes.push(Route { fault, replica, twin, group });
    }

    /// Removes a fault's clock error and twin; returns the slot of the twin.
    pub(crate) fn end(&mut self, fault: FaultId) -> Option<ReplicaId> {
        self.skews.retain(|_, (id, _)| *id != fault);
        let twin = self.routes.iter().find(|route| route.fault == fault).map(|route| route.twin);
        self.routes.retain(|route| route.fault != fault);
        twin
    }

    /// Returns whether a fault of such a kind is in force for `replica`.
    pub(crate) fn holds(&self, is_such: impl Fn(&FaultKind) -> bool, replica: ReplicaId) -> bool {
        self.active.values().any(|kind| kind.replica() == Some(replica) && is_such(kind))
    }

    /// Returns the slot of a replica's twin.
    pub(crate) fn twin(&self, replica: ReplicaId) -> Option<ReplicaId> {
        self.routes.iter().find(|route| route.replica == replica).map(|route| route.twin)
    }

    /// Returns the replica whose key the process at `slot` has.
    pub(crate) fn identity(&self, slot: ReplicaId) -> ReplicaId {
        self.routes.iter().find(|route| route.twin == slot).map_or(slot, |route| route.replica)
    }

    /// Returns the slot that receives what the process at `from` sends to replica `to`; `None` when they are not connected.
    ///
    /// Of two replicas with twins, the first processes are connected with each other, and so are the twins.
    pub(crate) fn receiver(&self, from: ReplicaId, to: ReplicaId) -> Option<ReplicaId> {
        let sender = self.identity(from);
        let receiving = self.routes.iter().find(|route| route.replica == to);
        let Some(sending) = self.routes.iter().find(|route| route.replica == sender) else {
            return Some(receiving.filter(|route| !route.group.contains(&sender)).map_or(to, |route| route.twin));
        };
        let is_first = from == sending.replica;
        match receiving {
            Some(route) => Some(if is_first { to } else { route.twin }),
            None => (sending.group.contains(&to) == is_first).then_some(to),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twins_are_connected_to_their_own_group() {
        let id = ReplicaId::new;
        let mut faults = ActiveFaults::new(Streams::new(1), Arc::default());
        faults.add_route(FaultId::new(0), id(0), id(4), vec![id(1)]);
        assert_eq!((faults.identity(id(4)), faults.identity(id(0)), faults.identity(id(2))), (id(0), id(0), id(2)));
        assert_eq!((faults.receiver(id(1), id(0)), faults.receiver(id(2), id(0))), (Some(id(0)), Some(id(4))));
        assert_eq!((faults.receiver(id(0), id(1)), faults.receiver(id(0), id(2))), (Some(id(1)), None));
        assert_eq!((faults.receiver(id(4), id(1)), faults.receiver(id(4), id(2))), (None, Some(id(2))));
        assert_eq!(faults.receiver(id(1), id(2)), Some(id(2)));
        faults.add_route(FaultId::new(1), id(1), id(5), vec![id(2)]);
        assert_eq!((faults.receiver(id(0), id(1)), faults.receiver(id(4), id(1))), (Some(id(1)), Some(id(5))));
        assert_eq!((faults.receiver(id(5), id(0)), faults.receiver(id(5), id(2))), (Some(id(4)), None));
        faults.end(FaultId::new(1));
        assert_eq!(faults.end(FaultId::new(0)), Some(id(4)));
        assert_eq!(faults.receiver(id(0), id(2)), Some(id(2)));
    }
}
