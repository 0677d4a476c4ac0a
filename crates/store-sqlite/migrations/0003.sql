-- Messages that go out of the house. A task that tells nothing has no row here.

CREATE TABLE steadfast_outbox (
    -- Never given twice, so that places only grow.
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    at_ms INTEGER NOT NULL,
    task BLOB CHECK (length(task) = 16),
    -- 0 is an alert, 1 a reply.
    kind INTEGER NOT NULL CHECK (kind BETWEEN 0 AND 1),
    key TEXT,
    -- 0 waits, 1 was delivered and only its key is kept, 2 was given up.
    state INTEGER NOT NULL DEFAULT 0 CHECK (state BETWEEN 0 AND 2),
    tries INTEGER NOT NULL DEFAULT 0,
    -- Whether somebody has it to deliver: who opens the file knows that they are dead.
    held INTEGER NOT NULL DEFAULT 0 CHECK (held IN (0, 1)),
    -- While it waits: not handed out before then. Otherwise: kept until then.
    until_ms INTEGER NOT NULL,
    body BLOB NOT NULL
) STRICT;

CREATE UNIQUE INDEX steadfast_outbox_by_key ON steadfast_outbox (key) WHERE key IS NOT NULL;
CREATE INDEX steadfast_outbox_due ON steadfast_outbox (kind, until_ms, number) WHERE state = 0;
CREATE INDEX steadfast_outbox_by_task ON steadfast_outbox (task, kind, number) WHERE state = 0 AND task IS NOT NULL;
CREATE INDEX steadfast_outbox_over ON steadfast_outbox (until_ms) WHERE state > 0;
CREATE INDEX steadfast_outbox_given_up ON steadfast_outbox (kind, number) WHERE state = 2;
