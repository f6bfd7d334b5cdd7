//! Known attacks on Gasper, and their outcome.
//!
//! An attacker is a Byzantine validator: its messages are withheld, or it is silent and messages signed with its key are
//! injected.

use std::collections::BTreeSet;

use super::{
    ScenarioError, ScenarioRunner, config,
    duties::{address, all_but, cast, duties, into_slot, is_head_of, named, second_block, vote_for, vote_of},
    finalized, ms, pos, until_final,
};
use crate::{
    consensus::{
        BlockId, ConsensusMessage,
        pos::{Pos, SlashingCondition},
    },
    sim::faults::plan::{Behaviour, LinkEffect},
};

/// The proposer of a slot withholds its block, and a vote for it of one of that slot's attesters, and sends both once the next
/// slot's block has arrived and before the votes of that slot.
pub(super) fn ex_ante(runner: &mut ScenarioRunner<'_>) -> Result<String, ScenarioError> {
    let (first, (attacker, helper)) = cast(runner, |runner, first| {
        let (held, next) = (duties(runner, first + 1)?, duties(runner, first + 2)?);
        let is_apart = held.proposer != next.proposer && !held.committee.contains(&held.proposer);
        let helper = held.committee.into_iter().find(|who| *who != next.proposer)?;
        is_apart.then_some((held.proposer, helper))
    })?;
    let (held, boost) = (first + 1, config(runner).boost_percent);
    runner.begin_window();
    let everybody = all_but(runner, &[]);
    let honest = all_but(runner, &[attacker, helper]);
    runner.mark_byzantine(attacker)?;
    runner.mark_byzantine(helper)?;
    let kept_block = runner.link(&["block"], &[attacker], &honest, LinkEffect::Clog)?;
    let kept_vote = runner.link(&["vote"], &[helper], &[], LinkEffect::Clog)?;
    into_slot(runner, held, ms(1_500))?;
    let late = runner.head(attacker);
    let made = pos(runner, attacker).and_then(Pos::head_state).map(|state| state.slot);
    runner.ensure(made == Some(held) && is_head_of(runner, &[helper], late), "a block that only the helper knows")?;
    into_slot(runner, held + 1, ms(250))?;
    let timely = runner.head(honest[0]);
    runner.ensure(timely.height == late.height && timely != late, "the next slot's block beside the one kept back")?;
    runner.ensure(is_head_of(runner, &honest, timely), "the next slot's block in time")?;
    runner.note("the next block is there: the one kept back is shown, with its vote");
    runner.end(kept_block)?;
    runner.end(kept_vote)?;
    runner.run_for(ms(1_000))?;
    let winner = if boost > 0 { timely } else { late };
    let what = if boost > 0 { "the timely block stays the head" } else { "the block kept back is the head" };
    runner.ensure(is_head_of(runner, &honest, winner), what)?;
    into_slot(runner, held + 2, ms(1_000))?;
    runner.end_window();
    until_final(runner, &everybody, winner.height.get())?;
    let chosen = runner.replica(0).chain().hash_at(winner.height).ok();
    runner.ensure(chosen == Some(winner.hash), format!("the same block final at height {}", winner.height))?;
    let height = winner.height;
    Ok(match boost {
        0 => format!("without boost one vote kept back took the next slot's block away, for good, at height {height}"),
        _ => {
            format!("a boost of {boost} % outweighed the vote kept back: the timely block is final at height {height}")
        }
    })
}

/// An equivocating proposer, a validator that votes for both of its blocks, and two silent ones keep the others split in equal halves.
pub(super) fn balancing(runner: &mut ScenarioRunner<'_>) -> Result<String, ScenarioError> {
    let (first, cast) = cast(runner, Cast::find)?;
    let Cast { proposer, skipper, swayer, silent, left, right, next } = cast;
    let byzantine = [proposer, skipper, swayer, silent];
    let honest = all_but(runner, &byzantine);
    let forked = first + 1;
    runner.begin_window();
    runner.mark_byzantine(proposer)?;
    for faulty in [skipper, swayer, silent] {
        runner.misbehave(faulty, Behaviour::Silent)?;
    }
    let apart = runner.link(&["block"], &[proposer], &right, LinkEffect::Loss { per_mille: 1_000 })?;
    into_slot(runner, forked, ms(100))?;
    runner.end(apart)?;
    let one = runner.head(proposer);
    let Some(other) = second_block(runner, proposer, one) else { return Err(runner.not_shown("a second block")) };
    runner.inject(proposer, &right, &ConsensusMessage::Block(other.clone()))?;
    let other = BlockId::of(&other);
    runner.run_for(ms(100))?;
    runner
        .ensure(is_head_of(runner, &left, one) && is_head_of(runner, &right, other), "two halves with a block each")?;
    runner.run_for(ms(1_200))?;
    // One member of the slot's committee voted on each side. The swayer votes with each side.
    let like = left.iter().find_map(|number| vote_of(runner, *number, *number, forked));
    let Some(like) = like else { return Err(runner.not_shown("a vote in the slot")) };
    vote_for(runner, swayer, like, one, &left)?;
    vote_for(runner, swayer, like, other, &right)?;
    let is_balanced = |runner: &ScenarioRunner<'_>| is_head_of(runner, &left, one) && is_head_of(runner, &right, other);
    into_slot(runner, forked + 1, ms(900))?;
    runner.ensure(is_balanced(runner), "the halves apart when the next slot's votes are given")?;
    runner.run_for(ms(900))?;
    runner.ensure(is_balanced(runner), "the halves apart until that slot's end")?;
    let offender = (address(runner, proposer), SlashingCondition::DoubleProposal);
    runner.ensure(named(runner, &honest) == [offender].into(), "the proposer named, and nobody else yet")?;
    into_slot(runner, forked + 2, ms(300))?;
    let tipped = runner.head(next);
    let is_new = tipped != one && tipped != other;
    runner.ensure(is_new && is_head_of(runner, &honest, tipped), "everybody on the next timely block")?;
    // With the withheld votes, the swayer's two votes are in conflict.
    runner.run_for(ms(1_000))?;
    runner.end_window();
    let want = [offender, (address(runner, swayer), SlashingCondition::DoubleVote)];
    runner.ensure(named(runner, &honest) == want.into(), "the proposer and the swayer named, and nobody else")?;
    until_final(runner, &honest, tipped.height.get())?;
    Ok(format!(
        "{} and {} replicas stayed apart for a slot; the next block gathered all and is final at height {}; two are named",
        left.len(),
        right.len(),
        tipped.height
    ))
}

/// Roles of the validators in [`balancing`].
struct Cast {
    /// Proposes two blocks.
    proposer: u32,
    /// Proposes no block in the next slot.
    skipper: u32,
    /// Votes twice.
    swayer: u32,
    /// Never votes.
    silent: u32,
    /// Honest; receives the first block.
    left: Vec<u32>,
    /// Honest; receives the second block.
    right: Vec<u32>,
    /// Proposes the block that ends the balance.
    next: u32,
}

impl Cast {
    /// Assigns the roles for an epoch that begins with slot `first`.
    fn find(runner: &ScenarioRunner<'_>, first: u64) -> Option<Self> {
        let [forked, skipped, next] = [1, 2, 3].map(|place| duties(runner, first + place));
        let (forked, skipped, next) = (forked?, skipped?, next?.proposer);
        let (proposer, skipper) = (forked.proposer, skipped.proposer);
        let voters = || forked.committee.iter().chain(&skipped.committee).copied();
        if proposer == skipper || voters().any(|who| who == proposer || who == skipper) {
            return None;
        }
        let mut honest_next = forked.committee.clone();
        honest_next.sort_by_key(|who| *who == next);
        let [swayer, silent, one, other] = honest_next[..] else { return None };
        if [proposer, skipper, swayer, silent].contains(&next) {
            return None;
        }
        // Equally many voters on each side; all others alternate.
        let (mut left, mut right) = (vec![one], vec![other]);
        let byzantine = [proposer, skipper, swayer, silent];
        let rest = (0..runner.count()).filter(|who| !byzantine.contains(who) && !voters().any(|voter| voter == *who));
        for (place, who) in skipped.committee.iter().copied().chain(rest).enumerate() {
            if place % 2 == 0 { left.push(who) } else { right.push(who) }
        }
        Some(Self { proposer, skipper, swayer, silent, left, right, next })
    }
}

/// The last block of an epoch holds the votes that justify it; it is sent in the middle of the next epoch.
pub(super) fn withheld_justification(runner: &mut ScenarioRunner<'_>) -> Result<String, ScenarioError> {
    let (first, attacker) = cast(runner, |runner, first| {
        let last = first + config(runner).slots_per_epoch - 1;
        let attacker = duties(runner, last)?.proposer;
        let after = pos(runner, 0)?.head_state()?.look_ahead(&config(runner));
        let proposes = |slot| after.proposer(&config(runner), slot) == Some(address(runner, attacker));
        let is_alone = !(last - 2..last).any(|slot| duties(runner, slot).is_some_and(|one| one.proposer == attacker));
        // The first epoch is never justified by its own votes.
        (is_alone && config(runner).epoch_of(first) > 1 && !(last + 1..=last + 3).any(proposes)).then_some(attacker)
    })?;
    let last = first + config(runner).slots_per_epoch - 1;
    let honest = all_but(runner, &[attacker]);
    runner.mark_byzantine(attacker)?;
    into_slot(runner, last - 1, ms(1_500))?;
    runner.begin_window();
    let kept = runner.link(&[], &[attacker], &[], LinkEffect::Clog)?;
    into_slot(runner, last, ms(300))?;
    let justified = |runner: &ScenarioRunner<'_>, number: u32| {
        let state = pos(runner, number).and_then(Pos::head_state);
        state.map_or(0, |state| state.unrealized().justified.epoch)
    };
    let (kept_block, epoch) = (runner.head(attacker), config(runner).epoch_of(last));
    let best = honest.iter().map(|number| justified(runner, *number)).max().unwrap_or_default();
    runner.ensure(
        justified(runner, attacker) == epoch && best < epoch,
        "a block that would justify its epoch, kept back",
    )?;
    into_slot(runner, last + 2, ms(1_300))?;
    runner.ensure(!is_head_of(runner, &honest[..1], kept_block), "the others go on without it")?;
    let reorgs = |runner: &ScenarioRunner<'_>| {
        honest.iter().map(|number| runner.replica(*number).counters().reorgs).sum::<u64>()
    };
    let (moved, epochs) = (reorgs(runner), final_epochs(runner, &honest));
    runner.note("the block kept back is shown");
    runner.end(kept)?;
    runner.run_for(ms(500))?;
    let knows = |number: &u32| runner.replica(*number).chain().block(kept_block.hash).is_ok();
    runner.ensure(honest.iter().all(knows), "the block kept back at every replica")?;
    runner.ensure(reorgs(runner) == moved, "no reorg")?;
    into_slot(runner, last + 4, ms(0))?;
    runner.end_window();
    runner.ensure(reorgs(runner) == moved, "no reorg in the slots after it")?;
    runner.run_until(ms(120_000), "two more epochs final everywhere", |runner| {
        final_epochs(runner, &honest).iter().zip(&epochs).all(|(now, before)| *now >= before + 2)
    })?;
    runner.ensure(named(runner, &honest).is_empty(), "nobody named")?;
    let gone = runner.replica(honest[0]).chain().hash_at(kept_block.height).ok() != Some(kept_block.hash);
    runner.ensure(gone, "a chain without it")?;
    let now = final_epochs(runner, &honest).into_iter().min().unwrap_or_default();
    Ok(format!(
        "it would have justified epoch {epoch}; shown two slots late it moved no head, and epoch {now} is final"
    ))
}

fn final_epochs(runner: &ScenarioRunner<'_>, numbers: &[u32]) -> Vec<u64> {
    numbers.iter().map(|number| pos(runner, *number).map_or(0, |pos| pos.finalized().epoch)).collect()
}

/// One validator proposes two blocks in its slot, another votes for both.
pub(super) fn nothing_at_stake(runner: &mut ScenarioRunner<'_>) -> Result<String, ScenarioError> {
    let (first, (proposer, voter)) = cast(runner, |runner, first| {
        let forked = duties(runner, first + 1)?;
        let voter = forked.committee.into_iter().find(|who| *who != forked.proposer)?;
        Some((forked.proposer, voter))
    })?;
    let forked = first + 1;
    let honest = all_but(runner, &[proposer, voter]);
    let set_len = |runner: &ScenarioRunner<'_>| {
        pos(runner, honest[0]).and_then(Pos::head_state).map_or(0, |s| s.current.set().len())
    };
    let members = set_len(runner);
    runner.begin_window();
    runner.mark_byzantine(voter)?;
    let twice = runner.misbehave(proposer, Behaviour::Equivocate)?;
    into_slot(runner, forked, ms(300))?;
    runner.end(twice)?;
    runner.run_for(ms(1_000))?;
    let mut blocks = BTreeSet::new();
    for number in 0..runner.count() {
        let of_slot = pos(runner, number).map(Pos::fork_choice);
        blocks.extend(
            of_slot
                .into_iter()
                .flat_map(|choice| choice.blocks())
                .filter(|one| one.slot == forked)
                .map(|one| one.block),
        );
    }
    runner.ensure(blocks.len() == 2, "two blocks in one slot")?;
    let own = vote_of(runner, voter, voter, forked);
    let Some(own) = own else { return Err(runner.not_shown("a vote in that slot")) };
    let other = blocks.into_iter().find(|block| *block != own.head).unwrap_or_default();
    runner.note("the other block gets the same validator's vote");
    vote_for(runner, voter, own, other, &honest)?;
    runner.run_for(ms(2_500))?;
    runner.end_window();
    let want = [
        (address(runner, proposer), SlashingCondition::DoubleProposal),
        (address(runner, voter), SlashingCondition::DoubleVote),
    ];
    runner.ensure(named(runner, &honest) == want.into(), "those two named, and nobody else")?;
    runner.run_until(ms(120_000), "both slashed and out of the set", |runner| {
        honest.iter().all(|number| {
            let state = pos(runner, *number).and_then(Pos::head_state);
            state.is_some_and(|state| {
                let set = state.current.set();
                set.len() + 2 == members && want.iter().all(|(who, _)| state.is_slashed(who) && !set.contains(who))
            })
        })
    })?;
    let goal = runner.head(honest[0]).height.get();
    until_final(runner, &honest, goal)?;
    let final_height = finalized(runner, honest[0]);
    Ok(format!(
        "a proposer and a voter are named, slashed and out; the other {} finalise height {final_height}",
        members - 2
    ))
}
