//! Bundles scripts that import each other into one script that imports nothing.
//!
//! Each module becomes a function that returns the module's exports; it runs once, at its first use. Our scripts and
//! wasm-bindgen's glue use few forms of `import` and `export`, each on a line of its own. Any other form is an error.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail, ensure};

/// The functions that return a module by its name.
const RUNTIME: &str = "const made = {};\nconst bundled = (name) => (made[name] ??= modules[name]());\n\
                       const bundledLater = async (name) => bundled(name);\n";

/// A bundled script: its entries, and the modules that they use.
pub(super) struct Bundle<const N: usize> {
    /// The modules, and the function `bundled`, with which an entry gets one.
    pub(super) modules: String,
    /// Each entry's own statements.
    pub(super) entries: [String; N],
}

/// Bundles entries with all modules that they import, directly or through others. Modules of `absent` are left out:
/// they may only be imported later, and then fail. The scripts are shortened ones: one statement a line, without
/// indentation.
pub(super) fn bundle<const N: usize>(
    entries: [&str; N],
    scripts: &BTreeMap<String, String>,
    absent: &[&str],
) -> Result<Bundle<N>> {
    let script = |name: &str| {
        let script = scripts.get(name);
        script.with_context(|| format!("no script is called {name}"))
    };
    let is_there = |name: &String| !absent.contains(&name.as_str());
    let mut wanted = Vec::new();
    let mut texts = entries.map(|_| String::new());
    for (entry, text) in entries.iter().zip(&mut texts) {
        let read = Module::of(script(entry)?).with_context(|| (*entry).to_owned())?;
        ensure!(
            read.exports.is_empty(),
            "{entry} is where a bundle begins, so nobody has its exports"
        );
        wanted.extend(read.imports);
        wanted.extend(read.later.into_iter().filter(is_there));
        *text = read.text;
    }
    let mut modules: BTreeMap<String, String> = BTreeMap::new();
    while let Some(name) = wanted.pop() {
        if modules.contains_key(&name) {
            continue;
        }
        ensure!(is_there(&name), "{name} is absent, and imported at once");
        let module = Module::of(script(&name)?).with_context(|| name.clone())?;
        wanted.extend(module.imports);
        wanted.extend(module.later.into_iter().filter(is_there));
        let returned = format!("return {{ {} }};\n", module.exports.join(", "));
        modules.insert(name, module.text + &returned);
    }
    let mut text = "const modules = {\n".to_owned();
    for (name, module) in modules {
        text.push_str(&format!("\"{name}\": () => {{\n{module}}},\n"));
    }
    text.push_str("};\n");
    text.push_str(RUNTIME);
    Ok(Bundle {
        modules: text,
        entries: texts,
    })
}

/// A module without its imports and exports.
#[derive(Default)]
struct Module {
    text: String,
    /// Modules that it imports at its start.
    imports: Vec<String>,
    /// Modules that it imports later, with `import()`.
    later: Vec<String>,
    /// Its exports: `name`, or `as: name`.
    exports: Vec<String>,
}

impl Module {
    fn of(script: &str) -> Result<Self> {
        let mut module = Self::default();
        for line in script.lines() {
            if line.starts_with("import ") {
                module.import(line)?;
            } else if let Some(rest) = line.strip_prefix("export ") {
                module.export(rest)?;
            } else {
                module.push(line)?;
            }
        }
        Ok(module)
    }

    /// Reads a line `import init, { A, B } from "./{{name}}";`.
    fn import(&mut self, line: &str) -> Result<()> {
        let parts = line.strip_prefix("import ").and_then(|rest| {
            let (names, rest) = rest.split_once(" from \"./{{")?;
            Some((names, rest.strip_suffix("}}\";")?))
        });
        let (names, from) = parts.with_context(|| format!("cannot be bundled: {line}"))?;
        let names = match names.split_once('{') {
            Some(("", named)) => format!("{{{named}"),
            Some((default, named)) => {
                let default = default.trim_end_matches([' ', ',']);
                format!("{{ default: {default},{named}")
            }
            None => format!("{{ default: {names} }}"),
        };
        self.imports.push(from.to_owned());
        self.text
            .push_str(&format!("const {names} = bundled(\"{from}\");\n"));
        Ok(())
    }

    /// Reads the rest of a line behind `export `: a declaration, or `{ a, b as c };`.
    fn export(&mut self, rest: &str) -> Result<()> {
        if let Some(list) = rest
            .strip_prefix('{')
            .and_then(|list| list.strip_suffix("};"))
        {
            for item in list.split(',').map(str::trim) {
                self.exports.push(match item.split_once(" as ") {
                    Some((name, known_as)) => format!("{known_as}: {name}"),
                    None => item.to_owned(),
                });
            }
            return Ok(());
        }
        let declared = rest.strip_prefix("async ").unwrap_or(rest);
        let name = ["const ", "function ", "class "]
            .iter()
            .find_map(|word| declared.strip_prefix(word))
            .and_then(|behind| {
                behind
                    .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                    .next()
            })
            .filter(|name| !name.is_empty());
        let name = name.with_context(|| format!("cannot be bundled: export {rest}"))?;
        self.exports.push(name.to_owned());
        self.push(rest)
    }

    /// Adds any other line. Imports at a later time become calls; addresses of files become the files' plain names.
    fn push(&mut self, line: &str) -> Result<()> {
        let mut rest = line;
        while let Some((before, behind)) = rest.split_once("\"./{{") {
            let (name, behind) = behind
                .split_once("}}\"")
                .with_context(|| format!("cannot be bundled: {line}"))?;
            if let Some(before) = before.strip_suffix("import(") {
                self.later.push(name.to_owned());
                self.text
                    .push_str(&format!("{before}bundledLater(\"{name}\""));
                rest = behind;
            } else if let (Some(before), Some(behind)) = (
                before.strip_suffix("new URL("),
                behind.strip_prefix(", import.meta.url)"),
            ) {
                self.text.push_str(&format!("{before}\"{name}\""));
                rest = behind;
            } else {
                bail!("cannot be bundled: {line}");
            }
        }
        self.text.push_str(rest);
        self.text.push('\n');
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scripts(of: &[(&str, &str)]) -> BTreeMap<String, String> {
        of.iter()
            .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
            .collect()
    }

    #[test]
    fn each_imported_module_becomes_a_function() {
        let scripts = scripts(&[
            (
                "entry.js",
                "import init, { A } from \"./{{glue.js}}\";\nconst { b } = await import(\"./{{b.js}}\");\n\
                 import(\"./{{none.js}}\");\ninit(fetch(new URL(\"./{{a.wasm}}\", import.meta.url)), b);\n",
            ),
            (
                "glue.js",
                "export class A {}\nfunction start() {}\nexport { start as default };\n",
            ),
            (
                "b.js",
                "import { A } from \"./{{glue.js}}\";\nexport const b = new A();\n",
            ),
            ("unused.js", ""),
        ]);
        let Bundle { modules, entries } = bundle(["entry.js"], &scripts, &["none.js"]).unwrap();
        insta::assert_snapshot!(modules.replace(RUNTIME, "…") + &entries[0], @r#"
        const modules = {
        "b.js": () => {
        const { A } = bundled("glue.js");
        const b = new A();
        return { b };
        },
        "glue.js": () => {
        class A {}
        function start() {}
        return { A, default: start };
        },
        };
        …const { default: init, A } = bundled("glue.js");
        const { b } = await bundledLater("b.js");
        bundledLater("none.js");
        init(fetch("a.wasm"), b);
        "#);
    }

    #[test]
    fn other_forms_of_import_and_export_are_refused() {
        for script in [
            "import \"./{{a.js}}\";",
            "import * as a from \"./a.js\";",
            "export default 1;",
            "load(\"./{{a.wasm}}\")",
            "import(\"./{{missing.js}}\")",
        ] {
            let scripts = scripts(&[("entry.js", script)]);
            assert!(bundle(["entry.js"], &scripts, &[]).is_err(), "{script}");
        }
        let import = scripts(&[("entry.js", "import { a } from \"./{{none.js}}\";")]);
        assert!(bundle(["entry.js"], &import, &["none.js"]).is_err());
        let exports = scripts(&[("entry.js", "export const a = 1;")]);
        assert!(bundle(["entry.js"], &exports, &[]).is_err());
    }
}
