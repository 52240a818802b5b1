-- How often each contributor was given a thing in an answer.
CREATE TABLE reprise_global.retrieved (
    id uuid NOT NULL,
    contributor uuid NOT NULL,
    uses integer NOT NULL,
    at timestamptz NOT NULL,
    PRIMARY KEY (id, contributor)
);
CREATE INDEX retrieved_by_time ON reprise_global.retrieved (at);
