//! Known attacks on Gasper, and what becomes of them.
//!
//! Whoever attacks is a validator whose machine is held: its messages are kept back, or it says nothing itself and others hear
//! what its key signs.

use std::collections::BTreeSet;

use super::{
    ScenarioError, Stage, config,
    duties::{address, all_but, cast, duties, into_slot, is_head_of, named, second_block, vote_for, vote_of},
    finalized, pos, until_final,
};
use crate::{
    consensus::{
        BlockId, Message,
        pos::{OffenceKind, Pos},
    },
    sim::faults::plan::{Behaviour, LinkEffect},
};

/// The proposer of a slot keeps its block back, and a vote for it of one of that slot's attesters, and shows both once the next
/// slot's block is there and before anybody votes in that slot.
pub(super) fn ex_ante(stage: &mut Stage<'_>) -> Result<String, ScenarioError> {
    let (first, (attacker, helper)) = cast(stage, |stage, first| {
        let (held, next) = (duties(stage, first + 1)?, duties(stage, first + 2)?);
        let is_apart = held.proposer != next.proposer && !held.committee.contains(&held.proposer);
        let helper = held.committee.into_iter().find(|who| *who != next.proposer)?;
        is_apart.then_some((held.proposer, helper))
    })?;
    let (held, boost) = (first + 1, config(stage).boost_percent);
    stage.show_from_here();
    let everybody = all_but(stage, &[]);
    let honest = all_but(stage, &[attacker, helper]);
    stage.hold(attacker)?;
    stage.hold(helper)?;
    let kept_block = stage.link(&["block"], &[attacker], &honest, LinkEffect::Clog)?;
    let kept_vote = stage.link(&["vote"], &[helper], &[], LinkEffect::Clog)?;
    into_slot(stage, held, 1_500)?;
    let late = stage.head(attacker);
    let made = pos(stage, attacker).and_then(Pos::head_state).map(|state| state.slot);
    stage.must(made == Some(held) && is_head_of(stage, &[helper], late), "a block that only the helper knows")?;
    into_slot(stage, held + 1, 250)?;
    let timely = stage.head(honest[0]);
    stage.must(timely.height == late.height && timely != late, "the next slot's block beside the one kept back")?;
    stage.must(is_head_of(stage, &honest, timely), "the next slot's block in time")?;
    stage.note("the next block is there: the one kept back is shown, with its vote");
    stage.end(kept_block)?;
    stage.end(kept_vote)?;
    stage.run_ms(1_000)?;
    let winner = if boost > 0 { timely } else { late };
    let what = if boost > 0 { "the timely block stays the head" } else { "the block kept back is the head" };
    stage.must(is_head_of(stage, &honest, winner), what)?;
    into_slot(stage, held + 2, 1_000)?;
    stage.show_until_here();
    until_final(stage, &everybody, winner.height.get())?;
    let chosen = stage.replica(0).chain().hash_at(winner.height).ok();
    stage.must(chosen == Some(winner.hash), format!("the same block final at height {}", winner.height))?;
    let height = winner.height;
    Ok(match boost {
        0 => format!("without boost one vote kept back took the next slot's block away, for good, at height {height}"),
        _ => {
            format!("a boost of {boost} % outweighed the vote kept back: the timely block is final at height {height}")
        }
    })
}

/// An equivocating proposer, one who votes for both of its blocks, and two who are silent keep the others apart in equal halves.
pub(super) fn balancing(stage: &mut Stage<'_>) -> Result<String, ScenarioError> {
    let (first, cast) = cast(stage, Cast::find)?;
    let Cast { proposer, skipper, swayer, silent, left, right, next } = cast;
    let liars = [proposer, skipper, swayer, silent];
    let honest = all_but(stage, &liars);
    let forked = first + 1;
    stage.show_from_here();
    stage.hold(proposer)?;
    for liar in [skipper, swayer, silent] {
        stage.misbehave(liar, Behaviour::Silent)?;
    }
    let apart = stage.link(&["block"], &[proposer], &right, LinkEffect::Loss { per_mille: 1_000 })?;
    into_slot(stage, forked, 100)?;
    stage.end(apart)?;
    let one = stage.head(proposer);
    let Some(other) = second_block(stage, proposer, one) else { return Err(stage.not_shown("a second block")) };
    stage.inject(proposer, &right, &Message::Block(other.clone()))?;
    let other = BlockId::of(&other);
    stage.run_ms(100)?;
    stage.must(is_head_of(stage, &left, one) && is_head_of(stage, &right, other), "two halves with a block each")?;
    stage.run_ms(1_200)?;
    // One of the slot's committee voted on each side. The swayer votes with each side it speaks to.
    let like = left.iter().find_map(|number| vote_of(stage, *number, *number, forked));
    let Some(like) = like else { return Err(stage.not_shown("a vote in the slot")) };
    vote_for(stage, swayer, like, one, &left)?;
    vote_for(stage, swayer, like, other, &right)?;
    let is_balanced = |stage: &Stage<'_>| is_head_of(stage, &left, one) && is_head_of(stage, &right, other);
    into_slot(stage, forked + 1, 900)?;
    stage.must(is_balanced(stage), "the halves apart when the next slot's votes are given")?;
    stage.run_ms(900)?;
    stage.must(is_balanced(stage), "the halves apart until that slot's end")?;
    let liar = (address(stage, proposer), OffenceKind::DoubleProposal);
    stage.must(named(stage, &honest) == [liar].into(), "the proposer named, and nobody else yet")?;
    into_slot(stage, forked + 2, 300)?;
    let tipped = stage.head(next);
    let is_new = tipped != one && tipped != other;
    stage.must(is_new && is_head_of(stage, &honest, tipped), "everybody on the next timely block")?;
    // With the votes that it holds, the swayer's two meet.
    stage.run_ms(1_000)?;
    stage.show_until_here();
    let want = [liar, (address(stage, swayer), OffenceKind::DoubleVote)];
    stage.must(named(stage, &honest) == want.into(), "the proposer and the swayer named, and nobody else")?;
    until_final(stage, &honest, tipped.height.get())?;
    Ok(format!(
        "{} and {} replicas stayed apart for a slot; the next block gathered all and is final at height {}; two are named",
        left.len(),
        right.len(),
        tipped.height
    ))
}

/// Who plays what in [`balancing`].
struct Cast {
    /// Makes two blocks.
    proposer: u32,
    /// Makes no block in the slot after.
    skipper: u32,
    /// Votes twice.
    swayer: u32,
    /// Does not vote at all.
    silent: u32,
    /// Honest, and shown the first block.
    left: Vec<u32>,
    /// Honest, and shown the second.
    right: Vec<u32>,
    /// Makes the block that tips the balance.
    next: u32,
}

impl Cast {
    /// For an epoch that begins with slot `first`.
    fn find(stage: &Stage<'_>, first: u64) -> Option<Self> {
        let [forked, skipped, next] = [1, 2, 3].map(|place| duties(stage, first + place));
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
        // As many voters on each side; everybody else in turn.
        let (mut left, mut right) = (vec![one], vec![other]);
        let liars = [proposer, skipper, swayer, silent];
        let rest = (0..stage.count()).filter(|who| !liars.contains(who) && !voters().any(|voter| voter == *who));
        for (place, who) in skipped.committee.iter().copied().chain(rest).enumerate() {
            if place % 2 == 0 { left.push(who) } else { right.push(who) }
        }
        Some(Self { proposer, skipper, swayer, silent, left, right, next })
    }
}

/// The last block of an epoch holds the votes that justify it; it is shown in the middle of the next one.
pub(super) fn withheld_justification(stage: &mut Stage<'_>) -> Result<String, ScenarioError> {
    let (first, attacker) = cast(stage, |stage, first| {
        let last = first + config(stage).slots_per_epoch - 1;
        let attacker = duties(stage, last)?.proposer;
        let after = pos(stage, 0)?.head_state()?.look_ahead(&config(stage));
        let proposes = |slot| after.proposer(&config(stage), slot) == Some(address(stage, attacker));
        let is_alone = !(last - 2..last).any(|slot| duties(stage, slot).is_some_and(|one| one.proposer == attacker));
        // The first epoch is never justified by its own votes.
        (is_alone && config(stage).epoch_of(first) > 1 && !(last + 1..=last + 3).any(proposes)).then_some(attacker)
    })?;
    let last = first + config(stage).slots_per_epoch - 1;
    let honest = all_but(stage, &[attacker]);
    stage.hold(attacker)?;
    into_slot(stage, last - 1, 1_500)?;
    stage.show_from_here();
    let kept = stage.link(&[], &[attacker], &[], LinkEffect::Clog)?;
    into_slot(stage, last, 300)?;
    let justified = |stage: &Stage<'_>, number: u32| {
        let state = pos(stage, number).and_then(Pos::head_state);
        state.map_or(0, |state| state.unrealized().justified.epoch)
    };
    let (kept_block, epoch) = (stage.head(attacker), config(stage).epoch_of(last));
    let best = honest.iter().map(|number| justified(stage, *number)).max().unwrap_or_default();
    stage
        .must(justified(stage, attacker) == epoch && best < epoch, "a block that would justify its epoch, kept back")?;
    into_slot(stage, last + 2, 1_300)?;
    stage.must(!is_head_of(stage, &honest[..1], kept_block), "the others go on without it")?;
    let reorgs = |stage: &Stage<'_>| honest.iter().map(|number| stage.replica(*number).counters().reorgs).sum::<u64>();
    let (moved, epochs) = (reorgs(stage), final_epochs(stage, &honest));
    stage.note("the block kept back is shown");
    stage.end(kept)?;
    stage.run_ms(500)?;
    let knows = |number: &u32| stage.replica(*number).chain().block(kept_block.hash).is_ok();
    stage.must(honest.iter().all(knows), "the block kept back at every replica")?;
    stage.must(reorgs(stage) == moved, "no reorg")?;
    into_slot(stage, last + 4, 0)?;
    stage.show_until_here();
    stage.must(reorgs(stage) == moved, "no reorg in the slots after it")?;
    stage.run_until(120_000, "two more epochs final everywhere", |stage| {
        final_epochs(stage, &honest).iter().zip(&epochs).all(|(now, before)| *now >= before + 2)
    })?;
    stage.must(named(stage, &honest).is_empty(), "nobody named")?;
    let gone = stage.replica(honest[0]).chain().hash_at(kept_block.height).ok() != Some(kept_block.hash);
    stage.must(gone, "a chain without it")?;
    let now = final_epochs(stage, &honest).into_iter().min().unwrap_or_default();
    Ok(format!(
        "it would have justified epoch {epoch}; shown two slots late it moved no head, and epoch {now} is final"
    ))
}

fn final_epochs(stage: &Stage<'_>, numbers: &[u32]) -> Vec<u64> {
    numbers.iter().map(|number| pos(stage, *number).map_or(0, |pos| pos.finalized().epoch)).collect()
}

/// One makes two blocks in its slot, another votes for both.
pub(super) fn nothing_at_stake(stage: &mut Stage<'_>) -> Result<String, ScenarioError> {
    let (first, (proposer, voter)) = cast(stage, |stage, first| {
        let forked = duties(stage, first + 1)?;
        let voter = forked.committee.into_iter().find(|who| *who != forked.proposer)?;
        Some((forked.proposer, voter))
    })?;
    let forked = first + 1;
    let honest = all_but(stage, &[proposer, voter]);
    let set_len =
        |stage: &Stage<'_>| pos(stage, honest[0]).and_then(Pos::head_state).map_or(0, |s| s.current.set.len());
    let members = set_len(stage);
    stage.show_from_here();
    stage.hold(voter)?;
    let twice = stage.misbehave(proposer, Behaviour::Equivocate)?;
    into_slot(stage, forked, 300)?;
    stage.end(twice)?;
    stage.run_ms(1_000)?;
    let mut blocks = BTreeSet::new();
    for number in 0..stage.count() {
        let of_slot = pos(stage, number).map(Pos::fork_choice);
        blocks.extend(
            of_slot
                .into_iter()
                .flat_map(|choice| choice.blocks())
                .filter(|one| one.slot == forked)
                .map(|one| one.block),
        );
    }
    stage.must(blocks.len() == 2, "two blocks in one slot")?;
    let own = vote_of(stage, voter, voter, forked);
    let Some(own) = own else { return Err(stage.not_shown("a vote in that slot")) };
    let other = blocks.into_iter().find(|block| *block != own.head).unwrap_or_default();
    stage.note("the other block gets the same validator's vote");
    vote_for(stage, voter, own, other, &honest)?;
    stage.run_ms(2_500)?;
    stage.show_until_here();
    let want =
        [(address(stage, proposer), OffenceKind::DoubleProposal), (address(stage, voter), OffenceKind::DoubleVote)];
    stage.must(named(stage, &honest) == want.into(), "those two named, and nobody else")?;
    stage.run_until(120_000, "both slashed and out of the set", |stage| {
        honest.iter().all(|number| {
            let state = pos(stage, *number).and_then(Pos::head_state);
            state.is_some_and(|state| {
                let set = &state.current.set;
                set.len() + 2 == members && want.iter().all(|(who, _)| state.is_slashed(who) && !set.contains(who))
            })
        })
    })?;
    let goal = stage.head(honest[0]).height.get();
    until_final(stage, &honest, goal)?;
    let final_height = finalized(stage, honest[0]);
    Ok(format!(
        "a proposer and a voter are named, slashed and out; the other {} finalise height {final_height}",
        members - 2
    ))
}
