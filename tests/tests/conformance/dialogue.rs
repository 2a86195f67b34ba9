//! The requests of an exchange to one server, and the transcript that they leave.

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

use super::side::{Side, Who};
use super::wire::{Address, Ask, Head, Stream};

/// One request and its whole answer.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) ask: Ask,
    pub(super) head: Head,
    /// The body as text. A watch has an entry for each line that was read.
    pub(super) body: Vec<String>,
    /// How the body ended: `whole`; `left` by us while it ran; `ended` by the server in order.
    pub(super) end: &'static str,
}

/// An answer that was read to its end.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Value,
}

impl Answer {
    /// Returns the resourceVersion of the object or list in the answer.
    pub(super) fn version(&self) -> Result<String> {
        text_at(&self.body, "/metadata/resourceVersion")
    }

    /// Returns the text at a JSON pointer.
    pub(super) fn text(&self, pointer: &str) -> Result<String> {
        text_at(&self.body, pointer)
    }
}

fn text_at(value: &Value, pointer: &str) -> Result<String> {
    let found = value.pointer(pointer).and_then(Value::as_str);
    Ok(found
        .with_context(|| format!("no {pointer} in {value}"))?
        .to_owned())
}

/// A running watch; the lines that are read from it go into its step.
#[derive(Debug)]
pub(super) struct Watch {
    step: usize,
    stream: Stream,
}

/// An exchange with one server, in its own namespace.
pub(super) struct Dialogue<'a> {
    pub(super) side: &'a mut Side,
    address: Address,
    pub(super) namespace: String,
    pub(super) steps: Vec<Step>,
}

impl<'a> Dialogue<'a> {
    /// Creates the namespace of the exchange; both servers have one of that name.
    pub(super) async fn begin(side: &'a mut Side, namespace: &str) -> Result<Self> {
        let address = side.address()?;
        let mut dialogue = Self {
            side,
            address,
            namespace: namespace.to_owned(),
            steps: Vec::new(),
        };
        let object =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        dialogue
            .prepare(Ask::new("POST", "/api/v1/namespaces").json(&object))
            .await?;
        Ok(dialogue)
    }

    /// Returns `/api/v1/namespaces/NS/REST`.
    pub(super) fn core(&self, rest: &str) -> String {
        format!("/api/v1/namespaces/{}/{rest}", self.namespace)
    }

    /// Returns `/apis/GROUP/VERSION/namespaces/NS/REST`.
    pub(super) fn group(&self, group: &str, rest: &str) -> String {
        format!("/apis/{group}/namespaces/{}/{rest}", self.namespace)
    }

    /// Sends a request and records it.
    pub(super) async fn ask(&mut self, ask: Ask) -> Result<Answer> {
        let stream = self.address.send(&ask).await?;
        self.record(ask, stream).await
    }

    /// Sends a request as another user than the administrator, and records it.
    pub(super) async fn ask_as(&mut self, who: Who, ask: Ask) -> Result<Answer> {
        let (address, asked) = self.side.asked_by(who, ask.clone()).await?;
        let stream = address.send(&asked).await?;
        self.record(ask, stream).await
    }

    /// Sends a request beside the exchange without recording it; its task returns the status.
    pub(super) fn busy(&self, target: String) -> tokio::task::JoinHandle<Result<u16>> {
        let address = self.address.clone();
        tokio::spawn(async move {
            let stream = address.send(&Ask::new("GET", target)).await?;
            Ok(stream.head.status)
        })
    }

    /// Whether the server accepts no connection.
    pub(super) async fn is_gone(&self) -> Result<bool> {
        self.address.is_gone().await
    }

    async fn record(&mut self, ask: Ask, stream: Stream) -> Result<Answer> {
        let head = stream.head.clone();
        let text = String::from_utf8_lossy(&stream.whole().await?).into_owned();
        let answer = Answer {
            status: head.status,
            body: serde_json::from_str(&text).unwrap_or(Value::Null),
        };
        self.steps.push(Step {
            ask,
            head,
            body: vec![text],
            end: "whole",
        });
        Ok(answer)
    }

    pub(super) async fn get(&mut self, target: impl Into<String>) -> Result<Answer> {
        self.ask(Ask::new("GET", target)).await
    }

    pub(super) async fn post(&mut self, target: impl Into<String>, body: &Value) -> Result<Answer> {
        self.ask(Ask::new("POST", target).json(body)).await
    }

    pub(super) async fn put(&mut self, target: impl Into<String>, body: &Value) -> Result<Answer> {
        self.ask(Ask::new("PUT", target).json(body)).await
    }

    pub(super) async fn merge(
        &mut self,
        target: impl Into<String>,
        patch: &Value,
    ) -> Result<Answer> {
        self.ask(Ask::new("PATCH", target).body("application/merge-patch+json", patch))
            .await
    }

    pub(super) async fn delete(&mut self, target: impl Into<String>) -> Result<Answer> {
        self.ask(Ask::new("DELETE", target)).await
    }

    /// Sends a request without recording it; fails if its status is not 2xx.
    pub(super) async fn prepare(&mut self, ask: Ask) -> Result<Answer> {
        let what = format!("{} {}", ask.method, ask.target);
        let answer = self.ask(ask).await?;
        self.steps.pop();
        ensure!(
            (200..300).contains(&answer.status),
            "{what} is answered {}: {}",
            answer.status,
            answer.body
        );
        Ok(answer)
    }

    /// Creates a configmap without recording the request.
    pub(super) async fn config_map(&mut self, name: &str) -> Result<Answer> {
        let target = self.core("configmaps");
        self.prepare(Ask::new("POST", target).json(&config_map(name)))
            .await
    }

    /// Writes a new value into a configmap without recording the request.
    pub(super) async fn touch(&mut self, name: &str, value: &str) -> Result<Answer> {
        let target = self.core(&format!("configmaps/{name}"));
        let patch = json!({"data": {"n": value}});
        self.prepare(Ask::new("PATCH", target).body("application/merge-patch+json", &patch))
            .await
    }

    /// Deletes a configmap without recording the request.
    pub(super) async fn remove(&mut self, name: &str) -> Result<Answer> {
        let target = self.core(&format!("configmaps/{name}"));
        self.prepare(Ask::new("DELETE", target)).await
    }

    /// Opens a watch and records it; nothing of its body is read yet.
    pub(super) async fn watch(&mut self, target: impl Into<String>) -> Result<Watch> {
        self.watch_with(Ask::new("GET", target)).await
    }

    pub(super) async fn watch_with(&mut self, ask: Ask) -> Result<Watch> {
        let stream = self.address.send(&ask).await?;
        let head = stream.head.clone();
        ensure!(
            head.status == 200,
            "the watch {} is answered {}: {}",
            ask.target,
            head.status,
            String::from_utf8_lossy(&stream.whole().await?)
        );
        self.steps.push(Step {
            ask,
            head,
            body: Vec::new(),
            end: "left",
        });
        Ok(Watch {
            step: self.steps.len() - 1,
            stream,
        })
    }

    /// Reads and records the next frame; returns `None` at the watch's end.
    pub(super) async fn next(&mut self, watch: &mut Watch) -> Result<Option<Value>> {
        let line = watch.stream.line().await?;
        let step = &mut self.steps[watch.step];
        let Some(line) = line else {
            step.end = "ended";
            return Ok(None);
        };
        let frame = serde_json::from_str(&line)?;
        step.body.push(line);
        Ok(Some(frame))
    }

    /// Reads and records `count` frames; fails if the watch ends before.
    pub(super) async fn frames(&mut self, watch: &mut Watch, count: usize) -> Result<Vec<Value>> {
        let mut frames = Vec::new();
        while frames.len() < count {
            match self.next(watch).await? {
                Some(frame) => frames.push(frame),
                None => bail!("the watch ended after {} of {count} frames", frames.len()),
            }
        }
        Ok(frames)
    }

    /// Reads and records frames to the watch's end.
    pub(super) async fn read_to_end(&mut self, watch: &mut Watch) -> Result<()> {
        while self.next(watch).await?.is_some() {}
        Ok(())
    }
}

/// Returns a small configmap.
pub(super) fn config_map(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "labels": {"app": name}},
        "data": {"n": "1"},
    })
}
