//! The plan of the rooms: which there are, what each may use, and what is still owed.

/// A crate and its rooms.
pub(super) struct Crate {
    /// Its name, as its manifest has it.
    pub(super) name: &'static str,
    /// Its folder, from the root of the project.
    pub(super) folder: &'static str,
    pub(super) rooms: &'static [Room],
    /// Circles of files that may stay: one type whose code lies in several files, which its module documentation says.
    pub(super) machines: &'static [&'static [&'static str]],
    /// Circles of files that are still to be opened, each sorted.
    pub(super) circles: &'static [&'static [&'static str]],
}

/// A part of a crate with one role.
pub(super) struct Room {
    pub(super) name: &'static str,
    /// Its modules, as paths below src/; of two rooms that a file fits, it is in the one with the longer path.
    pub(super) parts: &'static [&'static str],
    /// The rooms that it may use.
    pub(super) uses: &'static [&'static str],
    /// The rooms that it uses today and should not.
    pub(super) owes: &'static [&'static str],
}

const fn room(
    name: &'static str,
    parts: &'static [&'static str],
    uses: &'static [&'static str],
) -> Room {
    Room {
        name,
        parts,
        uses,
        owes: &[],
    }
}

/// All crates whose rooms are planned.
pub(super) const PLAN: &[Crate] = &[
    BACKEND, APP, DIAGNOSIS, TIMELINE, JOURNAL, LOG, MODEL, RECORDING, REPLAY, SEARCH, EXPORT,
    SIMULATOR,
];

const BACKEND: Crate = Crate {
    name: "watchscope",
    folder: "backend",
    rooms: &[
        room("stop", &["stop"], &[]),
        room("origin", &["origin"], &[]),
        room("raster", &["raster"], &[]),
        room("metrics", &["metrics"], &[]),
        room("transport", &["transport"], &[]),
        room("cluster", &["cluster"], &["transport"]),
        room("session", &["session"], &["origin"]),
        room("log", &["log"], &["metrics"]),
        room("recordings", &["recordings"], &["log"]),
        room("history", &["history"], &["log", "metrics", "recordings"]),
        room("replay", &["replay"], &["log", "recordings"]),
        room("control", &["control"], &["origin", "session"]),
        room("demo", &["demo"], &["origin"]),
        room("hub_api", &["hub/api"], &[]),
        room(
            "hub",
            &["hub"],
            &["history", "hub_api", "log", "metrics", "recordings"],
        ),
        room("upstream", &["upstream"], &["cluster", "log", "transport"]),
        room(
            "probes",
            &["probes"],
            &["cluster", "log", "stop", "transport", "upstream"],
        ),
        room(
            "audit",
            &["audit"],
            &["cluster", "log", "stop", "transport", "upstream"],
        ),
        room(
            "follow",
            &["follow"],
            &["audit", "cluster", "log", "probes", "transport", "upstream"],
        ),
        room("web", &["web"], &["hub_api", "origin", "session"]),
        room(
            "scrape",
            &["scrape"],
            &["history", "hub", "log", "metrics", "web"],
        ),
        room(
            "cli",
            &["cli", "lib", "main"],
            &[
                "audit",
                "cluster",
                "control",
                "demo",
                "follow",
                "history",
                "hub",
                "hub_api",
                "log",
                "metrics",
                "origin",
                "probes",
                "raster",
                "recordings",
                "replay",
                "scrape",
                "session",
                "stop",
                "transport",
                "upstream",
                "web",
            ],
        ),
    ],
    machines: &[],
    circles: &[],
};

const APP: Crate = Crate {
    name: "watchscope-app",
    folder: "frontend/app",
    rooms: &[
        room("source", &["source"], &[]),
        room("input", &["input"], &[]),
        room("body", &["body"], &[]),
        room("decimal", &["decimal"], &[]),
        room("paint", &["paint"], &["decimal"]),
        room("core", &["core"], &["body", "decimal", "input", "source"]),
        room(
            "core/second",
            &["core/second"],
            &["body", "core", "decimal", "input", "source"],
        ),
        room(
            "runtime",
            &["runtime"],
            &["core", "decimal", "paint", "source"],
        ),
        room(
            "panels",
            &["panels"],
            &[
                "body", "core", "decimal", "input", "paint", "runtime", "source",
            ],
        ),
        room("exports", &["exports"], &["runtime"]),
        room(
            "second",
            &["second"],
            &["core", "exports", "panels", "runtime"],
        ),
        room(
            "root",
            &["lib", "main", "start"],
            &["core", "runtime", "second"],
        ),
    ],
    machines: &[],
    circles: &[],
};

const DIAGNOSIS: Crate = Crate {
    name: "watchscope-diagnosis",
    folder: "shared/diagnosis",
    rooms: &[
        room("text", &["text"], &[]),
        room("versions", &["versions"], &[]),
        room("limits", &["limits"], &[]),
        room("awake", &["awake"], &[]),
        room("server_words", &["server_words"], &[]),
        room("explain", &["explain"], &[]),
        room("attribution", &["attribution"], &["server_words"]),
        room("audit", &["audit"], &["limits", "text", "versions"]),
        room(
            "findings",
            &["findings"],
            &[
                "attribution",
                "awake",
                "limits",
                "server_words",
                "text",
                "versions",
            ],
        ),
        room(
            "root",
            &["lib"],
            &[
                "attribution",
                "audit",
                "awake",
                "explain",
                "findings",
                "limits",
                "text",
                "versions",
            ],
        ),
    ],
    machines: &[],
    circles: &[],
};

const TIMELINE: Crate = Crate {
    name: "watchscope-timeline",
    folder: "shared/timeline",
    rooms: &[
        room(
            "ground",
            &[
                "tokens",
                "id",
                "glyph",
                "scene",
                "format",
                "view",
                "svg",
                "sorted",
                "record_run",
            ],
            &[],
        ),
        room("levels", &["levels"], &["ground"]),
        room("store", &["store"], &["ground", "levels"]),
        room("phrases", &["phrases"], &["ground", "store"]),
        room("findings", &["findings"], &["ground", "store"]),
        room("evidence", &["evidence"], &["findings", "ground", "store"]),
        room(
            "between",
            &["between"],
            &["ground", "levels", "phrases", "store"],
        ),
        room(
            "lanes",
            &["lanes"],
            &["findings", "ground", "phrases", "store"],
        ),
        room(
            "troubles",
            &["troubles"],
            &["findings", "ground", "lanes", "store"],
        ),
        room(
            "draw",
            &["draw"],
            &[
                "evidence", "ground", "lanes", "levels", "phrases", "store", "troubles",
            ],
        ),
        room(
            "inside",
            &["inside"],
            &["draw", "ground", "lanes", "levels", "phrases", "store"],
        ),
        room(
            "why",
            &["why"],
            &["evidence", "findings", "ground", "levels", "store"],
        ),
        room(
            "words",
            &["words"],
            &[
                "evidence", "findings", "ground", "inside", "lanes", "levels", "phrases", "store",
                "troubles", "why",
            ],
        ),
        room(
            "health",
            &["health"],
            &["findings", "ground", "phrases", "store"],
        ),
        room(
            "table",
            &["table"],
            &["ground", "inside", "lanes", "store", "words"],
        ),
        room(
            "picture",
            &["picture"],
            &["draw", "ground", "lanes", "phrases", "store"],
        ),
        room("overview", &["overview"], &["ground", "store"]),
        room(
            "records",
            &["records"],
            &["draw", "ground", "inside", "lanes", "store"],
        ),
        room("root", &["lib"], &[]),
    ],
    machines: &[],
    circles: &[],
};

const JOURNAL: Crate = Crate {
    name: "watchscope-journal",
    folder: "shared/journal",
    rooms: &[
        room("sink", &["sink"], &[]),
        room("audit", &["audit"], &[]),
        room("again", &["again"], &[]),
        room("journal", &["journal"], &["audit", "sink"]),
        room("root", &["lib"], &["again", "audit", "journal", "sink"]),
    ],
    machines: &[],
    circles: &[],
};

const LOG: Crate = Crate {
    name: "watchscope-log",
    folder: "shared/log",
    rooms: &[
        room("segment", &["segment"], &[]),
        room("sealer", &["sealer"], &["catalogue", "segment"]),
        room("catalogue", &["catalogue", "no_catalogue"], &[]),
        room("ring", &["ring"], &["catalogue", "segment"]),
        room("reader", &["reader"], &["catalogue", "ring", "segment"]),
        room(
            "root",
            &["lib"],
            &["catalogue", "reader", "ring", "sealer", "segment"],
        ),
    ],
    machines: &[],
    circles: &[],
};

const MODEL: Crate = Crate {
    name: "watchscope-model",
    folder: "shared/model",
    rooms: &[
        room(
            "base",
            &[
                "time",
                "id",
                "vocabulary",
                "row",
                "tree",
                "map",
                "request",
                "options",
                "chance",
                "fnv",
                "json_reader",
            ],
            &[],
        ),
        room("codec", &["codec"], &["base"]),
        room("field", &["field"], &["base", "codec"]),
        room("rewrite", &["rewrite"], &["base", "field"]),
        room(
            "event",
            &["event", "change", "event_use", "finding", "kinds"],
            &["base", "codec", "field", "rewrite"],
        ),
        room(
            "inside",
            &["inside"],
            &["base", "codec", "event", "field", "rewrite"],
        ),
        room(
            "json",
            &["json"],
            &["base", "codec", "event", "field", "inside"],
        ),
        room(
            "fold",
            &["fold"],
            &[
                "base", "codec", "event", "field", "inside", "json", "rewrite",
            ],
        ),
        room(
            "layers",
            &["layers"],
            &[
                "base", "codec", "event", "field", "fold", "inside", "json", "rewrite",
            ],
        ),
        room(
            "chapter",
            &["chapter"],
            &[
                "base", "codec", "event", "field", "fold", "inside", "json", "layers",
            ],
        ),
        room("summary", &["summary"], &["base", "codec", "event", "fold"]),
        room(
            "wire",
            &["wire"],
            &["base", "codec", "event", "field", "summary"],
        ),
        room(
            "notes",
            &["notes"],
            &["base", "codec", "event", "field", "wire"],
        ),
        room("belief", &["belief"], &["base"]),
        room("read", &["read"], &["base"]),
        room("root", &["lib"], &[]),
    ],
    machines: &[],
    circles: &[],
};

const RECORDING: Crate = Crate {
    name: "watchscope-recording",
    folder: "shared/recording",
    rooms: &[
        room("base", &["format", "error", "fields", "machine"], &[]),
        room("block", &["block"], &["base"]),
        room(
            "payloads",
            &["file_block", "summary", "chapter", "body", "index", "notes"],
            &["base", "block"],
        ),
        room(
            "reading",
            &["contents", "window", "walk", "scan", "read_chapter"],
            &["base", "block", "payloads"],
        ),
        room(
            "writing",
            &["write", "copy", "excerpt", "extract", "excerpt_file"],
            &["base", "block", "payloads", "reading"],
        ),
        room(
            "root",
            &["lib"],
            &["base", "block", "payloads", "reading", "writing"],
        ),
    ],
    machines: &[],
    circles: &[],
};

const REPLAY: Crate = Crate {
    name: "watchscope-replay",
    folder: "shared/replay",
    rooms: &[
        room("fetch", &["fetch"], &[]),
        room("words", &["words"], &[]),
        room("joined", &["joined"], &["fetch"]),
        room("about", &["about"], &["joined", "words"]),
        room("search", &["search"], &["joined"]),
        room(
            "opened",
            &["opened"],
            &["about", "fetch", "joined", "search", "words"],
        ),
        room("opening", &["opening"], &["joined", "opened", "words"]),
        room(
            "root",
            &["lib"],
            &[
                "about", "fetch", "joined", "opened", "opening", "search", "words",
            ],
        ),
    ],
    machines: &[],
    circles: &[],
};

const SEARCH: Crate = Crate {
    name: "watchscope-search",
    folder: "shared/search",
    rooms: &[
        room("ground", &["text", "hit", "versions"], &[]),
        room("answer", &["answer"], &[]),
        room("query", &["query"], &["ground"]),
        room("matching", &["matching"], &["ground", "query"]),
        room("named", &["named"], &["ground", "matching"]),
        room(
            "chapter",
            &["chapter", "held"],
            &["ground", "matching", "named", "query"],
        ),
        room("index", &["index"], &["ground", "named", "query"]),
        room(
            "root",
            &["lib"],
            &["answer", "chapter", "ground", "index", "named", "query"],
        ),
    ],
    machines: &[],
    circles: &[],
};

const EXPORT: Crate = Crate {
    name: "watchscope-export",
    folder: "shared/export",
    rooms: &[
        room("form", &["form"], &[]),
        room("seven_bits", &["seven_bits"], &[]),
        room("context", &["context"], &[]),
        room("taken", &["taken"], &[]),
        room("source", &["source"], &[]),
        room("lanes", &["lanes"], &["taken"]),
        room("measured", &["measured"], &["taken"]),
        room("charts", &["charts"], &["measured", "taken"]),
        room("digest", &["digest"], &["charts", "taken"]),
        room(
            "forms",
            &[
                "account",
                "by_hand",
                "csv",
                "html",
                "jsonl",
                "letters",
                "markdown",
                "picture",
                "recording",
                "report",
                "trace",
            ],
            &["charts", "seven_bits", "taken"],
        ),
        room(
            "root",
            &["lib"],
            &[
                "charts", "context", "digest", "form", "forms", "lanes", "taken",
            ],
        ),
    ],
    machines: &[],
    circles: &[],
};

const SIMULATOR: Crate = Crate {
    name: "watchscope-simulator",
    folder: "shared/simulator",
    rooms: &[
        room("json", &["json"], &[]),
        room("defect", &["defect"], &[]),
        room("version", &["version"], &[]),
        room(
            "base",
            &[
                "time", "random", "queue", "message", "kinds", "names", "manager", "scope",
            ],
            &["json"],
        ),
        room("fault", &["fault"], &["base", "defect"]),
        room(
            "etcd_version",
            &["etcd_version"],
            &["defect", "fault", "version"],
        ),
        room("settings", &["settings"], &["etcd_version"]),
        room("status", &["status"], &["base", "json", "version"]),
        room("schema", &["schema"], &["base", "json"]),
        room("object", &["object", "change"], &["base", "json", "schema"]),
        room(
            "selector",
            &["selector"],
            &["base", "json", "object", "status"],
        ),
        room(
            "etcd",
            &["etcd"],
            &[
                "base",
                "defect",
                "etcd_version",
                "fault",
                "json",
                "object",
                "settings",
            ],
        ),
        room("inside", &["inside"], &["base", "object", "version"]),
        room(
            "kubectl",
            &["kubectl"],
            &["base", "json", "object", "schema", "status"],
        ),
        room(
            "registry",
            &["registry"],
            &[
                "base", "etcd", "json", "kubectl", "object", "schema", "status",
            ],
        ),
        room(
            "apiserver",
            &["apiserver"],
            &[
                "base", "etcd", "fault", "inside", "json", "kubectl", "object", "registry",
                "schema", "selector", "settings", "status", "version",
            ],
        ),
        room("network", &["network"], &["base", "fault", "settings"]),
        room("client", &["client"], &["base", "json", "object"]),
        room(
            "workload",
            &["workload"],
            &["base", "etcd", "json", "object", "registry", "settings"],
        ),
        room("truth", &["truth"], &["base", "etcd", "object", "selector"]),
        room(
            "config",
            &["config"],
            &["apiserver", "settings", "version", "workload"],
        ),
        room(
            "world",
            &["world"],
            &[
                "apiserver",
                "base",
                "client",
                "config",
                "defect",
                "etcd",
                "fault",
                "inside",
                "json",
                "network",
                "object",
                "settings",
                "truth",
                "version",
                "workload",
            ],
        ),
        room("root", &["lib"], &[]),
    ],
    machines: &[&[
        "world.rs",
        "world/clients.rs",
        "world/faults.rs",
        "world/inside.rs",
        "world/parts.rs",
        "world/received.rs",
        "world/shutdown.rs",
        "world/tally.rs",
    ]],
    circles: &[],
};
