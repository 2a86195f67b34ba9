//! What is concluded from an answer, and what has to be read for it again: audits to tell, verdicts to raise, confirm or
//! clear.

use std::sync::Arc;

use watchscope_model::event::{Audit, Change, Verdict};
use watchscope_model::fold::Watch;
use watchscope_model::id::Place;
use watchscope_model::read::{Page, Seen, Told};
use watchscope_model::tree::BTreeSet;
use watchscope_model::vocabulary::{AuditMethod, AuditOutcome, Authority, Certainty, Standing};
use watchscope_model::{Object, ResourceVersion};

use super::{
    AGAIN_US, Ahead, Behind, Future, Lane, Owed, Task, Turn, is_long, is_streaming, is_unordered,
    position, says_nothing,
};
use crate::audit::compare::{Compared, Comparison, Difference, Outcome, compare};
use crate::audit::reads::{Scope, exact_lists_are_etcds, newest_lists_are_etcds};
use crate::audit::reasons::{Elsewhere, Reason, SecondWatch, sentence};
use crate::audit::{Level, Reply, cleared};
use crate::limits::{AHEAD_US, TOO_LARGE_US};

/// Most objects looked up because a list that may be a cache's differs in them.
const FOLLOWED: usize = 8;
/// How often a read is begun again because its version was compacted or has been passed, in a round.
const MAX_RESTARTS: u32 = 2;

/// The verdict that a change puts an end to: whatever was compared in its place is no longer held.
pub(in crate::audit) fn overtaken(watch: &Watch, change: &Change) -> Option<Verdict> {
    let standing = &watch.verdict_on(&change.object)?.verdict;
    let is_replay = watch
        .held(&change.object)
        .is_some_and(|held| held.resource_version.is_after(&change.resource_version));
    (!is_replay).then(|| cleared(standing))
}

impl Lane {
    /// Takes what came of a task.
    pub(in crate::audit) fn answered(&mut self, task: Task, reply: Reply, turn: &mut Turn<'_>) {
        match (&task, &reply) {
            (_, Reply::Page(page)) => {
                self.forbidden = 0;
                self.lists_whole = page.is_whole;
                self.samples
                    .listed(&page.items, |owner| turn.gone.is_gone(owner, turn.now));
            }
            (_, Reply::One(_)) => self.forbidden = 0,
            (
                Task::Get(_) | Task::Left { .. },
                Reply::Refused {
                    status: 403 | 405, ..
                },
            ) => {
                self.refuses_get = true;
                self.left_at = None;
            }
            (
                _,
                Reply::Refused {
                    status: 401 | 403, ..
                },
            ) => self.rest(turn),
            (
                Task::One { .. },
                Reply::Refused {
                    status: 400 | 422, ..
                },
            ) => {
                self.refuses_exact = true;
            }
            _ => {}
        }
        match (task, reply) {
            (
                Task::Get(object),
                Reply::Refused {
                    status: 403 | 405, ..
                },
            ) if !is_unordered(turn.watch) => {
                if let Some(progress) = position(turn.watch) {
                    self.look_up(&object, progress.clone());
                }
            }
            (Task::Exact(comparison), Reply::Page(page)) => self.exact(comparison, page, turn),
            (Task::Newest, Reply::Page(page)) => self.newest(&page, turn),
            (Task::Any, Reply::Page(page)) => self.any(page.version, turn),
            (Task::Left { object, version }, Reply::One(seen)) => {
                self.is_left(&object, &version, &seen, turn);
            }
            // It is gone, or nobody may know.
            (
                Task::Left { .. },
                Reply::Refused {
                    status: 403..=405, ..
                },
            ) => {}
            (Task::Get(object), Reply::One(seen)) => {
                self.is_among_left(&object, &seen, turn);
                self.got(&object, Some(&seen), turn);
            }
            (Task::Get(object), Reply::Refused { status: 404, .. }) => {
                self.got(&object, None, turn);
            }
            (Task::One { object, at, first }, Reply::Page(page @ Page { unreadable: 0, .. }))
                if turn.is_one_at(&page, &at) =>
            {
                self.one(&object, at, first, &page.items, turn);
            }
            (
                Task::Was {
                    object,
                    at,
                    is_second,
                },
                Reply::Page(
                    page @ Page {
                        token: None,
                        unreadable: 0,
                        ..
                    },
                ),
            ) if turn.is_one_at(&page, &at) => {
                let was = |seen: &Seen| seen.object.uid == object.uid && seen.version == at;
                if !page.items.iter().any(was) {
                    self.never_was(object, at, is_second, turn);
                }
            }
            // Of that time nothing is known any more, or it cannot be asked for: what is wrong stays as it was told.
            (Task::Was { .. }, _) => {}
            (
                Task::Exact(comparison),
                Reply::Refused {
                    status, current, ..
                },
            ) => {
                if let Some(current) = current.filter(|_| status == 504) {
                    self.is_too_large(&comparison.at, current, turn);
                }
                self.exact_refused(comparison, status, turn);
            }
            (Task::One { object, at, .. }, Reply::Refused { status, .. })
                if status == 410 || (status == 500 && turn.one_name_says_newest) =>
            {
                // Its version is compacted; the watch may have come further meanwhile.
                let progress = turn.watch.progress.as_ref();
                match progress.filter(|progress| progress.is_after(&at)) {
                    Some(progress) => self.look_up(&object, progress.clone()),
                    None => self.cannot_tell(turn, AuditMethod::Get, Some(at), Reason::Compacted),
                }
            }
            (task, Reply::Refused { status, .. }) => {
                self.cannot_tell(turn, task.method(), None, Reason::Refused(status));
            }
            (task, Reply::Unreached) => {
                self.cannot_tell(turn, task.method(), None, Reason::Unreached);
            }
            (task, _) => {
                self.cannot_tell(turn, task.method(), None, Reason::NoAnswer);
            }
        }
        // Those looked up for a person are told of once they are all back; others in the next round.
        let is_asked = self.owed.is_some() || self.due.is_none();
        if is_asked && self.tasks.is_empty() {
            self.tell_sampled(turn);
        }
        if self.tasks.is_empty() {
            self.looked(turn);
        }
        self.settle(turn);
    }

    /// A look at an object of this watch, made for another one.
    pub(in crate::audit) fn overheard(
        &mut self,
        object: &Arc<Object>,
        seen: Option<&Seen>,
        turn: &mut Turn<'_>,
    ) {
        let (watch, Some(progress)) = (turn.watch, position(turn.watch)) else {
            return;
        };
        // What is newer than the watch will come, and what it need not hold is nothing to ask for.
        let is_to_come = seen.is_some_and(|seen| seen.version.is_after(progress));
        let is_expected = self.scope.as_ref().is_some_and(Scope::is_all);
        let is_its = watch.held(object).is_some() || (seen.is_some() && is_expected);
        if is_streaming(watch) && self.behind.is_none() && is_its && !is_to_come {
            self.spare(object, turn);
            self.got(object, seen, turn);
        }
    }

    /// A list of the same by another server, `from`, made for its watch `theirs`: two caches do not lose the same. What
    /// differs is looked up in etcd for both, which tells who is wrong; what, is returned.
    pub(in crate::audit) fn listed_elsewhere(
        &mut self,
        page: &Page,
        from: &str,
        theirs: &Watch,
        turn: &mut Turn<'_>,
    ) -> Vec<Arc<Object>> {
        let watch = turn.watch;
        let is_comparable = is_streaming(watch) && self.behind.is_none() && !is_unordered(watch);
        let Some(past) = self
            .history
            .at(watch, &page.version)
            .filter(|_| is_comparable)
        else {
            return Vec::new();
        };
        let mut comparison = Comparison::new(page.version.clone(), None);
        comparison.take(&page.items, &past);
        if comparison.unclear > 0 {
            return Vec::new();
        }
        let Outcome {
            compared,
            differences,
            ..
        } = comparison.finish(&past);
        let is_known = |object: &Object| {
            [watch, theirs]
                .iter()
                .any(|w| w.verdict_on(object).is_some())
        };
        let is_equal = differences.is_empty();
        let mut news: Vec<Arc<Object>> = differences
            .into_iter()
            .map(|found| found.object)
            .filter(|object| !is_known(object))
            .collect();
        news.truncate(FOLLOWED);
        let (outcome, holds) = match (is_equal, news.is_empty()) {
            (true, _) => (AuditOutcome::Agrees, Elsewhere::Same),
            (false, true) => (AuditOutcome::Differs, Elsewhere::Known),
            (false, false) => (AuditOutcome::CannotTell, Elsewhere::LookedUp),
        };
        let server = from.into();
        let why = [Reason::OtherServer { holds, server }];
        let told = Audit {
            resource_version: Some(page.version.clone()),
            compared,
            ..self.audit(turn, AuditMethod::ListElsewhere, outcome, &why)
        };
        self.tell(turn, told);
        for object in news.iter().rev() {
            self.look_up(object, page.version.clone());
        }
        news
    }

    /// A second watch told of what came beyond `from`: events that both are past must have come from both
    /// (docs/semantics/checks.md#witness). Where the watch lost one, its object is looked up.
    pub(in crate::audit) fn witnessed(
        &mut self,
        from: &ResourceVersion,
        told: &Told,
        turn: &mut Turn<'_>,
    ) {
        let (Some(progress), Some(reached)) = (position(turn.watch), &told.reached) else {
            return;
        };
        let to = if reached.is_after(progress) {
            progress
        } else {
            reached
        };
        let Some(ours) = self.history.told(turn.watch, from, to) else {
            return;
        };
        let mut ours: BTreeSet<(Place, Option<u64>)> = ours
            .map(|(place, version)| (place.clone(), version.number()))
            .collect();
        let compared = ours.len() as u64;
        let is_told = |seen: &&Seen| seen.version.is_after(from) && !seen.version.is_after(to);
        // A server may tell of one event twice.
        let mut theirs = BTreeSet::new();
        let lost: Vec<Arc<Object>> = told
            .events
            .iter()
            .filter(is_told)
            .filter(|seen| {
                let event = (Place(seen.object.clone()), seen.version.number());
                let was_told = ours.remove(&event);
                theirs.insert(event) && !was_told
            })
            .map(|seen| seen.object.clone())
            .collect();
        let (outcome, of) = match (lost.len() as u64, ours.len() as u64) {
            (0, 0) => (AuditOutcome::Agrees, SecondWatch::Same),
            (0, more) => (AuditOutcome::CannotTell, SecondWatch::Lacks(more)),
            (lost, _) => (AuditOutcome::Differs, SecondWatch::HasMore(lost)),
        };
        let why = [Reason::Second {
            of,
            from: from.clone(),
            to: to.clone(),
        }];
        let told = Audit {
            resource_version: Some(to.clone()),
            compared,
            ..self.audit(turn, AuditMethod::SecondWatch, outcome, &why)
        };
        self.tell(turn, told);
        let is_known = |object: &Arc<Object>| {
            let open = turn.watch.verdict_on(object);
            open.is_some_and(|open| open.verdict.state == Standing::Confirmed)
        };
        let news = lost.iter().filter(|object| !is_known(object));
        for object in news.take(FOLLOWED) {
            self.look_up(object, progress.clone());
        }
    }

    /// A watch of another server holds something else of these objects.
    pub(in crate::audit) fn doubt(&mut self, objects: Vec<Arc<Object>>, watch: &Watch) {
        if let Some(progress) = position(watch) {
            for object in objects.iter().take(FOLLOWED) {
                self.look_up(object, progress.clone());
            }
        }
    }

    /// A page of all at exactly a version.
    fn exact(&mut self, mut comparison: Comparison, page: Page, turn: &mut Turn<'_>) {
        let method = match comparison.first {
            Some(_) => AuditMethod::ListExactAgain,
            None => AuditMethod::ListExact,
        };
        let is_one = self.scope.as_ref().is_some_and(Scope::is_one_name);
        let is_of_it =
            page.version == comparison.at || (is_one && turn.is_one_at(&page, &comparison.at));
        if !is_of_it || page.unreadable > 0 {
            // Continued at another version (`rv=-1`), or not at the one asked for: no state to compare with.
            let why = if page.unreadable > 0 {
                Reason::Unreadable(page.unreadable)
            } else {
                Reason::OtherVersion {
                    asked: comparison.at.clone(),
                    listed: page.version,
                }
            };
            return self.cannot_tell(turn, method, Some(comparison.at), why);
        }
        let Some(past) = self.history.at(turn.watch, &comparison.at) else {
            return self.restart(comparison.at, turn);
        };
        comparison.take(&page.items, &past);
        if let Some(token) = page.token {
            comparison.token = Some(token);
            self.tasks.push_front(Task::Exact(comparison));
            return;
        }
        let (at, first, unclear) = (
            comparison.at.clone(),
            comparison.first.clone(),
            comparison.unclear,
        );
        let outcome = comparison.finish(&past);
        if unclear > 0 {
            return self.cannot_tell(turn, method, Some(at), Reason::NotComparable(unclear));
        }
        if exact_lists_are_etcds(turn.server) {
            self.conclude(method, at, outcome, first, turn);
        } else {
            self.follow(method, at, &outcome, turn);
        }
    }

    /// What etcd has at a version was compared with all that was held at it.
    fn conclude(
        &mut self,
        method: AuditMethod,
        at: ResourceVersion,
        outcome: Outcome,
        first: Option<Vec<Difference>>,
        turn: &mut Turn<'_>,
    ) {
        let Outcome {
            compared,
            differences,
            is_all,
            pages,
        } = outcome;
        let outcome = if differences.is_empty() {
            AuditOutcome::Agrees
        } else {
            AuditOutcome::Differs
        };
        let is_newest = method == AuditMethod::ListNewest;
        let why = is_newest.then_some(Reason::RefusesExact);
        let told = Audit {
            resource_version: Some(at.clone()),
            compared,
            ..self.audit(turn, method, outcome, why.as_slice())
        };
        self.tell(turn, told);
        // Of more differences than are followed some are not in sight.
        for open in turn.watch.verdicts.values().filter(|_| is_all) {
            let standing = &open.verdict;
            let differs = differences
                .iter()
                .any(|found| same_place(&found.object, &standing.object));
            if !differs {
                turn.out.push(cleared(standing).into());
            }
        }
        if differences.is_empty() {
            self.agreed = Some(at);
            return;
        }
        self.agreed = None;
        let (mut raised, mut news) = (Vec::new(), Vec::new());
        for found in &differences {
            let is_second = first.as_ref().is_some_and(|first| first.contains(found));
            match judge(found, is_second, turn) {
                Judged::Raised => raised.push(found),
                Judged::Confirmed => news.push(found),
                Judged::Known => {}
            }
        }
        self.ask_whether_it_was(news);
        if first.is_some() || raised.is_empty() {
            return;
        }
        if raised.len() < pages {
            // One by one they take fewer reads than all pages, whose version may be compacted before the last.
            for found in raised.into_iter().rev() {
                self.tasks.push_front(Task::One {
                    object: found.object.clone(),
                    at: at.clone(),
                    first: Some(found.clone()),
                });
            }
        } else {
            self.tasks
                .push_front(Task::Exact(Comparison::new(at, Some(differences))));
        }
    }

    /// Of what was just confirmed to be wrong, etcd is asked about the newest that the watch was told: in the history that
    /// the watch was told of, it is there at its version, even where later events were lost. The newest is the last to be
    /// compacted, and the likeliest to be of a history that is gone.
    fn ask_whether_it_was<'a>(&mut self, confirmed: impl IntoIterator<Item = &'a Difference>) {
        let told = confirmed.into_iter().filter_map(|found| {
            let held = found.held.as_ref()?;
            Some((held.number()?, held, &found.object))
        });
        if let Some((_, at, object)) = told.max_by_key(|(number, ..)| *number)
            && !self.refuses_exact
        {
            self.tasks.push_back(Task::Was {
                object: object.clone(),
                at: at.clone(),
                is_second: false,
            });
        }
    }

    /// At the version that the watch was told of an object etcd has it not, or not so. A revision says one thing for as
    /// long as its history lasts, so it is another history: etcd was put back, and has come further since (F33). One such
    /// answer could be a mistake of somebody on the way.
    fn never_was(
        &mut self,
        object: Arc<Object>,
        at: ResourceVersion,
        is_second: bool,
        turn: &mut Turn<'_>,
    ) {
        let standing = turn.watch.verdict_on(&object).map(|open| &open.verdict);
        let is_open = standing.is_some_and(|standing| {
            standing.object == object && standing.held.as_ref() == Some(&at)
        });
        if !is_open {
            return;
        }
        if is_second {
            self.tell_of(
                &object,
                turn,
                AuditMethod::ListOneTwice,
                Some(at),
                AuditOutcome::Differs,
            );
        } else {
            self.tasks.push_front(Task::Was {
                object,
                at,
                is_second: true,
            });
        }
    }

    /// What may be a cache's was compared: what differs is looked up in etcd, one by one.
    fn follow(
        &mut self,
        method: AuditMethod,
        at: ResourceVersion,
        outcome: &Outcome,
        turn: &mut Turn<'_>,
    ) {
        let differences = &outcome.differences;
        self.agreed = differences.is_empty().then(|| at.clone());
        let is_news = |found: &&Difference| !is_confirmed(found, turn.watch);
        let news: Vec<&Difference> = differences.iter().filter(is_news).take(FOLLOWED).collect();
        let (told, why) = match (differences.is_empty(), news.is_empty()) {
            (true, _) => (AuditOutcome::Agrees, Reason::MayBeACaches),
            (false, true) => (AuditOutcome::Differs, Reason::KnownDifference),
            (false, false) => (AuditOutcome::CannotTell, Reason::LookedUp),
        };
        let told = Audit {
            resource_version: Some(at.clone()),
            compared: outcome.compared,
            ..self.audit(turn, method, told, &[why])
        };
        self.tell(turn, told);
        for found in news.iter().rev() {
            self.look_up(&found.object, at.clone());
        }
    }

    fn look_up(&mut self, object: &Arc<Object>, at: ResourceVersion) {
        let is_asked =
            |task: &Task| matches!(task, Task::One { object: of, .. } if same_place(of, object));
        if !self.tasks.iter().any(is_asked) {
            self.tasks.push_front(Task::One {
                object: object.clone(),
                at,
                first: None,
            });
        }
    }

    /// A read shows an object at a version, of which the stream has yet to bring an event. Where the stream has delivered
    /// nothing for [`AHEAD_US`] since the first such read, that is a lag. A list's own version shows none: its objects may
    /// be older.
    fn is_ahead(&mut self, version: &ResourceVersion, turn: &mut Turn<'_>) {
        let watch = turn.watch;
        let (Some(progress), Some(stream)) = (position(watch), &watch.stream) else {
            return;
        };
        if !version.is_after(progress) || !is_streaming(watch) || self.level == Level::Off {
            return;
        }
        let (now, stream) = (turn.now, stream.since.seq);
        let known = self.ahead.filter(|ahead| ahead.stream == stream);
        let ahead = self.ahead.insert(known.unwrap_or(Ahead {
            stream,
            since: now,
            due: Some(now.plus_micros(AHEAD_US)),
            is_told: false,
        }));
        if now.micros_since(ahead.since) < AHEAD_US || std::mem::replace(&mut ahead.is_told, true) {
            return;
        }
        ahead.due = None;
        let since_s = now.micros_since(ahead.since) / 1_000_000;
        let why = Reason::ReadsAhead {
            at: progress.clone(),
            for_s: since_s,
            read: version.clone(),
        };
        let (method, outcome) = (AuditMethod::AheadTwice, AuditOutcome::CannotTell);
        let told = Audit {
            resource_version: Some(version.clone()),
            ..self.audit(turn, method, outcome, &[why])
        };
        self.tell(turn, told);
    }

    /// An object is looked up for another reason, of which a DELETED came under a selector.
    fn is_among_left(&mut self, object: &Object, seen: &Seen, turn: &mut Turn<'_>) {
        let place = self
            .left
            .iter()
            .position(|(left, _)| same_place(left, object));
        if let Some((left, version)) = place.and_then(|place| self.left.remove(place)) {
            self.is_left(&left, &version, seen, turn);
        }
    }

    /// An object of which a DELETED came under a selector is in etcd. With the uid it had it only left the selector; another
    /// uid is that of an object which has its name now, and an older version is of a state from before.
    fn is_left(
        &mut self,
        object: &Arc<Object>,
        version: &ResourceVersion,
        seen: &Seen,
        turn: &mut Turn<'_>,
    ) {
        if seen.object.uid != object.uid || version.is_after(&seen.version) {
            return;
        }
        let (method, outcome) = (AuditMethod::GetLeft, AuditOutcome::Agrees);
        let told = Audit {
            resource_version: Some(seen.version.clone()),
            compared: 1,
            object: Some(object.clone()),
            ..self.audit(turn, method, outcome, &[Reason::OnlyLeft])
        };
        self.tell(turn, told);
    }

    /// An object as it is in etcd now. Only if it is not what is held does its version matter.
    fn got(&mut self, object: &Arc<Object>, seen: Option<&Seen>, turn: &mut Turn<'_>) {
        let watch = turn.watch;
        if let Some(seen) = seen.filter(|_| watch.held(object).is_some()) {
            self.is_ahead(&seen.version, turn);
        }
        let held = watch
            .held(object)
            .map(|held| (&held.object, &held.resource_version));
        let found = match compare(held, seen) {
            Compared::Equal => {
                if self.owes(object) {
                    let at = watch.progress.clone();
                    self.tell_of(object, turn, AuditMethod::Get, at, AuditOutcome::Agrees);
                } else {
                    self.is_so(object);
                }
                return clear(object, turn);
            }
            Compared::Differs(found) => Some(found),
            Compared::Unclear => None,
        };
        // Another version of what is missing may be one that the selectors do not match.
        let is_known = found
            .as_ref()
            .is_some_and(|found| is_confirmed(found, watch));
        match &watch.progress {
            // Nothing has come since.
            progress if is_known => {
                self.is_wrong(object);
                if self.owes(object) {
                    self.tell_of(
                        object,
                        turn,
                        AuditMethod::Get,
                        progress.clone(),
                        AuditOutcome::Differs,
                    );
                }
            }
            _ if is_unordered(watch) => {
                self.cannot_tell(turn, AuditMethod::Get, None, Reason::NotEqual);
            }
            Some(_) if found.is_some() && self.refuses_exact => {
                self.cannot_tell(turn, AuditMethod::Get, None, Reason::CannotConfirm);
            }
            Some(progress) if found.is_some() => self.look_up(object, progress.clone()),
            _ => {
                self.cannot_tell(turn, AuditMethod::Get, None, Reason::Unordered);
            }
        }
    }

    /// An object as etcd has it at a version.
    fn one(
        &mut self,
        object: &Arc<Object>,
        at: ResourceVersion,
        first: Option<Difference>,
        items: &[Seen],
        turn: &mut Turn<'_>,
    ) {
        let past = self.history.at(turn.watch, &at);
        if past.is_none() && self.owes(object) && turn.watch.progress.as_ref() == Some(&at) {
            return self.cannot_tell(turn, AuditMethod::ListOne, Some(at), Reason::NoPast);
        }
        let Some(past) = past.filter(|past| past.still_holds(object)) else {
            return;
        };
        let seen = items.iter().find(|seen| same_place(&seen.object, object));
        match compare(past.get(object), seen) {
            Compared::Equal
                if (self.refuses_get || self.is_looking_at(object)) && !self.owes(object) =>
            {
                self.is_so(object);
                clear(object, turn);
            }
            Compared::Equal => {
                self.tell_of(
                    object,
                    turn,
                    AuditMethod::ListOne,
                    Some(at),
                    AuditOutcome::Agrees,
                );
                clear(object, turn);
            }
            Compared::Unclear if self.owes(object) => {
                self.cannot_tell(
                    turn,
                    AuditMethod::ListOne,
                    Some(at),
                    Reason::NotComparable(1),
                );
            }
            Compared::Unclear => {}
            Compared::Differs(found) => {
                self.tell_of(
                    object,
                    turn,
                    AuditMethod::ListOne,
                    Some(at.clone()),
                    AuditOutcome::Differs,
                );
                let is_second = first.as_ref() == Some(&found);
                let judged = judge(&found, is_second, turn);
                if judged != Judged::Raised {
                    self.is_wrong(object);
                }
                if judged == Judged::Confirmed {
                    self.ask_whether_it_was([&found]);
                }
                if first.is_none() && judged == Judged::Raised {
                    self.tasks.push_front(Task::One {
                        object: object.clone(),
                        at,
                        first: Some(found),
                    });
                }
            }
        }
    }

    /// The first page of what is there now: whether the watch has come so far.
    fn newest(&mut self, page: &Page, turn: &mut Turn<'_>) {
        let (watch, server) = (turn.watch, turn.server);
        let Some(progress) = &watch.progress else {
            return;
        };
        if is_unordered(watch) {
            return self.newest_unordered(page, progress, turn);
        }
        if progress.is_after(&page.version) {
            return self.is_back(page, progress, turn);
        }
        self.went_back = None;
        let versions = page.items.iter().map(|seen| &seen.version);
        match versions.max_by_key(|version| version.number()) {
            Some(newest) if newest.is_after(progress) => self.is_ahead(newest, turn),
            // It was an object that is gone by now, or one that no longer matches.
            _ if page.token.is_none() => self.ahead = None,
            _ => {}
        }
        let Some(past) = self.history.at(watch, progress) else {
            return self.no_past(turn);
        };
        let mut comparison = Comparison::new(page.version.clone(), None);
        comparison.take(&page.items, &past);
        let unclear = comparison.unclear;
        let is_whole = page.token.is_none() && page.unreadable == 0 && unclear == 0;
        let has_found = comparison.has_found();
        let outcome = comparison.finish(&past);
        let is_equal = outcome.differences.is_empty();
        let differs = if is_whole { !is_equal } else { has_found };
        if page.version == *progress && self.refuses_exact && is_whole {
            // The next best to a list at an exact version: one that happens to be of it. It cannot be asked for again.
            if newest_lists_are_etcds(server) {
                let at = page.version.clone();
                self.conclude(AuditMethod::ListNewest, at, outcome, Some(Vec::new()), turn);
            } else {
                self.tell_both_refused(page, outcome.compared, is_equal, turn);
            }
            return;
        }
        if differs {
            self.agreed = None;
            self.follow_where_refused(&outcome.differences, progress, watch);
            let behind = Behind {
                version: page.version.clone(),
                since: turn.now,
                future: Future::Unasked,
                is_last: false,
            };
            self.behind.get_or_insert(behind);
            self.look_again(turn.now);
            return;
        }
        self.behind = None;
        if is_whole {
            let why = (!newest_lists_are_etcds(server)).then_some(Reason::MayBeACaches);
            self.newest_agrees(page, outcome.compared, why, turn);
        } else if let Some(why) = self.why_not_whole(page, unclear, watch) {
            let at = Some(page.version.clone());
            self.cannot_tell(turn, AuditMethod::ListNewest, at, why);
        }
    }

    /// A list at where the watch is was refused, since the server's cache has not come so far: of what differs in the newest
    /// list, what need not be on its way to the watch is looked up in etcd, one by one.
    fn follow_where_refused(
        &mut self,
        differences: &[Difference],
        progress: &ResourceVersion,
        watch: &Watch,
    ) {
        let stream = watch.stream.as_ref().map(|stream| stream.since.seq);
        let is_refused = self.too_large.is_some_and(|(of, _)| Some(of) == stream);
        let is_of_then = |found: &&Difference| {
            let listed = found.listed.as_ref();
            listed.is_none_or(|listed| !listed.is_after(progress)) && !is_confirmed(found, watch)
        };
        let news = differences.iter().filter(is_of_then);
        for found in news.filter(|_| is_refused).take(FOLLOWED) {
            self.look_up(&found.object, progress.clone());
        }
    }

    /// Why the newest list, though nothing differs so far, shows nothing of the whole watch, if nothing else does.
    fn why_not_whole(&self, page: &Page, unclear: u64, watch: &Watch) -> Option<Reason> {
        let is_asked = matches!(self.owed, Some(Owed::All { .. }));
        if page.unreadable > 0 {
            Some(Reason::Unreadable(page.unreadable))
        } else if unclear > 0 {
            Some(Reason::NotComparable(unclear))
        } else if is_long(watch) {
            // Round by round what is looked up one by one is told.
            is_asked.then_some(Reason::TooLong)
        } else if self.refuses_exact {
            Some(Reason::FirstPageOnly)
        } else {
            is_asked.then_some(Reason::Compacted)
        }
    }

    /// What the watch held where it stands is not known, which is told to who asks.
    fn no_past(&mut self, turn: &mut Turn<'_>) {
        if matches!(self.owed, Some(Owed::All { .. })) {
            let at = turn.watch.progress.clone();
            self.cannot_tell(turn, AuditMethod::ListNewest, at, Reason::NoPast);
        }
    }

    /// The newest list is of what is held, as far as it can show.
    fn newest_agrees(
        &mut self,
        page: &Page,
        compared: u64,
        why: Option<Reason>,
        turn: &mut Turn<'_>,
    ) {
        let told = Audit {
            resource_version: Some(page.version.clone()),
            compared,
            ..self.audit(
                turn,
                AuditMethod::ListNewest,
                AuditOutcome::Agrees,
                why.as_slice(),
            )
        };
        self.tell(turn, told);
    }

    /// What another apiserver has now: that it is what is held can be told, whatever its versions mean, and nothing else.
    fn newest_unordered(&mut self, page: &Page, progress: &ResourceVersion, turn: &mut Turn<'_>) {
        let Some(past) = self.history.at(turn.watch, progress) else {
            return self.no_past(turn);
        };
        let mut comparison = Comparison::new(page.version.clone(), None);
        comparison.take(&page.items, &past);
        let is_first_of_several = page.token.is_some();
        let (has_found, unclear) = (comparison.has_found(), comparison.unclear);
        let outcome = comparison.finish(&past);
        let differs = if is_first_of_several {
            has_found
        } else {
            !outcome.differences.is_empty()
        };
        if page.unreadable > 0 {
            let (at, why) = (
                Some(page.version.clone()),
                Reason::Unreadable(page.unreadable),
            );
            return self.cannot_tell(turn, AuditMethod::ListNewest, at, why);
        }
        if unclear > 0 || differs {
            // What came meanwhile may be still on its way to the watch.
            self.has_differed = !self.has_differed;
            if self.has_differed {
                return self.look_again(turn.now);
            }
            let at = Some(page.version.clone());
            return self.cannot_tell(turn, AuditMethod::ListNewest, at, Reason::NotEqual);
        }
        self.has_differed = false;
        if is_first_of_several {
            let (at, why) = (Some(page.version.clone()), Reason::PagesUnordered);
            return self.cannot_tell(turn, AuditMethod::ListNewest, at, why);
        }
        self.newest_agrees(page, outcome.compared, Some(Reason::OnlyEqual), turn);
    }

    /// A list that may be a cache's was compared, and nothing better can be had.
    fn tell_both_refused(
        &mut self,
        page: &Page,
        compared: u64,
        is_equal: bool,
        turn: &mut Turn<'_>,
    ) {
        if is_equal {
            self.newest_agrees(page, compared, Some(Reason::RefusesBoth), turn);
        } else {
            let at = Some(page.version.clone());
            self.cannot_tell(turn, AuditMethod::ListNewest, at, Reason::RefusesBoth);
        }
    }

    /// A consistent list is from before what the watch has seen: etcd's revision went back (F33). One such answer could
    /// be a mistake of somebody on the way; a second one after a while is none. No verdict outlasts that.
    fn is_back(&mut self, page: &Page, progress: &ResourceVersion, turn: &mut Turn<'_>) {
        let since = *self.went_back.get_or_insert(turn.now);
        if turn.now.micros_since(since) < AGAIN_US {
            self.agreed = Some(progress.clone());
            return self.look_again(turn.now);
        }
        let why = Reason::WentBack {
            listed: page.version.clone(),
            seen: progress.clone(),
        };
        self.cannot_tell(
            turn,
            AuditMethod::ListNewestTwice,
            Some(page.version.clone()),
            why,
        );
        for open in turn.watch.verdicts.values() {
            turn.out.push(cleared(&open.verdict).into());
        }
    }

    /// How far the server's cache is, of a watch that is behind and whose stream has never said anything.
    fn any(&mut self, version: ResourceVersion, turn: &mut Turn<'_>) {
        let (Some(progress), Some(behind)) = (&turn.watch.progress, &mut self.behind) else {
            return;
        };
        if !says_nothing(turn.watch) || !progress.is_after(&version) {
            // It will come, or it is behind for another reason.
            behind.future = Future::No;
            return;
        }
        match behind.future {
            Future::Unasked => {
                behind.future = Future::Once;
                return self.look_again(turn.now);
            }
            Future::No => return,
            Future::Once | Future::Sure => behind.future = Future::Sure,
        }
        let why = Reason::FromTheFuture {
            known: version.clone(),
            opened: progress.clone(),
            listed: behind.version.clone(),
        };
        self.cannot_tell(turn, AuditMethod::ListAnyTwice, Some(version), why);
    }

    /// The server's cache has come to `current` only, and a list at `at` was asked for: the same again soon, which shows
    /// whether it stays so.
    fn is_too_large(
        &mut self,
        at: &ResourceVersion,
        current: ResourceVersion,
        turn: &mut Turn<'_>,
    ) {
        let now = turn.now;
        if let Some(stream) = &turn.watch.stream {
            let stream = stream.since.seq;
            let first = self.too_large.filter(|(of, _)| *of == stream);
            let (_, first) = *self.too_large.insert(first.unwrap_or((stream, now)));
            let again = [first, now].map(|at| at.plus_micros(TOO_LARGE_US));
            let again = again.into_iter().find(|again| *again > now);
            self.due = self.due.zip(again).map(|(due, again)| due.min(again));
        }
        let (method, outcome) = (AuditMethod::ListExactTooLarge, AuditOutcome::CannotTell);
        let why = Reason::CacheBehind {
            asked: at.clone(),
            current: current.clone(),
        };
        let told = Audit {
            resource_version: Some(current),
            ..self.audit(turn, method, outcome, &[why])
        };
        self.tell(turn, told);
    }

    fn exact_refused(&mut self, comparison: Comparison, status: u16, turn: &mut Turn<'_>) {
        match status {
            410 => match (&comparison.first, position(turn.watch)) {
                // To read it a second time took too long: the first of it one by one, where the watch is now.
                (Some(first), Some(progress)) => {
                    let is_news = |found: &&Difference| !is_confirmed(found, turn.watch);
                    let news: Vec<_> = first.iter().filter(is_news).take(FOLLOWED).collect();
                    for found in news.into_iter().rev() {
                        self.look_up(&found.object, progress.clone());
                    }
                }
                _ => self.restart(comparison.at, turn),
            },
            // Beyond what the server has (504, or 500 where etcd says so): what does it have?
            500.. => self.tasks.push_front(Task::Newest),
            400 | 422 => {
                self.refuses_exact = true;
                self.tasks.push_front(Task::Newest);
            }
            status => {
                let (at, why) = (Some(comparison.at), Reason::Refused(status));
                self.cannot_tell(turn, AuditMethod::ListExact, at, why);
            }
        }
    }

    /// A comparison cannot be finished at its version: again at where the watch is now, or see where the server is.
    fn restart(&mut self, at: ResourceVersion, turn: &mut Turn<'_>) {
        self.restarts += 1;
        match &turn.watch.progress {
            Some(progress) if self.restarts <= MAX_RESTARTS && progress.is_after(&at) => {
                let comparison = Comparison::new(progress.clone(), None);
                self.tasks.push_front(Task::Exact(comparison));
            }
            _ if self.restarts <= MAX_RESTARTS => self.tasks.push_front(Task::Newest),
            _ => self.cannot_tell(turn, AuditMethod::ListExact, Some(at), Reason::Compacted),
        }
    }

    /// How many samples were equal since that was told last.
    pub(super) fn tell_sampled(&mut self, turn: &mut Turn<'_>) {
        if self.sampled > 0 {
            let sampled = std::mem::take(&mut self.sampled);
            let method = if self.refuses_get {
                AuditMethod::ListOne
            } else {
                AuditMethod::Get
            };
            let why = self.refuses_get.then_some(Reason::RefusesGet);
            let told = Audit {
                resource_version: turn.watch.progress.clone(),
                compared: sampled,
                ..self.audit(turn, method, AuditOutcome::Agrees, why.as_slice())
            };
            self.tell(turn, told);
        }
    }

    pub(super) fn cannot_tell(
        &mut self,
        turn: &mut Turn<'_>,
        method: AuditMethod,
        at: Option<ResourceVersion>,
        why: Reason,
    ) {
        let untold = (method, why);
        if self.untold.as_ref() != Some(&untold) {
            let outcome = AuditOutcome::CannotTell;
            let told = Audit {
                resource_version: at,
                ..self.audit(turn, method, outcome, std::slice::from_ref(&untold.1))
            };
            self.tell(turn, told);
            self.untold = Some(untold);
        }
    }

    /// What came of comparing one object, by name.
    fn tell_of(
        &mut self,
        object: &Arc<Object>,
        turn: &mut Turn<'_>,
        method: AuditMethod,
        at: Option<ResourceVersion>,
        outcome: AuditOutcome,
    ) {
        let told = Audit {
            resource_version: at,
            compared: 1,
            object: Some(object.clone()),
            ..self.audit(turn, method, outcome, &[])
        };
        self.tell(turn, told);
    }

    /// An audit of the watch, of nothing yet, and for these reasons.
    pub(super) fn audit(
        &self,
        turn: &Turn<'_>,
        method: AuditMethod,
        outcome: AuditOutcome,
        reasons: &[Reason],
    ) -> Audit {
        let lists_whole = (self.lists_whole && is_list(method)).then_some(Reason::ListsWhole);
        let reasons = reasons.iter().chain(&lists_whole);
        let first = reasons.clone().next();
        Audit {
            watch: turn.name.clone(),
            resource_version: None,
            method: method.word().into(),
            compared: 0,
            outcome: outcome.word().into(),
            object: None,
            authority: first.and_then(Reason::authority),
            whole: None,
            why: first.map(Reason::kind),
            reason: sentence(reasons),
        }
    }

    pub(super) fn tell(&mut self, turn: &mut Turn<'_>, mut told: Audit) {
        self.untold = None;
        if is_whole(&told) {
            told.whole = Some(true);
            told.authority.get_or_insert(Authority::Etcd);
        }
        let is_answer = match (&self.owed, &told.object) {
            (Some(Owed::One(owed)), Some(object)) => same_place(owed, object),
            (Some(Owed::One(_)), None) => told.outcome() == AuditOutcome::CannotTell,
            // A list is still to come, or nothing came of it.
            (Some(Owed::All { .. }), _) => {
                !matches!(told.method(), AuditMethod::GetEach | AuditMethod::GetLeft)
            }
            _ => true,
        };
        if is_answer {
            self.owed = None;
        }
        turn.out.push(told.into());
    }

    /// Whether a person asked for this object and was told nothing yet.
    pub(super) fn owes(&self, object: &Object) -> bool {
        matches!(&self.owed, Some(Owed::One(owed)) if same_place(owed, object))
    }

    /// A person who asked is told at least that nothing came of it.
    pub(super) fn settle(&mut self, turn: &mut Turn<'_>) {
        let is_seen_to = match &self.owed {
            None => true,
            Some(Owed::All { .. }) => {
                let is_due = self.due.is_some_and(|due| due <= turn.now);
                let is_read = !self.tasks.is_empty() || self.each.is_some();
                is_due || self.behind.is_some() || self.has_differed || is_read
            }
            Some(Owed::One(owed)) => self.tasks.iter().any(|task| task.is_of(owed)),
        };
        if !is_seen_to {
            self.cannot_tell(turn, AuditMethod::Get, None, Reason::MovedOn);
        }
    }
}

/// Whether a read is a list.
fn is_list(method: AuditMethod) -> bool {
    !matches!(
        method,
        AuditMethod::AheadTwice
            | AuditMethod::Get
            | AuditMethod::GetLeft
            | AuditMethod::GetEach
            | AuditMethod::SecondWatch
            | AuditMethod::Unknown
    )
}

/// Whether a read compared all that the watch held at its version.
fn is_whole(told: &Audit) -> bool {
    let is_of_all = match told.method() {
        AuditMethod::ListExact
        | AuditMethod::ListExactAgain
        | AuditMethod::ListNewest
        | AuditMethod::ListElsewhere => true,
        // Its reason may be that some changed before they were looked up.
        AuditMethod::GetEach => told.why.is_none(),
        _ => false,
    };
    told.object.is_none() && is_of_all && told.outcome() != AuditOutcome::CannotTell
}

impl Turn<'_> {
    /// Whether a list of one name is of a version that was asked for exactly.
    fn is_one_at(&self, page: &Page, at: &ResourceVersion) -> bool {
        let is_past = |seen: &Seen| !seen.version.is_after(at);
        let may_be = self.one_name_says_newest && page.version.is_after(at);
        page.version == *at || (may_be && page.items.iter().all(is_past))
    }
}

impl Task {
    fn method(&self) -> AuditMethod {
        match self {
            Self::Exact(_) => AuditMethod::ListExact,
            Self::Newest => AuditMethod::ListNewest,
            Self::Any => AuditMethod::ListAny,
            Self::Get(_) => AuditMethod::Get,
            Self::Left { .. } => AuditMethod::GetLeft,
            Self::One { .. } => AuditMethod::ListOne,
            Self::Was { .. } => AuditMethod::ListOneTwice,
        }
    }
}

pub(super) fn same_place(a: &Object, b: &Object) -> bool {
    a.name == b.name && a.namespace == b.namespace
}

/// What became of a difference.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Judged {
    /// It was found once.
    Raised,
    /// It was found a second time.
    Confirmed,
    /// It is known.
    Known,
}

/// The verdict that says just this of an object, if it stands.
fn standing<'a>(found: &Difference, watch: &'a Watch) -> Option<&'a Verdict> {
    let open = watch.verdict_on(&found.object).map(|open| &open.verdict);
    open.filter(|standing| {
        standing.kind == found.kind
            && standing.held == found.held
            && standing.listed == found.listed
            && standing.object == found.object
    })
}

fn is_confirmed(found: &Difference, watch: &Watch) -> bool {
    standing(found, watch).is_some_and(|standing| standing.state == Standing::Confirmed)
}

/// Raises or confirms a verdict.
fn judge(found: &Difference, is_second: bool, turn: &mut Turn<'_>) -> Judged {
    if is_confirmed(found, turn.watch) {
        return Judged::Known;
    }
    if standing(found, turn.watch).is_some() && !is_second {
        return Judged::Raised;
    }
    let (state, certainty) = if is_second {
        (Standing::Confirmed, Certainty::Definite)
    } else {
        (Standing::Raised, Certainty::Likely)
    };
    turn.out.push(
        Verdict {
            watch: turn.name.clone(),
            object: found.object.clone(),
            kind: found.kind,
            held: found.held.clone(),
            listed: found.listed.clone(),
            state,
            certainty,
        }
        .into(),
    );
    if is_second {
        Judged::Confirmed
    } else {
        Judged::Raised
    }
}

/// The verdict on an object, if one stands, is over.
fn clear(object: &Object, turn: &mut Turn<'_>) {
    if let Some(open) = turn.watch.verdict_on(object) {
        turn.out.push(cleared(&open.verdict).into());
    }
}
