//! Templates of dApps: named lists of components, which a dApp's own components override or extend.

use std::{collections::BTreeMap, sync::OnceLock};

use serde_json::{Map, Value};

use crate::platform::PlatformError;

/// The templates: components by the template's name.
const MANIFESTS: &str = include_str!("templates.json");

fn manifests() -> &'static BTreeMap<String, Vec<Value>> {
    static READ: OnceLock<BTreeMap<String, Vec<Value>>> = OnceLock::new();
    READ.get_or_init(|| serde_json::from_str(MANIFESTS).unwrap_or_default())
}

/// Returns the names of all templates.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    manifests().keys().map(String::as_str)
}

/// Returns a dApp's own components, then those of its template that none of its own overrides.
///
/// An own component overrides the template's component of its name; one without a name overrides the template's only one of its type. It
/// takes over the name, and each member of the configuration that it does not say itself.
///
/// # Errors
/// [`PlatformError::Validation`] of `template` for an unknown one.
pub(super) fn extended(template: Option<&str>, own: &[Value]) -> Result<Vec<Value>, PlatformError> {
    let Some(template) = template else { return Ok(own.to_vec()) };
    let Some(manifest) = manifests().get(template) else {
        let expected = format!("one of {}", names().collect::<Vec<_>>().join(", "));
        return Err(PlatformError::field("template", expected, template));
    };
    let mut rest = manifest.clone();
    let mut all: Vec<Value> = own.iter().map(|component| overriding(component, &mut rest)).collect();
    all.append(&mut rest);
    Ok(all)
}

/// Returns a component with what it takes over; what it overrides is taken out of `rest`.
fn overriding(component: &Value, rest: &mut Vec<Value>) -> Value {
    let Some(index) = overridden(component, rest) else { return component.clone() };
    let base = rest.remove(index);
    let mut merged = component.clone();
    let mut config = base["config"].as_object().cloned().unwrap_or_default();
    match component.get("config") {
        None => {}
        Some(Value::Object(own)) => config.extend(own.clone().into_iter().collect::<Map<_, _>>()),
        // What is no object is refused by its path.
        Some(_) => return merged,
    }
    (merged["name"], merged["config"]) = (base["name"].clone(), config.into());
    merged
}

fn overridden(component: &Value, rest: &[Value]) -> Option<usize> {
    let is_of_type = |other: &&Value| other["type"] == component["type"];
    match component.get("name") {
        Some(name) => rest.iter().position(|other| other["name"] == *name && is_of_type(&other)),
        None if rest.iter().filter(is_of_type).count() == 1 => rest.iter().position(|other| is_of_type(&other)),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::node::{Component, Node};

    #[test]
    fn every_template_is_deployed_as_it_is() {
        assert_eq!(names().collect::<Vec<_>>(), ["dao", "defi", "nft", "token-sale"]);
        for name in names() {
            let all = extended(Some(name), &[]).unwrap();
            let components = Component::read_list(&Value::from(all)).unwrap();
            let node = Node::new();
            let dapp = node.compose(node.accounts()[0], &components).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(dapp.components().len(), components.len());
        }
    }

    #[test]
    fn own_components_override_by_name_or_type_and_extend() {
        let own = [
            json!({ "type": "governance", "config": { "name": "Council" } }),
            json!({ "type": "multisig", "config": {} }),
            json!({ "type": "token", "name": "token", "config": { "symbol": "GLD" } }),
        ];
        let all = extended(Some("dao"), &own).unwrap();
        let types: Vec<_> = all.iter().map(|one| one["type"].as_str().unwrap()).collect();
        assert_eq!(types, ["governance", "multisig", "token"]);
        assert_eq!((&all[0]["config"]["name"], &all[0]["config"]["ownsToken"]), (&json!("Council"), &json!(true)));
        assert_eq!((&all[2]["config"]["symbol"], &all[2]["config"]["name"]), (&json!("GLD"), &json!("Votes")));
        let token = [json!({ "type": "token", "config": { "symbol": "GLD" } })];
        assert_eq!(
            extended(Some("defi"), &token).unwrap().len(),
            6,
            "the template has two tokens: which one is not said"
        );
        let PlatformError::Validation { fields } = extended(Some("bank"), &[]).unwrap_err() else { panic!() };
        assert_eq!(
            (fields[0].path.as_str(), fields[0].expected.as_str()),
            ("template", "one of dao, defi, nft, token-sale")
        );
    }
}
