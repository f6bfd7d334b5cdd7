//! `chainbox templates`: the contracts that can be deployed, and one of them in full.

mod page;

use std::error::Error;

use chainbox::{server::TemplateView, templates, vm::Template};
use clap::Args;
use serde::Serialize;

use crate::{
    files,
    refused::Refused,
    styles::{FAINT, HEADING},
};

/// Flags of `templates`.
#[derive(Args, Clone, Debug)]
pub(crate) struct TemplatesOptions {
    /// Template to show in full; without one, all are listed
    pub(crate) name: Option<String>,
    /// Print JSON, with ABI and storage layout: of the template, or of all
    #[arg(long)]
    pub(crate) json: bool,
}

/// Prints a template, or lists all.
pub(crate) fn run(options: &TemplatesOptions) -> Result<(), Box<dyn Error>> {
    let text = match (&options.name, options.json) {
        (Some(name), false) => page::text(&TemplateView::of(find(name)?)),
        (Some(name), true) => json(&TemplateView::of(find(name)?))?,
        (None, false) => list(&all()),
        (None, true) => json(&all())?,
    };
    files::report(false, &text);
    Ok(())
}

fn all() -> Vec<TemplateView> {
    templates::builtin().iter().map(|template| TemplateView::of(&**template)).collect()
}

fn find(name: &str) -> Result<&'static dyn Template, Refused> {
    let found = templates::builtin().find(name).map_err(|near| {
        let near = match near.join(", ") {
            near if near.is_empty() => String::new(),
            near => format!(" did you mean {near}?"),
        };
        Refused(format!("no template is called {name:?};{near} `chainbox templates` lists all"))
    });
    found.map(|template| &**template)
}

fn json(value: &impl Serialize) -> Result<String, serde_json::Error> {
    Ok(format!("{}\n", serde_json::to_string_pretty(value)?))
}

/// Returns a line for each template.
fn list(all: &[TemplateView]) -> String {
    let mut text = format!("{HEADING}{:<19} {:>3} {:>8}  what it is{HEADING:#}\n", "template", "id", "version");
    for TemplateView { name, id, version, summary, .. } in all {
        text.push_str(&format!("{name:<19} {id:>3} {version:>8}  {summary}\n"));
    }
    text.push_str(&format!(
        "\n{FAINT}`chainbox templates NAME` shows one in full. A contract is deployed by name over\n\
         the service API, or by the template's bytecode, to which a client appends the\n\
         parameters as for compiled Solidity. EVM bytecode does not run.{FAINT:#}\n"
    ));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_template_has_a_line_that_fits() {
        let text = anstream::adapter::strip_str(&list(&all())).to_string();
        let lines: Vec<_> = text.lines().skip(1).take(all().len()).collect();
        for (template, line) in all().iter().zip(lines) {
            let words: Vec<_> = line.split_whitespace().collect();
            let want = [template.name.clone(), template.id.to_string(), template.version.to_string()];
            assert!(words[..3] == want && words.len() > 4, "{line}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn an_unknown_name_is_told_with_those_that_it_may_stand_for() {
        let words = |name| find(name).unwrap_err().to_string();
        assert_eq!(
            words("erc20-tokn"),
            "no template is called \"erc20-tokn\"; did you mean erc20-token? `chainbox templates` lists all"
        );
        assert!(words("ERC721").contains("did you mean erc721-nft?"));
        assert_eq!(words("zzzz"), "no template is called \"zzzz\"; `chainbox templates` lists all");
    }
}
