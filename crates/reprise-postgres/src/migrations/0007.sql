-- What was taken down is refused by its content, too, from whomever it comes. The transaction that
-- publishes names the hashes of what it publishes, and sees the rows that have one of them.
ALTER TABLE reprise_global.taken_down ADD COLUMN content_sha256 text NOT NULL DEFAULT '';
CREATE INDEX taken_down_by_content ON reprise_global.taken_down (content_sha256)
    WHERE content_sha256 <> '';
CREATE POLICY same_content ON reprise_global.taken_down FOR SELECT USING (
    content_sha256 <> ''
    AND content_sha256 = ANY (string_to_array(current_setting('reprise.content', true), ','))
);

-- An operator who is erased leaves no name in what was taken down: the transaction that erases says
-- which name replaces it.
CREATE POLICY operating ON reprise_global.taken_down FOR SELECT USING (
    operator IN (current_setting('reprise.author', true), current_setting('reprise.erased', true))
);
CREATE POLICY erasing ON reprise_global.taken_down FOR UPDATE
    USING (operator = current_setting('reprise.author', true))
    WITH CHECK (operator = current_setting('reprise.erased', true));
