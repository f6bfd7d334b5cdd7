//! Epochs without blocks: what they cost, and that any number of them is accounted for at once.

use std::{collections::BTreeMap, sync::Arc};

use proptest::{collection::vec, prelude::*};

use super::lab::{WEIGHT, config};
use crate::{
    consensus::{
        BlockId, EvidenceWindow, Validator, ValidatorSet,
        former_members::Departure,
        mutation::{self, Mutation},
        pos::{
            Checkpoint, PosConfig, State, participation::Participation, slot_times::PendingLength, state::EpochDeltas,
        },
    },
    primitives::{Address, B256, Height, Timestamp},
};

fn validator(place: usize) -> Address {
    Address::with_last_byte(place as u8 + 1)
}

fn genesis(config: &PosConfig) -> State {
    let members = (0..4).map(|place| Validator { address: validator(place), weight: WEIGHT });
    let block = BlockId { height: Height::GENESIS, hash: B256::repeat_byte(1) };
    State::genesis(config, block, Timestamp::from_secs(0), &ValidatorSet::new(members).unwrap())
}

/// Nobody could have voted: validators whose one process was off for a night lose what one epoch costs, and not what thousands do.
#[test]
fn epochs_that_no_block_could_have_votes_of_cost_nothing() {
    let config = config();
    let state = genesis(&config);
    let (second, once) = state.advanced(&config, config.start_of(2));
    assert!(once.penalties.len() == 4 && once.penalties.values().all(|gwei| *gwei > 0), "{once:?}");
    assert_eq!(second.stake.absent.len(), 4);
    for epoch in [1_000, 1_003, 1 << 59] {
        let (later, deltas) = state.advanced(&config, config.start_of(epoch));
        assert_eq!((later.epoch(), &deltas.penalties), (epoch, &once.penalties));
        assert!(deltas.rewards.len() == 4 && deltas.rewards.values().all(|gwei| *gwei == 0), "they have duties still");
        assert_eq!((&later.stake.debts, later.stake.absent.len()), (&second.stake.debts, 0));
        assert!(later.stake.inactivity_scores.values().eq(second.stake.inactivity_scores.values()));
    }
    let charged = || state.advanced(&config, config.start_of(1_000)).1;
    let charged = mutation::with(Mutation::PosChargesForGaps, charged);
    assert!(charged.penalties.values().sum::<u64>() > WEIGHT, "a night would cost the stake of one: {charged:?}");
}

/// What a branch may have had before the gap.
#[derive(Clone, Debug)]
struct Before {
    /// Whether each validator voted in the previous and in the current epoch.
    voted: Vec<[bool; 2]>,
    /// Offenders: validators and one who left, the epochs of the evidence and weights.
    slashed: Vec<(usize, u64, u64)>,
    /// Epochs that are justified, of the last four.
    justified: Vec<bool>,
    /// Epoch of a commitment to another set, and of another length of slots.
    commitments: [Option<u64>; 2],
    /// Slots since the newest block.
    latest: u64,
}

fn before() -> impl Strategy<Value = Before> {
    let offender = (0..6_usize, 0..9_u64, 1..WEIGHT);
    let commitments = prop::array::uniform2(prop::option::of(5..8_u64));
    let parts = (vec(any::<[bool; 2]>(), 4), vec(offender, 0..4), vec(any::<bool>(), 4), commitments, 0..9_u64);
    parts.prop_map(|(voted, slashed, justified, commitments, latest)| Before {
        voted,
        slashed,
        justified,
        commitments,
        latest,
    })
}

/// Evidence counts for a while, and penalties come twelve epochs after an offence: within a gap.
fn short_memory() -> PosConfig {
    let evidence = EvidenceWindow { blocks: 0, secs: 90, unbonding_secs: 90 };
    PosConfig { correlation_delay: 12, evidence, ..config() }
}

fn state(config: &PosConfig, before: &Before) -> State {
    let (mut state, _) = genesis(config).advanced(config, config.start_of(8) + 2);
    state.time = state.times.time_of(state.slot - before.latest);
    let vote = |has_voted: bool| if has_voted { Participation::included(3, true) } else { Participation::default() };
    state.voted = [0, 1].map(|epoch| before.voted.iter().map(|voted| vote(voted[epoch])).collect());
    state.casper.bits = core::array::from_fn(|place| before.justified[place]);
    let checkpoint = |epoch| Checkpoint { epoch, block: state.latest };
    (state.casper.previous_justified, state.casper.justified) = (checkpoint(6), checkpoint(7));
    state.casper.finalized = checkpoint(5);
    let stake = Arc::make_mut(&mut state.stake);
    for (place, epoch, weight) in &before.slashed {
        stake.slashed.insert(validator(*place), (*epoch, *weight));
    }
    let left = Departure { height: Height::new(1), time: Timestamp::from_secs(20), weight: WEIGHT };
    stake.former.add(validator(7), left);
    let members = [1, 2, 4].map(|place| Validator { address: validator(place), weight: WEIGHT + place as u64 });
    stake.elected = before.commitments[0].map(|epoch| (epoch, members.to_vec()));
    state.pending_length = before.commitments[1].map(|epoch| PendingLength { epoch, secs: 3 });
    state
}

/// Whoever is named has its stake locked, though it left: elected, in the next set, or on duty in epochs that no block could have votes of.
#[test]
fn who_is_elected_and_who_has_duties_is_named_in_a_gap() {
    let config = short_memory();
    let before = Before {
        voted: vec![[false; 2]; 4],
        slashed: Vec::new(),
        justified: vec![false; 4],
        commitments: [Some(7), None],
        latest: 1,
    };
    let mut state = state(&config, &before);
    // Nothing becomes final, so that the set that was elected waits.
    state.casper.finalized.epoch = 0;
    let named = || state.clone().advanced(&config, config.start_of(1_000)).1.rewards.into_keys().collect::<Vec<_>>();
    assert_eq!(named(), [0, 1, 2, 3, 4].map(validator), "the four of the set, and the one that was elected");
    assert!(!mutation::with(Mutation::PosForgetsElected, named).contains(&validator(4)));
}

fn add(sums: &mut BTreeMap<Address, u64>, more: &BTreeMap<Address, u64>) {
    more.iter().for_each(|(who, gwei)| *sums.entry(*who).or_default() += gwei);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn a_gap_is_what_its_epochs_are_one_by_one(before in before(), epochs in 1..60_u64) {
        let config = short_memory();
        let first = state(&config, &before);
        let (mut walked, mut sums) = (first.clone(), EpochDeltas::default());
        for _ in 0..epochs {
            let (next, deltas) = walked.advanced(&config, config.start_of(walked.epoch() + 1));
            sums.ended |= deltas.ended;
            add(&mut sums.rewards, &deltas.rewards);
            add(&mut sums.penalties, &deltas.penalties);
            walked = next;
        }
        prop_assert_eq!(first.advanced(&config, walked.slot), (walked, sums));
    }
}
