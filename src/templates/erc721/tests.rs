//! The token against OpenZeppelin's behaviour, Solidity's layout, and the gas schedule.

mod errors;
mod gas;
mod golden;
mod model;
mod receiver;
mod votes;

use alloy_primitives::{address, keccak256};
use alloy_sol_types::{SolError, SolEvent, SolEventInterface, SolInterface};

use super::{interface as sol, *};
use crate::{
    primitives::{Gas, Height, Timestamp},
    state::{Journal, fixture::MapView},
    vm::{BlockContext, Descriptor, FrameOutcome, FrameResult, Message, TemplateRegistry, execute, mapping_slot},
};

const OWNER: Address = address!("000000000000000000000000000000000000a001");
const BOB: Address = address!("000000000000000000000000000000000000b002");
const CAROL: Address = address!("000000000000000000000000000000000000c003");
const ALL: Erc721Features = Erc721Features { mintable: true, burnable: true, pausable: true, votes: true };

/// A deployed token.
struct Deployed {
    journal: Journal,
    block: BlockContext,
    registry: TemplateRegistry,
    token: Address,
}

fn params() -> Erc721Params {
    Erc721Params { features: ALL, ..Erc721Params::new("Art", "ART", "ipfs://art/", OWNER) }
}

fn create(journal: &mut Journal, init_code: &[u8], value: u64, gas: u64) -> (Address, FrameResult) {
    journal.begin_transaction();
    let message = Message::create(OWNER, 0, U256::from(value), init_code, Gas::new(gas));
    let block = BlockContext::default();
    (message.to, execute(journal, &block, super::super::builtin(), &message).unwrap())
}

fn empty_journal() -> Journal {
    Journal::new(MapView::with_balances(&[OWNER, BOB, CAROL], U256::from(100)))
}

fn deploy(params: &Erc721Params) -> Deployed {
    let mut journal = empty_journal();
    let (token, result) = create(&mut journal, &params.init_code(), 0, 10_000_000);
    assert!(result.is_success(), "{result:?}");
    let (timestamp, height) = (Timestamp::from_secs(1_000), Height::new(10));
    let block = BlockContext { chain_id: 1, timestamp, height, ..BlockContext::default() };
    Deployed { journal, block, registry: super::super::builtin().clone(), token }
}

/// Deploys a token whose ids 1, 2, 3 belong to owner, Bob, Bob.
fn deploy_with_tokens(params: &Erc721Params) -> Deployed {
    let mut token = deploy(params);
    for (to, id) in [(OWNER, 1), (BOB, 2), (BOB, 3)] {
        token.ok(OWNER, &mint(to, id, ""));
    }
    token
}

impl Deployed {
    /// Runs a transaction of its own with ample gas.
    fn call<C: SolCall>(&mut self, caller: Address, call: &C) -> FrameResult {
        self.call_raw(caller, 0, &call.abi_encode(), 1_000_000)
    }

    fn call_raw(&mut self, caller: Address, value: u64, input: &[u8], gas: u64) -> FrameResult {
        self.journal.begin_transaction();
        let message = Message::call(caller, self.token, U256::from(value), input, Gas::new(gas));
        execute(&mut self.journal, &self.block, &self.registry, &message).unwrap()
    }

    fn read<C: SolCall>(&mut self, call: &C) -> C::Return {
        let result = self.call(CAROL, call);
        assert!(result.is_success(), "{result:?}");
        C::abi_decode_returns_validate(&result.output).unwrap()
    }

    fn ok<C: SolCall>(&mut self, caller: Address, call: &C) {
        let result = self.call(caller, call);
        assert!(result.is_success(), "{}: {result:?}", C::SIGNATURE);
    }

    fn fails<C: SolCall, E: SolError>(&mut self, caller: Address, call: &C, error: &E) {
        let result = self.call(caller, call);
        assert_eq!(result.outcome, FrameOutcome::Revert, "{}", C::SIGNATURE);
        assert_eq!(result.output.as_ref(), error.abi_encode(), "want {}", E::SIGNATURE);
        assert!(self.journal.logs().is_empty());
    }

    fn slot(&mut self, slot: U256) -> U256 {
        self.journal.storage(&self.token, &slot).unwrap()
    }

    fn events(&self) -> Vec<sol::Erc721NftEvents> {
        let decode = |log: &alloy_primitives::Log| sol::Erc721NftEvents::decode_log(log).unwrap().data;
        self.journal.logs().iter().map(decode).collect()
    }

    fn owner_of(&mut self, id: u64) -> Address {
        self.read(&sol::ownerOfCall { tokenId: U256::from(id) })
    }

    fn uri(&mut self, id: u64) -> String {
        self.read(&sol::tokenURICall { tokenId: U256::from(id) })
    }

    /// Returns all ids, and those of each owner, as the enumeration has them.
    fn enumerated(&mut self, owners: &[Address]) -> (Vec<U256>, Vec<Vec<U256>>) {
        let supply: u64 = self.read(&sol::totalSupplyCall {}).to();
        let all = (0..supply).map(|index| self.read(&sol::tokenByIndexCall { index: U256::from(index) })).collect();
        let mut by_owner = Vec::new();
        for &owner in owners {
            let balance: u64 = self.read(&sol::balanceOfCall { owner }).to();
            let of_owner = |index| sol::tokenOfOwnerByIndexCall { owner, index: U256::from(index) };
            by_owner.push((0..balance).map(|index| self.read(&of_owner(index))).collect());
        }
        (all, by_owner)
    }
}

fn mint(to: Address, id: u64, uri: &str) -> sol::safeMint_1Call {
    sol::safeMint_1Call { to, tokenId: U256::from(id), uri: uri.to_owned() }
}

fn transfer(from: Address, to: Address, id: u64) -> sol::transferFromCall {
    sol::transferFromCall { from, to, tokenId: U256::from(id) }
}

fn word(address: Address) -> U256 {
    U256::from_be_bytes(address.into_word().0)
}

fn ids(ids: &[u64]) -> Vec<U256> {
    ids.iter().copied().map(U256::from).collect()
}

#[test]
fn immutables_are_at_the_documented_slots() {
    assert_eq!(U256::from_be_bytes(keccak256("chainbox.erc721.immutables").0), IMMUTABLES);
}

#[test]
fn a_new_token_returns_its_parameters_and_its_owner_has_the_roles() {
    let mut token = deploy(&Erc721Params { royalty_receiver: BOB, royalty_fee: 250, ..params() });
    let granted = |role| sol::Erc721NftEvents::RoleGranted(sol::RoleGranted { role, account: OWNER, sender: OWNER });
    assert_eq!(token.events(), [DEFAULT_ADMIN_ROLE, PAUSER_ROLE, MINTER_ROLE].map(granted));
    assert_eq!(token.read(&sol::nameCall {}), "Art");
    assert_eq!(token.read(&sol::symbolCall {}), "ART");
    assert_eq!(token.read(&sol::totalSupplyCall {}), U256::ZERO);
    let royalty = token.read(&sol::royaltyInfoCall { tokenId: U256::ZERO, salePrice: U256::from(1_000) });
    assert_eq!((royalty.receiver, royalty.amount), (BOB, U256::from(25)));
    assert_eq!(token.read(&sol::MINTER_ROLECall {}), keccak256("MINTER_ROLE"));
    assert_eq!(token.read(&sol::PAUSER_ROLECall {}), keccak256("PAUSER_ROLE"));
    for role in [DEFAULT_ADMIN_ROLE, PAUSER_ROLE, MINTER_ROLE] {
        assert!(token.read(&sol::hasRoleCall { role, account: OWNER }));
        assert_eq!(token.read(&sol::getRoleAdminCall { role }), DEFAULT_ADMIN_ROLE);
    }
}

#[test]
fn tokens_are_minted_moved_and_burnt() {
    let mut token = deploy(&params());
    token.ok(OWNER, &sol::safeMint_0Call { to: BOB, tokenId: U256::from(7) });
    let transferred = |from, to| sol::Transfer { from, to, tokenId: U256::from(7) }.encode_log_data();
    assert_eq!(token.journal.logs()[0].data, transferred(Address::ZERO, BOB));
    assert_eq!(token.journal.logs()[0].topics()[0], keccak256("Transfer(address,address,uint256)"));
    token.ok(BOB, &transfer(BOB, CAROL, 7));
    assert_eq!(token.journal.logs()[0].data, transferred(BOB, CAROL));
    assert_eq!((token.owner_of(7), token.read(&sol::balanceOfCall { owner: BOB })), (CAROL, U256::ZERO));
    let (from, to, token_id) = (CAROL, OWNER, U256::from(7));
    token.ok(CAROL, &sol::safeTransferFrom_0Call { from, to, tokenId: token_id });
    let (from, to, data) = (OWNER, BOB, Bytes::from_static(&[1]));
    token.ok(OWNER, &sol::safeTransferFrom_1Call { from, to, tokenId: token_id, data });
    token.ok(BOB, &sol::burnCall { tokenId: token_id });
    assert_eq!(token.journal.logs()[0].data, transferred(BOB, Address::ZERO));
    token.fails(BOB, &sol::ownerOfCall { tokenId: token_id }, &sol::ERC721NonexistentToken { tokenId: token_id });
    assert_eq!(token.read(&sol::totalSupplyCall {}), U256::ZERO);
}

#[test]
fn approved_accounts_and_operators_move_tokens() {
    let mut token = deploy_with_tokens(&params());
    let two = U256::from(2);
    let approve = |to| sol::approveCall { to, tokenId: two };
    token.ok(BOB, &approve(CAROL));
    let approval = sol::Approval { owner: BOB, approved: CAROL, tokenId: two };
    assert_eq!(token.journal.logs()[0].data, approval.encode_log_data());
    assert_eq!(token.read(&sol::getApprovedCall { tokenId: two }), CAROL);
    token.ok(CAROL, &transfer(BOB, OWNER, 2));
    assert_eq!(token.read(&sol::getApprovedCall { tokenId: two }), Address::ZERO, "an approval ends with a transfer");
    let operate = |approved| sol::setApprovalForAllCall { operator: CAROL, approved };
    token.ok(BOB, &operate(true));
    let operator = sol::ApprovalForAll { owner: BOB, operator: CAROL, approved: true };
    assert_eq!(token.journal.logs()[0].data, operator.encode_log_data());
    assert!(token.read(&sol::isApprovedForAllCall { owner: BOB, operator: CAROL }));
    token.ok(CAROL, &sol::approveCall { to: OWNER, tokenId: U256::from(3) });
    token.ok(CAROL, &sol::burnCall { tokenId: U256::from(3) });
    token.ok(BOB, &operate(false));
    assert!(!token.read(&sol::isApprovedForAllCall { owner: BOB, operator: CAROL }));
}

#[test]
fn uris_are_a_base_and_the_tokens_own_or_its_id() {
    for (base, own, want) in [
        ("ipfs://art/", "", "ipfs://art/1"),
        ("ipfs://art/", "one.json", "ipfs://art/one.json"),
        ("", "https://example.org/one", "https://example.org/one"),
        ("", "", ""),
    ] {
        let mut token = deploy(&Erc721Params { base_uri: base.to_owned(), ..params() });
        token.ok(OWNER, &mint(BOB, 1, own));
        let update = sol::MetadataUpdate { _tokenId: U256::ONE };
        assert_eq!(token.journal.logs().last().unwrap().data, update.encode_log_data());
        assert_eq!(token.uri(1), want);
    }
    let mut token = deploy(&params());
    let largest = sol::safeMint_0Call { to: BOB, tokenId: U256::MAX };
    token.ok(OWNER, &largest);
    assert!(token.events().iter().all(|event| !matches!(event, sol::Erc721NftEvents::MetadataUpdate(_))));
    assert_eq!(token.read(&sol::tokenURICall { tokenId: U256::MAX }), format!("ipfs://art/{}", U256::MAX));
    token.ok(OWNER, &mint(BOB, 2, "kept"));
    token.ok(BOB, &sol::burnCall { tokenId: U256::from(2) });
    token.ok(OWNER, &sol::safeMint_0Call { to: BOB, tokenId: U256::from(2) });
    assert_eq!(token.uri(2), "ipfs://art/kept", "burning leaves the URI, as in OpenZeppelin 5.7");
}

/// Solidity takes a string's bytes as they are.
#[test]
fn a_uri_may_have_any_bytes() {
    let bytes = Bytes::from_static(&[0x61, 0xff, 0xfe]);
    let args = (BOB, U256::from(7), bytes.clone()).abi_encode_params();
    let input = [sol::safeMint_1Call::SELECTOR.as_slice(), &args].concat();
    for (base, want) in [("", bytes.clone()), ("x", Bytes::from_static(&[0x78, 0x61, 0xff, 0xfe]))] {
        let mut token = deploy(&Erc721Params { base_uri: base.to_owned(), ..params() });
        assert!(token.call_raw(OWNER, 0, &input, 1_000_000).is_success());
        let word = token.slot(mapping_slot(U256::from(7), U256::from(12))).to_be_bytes::<32>();
        assert_eq!((&word[..3], word[31]), (bytes.as_ref(), 6));
        let asked = sol::tokenURICall { tokenId: U256::from(7) }.abi_encode();
        assert_eq!(token.call_raw(BOB, 0, &asked, 1_000_000).output, want.abi_encode());
    }
}

#[test]
fn tokens_are_enumerated_with_the_last_in_the_place_of_one_that_left() {
    let mut token = deploy(&params());
    for id in 1..=4 {
        token.ok(OWNER, &mint(BOB, id, ""));
    }
    token.ok(BOB, &transfer(BOB, CAROL, 1));
    assert_eq!(token.enumerated(&[BOB, CAROL]), (ids(&[1, 2, 3, 4]), vec![ids(&[4, 2, 3]), ids(&[1])]));
    token.ok(BOB, &sol::burnCall { tokenId: U256::from(2) });
    assert_eq!(token.enumerated(&[BOB, CAROL]), (ids(&[1, 4, 3]), vec![ids(&[4, 3]), ids(&[1])]));
    token.ok(BOB, &transfer(BOB, BOB, 4));
    assert_eq!(token.enumerated(&[BOB, CAROL]), (ids(&[1, 4, 3]), vec![ids(&[4, 3]), ids(&[1])]));
}

#[test]
fn pausing_stops_every_movement() {
    let mut token = deploy_with_tokens(&params());
    token.ok(OWNER, &sol::pauseCall {});
    assert_eq!(token.events(), [sol::Erc721NftEvents::Paused(sol::Paused { account: OWNER })]);
    assert!(token.read(&sol::pausedCall {}));
    let paused = sol::EnforcedPause {};
    token.fails(OWNER, &transfer(OWNER, BOB, 1), &paused);
    token.fails(OWNER, &mint(BOB, 9, ""), &paused);
    token.fails(OWNER, &sol::burnCall { tokenId: U256::ONE }, &paused);
    token.fails(OWNER, &sol::pauseCall {}, &paused);
    token.ok(OWNER, &sol::approveCall { to: BOB, tokenId: U256::ONE });
    token.ok(OWNER, &sol::unpauseCall {});
    token.fails(OWNER, &sol::unpauseCall {}, &sol::ExpectedPause {});
    token.ok(OWNER, &transfer(OWNER, BOB, 1));
}

#[test]
fn royalties_are_set_for_all_and_for_one() {
    let mut token = deploy_with_tokens(&params());
    let royalty = |id: u64| sol::royaltyInfoCall { tokenId: U256::from(id), salePrice: U256::from(500) };
    assert_eq!(token.read(&royalty(1)).receiver, Address::ZERO);
    token.ok(OWNER, &sol::setDefaultRoyaltyCall { receiver: OWNER, feeNumerator: U96::from(1_000) });
    let one = sol::setTokenRoyaltyCall { tokenId: U256::ONE, receiver: BOB, feeNumerator: U96::from(10_000) };
    token.ok(OWNER, &one);
    let (own, other) = (token.read(&royalty(1)), token.read(&royalty(2)));
    assert_eq!((own.receiver, own.amount), (BOB, U256::from(500)));
    assert_eq!((other.receiver, other.amount), (OWNER, U256::from(50)));
}

/// Every value is in solc's slot, so that `eth_getStorageAt` reads the same as of a Solidity contract.
#[test]
fn storage_is_laid_out_as_solidity_does() {
    let mut token = deploy(&Erc721Params { royalty_receiver: BOB, royalty_fee: 250, ..params() });
    token.ok(OWNER, &mint(BOB, 7, "seven"));
    token.ok(BOB, &sol::approveCall { to: CAROL, tokenId: U256::from(7) });
    token.ok(BOB, &sol::setApprovalForAllCall { operator: CAROL, approved: true });
    token.ok(BOB, &sol::delegateCall { delegatee: CAROL });
    token.ok(OWNER, &sol::pauseCall {});
    let (slot, seven, one) = (|n: u64| U256::from(n), U256::from(7), U256::ONE);
    let text = |text: &str| {
        let mut word = [0; 32];
        word[..text.len()].copy_from_slice(text.as_bytes());
        word[31] = 2 * text.len() as u8;
        U256::from_be_bytes(word)
    };
    assert_eq!(token.slot(slot(0)), (U256::from(250) << 160_usize) | word(BOB));
    assert_eq!((token.slot(slot(2)), token.slot(slot(3))), (text("Art"), text("ART")));
    assert_eq!(token.slot(mapping_slot(seven, slot(4))), word(BOB));
    assert_eq!(token.slot(mapping_slot(word(BOB), slot(5))), one);
    assert_eq!(token.slot(mapping_slot(seven, slot(6))), word(CAROL));
    assert_eq!(token.slot(mapping_slot(word(CAROL), mapping_slot(word(BOB), slot(7)))), one);
    assert_eq!(token.slot(mapping_slot(U256::ZERO, mapping_slot(word(BOB), slot(8)))), seven);
    assert_eq!(token.slot(slot(10)), one, "length of all tokens");
    assert_eq!(token.slot(mapping_slot(seven, slot(12))), text("seven"));
    assert_eq!(token.slot(slot(13)), one, "paused");
    let minters = mapping_slot(U256::from_be_bytes(MINTER_ROLE.0), slot(14));
    assert_eq!(token.slot(mapping_slot(word(OWNER), minters)), one);
    assert_eq!(token.slot(mapping_slot(word(BOB), slot(18))), word(CAROL));
    assert_eq!(token.slot(mapping_slot(word(CAROL), slot(19))), one, "one checkpoint");
    assert_eq!(token.slot(slot(20)), one, "one checkpoint of the supply");
    assert_eq!(token.slot(IMMUTABLES), U256::from(0x0101_0101));
    assert_eq!(token.slot(IMMUTABLES + one), text("ipfs://art/"));
}

/// The table that solc prints for OpenZeppelin's contracts in one, by their linearization.
#[test]
fn the_layout_is_that_of_the_solidity_contract() {
    let layout = Erc721.storage_layout();
    let variables = layout.storage.iter().map(|entry| {
        let slot = entry.slot.parse::<U256>().unwrap();
        let slot = if slot < IMMUTABLES { slot.to_string() } else { format!("immutables + {}", slot - IMMUTABLES) };
        format!("{} {} {} {}", entry.label, slot, entry.offset, layout.types[&entry.ty].label)
    });
    let want = [
        "_defaultRoyaltyInfo 0 0 struct RoyaltyInfo",
        "_tokenRoyaltyInfo 1 0 mapping(uint256 => struct RoyaltyInfo)",
        "_name 2 0 string",
        "_symbol 3 0 string",
        "_owners 4 0 mapping(uint256 => address)",
        "_balances 5 0 mapping(address => uint256)",
        "_tokenApprovals 6 0 mapping(uint256 => address)",
        "_operatorApprovals 7 0 mapping(address => mapping(address => bool))",
        "_ownedTokens 8 0 mapping(address => mapping(uint256 => uint256))",
        "_ownedTokensIndex 9 0 mapping(uint256 => uint256)",
        "_allTokens 10 0 uint256[]",
        "_allTokensIndex 11 0 mapping(uint256 => uint256)",
        "_tokenURIs 12 0 mapping(uint256 => string)",
        "_paused 13 0 bool",
        "_roles 14 0 mapping(bytes32 => struct RoleData)",
        "_nameFallback 15 0 string",
        "_versionFallback 16 0 string",
        "_nonces 17 0 mapping(address => uint256)",
        "_delegatee 18 0 mapping(address => address)",
        "_delegateCheckpoints 19 0 mapping(address => struct Trace208)",
        "_totalCheckpoints 20 0 struct Trace208",
        "_features immutables + 0 0 struct Erc721Features",
        "_baseURI immutables + 1 0 string",
    ];
    assert_eq!(variables.collect::<Vec<_>>(), want);
}

/// Every function of the interface, with arguments of zeros: without a feature its functions, and no others, revert without data.
#[test]
fn optional_functions_are_absent_when_off() {
    let minting = vec![sol::safeMint_0Call::SELECTOR, sol::safeMint_1Call::SELECTOR, sol::MINTER_ROLECall::SELECTOR];
    let pausing = vec![
        sol::pauseCall::SELECTOR,
        sol::unpauseCall::SELECTOR,
        sol::pausedCall::SELECTOR,
        sol::PAUSER_ROLECall::SELECTOR,
    ];
    let votes = vec![
        sol::clockCall::SELECTOR,
        sol::CLOCK_MODECall::SELECTOR,
        sol::getVotesCall::SELECTOR,
        sol::getPastVotesCall::SELECTOR,
        sol::getPastTotalSupplyCall::SELECTOR,
        sol::delegatesCall::SELECTOR,
        sol::delegateCall::SELECTOR,
        sol::delegateBySigCall::SELECTOR,
        sol::noncesCall::SELECTOR,
        sol::eip712DomainCall::SELECTOR,
    ];
    let cases = [
        (ALL, vec![]),
        (Erc721Features { mintable: false, ..ALL }, minting.clone()),
        (Erc721Features { burnable: false, ..ALL }, vec![sol::burnCall::SELECTOR]),
        (Erc721Features { pausable: false, ..ALL }, pausing.clone()),
        (Erc721Features { votes: false, ..ALL }, votes.clone()),
        (Erc721Features::default(), [minting, vec![sol::burnCall::SELECTOR], pausing, votes].concat()),
    ];
    for (features, absent) in cases {
        let params = Erc721Params { features, ..params() };
        for selector in sol::Erc721NftCalls::selectors() {
            let input = [selector.as_slice(), &[0; 7 * 32]].concat();
            let result = deploy(&params).call_raw(OWNER, 0, &input, 1_000_000);
            let is_absent = result.outcome == FrameOutcome::Revert && result.output.is_empty();
            let name = sol::Erc721NftCalls::name_by_selector(selector);
            assert_eq!(is_absent, absent.contains(&selector), "{name:?} with {features:?}: {result:?}");
        }
    }
    assert_eq!(
        deploy(&Erc721Params::new("Plain", "PLN", "", OWNER)).events().len(),
        1,
        "the administrator's role alone"
    );
}

#[test]
fn interfaces_are_supported() {
    let mut token = deploy(&params());
    // ERC-165, ERC-721, its metadata, its enumeration, ERC-4906, roles, ERC-2981.
    let known = [0x01ff_c9a7_u32, 0x80ac_58cd, 0x5b5e_139f, 0x780e_9d63, 0x4906_4906, 0x7965_db0b, 0x2a55_205a];
    for (id, want) in known.map(|id| (id, true)).into_iter().chain([(0xffff_ffff, false), (0, false)]) {
        let call = sol::supportsInterfaceCall { interfaceId: id.to_be_bytes().into() };
        assert_eq!(token.read(&call), want, "{id:#x}");
    }
}

#[test]
fn a_token_is_described_and_encoded_by_names() {
    let descriptor = Descriptor::of(&Erc721);
    let values = serde_json::json!({
        "name": "Art", "symbol": "ART", "baseURI": "ipfs://art/", "royaltyReceiver": BOB.to_string(), "royaltyFee": "2.5",
        "features": { "mintable": true, "burnable": true, "pausable": true, "votes": true },
    });
    let encoded = descriptor.encode(values.as_object().unwrap(), OWNER).unwrap();
    assert_eq!(encoded, Erc721Params { royalty_receiver: BOB, royalty_fee: 250, ..params() }.init_code());
    let errors = descriptor.encode(&serde_json::Map::new(), OWNER).unwrap_err();
    assert_eq!(errors.iter().map(|error| error.path.as_str()).collect::<Vec<_>>(), ["name", "symbol"]);
    assert!(descriptor.constructor.iter().all(|parameter| !parameter.description.is_empty()));
    let plain = Erc721Params::new("Art", "ART", "", OWNER).init_code();
    for least in [
        serde_json::json!({ "name": "Art", "symbol": "ART" }),
        serde_json::json!({ "name": "Art", "symbol": "ART", "baseURI": "" }),
    ] {
        assert_eq!(descriptor.encode(least.as_object().unwrap(), OWNER).unwrap(), plain);
    }
}

#[test]
fn the_abi_is_complete() {
    let abi = Erc721.abi();
    assert_eq!(abi.functions().count(), 43);
    assert_eq!(abi.events().count(), 13);
    assert_eq!(abi.errors().count(), 29);
    let constructor = abi.constructor.unwrap();
    let names: Vec<_> = constructor.inputs.iter().map(|input| input.name.as_str()).collect();
    assert_eq!(
        names,
        ["name", "symbol", "baseURI", "owner", "features", "royaltyReceiver", "royaltyFee", "distribution"]
    );
}

#[test]
fn a_distribution_mints_the_ids_from_one_on() {
    let plain = Erc721Params {
        distribution: vec![(BOB, 2), (CAROL, 0), (OWNER, 1)],
        ..Erc721Params::new("Art", "ART", "", OWNER)
    };
    let mut token = deploy(&plain);
    assert_eq!([1, 2, 3].map(|id| token.owner_of(id)), [BOB, BOB, OWNER]);
    assert_eq!(token.enumerated(&[BOB]), (ids(&[1, 2, 3]), vec![ids(&[1, 2])]));
    assert_eq!(token.call(OWNER, &mint(BOB, 4, "")).outcome, FrameOutcome::Revert, "it has no function to mint");
}

#[test]
fn a_distribution_that_no_gas_pays_for_fails() {
    let endless = Erc721Params { distribution: vec![(BOB, u64::MAX)], ..params() };
    let (_, result) = create(&mut empty_journal(), &endless.init_code(), 0, 10_000_000);
    assert!(!result.is_success());
    let nobodys = Erc721Params { distribution: vec![(Address::ZERO, 1)], ..params() };
    let (_, result) = create(&mut empty_journal(), &nobodys.init_code(), 0, 10_000_000);
    assert_eq!(result.output.as_ref(), sol::ERC721InvalidReceiver { receiver: Address::ZERO }.abi_encode());
}
