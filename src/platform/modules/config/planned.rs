//! Configurations of the modules that this build does not have: what they take is known and checked, so that a body which is refused
//! for being too early is right.

use super::scalars::text_within;
use crate::platform::{Fields, modules::ModuleKind};

/// Chains, feeds or credentials in one configuration.
const ITEMS_MAX: usize = 64;

/// Reads a configuration for its errors alone.
pub(super) fn check(kind: ModuleKind, fields: &mut Fields) {
    match kind {
        ModuleKind::Bridge => {
            names(fields, "chains", "the name or id of a chain");
            fields.integer("confirmations", 1, 10_000);
            choice(fields, "mode", &["lock-mint", "burn-mint"]);
        }
        ModuleKind::Oracle => {
            names(fields, "feeds", "a pair such as ETH/USD");
            fields.duration_secs("updateInterval");
            fields.integer("decimals", 0, 36);
        }
        ModuleKind::Identity => {
            choice(fields, "method", &["did:key", "did:web", "did:ethr"]);
            names(fields, "credentials", "a type of credential");
        }
        ModuleKind::Privacy => {
            choice(fields, "proofSystem", &["groth16", "plonk"]);
            names(fields, "circuits", "the name of a circuit");
        }
        ModuleKind::Storage => {
            choice(fields, "provider", &["ipfs", "local"]);
            fields.integer("replicas", 1, 100);
            text_within(fields, "gateway", 256);
        }
        ModuleKind::Defi | ModuleKind::Nft | ModuleKind::Dao => {}
    }
}

fn choice(fields: &mut Fields, name: &str, choices: &[&str]) {
    fields.choice(name, choices, |text| choices.contains(&text).then_some(()));
}

fn names(fields: &mut Fields, name: &str, expected: &str) {
    let read = |text: &str| (!text.trim().is_empty() && text.len() <= 256).then(|| text.to_owned());
    if fields.list(name, expected, read).is_some_and(|found| found.len() > ITEMS_MAX) {
        fields.refuse(name, format!("at most {ITEMS_MAX} items"), "more");
    }
}
