//! Nodes of chains with lists of accounts and deployers, over every protocol.

use alloy_sol_types::SolCall;

use super::fixture::{plain_transfer, protocols};
use crate::{
    chain::{CallRequest, ExclusionReason, GenesisSpec, InvalidTransaction, PoolError},
    consensus::ConsensusKind,
    node::{BlockRef, Mining, Node, SendError},
    primitives::{Address, U256, ether},
    system::permissions::{PERMISSIONS_ADDRESS, PermissionWord, PermissionsConfig, interface as sol},
    templates::Erc20Params,
};

/// A node whose first account administers the lists, on which the second is.
fn permissioned((kind, validators): (ConsensusKind, u32)) -> Node {
    let plain = Node::builder().with_accounts(3).build().unwrap();
    let accounts = plain.accounts().to_vec();
    let config = PermissionsConfig::new(accounts[0]).with_accounts([accounts[1]]).with_deployers([accounts[1]]);
    let mut genesis = GenesisSpec::new(31_337).with_interventions(true).with_permissions(config);
    accounts.iter().for_each(|account| genesis.fund(*account, ether(100)));
    let builder = Node::builder().with_accounts(3).with_validators(validators).with_consensus(kind.on_demand());
    builder.with_genesis(genesis).build().unwrap()
}

fn set(account: Address, is_account: bool) -> CallRequest {
    let call = sol::setPermissionsCall { account, isAccount: is_account, isDeployer: false };
    CallRequest::call(PERMISSIONS_ADDRESS, call.abi_encode())
}

fn refused(sent: Result<impl core::fmt::Debug, SendError>) -> InvalidTransaction {
    match sent {
        Err(SendError::Pool(PoolError::Invalid(reason))) => reason,
        Err(SendError::Query(crate::node::QueryError::Invalid(reason))) => reason,
        other => panic!("{other:?}"),
    }
}

/// With several validators each executes every block for itself.
#[test]
fn every_protocol_keeps_the_lists() {
    for chain in protocols() {
        let node = permissioned(chain);
        let [admin, listed, other] = [0, 1, 2].map(|index| node.accounts()[index]);
        let not_allowed = InvalidTransaction::SenderNotAllowed { address: other };
        node.send(plain_transfer(&node, 1, 0, 1)).unwrap();
        assert_eq!(refused(node.send(plain_transfer(&node, 2, 0, 1))), not_allowed, "{chain:?}");
        // Before it is signed, by the estimate of its gas.
        let request = CallRequest::call(Address::repeat_byte(7), []).with_from(other);
        assert_eq!(refused(node.send_request(request)), not_allowed, "{chain:?}");
        node.impersonate(other).unwrap();
        let unsigned = CallRequest::call(Address::repeat_byte(7), [])
            .with_from(other)
            .with_gas(crate::primitives::Gas::new(21_000));
        assert_eq!(refused(node.send_request(unsigned)), not_allowed, "{chain:?}");
        node.send_request(set(other, true).with_from(admin)).unwrap();
        node.send(plain_transfer(&node, 2, 0, 1)).unwrap();
        assert_eq!(node.view().head().transactions()[0].sender(), other, "{chain:?}");
        let token = Erc20Params::new("Gold", "GLD", U256::from(9), admin).init_code();
        let not_deployer = InvalidTransaction::DeployerNotAllowed { address: other };
        assert_eq!(refused(node.send_request(CallRequest::create(token.clone()).with_from(other))), not_deployer);
        node.send_request(CallRequest::create(token).with_from(listed)).unwrap();
    }
}

#[test]
fn a_pooled_transaction_follows_the_lists_of_snapshots_and_interventions() {
    let node = permissioned((ConsensusKind::Poa, 1));
    let [admin, other] = [0, 2].map(|index| node.accounts()[index]);
    let snapshot = node.snapshot();
    node.send_request(set(other, true).with_from(admin)).unwrap();
    node.set_mining(Mining::Manual).unwrap();
    node.send(plain_transfer(&node, 2, 0, 1)).unwrap();
    let waits = |node: &Node| node.view().pooled()[0].excluded.clone();
    let not_allowed = ExclusionReason::NotAllowed { reason: InvalidTransaction::SenderNotAllowed { address: other } };
    assert_eq!(waits(&node), None);
    let slot = PermissionWord::Entry(other).slot();
    let listed = node.view().storage(PERMISSIONS_ADDRESS, slot, BlockRef::Latest).unwrap();
    node.set_storage(PERMISSIONS_ADDRESS, slot, U256::ZERO).unwrap();
    assert_eq!(waits(&node), Some(not_allowed));
    assert!(node.mine(1).unwrap().transactions().is_empty());
    node.set_storage(PERMISSIONS_ADDRESS, slot, listed).unwrap();
    assert_eq!((waits(&node), node.mine(1).unwrap().transactions().len()), (None, 1));
    assert!(node.revert(snapshot).unwrap());
    let info = node.view().chain().permissions_of(node.view().head(), other).unwrap();
    assert!(!info.isAccount && !info.maySend);
}
