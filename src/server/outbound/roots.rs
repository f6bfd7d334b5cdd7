//! Certificate authorities that the service trusts.

use std::path::Path;

use rustls::{
    RootCertStore,
    pki_types::{CertificateDer, pem::PemObject},
};

/// Certificates of the authorities that sign those of servers.
#[derive(Clone, Debug)]
pub struct TlsRoots {
    certificates: Vec<CertificateDer<'static>>,
}

/// No usable certificates of authorities.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RootsError {
    /// The machine has none.
    #[error(
        "this machine has no certificates of authorities: {reason}; install its package of them (Debian: ca-certificates) \
         or name a file in SSL_CERT_FILE"
    )]
    None {
        /// What was found instead.
        reason: String,
    },
    /// A file holds none.
    #[error("{path}: expected certificates of authorities in PEM: {reason}")]
    File {
        /// Path of the file.
        path: String,
        /// What was found instead.
        reason: String,
    },
    /// A certificate can't be read.
    #[error("a certificate of an authority can't be read: {reason}")]
    Certificate {
        /// What is wrong with it.
        reason: String,
    },
}

impl TlsRoots {
    /// Reads those that the machine trusts: the files that `SSL_CERT_FILE` and `SSL_CERT_DIR` name, or those of the operating system.
    ///
    /// # Errors
    /// [`RootsError::None`].
    pub fn of_system() -> Result<Self, RootsError> {
        let loaded = rustls_native_certs::load_native_certs();
        let mut store = RootCertStore::empty();
        // Systems carry certificates that no verifier reads; they are left out.
        let usable = loaded.certs.into_iter().filter(|certificate| store.add(certificate.clone()).is_ok());
        let certificates: Vec<_> = usable.collect();
        if certificates.is_empty() {
            let reason = loaded.errors.first().map_or_else(|| "none was found".to_owned(), ToString::to_string);
            return Err(RootsError::None { reason });
        }
        Ok(Self { certificates })
    }

    /// Trusts nobody yet.
    pub const fn none() -> Self {
        Self { certificates: Vec::new() }
    }

    /// Trusts the authorities of a PEM file too.
    ///
    /// # Errors
    /// [`RootsError::File`].
    pub fn with_file(mut self, path: &Path) -> Result<Self, RootsError> {
        let failed = |reason: String| RootsError::File { path: path.display().to_string(), reason };
        let certificates = CertificateDer::pem_file_iter(path).map_err(|cause| failed(cause.to_string()))?;
        let certificates: Result<Vec<_>, _> = certificates.collect();
        let certificates = certificates.map_err(|cause| failed(cause.to_string()))?;
        if certificates.is_empty() {
            return Err(failed("it has none".to_owned()));
        }
        for certificate in certificates {
            self = self.with_certificate(certificate.to_vec()).map_err(|cause| failed(cause.to_string()))?;
        }
        Ok(self)
    }

    /// Trusts an authority by its certificate (X.509, in DER) too.
    ///
    /// # Errors
    /// [`RootsError::Certificate`].
    pub fn with_certificate(mut self, der: Vec<u8>) -> Result<Self, RootsError> {
        let certificate = CertificateDer::from(der);
        let added = RootCertStore::empty().add(certificate.clone());
        added.map_err(|cause| RootsError::Certificate { reason: cause.to_string() })?;
        self.certificates.push(certificate);
        Ok(self)
    }

    /// The certificates in DER.
    pub(crate) fn certificates(&self) -> impl Iterator<Item = &[u8]> {
        self.certificates.iter().map(|certificate| &certificate[..])
    }

    /// Returns the store of a TLS client.
    pub(super) fn store(&self) -> RootCertStore {
        let mut store = RootCertStore::empty();
        store.add_parsable_certificates(self.certificates.iter().cloned());
        store
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machines_roots_are_found_or_said_to_be_missing() {
        match TlsRoots::of_system() {
            Ok(roots) => assert!(roots.certificates().count() > 0 && roots.store().len() > 0),
            Err(error) => assert!(error.to_string().contains("ca-certificates"), "{error}"),
        }
    }

    #[test]
    fn a_file_without_certificates_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("roots.pem");
        assert!(TlsRoots::none().with_file(&path).unwrap_err().to_string().contains("roots.pem"));
        std::fs::write(&path, "no certificate").unwrap();
        assert!(TlsRoots::none().with_file(&path).unwrap_err().to_string().contains("it has none"));
        assert!(TlsRoots::none().with_certificate(vec![1, 2, 3]).is_err());
    }
}
