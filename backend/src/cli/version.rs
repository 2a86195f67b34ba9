//! `watchscope version`: the version of the program, and of all that it exchanges with other builds.

use serde::Serialize;
use watchscope_model::Row;
use watchscope_model::codec::FORMAT_VERSION as FRAMES;
use watchscope_model::wire::PROTOCOL_VERSION;
use watchscope_recording::FORMAT_VERSION as RECORDINGS;

use super::args::{VersionArgs, VersionOutput};
use super::exit::Failure;
use super::out;

/// What this build is, and which builds can read what it writes.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Build {
    /// The version of the program.
    version: &'static str,
    /// The commit that was built, in 40 hexadecimal digits; left out where the build could not know it.
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<&'static str>,
    /// The version of the messages between server and page. A page of another version asks to be reloaded.
    protocol: u32,
    /// The version of recordings that this build writes. It reads this one and all before.
    recording_format: u32,
    /// The version of the frames in recordings and on the socket. This build reads this one and earlier ones.
    frame_format: u8,
    /// The number of the newest failure in the catalogue: 50 means F01 to F50. A failure never changes its code, so a
    /// greater number is a newer catalogue.
    catalogue: usize,
}

/// Prints the version.
///
/// # Errors
/// Exit code 1 if standard output cannot be written.
pub(super) fn version(args: &VersionArgs, commit: Option<&'static str>) -> Result<(), Failure> {
    out::print(&text(args.output, &build(commit)))
}

fn build(commit: Option<&'static str>) -> Build {
    Build {
        version: env!("CARGO_PKG_VERSION"),
        commit,
        protocol: PROTOCOL_VERSION,
        recording_format: RECORDINGS,
        frame_format: FRAMES,
        catalogue: Row::COUNT,
    }
}

fn text(output: VersionOutput, build: &Build) -> String {
    match output {
        VersionOutput::Text => format!("watchscope {}\n", build.version),
        VersionOutput::Json => {
            let json = serde_json::to_string_pretty(build);
            json.expect("numbers and texts have a JSON form") + "\n"
        }
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    #[test]
    fn the_json_form_names_each_version_and_the_commit_where_it_is_known() {
        let of = |commit| text(VersionOutput::Json, &build(commit));
        assert_snapshot!(of(Some("6f2c")), @r#"
        {
          "version": "0.1.0",
          "commit": "6f2c",
          "protocol": 2,
          "recordingFormat": 1,
          "frameFormat": 4,
          "catalogue": 50
        }
        "#);
        assert!(!of(None).contains("commit"));
    }

    #[test]
    fn the_text_is_that_of_the_flag() {
        let command = crate::cli::args::command_line();
        assert_eq!(
            text(VersionOutput::Text, &build(Some("6f2c"))),
            command.render_version()
        );
    }
}
