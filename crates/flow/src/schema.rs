//! What a workflow file may say: every key with what it takes, what it means and its default. The one place that the reader,
//! the JSON Schema and the reference are all made from.

use std::fmt::Write as _;

use Shape::{
    Any, Count, Either, Expression, Flag, List, LongDuration, Named, OneOf, Table, Template, Text, Word,
};
use steadfast_form::{Choice, Field, Section, Shape, field};

use crate::expression::node::{FUNCTIONS, Variable};

/// A version beyond this is a mistake.
const MOST_VERSIONS: u32 = 1_000_000;
/// More calls or rounds than this are no limit any more.
const MANY: u32 = 1_000_000;

/// The JSON Schema of a workflow file (draft 2020-12), for editors: completion, types and docs while one writes.
#[must_use]
pub fn json_schema() -> String {
    steadfast_form::json_schema("Steadfast workflow", &FILE)
}

/// Every key of a workflow file, every variable and every function, in Markdown.
#[must_use]
pub fn reference() -> String {
    let mut text = String::from(
        "# Workflow files: reference\n\nGenerated from the code. The chapter [Workflow files](../guide/workflow-files.md) explains them; \
         [workflow.schema.json](../workflow.schema.json) is the same for editors.\n\n## Keys\n",
    );
    text += &steadfast_form::tables(&[
        ("The file", &FILE),
        ("`input`", &INPUT),
        ("A step that calls a service", &CALL),
        ("`request` and `undo`", &REQUEST),
        ("`callback`", &CALLBACK),
        ("`repeat`", &REPEAT),
        ("`recovery` and `undo_recovery`", &RECOVERY),
        ("A step that waits for a time: `wait`", &WAIT),
        ("A step that waits for a time: `wait_until`", &WAIT_UNTIL),
        ("A step that waits for a signal", &SIGNAL),
        ("A step that asks for another task", &CHILD),
        ("A group of steps", &GROUP),
    ]);
    text += "\n## Variables\n\n| name | known in | parts |\n|---|---|---|\n";
    for variable in Variable::ALL {
        let parts: Vec<_> = variable.parts().iter().map(|part| format!("`{part}`")).collect();
        let parts = if parts.is_empty() { "-".to_owned() } else { parts.join(", ") };
        let _ = writeln!(text, "| `{}` | {} | {parts} |", variable.name(), known_in(variable));
    }
    text += "| `steps` | everywhere but in `until` | `steps.NAME.output` of a step that comes before; `steps[\"NAME\"].output` for a name with `-` or `.` |\n";
    text += "\n## Functions\n\n";
    for known in FUNCTIONS {
        let _ = writeln!(text, "- {}", known.doc);
    }
    text += "- `has(a.b)`: whether `a` has a `b` that is not null.\n\
             - `list.all(x, ..)`, `list.exists(x, ..)`, `list.exists_one(x, ..)`: whether it holds for all, one or exactly one.\n\
             - `list.map(x, ..)`, `list.map(x, if, ..)`, `list.filter(x, ..)`: another list.\n";
    text += &limits();
    text
}

fn known_in(variable: Variable) -> &'static str {
    match variable {
        Variable::Input => "everywhere but in `until`: what the task was submitted with",
        Variable::Output => "`undo` and `until`: the step's own output",
        Variable::Item => "`request`, `output`, `undo` and `input` of a step with `each`",
        Variable::Index => "as `item`: its place in the list, from 0",
        Variable::Response => "`output`: what the service answered",
        Variable::Step => {
            "`request`, `output`, `undo` and `input`; `step.key` is the step's own also in its undo; `step.callback` in the `request` of a step with `callback`"
        }
        Variable::Task => "`request`, `output`, `undo` and `input`",
    }
}

fn limits() -> String {
    use crate::expression::limit::{
        MAX_BRACKETS, MAX_DEPTH, MAX_LOOPS, MAX_MADE, MAX_SOURCE, MAX_SOURCES, MAX_TOKENS, MAX_WORK,
    };
    format!(
        "\n## Limits\n\n| what | at most |\n|---|---|\n\
         | a file | {} bytes, {} values, {} levels |\n\
         | an expression | {MAX_SOURCE} bytes, {MAX_TOKENS} names, numbers and signs, brackets {MAX_BRACKETS} deep, {MAX_DEPTH} levels |\n\
         | all expressions of a file | {MAX_SOURCES} bytes |\n\
         | loops in each other | {MAX_LOOPS} |\n\
         | work of a call's expressions | {MAX_WORK} parts |\n\
         | what a call's expressions make | {MAX_MADE} bytes |\n",
        steadfast_form::tree::MAX_BYTES,
        steadfast_form::tree::MAX_NODES,
        steadfast_form::tree::MAX_DEPTH,
    )
}

/// The whole file.
pub(crate) static FILE: Section = Section {
    name: "the file",
    doc: "A workflow of Steadfast: its steps, what they call, and what happens when they fail.",
    presets: &[],
    fields: &[
        field("$schema", Text, "", "Where the schema of this file is, for editors."),
        field("workflow", Text, "", "The name: letters, digits, `-`, `_` and `.`.").needed(),
        field(
            "version",
            Count(1, MOST_VERSIONS),
            "",
            "The version. Left out: whoever stores the file numbers it. Tasks stay on the one that they began with.",
        ),
        DESCRIPTION,
        field(
            "complete_within",
            LongDuration,
            "without a limit",
            "How long a task may take; what is not done by then is undone.",
        ),
        field("input", Table(&INPUT), "", "What tasks are submitted with."),
        field(
            "returns",
            Text,
            "",
            "The step whose output the task gives back: none that is made for each item of a list.",
        ),
        field("steps", Either(&STEPS), "", "The steps by name, or a list of them, each with a `name`.")
            .needed(),
    ],
};

pub(crate) static INPUT: Section = Section {
    name: "input",
    doc: "What tasks are submitted with.",
    presets: &[],
    fields: &[field("schema", Any, "", "A JSON Schema. An input that does not fit is refused.")],
};

/// Steps by name, or one after another.
pub(crate) static STEPS: [Shape; 2] = [Named(&OneOf(&CHOICES)), List(&OneOf(&CHOICES))];

/// The sorts of steps, and the key by which each is known.
pub(crate) static CHOICES: [Choice; 6] = [
    Choice { mark: "request", section: &CALL },
    Choice { mark: "wait", section: &WAIT },
    Choice { mark: "wait_until", section: &WAIT_UNTIL },
    Choice { mark: "wait_for_signal", section: &SIGNAL },
    Choice { mark: "child", section: &CHILD },
    Choice { mark: "steps", section: &GROUP },
];

const NAME: Field = field("name", Text, "", "Its name, where the steps are a list.");
const DESCRIPTION: Field = field("description", Text, "", "For people.");
const AFTER: Field = field(
    "after",
    Either(&[Text, List(&Text)]),
    "",
    "It begins once these steps or groups have ended. Left out: at once.",
);
const WHEN: Field = field("when", Expression, "", "Made only if this holds, and skipped otherwise.");
const ON_FAILURE: Field = field(
    "on_failure",
    Word(&["undo", "error", "continue"]),
    "undo",
    "When it has failed for good: what was done is undone, an operator decides, or the task goes on without it. Behind a point of no return the default is `error`.",
);
const EACH: Field = field(
    "each",
    Either(&[Template, List(&Any)]),
    "",
    "Made once for each item of this list; `item` and `index` are known in it.",
);
const AT_A_TIME: Field =
    field("at_a_time", Count(1, 1_000), "10", "How many items may be under way at a time.");
const TOLERATE: Field =
    field("tolerate", Count(0, 20_000), "0", "With how many failed items the step still completes.");

/// A step that calls a service.
pub(crate) static CALL: Section = Section {
    name: "call",
    doc: "A step that calls a service.",
    presets: &[],
    fields: &[
        NAME,
        DESCRIPTION,
        AFTER,
        WHEN,
        field("service", Text, "", "The service that it calls, by its name.").needed(),
        field("request", Table(&REQUEST), "", "What it asks the service.").needed(),
        field("output", Any, "${response.body}", "What the step gives: a value with expressions in it."),
        field(
            "undo",
            Table(&REQUEST),
            "",
            "What takes it back. It must do no harm when it is made twice under the same key.",
        ),
        field("undo_within", LongDuration, "1m", "How long an attempt to undo it may take."),
        field("undo_recovery", Table(&RECOVERY), "", "How an undo is taken up again that did not answer."),
        field("nothing_to_undo", Flag, "false", "It changes nothing that would have to be undone."),
        field(
            "undo_when_unknown",
            Flag,
            "false",
            "Its undo is safe also if nobody knows whether the step happened.",
        ),
        field(
            "idempotent",
            Flag,
            "true",
            "Whether it may be made again under the same key once it may have happened.",
        ),
        field("point_of_no_return", Flag, "false", "From here on the task only goes forward."),
        ON_FAILURE,
        field("complete_within", LongDuration, "1m", "How long an attempt may take, with its quick retries."),
        field(
            "heartbeat_within",
            LongDuration,
            "",
            "How often an attempt has to be heard of, where its agent tells that it lives.",
        ),
        field("retry", Text, "the service's", "The name of a retry policy."),
        field(
            "max_calls",
            Count(1, MANY),
            "as the retry policy says",
            "The most calls over all attempts, also those after a restart.",
        ),
        field("recovery", Table(&RECOVERY), "", "How it is taken up again when it did not answer in time."),
        EACH,
        AT_A_TIME,
        TOLERATE,
        field("repeat", Table(&REPEAT), "", "Makes it again and again until it is done."),
        field(
            "callback",
            Table(&CALLBACK),
            "",
            "The service may take the work on and answer later: it calls the URL `step.callback`, which is in the header `Steadfast-Callback-Url` too.",
        ),
    ],
};

/// A request, of a step or of its undo.
pub(crate) static REQUEST: Section = Section {
    name: "request",
    doc: "What is asked of a service.",
    presets: &[],
    fields: &[
        field(
            "method",
            Word(&["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]),
            "",
            "The method.",
        )
        .needed(),
        field(
            "path",
            Template,
            "",
            "The path, behind the service's address. A value cannot add a slash, a `?` or a dot segment.",
        )
        .needed(),
        field(
            "query",
            Named(&Any),
            "",
            "Names and values. Null is left out; a list is the name again and again.",
        ),
        field("headers", Named(&Template), "", "Names and values. A value may have a `secret://name` in it."),
        field(
            "body",
            Any,
            "",
            "The body, sent as JSON: a value with expressions in it. A text may be a `secret://name`.",
        ),
        field(
            "expect",
            Either(&[
                Count(100, 599),
                Word(&["1xx", "2xx", "3xx", "4xx", "5xx"]),
                List(&Either(&[Count(100, 599), Word(&["1xx", "2xx", "3xx", "4xx", "5xx"])])),
            ]),
            "2xx",
            "Statuses that are a success.",
        ),
    ],
};

const STATUS: [Shape; 2] = [Count(100, 599), Word(&["1xx", "2xx", "3xx", "4xx", "5xx"])];

/// An answer that comes later.
pub(crate) static CALLBACK: Section = Section {
    name: "callback",
    doc: "The service may take the work on and answer later.",
    presets: &[],
    fields: &[
        field(
            "within",
            LongDuration,
            "",
            "How long it may take to call back once it has taken the work on. Without a callback the attempt has not answered.",
        )
        .needed(),
        field(
            "accepted",
            Either(&[STATUS[0], STATUS[1], List(&Either(&STATUS))]),
            "202",
            "Statuses by which the service says that it will call back. Any other one that is expected is the answer.",
        ),
    ],
};

/// Again and again.
pub(crate) static REPEAT: Section = Section {
    name: "repeat",
    doc: "Makes a step again and again.",
    presets: &[],
    fields: &[
        field("until", Expression, "", "Done when this holds of its `output`.").needed(),
        field("every", LongDuration, "", "The time between two rounds.").needed(),
        field(
            "at_most",
            Count(1, MANY),
            "as the task's deadline allows",
            "The most rounds. When the last one is not done, the step fails.",
        ),
    ],
};

/// What did not answer.
pub(crate) static RECOVERY: Section = Section {
    name: "recovery",
    doc: "How often an attempt that gave no answer is made again.",
    presets: &[],
    fields: &[
        field("at_once", Count(0, MANY), "2", "Failures up to which it is made again at once."),
        field("extended_wait", LongDuration, "5m", "How long to wait after more."),
        field("last", Count(1, MANY), "5", "Failures with which it is given up."),
    ],
};

/// A step that waits for a time.
pub(crate) static WAIT: Section = Section {
    name: "wait",
    doc: "A step that waits for a time, and calls nothing.",
    presets: &[],
    fields: &[
        NAME,
        DESCRIPTION,
        AFTER,
        WHEN,
        field("wait", LongDuration, "", "How long, once its turn has come.").needed(),
        ON_FAILURE,
    ],
};

/// A step that waits until a time.
pub(crate) static WAIT_UNTIL: Section = Section {
    name: "wait_until",
    doc: "A step that waits until a time, and calls nothing.",
    presets: &[],
    fields: &[
        NAME,
        DESCRIPTION,
        AFTER,
        WHEN,
        field(
            "wait_until",
            Template,
            "",
            "Until when: RFC 3339, or milliseconds since 1970. One that has passed is no wait.",
        )
        .needed(),
        ON_FAILURE,
    ],
};

/// A step that waits for a signal.
pub(crate) static SIGNAL: Section = Section {
    name: "wait_for_signal",
    doc: "A step that waits for a signal, and calls nothing. Its output is what the signal says.",
    presets: &[],
    fields: &[
        NAME,
        DESCRIPTION,
        AFTER,
        WHEN,
        field("wait_for_signal", Text, "", "The signal's name.").needed(),
        field("timeout", LongDuration, "as long as the task may take", "How long it waits; then it fails."),
        field(
            "or_none",
            Flag,
            "false",
            "When its time is over, it completes without a signal; its output is null.",
        ),
        ON_FAILURE,
    ],
};

/// A step that asks for another task.
pub(crate) static CHILD: Section = Section {
    name: "child",
    doc: "A step that asks for a task of another workflow, and waits for its end. It is undone when that task is.",
    presets: &[],
    fields: &[
        NAME,
        DESCRIPTION,
        AFTER,
        WHEN,
        field("child", Text, "", "The other workflow's name.").needed(),
        field(
            "input",
            Any,
            "the task's own, or the item",
            "What the other task is submitted with: a value with expressions in it.",
        ),
        EACH,
        AT_A_TIME,
        TOLERATE,
        ON_FAILURE,
    ],
};

/// Steps that belong together.
pub(crate) static GROUP: Section = Section {
    name: "group",
    doc: "Steps that belong together: all come after what the group comes after, and none is made if the group is not.",
    presets: &[],
    fields: &[
        NAME,
        DESCRIPTION,
        AFTER,
        WHEN,
        field(
            "steps",
            Either(&STEPS),
            "",
            "Its steps. Their names are the workflow's: none may be there twice.",
        )
        .needed(),
    ],
};
