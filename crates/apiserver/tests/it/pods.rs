//! What only pods have: graceful deletion, bindings, evictions under a budget.

use k8s_openapi::api::{core::v1::Pod, policy::v1::PodDisruptionBudget};
use kube::{
    Api,
    api::{DeleteParams, EvictParams, Patch, PatchParams, PostParams},
};
use serde_json::json;

use crate::support::{in_process, send};

fn pod(name: &str) -> Pod {
    serde_json::from_value(json!({
        "metadata": {"name": name, "labels": {"app": "x"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }))
    .unwrap()
}

#[tokio::test]
async fn a_bound_pod_gets_time_to_end_and_an_unbound_one_does_not() {
    let server = in_process().await;
    let api: Api<Pod> = Api::default_namespaced(server.client("test"));
    for name in ["a", "b"] {
        api.create(&PostParams::default(), &pod(name))
            .await
            .unwrap();
    }
    let binding = json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "a"},
        "target": {"kind": "Node", "name": "n"}})
    .to_string();
    let path = "/api/v1/namespaces/default/pods/a/binding";
    let json = [("content-type", "application/json")];
    assert_eq!(
        send(&server, "POST", path, &json, binding.clone())
            .await
            .code,
        201
    );
    let again = send(&server, "POST", path, &json, binding).await;
    assert!(
        again
            .message()
            .contains("pod a is already assigned to node \"n\"")
    );
    assert!(api.delete("b", &DeleteParams::default()).await.is_ok());
    assert!(api.get_opt("b").await.unwrap().is_none());
    let ending = api
        .delete("a", &DeleteParams::default())
        .await
        .unwrap()
        .left()
        .unwrap();
    assert_eq!(ending.metadata.deletion_grace_period_seconds, Some(30));
    let now = DeleteParams {
        grace_period_seconds: Some(0),
        ..DeleteParams::default()
    };
    api.delete("a", &now).await.unwrap();
    assert!(api.get_opt("a").await.unwrap().is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_for_one_lets_one_of_many_evictions_through() {
    let server = in_process().await;
    let client = server.client("test");
    let api: Api<Pod> = Api::default_namespaced(client.clone());
    let running = Patch::Merge(json!({"status": {"phase": "Running"}}));
    for at in 0..4 {
        let name = format!("p{at}");
        api.create(&PostParams::default(), &pod(&name))
            .await
            .unwrap();
        api.patch_status(&name, &PatchParams::default(), &running)
            .await
            .unwrap();
    }
    let budgets: Api<PodDisruptionBudget> = Api::default_namespaced(client);
    let budget: PodDisruptionBudget = serde_json::from_value(json!({
        "metadata": {"name": "b"},
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "x"}}},
    }))
    .unwrap();
    budgets
        .create(&PostParams::default(), &budget)
        .await
        .unwrap();
    let allowed = Patch::Merge(
        json!({"status": {"disruptionsAllowed": 1, "currentHealthy": 4,
        "desiredHealthy": 3, "expectedPods": 4, "observedGeneration": 1}}),
    );
    budgets
        .patch_status("b", &PatchParams::default(), &allowed)
        .await
        .unwrap();
    let params = EvictParams::default();
    let names = ["p0", "p1", "p2", "p3"];
    let evictions = names.iter().map(|name| api.evict(name, &params));
    let results = futures::future::join_all(evictions).await;
    assert_eq!(results.iter().filter(|r| r.is_ok()).count(), 1);
    let refusal = results
        .into_iter()
        .find_map(Result::err)
        .unwrap()
        .to_string();
    assert!(
        refusal.contains("violate the pod's disruption budget"),
        "{refusal}"
    );
}
