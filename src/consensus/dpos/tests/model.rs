//! Irreversibility of a single branch: steady lags, absent producers, elections. Interleavings on two forks and the wrap of the
//! confirmed count are scenarios (`sim/scenario/dpos/rules.rs`).

use super::super::*;
use crate::primitives::Height;

/// Extends a branch by `producers` that take turns of `per_turn` blocks; those in `away` miss theirs. Returns the lag of the
/// last irreversible block behind the head, for each block of the last round.
fn lags(producers: usize, per_turn: u64, away: usize, rounds: u64) -> Vec<u64> {
    let mut branch = Irreversibility::new(Height::GENESIS, producers);
    let mut lags = Vec::new();
    for round in 0..rounds {
        lags.clear();
        for place in away..producers {
            for _ in 0..per_turn {
                let confirmed = branch.confirmable(place, Height::GENESIS);
                branch = branch.extend(place, confirmed).unwrap();
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
        let lags = lags(producers, per_turn, 0, 8);
        let bounds = (lags.iter().min().copied(), lags.iter().max().copied());
        assert_eq!(bounds, (Some(least), Some(most)), "{producers} x {per_turn}");
    }
}

#[test]
fn irreversibility_tolerates_less_than_a_third_offline() {
    for (producers, away) in [(21, 6), (4, 1), (7, 2), (5, 1), (3, 0), (1, 0)] {
        let lag = lags(producers, 1, away, 20);
        assert!(lag.iter().all(|lag| *lag < 3 * producers as u64), "{away} of {producers}: {lag:?}");
    }
    for (producers, away) in [(21, 7), (4, 2), (7, 3), (5, 2), (3, 1), (2, 1)] {
        let blocks = 20 * (producers - away) as u64;
        let lag = lags(producers, 1, away, 20);
        assert_eq!(lag.last(), Some(&blocks), "{away} of {producers}: something became irreversible");
    }
}

#[test]
fn returning_producers_confirm_what_they_missed_and_the_lag_is_steady_again() {
    let mut branch = Irreversibility::new(Height::GENESIS, 4);
    let turn = |branch: &mut Irreversibility, places: core::ops::Range<usize>| {
        for place in places {
            let confirmed = branch.confirmable(place, Height::GENESIS);
            *branch = branch.extend(place, confirmed).unwrap();
        }
    };
    (0..10).for_each(|_| turn(&mut branch, 0..2));
    assert_eq!(branch.irreversible(), Height::GENESIS);
    (0..3).for_each(|_| turn(&mut branch, 0..4));
    assert_eq!(branch.height().get() - branch.irreversible().get(), 5);
}

#[test]
fn no_range_is_confirmed_twice_on_one_branch_and_nothing_irreversible_is_confirmed() {
    let branch = Irreversibility::new(Height::new(10), 4);
    let one = branch.extend(2, 1).unwrap();
    assert_eq!(branch.extend(2, 2), Err(twice(2, 11, 10)));
    assert_eq!(one.extend(2, 2), Err(twice(2, 12, 11)));
    assert_eq!(one.extend(1, 2).unwrap().confirmers()[1].last, Height::new(12));
    assert_eq!(branch.extend(4, 1), Err(ConfirmError::NoProducer { place: 4, producers: 4 }));
    // A block that confirms nothing does not change its producer's confirmations, and extends the branch.
    let silent = one.extend(2, 0).unwrap();
    assert_eq!((silent.confirmers(), silent.height()), (one.confirmers(), Height::new(12)));
}

fn twice(confirmed: u16, height: u64, before: u64) -> ConfirmError {
    ConfirmError::Twice { confirmed, height: Height::new(height), confirmed_before: Height::new(before) }
}

#[test]
fn an_election_drops_counts_and_keeps_the_confirmers_of_both_schedules() {
    let mut branch = Irreversibility::new(Height::GENESIS, 4);
    for place in [0, 1, 2, 3, 0, 1, 2, 3, 0] {
        branch = branch.extend(place, branch.confirmable(place, Height::GENESIS)).unwrap();
    }
    let (height, irreversible) = (branch.height(), branch.irreversible());
    let elected = branch.reelect([Some(3), None, Some(1), None]);
    assert_eq!((elected.height(), elected.irreversible()), (height, irreversible));
    assert_eq!(elected.confirmers()[0], branch.confirmers()[3]);
    assert_eq!(elected.confirmers()[1], Confirmer { last: irreversible, implied: irreversible });
    // Three of the new producers have to confirm a block of the new schedule.
    let one = elected.extend(1, elected.confirmable(1, Height::GENESIS)).unwrap();
    let two = one.extend(2, one.confirmable(2, Height::GENESIS)).unwrap();
    assert_eq!(two.proposed(), branch.proposed());
    let three = two.extend(3, two.confirmable(3, Height::GENESIS)).unwrap();
    assert_eq!(three.proposed(), height.next());
    // Lagging producers never revert irreversible blocks.
    assert!(three.irreversible() >= irreversible);
}
