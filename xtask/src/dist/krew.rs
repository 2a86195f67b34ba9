//! The manifest with which krew installs the program as a plugin of kubectl (<https://krew.sigs.k8s.io/docs/developer-guide/>).

use std::fmt::Write as _;

use super::architecture::Architecture;
use super::release::Release;

/// An archive that krew can download.
pub(super) struct Download {
    pub(super) architecture: Architecture,
    /// Its address.
    pub(super) url: String,
    /// Its SHA-256 in hexadecimal digits.
    pub(super) checksum: String,
    /// The path of the program in it.
    pub(super) program: String,
}

/// Returns the manifest. Its texts need no quotes that YAML would not understand: they are ours.
pub(super) fn manifest(release: &Release, downloads: &[Download]) -> String {
    let mut manifest = format!(
        "apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: watchscope
spec:
  version: v{}
  shortDescription: {:?}
  description: |
    Records what the list and watch calls of a client deliver, judges it, and draws it live in the
    browser: streams and how they end, gaps, relists, silences, and deletes that were never delivered.
    It sends GET requests only.
  platforms:
",
        release.version,
        super::SUMMARY,
    );
    for download in downloads {
        let _ = writeln!(
            manifest,
            "    - selector:
        matchLabels:
          os: linux
          arch: {}
      uri: {:?}
      sha256: {:?}
      bin: {:?}",
            download.architecture, download.url, download.checksum, download.program
        );
    }
    manifest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_has_a_platform_for_each_archive() {
        let download = Download {
            architecture: Architecture::Arm64,
            url: "https://downloads.example/a.tar.gz".to_owned(),
            checksum: "ab".to_owned(),
            program: "a/watchscope".to_owned(),
        };
        insta::assert_snapshot!(manifest(&Release::example(), &[download]), @r#"
        apiVersion: krew.googlecontainertools.github.com/v1alpha2
        kind: Plugin
        metadata:
          name: watchscope
        spec:
          version: v1.2.3
          shortDescription: "An oscilloscope for Kubernetes watches"
          description: |
            Records what the list and watch calls of a client deliver, judges it, and draws it live in the
            browser: streams and how they end, gaps, relists, silences, and deletes that were never delivered.
            It sends GET requests only.
          platforms:
            - selector:
                matchLabels:
                  os: linux
                  arch: arm64
              uri: "https://downloads.example/a.tar.gz"
              sha256: "ab"
              bin: "a/watchscope"
        "#);
    }
}
