//! Answers the requests of the worker's script, assets/export-worker.js. Each kind of request has a number.

use js_sys::{Function, Reflect, Uint8Array};
use wasm_bindgen::{JsCast as _, JsValue};
use watchscope_export::{SourceHash, is_hashed};

use super::failure::text;
use super::made::Made;
use super::records::Records;
use crate::runtime::bridge;

// The numbers of requests, as in export-worker.js.
const RECORDS: u32 = 0;
const CHAPTER: u32 = 1;
const NOTES: u32 = 2;
const MAKE: u32 = 3;
const SVG: u32 = 4;
const MARKDOWN: u32 = 5;
const CSV: u32 = 6;
const JSONL: u32 = 7;
const TRACE: u32 = 8;
const REPORT: u32 = 9;
const CHARTS: u32 = 10;
const HTML: u32 = 11;
const DEFLATED: u32 = 12;
const RECORDING: u32 = 13;
const HASHES: u32 = 14;
const HASH: u32 = 15;
const HASHED: u32 = 16;

/// The error of a request that came before the requests that it rests on.
const TOO_EARLY: &str = "the page has handed over no records";

/// Listens to requests from now on. The answer becomes the request's field `answer`, an error its field `why`.
pub(super) fn listen() {
    let mut records = None;
    let mut made = None;
    let mut hash = SourceHash::default();
    bridge::take(move |what, request| {
        let answered = match what {
            HASHES => {
                let is_ended = get(&request, "isEnded").is_truthy();
                let bytes = number(&request, "length") as u64;
                Ok(JsValue::from_bool(is_hashed(is_ended, bytes)))
            }
            HASH => {
                hash.add(&bytes(&request, "bytes"));
                Ok(JsValue::UNDEFINED)
            }
            HASHED => Ok(std::mem::take(&mut hash).finish().into()),
            _ => answer(&mut records, &mut made, what, &request),
        };
        let (field, value) = match answered {
            Ok(answer) => ("answer", answer),
            Err(why) => ("why", JsValue::from_str(&why)),
        };
        // An object of the script's takes every field.
        let _ = Reflect::set(&request, &JsValue::from_str(field), &value);
    });
}

/// Answers a request. `held` are the records that the page handed over; `made` is the result of the last wish.
fn answer(
    held: &mut Option<Records>,
    made: &mut Option<Made>,
    what: u32,
    request: &JsValue,
) -> Result<JsValue, String> {
    if what == RECORDS {
        let (from_us, to_us) = (number(request, "fromUs"), number(request, "toUs"));
        *made = None;
        *held = Some(Records::new(from_us, to_us, &bytes(request, "bytes"))?);
        return Ok(JsValue::UNDEFINED);
    }
    let records = held.as_mut().ok_or(TOO_EARLY)?;
    match what {
        CHAPTER => {
            records.add(bytes(request, "bytes"));
            return Ok(JsValue::UNDEFINED);
        }
        NOTES => {
            records.add_notes(&bytes(request, "bytes"))?;
            return Ok(JsValue::UNDEFINED);
        }
        MAKE => {
            let progress: Function = get(request, "progress").unchecked_into();
            let read = |chapters: usize| {
                // The page shows the progress; a failure of showing it changes nothing.
                let _ = progress.call1(request, &JsValue::from_f64(chapters as f64));
            };
            let source = get(request, "source").as_string();
            // The one before is dropped first, because both would be large.
            *made = None;
            let made = made.insert(records.make(&string(request, "text"), source, read)?);
            return Ok(JsValue::from_str(&made.facts()));
        }
        _ => {}
    }
    let made = made.as_mut().ok_or(TOO_EARLY)?;
    match what {
        SVG => made.picture().map(JsValue::from),
        MARKDOWN => made.markdown().map(JsValue::from),
        CSV => made.csv().map(array),
        JSONL => made.jsonl().map(array),
        TRACE => made.trace().map(array),
        REPORT => records.report(made).map(JsValue::from),
        CHARTS => {
            let charts = records.charts(made)?;
            let charts = serde_json::to_string(&charts).map_err(text)?;
            Ok(charts.into())
        }
        HTML => {
            let html = made.html(&string(request, "text"), &bytes(request, "bytes"))?;
            Ok(html.into())
        }
        DEFLATED => {
            let deflated = get(request, "bytes").dyn_into::<Uint8Array>().ok();
            let deflated = deflated.map(|bytes| bytes.to_vec());
            let next = made.next_of_recording(deflated.as_deref())?;
            Ok(next.map_or(JsValue::UNDEFINED, array))
        }
        RECORDING => Ok(array(made.recording())),
        _ => Err(format!("there is no request {what}")),
    }
}

fn get(request: &JsValue, field: &str) -> JsValue {
    // Reading a field of an object of the script's does not fail.
    Reflect::get(request, &JsValue::from_str(field)).unwrap_or_default()
}

fn number(request: &JsValue, field: &str) -> f64 {
    get(request, field).as_f64().unwrap_or_default()
}

fn string(request: &JsValue, field: &str) -> String {
    get(request, field).as_string().unwrap_or_default()
}

fn bytes(request: &JsValue, field: &str) -> Vec<u8> {
    get(request, field).unchecked_into::<Uint8Array>().to_vec()
}

fn array(bytes: Vec<u8>) -> JsValue {
    Uint8Array::from(&*bytes).into()
}
