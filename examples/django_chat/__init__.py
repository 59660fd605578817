"""A chat turn with Django, under ASGI and under WSGI."""
