//! Scripts of what a test does to a node.

use core::time::Duration;

use proptest::{collection::vec, prelude::*};

use super::strategies::{Payment, payment};
use crate::{
    node::{ContractError, EngineError, MineError, Node, SnapshotId},
    primitives::U256,
};

/// One step of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Sends a payment, mined at once where the node mines each transaction.
    Pay(Payment),
    /// Makes so many blocks.
    Mine(u64),
    /// Moves the clock forward.
    PassTime(Duration),
    /// Takes a snapshot.
    Snapshot,
    /// Reverts to the latest snapshot, if there is one.
    Revert,
    /// Replaces so many of the newest blocks by empty ones, at most all that can be.
    Reorg(u64),
}

/// A step that the node refused.
#[derive(Debug, thiserror::Error)]
pub enum StepError {
    /// A payment.
    #[error("a payment failed: {0}")]
    Pay(#[from] ContractError),
    /// A block.
    #[error(transparent)]
    Mine(#[from] MineError),
    /// A revert.
    #[error(transparent)]
    Revert(#[from] EngineError),
    /// A reorganisation.
    #[error(transparent)]
    Reorg(#[from] crate::node::ReorgError),
}

impl Step {
    /// Carries the step out; `snapshots` are those of this script so far.
    ///
    /// # Errors
    /// What the node refuses. A payment beyond the sender's balance is one.
    pub fn run(&self, node: &Node, snapshots: &mut Vec<SnapshotId>) -> Result<(), StepError> {
        match self {
            Self::Pay(Payment { from, to, value }) => drop(node.transfer(*from, *to, *value)?),
            Self::Mine(count) => drop(node.mine(*count)?),
            Self::PassTime(duration) => drop(node.increase_time(*duration)),
            Self::Snapshot => snapshots.push(node.snapshot()),
            Self::Revert => {
                if let Some(latest) = snapshots.pop() {
                    node.revert(latest)?;
                }
            }
            Self::Reorg(depth) => {
                // No further than the blocks that this node made.
                let depth = match node.reorg(*depth, []) {
                    Err(crate::node::ReorgError::TooDeep { max, .. }) => max,
                    other => return Ok(other.map(drop)?),
                };
                node.reorg(depth, [])?;
            }
        }
        Ok(())
    }
}

/// Scripts of steps with payments of up to `max` among the node's accounts. They shrink by leaving steps out.
pub fn steps(node: &Node, max: U256, length: core::ops::Range<usize>) -> impl Strategy<Value = Vec<Step>> + use<> {
    let step = prop_oneof![
        6 => payment(node, max).prop_map(Step::Pay),
        2 => (1..4_u64).prop_map(Step::Mine),
        1 => (1..100_000_u64).prop_map(|secs| Step::PassTime(Duration::from_secs(secs))),
        1 => Just(Step::Snapshot),
        1 => Just(Step::Revert),
        1 => (1..4_u64).prop_map(Step::Reorg),
    ];
    vec(step, length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::BlockRef;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]

        /// The supply is what genesis has and no more, whatever is done; fees go to the block's author or are burnt.
        #[test]
        fn steps_run_and_make_no_money(steps in steps(&Node::new(), U256::from(1_000), 1..12)) {
            let node = Node::new();
            let total = |node: &Node| {
                let view = node.view();
                let balances = node.accounts().iter().map(|account| view.balance(*account, BlockRef::Latest).unwrap());
                balances.fold(U256::ZERO, |sum, balance| sum + balance)
            };
            let at_first = total(&node);
            let mut snapshots = Vec::new();
            for step in &steps {
                step.run(&node, &mut snapshots).unwrap();
                prop_assert!(total(&node) <= at_first);
            }
        }
    }
}
