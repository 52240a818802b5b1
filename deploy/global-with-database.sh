#!/bin/bash
# Runs `reprise global` on the database of a container: its address is made of REPRISE_DATABASE
# (user@host/name) and the secret `service-password`, so that `docker compose exec` reaches the same
# database as the service, and no configuration holds the password.
set -euo pipefail
password=$(cat /run/secrets/service-password)
user=${REPRISE_DATABASE%%@*}
rest=${REPRISE_DATABASE#*@}
export REPRISE_GLOBAL_DATABASE_URL="postgresql://$user:$password@$rest"
exec reprise global "$@"
