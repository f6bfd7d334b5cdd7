//! A replica's disk: durable records and unfinished writes.
//!
//! A write is an atomic batch of records and becomes durable after the disk's delay, in order. In a crash some of the oldest
//! unsynced writes may survive; the next one may be torn, and all later ones are lost. As in a write-ahead log, a torn write is
//! detected by its checksum and is lost as a whole.

use imbl::Vector;

use crate::{
    consensus::{ApplyRecords, Record, RecordValue, Ticket},
    primitives::{Bytes, maps::PersistentMap},
    sim::{
        engine::{clock::SimTime, rng::SimRng},
        faults::plan::FaultId,
        network::links::Latency,
    },
};

/// Records by key. Cloning is O(1).
pub(super) type RecordMap = PersistentMap<Bytes, RecordValue>;

/// Cloning is O(1).
#[derive(Clone, Debug, Default)]
pub(crate) struct Disk {
    /// Records with every unfinished write applied.
    records: RecordMap,
    /// Writes that are not durable yet, in order.
    unsynced: Vector<Unsynced>,
    /// Duration of a write, while a fault slows the disk.
    slow: Option<(FaultId, Latency)>,
    /// Time at which the newest write is durable.
    synced_at: SimTime,
    /// Whether the next restart flips bits.
    decays: bool,
    /// Number of crashes: writes of an earlier life never complete.
    life: u64,
    /// Records when the replica's amnesia began.
    saved: Option<RecordMap>,
}

#[derive(Clone, Debug)]
struct Unsynced {
    ticket: Ticket,
    /// Records before this write.
    before: RecordMap,
}

/// Result of starting a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteResult {
    /// Durable at once.
    Done,
    /// Durable at this time, unless the replica crashes before.
    Until { at: SimTime, life: u64 },
}

/// Writes lost in a crash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LostWrites {
    /// Number of lost writes.
    pub(crate) writes: u64,
    /// Whether the first of them was torn.
    pub(super) is_torn: bool,
}

impl Disk {
    pub(crate) const fn kept(&self) -> &RecordMap {
        &self.records
    }

    pub(crate) fn get(&self, key: &[u8]) -> Option<&RecordValue> {
        self.records.get(key)
    }

    /// Writes one record at once, outside the simulated time.
    pub(crate) fn put(&mut self, key: &[u8], value: Option<&[u8]>) {
        let value = value.map(|value| RecordValue::read(&Bytes::copy_from_slice(value)));
        match value {
            Some(value) => drop(self.records.insert(Bytes::copy_from_slice(key), value)),
            None => drop(self.records.remove(key)),
        }
    }

    /// Returns the number of crashes.
    pub(in crate::sim) const fn life(&self) -> u64 {
        self.life
    }

    /// Starts a write; `rng` draws its duration in nanoseconds on a slow disk.
    pub(crate) fn write(
        &mut self,
        ticket: Ticket,
        records: Vec<Record>,
        now: SimTime,
        rng: impl FnOnce(Latency) -> u64,
    ) -> WriteResult {
        let is_quick = self.slow.is_none() && self.unsynced.is_empty();
        if !is_quick {
            self.unsynced.push_back(Unsynced { ticket, before: self.records.clone() });
        }
        self.records.apply(records);
        if is_quick {
            return WriteResult::Done;
        }
        let takes = self.slow.map_or(0, |(_, latency)| rng(latency));
        // At strictly increasing times, so that writes complete in order.
        self.synced_at = self.synced_at.plus_nanos(1).max(now.plus_nanos(takes));
        WriteResult::Until { at: self.synced_at, life: self.life }
    }

    /// Completes a write and every earlier one: after a pause several completions arrive at once, in any order. Returns their
    /// tickets; none when the write was of another life or is already complete.
    pub(crate) fn synced(&mut self, ticket: Ticket, life: u64) -> Vec<Ticket> {
        if life != self.life {
            return Vec::new();
        }
        let Some(place) = self.unsynced.iter().position(|write| write.ticket == ticket) else { return Vec::new() };
        let later = self.unsynced.split_off(place + 1);
        core::mem::replace(&mut self.unsynced, later).into_iter().map(|write| write.ticket).collect()
    }

    /// Loses a random suffix of the unsynced writes.
    pub(crate) fn crash(&mut self, rng: &mut SimRng) -> LostWrites {
        self.life += 1;
        let unsynced = core::mem::take(&mut self.unsynced);
        if unsynced.is_empty() {
            return LostWrites::default();
        }
        let survived = rng.below(unsynced.len() as u64 + 1) as usize;
        let Some(first_lost) = unsynced.get(survived) else { return LostWrites::default() };
        self.records = first_lost.before.clone();
        LostWrites { writes: (unsynced.len() - survived) as u64, is_torn: rng.chance(500) }
    }

    /// Deletes all records.
    pub(crate) fn wipe(&mut self) {
        self.records = RecordMap::default();
    }

    /// Makes the next restart flip bits.
    pub(crate) const fn decay(&mut self) {
        self.decays = true;
    }

    /// If the disk decays, flips one bit in a quarter of the records, at least one; returns the number of changed records.
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
                let (mut flipped, bit) = (value.bytes().to_vec(), rng.below(8 * value.len() as u64));
                if let Some(byte) = flipped.get_mut((bit / 8) as usize) {
                    *byte ^= 1 << (bit % 8);
                }
                *value = RecordValue::read(&flipped.into());
            }
        }
        keys.len() as u64
    }

    /// Saves the records for [`Disk::roll_back_to_saved`].
    pub(in crate::sim) fn save(&mut self) {
        self.saved = Some(self.records.clone());
    }

    /// Drops the saved records.
    pub(super) fn drop_saved(&mut self) {
        self.saved = None;
    }

    /// Restores the saved records, if there are any.
    pub(in crate::sim) fn roll_back_to_saved(&mut self) {
        if let Some(records) = self.saved.take() {
            self.records = records;
        }
    }

    pub(crate) fn slow_down(&mut self, fault: FaultId, latency: Latency) {
        self.slow = Some((fault, latency));
    }

    /// Ends a fault of this disk; unfinished writes keep their times.
    pub(crate) fn end(&mut self, fault: FaultId) {
        self.slow.take_if(|(id, _)| *id == fault);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::engine::rng::Streams;

    fn record(value: u8) -> Vec<Record> {
        vec![Record::whole(b"k".as_slice(), &[value])]
    }

    #[test]
    fn a_crash_loses_unsynced_writes_from_some_place_on() {
        let mut rng = Streams::new(1).stream("disk");
        let (mut seen, mut torn) = ([false; 5], 0);
        for _ in 0..200 {
            let mut disk = Disk::default();
            assert_eq!(disk.write(Ticket::new(0), record(1), SimTime::ZERO, |_| 0), WriteResult::Done);
            disk.slow_down(FaultId::new(7), Latency::default());
            for ticket in 1..5 {
                let writing =
                    disk.write(Ticket::new(ticket), record(ticket as u8 + 1), SimTime::ZERO, |_| 100 / ticket);
                assert_eq!(writing, WriteResult::Until { at: SimTime::from_nanos(99 + ticket), life: 0 }, "in order");
            }
            assert_eq!(disk.synced(Ticket::new(1), 0), [Ticket::new(1)]);
            assert_eq!(disk.synced(Ticket::new(1), 0), [], "known to be durable");
            let lost = disk.crash(&mut rng);
            let bytes = disk.get(b"k").unwrap().bytes();
            let kept = Record::content(&bytes).unwrap()[0];
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
            disk.kept().values().map(|value| value.bytes().iter().map(|byte| byte.count_ones()).sum()).collect();
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
        assert_eq!(writing, WriteResult::Until { at: SimTime::from_nanos(51), life: 0 });
        assert_eq!(disk.synced(Ticket::new(1), 0), [Ticket::new(0), Ticket::new(1)], "completions in another order");
        assert_eq!(disk.synced(Ticket::new(0), 0), []);
    }
}
