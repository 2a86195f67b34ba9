//! Draws the low lines: the phases of a watch while no stream is open, and the brackets of its lists.

use watchscope_model::Time;
use watchscope_model::vocabulary::{Phase, PhaseReason};

use super::drawer::{Drawer, EpochView, record};
use super::label::{Label, Rank};
use super::look::{HAIR, LABEL_INSET, Layer, SPILL, TextLook};
use super::watch::next_try;
use crate::glyph::Glyph;
use crate::lanes::{Row, RowKind};
use crate::scene::{Align, Px, Step, StretchKind, Stroke, Target};
use crate::store::{PhaseSpan, Span, WatchTrace};
use crate::tokens::Token;

/// Least distance from the opening to the closing bracket of a list that is over, in px, so that they stand apart. A
/// shorter list is drawn this wide, over the end of the line before the list. The number has no other source.
const BRACKETS: Px = Px::whole(9);

/// Distance in px, included, up to which a wait belongs to an ERROR event. If the reason of such a wait is the event or
/// the expired history, its words leave out the reason, which the event shows. The number has no source.
const AT_ERROR: Px = Px::whole(6);

/// The phases between two streams, drawn as low lines.
struct Episode {
    x0: Px,
    x1: Px,
    /// The reason of the waits and refusals in view, and the number of those with this reason.
    reason: Option<(PhaseReason, u32)>,
    /// When the next try is due, if the last wait is open.
    due: Option<Time>,
    /// Whether the last of the waits and refusals is a refusal.
    refused: bool,
}

impl Drawer<'_> {
    /// Draws all phases but streaming and stopped.
    pub(super) fn phases(&mut self, row: &Row, epoch: EpochView<'_>, trace: &WatchTrace) {
        let mut episode: Option<Episode> = None;
        let mut drawn = -SPILL - SPILL;
        for span in trace.phases.in_sequence(self.left, self.right) {
            let x0 = self.x(span.start.at);
            let x1 = self.x(span.end_at(epoch.end)).max(x0 + Px::whole(2));
            if x1 < -SPILL {
                continue;
            }
            if matches!(span.what.phase, Phase::Streaming | Phase::Stopped) {
                self.episode_label(row, trace, episode.take());
                continue;
            }
            let is_new = x1 > drawn;
            if is_new {
                self.phase(row, span, (x0.max(drawn), x1));
                drawn = x1;
                let (y, bottom) = (self.y(row) + row.height.half(), self.y(row) + row.height);
                let target = Target::Stretch(StretchKind::Phase, record(epoch, span.start.seq));
                self.hit((x0, x1), (y, bottom), row.id, target);
            }
            let episode = episode.get_or_insert(Episode {
                x0,
                x1,
                reason: None,
                due: None,
                refused: false,
            });
            episode.x1 = x1;
            self.add_to_episode(episode, span);
        }
        self.episode_label(row, trace, episode);
    }

    /// Adds a phase to the words of its episode.
    fn add_to_episode(&self, episode: &mut Episode, span: &Span<PhaseSpan>) {
        let phase = &span.what;
        let is_pause = matches!(phase.phase, Phase::Waiting | Phase::Refused);
        episode.due = None;
        if !is_pause {
            return;
        }
        episode.refused = phase.phase == Phase::Refused;
        if span.is_open() {
            episode.due = phase.delay_ms.map(|delay| span.start.at.plus_millis(delay));
        }
        let counts = span.start.at >= self.picture.view.left();
        episode.reason = match episode.reason {
            Some((reason, count)) if reason == phase.reason => {
                Some((reason, count + u32::from(counts)))
            }
            Some(other) if !counts => Some(other),
            _ => Some((phase.reason, 1)),
        };
    }

    fn phase(&mut self, row: &Row, span: &Span<PhaseSpan>, (x0, x1): (Px, Px)) {
        let (top, bottom) = self.body(row);
        let y = bottom - Px::whole(2);
        // Dashes begin where the stretch begins. A long line is cut to the view by whole periods of its dashes.
        let line = |drawer: &mut Self, ink: Token, dash: Option<(u8, u8)>| {
            let period = dash.map_or(1, |(on, off)| i32::from(on) + i32::from(off)) * 64;
            let cut = ((-SPILL - x0).0.max(0) / period) * period;
            let from = Px(x0.0 + cut);
            let to = x1.min(drawer.width + SPILL);
            if from < to {
                let middle = y + Px::whole(1);
                let steps = [Step::Move(from, middle), Step::Line(to, middle)];
                drawer.stroke(
                    Layer::Stream,
                    &steps,
                    Stroke {
                        ink,
                        width: Px::whole(2),
                        dash,
                    },
                );
            }
        };
        match span.what.phase {
            Phase::Connecting => {
                line(self, Token::Stream, Some((2, 2)));
                self.explains(Glyph::Connecting, (x0, x1));
            }
            Phase::Waiting => {
                line(self, Token::Stream, Some((4, 3)));
                self.explains(Glyph::Waiting, (x0, x1));
            }
            Phase::Refused => {
                line(self, Token::Error, None);
                self.explains(Glyph::Refused, (x0, x1));
                if x0 >= Px::ZERO && x1 - x0 >= Px::whole(8) {
                    let (x, y) = (x0 + Px::whole(4), y - Px::whole(4));
                    let arm = Px(160);
                    let cross = [
                        Step::Move(x - arm, y - arm),
                        Step::Line(x + arm, y + arm),
                        Step::Move(x + arm, y - arm),
                        Step::Line(x - arm, y + arm),
                    ];
                    self.stroke(Layer::Rule, &cross, Stroke::solid(Token::Error, Px(96)));
                    let reach = Px::whole(3);
                    self.occupy((x - reach, x + reach), (y - reach, y + reach));
                }
            }
            Phase::Listing => {
                self.fill(Layer::Stream, (x0, x1), (top, bottom), Token::Ground0);
                let (from, to) = (top + Px(48), bottom - Px(48));
                let bracket = |x: Px, arm: Px| {
                    [
                        Step::Move(x + arm, from),
                        Step::Line(x, from),
                        Step::Line(x, to),
                        Step::Line(x + arm, to),
                    ]
                };
                // The brackets of a short list still stand apart; they cover the line before the list.
                let is_over = span.end.is_some();
                let x1 = x1 - Px::whole(2);
                let x0 = if is_over { x0.min(x1 - BRACKETS) } else { x0 };
                let arm = Px::whole(3).min((x1 - x0).half()).max(Px::whole(1));
                let stroke = Stroke::solid(Token::List, Px(96));
                self.stroke(Layer::Rule, &bracket(x0 + Px(48), arm), stroke);
                self.occupy((x0, x0 + arm + HAIR), (top, bottom));
                self.explains(Glyph::ListStart, (x0, x0 + arm));
                if is_over {
                    self.stroke(Layer::Rule, &bracket(x1 - Px(48), -arm), stroke);
                    self.occupy((x1 - arm - HAIR, x1), (top, bottom));
                    self.explains(Glyph::ListEnd, (x1 - arm, x1));
                }
            }
            Phase::Streaming | Phase::Stopped | Phase::Unknown => {}
        }
    }

    /// Writes `429 × 5`, or `403 Forbidden, next try in 28 s`, over the low line.
    fn episode_label(&mut self, row: &Row, trace: &WatchTrace, episode: Option<Episode>) {
        let Some(Episode {
            x0,
            x1,
            reason: Some((reason, count)),
            due,
            refused,
        }) = episode
        else {
            return;
        };
        // If the episode begins with an ERROR event, the code at that event gives the reason already.
        let mut errors = trace.errors.iter().map(|error| self.x(error.moment.at));
        let begins_with_error = errors.any(|x| x - AT_ERROR <= x0 && x0 <= x + AT_ERROR);
        let is_explained = matches!(reason, PhaseReason::Expired | PhaseReason::ErrorEvent);
        let short = match (begins_with_error, count) {
            (true, _) if is_explained => String::new(),
            (_, 1) => reason_words(reason).to_string(),
            _ => format!("{} × {count}", reason_words(reason)),
        };
        let mut words = short.clone();
        if let Some(due) = due {
            let next = next_try(due.micros_since(self.picture.now));
            words = if short.is_empty() {
                next
            } else {
                format!("{short}, {next}")
            };
        }
        let up = if row.kind == RowKind::Strip { 256 } else { 672 };
        let y = self.y(row) + row.height - Px(up);
        let at = self
            .picture
            .view
            .time_from_x((x0.max(Px::ZERO) + Px::whole(2)).to_f64());
        let in_lost = trace.gaps.in_sequence(at, at).iter().any(|span| {
            span.what.outcome.is_some_and(|outcome| !outcome.resumed)
                && span.start.at <= at
                && span.end.is_some_and(|end| end.at >= at)
        });
        let ground = if in_lost {
            Token::LostGround
        } else {
            Token::Ground0
        };
        let look = match (refused, in_lost) {
            (true, _) => TextLook::plain(Token::Error),
            (false, true) => TextLook::strong(Token::Text1),
            (false, false) => TextLook::plain(Token::Text2),
        };
        let look = look.over(ground);
        let mut label = Label::new(
            Rank::Wait,
            Layer::Error,
            [words.clone(), short],
            look,
            y,
            (x0, x1),
        );
        label.forms.retain(|text| !text.is_empty());
        // A wait that has just begun is too narrow for words. If it is the watch's first, the words may stand before
        // it.
        let is_first = trace
            .started
            .is_some_and(|started| self.x(started.at) >= x0 - HAIR);
        if is_first {
            let before = Label::new(
                Rank::Wait,
                Layer::Error,
                [words],
                look.over(Token::Ground0).aligned(Align::End),
                y,
                (LABEL_INSET, x0 - LABEL_INSET),
            );
            label.or = Some(Box::new(before.reaching(Px::whole(24))));
        }
        self.label_inside(label.reaching(self.width));
    }
}

/// Returns the reason of a wait or refusal in a few words.
pub(crate) fn reason_words(reason: PhaseReason) -> &'static str {
    match reason {
        PhaseReason::Started => "starting",
        PhaseReason::FirstList => "first list",
        PhaseReason::Listed => "listed",
        PhaseReason::Opened => "open",
        PhaseReason::Resume => "resuming",
        PhaseReason::ShortStream => "short streams",
        PhaseReason::Expired => "410 Expired",
        PhaseReason::TooLarge => "server is behind",
        PhaseReason::ErrorEvent => "ERROR",
        PhaseReason::Decode => "not decodable",
        PhaseReason::TooManyRequests => "429",
        PhaseReason::Unauthorized => "401 Unauthorized",
        PhaseReason::Forbidden => "403 Forbidden",
        PhaseReason::NotFound => "404 Not Found",
        PhaseReason::BadRequest => "refused",
        PhaseReason::ServerError => "server error",
        PhaseReason::Unreachable => "unreachable",
        PhaseReason::TlsFailed => "TLS failed",
        PhaseReason::Timeout => "no answer",
        PhaseReason::Broken => "answer broke off",
        PhaseReason::Idle => "silent",
        PhaseReason::StopRequested => "stopped",
        PhaseReason::NotDiscovered => "not found yet",
        PhaseReason::Credentials => "no credentials",
        PhaseReason::RetryDue => "retrying",
        PhaseReason::WatchListRefused => "watch-list refused",
        PhaseReason::InitialEventsEnd => "initial events done",
        PhaseReason::Malformed => "not a list",
        PhaseReason::Restored => "etcd went back",
        PhaseReason::Unknown => "unknown reason",
    }
}
