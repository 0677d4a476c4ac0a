-- Bulks that somebody has to see to, however many came after them.
ALTER TABLE steadfast_bulks ADD COLUMN under_way INTEGER NOT NULL DEFAULT 0 CHECK (under_way IN (0, 1));
UPDATE steadfast_bulks SET under_way = 1 WHERE json_extract(CAST(body AS TEXT), '$.state') = 'Running';
CREATE INDEX steadfast_bulks_under_way ON steadfast_bulks (id) WHERE under_way = 1;
