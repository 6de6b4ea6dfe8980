#!/bin/sh
# Create the role and the database of Keel when the server starts for the first time. Row-level security binds a role
# that is neither superuser nor BYPASSRLS; migrations need it to own the tables.
set -eu
psql --set ON_ERROR_STOP=1 --set "password=$KEEL_PASSWORD" --username "${POSTGRES_USER:-postgres}" <<'SQL'
CREATE ROLE keel LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE PASSWORD :'password';
CREATE DATABASE keel OWNER keel;
SQL
