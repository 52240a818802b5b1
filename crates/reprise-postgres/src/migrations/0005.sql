-- Why an operator took something down, the hash of what it was, and whose token was granted.
ALTER TABLE reprise_global.audit ADD COLUMN reason text;
ALTER TABLE reprise_global.audit ADD COLUMN checksum text;
ALTER TABLE reprise_global.audit ADD COLUMN about text;
-- Every node asks each second what is gone, to forget what was said of it.
CREATE INDEX audit_gone ON reprise_global.audit (at) WHERE what IN ('unpublish', 'take_down');
DROP INDEX reprise_global.audit_taken_back;

-- What operators took down: no text of it. Its author reads why; what has this origin is not
-- published again until the row is gone.
CREATE TABLE reprise_global.taken_down (
    id uuid PRIMARY KEY,
    author text NOT NULL,
    origin text NOT NULL,
    shelf text NOT NULL,
    versions integer NOT NULL,
    checksum text NOT NULL,
    reason text NOT NULL,
    operator text NOT NULL,
    at timestamptz NOT NULL,
    -- The newest version, for its author alone, until this is taken back; nothing of what leaked.
    held text
);
CREATE INDEX taken_down_by_author ON reprise_global.taken_down (author, origin);
ALTER TABLE reprise_global.taken_down ENABLE ROW LEVEL SECURITY;
ALTER TABLE reprise_global.taken_down FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON reprise_global.taken_down
    USING (author = current_setting('reprise.author', true))
    WITH CHECK (author = current_setting('reprise.author', true));

-- How much stands of each holder: `user:NAME`, `org:NAME`. Kept with each change, so that a quota
-- costs a row.
CREATE TABLE reprise_global.usage (
    holder text PRIMARY KEY,
    things bigint NOT NULL,
    bytes bigint NOT NULL
);
-- The policies hold whoever owns the tables too; for this count they do not.
ALTER TABLE reprise_global.thing NO FORCE ROW LEVEL SECURITY;
INSERT INTO reprise_global.usage
    SELECT holder, count(DISTINCT id), sum(octet_length(publication)) FROM (
        SELECT 'user:' || author AS holder, id, publication FROM reprise_global.thing
        WHERE shelf NOT LIKE 'branch:%'
        UNION ALL
        SELECT shelf, id, publication FROM reprise_global.thing WHERE shelf LIKE 'org:%'
    ) AS every GROUP BY holder;
ALTER TABLE reprise_global.thing FORCE ROW LEVEL SECURITY;

-- Tokens and invitations: hashes, and what each opens.
CREATE TABLE reprise_global.token (
    name text PRIMARY KEY,
    -- Of the token, and of the one before it for as long as that is still taken.
    hashes text[] NOT NULL,
    entry text NOT NULL,
    used timestamptz
);
CREATE INDEX token_by_hash ON reprise_global.token USING gin (hashes);
