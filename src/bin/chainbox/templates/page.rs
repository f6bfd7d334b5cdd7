//! One template in full.

use std::iter;

use chainbox::{
    primitives::U256,
    server::{TemplateParameter, TemplateView},
    vm::storage::{StorageLayout, StorageVariable},
};

use crate::{styles::HEADING, wrap};

/// Columns of a line.
const COLUMNS: usize = 80;

/// Slots from one variable to the next between which they have the same root.
const ROOT_SLOTS_MAX: U256 = U256::from_limbs([1_000, 0, 0, 0]);

/// Returns identity, parameters, functions, events, errors and storage of a template, in lines that fit.
pub(super) fn text(template: &TemplateView) -> String {
    let TemplateView { name, id, version, digest, bytecode, summary, constructor, abi, storage_layout, .. } = template;
    let mut text = format!(
        "{HEADING}{name}{HEADING:#}  {summary}\n  id        {id}\n  version   {version}\n  digest    {digest}\n  bytecode  {bytecode}\n"
    );
    let functions = abi.functions().map(|function| stripped(&function.full_signature(), "function "));
    let receives = abi.receive.iter().map(|_| "receive() payable".to_owned());
    let events = abi.events().map(|event| stripped(&event.full_signature(), "event "));
    let errors = abi.errors().map(|error| {
        let inputs: Vec<_> = error.inputs.iter().map(|input| format!("{} {}", input.ty, input.name)).collect();
        format!("{}({})", error.name, inputs.join(", "))
    });
    let parameters = constructor.iter().flat_map(parameter_lines);
    section(&mut text, "Parameters of the constructor (those in brackets may be left out)", parameters);
    section(&mut text, "Functions", functions.chain(receives));
    section(&mut text, "Events", events);
    section(&mut text, "Errors", errors);
    section(&mut text, "Storage (slot, byte in it, variable)", storage_lines(storage_layout).into_iter());
    wrap::wrapped(&text, Some(COLUMNS))
}

/// Adds a heading and its lines, if there are any.
fn section(text: &mut String, heading: &str, lines: impl Iterator<Item = String>) {
    let mut lines = lines.peekable();
    if lines.peek().is_some() {
        text.push_str(&format!("\n{HEADING}{heading}{HEADING:#}\n"));
    }
    lines.for_each(|line| text.push_str(&format!("  {line}\n")));
}

fn stripped(signature: &str, keyword: &str) -> String {
    signature.strip_prefix(keyword).unwrap_or(signature).to_owned()
}

/// Returns a parameter's type and name, and what it is for; a struct's members follow.
fn parameter_lines(parameter: &TemplateParameter) -> Vec<String> {
    // What follows the members' types: `[]` of an array of structs.
    let ty = match parameter.ty.rsplit_once(')') {
        Some((_, array)) => format!("tuple{array}"),
        None => parameter.ty.clone(),
    };
    let unit = parameter.unit.as_ref().map(|unit| format!("In {unit}."));
    let notes: Vec<_> = iter::once(parameter.description.clone()).chain(unit).filter(|note| !note.is_empty()).collect();
    let about = (!notes.is_empty()).then(|| format!("    {}", notes.join(" ")));
    let members = parameter.members.iter().flat_map(parameter_lines).map(|line| format!("  {line}"));
    iter::once(format!("{ty} {}", name_text(parameter))).chain(about).chain(members).collect()
}

/// Returns the name of a parameter with its default, in brackets where a deployment by name may leave it out.
fn name_text(parameter: &TemplateParameter) -> String {
    let name = &parameter.name;
    let text = |value: &serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match parameter.default.as_ref().map(text) {
        Some(default) if default.is_empty() => format!("[{name} = \"\"]"),
        Some(default) if default == U256::MAX.to_string() => format!("[{name} = 2^256 - 1]"),
        Some(default) => format!("[{name} = {default}]"),
        None if parameter.optional => format!("[{name}]"),
        None => name.clone(),
    }
}

/// Returns the variables in order, each root's after the slot of its first, and the members of structs.
fn storage_lines(layout: &StorageLayout) -> Vec<String> {
    let (mut root, mut lines) = (U256::ZERO, Vec::new());
    for variable in &layout.storage {
        let slot: U256 = variable.slot.parse().unwrap_or_default();
        if slot < root || slot - root > ROOT_SLOTS_MAX {
            root = slot;
            lines.push(format!("at slot {slot:#066x}:"));
        }
        lines.push(variable_line(layout, variable, &(slot - root).to_string()));
    }
    for ty in layout.types.values() {
        let Some(members) = &ty.members else { continue };
        lines.push(ty.label.clone());
        lines.extend(members.iter().map(|member| format!("  {}", variable_line(layout, member, &member.slot))));
    }
    lines
}

fn variable_line(layout: &StorageLayout, variable: &StorageVariable, slot: &str) -> String {
    let ty = layout.types.get(&variable.ty).map_or(&variable.ty, |ty| &ty.label);
    format!("{slot:>3} {:>2}  {ty} {}", variable.offset, variable.label)
}

#[cfg(test)]
mod tests {
    use chainbox::{templates, vm::Descriptor};

    use super::*;

    fn page(name: &str) -> String {
        let template = templates::builtin().by_name(name).unwrap();
        anstream::adapter::strip_str(&text(&TemplateView::of(&**template))).to_string()
    }

    #[test]
    fn every_template_is_described_in_lines_that_fit() {
        for template in templates::builtin().iter() {
            let text = page(template.name());
            let widest = text.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(COLUMNS), "{widest:?}: {text}");
            for name in
                template.abi().functions.keys().chain(template.abi().events.keys()).chain(template.abi().errors.keys())
            {
                assert!(text.contains(&format!("  {name}(")), "{name}: {text}");
            }
        }
    }

    #[test]
    fn a_template_has_its_identity_parameters_signatures_and_storage() {
        let token = templates::builtin().by_name("erc20-token").unwrap();
        let text = page("erc20-token");
        for part in [
            "erc20-token  ERC-20 token",
            "  id        1\n  version   2\n",
            "0xefcb00010002",
            &format!("digest    {}\n", Descriptor::of(&**token).digest),
            "  string name\n      Name of the token, at most 31 bytes.\n",
            "[decimals = 18]",
            "[owner = deployer]",
            "[cap = 2^256 - 1]",
            "tuple [features]\n",
            "  bool [mintable = false]\n",
            "  transfer(address to, uint256 value) returns (bool)\n",
            "  Transfer(address indexed from, address indexed to, uint256 value)\n",
            "  ERC20ExceededCap(uint256 increasedSupply, uint256 cap)\n",
            "    0  0  mapping(address => uint256) _balances\n",
            "    1  0  mapping(address => mapping(address => uint256)) _allowances\n",
            "  at slot 0x",
            "  struct RoleData\n",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(
            page("erc1155-multi").contains("[royaltyFee = 0]\n      Royalty of every sale; 0 for none. In per cent.\n")
        );
    }
}
