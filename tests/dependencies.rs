//! What the crate is built from: no direct dependency twice, no C compiler in the default features, and no package
//! registry named anywhere in the repository.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Direct dependencies that others force a second version of, with the reason. An entry that is no longer needed fails.
const FORCED: &[(&str, &str)] = &[
    ("getrandom", "0.2 comes with rand 0.8 (soketto) and ring, 0.3 with rand 0.9 (jsonrpsee-core, imbl)"),
    ("sha2", "0.10 comes with alloy-eips (KZG commitments' versioned hashes)"),
];

/// Crates that call a C compiler or look for C libraries from a build script.
const C_BUILDERS: [&str; 6] = ["bindgen", "cc", "cmake", "pkg-config", "vcpkg", "autotools"];

#[test]
fn no_direct_dependency_has_two_versions() {
    let tree = tree(&["--edges", "normal", "--all-features"]);
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for package in &tree {
        versions.entry(&package.name).or_default().insert(&package.version);
    }
    assert!(versions.len() > 50, "the tree holds only {} packages", versions.len());

    let direct: BTreeSet<&str> = tree.iter().filter(|package| package.depth == 1).map(|p| p.name.as_str()).collect();
    let doubled: BTreeSet<&str> = direct.iter().copied().filter(|name| versions[name].len() > 1).collect();
    let forced: BTreeSet<&str> = FORCED.iter().map(|(name, _)| *name).collect();
    let listed = |names: Vec<&str>| -> Vec<String> {
        names.into_iter().map(|name| format!("{name}: {:?}", versions.get(name))).collect()
    };
    let unexpected = listed(doubled.difference(&forced).copied().collect());
    assert!(unexpected.is_empty(), "direct dependencies in two versions:\n{}", unexpected.join("\n"));
    let stale = listed(forced.difference(&doubled).copied().collect());
    assert!(stale.is_empty(), "no longer forced, take them off the list:\n{}", stale.join("\n"));
}

#[test]
fn default_features_need_no_c_compiler() {
    let found = c_builds(&tree(&["--edges", "normal,build"]));
    assert!(found.is_empty(), "the default features want a C compiler:\n{}", found.join("\n"));

    let found = c_builds(&tree(&["--edges", "normal,build", "--features", "rocksdb"]));
    assert!(found.iter().any(|line| line.contains("librocksdb-sys")), "the check can't see a C library: {found:?}");
}

/// Packages of `tree` that bind or build a C library, with who asks for them.
fn c_builds(tree: &[Package]) -> Vec<String> {
    let mut found = Vec::new();
    for (index, package) in tree.iter().enumerate() {
        let parent = tree[..index].iter().rev().find(|parent| parent.depth + 1 == package.depth);
        let Some(parent) = parent else { continue };
        // blake3 depends on `cc` always; its feature `pure` is the promise not to call it.
        let promised = parent.name == "blake3" && parent.features.split(',').any(|feature| feature == "pure");
        if package.name.ends_with("-sys") || (C_BUILDERS.contains(&package.name.as_str()) && !promised) {
            found.push(format!("{} {}, for {} {}", package.name, package.version, parent.name, parent.version));
        }
    }
    found
}

/// `scripts/rocksdb` compiles the library that the crate links: bindings of another version would not fit it.
#[test]
fn the_compiled_rocksdb_is_the_one_that_is_bound() {
    let locked = |lock: &str, name: &str| {
        let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(lock)).expect("a lock file");
        let version =
            text.split(&format!("name = \"{name}\"\nversion = \"")).nth(1).and_then(|rest| rest.split('"').next());
        version.unwrap_or_else(|| panic!("{lock} has no {name}")).to_owned()
    };
    for name in ["librocksdb-sys", "lz4-sys"] {
        assert_eq!(locked("scripts/rocksdb/Cargo.lock", name), locked("Cargo.lock", name), "{name}");
    }
}

#[test]
fn the_repository_names_no_package_registry() {
    // Spelled in pieces, so that this file is not its own finding.
    let hosts = [["registry", "npmjs"], ["registry", "yarnpkg"], ["static", "crates"], ["index", "crates"]]
        .map(|pieces| pieces.join("."))
        .into_iter()
        .chain([["pypi", "org"], ["pythonhosted", "org"], ["proxy", "golang"], ["deb", "debian"]].map(|p| p.join(".")))
        .collect::<Vec<String>>();
    let named = |text: &str| hosts.iter().find(|host| text.contains(host.as_str())).cloned();
    assert_eq!(named(&["https://registry", "npmjs", "org/ws"].join(".")).as_deref(), Some(hosts[0].as_str()));

    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    collect_files(root, &mut files);
    assert!(files.iter().any(|file| file.ends_with("tests/clients/package-lock.json")) || !root.join(".git").exists());
    let findings: Vec<String> = files
        .iter()
        .filter_map(|file| Some((file, named(&String::from_utf8_lossy(&fs::read(file).ok()?))?)))
        .map(|(file, host)| format!("{}: {host}", file.display()))
        .collect();
    assert!(findings.is_empty(), "package registries are named in:\n{}", findings.join("\n"));
}

/// Files of the repository, without what builds and installs leave. `Cargo.lock` holds the index by cargo's own format.
fn collect_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("readable folder") {
        let path = entry.expect("entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            if !["target", "node_modules", ".git", ".venv", "__pycache__"].contains(&name.as_str()) {
                collect_files(&path, files);
            }
        } else if name != "Cargo.lock" {
            files.push(path);
        }
    }
}

/// One line of `cargo tree`.
struct Package {
    depth: usize,
    name: String,
    version: String,
    features: String,
}

/// The lines of `cargo tree` for this machine's platform; a package's own dependencies follow its first line.
fn tree(arguments: &[&str]) -> Vec<Package> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--locked", "--prefix", "depth", "--format", "|{p}|{f}"])
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "cargo tree: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    text.lines().filter(|line| line.contains('|')).map(parse).collect()
}

/// Reads `2|name v1.2.3 (proc-macro)|feature,feature (*)`.
fn parse(line: &str) -> Package {
    let mut cells = line.split('|');
    let depth = cells.next().and_then(|cell| cell.parse().ok()).unwrap_or_else(|| panic!("no depth in {line:?}"));
    let mut words = cells.next().unwrap_or_default().split(' ');
    let mut word = || words.next().unwrap_or_default().to_owned();
    let (name, version) = (word(), word());
    let features = cells.next().unwrap_or_default().trim_end_matches(" (*)").to_owned();
    Package { depth, name, version, features }
}
