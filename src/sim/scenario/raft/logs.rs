//! Scenarios that begin with certain logs: figures 7 and 8 of Raft's paper, and the append race.
//!
//! Members believe whoever leads, so that the logs are arranged by what leaders of earlier terms would have said.

use std::sync::Arc;

use super::{ScenarioError, Stage, id, leads, raft};
use crate::{
    consensus::{
        Message,
        raft::{Body, Entry, Raft, RaftMessage},
    },
    sim::faults::plan::{Delay, FaultId, FaultKind, LinkEffect},
};

/// Figure 7 of the paper: what the leader of term 8 has.
const LEADER: &[u64] = &[1, 1, 1, 4, 4, 5, 5, 6, 6, 6];
/// What followers (a) to (f) have, with the term each is in. (d), in the highest, is first.
const FOLLOWERS: [(u32, u64, &[u64]); 6] = [
    (4, 7, &[1, 1, 1, 4, 4, 5, 5, 6, 6, 6, 7, 7]),
    (1, 6, &[1, 1, 1, 4, 4, 5, 5, 6, 6]),
    (2, 4, &[1, 1, 1, 4]),
    (3, 6, &[1, 1, 1, 4, 4, 5, 5, 6, 6, 6, 6]),
    (5, 4, &[1, 1, 1, 4, 4, 4, 4]),
    (6, 3, &[1, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3]),
];

/// One replica says something to another as the leader of `term`, or a member, would.
fn say(stage: &mut Stage<'_>, (from, to): (u32, u32), term: u64, body: Body) -> Result<(), ScenarioError> {
    let message = Message::Raft(RaftMessage { term, body });
    Ok(stage.network_mut().inject(id(from), id(to), message)?)
}

/// The leader of `term` has entries of these terms added after entry `prev_index` of `prev_term`.
fn append(
    stage: &mut Stage<'_>,
    way: (u32, u32),
    term: u64,
    (prev_index, prev_term): (u64, u64),
    terms: &[u64],
) -> Result<(), ScenarioError> {
    let entries = (prev_index + 1..).zip(terms).map(|(index, term)| Entry::new(*term, index, None));
    let entries: Arc<[Entry]> = entries.collect();
    say(stage, way, term, Body::Append { prev_index, prev_term, entries, commit: 0 })
}

/// The terms of the entries in a replica's log.
fn terms(stage: &Stage<'_>, number: u32) -> Vec<u64> {
    let entries = |raft: &Raft| {
        let indices = raft.compacted_index() + 1..=raft.last_index();
        indices.filter_map(|index| raft.entry(index)).map(|entry| entry.term).collect()
    };
    raft(stage, number).map_or_else(Vec::new, entries)
}

fn must_have(stage: &Stage<'_>, number: u32, want: &[u64]) -> Result<(), ScenarioError> {
    stage.must(terms(stage, number) == want, format!("entries of terms {want:?} at replica {number}"))
}

fn committed(stage: &Stage<'_>, number: u32) -> u64 {
    raft(stage, number).map_or(0, Raft::committed_index)
}

pub(super) fn figure_7(stage: &mut Stage<'_>) -> Result<String, ScenarioError> {
    stage.show_from_here();
    append(stage, (1, 0), 6, (0, 0), LEADER)?;
    stage.run_ms(100)?;
    for (number, term, terms) in FOLLOWERS {
        append(stage, (0, number), term, (0, 0), terms)?;
        stage.run_ms(40)?;
    }
    stage.run_ms(60)?;
    must_have(stage, 0, LEADER)?;
    for (number, _, terms) in FOLLOWERS {
        must_have(stage, number, terms)?;
    }
    stage.note("the logs of figure 7");
    say(stage, (1, 0), 7, Body::TimeoutNow)?;
    stage.run_until(1_000, "a leader of term 8", |stage| leads(stage, 0))?;
    let want = [LEADER, &[8]].concat();
    stage.run_until(5_000, "the leader's log everywhere, committed", |stage| {
        (0..7).all(|number| terms(stage, number).starts_with(&want) && committed(stage, number) >= 11)
    })?;
    stage.run_ms(60)?;
    stage.show_until_here();
    let refused = stage.sent("raft-append-rejected").0;
    // The worst log's tail has eleven entries of two terms: a message a term, and not one an entry.
    stage.must(refused <= 8, "no more than eight refusals, for the logs are searched term by term")?;
    stage.run_to_height(20_000, 2)?;
    Ok(format!("all seven logs are the leader's up to entry 11 after {refused} refusals; blocks go on at height 2"))
}

/// Figure 8 up to (c): replica 0 led term 2 and gave entry 2 to replica 1 alone; replica 4 led term 3 and has another entry 2;
/// replica 0 leads term 4 now and reaches 1 and 2. Answers the cut, and what loses its own entries.
fn up_to_c(stage: &mut Stage<'_>) -> Result<(FaultId, FaultId), ScenarioError> {
    stage.show_from_here();
    append(stage, (2, 0), 2, (0, 0), &[1, 2])?;
    stage.run_ms(50)?;
    append(stage, (0, 1), 2, (0, 0), &[1, 2])?;
    for number in [2, 3] {
        append(stage, (4, number), 3, (0, 0), &[1])?;
    }
    stage.run_ms(50)?;
    append(stage, (3, 4), 3, (0, 0), &[1, 3])?;
    stage.run_ms(50)?;
    for (number, want) in (0..).zip([&[1, 2][..], &[1, 2], &[1], &[1], &[1, 3]]) {
        must_have(stage, number, want)?;
    }
    stage.note("figure 8, (b)");
    let cut = stage.partition(&[&[0, 1, 2], &[3, 4]])?;
    let lost = stage.link(&["raft-append"], &[0], &[], LinkEffect::Loss { per_mille: 1_000 })?;
    say(stage, (1, 0), 3, Body::TimeoutNow)?;
    stage.run_until(1_000, "replica 0 leads term 4", |stage| leads(stage, 0) && super::term(stage, 0) == 4)?;
    Ok((cut, lost))
}

pub(super) fn figure_8(stage: &mut Stage<'_>) -> Result<String, ScenarioError> {
    let (cut, lost) = up_to_c(stage)?;
    // Of what it sends, only the old entry arrives.
    stage.end(lost)?;
    let before = stage.sent("raft-appended").0;
    append(stage, (0, 1), 4, (1, 1), &[2])?;
    append(stage, (0, 2), 4, (1, 1), &[2])?;
    stage.link(&["raft-append"], &[0], &[], LinkEffect::Loss { per_mille: 1_000 })?;
    stage.run_ms(100)?;
    stage.must(leads(stage, 0) && stage.sent("raft-appended").0 == before + 2, "two who acknowledge entry 2")?;
    must_have(stage, 2, &[1, 2])?;
    stage.must(committed(stage, 0) == 0, "entry 2 of term 2, which a majority has, is not committed by counting")?;
    stage.note("figure 8, (c): entry 2 on a majority, not committed");
    stage.crash(0)?;
    stage.end(cut)?;
    let cut = stage.partition(&[&[0, 1], &[2, 3, 4]])?;
    say(stage, (3, 4), 4, Body::TimeoutNow)?;
    stage.run_until(1_000, "replica 4 leads term 5", |stage| leads(stage, 4))?;
    stage.run_until(5_000, "entry 2 of term 3 committed", |stage| {
        [2, 3, 4].iter().all(|number| terms(stage, *number).starts_with(&[1, 3]) && committed(stage, *number) >= 3)
    })?;
    stage.note("figure 8, (d): overwritten");
    stage.run_ms(100)?;
    stage.show_until_here();
    stage.network_mut().heal()?;
    stage.end(cut)?;
    stage.restart(0)?;
    stage.run_until(20_000, "the same log everywhere", |stage| {
        (0..5).all(|number| terms(stage, number).starts_with(&[1, 3]) && committed(stage, number) >= 3)
    })?;
    Ok("three of five had entry 2 of term 2 and it was not committed; the leader of term 5 overwrote it, and all follow"
        .to_owned())
}

pub(super) fn figure_8_own_entry(stage: &mut Stage<'_>) -> Result<String, ScenarioError> {
    let (cut, lost) = up_to_c(stage)?;
    stage.end(lost)?;
    stage.run_until(2_000, "an entry of term 4 committed", |stage| committed(stage, 0) >= 3)?;
    must_have(stage, 2, &[1, 2, 4])?;
    stage.note("figure 8, (e): an entry of term 4 committed, and entry 2 with it");
    stage.crash(0)?;
    stage.end(cut)?;
    say(stage, (3, 4), 4, Body::TimeoutNow)?;
    stage.run_ms(500)?;
    stage.must(!leads(stage, 4), "replica 4 does not win: replicas 1 and 2 know better")?;
    stage.run_until(20_000, "those entries everywhere else", |stage| {
        (1..5).all(|number| terms(stage, number).starts_with(&[1, 2, 4]) && committed(stage, number) >= 3)
    })?;
    stage.run_ms(60)?;
    stage.show_until_here();
    stage.restart(0)?;
    stage.run_to_height(20_000, 2)?;
    must_have_first(stage, &[1, 2, 4])?;
    Ok("the entry of the leader's own term was committed and entry 2 with it; who lacks them could not be elected"
        .to_owned())
}

fn must_have_first(stage: &Stage<'_>, want: &[u64]) -> Result<(), ScenarioError> {
    (0..stage.count()).try_for_each(|number| {
        stage.must(terms(stage, number).starts_with(want), format!("entries of terms {want:?} at replica {number}"))
    })
}

pub(super) fn append_aba(stage: &mut Stage<'_>) -> Result<String, ScenarioError> {
    stage.show_from_here();
    let slow = stage.begin(FaultKind::Disk { replica: id(1), delay: Delay::Constant { ms: 200 } })?;
    // The entry of term 1 comes, is dropped for one of term 2, and comes again from a leader of term 3.
    for (from, term, entry) in [(0, 1, 1), (2, 2, 2), (0, 3, 1)] {
        append(stage, (from, 1), term, (0, 0), &[entry])?;
        stage.run_ms(50)?;
        must_have(stage, 1, &[entry])?;
    }
    let durable = |stage: &Stage<'_>| raft(stage, 1).map_or(0, Raft::durable_index);
    stage.must(stage.written(1) == 0, "no write that is done")?;
    for done in 1..=2 {
        stage.run_until(1_000, "the end of a write", |stage| stage.written(1) >= done)?;
        stage.must(
            durable(stage) == 0,
            format!("entry 1 is not durable by write {done}, which was of one that was dropped"),
        )?;
    }
    stage.note("the writes of dropped entries are done: they do not count");
    stage.run_until(1_000, "entry 1 durable", |stage| durable(stage) == 1)?;
    let writes = stage.written(1);
    stage.must(writes >= 3, "the third write makes it durable")?;
    stage.run_ms(60)?;
    stage.show_until_here();
    stage.end(slow)?;
    stage.run_to_height(30_000, 2)?;
    Ok(format!("entry 1 was durable with write {writes} and not before; blocks go on at height 2"))
}
