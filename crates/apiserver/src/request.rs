//! What a request is about, read from its method, path and query alone.
//!
//! The path grammar is regular: `/api/{version}` for the core group, `/apis/{group}/{version}` for
//! the others, then `namespaces/{namespace}` for namespaced objects, then resource, name and
//! subresource. Everything else is a plain path (`/healthz`, discovery, OpenAPI).
//!
//! Source: Kubernetes v1.35, apiserver `pkg/endpoints/request/requestinfo.go`.

use std::borrow::Cow;

use http::Method;

/// What a request is about. Absent parts are empty strings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestInfo {
    /// Whether the path names an API object or collection, rather than a plain path.
    pub is_resource: bool,
    /// API verb (`get`, `list`, `watch`, …), or the lower-case method for plain paths.
    pub verb: &'static str,
    /// The decoded path.
    pub path: String,
    /// API group.
    pub group: String,
    /// API version.
    pub version: String,
    /// Namespace.
    pub namespace: String,
    /// Plural name of the resource.
    pub resource: String,
    /// Name of the object. For collections it may come from the field selector
    /// `metadata.name=…`, so that permissions for single names apply.
    pub name: String,
    /// Name of the subresource.
    pub subresource: String,
    /// Path segments behind the subresource (for proxies).
    pub rest: Vec<String>,
    /// Whether the object's name stands in the path.
    pub named: bool,
}

/// Reads a request line.
///
/// # Errors
/// When the path is not valid percent-encoded UTF-8.
pub fn parse(method: &Method, path: &str, query: Option<&str>) -> Result<RequestInfo, Error> {
    let path = percent_decode(path, false).ok_or(Error::Encoding)?;
    let mut info = RequestInfo {
        verb: method_verb(method),
        path: path.clone().into_owned(),
        ..RequestInfo::default()
    };
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    let parts = match parts.as_slice() {
        ["api", version, rest @ ..] => {
            info.version = (*version).to_owned();
            rest
        }
        ["apis", group, version, rest @ ..] => {
            info.group = (*group).to_owned();
            info.version = (*version).to_owned();
            rest
        }
        _ => return Ok(info),
    };
    if parts.is_empty() {
        return Ok(info);
    }
    info.is_resource = true;
    info.verb = match *method {
        Method::POST => "create",
        Method::GET | Method::HEAD => "get",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE => "delete",
        _ => "",
    };
    let (parts, legacy_watch) = match parts {
        ["watch", rest @ ..] => (rest, true),
        _ => (parts, false),
    };
    read_parts(&mut info, parts);
    read_query(&mut info, query.unwrap_or(""));
    if legacy_watch && info.verb != "create" {
        info.verb = "watch";
    }
    Ok(info)
}

/// Why a request line cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Broken percent-encoding or not UTF-8.
    #[error("the request path is not valid percent-encoded UTF-8")]
    Encoding,
}

/// The decoded pairs of a query string, in order. Pairs that are not valid percent-encoded UTF-8
/// are kept with the broken bytes replaced.
pub fn query_pairs(query: &str) -> impl Iterator<Item = (Cow<'_, str>, Cow<'_, str>)> {
    query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let decode = |text| percent_decode(text, true).unwrap_or(Cow::Borrowed(text));
            (decode(name), decode(value))
        })
}

/// Text with its percent-escapes decoded; as it is when they are broken.
pub fn decoded(text: &str) -> String {
    percent_decode(text, false).map_or_else(|| text.to_owned(), Cow::into_owned)
}

impl RequestInfo {
    /// Whether the request runs until the client has enough.
    pub fn is_long_running(&self) -> bool {
        self.verb == "watch"
            || matches!(
                self.subresource.as_str(),
                "exec" | "attach" | "portforward" | "proxy"
            )
            || self.subresource == "log"
    }

    /// Whether the request cannot change anything.
    pub fn is_read_only(&self) -> bool {
        matches!(self.verb, "get" | "list" | "watch" | "head" | "options")
    }
}

fn read_parts(info: &mut RequestInfo, parts: &[&str]) {
    let parts = match parts {
        // `namespaces/{name}/status` and `…/finalize` belong to the namespace itself.
        ["namespaces", namespace, rest @ ..] => {
            info.namespace = (*namespace).to_owned();
            match rest {
                [] | ["status" | "finalize"] => parts,
                _ => rest,
            }
        }
        _ => parts,
    };
    let mut parts = parts.iter().map(|p| (*p).to_owned());
    info.resource = parts.next().unwrap_or_default();
    info.name = parts.next().unwrap_or_default();
    info.named = !info.name.is_empty();
    info.subresource = parts.next().unwrap_or_default();
    info.rest = parts.collect();
}

fn read_query(info: &mut RequestInfo, query: &str) {
    if info.named {
        return;
    }
    match info.verb {
        "get" => {
            let watch = query_pairs(query).find(|(name, _)| name == "watch");
            let watch = watch.is_some_and(|(_, value)| is_true(&value));
            info.verb = if watch { "watch" } else { "list" };
        }
        "delete" => info.verb = "deletecollection",
        _ => return,
    }
    let selector = query_pairs(query).find(|(name, _)| name == "fieldSelector");
    if let Some(name) = selector.and_then(|(_, text)| selected_name(&text)) {
        info.name = name;
    }
}

/// Upstream's reading of boolean query parameters: present means true unless it says otherwise.
pub fn is_true(value: &str) -> bool {
    !matches!(value.to_ascii_lowercase().as_str(), "false" | "0")
}

fn selected_name(selector: &str) -> Option<String> {
    selector.split(',').find_map(|term| {
        let value = term.strip_prefix("metadata.name=")?;
        let value = value.strip_prefix('=').unwrap_or(value);
        let plain = value
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b".-:".contains(&b));
        (plain && !value.is_empty()).then(|| value.to_owned())
    })
}

fn method_verb(method: &Method) -> &'static str {
    match *method {
        Method::GET => "get",
        Method::HEAD => "head",
        Method::POST => "post",
        Method::PUT => "put",
        Method::PATCH => "patch",
        Method::DELETE => "delete",
        Method::OPTIONS => "options",
        Method::CONNECT => "connect",
        Method::TRACE => "trace",
        _ => "",
    }
}

/// Decodes `%xx`, and `+` as a space in queries. `None` when an escape is broken or the result is
/// not UTF-8.
fn percent_decode(text: &str, plus: bool) -> Option<Cow<'_, str>> {
    let escaped = text.contains('%') || plus && text.contains('+');
    if !escaped {
        return Some(Cow::Borrowed(text));
    }
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'%' => {
                let (high, low) = (hex(bytes.next()?)?, hex(bytes.next()?)?);
                out.push(high << 4 | low);
            }
            b'+' if plus => out.push(b' '),
            other => out.push(other),
        }
    }
    String::from_utf8(out).ok().map(Cow::Owned)
}

fn hex(byte: u8) -> Option<u8> {
    char::from(byte)
        .to_digit(16)
        .and_then(|d| u8::try_from(d).ok())
}

#[cfg(test)]
mod tests;
