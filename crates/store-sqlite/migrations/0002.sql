-- Tasks that wait for a service are found by it, highest priority and nearest deadline first. What is not parked costs
-- nothing here.
ALTER TABLE steadfast_tasks ADD COLUMN parked_on TEXT;
ALTER TABLE steadfast_tasks ADD COLUMN priority INTEGER NOT NULL DEFAULT 0 CHECK (priority BETWEEN -128 AND 127);

CREATE INDEX steadfast_tasks_parked
    ON steadfast_tasks (parked_on, priority DESC, ifnull(deadline_ms, 9223372036854775807), id)
    WHERE parked_on IS NOT NULL AND owner IS NULL AND at_rest = 0;

CREATE TABLE steadfast_circuits (
    service TEXT PRIMARY KEY,
    version INTEGER NOT NULL CHECK (version > 0),
    body BLOB NOT NULL
) STRICT, WITHOUT ROWID;
