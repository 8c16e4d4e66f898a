//! Descriptions of built-in types, from the schemas inside the `k8s-openapi` crate.
//!
//! The committed tables hold facts without wording. What `kubectl explain` shows comes from the
//! crate's schema implementations, which are run only while a document is rendered.

use k8s_openapi::{api, apiextensions_apiserver, apimachinery, kube_aggregator};
use schemars::SchemaGenerator;
use serde_json::Value;

/// Schemas of everything reachable from the kinds of one group and version, by definition name.
pub(super) struct Descriptions {
    generator: SchemaGenerator,
}

/// Adds the schemas of some types to a generator.
macro_rules! add {
    ($generator:ident, $($path:ident)::+: $($kind:ident)+) => {{
        use $($path)::+ as types;
        $($generator.subschema_for::<types::$kind>();)+
    }};
}

impl Descriptions {
    /// Runs the schema implementations; a few milliseconds for the core group.
    pub(super) fn of(group: &str, version: &str) -> Self {
        let mut generator = SchemaGenerator::default();
        let g = &mut generator;
        add!(g, apimachinery::pkg::apis::meta::v1: DeleteOptions ListMeta ObjectMeta Status);
        match (group, version) {
            ("", "v1") => {
                add!(g, api::core::v1: Binding ComponentStatus ConfigMap Endpoints Event LimitRange);
                add!(g, api::core::v1: Namespace Node PersistentVolume PersistentVolumeClaim Pod);
                add!(g, api::core::v1: PodTemplate ReplicationController ResourceQuota Secret);
                add!(g, api::core::v1: Service ServiceAccount);
                add!(g, api::autoscaling::v1: Scale);
                add!(g, api::authentication::v1: TokenRequest);
                add!(g, api::policy::v1: Eviction);
            }
            ("apps", "v1") => {
                add!(g, api::apps::v1: ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet);
                add!(g, api::autoscaling::v1: Scale);
            }
            ("batch", "v1") => add!(g, api::batch::v1: CronJob Job),
            ("events.k8s.io", "v1") => add!(g, api::events::v1: Event),
            ("authentication.k8s.io", "v1") => {
                add!(g, api::authentication::v1: SelfSubjectReview TokenReview);
            }
            ("authorization.k8s.io", "v1") => {
                add!(g, api::authorization::v1: LocalSubjectAccessReview SelfSubjectAccessReview);
                add!(g, api::authorization::v1: SelfSubjectRulesReview SubjectAccessReview);
            }
            ("autoscaling", "v1") => add!(g, api::autoscaling::v1: HorizontalPodAutoscaler),
            ("autoscaling", "v2") => add!(g, api::autoscaling::v2: HorizontalPodAutoscaler),
            ("certificates.k8s.io", "v1") => {
                add!(g, api::certificates::v1: CertificateSigningRequest);
            }
            ("networking.k8s.io", "v1") => {
                add!(g, api::networking::v1: Ingress IngressClass IPAddress NetworkPolicy ServiceCIDR);
            }
            ("policy", "v1") => add!(g, api::policy::v1: PodDisruptionBudget),
            ("rbac.authorization.k8s.io", "v1") => {
                add!(g, api::rbac::v1: ClusterRole ClusterRoleBinding Role RoleBinding);
            }
            ("storage.k8s.io", "v1") => {
                add!(g, api::storage::v1: CSIDriver CSINode CSIStorageCapacity StorageClass);
                add!(g, api::storage::v1: VolumeAttachment VolumeAttributesClass);
            }
            ("admissionregistration.k8s.io", "v1") => {
                add!(g, api::admissionregistration::v1: MutatingWebhookConfiguration);
                add!(g, api::admissionregistration::v1: ValidatingAdmissionPolicy);
                add!(g, api::admissionregistration::v1: ValidatingAdmissionPolicyBinding);
                add!(g, api::admissionregistration::v1: ValidatingWebhookConfiguration);
            }
            ("scheduling.k8s.io", "v1") => add!(g, api::scheduling::v1: PriorityClass),
            ("coordination.k8s.io", "v1") => add!(g, api::coordination::v1: Lease),
            ("node.k8s.io", "v1") => add!(g, api::node::v1: RuntimeClass),
            ("discovery.k8s.io", "v1") => add!(g, api::discovery::v1: EndpointSlice),
            ("flowcontrol.apiserver.k8s.io", "v1") => {
                add!(g, api::flowcontrol::v1: FlowSchema PriorityLevelConfiguration);
            }
            ("resource.k8s.io", "v1") => {
                add!(g, api::resource::v1: DeviceClass ResourceClaim ResourceClaimTemplate);
                add!(g, api::resource::v1: ResourceSlice);
            }
            ("apiextensions.k8s.io", "v1") => {
                add!(g, apiextensions_apiserver::pkg::apis::apiextensions::v1: CustomResourceDefinition);
            }
            ("apiregistration.k8s.io", "v1") => {
                add!(g, kube_aggregator::pkg::apis::apiregistration::v1: APIService);
            }
            _ => {}
        }
        Self { generator }
    }

    /// The description of a type.
    pub(super) fn of_type(&self, definition: &str) -> Option<&str> {
        self.generator
            .definitions()
            .get(definition)?
            .get("description")?
            .as_str()
    }

    /// The description of a field.
    pub(super) fn of_field(&self, definition: &str, field: &str) -> Option<&str> {
        let schema: &Value = self.generator.definitions().get(definition)?;
        schema
            .get("properties")?
            .get(field)?
            .get("description")?
            .as_str()
    }
}
