"""One path for each way of running Django."""

from django.urls import path

from examples.django_chat import views

urlpatterns = [
    path("chat", views.chat),  # under ASGI
    path("sync/chat", views.chat_sync),  # under WSGI
]
