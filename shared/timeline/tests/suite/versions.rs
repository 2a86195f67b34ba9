//! The record of a resourceVersion: exact, nearest, and which of several.

use crate::common::{Log, at};
use watchscope_model::vocabulary::{ChangeType, Origin};
use watchscope_timeline::{LaneId, Store};

const PODS: &str = "shop/pods";
const LIVE: (ChangeType, Origin) = (ChangeType::Modified, Origin::Live);

/// Returns a store of a list of two pods at 100, and three changes.
fn store() -> Store {
    let mut log = Log::new("a");
    log.opened(0.0, PODS, 1, &["cart-0", "cart-1"], 100);
    log.bookmark(1.0, PODS, 1, 105);
    log.change(2.0, PODS, LIVE.0, LIVE.1, "cart-1", 105);
    log.change(3.0, PODS, LIVE.0, LIVE.1, "cart-0", 120);
    log.store()
}

#[test]
fn a_change_comes_before_a_bookmark_of_the_same_version() {
    let store = store();
    let place = store.nearest_version(105).unwrap();
    assert_eq!((place.version, place.at), (105, at(2.0)));
    assert_eq!(store.lane_key(place.lane), "shop/pods shop/cart-1");
    assert_eq!(store.entry(place.record).unwrap().at(), at(2.0));
}

#[test]
fn the_nearest_version_stands_for_one_that_no_record_has() {
    let store = store();
    let version = |of| store.nearest_version(of).unwrap().version;
    assert_eq!(version(119), 120);
    assert_eq!(version(u64::MAX), 120);
    assert_eq!(version(106), 105);
}

#[test]
fn a_store_without_a_version_has_none() {
    assert_eq!(Store::default().nearest_version(1), None);
    let mut log = Log::new("a");
    log.watch(0.0, PODS);
    let store = log.store();
    assert_eq!(store.nearest_version(1), None);
    let watch = store.lanes().next();
    assert!(matches!(watch, Some(LaneId::Watch(_))));
}
