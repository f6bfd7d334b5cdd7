//! The paths that a Rust source names: those of its `use` declarations and those written out in code.

use crate::tokens::tokenize;
use std::collections::BTreeSet;

type Token = (usize, String);

/// One source file: what it defines at its top level, and every path in it.
#[derive(Debug, Default)]
pub(crate) struct Source {
    /// Names of the items and inline modules at the top level.
    pub(crate) items: BTreeSet<String>,
    /// Child modules declared under `#[cfg(test)]`, which have files of their own.
    pub(crate) test_modules: BTreeSet<String>,
    /// Paths in source order, without those in `#[cfg(test)]` items.
    pub(crate) paths: Vec<NamedPath>,
}

/// One path as written.
#[derive(Debug)]
pub(crate) struct NamedPath {
    /// Line of its first segment, from 1.
    pub(crate) line: usize,
    /// Inline modules around it, outermost first.
    pub(crate) inline: Vec<String>,
    /// Its segments, without a closing `*` or `self`.
    pub(crate) segments: Vec<String>,
    pub(crate) kind: PathKind,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PathKind {
    /// Outside a `use` declaration.
    Code,
    /// A `use` declaration that binds this name.
    Use(String),
    /// A `use` declaration that ends in `*`.
    Glob,
}

/// Reads `source`, leaving out items under `#[cfg(test)]`.
pub(crate) fn read(source: &str) -> Source {
    let mut read = Source::default();
    let tokens = without_test_items(tokenize(source), &mut read.test_modules);
    let text = |index: usize| tokens.get(index).map_or("", |(_, token)| token.as_str());
    // What each open brace belongs to: an inline module's name, or nothing of interest.
    let mut braces: Vec<Option<String>> = Vec::new();
    let mut index = 0;
    while index < tokens.len() {
        let inline: Vec<String> = braces.iter().flatten().cloned().collect();
        match text(index) {
            "mod" if text(index + 2) == "{" => {
                read.items.insert(text(index + 1).to_owned());
                braces.push(Some(text(index + 1).to_owned()));
                index += 3;
            }
            "{" => {
                braces.push(None);
                index += 1;
            }
            "}" => {
                braces.pop();
                index += 1;
            }
            "use" if text(index + 1) != "<" => {
                let in_function = braces.iter().any(Option::is_none);
                let mut found = Vec::new();
                index = use_tree(&tokens, index + 1, &[], &mut found);
                for (line, segments, kind) in found {
                    // A name bound inside a function is not a name of the module.
                    let kind = if in_function { PathKind::Code } else { kind };
                    read.paths.push(NamedPath { line, inline: inline.clone(), segments, kind });
                }
            }
            "fn" | "struct" | "enum" | "trait" | "type" | "const" | "static" | "union" if braces.is_empty() => {
                read.items.insert(text(index + 1).to_owned());
                index += 1;
            }
            "macro_rules" => {
                read.items.insert(text(index + 2).to_owned());
                index += 3;
            }
            token if is_word(token) => {
                let start = index;
                let mut segments = vec![token.to_owned()];
                while text(index + 1) == "::" && is_word(text(index + 2)) {
                    segments.push(text(index + 2).to_owned());
                    index += 2;
                }
                index += 1;
                let before = if start == 0 { "" } else { text(start - 1) };
                let visibility = before == "in" && start > 1 && text(start - 2) == "(";
                if segments.len() > 1 && !["::", "."].contains(&before) && !visibility {
                    read.paths.push(NamedPath { line: tokens[start].0, inline, segments, kind: PathKind::Code });
                }
            }
            _ => index += 1,
        }
    }
    read
}

fn is_word(token: &str) -> bool {
    token.starts_with(|first: char| first == '_' || first.is_alphanumeric())
}

/// Adds the paths of the use tree at `index`, each starting with `prefix`; returns the index after the tree.
fn use_tree(
    tokens: &[Token],
    mut index: usize,
    prefix: &[String],
    found: &mut Vec<(usize, Vec<String>, PathKind)>,
) -> usize {
    let text = |index: usize| tokens.get(index).map_or("", |(_, token)| token.as_str());
    let mut segments = prefix.to_vec();
    let line = tokens.get(index).map_or(0, |(line, _)| *line);
    loop {
        match text(index) {
            "::" => index += 1,
            "{" => {
                index += 1;
                while !["}", ""].contains(&text(index)) {
                    index = use_tree(tokens, index, &segments, found);
                    if text(index) == "," {
                        index += 1;
                    }
                }
                return index + 1;
            }
            "*" => {
                found.push((line, segments, PathKind::Glob));
                return index + 1;
            }
            "self" if !segments.is_empty() => index += 1,
            "as" => {
                found.push((line, segments, PathKind::Use(text(index + 1).to_owned())));
                return index + 2;
            }
            token if is_word(token) => {
                segments.push(token.to_owned());
                index += 1;
            }
            _ => {
                let name = segments.last().cloned().unwrap_or_default();
                found.push((line, segments, PathKind::Use(name)));
                return index;
            }
        }
    }
}

/// `tokens` without the items that stand under `#[cfg(test)]`; names of child modules among these go to `modules`.
fn without_test_items(tokens: Vec<Token>, modules: &mut BTreeSet<String>) -> Vec<Token> {
    let mut kept = Vec::with_capacity(tokens.len());
    let mut index = 0;
    while index < tokens.len() {
        if !starts_with(&tokens[index..], &["[", "cfg", "(", "test", ")", "]"]) {
            kept.push(tokens[index].clone());
            index += 1;
            continue;
        }
        index += 6;
        let end = item_end(&tokens, index);
        let item = &tokens[index..end];
        if let Some(at) = item.iter().position(|(_, token)| token == "mod")
            && item.get(at + 2).is_some_and(|(_, token)| token == ";")
        {
            modules.insert(item[at + 1].1.clone());
        }
        index = end;
    }
    kept
}

fn starts_with(tokens: &[Token], words: &[&str]) -> bool {
    tokens.len() >= words.len() && tokens.iter().zip(words).all(|((_, token), word)| token == word)
}

/// The index after the item, field, variant or statement that starts at `start`.
fn item_end(tokens: &[Token], start: usize) -> usize {
    let mut at = start;
    // Further attributes belong to it.
    while tokens.get(at).is_some_and(|(_, token)| token == "[") {
        at = group_end(tokens, at);
    }
    let is_item = tokens[at..].iter().take(6).any(|(_, token)| ITEM_KEYWORDS.contains(&token.as_str()));
    while let Some((_, token)) = tokens.get(at) {
        match token.as_str() {
            "{" => return group_end(tokens, at),
            "(" | "[" => at = group_end(tokens, at),
            ";" => return at + 1,
            "," if !is_item => return at + 1,
            // The end of the surrounding block: a last field or variant without a comma.
            "}" | ")" | "]" => return at,
            _ => at += 1,
        }
    }
    at
}

const ITEM_KEYWORDS: [&str; 11] =
    ["fn", "mod", "use", "struct", "enum", "impl", "const", "static", "type", "trait", "macro_rules"];

/// The index after the bracket that closes the one at `open`.
fn group_end(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0_usize;
    for (index, (_, token)) in tokens.iter().enumerate().skip(open) {
        match token.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => {
                depth -= 1;
                if depth == 0 {
                    return index + 1;
                }
            }
            _ => {}
        }
    }
    tokens.len()
}
