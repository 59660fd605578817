"""The MCP server: lists the tools, calls them, and says what is wrong so that an agent can put it right."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncIterator
from importlib.metadata import PackageNotFoundError, version

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)
from pydantic import ValidationError

from memsift_producer.mcp.catalogue import INSTRUCTIONS, TOOLS, Known
from memsift_producer.mcp.tools import Desk
from memsift_producer.reranker import Reranker
from memsift_schemas import settings as settings_module
from memsift_schemas.clock import Clock, SystemClock
from memsift_schemas.errors import InvalidInput, describe, type_and_place
from memsift_schemas.settings import GatewaySettings

log = logging.getLogger("memsift.mcp")

_FAULTS_TOLD = 5


def create_server(settings: GatewaySettings | None = None, *, clock: Clock | None = None) -> Server[Desk]:
    """The server; its lifespan opens and closes the `Reranker`.

    Args:
        settings: those of the gateway, whose limits hold here too; None reads them from the environment.
        clock: this machine's, for tests.

    Raises:
        SettingsError: a setting is wrong; names its variable.
    """
    checked = settings or settings_module.load(GatewaySettings)
    told_by = clock or SystemClock()

    @contextlib.asynccontextmanager
    async def lifespan(_server: Server[Desk]) -> AsyncIterator[Desk]:
        async with Reranker(checked) as reranker:
            yield Desk(reranker, checked, told_by)

    return Server(
        "memsift",
        version=_version(),
        title="memsift",
        description="Picks the memories that belong into an assistant's prompt.",
        instructions=INSTRUCTIONS,
        lifespan=lifespan,
        on_list_tools=_list_tools,
        on_call_tool=_call_tool,
    )


def _version() -> str:
    try:
        return version("memsift")
    except PackageNotFoundError:
        return ""  # run from a folder, not installed


async def _list_tools(
    _context: ServerRequestContext[Desk], _params: PaginatedRequestParams | None
) -> ListToolsResult:
    return ListToolsResult(tools=[_listed(name, known) for name, known in TOOLS.items()])


def _listed(name: str, known: Known) -> Tool:
    return Tool(
        name=name,
        title=known.title,
        description=known.description,
        input_schema=known.takes.model_json_schema(),
        output_schema=known.gives.model_json_schema(mode="serialization"),
        annotations=ToolAnnotations(
            read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
        ),
    )


async def _call_tool(context: ServerRequestContext[Desk], params: CallToolRequestParams) -> CallToolResult:
    """Call a tool. Being cancelled withdraws the job; what is wrong is told in the result."""
    __tracebackhide__ = True  # its local variables are the user's words, which error reports would show
    known = TOOLS.get(params.name)
    if known is None:
        return _refused(f"there is no such tool: call one of {', '.join(TOOLS)}")
    desk = context.lifespan_context
    try:
        asked = known.takes.model_validate(params.arguments or {})
        await context.session.report_progress(0, 1, f"asked, {desk.seconds(asked):g} s at most")
        given = await known.work(asked, desk)
    except ValidationError as error:
        return _refused(f"{describe(error, most=_FAULTS_TOLD)}. Put it right and call again.")
    except InvalidInput as error:
        return _refused(f"{error}. Put it right and call again.")
    except Exception as error:  # noqa: BLE001  # a fault of ours; its message may hold text
        log.error("%s failed: %s", params.name, type_and_place(error))
        return _refused("the server has a fault, which its log tells: calling again may not help")
    await context.session.report_progress(1, 1, "answered")
    # As text too, for clients that do not read structured content.
    return CallToolResult(
        content=[TextContent(type="text", text=given.model_dump_json())],
        structured_content=given.model_dump(mode="json"),
    )


def _refused(message: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=message)], is_error=True)
