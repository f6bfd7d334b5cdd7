//! What is fixed with a template's version: pinned here for every template of the crate.
//!
//! A chain is not opened with a template whose digest is another than when its contracts were deployed, so a digest changes together with
//! the version. The gas that enters it is in the template's `gas.txt`: lines of its golden tables, to which others may be added at any time.

use std::{fs, path::PathBuf};

use chainbox::{
    primitives::keccak256,
    system::{
        governance::GovernanceTemplate, modules::ModulesTemplate, parameters::ParametersTemplate,
        permissions::PermissionsTemplate, staking::StakingTemplate, validators::ValidatorsTemplate,
    },
    templates,
    vm::{Descriptor, Template},
};

/// How to accept changes.
const BLESS: &str = "CHAINBOX_BLESS=1 cargo test --all-features --test golden";

/// Folder of each template, and its golden tables there.
const TABLES: &[(&str, &str, &[&str])] = &[
    ("erc20-token", "templates/erc20", &["golden.txt"]),
    ("erc721-nft", "templates/erc721", &["golden.txt"]),
    ("erc1155-multi", "templates/erc1155", &["golden.txt"]),
    ("erc4626-vault", "templates/erc4626", &["golden.txt"]),
    ("vesting-wallet", "templates/vesting_wallet", &["golden.txt"]),
    ("multicall", "templates/multicall", &["golden.txt"]),
    ("erc2771-forwarder", "templates/erc2771_forwarder", &["golden.txt"]),
    ("batch", "templates/batch", &["golden.txt"]),
    ("record-registry", "templates/record_registry", &["golden.txt"]),
    ("governance-dao", "templates/governance_dao", &["golden.txt"]),
    ("timelock-controller", "templates/timelock_controller", &["golden.txt"]),
    ("staking-pool", "templates/staking_pool", &["golden.txt"]),
    ("liquidity-pool", "templates/liquidity_pool", &["golden.txt"]),
    ("liquidity-factory", "templates/liquidity_factory", &["golden.txt"]),
    ("liquidity-router", "templates/liquidity_router", &["golden.txt"]),
    ("lending", "templates/lending", &["golden.txt"]),
    ("price-feed", "templates/price_feed", &["golden.txt"]),
    ("multisig", "templates/multisig", &["golden.txt"]),
    ("wrapped-native", "templates/wrapped_native", &["golden.txt"]),
    ("marketplace", "templates/marketplace", &["golden.txt"]),
    ("auction", "templates/auction", &["golden.txt"]),
    ("staking", "system/staking", &["golden/at_once.txt", "golden/queues.txt"]),
    ("governance", "system/governance", &["golden.txt"]),
    ("chain-parameters", "system/parameters", &["golden.txt"]),
    ("permissions", "system/permissions", &["golden.txt"]),
    ("validators", "system/validators", &["golden.txt"]),
    ("modules", "system/modules", &["golden.txt"]),
];

fn is_blessing() -> bool {
    std::env::var_os("CHAINBOX_BLESS").is_some()
}

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn read(name: &str) -> String {
    fs::read_to_string(path(name)).unwrap_or_default()
}

/// Returns the lines of golden tables without the storage that is left, and without the hash of effects: name, outcome, gas, refund.
fn gas_rows(tables: &[String]) -> Vec<&str> {
    let lines = tables.iter().flat_map(|table| table.lines()).filter(|line| !line.starts_with("storage:"));
    lines.filter_map(|line| line.rsplit_once(", ")).map(|(row, _)| row).collect()
}

/// Returns the first of `pinned` that is not among `rows`, in their order.
fn first_lost<'p>(pinned: &'p str, rows: &[&str]) -> Option<&'p str> {
    let mut rows = rows.iter();
    pinned.lines().find(|line| !rows.any(|row| row == line))
}

#[test]
fn gas_tables_are_part_of_the_golden_tables() {
    for template in templates::builtin().iter() {
        let is_listed = TABLES.iter().any(|(name, ..)| *name == template.name());
        assert!(is_listed, "{}: add the folder of its golden tables to TABLES", template.name());
    }
    let mut rewritten = Vec::new();
    for (name, folder, tables) in TABLES {
        let gas_path = format!("src/{folder}/gas.txt");
        let tables: Vec<_> = tables.iter().map(|table| read(&format!("src/{folder}/tests/{table}"))).collect();
        let (pinned, rows) = (read(&gas_path), gas_rows(&tables));
        let lost = first_lost(&pinned, &rows);
        let is_unpinned = pinned.is_empty() && !rows.is_empty();
        if is_blessing() && (lost.is_some() || is_unpinned) {
            fs::write(path(&gas_path), rows.iter().map(|row| format!("{row}\n")).collect::<String>()).unwrap();
            rewritten.push(gas_path);
            continue;
        }
        assert!(!is_unpinned, "{name}: {gas_path} is empty; fill it with {BLESS}");
        assert_eq!(
            lost, None,
            "{name}: this line of {gas_path} is not in its golden tables any more (outcome, gas, refund): raise the template's version, so \
             that chains with its contracts are refused and not run differently, and accept with {BLESS}. Only of a version that was \
             never released may the gas change."
        );
    }
    assert!(
        rewritten.is_empty(),
        "written: {}; run it again, for the digests with these gas tables",
        rewritten.join(", ")
    );
}

/// Name, id and version, digest; then parts of the digest by which a change is told: storage layout, gas table.
fn pinned_line(template: &dyn Template) -> String {
    let descriptor = Descriptor::of(template);
    let short = |bytes: &[u8]| keccak256(bytes).to_string()[..10].to_owned();
    let layout = short(&serde_json::to_vec(&descriptor.storage_layout).unwrap());
    let gas = short(template.gas_table().as_bytes());
    format!("{} {} {} storage {layout} gas {gas}\n", descriptor.name, template.id(), descriptor.digest)
}

/// Returns what differs between two lines of a template.
fn changed_parts(pinned: &str, now: &str) -> String {
    let parts = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let (pinned, now) = (parts(pinned), parts(now));
    let names = [(4, "storage layout"), (6, "gas table")];
    let changed = names.iter().filter(|(place, _)| pinned.get(*place) != now.get(*place)).map(|(_, name)| *name);
    let changed: Vec<_> = changed.collect();
    if changed.is_empty() { "name or ABI".to_owned() } else { changed.join(" and ") }
}

#[test]
fn digests_change_with_versions_alone() {
    let system: [&dyn Template; 6] = [
        &StakingTemplate,
        &ParametersTemplate,
        &PermissionsTemplate,
        &GovernanceTemplate,
        &ModulesTemplate,
        &ValidatorsTemplate,
    ];
    let all = templates::builtin().iter().map(|template| &**template).chain(system);
    let now: Vec<String> = all.map(pinned_line).collect();
    if is_blessing() {
        fs::write(path("tests/golden/identities.txt"), now.concat()).unwrap();
        return;
    }
    let identity = |line: &str| line.split(' ').take(2).collect::<Vec<_>>().join(" ");
    let pinned = read("tests/golden/identities.txt");
    for line in pinned.lines() {
        let Some(same) = now.iter().find(|now| identity(now) == identity(line)) else {
            panic!(
                "{} is gone: no chain with its contracts can be opened. Keep a released version beside the next one; else {BLESS}",
                identity(line)
            );
        };
        assert!(
            same.trim_end() == line,
            "{}: {} changed (now {same:?}, pinned {line:?}). Raise the template's version, so that chains with its contracts are refused \
             and not run differently, and accept with {BLESS}. Only a version that was never released may change.",
            identity(line),
            changed_parts(line, same),
        );
    }
    assert_eq!(pinned, now.concat(), "a template is not pinned: {BLESS}");
}

#[test]
fn added_lines_change_no_gas_table_and_changed_ones_do() {
    let rows = ["a: ok, 7, 0", "b: ok, 9, 0", "a: ok, 7, 0", "c: reverts, 1, 0"];
    assert_eq!(first_lost("a: ok, 7, 0\na: ok, 7, 0\n", &rows), None);
    assert_eq!(first_lost("a: ok, 7, 0\nb: ok, 8, 0\n", &rows), Some("b: ok, 8, 0"));
    assert_eq!(first_lost("c: reverts, 1, 0\na: ok, 7, 0\n", &rows), Some("a: ok, 7, 0"));
    let table = ["a, b: ok, 7, 0, 03d37de5\nstorage: 1d8410ce\n".to_owned()];
    assert_eq!(gas_rows(&table), ["a, b: ok, 7, 0"]);
    let line = |layout: &str, gas: &str| format!("a 1.1 0x00 storage {layout} gas {gas}");
    assert_eq!(changed_parts(&line("1", "2"), &line("1", "3")), "gas table");
    assert_eq!(changed_parts(&line("1", "2"), &line("2", "3")), "storage layout and gas table");
    assert_eq!(changed_parts(&line("1", "2"), &line("1", "2")), "name or ABI");
}
