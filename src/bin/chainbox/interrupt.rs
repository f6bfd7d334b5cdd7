//! Ctrl-C in commands without a server: the first one asks for an orderly end, the second one ends the process.

use std::{
    process,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

/// Whether Ctrl-C was pressed.
#[derive(Clone, Debug)]
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Watches for Ctrl-C from now on. Where the system has no signals, none is ever seen.
pub(crate) fn watch() -> Interrupt {
    let interrupt = Interrupt(Arc::default());
    let seen = interrupt.clone();
    thread::spawn(move || {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
        if runtime.block_on(tokio::signal::ctrl_c()).is_ok() {
            seen.0.store(true, Ordering::Relaxed);
            if runtime.block_on(tokio::signal::ctrl_c()).is_ok() {
                process::exit(i32::from(crate::INTERRUPTED));
            }
        }
    });
    interrupt
}
