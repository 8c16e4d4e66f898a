//! Which representation a client accepts and which one it sends.
//!
//! Replies are JSON or YAML; every client seen in the wild lists JSON beside protobuf. On top of
//! the media type a client may ask for another shape of the same objects: `as=Table` for
//! `kubectl get`, `as=PartialObjectMetadata` for metadata-only caches, and the discovery documents
//! have shapes of their own (`as=APIGroupDiscoveryList`).
//!
//! Source: Kubernetes v1.35, apiserver `pkg/endpoints/handlers/negotiation`.

use flotilla_machinery::status::{Details, Reason, Status};

/// Media types of replies, in order of preference.
pub const OFFERED: [&str; 2] = [JSON, YAML];
/// `application/json`.
pub const JSON: &str = "application/json";
/// `application/yaml`.
pub const YAML: &str = "application/yaml";
/// The protobuf envelope of Kubernetes; accepted in requests only.
pub const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// Syntax of a body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Media {
    /// JSON.
    #[default]
    Json,
    /// YAML 1.2, which is a superset of JSON.
    Yaml,
    /// The protobuf envelope (`k8s\0`).
    Protobuf,
}

/// Shape of the objects in a reply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum As {
    /// As they are.
    #[default]
    Object,
    /// Rows for people: `meta.k8s.io` Table of this version (`v1` or `v1beta1`).
    Table(&'static str),
    /// Metadata only: PartialObjectMetadata of this version; a list of them for collections.
    Metadata(&'static str),
}

/// What a client gets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accepted {
    /// Syntax.
    pub media: Media,
    /// Shape.
    pub shape: As,
}

/// One media range of an Accept header.
#[derive(Clone, Debug, PartialEq)]
pub struct Range<'a> {
    /// `application/json`, `application/*`, `*/*`; lower-case comparison is up to the reader.
    pub media: &'a str,
    /// Parameters except `q`.
    pub params: Vec<(&'a str, &'a str)>,
    quality: f32,
}

/// How a patch body is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchKind {
    /// RFC 6902.
    Json,
    /// RFC 7386.
    Merge,
    /// With directives and merge keys; built-in kinds only.
    Strategic,
    /// Server-side apply.
    Apply,
}

/// Chooses the representation of objects.
///
/// # Errors
/// 406 when nothing we offer is accepted.
pub fn accept(header: Option<&str>) -> Result<Accepted, Status> {
    let header = header.unwrap_or("").trim();
    if header.is_empty() {
        return Ok(Accepted::default());
    }
    ranges(header)
        .iter()
        .find_map(objects)
        .ok_or_else(|| Status::not_acceptable(&OFFERED))
}

/// The media ranges of an Accept header, best first; equal ones keep their order.
pub fn ranges(header: &str) -> Vec<Range<'_>> {
    let mut ranges: Vec<Range<'_>> = header.split(',').filter_map(range).collect();
    ranges.sort_by(|a, b| b.quality.total_cmp(&a.quality));
    ranges
}

/// Syntax of a request body; JSON when the client does not say.
///
/// # Errors
/// 415 for types nobody decodes.
pub fn content_type(header: Option<&str>) -> Result<Media, Status> {
    match media_type(header.unwrap_or(JSON)) {
        "" | JSON => Ok(Media::Json),
        YAML => Ok(Media::Yaml),
        PROTOBUF => Ok(Media::Protobuf),
        _ => Err(Status::unsupported_media_type(&[JSON, YAML, PROTOBUF])),
    }
}

/// Kind of a patch; custom resources have no strategic merge.
///
/// # Errors
/// 415 for anything else.
pub fn patch_type(header: Option<&str>, custom: bool) -> Result<PatchKind, Status> {
    const TYPES: [&str; 3] = [
        "application/json-patch+json",
        "application/merge-patch+json",
        "application/apply-patch+yaml",
    ];
    match media_type(header.unwrap_or("")) {
        "application/json-patch+json" => Ok(PatchKind::Json),
        "application/merge-patch+json" => Ok(PatchKind::Merge),
        "application/apply-patch+yaml" => Ok(PatchKind::Apply),
        "application/strategic-merge-patch+json" if !custom => Ok(PatchKind::Strategic),
        _ if custom => Err(Status::unsupported_media_type(&TYPES)),
        // Upstream's router refuses these before any handler could list what is accepted.
        _ => {
            let status = Status::new(
                415,
                Reason::UnsupportedMediaType,
                "415: Unsupported Media Type",
            );
            Err(status.with_details(Details::default()))
        }
    }
}

/// Whether a client gets indented JSON: it asks for it, or it is a person with a plain tool.
pub fn pretty(query: &str, user_agent: &str) -> bool {
    let asked = crate::request::query_pairs(query).find(|(name, _)| name == "pretty");
    match asked {
        Some((_, value)) => crate::request::is_true(&value),
        None => ["curl", "Wget", "Mozilla/5.0"]
            .iter()
            .any(|p| user_agent.starts_with(p)),
    }
}

impl Accepted {
    /// Content-Type of a reply.
    pub fn content_type(&self) -> &'static str {
        match self.media {
            Media::Yaml => YAML,
            Media::Json | Media::Protobuf => JSON,
        }
    }
}

impl<'a> Range<'a> {
    /// The value of a parameter, or empty.
    pub fn param(&self, name: &str) -> &'a str {
        self.params
            .iter()
            .find(|(n, _)| *n == name)
            .map_or("", |(_, value)| value)
    }

    /// Whether the range covers a media type.
    pub fn covers(&self, media: &str) -> bool {
        self.media == "*/*"
            || self.media.eq_ignore_ascii_case(media)
            || self.media.strip_suffix("/*").is_some_and(|t| {
                media
                    .strip_prefix(t)
                    .is_some_and(|rest| rest.starts_with('/'))
            })
    }
}

fn objects(range: &Range<'_>) -> Option<Accepted> {
    let media = match () {
        () if range.covers(JSON) => Media::Json,
        () if range.covers(YAML) => Media::Yaml,
        () => return None,
    };
    let version = match range.param("v") {
        "" | "v1" => "v1",
        "v1beta1" => "v1beta1",
        _ if range.param("as").is_empty() => "v1",
        _ => return None,
    };
    let shape = match (range.param("as"), range.param("g")) {
        ("", _) => As::Object,
        ("Table", "meta.k8s.io") => As::Table(version),
        ("PartialObjectMetadata" | "PartialObjectMetadataList", "meta.k8s.io") => {
            As::Metadata(version)
        }
        _ => return None,
    };
    Some(Accepted { media, shape })
}

fn range(text: &str) -> Option<Range<'_>> {
    let mut parts = text.split(';').map(str::trim);
    let media = parts.next().filter(|m| !m.is_empty())?;
    let mut quality = 1.0;
    let mut params = Vec::new();
    for part in parts {
        match part.split_once('=') {
            Some(("q", value)) => quality = value.parse().unwrap_or(0.0),
            Some((name, value)) => params.push((name, value.trim_matches('"'))),
            None => {}
        }
    }
    (quality > 0.0).then_some(Range {
        media,
        params,
        quality,
    })
}

fn media_type(header: &str) -> &str {
    header.split(';').next().unwrap_or("").trim()
}

#[cfg(test)]
mod tests;
