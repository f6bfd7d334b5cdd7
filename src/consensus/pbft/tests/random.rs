//! Many random schedules: loss, reordering, timeouts, restarts and one Byzantine replica; once the faults end, blocks must be committed again.

use super::lab::Lab;
use crate::consensus::pbft::{BUILD_TIMER, Body, InView, RESEND_TIMER, SUSPECT_TIMER, View, ViewChange};

/// SplitMix64.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }
}

/// Returns one of the false messages that a validator can sign with its key.
fn lie(lab: &mut Lab, dice: &mut Dice, byzantine: usize) {
    let to = dice.below(lab.nodes.len());
    let victim = lab.replica(to).clone();
    let view = View::new(victim.view().get() + dice.below(2) as u64);
    let (low, _) = victim.watermarks();
    let height = crate::primitives::Height::new(low.get() + 1 + dice.below(8) as u64);
    let known = lab.nodes[to].blocks.values().find(|block| block.height() == height).map(|block| block.hash());
    let block = crate::consensus::BlockId { height, hash: known.unwrap_or_default() };
    let message = match dice.below(5) {
        0 => lab.signed(byzantine, Body::Prepare { view, block }),
        1 => lab.signed(byzantine, Body::Commit { view, block }),
        2 => {
            let parent = lab.canonical(to, lab.heights()[to]);
            lab.proposal(&parent, byzantine, view.get()).1
        }
        3 => lab.signed(byzantine, Body::Checkpoint { block }),
        _ => {
            // It omits what it prepared, or claims what it did not prepare.
            let stable = victim.stable_checkpoint();
            let entry = InView { block, view: View::new(0) };
            let prepared = if dice.below(2) == 0 { vec![] } else { vec![entry] };
            let (since, view) = (victim.transition.since(), view.next());
            let pre_prepared = prepared.clone();
            lab.signed(
                byzantine,
                Body::ViewChange(ViewChange { since, view, stable, checkpoints: vec![stable], prepared, pre_prepared }),
            )
        }
    };
    lab.inject(byzantine, to, message);
}

fn run(seed: u64) -> (u64, [u64; MARKS.len()]) {
    let mut dice = Dice(seed);
    let count = 4 + 3 * dice.below(2);
    let mut lab = Lab::new(count);
    let byzantine = (dice.below(2) == 0).then(|| dice.below(count));
    if let Some(byzantine) = byzantine {
        lab.nodes[byzantine].is_faulty = true;
    }
    let loss = dice.below(15);
    for _ in 0..1_500 {
        let who = dice.below(count);
        match dice.below(60) {
            0 => lab.fire(who, SUSPECT_TIMER),
            1..=3 => lab.fire(who, RESEND_TIMER),
            4..=8 => (0..count).for_each(|index| lab.fire(index, BUILD_TIMER)),
            9 if dice.below(4) == 0 => lab.restart(who),
            10 if dice.below(3) == 0 => {
                let is_only_one = (0..count).all(|index| !lab.is_isolated(index));
                if is_only_one { lab.isolate(who) } else { lab.reconnect(who) }
            }
            11..=14 => {
                if let Some(byzantine) = byzantine {
                    lie(&mut lab, &mut dice, byzantine);
                }
            }
            _ if lab.queue.is_empty() => {}
            _ => {
                let place = dice.below(lab.queue.len().min(40));
                if dice.below(100) < loss {
                    lab.queue.remove(place);
                } else {
                    lab.deliver_at(place);
                }
            }
        }
        assert_eq!(lab.violations, [], "seed {seed}");
    }
    // The faults end: every honest replica is linked, and time passes.
    lab.heal();
    if let Some(byzantine) = byzantine {
        lab.isolate(byzantine);
    }
    lab.settle();
    let honest: Vec<_> = (0..count).filter(|index| Some(*index) != byzantine).collect();
    let before = honest.iter().map(|index| lab.heights()[*index]).max().unwrap();
    for _ in 0..4 * count {
        let lowest = |lab: &Lab| honest.iter().map(|index| lab.heights()[*index]).min();
        let at_first = lowest(&lab);
        for _ in 0..4 {
            honest.iter().for_each(|index| lab.fire(*index, RESEND_TIMER));
            lab.settle();
            lab.produce();
        }
        if honest.iter().all(|index| lab.heights()[*index] >= before + 5) {
            break;
        }
        if lowest(&lab) == at_first {
            lab.suspect();
        }
    }
    assert_eq!(lab.violations, [], "seed {seed}");
    let heights = lab.heights();
    let is_live = honest.iter().all(|index| heights[*index] >= before + 5);
    assert!(is_live, "seed {seed}: {heights:?} after {before}, views {:?}", lab.views());
    (*heights.iter().max().unwrap(), MARKS.map(|mark| lab.mark(mark)))
}

#[test]
fn random_schedules_are_safe_and_live_once_faults_end() {
    let (mut blocks, mut passed) = (0, [0; MARKS.len()]);
    for seed in 0..200 {
        let (height, marks) = run(seed);
        blocks += height;
        passed.iter_mut().zip(marks).for_each(|(sum, count)| *sum += count);
    }
    assert!(blocks > 1_500 && passed[0] > 300, "{blocks} blocks, {} new views", passed[0]);
    for (mark, count) in MARKS.into_iter().zip(passed) {
        assert!(count > 0, "{mark} was never passed");
    }
}

/// Coverage marks that the random schedules must pass together.
const MARKS: [&str; 3] = ["pbft/new-view", "pbft/primary-behind", "pbft/undecided-view"];
