//! Validators: reading the set, and actions of operators and delegators.

use std::sync::Arc;

use super::{EngineError, Node, QueryError, SendError};
use crate::{
    primitives::KeyPair,
    sim::{Submitted, ValidatorAction, ValidatorActionError},
    system::staking::ValidatorRecord,
};

impl Node {
    /// The validators at the head. See [`NodeView::validators`](super::NodeView::validators).
    ///
    /// # Errors
    /// [`QueryError`] when the state can't be read.
    pub fn validators(&self) -> Result<Vec<ValidatorRecord>, QueryError> {
        self.view().validators()
    }

    /// The key of validator `index` of genesis; the indices after the last validator are the candidates'.
    pub fn validator_key(&self, index: u32) -> KeyPair {
        self.inner.validators.key(self.inner.seed, index)
    }

    /// Submits an action of an operator or a delegator, by the means of the chain's protocol. Where it is a transaction and the
    /// mining mode is [`Mining::EachTransaction`](super::Mining::EachTransaction), it is in a block when this returns.
    ///
    /// # Errors
    /// [`ValidatorActionError`]: the protocol does not support it, or the staking contract would refuse it; nothing is
    /// changed then.
    pub fn validator_action(
        &self,
        actor: &KeyPair,
        action: &ValidatorAction,
    ) -> Result<Submitted, ValidatorActionError> {
        let mut writer = self.write();
        if !writer.chain().has_stake() {
            return writer
                .shared_command(&self.inner, |writer| Ok(writer.network.validator_action(actor, action)?))
                .map_err(ActionFailure::into_error);
        }
        let transaction = Arc::new(writer.network.validator_transaction(actor, action)?);
        let hash = transaction.hash();
        match writer.send(&self.inner, transaction) {
            Ok(()) => Ok(Submitted::Transaction(hash)),
            Err(SendError::Pool(error)) => Err(error.into()),
            Err(other) => Err(ValidatorActionError::NotMined { reason: other.to_string() }),
        }
    }
}

/// A failed action that is no transaction.
enum ActionFailure {
    Refused(ValidatorActionError),
    Engine(EngineError),
}

impl ActionFailure {
    fn into_error(self) -> ValidatorActionError {
        match self {
            Self::Refused(error) => error,
            Self::Engine(error) => ValidatorActionError::NotMined { reason: error.to_string() },
        }
    }
}

impl From<ValidatorActionError> for ActionFailure {
    fn from(error: ValidatorActionError) -> Self {
        Self::Refused(error)
    }
}

impl From<EngineError> for ActionFailure {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        consensus::ConsensusKind,
        node::NodeBuilder,
        primitives::{U256, ether},
        system::staking::{StakingParams, ValidatorStatus},
    };

    fn node(kind: ConsensusKind) -> NodeBuilder {
        Node::builder().with_consensus(kind.on_demand()).with_validators(4).with_candidates(1)
    }

    #[test]
    fn a_candidate_joins_and_leaves_a_chain_of_stake() {
        let node = node(ConsensusKind::Dpos).with_stakes([10, 11, 12, 13].map(ether)).build().unwrap();
        assert_eq!(node.validators().unwrap().iter().map(|record| record.weight).sum::<u64>(), 46_000_000_000);
        let newcomer = node.validator_key(4);
        let join = ValidatorAction::Join { stake: ether(99), commission_bps: 0 };
        let Submitted::Transaction(hash) = node.validator_action(&newcomer, &join).unwrap() else { panic!() };
        assert!(node.receipt(hash).unwrap().unwrap().is_success());
        let record = |node: &Node| {
            let records = node.validators().unwrap();
            records.into_iter().find(|record| record.address == newcomer.address()).unwrap()
        };
        assert_eq!((record(&node).status, record(&node).weight), (ValidatorStatus::Bonded, 99_000_000_000));
        node.validator_action(&newcomer, &ValidatorAction::Exit).unwrap();
        assert_eq!(record(&node).status, ValidatorStatus::Unbonding);
        let error = node.validator_action(&newcomer, &ValidatorAction::Exit).unwrap_err().to_string();
        assert!(error.contains("AlreadyExiting"), "{error}");
        assert!(node.templates().by_name("staking").is_some(), "clients can read the contract's interface");
    }

    #[test]
    fn an_account_of_the_node_delegates_and_earns_rewards() {
        let params = StakingParams { block_reward: ether(1), ..StakingParams::default() };
        let node = node(ConsensusKind::Dpos).with_staking(params).build().unwrap();
        let (alice, validator) = (node.keys()[0].clone(), node.validator_key(0).address());
        node.validator_action(&alice, &ValidatorAction::Delegate { validator, amount: ether(32) }).unwrap();
        node.mine(8).unwrap();
        let before = node.view().balance(alice.address(), Default::default()).unwrap();
        node.validator_action(&alice, &ValidatorAction::ClaimRewards { validator }).unwrap();
        let after = node.view().balance(alice.address(), Default::default()).unwrap();
        assert!(after > before + ether(1) / U256::from(4), "{before} {after}");
    }

    #[test]
    fn a_chain_without_stake_supports_joins_and_exits_alone() {
        let node = node(ConsensusKind::Poa).build().unwrap();
        let join = ValidatorAction::Join { stake: U256::ZERO, commission_bps: 0 };
        let submitted = node.validator_action(&node.validator_key(4), &join).unwrap();
        assert!(matches!(submitted, Submitted::Votes(_)));
        node.mine(8).unwrap();
        assert_eq!(node.validators().unwrap().len(), 5);
        let error = node.validator_action(&node.validator_key(0), &ValidatorAction::Unjail).unwrap_err();
        assert!(matches!(error, ValidatorActionError::Unsupported { .. }));
    }
}
