//! The cursors A and B: sets, moves and drops them, and compares their times. The third part of the page has this code.

use std::sync::Arc;

use watchscope_model::event::Event;
use watchscope_model::vocabulary::Divergence;
use watchscope_model::{ResourceVersion, Time};
use watchscope_timeline::between::{
    Between, ChangedBy, DifferenceKind, Holding, VersionsSeen, between, head_words, place_words,
    side_words,
};
use watchscope_timeline::draw::{Cursors, cursor_x};
use watchscope_timeline::format;
use watchscope_timeline::store::Unknown;

use crate::core::cursors::{
    BothBodies, Compared, ComparedShown, Cursor, CursorDeed, CursorsShown, FlagShown, Found,
    ROWS_MOST, RowShown, Span,
};
use crate::core::model::Model;

impl Model {
    /// Handles a deed with the cursors.
    pub fn do_with_cursors(&mut self, deed: CursorDeed) {
        let now = self.now();
        let Cursors { a, b } = self.marked.cursors;
        match deed {
            CursorDeed::Mark(at) => self.mark_cursor(at.min(now)),
            CursorDeed::WithNow => self.set_cursors(a, a.map(|a| now.max(a))),
            CursorDeed::Drag(cursor, x_px) => {
                let at = self.view.time_from_x(x_px.clamp(0.0, self.view.width_px));
                self.move_cursor(cursor, at);
            }
            CursorDeed::Nudge(cursor, by_px) => {
                if let Some(at) = self.time_of(cursor) {
                    let by_us = (self.view.us_per_px * by_px) as i64;
                    self.move_cursor(cursor, at.plus_micros(by_us));
                }
            }
            CursorDeed::Step(cursor, is_next) => {
                let at = self.time_of(cursor);
                match at.and_then(|at| self.store.record_beside(at, is_next)) {
                    Some(at) => self.move_cursor(cursor, at),
                    None => self.say("No further record is loaded.".to_owned()),
                }
            }
            CursorDeed::Drop if b.is_some() => self.set_cursors(a, None),
            CursorDeed::Drop | CursorDeed::Clear => self.set_cursors(None, None),
            CursorDeed::Show => {
                self.panels.cursors.is_front = true;
                self.close_tables();
            }
            CursorDeed::Renew => {}
        }
        self.publish_cursors(now);
    }

    /// Sets A, then B, then moves the nearer one. A is always the earlier one.
    fn mark_cursor(&mut self, at: Time) {
        let (name, a, b) = match self.marked.cursors {
            Cursors { a: None, .. } => ("A", at, None),
            Cursors {
                a: Some(a),
                b: None,
            } if at < a => ("A", at, Some(a)),
            Cursors {
                a: Some(a),
                b: None,
            } => ("B", a, Some(at)),
            Cursors {
                a: Some(a),
                b: Some(b),
            } => {
                let far = |from: Time| at.micros_since(from).abs();
                if far(a) <= far(b) {
                    ("A", at, Some(b))
                } else {
                    ("B", a, Some(at))
                }
            }
        };
        self.say(format!("{name} is at {}.", format::clock_ms(at)));
        self.panels.cursors.is_front = true;
        if b.is_some() {
            // The comparison takes their place.
            self.close_tables();
        }
        self.set_cursors(Some(a), b);
    }

    fn time_of(&self, cursor: Cursor) -> Option<Time> {
        match cursor {
            Cursor::A => self.marked.cursors.a,
            Cursor::B => self.marked.cursors.b,
        }
    }

    /// Moves a cursor; it stops at the other one and at now.
    fn move_cursor(&mut self, cursor: Cursor, at: Time) {
        let Cursors { a, b } = self.marked.cursors;
        let at = at.min(self.now());
        match cursor {
            Cursor::A => self.set_cursors(Some(b.map_or(at, |b| at.min(b))), b),
            Cursor::B => self.set_cursors(a, Some(a.map_or(at, |a| at.max(a)))),
        }
    }

    fn set_cursors(&mut self, a: Option<Time>, b: Option<Time>) {
        if self.marked.cursors != (Cursors { a, b }) {
            self.marked.cursors = Cursors { a, b };
            self.redraw();
        }
    }

    /// Computes flags and panel.
    fn publish_cursors(&mut self, now: Time) {
        let Cursors { a: Some(a), b } = self.marked.cursors else {
            self.panels.cursors.found = None;
            self.shown.cursors = None;
            return;
        };
        let flag = |cursor: Cursor, at: Time| FlagShown {
            cursor,
            clock: format::clock_ms(at),
            left_px: cursor_x(&self.view, at, cursor == Cursor::B).map(|x| x.to_f64() as i32),
        };
        let mut flags = vec![flag(Cursor::A, a)];
        flags.extend(b.map(|b| flag(Cursor::B, b)));
        let is_front = self.panels.cursors.is_front;
        let known = self.shown.cursors.take();
        let compared = b.and_then(|b| {
            let is_new = self.compare((a, b), now);
            let known = known.and_then(|known| known.compared);
            known
                .filter(|_| !is_new)
                .or_else(|| Some(Compared(Arc::new(self.compared_words()?))))
        });
        self.shown.cursors = Some(CursorsShown {
            flags,
            compared,
            is_front,
        });
    }

    /// Compares A and B, if they have moved or records came that were missing. Returns whether it did.
    fn compare(&mut self, times: (Time, Time), now: Time) -> bool {
        let version = self.store.version();
        let is_known = self.panels.cursors.found.as_ref().is_some_and(|found| {
            found.times == times && (found.between.is_ok() || found.version == version)
        });
        if is_known {
            return false;
        }
        let at = |at: Time| self.store.as_of(at, now).map_err(|why| (at, why));
        let both = at(times.0).and_then(|a| Ok((a, at(times.1)?)));
        if let Err((at, Unknown::NotLoaded)) = both
            && self.link.also_loads.is_none()
        {
            self.link.also_loads = Some((at, at));
            self.changed();
        }
        let between = both.map(|(a, b)| between(&self.store, &a, &b));
        self.panels.cursors.found = Some(Found {
            times,
            version,
            between,
        });
        true
    }

    /// Returns the line between A and B as far as it is in the picture; `None` while one of them is not set, or if it is
    /// out of sight.
    #[must_use]
    pub fn cursors_span(&self) -> Option<Span> {
        let Cursors { a, b } = self.marked.cursors;
        let within = |x_px: f64| x_px.max(0.0).min(self.view.width_px);
        let (left_px, right_px) = (
            within(self.view.x_from_time(a?)),
            within(self.view.x_from_time(b?)),
        );
        (left_px < right_px).then_some(Span { left_px, right_px })
    }

    /// Returns the changes whose bodies an object of the comparison had at A and at B, by its place among the rows.
    #[must_use]
    pub fn both_bodies(&self, place: usize) -> BothBodies {
        let found = self.panels.cursors.found.as_ref();
        let of =
            found.and_then(|found| Some((found, found.between.as_ref().ok()?.rows.get(place)?)));
        let Some((found, row)) = of else {
            return BothBodies::Not("It is no longer among the differences.");
        };
        let [at_a, at_b] = &row.difference.versions;
        let (Some(at_a), Some(at_b)) = (at_a, at_b) else {
            return BothBodies::Not(match (at_a, at_b) {
                (Some(_), None) => "The watch held it at A and not at B.",
                (None, Some(_)) => "The watch held it at B and not at A.",
                _ => "The watch held it at neither.",
            });
        };
        if at_a == at_b {
            return BothBodies::Not("The watch held the same version at A and at B.");
        }
        let change = |at: Time, version: &ResourceVersion| {
            let id = self.store.last_before(row.lane?, at)?;
            let Event::Change(change) = self.store.record(id)?.event else {
                return None;
            };
            let is_of_version = change.resource_version == *version && change.bytes.is_some();
            let epoch = self.store.epoch_of(id)?.to_string();
            is_of_version.then_some((epoch, id.seq.0))
        };
        match (change(found.times.0, at_a), change(found.times.1, at_b)) {
            (Some(a), Some(b)) => BothBodies::At([a, b]),
            _ => BothBodies::Not(
                "The record of one of the two versions is not loaded, or has no body.",
            ),
        }
    }

    fn compared_words(&self) -> Option<ComparedShown> {
        let found = self.panels.cursors.found.as_ref()?;
        let lasted = format::duration(found.times.1.micros_since(found.times.0));
        Some(match &found.between {
            Err((at, why)) => ComparedShown {
                span: lasted,
                unknown: Some(format!("{} {}", format::clock(*at), unknown_words(*why))),
                ..ComparedShown::default()
            },
            Ok(between) => words_of(between, lasted),
        })
    }
}

fn unknown_words(why: Unknown) -> &'static str {
    match why {
        Unknown::NotLoaded => "is being loaded.",
        Unknown::NotWatched => "is unknown: watchscope did not run then.",
        Unknown::NotKept => "is no longer kept.",
    }
}

fn words_of(between: &Between, lasted: String) -> ComparedShown {
    let differ = between.rows.len() as u64;
    let rest = match differ {
        0 => String::new(),
        _ => format!(
            "{} of {}; the others are the same at both",
            format::number(differ),
            format::count(between.objects, "object")
        ),
    };
    let records = between.records.map(|count| format::count(count, "record"));
    let sides: Vec<String> = between.sides.iter().map(side_words).collect();
    let mut last = None;
    let rows = between.rows.iter().take(ROWS_MOST).map(|row| {
        let difference = &row.difference;
        let kind = difference.kind;
        let is_first = last.replace(kind) != Some(kind);
        let group = match is_first {
            true => format!(
                "{} {}",
                kind_word(kind),
                format::number(between.count(kind) as u64)
            ),
            false => String::new(),
        };
        let (resource, name) = place_words(&difference.watch, &difference.object);
        RowShown {
            kind,
            group,
            how: match difference.divergence {
                Some(divergence) => divergence_word(divergence),
                None if row.is_inferred => "inferred",
                None => "",
            },
            resource,
            name,
            lane: row.lane,
            record: row.last,
            versions: [0, 1].map(|side| {
                let version = difference.versions[side].as_ref();
                version.map_or_else(|| "–".to_owned(), format::version)
            }),
            by: match &row.by {
                ChangedBy::Manager(manager) => manager.to_string(),
                ChangedBy::Unknown => "unknown".to_owned(),
                ChangedBy::NotRead => "not read".to_owned(),
            },
            held_at_b: held_at_b(&sides, &difference.held),
            held: difference.held.clone(),
        }
    });
    let unlisted: Vec<String> = between.unlisted.iter().map(ToString::to_string).collect();
    ComparedShown {
        span: [Some(lasted), records]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(" · "),
        versions: between
            .versions
            .as_ref()
            .map_or_else(String::new, VersionsSeen::words),
        head: head_words(between),
        rest,
        unknown: None,
        unlisted: unlisted.join(", "),
        rows: rows.collect(),
        sides,
        more: (between.rows.len() as u64).saturating_sub(ROWS_MOST as u64),
    }
}

/// Returns which sides held an object at B: `At B: held by this watch; not held by etcd.`
fn held_at_b(sides: &[String], held: &[[Holding; 2]]) -> String {
    let said: [(&str, &[Holding]); 3] = [
        ("held by", &[Holding::Held, Holding::Ghost]),
        ("not held by", &[Holding::NotHeld]),
        ("unknown of", &[Holding::Unknown]),
    ];
    let parts = said.iter().filter_map(|(words, kinds)| {
        let of = sides
            .iter()
            .zip(held)
            .filter(|(_, held)| kinds.contains(&held[1]));
        let names: Vec<&str> = of.map(|(side, _)| side.as_str()).collect();
        (!names.is_empty()).then(|| format!("{words} {}", names.join(", ")))
    });
    let parts: Vec<String> = parts.collect();
    match parts.is_empty() {
        true => String::new(),
        false => format!("At B: {}.", parts.join("; ")),
    }
}

fn kind_word(kind: DifferenceKind) -> &'static str {
    match kind {
        DifferenceKind::Parted => "parted",
        DifferenceKind::Went => "went",
        DifferenceKind::Came => "came",
        DifferenceKind::Changed => "changed",
    }
}

fn divergence_word(divergence: Divergence) -> &'static str {
    match divergence {
        Divergence::Ghost => "ghost",
        Divergence::Missing => "missing",
        Divergence::Stale => "stale",
        Divergence::ListOlder => "list older",
        _ => "parted",
    }
}
