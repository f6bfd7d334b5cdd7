//! ERC-1155 with supplies, royalties and roles.

use alloy_primitives::{Address, Bytes, U256, aliases::U96};
use alloy_sol_types::{SolCall, SolInterface, SolValue, sol};
use proptest::{collection::vec, prelude::*};

use super::erc721::{fee, royalty_receiver};
use crate::{
    altered::notices_each_function,
    engine::Call,
    exercise::exercise,
    layout::Keys,
    parties::{ADMIN, MINTER, PERSONS, contract, person},
    suite::{Creation, Scene, Suite},
    values,
};

sol! {
    #[sol(extra_derives(Debug))]
    interface Erc1155 {
        function mint(address account, uint256 id, uint256 amount, bytes data);
        function mintBatch(address to, uint256[] ids, uint256[] amounts, bytes data);
        function burn(address account, uint256 id, uint256 value);
        function burnBatch(address account, uint256[] ids, uint256[] values);
        function setApprovalForAll(address operator, bool approved);
        function safeTransferFrom(address from, address to, uint256 id, uint256 value, bytes data);
        function safeBatchTransferFrom(address from, address to, uint256[] ids, uint256[] values, bytes data);
        function setURI(string newuri);
        function pause();
        function unpause();
        function grantRole(bytes32 role, address account);
        function revokeRole(bytes32 role, address account);
        function renounceRole(bytes32 role, address callerConfirmation);
        function setDefaultRoyalty(address receiver, uint96 feeNumerator);
        function setTokenRoyalty(uint256 tokenId, address receiver, uint96 feeNumerator);
        function balanceOfBatch(address[] accounts, uint256[] ids);
    }
}

use Erc1155::*;

#[derive(Clone, Debug)]
pub struct MultiToken;

/// Constructor parameters of the reference.
#[derive(Clone, Debug)]
pub struct Setup {
    pub uri: String,
}

#[derive(Clone, Debug)]
pub struct Operation {
    from: Address,
    call: Erc1155Calls,
}

/// Lists of ids and amounts.
type Lists = (Vec<U256>, Vec<U256>);

impl Suite for MultiToken {
    type Setup = Setup;
    type Operation = Operation;

    const CONTRACT: &'static str = "Erc1155";
    const UNREACHABLE: &'static [&'static str] = &[
        // The zero address sends nothing and has approved nobody, which is asked first.
        "ERC1155InvalidApprover(address)",
        "ERC1155InvalidSender(address)",
    ];

    fn setups() -> BoxedStrategy<Setup> {
        values::text().prop_map(|uri| Setup { uri }).boxed()
    }

    fn operations() -> BoxedStrategy<Operation> {
        use Erc1155Calls as Calls;
        use values::{a_role, account, amount, data, id, mostly_admin, mostly_minter, sender};
        let minting = prop_oneof![
            (mostly_minter(), holder(), id(), amount(), data()).prop_map(|(from, account, id, amount, data)| {
                (from, Calls::mint(mintCall { account, id, amount, data }))
            }),
            (mostly_minter(), holder(), lists(), data()).prop_map(|(from, to, (ids, amounts), data)| {
                (from, Calls::mintBatch(mintBatchCall { to, ids, amounts, data }))
            }),
        ]
        .boxed();
        let burning = prop_oneof![
            (by_and_from(), id(), amount())
                .prop_map(|((by, account), id, value)| (by, Calls::burn(burnCall { account, id, value }))),
            (by_and_from(), lists()).prop_map(|((by, account), (ids, values))| {
                (by, Calls::burnBatch(burnBatchCall { account, ids, values }))
            }),
        ]
        .boxed();
        let transfers = prop_oneof![
            3 => (by_and_from(), holder(), id(), amount(), data()).prop_map(|((by, from), to, id, value, data)| {
                (by, Calls::safeTransferFrom(safeTransferFromCall { from, to, id, value, data }))
            }),
            3 => (by_and_from(), holder(), lists(), data()).prop_map(|((by, from), to, (ids, values), data)| {
                (by, Calls::safeBatchTransferFrom(safeBatchTransferFromCall { from, to, ids, values, data }))
            }),
            1 => (sender(), account(), any::<bool>()).prop_map(|(from, operator, approved)| {
                (from, Calls::setApprovalForAll(setApprovalForAllCall { operator, approved }))
            }),
        ]
        .boxed();
        let administration = prop_oneof![
            1 => mostly_minter().prop_map(|from| (from, Calls::pause(pauseCall {}))),
            3 => mostly_minter().prop_map(|from| (from, Calls::unpause(unpauseCall {}))),
            2 => (mostly_admin(), a_role(), account())
                .prop_map(|(from, role, account)| (from, Calls::grantRole(grantRoleCall { role, account }))),
            1 => (mostly_admin(), a_role(), account())
                .prop_map(|(from, role, account)| (from, Calls::revokeRole(revokeRoleCall { role, account }))),
            1 => (sender(), a_role(), account(), any::<bool>()).prop_map(|(from, role, other, is_own)| {
                (from, Calls::renounceRole(renounceRoleCall { role, callerConfirmation: if is_own { from } else { other } }))
            }),
            2 => (mostly_minter(), values::text())
                .prop_map(|(from, newuri)| (from, Calls::setURI(setURICall { newuri }))),
        ]
        .boxed();
        let royalties = prop_oneof![
            (mostly_admin(), royalty_receiver(), fee()).prop_map(|(from, receiver, fee): (_, _, U96)| {
                (from, Calls::setDefaultRoyalty(setDefaultRoyaltyCall { receiver, feeNumerator: fee }))
            }),
            (mostly_admin(), id(), royalty_receiver(), fee()).prop_map(|(from, id, receiver, fee)| {
                (from, Calls::setTokenRoyalty(setTokenRoyaltyCall { tokenId: id, receiver, feeNumerator: fee }))
            }),
        ]
        .boxed();
        prop_oneof![6 => minting, 3 => burning, 8 => transfers, 3 => administration, 2 => royalties]
            .prop_map(|(from, call)| Operation { from, call })
            .boxed()
    }

    fn reference(setup: &Setup) -> Vec<Creation> {
        let (admin, minter) = (person(ADMIN), person(MINTER));
        vec![Creation::reference(Self::CONTRACT, &(&setup.uri, admin, minter, minter).abi_encode_params())]
    }

    fn call(_: &Setup, Operation { from, call }: &Operation, _: &mut Scene<'_>) -> Call {
        Call { from: *from, to: contract(0), value: U256::ZERO, input: call.abi_encode().into() }
    }

    fn preparation(_: &Setup) -> Vec<Call> {
        let send = |from, input: Vec<u8>| Call { from, to: contract(0), value: U256::ZERO, input: input.into() };
        let role = values::role("URI_SETTER_ROLE");
        let grant = send(person(ADMIN), grantRoleCall { role, account: person(MINTER) }.abi_encode());
        let mint = |index: usize| {
            let (ids, amounts) = (0..8u64).map(|id| (U256::from(id), U256::from(200))).unzip();
            let call = mintBatchCall { to: person(index), ids, amounts, data: Bytes::new() };
            send(person(MINTER), call.abi_encode())
        };
        [grant].into_iter().chain((0..PERSONS).map(mint)).collect()
    }

    fn keys(_: &Setup) -> Keys {
        Keys { addresses: values::accounts(), numbers: values::numbers([]), words: values::roles() }
    }

    fn views(_: &Setup) -> Vec<Bytes> {
        let accounts = values::accounts();
        let ids: Vec<_> = (0..accounts.len() as u64).map(|index| U256::from(index % 5)).collect();
        let whole = balanceOfBatchCall { accounts: accounts.clone(), ids: ids.clone() };
        let uneven = balanceOfBatchCall { accounts, ids: ids[1..].to_vec() };
        [whole, uneven].into_iter().map(|call| call.abi_encode().into()).collect()
    }
}

/// Returns the strategy of lists, mostly of equal lengths, at times naming an id twice.
fn lists() -> impl Strategy<Value = Lists> {
    let pairs = vec(((0u64..8).prop_map(U256::from), values::amount()), 0..4);
    let lists = pairs.prop_map(|pairs| pairs.into_iter().unzip()).boxed();
    prop_oneof![
        12 => lists.clone(),
        1 => lists.prop_map(|(mut ids, amounts): Lists| {
            ids.push(U256::ONE);
            (ids, amounts)
        }),
    ]
}

/// Returns the strategy of who acts and whose tokens it is about: mostly his own.
fn by_and_from() -> impl Strategy<Value = (Address, Address)> {
    prop_oneof![
        4 => values::sender().prop_map(|from| (from, from)),
        1 => (values::sender(), values::account()),
    ]
}

/// Returns the strategy of who is sent tokens: a third are receivers.
fn holder() -> impl Strategy<Value = Address> {
    prop_oneof![4 => values::a_person(), 2 => values::a_receiver(), 1 => values::account()]
}

#[test]
fn operations_reach_all_of_the_reference() {
    exercise::<MultiToken>();
}

#[test]
fn each_function_is_noticed() {
    notices_each_function::<MultiToken>();
}
