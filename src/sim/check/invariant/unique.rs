//! Values that all honest replicas of a protocol of one's own have to agree on.

use core::fmt::{self, Debug};
use std::collections::BTreeMap;

use super::{Invariant, Violation, honest};
use crate::{
    consensus::{Protocol, ReplicaId},
    sim::network::{Network, step::SimStep},
};

/// Returns the invariant that honest replicas with a state of type `P` never hold two values under one key, at whatever times: one certified
/// block in a view, one leader of a term, one commit at a height. `value_of` reads key and value from a state, if it has one.
///
/// ```
/// # use chainbox::{consensus::*, sim::{Invariant, invariant}};
/// /// At most one certified block in a view.
/// fn certified_once<P: Protocol + 'static>(certified: fn(&P) -> Option<(u64, BlockId)>) -> Box<dyn Invariant> {
///     invariant::unique("certified-once", certified)
/// }
/// ```
pub fn unique<P, K, V>(name: &'static str, value_of: fn(&P) -> Option<(K, V)>) -> Box<dyn Invariant>
where
    P: Protocol + 'static,
    K: Ord + Clone + Debug + Send + Sync + 'static,
    V: PartialEq + Clone + Debug + Send + Sync + 'static,
{
    Box::new(Unique { name, value_of, values: BTreeMap::new() })
}

struct Unique<P, K, V> {
    name: &'static str,
    value_of: fn(&P) -> Option<(K, V)>,
    /// With the replica that held the value first.
    values: BTreeMap<K, (V, ReplicaId)>,
}

impl<P, K, V> Invariant for Unique<P, K, V>
where
    P: Protocol + 'static,
    K: Ord + Clone + Debug + Send + Sync + 'static,
    V: PartialEq + Clone + Debug + Send + Sync + 'static,
{
    fn name(&self) -> &'static str {
        self.name
    }

    fn on_step(&mut self, network: &Network, step: &SimStep) -> Result<(), Violation> {
        let state = honest(network, step).and_then(|replica| replica.own_protocol::<P>());
        let Some((key, value)) = state.and_then(self.value_of) else { return Ok(()) };
        let (first, holder) = self.values.entry(key.clone()).or_insert_with(|| (value.clone(), step.replica));
        if *first == value {
            return Ok(());
        }
        let detail = format!("under {key:?} {holder} holds {first:?}, {} {value:?}", step.replica);
        Err(Violation::new(self.name, network, detail))
    }
}

impl<P, K: Clone, V: Clone> Clone for Unique<P, K, V> {
    fn clone(&self) -> Self {
        Self { name: self.name, value_of: self.value_of, values: self.values.clone() }
    }
}

impl<P, K: Debug, V: Debug> Debug for Unique<P, K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unique").field("name", &self.name).field("values", &self.values).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;
    use crate::{
        consensus::{
            BlockId, Deadline, Effect, Encoder, Event, Finality, FinalityKind, OwnProtocol, ReplicaStart, TimerId,
            ValidatorSet,
        },
        sim::NetworkError,
    };

    /// Counts its timers. Each replica has its own number, or all have the same.
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    struct Counter {
        number: u32,
        count: u64,
        genesis: BlockId,
        validators: ValidatorSet,
    }

    impl Protocol for Counter {
        fn step(&mut self, event: Event, effects: &mut Vec<Effect>) {
            self.count += u64::from(matches!(event, Event::Timer(_)));
            let deadline = Deadline::After { nanos: 1_000_000_000 };
            effects.push(Effect::ArmTimer { timer: TimerId::new(1), deadline });
        }

        fn encode(&self, out: &mut Encoder) {
            out.u64(self.count);
        }

        fn head(&self) -> BlockId {
            self.genesis
        }

        fn finality(&self) -> Finality {
            Finality::both(self.genesis, FinalityKind::Certificate)
        }

        fn validators(&self) -> ValidatorSet {
            self.validators.clone()
        }
    }

    fn run(number: fn(&ReplicaStart<'_>) -> u32) -> Result<(), NetworkError> {
        let protocol = OwnProtocol::new("counter", move |start| {
            let (genesis, validators) = (BlockId::of(start.genesis), start.validators.clone());
            Ok(Counter { number: number(&start), count: 0, genesis, validators })
        });
        let counted = |state: &Counter| (state.count > 1).then_some((state.count, state.number));
        let builder = Network::builder().with_protocol(protocol).with_validators(2);
        let mut network = builder.with_invariants([unique("one-number", counted)]).build()?;
        network.run_for(Duration::from_secs(5))
    }

    #[test]
    fn two_values_under_one_key_are_a_violation_of_its_name() {
        run(|_| 7).unwrap();
        let error = run(|start| start.replica().map_or(0, ReplicaId::get)).unwrap_err().to_string();
        assert!(error.contains("`one-number`") && error.contains("under 2 replica 0 holds 0, replica 1 1"), "{error}");
    }
}
