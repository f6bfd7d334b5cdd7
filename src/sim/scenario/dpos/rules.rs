//! Rules of irreversibility without a network: two forks, and the count of confirmations.

use std::collections::BTreeSet;

use super::ScenarioError;
use crate::{
    consensus::dpos::{CONFIRMED_MAX, ConfirmError, FinalityRule, Irreversibility, SafetyState, quorum},
    primitives::Height,
};

/// Slots of one order of [`two_forks`], each on one of the two forks.
const SLOTS: u32 = 12;
const PRODUCERS: usize = 4;

/// A branch that also applies the previous rule: a block is irreversible once two thirds of the producers built
/// upon it ("DPOS 2"), whatever they did on other branches.
struct Both {
    ours: Irreversibility,
    naive: Vec<(Height, usize)>,
}

impl Both {
    fn new() -> Self {
        Self { ours: Irreversibility::new(FinalityRule::Locked, Height::GENESIS, PRODUCERS), naive: Vec::new() }
    }

    /// Adds the next block, by `place`, with the vote that its safety state allows.
    fn produce(&mut self, place: usize, states: &mut [SafetyState; PRODUCERS]) -> Result<(), ConfirmError> {
        let vote = states[place].vote(place, &self.ours, 0).ok();
        self.ours = self.ours.extend(place, vote.map_or(0, |vote| vote.confirmed), None)?;
        states[place] = states[place].after(0, None, self.ours.height(), vote);
        self.naive.push((self.ours.height(), place));
        Ok(())
    }

    fn naive_irreversible(&self) -> Height {
        let is_built_upon = |height: &Height| {
            let above = self.naive.iter().filter(|(above, _)| above >= height);
            above.map(|(_, place)| *place).collect::<BTreeSet<_>>().len() >= quorum(PRODUCERS)
        };
        self.naive.iter().map(|(height, _)| *height).filter(is_built_upon).max().unwrap_or_default()
    }
}

fn refused(error: ConfirmError) -> ScenarioError {
    ScenarioError::Rules { what: error.to_string() }
}

fn ensure(condition: bool, what: impl Into<String>) -> Result<(), ScenarioError> {
    if condition { Ok(()) } else { Err(ScenarioError::Rules { what: what.into() }) }
}

/// Counts, over every order in which four producers, each in its slots, build on either of two forks, how many make a block irreversible on both
/// forks, by the naive rule and by the current one.
fn orders(keeps_states: bool) -> Result<(u32, u32), ScenarioError> {
    let (mut naive, mut ours) = (0, 0);
    for choices in 0_u32..1 << SLOTS {
        let (mut a, mut b, mut states) = (Both::new(), Both::new(), [SafetyState::default(); PRODUCERS]);
        for slot in 0..SLOTS {
            if !keeps_states {
                states.fill(SafetyState::default());
            }
            let fork = if choices >> slot & 1 == 0 { &mut a } else { &mut b };
            fork.produce(slot as usize % PRODUCERS, &mut states).map_err(refused)?;
        }
        naive += u32::from(a.naive_irreversible().min(b.naive_irreversible()) > Height::GENESIS);
        ours += u32::from(a.ours.irreversible().min(b.ours.irreversible()) > Height::GENESIS);
        if keeps_states {
            let prepared = (a.ours.prepared(), b.ours.prepared());
            ensure(prepared.0 != prepared.1 || prepared.0 == Height::GENESIS, "no height prepared on both forks")?;
        }
    }
    Ok((naive, ours))
}

pub(super) fn two_forks() -> Result<String, ScenarioError> {
    let (naive, ours) = orders(true)?;
    let (_, forgetful) = orders(false)?;
    ensure(naive > 0, "orders that break the naive rule")?;
    ensure(ours == 0, "no order that breaks this rule")?;
    ensure(forgetful > 0, "orders that break this rule once safety states are lost")?;
    Ok(format!(
        "of {} orders of {SLOTS} slots, {naive} make both forks irreversible by the naive rule, none by this one, \
         {forgetful} when safety states are lost",
        1_u32 << SLOTS
    ))
}

/// After re-election a producer has confirmed nothing for longer than the nonce can express. A count that wraps would
/// confirm 4 blocks of 4,100 and appear to have confirmed the rest before.
pub(super) fn count_wrap() -> Result<String, ScenarioError> {
    const BLOCKS: u64 = 4_100;
    let mut branch = Irreversibility::new(FinalityRule::Locked, Height::GENESIS, PRODUCERS);
    for block in 0..BLOCKS {
        // Two of four: nothing becomes irreversible in between.
        let place = block as usize % 2;
        branch = branch.extend(place, branch.confirmable(place, Height::GENESIS), None).map_err(refused)?;
    }
    ensure(branch.irreversible() == Height::GENESIS, "nothing irreversible while two are away")?;
    let count = branch.confirmable(2, Height::GENESIS);
    ensure(count == CONFIRMED_MAX, "the largest count, which has not wrapped")?;
    let back = branch.extend(2, count, None).map_err(refused)?;
    ensure(back.prepared() == Height::new(BLOCKS - 1), "the newest block that all three confirmed prepared")?;
    // A watermark on another branch still bounds it.
    ensure(branch.confirmable(2, Height::new(BLOCKS - 1)) == 2, "only what lies above the watermark confirmed")?;
    ensure(branch.confirmable(2, Height::new(BLOCKS + 1)) == 0, "nothing confirmed below the watermark")?;
    Ok(format!(
        "after {BLOCKS} blocks away it confirms {count}; with its confirmation block {} is prepared",
        back.prepared()
    ))
}
