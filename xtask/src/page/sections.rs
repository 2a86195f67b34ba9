//! Sections of a module: removes those that no browser needs.

use anyhow::{Context as _, Result, bail};

/// The name under which a cut exports the function table.
pub(super) const FUNCTIONS: &str = "__indirect_function_table";

/// Parts of the names of exports that nobody calls: classes of wasm-streams, which comes with Leptos' server functions.
/// As roots of the first part they would keep a tenth of it.
const UNUSED_EXPORTS: [&str; 2] = ["intounderlying", "__wbg_jspi_task"];

/// A section of a module.
struct Section<'a> {
    id: u8,
    /// The section with its id and length.
    whole: &'a [u8],
    content: &'a [u8],
}

const HEADER_BYTES: usize = 8;
const CUSTOM: u8 = 0;
const EXPORTS: u8 = 7;

/// Returns a module's header and its sections.
fn sections(module: &[u8]) -> Result<(&[u8], Vec<Section<'_>>)> {
    let header = module
        .get(..HEADER_BYTES)
        .context("a module begins with eight bytes")?;
    let mut sections = Vec::new();
    let mut at = HEADER_BYTES;
    while let Some(&id) = module.get(at) {
        let (length, from) = varint(module, at + 1)?;
        let end = from + length;
        let content = module
            .get(from..end)
            .context("a section is longer than its module")?;
        let whole = &module[at..end];
        sections.push(Section { id, whole, content });
        at = end;
    }
    Ok((header, sections))
}

/// Returns a module without its names and other sections for tools.
pub(super) fn without_custom_sections(module: &[u8]) -> Result<Vec<u8>> {
    let (header, sections) = sections(module)?;
    let kept = sections.iter().filter(|section| section.id != CUSTOM);
    let parts: Vec<&[u8]> = kept.map(|section| section.whole).collect();
    Ok([header, &parts.concat()].concat())
}

/// Returns a module without [`UNUSED_EXPORTS`].
pub(super) fn without_unused_exports(module: &[u8]) -> Result<Vec<u8>> {
    let (header, sections) = sections(module)?;
    let mut kept = header.to_vec();
    for section in &sections {
        if section.id == EXPORTS {
            let exports = used_exports(section.content)?;
            kept.push(EXPORTS);
            push_varint(&mut kept, exports.len());
            kept.extend_from_slice(&exports);
        } else {
            kept.extend_from_slice(section.whole);
        }
    }
    Ok(kept)
}

/// Returns the content of an export section without [`UNUSED_EXPORTS`].
fn used_exports(content: &[u8]) -> Result<Vec<u8>> {
    let (count, mut at) = varint(content, 0)?;
    let (mut used, mut exports) = (0, Vec::new());
    for _ in 0..count {
        let (length, from) = varint(content, at)?;
        let name = content
            .get(from..from + length)
            .context("a name is longer than its section")?;
        let name = str::from_utf8(name)?;
        // An export's name is followed by its kind, then its number.
        let (_, end) = varint(content, from + length + 1)?;
        if !UNUSED_EXPORTS.iter().any(|unused| name.contains(unused)) {
            used += 1;
            exports.extend_from_slice(&content[at..end]);
        }
        at = end;
    }
    let mut content = Vec::new();
    push_varint(&mut content, used);
    content.extend_from_slice(&exports);
    Ok(content)
}

fn push_varint(bytes: &mut Vec<u8>, mut value: usize) {
    while value >= 0x80 {
        bytes.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Returns a LEB128 number of up to 32 bits, and the offset of its end.
fn varint(bytes: &[u8], mut at: usize) -> Result<(usize, usize)> {
    let mut value = 0;
    for shift in (0..35).step_by(7) {
        let byte = *bytes.get(at).context("a number is cut off")?;
        at += 1;
        value |= usize::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok((value, at));
        }
    }
    bail!("a number has more than 32 bits")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_for_tools_are_left_out_and_the_others_stay() {
        let header = *b"\0asm\x01\0\0\0";
        let (types, names) = ([1, 2, 7, 7], [0, 3, 1, b'n', 9]);
        let module = [&header[..], &names, &types, &names].concat();
        assert_eq!(
            without_custom_sections(&module).unwrap(),
            [&header[..], &types].concat()
        );
        assert!(without_custom_sections(&module[..module.len() - 1]).is_err());
        assert!(without_custom_sections(&[]).is_err());
    }

    #[test]
    fn exports_that_nobody_calls_are_left_out() {
        let export =
            |name: &str, number: u8| [&[name.len() as u8], name.as_bytes(), &[0, number]].concat();
        let (used, unused) = (export("main", 4), export("intounderlyingsink_close_58", 5));
        let content = [&[2], &unused[..], &used[..]].concat();
        let module = |content: &[u8]| {
            let section = [&[7, content.len() as u8], content].concat();
            [&b"\0asm\x01\0\0\0"[..], &[1, 2, 7, 7], &section].concat()
        };
        let kept = [&[1], &used[..]].concat();
        assert_eq!(
            without_unused_exports(&module(&content)).unwrap(),
            module(&kept)
        );
    }
}
