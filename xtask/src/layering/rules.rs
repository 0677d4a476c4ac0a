//! What each package of the workspace may know. Add a rule here when you add a package.
//! A crate exists only where a dependency must be impossible; these rules are those impossibilities.

/// The rule of one package, for its normal and build dependencies.
#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) package: &'static str,
    /// Packages of this workspace that it may depend on.
    pub(crate) may_use: &'static [&'static str],
    /// Crates from outside that it must not depend on.
    pub(crate) never: &'static [Ban],
    /// Why it may have lints of its own instead of the workspace's.
    pub(crate) own_lints: Option<&'static str>,
}

#[derive(Debug)]
pub(crate) struct Ban {
    pub(crate) name: &'static str,
    pub(crate) why: &'static str,
    /// Allowed behind a feature.
    pub(crate) unless_optional: bool,
}

const fn never(name: &'static str, why: &'static str) -> Ban {
    Ban { name, why, unless_optional: false }
}

const fn only_optional(name: &'static str, why: &'static str) -> Ban {
    Ban { name, why, unless_optional: true }
}

pub(crate) const RULES: &[Rule] = &[
    Rule {
        package: "steadfast-form",
        may_use: &[],
        never: &[
            never("tokio", "a file is read, and nothing waits"),
            never("serde", "it keeps the place of every value, which no data model of serde does"),
            never("anyhow", "a library has its own error type, by cause"),
        ],
        own_lints: None,
    },
    Rule {
        package: "steadfast-resilience",
        // Behind its feature `policy`.
        may_use: &["steadfast-form"],
        never: &[
            never("rusqlite", "it keeps no store; state leaves it through the exchange trait"),
            never("tokio-postgres", "it keeps no store; state leaves it through the exchange trait"),
            never("axum", "it serves nothing; it stands alone in any program"),
            never("hyper", "it makes no calls; it surrounds the caller's"),
            never("anyhow", "a library has its own error type, by cause"),
            never("rand", "randomness is injected, through fastrand"),
            only_optional("tokio", "blocking programs and the sans-IO core need no runtime"),
            only_optional("reqwest", "it makes no calls; a helper for those who do is their choice"),
            never("opentelemetry", "an exporter is an HTTP client: that is what steadfast-otel is for"),
            never("opentelemetry-otlp", "an exporter is an HTTP client: that is what steadfast-otel is for"),
            only_optional("metrics", "who measures nothing pays for no facade"),
            only_optional("serde", "who reads no policy file pays for no parser"),
            only_optional("serde_json", "who reads no policy file pays for no parser"),
            only_optional("toml", "who reads no policy file pays for no parser"),
        ],
        own_lints: None,
    },
    Rule {
        package: "steadfast-engine",
        may_use: &[],
        never: &[
            never("tokio", "the rules are pure: no async, no clock, no I/O"),
            never("fastrand", "the rules are pure: randomness comes in with the event"),
            never("rusqlite", "the rules are pure: they know no store"),
            never("tokio-postgres", "the rules are pure: they know no store"),
            never("tracing", "the rules are pure: whoever carries a plan out tells of it"),
            never("jiff", "the rules are pure: which offsets a time zone has comes from outside"),
            never("anyhow", "a library has its own error type, by cause"),
        ],
        own_lints: None,
    },
    Rule {
        package: "steadfast-store",
        may_use: &["steadfast-engine"],
        never: &[
            never("tokio", "the contract needs no runtime"),
            never("rusqlite", "the stores do not see each other, and the contract sees none"),
            never("tokio-postgres", "the stores do not see each other, and the contract sees none"),
            never("anyhow", "a library has its own error type, by cause"),
        ],
        own_lints: None,
    },
    Rule {
        package: "steadfast-store-sqlite",
        may_use: &["steadfast-engine", "steadfast-store"],
        never: &[
            never("tokio", "its loop body is a function: a thread drives it, and tests inline"),
            never("tokio-postgres", "the stores do not see each other"),
            never("anyhow", "a library has its own error type, by cause"),
        ],
        own_lints: None,
    },
    Rule {
        package: "steadfast-runtime",
        may_use: &["steadfast-engine", "steadfast-resilience", "steadfast-store"],
        never: &[
            never("rusqlite", "it knows the contract, and no store"),
            never("tokio-postgres", "it knows the contract, and no store"),
            never("axum", "it serves nothing"),
            never("anyhow", "a library has its own error type, by cause"),
        ],
        own_lints: None,
    },
    Rule {
        package: "steadfast",
        may_use: &[
            "steadfast-engine",
            "steadfast-resilience",
            "steadfast-runtime",
            "steadfast-store",
            "steadfast-store-sqlite",
        ],
        never: &[
            never("axum", "a program that embeds the engine serves nothing"),
            never("anyhow", "a library has its own error type, by cause"),
        ],
        own_lints: None,
    },
    Rule {
        package: "steadfast-flow",
        may_use: &[
            "steadfast-engine",
            "steadfast-form",
            "steadfast-resilience",
            "steadfast-runtime",
            "steadfast-store",
        ],
        never: &[
            never("reqwest", "an agent makes the calls"),
            never("hyper", "an agent makes the calls"),
            never("axum", "it serves nothing"),
            never("rusqlite", "it knows no store"),
            never("anyhow", "a library has its own error type, by cause"),
        ],
        own_lints: None,
    },
    Rule {
        package: "steadfast-http",
        may_use: &["steadfast-flow", "steadfast-resilience", "steadfast-runtime", "steadfast-store"],
        never: &[
            never("axum", "it serves nothing"),
            never("rusqlite", "it keeps nothing"),
            never("anyhow", "a library has its own error type, by cause"),
        ],
        own_lints: None,
    },
    Rule {
        package: "steadfast-client",
        may_use: &["steadfast-resilience"],
        never: &[
            never("rusqlite", "it reaches a store only through a server"),
            never("axum", "it serves nothing"),
            never("anyhow", "a library has its own error type, by cause"),
        ],
        own_lints: None,
    },
    Rule {
        package: "steadfast-server",
        may_use: &[
            "steadfast",
            "steadfast-client",
            "steadfast-flow",
            "steadfast-form",
            "steadfast-http",
            "steadfast-otel",
            "steadfast-resilience",
            "steadfast-runtime",
        ],
        never: &[
            never("rusqlite", "it knows the engine, and no store"),
            never("tokio-postgres", "it knows the engine, and no store"),
            never("anyhow", "a library has its own error type, by cause"),
        ],
        own_lints: None,
    },
    Rule {
        package: "steadfast-shop",
        // It is a user: of the engine, and of a server through the client. Whoever starts it brings the server.
        may_use: &["steadfast", "steadfast-client", "steadfast-resilience"],
        never: &[],
        own_lints: None,
    },
    Rule {
        package: "steadfast-testkit",
        may_use: &["steadfast-engine", "steadfast-resilience", "steadfast-runtime", "steadfast-store"],
        never: &[
            never("rusqlite", "it scripts services and keeps no store"),
            never("tokio-postgres", "it scripts services and keeps no store"),
            never("axum", "it speaks HTTP to break it, below what a framework lets one do"),
            never("reqwest", "it stands in for services; clients are the user's"),
            never("anyhow", "a library has its own error type, by cause"),
            never("rand", "randomness comes from resilience, so that a seed replays a script"),
            only_optional("hyper", "who tests in process pays for no HTTP"),
            only_optional("hyper-util", "who tests in process pays for no HTTP"),
            only_optional("http-body-util", "who tests in process pays for no HTTP"),
        ],
        own_lints: None,
    },
    Rule {
        package: "steadfast-otel",
        // It knows the library only by the names of its spans and metrics; its tests know more.
        may_use: &[],
        never: &[never("anyhow", "a library has its own error type, by cause")],
        own_lints: None,
    },
    Rule {
        package: "steadfast-cli",
        may_use: &[
            "steadfast-client",
            "steadfast-flow",
            "steadfast-form",
            // Behind its feature `otel`.
            "steadfast-otel",
            "steadfast-resilience",
            "steadfast-server",
            // `steadfast demo` opens the shop over a server in its process.
            "steadfast-shop",
        ],
        never: &[
            never("rusqlite", "the command line reaches a store only through a server"),
            never("tokio-postgres", "the command line reaches a store only through a server"),
        ],
        own_lints: None,
    },
    Rule {
        package: "steadfast-bench",
        may_use: &[
            "steadfast",
            "steadfast-engine",
            "steadfast-resilience",
            "steadfast-runtime",
            "steadfast-store",
            "steadfast-store-sqlite",
            "steadfast-testkit",
        ],
        never: &[],
        own_lints: Some("counting allocations takes a GlobalAlloc, which is an unsafe trait"),
    },
    Rule {
        package: "steadfast-crash",
        may_use: &[
            "steadfast-engine",
            "steadfast-resilience",
            "steadfast-runtime",
            "steadfast-store",
            "steadfast-store-sqlite",
        ],
        never: &[never("clap", "its commands are for xtask, which knows them")],
        own_lints: None,
    },
    Rule { package: "xtask", may_use: &[], never: &[], own_lints: None },
];
