//! Arguments of `open`: which watchscope in a cluster, and where its page is reached.

use clap::{Args, value_parser};

use super::cluster::KubeconfigArgs;

/// Arguments of `open`.
#[derive(Clone, Debug, Args)]
pub(crate) struct OpenArgs {
    /// Namespace in which watchscope runs
    #[arg(short, long, value_name = "NAME", default_value = "watchscope")]
    pub(crate) namespace: String,
    /// Local port of the page [default: any free one]
    #[arg(long, value_name = "PORT", value_parser = value_parser!(u16).range(1..))]
    pub(crate) port: Option<u16>,
    /// Do not open the browser (it is opened only from a terminal)
    #[arg(long, env = "WATCHSCOPE_NO_OPEN")]
    pub(crate) no_open: bool,
    /// The kubeconfig, and its context.
    #[command(flatten)]
    pub(crate) config: KubeconfigArgs,
}
