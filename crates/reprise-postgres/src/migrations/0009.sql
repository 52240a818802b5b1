-- What each organisation asks of those who publish for its members.
CREATE TABLE reprise_global.organisation (
    shelf text PRIMARY KEY,
    review boolean NOT NULL
);
ALTER TABLE reprise_global.organisation ENABLE ROW LEVEL SECURITY;
ALTER TABLE reprise_global.organisation FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON reprise_global.organisation
    USING (shelf = current_setting('reprise.org', true))
    WITH CHECK (shelf = current_setting('reprise.org', true));

-- What waits for a review is a draft on the branch `.review/SHELF` of its author: no author can give
-- a branch such a name. The transaction of a reviewer names the branches that it reads. Of what was
-- refused the reason is left, for the author.
ALTER TABLE reprise_global.draft ADD COLUMN refused text;
CREATE INDEX draft_by_branch ON reprise_global.draft (branch);
CREATE POLICY reviewing ON reprise_global.draft FOR SELECT
    USING (branch = current_setting('reprise.review', true));
CREATE POLICY reviewing ON reprise_global.thing FOR SELECT
    USING (shelf = 'branch:' || author || '/' || current_setting('reprise.review', true));
