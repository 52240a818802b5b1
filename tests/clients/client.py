"""The official Python client of MCP against `reprise mcp`: python client.py COMMAND ARGUMENT..."""

import asyncio
import sys
import time

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

CALLS = 200


async def main() -> None:
    server = StdioServerParameters(command=sys.argv[1], args=sys.argv[2:])
    began = time.perf_counter()
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        print(f"handshake {(time.perf_counter() - began) * 1e3:.0f} ms")
        tools = [tool.name for tool in (await session.list_tools()).tools]
        assert tools[:2] == ["learn", "recall"] and len(tools) == 10, tools
        lesson = {"title": "Deploys need a tag", "content": "Untagged images are not pulled.", "tags": ["Deploy"]}
        kept = await session.call_tool("learn", lesson)
        assert not getattr(kept, "is_error", getattr(kept, "isError", None)), kept
        found = await session.call_tool("recall", {"query": "why was the image not pulled", "tags": ["deploy"]})
        assert "Deploys need a tag" in found.content[0].text, found
        refused = await session.call_tool("learn", {})
        assert getattr(refused, "is_error", getattr(refused, "isError", None)), refused
        assert len((await session.list_resources()).resources) >= 4
        assert len((await session.list_prompts()).prompts) == 3
        began = time.perf_counter()
        for _ in range(CALLS):
            await session.call_tool("recall", {"query": "deploy"})
        print(f"recall {(time.perf_counter() - began) / CALLS * 1e3:.2f} ms a call")
    print("python: ok")


asyncio.run(main())
