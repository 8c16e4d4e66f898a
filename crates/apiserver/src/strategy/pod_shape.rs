//! The internal Go types of a pod's spec: names, order and types of their members, and the names those have in JSON.
//!
//! Source: Kubernetes v1.35.4, `pkg/apis/core/types.go`, with the JSON names of `k8s.io/api/core/v1/types.go`; facts only.

use super::golang::{Member, Shape};

/// What Go shows of metadata, in its order; absent members are left out.
const OBJECT_META: [&str; 7] = [
    "name",
    "generateName",
    "namespace",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
];

const HOST_PATH_VOLUME_SOURCE: [Member; 2] = [
    Member("Path", "path", Shape::Text),
    Member("Type", "type", Shape::Plain),
];

const EMPTY_DIR_VOLUME_SOURCE: [Member; 2] = [
    Member("Medium", "medium", Shape::Text),
    Member("SizeLimit", "sizeLimit", Shape::Plain),
];

const GCEPERSISTENT_DISK_VOLUME_SOURCE: [Member; 4] = [
    Member("PDName", "pdName", Shape::Text),
    Member("FSType", "fsType", Shape::Text),
    Member("Partition", "partition", Shape::Number),
    Member("ReadOnly", "readOnly", Shape::Flag),
];

const AWSELASTIC_BLOCK_STORE_VOLUME_SOURCE: [Member; 4] = [
    Member("VolumeID", "volumeID", Shape::Text),
    Member("FSType", "fsType", Shape::Text),
    Member("Partition", "partition", Shape::Number),
    Member("ReadOnly", "readOnly", Shape::Flag),
];

const GIT_REPO_VOLUME_SOURCE: [Member; 3] = [
    Member("Repository", "repository", Shape::Text),
    Member("Revision", "revision", Shape::Text),
    Member("Directory", "directory", Shape::Text),
];

const KEY_TO_PATH: [Member; 3] = [
    Member("Key", "key", Shape::Text),
    Member("Path", "path", Shape::Text),
    Member("Mode", "mode", Shape::Plain),
];

const SECRET_VOLUME_SOURCE: [Member; 4] = [
    Member("SecretName", "secretName", Shape::Text),
    Member("Items", "items", Shape::List(&KEY_TO_PATH)),
    Member("DefaultMode", "defaultMode", Shape::Plain),
    Member("Optional", "optional", Shape::Plain),
];

const NFSVOLUME_SOURCE: [Member; 3] = [
    Member("Server", "server", Shape::Text),
    Member("Path", "path", Shape::Text),
    Member("ReadOnly", "readOnly", Shape::Flag),
];

const LOCAL_OBJECT_REFERENCE: [Member; 1] = [Member("Name", "name", Shape::Text)];

const ISCSI_VOLUME_SOURCE: [Member; 11] = [
    Member("TargetPortal", "targetPortal", Shape::Text),
    Member("IQN", "iqn", Shape::Text),
    Member("Lun", "lun", Shape::Number),
    Member("ISCSIInterface", "iscsiInterface", Shape::Text),
    Member("FSType", "fsType", Shape::Text),
    Member("ReadOnly", "readOnly", Shape::Flag),
    Member("Portals", "portals", Shape::Plain),
    Member("DiscoveryCHAPAuth", "chapAuthDiscovery", Shape::Flag),
    Member("SessionCHAPAuth", "chapAuthSession", Shape::Flag),
    Member(
        "SecretRef",
        "secretRef",
        Shape::Pointer(&LOCAL_OBJECT_REFERENCE),
    ),
    Member("InitiatorName", "initiatorName", Shape::Plain),
];

const GLUSTERFS_VOLUME_SOURCE: [Member; 3] = [
    Member("EndpointsName", "endpoints", Shape::Text),
    Member("Path", "path", Shape::Text),
    Member("ReadOnly", "readOnly", Shape::Flag),
];

const PERSISTENT_VOLUME_CLAIM_VOLUME_SOURCE: [Member; 2] = [
    Member("ClaimName", "claimName", Shape::Text),
    Member("ReadOnly", "readOnly", Shape::Flag),
];

const RBDVOLUME_SOURCE: [Member; 8] = [
    Member("CephMonitors", "monitors", Shape::Plain),
    Member("RBDImage", "image", Shape::Text),
    Member("FSType", "fsType", Shape::Text),
    Member("RBDPool", "pool", Shape::Text),
    Member("RadosUser", "user", Shape::Text),
    Member("Keyring", "keyring", Shape::Text),
    Member(
        "SecretRef",
        "secretRef",
        Shape::Pointer(&LOCAL_OBJECT_REFERENCE),
    ),
    Member("ReadOnly", "readOnly", Shape::Flag),
];

const QUOBYTE_VOLUME_SOURCE: [Member; 6] = [
    Member("Registry", "registry", Shape::Text),
    Member("Volume", "volume", Shape::Text),
    Member("ReadOnly", "readOnly", Shape::Flag),
    Member("User", "user", Shape::Text),
    Member("Group", "group", Shape::Text),
    Member("Tenant", "tenant", Shape::Text),
];

const FLEX_VOLUME_SOURCE: [Member; 5] = [
    Member("Driver", "driver", Shape::Text),
    Member("FSType", "fsType", Shape::Text),
    Member(
        "SecretRef",
        "secretRef",
        Shape::Pointer(&LOCAL_OBJECT_REFERENCE),
    ),
    Member("ReadOnly", "readOnly", Shape::Flag),
    Member("Options", "options", Shape::Plain),
];

const CINDER_VOLUME_SOURCE: [Member; 4] = [
    Member("VolumeID", "volumeID", Shape::Text),
    Member("FSType", "fsType", Shape::Text),
    Member("ReadOnly", "readOnly", Shape::Flag),
    Member(
        "SecretRef",
        "secretRef",
        Shape::Pointer(&LOCAL_OBJECT_REFERENCE),
    ),
];

const CEPH_FSVOLUME_SOURCE: [Member; 6] = [
    Member("Monitors", "monitors", Shape::Plain),
    Member("Path", "path", Shape::Text),
    Member("User", "user", Shape::Text),
    Member("SecretFile", "secretFile", Shape::Text),
    Member(
        "SecretRef",
        "secretRef",
        Shape::Pointer(&LOCAL_OBJECT_REFERENCE),
    ),
    Member("ReadOnly", "readOnly", Shape::Flag),
];

const FLOCKER_VOLUME_SOURCE: [Member; 2] = [
    Member("DatasetName", "datasetName", Shape::Text),
    Member("DatasetUUID", "datasetUUID", Shape::Text),
];

const OBJECT_FIELD_SELECTOR: [Member; 2] = [
    Member("APIVersion", "apiVersion", Shape::Text),
    Member("FieldPath", "fieldPath", Shape::Text),
];

const RESOURCE_FIELD_SELECTOR: [Member; 3] = [
    Member("ContainerName", "containerName", Shape::Text),
    Member("Resource", "resource", Shape::Text),
    Member("Divisor", "divisor", Shape::Number),
];

const DOWNWARD_APIVOLUME_FILE: [Member; 4] = [
    Member("Path", "path", Shape::Text),
    Member(
        "FieldRef",
        "fieldRef",
        Shape::Pointer(&OBJECT_FIELD_SELECTOR),
    ),
    Member(
        "ResourceFieldRef",
        "resourceFieldRef",
        Shape::Pointer(&RESOURCE_FIELD_SELECTOR),
    ),
    Member("Mode", "mode", Shape::Plain),
];

const DOWNWARD_APIVOLUME_SOURCE: [Member; 2] = [
    Member("Items", "items", Shape::List(&DOWNWARD_APIVOLUME_FILE)),
    Member("DefaultMode", "defaultMode", Shape::Plain),
];

const FCVOLUME_SOURCE: [Member; 5] = [
    Member("TargetWWNs", "targetWWNs", Shape::Plain),
    Member("Lun", "lun", Shape::Plain),
    Member("FSType", "fsType", Shape::Text),
    Member("ReadOnly", "readOnly", Shape::Flag),
    Member("WWIDs", "wwids", Shape::Plain),
];

const AZURE_FILE_VOLUME_SOURCE: [Member; 3] = [
    Member("SecretName", "secretName", Shape::Text),
    Member("ShareName", "shareName", Shape::Text),
    Member("ReadOnly", "readOnly", Shape::Flag),
];

const CONFIG_MAP_VOLUME_SOURCE: [Member; 4] = [
    Member("Name", "name", Shape::Text),
    Member("Items", "items", Shape::List(&KEY_TO_PATH)),
    Member("DefaultMode", "defaultMode", Shape::Plain),
    Member("Optional", "optional", Shape::Plain),
];

const VSPHERE_VIRTUAL_DISK_VOLUME_SOURCE: [Member; 4] = [
    Member("VolumePath", "volumePath", Shape::Text),
    Member("FSType", "fsType", Shape::Text),
    Member("StoragePolicyName", "storagePolicyName", Shape::Text),
    Member("StoragePolicyID", "storagePolicyID", Shape::Text),
];

const AZURE_DISK_VOLUME_SOURCE: [Member; 6] = [
    Member("DiskName", "diskName", Shape::Text),
    Member("DataDiskURI", "diskURI", Shape::Text),
    Member("CachingMode", "cachingMode", Shape::Plain),
    Member("FSType", "fsType", Shape::Plain),
    Member("ReadOnly", "readOnly", Shape::Plain),
    Member("Kind", "kind", Shape::Plain),
];

const PHOTON_PERSISTENT_DISK_VOLUME_SOURCE: [Member; 2] = [
    Member("PdID", "pdID", Shape::Text),
    Member("FSType", "fsType", Shape::Text),
];

const SECRET_PROJECTION: [Member; 3] = [
    Member("Name", "name", Shape::Text),
    Member("Items", "items", Shape::List(&KEY_TO_PATH)),
    Member("Optional", "optional", Shape::Plain),
];

const DOWNWARD_APIPROJECTION: [Member; 1] = [Member(
    "Items",
    "items",
    Shape::List(&DOWNWARD_APIVOLUME_FILE),
)];

const CONFIG_MAP_PROJECTION: [Member; 3] = [
    Member("Name", "name", Shape::Text),
    Member("Items", "items", Shape::List(&KEY_TO_PATH)),
    Member("Optional", "optional", Shape::Plain),
];

const SERVICE_ACCOUNT_TOKEN_PROJECTION: [Member; 3] = [
    Member("Audience", "audience", Shape::Text),
    Member("ExpirationSeconds", "expirationSeconds", Shape::Number),
    Member("Path", "path", Shape::Text),
];

const CLUSTER_TRUST_BUNDLE_PROJECTION: [Member; 5] = [
    Member("Name", "name", Shape::Plain),
    Member("SignerName", "signerName", Shape::Plain),
    Member("LabelSelector", "labelSelector", Shape::Plain),
    Member("Optional", "optional", Shape::Plain),
    Member("Path", "path", Shape::Text),
];

const POD_CERTIFICATE_PROJECTION: [Member; 7] = [
    Member("SignerName", "signerName", Shape::Text),
    Member("KeyType", "keyType", Shape::Text),
    Member("MaxExpirationSeconds", "maxExpirationSeconds", Shape::Plain),
    Member("CredentialBundlePath", "credentialBundlePath", Shape::Text),
    Member("KeyPath", "keyPath", Shape::Text),
    Member("CertificateChainPath", "certificateChainPath", Shape::Text),
    Member("UserAnnotations", "userAnnotations", Shape::Plain),
];

const VOLUME_PROJECTION: [Member; 6] = [
    Member("Secret", "secret", Shape::Pointer(&SECRET_PROJECTION)),
    Member(
        "DownwardAPI",
        "downwardAPI",
        Shape::Pointer(&DOWNWARD_APIPROJECTION),
    ),
    Member(
        "ConfigMap",
        "configMap",
        Shape::Pointer(&CONFIG_MAP_PROJECTION),
    ),
    Member(
        "ServiceAccountToken",
        "serviceAccountToken",
        Shape::Pointer(&SERVICE_ACCOUNT_TOKEN_PROJECTION),
    ),
    Member(
        "ClusterTrustBundle",
        "clusterTrustBundle",
        Shape::Pointer(&CLUSTER_TRUST_BUNDLE_PROJECTION),
    ),
    Member(
        "PodCertificate",
        "podCertificate",
        Shape::Pointer(&POD_CERTIFICATE_PROJECTION),
    ),
];

const PROJECTED_VOLUME_SOURCE: [Member; 2] = [
    Member("Sources", "sources", Shape::List(&VOLUME_PROJECTION)),
    Member("DefaultMode", "defaultMode", Shape::Plain),
];

const PORTWORX_VOLUME_SOURCE: [Member; 3] = [
    Member("VolumeID", "volumeID", Shape::Text),
    Member("FSType", "fsType", Shape::Text),
    Member("ReadOnly", "readOnly", Shape::Flag),
];

const SCALE_IOVOLUME_SOURCE: [Member; 10] = [
    Member("Gateway", "gateway", Shape::Text),
    Member("System", "system", Shape::Text),
    Member(
        "SecretRef",
        "secretRef",
        Shape::Pointer(&LOCAL_OBJECT_REFERENCE),
    ),
    Member("SSLEnabled", "sslEnabled", Shape::Flag),
    Member("ProtectionDomain", "protectionDomain", Shape::Text),
    Member("StoragePool", "storagePool", Shape::Text),
    Member("StorageMode", "storageMode", Shape::Text),
    Member("VolumeName", "volumeName", Shape::Text),
    Member("FSType", "fsType", Shape::Text),
    Member("ReadOnly", "readOnly", Shape::Flag),
];

const STORAGE_OSVOLUME_SOURCE: [Member; 5] = [
    Member("VolumeName", "volumeName", Shape::Text),
    Member("VolumeNamespace", "volumeNamespace", Shape::Text),
    Member("FSType", "fsType", Shape::Text),
    Member("ReadOnly", "readOnly", Shape::Flag),
    Member(
        "SecretRef",
        "secretRef",
        Shape::Pointer(&LOCAL_OBJECT_REFERENCE),
    ),
];

const CSIVOLUME_SOURCE: [Member; 5] = [
    Member("Driver", "driver", Shape::Text),
    Member("ReadOnly", "readOnly", Shape::Plain),
    Member("FSType", "fsType", Shape::Plain),
    Member("VolumeAttributes", "volumeAttributes", Shape::Plain),
    Member(
        "NodePublishSecretRef",
        "nodePublishSecretRef",
        Shape::Pointer(&LOCAL_OBJECT_REFERENCE),
    ),
];

const VOLUME_RESOURCE_REQUIREMENTS: [Member; 2] = [
    Member("Limits", "limits", Shape::Plain),
    Member("Requests", "requests", Shape::Plain),
];

const TYPED_LOCAL_OBJECT_REFERENCE: [Member; 3] = [
    Member("APIGroup", "apiGroup", Shape::Plain),
    Member("Kind", "kind", Shape::Text),
    Member("Name", "name", Shape::Text),
];

const TYPED_OBJECT_REFERENCE: [Member; 4] = [
    Member("APIGroup", "apiGroup", Shape::Plain),
    Member("Kind", "kind", Shape::Text),
    Member("Name", "name", Shape::Text),
    Member("Namespace", "namespace", Shape::Plain),
];

const PERSISTENT_VOLUME_CLAIM_SPEC: [Member; 9] = [
    Member("AccessModes", "accessModes", Shape::Plain),
    Member("Selector", "selector", Shape::Plain),
    Member(
        "Resources",
        "resources",
        Shape::Record(&VOLUME_RESOURCE_REQUIREMENTS),
    ),
    Member("VolumeName", "volumeName", Shape::Text),
    Member("StorageClassName", "storageClassName", Shape::Plain),
    Member("VolumeMode", "volumeMode", Shape::Plain),
    Member(
        "DataSource",
        "dataSource",
        Shape::Pointer(&TYPED_LOCAL_OBJECT_REFERENCE),
    ),
    Member(
        "DataSourceRef",
        "dataSourceRef",
        Shape::Pointer(&TYPED_OBJECT_REFERENCE),
    ),
    Member(
        "VolumeAttributesClassName",
        "volumeAttributesClassName",
        Shape::Plain,
    ),
];

const PERSISTENT_VOLUME_CLAIM_TEMPLATE: [Member; 2] = [
    Member("", "metadata", Shape::Present(&OBJECT_META)),
    Member("Spec", "spec", Shape::Record(&PERSISTENT_VOLUME_CLAIM_SPEC)),
];

const EPHEMERAL_VOLUME_SOURCE: [Member; 1] = [Member(
    "VolumeClaimTemplate",
    "volumeClaimTemplate",
    Shape::Pointer(&PERSISTENT_VOLUME_CLAIM_TEMPLATE),
)];

const IMAGE_VOLUME_SOURCE: [Member; 2] = [
    Member("Reference", "reference", Shape::Text),
    Member("PullPolicy", "pullPolicy", Shape::Text),
];

const VOLUME: [Member; 31] = [
    Member("Name", "name", Shape::Text),
    Member(
        "HostPath",
        "hostPath",
        Shape::Pointer(&HOST_PATH_VOLUME_SOURCE),
    ),
    Member(
        "EmptyDir",
        "emptyDir",
        Shape::Pointer(&EMPTY_DIR_VOLUME_SOURCE),
    ),
    Member(
        "GCEPersistentDisk",
        "gcePersistentDisk",
        Shape::Pointer(&GCEPERSISTENT_DISK_VOLUME_SOURCE),
    ),
    Member(
        "AWSElasticBlockStore",
        "awsElasticBlockStore",
        Shape::Pointer(&AWSELASTIC_BLOCK_STORE_VOLUME_SOURCE),
    ),
    Member(
        "GitRepo",
        "gitRepo",
        Shape::Pointer(&GIT_REPO_VOLUME_SOURCE),
    ),
    Member("Secret", "secret", Shape::Pointer(&SECRET_VOLUME_SOURCE)),
    Member("NFS", "nfs", Shape::Pointer(&NFSVOLUME_SOURCE)),
    Member("ISCSI", "iscsi", Shape::Pointer(&ISCSI_VOLUME_SOURCE)),
    Member(
        "Glusterfs",
        "glusterfs",
        Shape::Pointer(&GLUSTERFS_VOLUME_SOURCE),
    ),
    Member(
        "PersistentVolumeClaim",
        "persistentVolumeClaim",
        Shape::Pointer(&PERSISTENT_VOLUME_CLAIM_VOLUME_SOURCE),
    ),
    Member("RBD", "rbd", Shape::Pointer(&RBDVOLUME_SOURCE)),
    Member("Quobyte", "quobyte", Shape::Pointer(&QUOBYTE_VOLUME_SOURCE)),
    Member(
        "FlexVolume",
        "flexVolume",
        Shape::Pointer(&FLEX_VOLUME_SOURCE),
    ),
    Member("Cinder", "cinder", Shape::Pointer(&CINDER_VOLUME_SOURCE)),
    Member("CephFS", "cephfs", Shape::Pointer(&CEPH_FSVOLUME_SOURCE)),
    Member("Flocker", "flocker", Shape::Pointer(&FLOCKER_VOLUME_SOURCE)),
    Member(
        "DownwardAPI",
        "downwardAPI",
        Shape::Pointer(&DOWNWARD_APIVOLUME_SOURCE),
    ),
    Member("FC", "fc", Shape::Pointer(&FCVOLUME_SOURCE)),
    Member(
        "AzureFile",
        "azureFile",
        Shape::Pointer(&AZURE_FILE_VOLUME_SOURCE),
    ),
    Member(
        "ConfigMap",
        "configMap",
        Shape::Pointer(&CONFIG_MAP_VOLUME_SOURCE),
    ),
    Member(
        "VsphereVolume",
        "vsphereVolume",
        Shape::Pointer(&VSPHERE_VIRTUAL_DISK_VOLUME_SOURCE),
    ),
    Member(
        "AzureDisk",
        "azureDisk",
        Shape::Pointer(&AZURE_DISK_VOLUME_SOURCE),
    ),
    Member(
        "PhotonPersistentDisk",
        "photonPersistentDisk",
        Shape::Pointer(&PHOTON_PERSISTENT_DISK_VOLUME_SOURCE),
    ),
    Member(
        "Projected",
        "projected",
        Shape::Pointer(&PROJECTED_VOLUME_SOURCE),
    ),
    Member(
        "PortworxVolume",
        "portworxVolume",
        Shape::Pointer(&PORTWORX_VOLUME_SOURCE),
    ),
    Member("ScaleIO", "scaleIO", Shape::Pointer(&SCALE_IOVOLUME_SOURCE)),
    Member(
        "StorageOS",
        "storageos",
        Shape::Pointer(&STORAGE_OSVOLUME_SOURCE),
    ),
    Member("CSI", "csi", Shape::Pointer(&CSIVOLUME_SOURCE)),
    Member(
        "Ephemeral",
        "ephemeral",
        Shape::Pointer(&EPHEMERAL_VOLUME_SOURCE),
    ),
    Member("Image", "image", Shape::Pointer(&IMAGE_VOLUME_SOURCE)),
];

const CONTAINER_PORT: [Member; 5] = [
    Member("Name", "name", Shape::Text),
    Member("HostPort", "hostPort", Shape::Number),
    Member("ContainerPort", "containerPort", Shape::Number),
    Member("Protocol", "protocol", Shape::Text),
    Member("HostIP", "hostIP", Shape::Text),
];

const CONFIG_MAP_ENV_SOURCE: [Member; 2] = [
    Member("Name", "name", Shape::Text),
    Member("Optional", "optional", Shape::Plain),
];

const SECRET_ENV_SOURCE: [Member; 2] = [
    Member("Name", "name", Shape::Text),
    Member("Optional", "optional", Shape::Plain),
];

const ENV_FROM_SOURCE: [Member; 3] = [
    Member("Prefix", "prefix", Shape::Text),
    Member(
        "ConfigMapRef",
        "configMapRef",
        Shape::Pointer(&CONFIG_MAP_ENV_SOURCE),
    ),
    Member("SecretRef", "secretRef", Shape::Pointer(&SECRET_ENV_SOURCE)),
];

const CONFIG_MAP_KEY_SELECTOR: [Member; 3] = [
    Member("Name", "name", Shape::Text),
    Member("Key", "key", Shape::Text),
    Member("Optional", "optional", Shape::Plain),
];

const SECRET_KEY_SELECTOR: [Member; 3] = [
    Member("Name", "name", Shape::Text),
    Member("Key", "key", Shape::Text),
    Member("Optional", "optional", Shape::Plain),
];

const FILE_KEY_SELECTOR: [Member; 4] = [
    Member("VolumeName", "volumeName", Shape::Text),
    Member("Path", "path", Shape::Text),
    Member("Key", "key", Shape::Text),
    Member("Optional", "optional", Shape::Plain),
];

const ENV_VAR_SOURCE: [Member; 5] = [
    Member(
        "FieldRef",
        "fieldRef",
        Shape::Pointer(&OBJECT_FIELD_SELECTOR),
    ),
    Member(
        "ResourceFieldRef",
        "resourceFieldRef",
        Shape::Pointer(&RESOURCE_FIELD_SELECTOR),
    ),
    Member(
        "ConfigMapKeyRef",
        "configMapKeyRef",
        Shape::Pointer(&CONFIG_MAP_KEY_SELECTOR),
    ),
    Member(
        "SecretKeyRef",
        "secretKeyRef",
        Shape::Pointer(&SECRET_KEY_SELECTOR),
    ),
    Member(
        "FileKeyRef",
        "fileKeyRef",
        Shape::Pointer(&FILE_KEY_SELECTOR),
    ),
];

const ENV_VAR: [Member; 3] = [
    Member("Name", "name", Shape::Text),
    Member("Value", "value", Shape::Text),
    Member("ValueFrom", "valueFrom", Shape::Pointer(&ENV_VAR_SOURCE)),
];

const RESOURCE_CLAIM: [Member; 2] = [
    Member("Name", "name", Shape::Text),
    Member("Request", "request", Shape::Text),
];

const RESOURCE_REQUIREMENTS: [Member; 3] = [
    Member("Limits", "limits", Shape::Plain),
    Member("Requests", "requests", Shape::Plain),
    Member("Claims", "claims", Shape::List(&RESOURCE_CLAIM)),
];

const CONTAINER_RESIZE_POLICY: [Member; 2] = [
    Member("ResourceName", "resourceName", Shape::Text),
    Member("RestartPolicy", "restartPolicy", Shape::Text),
];

const CONTAINER_RESTART_RULE_ON_EXIT_CODES: [Member; 2] = [
    Member("Operator", "operator", Shape::Text),
    Member("Values", "values", Shape::Plain),
];

const CONTAINER_RESTART_RULE: [Member; 2] = [
    Member("Action", "action", Shape::Text),
    Member(
        "ExitCodes",
        "exitCodes",
        Shape::Pointer(&CONTAINER_RESTART_RULE_ON_EXIT_CODES),
    ),
];

const VOLUME_MOUNT: [Member; 7] = [
    Member("Name", "name", Shape::Text),
    Member("ReadOnly", "readOnly", Shape::Flag),
    Member("RecursiveReadOnly", "recursiveReadOnly", Shape::Plain),
    Member("MountPath", "mountPath", Shape::Text),
    Member("SubPath", "subPath", Shape::Text),
    Member("MountPropagation", "mountPropagation", Shape::Plain),
    Member("SubPathExpr", "subPathExpr", Shape::Text),
];

const VOLUME_DEVICE: [Member; 2] = [
    Member("Name", "name", Shape::Text),
    Member("DevicePath", "devicePath", Shape::Text),
];

const EXEC_ACTION: [Member; 1] = [Member("Command", "command", Shape::Plain)];

const HTTPHEADER: [Member; 2] = [
    Member("Name", "name", Shape::Text),
    Member("Value", "value", Shape::Text),
];

const HTTPGET_ACTION: [Member; 5] = [
    Member("Path", "path", Shape::Text),
    Member("Port", "port", Shape::Number),
    Member("Host", "host", Shape::Text),
    Member("Scheme", "scheme", Shape::Text),
    Member("HTTPHeaders", "httpHeaders", Shape::List(&HTTPHEADER)),
];

const TCPSOCKET_ACTION: [Member; 2] = [
    Member("Port", "port", Shape::Number),
    Member("Host", "host", Shape::Text),
];

const GRPCACTION: [Member; 2] = [
    Member("Port", "port", Shape::Number),
    Member("Service", "service", Shape::Plain),
];

const PROBE: [Member; 10] = [
    Member("Exec", "exec", Shape::Pointer(&EXEC_ACTION)),
    Member("HTTPGet", "httpGet", Shape::Pointer(&HTTPGET_ACTION)),
    Member("TCPSocket", "tcpSocket", Shape::Pointer(&TCPSOCKET_ACTION)),
    Member("GRPC", "grpc", Shape::Pointer(&GRPCACTION)),
    Member("InitialDelaySeconds", "initialDelaySeconds", Shape::Number),
    Member("TimeoutSeconds", "timeoutSeconds", Shape::Number),
    Member("PeriodSeconds", "periodSeconds", Shape::Number),
    Member("SuccessThreshold", "successThreshold", Shape::Number),
    Member("FailureThreshold", "failureThreshold", Shape::Number),
    Member(
        "TerminationGracePeriodSeconds",
        "terminationGracePeriodSeconds",
        Shape::Plain,
    ),
];

const SLEEP_ACTION: [Member; 1] = [Member("Seconds", "seconds", Shape::Number)];

const LIFECYCLE_HANDLER: [Member; 4] = [
    Member("Exec", "exec", Shape::Pointer(&EXEC_ACTION)),
    Member("HTTPGet", "httpGet", Shape::Pointer(&HTTPGET_ACTION)),
    Member("TCPSocket", "tcpSocket", Shape::Pointer(&TCPSOCKET_ACTION)),
    Member("Sleep", "sleep", Shape::Pointer(&SLEEP_ACTION)),
];

const LIFECYCLE: [Member; 3] = [
    Member("PostStart", "postStart", Shape::Pointer(&LIFECYCLE_HANDLER)),
    Member("PreStop", "preStop", Shape::Pointer(&LIFECYCLE_HANDLER)),
    Member("StopSignal", "stopSignal", Shape::Plain),
];

const CAPABILITIES: [Member; 2] = [
    Member("Add", "add", Shape::Plain),
    Member("Drop", "drop", Shape::Plain),
];

const SELINUX_OPTIONS: [Member; 4] = [
    Member("User", "user", Shape::Text),
    Member("Role", "role", Shape::Text),
    Member("Type", "type", Shape::Text),
    Member("Level", "level", Shape::Text),
];

const WINDOWS_SECURITY_CONTEXT_OPTIONS: [Member; 4] = [
    Member(
        "GMSACredentialSpecName",
        "gmsaCredentialSpecName",
        Shape::Plain,
    ),
    Member("GMSACredentialSpec", "gmsaCredentialSpec", Shape::Plain),
    Member("RunAsUserName", "runAsUserName", Shape::Plain),
    Member("HostProcess", "hostProcess", Shape::Plain),
];

const SECCOMP_PROFILE: [Member; 2] = [
    Member("Type", "type", Shape::Text),
    Member("LocalhostProfile", "localhostProfile", Shape::Plain),
];

const APP_ARMOR_PROFILE: [Member; 2] = [
    Member("Type", "type", Shape::Text),
    Member("LocalhostProfile", "localhostProfile", Shape::Plain),
];

const SECURITY_CONTEXT: [Member; 12] = [
    Member(
        "Capabilities",
        "capabilities",
        Shape::Pointer(&CAPABILITIES),
    ),
    Member("Privileged", "privileged", Shape::Plain),
    Member(
        "SELinuxOptions",
        "seLinuxOptions",
        Shape::Pointer(&SELINUX_OPTIONS),
    ),
    Member(
        "WindowsOptions",
        "windowsOptions",
        Shape::Pointer(&WINDOWS_SECURITY_CONTEXT_OPTIONS),
    ),
    Member("RunAsUser", "runAsUser", Shape::Plain),
    Member("RunAsGroup", "runAsGroup", Shape::Plain),
    Member("RunAsNonRoot", "runAsNonRoot", Shape::Plain),
    Member(
        "ReadOnlyRootFilesystem",
        "readOnlyRootFilesystem",
        Shape::Plain,
    ),
    Member(
        "AllowPrivilegeEscalation",
        "allowPrivilegeEscalation",
        Shape::Plain,
    ),
    Member("ProcMount", "procMount", Shape::Plain),
    Member(
        "SeccompProfile",
        "seccompProfile",
        Shape::Pointer(&SECCOMP_PROFILE),
    ),
    Member(
        "AppArmorProfile",
        "appArmorProfile",
        Shape::Pointer(&APP_ARMOR_PROFILE),
    ),
];

const CONTAINER: [Member; 25] = [
    Member("Name", "name", Shape::Text),
    Member("Image", "image", Shape::Text),
    Member("Command", "command", Shape::Plain),
    Member("Args", "args", Shape::Plain),
    Member("WorkingDir", "workingDir", Shape::Text),
    Member("Ports", "ports", Shape::List(&CONTAINER_PORT)),
    Member("EnvFrom", "envFrom", Shape::List(&ENV_FROM_SOURCE)),
    Member("Env", "env", Shape::List(&ENV_VAR)),
    Member(
        "Resources",
        "resources",
        Shape::Record(&RESOURCE_REQUIREMENTS),
    ),
    Member(
        "ResizePolicy",
        "resizePolicy",
        Shape::List(&CONTAINER_RESIZE_POLICY),
    ),
    Member("RestartPolicy", "restartPolicy", Shape::Plain),
    Member(
        "RestartPolicyRules",
        "restartPolicyRules",
        Shape::List(&CONTAINER_RESTART_RULE),
    ),
    Member("VolumeMounts", "volumeMounts", Shape::List(&VOLUME_MOUNT)),
    Member(
        "VolumeDevices",
        "volumeDevices",
        Shape::List(&VOLUME_DEVICE),
    ),
    Member("LivenessProbe", "livenessProbe", Shape::Pointer(&PROBE)),
    Member("ReadinessProbe", "readinessProbe", Shape::Pointer(&PROBE)),
    Member("StartupProbe", "startupProbe", Shape::Pointer(&PROBE)),
    Member("Lifecycle", "lifecycle", Shape::Pointer(&LIFECYCLE)),
    Member(
        "TerminationMessagePath",
        "terminationMessagePath",
        Shape::Text,
    ),
    Member(
        "TerminationMessagePolicy",
        "terminationMessagePolicy",
        Shape::Text,
    ),
    Member("ImagePullPolicy", "imagePullPolicy", Shape::Text),
    Member(
        "SecurityContext",
        "securityContext",
        Shape::Pointer(&SECURITY_CONTEXT),
    ),
    Member("Stdin", "stdin", Shape::Flag),
    Member("StdinOnce", "stdinOnce", Shape::Flag),
    Member("TTY", "tty", Shape::Flag),
];

const EPHEMERAL_CONTAINER: [Member; 26] = [
    Member("Name", "name", Shape::Text),
    Member("Image", "image", Shape::Text),
    Member("Command", "command", Shape::Plain),
    Member("Args", "args", Shape::Plain),
    Member("WorkingDir", "workingDir", Shape::Text),
    Member("Ports", "ports", Shape::List(&CONTAINER_PORT)),
    Member("EnvFrom", "envFrom", Shape::List(&ENV_FROM_SOURCE)),
    Member("Env", "env", Shape::List(&ENV_VAR)),
    Member(
        "Resources",
        "resources",
        Shape::Record(&RESOURCE_REQUIREMENTS),
    ),
    Member(
        "ResizePolicy",
        "resizePolicy",
        Shape::List(&CONTAINER_RESIZE_POLICY),
    ),
    Member("RestartPolicy", "restartPolicy", Shape::Plain),
    Member(
        "RestartPolicyRules",
        "restartPolicyRules",
        Shape::List(&CONTAINER_RESTART_RULE),
    ),
    Member("VolumeMounts", "volumeMounts", Shape::List(&VOLUME_MOUNT)),
    Member(
        "VolumeDevices",
        "volumeDevices",
        Shape::List(&VOLUME_DEVICE),
    ),
    Member("LivenessProbe", "livenessProbe", Shape::Pointer(&PROBE)),
    Member("ReadinessProbe", "readinessProbe", Shape::Pointer(&PROBE)),
    Member("StartupProbe", "startupProbe", Shape::Pointer(&PROBE)),
    Member("Lifecycle", "lifecycle", Shape::Pointer(&LIFECYCLE)),
    Member(
        "TerminationMessagePath",
        "terminationMessagePath",
        Shape::Text,
    ),
    Member(
        "TerminationMessagePolicy",
        "terminationMessagePolicy",
        Shape::Text,
    ),
    Member("ImagePullPolicy", "imagePullPolicy", Shape::Text),
    Member(
        "SecurityContext",
        "securityContext",
        Shape::Pointer(&SECURITY_CONTEXT),
    ),
    Member("Stdin", "stdin", Shape::Flag),
    Member("StdinOnce", "stdinOnce", Shape::Flag),
    Member("TTY", "tty", Shape::Flag),
    Member("TargetContainerName", "targetContainerName", Shape::Text),
];

const SYSCTL: [Member; 2] = [
    Member("Name", "name", Shape::Text),
    Member("Value", "value", Shape::Text),
];

const POD_SECURITY_CONTEXT: [Member; 18] = [
    Member("HostNetwork", "hostNetwork", Shape::Flag),
    Member("HostPID", "hostPID", Shape::Flag),
    Member("HostIPC", "hostIPC", Shape::Flag),
    Member(
        "ShareProcessNamespace",
        "shareProcessNamespace",
        Shape::Plain,
    ),
    Member("HostUsers", "hostUsers", Shape::Plain),
    Member(
        "SELinuxOptions",
        "seLinuxOptions",
        Shape::Pointer(&SELINUX_OPTIONS),
    ),
    Member(
        "WindowsOptions",
        "windowsOptions",
        Shape::Pointer(&WINDOWS_SECURITY_CONTEXT_OPTIONS),
    ),
    Member("RunAsUser", "runAsUser", Shape::Plain),
    Member("RunAsGroup", "runAsGroup", Shape::Plain),
    Member("RunAsNonRoot", "runAsNonRoot", Shape::Plain),
    Member("SupplementalGroups", "supplementalGroups", Shape::Plain),
    Member(
        "SupplementalGroupsPolicy",
        "supplementalGroupsPolicy",
        Shape::Plain,
    ),
    Member("FSGroup", "fsGroup", Shape::Plain),
    Member("FSGroupChangePolicy", "fsGroupChangePolicy", Shape::Plain),
    Member("Sysctls", "sysctls", Shape::List(&SYSCTL)),
    Member(
        "SeccompProfile",
        "seccompProfile",
        Shape::Pointer(&SECCOMP_PROFILE),
    ),
    Member(
        "AppArmorProfile",
        "appArmorProfile",
        Shape::Pointer(&APP_ARMOR_PROFILE),
    ),
    Member("SELinuxChangePolicy", "seLinuxChangePolicy", Shape::Plain),
];

const NODE_SELECTOR_REQUIREMENT: [Member; 3] = [
    Member("Key", "key", Shape::Text),
    Member("Operator", "operator", Shape::Text),
    Member("Values", "values", Shape::Plain),
];

const NODE_SELECTOR_TERM: [Member; 2] = [
    Member(
        "MatchExpressions",
        "matchExpressions",
        Shape::List(&NODE_SELECTOR_REQUIREMENT),
    ),
    Member(
        "MatchFields",
        "matchFields",
        Shape::List(&NODE_SELECTOR_REQUIREMENT),
    ),
];

const NODE_SELECTOR: [Member; 1] = [Member(
    "NodeSelectorTerms",
    "nodeSelectorTerms",
    Shape::List(&NODE_SELECTOR_TERM),
)];

const PREFERRED_SCHEDULING_TERM: [Member; 2] = [
    Member("Weight", "weight", Shape::Number),
    Member(
        "Preference",
        "preference",
        Shape::Record(&NODE_SELECTOR_TERM),
    ),
];

const NODE_AFFINITY: [Member; 2] = [
    Member(
        "RequiredDuringSchedulingIgnoredDuringExecution",
        "requiredDuringSchedulingIgnoredDuringExecution",
        Shape::Pointer(&NODE_SELECTOR),
    ),
    Member(
        "PreferredDuringSchedulingIgnoredDuringExecution",
        "preferredDuringSchedulingIgnoredDuringExecution",
        Shape::List(&PREFERRED_SCHEDULING_TERM),
    ),
];

const POD_AFFINITY_TERM: [Member; 6] = [
    Member("LabelSelector", "labelSelector", Shape::Plain),
    Member("Namespaces", "namespaces", Shape::Plain),
    Member("TopologyKey", "topologyKey", Shape::Text),
    Member("NamespaceSelector", "namespaceSelector", Shape::Plain),
    Member("MatchLabelKeys", "matchLabelKeys", Shape::Plain),
    Member("MismatchLabelKeys", "mismatchLabelKeys", Shape::Plain),
];

const WEIGHTED_POD_AFFINITY_TERM: [Member; 2] = [
    Member("Weight", "weight", Shape::Number),
    Member(
        "PodAffinityTerm",
        "podAffinityTerm",
        Shape::Record(&POD_AFFINITY_TERM),
    ),
];

const POD_AFFINITY: [Member; 2] = [
    Member(
        "RequiredDuringSchedulingIgnoredDuringExecution",
        "requiredDuringSchedulingIgnoredDuringExecution",
        Shape::List(&POD_AFFINITY_TERM),
    ),
    Member(
        "PreferredDuringSchedulingIgnoredDuringExecution",
        "preferredDuringSchedulingIgnoredDuringExecution",
        Shape::List(&WEIGHTED_POD_AFFINITY_TERM),
    ),
];

const POD_ANTI_AFFINITY: [Member; 2] = [
    Member(
        "RequiredDuringSchedulingIgnoredDuringExecution",
        "requiredDuringSchedulingIgnoredDuringExecution",
        Shape::List(&POD_AFFINITY_TERM),
    ),
    Member(
        "PreferredDuringSchedulingIgnoredDuringExecution",
        "preferredDuringSchedulingIgnoredDuringExecution",
        Shape::List(&WEIGHTED_POD_AFFINITY_TERM),
    ),
];

const AFFINITY: [Member; 3] = [
    Member(
        "NodeAffinity",
        "nodeAffinity",
        Shape::Pointer(&NODE_AFFINITY),
    ),
    Member("PodAffinity", "podAffinity", Shape::Pointer(&POD_AFFINITY)),
    Member(
        "PodAntiAffinity",
        "podAntiAffinity",
        Shape::Pointer(&POD_ANTI_AFFINITY),
    ),
];

const TOLERATION: [Member; 5] = [
    Member("Key", "key", Shape::Text),
    Member("Operator", "operator", Shape::Text),
    Member("Value", "value", Shape::Text),
    Member("Effect", "effect", Shape::Text),
    Member("TolerationSeconds", "tolerationSeconds", Shape::Plain),
];

const HOST_ALIAS: [Member; 2] = [
    Member("IP", "ip", Shape::Text),
    Member("Hostnames", "hostnames", Shape::Plain),
];

const POD_DNSCONFIG_OPTION: [Member; 2] = [
    Member("Name", "name", Shape::Text),
    Member("Value", "value", Shape::Plain),
];

const POD_DNSCONFIG: [Member; 3] = [
    Member("Nameservers", "nameservers", Shape::Plain),
    Member("Searches", "searches", Shape::Plain),
    Member("Options", "options", Shape::List(&POD_DNSCONFIG_OPTION)),
];

const POD_READINESS_GATE: [Member; 1] = [Member("ConditionType", "conditionType", Shape::Text)];

const TOPOLOGY_SPREAD_CONSTRAINT: [Member; 8] = [
    Member("MaxSkew", "maxSkew", Shape::Number),
    Member("TopologyKey", "topologyKey", Shape::Text),
    Member("WhenUnsatisfiable", "whenUnsatisfiable", Shape::Text),
    Member("LabelSelector", "labelSelector", Shape::Plain),
    Member("MinDomains", "minDomains", Shape::Plain),
    Member("NodeAffinityPolicy", "nodeAffinityPolicy", Shape::Plain),
    Member("NodeTaintsPolicy", "nodeTaintsPolicy", Shape::Plain),
    Member("MatchLabelKeys", "matchLabelKeys", Shape::Plain),
];

const POD_OS: [Member; 1] = [Member("Name", "name", Shape::Text)];

const POD_SCHEDULING_GATE: [Member; 1] = [Member("Name", "name", Shape::Text)];

const POD_RESOURCE_CLAIM: [Member; 3] = [
    Member("Name", "name", Shape::Text),
    Member("ResourceClaimName", "resourceClaimName", Shape::Plain),
    Member(
        "ResourceClaimTemplateName",
        "resourceClaimTemplateName",
        Shape::Plain,
    ),
];

const WORKLOAD_REFERENCE: [Member; 3] = [
    Member("Name", "name", Shape::Text),
    Member("PodGroup", "podGroup", Shape::Text),
    Member("PodGroupReplicaKey", "podGroupReplicaKey", Shape::Text),
];

/// `PodSpec`.
pub(super) const POD_SPEC: [Member; 36] = [
    Member("Volumes", "volumes", Shape::List(&VOLUME)),
    Member("InitContainers", "initContainers", Shape::List(&CONTAINER)),
    Member("Containers", "containers", Shape::List(&CONTAINER)),
    Member(
        "EphemeralContainers",
        "ephemeralContainers",
        Shape::List(&EPHEMERAL_CONTAINER),
    ),
    Member("RestartPolicy", "restartPolicy", Shape::Text),
    Member(
        "TerminationGracePeriodSeconds",
        "terminationGracePeriodSeconds",
        Shape::Plain,
    ),
    Member(
        "ActiveDeadlineSeconds",
        "activeDeadlineSeconds",
        Shape::Plain,
    ),
    Member("DNSPolicy", "dnsPolicy", Shape::Text),
    Member("NodeSelector", "nodeSelector", Shape::Plain),
    Member("ServiceAccountName", "serviceAccountName", Shape::Text),
    Member(
        "AutomountServiceAccountToken",
        "automountServiceAccountToken",
        Shape::Plain,
    ),
    Member("NodeName", "nodeName", Shape::Text),
    Member(
        "SecurityContext",
        "securityContext",
        Shape::Pointer(&POD_SECURITY_CONTEXT),
    ),
    Member(
        "ImagePullSecrets",
        "imagePullSecrets",
        Shape::List(&LOCAL_OBJECT_REFERENCE),
    ),
    Member("Hostname", "hostname", Shape::Text),
    Member("Subdomain", "subdomain", Shape::Text),
    Member("SetHostnameAsFQDN", "setHostnameAsFQDN", Shape::Plain),
    Member("Affinity", "affinity", Shape::Pointer(&AFFINITY)),
    Member("SchedulerName", "schedulerName", Shape::Text),
    Member("Tolerations", "tolerations", Shape::List(&TOLERATION)),
    Member("HostAliases", "hostAliases", Shape::List(&HOST_ALIAS)),
    Member("PriorityClassName", "priorityClassName", Shape::Text),
    Member("Priority", "priority", Shape::Plain),
    Member("PreemptionPolicy", "preemptionPolicy", Shape::Plain),
    Member("DNSConfig", "dnsConfig", Shape::Pointer(&POD_DNSCONFIG)),
    Member(
        "ReadinessGates",
        "readinessGates",
        Shape::List(&POD_READINESS_GATE),
    ),
    Member("RuntimeClassName", "runtimeClassName", Shape::Plain),
    Member("Overhead", "overhead", Shape::Plain),
    Member("EnableServiceLinks", "enableServiceLinks", Shape::Plain),
    Member(
        "TopologySpreadConstraints",
        "topologySpreadConstraints",
        Shape::List(&TOPOLOGY_SPREAD_CONSTRAINT),
    ),
    Member("OS", "os", Shape::Pointer(&POD_OS)),
    Member(
        "SchedulingGates",
        "schedulingGates",
        Shape::List(&POD_SCHEDULING_GATE),
    ),
    Member(
        "ResourceClaims",
        "resourceClaims",
        Shape::List(&POD_RESOURCE_CLAIM),
    ),
    Member(
        "Resources",
        "resources",
        Shape::Pointer(&RESOURCE_REQUIREMENTS),
    ),
    Member("HostnameOverride", "hostnameOverride", Shape::Plain),
    Member(
        "WorkloadRef",
        "workloadRef",
        Shape::Pointer(&WORKLOAD_REFERENCE),
    ),
];

/// `PodTemplateSpec`.
pub(super) const POD_TEMPLATE_SPEC: [Member; 2] = [
    Member("", "metadata", Shape::Present(&OBJECT_META)),
    Member("Spec", "spec", Shape::Record(&POD_SPEC)),
];
