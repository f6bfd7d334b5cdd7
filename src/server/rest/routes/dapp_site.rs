//! The page of a dApp: HTML without scripts, made from the record and what its contracts say at the head.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::{
    platform::{
        ComponentState, DappComponent, DappRecord, DappTheme, PlatformError, TransactionState, records::Stored,
    },
    server::rest::App,
};

/// Colours by theme, which `data-theme` names; `auto` goes by the reader's system.
const STYLE: &str = "\
:root{color-scheme:light;--text:#1b1f24;--page:#f6f8fa;--card:#fff;--line:#d0d7de;--dim:#57606a;--mark:#0a6b47}\
:root[data-theme=dark]{color-scheme:dark;--text:#e6edf3;--page:#0d1117;--card:#161b22;--line:#30363d;--dim:#9aa4af;--mark:#5fd0a0}\
@media(prefers-color-scheme:dark){:root[data-theme=auto]{color-scheme:dark;--text:#e6edf3;--page:#0d1117;--card:#161b22;--line:#30363d;--dim:#9aa4af;--mark:#5fd0a0}}\
*{box-sizing:border-box}body{font:16px/1.5 system-ui,sans-serif;max-width:64rem;margin:0 auto;padding:2rem 1rem;color:var(--text);background:var(--page);overflow-wrap:anywhere}\
h1{margin:0;line-height:1.2}header p,footer{color:var(--dim)}\
main{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(20rem,100%),1fr));gap:1rem;align-items:start}\
section{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:1rem}\
h2{margin:0 0 .5rem;font-size:1.1rem}h2 small{display:block;font-weight:400;color:var(--mark)}\
dl{margin:0}dt{color:var(--dim);font-size:.85rem}dd{margin:0 0 .5rem;font-variant-numeric:tabular-nums}\
code{font:13px/1.45 ui-monospace,monospace}footer{margin-top:2rem;font-size:.85rem}";

/// Returns the page of a dApp.
pub(in crate::server::rest) fn page(app: &App, stored: &Stored<DappRecord>) -> Result<String, PlatformError> {
    let dapp = &stored.value;
    let status = app.platform().dapps().deployed(dapp)?.map(|deployed| deployed.state);
    let state = if dapp.components.is_empty() { None } else { app.platform().dapps().state(dapp)? };
    let states = state.as_ref().map(|state| state.components.as_slice()).unwrap_or_default();
    let content = html! {
        (DOCTYPE)
        html lang="en" data-theme=(theme(dapp.frontend.theme)) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (dapp.name) }
                link rel="icon" href="data:,";
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    h1 { (dapp.name) }
                    p { (summary(dapp, status)) }
                }
                main {
                    @for (index, component) in dapp.components.iter().enumerate() { (section(component, states.get(index))) }
                }
                footer {
                    @if let Some(chain) = &dapp.blockchain_id { "Blockchain " code { (chain) } }
                    @if let Some(state) = &state { ", block " (state.height) }
                }
            }
        }
    };
    Ok(content.into_string())
}

const fn theme(theme: DappTheme) -> &'static str {
    match theme {
        DappTheme::Light => "light",
        DappTheme::Dark => "dark",
        DappTheme::Auto => "auto",
    }
}

fn summary(dapp: &DappRecord, status: Option<TransactionState>) -> &'static str {
    match status {
        _ if dapp.components.is_empty() => "This dApp has no components.",
        Some(TransactionState::Success) => "The contracts of this dApp are deployed.",
        Some(TransactionState::Pending) => "The contracts of this dApp are being deployed.",
        Some(TransactionState::Failed) => "The contracts of this dApp could not be deployed.",
        None => "The blockchain of this dApp does not run at present.",
    }
}

fn section(component: &DappComponent, state: Option<&ComponentState>) -> Markup {
    let config: serde_json::Value = serde_json::from_str(&component.config).unwrap_or_default();
    let configured = config["name"].as_str().or(config["symbol"].as_str());
    let (kind, name) = (kind(&component.kind), configured.or(component.name.as_deref()));
    html! {
        section {
            h2 {
                (name.unwrap_or(kind))
                @if name.is_some() { small { (kind) } }
            }
            dl {
                dt { "Address" }
                dd { code { (component.address) } }
                @match state {
                    Some(state) if state.is_deployed => @for figure in &state.figures {
                        dt { (figure.label) }
                        dd { @if figure.value.starts_with("0x") { code { (figure.value) } } @else { (figure.value) } }
                    },
                    Some(_) => { dt { "State" } dd { "not deployed" } },
                    None => { dt { "State" } dd { "can't be read at present" } },
                }
            }
        }
    }
}

/// Returns the words for a kind.
fn kind(name: &str) -> &str {
    match name {
        "token" => "Token",
        "staking" => "Staking",
        "liquidity-pool" => "Liquidity pool",
        "lending" => "Lending",
        "governance" => "Governance",
        "nft-marketplace" => "NFT marketplace",
        "auction" => "Auction",
        "multisig" => "Multisig wallet",
        other => other,
    }
}
