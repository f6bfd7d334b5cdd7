//! ERC-1155 with supplies, royalties and roles: `erc1155-multi`, version 1.

use alloy_primitives::{Address, Bytes, U256, aliases::U96, uint};
use alloy_sol_types::{SolCall, SolInterface, SolValue, sol};
use chainbox::templates::{Erc1155Features, Erc1155Params, erc1155::IMMUTABLES};
use proptest::{
    collection::vec,
    prelude::*,
    test_runner::{Config, TestError},
};

use crate::{
    altered::{Altered, notices_each_function},
    differential::Differential,
    engine::Call,
    exercise::exercise,
    layout::Keys,
    parties::{ADMIN, MINTER, PERSONS, contract, person},
    roles::{Roles::RolesCalls, administration, appointments, royalties},
    suite::{Case, Creation, Scene, Suite},
    templates::Templates,
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
        function balanceOfBatch(address[] accounts, uint256[] ids);
    }
}

use Erc1155::*;

#[derive(Clone, Debug)]
pub struct MultiToken;

#[derive(Clone, Debug)]
pub enum Operation {
    /// A call by whom it names.
    Call { from: Address, call: Erc1155Calls },
    /// `setURI`, with the bytes of its text.
    SetUri { from: Address, uri: Bytes },
    /// A call of who has a role.
    ByRole { from: Address, call: RolesCalls },
}

/// Lists of ids and amounts.
type Lists = (Vec<U256>, Vec<U256>);

impl Suite for MultiToken {
    type Setup = Erc1155Params;
    type Operation = Operation;

    const CONTRACT: &'static str = "Erc1155";
    const UNREACHABLE: &'static [&'static str] = &[
        // The zero address sends nothing and has approved nobody, which is asked first.
        "ERC1155InvalidApprover(address)",
        "ERC1155InvalidSender(address)",
    ];

    fn setups() -> BoxedStrategy<Erc1155Params> {
        let features = Erc1155Features { mintable: true, burnable: true, pausable: true };
        let receiver = prop_oneof![12 => values::a_person(), 1 => Just(Address::ZERO)];
        let fee = prop_oneof![6 => Just(0u16), 6 => 1u16..=10_000, 1 => Just(10_001)];
        (values::text(), receiver, fee)
            .prop_map(move |(uri, royalty_receiver, royalty_fee)| Erc1155Params {
                features,
                royalty_receiver,
                royalty_fee,
                ..Erc1155Params::new(&uri, person(ADMIN))
            })
            .boxed()
    }

    fn operations() -> BoxedStrategy<Operation> {
        use Erc1155Calls as Calls;
        use values::{account, amount, data, id, mostly_minter, sender};
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
        let call = prop_oneof![6 => minting, 3 => burning, 8 => transfers]
            .prop_map(|(from, call)| Operation::Call { from, call })
            .boxed();
        let set_uri =
            (mostly_minter(), values::text_bytes()).prop_map(|(from, uri)| Operation::SetUri { from, uri }).boxed();
        let by_role = prop_oneof![administration(), royalties()]
            .prop_map(|(from, call)| Operation::ByRole { from, call })
            .boxed();
        prop_oneof![17 => call, 1 => set_uri, 4 => by_role].boxed()
    }

    fn reference(setup: &Erc1155Params) -> Vec<Creation> {
        let Erc1155Params { uri, owner, royalty_receiver, royalty_fee, .. } = setup;
        let params = (uri, owner, owner, owner, owner, royalty_receiver, U96::from(*royalty_fee)).abi_encode_params();
        vec![Creation::reference(Self::CONTRACT, &params)]
    }

    fn call(_: &Erc1155Params, operation: &Operation, _: &mut Scene<'_>) -> Call {
        let (from, input) = match operation {
            Operation::Call { from, call } => (*from, call.abi_encode()),
            Operation::SetUri { from, uri } => {
                (*from, [setURICall::SELECTOR.as_slice(), &(uri.clone(),).abi_encode_params()].concat())
            }
            Operation::ByRole { from, call } => (*from, call.abi_encode()),
        };
        Call { from, to: contract(0), value: U256::ZERO, input: input.into() }
    }

    fn preparation(_: &Erc1155Params) -> Vec<Call> {
        let mint = |index: usize| {
            let (ids, amounts) = (0..8u64).map(|id| (U256::from(id), U256::from(200))).unzip();
            let call = mintBatchCall { to: person(index), ids, amounts, data: Bytes::new() };
            Call { from: person(MINTER), to: contract(0), value: U256::ZERO, input: call.abi_encode().into() }
        };
        let roles = ["MINTER_ROLE", "PAUSER_ROLE", "URI_SETTER_ROLE"];
        appointments(&roles).into_iter().chain((0..PERSONS).map(mint)).collect()
    }

    fn keys(_: &Erc1155Params) -> Keys {
        Keys { addresses: values::accounts(), numbers: values::numbers([]), words: values::roles() }
    }

    fn views(_: &Erc1155Params) -> Vec<Bytes> {
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

const TEMPLATE: Differential<MultiToken> = Differential {
    creations: |setup| vec![Creation::new(setup.init_code())],
    own_slots: &[IMMUTABLES],
    regressions: "tests/openzeppelin/regressions/erc1155.txt",
};

#[test]
fn the_template_does_what_the_reference_does() {
    TEMPLATE.run();
}

/// Each deviation is found, and the case that shows it is small.
#[test]
fn deviations_are_found() {
    let one_more: fn(Call) -> Call = |mut call| {
        if let Ok(mut transfer) = safeTransferFromCall::abi_decode(&call.input) {
            transfer.value = transfer.value.wrapping_add(U256::ONE);
            call.input = transfer.abi_encode().into();
        }
        call
    };
    let half_a_batch: fn(Call) -> Call = |mut call| {
        if let Ok(mut batch) = safeBatchTransferFromCall::abi_decode(&call.input)
            && batch.ids.len() == batch.values.len()
        {
            batch.ids.pop();
            batch.values.pop();
            call.input = batch.abi_encode().into();
        }
        call
    };
    let by_the_owner: fn(Call) -> Call = |call| Call { from: person(ADMIN), ..call };
    for (name, call) in [("one more", one_more), ("half a batch", half_a_batch), ("by the owner", by_the_owner)] {
        let config = Config { cases: 100, failure_persistence: None, ..Config::default() };
        match TEMPLATE.search(config, || Box::new(Altered { call, ..Altered::new(Templates::new()) })) {
            Err(TestError::Fail(_, case)) => assert!(case.steps.len() <= 2, "{name}: {case:?}"),
            other => panic!("{name} is not found: {other:?}"),
        }
    }
}

/// A value of another packing is found, by the name of its variable.
#[test]
fn a_variable_in_another_place_is_named() {
    let royalty_receiver = person(MINTER);
    let setup = Erc1155Params { royalty_receiver, royalty_fee: 250, ..Erc1155Params::new("ipfs://", person(ADMIN)) };
    let features = Erc1155Features { mintable: true, burnable: true, pausable: true };
    let case = Case { setup: Erc1155Params { features, ..setup }, steps: Vec::new() };
    // The fee is not above the receiver but below it.
    let storage: fn(U256, U256) -> U256 = |slot, word| if slot == uint!(7_U256) { word.rotate_left(96) } else { word };
    let difference = TEMPLATE.compare(&case, &mut Altered { storage, ..Altered::new(Templates::new()) });
    let difference = difference.expect_err("the fee moved").to_string();
    assert!(difference.contains("_defaultRoyaltyInfo"), "{difference}");
    assert!(TEMPLATE.compare(&case, &mut Templates::new()).is_ok());
}
