//! Imports between files have no cycle.
//!
//! A re-exported name counts as an import of the file that defines it: a cycle through a facade (`use
//! super::Scheduler` where `sim.rs` has `pub use scheduler::Scheduler`) is a cycle of the defining files. Imports
//! between a module and its own descendants don't count: a parent re-exports its children, and they use its types.
//! Tests don't count either: items under `#[cfg(test)]`, and the files of modules declared under it.

use crate::{
    module_path,
    paths::{self, NamedPath, PathKind, Source},
};
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    fs,
    path::{Path, PathBuf},
};

/// Module path below the crate root: `["state", "trie", "node"]`.
type Module = Vec<String>;

/// Longest chain of re-exports that is followed.
const REEXPORTS_MAX: usize = 16;

#[test]
fn imports_between_files_have_no_cycle() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    crate::collect_rust_files(&src, &mut files);
    let sources = files
        .iter()
        .map(|file| {
            let below = file.strip_prefix(&src).expect("below src/");
            (below.to_path_buf(), fs::read_to_string(file).expect("readable source"))
        })
        .collect::<Vec<_>>();
    let crate_files = Crate::read(&sources);
    let imports = crate_files.imports();
    assert!(imports.len() > 100, "found only {} imports between files", imports.len());
    let found = cycles(&imports);
    let list: Vec<String> = found.iter().map(|cycle| crate_files.describe(cycle, &imports)).collect();
    assert!(list.is_empty(), "{} cycles of imports between files:\n{}", list.len(), list.join(""));
}

#[test]
fn a_planted_cycle_is_caught() {
    for (name, sources, want) in [
        ("none", vec![("a.rs", "use crate::b::B;"), ("b.rs", "pub struct B;")], vec![]),
        ("plain", vec![("a.rs", "use crate::b::B;"), ("b.rs", "use crate::a::A;")], vec!["a b"]),
        ("grouped", vec![("a.rs", "use crate::{b::{self, B}};"), ("b.rs", "use super::a::{A};")], vec!["a b"]),
        ("in code", vec![("a.rs", "fn f() -> crate::b::B {}"), ("b.rs", "fn f() { super::a::f() }")], vec!["a b"]),
        ("in a macro", vec![("a.rs", "fn f() { vec![crate::b::g()] }"), ("b.rs", "use crate::a::f;")], vec!["a b"]),
        (
            "three",
            vec![("a.rs", "use crate::b::B;"), ("b.rs", "use crate::c::C;"), ("c.rs", "use crate::a::A;")],
            vec!["a b c"],
        ),
        (
            "two cycles",
            vec![
                ("a.rs", "use crate::b::B;"),
                ("b.rs", "use crate::{a::A, c::C};"),
                ("c.rs", "use crate::d::D;"),
                ("d.rs", "use crate::c::C;"),
            ],
            vec!["a b", "c d"],
        ),
        ("parent and child", vec![("a.rs", "mod b; pub use b::B; pub struct A;"), ("a/b.rs", "use super::A;")], vec![]),
        (
            "through the facade",
            vec![
                ("a.rs", "mod b; mod c; pub use {b::B, c::C};"),
                ("a/b.rs", "use super::C; pub struct B;"),
                ("a/c.rs", "use super::{B}; pub struct C;"),
            ],
            vec!["a/b a/c"],
        ),
        (
            "through a private import of the facade",
            vec![
                ("a.rs", "mod b; mod c; use b::B as Renamed; use self::c::*;"),
                ("a/b.rs", "use super::C; pub struct B;"),
                ("a/c.rs", "use super::Renamed; pub struct C;"),
            ],
            vec!["a/b a/c"],
        ),
        (
            "through two facades",
            vec![
                ("lib.rs", "mod a; mod d; pub use a::B;"),
                ("a.rs", "mod b; pub use b::B;"),
                ("a/b.rs", "use crate::d; pub struct B { d: d::D }"),
                ("d.rs", "use crate::B;"),
            ],
            vec!["a/b d"],
        ),
        (
            "by an imported module",
            vec![
                ("a.rs", "mod b; mod c; pub use b::B;"),
                ("a/b.rs", "use super::c; fn f() { c::g() } pub struct B;"),
                ("a/c.rs", "use crate::a; fn g() -> a::B {}"),
            ],
            vec!["a/b a/c"],
        ),
        (
            "a module's name",
            vec![
                ("a.rs", "mod b; pub use b::B;"),
                ("a/b.rs", "use crate::c::C; pub struct B;"),
                ("c.rs", "use crate::a; fn f() -> a::B {} pub struct C;"),
            ],
            vec!["a/b c"],
        ),
        (
            "a module and a function of one name",
            vec![
                ("a.rs", "mod b; mod c; pub use b::b;"),
                ("a/b.rs", "use super::c::C; pub fn b() {}"),
                ("a/c.rs", "use super::b; pub struct C;"),
            ],
            vec!["a/b a/c"],
        ),
        (
            "siblings, one way",
            vec![
                ("a.rs", "mod b; mod c; pub use {b::B, c::C}; pub struct A;"),
                ("a/b.rs", "use super::{A, C}; pub struct B;"),
                ("a/c.rs", "use super::*; pub struct C;"),
            ],
            vec![],
        ),
        (
            "an inline module",
            vec![("a.rs", "mod inner { use super::super::b::B; }"), ("b.rs", "use crate::a::inner::X;")],
            vec!["a b"],
        ),
        (
            "tests only",
            vec![
                ("a.rs", "use crate::b::B; #[cfg(test)] mod tests; #[cfg(test)] fn f() {}"),
                ("a/tests.rs", "use crate::b::B;"),
                ("b.rs", "#[cfg(test)] #[allow(x)] use crate::a::f; #[cfg(test)] mod tests { use crate::a::f; }"),
            ],
            vec![],
        ),
        (
            "after a test item",
            vec![
                ("a.rs", "struct S { #[cfg(test)] x: u8, y: crate::b::B } use crate::b::B;"),
                ("b.rs", "#[cfg(test)] const X: [u8; 2] = [1, 2]; use crate::a::A;"),
            ],
            vec!["a b"],
        ),
        (
            "visibility, comments and other crates",
            vec![
                ("a.rs", "use crate::b::B; pub(in crate::b) fn f() {}"),
                ("b.rs", "pub(in crate::a) fn f() {} // crate::a::f\nuse std::a::X; use alloy::a;"),
            ],
            vec![],
        ),
        (
            "the binary",
            vec![
                ("bin/x/main.rs", "mod a; mod b;"),
                ("bin/x/a.rs", "use crate::b::B;"),
                ("bin/x/b.rs", "use super::a::A; use chainbox::c::C;"),
            ],
            vec!["bin/x/a bin/x/b"],
        ),
    ] {
        let sources: Vec<(PathBuf, String)> =
            sources.into_iter().map(|(path, text)| (PathBuf::from(path), text.to_owned())).collect();
        let found: Vec<String> = cycles(&Crate::read(&sources).imports())
            .iter()
            .map(|cycle| cycle.iter().map(|module| module.join("/")).collect::<Vec<_>>().join(" "))
            .collect();
        assert_eq!(found, want, "{name}");
    }
}

/// Sources of the library and the binary, by module.
struct Crate {
    files: BTreeMap<Module, (PathBuf, Source)>,
}

/// Imports from one file of another: the paths, by importing and by defining module.
type Imports<'a> = BTreeMap<(Module, Module), Vec<&'a NamedPath>>;

impl Crate {
    fn read(sources: &[(PathBuf, String)]) -> Self {
        let mut files: BTreeMap<Module, (PathBuf, Source)> = sources
            .iter()
            .map(|(path, text)| {
                let mut module = module_path(path);
                if module.first().is_some_and(|first| first == "bin")
                    && module.last().is_some_and(|last| last == "main")
                {
                    module.pop();
                }
                (module, (path.clone(), paths::read(text)))
            })
            .collect();
        let tests: BTreeSet<Module> = files
            .iter()
            .flat_map(|(module, (_, source))| source.test_modules.iter().map(|name| child(module, name)))
            .collect();
        files.retain(|module, _| !(1..=module.len()).any(|length| tests.contains(&module[..length])));
        Self { files }
    }

    /// Returns the imports of one file by another that is neither its ancestor nor its descendant.
    fn imports(&self) -> Imports<'_> {
        let mut imports = Imports::new();
        for (module, (_, source)) in &self.files {
            for path in &source.paths {
                let Some(target) =
                    self.absolute(module, path).and_then(|path| self.defining_file(&path, REEXPORTS_MAX))
                else {
                    continue;
                };
                if !self.is_module(module, path) && !target.starts_with(module) && !module.starts_with(&target) {
                    imports.entry((module.clone(), target)).or_default().push(path);
                }
            }
        }
        imports
    }

    /// Returns whether `path` imports only a module's name; the paths that start with this name count in its place.
    fn is_module(&self, module: &Module, path: &NamedPath) -> bool {
        let Some(absolute) = self.absolute(module, path).filter(|_| path.kind != PathKind::Code) else { return false };
        let Some((name, parent)) = absolute.split_last() else { return true };
        let binds = |source: &Source| {
            source.items.contains(name) || source.paths.iter().any(|path| path.kind == PathKind::Use(name.clone()))
        };
        path.kind != PathKind::Glob
            && self.files.contains_key(&absolute)
            && !self.files.get(parent).is_some_and(|(_, source)| binds(source))
    }

    /// Returns the path from the crate root of `path` as written in the file of `module`; `None` in another crate.
    fn absolute(&self, module: &Module, path: &NamedPath) -> Option<Module> {
        let mut base: Module = [module.as_slice(), &path.inline].concat();
        let mut segments = path.segments.as_slice();
        match segments.first()?.as_str() {
            "crate" => {
                base = crate_root(module);
                segments = &segments[1..];
            }
            "self" => segments = &segments[1..],
            "super" => {}
            first => {
                let (_, source) = self.files.get(module)?;
                let is_child = self.files.contains_key(&child(module, first));
                let binds = |bound: &NamedPath| {
                    bound.kind == PathKind::Use(first.to_owned())
                        && ["crate", "self", "super"].contains(&bound.segments[0].as_str())
                };
                if !is_child && !source.paths.iter().any(binds) {
                    return None;
                }
                base = module.clone();
            }
        }
        while segments.first().is_some_and(|segment| segment == "super") {
            base.pop();
            segments = &segments[1..];
        }
        Some([base.as_slice(), segments].concat())
    }

    /// Returns the file that defines the item at `path`, behind at most `reexports` re-exports.
    fn defining_file(&self, path: &[String], reexports: usize) -> Option<Module> {
        let root = crate_root(path);
        let mut at = root.clone();
        for (index, name) in path.iter().enumerate().skip(root.len()) {
            let next = child(&at, name);
            if self.files.contains_key(&next) {
                at = next;
                continue;
            }
            let rest = &path[index + 1..];
            return Some(self.reexport(&at, name, rest, reexports).unwrap_or(at));
        }
        Some(at)
    }

    /// Returns the file that defines `name::rest`, where `module` imports `name` from elsewhere.
    fn reexport(&self, module: &Module, name: &str, rest: &[String], reexports: usize) -> Option<Module> {
        let (_, source) = self.files.get(module)?;
        let left = reexports.checked_sub(1)?;
        let imported = source.paths.iter().filter(|path| path.inline.is_empty());
        for path in imported.clone() {
            if path.kind == PathKind::Use(name.to_owned()) {
                let target = [self.absolute(module, path)?.as_slice(), rest].concat();
                return self.defining_file(&target, left);
            }
        }
        if source.items.contains(name) {
            return None;
        }
        imported.filter(|path| path.kind == PathKind::Glob).find_map(|path| {
            let offering = self.defining_file(&self.absolute(module, path)?, left)?;
            let (_, offered) = self.files.get(&offering)?;
            if offered.items.contains(name) {
                return Some(offering);
            }
            self.reexport(&offering, name, rest, left)
        })
    }

    /// Returns the files of a cycle, and the lines by which each imports the next.
    fn describe(&self, cycle: &[Module], imports: &Imports<'_>) -> String {
        let file = |module: &Module| self.files[module].0.display().to_string();
        let mut text = cycle.iter().chain(cycle.first()).map(file).collect::<Vec<_>>().join(" -> ");
        text.push('\n');
        for (from, to) in cycle.iter().zip(cycle.iter().cycle().skip(1)) {
            let paths = &imports[&(from.clone(), to.clone())];
            // Where there are `use` declarations, they suffice.
            let declared = paths.iter().any(|path| path.kind != PathKind::Code);
            for path in paths.iter().filter(|path| !declared || path.kind != PathKind::Code) {
                let keyword = if path.kind == PathKind::Code { "" } else { "use " };
                let glob = if path.kind == PathKind::Glob { "::*" } else { "" };
                let written = format!("{keyword}{}{glob}", path.segments.join("::"));
                text += &format!("    {}:{}: {written}, in {}\n", file(from), path.line, file(to));
            }
        }
        text
    }
}

/// Returns the root of the crate of `module`: the library's, or a binary's `main.rs`.
fn crate_root(module: &[String]) -> Module {
    let length = if module.first().is_some_and(|first| first == "bin") { 2 } else { 0 };
    module[..length.min(module.len())].to_vec()
}

fn child(module: &[String], name: &str) -> Module {
    let mut child = module.to_vec();
    child.push(name.to_owned());
    child
}

/// Returns import cycles, shortest first. After each, its import with the fewest paths is ignored, until no cycle is left;
/// cycles that share an import may thus be listed as one.
fn cycles(imports: &Imports<'_>) -> Vec<Vec<Module>> {
    let mut targets: BTreeMap<&Module, BTreeMap<&Module, usize>> = BTreeMap::new();
    for ((from, to), paths) in imports {
        targets.entry(from).or_default().insert(to, paths.len());
    }
    let mut found = Vec::new();
    let mut starts: Vec<&Module> = targets.keys().copied().collect();
    loop {
        // A file that is in no cycle now is in none later.
        starts.retain(|start| shortest_cycle(start, &targets).is_some());
        let shortest = starts.iter().filter_map(|start| shortest_cycle(start, &targets));
        let Some(cycle) = shortest.min_by_key(Vec::len) else { return found };
        let pairs = cycle.iter().zip(cycle.iter().cycle().skip(1));
        let (from, to) = pairs.min_by_key(|(from, to)| targets[**from][**to]).expect("a cycle has imports");
        targets.get_mut(*from).expect("an importing file").remove(*to);
        found.push(cycle.into_iter().cloned().collect());
    }
}

/// Returns the shortest cycle through `start`, in the order of imports.
fn shortest_cycle<'a>(
    start: &'a Module,
    targets: &BTreeMap<&'a Module, BTreeMap<&'a Module, usize>>,
) -> Option<Vec<&'a Module>> {
    let mut reached_from: BTreeMap<&Module, &Module> = BTreeMap::new();
    let mut open = VecDeque::from([start]);
    while let Some(module) = open.pop_front() {
        for target in targets.get(module).into_iter().flat_map(BTreeMap::keys) {
            if *target == start {
                let mut cycle = vec![module];
                while let Some(before) = reached_from.get(cycle[cycle.len() - 1]) {
                    cycle.push(before);
                }
                cycle.reverse();
                return Some(cycle);
            }
            if !reached_from.contains_key(target) {
                reached_from.insert(target, module);
                open.push_back(target);
            }
        }
    }
    None
}
