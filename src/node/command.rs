//! Commands: whole or nothing.
//!
//! A command is one change of the node, such as a transaction with the block that it is mined in, a block, or an intervention.
//! The network is cloned before it, in constant time; when the command fails or panics, the clone is put back and nobody was
//! told of anything. A call that makes many blocks is a row of such commands. A change of the settings alone, such as time travel,
//! works on a copy of these.

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::Arc,
};

use super::{
    EngineError, NodeView,
    real_time::pacing::panic_message,
    view::Settings,
    writer::{NodeInner, Writer, blocks_missing_from},
};
use crate::sim::NetworkCheckpoint;

/// The part of a writer that commands change.
struct Before {
    network: NetworkCheckpoint,
    settings: Settings,
}

impl Writer {
    /// Runs a command, then publishes its events. After an error or a panic everything is as before.
    ///
    /// # Errors
    /// The command's; [`EngineError::Panicked`] for a panic in it; [`EngineError::SharedNetwork`] on a node of a shared network;
    /// [`EngineError`] when the store refuses to go back to what was before an earlier failure.
    pub(super) fn command<R, E: From<EngineError>>(
        &mut self,
        inner: &NodeInner,
        command: impl FnOnce(&mut Self) -> Result<R, E>,
    ) -> Result<R, E> {
        inner.check_own_network()?;
        self.shared_command(inner, command)
    }

    /// As [`Writer::command`], of a command that the nodes of a shared network have, too. In real time it happens at the present.
    pub(super) fn shared_command<R, E: From<EngineError>>(
        &mut self,
        inner: &NodeInner,
        command: impl FnOnce(&mut Self) -> Result<R, E>,
    ) -> Result<R, E> {
        self.check_halted()?;
        self.advance_to_present()?;
        let result = self.command_now(inner, command);
        self.wake_host();
        result
    }

    fn check_halted(&self) -> Result<(), EngineError> {
        match &self.halted {
            Some(reason) => Err(EngineError::Halted { reason: reason.to_string() }),
            None => Ok(()),
        }
    }

    fn command_now<R, E: From<EngineError>>(
        &mut self,
        inner: &NodeInner,
        command: impl FnOnce(&mut Self) -> Result<R, E>,
    ) -> Result<R, E> {
        self.reconcile(inner)?;
        let before = Before { network: self.network.checkpoint(), settings: self.settings.clone() };
        let view = inner.view.load_full();
        match caught(inner, || command(self)) {
            Ok(result) => {
                self.keep_ancestor(&before);
                self.events.drain(..).for_each(|event| inner.subscribers.send(&event));
                Ok(result)
            }
            Err(failure) => {
                self.events.clear();
                self.put_back(before);
                self.publish_undone(inner, &view);
                // Where the store still refuses, it is taken back before the next command.
                let _ = self.reconcile(inner);
                Err(failure)
            }
        }
    }

    /// Runs a change of the settings alone, then publishes them. It works on a copy, clones no network and writes nothing, so that it
    /// also runs while the store fails. After an error or a panic everything is as before.
    ///
    /// # Errors
    /// The change's; [`EngineError::Panicked`] for a panic in it.
    pub(super) fn change_settings<R, E: From<EngineError>>(
        &mut self,
        inner: &NodeInner,
        change: impl FnOnce(&mut Settings) -> Result<R, E>,
    ) -> Result<R, E> {
        let mut settings = self.settings.clone();
        let result = caught(inner, || change(&mut settings))?;
        self.settings = settings;
        self.publish_settings(inner);
        Ok(result)
    }

    /// As [`Writer::change_settings`], of a change that does not fail. A panic in it is undone and counted, and goes on.
    pub(super) fn set<R>(&mut self, inner: &NodeInner, change: impl FnOnce(&mut Settings) -> R) -> R {
        let changed = self.change_settings(inner, |settings| Ok::<_, EngineError>(change(settings)));
        changed.unwrap_or_else(|error| resume_unwind(Box::new(error.to_string())))
    }

    /// Puts the readers' view back to `before`. Who follows heads may have seen blocks of the failed command, and finds the way back by
    /// a head switch.
    fn publish_undone(&mut self, inner: &NodeInner, before: &NodeView) {
        let published = inner.view.load_full();
        if published.head().hash() != before.head().hash() {
            match blocks_missing_from(published.chain(), before.chain()) {
                Ok(removed) => self.switches.record_to(before.chain(), &removed),
                Err(_) => self.switches.record_gap(),
            }
        }
        let switches = if inner.shared.is_some() { before.switches() } else { &self.switches };
        inner.view.store(Arc::new(before.with_switches(switches.clone())));
    }

    /// Keeps the earlier head where the command made one block upon it, for a reorg.
    fn keep_ancestor(&mut self, before: &Before) {
        let earlier = before.network.network();
        if self.chain().head().parent_hash() == earlier.primary().head().hash {
            self.ancestors.push(earlier.earlier_head());
        }
    }

    fn put_back(&mut self, before: Before) {
        let Before { network, settings } = before;
        let failed = self.network.roll_back(network);
        self.settings = settings;
        // What the failed command has written must leave the store, before the next one writes there at the latest.
        self.stray = self.network.is_durable().then_some(failed);
    }

    /// Takes the store back to this writer's head after a failed command.
    fn reconcile(&mut self, inner: &NodeInner) -> Result<(), EngineError> {
        let Some(stray) = &mut self.stray else { return Ok(()) };
        caught(inner, || stray.restore(&self.network).map_err(EngineError::from_network))?;
        self.stray = None;
        Ok(())
    }
}

/// Runs what may panic; a panic is counted and becomes an error.
fn caught<R, E: From<EngineError>>(inner: &NodeInner, run: impl FnOnce() -> Result<R, E>) -> Result<R, E> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        inner.count_panic();
        Err(EngineError::Panicked { message: panic_message(&*panic) }.into())
    })
}
