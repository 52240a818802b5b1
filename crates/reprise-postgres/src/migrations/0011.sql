-- How much an operator lets one user or one organisation have published (`user:NAME`, `org:NAME`);
-- the limits that a service begins with hold besides.
CREATE TABLE reprise_global.quota (
    holder text PRIMARY KEY,
    things bigint,
    bytes bigint
);
