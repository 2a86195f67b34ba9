//! The clients' loops in Go or Rust, and the line where each client stands.

use leptos::prelude::*;
use watchscope_model::wire::player::ClientNow;

use super::shown::mirrors;

/// A line of a loop, and the phases in which the client stands there.
type Line = (&'static str, &'static [&'static str]);

/// A program's name, with its version if that matters, and the program's loop.
type Loop = (&'static str, &'static [Line]);

const FOR: Line = ("for {", &[]);
const END: Line = ("}", &[]);
/// The one watch of a program that never watches again.
const ONE_WATCH: Line = ("w, _ := client.Watch(ctx, ListOptions{})", &["connecting"]);
/// The lines of the last version of `WatchDeployment`. Its edits change one of them each.
const WATCH: Line = (
    "  w, _ := client.Watch(ctx, ListOptions{})",
    &["connecting"],
);
const UNTIL_IDLE: Line = (
    "  for ev := range until(w, 30*time.Minute) {",
    &["watching"],
);
const APPLY: Line = ("    apply(ev)", &[]);
const APPLY_ONCE: Line = ("  apply(ev)", &[]);
const END_INNER: Line = ("  }", &[]);
const SLEEP: Line = ("  time.Sleep(5 * time.Second)", &["sleeping"]);

/// The program of kube-rs, whose loops are in Rust.
const KUBE_RS: &str = "kube-rs-watcher";
const LOOP: Line = ("loop {", &[]);
const KUBE_LIST: Line = ("  let (list, mut rv) = list().await;", &["listing"]);
const KUBE_REPLACE: Line = ("  store.replace(list); // what is gone, goes", &[]);
const KUBE_WHILE: Line = ("  while !is_gone {", &[]);
const KUBE_HANDLE: Line = (
    "    (rv, is_gone) = handle(w, &store).await;",
    &["watching", "syncing"],
);
const KUBE_END: Line = ("  } // only an ERROR 410 leads to the list", &[]);

const LOOPS: &[Loop] = &[
    (
        "kube-rs-watcher 4",
        &[
            LOOP,
            KUBE_LIST,
            KUBE_REPLACE,
            KUBE_WHILE,
            (
                "    let w = watch(&rv, bookmarks(true)).await;",
                &["connecting", "backoff"],
            ),
            KUBE_HANDLE,
            KUBE_END,
            END,
        ],
    ),
    (
        "kube-rs-watcher 4-no-bookmarks",
        &[
            LOOP,
            KUBE_LIST,
            KUBE_REPLACE,
            KUBE_WHILE,
            (
                "    let w = watch(&rv, bookmarks(false)).await;",
                &["connecting", "backoff"],
            ),
            KUBE_HANDLE,
            KUBE_END,
            END,
        ],
    ),
    (
        "retry-watcher",
        &[
            ("list, _ := client.List(ctx, ListOptions{})", &["listing"]),
            ("w, _ := NewRetryWatcher(version(list), lw)", &[]),
            (
                "for ev := range w.ResultChan() {",
                &["connecting", "watching", "backoff"],
            ),
            ("  if ev.Type == watch.Error { return }", &["returned"]),
            APPLY_ONCE,
            END,
        ],
    ),
    (
        "informer",
        &[
            FOR,
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
            END,
        ],
    ),
    (
        "e2e-pvc-loop broken",
        &[
            ONE_WATCH,
            ("deadline := time.After(30 * time.Second)", &[]),
            FOR,
            ("  select {", &[]),
            ("  case ev := <-w.ResultChan():", &["watching"]),
            ("    fmt.Println(ev.Type, ev.Object)", &["spinning"]),
            ("    if ev.Type == watch.Deleted { return }", &["done"]),
            ("  case <-deadline:", &[]),
            ("    t.Fatal(\"not deleted in time\")", &["failed"]),
            END_INNER,
            END,
        ],
    ),
    (
        "e2e-pvc-loop fixed",
        &[
            ONE_WATCH,
            ("deadline := time.After(30 * time.Second)", &[]),
            FOR,
            ("  select {", &[]),
            ("  case ev, ok := <-w.ResultChan():", &["watching"]),
            ("    if !ok { t.Fatal(\"channel closed\") }", &["failed"]),
            ("    if ev.Type == watch.Deleted { return }", &["done"]),
            ("  case <-deadline:", &[]),
            ("    t.Fatal(\"not deleted in time\")", &[]),
            END_INNER,
            END,
        ],
    ),
    (
        "watch-deployment v1",
        &[
            ONE_WATCH,
            FOR,
            ("  ev, ok := <-w.ResultChan()", &["watching"]),
            ("  if !ok { return nil }", &["returned"]),
            APPLY_ONCE,
            END,
        ],
    ),
    (
        "watch-deployment v2",
        &[
            ONE_WATCH,
            FOR,
            ("  ev, ok := <-w.ResultChan()", &["watching"]),
            (
                "  if !ok { log.Error(\"closed\"); continue }",
                &["spinning"],
            ),
            APPLY_ONCE,
            END,
        ],
    ),
    (
        "watch-deployment final",
        &[FOR, WATCH, UNTIL_IDLE, APPLY, END_INNER, SLEEP, END],
    ),
    (
        "watch-deployment final-short-sleep",
        &[
            FOR,
            WATCH,
            UNTIL_IDLE,
            APPLY,
            END_INNER,
            (
                "  time.Sleep(100 * time.Millisecond) // changed",
                &["sleeping"],
            ),
            END,
        ],
    ),
    (
        "watch-deployment final-short-timer",
        &[
            FOR,
            WATCH,
            (
                "  for ev := range until(w, time.Minute) { // changed",
                &["watching"],
            ),
            APPLY,
            END_INNER,
            SLEEP,
            END,
        ],
    ),
    (
        "watch-deployment final-resumes",
        &[
            FOR,
            (
                "  w, _ := client.Watch(ctx, from(last)) // changed",
                &["connecting"],
            ),
            UNTIL_IDLE,
            ("    last = apply(ev)", &[]),
            END_INNER,
            SLEEP,
            END,
        ],
    ),
    (
        "resume-from-last-event",
        &[
            ("last := \"\"", &[]),
            FOR,
            ("  w, _ := client.Watch(ctx, from(last))", &["connecting"]),
            ("  for ev := range w.ResultChan() {", &["watching"]),
            APPLY,
            ("    last = ev.Object.ResourceVersion", &[]),
            END_INNER,
            ("  time.Sleep(time.Second)", &["sleeping"]),
            END,
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
    let language = if client.program == KUBE_RS {
        "Rust"
    } else {
        "Go"
    };
    Some(view! {
        <h3>{format!("{}, in {language}", client.name)}<span class="quiet">{phase.clone()}</span></h3>
        <pre tabindex="0">{lines.collect_view()}</pre>
    })
}
