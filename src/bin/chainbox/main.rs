//! `chainbox`: the command line.

mod args;
mod banner;
mod campaign;
mod config_out;
mod console;
mod database;
mod dev;
mod files;
mod progress;
mod replay;
mod sim;
mod sim_args;
mod sim_report;
mod table;

use std::{error::Error, process::ExitCode};

use clap::Parser;

/// Many small allocations of many threads: mimalloc serves them faster than the system's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Exit status of a run that does not show what it must, or that breaks something; 1 is for a command that could not be done.
const NOT_SHOWN: u8 = 3;
/// Exit status of what can't be asked for, as for flags that can't be read.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    let args = args::Cli::parse();
    let result = match args.command {
        args::Command::Dev(options) => dev::run(&options).map(|()| true),
        args::Command::Sim(options) => return sim::run(&options),
        args::Command::Replay(options) => replay::run(&options),
        args::Command::Campaign(options) => campaign::run(&options),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        // It has told what is wrong.
        Ok(false) => ExitCode::from(NOT_SHOWN),
        Err(failure) => {
            tell(failure.as_ref());
            ExitCode::FAILURE
        }
    }
}

/// Says what could not be done.
fn tell(failure: &dyn Error) {
    anstream::eprintln!("{}error:{} {failure}", banner::ERROR, banner::ERROR.render_reset());
}
