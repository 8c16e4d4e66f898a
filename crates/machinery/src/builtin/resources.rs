//! Reads `tables/resources.txt`, whose head explains its format.

const MALFORMED: &str = "the committed table is well-formed (a test parses it)";

const ALL_VERBS: &str = "create,delete,deletecollection,get,list,patch,update,watch";

/// One served resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceRow {
    /// API group, empty for the legacy group.
    pub group: &'static str,
    /// API version this row serves.
    pub version: &'static str,
    /// Name in URLs.
    pub plural: &'static str,
    /// Singular name; kubectl accepts it.
    pub singular: &'static str,
    /// Kind of one object.
    pub kind: &'static str,
    /// Kind of a list of them.
    pub list_kind: Box<str>,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
    /// Abbreviations kubectl accepts.
    pub short_names: Vec<&'static str>,
    /// Groups of resources such as `all`.
    pub categories: Vec<&'static str>,
    /// Verbs as discovery lists them, sorted. A resource without `list` keeps no objects: it is a
    /// question with an answer (reviews) or an action (`bindings`).
    pub verbs: Vec<&'static str>,
    /// What hangs below single objects, sorted by name.
    pub subresources: Vec<SubresourceRow>,
    /// Definition of the kind in [`super::schema`], such as `io.k8s.api.core.v1.Pod`.
    pub type_name: &'static str,
    /// Group and version objects are stored in, for all rows that share one storage. It differs from
    /// `group` and `version` for events.k8s.io (stored as core/v1) and autoscaling/v1 (stored as v2).
    pub storage: (&'static str, &'static str),
    /// What discovery calls the storage version; empty for resources without storage.
    pub storage_version_hash: &'static str,
    /// Whether `metadata.generation` counts changes of the spec.
    pub tracks_generation: bool,
    /// Whether spec and status are written through separate endpoints.
    pub has_status: bool,
}

/// Something below a single object, such as `pods/log`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubresourceRow {
    /// Last segment of the URL.
    pub name: &'static str,
    /// Kind of the body, or of the options for streaming ones.
    pub kind: &'static str,
    /// Group of `kind`, when it is not the resource's own; discovery shows it only then.
    pub group: Option<&'static str>,
    /// Version of `kind`, set together with `group`.
    pub version: Option<&'static str>,
    /// Verbs as discovery lists them.
    pub verbs: Vec<&'static str>,
}

// === impl ResourceRow ===

impl ResourceRow {
    /// Whether `verb` is among [`Self::verbs`].
    pub fn can(&self, verb: &str) -> bool {
        self.verbs.contains(&verb)
    }

    /// The subresource called `name`.
    pub fn subresource(&self, name: &str) -> Option<&SubresourceRow> {
        self.subresources.iter().find(|sub| sub.name == name)
    }

    /// Group and version as in `apiVersion`: `v1`, `apps/v1`.
    pub fn api_version(&self) -> String {
        match self.group {
            "" => self.version.to_owned(),
            group => format!("{group}/{}", self.version),
        }
    }
}

/// Reads the rows in order.
///
/// # Panics
/// On malformed text, which is always the committed table.
pub(super) fn parse(text: &'static str) -> Vec<ResourceRow> {
    let mut rows: Vec<ResourceRow> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.trim_start().split(' ');
        match words.next() {
            Some("resource") => rows.push(resource(&mut words)),
            Some("sub") => {
                rows.last_mut()
                    .expect(MALFORMED)
                    .subresources
                    .push(subresource(&mut words));
            }
            _ => panic!("{MALFORMED}: {line}"),
        }
    }
    rows
}

fn resource(words: &mut dyn Iterator<Item = &'static str>) -> ResourceRow {
    let mut next = || words.next().expect(MALFORMED);
    let (group, version) = (or_core(next()), next());
    let (plural, singular, kind) = (next(), next(), next());
    let mut row = ResourceRow {
        group,
        version,
        plural,
        singular,
        kind,
        list_kind: format!("{kind}List").into(),
        namespaced: next() == "namespaced",
        short_names: Vec::new(),
        categories: Vec::new(),
        verbs: list(ALL_VERBS),
        subresources: Vec::new(),
        type_name: super::type_name(group, version, kind).expect(MALFORMED),
        storage: (group, version),
        storage_version_hash: "",
        tracks_generation: false,
        has_status: false,
    };
    for word in words {
        match word.split_once('=') {
            Some(("short", names)) => row.short_names = list(names),
            Some(("cat", names)) => row.categories = list(names),
            Some(("verbs", names)) => row.verbs = list(names),
            Some(("in", stored)) => {
                let (group, version) = stored.split_once('/').expect(MALFORMED);
                row.storage = (or_core(group), version);
            }
            // The hash may itself end in "=", which is why the first one splits.
            Some(("hash", hash)) => row.storage_version_hash = hash,
            None if word == "generation" => row.tracks_generation = true,
            None if word == "status" => row.has_status = true,
            _ => panic!("{MALFORMED}: {word}"),
        }
    }
    row
}

fn subresource(words: &mut dyn Iterator<Item = &'static str>) -> SubresourceRow {
    let mut next = || words.next().expect(MALFORMED);
    let (name, kind) = (next(), next());
    let own = next().split_once('/');
    SubresourceRow {
        name,
        kind,
        group: own.map(|(group, _)| group),
        version: own.map(|(_, version)| version),
        verbs: list(next()),
    }
}

fn or_core(group: &'static str) -> &'static str {
    if group == "-" { "" } else { group }
}

fn list(text: &'static str) -> Vec<&'static str> {
    text.split(',').collect()
}
