//! The entries of `metadata.managedFields`: who set which paths, how, when and in which version.

use serde_json::{Map, Value};

use crate::fieldpath::Set;
use crate::quote::json;

/// Most managers that own fields by updates; beyond, the oldest are merged into one.
const UPDATERS_MAX: usize = 10;
/// Owner of what was merged.
const ANCIENT: &str = "ancient-changes";

/// How a manager came to own its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// By server-side apply.
    Apply,
    /// By any other write.
    Update,
}

/// Who owns fields. Appliers are the same manager in every version, updaters are not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) manager: String,
    pub(super) operation: Operation,
    /// Empty for appliers.
    pub(super) api_version: String,
    pub(super) subresource: String,
}

/// One entry.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) identity: Identity,
    /// Version in which the paths are meant.
    pub(super) api_version: String,
    /// RFC 3339 with seconds; sorts as text.
    pub(super) time: Option<String>,
    pub(super) set: Set,
}

/// All entries of an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Managers(pub(super) Vec<Entry>);

impl Identity {
    pub(super) fn new(manager: &str, operation: Operation, version: &str, sub: &str) -> Self {
        let api_version = if operation == Operation::Update {
            version
        } else {
            ""
        };
        Self {
            manager: if manager.is_empty() {
                "unknown"
            } else {
                manager
            }
            .to_owned(),
            operation,
            api_version: api_version.to_owned(),
            subresource: sub.to_owned(),
        }
    }

    /// The text by which upstream sorts managers.
    pub(super) fn sort_key(&self) -> String {
        let mut out = format!("{{\"manager\":{}", json(&self.manager.as_str().into()));
        let mut put = |name: &str, value: &str| {
            if !value.is_empty() {
                out.push_str(&format!(",\"{name}\":{}", json(&value.into())));
            }
        };
        put("operation", self.operation.as_str());
        put("apiVersion", &self.api_version);
        put("subresource", &self.subresource);
        out.push('}');
        out
    }
}

impl Operation {
    /// The word in `managedFields`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

impl Managers {
    /// Reads `metadata.managedFields`; null means none.
    pub(super) fn decode(entries: &Value) -> Result<Self, String> {
        let entries = match entries {
            Value::Null => return Ok(Self::default()),
            Value::Array(entries) => entries,
            _ => return Err("managedFields must be a list".into()),
        };
        let mut out = Self::default();
        for (at, entry) in entries.iter().enumerate() {
            let entry = decode_entry(at, entry)?;
            match out.find_mut(&entry.identity) {
                Some(known) => *known = entry,
                None => out.0.push(entry),
            }
        }
        Ok(out)
    }

    /// Writes `metadata.managedFields` in upstream's order; `None` when there are no entries.
    pub(super) fn encode(mut self) -> Option<Value> {
        if self.0.is_empty() {
            return None;
        }
        self.0.sort_by(|a, b| {
            let key = |e: &Entry| (e.identity.operation, e.time.clone());
            key(a).cmp(&key(b)).then_with(|| {
                let key = |e: &Entry| {
                    let id = &e.identity;
                    (
                        id.manager.clone(),
                        e.api_version.clone(),
                        id.subresource.clone(),
                    )
                };
                key(a).cmp(&key(b))
            })
        });
        Some(Value::Array(self.0.iter().map(encode_entry).collect()))
    }

    pub(super) fn find(&self, identity: &Identity) -> Option<&Entry> {
        self.0.iter().find(|entry| entry.identity == *identity)
    }

    pub(super) fn find_mut(&mut self, identity: &Identity) -> Option<&mut Entry> {
        self.0.iter_mut().find(|entry| entry.identity == *identity)
    }

    pub(super) fn drop_empty(&mut self) {
        self.0.retain(|entry| !entry.set.is_empty());
    }

    /// Merges the oldest updaters of each version until at most ten are left.
    pub(super) fn cap_updaters(&mut self) {
        let mut updaters: Vec<(Option<String>, String, Identity)> = self
            .0
            .iter()
            .filter(|entry| entry.identity.operation == Operation::Update)
            .map(|e| (e.time.clone(), e.identity.sort_key(), e.identity.clone()))
            .collect();
        let mut n_left = updaters.len();
        updaters.sort_by(|a, b| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
        let mut first_of: Vec<(String, Identity)> = Vec::new();
        for (time, _, identity) in updaters {
            if n_left <= UPDATERS_MAX {
                return;
            }
            let version = identity.api_version.clone();
            let Some((_, first)) = first_of.iter().find(|(known, _)| *known == version) else {
                first_of.push((version, identity));
                continue;
            };
            let bucket = Identity::new(ANCIENT, Operation::Update, &version, "");
            if self.find(&bucket).is_none()
                && let Some(entry) = self.find_mut(first)
            {
                entry.identity = bucket.clone();
            }
            let Some(at) = self.0.iter().position(|entry| entry.identity == identity) else {
                continue;
            };
            let merged = self.0.remove(at);
            if let Some(entry) = self.find_mut(&bucket) {
                entry.set = entry.set.union(&merged.set);
                entry.time = time;
            }
            n_left -= 1;
        }
    }
}

fn decode_entry(at: usize, entry: &Value) -> Result<Entry, String> {
    let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default();
    let operation = match text("operation") {
        "Apply" => Operation::Apply,
        "Update" => Operation::Update,
        _ => return Err("operation must be `Apply` or `Update`".into()),
    };
    let api_version = text("apiVersion");
    if api_version.is_empty() {
        return Err("apiVersion must not be empty".into());
    }
    match text("fieldsType") {
        "FieldsV1" => {}
        "" => return Err(format!("missing fieldsType in managed fields entry {at}")),
        other => {
            let other = crate::quote::quote(other);
            return Err(format!(
                "invalid fieldsType {other} in managed fields entry {at}"
            ));
        }
    }
    let set = match entry.get("fieldsV1") {
        None | Some(Value::Null) => Set::new(),
        Some(fields) => Set::from_fields_v1(fields).map_err(|error| {
            format!("error decoding versioned set: error decoding set: {error}")
        })?,
    };
    Ok(Entry {
        identity: Identity::new(text("manager"), operation, api_version, text("subresource")),
        api_version: api_version.to_owned(),
        time: entry.get("time").and_then(Value::as_str).map(str::to_owned),
        set,
    })
}

fn encode_entry(entry: &Entry) -> Value {
    let mut map = Map::new();
    let mut put = |name: &str, value: &str| {
        if !value.is_empty() {
            map.insert(name.into(), value.into());
        }
    };
    put("manager", &entry.identity.manager);
    put("operation", entry.identity.operation.as_str());
    put("apiVersion", &entry.api_version);
    put("time", entry.time.as_deref().unwrap_or_default());
    put("fieldsType", "FieldsV1");
    put("subresource", &entry.identity.subresource);
    map.insert("fieldsV1".into(), entry.set.to_fields_v1());
    Value::Object(map)
}
