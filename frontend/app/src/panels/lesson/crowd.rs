//! The histogram of the requests of all clients, and of the ends of their watches: by server, up to the pen.

use leptos::prelude::*;
use watchscope_model::wire::player::{CROWD_SECONDS, CrowdNow};

use super::shown::mirrors;

/// The least number at the top of the scale, so that a handful is no crowd.
const LEAST: u32 = 20;

/// The histogram, a row for each server.
#[component]
pub(super) fn Crowd() -> impl IntoView {
    let shown = mirrors();
    let now = Memo::new(move |_| {
        shown.beside.with(|beside| {
            let second = u32::try_from(beside.at_us / 1_000_000).unwrap_or(0);
            (second, beside.servers.clone(), beside.crowd.clone())
        })
    });
    let rows = move || {
        now.with(|(second, servers, crowd)| {
            let counts = crowd.iter().map(|one| one.requests.max(one.ends));
            let most = counts.max().unwrap_or(0).max(LEAST);
            let from = (second + 1).saturating_sub(CROWD_SECONDS);
            let rows = (0..).zip(servers).map(|(server, version)| {
                let own = crowd.iter().filter(|one| one.server == server);
                let own: Vec<CrowdNow> = own.cloned().collect();
                row(&format!("apiserver {server}, {version}"), &own, from, most)
            });
            rows.collect_view()
        })
    };
    view! {
        <section class="crowd" aria-label="Requests and ends">
            <h3>"Requests and ends"</h3>
            <p class="quiet">"A second a column: requests, and in red the ends of watches."</p>
            {rows}
        </section>
    }
}

/// Returns the histogram of one server, from a second on, with `most` at the top.
fn row(name: &str, own: &[CrowdNow], from: u32, most: u32) -> impl IntoView + use<> {
    let share = |count: u32| format!("{:.3}", f64::from(count) / f64::from(most));
    let columns = (from..from + CROWD_SECONDS).map(|second| {
        let one = own.iter().find(|one| one.second == second);
        let (requests, ends) = one.map_or((0, 0), |one| (one.requests, one.ends));
        view! { <i style:--asked=share(requests) style:--ended=share(ends)></i> }
    });
    let words = own.iter().map(|one| {
        let CrowdNow {
            second,
            requests,
            ends,
            refusals,
            ..
        } = one;
        format!("{second} s: {requests} requests, {ends} ends, {refusals} refused")
    });
    let words: Vec<String> = words.collect();
    let sum = |of: fn(&CrowdNow) -> u32| own.iter().map(of).sum::<u32>();
    let total = format!(
        "{name}: {} requests, {} ends, {} refused since {from} s",
        sum(|one| one.requests),
        sum(|one| one.ends),
        sum(|one| one.refusals),
    );
    view! {
        <p>{total.clone()}</p>
        <div class="bars" role="img" aria-label=format!("{total}. {}", words.join("; "))>
            {columns.collect_view()}
        </div>
        <p class="scale" aria-hidden="true">
            <span>{format!("{from} s")}</span>
            <span>{format!("{} s", from + CROWD_SECONDS)}</span>
        </p>
    }
}
