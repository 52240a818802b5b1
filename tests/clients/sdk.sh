#!/usr/bin/env bash
# The client libraries for Python and TypeScript, generated from what the programs say of themselves, against a daemon and
# a service of their own: tests/clients/sdk.sh FOLDER, where `reprise` and `reprise-global` are. Needs python3, npm, a network.
set -euo pipefail
programs=$(realpath "${1:?usage: tests/clients/sdk.sh FOLDER}")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
export XDG_RUNTIME_DIR="$work/run"
mkdir -m 700 "$XDG_RUNTIME_DIR"
# The clients' variables would send the program to a daemon elsewhere.
daemon() { env -u REPRISE_URL -u REPRISE_TOKEN "$programs/reprise" --data-dir "$work/data" --no-model "$@"; }
service() { "$programs/reprise-global" --data-dir "$work/service" --no-model "$@"; }
served=""
trap 'daemon serve stop; [ -z "$served" ] || kill "$served"; rm -rf "$work"' EXIT

cd "$work"
python3 -m venv python
python/bin/pip install --quiet openapi-python-client==0.29.1
npm init -y >/dev/null
npm install --silent openapi-typescript@7.13.0 typescript@5
export PATH="$work/python/bin:$work/node_modules/.bin:$PATH"

export REPRISE_URL=http://127.0.0.1:7391 KNOWLEDGE_URL=http://127.0.0.1:7392
REPRISE_TOKEN=$(daemon serve token add sdk)
KNOWLEDGE_TOKEN=$(service token add ann --user ann)
export REPRISE_TOKEN KNOWLEDGE_TOKEN
daemon serve --http "${REPRISE_URL#http://}" &
"$programs/reprise-global" --data-dir "$work/service" --no-model serve --http "${KNOWLEDGE_URL#http://}" &
served=$!
for url in "$REPRISE_URL" "$KNOWLEDGE_URL"; do
  until curl --silent --fail "$url/health/ready" >/dev/null; do sleep 0.1; done
done
python3 "$here/../../deploy/clients/generate.py" out \
  --memory "$REPRISE_URL" --token "$REPRISE_TOKEN" --knowledge "$KNOWLEDGE_URL"

python/bin/pip install --quiet out/python
python/bin/python out/python/example.py | grep "Pin the linker"
python/bin/python - <<'PYTHON'
import os

from reprise_client.knowledge import AuthenticatedClient
from reprise_client.knowledge.api.operations import post_publications, post_query
from reprise_client.knowledge.models import GlobalQuery, Publication

client = AuthenticatedClient(os.environ["KNOWLEDGE_URL"], os.environ["KNOWLEDGE_TOKEN"], raise_on_unexpected_status=True)
thing = {"origin": "builds-1", "content_type": "document", "title": "Slow builds", "summary": "", "content": "Pin it.",
         "tags": ["ci"], "access_policy": "public", "licence": "MIT"}
published = post_publications.sync(client=client, body=Publication.from_dict(thing))
answer = post_query.sync(client=client, body=GlobalQuery(text="slow builds", top_k=3))
assert answer.hits[0].record.id == published.id, answer
PYTHON

cd out/typescript
npm install --silent
npx tsc
mkdir -p "$work/user/node_modules"
cp example.mts "$work/user/"
ln -s "$PWD" "$work/user/node_modules/reprise-client"
ln -s "$PWD/node_modules/@types" "$work/user/node_modules/@types"
cat >"$work/user/team.mts" <<'TYPESCRIPT'
import { knowledge } from "reprise-client";

const client = knowledge(process.env.KNOWLEDGE_URL!, process.env.KNOWLEDGE_TOKEN!);
const { data } = await client.POST("/v1/query", { body: { text: "slow builds", top_k: 3 } });
if (data?.hits[0].record.title !== "Slow builds") throw new Error(JSON.stringify(data));
TYPESCRIPT
cd "$work/user"
"$work/out/typescript/node_modules/.bin/tsc" --module nodenext --target es2022 --strict --skipLibCheck --types node ./*.mts
node example.mjs | grep "Pin the linker"
node team.mjs
echo "both client libraries answer"
