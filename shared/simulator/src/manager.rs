//! The writers of objects, as `metadata.managedFields` name them.

/// A field manager: a writer of objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Manager {
    /// The manager's name, such as `kubectl-create`, `kubelet` or `kube-controller-manager`.
    pub(crate) name: String,
    /// The subresource that the manager writes: `status`, `scale`, `finalize`, or empty for the object itself.
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
