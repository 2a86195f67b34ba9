//! The list of parts for programs: CycloneDX 1.6 in JSON (<https://cyclonedx.org/docs/1.6/json/>).

use std::collections::BTreeSet;

use anyhow::Result;
use serde::Serialize;

use super::components::{Component, Components};
use super::release::Release;

/// The reference of the program itself.
const PROGRAM: &str = "watchscope";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Bom<'a> {
    bom_format: &'static str,
    spec_version: &'static str,
    version: u8,
    metadata: About<'a>,
    components: Vec<Part<'a>>,
    dependencies: Vec<Uses<'a>>,
}

#[derive(Serialize)]
struct About<'a> {
    timestamp: &'a str,
    component: Part<'a>,
}

#[derive(Serialize)]
struct Part<'a> {
    r#type: &'static str,
    #[serde(rename = "bom-ref")]
    reference: &'a str,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hashes: Option<[Hash<'a>; 1]>,
    licenses: [Licence<'a>; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    purl: Option<&'a str>,
}

#[derive(Serialize)]
struct Hash<'a> {
    alg: &'static str,
    content: &'a str,
}

#[derive(Serialize)]
struct Licence<'a> {
    expression: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Uses<'a> {
    r#ref: &'a str,
    depends_on: Vec<&'a str>,
}

/// Returns the list.
pub(super) fn cyclonedx(release: &Release, components: &Components) -> Result<Vec<u8>> {
    let used: BTreeSet<&String> = components.values().flat_map(|one| &one.uses).collect();
    let top = components
        .keys()
        .filter(|reference| !used.contains(reference));
    let mut dependencies = vec![Uses {
        r#ref: PROGRAM,
        depends_on: top.map(String::as_str).collect(),
    }];
    dependencies.extend(components.iter().map(|(reference, one)| Uses {
        r#ref: reference,
        depends_on: one.uses.iter().map(String::as_str).collect(),
    }));
    let bom = Bom {
        bom_format: "CycloneDX",
        spec_version: "1.6",
        version: 1,
        metadata: About {
            timestamp: &release.time,
            component: Part {
                r#type: "application",
                reference: PROGRAM,
                name: PROGRAM,
                version: Some(&release.version),
                hashes: None,
                licenses: [Licence {
                    expression: &release.licence,
                }],
                purl: None,
            },
        },
        components: components
            .iter()
            .map(|(reference, one)| part(reference, one))
            .collect(),
        dependencies,
    };
    let mut bytes = serde_json::to_vec_pretty(&bom)?;
    bytes.push(b'\n');
    Ok(bytes)
}

fn part<'a>(reference: &'a str, component: &'a Component) -> Part<'a> {
    let hash = |content| {
        [Hash {
            alg: "SHA-256",
            content,
        }]
    };
    Part {
        r#type: "library",
        reference,
        name: &component.name,
        version: component.version.as_deref(),
        hashes: component.checksum.as_deref().map(hash),
        licenses: [Licence {
            expression: &component.licence,
        }],
        purl: Some(reference),
    }
}

#[cfg(test)]
mod tests {
    use super::super::components::Texts;
    use super::super::components::tests::part;
    use super::*;

    #[test]
    fn the_list_names_each_part_its_licence_and_what_it_uses() -> Result<()> {
        let (first, mut one) = part("one", "MIT OR Apache-2.0", Texts::OfSpdx);
        let (second, mut two) = part("two", "Zlib", Texts::OfSpdx);
        one.uses.insert(second.clone());
        two.checksum = Some("ab".to_owned());
        let list = cyclonedx(
            &Release::example(),
            &Components::from([(first, one), (second, two)]),
        )?;
        insta::assert_snapshot!(String::from_utf8(list)?.replace("\n      ", " "), @r#"
        {
          "bomFormat": "CycloneDX",
          "specVersion": "1.6",
          "version": 1,
          "metadata": {
            "timestamp": "2001-09-09T01:46:40Z",
            "component": { "type": "application", "bom-ref": "watchscope", "name": "watchscope", "version": "1.2.3", "licenses": [   {     "expression": "Apache-2.0"   } ]
            }
          },
          "components": [
            { "type": "library", "bom-ref": "pkg:cargo/one@1.0.0", "name": "one", "version": "1.0.0", "licenses": [   {     "expression": "MIT OR Apache-2.0"   } ], "purl": "pkg:cargo/one@1.0.0"
            },
            { "type": "library", "bom-ref": "pkg:cargo/two@1.0.0", "name": "two", "version": "1.0.0", "hashes": [   {     "alg": "SHA-256",     "content": "ab"   } ], "licenses": [   {     "expression": "Zlib"   } ], "purl": "pkg:cargo/two@1.0.0"
            }
          ],
          "dependencies": [
            { "ref": "watchscope", "dependsOn": [   "pkg:cargo/one@1.0.0" ]
            },
            { "ref": "pkg:cargo/one@1.0.0", "dependsOn": [   "pkg:cargo/two@1.0.0" ]
            },
            { "ref": "pkg:cargo/two@1.0.0", "dependsOn": []
            }
          ]
        }
        "#);
        Ok(())
    }
}
