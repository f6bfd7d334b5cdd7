//! Scenarios that begin with certain logs: figures 7 and 8 of Raft's paper, and the append race.
//!
//! Members accept messages of any leader of a term, so that the logs are built by messages of leaders of earlier terms.

use std::sync::Arc;

use super::{ScenarioError, ScenarioRunner, id, leads, ms, raft};
use crate::{
    consensus::{
        ConsensusMessage,
        raft::{Body, Entry, Raft, RaftMessage},
    },
    primitives::Height,
    sim::faults::plan::{Delay, FaultId, FaultKind, LinkEffect},
};

/// Figure 7 of the paper: the log of the leader of term 8.
const LEADER: &[u64] = &[1, 1, 1, 4, 4, 5, 5, 6, 6, 6];
/// Logs of followers (a) to (f), with the current term of each. (d), with the highest, is first.
const FOLLOWERS: [(u32, u64, &[u64]); 6] = [
    (4, 7, &[1, 1, 1, 4, 4, 5, 5, 6, 6, 6, 7, 7]),
    (1, 6, &[1, 1, 1, 4, 4, 5, 5, 6, 6]),
    (2, 4, &[1, 1, 1, 4]),
    (3, 6, &[1, 1, 1, 4, 4, 5, 5, 6, 6, 6, 6]),
    (5, 4, &[1, 1, 1, 4, 4, 4, 4]),
    (6, 3, &[1, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3]),
];

/// Sends a message from one replica to another as the leader of `term`, or a member, would.
fn say(runner: &mut ScenarioRunner<'_>, (from, to): (u32, u32), term: u64, body: Body) -> Result<(), ScenarioError> {
    let message = ConsensusMessage::Raft(RaftMessage { term, body });
    Ok(runner.network_mut().inject(id(from), id(to), message)?)
}

/// Appends entries of these terms after entry `prev_index` of `prev_term`, as the leader of `term`.
fn append(
    runner: &mut ScenarioRunner<'_>,
    way: (u32, u32),
    term: u64,
    (prev_index, prev_term): (u64, u64),
    terms: &[u64],
) -> Result<(), ScenarioError> {
    let entries = (prev_index + 1..).zip(terms).map(|(index, term)| Entry::new(*term, index, None));
    let entries: Arc<[Entry]> = entries.collect();
    say(runner, way, term, Body::Append { prev_index, prev_term, entries, commit: 0 })
}

/// Returns the terms of the entries in a replica's log.
fn terms(runner: &ScenarioRunner<'_>, number: u32) -> Vec<u64> {
    let entries = |raft: &Raft| {
        let indices = raft.compacted_index() + 1..=raft.last_index();
        indices.filter_map(|index| raft.entry(index)).map(|entry| entry.term).collect()
    };
    raft(runner, number).map_or_else(Vec::new, entries)
}

fn must_have(runner: &ScenarioRunner<'_>, number: u32, want: &[u64]) -> Result<(), ScenarioError> {
    runner.ensure(terms(runner, number) == want, format!("entries of terms {want:?} at replica {number}"))
}

fn committed(runner: &ScenarioRunner<'_>, number: u32) -> u64 {
    raft(runner, number).map_or(0, Raft::committed_index)
}

pub(super) fn figure_7(runner: &mut ScenarioRunner<'_>) -> Result<String, ScenarioError> {
    runner.begin_window();
    append(runner, (1, 0), 6, (0, 0), LEADER)?;
    runner.run_for(ms(100))?;
    for (number, term, terms) in FOLLOWERS {
        append(runner, (0, number), term, (0, 0), terms)?;
        runner.run_for(ms(40))?;
    }
    runner.run_for(ms(60))?;
    must_have(runner, 0, LEADER)?;
    for (number, _, terms) in FOLLOWERS {
        must_have(runner, number, terms)?;
    }
    runner.note("the logs of figure 7");
    say(runner, (1, 0), 7, Body::TimeoutNow)?;
    runner.run_until(ms(1_000), "a leader of term 8", |runner| leads(runner, 0))?;
    let want = [LEADER, &[8]].concat();
    runner.run_until(ms(5_000), "the leader's log everywhere, committed", |runner| {
        (0..7).all(|number| terms(runner, number).starts_with(&want) && committed(runner, number) >= 11)
    })?;
    runner.run_for(ms(60))?;
    runner.end_window();
    let refused = runner.sent("raft-append-rejected").0;
    // The worst log's tail has eleven entries of two terms: one message a term, and not one an entry.
    runner.ensure(refused <= 8, "no more than eight refusals, for the logs are searched term by term")?;
    runner.run_to_height(ms(20_000), Height::new(2))?;
    Ok(format!("all seven logs are the leader's up to entry 11 after {refused} refusals; blocks go on at height 2"))
}

/// Figure 8 up to (c): replica 0 led term 2 and sent entry 2 to replica 1 alone; replica 4 led term 3 and has another entry 2;
/// replica 0 leads term 4 now and reaches 1 and 2. Returns the cut, and the fault that loses its own entries.
fn up_to_c(runner: &mut ScenarioRunner<'_>) -> Result<(FaultId, FaultId), ScenarioError> {
    runner.begin_window();
    append(runner, (2, 0), 2, (0, 0), &[1, 2])?;
    runner.run_for(ms(50))?;
    append(runner, (0, 1), 2, (0, 0), &[1, 2])?;
    for number in [2, 3] {
        append(runner, (4, number), 3, (0, 0), &[1])?;
    }
    runner.run_for(ms(50))?;
    append(runner, (3, 4), 3, (0, 0), &[1, 3])?;
    runner.run_for(ms(50))?;
    for (number, want) in (0..).zip([&[1, 2][..], &[1, 2], &[1], &[1], &[1, 3]]) {
        must_have(runner, number, want)?;
    }
    runner.note("figure 8, (b)");
    let cut = runner.partition(&[&[0, 1, 2], &[3, 4]])?;
    let lost = runner.link(&["raft-append"], &[0], &[], LinkEffect::Loss { per_mille: 1_000 })?;
    say(runner, (1, 0), 3, Body::TimeoutNow)?;
    runner.run_until(ms(1_000), "replica 0 leads term 4", |runner| leads(runner, 0) && super::term(runner, 0) == 4)?;
    Ok((cut, lost))
}

pub(super) fn figure_8(runner: &mut ScenarioRunner<'_>) -> Result<String, ScenarioError> {
    let (cut, lost) = up_to_c(runner)?;
    // Of its messages, only the old entry arrives.
    runner.end(lost)?;
    let before = runner.sent("raft-appended").0;
    append(runner, (0, 1), 4, (1, 1), &[2])?;
    append(runner, (0, 2), 4, (1, 1), &[2])?;
    runner.link(&["raft-append"], &[0], &[], LinkEffect::Loss { per_mille: 1_000 })?;
    runner.run_for(ms(100))?;
    runner.ensure(leads(runner, 0) && runner.sent("raft-appended").0 == before + 2, "two who acknowledge entry 2")?;
    must_have(runner, 2, &[1, 2])?;
    runner
        .ensure(committed(runner, 0) == 0, "entry 2 of term 2, which a majority has, is not committed by counting")?;
    runner.note("figure 8, (c): entry 2 on a majority, not committed");
    runner.crash(0)?;
    runner.end(cut)?;
    let cut = runner.partition(&[&[0, 1], &[2, 3, 4]])?;
    say(runner, (3, 4), 4, Body::TimeoutNow)?;
    runner.run_until(ms(1_000), "replica 4 leads term 5", |runner| leads(runner, 4))?;
    runner.run_until(ms(5_000), "entry 2 of term 3 committed", |runner| {
        [2, 3, 4].iter().all(|number| terms(runner, *number).starts_with(&[1, 3]) && committed(runner, *number) >= 3)
    })?;
    runner.note("figure 8, (d): overwritten");
    runner.run_for(ms(100))?;
    runner.end_window();
    runner.network_mut().heal()?;
    runner.end(cut)?;
    runner.restart(0)?;
    runner.run_until(ms(20_000), "the same log everywhere", |runner| {
        (0..5).all(|number| terms(runner, number).starts_with(&[1, 3]) && committed(runner, number) >= 3)
    })?;
    Ok("three of five had entry 2 of term 2 and it was not committed; the leader of term 5 overwrote it, and all follow"
        .to_owned())
}

pub(super) fn figure_8_own_entry(runner: &mut ScenarioRunner<'_>) -> Result<String, ScenarioError> {
    let (cut, lost) = up_to_c(runner)?;
    runner.end(lost)?;
    runner.run_until(ms(2_000), "an entry of term 4 committed", |runner| committed(runner, 0) >= 3)?;
    must_have(runner, 2, &[1, 2, 4])?;
    runner.note("figure 8, (e): an entry of term 4 committed, and entry 2 with it");
    runner.crash(0)?;
    runner.end(cut)?;
    say(runner, (3, 4), 4, Body::TimeoutNow)?;
    runner.run_for(ms(500))?;
    runner.ensure(!leads(runner, 4), "replica 4 does not win: replicas 1 and 2 know better")?;
    runner.run_until(ms(20_000), "those entries everywhere else", |runner| {
        (1..5).all(|number| terms(runner, number).starts_with(&[1, 2, 4]) && committed(runner, number) >= 3)
    })?;
    runner.run_for(ms(60))?;
    runner.end_window();
    runner.restart(0)?;
    runner.run_to_height(ms(20_000), Height::new(2))?;
    must_have_first(runner, &[1, 2, 4])?;
    Ok("the entry of the leader's own term was committed and entry 2 with it; who lacks them could not be elected"
        .to_owned())
}

fn must_have_first(runner: &ScenarioRunner<'_>, want: &[u64]) -> Result<(), ScenarioError> {
    (0..runner.count()).try_for_each(|number| {
        runner.ensure(terms(runner, number).starts_with(want), format!("entries of terms {want:?} at replica {number}"))
    })
}

pub(super) fn append_aba(runner: &mut ScenarioRunner<'_>) -> Result<String, ScenarioError> {
    runner.begin_window();
    let slow = runner.begin(FaultKind::Disk { replica: id(1), delay: Delay::Constant { delay: ms(200) } })?;
    // The entry of term 1 arrives, is replaced by one of term 2, and arrives again from a leader of term 3.
    for (from, term, entry) in [(0, 1, 1), (2, 2, 2), (0, 3, 1)] {
        append(runner, (from, 1), term, (0, 0), &[entry])?;
        runner.run_for(ms(50))?;
        must_have(runner, 1, &[entry])?;
    }
    let durable = |runner: &ScenarioRunner<'_>| raft(runner, 1).map_or(0, Raft::durable_index);
    runner.ensure(runner.written(1) == 0, "no write that is done")?;
    for done in 1..=2 {
        runner.run_until(ms(1_000), "the end of a write", |runner| runner.written(1) >= done)?;
        runner.ensure(
            durable(runner) == 0,
            format!("entry 1 is not durable by write {done}, which was of one that was dropped"),
        )?;
    }
    runner.note("the writes of dropped entries are done: they do not count");
    runner.run_until(ms(1_000), "entry 1 durable", |runner| durable(runner) == 1)?;
    let writes = runner.written(1);
    runner.ensure(writes >= 3, "the third write makes it durable")?;
    runner.run_for(ms(60))?;
    runner.end_window();
    runner.end(slow)?;
    runner.run_to_height(ms(30_000), Height::new(2))?;
    Ok(format!("entry 1 was durable with write {writes} and not before; blocks go on at height 2"))
}
