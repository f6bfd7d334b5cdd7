//! Halting a node: it is read, and takes no commands.

use super::Node;

impl Node {
    /// Refuses every command from now on, with [`EngineError::Halted`](super::EngineError::Halted) and this reason: transactions, blocks,
    /// interventions. Reads go on. A command under way is ended first. On a shared network it holds for the nodes of all replicas, and one
    /// in real time stands still; [`NetworkPool::put_back`](super::NetworkPool::put_back) lets it run again after [`Node::take_commands`].
    ///
    /// ```
    /// use chainbox::{node::Node, primitives::U256};
    /// let node = Node::new();
    /// let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
    /// node.halt("it is paused");
    /// assert!(node.transfer(alice, bob, U256::from(1)).is_err() && node.mine(1).is_err());
    /// node.take_commands();
    /// assert_eq!(node.transfer(alice, bob, U256::from(1))?.block().height().get(), 1);
    /// # Ok::<(), chainbox::node::ContractError>(())
    /// ```
    pub fn halt(&self, reason: &str) {
        self.write().halted = Some(reason.into());
    }

    /// Returns whether it takes no commands.
    pub fn is_halted(&self) -> bool {
        self.write().halted.is_some()
    }

    /// Takes commands again, after [`Node::halt`].
    pub fn take_commands(&self) {
        self.write().halted = None;
    }
}
