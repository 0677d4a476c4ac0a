//! What a policy file may say: every key with what it takes, what it means and its default. The one place that the
//! reader, the JSON Schema and the reference in the guide are all made from.

pub(crate) use steadfast_form::Section;
use steadfast_form::{Field, Shape, field};

/// The JSON Schema of a policy file (draft 2020-12), for editors: completion, types and docs while one writes.
#[must_use]
pub fn json_schema() -> String {
    steadfast_form::json_schema("Steadfast policies", &FILE)
}

/// Retries and probes beyond this are no limit any more; the same bound that the builders have.
const MANY: u32 = 1_000_000;

use Shape::{
    Count, Duration, DurationOrZero, Either, Flag, Kind, List, Named, Number, Of, Share, Table, Text, Word,
};

// Tables that stand in others by name. They are statics of their own: a constant cannot refer to a section otherwise.
static BREAKER_TABLE: Shape = Table(&BREAKER);
static BUDGET_TABLE: Shape = Table(&BUDGET);
static LIMIT_TABLE: Shape = Table(&LIMIT);
static OPERATION_TABLE: Shape = Table(&OPERATION);
static RETRY_TABLE: Shape = Table(&RETRY);
static SERVICE_TABLE: Shape = Table(&SERVICE);

/// The whole file.
pub(crate) static FILE: Section = Section {
    name: "the file",
    doc: "Policies of Steadfast: how to retry, when to stop calling, and which service uses what.",
    presets: &[],
    fields: FILE_FIELDS,
};

/// The keys of a policy file; services stand last. For programs whose own files have policies in them.
pub const FILE_FIELDS: &[Field] = &[
    field("$schema", Text, "", "Where the schema of this file is, for editors."),
    field(
        "default",
        Table(&SERVICE),
        "",
        "What a service has that does not say otherwise, and every service that the file does not name.",
    ),
    field("retry", Named(&RETRY_TABLE), "", "Retry settings by name."),
    field("breaker", Named(&BREAKER_TABLE), "", "Circuit-breaker settings by name."),
    field(
        "budget",
        Named(&BUDGET_TABLE),
        "",
        "Retry budgets by name. Each service that names one has its own.",
    ),
    field(
        "limit",
        Named(&LIMIT_TABLE),
        "",
        "Limits on calls by name. Each service that names one has its own.",
    ),
    field("service", Named(&SERVICE_TABLE), "", "Services by name."),
];

/// `[service.NAME]` and `[default]`.
pub(crate) static SERVICE: Section =
    Section { name: "service", doc: "How one service is called.", presets: &[], fields: SERVICE_FIELDS };

/// The keys of a service in a policy file.
pub const SERVICE_FIELDS: &[Field] = &[
    field("retry", Of(&RETRY), "standard", "When and how often to try again: a name, or settings in place."),
    field("breaker", Of(&BREAKER), "standard", "When to stop calling: a name, or settings in place."),
    field(
        "budget",
        Of(&BUDGET),
        "standard",
        "How many retries all calls together may make: a name, or settings in place.",
    ),
    field("limit", Of(&LIMIT), "none", "How many calls may be made: a name, or settings in place."),
    field("attempt_timeout", Either(&[Duration, Word(&["none"])]), "10s", "How long one attempt may take."),
    field(
        "server_timeout",
        Either(&[Duration, Word(&["none"])]),
        "none",
        "A time limit that is sent with the request.",
    ),
    field(
        "complete_within",
        Either(&[Duration, Word(&["none"])]),
        "none",
        "How long a call may take, attempts and waits together.",
    ),
    field("idempotent", Flag, "true", "Whether an operation may be repeated after it may have taken effect."),
    field(
        "wait_for_breaker",
        Flag,
        "false",
        "Waits for the breaker's next probe where the deadline leaves room for it.",
    ),
    field(
        "sdk_retries",
        Count(0, 1000),
        "0",
        "How often the service's own SDK retries. Ours is then off, unless `retry_despite_sdk`.",
    ),
    field("retry_despite_sdk", Flag, "false", "Retries although the SDK does too."),
    field("log_successes", Flag, "false", "Logs successful calls too."),
    field(
        "classify",
        Table(&CLASSIFY),
        "",
        "What failures mean, by kind or code, where it differs from what the program says.",
    ),
    field(
        "facts",
        Table(&FACTS),
        "",
        "What is known about the service. Used by `policy check`, not by the program.",
    ),
    field(
        "operation",
        Named(&OPERATION_TABLE),
        "",
        "Operations by name, where they differ from the service.",
    ),
];

/// `[service.NAME.operation.NAME]`.
pub(crate) static OPERATION: Section = Section {
    name: "operation",
    doc: "What one operation of a service does differently.",
    presets: &[],
    fields: &[
        field(
            "retry",
            Of(&RETRY),
            "the service's",
            "When and how often to try again: a name, or settings in place.",
        ),
        field("attempt_timeout", Duration, "the service's", "How long one attempt may take."),
        field("server_timeout", Duration, "the service's", "A time limit that is sent with the request."),
        field(
            "complete_within",
            Duration,
            "the service's",
            "How long the call may take, attempts and waits together.",
        ),
        field(
            "idempotent",
            Flag,
            "the service's",
            "Whether it may be repeated after it may have taken effect.",
        ),
        field(
            "classify",
            Table(&CLASSIFY),
            "",
            "What failures of this operation mean, before what the service says of them.",
        ),
        field(
            "facts",
            Table(&FACTS),
            "",
            "What is known about the operation. Used by `policy check`, not by the program.",
        ),
    ],
};

/// `[retry.NAME]`.
pub(crate) static RETRY: Section = Section {
    name: "retry",
    doc: "When and how often to try again.",
    presets: &["interactive", "standard", "background", "costly-undo", "non-critical", "none"],
    fields: &[
        field("like", Of(&RETRY), "", "Starts from these settings; what follows differs."),
        field(
            "strategy",
            Word(&["exponential", "fixed", "incremental", "schedule", "immediate", "none"]),
            "exponential",
            "How the waits grow.",
        ),
        field("min_backoff", DurationOrZero, "100ms", "The first wait. `exponential` only."),
        field("delta_backoff", DurationOrZero, "200ms", "What doubles. `exponential` only."),
        field("max_backoff", Duration, "10s", "The longest wait. `exponential` only."),
        field("wait", Duration, "", "The wait. `fixed` only, which needs it."),
        field("first", DurationOrZero, "", "The first wait. `incremental` only, which needs it."),
        field("step", DurationOrZero, "", "What each wait is longer by. `incremental` only, which needs it."),
        field(
            "waits",
            List(&DurationOrZero),
            "",
            "The waits, one after another. `schedule` only, which needs it.",
        ),
        field("adaptive", Flag, "false", "Where the service says how long to wait, that alone counts."),
        field(
            "jitter",
            Either(&[Word(&["none", "full", "equal", "decorrelated"]), Share]),
            "0.2",
            "How waits are spread; a share is plus and minus that.",
        ),
        field("fast_first", Flag, "false", "The first wait is zero."),
        field(
            "max_retries",
            Either(&[Count(0, MANY), Word(&["unlimited"])]),
            "3",
            "The most retries; calls are one more.",
        ),
        field(
            "max_elapsed",
            Either(&[Duration, Word(&["none"])]),
            "none",
            "The limit over all attempts and waits.",
        ),
        field(
            "max_hint",
            Duration,
            "30s",
            "The longest wait that the service can ask for. A longer one means stop.",
        ),
        field(
            "min_throttled",
            DurationOrZero,
            "1s",
            "The shortest wait after a service throttled without saying for how long.",
        ),
        field(
            "repeat_effects",
            Flag,
            "false",
            "Retries operations that are not idempotent even when they may have taken effect.",
        ),
        field("when_nested", Word(&["report", "fail-fast"]), "report", "What to do inside of another retry."),
        field(
            "kinds",
            Named(&Count(0, MANY)),
            "",
            "The most retries after failures of one kind: `{ conflict = 2 }`.",
        ),
    ],
};

/// `[breaker.NAME]`.
pub(crate) static BREAKER: Section = Section {
    name: "breaker",
    doc: "When to stop calling, and how to find out that the service is back.",
    presets: &["standard", "none"],
    fields: &[
        field("like", Of(&BREAKER), "", "Starts from these settings; what follows differs."),
        field("window", Duration, "30s", "How far back outcomes count, as a time."),
        field(
            "last_calls",
            Count(1, 10_000),
            "",
            "How far back outcomes count, as a number of calls, in place of `window`.",
        ),
        field("ratio", Either(&[Share, Word(&["none"])]), "0.5", "The share of failed calls that trips it."),
        field(
            "min_calls",
            Count(1, MANY),
            "20",
            "The fewest calls in the window for a ratio to mean anything.",
        ),
        field(
            "consecutive",
            Either(&[Count(1, MANY), Word(&["none"])]),
            "10",
            "Failures in a row that trip it.",
        ),
        field(
            "failures",
            Either(&[Count(1, MANY), Word(&["none"])]),
            "none",
            "Failures in the window that trip it.",
        ),
        field(
            "slow",
            Either(&[Table(&SLOW), Word(&["none"])]),
            "none",
            "Trips it when too many calls take too long.",
        ),
        field(
            "kinds",
            Named(&Count(1, MANY)),
            "",
            "Failures of one kind in the window that trip it: `{ timeout = 5 }`.",
        ),
        field("trip_at_once", List(&Kind), "[]", "Kinds of which one failure trips it."),
        field("ignore", List(&Kind), "[]", "Kinds that say nothing."),
        field("lasting_trips", Flag, "true", "Whether one lasting failure trips it."),
        field(
            "trip_on_hint",
            Either(&[Duration, Word(&["none"])]),
            "10s",
            "Trips it when the service asks for this long or longer.",
        ),
        field("max_hold", Duration, "10m", "The longest that the service can hold it open by a hint."),
        field("open_for", Duration, "5s", "How long it stays open the first time."),
        field("growing_by", Number(1.0, 100.0), "1.5", "How much longer after each recovery that failed."),
        field("growing_to", Duration, "60s", "The longest open time."),
        field("half_open_permits", Count(1, 10_000), "1", "Probes at once."),
        field("successes_to_close", Count(1, 10_000), "3", "Probes in a row that close it."),
        field("half_open_limit", Duration, "30s", "When probes that do not answer count as failed."),
        field("together", Flag, "false", "Adds up the counts of all instances that share its state."),
    ],
};

/// `slow` of a breaker.
pub(crate) static SLOW: Section = Section {
    name: "slow",
    doc: "Trips a breaker when too many calls take too long.",
    presets: &[],
    fields: &[
        field("over", Duration, "", "From here on a call is slow. Needed."),
        field("share", Share, "", "The share of slow calls that trips it. Needed."),
    ],
};

/// `[budget.NAME]`.
pub(crate) static BUDGET: Section = Section {
    name: "budget",
    doc: "How many retries all calls to a service together may make.",
    presets: &["standard", "none"],
    fields: &[
        field("share", Share, "0.1", "Retries as a share of recent successes."),
        field("reserve", Count(0, MANY), "3", "Retries allowed in a window whatever succeeded in it."),
        field("window", Duration, "10s", "How far back successes and retries count."),
    ],
};

/// `[limit.NAME]`.
pub(crate) static LIMIT: Section = Section {
    name: "limit",
    doc: "How many calls may be under way, and begin in a second. One that finds no room waits, if it may, or is refused.",
    presets: &["none"],
    fields: &[
        field("concurrent", Either(&[Count(1, MANY), Word(&["none"])]), "none", "Calls under way at once."),
        field("waiting", Count(0, MANY), "0", "Calls that may wait for a place."),
        field(
            "rate",
            Either(&[Number(0.001, 1e6), Word(&["none"])]),
            "none",
            "Calls that begin in a second, as a mean.",
        ),
        field(
            "burst",
            Count(1, MANY),
            "rate / 10",
            "Calls that may begin at once after a quiet time; at least one.",
        ),
        field("max_wait", DurationOrZero, "0s", "How long a call may wait for its turn."),
    ],
};

/// What failures mean, where the file says so.
pub(crate) static CLASSIFY: Section = Section {
    name: "classify",
    doc: "What failures mean, by kind (`conflict`) or code (`409`).",
    presets: &[],
    fields: &[
        field("transient", List(&Kind), "[]", "A passing fault: try again."),
        field("throttled", List(&Kind), "[]", "The service asks for less: try again, later."),
        field("lasting", List(&Kind), "[]", "The service is away for long: do not retry, trip the breaker."),
        field("terminal", List(&Kind), "[]", "Trying again cannot help."),
        field("neutral", List(&Kind), "[]", "Says nothing about the service."),
    ],
};

/// What is known about a service, for the check.
pub(crate) static FACTS: Section = Section {
    name: "facts",
    doc: "What is known about a service or operation, for `policy check`.",
    presets: &[],
    fields: &[
        field("calls_per_second", Number(0.0, 1e9), "unknown", "Calls of one instance, at quiet times."),
        field("typical", Duration, "unknown", "How long a good call takes, as the median."),
        field(
            "slowest_good",
            Duration,
            "unknown",
            "How long the slowest good calls take: the 99.9th percentile.",
        ),
        field("restart", Duration, "unknown", "How long the service is away when it restarts or fails over."),
        field(
            "callers_retry",
            Count(0, 1000),
            "0",
            "How often the callers of this program retry what fails here.",
        ),
    ],
};
