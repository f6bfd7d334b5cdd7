//! The two block constellations of EIP-3436 ("Rationale"), block by block.
//!
//! Blocks are made with all signers' keys before the first turn, a second of block time apart, and sent to the two halves
//! in different orders.

use std::sync::Arc;

use super::{ScenarioError, ScenarioRunner, all, ms};
use crate::{
    chain::{Block, BlockAttributes},
    consensus::{AnyProtocol, BlockId, ConsensusMessage, Purpose},
    primitives::{Height, Timestamp, U256},
};

/// Signer numbers, from 0 in ascending order of address.
struct Constellation {
    common: &'static [usize],
    /// Blocks that one half of the running signers receives first.
    winner: &'static [usize],
    /// Blocks that the other half receives first.
    loser: &'static [usize],
    /// Running signers when the branches meet.
    up: &'static [usize],
}

const OTHER_LENGTH: Constellation =
    Constellation { common: &[1, 2, 3, 4, 5, 6, 7], winner: &[0, 2], loser: &[1, 3, 5], up: &[0, 1, 2, 3, 5] };

/// The EIP's strictly ordered history would forbid the sixth signer's block (it signed four blocks before), so that the eighth
/// took its earlier place.
const EQUAL_LENGTH: Constellation =
    Constellation { common: &[1, 2, 3, 4, 7, 6], winner: &[0, 2, 4], loser: &[1, 3, 5], up: &[0, 1, 2, 3, 4, 5] };

pub(super) fn other_length(runner: &mut ScenarioRunner<'_>) -> Result<String, ScenarioError> {
    meet(runner, &OTHER_LENGTH)
}

pub(super) fn equal_length(runner: &mut ScenarioRunner<'_>) -> Result<String, ScenarioError> {
    meet(runner, &EQUAL_LENGTH)
}

/// Returns the replica numbers in ascending order of address.
fn signers(runner: &ScenarioRunner<'_>) -> Vec<u32> {
    let mut numbers = all(runner);
    numbers.sort_by_key(|number| runner.replica(*number).address());
    numbers
}

/// Returns a sealed block of a signer on a block that a replica has.
fn block(runner: &ScenarioRunner<'_>, knows: u32, parent: BlockId, place: usize) -> Option<Arc<Block>> {
    let signers = signers(runner);
    let number = *signers.get(place)?;
    let chain = runner.replica(knows).chain();
    let height = parent.height.next().get();
    let in_turn = height % signers.len() as u64 == place as u64;
    let timestamp = chain.block(parent.hash).ok()?.block().timestamp().as_secs() + 1;
    let attributes = BlockAttributes {
        timestamp: Timestamp::from_secs(timestamp),
        beneficiary: runner.replica(number).address()?,
        difficulty: U256::from(if in_turn { 2 } else { 1 }),
        ..BlockAttributes::default()
    };
    let built = chain.build(parent.hash, &attributes, &mut Vec::new().into_iter()).ok()?.block;
    let seal = runner.signer(number).sign(Purpose::Block, built.hash());
    Some(Arc::new(built.with_seal(seal)))
}

/// Sends a chain of blocks of these signers to some replicas, one by one.
fn branch(
    runner: &mut ScenarioRunner<'_>,
    mut parent: BlockId,
    places: &[usize],
    to: &[u32],
) -> Result<Vec<Arc<Block>>, ScenarioError> {
    let mut blocks = Vec::new();
    let knows = to.first().copied().unwrap_or_default();
    for place in places {
        let Some(block) = block(runner, knows, parent, *place) else { return Err(runner.not_shown("a block by hand")) };
        parent = BlockId::of(&block);
        show(runner, &block, to)?;
        blocks.push(block);
    }
    Ok(blocks)
}

/// Sends a block to some replicas, from a neighbour.
fn show(runner: &mut ScenarioRunner<'_>, block: &Arc<Block>, to: &[u32]) -> Result<(), ScenarioError> {
    for number in to {
        let neighbour = (number + 1) % runner.count();
        runner.inject(neighbour, &[*number], &ConsensusMessage::Block(block.clone()))?;
    }
    runner.run_for(ms(40))
}

fn meet(runner: &mut ScenarioRunner<'_>, constellation: &Constellation) -> Result<String, ScenarioError> {
    let Constellation { common, winner, loser, up } = constellation;
    let signers = signers(runner);
    let up: Vec<u32> = up.iter().map(|place| signers[*place]).collect();
    for number in all(runner).into_iter().filter(|number| !up.contains(number)) {
        runner.crash(number)?;
    }
    // Their own protocols do not know what was signed with their keys on the losing branch, and may sign in its place.
    for place in loser.iter().skip(winner.len()) {
        runner.mark_byzantine(signers[*place])?;
    }
    let genesis = runner.head(up[0]);
    let (one, other) = up.split_at(up.len() / 2);
    let history = branch(runner, genesis, common, &up)?;
    let tip = history.last().map_or(genesis, |block| BlockId::of(block));
    let first = branch(runner, tip, winner, one)?;
    let second = branch(runner, tip, loser, other)?;
    let tips = [&first, &second].map(|branch| branch.last().map_or(tip, |block| BlockId::of(block)));
    let [want, lost] = tips;
    let heads = |runner: &ScenarioRunner<'_>, numbers: &[u32], head: BlockId| {
        numbers.iter().all(|number| runner.head(*number) == head)
    };
    runner
        .ensure(heads(runner, one, want) && heads(runner, other, lost), "each half on the branch that it saw first")?;
    let weigh = |branch: &[Arc<Block>]| branch.iter().map(|block| block.header().difficulty).sum::<U256>();
    let weight = weigh(&first);
    runner.ensure(weight == weigh(&second), "branches of equal weight")?;
    for block in &second {
        show(runner, block, one)?;
    }
    for block in &first {
        show(runner, block, other)?;
    }
    runner.ensure(heads(runner, &up, want), "the branch that the EIP says, at all")?;
    let next = want.height.next();
    let may_sign = up.iter().filter(|number| match runner.protocol(**number) {
        AnyProtocol::Poa(poa) => {
            let address = runner.replica(**number).address().unwrap_or_default();
            poa.snapshot().may_sign(next, &address).is_ok()
        }
        _ => false,
    });
    let free = may_sign.count();
    runner.ensure(free > 0, "one who may sign on it")?;
    let goal = want.height.get() + 6;
    runner.run_some_to_height(&up, ms(60_000), Height::new(goal))?;
    runner.ensure(runner.agree_at(&up, want.height), "the same block at that height ever after")?;
    let height = runner.head(up[0]).height;
    let tail = winner.last().map_or_else(String::new, |place| format!("validator {}", place + 1));
    Ok(format!(
        "branches of {} and {} blocks, each of weight {weight}, met: all took that of {tail}, {free} may sign on it; {} signers \
         went on to height {height}",
        winner.len(),
        loser.len(),
        up.len()
    ))
}
