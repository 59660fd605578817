"""`uvicorn examples.django_chat.asgi:application`, or another server that knows lifespan."""

import os

from django.core.asgi import get_asgi_application

from examples.django_chat.reranking import WithReranker

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "examples.django_chat.settings")
application = WithReranker(get_asgi_application())
