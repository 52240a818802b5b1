import os

from reprise_client.memory import AuthenticatedClient
from reprise_client.memory.api.operations import learn, recall
from reprise_client.memory.models import LearnBody, RecallBody

client = AuthenticatedClient(os.environ["REPRISE_URL"], os.environ["REPRISE_TOKEN"], raise_on_unexpected_status=True)
learn.sync("ann", client=client, body=LearnBody(title="Pin the linker", text="The build is slow without mold."))
answer = recall.sync("ann", client=client, body=RecallBody(query="why is the build slow"))
print(answer.results[0].text)
