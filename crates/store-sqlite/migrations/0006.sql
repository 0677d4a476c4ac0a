-- Many tasks of which an operator asks the same, in the order in which that is done.
CREATE TABLE steadfast_bulks (
    id BLOB PRIMARY KEY CHECK (length(id) = 16),
    version INTEGER NOT NULL CHECK (version > 0),
    tasks INTEGER NOT NULL,
    body BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE steadfast_bulk_tasks (
    bulk BLOB NOT NULL,
    place INTEGER NOT NULL,
    task BLOB NOT NULL CHECK (length(task) = 16),
    PRIMARY KEY (bulk, place)
) STRICT, WITHOUT ROWID;
