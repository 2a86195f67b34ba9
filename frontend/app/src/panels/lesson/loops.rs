//! The clients' loops in Go, and the line where each client stands.

use leptos::prelude::*;
use watchscope_model::wire::player::ClientNow;

use super::shown::mirrors;

/// A line of a loop, and the phases in which the client stands there.
type Line = (&'static str, &'static [&'static str]);

/// A program's name, with its version if that matters, and the program's loop.
type Loop = (&'static str, &'static [Line]);

const LOOPS: [Loop; 10] = [
    (
        "informer",
        &[
            ("for {", &[]),
            (
                "  list, rv, err := client.List(ctx, from(rv))",
                &["listing"],
            ),
            ("  store.Replace(list) // what is gone, goes", &[]),
            ("  for err == nil {", &[]),
            ("    w, err = client.Watch(ctx, from(rv))", &["connecting"]),
            ("    rv, err = handle(w, store)", &["watching", "syncing"]),
            ("  } // on any ERROR from the list again", &[]),
            ("  backoff.Wait()", &["backoff"]),
            ("}", &[]),
        ],
    ),
    (
        "e2e-pvc-loop broken",
        &[
            ("w, _ := client.Watch(ctx, ListOptions{})", &["connecting"]),
            ("deadline := time.After(30 * time.Second)", &[]),
            ("for {", &[]),
            ("  select {", &[]),
            ("  case ev := <-w.ResultChan():", &["watching"]),
            ("    fmt.Println(ev.Type, ev.Object)", &["spinning"]),
            ("    if ev.Type == watch.Deleted { return }", &["done"]),
            ("  case <-deadline:", &[]),
            ("    t.Fatal(\"not deleted in time\")", &["failed"]),
            ("  }", &[]),
            ("}", &[]),
        ],
    ),
    (
        "e2e-pvc-loop fixed",
        &[
            ("w, _ := client.Watch(ctx, ListOptions{})", &["connecting"]),
            ("deadline := time.After(30 * time.Second)", &[]),
            ("for {", &[]),
            ("  select {", &[]),
            ("  case ev, ok := <-w.ResultChan():", &["watching"]),
            ("    if !ok { t.Fatal(\"channel closed\") }", &["failed"]),
            ("    if ev.Type == watch.Deleted { return }", &["done"]),
            ("  case <-deadline:", &[]),
            ("    t.Fatal(\"not deleted in time\")", &[]),
            ("  }", &[]),
            ("}", &[]),
        ],
    ),
    (
        "watch-deployment v1",
        &[
            ("w, _ := client.Watch(ctx, ListOptions{})", &["connecting"]),
            ("for {", &[]),
            ("  ev, ok := <-w.ResultChan()", &["watching"]),
            ("  if !ok { return nil }", &["returned"]),
            ("  apply(ev)", &[]),
            ("}", &[]),
        ],
    ),
    (
        "watch-deployment v2",
        &[
            ("w, _ := client.Watch(ctx, ListOptions{})", &["connecting"]),
            ("for {", &[]),
            ("  ev, ok := <-w.ResultChan()", &["watching"]),
            (
                "  if !ok { log.Error(\"closed\"); continue }",
                &["spinning"],
            ),
            ("  apply(ev)", &[]),
            ("}", &[]),
        ],
    ),
    (
        "watch-deployment final-short-sleep",
        &[
            ("for {", &[]),
            (
                "  w, _ := client.Watch(ctx, ListOptions{})",
                &["connecting"],
            ),
            (
                "  for ev := range until(w, 30*time.Minute) {",
                &["watching"],
            ),
            ("    apply(ev)", &[]),
            ("  }", &[]),
            (
                "  time.Sleep(100 * time.Millisecond) // changed",
                &["sleeping"],
            ),
            ("}", &[]),
        ],
    ),
    (
        "watch-deployment final-short-timer",
        &[
            ("for {", &[]),
            (
                "  w, _ := client.Watch(ctx, ListOptions{})",
                &["connecting"],
            ),
            (
                "  for ev := range until(w, time.Minute) { // changed",
                &["watching"],
            ),
            ("    apply(ev)", &[]),
            ("  }", &[]),
            ("  time.Sleep(5 * time.Second)", &["sleeping"]),
            ("}", &[]),
        ],
    ),
    (
        "watch-deployment final-resumes",
        &[
            ("for {", &[]),
            (
                "  w, _ := client.Watch(ctx, from(last)) // changed",
                &["connecting"],
            ),
            (
                "  for ev := range until(w, 30*time.Minute) {",
                &["watching"],
            ),
            ("    last = apply(ev)", &[]),
            ("  }", &[]),
            ("  time.Sleep(5 * time.Second)", &["sleeping"]),
            ("}", &[]),
        ],
    ),
    (
        "watch-deployment final",
        &[
            ("for {", &[]),
            (
                "  w, _ := client.Watch(ctx, ListOptions{})",
                &["connecting"],
            ),
            (
                "  for ev := range until(w, 30*time.Minute) {",
                &["watching"],
            ),
            ("    apply(ev)", &[]),
            ("  }", &[]),
            ("  time.Sleep(5 * time.Second)", &["sleeping"]),
            ("}", &[]),
        ],
    ),
    (
        "resume-from-last-event",
        &[
            ("last := \"\"", &[]),
            ("for {", &[]),
            ("  w, _ := client.Watch(ctx, from(last))", &["connecting"]),
            ("  for ev := range w.ResultChan() {", &["watching"]),
            ("    apply(ev)", &[]),
            ("    last = ev.Object.ResourceVersion", &[]),
            ("  }", &[]),
            ("  time.Sleep(time.Second)", &["sleeping"]),
            ("}", &[]),
        ],
    ),
];

/// The loops of all clients that have one.
#[component]
pub(super) fn Loops() -> impl IntoView {
    let shown = mirrors();
    let clients = Memo::new(move |_| shown.beside.with(|beside| beside.clients.clone()));
    view! {
        <section class="loops" aria-label="The clients' loops">
            {move || clients.with(|clients| clients.iter().filter_map(client).collect_view())}
        </section>
    }
}

fn client(client: &ClientNow) -> Option<impl IntoView + use<>> {
    let named = |name: &str| LOOPS.iter().find(|(known, _)| *known == name);
    let version = client.version.as_deref().unwrap_or_default();
    let (_, lines) =
        named(&format!("{} {version}", client.program)).or_else(|| named(&client.program))?;
    let phase = client.phase.clone().unwrap_or_default();
    let lines = lines.iter().map(|(code, phases)| {
        let stands = phases.contains(&&*phase);
        view! { <span class:stands=stands aria-current=stands.then_some("step")>{*code}</span> }
    });
    Some(view! {
        <h3>{format!("{}, in Go", client.name)}<span class="quiet">{phase.clone()}</span></h3>
        <pre tabindex="0">{lines.collect_view()}</pre>
    })
}
