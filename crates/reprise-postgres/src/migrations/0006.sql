-- The planner's figures hold values of a column: texts would stay there once they are taken back.
ALTER TABLE reprise_global.thing ALTER COLUMN publication SET STATISTICS 0;
ALTER TABLE reprise_global.taken_down ALTER COLUMN held SET STATISTICS 0;
-- The same type once more drops those that were gathered, and writes no row.
ALTER TABLE reprise_global.thing ALTER COLUMN publication TYPE text;
ALTER TABLE reprise_global.taken_down ALTER COLUMN held TYPE text;
