//! The slice of kube-controller-manager the embedded server needs
