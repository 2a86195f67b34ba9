//! The texts of a lesson: JSON beside its script, one file for each lesson, which a page fetches and a command embeds.
//!
//! JSON is what the worker reads without a further parser, what translation tools read with its keys as they are, and
//! what an editor checks. The script decides which keys there are: a missing key and a surplus one are errors that name
//! the lesson and the key. [`Texts::read`] says what each key holds. The worker's module has no texts: nothing in it calls
//! [`english`].

use serde_json::{Map, Value};
use thiserror::Error;

use super::movable::Movable;
use super::question::{Form, Question};
use super::{Lesson, Passage, lessons};

/// The English texts by the names of their lessons, for programs without a page's files.
static ENGLISH: [(&str, &str); 13] = [
    ("away", include_str!("texts/away.json")),
    ("back-in-time", include_str!("texts/back-in-time.json")),
    ("expired", include_str!("texts/expired.json")),
    ("ghost", include_str!("texts/ghost.json")),
    ("herd", include_str!("texts/herd.json")),
    ("poisoned", include_str!("texts/poisoned.json")),
    ("quiet", include_str!("texts/quiet.json")),
    ("silent", include_str!("texts/silent.json")),
    ("stale", include_str!("texts/stale.json")),
    ("starved", include_str!("texts/starved.json")),
    ("three-tries", include_str!("texts/three-tries.json")),
    ("watch-event", include_str!("texts/watch-event.json")),
    ("who-hung-up", include_str!("texts/who-hung-up.json")),
];

/// What is wrong with texts. `of` is the lesson's name, or `index` for the list of all lessons. `key` is a path of keys
/// such as `passages.two.title`; items of a list are counted from 1.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TextError {
    /// They are not JSON.
    #[error("texts of {of}: no JSON: {what}")]
    NotJson {
        /// Whose texts.
        of: String,
        /// What the JSON reader says, with line and column.
        what: String,
    },
    /// The script names a key that they lack.
    #[error("texts of {of}: {key} is missing")]
    Missing {
        /// Whose texts.
        of: String,
        /// The key.
        key: String,
    },
    /// They have a key that the script does not name.
    #[error("texts of {of}: {key} is surplus, since the script does not name it")]
    Surplus {
        /// Whose texts.
        of: String,
        /// The key.
        key: String,
    },
    /// A key holds something else than it should.
    #[error("texts of {of}: {key} is no {wanted}")]
    Other {
        /// Whose texts.
        of: String,
        /// The key.
        key: String,
        /// What it should hold.
        wanted: &'static str,
    },
}

/// The texts of a lesson. Lists are in the script's order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Texts {
    /// The lesson's title, of at most 28 letters.
    pub title: String,
    /// The question that the lesson answers, of at most 30 letters, for a list of lessons.
    pub question: String,
    /// What a person knows after the lesson, in one line without a full stop.
    pub teaches: String,
    /// The texts of the passages.
    pub passages: Vec<PassageTexts>,
    /// The texts of the acts that can be moved.
    pub acts: Vec<ActTexts>,
    /// The words of the buttons that do something to the cluster.
    pub breaks: Vec<String>,
    /// The goals, as sentences.
    pub goals: Vec<String>,
}

/// The texts of a passage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassageTexts {
    /// The passage's title.
    pub title: String,
    /// The passage's paragraphs, in order. `*…*` is emphasis, `` `…` `` is code, and `{1}` refers to the first of
    /// [`Self::moments`].
    pub text: Vec<String>,
    /// The words of each moment's link, in the order of [`Passage::moments`].
    pub moments: Vec<String>,
    /// The texts of the passage's question; `None` if it has none.
    pub question: Option<QuestionTexts>,
}

/// The texts of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuestionTexts {
    /// The question, as a sentence.
    pub asks: String,
    /// The answers to choose, the lanes to tap, or the ends of a watch, in words; empty for a table of objects and for a
    /// histogram.
    pub answers: Vec<String>,
    /// A reply to each answer, lane, cell or column that the person has wrong. That of an answer that is right is empty.
    pub replies: Vec<String>,
    /// The explanation, which is shown once the question is settled ([`Question::is_settled`]).
    pub because: String,
}

/// The texts of an act that can be moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActTexts {
    /// The act in words, such as `DELETE report`.
    pub words: String,
    /// The news after "hears", such as `it` or `of the deletion`.
    pub news: String,
    /// What is to be found, as phrases. Each begins with a capital, or with the name of a client.
    pub finds: Vec<String>,
}

/// A lesson in the list of all lessons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The lesson's name.
    pub name: &'static str,
    /// [`Texts::title`].
    pub title: String,
    /// [`Texts::question`].
    pub question: String,
    /// [`Texts::teaches`].
    pub teaches: String,
}

/// Returns the English texts of the lesson with this name as JSON; `None` if no lesson has the name.
#[must_use]
pub fn english_json(name: &str) -> Option<&'static str> {
    let known = ENGLISH.iter().find(|(known, _)| *known == name);
    known.map(|(_, json)| *json)
}

/// Reads the English texts of a lesson, which the program has in it.
///
/// # Errors
/// If they do not fit the script. A test reads all of them.
pub fn english(lesson: &Lesson) -> Result<Texts, TextError> {
    let json = english_json(lesson.name).ok_or_else(|| TextError::Missing {
        of: lesson.name.to_owned(),
        key: format!("texts/{}.json", lesson.name),
    })?;
    Texts::read(lesson, json)
}

/// Returns the English list of all lessons, in the order of [`lessons()`].
///
/// # Errors
/// Like [`english`].
pub fn english_lines() -> Result<Vec<Line>, TextError> {
    let lessons = lessons().into_iter();
    lessons
        .map(|lesson| {
            let texts = english(&lesson)?;
            Ok(Line {
                name: lesson.name,
                title: texts.title,
                question: texts.question,
                teaches: texts.teaches,
            })
        })
        .collect()
}

impl Texts {
    /// Reads the texts of a lesson: `title`, `question`, `teaches`; `passages`, `breaks` and `goals` by the keys of the
    /// script; `acts` by their names, each with `words`, `news`, and `finds` by key. A passage has `title`, `text`,
    /// `moments` in the order of their numbers, and `question`. A question has `asks`, `because` and `answers`. Answers
    /// and lanes are a list of `words`, with a `reply` if they can be wrong. Cells of a table are replies by object and
    /// client. Parts of a histogram are a list of one `reply` each.
    ///
    /// # Errors
    /// The first key that is missing or surplus, or holds something else.
    pub fn read(lesson: &Lesson, json: &str) -> Result<Self, TextError> {
        let mut keys = Keys::whole(lesson.name, json)?;
        let breaks: Vec<&str> = lesson.breaks.iter().map(|one| one.key).collect();
        let goals: Vec<&str> = lesson.goals.iter().map(|goal| goal.key).collect();
        let texts = Self {
            title: keys.text("title")?,
            question: keys.text("question")?,
            teaches: keys.text("teaches")?,
            passages: keys.within("passages", |keys| {
                let passages = lesson.passages.iter();
                let read =
                    |passage: &Passage| keys.within(passage.key, |keys| passage_of(passage, keys));
                passages.map(read).collect()
            })?,
            acts: keys.within("acts", |keys| {
                let acts = lesson.movables.iter();
                let read = |act: &Movable| keys.within(act.name, |keys| act_of(act, keys));
                acts.map(read).collect()
            })?,
            breaks: keys.words("breaks", &breaks)?,
            goals: keys.words("goals", &goals)?,
        };
        keys.end()?;
        Ok(texts)
    }
}

impl Line {
    /// Reads the list of all lessons: by the name of each lesson its `title`, `question` and `teaches`.
    ///
    /// # Errors
    /// Like [`Texts::read`].
    pub fn read_all(json: &str) -> Result<Vec<Self>, TextError> {
        let mut keys = Keys::whole("index", json)?;
        let lines: Vec<Self> = lessons()
            .iter()
            .map(|lesson| {
                keys.within(lesson.name, |keys| {
                    Ok(Self {
                        name: lesson.name,
                        title: keys.text("title")?,
                        question: keys.text("question")?,
                        teaches: keys.text("teaches")?,
                    })
                })
            })
            .collect::<Result<_, TextError>>()?;
        keys.end()?;
        Ok(lines)
    }
}

fn passage_of(passage: &Passage, keys: &mut Keys<'_>) -> Result<PassageTexts, TextError> {
    let moments = if passage.moments.is_empty() {
        Vec::new()
    } else {
        keys.within("moments", |keys| {
            (1..=passage.moments.len())
                .map(|number| keys.text(&number.to_string()))
                .collect()
        })?
    };
    let question = passage.question.as_ref();
    let question =
        question.map(|question| keys.within("question", |keys| question_of(question, keys)));
    Ok(PassageTexts {
        title: keys.text("title")?,
        text: keys.within("text", Keys::all)?,
        moments,
        question: question.transpose()?,
    })
}

fn question_of(question: &Question, keys: &mut Keys<'_>) -> Result<QuestionTexts, TextError> {
    let (answers, replies) = keys.within("answers", |keys| match question.form {
        Form::Choose { answers, right } => {
            let mut texts = (Vec::new(), Vec::new());
            for place in 0..answers {
                keys.within(&(place + 1).to_string(), |keys| {
                    texts.0.push(keys.text("words")?);
                    let is_right = place == right;
                    let reply = if is_right {
                        Ok(String::new())
                    } else {
                        keys.text("reply")
                    };
                    texts.1.push(reply?);
                    Ok(())
                })?;
            }
            Ok(texts)
        }
        Form::Tap(_) | Form::Ends(_) => {
            let items = match question.form {
                Form::Tap(taps) => taps.len(),
                Form::Ends(ends) => ends.len(),
                _ => 0,
            };
            let mut texts = (Vec::new(), Vec::new());
            for number in 1..=items {
                keys.within(&number.to_string(), |keys| {
                    texts.0.push(keys.text("words")?);
                    texts.1.push(keys.text("reply")?);
                    Ok(())
                })?;
            }
            Ok(texts)
        }
        Form::Draw(bars) => {
            let mut replies = Vec::new();
            for (number, part) in (1..).zip(bars.parts) {
                let reply = keys.within(&number.to_string(), |keys| keys.text("reply"))?;
                replies.extend(part.iter().map(|_| reply.clone()));
            }
            Ok((Vec::new(), replies))
        }
        Form::Fill { columns, rows } => {
            let mut replies = Vec::new();
            for (object, _) in rows {
                replies.extend(keys.words(object, columns)?);
            }
            Ok((Vec::new(), replies))
        }
    })?;
    Ok(QuestionTexts {
        asks: keys.text("asks")?,
        answers,
        replies,
        because: keys.text("because")?,
    })
}

fn act_of(act: &Movable, keys: &mut Keys<'_>) -> Result<ActTexts, TextError> {
    let finds: Vec<&str> = act.finds.iter().map(|find| find.key).collect();
    Ok(ActTexts {
        words: keys.text("words")?,
        news: keys.text("news")?,
        finds: keys.words("finds", &finds)?,
    })
}

/// The keys of an object or a list that are not read yet. The items of a list have their numbers from 1 as keys.
struct Keys<'a> {
    of: &'a str,
    /// The keys that lead here, each with a full stop behind it.
    path: String,
    left: Map<String, Value>,
}

impl<'a> Keys<'a> {
    fn whole(of: &'a str, json: &str) -> Result<Self, TextError> {
        // The simulator reads bodies as bytes, so the module has this reader already.
        let value =
            serde_json::from_slice(json.as_bytes()).map_err(|error| TextError::NotJson {
                of: of.to_owned(),
                what: error.to_string(),
            })?;
        let path = String::new();
        match value {
            Value::Object(left) => Ok(Self { of, path, left }),
            _ => Err(TextError::Other {
                of: of.to_owned(),
                key: "all".to_owned(),
                wanted: "object",
            }),
        }
    }

    fn take(&mut self, key: &str) -> Result<Value, TextError> {
        self.left.remove(key).ok_or_else(|| TextError::Missing {
            of: self.of.to_owned(),
            key: format!("{}{key}", self.path),
        })
    }

    fn other(&self, key: &str, wanted: &'static str) -> TextError {
        TextError::Other {
            of: self.of.to_owned(),
            key: format!("{}{key}", self.path),
            wanted,
        }
    }

    /// Takes a text that is not empty.
    fn text(&mut self, key: &str) -> Result<String, TextError> {
        match self.take(key)? {
            Value::String(text) if !text.trim().is_empty() => Ok(text),
            _ => Err(self.other(key, "text")),
        }
    }

    /// Reads what a key holds, whole.
    fn within<T>(
        &mut self,
        key: &str,
        read: impl FnOnce(&mut Keys<'a>) -> Result<T, TextError>,
    ) -> Result<T, TextError> {
        let left = match self.take(key)? {
            Value::Object(left) => left,
            Value::Array(items) => {
                let numbered = items.into_iter().enumerate();
                numbered
                    .map(|(place, item)| ((place + 1).to_string(), item))
                    .collect()
            }
            _ => return Err(self.other(key, "object or list")),
        };
        let mut keys = Keys {
            of: self.of,
            path: format!("{}{key}.", self.path),
            left,
        };
        let read = read(&mut keys)?;
        keys.end()?;
        Ok(read)
    }

    /// Reads an object of texts with these keys, whole.
    fn words(&mut self, key: &str, keys: &[&str]) -> Result<Vec<String>, TextError> {
        self.within(key, |within| {
            keys.iter().map(|key| within.text(key)).collect()
        })
    }

    /// Takes all texts of a list, at least one.
    fn all(&mut self) -> Result<Vec<String>, TextError> {
        let most = self.left.len().max(1);
        (1..=most)
            .map(|number| self.text(&number.to_string()))
            .collect()
    }

    /// Checks that no key is left.
    fn end(&self) -> Result<(), TextError> {
        match self.left.keys().next() {
            None => Ok(()),
            Some(key) => Err(TextError::Surplus {
                of: self.of.to_owned(),
                key: format!("{}{key}", self.path),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::lesson;
    use super::*;

    /// Returns the error of the English texts of `away` with a change.
    fn changed(change: impl FnOnce(&mut Value)) -> String {
        let away = lesson("away").unwrap();
        let mut texts = serde_json::from_str(english_json("away").unwrap()).unwrap();
        change(&mut texts);
        let error = Texts::read(&away, &texts.to_string()).unwrap_err();
        error.to_string()
    }

    #[test]
    fn every_lesson_has_its_texts_and_they_keep_their_lengths() {
        for lesson in lessons() {
            let texts = english(&lesson).unwrap();
            assert!(texts.title.chars().count() <= 28, "{}", texts.title);
            assert!(texts.question.chars().count() <= 30, "{}", texts.question);
            assert!(texts.question.ends_with('?'), "{}", texts.question);
        }
        assert_eq!(english_lines().unwrap().len(), lessons().len());
        assert_eq!(ENGLISH.len(), lessons().len());
    }

    #[test]
    fn a_missing_or_surplus_key_is_named_with_its_lesson() {
        let object = |value: &mut Value, path: &str| {
            value
                .pointer_mut(path)
                .unwrap()
                .as_object_mut()
                .unwrap()
                .clone()
        };
        let errors = [
            changed(|texts| {
                drop(
                    texts["passages"]["two"]
                        .as_object_mut()
                        .unwrap()
                        .remove("title"),
                )
            }),
            changed(|texts| texts["passages"]["two"]["titel"] = "?".into()),
            changed(|texts| {
                drop(
                    texts["passages"]["ended"]["moments"]
                        .as_array_mut()
                        .unwrap()
                        .pop(),
                )
            }),
            changed(|texts| {
                let moments = texts["passages"]["ended"]["moments"].as_array_mut();
                moments.unwrap().push("more".into());
            }),
            changed(|texts| {
                texts["passages"]["two"]["question"]["answers"][1]["reply"] = "?".into()
            }),
            changed(|texts| {
                let replies = object(texts, "/passages/deleted/question/answers/report");
                assert_eq!(replies.len(), 2);
                texts["passages"]["deleted"]["question"]["answers"]["report"] =
                    serde_json::json!({"correct": "?"});
            }),
            changed(|texts| texts["goals"]["third"] = "?".into()),
            changed(|texts| texts["title"] = " ".into()),
            changed(|texts| texts["acts"] = "none".into()),
            changed(|texts| texts["passages"]["two"]["text"] = serde_json::json!([])),
        ];
        insta::assert_snapshot!(errors.join("\n"), @r"
        texts of away: passages.two.title is missing
        texts of away: passages.two.titel is surplus, since the script does not name it
        texts of away: passages.ended.moments.3 is missing
        texts of away: passages.ended.moments.4 is surplus, since the script does not name it
        texts of away: passages.two.question.answers.2.reply is surplus, since the script does not name it
        texts of away: passages.deleted.question.answers.report.naive is missing
        texts of away: goals.third is surplus, since the script does not name it
        texts of away: title is no text
        texts of away: acts is no object or list
        texts of away: passages.two.text.1 is missing
        ");
    }

    #[test]
    fn what_is_no_json_is_said_with_its_place() {
        let away = lesson("away").unwrap();
        let error = Texts::read(&away, "{\n  title").unwrap_err();
        let said = error.to_string();
        assert_eq!(
            said,
            "texts of away: no JSON: key must be a string at line 2 column 3"
        );
        let error = Texts::read(&away, "[]").unwrap_err();
        assert_eq!(error.to_string(), "texts of away: all is no object");
    }

    #[test]
    fn the_list_of_all_lessons_is_read_by_their_names() {
        let lines = english_lines().unwrap();
        let index: Map<String, Value> = lines
            .iter()
            .map(|line| {
                let texts = serde_json::json!({
                    "title": line.title, "question": line.question, "teaches": line.teaches,
                });
                (line.name.to_owned(), texts)
            })
            .collect();
        let mut index = Value::Object(index);
        assert_eq!(Line::read_all(&index.to_string()), Ok(lines));
        index["ghost"]["title"] = Value::Null;
        let error = Line::read_all(&index.to_string()).unwrap_err();
        assert_eq!(error.to_string(), "texts of index: ghost.title is no text");
    }
}
