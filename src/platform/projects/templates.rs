//! Templates of projects: what a chain gets, as data.

use serde_json::json;

use super::kind::ProjectKind;
use crate::{
    platform::{Feature, contract_plan::PlannedContract},
    templates::{
        Auction, Erc20, Erc721, GovernanceDao, Lending, LiquidityFactory, LiquidityRouter, Marketplace, PriceFeed,
        StakingPool, WrappedNative,
    },
};

/// Supply of a token, in the smallest unit: a million of 18 decimals.
const SUPPLY: &str = "1000000000000000000000000";
/// Bytes of a name that an EIP-712 domain has in one word.
const NAME_BYTES_MAX: usize = 31;

/// A template.
#[derive(Debug)]
pub struct ProjectTemplate {
    /// Its name.
    pub name: &'static str,
    /// What it sets up, in a line.
    pub summary: &'static str,
    /// Types of projects that take it; the default of those that name none is their first template.
    pub kinds: &'static [ProjectKind],
    /// Optional parts, by the names that `features` has for them.
    pub options: &'static [&'static str],
    /// Features that its chain has in any case.
    pub chain_features: &'static [Feature],
    contracts: fn(&Wanted<'_>) -> Vec<PlannedContract>,
}

/// What a project asks its template for.
pub(super) struct Wanted<'a> {
    /// Name of the project.
    pub(super) name: &'a str,
    /// Names of its features.
    pub(super) features: &'a [String],
}

impl Wanted<'_> {
    fn has(&self, option: &str) -> bool {
        self.features.iter().any(|feature| feature == option)
    }

    /// The name, cut to what a contract may have.
    fn contract_name(&self) -> &str {
        let fits = |end: &usize| *end <= NAME_BYTES_MAX && self.name.is_char_boundary(*end);
        let end = (0..=self.name.len()).rev().find(fits).unwrap_or(0);
        &self.name[..end]
    }

    /// The first letters and digits of the name, in capitals.
    fn symbol(&self) -> String {
        let letters: String = self.name.chars().filter(char::is_ascii_alphanumeric).take(5).collect();
        if letters.is_empty() { "TKN".to_owned() } else { letters.to_ascii_uppercase() }
    }

    fn token(&self, has_votes: bool) -> PlannedContract {
        let features = json!({
            "mintable": self.has("mintable"), "burnable": self.has("burnable"), "pausable": self.has("pausable"),
            "votes": has_votes || self.has("votes"),
        });
        let params = json!({
            "name": self.contract_name(), "symbol": self.symbol(), "totalSupply": SUPPLY, "features": features,
        });
        PlannedContract::new("token", Erc20::NAME, params)
    }

    fn collection(&self) -> PlannedContract {
        let features = json!({
            "mintable": true, "burnable": self.has("burnable"), "pausable": self.has("pausable"), "votes": self.has("votes"),
        });
        let params = json!({ "name": self.contract_name(), "symbol": self.symbol(), "features": features });
        PlannedContract::new("collection", Erc721::NAME, params)
    }
}

/// Optional functions of a token.
const OF_TOKENS: [&str; 4] = ["mintable", "burnable", "pausable", "votes"];
/// Optional functions of a collection, which can be minted in any case.
const OF_COLLECTIONS: [&str; 3] = ["burnable", "pausable", "votes"];

/// Every template; the first that a type takes is its default.
pub static TEMPLATES: [ProjectTemplate; 9] = [
    ProjectTemplate {
        name: "blank",
        summary: "a chain without contracts",
        kinds: &[ProjectKind::Dapp],
        options: &[],
        chain_features: &[],
        contracts: |_| Vec::new(),
    },
    ProjectTemplate {
        name: "erc20-token",
        summary: "a fungible token, whose supply is the treasury's",
        kinds: &[ProjectKind::Token, ProjectKind::Dapp],
        options: &OF_TOKENS,
        chain_features: &[Feature::SmartContracts],
        contracts: |wanted| vec![wanted.token(false)],
    },
    ProjectTemplate {
        name: "nft-collection",
        summary: "a collection of NFTs, which the treasury mints",
        kinds: &[ProjectKind::Nft, ProjectKind::Dapp],
        options: &OF_COLLECTIONS,
        chain_features: &[Feature::SmartContracts],
        contracts: |wanted| vec![wanted.collection()],
    },
    ProjectTemplate {
        name: "nft-marketplace",
        summary: "a collection of NFTs and a marketplace; by choice auctions",
        kinds: &[ProjectKind::Nft, ProjectKind::Dapp],
        options: &["burnable", "pausable", "votes", "auctions"],
        chain_features: &[Feature::SmartContracts],
        contracts: |wanted| {
            let mut plan = vec![wanted.collection(), PlannedContract::new("marketplace", Marketplace::NAME, json!({}))];
            if wanted.has("auctions") {
                plan.push(PlannedContract::new("auction", Auction::NAME, json!({})));
            }
            plan
        },
    },
    ProjectTemplate {
        name: "defi-exchange",
        summary: "a token, and an exchange of pools for it and the native token",
        kinds: &[ProjectKind::Defi, ProjectKind::Dapp],
        options: &OF_TOKENS,
        chain_features: &[Feature::SmartContracts],
        contracts: |wanted| {
            let router = PlannedContract::new("router", LiquidityRouter::NAME, json!({}));
            vec![
                wanted.token(false),
                PlannedContract::new("wrapped-native", WrappedNative::NAME, json!({})),
                PlannedContract::new("factory", LiquidityFactory::NAME, json!({})),
                router.linked("factory", "factory").linked("WETH", "wrapped-native"),
            ]
        },
    },
    ProjectTemplate {
        name: "lending-market",
        summary: "a token that is lent against the native one, by a price feed of the treasury",
        kinds: &[ProjectKind::Defi, ProjectKind::Dapp],
        options: &OF_TOKENS,
        chain_features: &[Feature::SmartContracts],
        contracts: |wanted| {
            let market = PlannedContract::new("lending", Lending::NAME, json!({}));
            vec![
                wanted.token(false),
                PlannedContract::new("wrapped-native", WrappedNative::NAME, json!({})),
                PlannedContract::new("price-feed", PriceFeed::NAME, json!({ "answer": "100000000" })),
                market.linked("token", "token").linked("collateral", "wrapped-native").linked("oracle", "price-feed"),
            ]
        },
    },
    ProjectTemplate {
        name: "staking",
        summary: "a token, and a pool that rewards who stakes it",
        kinds: &[ProjectKind::Defi, ProjectKind::Dapp],
        options: &OF_TOKENS,
        chain_features: &[Feature::SmartContracts],
        contracts: |wanted| {
            let pool = PlannedContract::new("staking", StakingPool::NAME, json!({}));
            vec![wanted.token(false), pool.linked("stakingToken", "token")]
        },
    },
    ProjectTemplate {
        name: "dao",
        summary: "a token with votes, and a governor of it with a timelock",
        kinds: &[ProjectKind::Dao, ProjectKind::Dapp],
        options: &["mintable", "burnable", "pausable"],
        chain_features: &[Feature::SmartContracts],
        contracts: |wanted| {
            let governor = json!({ "name": wanted.contract_name() });
            let governor = PlannedContract::new("governor", GovernanceDao::NAME, governor);
            vec![wanted.token(true), governor.linked("token", "token")]
        },
    },
    ProjectTemplate {
        name: "private-network",
        summary: "a chain with lists of who sends and deploys, which its participants alone read",
        kinds: &[ProjectKind::Network],
        options: &[],
        chain_features: &[Feature::Permissions, Feature::Privacy],
        contracts: |_| Vec::new(),
    },
];

impl ProjectTemplate {
    /// Returns the template with this name.
    pub fn from_name(name: &str) -> Option<&'static Self> {
        TEMPLATES.iter().find(|template| template.name == name)
    }

    /// Returns the default template of a type.
    pub fn default_of(kind: ProjectKind) -> &'static Self {
        TEMPLATES.iter().find(|template| template.kinds.first() == Some(&kind)).unwrap_or(&TEMPLATES[0])
    }

    /// Its contracts, each after those that it needs.
    pub(super) fn contracts(&self, wanted: &Wanted<'_>) -> Vec<PlannedContract> {
        (self.contracts)(wanted)
    }
}
