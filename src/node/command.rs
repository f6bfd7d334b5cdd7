//! Commands: whole or nothing.
//!
//! A command is one change of the node, such as a transaction with the block that it is mined in, a block, or an intervention.
//! The network is cloned before it, in constant time; when the command fails or panics, the clone is put back and nobody was
//! told of anything. A call that makes many blocks is a row of such commands.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use super::{
    EngineError, NodeView,
    view::Settings,
    writer::{NodeInner, Writer, blocks_missing_from},
};
use crate::sim::NetworkCheckpoint;

/// The part of a writer that commands change.
struct Before {
    network: NetworkCheckpoint,
    settings: Settings,
    holds: usize,
}

impl Writer {
    /// Runs a command, then publishes its events. After an error or a panic everything is as before.
    ///
    /// # Errors
    /// The command's; [`EngineError::Panicked`] for a panic in it; [`EngineError`] when the store refuses to go back to what was
    /// before an earlier failure.
    pub(super) fn command<R, E: From<EngineError>>(
        &mut self,
        inner: &NodeInner,
        command: impl FnOnce(&mut Self) -> Result<R, E>,
    ) -> Result<R, E> {
        self.reconcile()?;
        let before = Before { network: self.network.checkpoint(), settings: self.settings.clone(), holds: self.holds };
        let view = inner.view.load_full();
        let failure = match catch_unwind(AssertUnwindSafe(|| command(self))) {
            Ok(Ok(result)) => {
                self.events.drain(..).for_each(|event| inner.subscribers.send(&event));
                return Ok(result);
            }
            Ok(Err(error)) => error,
            Err(panic) => {
                inner.count_panic();
                EngineError::Panicked { message: panic_message(&*panic) }.into()
            }
        };
        self.events.clear();
        self.put_back(before);
        self.publish_undone(inner, &view);
        Err(failure)
    }

    /// Puts the readers' view back to `before`. Who follows heads may have seen blocks of the failed command, and finds the way back by
    /// a head switch.
    fn publish_undone(&mut self, inner: &NodeInner, before: &NodeView) {
        let published = inner.view.load_full();
        if published.head().hash() != before.head().hash() {
            match blocks_missing_from(published.chain(), before.chain()) {
                Ok(removed) => self.switches.record(&removed),
                Err(_) => self.switches.record_gap(),
            }
        }
        inner.view.store(Arc::new(before.with_switches(self.switches.clone())));
    }

    fn put_back(&mut self, before: Before) {
        let Before { network, settings, holds } = before;
        let failed = self.network.roll_back(network);
        (self.settings, self.holds) = (settings, holds);
        // What the failed command has written must leave the store before the next one writes there.
        self.stray = self.network.is_durable().then_some(failed);
    }

    /// Takes the store back to this writer's head after a failed command.
    fn reconcile(&mut self) -> Result<(), EngineError> {
        let Some(stray) = &mut self.stray else { return Ok(()) };
        let restored = catch_unwind(AssertUnwindSafe(|| stray.restore(&self.network)));
        match restored {
            Ok(Ok(())) => {
                self.stray = None;
                Ok(())
            }
            Ok(Err(error)) => Err(EngineError::from_network(error)),
            Err(panic) => Err(EngineError::Panicked { message: panic_message(&*panic) }),
        }
    }
}

fn panic_message(panic: &(dyn core::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic without a message".to_owned())
}
