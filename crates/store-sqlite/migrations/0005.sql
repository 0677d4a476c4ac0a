-- What operators have asked for, and what became of it.
CREATE TABLE steadfast_audit (
    id BLOB PRIMARY KEY CHECK (length(id) = 16),
    at_ms INTEGER NOT NULL,
    task BLOB CHECK (length(task) = 16),
    by TEXT NOT NULL,
    why TEXT NOT NULL,
    action TEXT NOT NULL,
    -- Why it was not done; null if it was.
    refused TEXT,
    -- What was before and what is so since, as JSON.
    detail BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX steadfast_audit_by_task ON steadfast_audit (task, id) WHERE task IS NOT NULL;

-- What an operator asks under an id is not stored twice. Mail of others has none, and is in no index.
ALTER TABLE steadfast_mail ADD COLUMN asked BLOB;
CREATE UNIQUE INDEX steadfast_mail_asked ON steadfast_mail (asked) WHERE asked IS NOT NULL;

-- A task at rest to which somebody has written.
CREATE INDEX steadfast_tasks_asked ON steadfast_tasks (wake_at_ms, id) WHERE at_rest = 1 AND mail_last > mail_read;
