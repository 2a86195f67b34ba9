//! A wire between watchscope and a server that the test can cut and mend.

use std::net::SocketAddr;

use anyhow::Result;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Passes connections on, byte by byte, until cut; then all of them are reset, and so is each new one.
pub(crate) struct Relay {
    pub(crate) origin: String,
    is_cut: watch::Sender<bool>,
    accepting: JoinHandle<()>,
}

impl Relay {
    pub(crate) async fn to(target: &str) -> Result<Self> {
        let target: SocketAddr = target.parse()?;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let origin = format!("http://{}", listener.local_addr()?);
        let (is_cut, cut) = watch::channel(false);
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(pass_on(stream, target, cut.clone()));
            }
        });
        Ok(Self {
            origin,
            is_cut,
            accepting,
        })
    }

    pub(crate) fn cut(&self) {
        self.is_cut.send_replace(true);
    }

    pub(crate) fn mend(&self) {
        self.is_cut.send_replace(false);
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.accepting.abort();
        self.cut();
    }
}

async fn pass_on(
    mut stream: TcpStream,
    target: SocketAddr,
    mut cut: watch::Receiver<bool>,
) -> Result<()> {
    let passing = async {
        let mut server = TcpStream::connect(target).await?;
        copy_bidirectional(&mut stream, &mut server).await
    };
    tokio::select! {
        biased;
        _ = cut.wait_for(|cut| *cut) => {}
        passed = passing => {
            passed?;
            return Ok(());
        }
    }
    // Without lingering, closing sends RST instead of FIN.
    stream.set_zero_linger()?;
    Ok(())
}
