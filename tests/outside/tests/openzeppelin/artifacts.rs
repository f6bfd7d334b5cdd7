//! The compiled reference contracts: `openzeppelin/compile` makes them when they are first asked for.

use std::{collections::BTreeMap, fs, path::Path, process::Command, sync::OnceLock};

use alloy_primitives::{Bytes, Selector, hex, keccak256};
use serde_json::Value;

use crate::layout::Layout;

/// A compiled contract.
#[derive(Debug)]
pub struct Artifact {
    /// The ABI, as solc writes it.
    pub abi: Vec<Value>,
    /// Creation code, without constructor parameters.
    pub creation_code: Bytes,
    pub functions: Vec<Function>,
    /// Custom errors by selector, as signatures.
    pub errors: BTreeMap<Selector, String>,
    pub layout: Layout,
}

/// A function of a contract's ABI.
#[derive(Debug)]
pub struct Function {
    /// Name and parameter types, as hashed for the selector.
    pub signature: String,
    pub selector: Selector,
    /// Types of the parameters.
    pub inputs: Vec<String>,
    /// Whether it is `view` or `pure`.
    pub is_view: bool,
}

impl Artifact {
    /// Returns the signature of the function that `input` calls.
    pub fn called(&self, input: &[u8]) -> Option<&str> {
        let selector = input.get(..4)?;
        self.functions.iter().find(|function| function.selector == selector).map(|function| function.signature.as_str())
    }

    fn from_json(json: &Value) -> Self {
        let entries = json["abi"].as_array().expect("a list");
        let of_kind = |kind| entries.iter().filter(move |entry| entry["type"] == kind);
        Self {
            abi: entries.clone(),
            creation_code: hex::decode(text(&json["creationCode"])).expect("linked code").into(),
            functions: of_kind("function").map(Function::from_json).collect(),
            errors: of_kind("error").map(signature).map(|signature| (selector(&signature), signature)).collect(),
            layout: Layout::from_json(&json["storageLayout"]),
        }
    }
}

impl Function {
    fn from_json(entry: &Value) -> Self {
        let signature = signature(entry);
        Self {
            selector: selector(&signature),
            signature,
            inputs: entry["inputs"].as_array().expect("a list").iter().map(type_of).collect(),
            is_view: ["view", "pure"].contains(&text(&entry["stateMutability"])),
        }
    }
}

/// Returns the contract called `name`.
///
/// # Panics
/// When the contracts don't compile, or none has this name.
pub fn artifact(name: &str) -> &'static Artifact {
    static ALL: OnceLock<BTreeMap<String, Artifact>> = OnceLock::new();
    let all = ALL.get_or_init(compile);
    all.get(name).unwrap_or_else(|| panic!("no contract {name} in openzeppelin/contracts, only {:?}", all.keys()))
}

fn compile() -> BTreeMap<String, Artifact> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("openzeppelin/compile");
    let ended = Command::new(&script).output().expect("openzeppelin/compile runs");
    assert!(ended.status.success(), "openzeppelin/compile failed:\n{}", String::from_utf8_lossy(&ended.stderr));
    let path = String::from_utf8(ended.stdout).expect("a path");
    let compiled = fs::read_to_string(path.trim()).expect("the file whose path openzeppelin/compile printed");
    let compiled: Value = serde_json::from_str(&compiled).expect("JSON");
    let contracts = compiled["contracts"].as_object().expect("contracts by name");
    contracts.iter().map(|(name, json)| (name.clone(), Artifact::from_json(json))).collect()
}

fn signature(entry: &Value) -> String {
    format!("{}({})", text(&entry["name"]), types(&entry["inputs"]))
}

fn types(parameters: &Value) -> String {
    parameters.as_array().expect("a list").iter().map(type_of).collect::<Vec<_>>().join(",")
}

fn type_of(parameter: &Value) -> String {
    let name = text(&parameter["type"]);
    match name.strip_prefix("tuple") {
        Some(array) => format!("({}){array}", types(&parameter["components"])),
        None => name.to_owned(),
    }
}

fn selector(signature: &str) -> Selector {
    Selector::from_slice(&keccak256(signature)[..4])
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a string")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_printed_contracts_are_what_the_wizard_prints() {
        artifact("Erc20");
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("openzeppelin");
        let ended =
            Command::new("node").args(["print.mjs", "--check"]).current_dir(folder).output().expect("node runs");
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    }
}
