//! Stories: what is asked, in which order.
//!
//! A story is a YAML list. An entry with a verb and a path as its key is one request, its value the body:
//!
//! ```yaml
//! - POST ~/configmaps: {metadata: {name: a}}
//!   keep: {rv: /metadata/resourceVersion}
//! - PATCH+merge ~/configmaps/a: {metadata: {resourceVersion: "${rv}"}}
//! ```
//! `~` is the story's own namespace of group "" (`~apps/v1/deployments` that of another group), `PATCH+merge|json|strategic|apply`
//! choose the content type. Beside the request may stand `keep` (parts of the answer that later entries use as `${name}`; `${ns}` is the namespace), `as`
//! (impersonation), `type`, `accept`, `repeat` and `until` (a JSON pointer, or one with `=` and text behind it: the request is sent
//! again until the answer has something, or this, there; only the last answer counts. For what a server does a moment later).
//!
//! Two kinds of entry stand for many requests. `cases` sends a base object once for each set of changes to it, `life` takes an object
//! through everything one can do to an object; `settles` is the `until` of its first GET.

mod life;

use std::{collections::BTreeMap, path::Path};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Map, Value};

/// Requests to be sent in order to a server, in a namespace that nobody else uses.
#[derive(Clone, Debug)]
pub struct Story {
    /// Name of the file, and of the namespace after `o-`.
    pub name: String,
    /// What is sent.
    pub requests: Vec<Request>,
}

/// One request, before what was kept from earlier answers is filled in.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Method as sent.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// `Content-Type`, of a request with a body.
    pub content_type: Option<String>,
    /// `Accept`; JSON when it does not say.
    pub accept: Option<String>,
    /// User and groups to act as, the user first.
    pub impersonate: Vec<String>,
    /// What is sent.
    pub body: Option<Body>,
    /// Names of parts of the answer, as JSON pointers.
    pub keep: BTreeMap<String, String>,
    /// What the answer must have before the story goes on.
    pub until: Option<Until>,
}

/// Something that an answer has sooner or later.
#[derive(Clone, Debug, PartialEq)]
pub struct Until {
    /// Where, as a JSON pointer.
    pub pointer: String,
    /// Which text; anything if it does not say.
    pub text: Option<String>,
}

/// What a request carries.
#[derive(Clone, Debug)]
pub enum Body {
    /// Sent as JSON.
    Json(Value),
    /// Sent as it is.
    Text(String),
}

impl Request {
    /// The request in one line, as it stands in recordings.
    pub fn title(&self) -> String {
        let mut title = format!("{} {}", self.method, self.target);
        if let Some(patch) = self.content_type.as_deref().and_then(patch_word) {
            title = title.replacen("PATCH", &format!("PATCH+{patch}"), 1);
        }
        title
    }
}

impl Until {
    fn parse(text: &str) -> Self {
        let (pointer, text) = match text.split_once('=') {
            Some((pointer, text)) => (pointer, Some(text.to_owned())),
            None => (text, None),
        };
        Self {
            pointer: pointer.to_owned(),
            text,
        }
    }

    /// Whether a body has it.
    pub fn is_in(&self, body: &Value) -> bool {
        let found = body.pointer(&self.pointer);
        found.is_some_and(|found| self.text.as_ref().is_none_or(|text| found == text))
    }
}

/// All stories of a folder, by name.
///
/// # Errors
/// A file that cannot be read or is no story, with its name and entry.
pub fn read(folder: &Path) -> Result<Vec<Story>> {
    let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut files = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<_>>>()?;
    files.retain(|path| path.extension().is_some_and(|e| e == "yaml"));
    files.sort();
    files.iter().map(|path| story(path)).collect()
}

fn story(path: &Path) -> Result<Story> {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    parse(&name, &text).with_context(|| path.display().to_string())
}

/// Reads one story.
///
/// # Errors
/// Text that is no story.
pub fn parse(name: &str, text: &str) -> Result<Story> {
    let entries: Vec<Map<String, Value>> = serde_saphyr::from_str(text)?;
    let mut requests = Vec::new();
    for (at, entry) in entries.into_iter().enumerate() {
        let spelled = spell_out(entry).with_context(|| format!("entry {}", at + 1))?;
        requests.extend(spelled);
    }
    for request in &mut requests {
        request.target = request.target.replace("${ns}", &format!("o-{name}"));
    }
    Ok(Story {
        name: name.to_owned(),
        requests,
    })
}

fn spell_out(mut entry: Map<String, Value>) -> Result<Vec<Request>> {
    if let Some(path) = entry.remove("life") {
        let path = path.as_str().context("`life` is a path")?;
        let object = entry.remove("object").context("`life` needs an `object`")?;
        let change = entry.remove("change").context("`life` needs a `change`")?;
        let settles = entry.remove("settles");
        ensure!(entry.is_empty(), "unknown keys beside `life`: {entry:?}");
        let mut requests = life::of(path, &object, &change)?;
        if let Some(first) = requests.iter_mut().find(|request| request.method == "GET") {
            first.until = settles.as_ref().and_then(Value::as_str).map(Until::parse);
        }
        return Ok(requests);
    }
    if let Some(line) = entry.remove("cases") {
        return cases(line.as_str().context("`cases` is a request")?, entry);
    }
    let line = entry.keys().find(|key| key.contains(' ')).cloned();
    let line = line.context("no request")?;
    let body = entry.remove(&line).unwrap_or_default();
    let mut request = request(&line, body)?;
    let repeat = options(&mut request, entry)?;
    Ok(vec![request; repeat])
}

/// Reads `VERB PATH`.
fn request(line: &str, body: Value) -> Result<Request> {
    let (verb, path) = line.split_once(' ').context("VERB PATH")?;
    let (method, patch) = verb.split_once('+').unwrap_or((verb, ""));
    let body = match body {
        Value::Null => None,
        Value::String(text) => Some(Body::Text(text)),
        other => Some(Body::Json(other)),
    };
    let content_type = match (patch, &body) {
        ("", Some(_)) => Some("application/json"),
        ("", None) => None,
        (word, _) => Some(patch_type(word)?),
    };
    Ok(Request {
        method: method.to_owned(),
        target: expand(path),
        content_type: content_type.map(str::to_owned),
        body,
        ..Request::default()
    })
}

/// Fills in what stands beside the request; the number of times it is sent.
fn options(request: &mut Request, entry: Map<String, Value>) -> Result<usize> {
    let mut repeat = 1;
    for (key, value) in entry {
        let text = || {
            value
                .as_str()
                .map(str::to_owned)
                .with_context(|| format!("`{key}` is text"))
        };
        match key.as_str() {
            "type" => request.content_type = Some(text()?),
            "accept" => request.accept = Some(text()?),
            "until" => request.until = Some(Until::parse(&text()?)),
            "as" => request.impersonate = text()?.split_whitespace().map(str::to_owned).collect(),
            "keep" => request.keep = serde_json::from_value(value)?,
            "repeat" => repeat = value.as_u64().context("`repeat` is a number")?.try_into()?,
            other => bail!("unknown key {other:?}"),
        }
    }
    Ok(repeat)
}

/// The base once for each set of changes; a change is a JSON pointer and what is to stand there, null for nothing.
fn cases(line: &str, mut entry: Map<String, Value>) -> Result<Vec<Request>> {
    let base = entry.remove("base").context("`cases` needs a `base`")?;
    let Some(Value::Array(sets)) = entry.remove("with") else {
        bail!("`cases` needs a list `with`");
    };
    let mut requests = Vec::new();
    for set in sets {
        let Value::Object(set) = set else {
            bail!("a set of changes is a map: {set}");
        };
        let mut object = base.clone();
        for (pointer, value) in set {
            put(&mut object, &pointer, value)?;
        }
        let mut request = request(line, object)?;
        options(&mut request, entry.clone())?;
        requests.push(request);
    }
    Ok(requests)
}

/// Puts a value at a pointer, making the maps on the way; null takes away what is there.
fn put(object: &mut Value, pointer: &str, value: Value) -> Result<()> {
    let mut path: Vec<String> = pointer
        .split('/')
        .skip(1)
        .map(|part| part.replace("~1", "/").replace("~0", "~"))
        .collect();
    let last = path.pop().context("a pointer begins with /")?;
    let mut here = object;
    for part in path {
        here = match here {
            Value::Array(items) => items
                .get_mut(part.parse::<usize>()?)
                .with_context(|| format!("{pointer}: no such item"))?,
            Value::Object(map) => map.entry(part).or_insert_with(|| Value::Object(Map::new())),
            _ => bail!("{pointer}: nothing can stand below {part}"),
        };
    }
    match (here, value) {
        (Value::Object(map), Value::Null) => drop(map.remove(&last)),
        (Value::Object(map), value) => drop(map.insert(last, value)),
        (Value::Array(items), value) => {
            let at: usize = last.parse()?;
            ensure!(at <= items.len(), "{pointer}: no such item");
            items.splice(at..(at + 1).min(items.len()), [value]);
        }
        _ => bail!("{pointer}: nothing can stand there"),
    }
    Ok(())
}

/// `~/x` and `~group/version/x` in full.
fn expand(path: &str) -> String {
    let Some(rest) = path.strip_prefix('~') else {
        return path.to_owned();
    };
    if rest.is_empty() {
        return "/api/v1/namespaces/${ns}".to_owned();
    }
    if rest.starts_with('/') {
        return format!("/api/v1/namespaces/${{ns}}{rest}");
    }
    let mut parts = rest.splitn(3, '/');
    let (group, version, rest) = (parts.next(), parts.next(), parts.next());
    format!(
        "/apis/{}/{}/namespaces/${{ns}}/{}",
        group.unwrap_or_default(),
        version.unwrap_or_default(),
        rest.unwrap_or_default()
    )
}

const PATCH_TYPES: &[(&str, &str)] = &[
    ("merge", "application/merge-patch+json"),
    ("json", "application/json-patch+json"),
    ("strategic", "application/strategic-merge-patch+json"),
    ("apply", "application/apply-patch+yaml"),
];

fn patch_type(word: &str) -> Result<&'static str> {
    let row = PATCH_TYPES.iter().find(|(name, _)| *name == word);
    Ok(row
        .with_context(|| format!("no patch is called {word:?}"))?
        .1)
}

fn patch_word(content_type: &str) -> Option<&'static str> {
    let row = PATCH_TYPES.iter().find(|(_, name)| *name == content_type)?;
    Some(row.0)
}

#[cfg(test)]
mod tests;
