-- Tasks that wait for a service are found by it, nearest deadline first. What is not parked costs nothing here.
ALTER TABLE steadfast_tasks ADD COLUMN parked_on TEXT;

CREATE INDEX steadfast_tasks_parked ON steadfast_tasks (parked_on, ifnull(deadline_ms, 9223372036854775807), id)
    WHERE parked_on IS NOT NULL AND owner IS NULL AND at_rest = 0;

CREATE TABLE steadfast_circuits (
    service TEXT PRIMARY KEY,
    version INTEGER NOT NULL CHECK (version > 0),
    body BLOB NOT NULL
) STRICT, WITHOUT ROWID;
