//! Cells as a line for spreadsheets (RFC 4180).

use std::borrow::Cow;

/// Returns a cell's text in a form that spreadsheets do not compute ("CSV Injection" of OWASP). An apostrophe is put
/// before a cell that begins with `=`, `+`, `-`, `@`, a tab or a carriage return. Any other cell stays as it is.
#[must_use]
pub fn inert(cell: &str) -> Cow<'_, str> {
    if cell.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        format!("'{cell}").into()
    } else {
        Cow::Borrowed(cell)
    }
}

/// Returns a line with its end, CR and LF. A cell with a comma, a quote or a line break stands in quotes. A cell that a
/// spreadsheet would compute begins with an apostrophe, as by [`inert`]. Without cells, the line is only CR and LF.
#[must_use]
pub fn line<'a>(cells: impl IntoIterator<Item = &'a str>) -> String {
    let cells: Vec<String> = cells.into_iter().map(|cell| quoted(&inert(cell))).collect();
    cells.join(",") + "\r\n"
}

fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}
