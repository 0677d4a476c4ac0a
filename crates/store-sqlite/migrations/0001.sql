-- Times are milliseconds since 1970 by the store's clock. States are numbers, see `codec.rs`; from 4 on a task is at rest.
-- Rows of other tables name their task without a foreign key: they are written behind a guard that has found it.

CREATE TABLE steadfast_clock (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    last_ms INTEGER NOT NULL
) STRICT;
INSERT INTO steadfast_clock (one, last_ms) VALUES (1, 0);

CREATE TABLE steadfast_tasks (
    id BLOB PRIMARY KEY CHECK (length(id) = 16),
    namespace TEXT NOT NULL,
    workflow TEXT NOT NULL,
    version INTEGER NOT NULL,
    -- As a signed number.
    shape INTEGER NOT NULL,
    key TEXT,
    state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 6),
    -- Apart from the state, so that most changes of state touch no index.
    at_rest INTEGER NOT NULL CHECK (at_rest = (state >= 4)),
    head BLOB NOT NULL,
    deadline_ms INTEGER,
    ending INTEGER NOT NULL CHECK (ending IN (0, 1)),
    epoch INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    owner BLOB CHECK (length(owner) = 16),
    wake_at_ms INTEGER NOT NULL,
    mail_last INTEGER NOT NULL DEFAULT 0,
    mail_read INTEGER NOT NULL DEFAULT 0,
    submitted_at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX steadfast_tasks_by_key ON steadfast_tasks (namespace, workflow, key) WHERE key IS NOT NULL;
CREATE INDEX steadfast_tasks_free ON steadfast_tasks (wake_at_ms, id) WHERE owner IS NULL AND at_rest = 0;
CREATE INDEX steadfast_tasks_mailed ON steadfast_tasks (wake_at_ms, id) WHERE owner IS NULL AND at_rest = 0 AND mail_last > mail_read;
-- With the time, so that a claim need not look at the tasks of the dead one by one.
CREATE INDEX steadfast_tasks_owned ON steadfast_tasks (owner, wake_at_ms) WHERE owner IS NOT NULL AND at_rest = 0;
CREATE INDEX steadfast_tasks_late ON steadfast_tasks (deadline_ms) WHERE deadline_ms IS NOT NULL AND ending = 0 AND at_rest = 0;

CREATE TABLE steadfast_steps (
    task BLOB NOT NULL,
    ordinal INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    complete_by_ms INTEGER,
    record BLOB NOT NULL,
    PRIMARY KEY (task, ordinal)
) STRICT, WITHOUT ROWID;

CREATE INDEX steadfast_steps_due ON steadfast_steps (complete_by_ms) WHERE complete_by_ms IS NOT NULL;

CREATE TABLE steadfast_payloads (
    task BLOB NOT NULL,
    -- The output of this step; -1 is the task's input.
    ordinal INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (task, ordinal)
) STRICT, WITHOUT ROWID;

CREATE TABLE steadfast_mail (
    task BLOB NOT NULL,
    number INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (task, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE steadfast_history (
    task BLOB NOT NULL,
    revision INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    packed BLOB NOT NULL,
    PRIMARY KEY (task, revision)
) STRICT, WITHOUT ROWID;

CREATE TABLE steadfast_nodes (
    id BLOB PRIMARY KEY CHECK (length(id) = 16),
    until_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
