//! The completion as a shell sees it: candidates for command lines, without a cluster.

use insta::assert_snapshot;

use super::*;

/// Returns the answer to these words, the last under the cursor. No kubeconfig, home or configuration file is there.
async fn asked(line: &str) -> String {
    let mut root = command_line();
    root.build();
    let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    answer(&root, &walk(&root, &words)).await.text()
}

/// Returns the values alone, in one line, with the directive.
async fn values(line: &str) -> String {
    let text = asked(line).await;
    let values = text
        .lines()
        .map(|line| line.split('\t').next().unwrap_or_default());
    values.collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn commands_come_first_and_hidden_ones_never() {
    assert_snapshot!(values("").await, @"serve demo watch record replay export audit simulate lessons open token explain version completion man help :4");
    assert_snapshot!(asked("exp").await, @r"
    export	Write a stretch of recordings as a picture, a timeline, a table or lines
    explain	Explain a failure of the catalogue: how it looks, and what to do
    :4
    ");
    assert_snapshot!(values("help re").await, @"record replay :4");
    assert_snapshot!(values("__").await, @":4");
}

#[tokio::test]
async fn flags_come_with_what_they_mean_and_once() {
    assert_snapshot!(asked("watch --n").await, @r"
    --namespace	Namespace to watch [default: the context's]
    :4
    ");
    assert_snapshot!(values("explain -").await, @"--config -h --help :4");
    assert_snapshot!(values("watch -n shop --n").await, @":4");
    assert_snapshot!(values("watch -A --names").await, @":4");
    assert_snapshot!(values("serve --allow-host a --allow").await, @"--allow-host :4");
    assert_snapshot!(values("watch pods -- --n").await, @":4");
}

#[tokio::test]
async fn values_come_from_what_the_program_knows() {
    assert_snapshot!(asked("explain F1").await, @r"
    F10	closed at once instead of expired
    F11	fell off the watch cache
    F12	compacted in etcd
    F13	410 as an HTTP status
    F14	410 from server to server without end
    F15	too many requests
    F16	all watches of a type ended by the server's cache
    F17	an edit of the CRD ended its watches
    F18	the resource is served no longer
    F19	watched again without a resourceVersion
    :4
    ");
    assert_snapshot!(values("watch -o ").await, @"text jsonl :4");
    assert_snapshot!(values("watch -Ao j").await, @"jsonl :4");
    assert_snapshot!(values("watch --output=te").await, @"text :4");
    assert_snapshot!(values("lessons ").await, @"watch-event ghost three-tries who-hung-up silent expired quiet herd away back-in-time stale starved poisoned :4");
    assert_snapshot!(values("lessons ghost ").await, @":4");
    assert_snapshot!(values("demo F0").await, @"F01 F02 F03 F04 F05 F06 F07 F08 F09 :4");
    assert_snapshot!(values("demo --fault reset@3,de").await, @"reset@3,delay :4");
    assert_snapshot!(values("export a.wscope --hide names,uids,n").await, @"names,uids,namespaces names,uids,nodes :4");
    assert_snapshot!(values("completion ").await, @"bash zsh fish powershell nushell kubectl :4");
}

#[tokio::test]
async fn files_are_left_to_the_shell() {
    assert_snapshot!(values("replay ").await, @"wscope :8");
    assert_snapshot!(values("watch --from a.wscope ").await, @"wscope :8");
    assert_snapshot!(values("watch --from a.wscope --j").await, @"--judge :4");
    assert_snapshot!(values("record pods -o ").await, @":0");
    assert_snapshot!(values("serve --history ").await, @":16");
    assert_snapshot!(values("export a.wscope --from ").await, @":4");
}

/// The words before the cursor decide whether a command may stand there, as clap decides it.
#[tokio::test]
async fn a_word_is_a_command_only_where_clap_reads_one() {
    let commands = |line: &str| {
        let mut root = command_line();
        root.build();
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        !walk(&root, &words).commands().is_empty()
    };
    assert!(commands("w") && commands("--config x w"));
    for line in ["-A w", "pods w", "-- w", "watch w", "-n w"] {
        assert!(!commands(line), "{line}");
    }
}

/// A new argument takes its place here, so that nobody forgets to complete it.
#[test]
fn each_value_has_its_source() {
    let root = command_line();
    let commands = std::iter::once(&root).chain(root.get_subcommands());
    let mut sources = std::collections::BTreeMap::<String, Vec<String>>::new();
    for command in commands {
        for option in command.get_arguments() {
            if !option.get_action().takes_values() {
                continue;
            }
            let source = match source_of(option) {
                Source::Choices(_) => "Choices".to_owned(),
                other => format!("{other:?}"),
            };
            let names = sources.entry(source).or_default();
            let name = option.get_id().to_string();
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    let lines = sources
        .iter()
        .map(|(source, names)| format!("{source}: {}\n", names.join(" ")));
    assert_snapshot!(lines.collect::<String>(), @r"
    Choices: level redact judge output hide form theme
    Contexts: context
    Faults: fault
    Files: kubeconfig token_file config out font kubeconfig_out
    Findings: code
    Folders: folder ui_dir out
    Lessons: lesson
    Namespaces: namespace
    Recordings: from files
    Resources: resources metadata_only
    Shells: shell
    Stories: story
    Unknown: selector field_selector servers watch_timeout bytes size_bytes bodies_bytes age listen allow_host health_listen seed server_version etcd_version load log for_duration from to lanes context title size zone port url
    ");
}
