//! Whose certificates are trusted: the system's, and those that a target was given.

use std::sync::Arc;

use rustls::RootCertStore;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::{Error, PemObject as _};
use rustls_platform_verifier::Verifier;

use super::client::causes;

/// What looks at the certificates of a service.
pub(super) fn verifier(more: &[u8], provider: Arc<CryptoProvider>) -> Result<Verifier, String> {
    if more.is_empty() {
        return Verifier::new(provider).map_err(|error| {
            let why = causes(&error);
            format!("the system's certificates cannot be read ({why}): install them, such as with the package `ca-certificates`, or give your own")
        });
    }
    Verifier::new_with_extra_roots(certificates(more)?, provider)
        .map_err(|error| format!("the certificates cannot be trusted: {}", causes(&error)))
}

/// Whether these are certificates.
pub(super) fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let unread = |why: &str| format!("the certificates cannot be read ({why}): give them as PEM");
    // Some write a byte order mark in front.
    let pem = pem.strip_prefix("\u{feff}".as_bytes()).unwrap_or(pem);
    let read: Vec<_> =
        CertificateDer::pem_slice_iter(pem).collect::<Result<_, _>>().map_err(|error| match error {
            Error::MissingSectionEnd { .. } => unread("one has no end"),
            Error::IllegalSectionStart { .. } => unread("one begins in a way that none does"),
            Error::Base64Decode(_) => unread("one is no base64"),
            other => unread(&causes(&other)),
        })?;
    if read.is_empty() {
        return Err(unread("there is none in it"));
    }
    let mut trusted = RootCertStore::empty();
    for (nth, certificate) in (1..).zip(&read) {
        let fits = trusted.add(certificate.clone());
        fits.map_err(|_| unread(&format!("number {nth} is none, whatever its label says")))?;
    }
    Ok(read)
}
