//! `chainbox`: the command line.

mod args;
mod banner;
mod campaign;
mod config_out;
mod console;
mod dev;
mod files;
mod progress;
mod replay;
mod sim;
mod sim_args;
mod table;

use std::process::ExitCode;

use clap::Parser;

/// Many small allocations of many threads: mimalloc serves them faster than the system's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Exit status of a run that does not show what it must, or that breaks something; 1 is for a command that could not be done.
const NOT_SHOWN: u8 = 3;

fn main() -> ExitCode {
    let args = args::Cli::parse();
    let result = match args.command {
        args::Command::Dev(options) => dev::run(&options).map(|()| true),
        args::Command::Sim(options) => sim::run(&options),
        args::Command::Replay(options) => replay::run(&options),
        args::Command::Campaign(options) => campaign::run(&options),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        // It has told what is wrong.
        Ok(false) => ExitCode::from(NOT_SHOWN),
        Err(failure) => {
            anstream::eprintln!("{}error:{} {failure}", banner::ERROR, banner::ERROR.render_reset());
            ExitCode::FAILURE
        }
    }
}
