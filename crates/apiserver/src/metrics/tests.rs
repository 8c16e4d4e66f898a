use std::time::Duration;

use super::{Metrics, Now, RequestLabels, Stored, format, process::Process};
use crate::store::ResourceKey;

fn page() -> String {
    let metrics = Metrics::default();
    let labels = RequestLabels {
        verb: "LIST".to_owned(),
        version: "v1".to_owned(),
        resource: "pods".to_owned(),
        code: 200,
        ..RequestLabels::default()
    };
    metrics.observe(labels.clone(), Duration::from_millis(30));
    metrics.observe_deprecated(&labels);
    let (pods, jobs) = (
        ResourceKey::new("", "pods"),
        ResourceKey::new("batch", "jobs"),
    );
    metrics.observe_list(&pods, 3, 2);
    let stored = |key, n_objects| Stored {
        key,
        n_objects,
        n_events: 5,
        revision: 6,
    };
    metrics.render(&Now {
        stored: vec![stored(&pods, 3), stored(&jobs, 1)],
        events_max: 100,
        in_flight: [("readOnly", 1), ("mutating", 0)],
        revision: 7,
        process: Process::default(),
        version: "v1.35.4",
    })
}

#[test]
fn the_names_that_dashboards_use_are_there() {
    let page = page();
    for line in [
        "apiserver_request_total{verb=\"LIST\",group=\"\",version=\"v1\",resource=\"pods\"",
        "apiserver_request_duration_seconds_bucket{le=\"0.05\",verb=\"LIST\"",
        "apiserver_request_sli_duration_seconds_count{verb=\"LIST\"",
        "apiserver_requested_deprecated_apis{group=\"\",version=\"v1\",resource=\"pods\"",
        "apiserver_resource_objects{group=\"batch\",resource=\"jobs\"} 1",
        "apiserver_storage_objects{resource=\"jobs.batch\"} 1",
        "apiserver_watch_cache_capacity{group=\"\",resource=\"pods\"} 100",
        "apiserver_watch_cache_events_received_total{group=\"\",resource=\"pods\"} 5",
        "apiserver_watch_cache_events_dispatched_total{group=\"batch\",resource=\"jobs\"} 5",
        "apiserver_watch_cache_initializations_total{group=\"batch\",resource=\"jobs\"} 1",
        "apiserver_watch_cache_resource_version{group=\"\",resource=\"pods\"} 6",
        "apiserver_cache_list_total{group=\"\",resource=\"pods\",index=\"\"} 1",
        "apiserver_cache_list_fetched_objects_total{group=\"\",resource=\"pods\",index=\"\"} 3",
        "apiserver_cache_list_returned_objects_total{group=\"\",resource=\"pods\"} 2",
        "apiserver_current_inflight_requests{request_kind=\"readOnly\"} 1",
        "kubernetes_build_info{git_version=\"v1.35.4\"",
    ] {
        assert!(page.contains(line), "{line}\n{page}");
    }
    assert!(page.ends_with("# EOF\n"));
}

#[test]
fn the_older_format_names_counters_in_full() {
    let plain = format::plain(&page());
    assert!(
        plain.contains("# TYPE apiserver_request_total counter\n"),
        "{plain}"
    );
    assert!(plain.contains("# HELP apiserver_request_total Requests served.\n"));
    assert!(plain.contains("# TYPE apiserver_request_duration_seconds histogram\n"));
    assert!(!plain.contains("EOF"));
    let samples = |page: &str| page.lines().filter(|l| !l.starts_with('#')).count();
    assert_eq!(samples(&plain), samples(&page()));
}

#[test]
fn the_format_is_the_one_asked_for() {
    let prometheus_2 = "application/openmetrics-text;version=1.0.0;q=0.8,\
                        application/openmetrics-text;version=0.0.1;q=0.75,\
                        text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
    for (accept, expected) in [
        ("", false),
        ("*/*", false),
        ("text/plain", false),
        ("text/plain;version=0.0.4;q=1,*/*;q=0.1", false),
        ("application/openmetrics-text", true),
        (prometheus_2, true),
        ("application/openmetrics-text;q=0.1,text/plain", false),
    ] {
        assert_eq!(format::is_open(accept), expected, "{accept}");
    }
}

#[test]
fn the_process_is_read_from_what_the_kernel_shows() {
    let stat = "42 (a) b (c)) S 1 2 3 4 5 6 7 8 9 10 150 50 0 0 20 0 9 0 1000 8192000 250 18446744073709551615";
    let limits = "Limit Soft Hard Units\nMax open files            1024      4096      files\n";
    let process = Process::parse(stat, "cpu 1\nbtime 1700000000\n", limits, Some(9));
    let expected = Process {
        cpu_seconds: Some(2.0),
        resident_bytes: Some(250 * 4096),
        virtual_bytes: Some(8_192_000),
        start_seconds: Some(1_700_000_010.0),
        open_fds: Some(9),
        max_fds: Some(1024),
    };
    assert_eq!(process, expected);
    assert_eq!(Process::parse("", "", "", None), Process::default());
}
