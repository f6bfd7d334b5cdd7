//! The bytes of a chain's samples.

use super::{
    super::point::{Sample, Summary},
    *,
};
use crate::platform::{ChainMetrics, blockchains::part_of};

/// Bytes that a chain's samples take, at most.
const BYTES_MAX: usize = 2 << 20;
/// Of the length of every id that is drawn.
const ID: &str = "bc_ffffffffffffffff";

/// Every figure at the end of its type, after `total` transactions and as much gas.
fn greatest(total: u64) -> ChainMetrics {
    ChainMetrics {
        current_block: u64::MAX,
        block_time_secs: f64::MAX,
        transactions_per_second: f64::MAX,
        active_validators: u64::MAX,
        total_transactions: total,
        total_gas_used: total,
        average_gas_price: u128::MAX,
        validator_uptime: Some(f64::MAX),
        mempool_size: u64::MAX,
    }
}

/// Bytes of the longest value of a tier: all of its samples have the greatest figures.
fn longest(tier: Tier) -> usize {
    let sample = Sample::of(&greatest(u64::MAX), None);
    if tier == TIERS[0] {
        return postcard::to_allocvec(&sample).unwrap().len();
    }
    let mut summary = Summary::default();
    (0..tier.size_secs / SAMPLE_SECS).for_each(|_| summary.add(&sample));
    postcard::to_allocvec(&summary).unwrap().len()
}

/// Bytes of the store by tier, with the whole keys; and the longest key.
fn stored(store: &dyn KeyValue) -> ([usize; 3], [usize; 3], usize) {
    let (mut numbers, mut bytes, mut key_max) = ([0; 3], [0; 3], 0);
    let scanned = store.scan(Table::Platform, b"", Order::Ascending, &mut |key, value| {
        let tier = usize::from(key[key.len() - 9]);
        assert!(value.len() <= longest_of_all()[tier], "{} bytes in tier {tier}", value.len());
        numbers[tier] += 1;
        bytes[tier] += key.len() + value.len();
        key_max = key_max.max(key.len());
        ControlFlow::Continue(())
    });
    scanned.unwrap();
    (numbers, bytes, key_max)
}

fn longest_of_all() -> [usize; 3] {
    static LONGEST: std::sync::OnceLock<[usize; 3]> = std::sync::OnceLock::new();
    *LONGEST.get_or_init(|| TIERS.map(longest))
}

/// Hours for 84 days, 5 minutes for six, 15 s for the last: every point of each tier is there. Transactions and gas jump with each sample.
#[test]
fn the_greatest_figures_of_91_days_take_at_most_2_mib() {
    let store: Arc<dyn KeyValue> = Arc::new(MemoryStore::default());
    let part = part_of(&store, ID);
    let (mut now, mut samples) = (START, 0_u64);
    for (until_day, step) in [(84, 3_600), (90, 300), (92, 15)] {
        while now < START + until_day * DAY_SECS {
            samples += 1;
            let total = if samples.is_multiple_of(2) { u64::MAX } else { 0 };
            assert!(sampling::sample(&part, now, &greatest(total)).unwrap());
            now += step;
        }
    }
    let (numbers, bytes, key_max) = stored(&*store);
    let kept = TIERS.map(|tier| usize::try_from(tier.kept_secs / tier.size_secs).unwrap());
    assert_eq!(numbers, kept, "no more points than time for them");
    assert!(bytes.iter().sum::<usize>() <= BYTES_MAX, "{bytes:?}");
    // Also where each sample of each point has the greatest figures, and one point of each tier waits to be deleted.
    let bound = |tier: usize| (kept[tier] + 1) * (key_max + longest_of_all()[tier]);
    let bounds = [0, 1, 2].map(bound);
    assert!(bounds.iter().sum::<usize>() <= BYTES_MAX, "{bounds:?}");
}

/// What no chain has is kept as the greatest value, and is not more than a hundred percent.
#[test]
fn figures_end_at_the_greatest_that_is_kept() {
    let part = MemoryStore::default();
    assert!(sampling::sample(&part, START, &greatest(u64::MAX)).unwrap());
    let value = |metric| {
        let request = SeriesRequest { metric, from_secs: START, to_secs: START + 15, step_secs: 15 };
        let [point] = series::read(&part, START, &request).unwrap()[..] else { panic!("{metric:?}") };
        assert_eq!((point.least, point.greatest, point.last), (point.value, point.value, point.value), "{metric:?}");
        point.value
    };
    assert_eq!(value(Metric::ValidatorUptime), 100.0);
    assert_eq!(value(Metric::ActiveValidators), f64::from(u32::MAX));
    assert_eq!(value(Metric::MempoolSize), f64::from(u32::MAX));
    assert_eq!(value(Metric::GasPrice), u64::MAX as f64);
    assert_eq!(value(Metric::Transactions), u64::MAX as f64);
}
