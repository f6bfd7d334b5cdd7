//! A replica's processor: slow ones build and execute blocks one after the other, each in its time.

use crate::{
    consensus::Ticket,
    sim::{engine::clock::SimTime, faults::plan::FaultId, network::links::Latency},
};

/// The slowness of a processor, by the faults in force, and what it is at. Without a fault blocks take no time.
#[derive(Clone, Debug, Default)]
pub(in crate::sim) struct Processor {
    slow: Vec<(FaultId, Latency)>,
    /// End of what it is at.
    busy_until: SimTime,
    /// Ticket of the block that it builds.
    building: Option<Ticket>,
}

impl Processor {
    pub(in crate::sim) fn slow_down(&mut self, fault: FaultId, latency: Latency) {
        self.slow.push((fault, latency));
    }

    pub(in crate::sim) fn end(&mut self, fault: FaultId) {
        self.slow.retain(|(id, _)| *id != fault);
    }

    /// Occupies the processor with one more block and returns when that is done; `None` for a fast one.
    pub(super) fn occupy(&mut self, now: SimTime, nanos: impl FnOnce(Latency) -> u64) -> Option<SimTime> {
        let (_, latency) = *self.slow.last()?;
        self.busy_until = self.busy_until.max(now).plus_nanos(nanos(latency));
        Some(self.busy_until)
    }

    pub(super) const fn begin_building(&mut self, ticket: Ticket) {
        self.building = Some(ticket);
    }

    pub(super) const fn cancel_building(&mut self) {
        self.building = None;
    }

    /// Returns whether the block with this ticket is still wanted, and ends its building.
    pub(super) fn end_building(&mut self, ticket: Ticket) -> bool {
        self.building.take_if(|building| *building == ticket).is_some()
    }

    /// Forgets what it is at.
    pub(super) const fn crash(&mut self) {
        (self.busy_until, self.building) = (SimTime::ZERO, None);
    }
}
