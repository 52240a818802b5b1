-- How much is on each shelf, so that no question counts it. Each connection adds to a row of its own,
-- so that none waits for another; a node sums the rows up now and then.
CREATE TABLE reprise_global.shelf_size (
    shelf text NOT NULL,
    slot integer NOT NULL,
    -- Newest versions, and the sum of the lengths of their heads.
    things bigint NOT NULL,
    heads bigint NOT NULL,
    PRIMARY KEY (shelf, slot)
);
-- The policies bind the owner of the tables too; for this count they do not.
ALTER TABLE reprise_global.search NO FORCE ROW LEVEL SECURITY;
INSERT INTO reprise_global.shelf_size
    SELECT shelf, 0, count(*), sum(head) FROM reprise_global.search
    WHERE until IS NULL AND shelf NOT LIKE 'branch:%' GROUP BY shelf;
ALTER TABLE reprise_global.search FORCE ROW LEVEL SECURITY;

-- A branch is small, and its name has that of a person: it is not counted here.
CREATE FUNCTION reprise_global.count_on_shelf() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        INSERT INTO reprise_global.shelf_size AS s
            SELECT shelf, pg_backend_pid(), -count(*), -sum(head) FROM old_rows
            WHERE until IS NULL AND shelf NOT LIKE 'branch:%' GROUP BY shelf
            ON CONFLICT (shelf, slot) DO UPDATE
            SET things = s.things + excluded.things, heads = s.heads + excluded.heads;
    END IF;
    IF TG_OP <> 'DELETE' THEN
        INSERT INTO reprise_global.shelf_size AS s
            SELECT shelf, pg_backend_pid(), count(*), sum(head) FROM new_rows
            WHERE until IS NULL AND shelf NOT LIKE 'branch:%' GROUP BY shelf
            ON CONFLICT (shelf, slot) DO UPDATE
            SET things = s.things + excluded.things, heads = s.heads + excluded.heads;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER count_inserted AFTER INSERT ON reprise_global.search
    REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION reprise_global.count_on_shelf();
CREATE TRIGGER count_updated AFTER UPDATE ON reprise_global.search
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION reprise_global.count_on_shelf();
CREATE TRIGGER count_deleted AFTER DELETE ON reprise_global.search
    REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION reprise_global.count_on_shelf();
