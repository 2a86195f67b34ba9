//! One small scene as text, whole: the input of a painter.

use crate::common::{Log, at, picture};
use watchscope_model::vocabulary::*;
use watchscope_timeline::{Lanes, View};

#[test]
fn a_reset_that_heals_is_drawn_as_a_torn_plateau_a_hatched_gap_and_a_new_stream() {
    let mut log = Log::new("a");
    log.opened(0.0, "shop/pods", 1, &["cart-0"], 1_000);
    log.change(
        10.0,
        "shop/pods",
        ChangeType::Modified,
        Origin::Live,
        "cart-0",
        1_010,
    );
    log.bookmark(15.0, "shop/pods", 10, 1_015);
    log.end(20.0, "shop/pods", 10, Cause::TcpReset);
    log.phase(
        20.0,
        "shop/pods",
        Phase::Connecting,
        PhaseReason::Resume,
        None,
    );
    log.request(
        24.0,
        "shop/pods",
        300,
        1,
        "watch",
        "watch=1&timeoutSeconds=388",
    );
    log.gap(25.0, "shop/pods", true, Some(0));
    log.open(25.0, "shop/pods", 11, 300, 1_015);
    let view = View::between(at(0.0), at(50.0), 500.0);
    let (_, scene) = picture(&log.store(), &mut Lanes::showing_all(), &view, at(40.0));
    insta::assert_snapshot!(scene.dump(), @r#"
    rect 0,0 1x84 line1
    rect 100,0 1x84 line1
    rect 200,0 1x84 line1
    rect 300,0 1x84 line1
    rect 400,0 1x84 line1
    rect 0,0 500x1 line2
    rect 0,26 500x1 line1
    rect 0,66 500x1 line1
    rect 200,0 50x84 bg0
    hatch Resumed 200,0 50x84
    rect 1.5,5 198.5x16 streamfill
    rect 1.5,5 198.5x2 stream
    rect 1.5,5 1x16 stream
    rect 195,5 12x16 bg0
    rect 250,5 150x16 streamfill
    rect 250,5 150x2 stream
    rect 250,5 1x16 stream
    rect 0,5 2x16 bg0
    path M2,20 L3.09,20 line 2 stream dashed 2-2
    path M200,20 L250,20 line 2 stream dashed 2-2
    text 7.5,18 11/400 text2 "stream 10"
    text 256,18 11/400 text2 "stream 11"
    path M1.09,60 L100,60 L100,41.33 L150,41.33 L150,32 L400,32 L400,65 L1.09,65 Z streamfill at 60 %
    path M1.09,60 L100,60 L100,41.33 L150,41.33 L150,32 L400,32 line 1.5 rv
    rect 1,74 399x2 life
    path M195,6 L200,6 L204,9 L197,13 L204,17 L200,21 line 2 error
    path M-5.25,5.75 L-8.25,5.75 L-8.25,20.25 L-5.25,20.25 line 1.5 list
    path M-3.75,5.75 L-0.75,5.75 L-0.75,20.25 L-3.75,20.25 line 1.5 list
    rect 150,1 2x4 bookmark
    text 394,46 11/400 text2 end "1,015"
    text 7.09,56 11/400 text3 "1,000"
    glyph added-by-list 1,75 10 added
    glyph modified 100,75 10 modified
    rect 400,0 100x84 bg1
    rect 400,0 1x84 text1 at 80 %
    "#);
}
