//! What is wrong with a network now: the faults under way and what they do to everything around the replicas.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{
    clock_skew::Skew,
    link_faults::Weather,
    plan::{FaultId, FaultKind, FaultPlan},
};
use crate::{
    consensus::ReplicaId,
    sim::engine::rng::{SimRng, Streams},
};

/// Everything that is wrong. A network in which nothing ever was has none.
#[derive(Clone, Debug)]
pub(crate) struct Trouble {
    pub(crate) plan: Arc<FaultPlan>,
    /// Whether the rest of the plan is called off.
    pub(super) is_healed: bool,
    pub(crate) active: BTreeMap<FaultId, FaultKind>,
    next: u64,
    pub(crate) weather: Weather,
    skews: BTreeMap<ReplicaId, (FaultId, Skew)>,
    routes: Vec<Route>,
    /// Replicas that misbehaved at some time, or lost what they promised.
    pub(crate) dishonest: BTreeSet<ReplicaId>,
    /// Draws of misbehaviour.
    pub(crate) byzantine: SimRng,
    /// Draws of disks.
    pub(crate) disk: SimRng,
}

/// A key on two machines: who is connected to which.
#[derive(Clone, Debug)]
struct Route {
    fault: FaultId,
    replica: ReplicaId,
    /// The number of the second machine, above those of all replicas.
    second: ReplicaId,
    group: Vec<ReplicaId>,
}

impl Trouble {
    pub(crate) fn new(streams: Streams, plan: Arc<FaultPlan>) -> Self {
        Self {
            is_healed: false,
            active: BTreeMap::new(),
            next: plan.faults.len() as u64,
            plan,
            weather: Weather::new(streams.stream("faults")),
            skews: BTreeMap::new(),
            routes: Vec::new(),
            dishonest: BTreeSet::new(),
            byzantine: streams.stream("byzantine"),
            disk: streams.stream("disk"),
        }
    }

    /// A number for a fault that is in no plan.
    pub(super) fn take_id(&mut self) -> FaultId {
        let id = FaultId::new(self.next);
        self.next += 1;
        id
    }

    /// The clock error of a replica or second machine.
    pub(crate) fn skew(&self, slot: ReplicaId) -> Option<&Skew> {
        self.skews.get(&self.identity(slot)).map(|(_, skew)| skew)
    }

    pub(super) fn set_skew(&mut self, fault: FaultId, replica: ReplicaId, skew: Skew) {
        self.skews.insert(replica, (fault, skew));
    }

    pub(super) fn add_route(&mut self, fault: FaultId, replica: ReplicaId, second: ReplicaId, group: Vec<ReplicaId>) {
        self.routes.push(Route { fault, replica, second, group });
    }

    /// Forgets what a fault did to clocks and twins; answers the second machine that it made.
    pub(crate) fn end(&mut self, fault: FaultId) -> Option<ReplicaId> {
        self.skews.retain(|_, (id, _)| *id != fault);
        let second = self.routes.iter().find(|route| route.fault == fault).map(|route| route.second);
        self.routes.retain(|route| route.fault != fault);
        second
    }

    /// Whether another fault than those that ended keeps `replica` in this state.
    pub(crate) fn holds(&self, is_such: impl Fn(&FaultKind) -> bool, replica: ReplicaId) -> bool {
        self.active.values().any(|kind| kind.replica() == Some(replica) && is_such(kind))
    }

    /// The second machine of a replica whose key runs on two.
    pub(crate) fn second(&self, replica: ReplicaId) -> Option<ReplicaId> {
        self.routes.iter().find(|route| route.replica == replica).map(|route| route.second)
    }

    /// As whom the machine at `slot` speaks.
    pub(crate) fn identity(&self, slot: ReplicaId) -> ReplicaId {
        self.routes.iter().find(|route| route.second == slot).map_or(slot, |route| route.replica)
    }

    /// Which machine hears what the one at `from` says to `to`; `None` when they are not connected.
    ///
    /// Of two such keys the first machines hear each other, and the second ones.
    pub(crate) fn machine(&self, from: ReplicaId, to: ReplicaId) -> Option<ReplicaId> {
        let speaker = self.identity(from);
        let listens = self.routes.iter().find(|route| route.replica == to);
        let Some(speaks) = self.routes.iter().find(|route| route.replica == speaker) else {
            return Some(listens.filter(|route| !route.group.contains(&speaker)).map_or(to, |route| route.second));
        };
        let is_first = from == speaks.replica;
        match listens {
            Some(route) => Some(if is_first { to } else { route.second }),
            None => (speaks.group.contains(&to) == is_first).then_some(to),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twins_hear_and_reach_their_own_part() {
        let id = ReplicaId::new;
        let mut trouble = Trouble::new(Streams::new(1), Arc::default());
        trouble.add_route(FaultId::new(0), id(0), id(4), vec![id(1)]);
        assert_eq!((trouble.identity(id(4)), trouble.identity(id(0)), trouble.identity(id(2))), (id(0), id(0), id(2)));
        assert_eq!((trouble.machine(id(1), id(0)), trouble.machine(id(2), id(0))), (Some(id(0)), Some(id(4))));
        assert_eq!((trouble.machine(id(0), id(1)), trouble.machine(id(0), id(2))), (Some(id(1)), None));
        assert_eq!((trouble.machine(id(4), id(1)), trouble.machine(id(4), id(2))), (None, Some(id(2))));
        assert_eq!(trouble.machine(id(1), id(2)), Some(id(2)));
        trouble.add_route(FaultId::new(1), id(1), id(5), vec![id(2)]);
        assert_eq!((trouble.machine(id(0), id(1)), trouble.machine(id(4), id(1))), (Some(id(1)), Some(id(5))));
        assert_eq!((trouble.machine(id(5), id(0)), trouble.machine(id(5), id(2))), (Some(id(4)), None));
        trouble.end(FaultId::new(1));
        assert_eq!(trouble.end(FaultId::new(0)), Some(id(4)));
        assert_eq!(trouble.machine(id(0), id(2)), Some(id(2)));
    }
}
