//! One irreversible block that a single producer knows of, and a longer branch without it.

use crate::{
    consensus::{
        ConsensusConfig,
        dpos::{DposConfig, FinalityRule},
    },
    primitives::Height,
    sim::{
        faults::plan::FaultId,
        scenario::{ScenarioError, ScenarioRunner, runner::ms},
    },
};

pub(super) fn classic() -> ConsensusConfig {
    ConsensusConfig::Dpos(DposConfig::default().with_finality(FinalityRule::Classic))
}

/// The replicas after the cut: those that made a block irreversible without hearing of it, the one that did, and the one that
/// was cut off before.
struct Sides {
    unaware: [u32; 2],
    aware: u32,
    loner: u32,
    /// Highest block before the cut.
    fork: Height,
    /// The cut between the one that knows and the others.
    cut: FaultId,
}

/// Two of four are down for so long that many blocks become irreversible at once when they return. One returns and is cut off; with the
/// other one a block after the cut becomes irreversible, and the first that knows of it is cut off too. The two others crash before
/// they hear of it. The loner goes on alone until its branch is longer, and the two come back to it.
fn cross(runner: &mut ScenarioRunner<'_>) -> Result<Sides, ScenarioError> {
    let (loner, back, others) = (3, 2, [0, 1, 2]);
    runner.run_to_height(ms(60_000), Height::new(8))?;
    let address = runner.replica(loner).address();
    runner.run_until(ms(60_000), "the loner's slot", |runner| {
        Some(runner.replica(0).chain().head().block().header().beneficiary) == address
    })?;
    runner.run_for(ms(400))?;
    runner.crash(loner)?;
    runner.crash(back)?;
    // Four rounds and a slot: it has a whole round until its next slot.
    runner.run_for(ms(17_000))?;
    runner.begin_window();
    runner.restart(loner)?;
    runner.run_until(ms(5_000), "the head of the others", |runner| runner.head(loner) == runner.head(0))?;
    let cut = runner.partition(&[&others, &[loner]])?;
    let fork = runner.head(loner).height;
    runner.run_for(ms(12_000))?;
    runner.restart(back)?;
    let is_aware = |runner: &ScenarioRunner<'_>, number: u32| runner.finalized(number).height > fork;
    for _ in 0..60_000 {
        if others.iter().any(|number| is_aware(runner, *number)) {
            break;
        }
        runner.run_for(ms(1))?;
    }
    let aware: Vec<_> = others.into_iter().filter(|number| is_aware(runner, *number)).collect();
    runner.ensure(aware.len() == 1, "one replica that knows of an irreversible block after the cut")?;
    let aware = aware[0];
    let unaware = [(aware + 1) % 3, (aware + 2) % 3];
    for number in unaware {
        runner.crash(number)?;
    }
    runner.end(cut)?;
    let cut = runner.partition(&[&[aware], &[unaware[0], unaware[1], loner]])?;
    runner.note("one replica knows of an irreversible block; the two others that confirmed it are down");
    let longest = runner.head(aware).height.get().max(runner.highest().get()) + 2;
    runner.run_until(ms(120_000), "a longer branch without it", |runner| runner.head(loner).height.get() > longest)?;
    for number in unaware {
        runner.restart(number)?;
    }
    Ok(Sides { unaware, aware, loner, fork, cut })
}

pub(super) fn disagree(runner: &mut ScenarioRunner<'_>) -> Result<String, ScenarioError> {
    cross(runner)?;
    let detail = runner.run_until_broken(ms(120_000), "agreement")?;
    runner.end_window();
    Ok(format!("agreement is broken: {detail}"))
}

pub(super) fn agree(runner: &mut ScenarioRunner<'_>) -> Result<String, ScenarioError> {
    let Sides { unaware, aware, loner, fork, cut } = cross(runner)?;
    let goal = runner.highest();
    let three = [unaware[0], unaware[1], loner];
    runner.run_until(ms(120_000), "irreversibility among the three", |runner| {
        three.iter().all(|number| runner.finalized(*number).height > goal)
    })?;
    runner.end_window();
    runner.ensure_agreement(&[unaware[0], unaware[1], loner, aware], runner.finalized(aware).height)?;
    runner.end(cut)?;
    runner.run_until(ms(120_000), "irreversibility of all", |runner| runner.finalized(aware).height > goal)?;
    let common = runner.finalized(aware).height.min(runner.finalized(loner).height);
    runner.ensure_agreement(&[unaware[0], unaware[1], loner, aware], common)?;
    Ok(format!("after the cut at {fork} all agree on every irreversible block up to {common}"))
}
