//! Tokens of the four standards: what they can't have, and that what a token says is what its contract does.

mod index;

use alloy_sol_types::SolCall;
use serde_json::{Value, json};

use super::{super::*, *};
use crate::{
    chain::{CallRequest, StateOverrides},
    node::{ManualClock, Node},
    platform::tokens::spec::Vesting,
    primitives::{Address, Gas, TransactionRequest},
    store::Order,
    templates::{
        Erc20Params, erc20::interface as erc20, erc721::interface as erc721, vesting_wallet::interface as wallet,
    },
};

const BOB: Address = Address::repeat_byte(0xb0);
const CAROL: Address = Address::repeat_byte(0xc0);
const ALL: ListWindow = ListWindow { skipped: 0, limit: u64::MAX, order: Order::Ascending };
const MONTH_SECS: u64 = 30 * 86_400;

fn platform() -> Platform {
    let spec = BlockchainSpec::read(serde_json::json!({ "name": "test" })).unwrap();
    let chain = Blockchain::running(DEFAULT_BLOCKCHAIN_ID.to_owned(), spec, Node::new(), 0);
    Platform::builder(Arc::new(ManualClock::default())).open(chain).unwrap()
}

fn spec(standard: TokenStandard) -> TokenSpec {
    TokenSpec::new(DEFAULT_BLOCKCHAIN_ID, standard, "Gold", "GLD")
}

fn part(address: Address, amount: u64) -> Allotment {
    Allotment { address, amount: U256::from(amount), vesting: None }
}

fn paths(spec: &TokenSpec) -> Vec<String> {
    spec.check().into_iter().map(|error| error.path).collect()
}

/// Asks a contract at the head.
fn ask<C: SolCall>(platform: &Platform, contract: Address, call: &C) -> C::Return {
    let request = CallRequest::call(contract, call.abi_encode());
    let view = platform.default_blockchain().unwrap().node().view();
    let outcome = view.call(&request, BlockRef::Latest, &StateOverrides::default(), None).unwrap();
    C::abi_decode_returns(outcome.success_output().unwrap()).unwrap()
}

/// Makes a token on the default chain; returns its record, its contract and who has it.
fn made(platform: &Platform, spec: TokenSpec) -> (Stored<DeploymentRecord>, Address, Vec<Holder>) {
    let (me, chain) = (platform.service_principal(), platform.default_blockchain().unwrap());
    let id = platform.new_id("tok").unwrap();
    let stored = platform.tokens().create(&me, &id, spec).unwrap();
    let contract = stored.value.contract_address(chain).unwrap();
    let holders = platform.tokens().holders(chain, &stored.value, HolderOrder::Address, ALL).unwrap().0;
    (stored, contract, holders)
}

fn has(holders: &[Holder], address: Address) -> u64 {
    holders.iter().filter(|holder| holder.address == address).map(|holder| holder.balance.to::<u64>()).sum()
}

#[test]
fn each_standard_refuses_by_name_what_it_can_t_have() {
    let months = Some(Vesting { duration_secs: MONTH_SECS, cliff_secs: 0 });
    let vesting = vec![Allotment { vesting: months, ..part(BOB, 1) }];
    let one = U256::ONE;
    let erc20 = TokenSpec { uri: Some(String::new()), asset: Some(BOB), ..spec(TokenStandard::Erc20) };
    assert_eq!(paths(&erc20), ["uri", "asset"]);
    let wrong =
        |standard| TokenSpec { decimals: Some(18), total_supply: one, distribution: vesting.clone(), ..spec(standard) };
    assert_eq!(paths(&wrong(TokenStandard::Erc721)), ["decimals", "distribution[0].vesting"]);
    assert_eq!(paths(&wrong(TokenStandard::Erc1155)), ["decimals"]);
    let features = TokenFeatures { mintable: true, ..TokenFeatures::default() };
    let vault = TokenSpec { total_supply: one, distribution: vesting, features, ..spec(TokenStandard::Erc4626) };
    assert_eq!(paths(&vault), ["totalSupply", "distribution", "features.mintable"]);
    let too_much = TokenSpec { total_supply: one, distribution: vec![part(BOB, 2)], ..spec(TokenStandard::Erc20) };
    assert_eq!(paths(&too_much), ["distribution"]);
    let late = Some(Vesting { duration_secs: 1, cliff_secs: 2 });
    let late = Allotment { vesting: late, ..part(Address::ZERO, 1) };
    let late = TokenSpec { total_supply: one, distribution: vec![late], ..spec(TokenStandard::Erc20) };
    assert_eq!(paths(&late), ["distribution[0].address", "distribution[0].vesting.cliff"]);
}

/// The vesting wallet multiplies the amount by the time that has passed.
#[test]
fn an_amount_that_a_wallet_could_never_release_is_refused() {
    for standard in [TokenStandard::Erc20, TokenStandard::Erc1155] {
        for (duration_secs, past, is_refused) in [(MONTH_SECS, 0, false), (MONTH_SECS, 1, true), (0, 1, false)] {
            let amount = U256::MAX / U256::from(MONTH_SECS) + U256::from(past);
            let vesting = Some(Vesting { duration_secs, cliff_secs: 0 });
            let distribution = vec![part(CAROL, 1), Allotment { vesting, amount, ..part(BOB, 0) }];
            let wanted = TokenSpec { total_supply: U256::MAX, distribution, ..spec(standard) };
            let expected: &[&str] = if is_refused { &["distribution[1].amount"] } else { &[] };
            assert_eq!(paths(&wanted), expected, "{standard:?}: {duration_secs} s, {past} more");
        }
    }
}

#[test]
fn a_fungible_token_is_distributed_and_vests() {
    let platform = platform();
    let vesting = Some(Vesting { duration_secs: 12 * MONTH_SECS, cliff_secs: 3 * MONTH_SECS });
    let distribution = vec![Allotment { vesting, ..part(BOB, 1_200) }, part(CAROL, 300)];
    let (stored, contract, holders) =
        made(&platform, TokenSpec { total_supply: U256::from(10_000), distribution, ..spec(TokenStandard::Erc20) });
    let vested = contract.create(1);
    assert_eq!([vested, CAROL, stored.value.from].map(|it| has(&holders, it)), [1_200, 300, 8_500]);
    for Holder { address, balance, .. } in &holders {
        assert_eq!(ask(&platform, contract, &erc20::balanceOfCall { account: *address }), *balance);
    }
    assert_eq!(ask(&platform, vested, &wallet::ownerCall {}), BOB);
    assert_eq!(ask(&platform, vested, &wallet::durationCall {}), U256::from(12 * MONTH_SECS));
    let chain = platform.default_blockchain().unwrap();
    assert_eq!(platform.tokens().supply(chain, &stored.value).unwrap(), Some(U256::from(10_000)));
    assert_eq!(platform.tokens().transfers(chain, &stored.value, ALL).unwrap().1, 3);
}

#[test]
fn ids_of_a_non_fungible_token_are_minted_in_the_order_of_the_distribution() {
    let platform = platform();
    let distribution = vec![part(BOB, 2), part(CAROL, 1)];
    let supply = U256::from(4);
    let (stored, contract, holders) =
        made(&platform, TokenSpec { total_supply: supply, distribution, ..spec(TokenStandard::Erc721) });
    let owners = [1, 2, 3, 4].map(|id| ask(&platform, contract, &erc721::ownerOfCall { tokenId: U256::from(id) }));
    assert_eq!(owners, [BOB, BOB, CAROL, stored.value.from]);
    assert_eq!(has(&holders, BOB), 2);
}

#[test]
fn units_of_a_multi_token_have_the_id_one() {
    let platform = platform();
    let distribution = vec![part(BOB, 70)];
    let (stored, _, holders) =
        made(&platform, TokenSpec { total_supply: U256::from(100), distribution, ..spec(TokenStandard::Erc1155) });
    assert_eq!([BOB, stored.value.from].map(|it| has(&holders, it)), [70, 30]);
    assert!(holders.iter().all(|holder| holder.token_id == Some(U256::ONE)));
}

#[test]
fn units_of_a_multi_token_vest() {
    let platform = platform();
    let vesting = Some(Vesting { duration_secs: 12 * MONTH_SECS, cliff_secs: 3 * MONTH_SECS });
    let distribution = vec![Allotment { vesting, ..part(BOB, 70) }, part(CAROL, 20)];
    let (stored, contract, holders) =
        made(&platform, TokenSpec { total_supply: U256::from(100), distribution, ..spec(TokenStandard::Erc1155) });
    let vested = contract.create(1);
    assert_eq!([vested, CAROL, stored.value.from, BOB].map(|it| has(&holders, it)), [70, 20, 10, 0]);
    assert_eq!(ask(&platform, vested, &wallet::ownerCall {}), BOB);
    assert_eq!(ask(&platform, vested, &wallet::durationCall {}), U256::from(12 * MONTH_SECS));
    let start: u64 = ask(&platform, vested, &wallet::startCall {}).to();
    let at =
        |months| wallet::vestedAmount_2Call { token: contract, id: U256::ONE, timestamp: start + months * MONTH_SECS };
    let by_month = [0, 2, 3, 6, 12].map(|months| ask(&platform, vested, &at(months)).to::<u64>());
    assert_eq!(by_month, [0, 0, 17, 35, 70]);
}

#[test]
fn a_vault_holds_the_asset_that_is_named_or_one_of_its_own() {
    let platform = platform();
    let me = platform.service_principal();
    let (_, contract, _) = made(&platform, spec(TokenStandard::Erc4626));
    let asset = ask(&platform, contract, &crate::templates::erc4626::interface::assetCall {});
    assert_eq!(ask(&platform, asset, &erc20::nameCall {}), "Gold asset");
    let page = platform.tokens().page(&me, &PageRequest::first(NonZeroUsize::MIN)).unwrap();
    assert_eq!(page.total, 2, "the vault and its asset");
    let (_, second, _) = made(&platform, TokenSpec { asset: Some(asset), ..spec(TokenStandard::Erc4626) });
    assert_eq!(ask(&platform, second, &crate::templates::erc4626::interface::assetCall {}), asset);
    let nobodys = TokenSpec { asset: Some(BOB), ..spec(TokenStandard::Erc4626) };
    let Err(PlatformError::Validation { fields }) = platform.tokens().create(&me, "tok_x", nobodys) else {
        panic!("must be refused")
    };
    assert_eq!(fields[0].path, "asset");
}

/// A non-fungible token counts its ids too, and has no balance of nobody.
#[test]
fn a_vault_holds_nothing_but_a_token() {
    let platform = platform();
    let me = platform.service_principal();
    let (_, art, _) = made(&platform, spec(TokenStandard::Erc721));
    let (_, items, _) = made(&platform, spec(TokenStandard::Erc1155));
    for asset in [art, items] {
        let vault = TokenSpec { asset: Some(asset), ..spec(TokenStandard::Erc4626) };
        let refused = platform.tokens().create(&me, "tok_x", vault);
        let Err(PlatformError::Validation { fields }) = refused else { panic!("{asset}: {refused:?}") };
        assert_eq!(fields[0].path, "asset");
        assert!(fields[0].got.contains("does not answer balanceOf(address)"), "{}", fields[0].got);
    }
    // The shares of a vault are a token.
    let (_, vault, _) = made(&platform, spec(TokenStandard::Erc4626));
    made(&platform, TokenSpec { asset: Some(vault), ..spec(TokenStandard::Erc4626) });
}

#[test]
fn templates_of_all_standards_take_what_a_token_is_described_by() {
    let platform = platform();
    let (me, chain) = (platform.service_principal(), platform.default_blockchain().unwrap());
    let described = json!({ "name": "Gold", "symbol": "GLD", "totalSupply": "3", "decimals": 0 });
    let described = described.as_object().unwrap();
    let deployed = |template: &str| {
        let params = platform.tokens().constructor_params(template, described.clone()).unwrap();
        let deployment = DeploymentSpec::of_template(DEFAULT_BLOCKCHAIN_ID, template, params);
        let id = platform.new_id("dep").unwrap();
        let stored = platform.blockchains().deploy_as(&me, &id, deployment).unwrap();
        (stored.value.contract_address(chain).unwrap(), stored.value.from)
    };
    let (gold, sender) = deployed("erc20-token");
    assert_eq!(ask(&platform, gold, &erc20::balanceOfCall { account: sender }), U256::from(3));
    let (art, sender) = deployed("erc721-nft");
    let owners = [1, 2, 3].map(|id| ask(&platform, art, &erc721::ownerOfCall { tokenId: U256::from(id) }));
    assert_eq!((owners, ask(&platform, art, &erc721::nameCall {})), ([sender; 3], "Gold".to_owned()));
    let (items, sender) = deployed("erc1155-multi");
    let held = crate::templates::erc1155::interface::balanceOfCall { account: sender, id: U256::ONE };
    assert_eq!(ask(&platform, items, &held), U256::from(3));
}

#[test]
fn shared_parameters_that_a_template_can_not_have_are_named() {
    let platform = platform();
    let translated = |template: &str, params: &Value| match platform
        .tokens()
        .constructor_params(template, params.as_object().unwrap().clone())
    {
        Ok(params) => Ok(Value::Object(params)),
        Err(PlatformError::Validation { fields }) => {
            Err(fields.into_iter().map(|field| field.path).collect::<Vec<_>>())
        }
        Err(other) => panic!("{other}"),
    };
    let part = json!([{ "amount": "1" }]);
    for (template, params, expected) in [
        (
            "erc721-nft",
            json!({ "totalSupply": 2, "decimals": "0" }),
            Ok(json!({ "distribution": [{ "amount": "2" }] })),
        ),
        ("erc721-nft", json!({ "totalSupply": "0", "name": 5 }), Ok(json!({ "name": 5 }))),
        ("erc721-nft", json!({ "distribution": part }), Ok(json!({ "distribution": part }))),
        ("erc721-nft", json!({ "decimals": 18 }), Err(vec!["params.decimals"])),
        ("erc721-nft", json!({ "totalSupply": "1", "distribution": part }), Err(vec!["params.totalSupply"])),
        ("erc1155-multi", json!({ "totalSupply": "-1", "name": 5 }), Err(vec!["params.name", "params.totalSupply"])),
        ("erc1155-multi", json!({ "name": "Gold", "symbol": "GLD", "uri": "x" }), Ok(json!({ "uri": "x" }))),
        ("erc20-token", json!({ "decimals": 300 }), Ok(json!({ "decimals": 300 }))),
    ] {
        let expected = expected.map_err(|paths| paths.into_iter().map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(translated(template, &params), expected, "{template}: {params}");
    }
}

/// A request for a vault is interrupted after its token; the chain changes, so that the vault is refused.
#[test]
fn a_vault_that_is_refused_after_its_token_names_the_token_and_is_made_with_it() {
    let platform = platform();
    let (me, chain) = (platform.service_principal(), platform.default_blockchain().unwrap());
    let deployment = spec(TokenStandard::Erc4626).asset_deployment();
    let token = platform.blockchains().deploy_as(&me, "tok_v_asset", deployment).unwrap();
    let (asset, sender) = (token.value.contract_address(chain).unwrap(), token.value.from);
    let create = |id, asset| platform.tokens().create(&me, id, TokenSpec { asset, ..spec(TokenStandard::Erc4626) });
    let held = |vault: &Stored<DeploymentRecord>| {
        let contract = vault.value.contract_address(chain).unwrap();
        ask(&platform, contract, &crate::templates::erc4626::interface::assetCall {})
    };
    let balance = chain.node().view().balance(sender, BlockRef::Latest).unwrap();
    chain.node().set_balance(sender, U256::ZERO).unwrap();
    let refused = create("tok_v", None);
    let Err(PlatformError::Conflict { message }) = &refused else { panic!("{refused:?}") };
    for said in ["does not cover", "tok_v_asset", asset.to_string().as_str()] {
        assert!(message.contains(said), "{said}: {message}");
    }
    let kept = |id: &str| platform.tokens().require(&me, id).map(|stored| stored.value.outcome(chain).unwrap().state);
    assert_eq!(kept("tok_v_asset"), Ok(TransactionState::Success));
    assert!(matches!(kept("tok_v"), Err(PlatformError::NotFound { .. })), "nothing of the vault is left");

    chain.node().set_balance(sender, balance).unwrap();
    assert_eq!(held(&create("tok_w", Some(asset)).unwrap()), asset, "as the refusal says");
    assert_eq!(held(&create("tok_v", None).unwrap()), asset, "the request itself, run again");
    let page = platform.tokens().page(&me, &PageRequest::first(NonZeroUsize::MIN)).unwrap();
    assert_eq!(page.total, 3, "one token, two vaults");
}

#[test]
fn a_vault_whose_token_has_failed_is_not_made() {
    let platform = platform();
    let (me, chain) = (platform.service_principal(), platform.default_blockchain().unwrap());
    let key = chain.node().keys()[0].clone();
    let whole = Erc20Params::new("Gold asset", "GLD", U256::ZERO, key.address()).init_code();
    let request = TransactionRequest {
        chain_id: Some(chain.node().view().chain_id()),
        // Without its last word the constructor refuses it.
        input: whole.slice(..whole.len() - 32),
        gas_limit: Gas::new(3_000_000),
        max_fee_per_gas: 100_000_000_000,
        ..TransactionRequest::default()
    };
    // The service sends none that fails when it is tried: the chain has changed since.
    let transaction = request.sign(&key).unwrap();
    let (template, params) = ("erc20-token".to_owned(), "{}".to_owned());
    let record = DeploymentRecord::of_transaction(chain.id(), template, params, &transaction);
    let token = platform.records().unit(|unit| unit.insert(&me.owner(), "tok_v_asset", record)).unwrap();
    chain.node().send(transaction).unwrap();
    assert_eq!(token.value.outcome(chain).unwrap().state, TransactionState::Failed);
    let refused = platform.tokens().create(&me, "tok_v", spec(TokenStandard::Erc4626));
    let Err(PlatformError::Conflict { message }) = &refused else { panic!("{refused:?}") };
    assert!(message.contains("tok_v_asset has failed"), "{message}");
    assert!(platform.blockchains().deployments().get(&me.owner(), "tok_v").unwrap().is_none());
    // Another request makes both.
    made(&platform, spec(TokenStandard::Erc4626));
}

#[test]
fn a_signed_transaction_makes_a_token_of_the_standard_and_nothing_else() {
    let platform = platform();
    let node = platform.default_blockchain().unwrap().node();
    let key = node.keys()[0].clone();
    let request = TransactionRequest {
        chain_id: Some(node.view().chain_id()),
        input: Erc20Params::new("Gold", "GLD", U256::from(9), key.address()).init_code(),
        gas_limit: Gas::new(3_000_000),
        max_fee_per_gas: 100_000_000_000,
        ..TransactionRequest::default()
    };
    let signed = Some(request.sign(&key).unwrap().encoded());
    let me = platform.service_principal();
    for standard in [TokenStandard::Erc721, TokenStandard::Erc1155, TokenStandard::Erc4626] {
        let other = TokenSpec { signed_transaction: signed.clone(), ..spec(standard) };
        let refused = platform.tokens().create(&me, "tok_other", other);
        let Err(PlatformError::Validation { fields }) = refused else { panic!("{standard:?}: {refused:?}") };
        assert_eq!(fields[0].path, "signedTransaction");
    }
    let own = TokenSpec { signed_transaction: signed, ..spec(TokenStandard::Erc20) };
    let (stored, _, holders) = made(&platform, own);
    assert_eq!((stored.value.from, has(&holders, key.address())), (key.address(), 9));
}
