//! Arguments about the page: where it listens, and who may open it.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueHint};

use crate::web::listen::address;

/// How the page is served.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Page")]
pub(crate) struct ListenArgs {
    /// Address of the page; port 0 takes any [default: 127.0.0.1:8080, or the next free port]
    #[arg(long, env = "WATCHSCOPE_LISTEN", value_name = "ADDRESS:PORT", value_parser = address)]
    pub(crate) listen: Option<SocketAddr>,
    /// Another host name the page may be opened under; needed to listen off loopback
    #[arg(
        long,
        env = "WATCHSCOPE_ALLOW_HOST",
        value_name = "NAME",
        value_delimiter = ','
    )]
    pub(crate) allow_host: Vec<String>,
    /// Do not open the browser (it is opened only from a terminal)
    #[arg(long, env = "WATCHSCOPE_NO_OPEN")]
    pub(crate) no_open: bool,
    /// File whose content scripts send as bearer token to /api
    #[arg(long, env = "WATCHSCOPE_TOKEN_FILE", value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Serve /livez, /readyz and /metrics on this address
    #[arg(long, env = "WATCHSCOPE_HEALTH_LISTEN", value_name = "ADDRESS:PORT", value_parser = address)]
    pub(crate) health_listen: Option<SocketAddr>,
    /// Serve the page from this folder instead of from the binary
    #[arg(long, env = "WATCHSCOPE_UI_DIR", value_name = "FOLDER", value_hint = ValueHint::DirPath, hide = true)]
    pub(crate) ui_dir: Option<PathBuf>,
}
