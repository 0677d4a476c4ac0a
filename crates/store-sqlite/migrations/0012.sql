-- Labels, by which tasks are found. What they are is kept with the task, as a payload: this says the same, for those who look.
CREATE TABLE steadfast_labels (
    task BLOB NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (task, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX steadfast_labels_by_value ON steadfast_labels (name, value, task);
