//! A dApp of all eight components in one transaction, and one that is wrong, of which nothing is deployed.
//!
//! `cargo run --example dapp`

use chainbox::{
    node::{Component, ComposeError, Node},
    prelude::*,
    templates::{
        common::DEFAULT_ADMIN_ROLE, erc20::interface as erc20, governance_dao::interface as governance,
        lending::interface as lending, multisig::interface as multisig, staking_pool::interface as staking,
    },
};
use serde_json::json;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let node = Node::new();
    let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
    let mut components = json!([
        { "type": "token", "config": { "name": "Gold", "symbol": "GLD", "totalSupply": "1000000", "features": ["mintable", "votes"] } },
        { "type": "token", "config": { "name": "Silver", "symbol": "SLV", "totalSupply": "5000000" } },
        { "type": "staking", "config": { "stakingToken": "GLD", "rewardToken": "SLV", "rewardRate": "10", "lockPeriod": "30d", "fund": "60000" } },
        { "type": "liquidity-pool", "config": { "token0": "GLD", "token1": "SLV" } },
        { "type": "lending", "config": { "token": "SLV", "collateral": "GLD", "oracle": { "answer": "500000000" } } },
        { "type": "governance", "config": { "name": "Council", "token": "GLD", "ownsToken": true } },
        { "type": "nft-marketplace", "config": { "token": "GLD", "fee": "2.5", "feeRecipient": "Treasury" } },
        { "type": "auction", "config": { "token": "SLV", "owner": "Treasury" } },
        { "type": "multisig", "name": "Treasury", "config": { "owners": [alice, bob], "threshold": 2 } },
    ]);

    // A name that nothing has, and an error of a constructor in the last component: the chain stays as it is.
    let mut wrong = components.clone();
    wrong[3]["config"]["token1"] = "BRZ".into();
    let error = node.compose(alice, &Component::read_list(&wrong).expect("well-formed")).unwrap_err();
    println!("refused: {error}");
    assert!(matches!(&error, ComposeError::Invalid(errors) if errors[0].path == "components[3].config.token1"));
    components[8]["config"]["threshold"] = 3.into();
    let error = node.compose(alice, &Component::read_list(&components).expect("well-formed")).unwrap_err();
    println!("refused: {error}");
    assert!(matches!(&error, ComposeError::Step { step, .. } if step == "components[8]: creation of multisig"));
    assert_eq!((node.view().head().height().get(), node.view().nonce(alice, BlockRef::Pending)?), (0, 0));

    components[8]["config"]["threshold"] = 2.into();
    let dapp = node.compose(alice, &Component::read_list(&components).expect("well-formed"))?;
    for (kind, address) in dapp.components() {
        println!("{:16} {address}", kind.name());
    }
    let contract = |name: &str| node.contract(dapp.address(name).expect("a name of the dApp"), alice);
    assert_eq!(node.view().head().height().get(), 1, "one transaction, one block");
    assert_eq!(contract("staking").call(staking::stakingTokenCall {})?, dapp.address("GLD").expect("a token"));
    assert_eq!(
        contract("SLV").call(erc20::balanceOfCall { account: dapp.address("staking").expect("a pool") })?,
        U256::from(60_000)
    );
    let price =
        contract("lending").call(lending::getAssetPriceCall { asset: dapp.address("GLD").expect("a token") })?;
    assert_eq!(price, U256::from(500_000_000));
    let timelock = contract("Council").call(governance::timelockCall {})?;
    assert!(contract("GLD").call(erc20::hasRoleCall { role: DEFAULT_ADMIN_ROLE, account: timelock })?);
    assert_eq!(contract("Treasury").call(multisig::getOwnersCall {})?, [alice, bob]);
    Ok(())
}
