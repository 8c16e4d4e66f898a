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
