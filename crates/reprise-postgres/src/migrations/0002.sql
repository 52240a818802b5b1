-- Each large shelf has an index of vectors of its own now.
DROP INDEX IF EXISTS reprise_global.search_by_meaning;

-- Branches: what an author tries out before others see it. It stands among the published things, on
-- the shelf `branch:AUTHOR/NAME`, which is open where a transaction names it and nowhere else.
CREATE TABLE reprise_global.branch (
    author text NOT NULL,
    name text NOT NULL,
    at timestamptz NOT NULL,
    PRIMARY KEY (author, name)
);

-- What stands on each: of which origin, under which id, to follow which version of which thing.
CREATE TABLE reprise_global.draft (
    author text NOT NULL,
    branch text NOT NULL,
    origin text NOT NULL,
    id uuid NOT NULL,
    replaces uuid,
    base integer NOT NULL,
    checksum text NOT NULL,
    PRIMARY KEY (author, branch, origin)
);
CREATE INDEX draft_by_thing ON reprise_global.draft (author, replaces) WHERE replaces IS NOT NULL;

ALTER TABLE reprise_global.branch ENABLE ROW LEVEL SECURITY;
ALTER TABLE reprise_global.branch FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON reprise_global.branch
    USING (author = current_setting('reprise.author', true))
    WITH CHECK (author = current_setting('reprise.author', true));

ALTER TABLE reprise_global.draft ENABLE ROW LEVEL SECURITY;
ALTER TABLE reprise_global.draft FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON reprise_global.draft
    USING (author = current_setting('reprise.author', true))
    WITH CHECK (author = current_setting('reprise.author', true));

-- The service sets `reprise.branch` from the caller's own name.
CREATE POLICY trying ON reprise_global.thing FOR SELECT
    USING (shelf = current_setting('reprise.branch', true));
CREATE POLICY trying ON reprise_global.search FOR SELECT
    USING (shelf = current_setting('reprise.branch', true));
CREATE POLICY trying ON reprise_global.posting FOR SELECT
    USING (shelf = current_setting('reprise.branch', true));
