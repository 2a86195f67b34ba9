//! The certificates, keys and tokens of a cluster, made anew for each.

use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

use anyhow::{Context as _, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose, SanType,
};
use serde_json::{Value, json};

use super::TOKEN_USER;

pub(crate) const AUTHORITY: &str = "authority.crt";
pub(crate) const SERVER_CERTIFICATE: &str = "apiserver.crt";
pub(crate) const SERVER_KEY: &str = "apiserver.key";
pub(crate) const ACCOUNT_KEY: &str = "service-account.key";
pub(crate) const ACCOUNT_PUBLIC_KEY: &str = "service-account.pub";
pub(crate) const TOKENS: &str = "tokens.csv";

/// One authority for servers and clients.
#[derive(Debug)]
pub(crate) struct Pki {
    authority: CertifiedIssuer<'static, KeyPair>,
    token: String,
}

/// How a user proves who it is.
#[derive(Debug)]
pub(crate) enum Identity {
    Certificate { certificate: String, key: String },
    Token(String),
}

impl Pki {
    /// Makes everything and writes what the apiserver reads into the folder.
    pub(crate) fn create(folder: &Path) -> Result<Self> {
        let mut parameters = CertificateParams::default();
        parameters
            .distinguished_name
            .push(DnType::CommonName, "watchscope tests");
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let authority = CertifiedIssuer::self_signed(parameters, KeyPair::generate()?)?;

        let server_key = KeyPair::generate()?;
        let mut parameters = CertificateParams::new(vec!["localhost".to_owned()])?;
        parameters
            .subject_alt_names
            .push(SanType::IpAddress(IpAddr::V4(Ipv4Addr::LOCALHOST)));
        parameters
            .distinguished_name
            .push(DnType::CommonName, "kube-apiserver");
        parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let server = parameters.signed_by(&server_key, &authority)?;

        let account_key = KeyPair::generate()?;
        // A key nobody else knows serves as well as any random text.
        let token: String = STANDARD
            .encode(KeyPair::generate()?.serialize_der())
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .collect();
        for (name, text) in [
            (AUTHORITY, authority.pem()),
            (SERVER_CERTIFICATE, server.pem()),
            (SERVER_KEY, server_key.serialize_pem()),
            (ACCOUNT_KEY, account_key.serialize_pem()),
            (ACCOUNT_PUBLIC_KEY, account_key.public_key_pem()),
            (TOKENS, format!("{token},{TOKEN_USER},{TOKEN_USER}\n")),
        ] {
            fs::write(folder.join(name), text).with_context(|| format!("writing {name}"))?;
        }
        Ok(Self { authority, token })
    }

    /// A certificate for a user: Kubernetes takes the common name as the user, organisations as groups.
    pub(crate) fn client(&self, user: &str, groups: &[&str]) -> Result<Identity> {
        let key = KeyPair::generate()?;
        let mut parameters = CertificateParams::default();
        let name = &mut parameters.distinguished_name;
        name.push(DnType::CommonName, user);
        for group in groups {
            name.push(DnType::OrganizationName, *group);
        }
        parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let certificate = parameters.signed_by(&key, &self.authority)?;
        Ok(Identity::Certificate {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        })
    }

    /// The token of [`TOKEN_USER`].
    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// The authority's certificate as a kubeconfig holds it.
    pub(crate) fn authority_base64(&self) -> String {
        STANDARD.encode(self.authority.pem())
    }
}

impl Identity {
    /// As the `user` of a kubeconfig.
    pub(crate) fn as_user(&self) -> Value {
        match self {
            Self::Certificate { certificate, key } => json!({
                "client-certificate-data": STANDARD.encode(certificate),
                "client-key-data": STANDARD.encode(key),
            }),
            Self::Token(token) => json!({"token": token}),
        }
    }
}
