//! `flotilla gslb import-values`: from the values of k8gb's chart to our settings.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, bail};
use flotilla_gslb::Config;
use flotilla_gslb::import::import;
use serde::Serialize;
use serde_json::Value;

use super::print;
use crate::args::ImportValuesArgs;

/// What is printed.
#[derive(Debug, Serialize)]
struct Report {
    /// Environment variables and their values.
    settings: BTreeMap<&'static str, String>,
    /// Values that mean nothing here.
    ignored: Vec<String>,
    /// What the settings still lack, or what is wrong with them.
    problems: Vec<String>,
}

/// Reads the file and prints what became of it.
pub(super) fn run(args: &ImportValuesArgs) -> Result<()> {
    let (name, text) = read(&args.file)?;
    let report = report(&name, &text)?;
    print(&report, &render(&report), args.output)
}

fn read(file: &Path) -> Result<(String, String)> {
    if file == Path::new("-") {
        let mut text = String::new();
        std::io::stdin()
            .read_to_string(&mut text)
            .context("cannot read the standard input")?;
        return Ok(("standard input".into(), text));
    }
    let name = file.display().to_string();
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {name}"))?;
    Ok((name, text))
}

fn report(name: &str, text: &str) -> Result<Report> {
    let values: Value = serde_saphyr::from_str(text).map_err(|error| {
        let line = error.location().map_or(1, |at| at.line());
        anyhow::anyhow!("{name}:{line}: {}", error.without_snippet())
    })?;
    if !(values.is_object() || values.is_null()) {
        bail!(
            "{name}:1: the values of a chart are a mapping, such as `k8gb: {{clusterGeoTag: eu}}`"
        );
    }
    let imported = import(&values);
    let settings: BTreeMap<_, _> = imported.settings.into_iter().collect();
    let mistakes = match Config::parse(&|name| settings.get(name).cloned()) {
        Ok(parsed) => parsed.warnings,
        Err(mistakes) => mistakes,
    };
    Ok(Report {
        settings,
        ignored: imported.ignored,
        problems: mistakes
            .into_iter()
            .map(|mistake| format!("{}: {}", mistake.name, mistake.hint))
            .collect(),
    })
}

fn render(report: &Report) -> String {
    let mut text = String::new();
    for (name, value) in &report.settings {
        let _ = writeln!(text, "{name}={value}");
    }
    for path in &report.ignored {
        let _ = writeln!(text, "# ignored: {path}");
    }
    for problem in &report.problems {
        let _ = writeln!(text, "# problem: {problem}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{render, report};

    #[test]
    fn values_become_a_file_of_variables() {
        let text = "k8gb:\n  clusterGeoTag: eu\n  dnsZones:\n    - parentZone: example.com\n      loadBalancedZone: \
                    cloud.example.com\n  edgeDNSServers: [1.1.1.1]\n  imageTag: v1\n";
        assert_eq!(
            render(&report("values.yaml", text).unwrap()),
            "CLUSTER_GEO_TAG=eu\nDNS_ZONES=example.com:cloud.example.com:30\nEDGE_DNS_SERVERS=1.1.1.1\n\
             # ignored: k8gb.imageTag\n"
        );
        let empty = report("values.yaml", "").unwrap();
        assert!(
            render(&empty).contains("# problem: CLUSTER_GEO_TAG"),
            "{empty:?}"
        );
    }

    #[test]
    fn broken_values_are_named_by_file_and_line() {
        let cases = [
            ("k8gb:\n  a: 1\n b: 2\n", "values.yaml:3: "),
            ("k8gb:\n  a: [1,\n", "values.yaml:"),
            ("k8gb: 1\nk8gb: 2\n", "values.yaml:2: "),
            (
                "- a\n",
                "values.yaml:1: the values of a chart are a mapping",
            ),
        ];
        for (text, start) in cases {
            let error = report("values.yaml", text).unwrap_err().to_string();
            assert!(error.starts_with(start), "{text:?}: {error}");
            assert!(!error.trim_end().contains('\n'), "{error}");
        }
    }
}
