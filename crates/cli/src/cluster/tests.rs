use clap::Parser;

use super::gslb_config;
use crate::args::{Cli, Command};
use crate::plan::{Plan, Surroundings, plan};

fn planned() -> Plan {
    let Command::Up(args) = Cli::try_parse_from(["flotilla", "up", "--data-dir", ":memory:"])
        .expect("arguments")
        .command
    else {
        panic!("up was asked for")
    };
    let nowhere = Surroundings {
        state_home: None,
        home: Some("/home/ada".into()),
    };
    plan(&args, &nowhere).expect("plan")
}

#[test]
fn the_geo_database_is_the_one_setting_taken_from_the_environment() {
    let plan = planned();
    let config = |variables: &[(&str, &str)]| {
        let found = |name: &str| {
            let mut all = variables.iter().filter(|(known, _)| *known == name);
            all.next().map(|(_, value)| (*value).to_owned())
        };
        gslb_config(&plan.clusters[0], &plan, None, &found).map_err(|error| error.to_string())
    };

    assert_eq!(
        config(&[("CLUSTER_GEO_TAG", "mars")]).expect("config").geo,
        None
    );
    let path = ("FLOTILLA_GEO_DATABASE", "/geoip.mmdb");
    let geo = config(&[path, ("FLOTILLA_GEO_FIELDS", "country.iso_code")])
        .expect("config")
        .geo
        .expect("geo");
    assert_eq!(geo.path, std::path::PathBuf::from("/geoip.mmdb"));
    assert_eq!(geo.fields, ["country.iso_code"]);
    let wrong = config(&[path, ("FLOTILLA_GEO_FIELDS", "a..b")]).expect_err("a mistake");
    assert!(wrong.contains("FLOTILLA_GEO_FIELDS"), "{wrong}");
}
