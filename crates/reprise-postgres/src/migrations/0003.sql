-- Every node asks each second what was taken back, to forget what was said of it.
CREATE INDEX audit_taken_back ON reprise_global.audit (at) WHERE what = 'unpublish';
