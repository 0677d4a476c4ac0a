-- Submissions, written by others in transactions of their own. This is the one table that others may write: by INSERT alone.
-- What can be seen to be wrong is refused here, in the transaction of whoever makes the mistake.
CREATE TABLE steadfast_inbox (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    -- The task's id, a UUID (version 7): 16 bytes, or its text. NULL: the engine makes one.
    id ANY UNIQUE CHECK (id IS NULL OR typeof(id) = 'blob' AND length(id) = 16
        OR typeof(id) = 'text' AND length(replace(id, '-', '')) = 32),
    namespace TEXT NOT NULL DEFAULT '',
    workflow TEXT NOT NULL CHECK (workflow <> ''),
    -- NULL: the newest that the engine knows.
    version INTEGER CHECK (version BETWEEN 1 AND 4294967295),
    key TEXT CHECK (key <> ''),
    priority INTEGER NOT NULL DEFAULT 0 CHECK (priority BETWEEN -128 AND 127),
    -- JSON, at most a MiB.
    input ANY NOT NULL CHECK (length(CAST(input AS BLOB)) <= 1048576),
    -- Milliseconds since 1970. NULL: at once.
    start_at_ms INTEGER CHECK (start_at_ms >= 0),
    -- `queue:NAME` or `hook:NAME`. NULL: nobody is told.
    reply_to TEXT CHECK (reply_to LIKE '_%:_%'),
    correlation TEXT
) STRICT;
