//! Each template's ABI against that of its reference: functions, events and errors, with all names and types.
//!
//! A template's ABI has all that the reference's has, also errors that neither can meet, and beside that what is listed here with the
//! reason.

use std::collections::BTreeMap;

use chainbox::{
    templates,
    vm::{Descriptor, Template},
};
use serde_json::Value;

use crate::artifacts::artifact;

/// A template and what its ABI is made of.
struct Published {
    template: &'static str,
    /// Contracts whose ABIs together are the template's.
    references: &'static [&'static str],
    /// Names of functions, events and errors that no reference has.
    added: &'static [&'static str],
}

/// OpenZeppelin's contract has no ERC-165, which all templates answer.
const ERC165: &str = "function supportsInterface";

const PUBLISHED: &[Published] = &[
    Published {
        template: "erc20-token",
        references: &["Erc20", "Erc20WithoutVotes"],
        // Parts of the supply that vest from the construction on.
        added: &["event VestingWalletCreated", "error ERC20VestingExceededSupply"],
    },
    // `safeMint` without a URI, in a token without URIs of its own.
    Published { template: "erc721-nft", references: &["Erc721", "Erc721Votes"], added: &["function safeMint"] },
    // Parts of the first supply that vest.
    Published { template: "erc1155-multi", references: &["Erc1155"], added: &["event VestingWalletCreated"] },
    Published {
        template: "erc4626-vault",
        references: &["Vault", "VaultWithFees"],
        added: &[
            ERC165,
            // Fees that an owner sets: the guide's vault has them in its code.
            "function entryFee",
            "function exitFee",
            "function feeRecipient",
            "function setFees",
            "function setFeeRecipient",
            "event FeesChanged",
            "event FeeRecipientChanged",
            "error VaultInvalidFee",
            "error VaultInvalidFeeRecipient",
            // The owner: Ownable.
            "function owner",
            "function transferOwnership",
            "function renounceOwnership",
            "event OwnershipTransferred",
            "error OwnableInvalidOwner",
            "error OwnableUnauthorizedAccount",
            // The forwarder: ERC2771Context.
            "function trustedForwarder",
            "function isTrustedForwarder",
            // The offset is a parameter.
            "error VaultDecimalsOffsetTooHigh",
        ],
    },
    Published {
        template: "vesting-wallet",
        references: &["VestingWallet", "CliffWallet"],
        added: &[
            ERC165,
            // The revocation.
            "function revocable",
            "function revoker",
            "function revoke",
            "function revoked",
            "event EtherRevoked",
            "event ERC20Revoked",
            "error VestingInvalidRevoker",
            "error VestingUnauthorizedRevoker",
            "error VestingAlreadyRevoked",
            // Tokens of ERC-1155, by functions that are overloaded.
            "function release",
            "function released",
            "function releasable",
            "function vestedAmount",
            "function onERC1155Received",
            "function onERC1155BatchReceived",
            "event ERC1155Released",
            "event ERC1155Revoked",
        ],
    },
    Published { template: "erc2771-forwarder", references: &["ERC2771Forwarder"], added: &[ERC165] },
    Published { template: "multicall", references: &["Multicall3"], added: &[ERC165] },
    Published { template: "timelock-controller", references: &["TimelockController"], added: &[] },
    Published { template: "price-feed", references: &["PriceFeed"], added: &[ERC165] },
    Published { template: "governance-dao", references: &["Dao"], added: &[] },
    Published { template: "multisig", references: &["MultiSigWallet"], added: &[ERC165] },
    Published {
        template: "staking-pool",
        references: &["StakingRewards"],
        added: &[
            ERC165,
            // Several rewards: the functions by token.
            "function rewardTokens",
            "function periodFinish",
            "function rewardRate",
            "function lastTimeRewardApplicable",
            "function rewardPerToken",
            "function earned",
            "function getRewardForDuration",
            "function notifyRewardAmount",
            "function getReward",
            "event TokenRewardAdded",
            "event TokenRewardPaid",
            "error StakingAmbiguousRewards",
            "error StakingDuplicateReward",
            "error StakingTooManyRewards",
            "error StakingUnknownReward",
            "error StakingRewardTooLarge",
            // Funding at a rate.
            "function fundReward",
            "event RewardFunded",
            "error StakingNoRewardRate",
            "error StakingFundingTooSmall",
            // The lock.
            "function lockPeriod",
            "function unlockTime",
            "error StakeLocked",
            "error StakingInvalidLockPeriod",
            // Stakes are no rewards.
            "error StakingInsufficientRewards",
            "error StakingInvalidToken",
        ],
    },
];

/// Templates whose ABIs are chainbox's own.
/// `lending` has parts of Aave's pool, data provider, oracle and strategy: its arithmetic is compared, in `suites/lending_math.rs`.
const OWN: &[&str] = &["batch", "lending", "record-registry", "marketplace", "auction"];

/// Templates of contracts that are older than ERC-165, with the functions of their originals and that. Their ABIs name parameters otherwise,
/// and are compared by the suites' functions alone.
const OLDER: &[&str] = &["liquidity-pool", "liquidity-factory", "liquidity-router", "wrapped-native"];

/// Functions, events and errors by kind, name and types, such as `function transfer(address,uint256) nonpayable returns (bool)`, with the
/// names of all parameters. Constructors are left out, whose parameters are a template's own.
fn items(abi: &[Value]) -> BTreeMap<String, Vec<String>> {
    abi.iter().filter(|entry| entry["type"] != "constructor").map(item).collect()
}

fn item(entry: &Value) -> (String, Vec<String>) {
    let kind = entry["type"].as_str().expect("a kind");
    let name = entry["name"].as_str().unwrap_or_default();
    let mut names = Vec::new();
    let inputs = parameters(&entry["inputs"], &mut names);
    let mut text = format!("{kind} {name}({inputs})");
    if let Some(mutability) = entry["stateMutability"].as_str() {
        let outputs = parameters(&entry["outputs"], &mut names);
        text += &format!(" {mutability} returns ({outputs})");
    }
    if entry["anonymous"] == true {
        text += " anonymous";
    }
    (text, names)
}

/// Returns the types of parameters, and adds their names and those of their members.
fn parameters(list: &Value, names: &mut Vec<String>) -> String {
    let mut text = |parameter: &Value| {
        names.push(parameter["name"].as_str().unwrap_or_default().to_owned());
        let indexed = if parameter["indexed"] == true { " indexed" } else { "" };
        let ty = parameter["type"].as_str().expect("a type");
        match ty.strip_prefix("tuple") {
            Some(array) => format!("({}){array}{indexed}", parameters(&parameter["components"], names)),
            None => format!("{ty}{indexed}"),
        }
    };
    list.as_array().into_iter().flatten().map(&mut text).collect::<Vec<_>>().join(",")
}

fn abi_of(template: &dyn Template) -> Vec<Value> {
    let abi = serde_json::to_value(Descriptor::of(template).abi).expect("an ABI is JSON");
    abi.as_array().expect("a list").clone()
}

/// Returns what is wrong with a template's ABI. Where the reference names a parameter, so does the template.
fn differences(published: &Published, ours: &BTreeMap<String, Vec<String>>) -> Vec<String> {
    let theirs: BTreeMap<_, _> = published.references.iter().flat_map(|name| items(&artifact(name).abi)).collect();
    let is_added = |item: &str, added: &str| item.strip_prefix(added).is_some_and(|rest| rest.starts_with('('));
    let mut wrong = Vec::new();
    for (item, names) in &theirs {
        match ours.get(item) {
            None => wrong.push(format!("the template lacks {item}")),
            Some(own) if names.iter().zip(own).any(|(name, own)| !name.is_empty() && name != own) => {
                wrong.push(format!("{item} has the names {own:?}, the reference {names:?}"));
            }
            Some(_) => {}
        }
    }
    let extra: Vec<_> = ours.keys().filter(|item| !theirs.contains_key(*item)).collect();
    let unlisted = extra.iter().filter(|item| !published.added.iter().any(|added| is_added(item, added)));
    wrong.extend(unlisted.map(|item| format!("the reference has no {item}")));
    let idle = published.added.iter().filter(|added| !extra.iter().any(|item| is_added(item, added)));
    wrong.extend(idle.map(|added| format!("{added} is listed as added and is not")));
    wrong.into_iter().map(|difference| format!("{}: {difference}", published.template)).collect()
}

#[test]
fn each_templates_abi_is_its_references_with_listed_additions() {
    let mut wrong = Vec::new();
    for template in templates::builtin().iter() {
        if OWN.contains(&template.name()) || OLDER.contains(&template.name()) {
            continue;
        }
        let published = PUBLISHED.iter().find(|published| published.template == template.name());
        let Some(published) = published else { panic!("{}: name its references here", template.name()) };
        wrong.extend(differences(published, &items(&abi_of(&**template))));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_missing_error_another_name_and_an_unlisted_function_are_found() {
    let published = &PUBLISHED[2];
    let template = templates::builtin().by_name(published.template).expect("a template");
    let mut ours = items(&abi_of(&**template));
    ours.retain(|item, _| !item.starts_with("error ERC1155InvalidArrayLength("));
    ours.insert("function magic() view returns ()".to_owned(), Vec::new());
    let supply = "function totalSupply(uint256) view returns (uint256)";
    ours.insert(supply.to_owned(), vec!["number".to_owned(), String::new()]);
    let wrong = differences(published, &ours);
    assert_eq!(wrong.len(), 3, "{wrong:?}");
    assert!(wrong[0].ends_with("lacks error ERC1155InvalidArrayLength(uint256,uint256)"), "{wrong:?}");
    assert!(wrong[1].contains(supply) && wrong[1].contains("number"), "{wrong:?}");
    assert!(wrong[2].ends_with("has no function magic() view returns ()"), "{wrong:?}");
}

#[test]
fn templates_answer_erc165_where_their_references_do_not() {
    for published in PUBLISHED.iter().filter(|published| published.added.contains(&ERC165)) {
        let has = |name: &&str| items(&artifact(name).abi).keys().any(|item| item.starts_with(ERC165));
        assert!(!published.references.iter().any(has), "{}", published.template);
    }
    for template in templates::builtin().iter() {
        assert!(template.abi().functions.contains_key("supportsInterface"), "{}", template.name());
    }
}
