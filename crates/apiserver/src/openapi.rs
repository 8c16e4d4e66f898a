//! OpenAPI documents: what kubectl reads before it applies, creates, replaces or explains.
//!
//! `/openapi/v3` lists one document for each group and version, with a hash of its content in the
//! link, so that clients may keep a document for ever. `/openapi/v2` is one document for everything.
//! Shapes come from the committed tables, descriptions at rendering time from `k8s-openapi`, custom
//! resources from their stored definitions.
//!
//! A document is rendered when somebody asks for it, streamed definition by definition into a gzip
//! buffer, and kept only in that form and only while it is used: [`OpenApi::drop_idle`]. Rendering
//! the core group takes some ten milliseconds; call [`OpenApi::answer`] where that may block.
//!
//! Source: Kubernetes v1.35, kube-openapi `pkg/handler3` and `pkg/builder3`.

mod custom;
mod descriptions;
mod gnostic;
mod paths;
mod render;
mod schemas;

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Read as _,
    sync::{Mutex, PoisonError},
};

use bytes::Bytes;
use flate2::read::GzDecoder;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use crate::{
    negotiate::{JSON, ranges},
    registry::{Registry, Resource},
    store::State,
};

/// How long a rendered document is kept after its last use.
const IDLE: SignedDuration = SignedDuration::from_mins(5);

/// Rendered documents kept at most; the least recently used one makes room.
const DOCUMENTS_MAX: usize = 64;

/// Bodies below this size are never compressed, as for other responses.
const GZIP_BYTES_MIN: usize = 128 << 10;

/// Media type of version 2 in protobuf; clients ask with `@` or `.` before the version.
const PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/// The version of OpenAPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Flavor {
    V2,
    V3,
}

/// The syntax of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Syntax {
    Json,
    /// Version 2 only, as client-go wants it.
    Protobuf,
}

/// A request for a document.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ask<'a> {
    /// URL path.
    pub path: &'a str,
    /// Value of the `hash` query parameter.
    pub hash: Option<&'a str>,
    /// Accept header.
    pub accept: Option<&'a str>,
    /// Whether Accept-Encoding has `gzip`.
    pub gzip: bool,
    /// If-None-Match header.
    pub if_none_match: Option<&'a str>,
}

/// The response to an [`Ask`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// 200, 301, 304 or 406.
    pub code: u16,
    /// Names in lower case, and values.
    pub headers: Vec<(&'static str, String)>,
    /// The document, compressed when the headers say so.
    pub body: Bytes,
}

/// Renders and keeps documents.
#[derive(Default)]
pub struct OpenApi {
    kept: Mutex<BTreeMap<Id, Kept>>,
}

/// Which document: of one group and version, or of all in version 2.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Id {
    flavor: Flavor,
    syntax: Syntax,
    group: String,
    version: String,
}

struct Kept {
    hash: String,
    gzip: Bytes,
    used: Timestamp,
}

// === impl OpenApi ===

impl OpenApi {
    /// Answers a request below `/openapi`, `None` when there is no such document.
    pub fn answer(
        &self,
        ask: &Ask<'_>,
        registry: &Registry,
        state: &State,
        now: Timestamp,
    ) -> Option<Answer> {
        let parts: Vec<&str> = ask.path.trim_matches('/').split('/').collect();
        let mut id = match parts.as_slice() {
            ["openapi", "v3"] => return Some(index(ask, registry, state)),
            ["openapi", "v2"] => Id::all(),
            ["openapi", "v3", "api", version] => Id::of("", version),
            ["openapi", "v3", "apis", group, version] => Id::of(group, version),
            _ => return None,
        };
        if id.flavor == Flavor::V3 && !registry.serves(&id.group, &id.version) {
            return None;
        }
        let Some(syntax) = syntax(ask.accept, id.flavor) else {
            return Some(Answer {
                code: 406,
                headers: Vec::new(),
                body: Bytes::new(),
            });
        };
        id.syntax = syntax;
        let hash = id.hash(registry, state);
        if ask.hash.is_some_and(|asked| asked != hash) {
            let location = id.link(&hash);
            return Some(Answer {
                code: 301,
                headers: vec![("location", location)],
                body: Bytes::new(),
            });
        }
        let gzip = self.rendered(id, &hash, registry, state, now);
        Some(with_validator(ask, &hash, Body::Gzip(gzip, syntax), now))
    }

    /// Forgets documents that nobody asked for in the last five minutes. Call it now and then.
    pub fn drop_idle(&self, now: Timestamp) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|_, document| now.duration_since(document.used) < IDLE);
    }

    fn rendered(
        &self,
        id: Id,
        hash: &str,
        registry: &Registry,
        state: &State,
        now: Timestamp,
    ) -> Bytes {
        {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(document) = kept.get_mut(&id).filter(|document| document.hash == hash) {
                document.used = now;
                return document.gzip.clone();
            }
        }
        // Rendered without the lock: twice at worst, but nobody waits.
        let gzip = render::document(&id, registry, state);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= DOCUMENTS_MAX
            && let Some(oldest) = kept
                .iter()
                .min_by_key(|(_, d)| d.used)
                .map(|(id, _)| id.clone())
        {
            kept.remove(&oldest);
        }
        kept.insert(
            id,
            Kept {
                hash: hash.to_owned(),
                gzip: gzip.clone(),
                used: now,
            },
        );
        gzip
    }
}

// === impl Id ===

impl Id {
    fn of(group: &str, version: &str) -> Self {
        Self {
            flavor: Flavor::V3,
            syntax: Syntax::Json,
            group: group.to_owned(),
            version: version.to_owned(),
        }
    }

    fn all() -> Self {
        Self {
            flavor: Flavor::V2,
            syntax: Syntax::Json,
            group: String::new(),
            version: String::new(),
        }
    }

    fn has(&self, row: &Resource) -> bool {
        self.flavor == Flavor::V2 || (*row.group == *self.group && *row.version == *self.version)
    }

    /// Changes when the content does: with the program, the rows, and the custom definitions.
    fn hash(&self, registry: &Registry, state: &State) -> String {
        let mut digest = Sha256::new();
        digest.update(concat!("flotilla ", env!("CARGO_PKG_VERSION"), " 1.35"));
        digest.update(format!("{:?}", self.syntax));
        let mut groups = BTreeSet::new();
        for row in registry.rows().iter().filter(|row| self.has(row)) {
            digest.update(format!("{row:?}:{:?};", row.verbs));
            if row.custom.is_some() {
                groups.insert(&*row.group);
            }
        }
        for group in groups {
            digest.update(format!("{group}:{:?};", custom::revisions(state, group)));
        }
        digest
            .finalize()
            .iter()
            .map(|byte| format!("{byte:02X}"))
            .collect()
    }

    fn link(&self, hash: &str) -> String {
        match (self.flavor, &*self.group) {
            (Flavor::V2, _) => "/openapi/v2".to_owned(),
            (_, "") => format!("/openapi/v3/api/{}?hash={hash}", self.version),
            (_, group) => format!("/openapi/v3/apis/{group}/{}?hash={hash}", self.version),
        }
    }
}

// === impl Flavor ===

impl Flavor {
    fn reference(self, name: &str) -> Value {
        match self {
            Self::V2 => json!({"$ref": format!("#/definitions/{name}")}),
            Self::V3 => json!({"$ref": format!("#/components/schemas/{name}")}),
        }
    }
}

/// The syntax a client accepts best, of those the version has.
fn syntax(accept: Option<&str>, flavor: Flavor) -> Option<Syntax> {
    let accept = accept.unwrap_or_default().trim();
    if accept.is_empty() {
        return Some(Syntax::Json);
    }
    ranges(accept).iter().find_map(|range| {
        let is_protobuf = range.media.replace('@', ".") == PROTOBUF;
        match flavor {
            _ if range.covers(JSON) => Some(Syntax::Json),
            Flavor::V2 if is_protobuf => Some(Syntax::Protobuf),
            _ => None,
        }
    })
}

fn index(ask: &Ask<'_>, registry: &Registry, state: &State) -> Answer {
    let mut paths = Map::new();
    for row in registry.rows() {
        let name = match &*row.group {
            "" => format!("api/{}", row.version),
            group => format!("apis/{group}/{}", row.version),
        };
        if !paths.contains_key(&name) {
            let id = Id::of(&row.group, &row.version);
            let link = id.link(&id.hash(registry, state));
            paths.insert(name, json!({"serverRelativeURL": link}));
        }
    }
    let body = serde_json::to_vec(&json!({"paths": paths})).unwrap_or_default();
    let hash: String = Sha256::digest(&body)
        .iter()
        .map(|byte| format!("{byte:02X}"))
        .collect();
    with_validator(ask, &hash, Body::Plain(body.into()), Timestamp::UNIX_EPOCH)
}

enum Body {
    Plain(Bytes),
    Gzip(Bytes, Syntax),
}

fn with_validator(ask: &Ask<'_>, hash: &str, body: Body, now: Timestamp) -> Answer {
    let etag = format!("\"{hash}\"");
    let mut headers = vec![
        ("etag", etag.clone()),
        ("vary", "Accept, Accept-Encoding".to_owned()),
    ];
    if ask.hash.is_some() {
        let expires = now.saturating_add(SignedDuration::from_hours(24 * 365));
        let expires = expires
            .unwrap_or(now)
            .strftime("%a, %d %b %Y %H:%M:%S GMT")
            .to_string();
        headers.push(("cache-control", "public, immutable".to_owned()));
        headers.push(("expires", expires));
    }
    if ask
        .if_none_match
        .is_some_and(|tags| tags.split(',').any(|tag| tag.trim() == etag))
    {
        return Answer {
            code: 304,
            headers,
            body: Bytes::new(),
        };
    }
    let media = match body {
        Body::Gzip(_, Syntax::Protobuf) => PROTOBUF,
        _ => JSON,
    };
    headers.push(("content-type", media.to_owned()));
    let body = match body {
        Body::Plain(body) => body,
        Body::Gzip(body, _) if ask.gzip && unpacked_size(&body) >= GZIP_BYTES_MIN => {
            headers.push(("content-encoding", "gzip".to_owned()));
            body
        }
        Body::Gzip(body, _) => unpack(&body),
    };
    Answer {
        code: 200,
        headers,
        body,
    }
}

/// The last four bytes of a gzip stream are the size of its content.
fn unpacked_size(gzip: &[u8]) -> usize {
    let tail = gzip.last_chunk::<4>().copied().unwrap_or_default();
    u32::from_le_bytes(tail) as usize
}

fn unpack(gzip: &[u8]) -> Bytes {
    let mut out = Vec::with_capacity(unpacked_size(gzip));
    GzDecoder::new(gzip)
        .read_to_end(&mut out)
        .expect("a stream we packed ourselves unpacks");
    out.into()
}

#[cfg(test)]
mod tests;
