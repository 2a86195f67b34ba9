//! The list of findings below a saved picture: all findings that were open in its time range, with their times.

use watchscope_model::vocabulary::Severity;
use watchscope_model::{Time, tree};

use crate::draw::Picture;
use crate::format::{clock, count};
use crate::phrases::severity_ink;
use crate::scene::Px;
use crate::tokens::Token;

use super::page::{Cut, EDGE, Look, Page, shortened};

/// Height of the heading of the list of findings, in px: a line of text and the space around it. The number has no
/// other source.
const FINDING_HEADING: Px = Px::whole(28);
/// Height of a line of the list of findings, in px. The font of its text has 11 px. The number has no other source.
const FINDING_LINE: i32 = 16;
/// Where the code of a finding begins in the list of findings, in px from the left edge of the text: right of two times
/// of day. The number has no source.
const FINDING_CODE: Px = Px::whole(152);
/// Where the words of a finding begin in the list of findings, in px from the left edge of the text: 40 px right of its
/// code. The words are cut at the right edge of the text. The distance has no source.
const FINDING_WORDS: Px = Px::whole(192);
/// Most findings that are listed, so that the picture stays a page: the oldest. Further findings are only counted. The
/// number has no source.
const FINDINGS_MOST: usize = 40;

/// A line of the list of findings.
pub(super) struct Listed {
    since: Time,
    times: String,
    code: String,
    severity: Severity,
    words: String,
}

/// Returns the findings that were open in a stretch of time, in the order in which they began.
pub(super) fn findings(picture: &Picture<'_>, (from, to): (Time, Time)) -> Vec<Listed> {
    let epochs = picture.store.epochs();
    let mut listed: Vec<Listed> = Vec::new();
    for (place, epoch) in epochs.iter().enumerate() {
        let ends = match epochs.get(place + 1) {
            Some(_) => epoch.ends().unwrap_or(picture.now),
            None => picture.now,
        };
        for span in epoch.trace.findings.all() {
            let end = span.end_at(ends);
            if span.start.at > to || end < from {
                continue;
            }
            let until = match span.end {
                Some(end) => clock(end.at),
                None => "open".to_owned(),
            };
            listed.push(Listed {
                since: span.start.at,
                times: format!("{} – {until}", clock(span.start.at)),
                code: span.what.code.to_string(),
                severity: span.what.severity,
                words: format!("{}: {}", span.what.name, span.what.summary),
            });
        }
    }
    tree::sort_by_key(&mut listed, |finding| finding.since);
    listed
}

/// Returns the height of the list with its heading; 0 without a finding.
pub(super) fn height_of_findings(findings: &[Listed]) -> Px {
    let lines = match findings.len() {
        0 => return Px::ZERO,
        lines if lines > FINDINGS_MOST => FINDINGS_MOST + 1,
        lines => lines,
    };
    FINDING_HEADING + Px::whole(FINDING_LINE * lines as i32 + 4)
}

impl Page {
    /// Draws the list of findings, each with its times: at most [`FINDINGS_MOST`], then the number of further ones.
    pub(super) fn findings(&mut self, findings: &[Listed], top: Px, width: Px) {
        if findings.is_empty() {
            return;
        }
        let heading = Look {
            weight: 600,
            ..Look::small(Token::Text1)
        };
        self.text(EDGE, top + Px::whole(18), "Findings", heading);
        for (place, finding) in (0..).zip(findings.iter().take(FINDINGS_MOST)) {
            let y = top + FINDING_HEADING + Px::whole(8 + FINDING_LINE * place);
            self.text(EDGE, y, &*finding.times, Look::small(Token::Text2));
            let code = Look {
                weight: 600,
                ..Look::small(severity_ink(finding.severity))
            };
            self.text(EDGE + FINDING_CODE, y, &*finding.code, code);
            let room = width - EDGE - EDGE - FINDING_WORDS;
            let words = shortened(&finding.words, room, 400, Cut::End);
            self.text(EDGE + FINDING_WORDS, y, words, Look::small(Token::Text1));
        }
        if let Some(more @ 1..) = findings.len().checked_sub(FINDINGS_MOST) {
            let y = top + FINDING_HEADING + Px::whole(8 + FINDING_LINE * FINDINGS_MOST as i32);
            let words = format!("and {} more", count(more as u64, "finding"));
            self.text(EDGE, y, words, Look::small(Token::Text2));
        }
    }
}
