//! Searches over the data port.

use super::*;

#[tokio::test]
async fn a_search_takes_its_parameters_and_answers_with_lines() {
    let world = World::start().await;
    let cookie = world.cookie();
    let own = [("Cookie", &*cookie), ("Sec-Fetch-Site", "same-origin")];
    let answer = world
        .ask("GET", "/api/search?q=a%2Fb+c&before=e.7&log=prod", &own)
        .await;
    assert_eq!(answer.status, 200);
    assert_eq!(
        answer.header("content-type"),
        Some("application/jsonl; charset=utf-8")
    );
    assert!(
        answer.body.contains(r#""a/b c" Some("prod") Some("e.7")"#),
        "{answer:?}"
    );
}

#[tokio::test]
async fn what_is_no_search_gets_400_and_a_position_that_is_not_kept_410() {
    let world = World::start().await;
    let cookie = world.cookie();
    let own = [("Cookie", &*cookie), ("Sec-Fetch-Site", "same-origin")];
    for (query, body) in [
        ("", "q: the text to search for is missing\n"),
        (
            "?since=e.1",
            "this route takes q, log and before, each once\n",
        ),
        (
            "?q=a&q=b",
            "this route takes q, log and before, each once\n",
        ),
        ("?q=%ff", "q: its value is not UTF-8\n"),
    ] {
        let answer = world.ask("GET", &format!("/api/search{query}"), &own).await;
        assert_eq!((answer.status, &*answer.body), (400, body));
    }
    let answer = world.ask("GET", "/api/search?q=kept", &own).await;
    assert_eq!(answer.status, 410);
    insta::assert_snapshot!(answer.body, @r#"{"type":"notKept","keptFrom":{"epoch":"e","seq":7,"at":"1970-01-01T00:00:00.000000Z"}}"#);
    assert_eq!(world.ask("POST", "/api/search?q=a", &own).await.status, 403);
}

#[tokio::test]
async fn a_closed_connection_ends_its_search() {
    let world = World::start().await;
    let mut said = world.hub.said.subscribe();
    let mut stream = world.connect().await;
    let cookie = world.cookie();
    let own = [("Cookie", &*cookie), ("Sec-Fetch-Site", "same-origin")];
    let asked = request("GET", "/api/search?q=stays", &world.host(), &own);
    stream.write_all(asked.as_bytes()).await.unwrap();
    let answer = read_answer(&mut stream).await;
    assert!(answer.body.contains("canary"), "{answer:?}");
    drop(stream);
    let dropped = timeout(PATIENCE, said.recv())
        .await
        .expect("the search ends");
    assert_eq!(&dropped.unwrap()[..], b"dropped");
}
