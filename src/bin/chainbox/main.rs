//! `chainbox`: the command line.

mod args;
mod banner;
mod config_out;
mod console;
mod dev;
mod files;

use std::process::ExitCode;

use clap::Parser;

/// Many small allocations of many threads: mimalloc serves them faster than the system's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let args = args::Cli::parse();
    let result = match args.command {
        args::Command::Dev(options) => dev::run(&options),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            anstream::eprintln!("{}error:{} {failure}", banner::ERROR, banner::ERROR.render_reset());
            ExitCode::FAILURE
        }
    }
}
