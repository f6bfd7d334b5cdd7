//! Every figure past day 91 in points of each size, compared with a plain model that has all samples: over gaps, restarts, times that are
//! sampled twice and a clock that goes back.

use super::{super::point::METRICS, *};
use crate::platform::ChainMetrics;

/// Sizes of points, and how far back they are asked for.
const SIZES: [(u64, u64); 6] = [
    (15, DAY_SECS),
    (60, DAY_SECS),
    (300, 7 * DAY_SECS),
    (900, 7 * DAY_SECS),
    (3_600, 90 * DAY_SECS),
    (DAY_SECS, 90 * DAY_SECS),
];
/// Points of one request.
const POINTS: u64 = 1_900;

/// SplitMix64.
struct Numbers(u64);

impl Numbers {
    /// Returns a number below `bound`.
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}

/// What was sampled: the begin of its 15 s, and the values, rates in thousandths.
struct Raw {
    slot: u64,
    values: [u64; METRICS],
    /// Transactions and gas at this moment.
    totals: (u64, u64),
}

/// A chain with figures of all sorts, its samples in a store, and all of them for the model.
struct History {
    store: MemoryStore,
    numbers: Numbers,
    now: u64,
    transactions: u64,
    gas: u64,
    /// Transactions and gas at the newest sample.
    counted: (u64, u64),
    raw: Vec<Raw>,
}

impl History {
    fn new(seed: u64) -> Self {
        let (store, numbers) = (MemoryStore::default(), Numbers(seed));
        Self { store, numbers, now: START, transactions: 0, gas: 0, counted: (0, 0), raw: Vec::new() }
    }

    fn sample(&mut self) {
        self.transactions += self.numbers.below(50);
        self.gas += self.numbers.below(3_000_000);
        let [tps, block_time, price, validators, pooled] =
            [90_000, 30_000, 5_000_000_000, 100, 10_000].map(|bound| self.numbers.below(bound));
        let uptime = Some(self.numbers.below(100_001)).filter(|uptime| !uptime.is_multiple_of(7));
        let figures = ChainMetrics {
            current_block: 0,
            block_time_secs: block_time as f64 / 1_000.0,
            transactions_per_second: tps as f64 / 1_000.0,
            active_validators: validators,
            total_transactions: self.transactions,
            total_gas_used: self.gas,
            average_gas_price: u128::from(price),
            validator_uptime: uptime.map(|uptime| uptime as f64 / 1_000.0),
            mempool_size: pooled,
        };
        // Of a time that the clock has left, by more than it comes to soon, nothing is kept.
        if self.raw.last().is_some_and(|newest| newest.slot > self.now + SAMPLE_SECS) {
            self.raw.retain(|raw| raw.slot <= self.now);
            self.counted = self.raw.last().map_or((0, 0), |newest| newest.totals);
        }
        let slot = self.now - self.now % SAMPLE_SECS;
        let is_due = self.raw.last().is_none_or(|newest| newest.slot < slot);
        assert_eq!(sampling::sample(&self.store, self.now, &figures).unwrap(), is_due, "at {}", self.now);
        if is_due {
            let (transactions, gas) = (self.transactions - self.counted.0, self.gas - self.counted.1);
            // In the order of `Metric::ALL`.
            let uptime = uptime.unwrap_or(100_000);
            let values = [transactions, tps, block_time, gas, price, validators, pooled, uptime];
            self.counted = (self.transactions, self.gas);
            self.raw.push(Raw { slot, values, totals: self.counted });
        }
    }

    /// Samples until a day, some seconds apart, of `seldom` samples one after a gap of up to so many hours, in which the process starts anew.
    fn go(&mut self, until_day: u64, apart: u64, (seldom, hours): (u64, u64)) {
        while self.now < START + until_day * DAY_SECS {
            self.sample();
            self.now += match self.numbers.below(seldom) {
                0 => {
                    self.store = self.store.clone();
                    1 + self.numbers.below(hours * 3_600)
                }
                // The clock goes back for a sample.
                1 => {
                    let now = self.now;
                    self.now -= 1 + self.numbers.below(600).min((now - START).saturating_sub(1));
                    self.sample();
                    now - self.now + SAMPLE_SECS
                }
                _ if self.numbers.below(2) == 0 => SAMPLE_SECS,
                _ => 1 + self.numbers.below(apart),
            };
        }
    }

    /// The points of a time, sample by sample.
    fn model(&self, request: &SeriesRequest) -> Vec<SeriesPoint> {
        let SeriesRequest { metric, from_secs, to_secs, step_secs } = *request;
        let place = |secs: u64| self.raw.partition_point(|raw| raw.slot < secs);
        let is_sum = matches!(metric, Metric::Transactions | Metric::GasUsed);
        let is_rate = matches!(metric, Metric::Tps | Metric::BlockTime | Metric::ValidatorUptime);
        let shown = |kept: f64| if is_rate { kept / 1_000.0 } else { kept };
        let parts = self.raw[place(from_secs)..place(to_secs)].chunk_by(|one, next| {
            // Of one point.
            one.slot / step_secs == next.slot / step_secs
        });
        let point = |part: &[Raw]| {
            let values: Vec<u64> = part.iter().map(|raw| raw.values[metric as usize]).collect();
            let sum: u128 = values.iter().copied().map(u128::from).sum();
            let whole = if is_sum { sum as f64 } else { sum as f64 / values.len() as f64 };
            let [least, greatest] = [values.iter().min(), values.iter().max()].map(|value| *value.unwrap() as f64);
            SeriesPoint {
                start_secs: part[0].slot / step_secs * step_secs,
                value: shown(whole),
                least: shown(least),
                greatest: shown(greatest),
                last: shown(*values.last().unwrap() as f64),
                samples: u32::try_from(values.len()).unwrap(),
            }
        };
        parts.map(point).collect()
    }

    /// Compares all figures in points of each size with the model, as far back as they are kept; returns the number of points by size.
    fn compare(&self) -> [usize; SIZES.len()] {
        SIZES.map(|(step_secs, kept_secs)| {
            let mut compared = 0;
            let mut from_secs = (self.now - kept_secs + 1).next_multiple_of(step_secs);
            while from_secs <= self.now {
                let to_secs = from_secs + POINTS * step_secs;
                for metric in Metric::ALL {
                    let request = SeriesRequest { metric, from_secs, to_secs, step_secs };
                    let found = series::read(&self.store, self.now, &request).unwrap();
                    assert_eq!(found, self.model(&request), "{request:?} at {}", self.now);
                    compared += found.len();
                }
                from_secs = to_secs;
            }
            compared / METRICS
        })
    }
}

#[test]
fn past_day_91_every_figure_is_what_its_samples_make_at_each_resolution() {
    for seed in [1, 2] {
        let mut history = History::new(seed);
        history.go(84, 1_500, (100, 36));
        history.go(91, 120, (500, 10));
        history.compare();
        history.go(93, 16, (700, 2));
        let points = history.compare();
        for ((size, kept), number) in SIZES.into_iter().zip(points) {
            let most = kept / size;
            assert!(number as u64 > most / 4 && number as u64 <= most, "{number} of {most} points of {size} s");
        }
    }
}
