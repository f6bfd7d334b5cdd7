//! A clock that is set back, with two chains: one goes on meanwhile.

use core::sync::atomic::{AtomicU64, Ordering};

use super::*;
use crate::primitives::Timestamp;

/// A clock that is set by hand, in seconds.
#[derive(Debug)]
struct HandSet(AtomicU64);

impl Clock for HandSet {
    fn now(&self) -> Timestamp {
        Timestamp::from_secs(self.0.load(Ordering::Relaxed))
    }
}

/// A revert forgets at once what is of a time that was left; where none tells it, as for a wall clock or a chain that was stopped, the next
/// sample does. Transactions of the other chain in that time are counted once, also where all samples before it were too old to be kept.
#[test]
fn every_chain_is_sampled_at_once_when_the_clock_went_back() {
    for (away_secs, fine) in [(7_200, &[1.0, 1.0, 5.0, 1.0][..]), (3 * DAY_SECS, &[5.0, 1.0])] {
        for is_told in [true, false] {
            let clock = Arc::new(HandSet(AtomicU64::new(START)));
            let spec = |name: &str| BlockchainSpec::read(serde_json::json!({ "name": name })).unwrap();
            let chain = Blockchain::running(DEFAULT_BLOCKCHAIN_ID.to_owned(), spec("test"), Node::new(), 0);
            let store: Arc<dyn KeyValue> = Arc::new(MemoryStore::default());
            let builder = Platform::builder(clock.clone()).with_store(store);
            let platform = builder.open_with(chain, MasterKey::new([7; 32].into()), Vec::new()).unwrap();
            let (me, chains) = (platform.service_principal(), platform.blockchains());
            let other = chains.create(&me, spec("other")).unwrap();
            let pay = || {
                let call = CallRequest::call(Address::repeat_byte(7), []).with_value(U256::ONE);
                chains.send(&me, other.id(), call.with_from(other.treasury().unwrap())).unwrap();
            };
            let sampled = |secs: u64| {
                clock.0.store(START + secs, Ordering::Relaxed);
                platform.analytics().sample().unwrap()
            };
            let values = |step_secs| {
                let request =
                    SeriesRequest { metric: Metric::Transactions, from_secs: START, to_secs: START + 3_600, step_secs };
                let points = platform.analytics().series(&me, other.id(), &request).unwrap();
                points.into_iter().map(|point| point.value).collect::<Vec<_>>()
            };
            for secs in [0, 15, away_secs, away_secs + 15] {
                pay();
                assert_eq!(sampled(secs), 2);
            }
            pay();
            pay();
            clock.0.store(START + 30, Ordering::Relaxed);
            if is_told {
                platform.analytics().forget_later().unwrap();
            }
            pay();
            assert_eq!(sampled(30), 2, "no waiting for the time that was left, told: {is_told}");
            assert_eq!(sampled(40), 0, "it is there");
            pay();
            assert_eq!(sampled(45), 2);
            assert_eq!(values(15), fine, "{away_secs} {is_told}");
            assert_eq!([300, 3_600].map(values), [[8.0], [8.0]], "{away_secs} {is_told}");
        }
    }
}
