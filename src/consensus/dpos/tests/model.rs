//! Irreversibility as a pure model: steady lags, who may be away, interleavings, wrap of the confirmed count.

use super::super::*;
use crate::primitives::Height;

/// A branch of `producers` that take turns of `per_turn` blocks; those in `away` miss theirs. Answers the lag of the last
/// irreversible block behind the head, for each block of the last round.
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
fn the_steady_lag_is_that_of_the_source() {
    for (producers, per_turn, least, most) in [(21, 12, 325, 336), (21, 1, 29, 29), (7, 6, 43, 48), (4, 1, 5, 5)] {
        let lags = lags(producers, per_turn, 0, 8);
        let bounds = (lags.iter().min().copied(), lags.iter().max().copied());
        assert_eq!(bounds, (Some(least), Some(most)), "{producers} x {per_turn}");
    }
}

#[test]
fn less_than_a_third_may_be_away_and_no_more() {
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
fn those_who_come_back_confirm_what_they_missed_and_the_lag_is_steady_again() {
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
fn no_range_is_taken_twice_on_one_branch_and_nothing_irreversible_is_confirmed() {
    let branch = Irreversibility::new(Height::new(10), 4);
    let one = branch.extend(2, 1).unwrap();
    assert_eq!(branch.extend(2, 2), Err(twice(2, 11, 10)));
    assert_eq!(one.extend(2, 2), Err(twice(2, 12, 11)));
    assert_eq!(one.extend(1, 2).unwrap().confirmers()[1].last, Height::new(12));
    assert_eq!(branch.extend(4, 1), Err(ConfirmError::NoProducer { place: 4, producers: 4 }));
    // A block that confirms nothing leaves its producer's word as it was, and lengthens the branch.
    let silent = one.extend(2, 0).unwrap();
    assert_eq!((silent.confirmers(), silent.height()), (one.confirmers(), Height::new(12)));
}

fn twice(confirmed: u16, height: u64, before: u64) -> ConfirmError {
    ConfirmError::Twice { confirmed, height: Height::new(height), confirmed_before: Height::new(before) }
}

/// After re-election a producer has not confirmed anything for longer than the field can say. A count that wraps would
/// confirm 4 blocks of 65,540 and look as if it had confirmed the rest before.
#[test]
fn the_confirmed_count_does_not_wrap_after_a_long_absence() {
    let mut branch = Irreversibility::new(Height::GENESIS, 4);
    for _ in 0..65_540 {
        // Two of four: nothing becomes irreversible meanwhile.
        let place = branch.height().get() as usize % 2;
        branch = branch.extend(place, branch.confirmable(place, Height::GENESIS)).unwrap();
    }
    assert_eq!(branch.confirmable(2, Height::GENESIS), u16::MAX);
    assert_eq!(65_541_u64 as u16, 5, "what a count that wraps would say");
    let back = branch.extend(2, u16::MAX).unwrap();
    // The third confirmation proposes the newest block that all three confirmed.
    assert_eq!(back.proposed(), Height::new(65_539));
    assert_eq!(branch.extend(2, 5).unwrap().proposed(), Height::new(65_539));
    // With a watermark elsewhere it confirms only what lies above.
    assert_eq!(branch.confirmable(2, Height::new(65_539)), 2);
    assert_eq!(branch.confirmable(2, Height::new(65_541)), 0);
    assert_eq!(branch.confirmable(2, Height::new(80_000)), 0);
}

#[test]
fn an_election_forgets_counts_and_keeps_the_word_of_those_who_stay() {
    let mut branch = Irreversibility::new(Height::GENESIS, 4);
    for place in [0, 1, 2, 3, 0, 1, 2, 3, 0] {
        branch = branch.extend(place, branch.confirmable(place, Height::GENESIS)).unwrap();
    }
    let (height, irreversible) = (branch.height(), branch.irreversible());
    let elected = branch.reelect([Some(3), None, Some(1), None]);
    assert_eq!((elected.height(), elected.irreversible()), (height, irreversible));
    assert_eq!(elected.confirmers()[0], branch.confirmers()[3]);
    assert_eq!(elected.confirmers()[1], Confirmer { last: irreversible, implied: irreversible });
    // Three of the new ones have to confirm a block of their own time.
    let one = elected.extend(1, elected.confirmable(1, Height::GENESIS)).unwrap();
    let two = one.extend(2, one.confirmable(2, Height::GENESIS)).unwrap();
    assert_eq!(two.proposed(), branch.proposed());
    let three = two.extend(3, two.confirmable(3, Height::GENESIS)).unwrap();
    assert_eq!(three.proposed(), height.next());
    // A set of laggards never takes anything back.
    assert!(three.irreversible() >= irreversible);
}

/// A branch that also judges by the rule that came before: a block is irreversible once two thirds of the producers built
/// upon it ("DPOS 2"), whatever they did on other branches.
#[derive(Clone)]
struct Both {
    ours: Irreversibility,
    naive: Vec<(Height, usize)>,
}

impl Both {
    fn new(producers: usize) -> Self {
        Self { ours: Irreversibility::new(Height::GENESIS, producers), naive: Vec::new() }
    }

    /// The next block, by `place`, whose watermark moves along.
    fn produce(&mut self, place: usize, watermarks: &mut [Height]) {
        let confirmed = self.ours.confirmable(place, watermarks[place]);
        self.ours = self.ours.extend(place, confirmed).unwrap();
        if confirmed > 0 {
            watermarks[place] = self.ours.height();
        }
        self.naive.push((self.ours.height(), place));
    }

    fn naive_irreversible(&self) -> Height {
        let needed = quorum(self.ours.confirmers().len());
        let is_built_upon = |height: &Height| {
            let above: std::collections::BTreeSet<_> =
                self.naive.iter().filter(|(above, _)| above >= height).map(|(_, place)| *place).collect();
            above.len() >= needed
        };
        self.naive.iter().map(|(height, _)| *height).filter(is_built_upon).max().unwrap_or_default()
    }
}

/// Producers 0 and 1 see fork A first, 2 and 3 fork B; then two of them change sides as the other fork becomes longer. By
/// the naive rule both forks are irreversible at height 1; by ours neither is.
#[test]
fn four_producers_on_two_forks_break_the_naive_rule_and_not_ours() {
    for script in [
        // Who produces on which fork, in the order of their slots.
        [(0, 'a'), (1, 'a'), (2, 'b'), (3, 'b'), (0, 'b'), (2, 'a')].as_slice(),
        &[(0, 'a'), (2, 'b'), (1, 'a'), (3, 'b'), (1, 'b'), (3, 'a')],
        &[(0, 'a'), (1, 'b'), (2, 'a'), (3, 'b'), (0, 'b'), (1, 'a'), (2, 'b'), (3, 'a')],
    ] {
        let (mut a, mut b, mut watermarks) = (Both::new(4), Both::new(4), vec![Height::GENESIS; 4]);
        for (place, fork) in script {
            if *fork == 'a' { a.produce(*place, &mut watermarks) } else { b.produce(*place, &mut watermarks) }
        }
        assert!(a.naive_irreversible() > Height::GENESIS && b.naive_irreversible() > Height::GENESIS, "{script:?}");
        let ours = (a.ours.irreversible(), b.ours.irreversible());
        assert_eq!(ours, (Height::GENESIS, Height::GENESIS), "{script:?}");
        let proposed = (a.ours.proposed(), b.ours.proposed());
        assert!(proposed.0 == Height::GENESIS || proposed.1 == Height::GENESIS, "{script:?}: {proposed:?}");
    }
}

/// All interleavings of two forks in which each producer takes its slots in order and is on either fork in each: with
/// watermarks no height ever has a quorum on both, without them some interleaving gives one to both.
#[test]
fn no_interleaving_proposes_one_height_on_both_forks_unless_watermarks_are_lost() {
    let mut conflicts = [0, 0];
    for (forgets, conflicts) in [false, true].into_iter().zip(&mut conflicts) {
        for choices in 0_u32..1 << 12 {
            let (mut a, mut b, mut watermarks) = (Both::new(4), Both::new(4), vec![Height::GENESIS; 4]);
            for slot in 0..12 {
                let fork = if choices >> slot & 1 == 0 { &mut a } else { &mut b };
                if forgets {
                    watermarks.fill(Height::GENESIS);
                }
                fork.produce(slot % 4, &mut watermarks);
            }
            *conflicts += u32::from(a.ours.irreversible().min(b.ours.irreversible()) > Height::GENESIS);
            if !forgets {
                assert!(a.ours.proposed() != b.ours.proposed() || a.ours.proposed() == Height::GENESIS);
            }
        }
    }
    assert_eq!(conflicts[0], 0, "both forks are irreversible above their common root");
    assert!(conflicts[1] > 0, "lost watermarks were expected to do harm");
}
