//! Kinds of code, and what runs them.

use alloy_primitives::Bytes;

use super::{HaltReason, Host, Marker, Stop, Template, TemplateRegistry};

/// Runs one kind of code. Frames, gas and undoing are handled elsewhere.
pub(super) trait CodeRunner {
    /// Runs init code and returns the code to deploy.
    fn construct(&self, host: &mut Host<'_>, params: &[u8]) -> Result<Bytes, Stop>;

    /// Returns whether its calls may open frames in the name of the signer.
    fn acts_for_signer(&self) -> bool;

    /// Runs a call and returns its return data.
    fn call(&self, host: &mut Host<'_>, input: &[u8]) -> Result<Bytes, Stop>;
}

/// Runner of a template.
pub(super) struct TemplateRunner<'r> {
    marker: Marker,
    template: &'r dyn Template,
}

impl CodeRunner for TemplateRunner<'_> {
    fn construct(&self, host: &mut Host<'_>, params: &[u8]) -> Result<Bytes, Stop> {
        self.template.construct(host, params)?;
        Ok(Bytes::copy_from_slice(&self.marker.to_bytes()))
    }

    fn acts_for_signer(&self) -> bool {
        self.template.acts_for_signer()
    }

    fn call(&self, host: &mut Host<'_>, input: &[u8]) -> Result<Bytes, Stop> {
        self.template.call(host, input)
    }
}

/// Returns the runner of `code`, and the bytes after its marker.
///
/// Templates are the only kind; another would be recognised here by its first bytes.
pub(super) fn recognise<'r, 'c>(
    code: &'c [u8],
    registry: &'r TemplateRegistry,
) -> Result<(TemplateRunner<'r>, &'c [u8]), HaltReason> {
    let (marker, rest) = split_code(code)?;
    let unknown = HaltReason::UnknownTemplate { id: marker.0.id, version: marker.0.version };
    let template = registry.get(marker.0).ok_or(unknown)?;
    Ok((TemplateRunner { marker, template: template.as_ref() }, rest))
}

/// Splits `code` into its marker and the bytes after it.
///
/// # Errors
/// Code without a marker, which no chain runs.
pub(crate) fn split_code(code: &[u8]) -> Result<(Marker, &[u8]), HaltReason> {
    Marker::split(code).ok_or_else(|| match code.first() {
        Some(0xef) => HaltReason::InvalidCode,
        _ => HaltReason::EvmBytecodeUnsupported,
    })
}
