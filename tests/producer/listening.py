"""An application on a real socket, in the test's own event loop."""

import asyncio
import contextlib
import socket

import uvicorn


@contextlib.asynccontextmanager
async def listening(app):
    """Its address, `http://127.0.0.1:PORT`."""
    config = uvicorn.Config(app, http="httptools", ws="none", access_log=False, log_config=None)
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = asyncio.create_task(server._serve(sockets=[listener]))
        while not server.started:
            assert not serving.done(), serving
            await asyncio.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            await serving
