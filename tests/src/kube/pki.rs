//! The certificates, keys and tokens of a cluster, new for each cluster.

use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose, SanType,
};
use serde_json::{Value, json};

use super::TOKEN_USER;

/// The file of the clients' authority.
pub(crate) const AUTHORITY: &str = "authority.crt";
/// The file of the apiserver's certificate.
pub(crate) const SERVER_CERTIFICATE: &str = "apiserver.crt";
/// The file of the apiserver's key.
pub(crate) const SERVER_KEY: &str = "apiserver.key";
/// The file of the key that signs tokens of service accounts.
pub(crate) const ACCOUNT_KEY: &str = "service-account.key";
/// The file of the public half of that key.
pub(crate) const ACCOUNT_PUBLIC_KEY: &str = "service-account.pub";
/// The file of the static bearer tokens.
pub(crate) const TOKENS: &str = "tokens.csv";

/// The addresses that apiservers listen on: the first one's, and the second one's.
pub(crate) const LOOPBACK: [Ipv4Addr; 2] = [Ipv4Addr::LOCALHOST, Ipv4Addr::new(127, 0, 0, 2)];

/// The authority of clients, and of servers until [`Pki::change_authority_of_servers`].
#[derive(Debug)]
pub(crate) struct Pki {
    authority: CertifiedIssuer<'static, KeyPair>,
    /// The authority that signs for servers now; `None`: the clients' own.
    servers: Option<CertifiedIssuer<'static, KeyPair>>,
    token: String,
}

/// The means by which a user proves its name.
#[derive(Debug)]
pub(crate) enum Identity {
    Certificate { certificate: String, key: String },
    Token(String),
}

impl Pki {
    /// Makes all keys and certificates, and writes those that the apiserver reads into the folder.
    pub(crate) fn create(folder: &Path) -> Result<Self> {
        let authority = authority("watchscope tests")?;
        write_server(folder, &authority, "localhost")?;
        let account_key = KeyPair::generate()?;
        // A fresh key serves as a random text.
        let token: String = STANDARD
            .encode(KeyPair::generate()?.serialize_der())
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .collect();
        for (name, text) in [
            (AUTHORITY, authority.pem()),
            (ACCOUNT_KEY, account_key.serialize_pem()),
            (ACCOUNT_PUBLIC_KEY, account_key.public_key_pem()),
            (TOKENS, format!("{token},{TOKEN_USER},{TOKEN_USER}\n")),
        ] {
            fs::write(folder.join(name), text).with_context(|| format!("writing {name}"))?;
        }
        Ok(Self {
            authority,
            servers: None,
            token,
        })
    }

    /// Writes a new key and certificate for servers; the certificate is for `name` and loopback.
    pub(crate) fn renew_server(&self, folder: &Path, name: &str) -> Result<()> {
        write_server(folder, self.of_servers(), name)
    }

    /// Lets a new authority sign for servers from now on.
    pub(crate) fn change_authority_of_servers(&mut self) -> Result<()> {
        self.servers = Some(authority("watchscope tests, the next")?);
        Ok(())
    }

    fn of_servers(&self) -> &CertifiedIssuer<'static, KeyPair> {
        self.servers.as_ref().unwrap_or(&self.authority)
    }

    /// Returns a certificate for a user. Kubernetes reads the common name as the user and organisations as groups.
    pub(crate) fn client(&self, user: &str, groups: &[&str]) -> Result<Identity> {
        self.client_with(CertificateParams::default(), user, groups)
    }

    /// Returns a certificate for a user that is valid for `lasts` from now on.
    pub(crate) fn client_for(&self, lasts: Duration, user: &str) -> Result<Identity> {
        let mut parameters = CertificateParams::default();
        #[expect(
            clippy::disallowed_methods,
            reason = "a certificate is valid by the wall clock"
        )]
        let now = SystemTime::now();
        parameters.not_after = (now + lasts).into();
        self.client_with(parameters, user, &[])
    }

    fn client_with(
        &self,
        mut parameters: CertificateParams,
        user: &str,
        groups: &[&str],
    ) -> Result<Identity> {
        let key = KeyPair::generate()?;
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

    /// The certificate of the servers' authority in base64, as a kubeconfig holds it.
    pub(crate) fn authority_base64(&self) -> String {
        STANDARD.encode(self.of_servers().pem())
    }
}

fn authority(name: &str) -> Result<CertifiedIssuer<'static, KeyPair>> {
    let mut parameters = CertificateParams::default();
    parameters.distinguished_name.push(DnType::CommonName, name);
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let key = KeyPair::generate()?;
    Ok(CertifiedIssuer::self_signed(parameters, key)?)
}

/// Writes the certificate that the apiserver serves, for loopback and `name`, and its key.
fn write_server(
    folder: &Path,
    authority: &CertifiedIssuer<'static, KeyPair>,
    name: &str,
) -> Result<()> {
    let key = KeyPair::generate()?;
    let mut parameters = CertificateParams::new(vec![name.to_owned()])?;
    parameters
        .subject_alt_names
        .extend(LOOPBACK.map(|ip| SanType::IpAddress(IpAddr::V4(ip))));
    parameters
        .distinguished_name
        .push(DnType::CommonName, "kube-apiserver");
    parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let certificate = parameters.signed_by(&key, authority)?;
    for (name, text) in [
        (SERVER_KEY, key.serialize_pem()),
        (SERVER_CERTIFICATE, certificate.pem()),
    ] {
        fs::write(folder.join(name), text).with_context(|| format!("writing {name}"))?;
    }
    Ok(())
}

impl Identity {
    /// The identity as the `user` of a kubeconfig.
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
