//! TLS of the server, from a certificate and a key in PEM files.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};

use arc_swap::ArcSwap;
use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use tokio_rustls::TlsAcceptor;

/// Certificate and key that the server shows; files that have changed are read again while it serves.
#[derive(Clone)]
pub struct ServerTls(Arc<Files>);

struct Files {
    certificate: PathBuf,
    key: PathBuf,
    present: ArcSwap<ServerConfig>,
    /// Times of change of both files when they were read last.
    read_at: Mutex<Option<[SystemTime; 2]>>,
}

/// Files that TLS can't be served with. No message has anything of the key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file can't be read, or holds something else.
    #[error("{path}: expected {expected} in PEM: {reason}")]
    File {
        /// Path of the file.
        path: String,
        /// What it must hold.
        expected: &'static str,
        /// What was found instead.
        reason: String,
    },
    /// Certificate and key can't be used, as when they don't belong together.
    #[error("the certificate in {certificate} and the key in {key} can't be used together: {reason}")]
    Pair {
        /// Path of the certificate.
        certificate: String,
        /// Path of the key.
        key: String,
        /// What is wrong with them.
        reason: String,
    },
}

impl ServerTls {
    /// Reads a certificate, with those of its authorities after it, and its private key (PKCS #8, PKCS #1 or SEC 1).
    ///
    /// # Errors
    /// [`TlsError`].
    pub fn from_files(certificate: &Path, key: &Path) -> Result<Self, TlsError> {
        let read_at = Mutex::new(changed_at(certificate, key));
        let present = ArcSwap::from_pointee(read(certificate, key)?);
        Ok(Self(Arc::new(Files { certificate: certificate.to_owned(), key: key.to_owned(), present, read_at })))
    }

    /// Reads the files again, if one has changed since they were read; returns whether it did. Connections that are open keep theirs.
    ///
    /// # Errors
    /// [`TlsError`]; what was read before stays in use, and the files are looked at again at the next call.
    pub fn reload(&self) -> Result<bool, TlsError> {
        let files = &*self.0;
        let mut read_at = files.read_at.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = changed_at(&files.certificate, &files.key);
        if changed.is_none() || *read_at == changed {
            return Ok(false);
        }
        files.present.store(Arc::new(read(&files.certificate, &files.key)?));
        *read_at = changed;
        Ok(true)
    }

    /// Returns what accepts a connection.
    pub(super) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(self.0.present.load_full())
    }
}

/// Leaves the key out.
impl core::fmt::Debug for ServerTls {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("ServerTls").field("certificate", &self.0.certificate).finish_non_exhaustive()
    }
}

fn changed_at(certificate: &Path, key: &Path) -> Option<[SystemTime; 2]> {
    let of = |path: &Path| fs::metadata(path).and_then(|file| file.modified()).ok();
    Some([of(certificate)?, of(key)?])
}

/// TLS 1.2 and 1.3 without certificates of clients. HTTP/1.1 is offered alone (RFC 7301): WebSocket upgrades need it.
fn read(certificate: &Path, key: &Path) -> Result<ServerConfig, TlsError> {
    let failed =
        |path: &Path, expected, reason: String| TlsError::File { path: path.display().to_string(), expected, reason };
    let of_certificate = |reason| failed(certificate, "certificates", reason);
    let chain = CertificateDer::pem_file_iter(certificate).map_err(|cause| of_certificate(cause.to_string()))?;
    let chain: Vec<_> = chain.collect::<Result<_, _>>().map_err(|cause| of_certificate(cause.to_string()))?;
    if chain.is_empty() {
        return Err(of_certificate("it has none".to_owned()));
    }
    let private = PrivateKeyDer::from_pem_file(key).map_err(|cause| failed(key, "a private key", cause.to_string()))?;
    let unusable = |cause: rustls::Error| TlsError::Pair {
        certificate: certificate.display().to_string(),
        key: key.display().to_string(),
        reason: cause.to_string(),
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let mut config =
        builder.map_err(unusable)?.with_no_client_auth().with_single_cert(chain, private).map_err(unusable)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

#[cfg(test)]
mod tests {
    use base64ct::{Base64, Encoding as _};

    use super::*;

    fn write(folder: &Path, name: &str) -> (PathBuf, PathBuf) {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let paths = (folder.join(format!("{name}.crt")), folder.join(format!("{name}.key")));
        let pem = |label: &str, der: &[u8]| {
            let text = Base64::encode_string(der);
            format!("-----BEGIN {label}-----\n{text}\n-----END {label}-----\n")
        };
        fs::write(&paths.0, pem("CERTIFICATE", made.cert.der())).unwrap();
        fs::write(&paths.1, pem("PRIVATE KEY", &made.signing_key.serialize_der())).unwrap();
        paths
    }

    #[test]
    fn files_that_do_not_fit_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (write(folder.path(), "one"), write(folder.path(), "other"));
        let absent = folder.path().join("absent");
        for (certificate, key, says) in [
            (&absent, &one.1, "absent: expected certificates"),
            (&one.1, &one.1, "one.key: expected certificates"),
            (&one.0, &one.0, "one.crt: expected a private key"),
            (&one.0, &other.1, "can't be used together"),
        ] {
            let refused = ServerTls::from_files(certificate, key).unwrap_err().to_string();
            assert!(refused.contains(says), "{refused}");
        }
        ServerTls::from_files(&one.0, &one.1).unwrap();
    }

    #[test]
    fn changed_files_are_read_again_and_wrong_ones_are_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (write(folder.path(), "one"), write(folder.path(), "other"));
        let tls = ServerTls::from_files(&one.0, &one.1).unwrap();
        let before = tls.0.present.load_full();
        assert_eq!(tls.reload(), Ok(false));
        let later = |path: &Path, seconds| {
            let file = fs::File::options().write(true).open(path).unwrap();
            let time = file.metadata().unwrap().modified().unwrap() + std::time::Duration::from_secs(seconds);
            file.set_modified(time).unwrap();
        };
        fs::copy(&other.0, &one.0).unwrap();
        later(&one.0, 10);
        assert!(matches!(tls.reload(), Err(TlsError::Pair { .. })));
        assert!(Arc::ptr_eq(&before, &tls.0.present.load_full()));
        fs::copy(&other.1, &one.1).unwrap();
        later(&one.1, 20);
        assert_eq!(tls.reload(), Ok(true));
        assert!(!Arc::ptr_eq(&before, &tls.0.present.load_full()));
    }
}
