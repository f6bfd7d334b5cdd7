//! dApps composed of components.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{
    node::{BlockRef, Component, ComponentKind, ComposeError, Contract, Dapp, Node},
    primitives::{Address, U256},
    templates::{
        auction, common::DEFAULT_ADMIN_ROLE, erc20, governance_dao as governance, lending, liquidity_pool as pool,
        marketplace, multisig, price_feed as feed, staking_pool as staking,
    },
};

/// All eight components, the ones that are needed last.
fn all(node: &Node) -> Value {
    let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
    json!([
        { "type": "staking", "config": { "stakingToken": "GLD", "rewardRate": "10", "lockPeriod": "30d", "fund": "6000" } },
        { "type": "liquidity-pool", "config": { "token0": "GLD", "token1": "SLV" } },
        { "type": "lending", "config": { "token": "SLV", "collateral": "GLD", "oracle": { "answer": "200000000", "description": "GLD / SLV" } } },
        { "type": "governance", "config": { "name": "Council", "token": "GLD", "ownsToken": true, "timelockDelay": "1h" } },
        { "type": "nft-marketplace", "config": { "fee": "2.5", "token": "GLD", "owner": "Owners" } },
        { "type": "auction", "config": { "token": "SLV", "feeRecipient": "Owners" } },
        { "type": "multisig", "name": "Owners", "config": { "owners": [alice, bob], "threshold": 2 } },
        { "type": "token", "config": {
            "name": "Gold", "symbol": "GLD", "totalSupply": "100000", "decimals": 6, "features": ["mintable", "pausable", "votes"] } },
        { "type": "token", "config": { "name": "Silver", "symbol": "SLV", "totalSupply": "100000" } },
    ])
}

fn compose(node: &Node, components: &Value) -> Result<Dapp, ComposeError> {
    let components = Component::read_list(components).map_err(ComposeError::Invalid)?;
    node.compose(node.accounts()[0], &components)
}

/// Returns the contract of this name, called by the first account.
fn called(node: &Node, dapp: &Dapp, name: &str) -> Contract {
    node.contract(dapp.address(name).unwrap_or_else(|| panic!("{name}")), node.accounts()[0])
}

/// Returns the refusal, and checks that nothing was done.
fn refusal(components: &Value) -> String {
    let node = Node::new();
    let before = (node.view().nonce(node.accounts()[0], BlockRef::Pending).unwrap(), node.view().head().hash());
    let error = compose(&node, components).unwrap_err();
    let after = (node.view().nonce(node.accounts()[0], BlockRef::Pending).unwrap(), node.view().head().hash());
    assert_eq!(before, after, "{error}");
    error.to_string()
}

#[test]
fn all_eight_components_know_each_other() {
    let node = Node::new();
    let dapp = compose(&node, &all(&node)).unwrap();
    let at = |name: &str| called(&node, &dapp, name);
    let address = |name| dapp.address(name).unwrap();
    let kinds: Vec<_> = dapp.components().iter().map(|(kind, _)| kind.name()).collect();
    let want = "staking liquidity-pool lending governance nft-marketplace auction multisig token token";
    assert_eq!(kinds.join(" "), want);

    assert_eq!(at("staking").call(staking::interface::stakingTokenCall {}).unwrap(), address("GLD"));
    assert_eq!(
        at("GLD").call(erc20::interface::balanceOfCall { account: address("staking") }).unwrap(),
        U256::from(6_000)
    );
    let tokens = [address("GLD").min(address("SLV")), address("GLD").max(address("SLV"))];
    let pool = at("liquidity-pool");
    assert_eq!(
        [pool.call(pool::interface::token0Call {}).unwrap(), pool.call(pool::interface::token1Call {}).unwrap()],
        tokens
    );
    let price = at("lending").call(lending::interface::getAssetPriceCall { asset: address("GLD") }).unwrap();
    let oracle = at("components[2].config.oracle");
    assert_eq!(oracle.call(feed::interface::descriptionCall {}).unwrap(), "GLD / SLV");
    assert_eq!(price, U256::from(200_000_000));
    assert_eq!(at("nft-marketplace").call(marketplace::interface::ownerCall {}).unwrap(), address("Owners"));
    assert!(
        at("nft-marketplace")
            .call(marketplace::interface::isCurrencyAcceptedCall { currency: address("GLD") })
            .unwrap()
    );
    assert_eq!(at("auction").call(auction::interface::feeRecipientCall {}).unwrap(), address("Owners"));
    assert_eq!(at("Owners").call(multisig::interface::requiredCall {}).unwrap(), U256::from(2));
    assert_eq!(address("Gold"), address("GLD"), "by its name and by its symbol");
    assert_eq!(dapp.address("token"), None, "there are two");
}

#[test]
fn the_timelock_owns_the_token_if_asked() {
    let node = Node::new();
    let dapp = compose(&node, &all(&node)).unwrap();
    let gold = called(&node, &dapp, "GLD");
    let timelock = called(&node, &dapp, "Council").call(governance::interface::timelockCall {}).unwrap();
    for role in [DEFAULT_ADMIN_ROLE, erc20::MINTER_ROLE, erc20::PAUSER_ROLE] {
        let has = |account| gold.call(erc20::interface::hasRoleCall { role, account }).unwrap();
        assert_eq!((has(timelock), has(node.accounts()[0])), (true, false), "{role}");
    }
    let mut components = all(&node);
    components[3]["config"]["ownsToken"] = false.into();
    let other = compose(&node, &components).unwrap();
    let gold = called(&node, &other, "GLD");
    let owner = erc20::interface::hasRoleCall { role: DEFAULT_ADMIN_ROLE, account: node.accounts()[0] };
    assert!(gold.call(owner).unwrap());
}

#[test]
fn the_token_alone_is_what_is_paid_and_voted_with() {
    let node = Node::new();
    let components = json!([
        { "type": "governance", "config": { "name": "Council" } },
        { "type": "nft-marketplace", "config": {} },
        { "type": "auction" },
        { "type": "token", "config": { "name": "Gold", "symbol": "GLD", "totalSupply": "9", "features": { "votes": true } } },
    ]);
    let dapp = compose(&node, &components).unwrap();
    let token = dapp.address("token").unwrap();
    let council = called(&node, &dapp, "governance");
    assert_eq!(council.call(governance::interface::tokenCall {}).unwrap(), token);
    let market = called(&node, &dapp, "nft-marketplace");
    assert!(market.call(marketplace::interface::isCurrencyAcceptedCall { currency: token }).unwrap());
    let auction = called(&node, &dapp, "auction");
    assert!(auction.call(auction::interface::isCurrencyAcceptedCall { currency: token }).unwrap());
}

/// Components that are wrong, and what is said of them.
#[test]
fn what_is_wrong_is_named_and_nothing_is_deployed() {
    let gold = json!({ "type": "token", "config": { "name": "Gold", "symbol": "GLD", "totalSupply": "9" } });
    let with = |component: Value| json!([gold, component]);
    let pools = json!([
        { "type": "liquidity-pool", "name": "A", "config": { "token0": "B", "token1": "GLD" } },
        { "type": "liquidity-pool", "name": "B", "config": { "token0": "A", "token1": "GLD" } },
        gold,
    ]);
    let table = [
        (json!([]), "components: 0 components, expected an array of 1 to 64 components"),
        (json!({}), "components: {}, expected an array"),
        (json!([7]), "components[0]: 7, expected an object with type and config"),
        (
            json!([{ "type": "bank", "config": {} }]),
            "components[0].type: \"bank\", expected one of token, staking, liquidity-pool",
        ),
        (json!([{ "config": {} }]), "components[0].type: nothing, expected one of"),
        (json!([{ "type": "token", "config": 1 }]), "components[0].config: 1, expected an object"),
        (json!([{ "type": "token", "conf": {} }]), "components[0].conf: {}, expected no field of this name"),
        (
            json!([{ "type": "multisig", "name": "", "config": {} }]),
            "components[0].name: \"\", expected a non-empty string",
        ),
        (
            json!([{ "type": "token", "config": { "symbol": "GLD", "totalSupply": "9" } }]),
            "components[0].config.name: nothing, expected a non-empty string",
        ),
        (
            with(json!({ "type": "staking", "config": { "stakingToken": "SLV" } })),
            "components[1].config.stakingToken: \"SLV\", expected an address (0x and 40 hex digits), or one of the names GLD, Gold, token",
        ),
        (
            with(json!({ "type": "staking", "config": { "stakingToken": "GLD", "lockPeriod": "5 weeks" } })),
            "components[1].config.lockPeriod: \"5 weeks\", expected a number of seconds",
        ),
        (
            with(json!({ "type": "staking", "config": { "stakingToken": "GLD", "fund": "lots" } })),
            "components[1].config.fund: \"lots\", expected a decimal integer string above 0",
        ),
        (
            with(json!({ "type": "staking", "config": { "stakingToken": "GLD", "reward": "1" } })),
            "components[1].config.reward: \"1\", expected no field of this name",
        ),
        (
            with(
                json!({ "type": "lending", "config": { "token": "GLD", "collateral": "GLD", "oracle": { "answer": 5 } } }),
            ),
            "components[1].config.oracle.answer: 5, expected",
        ),
        (
            with(json!({ "type": "governance", "config": { "name": "Council" } })),
            "components[1].config.token: \"GLD\", expected a token with the feature votes",
        ),
        (
            with(
                json!({ "type": "governance", "config": { "name": "C", "token": Address::repeat_byte(7), "ownsToken": true } }),
            ),
            "components[1].config.ownsToken: true, expected false, as the token is no component of the dApp",
        ),
        (with(gold.clone()), "components[1]: GLD, expected names of its own: components[0] is called GLD too"),
        (
            pools,
            "components[0].config.token0: \"B\", expected a component that does not need this one in its turn; components[1].config.token0: \"A\"",
        ),
        (
            with(json!({ "type": "liquidity-pool", "name": "A", "config": { "token0": "A", "token1": "GLD" } })),
            "components[1].config.token0: \"A\", expected an address",
        ),
        (
            with(json!({ "type": "multisig", "config": { "owners": ["GLD"], "threshold": 2 } })),
            "components[1]: creation of multisig failed, and nothing was deployed: execution reverted",
        ),
        (
            with(json!({ "type": "staking", "config": { "stakingToken": "GLD", "rewardRate": "1", "fund": "10" } })),
            "components[1]: rewards paid in failed, and nothing was deployed: execution reverted: SafeERC20: low-level call failed",
        ),
    ];
    for (components, want) in table {
        let error = refusal(&components);
        assert!(error.contains(want), "{components}: {error}");
    }
}

#[test]
fn a_bulk_of_another_nonce_is_not_mined() {
    let node = Node::new();
    let alice = node.accounts()[0];
    let error = node.bulk_at(alice, Some(5), &[]).unwrap_err().to_string();
    assert!(error.contains("not mined yet"), "the addresses in a plan are those of its nonce: {error}");
}

fn any_order() -> impl Strategy<Value = (Vec<usize>, Vec<bool>)> {
    (Just((0..9).collect::<Vec<_>>()).prop_shuffle(), prop::collection::vec(any::<bool>(), 9))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// In whatever order components are listed, and whichever are left out: all contracts are there or a missing name is told.
    #[test]
    fn components_come_in_any_order((order, kept) in any_order()) {
        let node = Node::new();
        let all = all(&node);
        let chosen: Vec<Value> = order.iter().filter(|index| kept[**index]).map(|index| all[*index].clone()).collect();
        prop_assume!(!chosen.is_empty());
        match compose(&node, &Value::from(chosen.clone())) {
            Ok(dapp) => {
                prop_assert_eq!(dapp.components().len(), chosen.len());
                for ((kind, address), component) in dapp.components().iter().zip(&chosen) {
                    prop_assert_eq!(kind.name(), component["type"].as_str().unwrap());
                    let code = node.view().code(*address, BlockRef::Latest).unwrap();
                    let template = node.templates().by_name(kind.template()).unwrap().id();
                    prop_assert_eq!(code, crate::vm::Marker(template).init_code(&[]));
                }
            }
            Err(ComposeError::Invalid(errors)) => {
                for error in errors {
                    let name = error.got.trim_matches('"').to_owned();
                    prop_assert!(["GLD", "SLV", "Owners"].contains(&&*name), "{error}");
                    let is_there = chosen.iter().any(|component| [&component["name"], &component["config"]["symbol"]].contains(&&json!(name)));
                    prop_assert!(!is_there, "{error}");
                }
            }
            Err(other) => prop_assert!(false, "{other}"),
        }
        prop_assert_eq!(ComponentKind::ALL.map(|kind| ComponentKind::from_name(kind.name())), ComponentKind::ALL.map(Some));
    }
}
