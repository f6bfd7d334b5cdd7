//! `evm_*`, `anvil_*`, `hardhat_*`: control of a development chain.

mod cheats;
mod mining;
mod reorg;
mod time;

use super::Methods;

pub(super) fn register(methods: &mut Methods) {
    cheats::register(methods);
    mining::register(methods);
    reorg::register(methods);
    time::register(methods);
}
