-- Projects below an organisation: the shelf `project:ORGANISATION/PROJECT` is open to the members of
-- the project. The transaction names the shelves of the projects whose member the caller is; no
-- name of a shelf has a comma.
CREATE POLICY in_project ON reprise_global.thing FOR SELECT
    USING (shelf = ANY (string_to_array(current_setting('reprise.projects', true), ',')));
CREATE POLICY in_project ON reprise_global.search FOR SELECT
    USING (shelf = ANY (string_to_array(current_setting('reprise.projects', true), ',')));
CREATE POLICY in_project ON reprise_global.posting FOR SELECT
    USING (shelf = ANY (string_to_array(current_setting('reprise.projects', true), ',')));
