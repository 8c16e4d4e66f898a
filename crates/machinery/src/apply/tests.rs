use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::builtin;
use crate::schema::{Field, ListMerge, Scalar, Schema, Struct, Type};
use crate::status::Status;

mod replay;
mod vectors;

#[test]
fn merges_and_ownership_are_upstreams() {
    vectors::check();
}

#[test]
fn managed_fields_errors_and_conflicts_are_upstreams() {
    replay::check();
}

/// A context for ConfigMaps.
fn config_map<'a>(manager: &'a str, now: &'a str, reset_fields: &'a Set) -> Context<'a> {
    let schema = builtin::schema();
    Context {
        shape: Shape {
            schema,
            root: schema.find("io.k8s.api.core.v1.ConfigMap").unwrap(),
        },
        api_version: "v1",
        kind: "ConfigMap",
        manager,
        subresource: "",
        force: false,
        now,
        reset_fields,
        versions: None,
    }
}

fn data(data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": data})
}

fn managers_of(object: &Value) -> Vec<String> {
    let entries = object["metadata"]["managedFields"].as_array();
    let name = |e: &Value| format!("{} {}", e["operation"].as_str().unwrap(), e["manager"]);
    entries
        .into_iter()
        .flatten()
        .map(|e| name(e).replace('"', ""))
        .collect()
}

#[test]
fn a_conflict_names_owners_and_paths() {
    let none = Set::new();
    let live = apply(
        None,
        &data(json!({"a": "1", "b": "1"})),
        &config_map("m", "T", &none),
    );
    let live = track_update(
        Some(&live.unwrap().object.clone()),
        {
            let mut new = data(json!({"a": "1", "b": "2", "c": "3"}));
            new["metadata"]["uid"] = json!("u");
            new
        },
        &Context {
            subresource: "status",
            ..config_map("u", "T2", &none)
        },
    );
    let config = data(json!({"a": "2", "b": "3", "c": "4"}));
    let error = apply(Some(live), &config, &config_map("n", "T3", &none)).unwrap_err();
    let status = Status::from(error).to_value();
    assert_eq!(
        status["message"],
        "Apply failed with 3 conflicts: conflicts with \"m\":\n- .data.a\nconflicts with \"u\" with \
         subresource \"status\" using v1:\n- .data.b\n- .data.c"
    );
    assert_eq!(
        (&status["code"], &status["reason"]),
        (&json!(409), &json!("Conflict"))
    );
    assert_eq!(
        status["details"]["causes"][0],
        json!({
            "reason": "FieldManagerConflict", "message": "conflict with \"m\"", "field": ".data.a",
        })
    );
}

#[test]
fn applying_the_same_again_changes_nothing() {
    let none = Set::new();
    let config = data(json!({"a": "1"}));
    let first = apply(None, &config, &config_map("m", "T1", &none)).unwrap();
    assert!(first.changed);
    let second = apply(
        Some(first.object.clone()),
        &config,
        &config_map("m", "T2", &none),
    )
    .unwrap();
    assert!(!second.changed);
    assert_eq!(second.object, first.object);
}

#[test]
fn fields_that_nobody_wants_any_more_go_away() {
    let none = Set::new();
    let ctx = config_map("m", "T", &none);
    let live = apply(None, &data(json!({"a": "1", "b": "1"})), &ctx)
        .unwrap()
        .object;
    let other = config_map("n", "T", &none);
    let live = apply(Some(live), &data(json!({"b": "1"})), &other)
        .unwrap()
        .object;
    let live = apply(Some(live), &data(json!({"c": "1"})), &ctx)
        .unwrap()
        .object;
    assert_eq!(live["data"], json!({"b": "1", "c": "1"}));
}

#[test]
fn an_object_that_nobody_tracked_belongs_to_before_first_apply() {
    let none = Set::new();
    let mut live = data(json!({"a": "1"}));
    live["metadata"]["uid"] = json!("u");
    let untracked = track_update(
        Some(&live),
        data(json!({"a": "2"})),
        &config_map("u", "T", &none),
    );
    assert_eq!(untracked["metadata"].get("managedFields"), None);
    let applied = apply(
        Some(live),
        &data(json!({"b": "1"})),
        &config_map("m", "T", &none),
    )
    .unwrap();
    assert_eq!(
        managers_of(&applied.object),
        ["Apply m", "Update before-first-apply"]
    );
}

#[test]
fn the_eleventh_updater_makes_the_oldest_ancient() {
    let none = Set::new();
    let mut live = track_update(
        None,
        data(json!({"k": "0"})),
        &config_map("u00", "T00", &none),
    );
    for n in 1..13 {
        let mut new = live.clone();
        new["data"][format!("k{n}")] = json!("1");
        let (manager, now) = (format!("u{n:02}"), format!("T{n:02}"));
        live = track_update(Some(&live), new, &config_map(&manager, &now, &none));
    }
    let managers = managers_of(&live);
    assert_eq!(managers.len(), 10);
    assert_eq!(managers[..2], ["Update ancient-changes", "Update u04"]);
    let ancient = &live["metadata"]["managedFields"][0];
    assert_eq!(ancient["time"], "T03");
    assert_eq!(
        ancient["fieldsV1"]["f:data"],
        json!({".": {}, "f:k": {}, "f:k1": {}, "f:k2": {}, "f:k3": {}})
    );
}

#[test]
fn managed_fields_can_be_reset_but_not_lost() {
    let none = Set::new();
    let ctx = config_map("u", "T", &none);
    let live = track_update(None, data(json!({"a": "1"})), &ctx);
    let kept = track_update(Some(&live), data(json!({"a": "1"})), &ctx);
    assert_eq!(
        kept["metadata"]["managedFields"],
        live["metadata"]["managedFields"]
    );
    for reset in [json!([]), json!([{}])] {
        let mut new = data(json!({"a": "1"}));
        new["metadata"]["managedFields"] = reset;
        let reset = track_update(Some(&live), new.clone(), &ctx);
        assert_eq!(reset["metadata"].get("managedFields"), None);
        let status = Context {
            subresource: "status",
            ..ctx
        };
        let kept = track_update(Some(&live), new, &status);
        assert_eq!(
            kept["metadata"]["managedFields"],
            live["metadata"]["managedFields"]
        );
    }
    let mut broken = live.clone();
    broken["metadata"]["managedFields"] = json!([{"manager": "x", "operation": "Nope"}]);
    let kept = track_update(Some(&live), broken.clone(), &ctx);
    assert_eq!(
        kept["metadata"]["managedFields"],
        live["metadata"]["managedFields"]
    );
    assert_eq!(
        apply(Some(broken), &data(json!({})), &ctx)
            .unwrap_err()
            .to_string(),
        "failed to decode managed fields: operation must be `Apply` or `Update`"
    );
}

#[test]
fn configurations_of_the_wrong_kind_or_with_owners_are_refused() {
    let none = Set::new();
    let ctx = config_map("m", "T", &none);
    let refuse = |config: Value| Status::from(apply(None, &config, &ctx).unwrap_err());
    let wrong = refuse(json!({"apiVersion": "apps/v1", "kind": "Deployment"}));
    assert_eq!(
        (wrong.code, wrong.message.as_str()),
        (400, "invalid object type: apps/v1, Kind=Deployment")
    );
    let wrong = refuse(json!({"apiVersion": "v1", "kind": "Pod"}));
    assert_eq!(wrong.message, "invalid object type: /v1, Kind=Pod");
    let mut config = data(json!({}));
    config["metadata"]["managedFields"] = json!([]);
    let wrong = refuse(config);
    assert_eq!(
        (wrong.code, wrong.message.as_str()),
        (400, "metadata.managedFields must be nil")
    );
}

#[test]
fn kubectl_keeps_its_annotation_up_to_date() {
    let none = Set::new();
    let last = serde_json::to_string(&data(json!({"a": "1"}))).unwrap();
    let mut live = data(json!({"a": "1"}));
    live["metadata"]["annotations"] = json!({LAST_APPLIED: last});
    let live = track_update(
        None,
        live,
        &config_map("kubectl-client-side-apply", "T", &none),
    );
    // The field was set by client-side apply, so that its change is no conflict.
    let config = data(json!({"a": "2"}));
    let other = apply(Some(live.clone()), &config, &config_map("m", "T", &none));
    assert!(matches!(other, Err(Error::Conflicts(_))));
    let applied = apply(Some(live), &config, &config_map("kubectl", "T", &none))
        .unwrap()
        .object;
    assert_eq!(applied["data"], json!({"a": "2"}));
    let annotation = applied["metadata"]["annotations"][LAST_APPLIED]
        .as_str()
        .unwrap();
    assert_eq!(annotation, format!("{config}\n"));
}

/// Two versions of a kind that call one field differently.
struct TwoVersions(Schema);

impl TwoVersions {
    fn new() -> Self {
        let mut schema = Schema::new();
        let text = schema.add(Type::Scalar(Scalar::String));
        let texts = schema.add(Type::Map {
            value: text,
            atomic: false,
        });
        for (version, field) in [("v1", "old"), ("v2", "new")] {
            let any = schema.add(Type::Any);
            let fields = [
                ("apiVersion", text),
                ("kind", text),
                ("metadata", any),
                (field, texts),
            ];
            let fields = fields.map(|(name, ty)| Field::new(name, ty));
            let id = schema.add(Type::Struct(Struct::with_fields(fields.into())));
            schema.name(version, id);
        }
        Self(schema)
    }
}

impl Versions for TwoVersions {
    fn shape(&self, api_version: &str) -> Option<Shape<'_>> {
        let version = api_version.strip_prefix("g/")?;
        Some(Shape {
            schema: &self.0,
            root: self.0.find(version)?,
        })
    }

    fn convert(&self, object: &Value, api_version: &str) -> Result<Option<Value>, String> {
        let (from, to) = if api_version == "g/v2" {
            ("old", "new")
        } else {
            ("new", "old")
        };
        let mut out = object.clone();
        out["apiVersion"] = json!(api_version);
        if let Value::Object(map) = &mut out
            && let Some(value) = map.remove(from)
        {
            map.insert(to.into(), value);
        }
        Ok(Some(out))
    }
}

#[test]
fn owners_keep_their_version() {
    let (versions, none) = (TwoVersions::new(), Set::new());
    let ctx = |api_version: &'static str, manager: &'static str| Context {
        shape: versions.shape(api_version).unwrap(),
        api_version,
        kind: "K",
        versions: Some(&versions),
        ..config_map(manager, "T", &none)
    };
    let v1 = |data: Value| json!({"apiVersion": "g/v1", "kind": "K", "metadata": {"name": "x"}, "old": data});
    let v2 = |data: Value| json!({"apiVersion": "g/v2", "kind": "K", "metadata": {"name": "x"}, "new": data});
    let live = apply(None, &v1(json!({"a": "1", "b": "1"})), &ctx("g/v1", "m"))
        .unwrap()
        .object;
    let live = versions.convert(&live, "g/v2").unwrap().unwrap();
    let error = apply(
        Some(live.clone()),
        &v2(json!({"a": "2"})),
        &ctx("g/v2", "n"),
    )
    .unwrap_err();
    assert_eq!(
        error.to_string(),
        "Apply failed with 1 conflict: conflict with \"m\": .old.a"
    );
    // The same manager in the new version drops what it had set in the old one.
    let live = apply(
        Some(live),
        &v2(json!({"b": "1", "c": "1"})),
        &ctx("g/v2", "m"),
    )
    .unwrap();
    assert_eq!(live.object["new"], json!({"b": "1", "c": "1"}));
    let entries = &live.object["metadata"]["managedFields"];
    assert_eq!(entries.as_array().unwrap().len(), 1);
    assert_eq!(entries[0]["apiVersion"], "g/v2");
    // Entries of versions that are gone go too.
    let mut live = live.object;
    live["metadata"]["managedFields"][0]["apiVersion"] = json!("h/v0");
    live["metadata"]["managedFields"][0]["manager"] = json!("z");
    let live = apply(Some(live), &v2(json!({"b": "2"})), &ctx("g/v2", "m")).unwrap();
    assert_eq!(managers_of(&live.object), ["Apply m"]);
}

#[test]
fn a_list_that_became_atomic_is_owned_as_a_whole() {
    let none = Set::new();
    let schema_with = |merge: ListMerge| {
        let mut schema = Schema::new();
        let text = schema.add(Type::Scalar(Scalar::String));
        let any = schema.add(Type::Any);
        let list = schema.add(Type::List { item: text, merge });
        let fields = [
            ("apiVersion", text),
            ("kind", text),
            ("metadata", any),
            ("list", list),
        ];
        let fields = fields.map(|(name, ty)| Field::new(name, ty));
        let id = schema.add(Type::Struct(Struct::with_fields(fields.into())));
        (schema, id)
    };
    let config = |list: Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}, "list": list});
    let (granular, root) = schema_with(ListMerge::Set);
    let ctx = Context {
        shape: Shape {
            schema: &granular,
            root,
        },
        ..config_map("m", "T", &none)
    };
    let live = apply(None, &config(json!(["a"])), &ctx).unwrap().object;
    let (atomic, root) = schema_with(ListMerge::Atomic);
    let shape = Shape {
        schema: &atomic,
        root,
    };
    let ctx = Context {
        shape,
        ..config_map("n", "T", &none)
    };
    let error = apply(Some(live), &config(json!(["b"])), &ctx).unwrap_err();
    assert_eq!(
        error.to_string(),
        "Apply failed with 1 conflict: conflict with \"m\": .list"
    );
}

#[test]
fn k8s_121575_duplicates_in_the_live_object_do_not_wipe_owners() {
    let none = Set::new();
    let schema = builtin::schema();
    let root = schema.find("io.k8s.api.core.v1.Pod").unwrap();
    let ctx = |manager| Context {
        shape: Shape { schema, root },
        kind: "Pod",
        ..config_map(manager, "T", &none)
    };
    let pod = |env: Value| {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"},
            "spec": {"containers": [{"name": "c", "env": env}]}})
    };
    let twice = pod(json!([{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]));
    let live = track_update(None, twice, &ctx("u"));
    assert_eq!(managers_of(&live), ["Update u"]);
    let applied = apply(
        Some(live),
        &pod(json!([{"name": "B", "value": "1"}])),
        &ctx("m"),
    )
    .unwrap();
    assert_eq!(managers_of(&applied.object), ["Apply m", "Update u"]);
    let env = &applied.object["spec"]["containers"][0]["env"];
    assert_eq!(env.as_array().unwrap().len(), 3);
}

#[test]
fn times_alone_are_no_change() {
    let none = Set::new();
    let live = track_update(None, data(json!({"a": "1"})), &config_map("u", "T1", &none));
    let mut new = track_update(None, data(json!({"a": "1"})), &config_map("u", "T2", &none));
    assert!(revert_times(&live, &mut new));
    assert_eq!(new, live);
    let mut new = track_update(None, data(json!({"a": "2"})), &config_map("u", "T2", &none));
    assert!(!revert_times(&live, &mut new));
    assert_eq!(new["metadata"]["managedFields"][0]["time"], "T2");
}

// Source: apimachinery util/managedfields/scalehandler_test.go, v0.35.4.
#[test]
fn replicas_change_owners_through_scale() {
    let paths = [
        ("apps/v1", Some(Path::fields(&["spec", "replicas"]))),
        ("apps/v1beta2", None),
    ];
    let entry = |manager: &str,
                 operation: &str,
                 version: &str,
                 sub: Option<&str>,
                 fields: Value| {
        let mut entry = json!({"manager": manager, "operation": operation, "apiVersion": version,
            "fieldsType": "FieldsV1", "fieldsV1": fields});
        if let Some(sub) = sub {
            entry["subresource"] = json!(sub);
        }
        entry
    };
    let replicas = json!({"f:spec": {"f:replicas": {}}});
    let both = json!({"f:spec": {"f:replicas": {}, "f:selector": {}}});
    let parent = json!([
        entry("test", "Apply", "apps/v1", None, both),
        entry("gone", "Apply", "apps/v10", None, replicas.clone())
    ]);
    let shown = scale::to_scale(&parent, &paths).unwrap();
    assert_eq!(
        shown,
        json!([entry(
            "test",
            "Apply",
            "autoscaling/v1",
            None,
            replicas.clone()
        )])
    );
    let kept = scale::to_parent(&parent, &shown, "apps/v1", &paths).unwrap();
    assert_eq!(kept, json!([parent[0].clone()]));
    let stolen = json!([entry(
        "s",
        "Update",
        "autoscaling/v1",
        Some("scale"),
        replicas.clone()
    )]);
    let after = scale::to_parent(&parent, &stolen, "apps/v1", &paths).unwrap();
    let selector = json!({"f:spec": {"f:selector": {}}});
    assert_eq!(
        after,
        json!([
            entry("test", "Apply", "apps/v1", None, selector),
            entry("s", "Update", "apps/v1", Some("scale"), replicas)
        ])
    );
}

fn small_map() -> impl Strategy<Value = Value> {
    prop::collection::btree_map("[a-d]", "[12]", 0..4).prop_map(|map| json!(map))
}

/// An apply by one of three managers, or an update of the live object.
fn step() -> impl Strategy<Value = (usize, bool, bool, Value)> {
    (0..3usize, any::<bool>(), any::<bool>(), small_map())
}

proptest! {
    #[test]
    fn owners_never_lose_what_they_set_unless_it_is_taken(
        steps in prop::collection::vec(step(), 1..8)
    ) {
        let none = Set::new();
        let mut live: Option<Value> = None;
        for (manager, applies, force, map) in steps {
            let name = ["m0", "m1", "m2"][manager];
            let ctx = Context { force, ..config_map(name, "T", &none) };
            let config = data(map);
            if !applies {
                let mut new = config;
                if let Some(live) = &live {
                    new["metadata"] = live["metadata"].clone();
                }
                live = Some(track_update(live.as_ref(), new, &ctx));
                continue;
            }
            let Ok(once) = apply(live.clone(), &config, &ctx) else { continue };
            // What was applied is there, and applying it again does nothing.
            for (key, value) in config["data"].as_object().unwrap() {
                prop_assert_eq!(&once.object["data"][key], value);
            }
            let twice = apply(Some(once.object.clone()), &config, &ctx).unwrap();
            prop_assert!(!twice.changed);
            prop_assert_eq!(&twice.object, &once.object);
            // Nothing of the others is gone or different without force.
            let before = live.as_ref().map(|l| l["data"].clone()).unwrap_or_default();
            let others = live.as_ref().map(|l| owned_by_others(l, name)).unwrap_or_default();
            for key in others.iter().filter(|_| !force) {
                prop_assert_eq!(&once.object["data"][key], &before[key]);
            }
            live = Some(once.object);
        }
    }
}

/// Keys of `data` that managers other than the applier `name` own.
fn owned_by_others(object: &Value, name: &str) -> Vec<String> {
    let entries = object["metadata"]["managedFields"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let others = entries
        .iter()
        .filter(|e| e["manager"] != name || e["operation"] != "Apply");
    let keys = others.flat_map(|e| {
        e["fieldsV1"]["f:data"]
            .as_object()
            .cloned()
            .unwrap_or_default()
    });
    keys.filter_map(|(key, _)| key.strip_prefix("f:").map(str::to_owned))
        .collect()
}

/// The value without nulls and without what is empty: where something became empty, upstream
/// leaves a null, and we nothing or what the configuration says.
fn without_empties(value: &Value) -> Value {
    let kept = |value: &Value| match value {
        Value::Null => false,
        Value::Object(map) => !map.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => true,
    };
    match value {
        Value::Object(map) => {
            let entries = map
                .iter()
                .map(|(key, value)| (key.clone(), without_empties(value)));
            Value::Object(entries.filter(|(_, value)| kept(value)).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(without_empties).collect()),
        other => other.clone(),
    }
}
