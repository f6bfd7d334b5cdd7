//! Proptest strategies of what a chain is given.

use alloy_sol_types::SolCall as _;
use proptest::{collection::vec, prelude::*, sample::select};

use crate::{
    chain::{CallRequest, GenesisSpec},
    node::Node,
    primitives::{Address, Bytes, Gas, Timestamp, U256},
    sim::{FaultPlan, Profile},
    templates::erc20::interface as erc20,
};

/// One of the node's accounts; shrinks to the first.
pub fn account(node: &Node) -> impl Strategy<Value = Address> + Clone + use<> {
    select(node.accounts().to_vec())
}

/// An amount up to `max`, inclusive: of every magnitude alike, with 0, 1 and `max` often; shrinks to 0.
pub fn amount(max: U256) -> impl Strategy<Value = U256> + Clone {
    let of_any_size = (0..=max.bit_len(), any::<[u64; 4]>()).prop_map(move |(bits, limbs)| {
        let below = U256::MAX.checked_shr(256 - bits).unwrap_or_default();
        (U256::from_limbs(limbs) & below).min(max)
    });
    prop_oneof![1 => Just(U256::ZERO), 1 => Just(U256::ONE.min(max)), 6 => of_any_size, 1 => Just(max)]
}

/// A payment between two accounts, which may be the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Payment {
    /// Sender and payer of the fees.
    pub from: Address,
    /// Receiver.
    pub to: Address,
    /// Amount in the smallest unit.
    pub value: U256,
}

/// A payment of up to `max` between two of the node's accounts.
pub fn payment(node: &Node, max: U256) -> impl Strategy<Value = Payment> + Clone + use<> {
    (account(node), account(node), amount(max)).prop_map(|(from, to, value)| Payment { from, to, value })
}

/// A transaction between two of the node's accounts, for [`Node::send_request`]: with or without data, fees and gas limit of its
/// own. Not each of them is valid: a gas limit may be too low for the data.
pub fn transaction(node: &Node, max: U256) -> impl Strategy<Value = CallRequest> + use<> {
    let gas = proptest::option::of((21_000..200_000_u64).prop_map(Gas::new));
    // Up to 100 gwei, the tip at most the whole.
    let fees = proptest::option::of((1_000_000_000..100_000_000_000_u128).prop_flat_map(|fee| (Just(fee), 0..=fee)));
    (payment(node, max), vec(any::<u8>(), 0..64), gas, fees).prop_map(|(payment, data, gas, fees)| {
        let request = CallRequest::call(payment.to, data).with_from(payment.from).with_value(payment.value);
        let request = gas.into_iter().fold(request, CallRequest::with_gas);
        fees.into_iter().fold(request, |request, (fee, tip)| request.with_fees(fee, tip))
    })
}

/// The input of a call that changes an `erc20-token`: transfers, approvals, mints and burns of up to `max` units among the node's
/// accounts, valid or not.
pub fn erc20_call(node: &Node, max: U256) -> impl Strategy<Value = Bytes> + use<> {
    let parts = (0..6_u8, account(node), account(node), amount(max));
    parts.prop_map(|(function, from, to, value)| {
        Bytes::from(match function {
            0 => erc20::transferCall { to, value }.abi_encode(),
            1 => erc20::approveCall { spender: to, value }.abi_encode(),
            2 => erc20::transferFromCall { from, to, value }.abi_encode(),
            3 => erc20::mintCall { to, amount: value }.abi_encode(),
            4 => erc20::burnCall { value }.abi_encode(),
            _ => erc20::burnFromCall { account: from, value }.abi_encode(),
        })
    })
}

/// A script of calls to one contract, each by one of the node's accounts, of inputs from `call`; for
/// [`Node::send_and_mine`]. Shrinks by leaving calls out.
pub fn script(
    node: &Node,
    contract: Address,
    call: impl Strategy<Value = Bytes>,
    length: core::ops::Range<usize>,
) -> impl Strategy<Value = Vec<CallRequest>> {
    let one = (account(node), call).prop_map(move |(from, input)| CallRequest::call(contract, input).with_from(from));
    vec(one, length)
}

/// A genesis that a node can be built on ([`NodeBuilder::with_genesis`](crate::node::NodeBuilder::with_genesis)): chain id, time, gas limit, and
/// up to eight accounts with balances. It allows interventions.
pub fn genesis() -> impl Strategy<Value = GenesisSpec> {
    let accounts = vec((any::<[u8; 20]>().prop_map(Address::from), amount(U256::from(u128::MAX))), 0..8);
    let parts = (1..u64::from(u32::MAX), 0..4_000_000_000_u64, 1_000_000..60_000_000_u64, accounts);
    parts.prop_map(|(chain_id, timestamp, gas_limit, accounts)| {
        let mut genesis = GenesisSpec {
            timestamp: Timestamp::from_secs(timestamp),
            gas_limit: Gas::new(gas_limit),
            allow_interventions: true,
            ..GenesisSpec::new(chain_id)
        };
        accounts.into_iter().for_each(|(address, balance)| genesis.fund(address, balance));
        genesis
    })
}

/// A fault plan of a network of so many replicas, as [`FaultPlan::strategy`].
pub fn fault_plan(replicas: u32, profile: Profile) -> impl Strategy<Value = FaultPlan> {
    FaultPlan::strategy(replicas, profile)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::templates::Erc20Params;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn amounts_stay_within_their_bound(
            (max, drawn) in amount(U256::MAX).prop_flat_map(|max| (Just(max), amount(max))),
        ) {
            prop_assert!(drawn <= max);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]

        #[test]
        fn a_node_can_be_built_on_any_genesis(genesis in genesis()) {
            let node = Node::builder().with_genesis(genesis.clone()).build().unwrap();
            prop_assert_eq!(node.view().chain_id(), genesis.chain_id);
            node.mine(1).unwrap();
        }

        #[test]
        fn transactions_are_mined_or_refused(requests in vec(transaction(&Node::new(), U256::from(9)), 1..6)) {
            let node = Node::new();
            for request in requests {
                let before = node.view().head().height();
                let mined = node.send_and_mine(request).is_ok();
                prop_assert_eq!(node.view().head().height() > before, mined);
            }
        }

        #[test]
        fn a_token_has_what_its_holders_have(
            calls in script(&Node::new(), Address::ZERO, erc20_call(&Node::new(), U256::from(2_000)), 1..8),
        ) {
            let node = Node::new();
            let owner = node.accounts()[0];
            let token = node.deploy(owner, Erc20Params::new("Gold", "GLD", U256::from(1_000), owner).init_code()).unwrap();
            for call in calls {
                let call = CallRequest::call(token.address(), call.input).with_from(call.from.unwrap());
                // A revert changes nothing.
                let _ = node.send_and_mine(call);
            }
            let held = node.accounts().iter().map(|account| token.call(erc20::balanceOfCall { account: *account }).unwrap());
            prop_assert_eq!(held.fold(U256::ZERO, |sum, one| sum + one), token.call(erc20::totalSupplyCall {}).unwrap());
        }
    }
}
