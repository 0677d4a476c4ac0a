-- The audit log is read by when things were done: what belongs to a bulk has ids of when that was prepared.
DROP INDEX steadfast_audit_by_task;
CREATE INDEX steadfast_audit_by_task ON steadfast_audit (task, at_ms, id) WHERE task IS NOT NULL;
CREATE INDEX steadfast_audit_by_time ON steadfast_audit (at_ms, id);
