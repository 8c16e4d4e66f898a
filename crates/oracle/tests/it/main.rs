//! Our API server beside recordings of kube-apiserver.

#![expect(clippy::unwrap_used, reason = "helpers of tests are not seen as tests")]

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
};

use flotilla_apiserver::{ApiServer, Config, Handle, auth::token_file::TokenFile, kubeconfig};
use flotilla_oracle::{Known, corpus, recorded, replay, report};
use kube::{
    Client,
    config::{AuthInfo, Kubeconfig},
};

/// A server that listens, and its administrator's client.
async fn server() -> (Handle, Client) {
    // The user whose answers were recorded.
    let token = "secret,admin,admin,\"system:masters\"\n";
    let config = Config {
        listen: Some(SocketAddr::from(([127, 0, 0, 1], 0))),
        tokens: TokenFile::parse(token).unwrap(),
        ..Config::default()
    };
    let server = ApiServer::start(config).await.unwrap();
    let text = kubeconfig::render(&[server.kubeconfig("test").unwrap()]);
    let mut config = Kubeconfig::from_yaml(&text).unwrap();
    config.auth_infos[0].auth_info = Some(AuthInfo {
        token: Some("secret".into()),
        ..AuthInfo::default()
    });
    let config = kube::Config::from_custom_kubeconfig(config, &Default::default()).await;
    let mut config = config.unwrap();
    config.default_retry = false;
    let client = Client::try_from(config).unwrap();
    (server, client)
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../oracle")
        .join(name)
}

/// How many answers are equal so far; goes up only.
const EQUAL_MIN: u32 = 2681;

/// As many answers as before are equal to kube-apiserver's, each that is not has a reason in `oracle/known.yaml`, and each row there
/// explains a difference. What differs without a reason is written to `unequal.txt`.
#[tokio::test(flavor = "multi_thread")]
async fn answers_are_those_of_kube_apiserver() {
    let (_server, client) = server().await;
    let mut known = Known::read(&folder("known.yaml")).unwrap();
    let (mut n_requests, mut n_equal) = (0, 0);
    let mut unexplained = String::new();
    for story in corpus::read(&folder("corpus")).unwrap() {
        let theirs = recorded(&folder("recorded"), &story).unwrap();
        let ours = replay(&client, &story).await.unwrap();
        let mut report = report(&story, &theirs, &ours);
        n_requests += report.n_requests;
        n_equal += report.n_requests - u32::try_from(report.unequal.len()).unwrap();
        known.explain(&mut report);
        if !report.unequal.is_empty() {
            unexplained += &report.to_string();
        }
    }
    let share = 100.0 * f64::from(n_equal) / f64::from(n_requests);
    println!("{n_equal} of {n_requests} answers equal ({share:.2} %)");
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("unequal.txt");
    std::fs::write(&path, &unexplained).unwrap();
    assert!(
        unexplained.is_empty(),
        "answers differ from kube-apiserver's without a reason: {}",
        path.display()
    );
    assert!(n_equal >= EQUAL_MIN, "more answers differ than before");
    let unused = known.unused();
    assert!(
        unused.is_empty(),
        "these differences are gone, take them from oracle/known.yaml: {unused:#?}"
    );
}
