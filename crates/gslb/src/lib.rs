//! Global DNS load balancing across clusters, compatible with k8gb
