-- Recurring work. What nobody has to look at is in no index. One that was removed leaves its version behind, so that who has
-- read it cannot write it over another one of its name.
CREATE TABLE steadfast_schedules (
    name TEXT PRIMARY KEY,
    version INTEGER NOT NULL CHECK (version > 0),
    wake_at_ms INTEGER,
    body BLOB CHECK (body IS NOT NULL OR wake_at_ms IS NULL)
) STRICT, WITHOUT ROWID;

CREATE INDEX steadfast_schedules_upcoming ON steadfast_schedules (wake_at_ms, name) WHERE wake_at_ms IS NOT NULL;
