-- What is published, by shelf. `org_id` names the shelf (`public`, `paid`, `org:NAME`): it leads every
-- key, and is the column to distribute by.

CREATE TABLE published (
    org_id        text        COLLATE "C" NOT NULL,
    id            text        COLLATE "C" NOT NULL,
    version       integer     NOT NULL CHECK (version > 0),
    -- When a newer version took its place; null for the newest.
    replaced_at   timestamptz,
    author_id     text        COLLATE "C" NOT NULL,
    origin        text        COLLATE "C" NOT NULL,
    content_type  text        NOT NULL,
    access_policy text        NOT NULL,
    title         text        NOT NULL,
    summary       text        NOT NULL,
    content       text        NOT NULL,
    licence       text        NOT NULL,
    tags          text[]      NOT NULL,
    checksum      text        NOT NULL,
    published_at  timestamptz NOT NULL,
    model         text,
    model_version text,
    embedding     halfvec(384),
    PRIMARY KEY (org_id, id, version)
);

-- A repeated publication meets the one that stands.
CREATE UNIQUE INDEX published_origin ON published (org_id, author_id, origin)
    WHERE replaced_at IS NULL;
CREATE INDEX published_newest ON published (org_id, id) WHERE replaced_at IS NULL;
-- An author finds his own on every shelf, also on those that were closed to him.
CREATE INDEX published_author ON published (author_id, org_id, id);
CREATE INDEX published_embedding ON published USING hnsw (embedding halfvec_cosine_ops)
    WHERE replaced_at IS NULL;

-- The words of the newest versions, inverted. (A GIN index is no help here: under row-level security
-- `@@` may not go before the policy.)
CREATE TABLE words (
    org_id    text    COLLATE "C" NOT NULL,
    word      text    COLLATE "C" NOT NULL,
    id        text    COLLATE "C" NOT NULL,
    author_id text    COLLATE "C" NOT NULL,
    count     integer NOT NULL,
    PRIMARY KEY (org_id, word, id)
);
CREATE INDEX words_of_one ON words (org_id, id);

-- What is told of a thing: read with every answer, written by the coordination loop alone.
CREATE TABLE standings (
    org_id text   COLLATE "C" NOT NULL,
    id     text   COLLATE "C" NOT NULL,
    score  real   NOT NULL,
    uses   bigint NOT NULL,
    rating real,
    boost  real   NOT NULL,
    cap    real   NOT NULL,
    gate   real   NOT NULL,
    PRIMARY KEY (org_id, id)
);

-- Who said what of a thing: for the coordination loop alone. A contributor is a hash.
CREATE TABLE voices (
    org_id      text        COLLATE "C" NOT NULL,
    id          text        COLLATE "C" NOT NULL,
    contributor text        COLLATE "C" NOT NULL,
    score       real,
    count       integer     NOT NULL DEFAULT 0,
    rating      real,
    at          timestamptz NOT NULL,
    PRIMARY KEY (org_id, id, contributor)
);

CREATE TABLE snapshots (
    org_id text        COLLATE "C" NOT NULL,
    name   text        COLLATE "C" NOT NULL,
    who    text        NOT NULL,
    at     timestamptz NOT NULL,
    PRIMARY KEY (org_id, name)
);

-- What was done: appended, never changed.
CREATE TABLE audit (
    org_id text        COLLATE "C" NOT NULL,
    at     timestamptz NOT NULL,
    number bigint      GENERATED ALWAYS AS IDENTITY,
    who    text        NOT NULL,
    what   text        NOT NULL,
    id     text,
    detail text        NOT NULL DEFAULT '',
    PRIMARY KEY (org_id, at, number)
);

-- Constants of this store, drawn once.
CREATE TABLE store (
    org_id text COLLATE "C" NOT NULL,
    name   text COLLATE "C" NOT NULL,
    value  text NOT NULL,
    PRIMARY KEY (org_id, name)
);
INSERT INTO store VALUES ('public', 'salt', gen_random_uuid()::text || gen_random_uuid()::text);

-- Row-level security, for the owner too. The policies hold no subquery, which Citus refuses; the
-- settings are of one transaction (SET LOCAL), and empty outside it.
ALTER TABLE published ENABLE ROW LEVEL SECURITY;
ALTER TABLE published FORCE ROW LEVEL SECURITY;
CREATE POLICY reads ON published FOR SELECT USING (
    org_id = 'public'
    OR org_id = 'org:' || NULLIF(current_setting('reprise.org', true), '')
    OR (org_id = 'paid' AND current_setting('reprise.paid', true) = 'on')
    OR author_id = NULLIF(current_setting('reprise.user', true), '')
);
CREATE POLICY writes ON published FOR INSERT WITH CHECK (
    author_id = NULLIF(current_setting('reprise.user', true), '')
    AND (
        org_id IN ('public', 'paid')
        OR org_id = 'org:' || NULLIF(current_setting('reprise.org', true), '')
    )
);
CREATE POLICY replaces ON published FOR UPDATE
    USING (author_id = NULLIF(current_setting('reprise.user', true), ''));
CREATE POLICY takes_back ON published FOR DELETE
    USING (author_id = NULLIF(current_setting('reprise.user', true), ''));

ALTER TABLE words ENABLE ROW LEVEL SECURITY;
ALTER TABLE words FORCE ROW LEVEL SECURITY;
CREATE POLICY reads ON words FOR SELECT USING (
    org_id = 'public'
    OR org_id = 'org:' || NULLIF(current_setting('reprise.org', true), '')
    OR (org_id = 'paid' AND current_setting('reprise.paid', true) = 'on')
    OR author_id = NULLIF(current_setting('reprise.user', true), '')
);
CREATE POLICY writes ON words FOR INSERT WITH CHECK (
    author_id = NULLIF(current_setting('reprise.user', true), '')
);
CREATE POLICY takes_back ON words FOR DELETE
    USING (author_id = NULLIF(current_setting('reprise.user', true), ''));

ALTER TABLE standings ENABLE ROW LEVEL SECURITY;
ALTER TABLE standings FORCE ROW LEVEL SECURITY;
CREATE POLICY reads ON standings FOR SELECT USING (
    org_id = 'public'
    OR org_id = 'org:' || NULLIF(current_setting('reprise.org', true), '')
    OR (org_id = 'paid' AND current_setting('reprise.paid', true) = 'on')
    OR current_setting('reprise.service', true) = 'on'
);
CREATE POLICY writes ON standings FOR ALL USING (current_setting('reprise.service', true) = 'on');

ALTER TABLE voices ENABLE ROW LEVEL SECURITY;
ALTER TABLE voices FORCE ROW LEVEL SECURITY;
CREATE POLICY writes ON voices FOR ALL USING (current_setting('reprise.service', true) = 'on');

ALTER TABLE audit ENABLE ROW LEVEL SECURITY;
ALTER TABLE audit FORCE ROW LEVEL SECURITY;
CREATE POLICY writes ON audit FOR INSERT WITH CHECK (
    who = NULLIF(current_setting('reprise.user', true), '')
    OR current_setting('reprise.service', true) = 'on'
);
CREATE POLICY reads ON audit FOR SELECT USING (current_setting('reprise.service', true) = 'on');
