//! A strict reader of `/metrics`, in the text form of Prometheus (0.0.4) and as OpenMetrics (1.0).
//!
//! It enforces the rules of both forms, and more than scrapers check:
//! * The lines of a family stand together: `HELP`, then `TYPE`, then samples.
//! * Names and labels are well formed, and no series comes twice.
//! * No value is negative, except a gauge's.
//! * In OpenMetrics a counter's series ends in `_total`; in the plain form its family does too.
//! * A histogram's buckets rise, and its last bucket is its count.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail, ensure};

/// The two text forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpositionForm {
    /// `text/plain; version=0.0.4`
    Plain,
    /// `application/openmetrics-text; version=1.0.0`
    OpenMetrics,
}

/// The types and samples of a text that kept all rules.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Exposition {
    /// Types by family, both as the text names them.
    pub types: BTreeMap<String, String>,
    /// Values by series.
    pub samples: BTreeMap<Series, f64>,
}

/// A series: its name, and its labels with their values.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Series {
    /// Its name.
    pub name: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
}

impl Exposition {
    /// Reads a text.
    ///
    /// # Errors
    /// At the first line that breaks a rule; the error names it.
    pub fn read(text: &str, form: ExpositionForm) -> Result<Self> {
        let body = match form {
            ExpositionForm::Plain => text,
            ExpositionForm::OpenMetrics => {
                text.strip_suffix("# EOF\n").context("it ends with # EOF")?
            }
        };
        ensure!(body.ends_with('\n'), "the last line ends");
        let mut exposition = Self::default();
        let mut family: Option<Family> = None;
        for (number, line) in (1..).zip(body.lines()) {
            let read = match line.strip_prefix("# ") {
                Some(comment) => exposition.comment(comment, &mut family, form),
                None => exposition.sample(line, family.as_mut(), form),
            };
            read.with_context(|| format!("line {number}: {line}"))?;
        }
        exposition.end(family)?;
        Ok(exposition)
    }

    /// Returns the value of a series; `None` if the text lacks it.
    #[must_use]
    pub fn get(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let labels = labels
            .iter()
            .map(|&(label, value)| (label.to_owned(), value.to_owned()));
        let series = Series {
            name: name.to_owned(),
            labels: labels.collect(),
        };
        self.samples.get(&series).copied()
    }

    /// Returns the sum of all series of that name that have these labels, whatever other labels they have.
    #[must_use]
    pub fn sum(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let of = self.samples.iter().filter(|(series, _)| {
            let has = |&(label, value): &(&str, &str)| {
                series.labels.get(label).is_some_and(|is| is == value)
            };
            series.name == name && labels.iter().all(has)
        });
        of.map(|(_, value)| value).sum()
    }

    /// Reads a `HELP` or `TYPE` line; `HELP` begins a family.
    fn comment(
        &mut self,
        comment: &str,
        family: &mut Option<Family>,
        form: ExpositionForm,
    ) -> Result<()> {
        let mut words = comment.splitn(3, ' ');
        let what = words.next().unwrap_or_default();
        let name = words.next().context("a family's name")?;
        let rest = words.next().context("a text")?;
        match what {
            "HELP" => {
                self.end(family.take())?;
                ensure!(is_name(name), "a name");
                ensure!(!self.types.contains_key(name), "a family comes once");
                ensure!(!rest.trim().is_empty(), "a text");
                *family = Some(Family::named(name));
            }
            "TYPE" => {
                let family = family.as_mut().filter(|family| family.name == name);
                let family = family.context("HELP comes before TYPE")?;
                ensure!(family.kind.is_none(), "a type comes once");
                let known: &[&str] = match form {
                    ExpositionForm::Plain => &["counter", "gauge", "histogram"],
                    ExpositionForm::OpenMetrics => &["counter", "gauge", "histogram", "info"],
                };
                ensure!(known.contains(&rest), "a type");
                ensure!(
                    (form == ExpositionForm::Plain && rest == "counter")
                        == name.ends_with("_total"),
                    "only counters end in _total; in OpenMetrics only their series do"
                );
                family.kind = Some(rest.to_owned());
                self.types.insert(name.to_owned(), rest.to_owned());
            }
            _ => bail!("neither HELP nor TYPE"),
        }
        Ok(())
    }

    /// Reads a sample of the open family.
    fn sample(
        &mut self,
        line: &str,
        family: Option<&mut Family>,
        form: ExpositionForm,
    ) -> Result<()> {
        let (mut series, value) = sample(line)?;
        let family = family.context("a sample has a family")?;
        let kind = family
            .kind
            .as_deref()
            .context("TYPE comes before samples")?;
        let suffix = series.name.strip_prefix(family.name.as_str());
        let suffix = suffix.context("a sample is of the family before it")?;
        let is_open = form == ExpositionForm::OpenMetrics;
        match (kind, suffix) {
            ("counter", "") if !is_open => {}
            ("counter", "_total") if is_open => {}
            ("info", "_info") if is_open => ensure!(value == 1.0, "an info is 1"),
            ("gauge", "") => {}
            ("histogram", "_sum" | "_count") => {}
            ("histogram", "_bucket") => {
                let le = series.labels.remove("le").context("a bucket has le")?;
                let bound = number(&le)?;
                let buckets = family.buckets.entry(series.labels.clone()).or_default();
                if let Some(&(before, count)) = buckets.last() {
                    ensure!(bound > before && value >= count, "buckets rise");
                }
                buckets.push((bound, value));
                series.labels.insert("le".to_owned(), le);
            }
            _ => bail!("not a series of a {kind}"),
        }
        if kind != "gauge" {
            ensure!(value >= 0.0, "not negative");
        }
        family.is_empty = false;
        let is_new = self.samples.insert(series, value).is_none();
        ensure!(is_new, "a series comes once");
        Ok(())
    }

    /// Checks a family after its last line: it has samples, and its histograms are complete.
    fn end(&self, family: Option<Family>) -> Result<()> {
        let Some(family) = family else {
            return Ok(());
        };
        let name = &family.name;
        ensure!(!family.is_empty, "{name} has samples");
        for (labels, buckets) in family.buckets {
            let of = |suffix: &str| {
                let series = Series {
                    name: format!("{name}{suffix}"),
                    labels: labels.clone(),
                };
                let value = self.samples.get(&series).copied();
                value.with_context(|| format!("{name} has {suffix}"))
            };
            of("_sum")?;
            let last = buckets.last().copied();
            ensure!(
                last == Some((f64::INFINITY, of("_count")?)),
                "{name}: the last bucket is all"
            );
        }
        Ok(())
    }
}

/// The family whose lines are being read.
struct Family {
    name: String,
    kind: Option<String>,
    is_empty: bool,
    buckets: BTreeMap<BTreeMap<String, String>, Vec<(f64, f64)>>,
}

impl Family {
    fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            kind: None,
            is_empty: true,
            buckets: BTreeMap::new(),
        }
    }
}

fn sample(line: &str) -> Result<(Series, f64)> {
    let end = line.find(['{', ' ']).context("a name and a value")?;
    let (name, mut rest) = line.split_at(end);
    ensure!(is_name(name), "a name");
    let mut labels = BTreeMap::new();
    if let Some(inside) = rest.strip_prefix('{') {
        rest = inside;
        loop {
            let (label, after) = rest.split_once("=\"").context("a label and its value")?;
            ensure!(is_name(label) && !label.contains(':'), "a label's name");
            let (value, after) = quoted(after)?;
            let is_new = labels.insert(label.to_owned(), value).is_none();
            ensure!(is_new, "a label comes once");
            rest = match after.strip_prefix(',') {
                Some(after) => after,
                None => break rest = after.strip_prefix('}').context("labels end")?,
            };
        }
    }
    let value = rest
        .strip_prefix(' ')
        .context("one space before the value")?;
    let series = Series {
        name: name.to_owned(),
        labels,
    };
    Ok((series, number(value)?))
}

/// Reads a label's value after its opening quote. Returns it with the text behind the closing quote.
fn quoted(text: &str) -> Result<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Ok((value, &text[at + 1..])),
            '\\' => value.push(match chars.next() {
                Some((_, '\\')) => '\\',
                Some((_, '"')) => '"',
                Some((_, 'n')) => '\n',
                _ => bail!("an unknown escape"),
            }),
            _ => value.push(c),
        }
    }
    bail!("a value without its closing quote")
}

fn number(text: &str) -> Result<f64> {
    if text == "+Inf" {
        return Ok(f64::INFINITY);
    }
    let plain = text
        .bytes()
        .all(|b| b.is_ascii_digit() || b"+-.e".contains(&b));
    ensure!(plain, "a number, not {text:?}");
    text.parse()
        .with_context(|| format!("a number, not {text:?}"))
}

fn is_name(text: &str) -> bool {
    let is_part = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b':';
    !text.is_empty()
        && text.bytes().all(is_part)
        && text.as_bytes().first().is_some_and(|b| !b.is_ascii_digit())
}
