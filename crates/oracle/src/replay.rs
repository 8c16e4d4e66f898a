//! Sends a story to a server.

use std::{collections::HashMap, time::Duration};

use anyhow::{Context, Result};
use http_body_util::BodyExt;
use kube::{Client, client::Body as Sent};
use serde_json::{Value, json};

use crate::{
    corpus::{Body, Request, Story},
    mask::Mask,
};

/// The name under which fields are owned.
const USER_AGENT: &str = "oracle/1.0";

/// How long an answer may take; watches in stories end after a second.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long to wait before asking again for what a server does after it has answered.
const PAUSE: Duration = Duration::from_millis(20);

/// What came back, without what differs between servers.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// Status code.
    pub code: u16,
    /// `Content-Type`.
    pub content_type: String,
    /// `Warning` headers, in order.
    pub warnings: Vec<String>,
    /// JSON, or a list of it if the body is a stream of it, or text.
    pub body: Value,
}

/// The answers to a story, one for each request.
///
/// # Errors
/// A server that cannot be reached, and a story that uses what it did not keep.
pub async fn replay(client: &Client, story: &Story) -> Result<Vec<Answer>> {
    prepare(client, &story.name).await?;
    let mut mask = Mask::default();
    let mut kept = HashMap::from([("ns".to_owned(), format!("o-{}", story.name))]);
    let mut answers = Vec::new();
    for request in &story.requests {
        let answer = tokio::time::timeout(PATIENCE, send(client, request, &mut kept, &mut mask));
        let answer = answer.await.unwrap_or_else(|_| Ok(Answer::none()));
        answers.push(answer.with_context(|| format!("{}: {}", story.name, request.title()))?);
    }
    Ok(answers)
}

/// The namespace of the story, with what a controller would have put there.
async fn prepare(client: &Client, name: &str) -> Result<()> {
    let home = format!("o-{name}");
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": home}});
    let account =
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}});
    for (path, object) in [
        ("/api/v1/namespaces".to_owned(), namespace),
        (
            format!("/api/v1/namespaces/{home}/serviceaccounts"),
            account,
        ),
    ] {
        let request = http::Request::post(path)
            .header("content-type", "application/json")
            .body(Sent::from(object.to_string().into_bytes()))?;
        let reply = client.send(request).await?;
        anyhow::ensure!(
            reply.status() == 201,
            "preparing {home}: {}",
            reply.status()
        );
    }
    Ok(())
}

async fn send(
    client: &Client,
    request: &Request,
    kept: &mut HashMap<String, String>,
    mask: &mut Mask,
) -> Result<Answer> {
    let mut answer = ask(client, request, kept).await?;
    if let Some(until) = &request.until {
        let settled = async {
            while !until.is_in(&answer.body) {
                tokio::time::sleep(PAUSE).await;
                answer = ask(client, request, kept).await?;
            }
            Ok::<_, anyhow::Error>(())
        };
        let settled = tokio::time::timeout(PATIENCE, settled).await;
        settled.with_context(|| format!("{} never has {until:?}", request.target))??;
    }
    for (name, pointer) in &request.keep {
        let part = answer.body.pointer(pointer).and_then(Value::as_str);
        kept.insert(name.clone(), part.unwrap_or_default().to_owned());
    }
    Ok(Answer {
        warnings: answer.warnings.iter().map(|text| mask.text(text)).collect(),
        body: mask.body(answer.body),
        ..answer
    })
}

/// Sends a request once; the answer is as it came.
async fn ask(client: &Client, request: &Request, kept: &HashMap<String, String>) -> Result<Answer> {
    let mut built = http::Request::builder()
        .method(request.method.as_str())
        .uri(fill(&request.target, kept))
        .header("user-agent", USER_AGENT)
        .header(
            "accept",
            request.accept.as_deref().unwrap_or("application/json"),
        );
    if let Some(content_type) = &request.content_type {
        built = built.header("content-type", content_type);
    }
    if let Some((user, groups)) = request.impersonate.split_first() {
        built = built.header("impersonate-user", user);
        for group in groups {
            built = built.header("impersonate-group", group);
        }
    }
    let body = match &request.body {
        None => String::new(),
        Some(Body::Json(value)) => fill(&value.to_string(), kept),
        Some(Body::Text(text)) => fill(text, kept),
    };
    let reply = client
        .send(built.body(Sent::from(body.into_bytes()))?)
        .await?;
    let (parts, body) = reply.into_parts();
    let header = |name: &str| {
        let values = parts.headers.get_all(name).into_iter();
        values
            .map(|v| String::from_utf8_lossy(v.as_bytes()).into_owned())
            .collect::<Vec<_>>()
    };
    let content_type = header("content-type").join(", ");
    let bytes = body.collect().await?.to_bytes();
    let body = match content_type.starts_with("application/yaml") {
        // Two writers of YAML quote differently; what is meant is compared.
        true => serde_saphyr::from_str(&String::from_utf8_lossy(&bytes))?,
        false => read(&bytes),
    };
    Ok(Answer {
        code: parts.status.as_u16(),
        content_type,
        warnings: header("warning"),
        body,
    })
}

/// JSON, a stream of JSON, or text.
fn read(bytes: &[u8]) -> Value {
    let parsed: serde_json::Result<Vec<Value>> = serde_json::Deserializer::from_slice(bytes)
        .into_iter()
        .collect();
    match parsed {
        Ok(mut values) if values.len() == 1 => values.remove(0),
        Ok(values) => Value::Array(values),
        Err(_) => Value::from(String::from_utf8_lossy(bytes)),
    }
}

fn fill(text: &str, kept: &HashMap<String, String>) -> String {
    kept.iter().fold(text.to_owned(), |text, (name, value)| {
        text.replace(&format!("${{{name}}}"), value)
    })
}

impl Answer {
    /// Stands for the answer that did not come in time.
    fn none() -> Self {
        Self {
            code: 0,
            content_type: String::new(),
            warnings: Vec::new(),
            body: Value::Null,
        }
    }

    /// One line of a recording.
    pub fn to_line(&self, title: &str) -> Value {
        let mut line = json!({"ask": title, "code": self.code, "body": self.body});
        if self.content_type != "application/json" {
            line["type"] = self.content_type.clone().into();
        }
        if !self.warnings.is_empty() {
            line["warnings"] = self.warnings.clone().into();
        }
        line
    }

    /// Reads a line of a recording; what was asked, and the answer.
    ///
    /// # Errors
    /// A line that was not written by [`Answer::to_line`].
    pub fn from_line(line: &str) -> Result<(String, Self)> {
        let mut line: Value = serde_json::from_str(line)?;
        let answer = Self {
            code: line["code"].as_u64().context("a code")?.try_into()?,
            content_type: line["type"]
                .as_str()
                .unwrap_or("application/json")
                .to_owned(),
            warnings: serde_json::from_value(line["warnings"].take()).unwrap_or_default(),
            body: line["body"].take(),
        };
        let ask = line["ask"].as_str().context("what was asked")?;
        Ok((ask.to_owned(), answer))
    }
}
