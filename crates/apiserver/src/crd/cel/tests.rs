use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};

use super::engine::{Answer, Expression, Failure, Interrupt};
use super::value::{bind, escape};
use super::{CALL_COST_MAX, RuleError, compile, try_rule};
use crate::crd::structural::{Pool, parse};

fn eval(source: &str, this: Value) -> Result<Answer, Failure> {
    let expression = Expression::compile(source, &["self", "oldSelf"])
        .unwrap_or_else(|e| panic!("{source}: {e}"));
    let this = bind(&this, None);
    expression
        .evaluate(&[("self", &this)], CALL_COST_MAX, None)
        .0
}

/// Errors of a rule at `spec`.
fn rule(spec: Value, new: Value, old: Option<Value>) -> Vec<String> {
    let schema = json!({"type": "object", "properties": {"spec": spec}});
    let schema = parse(&schema, &mut Pool::new()).expect("parses");
    let rules = compile(&schema).expect("has rules");
    let new = json!({"spec": new});
    let old = old.map(|old| json!({"spec": old}));
    rules
        .check(&new, old.as_ref(), None)
        .0
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn expressions_of_every_library_are_true() {
    let this =
        json!({"i": 3, "s": "hello", "l": [3, 1, 2], "m": {"a": 1, "b": 2}, "e": [], "q": "1Gi"});
    for source in [
        "self.i > 2 && self.s.startsWith('he')",
        "self.l.all(x, x > 0) && self.l.exists_one(x, x == 3)",
        "self.l.map(x, x * 2) == [6, 2, 4]",
        "self.l.filter(x, x > 1).size() == 2",
        "has(self.i) && !has(self.nope)",
        "self.m.all(k, self.m[k] > 0)",
        "'a' in self.m && 3 in self.l",
        "self.s.matches('^h.*o$')",
        "self.s.find('l+') == 'll'",
        "self.s.findAll('l') == ['l', 'l']",
        "quantity(self.q).isGreaterThan(quantity('500Mi'))",
        "isIP('10.0.0.1') && cidr('10.0.0.0/8').containsIP('10.1.1.1')",
        "url('https://a.b/c').getHost() == 'a.b'",
        "self.s.upperAscii() == 'HELLO' && 'a,b'.split(',') == ['a', 'b']",
        "duration('1h') > duration('59m')",
        "timestamp('2024-01-01T00:00:00Z').getFullYear() == 2024",
        "sets.contains(self.l, [1, 2])",
        "lists.range(3) == [0, 1, 2]",
        "self.l.sortBy(x, x) == [1, 2, 3]",
        "self.l.sum() == 6 && self.l.max() == 3",
        "cel.bind(n, self.l.size(), n * n == 9)",
        "cel.bind(a, 1, cel.bind(b, a + 1, a + b == 3))",
        "self.l.all(i, v, i >= 0 && v > 0)",
        "self.l.exists(i, v, i == 0 && v == 3)",
        "self.l.existsOne(i, v, v == 1)",
        "self.m.all(k, v, self.m[k] == v)",
        "self.l.transformList(i, v, i + v) == [3, 2, 4]",
        "self.l.transformList(i, v, i > 0, v) == [1, 2]",
        "self.m.transformMap(k, v, v * 10) == {'a': 10, 'b': 20}",
        "self.?nope.orValue(7) == 7 && self.?i.orValue(7) == 3",
        "self.?nope.?deeper.hasValue() == false",
        "self.?i.optMap(x, x + 1).orValue(0) == 4",
        "self[?'nope'].orValue('d') == 'd'",
        "type(self.i) == int && type(self.s) == string && type(self.l) == list",
        "type(self.i) != string",
        "[1, 2].all(x, self.l.exists(y, y == x))",
        "optional.of(1).hasValue() && !optional.none().hasValue()",
        "semver('1.2.3').isLessThan(semver('1.10.0'))",
        "!format.dns1123Label().validate('ok').hasValue()",
        "'%s-%d'.format(['a', 1]) == 'a-1'",
        "math.greatest(1, 2) == 2",
        "1 < 2.5 && 2u > 1",
    ] {
        assert_eq!(
            eval(source, this.clone()),
            Ok(Answer::Bool(true)),
            "{source}"
        );
    }
}

#[test]
fn mistakes_in_expressions_are_found_when_compiled() {
    for (source, text) in [
        (
            "self.a == foo",
            "ERROR: <input>:1:11: undeclared reference to 'foo' (in container '')",
        ),
        (
            "nope(self)",
            "ERROR: <input>:1:1: undeclared reference to 'nope' (in container '')",
        ),
        (
            "self.x.nope()",
            "ERROR: <input>:1:8: undeclared reference to 'nope' (in container '')",
        ),
        (
            "self.all(x, y > 1)",
            "ERROR: <input>:1:13: undeclared reference to 'y' (in container '')",
        ),
        ("self.x ==", "ERROR: <input>:1:10: Syntax error: "),
    ] {
        let why = Expression::compile(source, &["self"]).err().expect(source);
        assert!(why.starts_with(text), "{source}: {why}");
    }
}

#[test]
fn names_are_escaped_as_upstream_does() {
    for (name, escaped) in [
        ("a", Some("a")),
        ("my_field", Some("my_field")),
        ("a__b", Some("a__underscores__b")),
        ("a-b.c/d", Some("a__dash__b__dot__c__slash__d")),
        ("namespace", Some("__namespace__")),
        ("1a", None),
        ("a b", None),
    ] {
        assert_eq!(escape(name).as_deref(), escaped, "{name}");
    }
}

#[test]
fn a_failed_rule_says_what_and_where() {
    let with = |more: Value| {
        let mut rule = json!({"rule": "self.a < 3"});
        rule.as_object_mut()
            .expect("object")
            .extend(more.as_object().expect("object").clone());
        json!({"type": "object", "properties": {"a": {"type": "integer"}}, "x-kubernetes-validations": [rule]})
    };
    let new = json!({"a": 5});
    for (more, text) in [
        (json!({}), "spec: Invalid value: failed rule: self.a < 3"),
        (
            json!({"message": " too much "}),
            "spec: Invalid value: too much",
        ),
        (
            json!({"messageExpression": "'got ' + string(self.a)"}),
            "spec: Invalid value: got 5",
        ),
        (
            json!({"message": "m", "messageExpression": "self.nope"}),
            "spec: Invalid value: m",
        ),
        (
            json!({"message": "m", "reason": "FieldValueForbidden"}),
            "spec: Forbidden: m",
        ),
        (
            json!({"message": "m", "reason": "FieldValueRequired"}),
            "spec: Required value: m",
        ),
        (
            json!({"message": "m", "fieldPath": ".a"}),
            "spec.a: Invalid value: m",
        ),
    ] {
        assert_eq!(rule(with(more), new.clone(), None), [text]);
    }
    let scalar = json!({"type": "integer", "x-kubernetes-validations": [{"rule": "self < 3", "message": "m"}]});
    assert_eq!(rule(scalar, json!(5), None), ["spec: Invalid value: 5: m"]);
}

#[test]
fn evaluation_errors_have_upstreams_text() {
    let with = |text: &str| {
        json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true,
               "x-kubernetes-validations": [{"rule": text}]})
    };
    for (text, expected) in [
        (
            "self.nope > 1",
            r#"spec: Invalid value: "object": no such key: nope evaluating rule: self.nope > 1"#,
        ),
        (
            "self.l[7] > 1",
            r#"spec: Invalid value: "object": index out of bounds: 7 evaluating rule: self.l[7] > 1"#,
        ),
        (
            "1 / self.z > 1",
            r#"spec: Invalid value: "object": division by zero evaluating rule: 1 / self.z > 1"#,
        ),
        (
            "self.s > 1",
            r#"spec: Invalid value: "object": 'no such overload': call arguments did not match a supported operator, function or macro signature for rule: self.s > 1"#,
        ),
    ] {
        assert_eq!(
            rule(with(text), json!({"l": [1], "z": 0, "s": "x"}), None),
            [expected]
        );
    }
}

#[test]
fn transition_rules_run_when_there_is_something_to_compare() {
    let schema = json!({"type": "object", "properties": {
        "id": {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "immutable"}]},
        "list": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
            "items": {"type": "object", "properties": {"k": {"type": "string"}, "v": {
                "type": "integer", "x-kubernetes-validations": [{"rule": "self >= oldSelf", "message": "only up"}]}}}},
        "opt": {"type": "integer", "x-kubernetes-validations": [{
            "rule": "oldSelf.hasValue() || self == 1", "optionalOldSelf": true, "message": "starts at 1"}]}
    }});
    let old = json!({"id": "a", "list": [{"k": "x", "v": 5}, {"k": "y", "v": 1}]});
    assert!(
        rule(schema.clone(), old.clone(), None).is_empty(),
        "creation"
    );
    assert!(
        rule(schema.clone(), old.clone(), Some(old.clone())).is_empty(),
        "no change"
    );
    let new = json!({"id": "b", "list": [{"k": "y", "v": 2}, {"k": "x", "v": 4}, {"k": "z", "v": 0}], "opt": 2});
    assert_eq!(
        rule(schema, new, Some(old)),
        [
            r#"spec.id: Invalid value: "b": immutable"#,
            "spec.list[1].v: Invalid value: 4: only up",
            "spec.opt: Invalid value: 2: starts at 1"
        ]
    );
}

#[test]
fn unchanged_parts_are_forgiven_unless_the_rule_looks_at_old_values() {
    let schema = json!({"type": "object", "properties": {
        "a": {"type": "integer", "x-kubernetes-validations": [{"rule": "self < 3", "message": "a"}]},
        "b": {"type": "integer", "x-kubernetes-validations": [{"rule": "self != oldSelf", "message": "b"}]},
        "c": {"type": "integer"}
    }});
    let old = json!({"a": 5, "b": 5, "c": 1});
    let new = json!({"a": 5, "b": 5, "c": 2});
    assert_eq!(
        rule(schema, new, Some(old)),
        ["spec.b: Invalid value: 5: b"]
    );
}

#[test]
fn formats_decide_how_cel_sees_strings() {
    let schema = json!({"type": "object", "properties": {
        "t": {"type": "string", "format": "date-time"}, "d": {"type": "string", "format": "duration"},
        "b": {"type": "string", "format": "byte"}, "n": {"type": "number"}, "x-y": {"type": "string"}
    }, "x-kubernetes-validations": [
        {"rule": "self.t > timestamp('2020-01-01T00:00:00Z')"}, {"rule": "self.d == duration('90s')"},
        {"rule": "size(self.b) == 2"}, {"rule": "self.n == 2.0"}, {"rule": "self.x__dash__y == 'z'"}
    ]});
    let new = json!({"t": "2024-01-01T00:00:00Z", "d": "1m30s", "b": "aGk=", "n": 2, "x-y": "z"});
    assert_eq!(rule(schema, new, None), [""; 0]);
}

#[test]
fn a_hostile_rule_ends_in_time() {
    let list: Vec<i64> = (0..2_000).collect();
    let long = "a".repeat(200_000);
    let this = json!({"l": list, "s": long});
    for source in [
        "self.l.all(a, self.l.all(b, self.l.all(c, a + b + c >= 0)))",
        "lists.range(1000000000).size() > 0",
        "self.s.replace('', self.s).size() > 0",
        "['x'].map(a, a + a).map(a, a + a).size() > 0 && self.l.map(x, self.s).join('').size() > 0",
        "cel.bind(a, self.s + self.s, cel.bind(b, a + a, cel.bind(c, b + b, cel.bind(d, c + c, \
         cel.bind(e, d + d, cel.bind(f, e + e, cel.bind(g, f + f, g.size() > 0)))))))",
        "self.l.distinct().size() > 0 && self.l.all(x, self.l.distinct().size() > 0)",
        "self.l.all(x, self.s.matches('(a+)+$'))",
        "sets.contains(self.l.map(x, self.l), self.l.map(x, self.l))",
    ] {
        let result = eval(source, this.clone());
        assert_eq!(result, Err(Failure::CostExceeded), "{source}");
    }
}

#[test]
fn an_interrupt_ends_an_evaluation() {
    let expression =
        Expression::compile("self.all(a, self.all(b, true))", &["self"]).expect("compiles");
    let this = bind(&json!((0..100).collect::<Vec<i32>>()), None);
    let turns = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&turns);
    let interrupt: Interrupt = Arc::new(move || counted.fetch_add(1, Ordering::Relaxed) >= 50);
    let (result, _) = expression.evaluate(&[("self", &this)], CALL_COST_MAX, Some(&interrupt));
    assert_eq!(result, Err(Failure::Interrupted));
}

#[test]
fn expressions_too_deep_for_the_stack_do_not_compile() {
    for source in [
        "1".to_owned() + &"+1".repeat(30_000) + " > 0",
        "(".repeat(5_000) + "1" + &")".repeat(5_000) + " > 0",
        "!".repeat(5_000) + "true",
        "self".to_owned() + &".a".repeat(20_000),
        "[".repeat(3_000) + &"]".repeat(3_000) + " == []",
        "true ? ".repeat(3_000) + "true" + &" : true".repeat(3_000),
    ] {
        assert!(
            Expression::compile(&source, &["self"]).is_err(),
            "{}…",
            &source[..20]
        );
    }
}

/// Mistakes of a rule at `spec`, of which these are the properties.
fn mistakes(properties: Value, rule: Value) -> Option<RuleError> {
    let spec =
        json!({"type": "object", "properties": properties, "x-kubernetes-validations": [rule]});
    let node = parse(&spec, &mut Pool::new()).expect("parses");
    try_rule(&node.rules[0], &node, false, Some(1)).err()
}

#[test]
fn fields_and_types_are_checked_beside_the_schema() {
    let properties = json!({
        "n": {"type": "integer"}, "s": {"type": "string"}, "d": {"type": "number"},
        "l": {"type": "array", "maxItems": 10, "items": {"type": "object", "properties": {"k": {"type": "string", "maxLength": 10}}}},
        "m": {"type": "object", "additionalProperties": {"type": "string"}},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        "x": {"x-kubernetes-int-or-string": true}, "a-b": {"type": "string"}, "t": {"type": "string", "format": "date-time"}
    });
    for (rule, text) in [
        (
            "self.nope == 1",
            "ERROR: <input>:1:5: undefined field 'nope'\n | self.nope == 1\n | ....^",
        ),
        (
            "has(self.nope)",
            "ERROR: <input>:1:9: undefined field 'nope'",
        ),
        (
            "self.l.all(i, i.nope == '')",
            "ERROR: <input>:1:16: undefined field 'nope'",
        ),
        (
            "oldSelf.nope == self.n",
            "ERROR: <input>:1:8: undefined field 'nope'",
        ),
        (
            "self.s.nope == 1",
            "type 'string' does not support field selection",
        ),
        (
            "self.n == 'a'",
            "ERROR: <input>:1:8: found no matching overload for '_==_' applied to '(int, string)'",
        ),
        (
            "self.s > 1",
            "found no matching overload for '_>_' applied to '(string, int)'",
        ),
        (
            "self.d == 1",
            "found no matching overload for '_==_' applied to '(double, int)'",
        ),
    ] {
        let Some(RuleError::Rule(why)) = mistakes(properties.clone(), json!({"rule": rule})) else {
            panic!("{rule} should be refused");
        };
        assert!(why.contains(text), "{rule}: {why}");
    }
    for rule in ["self.n + 1", "self.s", "self.l"] {
        let why = RuleError::Rule("cel expression must evaluate to a bool".into());
        assert_eq!(
            mistakes(properties.clone(), json!({"rule": rule})),
            Some(why)
        );
    }
    let message = json!({"rule": "true", "messageExpression": "self.n"});
    let why = RuleError::Message("messageExpression must evaluate to a string".into());
    assert_eq!(mistakes(properties.clone(), message), Some(why));
    for rule in [
        "self.n > 1.5 && self.s != ''",
        "self.l.all(i, has(i.k) && i.k.size() > 0)",
        "self.l.exists(i, v, i > 0 && v.k == 'a')",
        "self.m.all(k, self.m[k] != '')",
        "self.m['x'] == 'y'",
        "self.free.anything.goes == 1",
        "self.x == 1 || self.x == 'a'",
        "self.a__dash__b == 'x'",
        "self.t > timestamp('2020-01-01T00:00:00Z')",
        "self.?s.orValue('x') == 'x'",
        "self.l.map(i, i.k)[0] == 'a'",
        "cel.bind(q, self.n, q > 1)",
        "type(self.x) == int",
        "(self.n > 1 ? self.s : 'a') == 'a'",
        "self == oldSelf",
    ] {
        assert_eq!(
            mistakes(properties.clone(), json!({"rule": rule})),
            None,
            "{rule}"
        );
    }
}

#[test]
fn rules_that_could_run_forever_are_refused_when_the_definition_is_made() {
    let list = |max: Value| json!({"l": {"type": "array", "maxItems": max, "items": {"type": "string", "maxLength": 10}}});
    let rule = json!({"rule": "self.l.all(a, self.l.all(b, self.l.all(c, a == b || b == c)))"});
    assert!(
        matches!(mistakes(list(Value::Null), rule.clone()), Some(RuleError::TooExpensive(why)) if why.starts_with("estimated rule cost exceeds budget by factor of more than 100x"))
    );
    assert_eq!(mistakes(list(json!(20)), rule), None);
    assert_eq!(
        mistakes(list(Value::Null), json!({"rule": "self.l.all(a, a != '')"})),
        None
    );
}

#[test]
fn order_means_nothing_to_sets_and_keyed_lists() {
    let item = json!({"type": "object", "properties": {
        "a-b": {"type": "string"}, "n": {"type": "integer"},
        "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
    }});
    let set =
        json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "integer"}});
    let schema = |rule: &str| {
        json!({"type": "object", "properties": {
            "set": set, "other": set,
            "plain": {"type": "array", "items": {"type": "integer"}},
            "keyed": {"type": "array", "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["a-b"], "items": item},
            "lists": {"type": "array", "items": set},
            "named": {"type": "object", "additionalProperties": set},
        }, "x-kubernetes-validations": [{"rule": rule}]})
    };
    let new = json!({
        "set": [3, 1, 2], "other": [1, 2, 3], "plain": [3, 1, 2],
        "keyed": [{"a-b": "y", "n": 2}, {"a-b": "x", "n": 1, "tags": ["q", "p"]}],
        "lists": [[1, 2], [3, 4]], "named": {"k": [1, 2]},
    });
    let old = json!({
        "set": [1, 2, 3], "other": [1, 2, 3], "plain": [3, 1, 2],
        "keyed": [{"a-b": "x", "n": 1, "tags": ["p", "q"]}, {"a-b": "y", "n": 2}],
        "lists": [[2, 1], [4, 3]], "named": {"k": [2, 1]},
    });
    for (holds, source) in [
        (true, "self == oldSelf"),
        (
            true,
            "self.set == oldSelf.set && !(self.set != oldSelf.set)",
        ),
        (true, "self.set == self.other && self.set == [1, 2, 3]"),
        (false, "self.set == [1, 2, 3, 4]"),
        (false, "self.set == [1, 2, 4]"),
        // The left side decides.
        (false, "[1, 2, 3] == self.set"),
        (false, "self.plain == [1, 2, 3]"),
        (true, "self.plain == self.set && self.set == self.plain"),
        (true, "self.set + [2, 5, 5, 4] == [1, 2, 3, 4, 5]"),
        (
            true,
            "(self.set + [5])[3] == 5 && (self.set + self.other).size() == 3",
        ),
        (true, "self.keyed == oldSelf.keyed"),
        (true, "self.keyed.all(k, oldSelf.keyed.exists(o, o == k))"),
        (
            true,
            "(self.keyed + [{'a__dash__b': 'y', 'n': 7}])[0].n == 7",
        ),
        (
            true,
            "(self.keyed + [{'a__dash__b': 'z', 'n': 7}])[2].a__dash__b == 'z'",
        ),
        (
            false,
            "self.keyed + [{'a__dash__b': 'y', 'n': 7}] == oldSelf.keyed",
        ),
        (
            true,
            "self.lists == oldSelf.lists && self.named == oldSelf.named",
        ),
        (true, "self.lists[0] == oldSelf.lists[0]"),
        (false, "self.lists == [[3, 4], [1, 2]]"),
        (true, "cel.bind(s, self.set, s == self.other)"),
        (
            true,
            "(self.plain.size() > 0 ? self.set : self.other) == self.other",
        ),
        (true, "self.plain + [1] == [3, 1, 2, 1]"),
    ] {
        let errors = rule(schema(source), new.clone(), Some(old.clone()));
        assert_eq!(errors.is_empty(), holds, "{source}: {errors:?}");
    }
}
