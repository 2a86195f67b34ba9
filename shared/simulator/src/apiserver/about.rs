//! Answers about the apiserver itself: discovery, versions, health.

use super::answer::{Answer, nothing_here, plain_text};
use super::discovery;
use super::negotiate::aggregated_discovery;
use super::route::Route;
use crate::json::encode;
use crate::kinds::Kinds;
use crate::message::Request;
use crate::version::Version;

/// Returns the answer about the apiserver itself: discovery, versions, health.
pub(super) fn about_itself(
    route: &Route,
    request: &Request,
    kinds: &Kinds,
    server: Version,
) -> Answer {
    let found = match route {
        Route::Version => Some(discovery::version(&server.to_string())),
        Route::Health => {
            return plain_text(200, b"ok");
        }
        Route::Core | Route::Groups => {
            let core = *route == Route::Core;
            if let Some(version) = aggregated_discovery(request) {
                let list = discovery::aggregated(kinds, core, version);
                let content_type = format!(
                    "application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"
                );
                return Answer::bytes(200, &content_type, encode(&list));
            }
            Some(if core {
                discovery::core_versions()
            } else {
                discovery::groups(kinds)
            })
        }
        Route::Group(group) => discovery::group(kinds, group),
        Route::GroupVersion(group, version) => discovery::resources(kinds, group, version),
        Route::OpenApi => Some(discovery::openapi_index(kinds)),
        Route::OpenApiOf(group, version) => {
            discovery::openapi(kinds, group, version, &server.to_string())
        }
        Route::Resource(_)
        | Route::Watch(_)
        | Route::NotModelled(_)
        | Route::UnknownResource
        | Route::Unknown => None,
    };
    match found {
        Some(value) => Answer::json(200, &value),
        None => nothing_here(),
    }
}
