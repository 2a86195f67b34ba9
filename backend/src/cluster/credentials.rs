//! The credentials and TLS settings of one session. kube builds them from its configuration.

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

/// The timeout of a credential plugin. A plugin that exceeds it is reported, and is not started again before it has ended.
/// It is long, because some plugins open a browser for the user to log in.
pub(super) const PLUGIN_LIMIT: Duration = Duration::from_secs(60);

/// Why there are no credentials. The text has one or two lines and never a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CredentialError {
    /// The plugin could not be started, or it failed.
    #[error("the credential plugin {program} failed: {detail}")]
    Plugin {
        /// The program of the kubeconfig's `exec`.
        program: String,
        /// The last line that it printed, or the reason why it could not be started.
        detail: String,
    },
    /// The plugin still runs.
    #[error("the credential plugin {program} has not answered within {} s", limit.as_secs())]
    PluginTimeout {
        /// The program of the kubeconfig's `exec`.
        program: String,
        /// The timeout.
        limit: Duration,
    },
    /// The token file cannot be read, or holds no token.
    #[error("the token file {path} cannot be used: {detail}")]
    TokenFile {
        /// The file.
        path: String,
        /// The reason.
        detail: String,
    },
    /// Certificates or keys cannot be used.
    #[error("the TLS settings of context {context} cannot be used: {detail}")]
    Tls {
        /// The context, or the cluster if there is none.
        context: String,
        /// The reason.
        detail: String,
    },
    /// kube reports another error.
    #[error("the credentials of context {context} cannot be used: {detail}")]
    Other {
        /// The context, or the cluster if there is none.
        context: String,
        /// The reason.
        detail: String,
    },
    /// The configuration could not be read again.
    #[error("the configuration could not be read again: {detail}")]
    Reload {
        /// The reason.
        detail: String,
    },
}

/// The TLS settings and credentials as they were built.
pub(super) struct Credentials {
    pub(super) tls: Option<Arc<ClientConfig>>,
    /// The end of the client certificate's validity, in seconds since 1970.
    pub(super) certificate_not_after_s: Option<i64>,
    pub(super) authorizer: Authorizer,
}

/// Adds the Authorization and impersonation headers to requests.
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

/// A token file. It is read for each request. Requests are rare, and so a rotated token never costs a 401. kube's own reader
/// would also send the final newline that `kubectl create token >file` leaves.
struct TokenFile {
    path: PathBuf,
    /// The last token, which is used while the file cannot be read, as client-go does. The file may be gone for a moment.
    last: Mutex<HeaderValue>,
}

impl Credentials {
    /// Builds both. It blocks: it reads files and may run a credential plugin.
    pub(super) fn build(config: &ClusterConfig) -> Result<Self, CredentialError> {
        let names = Names::of(config);
        let mut kube = config.kube.clone();
        let info = &mut kube.auth_info;
        if !config.endpoint.is_tls {
            // kubectl also sends no credentials over plain HTTP.
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
                    // The plugin gave a token. Asking it again for a certificate would only run it twice.
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
            // kube builds on the process's default provider. An error means that it is set already.
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

/// Calls a service of layers. The future is boxed outside of any async function; inside one, the compiler cannot prove that
/// the layers' future is `Send`.
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
    /// Adds the headers. It renews a plugin's token that is about to expire.
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

/// The names that an error needs.
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
            // kube's own text would show the command's environment and output.
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
        // `openssl x509 -req` makes this version by default. Go's TLS accepts it, rustls does not.
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

/// The end of validity of the certificate that rustls would present, in seconds since 1970, whatever its source.
fn client_certificate_not_after_s(settings: &ClientConfig) -> Option<i64> {
    let schemes = settings
        .crypto_provider()
        .signature_verification_algorithms
        .supported_schemes();
    let certified = settings.client_auth_cert_resolver.resolve(&[], &schemes)?;
    let (_, certificate) = x509_parser::parse_x509_certificate(certified.cert.first()?).ok()?;
    Some(certificate.validity().not_after.timestamp())
}

/// Returns the first line, cut to 300 characters.
fn shortened(text: &str) -> String {
    text.lines()
        .next()
        .unwrap_or_default()
        .chars()
        .take(300)
        .collect()
}
