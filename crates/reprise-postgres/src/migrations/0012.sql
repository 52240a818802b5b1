-- What says nearly the same as what was taken down waits for a review: here is by what it is known.
-- A transaction that publishes or takes down opens the table. Of what leaked there is no row.
CREATE TABLE reprise_global.taken_down_vector (
    id uuid PRIMARY KEY REFERENCES reprise_global.taken_down (id) ON DELETE CASCADE,
    embedding halfvec({dimensions}) NOT NULL
);
ALTER TABLE reprise_global.taken_down_vector ALTER COLUMN embedding SET STATISTICS 0;
ALTER TABLE reprise_global.taken_down_vector ENABLE ROW LEVEL SECURITY;
ALTER TABLE reprise_global.taken_down_vector FORCE ROW LEVEL SECURITY;
CREATE POLICY comparing ON reprise_global.taken_down_vector
    USING (current_setting('reprise.near', true) = 'on');

-- For every shelf something may wait now. A transaction names all branches that it reads; no name of
-- a branch has a comma.
ALTER TABLE reprise_global.draft ADD COLUMN near_taken_down uuid;
DROP POLICY reviewing ON reprise_global.draft;
CREATE POLICY reviewing ON reprise_global.draft FOR SELECT
    USING (branch = ANY (string_to_array(current_setting('reprise.review', true), ',')));
DROP POLICY reviewing ON reprise_global.thing;
CREATE POLICY reviewing ON reprise_global.thing FOR SELECT USING (
    starts_with(shelf, 'branch:' || author || '/')
    AND substr(shelf, length('branch:' || author || '/') + 1)
        = ANY (string_to_array(current_setting('reprise.review', true), ','))
);
DROP POLICY trying ON reprise_global.thing;
CREATE POLICY trying ON reprise_global.thing FOR SELECT
    USING (shelf = ANY (string_to_array(current_setting('reprise.branch', true), ',')));
DROP POLICY trying ON reprise_global.search;
CREATE POLICY trying ON reprise_global.search FOR SELECT
    USING (shelf = ANY (string_to_array(current_setting('reprise.branch', true), ',')));
DROP POLICY trying ON reprise_global.posting;
CREATE POLICY trying ON reprise_global.posting FOR SELECT
    USING (shelf = ANY (string_to_array(current_setting('reprise.branch', true), ',')));

-- Of a person who is erased no reason has the name, whoever gave it and whomever it was for: the
-- transaction that erases sees the rows whose reason has it, and replaces it.
CREATE POLICY naming ON reprise_global.taken_down FOR SELECT USING (
    current_setting('reprise.erased', true) <> ''
    AND (strpos(reason, current_setting('reprise.author', true)) > 0
        OR strpos(reason, current_setting('reprise.erased', true)) > 0)
);
CREATE POLICY renaming ON reprise_global.taken_down FOR UPDATE
    USING (
        current_setting('reprise.erased', true) <> ''
        AND strpos(reason, current_setting('reprise.author', true)) > 0
    )
    WITH CHECK (strpos(reason, current_setting('reprise.erased', true)) > 0);
CREATE POLICY naming ON reprise_global.draft FOR SELECT USING (
    current_setting('reprise.erased', true) <> ''
    AND (strpos(refused, current_setting('reprise.author', true)) > 0
        OR strpos(refused, current_setting('reprise.erased', true)) > 0)
);
CREATE POLICY renaming ON reprise_global.draft FOR UPDATE
    USING (
        current_setting('reprise.erased', true) <> ''
        AND strpos(refused, current_setting('reprise.author', true)) > 0
    )
    WITH CHECK (strpos(refused, current_setting('reprise.erased', true)) > 0);
