//! Makes wasm-bindgen's glue small. Each import's name carries a hash, in script and module, and no compression
//! shortens a hash.
//! The script also carries comments and indentation.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};

/// Marks the names of exports that call back into the page.
const CALLBACK: &str = "__closures_____invoke__h";

/// Functions and variables of the glue itself that it uses often, with their short names.
const OWN: [(&str, &str); 29] = [
    ("CLOSURE_DTORS", "$e"),
    ("MAX_SAFARI_DECODE_BYTES", "$m"),
    ("WASM_VECTOR_LEN", "$l"),
    ("__wbg_finalize_init", "$f"),
    ("__wbg_get_imports", "$i"),
    ("__wbg_init_once", "$o"),
    ("__wbg_init_promise", "$r"),
    ("addToExternrefTable0", "$x"),
    ("arg0", "$0"),
    ("arg1", "$1"),
    ("arg2", "$2"),
    ("arg3", "$3"),
    ("arg4", "$4"),
    ("arg5", "$5"),
    ("arg6", "$6"),
    ("cachedDataViewMemory0", "$d"),
    ("cachedTextDecoder", "$b"),
    ("cachedTextEncoder", "$k"),
    ("cachedUint8ArrayMemory0", "$y"),
    ("getArrayU8FromWasm0", "$a"),
    ("getDataViewMemory0", "$v"),
    ("getStringFromWasm0", "$s"),
    ("getUint8ArrayMemory0", "$u"),
    ("handleError", "$h"),
    ("isLikeNone", "$n"),
    ("makeMutClosure", "$c"),
    ("numBytesDecoded", "$z"),
    ("passStringToWasm0", "$p"),
    ("takeFromExternrefTable0", "$t"),
];

/// The beginning of the names of classes that nobody uses. They are those of wasm-streams, as in `sections.rs`.
const UNUSED: &str = "IntoUnderlying";

/// Returns the glue without its classes that nobody uses.
pub(super) fn without_unused_classes(glue: &str) -> Result<String> {
    const DISPOSES: &str = "if (Symbol.dispose) ";
    let begins = |line: &str, word: &str| {
        let rest = line.trim_start().strip_prefix(word);
        rest.is_some_and(|rest| rest.starts_with(UNUSED))
    };
    let mut kept = String::with_capacity(glue.len());
    let (mut in_class, mut in_const) = (false, false);
    for line in glue.lines() {
        in_class |= begins(line, "export class ");
        in_const |= begins(line, "const ");
        if !in_class && !in_const {
            kept.push_str(line);
            kept.push('\n');
        }
        // A class is followed by the line that makes it disposable.
        in_class &= !begins(line, DISPOSES);
        in_const &= !line.ends_with(';');
    }
    ensure!(
        !in_class && !in_const && !kept.contains(UNUSED),
        "the glue uses a class {UNUSED}…, so it cannot be left out"
    );
    Ok(kept)
}

/// Short names by the long names that they replace.
#[derive(Debug, Default)]
pub(super) struct Names(BTreeMap<String, String>);

impl Names {
    /// Returns the short names of the glue's own names.
    pub(super) fn of_glue() -> Self {
        let own = OWN.map(|(name, short)| (name.to_owned(), short.to_owned()));
        Self(own.into())
    }

    /// Returns the short name of an import; a name without a hash stays.
    pub(super) fn of(&mut self, name: &str) -> String {
        if ends_with_hash(name) {
            self.shorter(name)
        } else {
            name.to_owned()
        }
    }

    /// Returns the short name of an export; only those of callbacks carry a hash.
    pub(super) fn of_export(&mut self, name: &str) -> String {
        if name.contains(CALLBACK) {
            self.shorter(name)
        } else {
            name.to_owned()
        }
    }

    fn shorter(&mut self, name: &str) -> String {
        let number = self.0.len();
        self.0
            .entry(name.to_owned())
            .or_insert_with(|| format!("_{number:x}"))
            .clone()
    }

    /// Returns the script with short names, without comments and indentation.
    pub(super) fn shorten(&self, script: &str) -> Result<String> {
        for short in self.0.values() {
            ensure!(
                words(script).all(|word| word != short),
                "the glue has a {short} of its own, so no import can be called so"
            );
        }
        let mut shortened = String::with_capacity(script.len());
        let mut in_comment = false;
        for line in script.lines().map(str::trim) {
            in_comment |= line.starts_with("/*");
            if !in_comment && !line.is_empty() && !line.starts_with("//") {
                ensure!(
                    line.matches('`').count() % 2 == 0,
                    "a text of the glue goes over several lines, so its indentation is no ornament: {line}"
                );
                let mut rest = line;
                for word in words(line) {
                    let Some(short) = self.0.get(word) else {
                        continue;
                    };
                    let Some((before, after)) = rest.split_once(word) else {
                        continue;
                    };
                    shortened.push_str(before);
                    shortened.push_str(short);
                    rest = after;
                }
                shortened.push_str(rest);
                shortened.push('\n');
            }
            in_comment &= !line.ends_with("*/");
        }
        Ok(returned_at_once(&shortened))
    }
}

/// Returns the script with `return VALUE;` in place of a variable that the next line returns.
fn returned_at_once(script: &str) -> String {
    let mut made = String::with_capacity(script.len());
    let mut lines = script.lines().peekable();
    while let Some(line) = lines.next() {
        let value = line.strip_prefix("const ret = ");
        let is_returned = lines.peek() == Some(&"return ret;");
        match value.filter(|value| is_returned && value.ends_with(';')) {
            Some(value) => {
                made.push_str("return ");
                made.push_str(value);
                lines.next();
            }
            None => made.push_str(line),
        }
        made.push('\n');
    }
    made
}

/// Returns the identifiers of a script, and other runs of the same characters.
fn words(script: &str) -> impl Iterator<Item = &str> {
    script
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '$')
        .filter(|word| !word.is_empty())
}

/// Whether a name ends with a hash, as `__wbg_fetch_0123456789abcdef` does.
fn ends_with_hash(name: &str) -> bool {
    name.rsplit_once('_').is_some_and(|(_, hash)| {
        hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FETCH: &str = "__wbg_fetch_0123456789abcdef";

    #[test]
    fn hashed_names_become_short_ones_and_comments_go() {
        let mut names = Names::default();
        assert_eq!(names.of(FETCH), "_0");
        assert_eq!(names.of("memory"), "memory");
        assert_eq!(names.of("__wbg_now_fedcba9876543210"), "_1");
        assert_eq!(names.of(FETCH), "_0");
        assert_eq!(names.of_export("main"), "main");
        let callback = "wasm_bindgen__convert__closures_____invoke__h3eb8322fc7257840_14";
        assert_eq!(names.of_export(callback), "_2");
        let script = format!(
            "/**\n * Fetches.\n */\n    {FETCH}: function(a) {{\n        // Note\n        {FETCH}(a); x{FETCH}();\n    }},\n"
        );
        insta::assert_snapshot!(names.shorten(&script).unwrap(), @r"
        _0: function(a) {
        _0(a); x__wbg_fetch_0123456789abcdef();
        },
        ");
    }

    #[test]
    fn classes_that_nobody_uses_are_left_out() {
        let glue = "export class IntoUnderlyingSink {\n    free() {\n        wasm.free(this);\n    }\n}\n\
                    if (Symbol.dispose) IntoUnderlyingSink.prototype[Symbol.dispose] = IntoUnderlyingSink.prototype.free;\n\
                    export class Used {\n}\n\
                    const IntoUnderlyingSinkFinalization = (typeof FinalizationRegistry === 'undefined')\n    ? { }\n    : new FinalizationRegistry(f);\n\
                    let wasm;\n";
        insta::assert_snapshot!(without_unused_classes(glue).unwrap(), @r"
        export class Used {
        }
        let wasm;
        ");
        assert!(without_unused_classes("new IntoUnderlyingSink();").is_err());
    }

    #[test]
    fn a_variable_that_the_next_line_returns_is_left_out() {
        let script = "const ret = a.b;\nreturn ret;\nconst ret = (\nc);\nreturn ret;\nconst ret = d;\nf(ret);\n";
        insta::assert_snapshot!(Names::default().shorten(script).unwrap(), @r"
        return a.b;
        const ret = (
        c);
        return ret;
        const ret = d;
        f(ret);
        ");
    }

    #[test]
    fn a_script_that_shortening_could_break_is_refused() {
        let mut names = Names::default();
        names.of(FETCH);
        assert!(names.shorten("let _0 = 1;").is_err());
        assert!(names.shorten("let text = `a\n  b`;").is_err());
    }
}
