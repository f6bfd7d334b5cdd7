//! Which file of `src/` may import which: a floor imports only the floors below it (the table in `ARCHITECTURE.md`),
//! and imports between files have no cycle (`architecture/cycles.rs`).
//!
//! For the floors, every path that starts at the crate root counts, in a `use`, in a type, in code and in `cfg(test)`
//! modules alike: a test that needs a higher floor belongs in `tests/`. Comments, doc examples and strings don't count.

#[path = "architecture/cycles.rs"]
mod cycles;
#[path = "architecture/paths.rs"]
mod paths;
#[path = "architecture/tokens.rs"]
mod tokens;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};
use tokens::tokenize;

/// Modules at the crate root that only re-export the floors. No floor may import them.
const ABOVE_ALL: [&str; 2] = ["prelude", "testing"];

#[test]
fn floors_import_only_floors_below() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let floors = read_floors(&fs::read_to_string(root.join("ARCHITECTURE.md")).expect("ARCHITECTURE.md"));
    let mut files = Vec::new();
    collect_rust_files(&root.join("src"), &mut files);
    assert!(files.len() > 10, "found only {} files under src/", files.len());

    let mut violations = Vec::new();
    for file in files {
        let module = module_path(file.strip_prefix(root.join("src")).expect("below src/"));
        // The crate root re-exports every floor, and the binary is the top floor, outside the library.
        if module.is_empty() || module[0] == "bin" {
            continue;
        }
        let source = fs::read_to_string(&file).expect("readable source");
        violations.extend(check(&floors, &module, &source).into_iter().map(|v| format!("{}: {v}", file.display())));
    }
    assert!(violations.is_empty(), "imports against the floors:\n{}", violations.join("\n"));
}

#[test]
fn a_planted_import_is_caught() {
    let floors = read_floors(TABLE);
    for (name, module, source, want) in [
        ("plain", "state", "use crate::vm::Host;", 1),
        ("grouped", "state", "use crate::{store::KeyValue, vm::{self, Host}};", 1),
        ("grouped, all low", "vm", "use crate::{store::KeyValue, state::{self, Journal}};", 0),
        ("nested group", "store", "pub use crate::{primitives::{Address, B256}, state::*};", 1),
        ("inline path", "store", "fn f() -> crate::vm::Gas { crate::primitives::gas() }", 1),
        ("supers", "state/trie/node", "use super::super::super::vm::Host;", 1),
        ("supers inside", "state/trie/node", "use super::super::journal::Journal; use super::Branch;", 0),
        ("grouped super", "state", "use super::{primitives::Address, vm};", 1),
        ("inline module", "state", "mod tests { use super::super::vm::Host; }", 1),
        ("inline module's parent", "state", "mod tests { use super::*; } use super::store::Batch;", 0),
        ("test module", "state", "#[cfg(test)] mod tests { use super::*; use crate::vm::Host; }", 1),
        ("raw identifier and spaces", "state", "use crate :: r#vm :: Host;", 1),
        ("macro", "state", "macro_rules! m { () => { $crate::vm::run() } }", 1),
        ("comment", "state", "// use crate::vm::Host;\n/* crate::vm /* nested */ crate::vm */ fn f() {}", 0),
        ("string", "state", "const S: &str = \"crate::vm \\\" crate::vm\"; const R: &str = r#\"crate::vm\"#;", 0),
        ("character and lifetime", "state", "fn f<'a>(c: char) -> bool { c == '\"' } use crate::vm::Host;", 1),
        ("visibility", "state", "pub(crate) fn f() {} pub(in crate::state) fn g() {}", 0),
        ("through the prelude", "vm", "use crate::prelude::*;", 1),
        ("through the root", "vm", "use crate::Host;", 1),
        ("everything", "vm", "use crate::*;", 1),
        ("module without a floor", "attic", "use crate::primitives::Address;", 1),
    ] {
        let module: Vec<String> = module.split('/').map(str::to_owned).collect();
        let found = check(&floors, &module, source);
        assert_eq!(found.len(), want, "{name}: {found:?}");
    }
}

const TABLE: &str = "
| floor | folder | what it holds |
|---|---|---|
| 1 | `primitives/` | addresses |
| 2 | `store/` | key-value |
| 3 | `state/` | tries |
| 4 | `vm/` | gas |
";

/// Folder to floor number, from the table's rows `| number | `folder/` | ... |`.
fn read_floors(architecture: &str) -> BTreeMap<String, u32> {
    let mut floors = BTreeMap::new();
    for line in architecture.lines() {
        let cells: Vec<&str> = line.trim().trim_matches('|').split('|').map(str::trim).collect();
        let Some(number) = cells.first().and_then(|cell| cell.parse().ok()) else { continue };
        let Some(folder) = cells.get(1) else { continue };
        floors.insert(folder.trim_matches('`').trim_end_matches('/').to_owned(), number);
    }
    assert!(floors.contains_key("primitives") && floors.contains_key("vm"), "no table of floors in ARCHITECTURE.md");
    for name in ABOVE_ALL {
        floors.insert(name.to_owned(), u32::MAX);
    }
    floors
}

fn collect_rust_files(folder: &Path, files: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).expect("readable folder").map(|entry| entry.expect("entry").path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            collect_rust_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// `state/trie/node.rs` is `["state", "trie", "node"]`; `lib.rs` is the empty path.
fn module_path(file: &Path) -> Vec<String> {
    let mut path: Vec<String> =
        file.with_extension("").components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
    if path.last().is_some_and(|last| last == "mod" || (path.len() == 1 && last == "lib")) {
        path.pop();
    }
    path
}

/// What `source`, the file of `module`, imports from its own floor's level or above without being allowed to.
fn check(floors: &BTreeMap<String, u32>, module: &[String], source: &str) -> Vec<String> {
    let home = &module[0];
    let Some(&own) = floors.get(home) else {
        return vec![format!("`{home}` has no floor: give it a row in ARCHITECTURE.md")];
    };
    let mut violations = Vec::new();
    for (line, name) in root_imports(module, source) {
        match floors.get(&name) {
            _ if &name == home => {}
            Some(&floor) if floor < own => {}
            Some(_) => violations.push(format!("line {line}: `{home}` imports `{name}`, a floor that is not below it")),
            None => {
                violations.push(format!("line {line}: `crate::{name}` is not a floor: import from the floor itself"))
            }
        }
    }
    violations
}

/// The first segment of every path in `source` that starts at the crate root, with its line.
fn root_imports(module: &[String], source: &str) -> Vec<(usize, String)> {
    let tokens = tokenize(source);
    let text = |index: usize| tokens.get(index).map_or("", |(_, token)| token.as_str());
    let mut found = Vec::new();
    // Depth of braces at which each inline module was opened.
    let (mut depth, mut inline) = (0_usize, Vec::new());
    let mut index = 0;
    while index < tokens.len() {
        match text(index) {
            "mod" if text(index + 2) == "{" => {
                depth += 1;
                inline.push(depth);
                index += 3;
            }
            "{" => {
                depth += 1;
                index += 1;
            }
            "}" => {
                if inline.last() == Some(&depth) {
                    inline.pop();
                }
                depth = depth.saturating_sub(1);
                index += 1;
            }
            "crate" | "super" if index == 0 || text(index - 1) != "::" => {
                let mut level = if text(index) == "crate" { 0 } else { module.len() + inline.len() - 1 };
                index += 1;
                while text(index) == "::" && text(index + 1) == "super" {
                    level = level.saturating_sub(1);
                    index += 2;
                }
                if text(index) == "::" && level == 0 {
                    index = first_segments(&tokens, index + 1, &mut found);
                }
            }
            _ => index += 1,
        }
    }
    found
}

/// Adds the segment at `index`, or the first segment of each entry of the group that starts there; returns the
/// index after what it read.
fn first_segments(tokens: &[(usize, String)], mut index: usize, found: &mut Vec<(usize, String)>) -> usize {
    let Some((line, token)) = tokens.get(index) else { return index };
    if token != "{" {
        found.push((*line, token.clone()));
        return index + 1;
    }
    let mut depth = 0_usize;
    let mut at_start = false;
    while let Some((line, token)) = tokens.get(index) {
        index += 1;
        match token.as_str() {
            "{" => {
                depth += 1;
                at_start = depth == 1;
            }
            "}" if depth == 1 => return index,
            "}" => depth -= 1,
            "," => at_start = depth == 1,
            "self" if at_start => at_start = false,
            name if at_start => {
                found.push((*line, name.to_owned()));
                at_start = false;
            }
            _ => {}
        }
    }
    index
}
