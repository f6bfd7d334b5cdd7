//! Templates against OpenZeppelin's contracts: compiled Solidity in revm and templates in chainbox get the same transactions and must answer
//! alike. `openzeppelin/README.md` tells what is compared and how a template is added.

mod altered;
mod artifacts;
mod differential;
mod engine;
mod exercise;
mod layout;
mod parties;
mod published;
mod receiver;
mod reference;
mod relay_target;
mod roles;
mod signatures;
mod suite;
mod suites;
mod templates;
mod translated;
mod values;
mod views;
