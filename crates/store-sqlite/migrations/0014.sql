-- The task that has asked for this one. Ids of the two begin with the same time: no index is needed to find them.
ALTER TABLE steadfast_tasks ADD COLUMN parent BLOB;
