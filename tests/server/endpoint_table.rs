//! The published tables: what the code says of each endpoint, each row of the specification and each path of the authorization server, and
//! the tests that go through it.
//!
//! The tests' client notes its calls where `CHAINBOX_CALLS` names a folder, and `CHAINBOX_BLESS` writes the column of tests by those notes.
//! Every run checks that each row has a test, that the test exists, and that its file names the operation's path; and that each row of the
//! specification's endpoints has a test against the real binary.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    fs,
    io::Write as _,
    path::Path,
};

use chainbox::server::{endpoint_table, openapi_json};
use serde_json::Value;

use crate::specification_table::{authorization_table, specification_table};

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
        refuse(test, &self.name, self.words())
    }
}

/// The file of a test and its text.
fn source(test: &str) -> Result<(String, String), String> {
    let Some((module, _)) = test.rsplit_once("::") else { return Err(format!("{test}: no name of a test")) };
    let file = format!("{}/tests/server/{}.rs", env!("CARGO_MANIFEST_DIR"), module.replace("::", "/"));
    fs::read_to_string(&file).map(|text| (file.clone(), text)).map_err(|_| format!("{test}: there is no {file}"))
}

/// Returns what is wrong with a test of a row: it is not there, or its file lacks a word.
fn refuse<'a>(test: &str, row: &str, words: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let (file, text) = match source(test) {
        Ok(found) => found,
        Err(wrong) => return Some(wrong),
    };
    let function = test.rsplit("::").next()?;
    if !text.contains(&format!("fn {function}(")) {
        return Some(format!("{test}: {file} has no such test"));
    }
    let missing = words.into_iter().find(|word| !text.contains(*word))?;
    Some(format!("{test} for {row}: {file} does not name {missing}"))
}

/// Returns whether a test is one against the real binary.
fn is_of_the_binary(test: &str) -> bool {
    source(test)
        .is_ok_and(|(_, text)| ["Dev::start", "Serving::start", "Site::start"].iter().any(|start| text.contains(start)))
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
        // One against the real binary is named in any case.
        let binary = named.iter().position(|test| is_of_the_binary(test)).filter(|place| *place >= NAMED_MAX);
        if let Some(place) = binary {
            named.swap(place, NAMED_MAX - 1);
        }
        named.truncate(NAMED_MAX);
    }
    tests
}

/// Reads the column of tests, the last one, of published tables: by the cell of each row that names it.
fn published(tables: &str, key: usize) -> BTreeMap<String, Vec<String>> {
    let rows = tables.lines().filter(|line| line.starts_with("| "));
    let row = |line: &str| {
        let cells = cells(line);
        let tests = cells.last()?.split(',').map(|test| test.trim().trim_matches('`').to_owned());
        Some((cells.get(key)?.clone(), tests.filter(|test| test.contains("::")).collect()))
    };
    rows.filter_map(row).collect()
}

/// The cells of a row.
fn cells(line: &str) -> Vec<String> {
    line.trim().trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect()
}

/// Adds the column of tests to tables of the code.
fn with_tests(tables: &str, key: usize, tests: &BTreeMap<String, Vec<String>>) -> String {
    let lines: Vec<&str> = tables.lines().collect();
    let row = |(number, line): (usize, &&str)| {
        if line.starts_with("|---") {
            return format!("{line}---|\n");
        }
        if !line.starts_with('|') {
            return format!("{line}\n");
        }
        if lines.get(number + 1).is_some_and(|next| next.starts_with("|---")) {
            return format!("{line} tests |\n");
        }
        let named = tests.get(&cells(line)[key]).into_iter().flatten();
        let named: Vec<String> = named.map(|test| format!("`{test}`")).collect();
        format!("{line} {} |\n", named.join(", "))
    };
    lines.iter().enumerate().map(row).collect()
}

/// Tables between two marks of `docs/service-api.md`.
struct Published {
    path: &'static str,
    head: String,
    tables: String,
    tail: String,
}

impl Published {
    fn read(mark: &str) -> Self {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/service-api.md");
        let text = fs::read_to_string(path).unwrap();
        let (start, end) = (format!("<!-- {mark} -->\n"), format!("<!-- /{mark} -->"));
        let (head, rest) = text.split_once(&start).unwrap();
        let (tables, tail) = rest.split_once(&end).unwrap();
        Self { path, head: head.to_owned() + &start, tables: tables.to_owned(), tail: end + tail }
    }

    /// Compares with the tables of the code, or writes these.
    fn is(&self, wanted: &str) {
        let wanted = format!("\n{wanted}\n");
        if std::env::var_os("CHAINBOX_BLESS").is_some() {
            fs::write(self.path, [&self.head, &wanted, &self.tail].map(String::as_str).concat()).unwrap();
        } else {
            assert_eq!(self.tables, wanted, "CHAINBOX_BLESS=1 writes the tables");
        }
    }
}

/// The published tables are those of the code, and each row has a test that is there.
#[test]
fn the_endpoint_table_is_published() {
    let operations = Operation::all();
    let mut wrong = endpoints_are_published(&operations);
    wrong.extend(the_specification_is_published(&operations));
    wrong.extend(the_authorization_server_is_published());
    assert!(wrong.is_empty(), "tests of the tables; their text says how they are made:\n{}", wrong.join("\n"));
}

fn endpoints_are_published(operations: &[Operation]) -> Vec<String> {
    let file = Published::read("endpoints");
    let takes_notes = std::env::var_os("CHAINBOX_BLESS").is_some() && notes_folder().is_some();
    let tests = if takes_notes { noted(operations) } else { published(&file.tables, 1) };
    file.is(&with_tests(&endpoint_table(), 1, &tests));
    let mut wrong = Vec::new();
    for operation in operations {
        match tests.get(&operation.name).filter(|named| !named.is_empty()) {
            None => wrong.push(format!("{} {}: no test goes through it", operation.method, operation.path)),
            Some(named) => wrong.extend(named.iter().filter_map(|test| operation.refuse(test))),
        }
    }
    wrong
}

/// The specification's endpoints, request shapes and errors.
fn the_specification_is_published(operations: &[Operation]) -> Vec<String> {
    let (file, table) = (Published::read("specification"), specification_table());
    let tests = published(&file.tables, 0);
    file.is(&with_tests(&table, 0, &tests));
    let mut wrong = Vec::new();
    for line in table.lines().filter(|line| line.starts_with("| ")) {
        let cells = cells(line);
        let (row, named) = (&cells[0], tests.get(&cells[0]).map(Vec::as_slice).unwrap_or_default());
        if matches!(row.as_str(), "endpoint of the specification" | "request shape" | "error") {
            continue;
        }
        if named.is_empty() {
            wrong.push(format!("{row}: no test goes through it"));
        }
        let operation = operations.iter().find(|operation| operation.name == cells[1]);
        if operation.is_some() && !named.iter().any(|test| is_of_the_binary(test)) {
            wrong.push(format!("{row}: no test goes through it by the real binary"));
        }
        for test in named {
            match operation {
                Some(operation) => wrong.extend(operation.refuse(test)),
                // An error is known by its code, or its status.
                None => wrong.extend(refuse(test, row, [row.as_str()]).and(refuse(test, row, [cells[1].as_str()]))),
            }
        }
    }
    wrong
}

fn the_authorization_server_is_published() -> Vec<String> {
    let (file, table) = (Published::read("authorization"), authorization_table());
    let tests = published(&file.tables, 0);
    file.is(&with_tests(&table, 0, &tests));
    let mut wrong = Vec::new();
    for line in table.lines().filter(|line| line.starts_with("| ")).skip(1) {
        let row = cells(line).swap_remove(0);
        let named = tests.get(&row).map(Vec::as_slice).unwrap_or_default();
        if named.is_empty() {
            wrong.push(format!("{row}: no test goes through it"));
        }
        let path = row.split('`').nth(1).unwrap_or_default();
        let last = path.split('/').rfind(|word| !word.is_empty() && !word.starts_with('{')).unwrap_or_default();
        wrong.extend(named.iter().filter_map(|test| refuse(test, &row, [last])));
    }
    wrong
}
