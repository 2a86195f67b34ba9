//! Certificates for tests: an authority, its certificates, and TLS settings of both sides.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, SanType};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};

use crate::transport::{Endpoint, Protocols, Target};

/// A TLS target on loopback that trusts the authority.
pub(crate) fn tls_target(port: u16, authority: &Authority) -> Target {
    let endpoint =
        Endpoint::from_uri(&format!("https://localhost:{port}").parse().unwrap()).unwrap();
    Target {
        endpoint,
        pin: None,
        proxy: None,
        tls: Some(authority.client_config()),
        tls_server_name: None,
        protocols: Protocols::default(),
    }
}

/// A certificate authority made for one test.
pub(crate) struct Authority {
    certificate: CertificateDer<'static>,
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate and its key.
pub(crate) struct Identity {
    pub(crate) chain: Vec<CertificateDer<'static>>,
    pub(crate) key: PrivateKeyDer<'static>,
    pub(crate) certificate_pem: String,
    pub(crate) key_pem: String,
}

impl Authority {
    pub(crate) fn new(name: &str) -> Self {
        let mut parameters = CertificateParams::new(Vec::new()).unwrap();
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        parameters.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        let certificate = parameters.self_signed(&key).unwrap();
        let (pem, certificate) = (certificate.pem(), certificate.der().clone());
        Self {
            certificate,
            pem,
            issuer: Issuer::new(parameters, key),
        }
    }

    pub(crate) fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    pub(crate) fn pem(&self) -> &str {
        &self.pem
    }

    /// Issues a certificate for these names, valid between two years.
    pub(crate) fn issue(&self, names: &[&str], from_year: i32, to_year: i32) -> Identity {
        let mut parameters = CertificateParams::new(Vec::new()).unwrap();
        for name in names {
            parameters.subject_alt_names.push(match name.parse() {
                Ok(ip) => SanType::IpAddress(ip),
                Err(_) => SanType::DnsName((*name).try_into().unwrap()),
            });
        }
        parameters.distinguished_name.push(
            DnType::CommonName,
            names.first().copied().unwrap_or("nobody"),
        );
        parameters.not_before = rcgen::date_time_ymd(from_year, 1, 1);
        parameters.not_after = rcgen::date_time_ymd(to_year, 1, 1);
        let key = KeyPair::generate().unwrap();
        let certificate = parameters.signed_by(&key, &self.issuer).unwrap();
        Identity {
            certificate_pem: certificate.pem(),
            key_pem: key.serialize_pem(),
            chain: vec![certificate.der().clone()],
            key: PrivateKeyDer::Pkcs8(key.serialize_der().into()),
        }
    }

    /// Issues a certificate for the names of loopback.
    pub(crate) fn loopback(&self) -> Identity {
        self.issue(&["localhost", "127.0.0.1"], 2020, 2120)
    }

    fn roots(&self) -> RootCertStore {
        let mut roots = RootCertStore::empty();
        roots.add(self.certificate.clone()).unwrap();
        roots
    }

    /// Returns client settings that trust only this authority.
    pub(crate) fn client_config(&self) -> Arc<ClientConfig> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let config = ClientConfig::builder()
            .with_root_certificates(self.roots())
            .with_no_client_auth();
        Arc::new(config)
    }

    /// Returns settings that serve an identity over HTTP/1.1. They can also demand client certificates of this authority.
    pub(crate) fn server_config(
        &self,
        identity: Identity,
        asks_for_certificate: bool,
    ) -> Arc<ServerConfig> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = ServerConfig::builder();
        let builder = if asks_for_certificate {
            let verifier = WebPkiClientVerifier::builder(Arc::new(self.roots()))
                .build()
                .unwrap();
            builder.with_client_cert_verifier(verifier)
        } else {
            builder.with_no_client_auth()
        };
        let mut config = builder
            .with_single_cert(identity.chain, identity.key)
            .unwrap();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Arc::new(config)
    }
}
