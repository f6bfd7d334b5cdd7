//! The published table of endpoints: what the code says of each, and the tests that go through it.
//!
//! The tests' client notes its calls where `CHAINBOX_CALLS` names a folder, and `CHAINBOX_BLESS` writes the column of tests by those notes.
//! Every run checks that each operation has a test, that the test exists, and that its file names the operation's path.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    fs,
    io::Write as _,
    path::Path,
};

use chainbox::server::{endpoint_table, openapi_json};
use serde_json::Value;

/// Tests that the table names of one operation: those that succeed in the fewest other ones.
const NAMED_MAX: usize = 3;
/// Tests that walk all endpoints by their list. They say nothing of a single one.
const WALKERS: &str = "endpoints::";

/// Notes a call by the running test, where notes are taken.
pub(crate) fn note_call(method: &str, path: &str, status: u16) {
    let Some(folder) = notes_folder().filter(|_| (200..300).contains(&status)) else { return };
    let Some(test) = running_test() else { return };
    fs::create_dir_all(&folder).unwrap();
    let file = Path::new(&folder).join(std::process::id().to_string());
    let mut file = fs::OpenOptions::new().create(true).append(true).open(file).unwrap();
    file.write_all(format!("{method} {path} {test}\n").as_bytes()).unwrap();
}

fn notes_folder() -> Option<OsString> {
    std::env::var_os("CHAINBOX_CALLS")
}

/// Name of the running test: nextest tells it; otherwise the test's thread has it.
fn running_test() -> Option<String> {
    let of_thread = || std::thread::current().name().map(str::to_owned);
    std::env::var("NEXTEST_TEST_NAME").ok().or_else(of_thread).filter(|name| name.contains("::"))
}

/// An operation of the document.
struct Operation {
    name: String,
    method: String,
    path: String,
}

impl Operation {
    fn all() -> Vec<Self> {
        let document: Value = serde_json::from_str(&openapi_json()).unwrap();
        let mut all = Vec::new();
        for (path, methods) in document["paths"].as_object().unwrap() {
            for (method, value) in methods.as_object().unwrap() {
                let name = value["operationId"].as_str().unwrap().to_owned();
                all.push(Self { name, method: method.to_uppercase(), path: path.clone() });
            }
        }
        all
    }

    /// The segments of its path that are no parameters.
    fn words(&self) -> impl Iterator<Item = &str> {
        self.path.split('/').filter(|segment| !segment.is_empty() && !segment.starts_with('{'))
    }

    fn is_of(&self, method: &str, path: &str) -> bool {
        let path = path.split('?').next().unwrap_or_default();
        let (mine, theirs) = (self.path.split('/'), path.split('/'));
        self.method == method
            && mine.clone().count() == theirs.clone().count()
            && mine.zip(theirs).all(|(mine, theirs)| mine == theirs || mine.starts_with('{'))
    }

    /// Returns what is wrong with a test that the table names for it.
    fn refuse(&self, test: &str) -> Option<String> {
        let Some((module, function)) = test.split_once("::") else { return Some(format!("{test}: no name of a test")) };
        let file = format!("{}/tests/server/{module}.rs", env!("CARGO_MANIFEST_DIR"));
        let Ok(source) = fs::read_to_string(&file) else { return Some(format!("{test}: there is no {file}")) };
        if !source.contains(&format!("fn {function}(")) {
            return Some(format!("{test}: {file} has no such test"));
        }
        let missing = self.words().find(|word| !source.contains(*word))?;
        Some(format!("{test} for {}: {file} does not name /{missing}", self.name))
    }
}

/// Returns the tests of each operation by the notes.
fn noted(operations: &[Operation]) -> BTreeMap<String, Vec<String>> {
    let mut calls: BTreeSet<(String, String)> = BTreeSet::new();
    let folder = notes_folder().expect("it was asked for");
    for file in fs::read_dir(&folder).unwrap_or_else(|cause| panic!("{}: {cause}", folder.display())) {
        for line in fs::read_to_string(file.unwrap().path()).unwrap().lines() {
            let [method, path, test] = line.splitn(3, ' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
            // `import` is no id: of two paths that fit, the one with more words.
            let fitting = operations.iter().filter(|operation| operation.is_of(method, path));
            let Some(operation) = fitting.max_by_key(|operation| operation.words().count()) else { continue };
            if !test.starts_with(WALKERS) && operation.refuse(test).is_none() {
                calls.insert((test.to_owned(), operation.name.clone()));
            }
        }
    }
    let breadth = |test: &str| calls.iter().filter(|(caller, _)| caller == test).count();
    let mut tests: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (test, operation) in &calls {
        tests.entry(operation.clone()).or_default().push(test.clone());
    }
    for named in tests.values_mut() {
        named.sort_by_key(|test| (breadth(test), test.clone()));
        named.truncate(NAMED_MAX);
    }
    tests
}

/// Reads the column of tests of a published table.
fn published(table: &str) -> BTreeMap<String, Vec<String>> {
    let rows = table.lines().filter(|line| line.starts_with("| ")).skip(1);
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(" |").collect();
        let tests = cells.get(4)?.split(',').map(|test| test.trim().trim_matches('`').to_owned());
        Some((cells[1].trim_start_matches('|').trim().to_owned(), tests.filter(|test| !test.is_empty()).collect()))
    };
    rows.filter_map(row).collect()
}

/// Adds the column of tests to the table of the code.
fn with_tests(tests: &BTreeMap<String, Vec<String>>) -> String {
    let table = endpoint_table();
    let row = |(number, line): (usize, &str)| match number {
        0 => format!("{line} tests |\n"),
        1 => format!("{line}---|\n"),
        _ => {
            let operation = line.split('|').nth(2).unwrap().trim();
            let named: Vec<String> =
                tests.get(operation).into_iter().flatten().map(|test| format!("`{test}`")).collect();
            format!("{line} {} |\n", named.join(", "))
        }
    };
    table.lines().enumerate().map(row).collect()
}

/// The published table is that of the code, and each operation has a test that is there.
#[test]
fn the_endpoint_table_is_published() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/service-api.md");
    let text = fs::read_to_string(path).unwrap();
    let (start, end) = ("<!-- endpoints -->\n", "<!-- /endpoints -->");
    let (head, rest) = text.split_once(start).unwrap();
    let (table, tail) = rest.split_once(end).unwrap();
    let operations = Operation::all();
    let is_blessed = std::env::var_os("CHAINBOX_BLESS").is_some();
    let tests = if is_blessed && notes_folder().is_some() { noted(&operations) } else { published(table) };
    let wanted = format!("\n{}\n", with_tests(&tests));
    if is_blessed {
        fs::write(path, [head, start, &wanted, end, tail].concat()).unwrap();
    } else {
        assert_eq!(table, wanted, "CHAINBOX_BLESS=1 writes the table");
    }
    let mut wrong = Vec::new();
    for operation in &operations {
        let named = tests.get(&operation.name).filter(|named| !named.is_empty());
        match named {
            None => wrong.push(format!("{} {}: no test goes through it", operation.method, operation.path)),
            Some(named) => wrong.extend(named.iter().filter_map(|test| operation.refuse(test))),
        }
    }
    assert!(wrong.is_empty(), "tests of the table; its text says how it is made:\n{}", wrong.join("\n"));
}
