//! Chapters are searched with every limit, and with an index that passes over chapters.

use proptest::prelude::*;
use watchscope_model::chapter::ChapterReader;
use watchscope_model::codec::split_frame;
use watchscope_model::{EpochId, Seq, Time};
use watchscope_search::{
    ChapterHits, ChapterSearch, Index, IndexedChapter, MAX_HELD, Matched, Query, Wanted, held,
};

use crate::cases::cases;
use crate::plain;
use crate::world::{Chapter, chapters, query_of};

fn searched(
    chapter: &Chapter,
    query: &Query,
    before: Seq,
    most: usize,
    bodies: &[Seq],
) -> ChapterHits {
    let (head, mut rest) = split_frame(&chapter.frames).unwrap();
    let mut search = ChapterSearch::open(query, head, before, most, bodies.to_vec())
        .unwrap()
        .naming();
    while !rest.is_empty() {
        let (frame, after) = split_frame(rest).unwrap();
        search.segment(frame).unwrap();
        rest = after;
    }
    search.finish()
}

fn ends(chapter: &Chapter) -> (Seq, Seq) {
    let first = chapter.before.seq.next();
    let last = chapter
        .records
        .last()
        .map_or(chapter.before.seq, |record| record.seq);
    (first, last)
}

/// The hits of a chapter by reading every record, the newest first.
fn plainly(chapter: &Chapter, query: &str, before: Seq) -> Vec<(Seq, Matched)> {
    let records = chapter
        .records
        .iter()
        .rev()
        .filter(|record| record.seq < before);
    let hits = records.map(|record| (record.seq, plain::matched(query, &record.event)));
    hits.filter(|(_, matched)| !matched.is_empty()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(96)))]

    #[test]
    fn a_search_finds_what_reading_every_record_finds((chapters, text) in chapters().prop_flat_map(query_of), before in 1u64..250, most in 1usize..20) {
        let query = Query::parse(&text).unwrap();
        for chapter in &chapters {
            let before = Seq(before);
            let expected = plainly(chapter, &text, before);
            let found = searched(chapter, &query, before, most, &[]);
            let hits: Vec<_> = found.hits.iter().map(|hit| (hit.seq, hit.matched)).collect();
            prop_assert_eq!(&hits[..], &expected[..most.min(expected.len())]);
            prop_assert_eq!(found.has_more, expected.len() > most);
        }
    }

    #[test]
    fn an_index_passes_over_no_chapter_with_a_hit((chapters, text) in chapters().prop_flat_map(query_of), bytes in prop::sample::select(&[2_000, 8_000, 1_000_000])) {
        let query = Query::parse(&text).unwrap();
        let mut index = Index::new(bytes);
        let epoch = EpochId::from("e1");
        // The second round adds each chapter once more.
        for (number, chapter) in chapters.iter().rev().chain(&chapters).enumerate() {
            let (first, last) = ends(chapter);
            let named = searched(chapter, &query, Seq(u64::MAX), 1, &[]).named.unwrap();
            let of = IndexedChapter { epoch: epoch.clone(), first, last, at: Time(number as i64) };
            index.add(&of, named);
            prop_assert!(index.bytes() <= bytes);
        }
        let mut wanted = Wanted::default();
        for chapter in &chapters {
            let (first, last) = ends(chapter);
            let may_match = index.may_match(&query, &mut wanted, &epoch, first, last);
            let has_hits = !plainly(chapter, &text, Seq(u64::MAX)).is_empty();
            prop_assert!(!(has_hits && may_match == Some(false)));
            prop_assert!(may_match.is_some() || bytes < 1_000_000);
            prop_assert_eq!(index.may_match(&query, &mut wanted, &epoch, first, last.next()), None);
        }
    }

    #[test]
    fn a_snapshot_holds_what_its_fold_holds((chapters, text) in chapters().prop_flat_map(query_of)) {
        let query = Query::parse(&text).unwrap();
        for chapter in &chapters {
            let (head, _) = split_frame(&chapter.frames).unwrap();
            let (_, opening) = ChapterReader::open_frame(head).unwrap();
            let found = held(&query, &opening);
            let watches = chapter.before.watches.values();
            let names = watches.flat_map(|watch| watch.objects.iter());
            let lower = text.to_ascii_lowercase();
            let named = names.filter(|held| held.object.name.to_ascii_lowercase().contains(&lower)).count();
            prop_assert!(found.hits.len() as u64 + found.more >= named as u64);
            prop_assert!(found.hits.len() <= MAX_HELD);
            prop_assert!(found.hits.iter().all(|hit| hit.is_held && hit.seq == chapter.before.seq));
        }
    }

    #[test]
    fn cut_and_changed_frames_are_errors_and_never_panic((chapters, text) in chapters().prop_flat_map(query_of), cut: prop::sample::Index, flip: u8) {
        let query = Query::parse(&text).unwrap();
        for chapter in &chapters {
            let mut bytes = chapter.frames.clone();
            let place = cut.index(bytes.len());
            bytes[place] ^= flip;
            let Ok((head, mut rest)) = split_frame(&bytes) else { continue };
            let Ok(mut search) = ChapterSearch::open(&query, head, Seq(u64::MAX), 5, Vec::new()) else { continue };
            while let Ok((frame, after)) = split_frame(rest) {
                if search.segment(frame).is_err() {
                    break;
                }
                rest = after;
            }
            prop_assert!(search.finish().hits.len() <= 5);
        }
    }
}

#[test]
fn a_record_whose_body_matches_is_a_hit() {
    use proptest::strategy::ValueTree as _;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let all = prop::collection::vec(chapters(), 20)
        .new_tree(&mut runner)
        .unwrap()
        .current();
    let chapter = all
        .iter()
        .flatten()
        .find(|chapter| chapter.records.len() > 10)
        .unwrap();
    let query = Query::parse("no text of the log").unwrap();
    let (seq, after) = (chapter.records[3].seq, chapter.records[4].seq);
    let bodies = [seq, chapter.records[9].seq];
    let found = searched(chapter, &query, after, 9, &bodies);
    let hits: Vec<_> = found
        .hits
        .iter()
        .map(|hit| (hit.seq, hit.matched))
        .collect();
    assert_eq!(
        hits,
        [(seq, [watchscope_search::What::Body].into_iter().collect())]
    );
}
