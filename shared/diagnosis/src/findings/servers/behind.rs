//! Findings about servers that fall behind (F31), and about events that are held back on their way (F44).

use watchscope_model::fold::Moment;
use watchscope_model::vocabulary::Certainty;
use watchscope_model::{Row, Text, Time, WatchName};

use super::groups::{Group, LOOK_US, Servers};
use super::lag::{Member, WINDOW_US, late};
use crate::findings::draft::{BEHIND_LONG_US, FindingDraft, Subject};
use crate::findings::registry::FindingRegistry;
use crate::findings::timers::Timers;
use crate::text::{count, place, seconds};

impl Servers {
    /// Compares the watches of a group; each may have fallen behind, or caught up.
    pub(crate) fn behind(
        &mut self,
        what: &Text,
        now: Time,
        registry: &mut FindingRegistry,
        timers: &mut Timers,
    ) {
        let Some(group) = self.groups.get_mut(what) else {
            return;
        };
        group.due = None;
        for (watch, member) in &mut group.members {
            if member.is_behind {
                member.caught_up(&group.events, watch, now, registry);
                // A finding about a silent stream may have been cleared when the stream went on.
                if !member.is_behind || registry.stands(member.row(), Subject::Watch(watch.clone()))
                {
                    continue;
                }
            }
            let late: Vec<_> = late(&group.events, watch, member, now).collect();
            let Some((((version, namespace, object), event, _), rest)) = late.split_first() else {
                continue;
            };
            let lags = late.iter().map(|(.., lag_us)| *lag_us);
            let Some((p95_us, of)) = member.p95(lags, now) else {
                continue;
            };
            if p95_us < member.may_lag_us() {
                continue;
            }
            let more = match rest.len() {
                0 => String::new(),
                more => format!(", nor {more} more"),
            };
            let delivered = format!(
                "{} at {version}, {} s ago",
                place(namespace.as_ref(), object),
                now.millis_since(event.at) / 1_000
            );
            let p95 = format!(
                "p95 of its lag is {}, over {} in a minute.",
                seconds(u64::try_from(p95_us / 1_000).unwrap_or(0)),
                count(of as u64, "event")
            );
            let (row, summary): (_, String) = if member.is_direct {
                let summary = format!(
                    "{} delivered {} of {delivered}, but {} has not yet{more}: a client that moves from the first to \
                     the second goes back in time. {p95}",
                    event.first, event.change, member.server,
                );
                (Row::F31, summary)
            } else {
                let summary = format!(
                    "All its servers directly delivered {} of {delivered}, but {watch} has not received it \
                     yet{more}: something on the way holds it back. {p95}",
                    event.change,
                );
                (Row::F44, summary)
            };
            let found = FindingDraft::of(
                row,
                Certainty::Likely,
                Subject::Watch(watch.clone()),
                vec![event.seq],
                event.at,
                summary,
            );
            let begins_at = event.at;
            member.is_behind = true;
            let alike: &'static [Row] = if member.is_direct {
                &[Row::F04, Row::F44]
            } else {
                &[Row::F04]
            };
            let mut found = found.note_until(begins_at.plus_micros(BEHIND_LONG_US));
            found.shared = member.shared();
            registry.raise(found.alike(alike).until_cleared(), now);
        }
        group.wait(what, now, timers);
    }
}

impl Group {
    /// Clears the finding of a watch that was behind and has caught up. The caller calls this when the watch delivered
    /// an event or a bookmark. Returns whether the watch is still behind.
    pub(super) fn caught_up(
        &mut self,
        watch: &WatchName,
        record: Moment,
        registry: &mut FindingRegistry,
    ) -> bool {
        let behind = self.members.get_mut(watch);
        behind.is_some_and(|member| {
            if member.is_behind {
                member.caught_up(&self.events, watch, record.at, registry);
            }
            member.is_behind
        })
    }

    /// Sets when a watch that delivered an event is compared again, if it is still behind.
    pub(super) fn look_again(
        &mut self,
        watch: &WatchName,
        record: Moment,
        registry: &mut FindingRegistry,
        timers: &mut Timers,
    ) {
        if !self.caught_up(watch, record, registry) {
            return;
        }
        let row = self.members.get(watch).map(Member::row);
        let stands = |row| registry.stands(row, Subject::Watch(watch.clone()));
        let wait_us = if row.is_some_and(stands) {
            WINDOW_US
        } else {
            LOOK_US
        };
        let (what, _) = watch.what_and_ordinal();
        self.wait_until(what, record.at.plus_micros(wait_us), timers);
    }
}
