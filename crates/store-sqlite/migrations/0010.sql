-- Replies to those who submitted. A task that replies to nobody has no row here. Of a task only the first has its turn: it
-- alone is in the index by which they are handed out, so that what waits behind it costs nothing.
CREATE TABLE steadfast_replies (
    task BLOB NOT NULL CHECK (length(task) = 16),
    number INTEGER NOT NULL CHECK (number > 0),
    address TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    first INTEGER NOT NULL CHECK (first IN (0, 1)),
    -- Whether the next news make it worthless.
    passes INTEGER NOT NULL CHECK (passes IN (0, 1)),
    tries INTEGER NOT NULL DEFAULT 0,
    -- Not handed out before then.
    until_ms INTEGER NOT NULL,
    body BLOB NOT NULL,
    -- What the task had at the place that it tells of: a result, or how far it has come.
    brings BLOB,
    PRIMARY KEY (task, number)
) STRICT, WITHOUT ROWID;

CREATE INDEX steadfast_replies_due ON steadfast_replies (address, until_ms, task) WHERE first = 1;

-- How many wait for each address: asked for by each submission that names one.
CREATE TABLE steadfast_reply_queues (
    address TEXT PRIMARY KEY,
    waiting INTEGER NOT NULL CHECK (waiting > 0)
) STRICT, WITHOUT ROWID;
