//! The internal Go types that messages show: names, order and types of their members.
//!
//! A row is a type with its members; a member without a type is shown as JSON says it. Where the
//! member's name in JSON does not follow from its name in Go, it stands behind `=`.
//!
//! Source: Kubernetes v1.35.4, `pkg/apis/*/types.go`, with the JSON names of `k8s.io/api`; facts
//! only.

#![expect(
    non_upper_case_globals,
    reason = "they have the names of the Go types they describe"
)]

use super::{Member, Shape};

/// Makes a constant of each row.
macro_rules! shapes {
    ($($name:ident {
        $($go:ident $(= $json:literal)? $(: $shape:ident $(($of:ident))?)?),*
    })*) => {
        $(pub(crate) const $name: &[Member] = &[$(Member {
            go: stringify!($go),
            json: shapes!(@json $($json)?),
            shape: shapes!(@shape $($shape $(($of))?)?),
        }),*];)*
    };
    (@json) => { None };
    (@json $json:literal) => { Some($json) };
    (@shape) => { Shape::Plain };
    (@shape $shape:ident) => { Shape::$shape };
    (@shape $shape:ident ($of:ident)) => { Shape::$shape($of) };
}

shapes! {
    HostPathVolumeSource { Path: Text, Type }
    EmptyDirVolumeSource { Medium: Text, SizeLimit }
    GCEPersistentDiskVolumeSource { PDName: Text, FSType: Text, Partition: Number, ReadOnly: Flag }
    AWSElasticBlockStoreVolumeSource {
        VolumeID: Text, FSType: Text, Partition: Number, ReadOnly: Flag
    }
    GitRepoVolumeSource { Repository: Text, Revision: Text, Directory: Text }
    KeyToPath { Key: Text, Path: Text, Mode }
    SecretVolumeSource { SecretName: Text, Items: List(KeyToPath), DefaultMode, Optional }
    NFSVolumeSource { Server: Text, Path: Text, ReadOnly: Flag }
    LocalObjectReference { Name: Text }
    ISCSIVolumeSource {
        TargetPortal: Text, IQN: Text, Lun: Number, ISCSIInterface: Text, FSType: Text,
        ReadOnly: Flag, Portals, DiscoveryCHAPAuth = "chapAuthDiscovery": Flag,
        SessionCHAPAuth = "chapAuthSession": Flag, SecretRef: Pointer(LocalObjectReference),
        InitiatorName
    }
    GlusterfsVolumeSource { EndpointsName = "endpoints": Text, Path: Text, ReadOnly: Flag }
    PersistentVolumeClaimVolumeSource { ClaimName: Text, ReadOnly: Flag }
    RBDVolumeSource {
        CephMonitors = "monitors", RBDImage = "image": Text, FSType: Text, RBDPool = "pool": Text,
        RadosUser = "user": Text, Keyring: Text, SecretRef: Pointer(LocalObjectReference),
        ReadOnly: Flag
    }
    QuobyteVolumeSource {
        Registry: Text, Volume: Text, ReadOnly: Flag, User: Text, Group: Text, Tenant: Text
    }
    FlexVolumeSource {
        Driver: Text, FSType: Text, SecretRef: Pointer(LocalObjectReference), ReadOnly: Flag,
        Options
    }
    CinderVolumeSource {
        VolumeID: Text, FSType: Text, ReadOnly: Flag, SecretRef: Pointer(LocalObjectReference)
    }
    CephFSVolumeSource {
        Monitors, Path: Text, User: Text, SecretFile: Text,
        SecretRef: Pointer(LocalObjectReference), ReadOnly: Flag
    }
    FlockerVolumeSource { DatasetName: Text, DatasetUUID: Text }
    ObjectFieldSelector { APIVersion: Text, FieldPath: Text }
    ResourceFieldSelector { ContainerName: Text, Resource: Text, Divisor: Number }
    DownwardAPIVolumeFile {
        Path: Text, FieldRef: Pointer(ObjectFieldSelector),
        ResourceFieldRef: Pointer(ResourceFieldSelector), Mode
    }
    DownwardAPIVolumeSource { Items: List(DownwardAPIVolumeFile), DefaultMode }
    FCVolumeSource { TargetWWNs, Lun, FSType: Text, ReadOnly: Flag, WWIDs = "wwids" }
    AzureFileVolumeSource { SecretName: Text, ShareName: Text, ReadOnly: Flag }
    ConfigMapVolumeSource { Name: Text, Items: List(KeyToPath), DefaultMode, Optional }
    VsphereVirtualDiskVolumeSource {
        VolumePath: Text, FSType: Text, StoragePolicyName: Text, StoragePolicyID: Text
    }
    AzureDiskVolumeSource {
        DiskName: Text, DataDiskURI = "diskURI": Text, CachingMode, FSType, ReadOnly, Kind
    }
    PhotonPersistentDiskVolumeSource { PdID: Text, FSType: Text }
    SecretProjection { Name: Text, Items: List(KeyToPath), Optional }
    DownwardAPIProjection { Items: List(DownwardAPIVolumeFile) }
    ConfigMapProjection { Name: Text, Items: List(KeyToPath), Optional }
    ServiceAccountTokenProjection { Audience: Text, ExpirationSeconds: Number, Path: Text }
    ClusterTrustBundleProjection { Name, SignerName, LabelSelector, Optional, Path: Text }
    PodCertificateProjection {
        SignerName: Text, KeyType: Text, MaxExpirationSeconds, CredentialBundlePath: Text,
        KeyPath: Text, CertificateChainPath: Text, UserAnnotations
    }
    VolumeProjection {
        Secret: Pointer(SecretProjection), DownwardAPI: Pointer(DownwardAPIProjection),
        ConfigMap: Pointer(ConfigMapProjection),
        ServiceAccountToken: Pointer(ServiceAccountTokenProjection),
        ClusterTrustBundle: Pointer(ClusterTrustBundleProjection),
        PodCertificate: Pointer(PodCertificateProjection)
    }
    ProjectedVolumeSource { Sources: List(VolumeProjection), DefaultMode }
    PortworxVolumeSource { VolumeID: Text, FSType: Text, ReadOnly: Flag }
    ScaleIOVolumeSource {
        Gateway: Text, System: Text, SecretRef: Pointer(LocalObjectReference), SSLEnabled: Flag,
        ProtectionDomain: Text, StoragePool: Text, StorageMode: Text, VolumeName: Text,
        FSType: Text, ReadOnly: Flag
    }
    StorageOSVolumeSource {
        VolumeName: Text, VolumeNamespace: Text, FSType: Text, ReadOnly: Flag,
        SecretRef: Pointer(LocalObjectReference)
    }
    CSIVolumeSource {
        Driver: Text, ReadOnly, FSType, VolumeAttributes,
        NodePublishSecretRef: Pointer(LocalObjectReference)
    }
    VolumeResourceRequirements { Limits, Requests }
    TypedLocalObjectReference { APIGroup, Kind: Text, Name: Text }
    TypedObjectReference { APIGroup, Kind: Text, Name: Text, Namespace }
    PersistentVolumeClaimSpec {
        AccessModes, Selector, Resources: Record(VolumeResourceRequirements), VolumeName: Text,
        StorageClassName, VolumeMode, DataSource: Pointer(TypedLocalObjectReference),
        DataSourceRef: Pointer(TypedObjectReference), VolumeAttributesClassName
    }
    PersistentVolumeClaimTemplate {
        ObjectMeta = "metadata": Meta, Spec: Record(PersistentVolumeClaimSpec)
    }
    EphemeralVolumeSource { VolumeClaimTemplate: Pointer(PersistentVolumeClaimTemplate) }
    ImageVolumeSource { Reference: Text, PullPolicy: Text }
    Volume {
        Name: Text, HostPath: Pointer(HostPathVolumeSource),
        EmptyDir: Pointer(EmptyDirVolumeSource),
        GCEPersistentDisk: Pointer(GCEPersistentDiskVolumeSource),
        AWSElasticBlockStore: Pointer(AWSElasticBlockStoreVolumeSource),
        GitRepo: Pointer(GitRepoVolumeSource), Secret: Pointer(SecretVolumeSource),
        NFS: Pointer(NFSVolumeSource), ISCSI: Pointer(ISCSIVolumeSource),
        Glusterfs: Pointer(GlusterfsVolumeSource),
        PersistentVolumeClaim: Pointer(PersistentVolumeClaimVolumeSource),
        RBD: Pointer(RBDVolumeSource), Quobyte: Pointer(QuobyteVolumeSource),
        FlexVolume: Pointer(FlexVolumeSource), Cinder: Pointer(CinderVolumeSource),
        CephFS = "cephfs": Pointer(CephFSVolumeSource), Flocker: Pointer(FlockerVolumeSource),
        DownwardAPI: Pointer(DownwardAPIVolumeSource), FC: Pointer(FCVolumeSource),
        AzureFile: Pointer(AzureFileVolumeSource), ConfigMap: Pointer(ConfigMapVolumeSource),
        VsphereVolume: Pointer(VsphereVirtualDiskVolumeSource),
        AzureDisk: Pointer(AzureDiskVolumeSource),
        PhotonPersistentDisk: Pointer(PhotonPersistentDiskVolumeSource),
        Projected: Pointer(ProjectedVolumeSource), PortworxVolume: Pointer(PortworxVolumeSource),
        ScaleIO: Pointer(ScaleIOVolumeSource),
        StorageOS = "storageos": Pointer(StorageOSVolumeSource), CSI: Pointer(CSIVolumeSource),
        Ephemeral: Pointer(EphemeralVolumeSource), Image: Pointer(ImageVolumeSource)
    }
    ContainerPort {
        Name: Text, HostPort: Number, ContainerPort: Number, Protocol: Text, HostIP: Text
    }
    ConfigMapEnvSource { Name: Text, Optional }
    SecretEnvSource { Name: Text, Optional }
    EnvFromSource {
        Prefix: Text, ConfigMapRef: Pointer(ConfigMapEnvSource),
        SecretRef: Pointer(SecretEnvSource)
    }
    ConfigMapKeySelector { Name: Text, Key: Text, Optional }
    SecretKeySelector { Name: Text, Key: Text, Optional }
    FileKeySelector { VolumeName: Text, Path: Text, Key: Text, Optional }
    EnvVarSource {
        FieldRef: Pointer(ObjectFieldSelector), ResourceFieldRef: Pointer(ResourceFieldSelector),
        ConfigMapKeyRef: Pointer(ConfigMapKeySelector), SecretKeyRef: Pointer(SecretKeySelector),
        FileKeyRef: Pointer(FileKeySelector)
    }
    EnvVar { Name: Text, Value: Text, ValueFrom: Pointer(EnvVarSource) }
    ResourceClaim { Name: Text, Request: Text }
    ResourceRequirements { Limits, Requests, Claims: List(ResourceClaim) }
    ContainerResizePolicy { ResourceName: Text, RestartPolicy: Text }
    ContainerRestartRuleOnExitCodes { Operator: Text, Values }
    ContainerRestartRule { Action: Text, ExitCodes: Pointer(ContainerRestartRuleOnExitCodes) }
    VolumeMount {
        Name: Text, ReadOnly: Flag, RecursiveReadOnly, MountPath: Text, SubPath: Text,
        MountPropagation, SubPathExpr: Text
    }
    VolumeDevice { Name: Text, DevicePath: Text }
    ExecAction { Command }
    HTTPHeader { Name: Text, Value: Text }
    HTTPGetAction {
        Path: Text, Port: Number, Host: Text, Scheme: Text, HTTPHeaders: List(HTTPHeader)
    }
    TCPSocketAction { Port: Number, Host: Text }
    GRPCAction { Port: Number, Service }
    Probe {
        Exec: Pointer(ExecAction), HTTPGet: Pointer(HTTPGetAction),
        TCPSocket: Pointer(TCPSocketAction), GRPC: Pointer(GRPCAction), InitialDelaySeconds: Number,
        TimeoutSeconds: Number, PeriodSeconds: Number, SuccessThreshold: Number,
        FailureThreshold: Number, TerminationGracePeriodSeconds
    }
    SleepAction { Seconds: Number }
    LifecycleHandler {
        Exec: Pointer(ExecAction), HTTPGet: Pointer(HTTPGetAction),
        TCPSocket: Pointer(TCPSocketAction), Sleep: Pointer(SleepAction)
    }
    Lifecycle {
        PostStart: Pointer(LifecycleHandler), PreStop: Pointer(LifecycleHandler), StopSignal
    }
    Capabilities { Add, Drop }
    SELinuxOptions { User: Text, Role: Text, Type: Text, Level: Text }
    WindowsSecurityContextOptions {
        GMSACredentialSpecName, GMSACredentialSpec, RunAsUserName, HostProcess
    }
    SeccompProfile { Type: Text, LocalhostProfile }
    AppArmorProfile { Type: Text, LocalhostProfile }
    SecurityContext {
        Capabilities: Pointer(Capabilities), Privileged, SELinuxOptions: Pointer(SELinuxOptions),
        WindowsOptions: Pointer(WindowsSecurityContextOptions), RunAsUser, RunAsGroup, RunAsNonRoot,
        ReadOnlyRootFilesystem, AllowPrivilegeEscalation, ProcMount,
        SeccompProfile: Pointer(SeccompProfile), AppArmorProfile: Pointer(AppArmorProfile)
    }
    Container {
        Name: Text, Image: Text, Command, Args, WorkingDir: Text, Ports: List(ContainerPort),
        EnvFrom: List(EnvFromSource), Env: List(EnvVar), Resources: Record(ResourceRequirements),
        ResizePolicy: List(ContainerResizePolicy), RestartPolicy,
        RestartPolicyRules: List(ContainerRestartRule), VolumeMounts: List(VolumeMount),
        VolumeDevices: List(VolumeDevice), LivenessProbe: Pointer(Probe),
        ReadinessProbe: Pointer(Probe), StartupProbe: Pointer(Probe), Lifecycle: Pointer(Lifecycle),
        TerminationMessagePath: Text, TerminationMessagePolicy: Text, ImagePullPolicy: Text,
        SecurityContext: Pointer(SecurityContext), Stdin: Flag, StdinOnce: Flag, TTY: Flag
    }
    EphemeralContainer {
        Name: Text, Image: Text, Command, Args, WorkingDir: Text, Ports: List(ContainerPort),
        EnvFrom: List(EnvFromSource), Env: List(EnvVar), Resources: Record(ResourceRequirements),
        ResizePolicy: List(ContainerResizePolicy), RestartPolicy,
        RestartPolicyRules: List(ContainerRestartRule), VolumeMounts: List(VolumeMount),
        VolumeDevices: List(VolumeDevice), LivenessProbe: Pointer(Probe),
        ReadinessProbe: Pointer(Probe), StartupProbe: Pointer(Probe), Lifecycle: Pointer(Lifecycle),
        TerminationMessagePath: Text, TerminationMessagePolicy: Text, ImagePullPolicy: Text,
        SecurityContext: Pointer(SecurityContext), Stdin: Flag, StdinOnce: Flag, TTY: Flag,
        TargetContainerName: Text
    }
    Sysctl { Name: Text, Value: Text }
    PodSecurityContext {
        HostNetwork: Flag, HostPID: Flag, HostIPC: Flag, ShareProcessNamespace, HostUsers,
        SELinuxOptions: Pointer(SELinuxOptions),
        WindowsOptions: Pointer(WindowsSecurityContextOptions), RunAsUser, RunAsGroup, RunAsNonRoot,
        SupplementalGroups, SupplementalGroupsPolicy, FSGroup, FSGroupChangePolicy,
        Sysctls: List(Sysctl), SeccompProfile: Pointer(SeccompProfile),
        AppArmorProfile: Pointer(AppArmorProfile), SELinuxChangePolicy
    }
    NodeSelectorRequirement { Key: Text, Operator: Text, Values }
    NodeSelectorTerm {
        MatchExpressions: List(NodeSelectorRequirement), MatchFields: List(NodeSelectorRequirement)
    }
    NodeSelector { NodeSelectorTerms: List(NodeSelectorTerm) }
    PreferredSchedulingTerm { Weight: Number, Preference: Record(NodeSelectorTerm) }
    NodeAffinity {
        RequiredDuringSchedulingIgnoredDuringExecution: Pointer(NodeSelector),
        PreferredDuringSchedulingIgnoredDuringExecution: List(PreferredSchedulingTerm)
    }
    PodAffinityTerm {
        LabelSelector, Namespaces, TopologyKey: Text, NamespaceSelector, MatchLabelKeys,
        MismatchLabelKeys
    }
    WeightedPodAffinityTerm { Weight: Number, PodAffinityTerm: Record(PodAffinityTerm) }
    PodAffinity {
        RequiredDuringSchedulingIgnoredDuringExecution: List(PodAffinityTerm),
        PreferredDuringSchedulingIgnoredDuringExecution: List(WeightedPodAffinityTerm)
    }
    PodAntiAffinity {
        RequiredDuringSchedulingIgnoredDuringExecution: List(PodAffinityTerm),
        PreferredDuringSchedulingIgnoredDuringExecution: List(WeightedPodAffinityTerm)
    }
    Affinity {
        NodeAffinity: Pointer(NodeAffinity), PodAffinity: Pointer(PodAffinity),
        PodAntiAffinity: Pointer(PodAntiAffinity)
    }
    Toleration { Key: Text, Operator: Text, Value: Text, Effect: Text, TolerationSeconds }
    HostAlias { IP: Text, Hostnames }
    PodDNSConfigOption { Name: Text, Value }
    PodDNSConfig { Nameservers, Searches, Options: List(PodDNSConfigOption) }
    PodReadinessGate { ConditionType: Text }
    TopologySpreadConstraint {
        MaxSkew: Number, TopologyKey: Text, WhenUnsatisfiable: Text, LabelSelector, MinDomains,
        NodeAffinityPolicy, NodeTaintsPolicy, MatchLabelKeys
    }
    PodOS { Name: Text }
    PodSchedulingGate { Name: Text }
    PodResourceClaim { Name: Text, ResourceClaimName, ResourceClaimTemplateName }
    WorkloadReference { Name: Text, PodGroup: Text, PodGroupReplicaKey: Text }
    PodSpec {
        Volumes: List(Volume), InitContainers: List(Container), Containers: List(Container),
        EphemeralContainers: List(EphemeralContainer), RestartPolicy: Text,
        TerminationGracePeriodSeconds, ActiveDeadlineSeconds, DNSPolicy: Text, NodeSelector,
        ServiceAccountName: Text, AutomountServiceAccountToken, NodeName: Text,
        SecurityContext: Pointer(PodSecurityContext), ImagePullSecrets: List(LocalObjectReference),
        Hostname: Text, Subdomain: Text, SetHostnameAsFQDN, Affinity: Pointer(Affinity),
        SchedulerName: Text, Tolerations: List(Toleration), HostAliases: List(HostAlias),
        PriorityClassName: Text, Priority, PreemptionPolicy, DNSConfig: Pointer(PodDNSConfig),
        ReadinessGates: List(PodReadinessGate), RuntimeClassName, Overhead, EnableServiceLinks,
        TopologySpreadConstraints: List(TopologySpreadConstraint), OS: Pointer(PodOS),
        SchedulingGates: List(PodSchedulingGate), ResourceClaims: List(PodResourceClaim),
        Resources: Pointer(ResourceRequirements), HostnameOverride,
        WorkloadRef: Pointer(WorkloadReference)
    }
    PodTemplateSpec { ObjectMeta = "metadata": Meta, Spec: Record(PodSpec) }
    Taint { Key: Text, Value: Text, Effect: Text, TimeAdded }
    NodeAddress { Type: Text, Address: Text }
    ServicePort {
        Name: Text, Protocol: Text, AppProtocol, Port: Number, TargetPort: Number, NodePort: Number
    }
    RollingUpdateDeployment { MaxUnavailable, MaxSurge }
    DeploymentStrategy { Type: Text, RollingUpdate: Pointer(RollingUpdateDeployment) }
    RollingUpdateStatefulSetStrategy { Partition: Number, MaxUnavailable }
    StatefulSetUpdateStrategy {
        Type: Text, RollingUpdate: Pointer(RollingUpdateStatefulSetStrategy)
    }
    SuccessPolicyRule { SucceededIndexes, SucceededCount }
    SuccessPolicy { Rules: List(SuccessPolicyRule) }
    UncountedTerminatedPods { Succeeded, Failed }
    RoleRef { APIGroup: Text, Kind: Text, Name: Text }
    PodDisruptionBudgetSpec { MinAvailable, Selector, MaxUnavailable, UnhealthyPodEvictionPolicy }

    CustomResourceDefinitionVersion {
        Name: Text, Served: Flag, Storage: Flag, Deprecated: Flag, DeprecationWarning, Schema,
        Subresources: Pointer(CustomResourceSubresources),
        AdditionalPrinterColumns: List(CustomResourceColumnDefinition),
        SelectableFields: List(SelectableField)
    }
    CustomResourceSubresources { Status, Scale: Pointer(CustomResourceSubresourceScale) }
    CustomResourceSubresourceScale {
        SpecReplicasPath: Text, StatusReplicasPath: Text, LabelSelectorPath
    }
    CustomResourceColumnDefinition {
        Name: Text, Type: Text, Format: Text, Description: Text, Priority: Number,
        JSONPath: Text
    }
    SelectableField { JSONPath: Text }
    ValidationRule {
        Rule: Text, Message: Text, MessageExpression: Text, Reason, FieldPath: Text, OptionalOldSelf
    }
}
