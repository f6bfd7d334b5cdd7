//! `evm_*`, `anvil_*`, `hardhat_*`: control of a development chain.

mod cheats;
mod mining;
mod time;

use super::Methods;

pub(super) fn register(methods: &mut Methods) {
    cheats::register(methods);
    mining::register(methods);
    time::register(methods);
}
