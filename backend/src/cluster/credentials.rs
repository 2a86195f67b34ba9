//! Credentials and TLS settings of one session, made by kube from its configuration.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body_util::Empty;
use kube::client::middleware::{AuthLayer, ExtraHeadersLayer};
use kube::client::{AuthError, ConfigExt as _};
use rustls::ClientConfig;
use tower::{BoxError, Layer as _, Service, ServiceExt as _, service_fn};

use super::config::ClusterConfig;
use crate::transport::ProxyScheme;

/// A credential plugin that has not answered by then is reported; it is not started again before
/// it has ended. Long, since some open a browser for the user to log in.
pub(super) const PLUGIN_LIMIT: Duration = Duration::from_secs(60);

/// Why there are no credentials. One or two lines, never with a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CredentialError {
    /// The plugin could not be run, or ran and failed.
    #[error("the credential plugin {program} failed: {detail}")]
    Plugin {
        /// The program of the kubeconfig's `exec`.
        program: String,
        /// The end of what it printed, or why it could not be started.
        detail: String,
    },
    /// The plugin still runs.
    #[error("the credential plugin {program} has not answered within {} s", limit.as_secs())]
    PluginTimeout {
        /// The program of the kubeconfig's `exec`.
        program: String,
        /// The limit.
        limit: Duration,
    },
    /// The token file cannot be read or holds no token.
    #[error("the token file {path} cannot be used: {detail}")]
    TokenFile {
        /// The file.
        path: String,
        /// Why.
        detail: String,
    },
    /// Certificates or keys that cannot be used.
    #[error("the TLS settings of context {context} cannot be used: {detail}")]
    Tls {
        /// The context, or the cluster where there is none.
        context: String,
        /// Why.
        detail: String,
    },
    /// Anything else kube reports.
    #[error("the credentials of context {context} cannot be used: {detail}")]
    Other {
        /// The context, or the cluster where there is none.
        context: String,
        /// Why.
        detail: String,
    },
    /// The configuration could not be read again.
    #[error("the configuration could not be read again: {detail}")]
    Reload {
        /// Why.
        detail: String,
    },
}

/// TLS settings and credentials as they were when they were built.
pub(super) struct Credentials {
    pub(super) tls: Option<Arc<ClientConfig>>,
    /// When the client certificate runs out, in seconds since 1970.
    pub(super) certificate_not_after_s: Option<i64>,
    pub(super) authorizer: Authorizer,
}

/// Puts the Authorization and impersonation headers on requests.
pub(super) struct Authorizer {
    method: Method,
    extra: ExtraHeadersLayer,
    context: String,
    program: String,
}

enum Method {
    None,
    TokenFile(TokenFile),
    Layer(AuthLayer),
}

/// A token file, read for every request: requests are rare, and a rotated token then never costs
/// a 401. kube's own reader would send a final newline along, which `kubectl create token >file`
/// leaves there.
struct TokenFile {
    path: PathBuf,
    /// Used while the file cannot be read, as client-go does: it may be gone for a moment.
    last: Mutex<HeaderValue>,
}

impl Credentials {
    /// Builds both. Blocks: reads files and may run a credential plugin.
    pub(super) fn build(config: &ClusterConfig) -> Result<Self, CredentialError> {
        let names = Names::of(config);
        let mut kube = config.kube.clone();
        let info = &mut kube.auth_info;
        if !config.endpoint.is_tls {
            // kubectl sends no credentials over plain HTTP either.
            *info = kube::config::AuthInfo {
                impersonate: info.impersonate.take(),
                impersonate_uid: info.impersonate_uid.take(),
                impersonate_groups: info.impersonate_groups.take(),
                impersonate_user_extra: info.impersonate_user_extra.take(),
                ..Default::default()
            };
        }
        let prefers_other = info.auth_provider.is_some()
            || info.token.is_some()
            || (info.username.is_some() && info.password.is_some());
        let token_file = info.token_file.take().filter(|_| !prefers_other);
        let method = match token_file {
            Some(path) => Method::TokenFile(TokenFile::open(path.into())?),
            None => match kube.auth_layer().map_err(|error| names.auth_error(error))? {
                Some(layer) => {
                    // The plugin gave a token; asking it again for a certificate would only run it twice.
                    kube.auth_info.exec = None;
                    Method::Layer(layer)
                }
                None => Method::None,
            },
        };
        let extra = kube
            .extra_headers_layer()
            .map_err(|error| names.other(&error))?;
        let proxy_is_tls = config
            .proxy
            .as_ref()
            .is_some_and(|proxy| proxy.scheme == ProxyScheme::Https);
        let mut tls = None;
        let mut certificate_not_after_s = None;
        if config.endpoint.is_tls || proxy_is_tls {
            // The process's default provider: kube builds on it. An error says it is already set.
            let _ = rustls::crypto::ring::default_provider().install_default();
            let settings = kube
                .rustls_client_config()
                .map_err(|error| names.tls_error(error))?;
            certificate_not_after_s = client_certificate_not_after_s(&settings);
            tls = Some(Arc::new(settings));
        }
        let authorizer = Authorizer {
            method,
            extra,
            context: names.context,
            program: names.program,
        };
        Ok(Self {
            tls,
            certificate_not_after_s,
            authorizer,
        })
    }
}

/// Calls a service of layers. Boxed outside of any async function: inside one, the compiler does not see that the
/// layers' future is `Send`.
fn boxed_call<S>(
    service: S,
    request: Request<Empty<Bytes>>,
) -> BoxFuture<'static, Result<Response<()>, BoxError>>
where
    S: Service<Request<Empty<Bytes>>, Response = Response<()>, Error = BoxError> + Send + 'static,
    S::Future: Send + 'static,
{
    Box::pin(service.oneshot(request))
}

impl Authorizer {
    /// Adds the headers; a plugin's expiring token is renewed on the way.
    pub(super) async fn authorize(&self, headers: &mut HeaderMap) -> Result<(), CredentialError> {
        let mut request = Request::new(Empty::<Bytes>::new());
        *request.headers_mut() = std::mem::take(headers);
        let echo = service_fn(|request: Request<Empty<Bytes>>| {
            let mut response = Response::new(());
            *response.headers_mut() = request.into_parts().0.headers;
            std::future::ready(Ok::<_, BoxError>(response))
        });
        let service = self.extra.layer(echo);
        let authorized = match &self.method {
            Method::None => service.oneshot(request).await,
            Method::TokenFile(file) => {
                request
                    .headers_mut()
                    .insert(AUTHORIZATION, file.header().await);
                service.oneshot(request).await
            }
            Method::Layer(layer) => {
                match tokio::time::timeout(PLUGIN_LIMIT, boxed_call(layer.layer(service), request))
                    .await
                {
                    Ok(result) => result,
                    Err(_) => {
                        let program = self.program.clone();
                        return Err(CredentialError::PluginTimeout {
                            program,
                            limit: PLUGIN_LIMIT,
                        });
                    }
                }
            }
        };
        let names = Names {
            context: self.context.clone(),
            program: self.program.clone(),
        };
        let authorized = authorized.map_err(|error| match error.downcast::<AuthError>() {
            Ok(error) => names.auth_error(kube::Error::Auth(*error)),
            Err(error) => names.other(&*error),
        })?;
        *headers = authorized.into_parts().0.headers;
        Ok(())
    }
}

impl TokenFile {
    fn open(path: PathBuf) -> Result<Self, CredentialError> {
        let failed = |detail: String| CredentialError::TokenFile {
            path: path.display().to_string(),
            detail,
        };
        let header = std::fs::read_to_string(&path)
            .map_err(|error| failed(error.to_string()))
            .and_then(|text| bearer(&text).ok_or_else(|| failed("it holds no token".to_owned())))?;
        Ok(Self {
            path,
            last: Mutex::new(header),
        })
    }

    async fn header(&self) -> HeaderValue {
        let read = tokio::fs::read_to_string(&self.path).await;
        let mut last = self
            .last
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(fresh) = read.ok().as_deref().and_then(bearer) {
            *last = fresh;
        }
        last.clone()
    }
}

/// The words an error needs.
struct Names {
    context: String,
    program: String,
}

impl Names {
    fn of(config: &ClusterConfig) -> Self {
        let info = &config.kube.auth_info;
        let provider = info
            .auth_provider
            .as_ref()
            .map(|provider| provider.name.clone());
        let program = info
            .exec
            .as_ref()
            .and_then(|exec| exec.command.clone())
            .or(provider);
        Self {
            context: config
                .context
                .clone()
                .unwrap_or_else(|| config.cluster.clone()),
            program: program.unwrap_or_default(),
        }
    }

    fn auth_error(&self, error: kube::Error) -> CredentialError {
        let detail = match error {
            // kube's own text would print the command's environment and output.
            kube::Error::Auth(AuthError::AuthExecRun { out, .. }) => {
                let said = String::from_utf8_lossy(&out.stderr);
                let last = said
                    .lines()
                    .map(str::trim)
                    .rfind(|line| !line.is_empty())
                    .unwrap_or_default();
                format!(
                    "{}{}{}",
                    out.status,
                    if last.is_empty() { "" } else { ": " },
                    shortened(last)
                )
            }
            kube::Error::Auth(AuthError::AuthExecStart(source)) => source.to_string(),
            kube::Error::Auth(AuthError::AuthExecParse(_)) => {
                "its output is not an ExecCredential".to_owned()
            }
            kube::Error::Auth(AuthError::ExecPluginFailed) => "its output has no status".to_owned(),
            kube::Error::Auth(AuthError::AuthExec(detail)) => shortened(&detail),
            other => return self.other(&other),
        };
        CredentialError::Plugin {
            program: self.program.clone(),
            detail,
        }
    }

    fn tls_error(&self, error: kube::Error) -> CredentialError {
        let mut detail = match error {
            kube::Error::RustlsTls(source) => source.to_string(),
            other => other.to_string(),
        };
        // What `openssl x509 -req` makes by default; Go's TLS takes it, rustls does not.
        if detail.contains("UnsupportedCertVersion") {
            detail =
                "the client certificate is of X.509 version 1; issue it again with an extension \
                      (openssl x509 -req -extfile …), which makes it version 3"
                    .to_owned();
        }
        CredentialError::Tls {
            context: self.context.clone(),
            detail: shortened(&detail),
        }
    }

    fn other(&self, error: &(impl std::error::Error + ?Sized)) -> CredentialError {
        CredentialError::Other {
            context: self.context.clone(),
            detail: shortened(&error.to_string()),
        }
    }
}

fn bearer(token: &str) -> Option<HeaderValue> {
    let token = token.trim();
    if token.is_empty() {
        return None;
    }
    let mut value = HeaderValue::try_from(format!("Bearer {token}")).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// The end of validity of the certificate rustls would present, wherever it came from.
fn client_certificate_not_after_s(settings: &ClientConfig) -> Option<i64> {
    let schemes = settings
        .crypto_provider()
        .signature_verification_algorithms
        .supported_schemes();
    let certified = settings.client_auth_cert_resolver.resolve(&[], &schemes)?;
    let (_, certificate) = x509_parser::parse_x509_certificate(certified.cert.first()?).ok()?;
    Some(certificate.validity().not_after.timestamp())
}

/// One line of at most 300 characters.
fn shortened(text: &str) -> String {
    text.lines()
        .next()
        .unwrap_or_default()
        .chars()
        .take(300)
        .collect()
}
