//! `chainbox templates`: the contracts that can be deployed.

use chainbox::{
    server::{TemplateParameter, TemplateView},
    templates,
};
use clap::Args;

use crate::{
    files,
    styles::{FAINT, HEADING},
};

/// Characters of a default value that is shown.
const DEFAULT_CHARS_MAX: usize = 20;

/// Characters of a signature in a line.
const SIGNATURE_CHARS_MAX: usize = 66;

/// Flags of `templates`.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct TemplatesOptions {
    /// Print JSON, with the ABI of each template
    #[arg(long)]
    pub(crate) json: bool,
}

/// Prints every ready-made template.
pub(crate) fn run(options: TemplatesOptions) -> Result<(), Box<dyn std::error::Error>> {
    let all: Vec<TemplateView> = templates::builtin().iter().map(|template| TemplateView::of(&**template)).collect();
    if options.json {
        files::report(false, &format!("{}\n", serde_json::to_string_pretty(&all)?));
        return Ok(());
    }
    let mut text = String::new();
    for template in &all {
        text.push_str(&describe(template));
    }
    text.push_str(&format!(
        "{FAINT}Deploy one by this bytecode, to which a client appends the parameters of the\n\
         constructor as for compiled Solidity. EVM bytecode does not run. ABIs: --json{FAINT:#}\n"
    ));
    files::report(false, &text);
    Ok(())
}

/// Returns the identity, marker, constructor and functions of a template, in lines.
fn describe(template: &TemplateView) -> String {
    let mut text = format!(
        "{HEADING}{}{HEADING:#}  template {}, version {}\n  digest    {}\n  bytecode  {}\n",
        template.name, template.id, template.version, template.digest, template.bytecode
    );
    for (index, parameter) in template.constructor.iter().flat_map(parameter_lines).enumerate() {
        let label = if index == 0 { "constructor" } else { "" };
        text.push_str(&format!("  {label:<11} {parameter}\n"));
    }
    for (index, signature) in template.functions().iter().flat_map(|signature| wrapped(signature)).enumerate() {
        let label = if index == 0 { "functions" } else { "" };
        text.push_str(&format!("  {label:<11} {signature}\n"));
    }
    text.push('\n');
    text
}

/// Returns a signature in lines that fit, broken after commas.
fn wrapped(signature: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for part in signature.split_inclusive(',') {
        match lines.last_mut() {
            Some(line) if line.len() + part.len() <= SIGNATURE_CHARS_MAX => line.push_str(part),
            _ => lines.push(format!("  {part}")),
        }
    }
    lines
}

/// Returns a parameter's type and name; a struct's members follow, each in a line of its own.
fn parameter_lines(parameter: &TemplateParameter) -> Vec<String> {
    // What follows the members' types: `[]` of an array of structs.
    let ty = match parameter.ty.rsplit_once(')') {
        Some((_, array)) => format!("tuple{array}"),
        None => parameter.ty.clone(),
    };
    let members = parameter.members.iter().flat_map(parameter_lines).map(|line| format!("  {line}"));
    [format!("{ty} {}", name_text(parameter))].into_iter().chain(members).collect()
}

/// Returns the name of a parameter, with its default where that is short; in brackets where a deployment by name may leave it out.
fn name_text(parameter: &TemplateParameter) -> String {
    let name = &parameter.name;
    let default =
        parameter.default.as_ref().map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    match default {
        Some(default) if default.len() <= DEFAULT_CHARS_MAX => format!("[{name} = {default}]"),
        _ if parameter.optional => format!("[{name}]"),
        _ => name.clone(),
    }
}

#[cfg(test)]
mod tests {
    use chainbox::vm::Descriptor;

    use super::*;

    #[test]
    fn every_template_is_described_in_lines_that_fit() {
        for template in templates::builtin().iter() {
            let text = anstream::adapter::strip_str(&describe(&TemplateView::of(&**template))).to_string();
            let widest = text.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(80), "{widest:?}: {text}");
        }
    }

    #[test]
    fn a_template_has_its_bytecode_and_its_parameters() {
        let token = templates::builtin().by_name("erc20-token").unwrap();
        let text = anstream::adapter::strip_str(&describe(&TemplateView::of(&**token))).to_string();
        for part in [
            "erc20-token",
            "0xefcb00010002",
            &format!("digest    {}\n", Descriptor::of(&**token).digest),
            "string name\n",
            "[decimals = 18]",
            "[owner = deployer]",
            "[cap]",
            "tuple [features]\n",
            "  bool [mintable = false]\n",
            "transfer(address,uint256)",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
