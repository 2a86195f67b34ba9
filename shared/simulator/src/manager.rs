//! The writers of objects, as `metadata.managedFields` name them.

/// A writer of objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Manager {
    /// `kubectl-create`, `kubelet`, `kube-controller-manager`.
    pub(crate) name: String,
    /// The subresource that it writes: `status`, or empty.
    pub(crate) subresource: String,
}

impl Manager {
    pub(crate) fn new(name: &str) -> Manager {
        Manager {
            name: name.to_owned(),
            subresource: String::new(),
        }
    }

    pub(crate) fn status(name: &str) -> Manager {
        Manager {
            name: name.to_owned(),
            subresource: "status".to_owned(),
        }
    }
}
