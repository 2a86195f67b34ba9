//! One cluster and the sessions with it. A session's credentials are renewed when they fail.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use http::HeaderMap;
use rustls::pki_types::UnixTime;
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};
use tokio::time::{Instant, timeout};

use super::config::{ClusterConfig, ConfigSource};
use super::credentials::{Authorizer, CredentialError, Credentials, PLUGIN_LIMIT};
use crate::transport::{Connector, DialLimits, Protocols, Target};

/// The shortest time between two renewals of failing credentials, for all watches together.
const RENEW_AT_MOST_EVERY: Duration = Duration::from_secs(2);

/// The seconds before its expiry at which a client certificate is renewed.
const RENEW_BEFORE_EXPIRY_S: u64 = 30;

/// One generation of TLS settings and credentials. Connections that were opened with it stay open when it is replaced.
pub struct Session {
    generation: u64,
    connector: Connector,
    authorizer: Authorizer,
    certificate_not_after_s: Option<i64>,
}

impl Session {
    /// The number of the session: 1 for the first, one more with each renewal.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// The connector that opens connections with this session's TLS settings.
    pub fn connector(&self) -> &Connector {
        &self.connector
    }

    /// Adds the credentials' headers to those of a request. It reads a token file again, and renews a plugin's token that is
    /// about to expire.
    ///
    /// The future is boxed, because the compiler cannot prove that the layers' futures are `Send`.
    pub fn authorize<'a>(
        &'a self,
        headers: &'a mut HeaderMap,
    ) -> BoxFuture<'a, Result<(), CredentialError>> {
        Box::pin(self.authorizer.authorize(headers))
    }

    fn is_expiring(&self) -> bool {
        // A certificate's validity is in wall-clock time. rustls reads the same clock to verify it.
        let soon = UnixTime::now()
            .as_secs()
            .saturating_add(RENEW_BEFORE_EXPIRY_S);
        self.certificate_not_after_s
            .is_some_and(|not_after| i64::try_from(soon).unwrap_or(i64::MAX) >= not_after)
    }
}

/// The cluster that is watched, shared by all its watches.
pub struct Cluster {
    source: ConfigSource,
    limits: DialLimits,
    protocols: Protocols,
    current: Mutex<Current>,
    /// Locked while credentials are built, by the building thread itself. So a plugin that exceeds its timeout is not
    /// started a second time.
    building: Arc<AsyncMutex<()>>,
}

struct Current {
    config: Arc<ClusterConfig>,
    session: Option<Arc<Session>>,
    generation: u64,
    last_renewal: Option<Instant>,
    /// The failure of the last build. It is returned again until the next build may start.
    failure: Option<CredentialError>,
}

impl Cluster {
    /// Makes a cluster from its configuration. It builds nothing yet: a failing plugin is a failure of the first session,
    /// which is retried like any other.
    pub fn new(
        source: &ConfigSource,
        config: ClusterConfig,
        protocols: Protocols,
        limits: DialLimits,
    ) -> Self {
        Self {
            source: source.pinned_to(&config),
            limits,
            protocols,
            current: Mutex::new(Current {
                config: Arc::new(config),
                session: None,
                generation: 0,
                last_renewal: None,
                failure: None,
            }),
            building: Arc::new(AsyncMutex::new(())),
        }
    }

    /// The configuration in use.
    pub fn config(&self) -> Arc<ClusterConfig> {
        Arc::clone(&self.current().config)
    }

    /// Returns the session with which to open connections. It builds a new one if there is none, or if the client
    /// certificate is about to expire.
    pub async fn session(&self) -> Result<Arc<Session>, CredentialError> {
        if let Some(session) = self.usable_session() {
            return Ok(session);
        }
        let building = self.start_building().await?;
        match self.usable_session() {
            Some(session) => Ok(session),
            None => {
                let is_reload = self.current().session.is_some();
                self.build(building, is_reload).await
            }
        }
    }

    /// Returns a session after the server answered `used` with 401, or rejected its TLS settings. It reads and builds
    /// everything again, unless another caller did so since, or did so less than 2 s ago. In the latter
    /// case it returns `used` again, and the caller's backoff must wait. On an error `used` stays in use.
    pub async fn renew(&self, used: &Session) -> Result<Arc<Session>, CredentialError> {
        let building = self.start_building().await?;
        {
            let current = self.current();
            let is_too_soon = current
                .last_renewal
                .is_some_and(|at| at.elapsed() < RENEW_AT_MOST_EVERY);
            if let Some(session) = &current.session
                && (session.generation != used.generation || is_too_soon)
            {
                return Ok(Arc::clone(session));
            }
        }
        self.build(building, true).await
    }

    /// Whether requests may still be sent over connections opened with this session. They may not if it was replaced, or if
    /// its client certificate is about to expire: a connection keeps its certificate for life.
    pub(crate) fn is_in_use(&self, session: &Session) -> bool {
        let current = self.current();
        let is_current = current
            .session
            .as_ref()
            .is_some_and(|current| current.generation == session.generation);
        is_current && !session.is_expiring()
    }

    async fn start_building(&self) -> Result<OwnedMutexGuard<()>, CredentialError> {
        let waiting = Arc::clone(&self.building).lock_owned();
        match timeout(PLUGIN_LIMIT, waiting).await {
            Ok(guard) => Ok(guard),
            Err(_) => Err(self.plugin_timeout()),
        }
    }

    async fn build(
        &self,
        building: OwnedMutexGuard<()>,
        is_reload: bool,
    ) -> Result<Arc<Session>, CredentialError> {
        {
            let mut current = self.current();
            let is_too_soon = current
                .last_renewal
                .is_some_and(|at| at.elapsed() < RENEW_AT_MOST_EVERY);
            if let (true, Some(failure)) = (is_too_soon, &current.failure) {
                return Err(failure.clone());
            }
            if is_reload || current.failure.is_some() {
                current.last_renewal = Some(Instant::now());
            }
        }
        let source = is_reload.then(|| self.source.clone());
        let config = self.config();
        let built = tokio::task::spawn_blocking(move || (build(source, config), building));
        // The guard comes back with the result, and is held until the result is stored. After a timeout the thread still
        // holds it.
        let (built, _building) = match timeout(PLUGIN_LIMIT, built).await {
            Ok(Ok((result, building))) => (result, Some(building)),
            Ok(Err(join_error)) => (
                Err(CredentialError::Reload {
                    detail: join_error.to_string(),
                }),
                None,
            ),
            Err(_) => (Err(self.plugin_timeout()), None),
        };
        let mut current = self.current();
        match built {
            Ok((config, credentials)) => {
                current.generation += 1;
                let target = Target {
                    endpoint: config.endpoint.clone(),
                    pin: None,
                    proxy: config.proxy.clone(),
                    tls: credentials.tls,
                    tls_server_name: config.kube.tls_server_name.clone(),
                    protocols: self.protocols,
                };
                let session = Arc::new(Session {
                    generation: current.generation,
                    connector: Connector::new(target, self.limits),
                    authorizer: credentials.authorizer,
                    certificate_not_after_s: credentials.certificate_not_after_s,
                });
                current.config = config;
                current.failure = None;
                current.session = Some(Arc::clone(&session));
                Ok(session)
            }
            Err(error) => {
                current.failure = Some(error.clone());
                current.last_renewal = Some(Instant::now());
                Err(error)
            }
        }
    }

    fn usable_session(&self) -> Option<Arc<Session>> {
        let current = self.current();
        let session = current.session.as_ref()?;
        // An expiring session stays usable if a renewal was tried a moment ago.
        let was_just_renewed = current
            .last_renewal
            .is_some_and(|at| at.elapsed() < RENEW_AT_MOST_EVERY);
        (was_just_renewed || !session.is_expiring()).then(|| Arc::clone(session))
    }

    fn plugin_timeout(&self) -> CredentialError {
        let info = &self.current().config.kube.auth_info;
        let program = info
            .exec
            .as_ref()
            .and_then(|exec| exec.command.clone())
            .unwrap_or_default();
        CredentialError::PluginTimeout {
            program,
            limit: PLUGIN_LIMIT,
        }
    }

    fn current(&self) -> MutexGuard<'_, Current> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads the configuration again if a source is given, then builds credentials from it.
fn build(
    source: Option<ConfigSource>,
    config: Arc<ClusterConfig>,
) -> Result<(Arc<ClusterConfig>, Credentials), CredentialError> {
    let config = match source {
        Some(source) => Arc::new(source.load().map_err(|error| CredentialError::Reload {
            detail: error.to_string(),
        })?),
        None => config,
    };
    let credentials = Credentials::build(&config)?;
    Ok((config, credentials))
}
