//! What `steadfast.toml` may say: the keys of the server itself, and those of a policy file beside them.

use steadfast_form::{Field, Section, Shape, field};
use steadfast_resilience::policy::{FILE_FIELDS, SERVICE_FIELDS};

use Shape::{Count, Duration, Either, Flag, List, LongDuration, Named, Number, Table, Text, Word};

/// More than this of anything is no limit any more.
const MANY: u32 = 1_000_000;

/// The whole file.
pub(crate) static CONFIG: Section = Section {
    name: "the file",
    doc: "Settings of a Steadfast server: where it listens, what it keeps, which services it calls and how.",
    presets: &[],
    fields: &FIELDS,
};

const OWN: [Field; 13] = [
    field(
        "listen",
        Text,
        "127.0.0.1:7171",
        "Where it listens: an address of this machine itself, and a port.",
    ),
    field(
        "callback_url",
        Text,
        "",
        "Where services reach this server that answer later, such as `https://steadfast.example`; without it, where it listens.",
    ),
    field(
        "hosts",
        List(&Text),
        "",
        "Names by which it is asked beside those of this machine itself, such as that of a proxy: `[\"steadfast.example\"]`. That of \
         `callback_url` is known.",
    ),
    field(
        "data",
        Text,
        "steadfast-data",
        "The folder that it keeps its store in. It is made if it is not there. Paths start from the folder of this file.",
    ),
    field(
        "store",
        Text,
        "",
        "The store's address, such as `sqlite:/var/lib/steadfast.db`; without it the file `steadfast.db` in `data`.",
    ),
    field(
        "workflows",
        Text,
        "",
        "A folder with workflow files. They are taken over at start and whenever they change; one of the API that differs is replaced at the next start.",
    ),
    field(
        "secrets",
        Text,
        "",
        "A folder with a file for each secret. Without it they are in `STEADFAST_SECRET_NAME`.",
    ),
    field("grace", Duration, "30s", "How long what runs may go on when the server is told to stop."),
    field("retention", Table(&RETENTION), "", "How long what is over is kept."),
    field("limits", Table(&LIMITS), "", "How much it takes at once."),
    field("log", Table(&LOG), "", "What it writes to stderr."),
    field("alerts", Table(&ALERTS), "", "Who is told of what goes wrong. It is in the log anyway."),
    field("telemetry", Table(&TELEMETRY), "", "Spans and metrics over OTLP."),
];

static SERVICE_TABLE: Shape = Table(&SERVICE);

const SERVICES: Field =
    field("service", Named(&SERVICE_TABLE), "", "Services by name: where they are, and how they are called.");

/// The keys of the server, then those of a policy file with services that have addresses.
const FIELDS: [Field; OWN.len() + FILE_FIELDS.len()] = {
    let mut fields = [OWN[0]; OWN.len() + FILE_FIELDS.len()];
    let mut at = 0;
    while at < OWN.len() {
        fields[at] = OWN[at];
        at += 1;
    }
    while at < fields.len() {
        fields[at] = FILE_FIELDS[at - OWN.len()];
        // It stands last in a policy file: a test says so.
        if at == fields.len() - 1 {
            fields[at] = SERVICES;
        }
        at += 1;
    }
    fields
};

/// `[service.NAME]`.
pub(crate) static SERVICE: Section = Section {
    name: "service",
    doc: "Where a service is, and how it is called.",
    presets: &[],
    fields: &SERVICE_ALL,
};

pub(crate) const SERVICE_OWN: [Field; 11] = [
    field(
        "url",
        Text,
        "",
        "Where it is: `https://host/path` or `http://host:port/path`. What a step's request says as its path comes behind this.",
    )
    .needed(),
    field("headers", Named(&Text), "", "Headers of each request. `secret://NAME` stands for a secret."),
    field(
        "secrets",
        List(&Text),
        "",
        "Secrets that steps may send to it, by name. Those of `headers` need not be here.",
    ),
    field(
        "most_running",
        Count(1, MANY),
        "1000",
        "How many attempts may run at a time; others wait in line.",
    ),
    field(
        "most_per_second",
        Number(0.001, 1e6),
        "",
        "How many attempts may begin in a second; others wait in line.",
    ),
    field("ramp", Flag, "true", "Whether work that waited for it comes back in growing steps."),
    field(
        "max_request",
        Either(&[Count(1, 256 << 20), Text]),
        "8MiB",
        "The largest body that is sent, such as `512KiB`; at most 256 MiB.",
    ),
    field(
        "max_response",
        Either(&[Count(1, 256 << 20), Text]),
        "8MiB",
        "The largest body that is read; at most 256 MiB.",
    ),
    field("connect_timeout", Duration, "5s", "How long it may take to reach it, TLS included; at most three quarters of `attempt_timeout`."),
    field("http2", Flag, "false", "Whether it is spoken to in HTTP/2 without TLS. With TLS, HTTP/2 is used where the service has it."),
    field("root_certificates", Text, "", TRUSTED),
];

/// Of services and of webhooks.
const TRUSTED: &str = "A file with certificates, as PEM, that are trusted beside those of the system: of a certificate authority of your own.";

const SERVICE_ALL: [Field; SERVICE_OWN.len() + SERVICE_FIELDS.len()] = {
    let mut fields = [SERVICE_OWN[0]; SERVICE_OWN.len() + SERVICE_FIELDS.len()];
    let mut at = 0;
    while at < fields.len() {
        fields[at] =
            if at < SERVICE_OWN.len() { SERVICE_OWN[at] } else { SERVICE_FIELDS[at - SERVICE_OWN.len()] };
        at += 1;
    }
    fields
};

static RETENTION: Section = Section {
    name: "retention",
    doc: "How long what is over is kept.",
    presets: &[],
    fields: &[
        field(
            "keep",
            Either(&[LongDuration, Word(&["forever"])]),
            "30d",
            "How long a task is kept after it has completed or was undone.",
        ),
        field(
            "keep_keys",
            Either(&[LongDuration, Word(&["forever"])]),
            "30d",
            "How long a task with a key is kept at least: for as long the key gives it back.",
        ),
    ],
};

static LIMITS: Section = Section {
    name: "limits",
    doc: "How much it takes at once.",
    presets: &[],
    fields: &[
        field(
            "open_tasks",
            Count(1, 100_000_000),
            "1000000",
            "The most tasks that may be open; one more is refused.",
        ),
        field("owned_tasks", Count(1, MANY), "10000", "The most tasks that are held in memory."),
        field(
            "requests",
            Count(1, MANY),
            "1024",
            "The most requests that are worked on at a time; one more is told to come again.",
        ),
        field("body", Either(&[Count(1, 64 << 20), Text]), "1MiB", "The largest body of a request."),
        field("streams", Count(1, MANY), "10000", "The most event streams at a time."),
    ],
};

static LOG: Section = Section {
    name: "log",
    doc: "What it writes to stderr.",
    presets: &[],
    fields: &[
        field("format", Word(&["human", "json"]), "human", "Lines for people, or a JSON object for each."),
        field(
            "level",
            Text,
            "info",
            "What is written: `error`, `warn`, `info`, `debug`, `trace`, or by module as `RUST_LOG` has it.",
        ),
    ],
};

/// What an alert can be about: a test sees to it that none is missing.
const ALERT_KINDS: &[&str] = &[
    "task-failed",
    "undo-stuck",
    "circuit-opened",
    "circuit-closed",
    "failure-rate",
    "retries",
    "throttled",
    "slow-success",
    "reply-queue",
    "store-held",
];

static ALERTS: Section = Section {
    name: "alerts",
    doc: "Who is told of what goes wrong, and how often it is tried.",
    presets: &[],
    fields: &[
        field(
            "tries",
            Count(1, 1_000),
            "20",
            "How often an alert is posted before it is given up, and kept for 30 days.",
        ),
        field("within", Duration, "10s", "How long a receiver may take for one alert."),
        field(
            "first_wait",
            Duration,
            "1s",
            "The wait after the first time that a receiver has failed; it doubles each time.",
        ),
        field("longest_wait", Duration, "5m", "No wait is longer."),
        field("webhook", Named(&WEBHOOK_TABLE), "", "Webhooks by name: where alerts are posted to."),
    ],
};

static WEBHOOK_TABLE: Shape = Table(&WEBHOOK);

static WEBHOOK: Section = Section {
    name: "webhook",
    doc: "Where alerts are posted to, as JSON, with an id that is the same each time and a signature.",
    presets: &[],
    fields: &[
        field("url", Text, "", "Where it is: `https://host/path` or `http://host:port/path`.").needed(),
        field("headers", Named(&Text), "", "Headers of each request. `secret://NAME` stands for a secret."),
        field(
            "sign_with",
            Text,
            "",
            "The secret, by its name, that each message is signed with: HMAC-SHA256, as Standard Webhooks has it.",
        ),
        field("kinds", List(&KINDS), "", "Which alerts are posted; all of them without it."),
        field("root_certificates", Text, "", TRUSTED),
    ],
};

static KINDS: Shape = Word(ALERT_KINDS);

static TELEMETRY: Section = Section {
    name: "telemetry",
    doc: "Spans and metrics over OTLP.",
    presets: &[],
    fields: &[
        field(
            "otlp",
            Text,
            "",
            "Where the collector is, such as `http://127.0.0.1:4318`. Nothing is sent without it.",
        ),
        field("name", Text, "steadfast", "What this server calls itself there."),
    ],
};
