//! The exported rules, executed.

use std::collections::BTreeMap;

use flotilla_logs::export::{Target, render};
use vrl::compiler::state::RuntimeState;
use vrl::compiler::{Context, Program, TargetValue, TimeZone, compile};
use vrl::datadog_grok::parse_grok::parse_grok;
use vrl::datadog_grok::parse_grok_rules::{GrokRule, parse_grok_rules};
use vrl::value;
use vrl::value::{Secrets, Value};

/// A VRL program.
pub(crate) struct Vrl(Program);

impl Vrl {
    /// Compiles a program; one that does not compile is a defect of the export, shown as VRL shows it.
    pub(crate) fn new(source: &str) -> Vrl {
        match compile(source, &vrl::stdlib::all()) {
            Ok(result) => Vrl(result.program),
            Err(diagnostics) => panic!("{diagnostics:#?}"),
        }
    }

    /// Runs the program; `None` when it fails.
    pub(crate) fn run(&self, target: &mut TargetValue) -> Option<Value> {
        let (mut state, zone) = (RuntimeState::default(), TimeZone::default());
        self.0
            .resolve(&mut Context::new(target, &mut state, &zone))
            .ok()
    }
}

/// An event with a message.
pub(crate) fn event(line: &str) -> TargetValue {
    TargetValue {
        value: value!({ message: line }),
        metadata: Value::Object(BTreeMap::new()),
        secrets: Secrets::default(),
    }
}

/// The export for Vector.
pub(crate) struct Vector(Vrl);

impl Vector {
    pub(crate) fn new() -> Vector {
        Vector(Vrl::new(&render(Target::Vector)))
    }

    /// The level the program gives to a line.
    pub(crate) fn level(&self, line: &str) -> Option<String> {
        let mut event = event(line);
        self.0.run(&mut event).expect("the program never fails");
        text(&event.value, "level")
    }
}

/// The export for Datadog: grok parsers one after the other, then the look-ups of what they found.
pub(crate) struct Datadog {
    parsers: Vec<Vec<GrokRule>>,
    /// The tables in their order, each with the attribute it looks up.
    tables: Vec<(String, BTreeMap<String, String>)>,
}

impl Datadog {
    pub(crate) fn new() -> Datadog {
        let exported = render(Target::Datadog);
        let (mut parsers, mut tables) = (Vec::new(), Vec::<(String, BTreeMap<_, _>)>::new());
        let mut patterns: Option<Vec<String>> = None;
        let mut source = String::new();
        for line in exported.lines().map(str::trim) {
            if line.ends_with("<<-EOT") {
                patterns = Some(Vec::new());
            } else if line == "EOT" {
                let patterns = patterns.take().expect("a list has begun");
                let rules = parse_grok_rules(&patterns, &BTreeMap::new());
                parsers.push(rules.expect("every rule is valid grok"));
            } else if let Some(patterns) = &mut patterns {
                let (_, pattern) = line.split_once(' ').expect("a name and a rule");
                patterns.push(pattern.to_owned());
            } else if let Some(name) = line.strip_prefix("source = ") {
                source = name.trim_matches('"').to_owned();
            } else if line == "lookup_table = [" {
                tables.push((source.clone(), BTreeMap::new()));
            } else if let (Some((_, table)), Some((word, status))) = (
                tables.last_mut(),
                line.trim_matches(['"', ',']).split_once(','),
            ) {
                table.insert(word.to_owned(), status.to_owned());
            }
        }
        Datadog { parsers, tables }
    }

    /// The status of a line. A later parser does not undo what an earlier one has found; a later table does.
    pub(crate) fn status(&self, line: &str) -> Option<String> {
        let mut found = BTreeMap::new();
        for rules in &self.parsers {
            let Ok(parsed) = parse_grok(line, rules) else {
                continue;
            };
            for (attribute, _) in &self.tables {
                if let Some(value) = text(&parsed.parsed, attribute) {
                    found.entry(attribute).or_insert(value);
                }
            }
        }
        let statuses = self
            .tables
            .iter()
            .filter_map(|(attribute, table)| table.get(found.get(attribute)?));
        statuses.last().cloned()
    }
}

fn text(value: &Value, key: &str) -> Option<String> {
    let found = value.as_object()?.get(key)?;
    Some(found.to_str_lossy()?.into_owned())
}
