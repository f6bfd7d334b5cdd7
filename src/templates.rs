//! Ready-made contracts in native Rust, one file or folder each.
//!
//! Each implements a standard Solidity ABI exactly, with Solidity's storage layout, so that a client
//! cannot distinguish it from compiled Solidity.

pub mod common;
pub mod erc1155;
pub mod erc20;
pub mod erc721;

use std::sync::{Arc, LazyLock};

use crate::vm::{Template, TemplateRegistry};

pub use erc1155::{Erc1155, Erc1155Features, Erc1155Params};
pub use erc20::{Erc20, Erc20Features, Erc20Params};
pub use erc721::{Erc721, Erc721Features, Erc721Params};

/// Returns the registry of all ready-made templates; clone it to add others.
pub fn builtin() -> &'static TemplateRegistry {
    static BUILTIN: LazyLock<TemplateRegistry> = LazyLock::new(|| {
        let mut registry = TemplateRegistry::new();
        let templates: Vec<Arc<dyn Template>> = vec![Arc::new(Erc20), Arc::new(Erc721), Arc::new(Erc1155)];
        for template in templates {
            let taken = registry.register_own(template);
            debug_assert!(taken.is_ok(), "ready-made templates have identities of their own");
        }
        registry
    });
    &BUILTIN
}
