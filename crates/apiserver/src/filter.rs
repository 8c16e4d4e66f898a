//! Which objects of a collection a list or watch is about, decided without parsing them.

use flotilla_machinery::{fields, labels, status::Status};

use crate::{call::Call, params::ListOptions, registry::Resource, store::Object};

/// A label selector and a field selector.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    labels: Option<labels::Selector>,
    fields: Option<fields::Selector>,
}

impl Filter {
    /// The filter of a request.
    ///
    /// # Errors
    /// 400 for field labels the kind does not support.
    pub(crate) fn new(call: &Call, options: &ListOptions) -> Result<Self, Status> {
        let mut fields = options.fields.clone();
        if let Some(selector) = &fields {
            check_labels(selector, &call.resource)?;
        }
        // The deprecated path `/watch/{resource}/{name}`, and GET of a name with `watch`.
        if call.info.named {
            let text = format!("metadata.name={}", fields::escape(&call.info.name));
            fields = fields::Selector::parse(&text).ok();
        }
        let labels = options.labels.clone().filter(|l| !l.is_everything());
        let fields = fields.filter(|f| !f.is_everything());
        Ok(Self { labels, fields })
    }

    /// Whether nothing is filtered out.
    pub(crate) fn is_everything(&self) -> bool {
        self.labels.is_none() && self.fields.is_none()
    }

    /// Whether it asks for fields beyond name and namespace, which may differ between versions.
    pub(crate) fn needs_fields(&self) -> bool {
        let mut terms = self.fields.iter().flat_map(fields::Selector::terms);
        terms.any(|t| !matches!(t.field.as_str(), "metadata.name" | "metadata.namespace"))
    }

    /// The one name that can match, if the filter pins it.
    pub(crate) fn name(&self) -> Option<&str> {
        self.fields.as_ref().and_then(|f| f.exact("metadata.name"))
    }

    /// Whether an object is meant.
    pub(crate) fn matches(&self, object: &Object) -> bool {
        let meta = &object.meta;
        self.labels
            .as_ref()
            .is_none_or(|l| l.matches(|key| meta.labels.get(key)))
            && self.fields.as_ref().is_none_or(|f| {
                f.matches(|field| match field {
                    "metadata.name" => Some(&*object.key.name),
                    "metadata.namespace" => Some(&*object.key.namespace),
                    other => Some(meta.fields.get(other).unwrap_or("")),
                })
            })
    }
}

/// What upstream says of a label; kinds with conversions of their own have words of their own.
fn unknown_label(label: &str, resource: &Resource) -> String {
    const CONVERTED: [&str; 10] = [
        "secrets",
        "services",
        "pods",
        "replicationcontrollers",
        "events",
        "nodes",
        "namespaces",
        "certificatesigningrequests",
        "customresourcedefinitions",
        "apiservices",
    ];
    match &*resource.plural {
        "jobs" => format!("field label {label:?} not supported for Job"),
        plural if resource.custom.is_some() || CONVERTED.contains(&plural) => {
            format!("field label not supported: {label}")
        }
        _ => format!(
            "{label:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
        ),
    }
}

fn check_labels(selector: &fields::Selector, resource: &Resource) -> Result<(), Status> {
    for term in selector.terms() {
        let label = term.field.as_str();
        let known = matches!(label, "metadata.name" | "metadata.namespace")
            || resource
                .strategy
                .selectable_fields()
                .iter()
                .any(|f| f.label.as_ref() == label);
        if !known {
            return Err(Status::bad_request(unknown_label(label, resource)));
        }
    }
    Ok(())
}
