//! Orders a module's functions so that similar ones follow each other and the module compresses well.
//!
//! gzip looks back at most 32 kB, and the linker orders functions by size. Functions are similar if they are the same
//! generic code for different types. Nothing else in the module changes, except the numbers by which functions are
//! called.

use anyhow::{Context as _, Result, anyhow};
use wasm_encoder::reencode::{self, Reencode};
use wasm_encoder::{CodeSection, FunctionSection, Module};
use wasmparser::{
    CodeSectionReader, FunctionBody, FunctionSectionReader, Parser, Payload, TypeRef,
};

/// The length in bytes of the pieces that are compared.
const WINDOW: usize = 5;
/// The most functions that may share a piece. A piece in more functions says nothing about any of them and is ignored.
const HOLDERS_MOST: usize = 40;
/// The bytes added to a function's length when similarities are compared, since the shortest functions resemble any.
const SHORT: u64 = 20;

/// Returns the module with its functions in another order.
pub(super) fn by_likeness(module: &[u8]) -> Result<Vec<u8>> {
    let mut imported = 0;
    let mut bodies = Vec::new();
    for payload in Parser::new(0).parse_all(module) {
        match payload.context("reading a module")? {
            Payload::ImportSection(imports) => {
                for import in imports.into_imports() {
                    let is_function =
                        matches!(import?.ty, TypeRef::Func(_) | TypeRef::FuncExact(_));
                    imported += u32::from(is_function);
                }
            }
            Payload::CodeSectionEntry(body) => bodies.push(body.as_bytes()),
            _ => {}
        }
    }
    let order = order(&bodies);
    let mut numbers = vec![0; order.len()];
    for (new, &old) in (imported..).zip(&order) {
        numbers[old] = new;
    }
    let mut made = Module::new();
    let mut renumber = Renumber {
        imported,
        order,
        numbers,
    };
    renumber
        .parse_core_module(&mut made, Parser::new(0), module)
        .map_err(|error| anyhow!("writing a module: {error}"))?;
    Ok(made.finish())
}

/// Writes a module's functions in an order, and their new numbers wherever a function is named.
struct Renumber {
    imported: u32,
    order: Vec<usize>,
    numbers: Vec<u32>,
}

type Done = Result<(), reencode::Error>;

impl Reencode for Renumber {
    type Error = std::convert::Infallible;

    fn function_index(&mut self, function: u32) -> Result<u32, reencode::Error> {
        let own = function.checked_sub(self.imported);
        Ok(own.map_or(function, |own| self.numbers[own as usize]))
    }

    fn parse_function_section(
        &mut self,
        functions: &mut FunctionSection,
        section: FunctionSectionReader<'_>,
    ) -> Done {
        let types: Vec<u32> = section.into_iter().collect::<Result<_, _>>()?;
        for place in 0..self.order.len() {
            functions.function(self.type_index(types[self.order[place]])?);
        }
        Ok(())
    }

    fn parse_code_section(
        &mut self,
        code: &mut CodeSection,
        section: CodeSectionReader<'_>,
    ) -> Done {
        let bodies: Vec<FunctionBody<'_>> = section.into_iter().collect::<Result<_, _>>()?;
        for place in 0..self.order.len() {
            self.parse_function_body(code, bodies[self.order[place]].clone())?;
        }
        Ok(())
    }
}

/// Returns the order: each function is followed by the most similar one left, or by the largest if none is similar.
fn order(bodies: &[&[u8]]) -> Vec<usize> {
    let holders = holders(bodies);
    let mut parts = vec![Vec::new(); bodies.len()];
    for (part, holders) in holders.iter().enumerate() {
        for &holder in holders {
            parts[holder].push(part);
        }
    }
    let mut by_size: Vec<usize> = (0..bodies.len()).collect();
    by_size.sort_by_key(|&body| std::cmp::Reverse(bodies[body].len()));
    let mut by_size = by_size.into_iter();
    let mut is_left = vec![true; bodies.len()];
    let mut shared = vec![0_u64; bodies.len()];
    let mut order: Vec<usize> = Vec::with_capacity(bodies.len());
    let mut next = None;
    while let Some(body) = next.or_else(|| by_size.find(|&body| is_left[body])) {
        order.push(body);
        is_left[body] = false;
        // The last four functions are near enough for gzip, and the last one counts three times.
        let mut met = Vec::new();
        for (back, &near) in order.iter().rev().take(4).enumerate() {
            let weight = if back == 0 { 3 } else { 1 };
            for &holder in parts[near].iter().flat_map(|&part| &holders[part]) {
                if is_left[holder] {
                    if shared[holder] == 0 {
                        met.push(holder);
                    }
                    shared[holder] += weight;
                }
            }
        }
        next = None;
        let mut most = (0, 1);
        for body in met {
            let likeness = (
                std::mem::take(&mut shared[body]),
                bodies[body].len() as u64 + SHORT,
            );
            if likeness.0 * most.1 > most.0 * likeness.1 {
                most = likeness;
                next = Some(body);
            }
        }
    }
    order
}

/// Returns, for each piece of [`WINDOW`] bytes in 2 to [`HOLDERS_MOST`] functions, these functions.
fn holders(bodies: &[&[u8]]) -> Vec<Vec<usize>> {
    let mut windows: Vec<(&[u8], usize)> = bodies
        .iter()
        .enumerate()
        .flat_map(|(body, bytes)| bytes.windows(WINDOW).map(move |window| (window, body)))
        .collect();
    windows.sort_unstable();
    windows.dedup();
    windows
        .chunk_by(|one, other| one.0 == other.0)
        .filter(|chunk| (2..=HOLDERS_MOST).contains(&chunk.len()))
        .map(|chunk| chunk.iter().map(|&(_, body)| body).collect())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_functions_follow_each_other_and_each_occurs_once() {
        let bodies: [&[u8]; 5] = [
            b"one of the one kind, first",
            b"nothing resembles it, yet by far no body lies before it",
            b"of two kinds is the other",
            b"one of the one kind, second",
            b"of two kinds is this",
        ];
        assert_eq!(order(&bodies), [1, 3, 0, 2, 4]);
    }

    /// `f` is imported; `three` calls `five`, which calls `f`.
    #[test]
    fn calls_and_exports_use_the_new_numbers() {
        let mut module = Module::new();
        let mut types = wasm_encoder::TypeSection::new();
        types.ty().function([], []);
        module.section(&types);
        let mut imports = wasm_encoder::ImportSection::new();
        imports.import("m", "f", wasm_encoder::EntityType::Function(0));
        module.section(&imports);
        let mut functions = FunctionSection::new();
        functions.function(0).function(0);
        module.section(&functions);
        let mut exports = wasm_encoder::ExportSection::new();
        exports.export("three", wasm_encoder::ExportKind::Func, 1);
        exports.export("five", wasm_encoder::ExportKind::Func, 2);
        module.section(&exports);
        let mut code = CodeSection::new();
        for (calls, times) in [(2, 3), (0, 5)] {
            let mut body = wasm_encoder::Function::new([]);
            for _ in 0..times {
                body.instructions().call(calls);
            }
            body.instructions().end();
            code.function(&body);
        }
        module.section(&code);

        let made = by_likeness(&module.finish()).unwrap();
        let mut told = Vec::new();
        for payload in Parser::new(0).parse_all(&made) {
            match payload.unwrap() {
                Payload::ExportSection(exports) => {
                    for export in exports {
                        let export = export.unwrap();
                        told.push(format!("{} is {}", export.name, export.index));
                    }
                }
                Payload::CodeSectionEntry(body) => {
                    told.push(format!("{:?}", &body.as_bytes()[1..]));
                }
                _ => {}
            }
        }
        assert_eq!(
            told,
            [
                "three is 2",
                "five is 1",
                "[16, 0, 16, 0, 16, 0, 16, 0, 16, 0, 11]",
                "[16, 1, 16, 1, 16, 1, 11]"
            ]
        );
    }
}
