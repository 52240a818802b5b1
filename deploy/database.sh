#!/bin/bash
# Once, as the database's administrator: the role of the service owns its database and is above no
# policy (docs/guide/operate.md, PostgreSQL).
set -euo pipefail
password=$(cat /run/secrets/service-password)
psql -v ON_ERROR_STOP=1 -v password="$password" -U postgres -d postgres <<'SQL'
CREATE ROLE reprise LOGIN CREATEROLE PASSWORD :'password';
CREATE DATABASE knowledge;
GRANT CREATE ON DATABASE knowledge TO reprise;
\c knowledge
CREATE EXTENSION vector;
SQL
