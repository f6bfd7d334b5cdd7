//! Which examples the document shows of each body: one with the required fields alone, and one with all that may stand together.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Operation;

type Lists = BTreeMap<&'static str, &'static [&'static str]>;

/// What comes in several forms, so that the schema alone requires none of them: operation, fields of the form that the shortest example has
/// beside the required ones, why.
const FORMS: [(&str, &[&str], &str); 11] = [
    ("setValidatorStake", &["stake"], "stake, or a signed transaction"),
    ("slashValidator", &["percentage"], "a percentage, an amount, evidence, or a signed transaction"),
    ("delegate", &["amount"], "an amount, or a signed transaction"),
    ("undelegate", &["amount"], "an amount, or a signed transaction"),
    ("voteOnProposal", &["vote"], "a vote, or a signed transaction"),
    ("planDapp", &["template"], "a template, or components"),
    ("createProposal", &["title", "type", "changes"], "all three of a change of parameters, or a signed transaction"),
    ("deployContract", &["template", "params"], "both, or a signed transaction"),
    ("transferToken", &["to", "amount"], "an amount, an id, or both, by the standard, or a signed transaction"),
    ("callContract", &["method"], "a method, or data"),
    ("executeContract", &["method", "args"], "a method with its arguments, data, or a signed transaction"),
];

/// What can't stand with all the others: operation, fields, why.
const LEFT_OUT: [(&str, &[&str], &str); 13] = [
    ("setValidatorStake", &["from"], "a wallet with stake, which the workspace alone knows"),
    ("slashValidator", &["amount", "evidence"], "in place of a percentage"),
    ("delegate", &["from"], "a wallet with tokens, which the workspace alone knows"),
    ("undelegate", &["from"], "a wallet with stake, which the workspace alone knows"),
    ("voteOnProposal", &["from"], "a wallet that operates a validator, which the workspace alone knows"),
    ("createDapp", &["from"], "the workspace's wallet by default"),
    ("createProposal", &["from"], "a wallet that operates a validator, which the workspace alone knows"),
    ("addValidator", &["sealingAddress", "sealingProof", "from", "consent"], "signatures for one chain"),
    ("createWebhook", &["blockchainId"], "the same as `filters.blockchainId`"),
    ("createToken", &["asset", "uri", "from"], "of other standards; the workspace's wallet by default"),
    ("transferToken", &["tokenId"], "of other standards"),
    ("callContract", &["data"], "in place of a method"),
    ("executeContract", &["data"], "in place of a method"),
];

/// What somebody has signed is for one chain and one nonce: no example has it.
const SIGNED: &str = "signedTransaction";

fn names(value: &Value) -> BTreeSet<&str> {
    match value {
        Value::Object(members) => members.keys().map(String::as_str).collect(),
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        _ => BTreeSet::new(),
    }
}

/// The schema of a body, which is a type with a name.
fn schema<'d>(document: &'d Value, operation: &Operation) -> &'d Value {
    let reference = &operation.value["requestBody"]["content"]["application/json"]["schema"]["$ref"];
    let reference = reference.as_str().unwrap_or_else(|| panic!("{} has a body without a name", operation.name()));
    let found = document.pointer(reference.trim_start_matches('#')).unwrap();
    assert!(found["properties"].is_object(), "{reference} is not an object");
    found
}

fn lists(all: &[(&'static str, &'static [&'static str], &'static str)]) -> Lists {
    let lists: Lists = all.iter().map(|(operation, fields, _)| (*operation, *fields)).collect();
    assert_eq!(lists.len(), all.len(), "an operation is listed once");
    lists
}

#[test]
fn every_body_is_shown_with_the_required_fields_alone_and_with_all() {
    let (document, operations) = Operation::all();
    let (mut forms, mut left_out) = (lists(&FORMS), lists(&LEFT_OUT));
    let mut wrong = Vec::new();
    let is_ours = |operation: &&Operation| operation.value["requestBody"].is_object() && !operation.is_foreign();
    for operation in operations.iter().filter(is_ours) {
        let schema = schema(&document, operation);
        let (fields, required) = (names(&schema["properties"]), names(&schema["required"]));
        let form: BTreeSet<&str> = forms.remove(operation.name()).unwrap_or_default().iter().copied().collect();
        let apart: BTreeSet<&str> = left_out.remove(operation.name()).unwrap_or_default().iter().copied().collect();
        let optional: BTreeSet<&str> = fields.difference(&required).copied().collect();
        assert!(form.is_subset(&optional) && apart.is_subset(&optional), "{}: {optional:?}", operation.name());
        let shortest: BTreeSet<&str> = required.union(&form).copied().collect();
        let fullest: BTreeSet<&str> =
            fields.iter().copied().filter(|field| *field != SIGNED && !apart.contains(field)).collect();
        let examples = operation.examples();
        let shown: Vec<BTreeSet<&str>> = examples.iter().map(names).collect();
        for (what, wanted) in [("required fields", shortest), ("all fields", fullest)] {
            if !shown.contains(&wanted) {
                wrong.push(format!("{}, {what}: {wanted:?} is not among {shown:?}", operation.name()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(forms.is_empty() && left_out.is_empty(), "no operation with a body: {forms:?} {left_out:?}");
}
