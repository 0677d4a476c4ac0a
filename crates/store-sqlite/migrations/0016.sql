-- Workflows that came as texts, each version as it was written: tasks stay on the one that they began with.
CREATE TABLE steadfast_workflows (
    name TEXT NOT NULL,
    version INTEGER NOT NULL CHECK (version BETWEEN 0 AND 4294967295),
    digest TEXT NOT NULL,
    format TEXT NOT NULL,
    text TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    PRIMARY KEY (name, version)
) STRICT, WITHOUT ROWID;
