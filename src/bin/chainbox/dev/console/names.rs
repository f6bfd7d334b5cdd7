//! Short forms of addresses and hashes, and names for the addresses that the console knows.

use std::collections::BTreeMap;

use chainbox::{
    node::{BlockRef, Node, NodeView},
    primitives::Address,
    vm::{Marker, TemplateRegistry},
};

/// Addresses with a name; those past it have their short form.
const NAMES_MAX: usize = 100_000;
/// Hexadecimal digits of an address.
const ADDRESS_DIGITS: usize = 40;
/// Hexadecimal digits from which a value is shortened.
const LONG_DIGITS: usize = 20;

/// Names: `(0)` for the node's first account, `erc20-token#1` for the first contract of this template that was seen.
#[derive(Debug)]
pub(super) struct Names {
    by_address: BTreeMap<Address, String>,
    /// Number of named contracts, by template.
    counts: BTreeMap<String, usize>,
    templates: TemplateRegistry,
}

impl Names {
    /// Names the accounts of a node.
    pub(super) fn new(node: &Node) -> Self {
        let accounts = node.accounts().iter().enumerate().map(|(index, address)| (*address, format!("({index})")));
        Self { by_address: accounts.collect(), counts: BTreeMap::new(), templates: node.templates().clone() }
    }

    /// The chain's templates.
    pub(super) const fn templates(&self) -> &TemplateRegistry {
        &self.templates
    }

    /// Returns the name of an address, or its short form.
    pub(super) fn of(&mut self, view: &NodeView, address: Address) -> String {
        match self.by_address.get(&address) {
            Some(name) => name.clone(),
            None => self.contract(view, address).unwrap_or_else(|| short(&address.to_checksum(None))),
        }
    }

    /// Names a contract that has just been created, also where the address had another one before a revert.
    pub(super) fn created(&mut self, view: &NodeView, address: Address) -> String {
        self.contract(view, address).unwrap_or_else(|| short(&address.to_checksum(None)))
    }

    fn contract(&mut self, view: &NodeView, address: Address) -> Option<String> {
        let code = view.code(address, BlockRef::Latest).ok()?;
        let (Marker(id), _) = Marker::split(&code)?;
        let template = self.templates.get(id)?.name().to_owned();
        if self.by_address.len() >= NAMES_MAX {
            return None;
        }
        let count = self.counts.entry(template.clone()).or_default();
        *count += 1;
        let name = format!("{template}#{count}");
        self.by_address.insert(address, name.clone());
        Some(name)
    }

    /// Returns a text with names or short forms in place of addresses, and short forms of other long hexadecimal values.
    pub(super) fn shorten(&mut self, view: &NodeView, text: &str) -> String {
        let mut shortened = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.find("0x") {
            let (before, value) = rest.split_at(start);
            let digits = value[2..].bytes().take_while(u8::is_ascii_hexdigit).count();
            let (value, after) = value.split_at(2 + digits);
            shortened.push_str(before);
            match value.parse::<Address>() {
                Ok(address) if digits == ADDRESS_DIGITS => shortened.push_str(&self.of(view, address)),
                _ if digits >= LONG_DIGITS => shortened.push_str(&short(value)),
                _ => shortened.push_str(value),
            }
            rest = after;
        }
        shortened.push_str(rest);
        shortened
    }
}

/// Returns the first and the last four digits of a hexadecimal value, such as `0xa438…9866`.
pub(super) fn short(value: &str) -> String {
    match (value.get(..6), value.get(value.len().saturating_sub(4)..)) {
        (Some(start), Some(end)) => format!("{start}…{end}"),
        _ => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use chainbox::{primitives::U256, templates::Erc20Params};

    use super::*;

    #[test]
    fn accounts_and_contracts_have_names_and_other_values_are_short() {
        let node = Node::new();
        let owner = node.accounts()[0];
        let token = node.deploy(owner, Erc20Params::new("Gold", "GLD", U256::from(1), owner).init_code()).unwrap();
        let view = node.view();
        let mut names = Names::new(&node);
        let (stranger, hash) = (Address::repeat_byte(0x11), format!("0x{}", "ab".repeat(32)));
        let text = format!("{owner}, {}, {stranger}, {hash}, 0x1234, 0x", token.address());
        assert_eq!(names.shorten(&view, &text), "(0), erc20-token#1, 0x1111…1111, 0xabab…abab, 0x1234, 0x");
        assert_eq!(names.of(&view, token.address()), "erc20-token#1", "a name stays");
        assert_eq!(names.created(&view, token.address()), "erc20-token#2", "another contract after a revert");
    }
}
