//! Which certificates of webhooks are trusted.
//!
//! As with Go's TLS: signed by one of the authorities of the configuration, or being one of them.
//! The latter needs a rule of its own, because a certificate that may sign others is no server
//! certificate to webpki, and many operators make exactly one of that kind.

use std::{fmt, sync::Arc};

use hyper_rustls::ConfigBuilderExt as _;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
        verify_server_name,
    },
    crypto::CryptoProvider,
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject},
    server::ParsedCertificate,
};

/// TLS settings that trust these authorities (PEM), or those of the system.
///
/// # Errors
/// When there is no usable authority.
pub(super) fn client_config(authorities: Option<&[u8]>) -> Result<ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let Some(pem) = authorities else {
        let builder = builder.with_native_roots().map_err(|e| e.to_string())?;
        return Ok(builder.with_no_client_auth());
    };
    let pinned: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(pem)
        .filter_map(Result::ok)
        .collect();
    let mut roots = RootCertStore::empty();
    let (n_good, _) = roots.add_parsable_certificates(pinned.iter().cloned());
    if n_good == 0 {
        return Err("unable to load root certificates: unable to parse bytes as PEM block".into());
    }
    let inner = WebPkiServerVerifier::builder_with_provider(roots.into(), provider.clone())
        .build()
        .map_err(|error| error.to_string())?;
    let verifier = Pinned {
        inner,
        pinned,
        provider,
    };
    let builder = builder
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    Ok(builder.with_no_client_auth())
}

/// A complaint about a certificate in the words that people know from Go.
pub(super) fn in_go_words(text: &str) -> String {
    let Some(why) = text.strip_prefix("invalid peer certificate: ") else {
        return text.to_owned();
    };
    let why = match why {
        // The latter: an authority of the same name, but another one.
        "UnknownIssuer" | "BadSignature" => "certificate signed by unknown authority",
        "Expired" => "certificate has expired or is not yet valid",
        other => other,
    };
    format!("tls: failed to verify certificate: x509: {why}")
}

/// Webpki's rules, and certificates that are authorities themselves.
struct Pinned {
    inner: Arc<WebPkiServerVerifier>,
    pinned: Vec<CertificateDer<'static>>,
    provider: Arc<CryptoProvider>,
}

impl fmt::Debug for Pinned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pinned({} authorities)", self.pinned.len())
    }
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let judged = self
            .inner
            .verify_server_cert(leaf, between, name, ocsp, now);
        let is_authority = self.pinned.iter().any(|pinned| pinned == leaf);
        match judged {
            Err(Error::InvalidCertificate(CertificateError::Other(_))) if is_authority => {
                verify_server_name(&ParsedCertificate::try_from(leaf)?, name)?;
                check_time(leaf, now)?;
                Ok(ServerCertVerified::assertion())
            }
            judged => judged,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, leaf, signature, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, leaf, signature, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}

fn check_time(leaf: &CertificateDer<'_>, now: UnixTime) -> Result<(), Error> {
    let (_, parsed) = x509_parser::parse_x509_certificate(leaf)
        .map_err(|_| Error::InvalidCertificate(CertificateError::BadEncoding))?;
    let seconds = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    let validity = parsed.validity();
    if validity.not_before.timestamp() <= seconds && seconds <= validity.not_after.timestamp() {
        return Ok(());
    }
    Err(Error::InvalidCertificate(CertificateError::Expired))
}
