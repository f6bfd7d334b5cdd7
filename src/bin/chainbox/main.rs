//! `chainbox`: the command line.

mod args;
mod campaign;
#[cfg(feature = "server")]
mod client;
#[cfg(feature = "server")]
mod database;
#[cfg(feature = "server")]
mod db;
#[cfg(feature = "server")]
mod dev;
mod files;
mod interrupt;
#[cfg(feature = "server")]
mod log;
#[cfg(feature = "server")]
mod master_key;
mod progress;
mod refused;
mod replay;
#[cfg(feature = "server")]
mod serve;
#[cfg(feature = "server")]
mod server_args;
mod sim;
mod sim_args;
mod sim_report;
#[cfg(feature = "server")]
mod stop;
mod styles;
mod table;
#[cfg(feature = "server")]
mod templates;
mod wrap;

use std::{error::Error, process::ExitCode};

use clap::Parser;

/// Why a command is missing.
#[cfg(not(feature = "server"))]
const NO_NODE: &str =
    "this chainbox has the simulator only; the node is built with: cargo install chainbox --features server";

/// mimalloc is faster than the system's allocator for many small allocations on many threads.
#[cfg(feature = "server")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Exit status of a run without the expected outcome, or with a violated invariant. Status 1 is for a command that failed.
const UNEXPECTED_OUTCOME: u8 = 3;
/// Exit status of a command that Ctrl-C stopped: 128 and the signal's number, as shells have it.
const INTERRUPTED: u8 = 130;
/// Exit status of an invalid command line.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    let args = args::Cli::parse();
    let result = match args.command {
        #[cfg(feature = "server")]
        args::Command::Dev(options) => dev::run(&options).map(|()| true),
        #[cfg(feature = "server")]
        args::Command::Serve(options) => serve::run(&options).map(|()| true),
        #[cfg(feature = "server")]
        args::Command::Db(options) => db::run(&options),
        #[cfg(feature = "server")]
        args::Command::Templates(options) => templates::run(&options).map(|()| true),
        #[cfg(feature = "server")]
        args::Command::Keys(options) => client::keys(&options).map(|()| true),
        #[cfg(feature = "server")]
        args::Command::Chains(options) => client::chains(&options).map(|()| true),
        #[cfg(not(feature = "server"))]
        args::Command::Chains(_)
        | args::Command::Keys(_)
        | args::Command::Db(_)
        | args::Command::Dev(_)
        | args::Command::Serve(_)
        | args::Command::Templates(_) => Err(Box::from(refused::Refused(NO_NODE.to_owned()))),
        args::Command::Sim(options) => return sim::run(&options),
        args::Command::Replay(options) => replay::run(&options),
        args::Command::Campaign(options) => campaign::run(&options),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        // The command has printed the difference.
        Ok(false) => ExitCode::from(UNEXPECTED_OUTCOME),
        Err(failure) => {
            print_error(failure.as_ref());
            if failure.is::<refused::Refused>() { ExitCode::from(USAGE) } else { ExitCode::FAILURE }
        }
    }
}

/// Prints the error of a command.
fn print_error(failure: &dyn Error) {
    anstream::eprintln!("{}error:{} {failure}", styles::ERROR, styles::ERROR.render_reset());
}
