//! The contracts that a dApp's components are: their parameters with what components of one dApp take from each other.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::component::{Component, ComponentKind, error, path_of};
use crate::{templates::PriceFeed, vm::ParameterError};

/// Member of a governance component's configuration that is no parameter: whether the timelock gets the roles of the token.
pub(super) const OWNS_TOKEN: &str = "ownsToken";

/// Member of a staking component's configuration that is no parameter: the rewards that the deployer pays in.
pub(super) const FUND: &str = "fund";

/// A contract to create.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// Index of the component that it is of.
    pub(super) component: usize,
    /// Path of its parameters, such as `components[0].config`.
    pub(super) path: String,
    /// Name of its template.
    pub(super) template: &'static str,
    /// The template's parameters.
    pub(super) params: Map<String, Value>,
    /// What others call it, the component's own name first.
    pub(super) names: Vec<String>,
}

/// Returns the contracts of components: one of each, in their order, after the price feeds that they ask for.
pub(super) fn parts_of(components: &[Component]) -> Vec<Part> {
    let token = sole_token(components);
    let part = |(index, component)| with_feeds(index, component, token);
    components.iter().enumerate().flat_map(part).collect()
}

/// Returns the symbol of the token, if the dApp has one alone.
fn sole_token(components: &[Component]) -> Option<&str> {
    let mut tokens = components.iter().filter(|component| component.kind == ComponentKind::Token);
    let (first, second) = (tokens.next()?, tokens.next());
    if second.is_some() { None } else { first.config.get("symbol")?.as_str() }
}

fn with_feeds(index: usize, component: &Component, token: Option<&str>) -> Vec<Part> {
    let path = format!("{}.config", path_of(index));
    let mut params = component.config.clone();
    let mut parts = Vec::new();
    match component.kind {
        ComponentKind::Staking => drop(params.remove(FUND)),
        ComponentKind::NftMarketplace | ComponentKind::Auction => default_token(&mut params, token),
        ComponentKind::Governance => {
            params.remove(OWNS_TOKEN);
            default_token(&mut params, token);
        }
        ComponentKind::Lending => {
            for oracle in ["oracle", "tokenOracle"] {
                let Some(Value::Object(feed)) = params.get(oracle).cloned() else { continue };
                let path = format!("{path}.{oracle}");
                params.insert(oracle.to_owned(), path.clone().into());
                let names = vec![path.clone()];
                parts.push(Part { component: index, path, template: PriceFeed::NAME, params: feed, names });
            }
        }
        ComponentKind::Token | ComponentKind::LiquidityPool | ComponentKind::Multisig => {}
    }
    let (template, names) = (component.kind.template(), names_of(component));
    parts.push(Part { component: index, path, template, params, names });
    parts
}

/// Takes the dApp's token where none is named.
fn default_token(params: &mut Map<String, Value>, token: Option<&str>) {
    if let Some(token) = token.filter(|_| !params.contains_key("token")) {
        params.insert("token".to_owned(), token.into());
    }
}

/// Returns what others may call a component: its name, and the symbol and the name in its configuration.
fn names_of(component: &Component) -> Vec<String> {
    let configured = ["symbol", "name"].into_iter().filter_map(|field| component.config.get(field)?.as_str());
    let mut names: Vec<String> = Vec::new();
    for name in component.name.as_deref().into_iter().chain(configured) {
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

/// Returns which part each name means: those of [`Part::names`], and the kind of a component where the dApp has one of it alone.
pub(super) fn names(components: &[Component], parts: &[Part]) -> Result<BTreeMap<String, usize>, Vec<ParameterError>> {
    let (mut names, mut errors) = (BTreeMap::new(), Vec::new());
    for (index, part) in parts.iter().enumerate() {
        for name in &part.names {
            if let Some(other) = names.insert(name.clone(), index) {
                let expected = format!("names of its own: {} is called {name} too", path_of(parts[other].component));
                errors.push(error(&path_of(part.component), expected, name));
            }
        }
    }
    for (index, part) in parts.iter().enumerate().filter(|(_, part)| part.template != PriceFeed::NAME) {
        let kind = components[part.component].kind;
        if components.iter().filter(|other| other.kind == kind).count() == 1 {
            names.entry(kind.name().to_owned()).or_insert(index);
        }
    }
    if errors.is_empty() { Ok(names) } else { Err(errors) }
}
