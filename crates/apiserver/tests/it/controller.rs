//! A controller of kube-runtime, as its users write them: it watches a kind of its own and what it owns, applies, finalizes.

use std::{sync::Arc, time::Duration};

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, Client, ResourceExt,
    api::{
        ApiResource, DeleteParams, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams,
    },
    runtime::{Controller, controller::Action, finalizer, reflector::ObjectRef, wait, watcher},
};
use serde_json::json;

use crate::support::over_the_wire;

const FINALIZER: &str = "example.com/shop";

/// Where the controller works.
struct World {
    client: Client,
    shops: ApiResource,
}

fn shops() -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Shop"))
}

async fn define(client: &Client) {
    let definition: CustomResourceDefinition = serde_json::from_value(json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "shops.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "shops", "kind": "Shop"},
                 "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                     "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                         "spec": {"type": "object", "properties": {"colour": {"type": "string"}}},
                         "status": {"type": "object", "properties": {"seen": {"type": "string"}}}}}}}]},
    }))
    .unwrap();
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    api.create(&PostParams::default(), &definition)
        .await
        .unwrap();
    let ready = wait::await_condition(
        api,
        "shops.example.com",
        wait::conditions::is_crd_established(),
    );
    tokio::time::timeout(Duration::from_secs(10), ready)
        .await
        .unwrap()
        .unwrap();
}

async fn reconcile(
    shop: Arc<DynamicObject>,
    world: Arc<World>,
) -> Result<Action, finalizer::Error<kube::Error>> {
    let api: Api<DynamicObject> = Api::default_namespaced_with(world.client.clone(), &world.shops);
    finalizer(&api, FINALIZER, shop, |event| async {
        let maps: Api<ConfigMap> = Api::default_namespaced(world.client.clone());
        match event {
            finalizer::Event::Apply(shop) => paint(&api, &maps, &shop).await,
            finalizer::Event::Cleanup(shop) => {
                let name = format!("{}-gone", shop.name_any());
                let mut map = ConfigMap::default();
                map.metadata.name = Some(name);
                maps.create(&PostParams::default(), &map).await?;
                Ok(Action::await_change())
            }
        }
    })
    .await
}

/// Makes the shop's config map say its colour, and the shop's status that it was seen.
async fn paint(
    api: &Api<DynamicObject>,
    maps: &Api<ConfigMap>,
    shop: &DynamicObject,
) -> Result<Action, kube::Error> {
    let (name, colour) = (shop.name_any(), shop.data["spec"]["colour"].clone());
    let owner = json!({"apiVersion": "example.com/v1", "kind": "Shop", "name": name, "uid": shop.uid(), "controller": true});
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "ownerReferences": [owner]},
                     "data": {"colour": colour}});
    let ours = PatchParams::apply("shop-controller").force();
    maps.patch(&name, &ours, &Patch::Apply(map)).await?;
    let status =
        json!({"apiVersion": "example.com/v1", "kind": "Shop", "status": {"seen": colour}});
    api.patch_status(&name, &ours, &Patch::Apply(status))
        .await?;
    Ok(Action::await_change())
}

/// Waits until `seen` is what is asked of the object of this name, or of its absence.
async fn until(api: &Api<ConfigMap>, name: &str, seen: impl Fn(Option<&ConfigMap>) -> bool + Send) {
    let done = wait::await_condition(api.clone(), name, seen);
    tokio::time::timeout(Duration::from_secs(20), done)
        .await
        .unwrap()
        .unwrap();
}

async fn works(config: watcher::Config) {
    let (_server, client) = over_the_wire().await;
    define(&client).await;
    let world = Arc::new(World {
        client: client.clone(),
        shops: shops(),
    });
    let api: Api<DynamicObject> = Api::default_namespaced_with(client.clone(), &world.shops);
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    let controller = Controller::new_with(api.clone(), config.clone(), shops())
        .owns(maps.clone(), config)
        .run(
            reconcile,
            |_, _, _| Action::requeue(Duration::from_millis(50)),
            world,
        )
        .for_each(|_: Result<(ObjectRef<DynamicObject>, Action), _>| std::future::ready(()));
    let running = tokio::spawn(controller);

    let colour = |wanted: &'static str| {
        move |map: Option<&ConfigMap>| {
            map.and_then(|m| m.data.as_ref()?.get("colour"))
                .is_some_and(|c| c == wanted)
        }
    };
    let shop = DynamicObject::new("corner", &shops()).data(json!({"spec": {"colour": "blue"}}));
    api.create(&PostParams::default(), &shop).await.unwrap();
    until(&maps, "corner", colour("blue")).await;
    let green = Patch::Merge(json!({"spec": {"colour": "green"}}));
    api.patch("corner", &PatchParams::default(), &green)
        .await
        .unwrap();
    until(&maps, "corner", colour("green")).await;
    maps.delete("corner", &DeleteParams::default())
        .await
        .unwrap();
    until(&maps, "corner", colour("green")).await;
    let by_hand = Patch::Merge(json!({"data": {"colour": "red"}}));
    maps.patch("corner", &PatchParams::default(), &by_hand)
        .await
        .unwrap();
    until(&maps, "corner", colour("green")).await;

    wait::delete::delete_and_finalize(api, "corner", &DeleteParams::default())
        .await
        .unwrap();
    until(&maps, "corner-gone", |map| map.is_some()).await;
    running.abort();
}

#[tokio::test]
async fn a_controller_that_lists_and_watches() {
    works(watcher::Config::default()).await;
}

#[tokio::test]
async fn a_controller_that_streams_its_lists() {
    works(watcher::Config::default().streaming_lists()).await;
}
