//! Irreversibility of a single branch: steady lags, absent producers, elections. Interleavings on two forks and the wrap of the
//! confirmed count are scenarios (`sim/scenario/dpos/rules.rs`).

use super::super::*;
use proptest::prelude::*;

use crate::{consensus::mutation, primitives::Height};

/// Extends a branch by `producers` that take turns of `per_turn` blocks; those in `away` miss theirs. Returns the lag of the
/// last irreversible block behind the head, for each block of the last round.
fn lags(rule: FinalityRule, producers: usize, per_turn: u64, away: usize, rounds: u64) -> Vec<u64> {
    let mut branch = Irreversibility::new(rule, Height::GENESIS, producers);
    let mut lags = Vec::new();
    for round in 0..rounds {
        lags.clear();
        for place in away..producers {
            for _ in 0..per_turn {
                let confirmed = branch.confirmable(place, Height::GENESIS);
                branch = branch.extend(place, confirmed, None).unwrap();
                lags.push(branch.height().get() - branch.irreversible().get());
            }
        }
        let _ = round;
    }
    lags
}

#[test]
fn the_steady_lag_is_that_of_eosio() {
    for (producers, per_turn, least, most) in [(21, 12, 325, 336), (21, 1, 29, 29), (7, 6, 43, 48), (4, 1, 5, 5)] {
        for rule in [FinalityRule::Locked, FinalityRule::Classic] {
            let lags = lags(rule, producers, per_turn, 0, 8);
            let bounds = (lags.iter().min().copied(), lags.iter().max().copied());
            assert_eq!(bounds, (Some(least), Some(most)), "{rule:?}: {producers} x {per_turn}");
        }
    }
}

#[test]
fn irreversibility_tolerates_less_than_a_third_offline() {
    for (producers, away) in [(21, 6), (4, 1), (7, 2), (5, 1), (3, 0), (1, 0)] {
        let lag = lags(FinalityRule::Locked, producers, 1, away, 20);
        assert!(lag.iter().all(|lag| *lag < 3 * producers as u64), "{away} of {producers}: {lag:?}");
    }
    for (producers, away) in [(21, 7), (4, 2), (7, 3), (5, 2), (3, 1), (2, 1)] {
        let blocks = 20 * (producers - away) as u64;
        let lag = lags(FinalityRule::Locked, producers, 1, away, 20);
        assert_eq!(lag.last(), Some(&blocks), "{away} of {producers}: something became irreversible");
    }
}

#[test]
fn returning_producers_confirm_what_they_missed_and_the_lag_is_steady_again() {
    let mut branch = Irreversibility::new(FinalityRule::Locked, Height::GENESIS, 4);
    let turn = |branch: &mut Irreversibility, places: core::ops::Range<usize>| {
        for place in places {
            let confirmed = branch.confirmable(place, Height::GENESIS);
            *branch = branch.extend(place, confirmed, None).unwrap();
        }
    };
    (0..10).for_each(|_| turn(&mut branch, 0..2));
    assert_eq!(branch.irreversible(), Height::GENESIS);
    (0..3).for_each(|_| turn(&mut branch, 0..4));
    assert_eq!(branch.height().get() - branch.irreversible().get(), 5);
}

#[test]
fn no_range_is_confirmed_twice_on_one_branch_and_nothing_irreversible_is_confirmed() {
    let branch = Irreversibility::new(FinalityRule::Locked, Height::new(10), 4);
    let one = branch.extend(2, 1, None).unwrap();
    assert_eq!(branch.extend(2, 2, None), Err(twice(2, 11, 10)));
    assert_eq!(one.extend(2, 2, None), Err(twice(2, 12, 11)));
    assert_eq!(one.extend(1, 2, None).unwrap().confirmers()[1].last, Height::new(12));
    assert_eq!(branch.extend(4, 1, None), Err(ConfirmError::NoProducer { place: 4, producers: 4 }));
    // A block that confirms nothing does not change its producer's confirmations, and extends the branch.
    let silent = one.extend(2, 0, None).unwrap();
    assert_eq!((silent.confirmers(), silent.height()), (one.confirmers(), Height::new(12)));
}

fn twice(confirmed: u16, height: u64, before: u64) -> ConfirmError {
    ConfirmError::Twice { confirmed, height: Height::new(height), confirmed_before: Height::new(before) }
}

#[test]
fn an_election_drops_counts_and_votes_and_starts_at_the_block_that_proposed_it() {
    let mut branch = Irreversibility::new(FinalityRule::Locked, Height::GENESIS, 4);
    for place in [0, 1, 2, 3, 0, 1, 2, 3, 0] {
        branch = branch.extend(place, branch.confirmable(place, Height::GENESIS), Some(Height::new(3))).unwrap();
    }
    let (height, proposed_at) = (branch.height(), Height::new(3));
    assert_eq!((branch.irreversible(), branch.prepared()), (proposed_at, Height::new(7)), "prepared is not limited");
    let elected = branch.reelect([Some(3), None, Some(1), None], proposed_at);
    assert_eq!((elected.height(), elected.irreversible(), elected.prepared()), (height, proposed_at, proposed_at));
    assert_eq!(elected.confirmers()[0], Confirmer { vote: None, ..branch.confirmers()[3] });
    assert_eq!(elected.confirmers()[1], Confirmer { last: proposed_at, since: proposed_at.next(), vote: None });
    // Three of the new producers have to confirm a block of the new schedule.
    let one = elected.extend(1, elected.confirmable(1, Height::GENESIS), None).unwrap();
    let two = one.extend(2, one.confirmable(2, Height::GENESIS), None).unwrap();
    assert_eq!(two.prepared(), proposed_at);
    let three = two.extend(3, two.confirmable(3, Height::GENESIS), None).unwrap();
    assert_eq!((three.prepared(), three.irreversible()), (height.next(), proposed_at));
}

/// Twelve blocks of four producers, of which the third proposed the next schedule, and that schedule's first vote.
fn first_vote_after_an_election() -> Irreversibility {
    let (mut branch, proposed_at) = (Irreversibility::new(FinalityRule::Locked, Height::GENESIS, 4), Height::new(3));
    for place in [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3] {
        branch = branch.extend(place, branch.confirmable(place, Height::GENESIS), Some(proposed_at)).unwrap();
    }
    let elected = branch.reelect([Some(0), Some(1), Some(2), None], proposed_at);
    elected.extend(3, elected.confirmable(3, Height::GENESIS), None).unwrap()
}

#[test]
fn votes_that_outlive_their_schedule_settle_what_the_next_one_has_not() {
    assert_eq!(first_vote_after_an_election().irreversible(), Height::new(3));
    // What is above the third block is for the new producers, on every branch: three votes of the old ones make it
    // irreversible here, while the new ones may settle another branch.
    let settled = mutation::with(Mutation::DposVotesOutliveSchedule, first_vote_after_an_election);
    assert!(settled.irreversible() > Height::new(3));
}

#[test]
fn a_gap_in_a_producers_confirmations_ends_its_votes_for_what_is_below() {
    let mut branch = Irreversibility::new(FinalityRule::Locked, Height::GENESIS, 4);
    let confirm = |branch: &Irreversibility, place, confirmed| branch.extend(place, confirmed, None).unwrap();
    for place in [0, 1, 2] {
        branch = confirm(&branch, place, branch.confirmable(place, Height::GENESIS));
    }
    assert_eq!(branch.prepared(), Height::new(1));
    // The producer at 0 confirmed height 4 elsewhere: what it implies is below its run.
    let mut left = confirm(&confirm(&branch, 3, 0), 0, 1);
    assert_eq!(left.confirmers()[0], Confirmer { last: Height::new(5), since: Height::new(5), vote: None });
    // The one at 1 did not, nor did those at 2 and 3.
    for place in [1, 2] {
        left = confirm(&left, place, left.confirmable(place, Height::GENESIS));
    }
    assert_eq!(left.prepared(), Height::new(5));
    assert_eq!(left.irreversible(), Height::GENESIS, "two votes include height 1");
    let stayed = confirm(&confirm(&branch, 3, 0), 0, 4);
    let voted = Some(Vote { from: Height::new(1), to: Height::new(1) });
    assert_eq!(stayed.confirmers()[0], Confirmer { last: Height::new(5), since: Height::new(1), vote: voted });
    let third = confirm(&left, 3, left.confirmable(3, Height::GENESIS));
    assert_eq!(third.irreversible(), Height::new(1), "one without a gap is the third");
}

#[test]
fn the_highest_height_of_a_quorum_of_votes_may_be_below_the_fast_one() {
    // Votes for 1..=4, 1..=3 and 6..=6 of four: of three votes 3 is not in the last one.
    let mut branch = Irreversibility::new(FinalityRule::Locked, Height::GENESIS, 4);
    let mut blocks = Vec::new();
    for (place, confirmed) in [(0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (1, 1), (3, 2), (2, 1), (0, 4), (3, 3), (1, 5)] {
        if let Ok(next) = branch.extend(place, confirmed, None) {
            branch = next;
            blocks.push(NaiveBlock { place, confirmed });
        }
        let naive = naive(4, &blocks);
        assert_eq!((branch.prepared().get(), branch.irreversible().get()), naive, "{blocks:?}");
    }
}

/// A block of one branch.
#[derive(Clone, Copy, Debug)]
struct NaiveBlock {
    place: usize,
    confirmed: u16,
}

/// Computes the prepared and the irreversible height of a branch anew, from all of its blocks, the first of which has height 1.
fn naive(producers: usize, blocks: &[NaiveBlock]) -> (u64, u64) {
    let quorum = producers * 2 / 3 + 1;
    let range = |index: usize| {
        let top = index as u64 + 1;
        top + 1 - u64::from(blocks[index].confirmed)..=top
    };
    let prepared_after = |count: usize| {
        let confirms = |place: usize, height: u64| {
            (0..count).any(|index| blocks[index].place == place && range(index).contains(&height))
        };
        let is_prepared = |height: &u64| (0..producers).filter(|place| confirms(*place, *height)).count() >= quorum;
        (1..=count as u64).rev().find(is_prepared).unwrap_or_default()
    };
    // The newest vote of a producer: a block all of whose heights down to its implied one its producer confirms.
    let vote = |place: usize, count: usize| {
        (0..count).rev().filter(|index| blocks[*index].place == place && blocks[*index].confirmed > 0).find_map(
            |index| {
                let covers =
                    |height: u64| (0..=index).any(|at| blocks[at].place == place && range(at).contains(&height));
                let implied = prepared_after(index);
                let from = (1..=index as u64 + 1).rev().take_while(|height| covers(*height)).last()?;
                (implied >= from).then_some(from..=implied)
            },
        )
    };
    // What is irreversible remains so.
    let irreversible = (1..=blocks.len()).filter_map(|count| {
        let votes: Vec<_> = (0..producers).filter_map(|place| vote(place, count)).collect();
        (1..=count as u64).rev().find(|height| votes.iter().filter(|vote| vote.contains(height)).count() >= quorum)
    });
    (prepared_after(blocks.len()), irreversible.max().unwrap_or_default())
}

proptest! {
    #[test]
    fn a_branch_is_what_the_list_of_its_blocks_says(
        producers in 1_usize..8,
        draws in proptest::collection::vec((any::<u8>(), 0_u16..12), 1..60),
    ) {
        let mut branch = Irreversibility::new(FinalityRule::Locked, Height::GENESIS, producers);
        let mut blocks = Vec::new();
        for (place, less) in draws {
            let place = usize::from(place) % producers;
            // Mostly all that it may, often less, sometimes nothing.
            let most = branch.confirmable(place, Height::GENESIS);
            let confirmed = if less > 10 { 0 } else { most.saturating_sub(less.saturating_sub(6)) };
            branch = branch.extend(place, confirmed, None).unwrap();
            blocks.push(NaiveBlock { place, confirmed });
            let got = (branch.prepared().get(), branch.irreversible().get());
            prop_assert_eq!(got, naive(producers, &blocks), "{:?}", blocks);
        }
    }

    /// Where nobody leaves the branch, both rules agree: EOSIO's index among the implied heights.
    #[test]
    fn without_gaps_both_rules_agree(producers in 1_usize..12, places in proptest::collection::vec(any::<u8>(), 1..200)) {
        let new = |rule| Irreversibility::new(rule, Height::GENESIS, producers);
        let (mut locked, mut classic) = (new(FinalityRule::Locked), new(FinalityRule::Classic));
        for place in places {
            let place = usize::from(place) % producers;
            locked = locked.extend(place, locked.confirmable(place, Height::GENESIS), None).unwrap();
            classic = classic.extend(place, classic.confirmable(place, Height::GENESIS), None).unwrap();
            let heights = |branch: &Irreversibility| (branch.prepared(), branch.irreversible());
            prop_assert_eq!(heights(&locked), heights(&classic));
        }
    }
}
