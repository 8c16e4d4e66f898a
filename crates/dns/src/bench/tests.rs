use super::*;

#[test]
fn measurements_run_at_a_small_size() {
    for mix in [Mix::Plain, Mix::Weighted, Mix::Missing, Mix::MixedCase] {
        let load = load(50, mix, 2_000, Duration::from_millis(100)).unwrap();
        assert!(load.n_received > 0, "{mix:?}: {load}");
        assert!(load.n_received <= load.n_sent);
    }
    let echo = echo(2_000, Duration::from_millis(100)).unwrap();
    assert!(echo.n_received > 0, "{echo}");
    assert!(answer_nanos(50, Mix::Plain).unwrap() > 0.0);
    let rebuild = rebuild(500, 10).unwrap();
    assert!(rebuild.octets_per_host < 250, "{rebuild}");
}
