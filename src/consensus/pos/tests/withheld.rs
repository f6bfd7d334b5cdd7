//! What justifies a checkpoint is shown to a replica alone that neither proposes nor votes.

use super::lab::{Lab, config};
use crate::consensus::mutation::{self, Mutation};

/// Sends what it proposes, and what it votes, to the observer alone, once it has the others' votes.
const LIAR: usize = 3;
/// Follows, and has no stake.
const OBSERVER: usize = 4;

/// The votes of an epoch reach the liar alone, whose block with them reaches the observer alone. Then one of the others is away, so that those
/// left justify nothing for a while.
fn run() -> Lab {
    let mut lab = Lab::with_extra(4, 1, config());
    // The first block of the epoch reaches everybody.
    lab.run(4 * 8);
    let others: Vec<usize> = (0..LIAR).collect();
    for from in 0..4 {
        lab.cut.extend(others.iter().filter(|to| **to != from).map(|to| (from, *to)));
        if from != LIAR {
            lab.cut.insert((from, OBSERVER));
        }
    }
    lab.run(4 * 3);
    let justified = |lab: &Lab, replica: usize| lab.replica(replica).tree.justified.epoch;
    let withheld = justified(&lab, OBSERVER);
    assert!(others.iter().all(|other| justified(&lab, *other) < withheld), "the liar's block justifies for one alone");
    lab.cut.retain(|(from, to)| *from == LIAR && *to != OBSERVER);
    lab.pause(2);
    lab.run(4 * 12);
    lab
}

/// Whether all who are there have one head.
fn is_one(lab: &Lab) -> bool {
    let heads = lab.heads();
    heads[0] == heads[1] && heads[0] == heads[OBSERVER]
}

#[test]
fn whoever_alone_has_what_justifies_shows_it() {
    let lab = run();
    assert!(lab.mark("pos/show-head") > 0);
    assert!(is_one(&lab));
    assert!(!is_one(&mutation::with(Mutation::PosShowsNoHead, run)));
}
