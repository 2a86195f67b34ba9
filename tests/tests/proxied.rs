//! The page under a name other than loopback's: over plain http, and behind a proxy that terminates TLS.
//!
//! Browsers treat such names differently: only here do they send no site with a fetch, and require `Secure` cookies.
//! This covers rows 3 and 10 of the attack table; `web/tests/crossing.rs` has the same rules as raw HTTP.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use watchscope_tests::loopback::self_signed;
use watchscope_tests::{Browser, BrowserTools, Served, WatchscopeBinary, eventually, or_skip};

use crate::browser::{LONG, Tab, has_page};
use crate::http;
use crate::search::opens_search;

/// A name that resolves to this machine; the browser does not know that it is loopback.
const NAME: &str = "scope.test";
const FLAGS: [&str; 2] = [
    "--host-resolver-rules=MAP scope.test 127.0.0.1",
    "--ignore-certificate-errors",
];

/// Sends `GET /api/state` from the page, with and without the page's header, and reads whether there is a session.
const ASK: &str = "
    const status = async headers => {
        const answer = await fetch('api/state', {headers});
        await answer.body.cancel();
        return answer.status;
    };
    return (async () => ({
        bare: await status({}),
        page: await status({'X-Watchscope-Page': '1'}),
        session: (await (await fetch('session')).json()).session,
    }))();";

async fn served(binary: &WatchscopeBinary) -> Result<(Served, SocketAddr)> {
    let served = Served::start(binary.with(&["demo", "--allow-host", NAME])).await?;
    let address = http::address(served.link.origin()).parse()?;
    Ok((served, address))
}

/// A proxy that removes TLS and passes everything else on unchanged, including Host and its port; it ends when dropped.
struct Proxy {
    address: SocketAddr,
    _serving: JoinSet<()>,
}

impl Proxy {
    async fn to(target: SocketAddr) -> Result<Self> {
        let (config, _) = self_signed(NAME)?;
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            let mut conversations = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let acceptor = acceptor.clone();
                conversations.spawn(async move {
                    // If either side ends the connection, the browser opens another.
                    let mut client = acceptor.accept(stream).await.ok()?;
                    let mut server = TcpStream::connect(target).await.ok()?;
                    copy_bidirectional(&mut client, &mut server).await.ok()
                });
            }
        });
        Ok(Self {
            address,
            _serving: serving,
        })
    }
}

#[tokio::test]
async fn over_plain_http_under_an_allowed_name_the_page_is_live_and_its_header_gives_access()
-> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let tools = or_skip!(BrowserTools::find());
    let (served, address) = served(&binary).await?;
    or_skip!(has_page(&served.link).await);
    let browser = Browser::start_with(&tools, &FLAGS).await?;
    let tab = Tab(browser.driver());
    let secret = served.link.secret().context("a secret")?;
    let page = format!("http://{NAME}:{}", address.port());
    browser.driver().goto(format!("{page}/#t={secret}")).await?;
    tab.is_live().await?;
    assert_eq!(
        tab.script(ASK).await?,
        json!({"bare": 403, "page": 200, "session": true})
    );
    // The page's own fetches have the header: of a search, and of notes.
    opens_search(&tab).await?;
    let keys = browser.driver().action_chain().send_keys("feature-flags");
    keys.perform().await?;
    eventually("the search has hits", LONG, async || {
        let words = tab.text("[data-part=search-count]").await?;
        ensure!(words.parse::<u32>().is_ok_and(|hits| hits > 0), "{words}");
        Ok(())
    })
    .await?;
    Ok(())
}

#[tokio::test]
async fn behind_tls_the_page_is_live_and_its_session_is_invalid_over_plain_http() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let tools = or_skip!(BrowserTools::find());
    let (served, address) = served(&binary).await?;
    or_skip!(has_page(&served.link).await);
    let proxy = Proxy::to(address).await?;
    let browser = Browser::start_with(&tools, &FLAGS).await?;
    let driver = browser.driver();
    let tab = Tab(driver);
    let secret = served.link.secret().context("a secret")?;
    let page = format!("https://{NAME}:{}", proxy.address.port());
    driver.goto(format!("{page}/#t={secret}")).await?;
    tab.is_live().await?;
    assert_eq!(
        tab.script(ASK).await?,
        json!({"bare": 200, "page": 200, "session": true})
    );
    let cookies = driver.get_all_cookies().await?;
    let secure: Vec<_> = cookies.iter().map(|cookie| cookie.secure).collect();
    assert_eq!(secure, [Some(true)], "{cookies:?}");

    driver
        .goto(format!("http://{NAME}:{}/", address.port()))
        .await?;
    assert_eq!(
        tab.script(ASK).await?,
        json!({"bare": 401, "page": 401, "session": false})
    );
    Ok(())
}
