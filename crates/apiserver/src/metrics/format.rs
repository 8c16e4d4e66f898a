//! Prometheus' text format 0.0.4, made of OpenMetrics.
//!
//! They differ in little: counters are described with their whole name, there is no end mark and no
//! unit, and examples of single requests are not known.

use crate::negotiate::ranges;

/// `Content-Type` of the older format.
pub(crate) const PLAIN: &str = "text/plain; version=0.0.4; charset=utf-8";
/// `Content-Type` of OpenMetrics.
pub(crate) const OPEN: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Whether a client wants OpenMetrics: it names it before plain text.
pub(crate) fn is_open(accept: &str) -> bool {
    let ranges = ranges(accept);
    let known =
        |media: &str| matches!(media, "application/openmetrics-text" | "text/plain" | "*/*");
    let first = ranges.iter().find(|range| known(range.media));
    first.is_some_and(|range| range.media == "application/openmetrics-text")
}

/// The page in the older format.
pub(crate) fn plain(open: &str) -> String {
    let mut out = String::with_capacity(open.len() + 1024);
    // A description comes before the type, which decides the name in both.
    let mut help = None;
    for line in open.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            help = rest.split_once(' ');
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, ty) = rest.rsplit_once(' ').unwrap_or((rest, "untyped"));
            let (suffix, ty) = match ty {
                "counter" => ("_total", ty),
                "info" => ("_info", "gauge"),
                "unknown" => ("", "untyped"),
                ty => ("", ty),
            };
            if let Some((_, text)) = help.take() {
                out.push_str(&format!("# HELP {name}{suffix} {text}\n"));
            }
            out.push_str(&format!("# TYPE {name}{suffix} {ty}\n"));
        } else if !line.starts_with('#') {
            let sample = line.split_once(" # ").map_or(line, |(sample, _)| sample);
            out.push_str(sample);
            out.push('\n');
        }
    }
    out
}
