//! The files that `dev` writes: tried before anything is done, so that a path that can't be written is no surprise at the end.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use chainbox::{
    chain::GenesisSpec,
    node::{Dump, LoadError, Node},
};

use crate::dev::args::DevOptions;
use crate::dev::atomic_file;
use crate::files;

type Failure = Box<dyn std::error::Error>;

/// Tries the paths of all files that will be written, and creates missing folders.
///
/// # Errors
/// The flag and the path that can't be written.
pub(crate) fn try_paths(options: &DevOptions) -> Result<(), Failure> {
    for (flag, path) in
        [("--state", &options.state), ("--dump-state", &options.dump_state), ("--config-out", &options.config_out)]
    {
        if let Some(path) = path {
            atomic_file::try_write(path)
                .map_err(|cause| format!("{flag}: cannot write {}: {cause}", path.display()))?;
        }
    }
    Ok(())
}

/// The dump to start from: that of `--load-state`, or of `--state` where its file is there.
#[derive(Debug)]
pub(crate) struct LoadedFile {
    pub(crate) path: PathBuf,
    pub(crate) dump: Dump,
}

impl LoadedFile {
    /// Reads the file, if there is one.
    ///
    /// # Errors
    /// A file that can't be read.
    pub(crate) fn read(options: &DevOptions) -> Result<Option<Self>, Failure> {
        let kept = options.state.as_ref().filter(|path| path.exists());
        let Some(path) = options.load_state.as_ref().or(kept) else { return Ok(None) };
        Ok(Some(Self { path: path.clone(), dump: Dump::from_bytes(files::read(path)?) }))
    }

    /// The genesis of the dump. A state alone, such as the export of a service's chain, is there to be changed by hand: no block forbids it.
    ///
    /// # Errors
    /// A file that is no dump.
    pub(crate) fn genesis(&self) -> Result<GenesisSpec, LoadError> {
        let origin = self.dump.origin()?;
        let allow_interventions = origin.genesis.allow_interventions || origin.is_state_alone;
        Ok(origin.genesis.with_interventions(allow_interventions))
    }
}

/// Writes the dump of a node to the files of `--state` and `--dump-state`; returns a line for each.
///
/// # Errors
/// The dump could not be made or written.
pub(crate) fn write_dumps(options: &DevOptions, node: &Node) -> Result<Vec<String>, Failure> {
    let paths: Vec<&PathBuf> = [&options.state, &options.dump_state].into_iter().flatten().collect();
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    let dump = node.dump().map_err(|cause| files::with_causes(&cause))?;
    let written = paths.into_iter().map(|path| {
        write(path, dump.as_bytes())?;
        Ok(format!("wrote {} ({} bytes)", path.display(), dump.as_bytes().len()))
    });
    written.collect()
}

/// Writes the file of `--state` at every interval in which the node has changed. Never returns.
///
/// A failure is printed: the file of the last interval stays, and the next one tries again.
pub(crate) async fn write_at_intervals(path: PathBuf, interval: Duration, node: Node) {
    let mut written = node.view();
    loop {
        tokio::time::sleep(interval).await;
        let view = node.view();
        if Arc::ptr_eq(&view, &written) {
            continue;
        }
        let (node, path) = (node.clone(), path.clone());
        let done = tokio::task::spawn_blocking(move || {
            let dump = node.dump().map_err(|cause| files::with_causes(&cause))?;
            write(&path, dump.as_bytes()).map_err(|cause| cause.to_string())
        });
        match done.await {
            Ok(Ok(())) => written = view,
            Ok(Err(cause)) => crate::print_error(&*Failure::from(format!("--state-interval: {cause}"))),
            Err(stopped) => crate::print_error(&stopped),
        }
    }
}

/// Writes a file as a whole.
///
/// # Errors
/// The path, with the cause.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    atomic_file::write(path, bytes).map_err(|cause| format!("cannot write {}: {cause}", path.display()).into())
}
