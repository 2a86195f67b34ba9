//! The life of the page: listen, print the link, open the browser, and serve until the stop.

use std::io::{IsTerminal as _, Write as _};
use std::sync::Arc;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::args::ListenArgs;
use super::browser;
use super::exit::Failure;
use crate::control::{ControlSocket, Folders};
use crate::history::HistoryState;
use crate::hub::LogHub;
use crate::log::LogHandle;
use crate::origin::AllowedHosts;
use crate::scrape::Scraper;
use crate::session::{BROWSER_LINK_LIFETIME, Base, LINK_LIFETIME, Link, Sessions, TokenFile};
use crate::stop::stopped;
use crate::web::listen::{Listen, link_base};
use crate::web::{
    self, EmbeddedPage, Limits, PageSource, Policy, Refusals, Traffic, WebConfig, health,
};

/// The checked arguments of the page. They are checked first, so that wrong usage is reported before a failure.
pub(super) struct Plan {
    listen: Listen,
    hosts: AllowedHosts,
    args: ListenArgs,
    embedded: EmbeddedPage,
}

/// A page that listens and has not printed its link yet.
pub(super) struct Page {
    listener: TcpListener,
    health: Option<TcpListener>,
    hosts: AllowedHosts,
    sessions: Sessions,
    token_file: Option<TokenFile>,
    base: Base,
    control: Option<ControlSocket>,
    args: ListenArgs,
    embedded: EmbeddedPage,
}

impl Plan {
    /// Checks the arguments.
    ///
    /// # Errors
    /// Exit code 2.
    pub(super) fn of(args: ListenArgs, embedded: EmbeddedPage) -> Result<Self, Failure> {
        let hosts = AllowedHosts::new(&args.allow_host).map_err(Failure::usage)?;
        let listen = args.listen.map_or(Listen::Default, Listen::At);
        listen.check(&hosts).map_err(Failure::usage)?;
        Ok(Self {
            listen,
            hosts,
            args,
            embedded,
        })
    }

    /// Takes the port, the token file and the token socket.
    ///
    /// # Errors
    /// Exit code 1.
    pub(super) async fn open(self) -> Result<Page, Failure> {
        let Self {
            listen,
            hosts,
            args,
            embedded,
        } = self;
        let token_file = match &args.token_file {
            None => None,
            Some(path) => Some(TokenFile::open(path).map_err(Failure::failed)?),
        };
        let listener = listen.bind(&hosts).await.map_err(Failure::failed)?;
        let address = listener.local_addr().map_err(Failure::failed)?;
        let health = match args.health_listen {
            None => None,
            Some(address) => Some(TcpListener::bind(address).await.map_err(|error| {
                Failure::failed(format!(
                    "--health-listen {address}: cannot listen there: {error}"
                ))
            })?),
        };
        let control = ControlSocket::bind(&Folders::of_this_user(), address.port())
            .map_err(|error| {
                tracing::warn!("`watchscope token` will not find this instance: {error}")
            })
            .ok();
        let base = link_base(address, &hosts);
        Ok(Page {
            listener,
            health,
            sessions: Sessions::new(),
            token_file,
            base,
            control,
            hosts,
            args,
            embedded,
        })
    }
}

impl Page {
    /// Prints the link, opens the browser if there is a terminal, and serves until `end` turns true and the viewers have
    /// gone. `/readyz` fails from the moment when `stop` turns true; `/livez` answers to the end.
    ///
    /// With in-cluster configuration the link has no secret, because the output of a pod is shipped elsewhere. `watchscope
    /// token` makes the first link there.
    pub(super) async fn run(
        self,
        hub: LogHub,
        log: LogHandle,
        history: watch::Receiver<Option<HistoryState>>,
        is_in_cluster: bool,
        stop: watch::Receiver<bool>,
        mut end: watch::Receiver<bool>,
    ) -> Result<(), Failure> {
        self.announce(is_in_cluster)?;
        let refusals = Arc::new(Refusals::default());
        let traffic = Arc::new(Traffic::default());
        let viewers = hub.totals();
        let router = web::router(
            hub,
            WebConfig {
                policy: Policy {
                    hosts: self.hosts.clone(),
                    sessions: self.sessions.clone(),
                    token_file: self.token_file.clone(),
                },
                page: match &self.args.ui_dir {
                    Some(folder) => PageSource::Folder(folder.clone()),
                    None => PageSource::Embedded(self.embedded),
                },
                refusals: Arc::clone(&refusals),
            },
        );
        let health = self.health.map(|listener| {
            let ready = move || {
                if *stop.borrow() {
                    Err("shutting down".to_owned())
                } else {
                    Ok(())
                }
            };
            let scraper = Arc::new(Scraper::new(
                log,
                viewers,
                Arc::clone(&traffic),
                refusals,
                history,
            ));
            let text = move |form| {
                let scraper = Arc::clone(&scraper);
                async move { scraper.text(form).await }
            };
            web::serve(
                listener,
                health::router(ready, text),
                Limits::few(),
                Arc::default(),
                std::future::pending(),
            )
        });
        let serving = web::serve(
            self.listener,
            router,
            Limits::of_this_process(),
            traffic,
            async move { stopped(&mut end).await },
        );
        let (sessions, base, hosts, control) = (self.sessions, self.base, self.hosts, self.control);
        let answering_tokens = async {
            if let Some(control) = &control {
                control.serve(&sessions, &base, &hosts).await;
            }
        };
        let answering_health = async {
            if let Some(health) = health {
                health.await;
            }
        };
        let beside = async {
            tokio::join!(
                answering_tokens,
                answering_health,
                links_on_enter(&sessions, &base, is_in_cluster)
            );
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = serving => {}
            () = beside => {}
        }
        Ok(())
    }

    fn announce(&self, is_in_cluster: bool) -> Result<(), Failure> {
        let link = if is_in_cluster {
            Link {
                base: self.base.clone(),
                secret: None,
            }
        } else {
            self.sessions.new_link(self.base.clone(), LINK_LIFETIME)
        };
        let mut out = std::io::stdout().lock();
        // A closed standard output needs no link. The page is served all the same.
        let _ = writeln!(out, "{link}").and_then(|()| out.flush());
        if !is_in_cluster && browser::is_wanted(self.args.no_open) {
            let link = self
                .sessions
                .new_link(self.base.clone(), BROWSER_LINK_LIFETIME);
            browser::show(&link.to_string());
        }
        if self.embedded.is_stub {
            tracing::warn!(
                "this binary was built without the page; `cargo xtask build --release` builds it whole"
            );
        }
        Ok(())
    }
}

/// Prints another link to standard error at each Enter in the terminal. Standard output has its one line already.
async fn links_on_enter(sessions: &Sessions, base: &Base, is_in_cluster: bool) {
    if is_in_cluster || !std::io::stdin().is_terminal() {
        return std::future::pending().await;
    }
    eprint_line("Press Enter for another link, Ctrl-C to stop.");
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Ok(Some(_)) = lines.next_line().await {
        eprint_line(&sessions.new_link(base.clone(), LINK_LIFETIME).to_string());
    }
    std::future::pending().await
}

/// Writes a line to standard error.
pub(super) fn eprint_line(line: &str) {
    // An unwritable standard error is ignored.
    let _ = writeln!(std::io::stderr(), "{line}");
}
