-- Published things. The shelf (public, paid, org:NAME) leads every key: it is what a cluster
-- distributes by, and what no question reads beyond.
CREATE TABLE reprise_global.thing (
    shelf text NOT NULL,
    id uuid NOT NULL,
    version integer NOT NULL,
    author text NOT NULL,
    -- The exact bytes that left, as JSON; their SHA-256.
    publication text NOT NULL,
    checksum text NOT NULL,
    since timestamptz NOT NULL,
    until timestamptz,
    -- What it is found by in `posting`, so that all of it can be taken back.
    tokens bigint[] NOT NULL,
    PRIMARY KEY (shelf, id, version)
);

-- What a version is found by: its vector, and how long its text is.
CREATE TABLE reprise_global.search (
    shelf text NOT NULL,
    id uuid NOT NULL,
    version integer NOT NULL,
    content_type text NOT NULL,
    since timestamptz NOT NULL,
    until timestamptz,
    head smallint NOT NULL,
    terms integer NOT NULL,
    embedding halfvec({dimensions}),
    PRIMARY KEY (shelf, id, version)
);
ALTER TABLE reprise_global.search ALTER COLUMN embedding SET STORAGE PLAIN;
CREATE INDEX search_now ON reprise_global.search (shelf, content_type) INCLUDE (head)
    WHERE until IS NULL;

-- Which version holds which word: under row-level security a GIN index over words is not used.
CREATE TABLE reprise_global.posting (
    shelf text NOT NULL,
    token bigint NOT NULL,
    id uuid NOT NULL,
    version integer NOT NULL,
    count real NOT NULL,
    head smallint NOT NULL,
    PRIMARY KEY (shelf, token, id, version) INCLUDE (count, head)
);

-- What each author has published, from wherever it came: one thing for one origin.
CREATE TABLE reprise_global.authored (
    author text NOT NULL,
    origin text NOT NULL,
    id uuid NOT NULL,
    shelf text NOT NULL,
    version integer NOT NULL,
    checksum text NOT NULL,
    PRIMARY KEY (author, origin)
);
CREATE INDEX authored_by_id ON reprise_global.authored (author, id);

-- What contributors said: hashes that only this database's salt makes, and numbers.
CREATE TABLE reprise_global.voice (
    id uuid NOT NULL,
    contributor uuid NOT NULL,
    score real NOT NULL,
    uses integer NOT NULL,
    at timestamptz NOT NULL,
    PRIMARY KEY (id, contributor)
);
CREATE INDEX voice_by_time ON reprise_global.voice (at);
CREATE TABLE reprise_global.rating (
    id uuid NOT NULL,
    contributor uuid NOT NULL,
    rating real NOT NULL,
    at timestamptz NOT NULL,
    PRIMARY KEY (id, contributor)
);
CREATE INDEX rating_by_time ON reprise_global.rating (at);

CREATE TABLE reprise_global.snapshot (
    name text PRIMARY KEY,
    at timestamptz NOT NULL,
    author text NOT NULL
);

-- Who did what; no text of anybody's.
CREATE TABLE reprise_global.audit (
    at timestamptz NOT NULL,
    who text NOT NULL,
    what text NOT NULL,
    id uuid,
    version integer,
    shelf text,
    number bigint GENERATED ALWAYS AS IDENTITY
);
CREATE INDEX audit_by_thing ON reprise_global.audit (id) WHERE id IS NOT NULL;

CREATE TABLE reprise_global.setting (
    name text PRIMARY KEY,
    value text NOT NULL
);
INSERT INTO reprise_global.setting
    VALUES ('salt', gen_random_uuid()::text || gen_random_uuid()::text);

-- The wall once more, whatever a statement forgets to ask. No subquery stands in a policy: a
-- cluster refuses it.
ALTER TABLE reprise_global.thing ENABLE ROW LEVEL SECURITY;
ALTER TABLE reprise_global.thing FORCE ROW LEVEL SECURITY;
CREATE POLICY reading ON reprise_global.thing FOR SELECT USING (
    shelf = 'public'
    OR (shelf = 'paid' AND current_setting('reprise.paid', true) = 'on')
    OR shelf = current_setting('reprise.org', true)
    OR author = current_setting('reprise.author', true)
);
CREATE POLICY writing ON reprise_global.thing
    USING (author = current_setting('reprise.author', true))
    WITH CHECK (
        author = current_setting('reprise.author', true)
        AND shelf = current_setting('reprise.writing', true)
    );

ALTER TABLE reprise_global.search ENABLE ROW LEVEL SECURITY;
ALTER TABLE reprise_global.search FORCE ROW LEVEL SECURITY;
CREATE POLICY reading ON reprise_global.search FOR SELECT USING (
    shelf = 'public'
    OR (shelf = 'paid' AND current_setting('reprise.paid', true) = 'on')
    OR shelf = current_setting('reprise.org', true)
);
CREATE POLICY writing ON reprise_global.search
    USING (shelf = current_setting('reprise.writing', true))
    WITH CHECK (shelf = current_setting('reprise.writing', true));

ALTER TABLE reprise_global.posting ENABLE ROW LEVEL SECURITY;
ALTER TABLE reprise_global.posting FORCE ROW LEVEL SECURITY;
CREATE POLICY reading ON reprise_global.posting FOR SELECT USING (
    shelf = 'public'
    OR (shelf = 'paid' AND current_setting('reprise.paid', true) = 'on')
    OR shelf = current_setting('reprise.org', true)
);
CREATE POLICY writing ON reprise_global.posting
    USING (shelf = current_setting('reprise.writing', true))
    WITH CHECK (shelf = current_setting('reprise.writing', true));

ALTER TABLE reprise_global.authored ENABLE ROW LEVEL SECURITY;
ALTER TABLE reprise_global.authored FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON reprise_global.authored
    USING (author = current_setting('reprise.author', true))
    WITH CHECK (author = current_setting('reprise.author', true));

-- What is taken back is swept from the pages soon.
ALTER TABLE reprise_global.thing SET (autovacuum_vacuum_scale_factor = 0.01);
ALTER TABLE reprise_global.search SET (autovacuum_vacuum_scale_factor = 0.01);
ALTER TABLE reprise_global.posting SET (autovacuum_vacuum_scale_factor = 0.01);
