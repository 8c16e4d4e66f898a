//! What Go structs know about their fields beyond the published schema.
//!
//! A line reader, not a parser: gofmt'ed API types are regular enough.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use serde_json::Value;

/// One field of a Go struct.
#[derive(Clone, Debug, Default)]
pub(super) struct GoField {
    /// JSON name; empty for an inlined struct.
    pub(super) json: String,
    /// Go type as written, without the leading `*`.
    pub(super) ty: String,
    /// Whether the type is a pointer.
    pub(super) pointer: bool,
    /// Protobuf field number.
    pub(super) tag: Option<u32>,
    /// Whether the protobuf field says it is repeated (slices need not).
    pub(super) repeated: bool,
    /// Whether the JSON tag lets the field out when it is empty (`omitempty`), which does nothing to structs.
    pub(super) omit_empty: bool,
    /// Whether the JSON tag lets the field out when it is zero (`omitzero`).
    pub(super) omit_zero: bool,
    /// Value of a `+default=` marker.
    pub(super) default: Option<Value>,
}

/// Fields of a struct as they appear in JSON, each with the numbers of the inlined messages around it.
pub(super) type Flat = BTreeMap<String, (Vec<u32>, GoField)>;

type Structs = BTreeMap<String, Vec<GoField>>;

/// The Go packages below a staging folder, read when first asked for.
pub(super) struct Packages {
    root: PathBuf,
    read: RefCell<BTreeMap<String, Rc<Structs>>>,
}

impl Packages {
    /// Packages below `root`, which is laid out like `kubernetes/staging/src/k8s.io`.
    pub(super) fn new(root: PathBuf) -> Self {
        Self {
            root,
            read: RefCell::default(),
        }
    }

    /// The fields of the struct behind a definition such as `io.k8s.api.core.v1.Pod`.
    pub(super) fn flat(&self, definition: &str) -> Option<Flat> {
        let path = definition.strip_prefix("io.k8s.")?;
        let (package, name) = path.rsplit_once('.')?;
        let structs = self.package(&package.replace('.', "/"));
        structs.get(name)?;
        let mut flat = Flat::new();
        flatten(&structs, name, &[], &mut flat);
        Some(flat)
    }

    fn package(&self, dir: &str) -> Rc<Structs> {
        if let Some(known) = self.read.borrow().get(dir) {
            return known.clone();
        }
        let mut text = String::new();
        let mut files: Vec<PathBuf> = fs::read_dir(self.root.join(dir))
            .into_iter()
            .flatten()
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.extension().is_some_and(|ext| ext == "go"))
            .filter(|path| !path.to_string_lossy().contains("generated"))
            .collect();
        files.sort();
        for file in files {
            text += &fs::read_to_string(file).unwrap_or_default();
        }
        let mut structs = read_structs(&text);
        // Beta packages borrow types: `type Rule = v1.Rule`.
        for (name, original) in text.lines().filter_map(borrowed_from_v1) {
            let v1 = Path::new(dir).with_file_name("v1");
            let borrowed = self.package(&v1.to_string_lossy());
            structs.extend(
                borrowed
                    .get(original)
                    .map(|fields| (name.to_owned(), fields.clone())),
            );
        }
        let structs = Rc::new(structs);
        self.read
            .borrow_mut()
            .insert(dir.to_owned(), structs.clone());
        structs
    }
}

fn borrowed_from_v1(line: &str) -> Option<(&str, &str)> {
    let (name, original) = line.strip_prefix("type ")?.split_once(" v1.")?;
    Some((name.trim_end_matches(" ="), original))
}

fn flatten(structs: &Structs, name: &str, via: &[u32], out: &mut Flat) {
    for field in structs.get(name).into_iter().flatten() {
        if !field.json.is_empty() {
            out.insert(field.json.clone(), (via.to_vec(), field.clone()));
        } else if let Some(tag) = field.tag {
            flatten(structs, &field.ty, &[via, &[tag]].concat(), out);
        }
    }
}

fn read_structs(text: &str) -> Structs {
    let mut structs = Structs::new();
    let mut current: Option<(String, Vec<GoField>)> = None;
    let mut default = None;
    for line in text.lines() {
        let trimmed = line.trim();
        if let Some(name) = line
            .strip_prefix("type ")
            .and_then(|l| l.strip_suffix(" struct {"))
        {
            current = Some((name.to_owned(), Vec::new()));
        } else if line == "}" {
            structs.extend(current.take());
        } else if let Some(comment) = trimmed.strip_prefix("//") {
            if let Some(marker) = comment.trim().strip_prefix("+default=") {
                default = read_default(marker, text);
            }
        } else if let Some((_, fields)) = &mut current {
            if let Some(mut field) = read_field(trimmed) {
                field.default = default.take();
                fields.push(field);
            } else {
                default = None;
            }
        }
    }
    structs
}

fn read_field(line: &str) -> Option<GoField> {
    let (declaration, tags) = line.split_once('`')?;
    let json = tag_value(tags, "json")?;
    let ty = declaration.split_whitespace().last()?;
    let option = |wanted: &str| json.split(',').skip(1).any(|option| option == wanted);
    let inline = option("inline");
    let name = json.split(',').next().unwrap_or_default();
    let proto = tag_value(tags, "protobuf").unwrap_or_default();
    let parts: Vec<&str> = proto.split(',').collect();
    Some(GoField {
        json: if inline {
            String::new()
        } else {
            name.to_owned()
        },
        ty: ty.trim_start_matches('*').to_owned(),
        pointer: ty.starts_with('*'),
        tag: parts.get(1).and_then(|number| number.parse().ok()),
        repeated: parts.get(2) == Some(&"rep"),
        omit_empty: option("omitempty"),
        omit_zero: option("omitzero"),
        default: None,
    })
    .filter(|field| field.json != "-")
}

fn tag_value<'a>(tags: &'a str, key: &str) -> Option<&'a str> {
    let start = tags.find(&format!("{key}:\""))? + key.len() + 2;
    tags[start..].split('"').next()
}

/// A JSON literal, or `ref(Name)` of a constant in the same package.
fn read_default(marker: &str, package: &str) -> Option<Value> {
    let literal = match marker
        .strip_prefix("ref(")
        .and_then(|rest| rest.strip_suffix(')'))
    {
        None => marker,
        Some(constant) => package
            .lines()
            .find(|line| line.split_whitespace().next() == Some(constant) && line.contains('='))
            .and_then(|line| line.split_once('=').map(|(_, value)| value.trim()))?,
    };
    serde_json::from_str(literal).ok()
}
