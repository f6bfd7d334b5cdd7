//! The two constellations of EIP-3436 ("Rationale"), block by block.
//!
//! Blocks are made with all signers' keys before anybody's turn comes, a second of block time apart, and shown to the two halves
//! in different orders.

use std::sync::Arc;

use super::{ScenarioError, Stage, all};
use crate::{
    chain::{Block, BlockAttributes},
    consensus::{BlockId, Machine, Message},
    primitives::{Timestamp, U256},
};

/// Numbers of signers, counted from 0 in ascending order of address.
struct Constellation {
    common: &'static [usize],
    /// Seen first by one half of those who are up.
    winner: &'static [usize],
    /// Seen first by the other half.
    loser: &'static [usize],
    /// Who is up when the branches meet.
    up: &'static [usize],
}

const OTHER_LENGTH: Constellation =
    Constellation { common: &[1, 2, 3, 4, 5, 6, 7], winner: &[0, 2], loser: &[1, 3, 5], up: &[0, 1, 2, 3, 5] };

/// The EIP's strictly ordered history would forbid the sixth signer's block (it signed four blocks before), so that the eighth
/// took its earlier place.
const EQUAL_LENGTH: Constellation =
    Constellation { common: &[1, 2, 3, 4, 7, 6], winner: &[0, 2, 4], loser: &[1, 3, 5], up: &[0, 1, 2, 3, 4, 5] };

pub(super) fn other_length(stage: &mut Stage<'_>) -> Result<String, ScenarioError> {
    meet(stage, &OTHER_LENGTH)
}

pub(super) fn equal_length(stage: &mut Stage<'_>) -> Result<String, ScenarioError> {
    meet(stage, &EQUAL_LENGTH)
}

/// Replica numbers in ascending order of address.
fn signers(stage: &Stage<'_>) -> Vec<u32> {
    let mut numbers = all(stage);
    numbers.sort_by_key(|number| stage.replica(*number).address());
    numbers
}

/// A sealed block of a signer on a block that a replica has.
fn block(stage: &Stage<'_>, knows: u32, parent: BlockId, place: usize) -> Option<Arc<Block>> {
    let signers = signers(stage);
    let number = *signers.get(place)?;
    let chain = stage.replica(knows).chain();
    let height = parent.height.next().get();
    let in_turn = height % signers.len() as u64 == place as u64;
    let timestamp = chain.block(parent.hash).ok()?.block().timestamp().as_secs() + 1;
    let attributes = BlockAttributes {
        timestamp: Timestamp::from_secs(timestamp),
        beneficiary: stage.replica(number).address()?,
        difficulty: U256::from(if in_turn { 2 } else { 1 }),
        ..BlockAttributes::default()
    };
    let built = chain.build(parent.hash, &attributes, &mut Vec::new().into_iter()).ok()?.block;
    let seal = stage.signer(number).sign(built.hash());
    Some(Arc::new(built.with_seal(seal)))
}

/// Blocks of these signers, one on the other, shown to some replicas one by one.
fn branch(
    stage: &mut Stage<'_>,
    mut parent: BlockId,
    places: &[usize],
    to: &[u32],
) -> Result<Vec<Arc<Block>>, ScenarioError> {
    let mut blocks = Vec::new();
    let knows = to.first().copied().unwrap_or_default();
    for place in places {
        let Some(block) = block(stage, knows, parent, *place) else { return Err(stage.not_shown("a block by hand")) };
        parent = BlockId::of(&block);
        show(stage, &block, to)?;
        blocks.push(block);
    }
    Ok(blocks)
}

/// Some see a block, from a neighbour.
fn show(stage: &mut Stage<'_>, block: &Arc<Block>, to: &[u32]) -> Result<(), ScenarioError> {
    for number in to {
        let neighbour = (number + 1) % stage.count();
        stage.inject(neighbour, &[*number], &Message::Block(block.clone()))?;
    }
    stage.run_ms(40)
}

fn meet(stage: &mut Stage<'_>, constellation: &Constellation) -> Result<String, ScenarioError> {
    let Constellation { common, winner, loser, up } = constellation;
    let signers = signers(stage);
    let up: Vec<u32> = up.iter().map(|place| signers[*place]).collect();
    for number in all(stage).into_iter().filter(|number| !up.contains(number)) {
        stage.crash(number)?;
    }
    // Their machines don't know what is signed with their keys on the branch that loses, and may sign in its place.
    for place in loser.iter().skip(winner.len()) {
        stage.hold(signers[*place])?;
    }
    let genesis = stage.head(up[0]);
    let (one, other) = up.split_at(up.len() / 2);
    let history = branch(stage, genesis, common, &up)?;
    let tip = history.last().map_or(genesis, |block| BlockId::of(block));
    let first = branch(stage, tip, winner, one)?;
    let second = branch(stage, tip, loser, other)?;
    let tips = [&first, &second].map(|branch| branch.last().map_or(tip, |block| BlockId::of(block)));
    let [want, lost] = tips;
    let heads =
        |stage: &Stage<'_>, numbers: &[u32], head: BlockId| numbers.iter().all(|number| stage.head(*number) == head);
    stage.must(heads(stage, one, want) && heads(stage, other, lost), "each half on the branch that it saw first")?;
    let weigh = |branch: &[Arc<Block>]| branch.iter().map(|block| block.header().difficulty).sum::<U256>();
    let weight = weigh(&first);
    stage.must(weight == weigh(&second), "branches of equal weight")?;
    for block in &second {
        show(stage, block, one)?;
    }
    for block in &first {
        show(stage, block, other)?;
    }
    stage.must(heads(stage, &up, want), "the branch that the EIP says, at all")?;
    let next = want.height.next();
    let may_sign = up.iter().filter(|number| match stage.protocol(**number) {
        Machine::Poa(poa) => {
            let address = stage.replica(**number).address().unwrap_or_default();
            poa.snapshot().may_sign(next, &address).is_ok()
        }
        _ => false,
    });
    let free = may_sign.count();
    stage.must(free > 0, "one who may sign on it")?;
    let goal = want.height.get() + 6;
    stage.run_some_to_height(&up, 60_000, goal)?;
    stage.must(stage.agree_at(&up, want.height.get()), "the same block at that height ever after")?;
    let height = stage.head(up[0]).height;
    let tail = winner.last().map_or_else(String::new, |place| format!("validator {}", place + 1));
    Ok(format!(
        "branches of {} and {} blocks, each of weight {weight}, met: all took that of {tail}, {free} may sign on it; {} signers \
         went on to height {height}",
        winner.len(),
        loser.len(),
        up.len()
    ))
}
