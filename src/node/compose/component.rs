//! Components of a dApp, and how a list of them is read.

use serde_json::{Map, Value};

use crate::{
    templates::{Auction, Erc20, GovernanceDao, Lending, LiquidityPool, Marketplace, Multisig, StakingPool},
    vm::ParameterError,
};

/// Components of a dApp at most.
pub const COMPONENTS_MAX: usize = 64;

/// Kind of a component: what its contract is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ComponentKind {
    /// A token: `erc20-token`.
    Token,
    /// Rewards for those who stake a token: `staking-pool`.
    Staking,
    /// A pool of two tokens: `liquidity-pool`.
    LiquidityPool,
    /// A market that lends one token against another: `lending`.
    Lending,
    /// A governor with its timelock: `governance-dao`.
    Governance,
    /// Sales of NFTs: `marketplace`.
    NftMarketplace,
    /// Auctions of NFTs: `auction`.
    Auction,
    /// A wallet of several owners: `multisig`.
    Multisig,
}

impl ComponentKind {
    /// All kinds.
    pub const ALL: [Self; 8] = [
        Self::Token,
        Self::Staking,
        Self::LiquidityPool,
        Self::Lending,
        Self::Governance,
        Self::NftMarketplace,
        Self::Auction,
        Self::Multisig,
    ];

    /// Returns its name, such as `liquidity-pool`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Token => "token",
            Self::Staking => "staking",
            Self::LiquidityPool => "liquidity-pool",
            Self::Lending => "lending",
            Self::Governance => "governance",
            Self::NftMarketplace => "nft-marketplace",
            Self::Auction => "auction",
            Self::Multisig => "multisig",
        }
    }

    /// Returns the kind of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Returns the name of its template.
    pub const fn template(self) -> &'static str {
        match self {
            Self::Token => Erc20::NAME,
            Self::Staking => StakingPool::NAME,
            Self::LiquidityPool => LiquidityPool::NAME,
            Self::Lending => Lending::NAME,
            Self::Governance => GovernanceDao::NAME,
            Self::NftMarketplace => Marketplace::NAME,
            Self::Auction => Auction::NAME,
            Self::Multisig => Multisig::NAME,
        }
    }
}

/// A component of a dApp: a contract of a template, with the template's parameters. See [`Node::compose`](crate::node::Node::compose).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Component {
    /// What it is.
    pub kind: ComponentKind,
    /// Name by which others mean it, beside the symbol and the name in its configuration.
    pub name: Option<String>,
    /// Its template's parameters, where an address may be another component's name, and what [`Node::compose`](crate::node::Node::compose)
    /// adds for its kind.
    pub config: Map<String, Value>,
}

impl Component {
    /// Creates a component.
    pub const fn new(kind: ComponentKind, config: Map<String, Value>) -> Self {
        Self { kind, name: None, config }
    }

    /// Gives it a name by which others mean it.
    #[must_use]
    pub fn with_name(self, name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), ..self }
    }

    /// Reads a JSON array of objects with `type`, `config` and, by choice, `name`.
    ///
    /// # Errors
    /// Everything that is wrong, by its path, such as `components[1].type`.
    pub fn read_list(list: &Value) -> Result<Vec<Self>, Vec<ParameterError>> {
        let mut errors = Vec::new();
        let values = list.as_array().filter(|values| (1..=COMPONENTS_MAX).contains(&values.len()));
        let Some(values) = values else {
            let got = list.as_array().map_or_else(|| list.to_string(), |values| format!("{} components", values.len()));
            return Err(vec![error("components", format!("an array of 1 to {COMPONENTS_MAX} components"), got)]);
        };
        let read = values.iter().enumerate().filter_map(|(index, value)| Self::read(index, value, &mut errors));
        let components: Vec<_> = read.collect();
        if errors.is_empty() { Ok(components) } else { Err(errors) }
    }

    fn read(index: usize, value: &Value, errors: &mut Vec<ParameterError>) -> Option<Self> {
        let path = path_of(index);
        let Some(fields) = value.as_object() else {
            errors.push(error(&path, "an object with type and config", value));
            return None;
        };
        let known = errors.len();
        for (field, value) in fields.iter().filter(|(field, _)| !["type", "name", "config"].contains(&field.as_str())) {
            errors.push(error(
                &format!("{path}.{field}"),
                "no field of this name: the fields are type, name, config",
                value,
            ));
        }
        let kind = fields.get("type").and_then(Value::as_str).and_then(ComponentKind::from_name);
        if kind.is_none() {
            let names = ComponentKind::ALL.map(ComponentKind::name).join(", ");
            errors.push(missing_or(&format!("{path}.type"), format!("one of {names}"), fields.get("type")));
        }
        let config = match fields.get("config") {
            None => Some(Map::new()),
            Some(config) => config.as_object().cloned(),
        };
        if config.is_none() {
            errors.push(missing_or(&format!("{path}.config"), "an object", fields.get("config")));
        }
        let name = fields.get("name").map(|name| name.as_str().filter(|name| !name.is_empty()).map(str::to_owned));
        if name == Some(None) {
            errors.push(missing_or(&format!("{path}.name"), "a non-empty string", fields.get("name")));
        }
        if errors.len() > known {
            return None;
        }
        Some(Self { kind: kind?, name: name.flatten(), config: config? })
    }
}

/// Returns the path of the component at `index`.
pub(super) fn path_of(index: usize) -> String {
    format!("components[{index}]")
}

pub(super) fn error(path: &str, expected: impl Into<String>, got: impl ToString) -> ParameterError {
    ParameterError { path: path.to_owned(), expected: expected.into(), got: got.to_string() }
}

fn missing_or(path: &str, expected: impl Into<String>, got: Option<&Value>) -> ParameterError {
    error(path, expected, got.map_or_else(|| "nothing".to_owned(), Value::to_string))
}
