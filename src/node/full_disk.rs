//! A full disk as the cause of an operation that failed.

use super::{EngineError, InterventionError, LoadError, MineError, ReorgError, SendError};
use crate::store::StoreError;

/// The disk of a node's store has too little room to write. What was acknowledged is kept, reads go on, and writes do by themselves
/// once there is room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FullDisk {
    /// Free bytes of the file system.
    pub free_bytes: u64,
    /// Free bytes below which writes are refused.
    pub free_bytes_min: u64,
}

impl FullDisk {
    const fn of_store(error: &StoreError) -> Option<Self> {
        match error {
            StoreError::Full { free, watermark } => Some(Self { free_bytes: *free, free_bytes_min: *watermark }),
            _ => None,
        }
    }
}

impl EngineError {
    /// Returns the full disk that caused it.
    pub const fn full_disk(&self) -> Option<FullDisk> {
        match self {
            Self::Store(error) => FullDisk::of_store(error),
            Self::Chain(error) => match error.store_error() {
                Some(error) => FullDisk::of_store(error),
                None => None,
            },
            _ => None,
        }
    }
}

impl MineError {
    /// Returns the full disk that caused it.
    pub fn full_disk(&self) -> Option<FullDisk> {
        match self {
            Self::Engine(cause) => cause.full_disk(),
            Self::Partial { cause, .. } => cause.full_disk(),
            _ => None,
        }
    }
}

impl SendError {
    /// Returns the full disk that caused it.
    pub fn full_disk(&self) -> Option<FullDisk> {
        if let Self::Mine(cause) = self { cause.full_disk() } else { None }
    }
}

impl ReorgError {
    /// Returns the full disk that caused it.
    pub fn full_disk(&self) -> Option<FullDisk> {
        match self {
            Self::Mine(cause) => cause.full_disk(),
            Self::Transaction { source, .. } => source.full_disk(),
            _ => None,
        }
    }
}

impl InterventionError {
    /// Returns the full disk that caused it.
    pub const fn full_disk(&self) -> Option<FullDisk> {
        if let Self::Engine(cause) = self { cause.full_disk() } else { None }
    }
}

impl LoadError {
    /// Returns the full disk that caused it.
    pub const fn full_disk(&self) -> Option<FullDisk> {
        if let Self::Engine(cause) = self { cause.full_disk() } else { None }
    }
}
