//! A lock that one thread may hold beyond a call, and that tells this thread instead of letting it wait for itself.

use std::{
    sync::{Mutex, MutexGuard, PoisonError, TryLockError},
    thread::{self, ThreadId},
};

/// A value behind its lock, which the handles of a node share, or those of all nodes of a shared network.
#[derive(Debug)]
pub(super) struct HeldLock<T> {
    value: Mutex<T>,
    /// The thread that holds the lock beyond one call.
    holder: Mutex<Option<ThreadId>>,
}

impl<T> HeldLock<T> {
    pub(super) const fn new(value: T) -> Self {
        Self { value: Mutex::new(value), holder: Mutex::new(None) }
    }

    /// Locks the value for one call.
    ///
    /// # Panics
    /// When this thread holds the lock by [`HeldLock::hold`].
    pub(super) fn lock(&self) -> MutexGuard<'_, T> {
        let holder = *self.holder.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(
            holder != Some(thread::current().id()),
            "this thread has locked the network: drop what SharedNetwork::lock returned, then use a node of the network"
        );
        self.value.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the value for one call, unless somebody has locked it.
    pub(super) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.value.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Locks the value until the guard is dropped, right after [`HeldLock::let_go`].
    ///
    /// # Panics
    /// As [`HeldLock::lock`].
    pub(super) fn hold(&self) -> MutexGuard<'_, T> {
        let guard = self.lock();
        self.set_holder(Some(thread::current().id()));
        guard
    }

    /// Ends [`HeldLock::hold`].
    pub(super) fn let_go(&self) {
        self.set_holder(None);
    }

    fn set_holder(&self, holder: Option<ThreadId>) {
        *self.holder.lock().unwrap_or_else(PoisonError::into_inner) = holder;
    }
}
