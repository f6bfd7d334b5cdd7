//! ERC-721 with enumeration, URIs, royalties and roles, with votes and without: `erc721-nft`.

use core::marker::PhantomData;

use alloy_primitives::{Address, Bytes, U256, uint};
use alloy_sol_types::{SolCall, SolInterface, SolValue, sol};
use chainbox::templates::{Erc721Features, Erc721Params, erc721::IMMUTABLES};
use proptest::{
    prelude::*,
    test_runner::{Config, TestError},
};

use crate::{
    altered::{Altered, notices_each_function},
    differential::Differential,
    engine::{Call, FIRST_BLOCK},
    exercise::exercise,
    layout::Keys,
    parties::{ADMIN, MINTER, PERSONS, contract, person},
    roles::{Roles::RolesCalls, administration, appointments, royalties},
    signatures::DelegationChoice,
    suite::{Creation, Scene, Suite},
    templates::Templates,
    values,
};

sol! {
    #[sol(extra_derives(Debug))]
    interface Erc721 {
        function safeMint(address to, uint256 tokenId, string uri);
        function burn(uint256 tokenId);
        function approve(address to, uint256 tokenId);
        function setApprovalForAll(address operator, bool approved);
        function transferFrom(address from, address to, uint256 tokenId);
        function safeTransferFrom(address from, address to, uint256 tokenId);
        function safeTransferFrom(address from, address to, uint256 tokenId, bytes data);
        function delegate(address delegatee);
        function delegateBySig(address delegatee, uint256 nonce, uint256 expiry, uint8 v, bytes32 r, bytes32 s);
        function ownerOf(uint256 tokenId);
    }
}

use Erc721::*;

/// Which of the two references.
pub trait Variant: Clone + core::fmt::Debug + 'static {
    const CONTRACT: &'static str;
    const HAS_VOTES: bool;
    const UNREACHABLE: &'static [&'static str];
    /// File in which failing seeds of the template are kept.
    const REGRESSIONS: &'static str;
}

#[derive(Clone, Debug)]
pub struct Plain;

impl Variant for Plain {
    const CONTRACT: &'static str = "Erc721";
    const HAS_VOTES: bool = false;
    const UNREACHABLE: &'static [&'static str] = &[
        "ERC721EnumerableForbiddenBatchMint()",
        // Asked by views alone.
        "ERC721InvalidOwner(address)",
        "ERC721OutOfBoundsIndex(address,uint256)",
    ];
    const REGRESSIONS: &'static str = "tests/openzeppelin/regressions/erc721.txt";
}

#[derive(Clone, Debug)]
pub struct WithVotes;

impl Variant for WithVotes {
    const CONTRACT: &'static str = "Erc721Votes";
    const HAS_VOTES: bool = true;
    const UNREACHABLE: &'static [&'static str] = &[
        "ERC721EnumerableForbiddenBatchMint()",
        "ERC721InvalidOwner(address)",
        "ERC721OutOfBoundsIndex(address,uint256)",
        "ECDSAInvalidSignatureLength(uint256)",
        "InvalidShortString()",
        "SafeCastOverflowedUintDowncast(uint8,uint256)",
        "CheckpointUnorderedInsertion()",
        "ERC5805FutureLookup(uint256,uint48)",
        "ERC6372InconsistentClock()",
        "delegate(address)",
        "_nameFallback",
        "_versionFallback",
    ];
    const REGRESSIONS: &'static str = "tests/openzeppelin/regressions/erc721_votes.txt";
}

#[derive(Clone, Debug)]
pub struct Nft<V>(PhantomData<V>);

/// Constructor parameters of the reference.
#[derive(Clone, Debug)]
pub struct Setup {
    pub name: String,
    pub symbol: String,
}

#[derive(Clone, Debug)]
pub enum Operation {
    /// A call by whom it names.
    Call {
        from: Address,
        call: Erc721Calls,
    },
    /// `safeMint`, with the bytes of its text.
    SafeMint {
        from: Address,
        to: Address,
        token_id: U256,
        uri: Bytes,
    },
    /// A call of who has a role.
    ByRole {
        from: Address,
        call: RolesCalls,
    },
    /// A call about a token, by its owner.
    ByOwner {
        token_id: U256,
        action: OwnersAction,
    },
    DelegateBySig {
        from: Address,
        delegation: DelegationChoice,
    },
}

/// What the owner of a token does with it.
#[derive(Clone, Debug)]
pub enum OwnersAction {
    Transfer { to: Address },
    SafeTransfer { to: Address },
    SafeTransferWithData { to: Address, data: Bytes },
    Approve { to: Address },
    Burn,
}

impl<V: Variant> Suite for Nft<V> {
    type Setup = Setup;
    type Operation = Operation;

    const CONTRACT: &'static str = V::CONTRACT;
    const UNREACHABLE: &'static [&'static str] = V::UNREACHABLE;

    fn setups() -> BoxedStrategy<Setup> {
        (prop_oneof![9 => values::short_text(), 1 => values::text()], values::text())
            .prop_map(|(name, symbol)| Setup { name, symbol })
            .boxed()
    }

    fn operations() -> BoxedStrategy<Operation> {
        use Erc721Calls as Calls;
        use values::{account, id, mostly_minter, sender};
        let minting = (mostly_minter(), holder(), new_id(), values::text_bytes())
            .prop_map(|(from, to, token_id, uri)| Operation::SafeMint { from, to, token_id, uri })
            .boxed();
        let transfers = prop_oneof![
            2 => (sender(), id()).prop_map(|(from, token_id)| (from, Calls::burn(burnCall { tokenId: token_id }))),
            2 => (sender(), account(), id())
                .prop_map(|(from, to, token_id)| (from, Calls::approve(approveCall { to, tokenId: token_id }))),
            3 => (sender(), account(), any::<bool>()).prop_map(|(from, operator, approved)| {
                (from, Calls::setApprovalForAll(setApprovalForAllCall { operator, approved }))
            }),
            4 => (sender(), account(), account(), id()).prop_map(|(by, from, to, token_id)| {
                (by, Calls::transferFrom(transferFromCall { from, to, tokenId: token_id }))
            }),
            3 => (sender(), account(), account(), id()).prop_map(|(by, from, to, token_id)| {
                (by, Calls::safeTransferFrom_0(safeTransferFrom_0Call { from, to, tokenId: token_id }))
            }),
            2 => (sender(), account(), account(), id(), values::data()).prop_map(|(by, from, to, token_id, data)| {
                (by, Calls::safeTransferFrom_1(safeTransferFrom_1Call { from, to, tokenId: token_id, data }))
            }),
        ]
        .boxed();
        let call = transfers.prop_map(|(from, call)| Operation::Call { from, call }).boxed();
        let by_role = prop_oneof![administration(), royalties()]
            .prop_map(|(from, call)| Operation::ByRole { from, call })
            .boxed();
        let by_owner =
            (id(), owners_action()).prop_map(|(token_id, action)| Operation::ByOwner { token_id, action }).boxed();
        let votes = (sender(), account())
            .prop_map(|(from, delegatee)| Operation::Call { from, call: Calls::delegate(delegateCall { delegatee }) })
            .boxed();
        let delegation = (sender(), DelegationChoice::strategy())
            .prop_map(|(from, delegation)| Operation::DelegateBySig { from, delegation })
            .boxed();
        match V::HAS_VOTES {
            true => {
                prop_oneof![5 => minting, 6 => call, 4 => by_role, 8 => by_owner, 3 => votes, 2 => delegation].boxed()
            }
            false => prop_oneof![5 => minting, 6 => call, 4 => by_role, 8 => by_owner].boxed(),
        }
    }

    fn reference(setup: &Setup) -> Vec<Creation> {
        let owner = person(ADMIN);
        let params = (&setup.name, &setup.symbol, owner, owner, owner);
        vec![Creation::reference(Self::CONTRACT, &params.abi_encode_params())]
    }

    fn call(setup: &Setup, operation: &Operation, scene: &mut Scene<'_>) -> Call {
        let to = contract(0);
        let (from, input) = match operation {
            Operation::Call { from, call } => (*from, call.abi_encode()),
            Operation::SafeMint { from, to, token_id, uri } => {
                let params = (*to, *token_id, uri.clone()).abi_encode_params();
                (*from, [safeMintCall::SELECTOR.as_slice(), &params].concat())
            }
            Operation::ByRole { from, call } => (*from, call.abi_encode()),
            Operation::ByOwner { token_id, action } => {
                let owner = scene.read(to, &ownerOfCall { tokenId: *token_id });
                let owner = Address::from_word(owner.into());
                (owner, action.call(owner, *token_id).abi_encode())
            }
            Operation::DelegateBySig { from, delegation } => {
                let (delegation, parts) = delegation.sign(&setup.name, to, scene);
                let call = delegateBySigCall {
                    delegatee: delegation.delegatee,
                    nonce: delegation.nonce,
                    expiry: delegation.expiry,
                    v: parts.v,
                    r: parts.r,
                    s: parts.s,
                };
                (*from, call.abi_encode())
            }
        };
        Call { from, to, value: U256::ZERO, input: input.into() }
    }

    fn preparation(_: &Setup) -> Vec<Call> {
        let mint = |index: usize| {
            let call = safeMintCall { to: person(index), tokenId: U256::from(index), uri: "first".to_owned() };
            Call { from: person(MINTER), to: contract(0), value: U256::ZERO, input: call.abi_encode().into() }
        };
        appointments(&["PAUSER_ROLE", "MINTER_ROLE"]).into_iter().chain((0..PERSONS).map(mint)).collect()
    }

    fn keys(_: &Setup) -> Keys {
        let moments = FIRST_BLOCK..FIRST_BLOCK + if V::HAS_VOTES { 8 } else { 0 };
        Keys { addresses: values::accounts(), numbers: values::numbers(moments), words: values::roles() }
    }
}

impl OwnersAction {
    fn call(&self, owner: Address, token_id: U256) -> Erc721Calls {
        match self.clone() {
            Self::Transfer { to } => Erc721Calls::transferFrom(transferFromCall { from: owner, to, tokenId: token_id }),
            Self::SafeTransfer { to } => {
                Erc721Calls::safeTransferFrom_0(safeTransferFrom_0Call { from: owner, to, tokenId: token_id })
            }
            Self::SafeTransferWithData { to, data } => {
                Erc721Calls::safeTransferFrom_1(safeTransferFrom_1Call { from: owner, to, tokenId: token_id, data })
            }
            Self::Approve { to } => Erc721Calls::approve(approveCall { to, tokenId: token_id }),
            Self::Burn => Erc721Calls::burn(burnCall { tokenId: token_id }),
        }
    }
}

fn owners_action() -> impl Strategy<Value = OwnersAction> {
    use values::account;
    prop_oneof![
        3 => account().prop_map(|to| OwnersAction::Transfer { to }),
        3 => account().prop_map(|to| OwnersAction::SafeTransfer { to }),
        3 => (holder(), values::data()).prop_map(|(to, data)| OwnersAction::SafeTransferWithData { to, data }),
        3 => account().prop_map(|to| OwnersAction::Approve { to }),
        1 => Just(OwnersAction::Burn),
    ]
}

/// Returns the strategy of who is sent a token by a function that asks him: a third are receivers.
fn holder() -> impl Strategy<Value = Address> {
    prop_oneof![4 => values::a_person(), 3 => values::a_receiver(), 1 => values::account()]
}

/// Returns the strategy of ids to mint: often new ones.
fn new_id() -> impl Strategy<Value = U256> {
    prop_oneof![2 => values::id(), 1 => (0u64..64).prop_map(U256::from)]
}

fn template<V: Variant>() -> Differential<Nft<V>> {
    Differential {
        creations: |setup| {
            let features = Erc721Features { mintable: true, burnable: true, pausable: true, votes: V::HAS_VOTES };
            // What the references have in their code.
            let base_uri = if V::HAS_VOTES { "" } else { "ipfs://reference/" };
            let params = Erc721Params::new(&setup.name, &setup.symbol, base_uri, person(ADMIN));
            vec![Creation::new(Erc721Params { features, ..params }.init_code())]
        },
        own_slots: &OWN_SLOTS,
        regressions: V::REGRESSIONS,
    }
}

/// Slots of the features, and of the base URI.
const OWN_SLOTS: [U256; 2] =
    [IMMUTABLES, uint!(0xe45459f3d696700d87f624afd2d5d5222634ce6538ddd24cbccdeedc06e1ea33_U256)];

#[test]
fn operations_reach_all_of_the_reference() {
    exercise::<Nft<Plain>>();
}

#[test]
fn operations_reach_all_of_the_reference_with_votes() {
    exercise::<Nft<WithVotes>>();
}

#[test]
fn each_function_is_noticed() {
    notices_each_function::<Nft<Plain>>();
}

#[test]
fn each_function_is_noticed_with_votes() {
    notices_each_function::<Nft<WithVotes>>();
}

#[test]
fn the_template_does_what_the_reference_does() {
    template::<Plain>().run();
}

#[test]
fn the_template_with_votes_does_what_the_reference_does() {
    template::<WithVotes>().run();
}

/// Each deviation is found, and the case that shows it is small.
#[test]
fn deviations_are_found() {
    let to_the_next: fn(Call) -> Call = |mut call| {
        if let Ok(mut approve) = approveCall::abi_decode(&call.input) {
            approve.tokenId = approve.tokenId.wrapping_add(U256::ONE);
            call.input = approve.abi_encode().into();
        }
        call
    };
    let without_uri: fn(Call) -> Call = |mut call| {
        if let Ok(mut mint) = safeMintCall::abi_decode(&call.input)
            && mint.tokenId == U256::ONE
        {
            mint.uri.clear();
            call.input = mint.abi_encode().into();
        }
        call
    };
    let by_the_minter: fn(Call) -> Call = |call| Call { from: person(MINTER), ..call };
    for (name, call) in [("to the next", to_the_next), ("no URI", without_uri), ("by the minter", by_the_minter)] {
        let config = Config { cases: 100, failure_persistence: None, ..Config::default() };
        let found = template::<Plain>().search(config, || Box::new(Altered { call, ..Altered::new(Templates::new()) }));
        match found {
            Err(TestError::Fail(_, case)) => assert!(case.steps.len() <= 2, "{name}: {case:?}"),
            other => panic!("{name} is not found: {other:?}"),
        }
    }
}
