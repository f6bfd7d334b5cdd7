//! A replica's disk: what it keeps, and what is on its way there.
//!
//! A write is a batch of records, whole or not at all, and becomes durable after the disk's delay, in order. A crash before
//! loses it: some of the oldest unsynced writes may have made it, the next one is torn, and everything after is gone. A torn
//! write is told by its checksum, as in a write-ahead log, so that to the replica it never happened.

use imbl::Vector;

use crate::{
    consensus::{Record, Ticket},
    primitives::{Bytes, maps::PersistentMap},
    sim::{
        engine::{clock::SimTime, rng::SimRng},
        faults::plan::FaultId,
        network::links::Latency,
    },
};

/// Records by key. Cloning is O(1).
pub(super) type Kept = PersistentMap<Bytes, Bytes>;

/// Cloning is O(1).
#[derive(Clone, Debug, Default)]
pub(crate) struct Disk {
    /// With every write that was begun.
    records: Kept,
    /// Writes that are not durable yet, in order.
    unsynced: Vector<Unsynced>,
    /// How long a write takes, while a fault says so.
    slow: Option<(FaultId, Latency)>,
    /// When the newest write is durable.
    synced_at: SimTime,
    /// Whether bits are flipped with the next restart.
    decays: bool,
    /// Grows with every crash: a write of an earlier life never ends.
    life: u64,
}

#[derive(Clone, Debug)]
struct Unsynced {
    ticket: Ticket,
    /// Everything before this write.
    before: Kept,
}

/// What became of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writing {
    /// Durable at once.
    Done,
    /// Durable at this time, if the replica lives so long.
    Until { at: SimTime, life: u64 },
}

/// What a crash took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lost {
    /// Writes that are gone.
    pub(crate) writes: u64,
    /// Whether the first of them was torn.
    pub(super) is_torn: bool,
}

impl Disk {
    pub(crate) const fn kept(&self) -> &Kept {
        &self.records
    }

    pub(crate) fn get(&self, key: &[u8]) -> Option<&[u8]> {
        self.records.get(key).map(|value| value.as_ref())
    }

    /// Writes at once, as before the network began.
    pub(crate) fn put(&mut self, key: &[u8], value: Option<&[u8]>) {
        match value {
            Some(value) => drop(self.records.insert(Bytes::copy_from_slice(key), Bytes::copy_from_slice(value))),
            None => drop(self.records.remove(key)),
        }
    }

    /// Begins a write; `rng` draws how long it takes on a slow disk.
    pub(crate) fn write(
        &mut self,
        ticket: Ticket,
        records: Vec<Record>,
        now: SimTime,
        rng: impl FnOnce(Latency) -> u64,
    ) -> Writing {
        let is_quick = self.slow.is_none() && self.unsynced.is_empty();
        if !is_quick {
            self.unsynced.push_back(Unsynced { ticket, before: self.records.clone() });
        }
        for record in records {
            if record.value.is_empty() {
                self.records.remove(&record.key);
            } else {
                self.records.insert(record.key, record.value);
            }
        }
        if is_quick {
            return Writing::Done;
        }
        let takes = self.slow.map_or(0, |(_, latency)| rng(latency));
        // One after the other, at different times, so that they end in order.
        self.synced_at = self.synced_at.plus_nanos(1).max(now.plus_nanos(takes));
        Writing::Until { at: self.synced_at, life: self.life }
    }

    /// A write is durable, and with it every one before: a replica that stood still hears of several at once, in any order.
    /// Answers their tickets; none when the write was of another life or is known to be durable.
    pub(crate) fn synced(&mut self, ticket: Ticket, life: u64) -> Vec<Ticket> {
        if life != self.life {
            return Vec::new();
        }
        let Some(place) = self.unsynced.iter().position(|write| write.ticket == ticket) else { return Vec::new() };
        let later = self.unsynced.split_off(place + 1);
        core::mem::replace(&mut self.unsynced, later).into_iter().map(|write| write.ticket).collect()
    }

    /// Loses what is not durable.
    pub(crate) fn crash(&mut self, rng: &mut SimRng) -> Lost {
        self.life += 1;
        let unsynced = core::mem::take(&mut self.unsynced);
        if unsynced.is_empty() {
            return Lost::default();
        }
        let survived = rng.below(unsynced.len() as u64 + 1) as usize;
        let Some(first_lost) = unsynced.get(survived) else { return Lost::default() };
        self.records = first_lost.before.clone();
        Lost { writes: (unsynced.len() - survived) as u64, is_torn: rng.chance(500) }
    }

    /// Forgets everything.
    pub(crate) fn wipe(&mut self) {
        self.records = Kept::default();
    }

    /// Lets bits be flipped before the disk is read the next time.
    pub(crate) const fn decay(&mut self) {
        self.decays = true;
    }

    /// Flips a bit of one record in four, of one at least, if the disk decays. Answers how many were hit.
    pub(super) fn flip_bits(&mut self, rng: &mut SimRng) -> u64 {
        if !core::mem::take(&mut self.decays) || self.records.is_empty() {
            return 0;
        }
        let chosen = rng.below(self.records.len() as u64);
        let mut keys: Vec<_> = self.records.keys().cloned().collect();
        keys.sort_unstable();
        let hit = (0..).zip(keys).filter(|(place, _)| *place == chosen || rng.chance(250));
        let keys: Vec<_> = hit.map(|(_, key)| key).collect();
        for key in &keys {
            if let Some(value) = self.records.get_mut(key) {
                let (mut flipped, bit) = (value.to_vec(), rng.below(8 * value.len() as u64));
                if let Some(byte) = flipped.get_mut((bit / 8) as usize) {
                    *byte ^= 1 << (bit % 8);
                }
                *value = flipped.into();
            }
        }
        keys.len() as u64
    }

    /// Goes back to what it held at another time.
    pub(crate) fn roll_back(&mut self, records: Kept) {
        self.records = records;
    }

    pub(crate) fn slow_down(&mut self, fault: FaultId, latency: Latency) {
        self.slow = Some((fault, latency));
    }

    /// Ends a fault of this disk; what is on its way stays so.
    pub(crate) fn end(&mut self, fault: FaultId) {
        self.slow.take_if(|(id, _)| *id == fault);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::engine::rng::Streams;

    fn record(value: u8) -> Vec<Record> {
        vec![Record::new(b"k".as_slice(), vec![value])]
    }

    #[test]
    fn a_crash_loses_unsynced_writes_from_some_place_on() {
        let mut rng = Streams::new(1).stream("disk");
        let (mut seen, mut torn) = ([false; 5], 0);
        for _ in 0..200 {
            let mut disk = Disk::default();
            assert_eq!(disk.write(Ticket::new(0), record(1), SimTime::ZERO, |_| 0), Writing::Done);
            disk.slow_down(FaultId::new(7), Latency::default());
            for ticket in 1..5 {
                let writing =
                    disk.write(Ticket::new(ticket), record(ticket as u8 + 1), SimTime::ZERO, |_| 100 / ticket);
                assert_eq!(writing, Writing::Until { at: SimTime::from_nanos(99 + ticket), life: 0 }, "in order");
            }
            assert_eq!(disk.synced(Ticket::new(1), 0), [Ticket::new(1)]);
            assert_eq!(disk.synced(Ticket::new(1), 0), [], "known to be durable");
            let lost = disk.crash(&mut rng);
            let kept = disk.get(b"k").unwrap()[0];
            assert_eq!(u64::from(kept), 5 - lost.writes);
            seen[kept as usize - 1] = true;
            torn += u64::from(lost.is_torn);
            assert_eq!(disk.synced(Ticket::new(2), 0), [], "of the life before");
        }
        assert_eq!(seen, [false, true, true, true, true], "what was synced is never lost, all else sometimes");
        assert!(torn > 40);
    }

    #[test]
    fn a_disk_that_decays_flips_single_bits_once() {
        let mut rng = Streams::new(1).stream("disk");
        let mut disk = Disk::default();
        assert_eq!(disk.flip_bits(&mut rng), 0);
        for key in 0..40 {
            disk.put(&[key], Some(&[0; 9]));
        }
        disk.decay();
        let hit = disk.flip_bits(&mut rng);
        let ones: Vec<u32> =
            disk.kept().values().map(|value| value.iter().map(|byte| byte.count_ones()).sum()).collect();
        assert!(hit > 0 && ones.iter().all(|ones| *ones <= 1) && u64::from(ones.iter().sum::<u32>()) == hit);
        assert_eq!(disk.flip_bits(&mut rng), 0);
    }

    #[test]
    fn writes_keep_their_order_when_the_disk_recovers() {
        let mut disk = Disk::default();
        disk.slow_down(FaultId::new(1), Latency::default());
        disk.write(Ticket::new(0), record(1), SimTime::ZERO, |_| 50);
        disk.end(FaultId::new(1));
        let writing = disk.write(Ticket::new(1), record(2), SimTime::from_nanos(10), |_| 0);
        assert_eq!(writing, Writing::Until { at: SimTime::from_nanos(51), life: 0 });
        assert_eq!(disk.synced(Ticket::new(1), 0), [Ticket::new(0), Ticket::new(1)], "told in another order");
        assert_eq!(disk.synced(Ticket::new(0), 0), []);
    }
}
