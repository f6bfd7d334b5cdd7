//! `chainbox`: the command line.

mod amounts;
mod args;
mod banner;
mod campaign;
mod config_out;
mod console;
mod database;
mod dev;
mod files;
mod genesis_file;
mod held_chain;
mod interrupt;
mod progress;
mod refused;
mod replay;
mod sim;
mod sim_args;
mod sim_report;
mod start;
mod state_files;
mod table;
mod templates;

use std::{error::Error, process::ExitCode};

use clap::Parser;

/// mimalloc is faster than the system's allocator for many small allocations on many threads.
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
        args::Command::Dev(options) => dev::run(&options).map(|()| true),
        args::Command::Templates(options) => templates::run(options).map(|()| true),
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
    anstream::eprintln!("{}error:{} {failure}", banner::ERROR, banner::ERROR.render_reset());
}
